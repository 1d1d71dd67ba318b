//! `instructor`: manages a class through its folder.

mod again;
mod args;
mod list;

use std::io::{self, IsTerminal};

use anyhow::{Result, bail};
use serde_json::json;

pub use self::args::InstructorArgs;
use self::args::{InstructorCommand, OrderRecipients};
use super::Exit;
use super::print_result::{print_markdown, print_text};
use super::session::warn_instructor;
use tinyllama_base::file::path_text;
use tinyllama_base::{errln, locale, milliseconds, plural};
use tinyllama_contract::flags::UsageError;
use tinyllama_lesson::Course;
use tinyllama_lesson::path::WHOLE;
use tinyllama_report::{CollectOptions, collect, markdown};
use tinyllama_session::class_file::ClassSettings;
use tinyllama_session::order::OrderAction;
use tinyllama_session::store::read_only;
use tinyllama_tutor_core::instructor::carry_out::{
    SentOrder, everyone, newest_backup, pin, send_each, send_one,
};
use tinyllama_tutor_core::instructor::class::PERMISSIONS;
use tinyllama_tutor_core::instructor::{Class, hand_ins, scope, solve};
use tinyllama_ui::tui::instructor_screen;
use tinyllama_ui::tui::theme::Theme;

pub fn run(args: &InstructorArgs) -> Result<Exit> {
    let Some(folder) = &args.class else {
        bail!(UsageError(
            "no class is named: give its folder with --class DIR or TINYLLAMA_CLASS".into()
        ));
    };
    warn_instructor(folder);
    let instructor = Instructor {
        args,
        course: args.course.load()?,
        class: Class::open(folder)?,
    };
    instructor.execute()
}

const ALL: &str = "`reset --all` is now `reset --whole-course`: all progress of a learner. For every learner say --everyone";

const UNLOCK: &str = "`unlock` needs a learner and lessons: `unlock NAME LESSON...`, or --learner NAME or --everyone and the lessons";

enum Recipients {
    Everyone,
    Named(Vec<String>),
}

/// # Errors
/// If no learner is named, neither one nor all of them.
fn recipients(learner: Option<String>, whom: &OrderRecipients) -> Result<Recipients, UsageError> {
    if whom.everyone {
        return Ok(Recipients::Everyone);
    }
    let names: Vec<String> = learner.into_iter().chain(whom.learners.clone()).collect();
    if names.is_empty() {
        let text = "no learner is named: give --learner NAME, once for each learner, or --everyone";
        return Err(UsageError(text.into()));
    }
    Ok(Recipients::Named(names))
}

struct Instructor<'a> {
    args: &'a InstructorArgs,
    class: Class,
    course: Course,
}

