//! Question and answer, step by step.

use std::io::{BufRead, Write};
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::command::{Command, HELP, parse};
use super::show::Page;
use crate::lesson::{Course, Lesson, Step, StepKind};
use crate::session::event::StepRef;
use crate::session::progress::{Access, access, next as next_unfinished};
use crate::session::runs::MeasuredRuns;
use crate::session::state::{Status, StepProgress};
use crate::session::{Session, SessionError, State};
use crate::tutor::signals::SharedSession;
use crate::tutor::{Options, Processes, TutorError, say};

/// A pause longer than this is a break.
const LONGEST_LOOK: Duration = Duration::from_secs(300);

pub struct Dialogue<'a, I, O> {
    pub(super) options: Options,
    pub(super) course: Course,
    session: &'a SharedSession,
    pub(super) processes: Processes,
    input: I,
    output: O,
    pub(super) at: Option<StepRef>,
}

/// What comes after a command.
pub enum Then {
    /// Another line for the same step.
    Stay,
    /// The step that is now open is said.
    Say,
    Leave,
}

impl<'a, I: BufRead, O: Write> Dialogue<'a, I, O> {
    pub fn new(
        options: Options,
        course: Course,
        session: &'a SharedSession,
        processes: Processes,
        input: I,
        output: O,
    ) -> Self {
        Self {
            options,
            course,
            session,
            processes,
            input,
            output,
            at: None,
        }
    }

    pub fn hold(mut self) -> Result<(), TutorError> {
        self.say(&format!(
            "{}. `help` lists what you can say.",
            self.course.title
        ))?;
        self.at = self.begin()?;
        self.say_step()?;
        loop {
            let since = Instant::now();
            self.say_notices()?;
            let Some(line) = self.ask("> ")? else {
                return Ok(());
            };
            self.note_time(since.elapsed())?;
            let accepts_text = self
                .current()
                .is_some_and(|(_, step)| matches!(step.kind, StepKind::Reflect));
            let then = match parse(&line, accepts_text) {
                Ok(command) => self.carry_out(command)?,
                Err(problem) => {
                    self.say(&problem)?;
                    Then::Stay
                }
            };
            match then {
                Then::Stay => {}
                Then::Say => self.say_step()?,
                Then::Leave => return Ok(()),
            }
        }
    }

    /// Where the learner was, else the first step that is not done.
    fn begin(&mut self) -> Result<Option<StepRef>, TutorError> {
        let state = self.state()?;
        let known = |at: &StepRef| self.course.step(&at.lesson, &at.step).is_some();
        let last = state.position.clone().filter(known);
        let first = || {
            let (lesson, step) = next_unfinished(&self.course, &state)?;
            Some(StepRef::new(&lesson.id, &step.id))
        };
        Ok(last.or_else(first))
    }

    fn carry_out(&mut self, command: Command) -> Result<Then, TutorError> {
        match command {
            Command::Quit => {
                self.say("Everything is kept. Until next time.")?;
                return Ok(Then::Leave);
            }
            Command::Help => self.say(HELP)?,
            Command::Outline => self.say_outline()?,
            Command::Messages => self.say_messages()?,
            Command::Again => return Ok(Then::Say),
            Command::Open(name) => return self.open_lesson(&name),
            Command::Page(name) => self.say_page(&name)?,
            Command::Next => return self.go_on(),
            Command::Back => return self.go_back(),
            Command::Skip(_) if self.progress()?.status == Status::Done => {
                self.say("This step is done; there is nothing to skip.")?;
            }
            Command::Skip(note) => {
                if let Some(at) = self.at.clone() {
                    self.with(|session| session.skip(at, &note))?;
                    return self.go_on();
                }
            }
            Command::Hint => self.hint()?,
            Command::Check => self.check()?,
            Command::Run(flags) => self.run(flags)?,
            Command::Recording(speed) => self.play(speed)?,
            Command::Import(path) => self.import(&path)?,
            Command::Go => return self.act(),
            Command::Text(text) => return self.answer(&text),
        }
        Ok(Then::Stay)
    }

    pub(super) fn go_on(&mut self) -> Result<Then, TutorError> {
        let state = self.state()?;
        let Some((lesson, step)) = self.current() else {
            return Ok(Then::Stay);
        };
        let position = lesson.steps.iter().position(|other| other.id == step.id);
        let following = position.and_then(|index| lesson.steps.get(index + 1));
        let next = match following {
            Some(step) => Some(StepRef::new(&lesson.id, &step.id)),
            None => next_unfinished(&self.course, &state)
                .map(|(lesson, step)| StepRef::new(&lesson.id, &step.id)),
        };
        match next {
            Some(next) => {
                self.at = Some(next);
                Ok(Then::Say)
            }
            None => {
                self.say("Everything that is open is done.")?;
                Ok(Then::Stay)
            }
        }
    }

    fn go_back(&mut self) -> Result<Then, TutorError> {
        let before = self.current().and_then(|(lesson, step)| {
            let index = lesson.steps.iter().position(|other| other.id == step.id)?;
            let step = lesson.steps.get(index.checked_sub(1)?)?;
            Some(StepRef::new(&lesson.id, &step.id))
        });
        match before {
            Some(before) => {
                self.at = Some(before);
                Ok(Then::Say)
            }
            None => {
                self.say("This is the lesson's first step.")?;
                Ok(Then::Stay)
            }
        }
    }

