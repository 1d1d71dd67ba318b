//! Shows the page of `doctor` about this machine. It runs as a separate process, because a driver may crash it.

use std::process::{Command, Stdio};

use ratatui::text::Line;

use crate::tui::model::log::LoggedKind;
use crate::tui::{
    Effect, Effects, Handler, KeyBinding, Message, Model, PageText, Panel, TaskContext, TextPage,
};
use tinyllama_base::die_with_parent;
use tinyllama_base::locale::SCREEN;
use tinyllama_base::plain;
use tinyllama_runs::launcher;
use tinyllama_tutor_core::Action;

pub const PANEL: KeyBinding = (
    Action::Doctor,
    "D",
    "what this machine has",
    Handler::Any(open),
);

/// Title of the page.
const TITLE: &str = "Devices and tools of this machine";

pub fn open(model: &mut Model) -> Effects {
    model.log("tinyllama-tutor doctor".into(), LoggedKind::Doctor);
    examine(model, Message::Opened)
}

/// Writes the page anew if it is open and was written for another size. One examination goes on at a time.
pub fn renew(model: &mut Model) -> Effects {
    let is_stale = model.is_on_top(TITLE) && model.examined_for.is_none();
    is_stale.then(|| examine(model, Message::Renewed)).flatten()
}

fn examine(model: &mut Model, message: fn(Result<Box<dyn Panel>, String>) -> Message) -> Effects {
    let size = model.size;
    model.examined_for = Some(size);
    let meanwhile = "Checking this machine…";
    let examine = move |context: &TaskContext| message(examined(context, size));
    Some(vec![Effect::background_work(meanwhile, examine)])
}

fn examined(context: &TaskContext, (columns, rows): (u16, u16)) -> Result<Box<dyn Panel>, String> {
    let failed = |error| format!("`tinyllama-tutor doctor` could not be started: {error}.");
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    command
        .arg("doctor")
        .env(SCREEN, format!("{columns}x{rows}"))
        .stdin(Stdio::null());
    let launcher = &context.options.launcher;
    if !launcher.is_local() {
        command.env(launcher::VARIABLE, launcher.json());
    }
    die_with_parent(&mut command, libc::SIGTERM);
    let output = command.output().map_err(failed)?;
    let text = [output.stderr, output.stdout].concat();
    let text = String::from_utf8_lossy(&text);
    if text.trim().is_empty() {
        return Err(format!(
            "`tinyllama-tutor doctor` printed nothing and ended with {}.",
            output.status
        ));
    }
    let lines = text.lines().map(|line| Line::from(plain(line)));
    Ok(Box::new(TextPage::new(
        TITLE,
        PageText::Lines(lines.collect()),
    )))
}
