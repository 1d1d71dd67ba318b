//! `instructor`: look after a class through its folder.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use clap::{ArgGroup, Args, Subcommand};
use serde_json::json;

use super::Exit;
use super::report::CourseArgs;
use super::session::say_error;
use crate::instructor::carry_out::newest_backup;
use crate::instructor::class::PERMISSIONS;
use crate::instructor::scope::{self, Named, ScopeError};
use crate::instructor::view::{LearnerView, views};
use crate::instructor::{Class, ClassError, deliver, hand_ins, solve};
use crate::lesson::Course;
use crate::report::{Options, collect, markdown};
use crate::session::class_file::{self, Pin};
use crate::session::order::{Action, Order};
use crate::session::store::read_only;
use crate::tui::instructor_screen;
use crate::tui::theme::{Glyphs, Palette, Theme};

/// How often `--watch` looks.
const INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub struct InstructorArgs {
    /// Folder of the class
    #[arg(long, value_name = "DIR", global = true, env = "TINYLLAMA_CLASS")]
    class: Option<PathBuf>,
    /// Name learners see (default: the user's)
    #[arg(long, value_name = "NAME", global = true)]
    by: Option<String>,
    #[command(flatten)]
    course: CourseArgs,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    /// Attributes instead of colours, as with NO_COLOR
    #[arg(long)]
    no_color: bool,
    /// Only ASCII characters, as in a locale that is not UTF-8
    #[arg(long)]
    ascii: bool,
    /// Without one: the dashboard, where there is a terminal, else the list
    #[command(subcommand)]
    command: Option<InstructorCommand>,
}

#[derive(Debug, Subcommand)]
pub enum InstructorCommand {
    /// Everyone with position, time, attempts, hints and signs of being stuck
    List {
        /// Print again whenever something changed
        #[arg(long)]
        watch: bool,
    },
    /// One learner's session, as a report in Markdown
    Show { learner: String },
    /// Take back progress; a backup is kept
    Reset(ResetArgs),
    /// Undo a reset
    Restore {
        learner: String,
        /// Name of the backup (default: the newest that was not restored)
        backup: Option<String>,
    },
    /// Open a lesson whose requirements are not met
    Unlock { learner: String, lesson: String },
    /// Do a step for a learner; a run is trained on this machine
    Solve {
        learner: String,
        /// LESSON/STEP
        step: String,
    },
    /// Ask the whole class to work on a lesson
    Pin {
        #[arg(required_unless_present = "off")]
        lesson: Option<String>,
        /// Let everybody go on where they like
        #[arg(long, conflicts_with = "lesson")]
        off: bool,
    },
    /// Write to a learner, or to everyone
    Message {
        #[command(flatten)]
        to: Recipient,
        #[arg(required = true)]
        text: Vec<String>,
    },
    /// Export every session, to be merged or kept
    Collect {
        /// Folder to write to
        #[arg(short, long, value_name = "DIR")]
        output: PathBuf,
    },
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Recipient {
    /// Learner to write to
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Write to everyone
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).multiple(false))]
pub struct ResetArgs {
    learner: String,
    /// One step: LESSON/STEP
    #[arg(long, group = "what", value_name = "LESSON/STEP")]
    step: Option<String>,
    /// The steps of a debugging stage, such as 3
    #[arg(long, group = "what", value_name = "N")]
    stage: Option<String>,
    /// A lesson
    #[arg(long, group = "what", value_name = "LESSON")]
    lesson: Option<String>,
    /// The lessons of a session of the course
    #[arg(long, group = "what", value_name = "SESSION")]
    session: Option<String>,
    /// Everything
    #[arg(long, group = "what")]
    all: bool,
}

impl ResetArgs {
    fn named(&self) -> Named {
        let some = |name: &Option<String>, of: fn(String) -> Named| name.clone().map(of);
        some(&self.step, Named::Step)
            .or_else(|| some(&self.stage, Named::Stage))
            .or_else(|| some(&self.lesson, Named::Lesson))
            .or_else(|| some(&self.session, Named::Session))
            .unwrap_or(Named::All)
    }
}