    fn open_lesson(&mut self, name: &str) -> Result<Then, TutorError> {
        let state = self.state()?;
        let by_number = name
            .parse::<usize>()
            .ok()
            .and_then(|number| self.course.lessons().nth(number.checked_sub(1)?));
        let Some(lesson) = by_number.or_else(|| self.course.lesson(name)) else {
            self.say(&format!(
                "There is no lesson `{name}`; `outline` lists them."
            ))?;
            return Ok(Then::Stay);
        };
        if let Access::Locked(missing) = access(&self.course, &state, lesson) {
            let text = format!(
                "{} {}.",
                lesson.title,
                say::requires(&self.course, &missing)
            );
            self.say(&text)?;
            return Ok(Then::Stay);
        }
        let is_open = |step: &&Step| {
            state
                .step(&lesson.id, &step.id)
                .is_none_or(|progress| progress.status == Status::Open)
        };
        let step = lesson.steps.iter().find(is_open).or(lesson.steps.first());
        self.at = step.map(|step| StepRef::new(&lesson.id, &step.id));
        Ok(Then::Say)
    }

    fn note_time(&mut self, spent: Duration) -> Result<(), TutorError> {
        match self.at.clone() {
            Some(at) => {
                let seconds = spent.min(LONGEST_LOOK).as_secs_f64();
                self.with(|session| session.spend(at, seconds)).map(|_| ())
            }
            None => Ok(()),
        }
    }

    pub(super) fn current(&self) -> Option<(&Lesson, &Step)> {
        let at = self.at.as_ref()?;
        let lesson = self.course.lesson(&at.lesson)?;
        Some((lesson, lesson.step(&at.step)?))
    }

    pub(super) fn progress(&mut self) -> Result<StepProgress, TutorError> {
        let at = self.at.clone();
        let state = self.state()?;
        let found = at.and_then(|at| state.step(&at.lesson, &at.step).cloned());
        Ok(found.unwrap_or_default())
    }

    pub(super) fn measured(&mut self) -> Result<MeasuredRuns, TutorError> {
        let mut guard = lock(self.session);
        let session = open(&mut guard)?;
        let runs = session.place.runs();
        Ok(MeasuredRuns::read(&self.course, session.state(), &runs)?)
    }

    /// Does something to the session. What cannot be written is said and kept; it does not end the course.
    pub(super) fn with<T>(
        &mut self,
        act: impl FnOnce(&mut Session) -> Result<T, SessionError>,
    ) -> Result<Option<T>, TutorError> {
        let result = act(open(&mut lock(self.session))?);
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                self.say(&format!("{error}. {}", error.remedy()))?;
                Ok(None)
            }
        }
    }

    fn state(&self) -> Result<State, TutorError> {
        Ok(open(&mut lock(self.session))?.state().clone())
    }

    pub(super) fn say(&mut self, text: &str) -> Result<(), TutorError> {
        writeln!(self.output, "{text}")
            .and_then(|()| self.output.flush())
            .map_err(TutorError::io("writing"))
    }

    /// A line of the learner's; none when the input has ended.
    pub(super) fn ask(&mut self, prompt: &str) -> Result<Option<String>, TutorError> {
        write!(self.output, "{prompt}")
            .and_then(|()| self.output.flush())
            .map_err(TutorError::io("writing"))?;
        let mut line = String::new();
        let count = self
            .input
            .read_line(&mut line)
            .map_err(TutorError::io("reading"))?;
        if count == 0 {
            self.say("")?;
            return Ok(None);
        }
        Ok(Some(line))
    }

    /// What instructors did since the last line.
    fn say_notices(&mut self) -> Result<(), TutorError> {
        let notices = self.with(Session::poll_notices)?.unwrap_or_default();
        for notice in notices {
            let text = notice.to_string();
            self.say(&text.replace(char::is_control, " "))?;
        }
        Ok(())
    }

    fn say_outline(&mut self) -> Result<(), TutorError> {
        let state = self.state()?;
        let text = Page::new(&self.options).outline(&self.course, &state);
        self.say(&text)
    }

    fn say_messages(&mut self) -> Result<(), TutorError> {
        let messages = self.state()?.messages;
        if messages.is_empty() {
            return self.say("Nobody has written to you.");
        }
        for message in messages {
            self.say(&format!(
                "{}, {}: {}",
                message.from, message.time, message.text
            ))?;
        }
        Ok(())
    }

    fn say_page(&mut self, name: &str) -> Result<(), TutorError> {
        let file = format!("{}.md", name.trim_end_matches(".md"));
        match self.course.reference.get(&file) {
            Some(text) => {
                let text = Page::new(&self.options).markdown(text);
                self.say(&text)
            }
            None => {
                let names: Vec<&str> = self
                    .course
                    .reference
                    .keys()
                    .map(|name| name.trim_end_matches(".md"))
                    .collect();
                let text = format!(
                    "There is no page `{name}`; there are: {}.",
                    names.join(", ")
                );
                self.say(&text)
            }
        }
    }
}

fn lock(session: &SharedSession) -> MutexGuard<'_, Option<Session>> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open<'g>(guard: &'g mut MutexGuard<'_, Option<Session>>) -> Result<&'g mut Session, TutorError> {
    guard.as_mut().ok_or_else(closed)
}

/// Only a signal closes a session under the dialogue, and then the program is about to end.
fn closed() -> TutorError {
    TutorError::Io {
        action: "going on",
        source: std::io::Error::other("the session was closed by a signal"),
    }
}
