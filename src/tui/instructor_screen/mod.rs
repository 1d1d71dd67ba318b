//! The instructor's dashboard on a full screen.
//!
//! ```text
//! Class /data/course                                     12 learners, pinned to memory
//! learner   position              steps tries hints  min  last   remarks
//! > ada     memory/long (6 of 7)  28/36    38     4   83  2 min  missed checks 3 times
//!   eve     welcome/doctor        3/36      1     0    4  now    open
//! ─────────────────────────────────────────────────────────────────────────────────────
//! what came of the last decision, or the line that is being entered
//! m message  M all  r reset step  l reset lesson  b restore  u unlock  s solve  p pin  q quit
//! ```

mod draw;
mod keys;
#[cfg(test)]
mod tests;

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use crossterm::event::{self, Event, KeyEventKind};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use self::draw::{render, title};
use self::keys::{Answer, on_key};
use super::theme::Theme;
use crate::instructor::Class;
use crate::instructor::carry_out::carry_out;
use crate::instructor::dashboard::Dashboard;
use crate::instructor::view::views;
use crate::lesson::Course;
use crate::session::class_file;

/// How often the class folder is looked at.
const INTERVAL: Duration = Duration::from_secs(2);

/// Runs the dashboard until the instructor leaves.
///
/// # Errors
/// When the terminal or the class folder cannot be used any more.
pub fn run(mut class: Class, course: &Course, by: &str, theme: Theme) -> Result<()> {
    let mut terminal = ratatui::try_init()?;
    watch_signals()?;
    let result = hold(&mut terminal, &mut class, course, by, &theme);
    ratatui::restore();
    result
}

/// The dashboard keeps nothing of its own: a signal gives the terminal back and ends it.
fn watch_signals() -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGTERM, SIGINT, SIGQUIT])?;
    thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            if signal != SIGHUP {
                ratatui::restore();
            }
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

fn hold(
    terminal: &mut ratatui::DefaultTerminal,
    class: &mut Class,
    course: &Course,
    by: &str,
    theme: &Theme,
) -> Result<()> {
    let mut dashboard = Dashboard::default();
    let mut looked: Option<Instant> = None;
    let mut dirty = true;
    loop {
        if looked.is_none_or(|looked| looked.elapsed() >= INTERVAL) {
            dirty |= dashboard.refresh(views(class, course)?);
            looked = Some(Instant::now());
        }
        if dirty {
            let pinned = class_file::read(class.folder())?.and_then(|pin| pin.lesson);
            let title = title(class, &dashboard, pinned.as_deref());
            terminal.draw(|frame| {
                render(&dashboard, &title, frame.area(), frame.buffer_mut(), theme);
            })?;
            dirty = false;
        }
        if !event::poll(INTERVAL)? {
            continue;
        }
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                match on_key(&mut dashboard, key, course) {
                    Answer::Leave => return Ok(()),
                    Answer::Nothing => {}
                    Answer::Do(deed) => {
                        let done = carry_out(deed, class, course, by);
                        dashboard.news = done.unwrap_or_else(|error| format!("{error:#}"));
                        looked = None;
                    }
                }
                dirty = true;
            }
            Event::Resize(..) => dirty = true,
            _ => {}
        }
    }
}