pub fn run(args: &InstructorArgs) -> Result<Exit> {
    let Some(folder) = &args.class else {
        eprintln!("error: which class? Give its folder with --class DIR or TINYLLAMA_CLASS");
        return Ok(Exit::Usage);
    };
    let Some(course) = args.course.load()? else {
        return Ok(Exit::Usage);
    };
    let done = Class::open(folder)
        .map_err(anyhow::Error::from)
        .and_then(|class| {
            Instructor {
                args,
                class,
                course,
            }
            .execute()
        });
    match done {
        Err(error) => say(error),
        done => done,
    }
}

/// Prints an error with what to do about it.
fn say(error: anyhow::Error) -> Result<Exit> {
    if let Some(error) = error.downcast_ref::<ScopeError>() {
        eprintln!("error: {error}");
        return Ok(Exit::Usage);
    }
    match error.downcast::<ClassError>() {
        Ok(ClassError::Session(error)) => say_error(error.into()),
        Ok(error @ ClassError::NoLearner { .. }) => {
            eprintln!("error: {error}\n       {}", error.remedy());
            Ok(Exit::Usage)
        }
        Ok(error @ ClassError::Folder { .. }) => {
            eprintln!("error: {error}\n       {}", error.remedy());
            Ok(Exit::Environment)
        }
        Err(other) => say_error(other),
    }
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
            InstructorCommand::List { watch: false } => self.list(),
            InstructorCommand::List { watch: true } => self.watch(),
            InstructorCommand::Show { learner } => self.show(learner),
            InstructorCommand::Reset(reset) => {
                let (scope, workbench) = scope::resolve(&reset.named(), &self.course)?;
                self.order(&reset.learner, Action::Reset { scope, workbench })
            }
            InstructorCommand::Restore { learner, backup } => {
                let backup = match backup {
                    Some(backup) => backup.clone(),
                    None => self.newest_backup(learner)?,
                };
                self.order(learner, Action::Restore { backup })
            }
            InstructorCommand::Unlock { learner, lesson } => {
                let lesson = scope::lesson(lesson, &self.course)?.id.clone();
                self.order(learner, Action::Unlock { lesson })
            }
            InstructorCommand::Solve { learner, step } => self.solve(learner, step),
            InstructorCommand::Pin { lesson, .. } => self.pin(lesson.as_deref()),
            InstructorCommand::Message { to, text } => self.message(to, &text.join(" ")),
            InstructorCommand::Collect { output } => self.collect(output),
        }
    }

    fn dashboard(mut self) -> Result<Exit> {
        if self.args.json || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return self.list();
        }
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = set("LC_ALL")
            .or_else(|| set("LC_CTYPE"))
            .or_else(|| set("LANG"))
            .unwrap_or_default()
            .to_lowercase();
        let palette = match self.args.no_color || set("NO_COLOR").is_some() {
            true => Palette::Mono,
            false => Palette::Ansi16,
        };
        let unicode = !self.args.ascii && (locale.contains("utf-8") || locale.contains("utf8"));
        let glyphs = match unicode {
            true => Glyphs::UNICODE,
            false => Glyphs::ASCII,
        };
        let by = self.by();
        let theme = Theme::new(palette, glyphs);
        instructor_screen::run(self.class, &self.course, &by, theme)?;
        Ok(Exit::Ok)
    }

    fn by(&self) -> String {
        let user = || std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
        self.args
            .by
            .clone()
            .or_else(|| user().ok())
            .unwrap_or_else(|| "your instructor".into())
    }

    fn print(&self, value: &serde_json::Value, text: &str) -> Result<Exit> {
        let mut out = io::stdout().lock();
        match self.args.json {
            true => writeln!(out, "{value:#}")?,
            false => writeln!(out, "{text}")?,
        }
        Ok(Exit::Ok)
    }

    fn list(&mut self) -> Result<Exit> {
        let views = views(&mut self.class, &self.course)?;
        self.print_views(&views)
    }

    fn watch(&mut self) -> Result<Exit> {
        let mut shown = Vec::new();
        loop {
            let now = views(&mut self.class, &self.course)?;
            let figures = |views: &[LearnerView]| -> Vec<LearnerView> {
                // The minutes since somebody did something change all the time and say nothing new.
                let still = |view: &LearnerView| LearnerView {
                    idle_minutes: None,
                    ..view.clone()
                };
                views.iter().map(still).collect()
            };
            if figures(&now) != figures(&shown) {
                if self.args.json {
                    let mut out = io::stdout().lock();
                    writeln!(out, "{}", json!({ "learners": now }))?;
                } else {
                    self.print_views(&now)?;
                    writeln!(io::stdout())?;
                }
                shown = now;
            }
            sleep(INTERVAL);
        }
    }

    fn print_views(&self, views: &[LearnerView]) -> Result<Exit> {
        let pin = class_file::read(self.class.folder())?.and_then(|pin| pin.lesson);
        if self.args.json {
            return self.print(&json!({ "learners": views, "pinned": pin }), "");
        }
        let mut out = io::stdout().lock();
        if let Some(lesson) = pin {
            writeln!(out, "The class is pinned to {lesson}.")?;
        }
        if views.is_empty() {
            writeln!(out, "Nobody has begun yet.")?;
            return Ok(Exit::Ok);
        }
        writeln!(
            out,
            "{:<16} {:<34} {:>7} {:>6} {:>5} {:>5} {:>9}  remarks",
            "learner", "position", "steps", "tries", "hints", "min", "last"
        )?;
        for view in views {
            writeln!(out, "{}", line(view))?;
        }
        if views.iter().any(|view| view.problem.is_some()) {
            writeln!(out, "\n{PERMISSIONS}")?;
        }
        Ok(Exit::Ok)
    }

    fn show(&mut self, learner: &str) -> Result<Exit> {
        let place = self.class.place(learner)?;
        let report = collect(&place, &self.course, Options::default())?;
        let text = markdown::render(&report);
        self.print(&serde_json::to_value(&report)?, &text)
    }

    fn newest_backup(&self, learner: &str) -> Result<String> {
        let (state, _) = read_only(&self.class.place(learner)?)?;
        Ok(newest_backup(&state)?)
    }

    fn order(&self, learner: &str, action: Action) -> Result<Exit> {
        let place = self.class.place(learner)?;
        let order = Order::new(&self.by(), action);
        let delivery = deliver(&place, &order)?;
        let (state, text) = (delivery.name(), delivery.in_words(learner));
        self.print(
            &json!({ "learner": learner, "state": state, "text": text }),
            &text,
        )
    }

    fn solve(&self, learner: &str, name: &str) -> Result<Exit> {
        let at = scope::step(name, &self.course)?;
        // Before minutes of training: is there anybody to do it for?
        let place = self.class.place(learner)?;
        read_only(&place)?;
        let Some(step) = self.course.step(&at.lesson, &at.step) else {
            return Ok(Exit::Usage);
        };
        let action = solve::solve(at, step, &mut |step| {
            eprintln!(
                "step {} of {}, loss {:.3}, {:.1} ms",
                step.n, step.of, step.loss, step.total_ms
            );
        })?;
        self.order(learner, action)
    }

    fn pin(&self, lesson: Option<&str>) -> Result<Exit> {
        let lesson = match lesson {
            Some(id) => Some(scope::lesson(id, &self.course)?.id.clone()),
            None => None,
        };
        let pin = Pin {
            lesson: lesson.clone(),
            by: self.by(),
        };
        class_file::write(self.class.folder(), &pin)?;
        let text = match &lesson {
            Some(lesson) => format!("The class is asked to work on {lesson}."),
            None => "Everybody may go on where they like.".into(),
        };
        self.print(&json!({ "pinned": lesson }), &text)
    }

    fn message(&mut self, to: &Recipient, text: &str) -> Result<Exit> {
        let action = Action::Message { text: text.into() };
        if let Some(learner) = &to.to {
            return self.order(learner, action);
        }
        let order = Order::new(&self.by(), action);
        let places: Vec<_> = self
            .class
            .learners()?
            .into_iter()
            .map(|learner| learner.place)
            .collect();
        let mut failed = false;
        let mut results = Vec::new();
        for place in places {
            let (state, text) = match deliver(&place, &order) {
                Ok(delivery) => (delivery.name(), delivery.in_words(&place.learner)),
                Err(error) => {
                    failed = true;
                    ("failed", format!("{}: {error}", place.learner))
                }
            };
            results.push((place.learner, state, text));
        }
        let text: Vec<&str> = results.iter().map(|(_, _, text)| text.as_str()).collect();
        let values: Vec<_> = results
            .iter()
            .map(|(learner, state, text)| json!({ "learner": learner, "state": state, "text": text }))
            .collect();
        self.print(&json!({ "learners": values }), &text.join("\n"))?;
        if failed && !self.args.json {
            eprintln!("{PERMISSIONS}");
        }
        Ok(if failed { Exit::Failed } else { Exit::Ok })
    }

    fn collect(&mut self, output: &std::path::Path) -> Result<Exit> {
        let collected = hand_ins::collect(&mut self.class, output)?;
        let mut lines = Vec::new();
        let mut values = Vec::new();
        let mut failed = false;
        for one in &collected {
            match &one.file {
                Ok(file) => lines.push(file.display().to_string()),
                Err(why) => {
                    failed = true;
                    lines.push(format!("{}: not collected, {why}", one.learner));
                }
            }
            let (file, why) = (one.file.as_ref().ok(), one.file.as_ref().err());
            values.push(json!({ "learner": one.learner, "file": file, "problem": why }));
        }
        self.print(&json!({ "collected": values }), &lines.join("\n"))?;
        Ok(if failed { Exit::Failed } else { Exit::Ok })
    }
}