impl Instructor<'_> {
    fn execute(mut self) -> Result<Exit> {
        let Some(command) = &self.args.command else {
            return self.dashboard();
        };
        match command {
            InstructorCommand::List => self.list(),
            InstructorCommand::Ladder => self.ladder(),
            InstructorCommand::Run(args) => self.run_again(args),
            InstructorCommand::Show { learner } => self.show(learner),
            InstructorCommand::Reset(reset) => {
                if reset.all {
                    bail!(UsageError(ALL.into()));
                }
                let (scope, workbench) = scope::resolve(&reset.named(), &self.course)?;
                let action = OrderAction::Reset { scope, workbench };
                let learner = reset.learner.clone();
                self.order_to(recipients(learner, &reset.whom)?, action)
            }
            InstructorCommand::Restore { learner, backup } => {
                let backup = match backup {
                    Some(backup) => backup.clone(),
                    None => newest_backup(&self.class, learner)?,
                };
                self.order(learner, OrderAction::Restore { backup })
            }
            InstructorCommand::Unlock { names, whom } => {
                let is_named = whom.everyone || !whom.learners.is_empty();
                let (learner, lessons) = match names.split_first() {
                    Some((learner, lessons)) if !is_named => (Some(learner.clone()), lessons),
                    _ => (None, names.as_slice()),
                };
                if lessons.is_empty() {
                    bail!(UsageError(UNLOCK.into()));
                }
                let lessons = scope::lessons(lessons.iter().map(String::as_str), &self.course)?;
                let to = recipients(learner, whom)?;
                match scope::unlock(lessons) {
                    Some(action) => self.order_to(to, action),
                    None => Ok(Exit::Usage),
                }
            }
            InstructorCommand::Solve { learner, step } => self.solve(learner, step),
            InstructorCommand::Pin { lesson, path, off } => {
                self.pin(lesson.as_deref(), path.as_deref(), *off)
            }
            InstructorCommand::Message { whom, text, all } => {
                let text = text.join(" ");
                // A message does no harm, so it needs no flag that says everyone.
                let to = match *all || whom.learners.is_empty() {
                    true => Recipients::Everyone,
                    false => recipients(None, whom)?,
                };
                self.order_to(to, OrderAction::Message { text })
            }
            InstructorCommand::Collect { output } => self.collect(output),
        }
    }

    fn dashboard(mut self) -> Result<Exit> {
        if self.args.json || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return self.list();
        }
        let no_color = self.args.no_color || locale::no_color(locale::variable);
        let ascii = self.args.ascii || !locale::is_utf8(locale::variable);
        let (by, theme) = (self.sender_name(), Theme::new(no_color, ascii));
        instructor_screen::run(self.class, &self.course, &by, theme)?;
        Ok(Exit::Ok)
    }

    fn sender_name(&self) -> String {
        let user = || std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
        let by = self.args.by.clone().or_else(|| user().ok());
        by.unwrap_or_else(|| "Your instructor".into())
    }

    fn print(&self, value: &serde_json::Value, text: &str) -> Result<Exit> {
        print_text(self.args.json, value, text)
    }

    fn show(&mut self, learner: &str) -> Result<Exit> {
        let place = self.class.place(learner)?;
        let report = collect(&place, &self.course, CollectOptions::default())?;
        let document = serde_json::to_value(&report)?;
        print_markdown(self.args.json, &document, &markdown(&report))
    }

    fn order(&self, learner: &str, action: OrderAction) -> Result<Exit> {
        let sent = send_one(&self.class, learner, action, &self.sender_name())?;
        self.print(&json!(sent), &sent.text)
    }

    fn solve(&self, learner: &str, name: &str) -> Result<Exit> {
        let at = scope::step(name, &self.course)?;
        // Checks that the learner exists before minutes of training.
        let place = self.class.place(learner)?;
        read_only(&place)?;
        let Some(step) = self.course.step(&at.lesson, &at.step) else {
            return Ok(Exit::Usage);
        };
        let action = solve::solve(at, step, &mut |step| {
            let (n, of, loss, ms) = (step.n, step.of, step.loss, step.total_ms);
            errln!("step {n} of {of}, loss {loss:.3}, {}", milliseconds(ms));
        })?;
        self.order(learner, action)
    }

    fn pin(&self, lesson: Option<&str>, path: Option<&str>, off: bool) -> Result<Exit> {
        let lesson = lesson.map(|id| scope::lesson(id, &self.course));
        let lesson = lesson.transpose()?.map(|lesson| lesson.id.clone());
        let path = path.map(|name| self.course.path(name).map(|path| path.cloned()));
        let path = path.transpose().map_err(UsageError)?;
        let change = |pin: &mut ClassSettings| {
            if off {
                *pin = ClassSettings::default();
            }
            pin.lesson = lesson.clone().or(pin.lesson.take());
            pin.path = path.clone().unwrap_or(pin.path.take());
        };
        let text = pin(&self.class, change, &self.sender_name())?;
        let path = path.map(|path| path.map_or(WHOLE.to_string(), |path| path.id));
        self.print(&json!({ "pinned": lesson, "path": path }), &text)
    }

    fn order_to(&mut self, recipients: Recipients, action: OrderAction) -> Result<Exit> {
        let by = self.sender_name();
        let is_to_all = matches!(recipients, Recipients::Everyone);
        let sent = match recipients {
            Recipients::Everyone => everyone(&mut self.class, action, &by)?,
            Recipients::Named(names) => match names.as_slice() {
                [learner] => return self.order(learner, action),
                _ => {
                    let orders = names.into_iter().map(|name| (name, action.clone()));
                    send_each(&self.class, orders.collect(), &by)?
                }
            },
        };
        let failed = sent.iter().any(SentOrder::is_failed);
        let head = is_to_all.then(|| match sent.len() {
            0 => "The class has no learner yet, so nothing was sent.".into(),
            learners => format!("To everyone in the class, {}:", plural(learners, "learner")),
        });
        let lines = sent.iter().map(|sent| &sent.text);
        let text = itertools::join(head.iter().chain(lines), "\n");
        self.print(&json!({ "learners": sent }), &text)?;
        if failed && !self.args.json {
            errln!("{PERMISSIONS}");
        }
        Ok(Exit::from_passed(!failed))
    }

    fn collect(&mut self, output: &std::path::Path) -> Result<Exit> {
        let collected = hand_ins::collect(&mut self.class, output)?;
        let mut lines = Vec::new();
        let mut values = Vec::new();
        let mut failed = false;
        for one in &collected {
            match &one.file {
                Ok(file) => {
                    lines.push(file.display().to_string());
                    lines.extend(one.withheld.iter().map(|line| format!("  {line}")));
                }
                Err(why) => {
                    failed = true;
                    lines.push(format!("{}: not collected, {why}", one.learner));
                }
            }
            let (file, why) = (one.file.as_ref().ok(), one.file.as_ref().err());
            let file = file.map(|file| path_text(file));
            let withheld = &one.withheld;
            values.push(json!({ "learner": one.learner, "file": file, "problem": why, "withheld": withheld }));
        }
        self.print(&json!({ "collected": values }), &lines.join("\n"))?;
        Ok(Exit::from_passed(!failed))
    }
}
