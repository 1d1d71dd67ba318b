//! The dialogue: questions and answers, step by step.

use std::io::{self, BufRead, Write};
use std::time::Instant;

use super::command::{Command, HELP, parse};
use super::show::outline;
use crate::lesson::{Course, Lesson, Step, StepKind};
use crate::plain::markdown;
use crate::run::Processes;
use crate::session::{
    Access, LONGEST_LOOK, MeasuredRuns, Session, SessionError, State, Status, StepProgress,
    StepRef, access, beside, next as next_unfinished, unfinished,
};
use crate::tutor::{Options, SharedSession, TutorError, say};
use tinyllama_base::{plain, plain_lines};

pub struct Dialogue<'c, I, O> {
    pub options: Options,
    pub course: &'c Course,
    pub session: SharedSession,
    pub processes: Processes,
    pub input: I,
    pub output: O,
    /// The open step.
    pub at: Option<StepRef>,
}

/// The next action after a command.
pub enum Then {
    /// Reads another line for the same step.
    Stay,
    /// Prints the step that is now open.
    Say,
    Leave,
}

impl<'c, I: BufRead, O: Write> Dialogue<'c, I, O> {
    pub fn hold(mut self) -> Result<(), TutorError> {
        self.say(&format!(
            "{}. `help` lists the commands.",
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
            if let Some(at) = self.at.clone() {
                let seconds = since.elapsed().min(LONGEST_LOOK).as_secs_f64();
                self.with(|session| session.spend(at, seconds))?;
            }
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

    /// The learner's last position, else the first step that is not done.
    fn begin(&self) -> Result<Option<StepRef>, TutorError> {
        self.state(|state| {
            let known = |at: &StepRef| self.course.step(&at.lesson, &at.step).is_some();
            let last = state.position.clone().filter(known);
            last.or_else(|| next_unfinished(self.course, state))
        })
    }

    fn carry_out(&mut self, command: Command) -> Result<Then, TutorError> {
        match command {
            Command::Quit => {
                // If something could not be stored, `with` has just said so.
                if self.with(Session::finish)?.is_some() {
                    self.say("Everything is saved. Until next time.")?;
                }
                return Ok(Then::Leave);
            }
            Command::Help => self.say(HELP)?,
            Command::Outline => {
                let text = self.state(|state| outline(self.course, state))?;
                self.say(&text)?;
            }
            Command::Messages => self.say_messages()?,
            Command::Again => return Ok(Then::Say),
            Command::Open(name) => return self.open_lesson(&name),
            Command::Page(name) => self.say_page(&name)?,
            Command::Next => return self.go_on(),
            Command::Back => {
                let at = self.at.as_ref();
                let before = at.and_then(|at| beside(self.course, at, -1));
                return self.turn_to(before, "This is the lesson's first step.");
            }
            Command::Skip(_) if self.progress()?.status == Status::Done => {
                return self.stay("This step is done; there is nothing to skip.");
            }
            Command::Skip(note) => {
                if let Some(at) = self.at.clone() {
                    self.with(|session| session.skip(at, &note))?;
                    return self.go_on();
                }
            }
            Command::Hint => self.hint()?,
            Command::Check => {
                let checked = self.check()?;
                if let Some((_, step)) = self.current() {
                    self.in_turns(step, checked, true)?;
                }
            }
            Command::Run(flags) => self.run(flags)?,
            Command::Recording(speed) => self.play(speed)?,
            Command::Import(path) => self.import(&path)?,
            Command::Go => return self.act(),
            Command::Text(text) => return self.answer(&text),
        }
        Ok(Then::Stay)
    }

    pub(super) fn go_on(&mut self) -> Result<Then, TutorError> {
        let Some(at) = &self.at else {
            return Ok(Then::Stay);
        };
        let next = match beside(self.course, at, 1) {
            Some(following) => Some(following),
            None => self.state(|state| next_unfinished(self.course, state))?,
        };
        self.turn_to(next, "Everything that is open is done.")
    }

    fn turn_to(&mut self, step: Option<StepRef>, otherwise: &str) -> Result<Then, TutorError> {
        if step.is_none() {
            return self.stay(otherwise);
        }
        self.at = step;
        Ok(Then::Say)
    }

    pub(super) fn stay(&mut self, text: &str) -> Result<Then, TutorError> {
        self.say(text)?;
        Ok(Then::Stay)
    }

    fn open_lesson(&mut self, name: &str) -> Result<Then, TutorError> {
        let course = self.course;
        let by_number = name
            .parse::<usize>()
            .ok()
            .and_then(|number| course.lessons().nth(number.checked_sub(1)?));
        let Some(lesson) = by_number.or_else(|| course.lesson(name)) else {
            return self.stay(&format!(
                "There is no lesson `{name}`; `outline` lists them."
            ));
        };
        let access = self.state(|state| access(course, state, lesson))?;
        if let Access::Locked(missing) = access {
            let needs = say::requires(course, &missing);
            return self.stay(&format!("{} {needs}.", lesson.title));
        }
        let first = lesson.steps.first();
        let first = first.map(|step| StepRef::new(&lesson.id, &step.id));
        self.at = self.state(|state| unfinished(state, lesson))?.or(first);
        Ok(Then::Say)
    }

    /// The open step with its lesson.
    pub(super) fn current(&self) -> Option<(&'c Lesson, &'c Step)> {
        self.course.at(self.at.as_ref()?)
    }

    pub(super) fn progress(&self) -> Result<StepProgress, TutorError> {
        let of = |state: &State| self.at.as_ref().map(|at| state.progress(at));
        Ok(self.state(of)?.unwrap_or_default())
    }

    pub(super) fn measured(&self) -> Result<MeasuredRuns, TutorError> {
        let measured = self.session.with(|session| session.measured(self.course));
        Ok(measured.ok_or_else(closed)??)
    }

    /// Calls `act` with the session. Prints a session error, because it must not end the course, and returns `None`.
    pub(super) fn with<T>(
        &mut self,
        act: impl FnOnce(&mut Session) -> Result<T, SessionError>,
    ) -> Result<Option<T>, TutorError> {
        match self.session.with(act).ok_or_else(closed)? {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                self.say(&format!("{error}. {}", error.remedy()))?;
                Ok(None)
            }
        }
    }

    pub(super) fn state<T>(&self, read: impl FnOnce(&State) -> T) -> Result<T, TutorError> {
        let read = self.session.with(|session| read(session.state()));
        read.ok_or_else(closed)
    }

    pub(super) fn say(&mut self, text: &str) -> Result<(), TutorError> {
        writeln!(self.output, "{}", plain_lines(text))
            .and_then(|()| self.output.flush())
            .map_err(TutorError::io("writing"))
    }

    /// Asks the learner for a line; `None` at the end of the input.
    fn ask(&mut self, prompt: &str) -> Result<Option<String>, TutorError> {
        write!(self.output, "{}", plain_lines(prompt))
            .and_then(|()| self.output.flush())
            .map_err(TutorError::io("writing"))?;
        loop {
            match read_line(&mut self.input).map_err(TutorError::io("reading"))? {
                None => {
                    self.say("")?;
                    return Ok(None);
                }
                Some(Ok(line)) => return Ok(Some(line)),
                Some(Err(why)) => self.say(&format!("{why} The line was ignored.\n{prompt}"))?,
            }
        }
    }

    /// Prints what instructors did since the last line.
    fn say_notices(&mut self) -> Result<(), TutorError> {
        let notices = self.with(Session::poll_notices)?.unwrap_or_default();
        notices
            .iter()
            .try_for_each(|notice| self.say(&plain(&notice.to_string())))
    }

    fn say_messages(&mut self) -> Result<(), TutorError> {
        let messages = self.state(|state| state.messages.clone())?;
        if messages.is_empty() {
            return self.say("You have no messages.");
        }
        messages.iter().try_for_each(|message| {
            self.say(&plain(&format!(
                "{}, {}: {}",
                message.from, message.time, message.text
            )))
        })
    }

    fn say_page(&mut self, name: &str) -> Result<(), TutorError> {
        let pages = &self.course.reference;
        let text = match pages.get(&format!("{}.md", name.trim_end_matches(".md"))) {
            Some(text) => markdown(&self.options, text),
            None => {
                let names = pages.keys().map(|name| name.trim_end_matches(".md"));
                let names = itertools::join(names, ", ");
                format!("There is no page `{name}`; there are: {names}.")
            }
        };
        self.say(&text)
    }
}

/// No one types a longer line.
const LONGEST_LINE: usize = 1 << 20;

/// The next line; `None` at the end of the input. The inner error is a message about an unusable line.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Result<String, String>>> {
    let mut line = Vec::new();
    let mut whole = 0;
    loop {
        let bytes = input.fill_buf()?;
        let end = memchr::memchr(b'\n', bytes);
        let taken = end.map_or(bytes.len(), |end| end + 1);
        // The rest of a line that is too long is read and dropped.
        let room = (LONGEST_LINE + 1).saturating_sub(line.len());
        line.extend_from_slice(&bytes[..taken.min(room)]);
        whole += taken;
        input.consume(taken);
        if end.is_some() || taken == 0 {
            break;
        }
    }
    if whole == 0 {
        return Ok(None);
    }
    if whole > LONGEST_LINE {
        return Ok(Some(Err(format!(
            "That line has {whole} bytes; at most {LONGEST_LINE} are read."
        ))));
    }
    let line = String::from_utf8(line);
    Ok(Some(line.map_err(|_| {
        "That line is not UTF-8 text: set the terminal to UTF-8, or type it in ASCII.".into()
    })))
}

/// Only a signal closes the session during a dialogue, and then the program is about to end.
fn closed() -> TutorError {
    TutorError::Io {
        action: "going on",
        source: std::io::Error::other("the session was closed by a signal"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_cannot_be_taken_does_not_end_the_input() {
        let long = "y".repeat(LONGEST_LINE + 1);
        let input = [b"skip \xff\n", long.as_bytes(), b"\nhelp\nend"].concat();
        let mut input = io::BufReader::with_capacity(7, input.as_slice());
        let mut next = || read_line(&mut input).unwrap();
        assert!(next().unwrap().unwrap_err().contains("UTF-8"));
        assert!(next().unwrap().unwrap_err().contains("bytes"));
        assert_eq!(next().unwrap().unwrap(), "help\n");
        assert_eq!(next().unwrap().unwrap(), "end");
        assert!(next().is_none());
    }
}