fn line(view: &LearnerView) -> String {
    let position = view
        .position
        .as_ref()
        .map_or("not begun".into(), |position| {
            let number = position
                .number
                .map_or("?".into(), |number| number.to_string());
            format!(
                "{}/{} ({number} of {})",
                position.at.lesson, position.at.step, position.of
            )
        });
    let last = view
        .idle_minutes
        .map_or("-".into(), |minutes| match minutes {
            minutes if minutes < 1.0 => "now".into(),
            minutes if minutes < 120.0 => format!("{minutes:.0} min"),
            minutes if minutes < 2880.0 => format!("{:.0} h", minutes / 60.0),
            minutes => format!("{:.0} days", minutes / 1440.0),
        });
    let mut remarks: Vec<String> = view.signs.iter().map(|sign| sign.in_words()).collect();
    remarks.extend(view.running.iter().map(|target| format!("runs {target}")));
    remarks.extend(view.problem.clone());
    if view.damaged_lines > 0 {
        remarks.push(format!("{} damaged lines", view.damaged_lines));
    }
    if view.orders_waiting > 0 {
        remarks.push(format!("{} orders wait", view.orders_waiting));
    }
    if view.open_in.is_some() && view.running.is_none() {
        remarks.push("open".into());
    }
    format!(
        "{:<16} {:<34} {:>7} {:>6} {:>5} {:>5.0} {:>9}  {}",
        view.name,
        position,
        format!("{}/{}", view.steps_finished, view.steps),
        view.attempts,
        view.hints,
        view.minutes,
        last,
        remarks.join("; ")
    )
    .trim_end()
    .to_string()
}
