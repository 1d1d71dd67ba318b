//! The dialogue: questions and answers, step by step.

use std::io::{self, BufRead, Write};
use std::time::Instant;

use super::command::{DialogueCommand, HELP, parse};
use super::show::{folded_for_terminal, outline};
use super::step::{choices, parse_answer, verdict_text};
use crate::plain::{FAREWELL, markdown};
use tinyllama_base::{plain, plain_lines};
use tinyllama_lesson::path::WHOLE;
use tinyllama_lesson::{Course, Lesson, Step};
use tinyllama_runs::Processes;
use tinyllama_session::order::received;
use tinyllama_session::{
    Access, LONGEST_LOOK, MeasuredRuns, Session, SessionError, SessionState, StepProgress, StepRef,
    StepStatus, access, following, neighbour, next as next_unfinished, recall, unfinished,
};
use tinyllama_tutor_core::document::Editable;
use tinyllama_tutor_core::request::{News, SessionRequest, carry_out};
use tinyllama_tutor_core::{SharedSession, TutorError, TutorOptions, behavior, say};

pub struct Dialogue<'c, I, O> {
    pub options: TutorOptions,
    pub course: &'c Course,
    pub session: SharedSession,
    pub processes: Processes,
    pub input: I,
    pub output: O,
    /// The open step.
    pub at: Option<StepRef>,
    /// The locked lesson that the learner tried to open last. A second try opens it.
    pub tried_lesson: Option<String>,
    /// True if Enter plays recordings instead of starting runs.
    pub plays_recordings: bool,
}

/// The next action after a command.
pub enum NextStep {
    /// Reads another line for the same step.
    Stay,
    /// Prints the step that is now open.
    Say,
    Leave,
}

impl<'c, I: BufRead, O: Write> Dialogue<'c, I, O> {
    pub fn run_to_end(mut self) -> Result<(), TutorError> {
        self.print(&format!(
            "{}. `help` lists the commands.",
            self.course.title
        ))?;
        let is_first = self.state(|state| state.position.is_none())?;
        if is_first && !self.course.paths.is_empty() {
            let paths = self.paths()?;
            self.print(&format!(
                "Take the whole course or a part, now or later:\n{paths}"
            ))?;
        }
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
                self.request(SessionRequest::Spend(at, seconds))?;
            }
            let edits = self.current().and_then(|(_, step)| behavior(step).edits());
            let accepts_text = edits == Some(Editable::Text);
            let then = match parse(&line, accepts_text) {
                Ok(command) => self.carry_out(command)?,
                Err(problem) => {
                    self.print(&problem)?;
                    NextStep::Stay
                }
            };
            match then {
                NextStep::Stay => {}
                NextStep::Say => {
                    let at = self.at.clone();
                    let course = self.course;
                    let is_due = |state: &SessionState| {
                        at.is_some() && recall::is_due(course, state, at.as_ref())
                    };
                    if self.state(is_due)?
                        && let NextStep::Leave = self.recall()?
                    {
                        return Ok(());
                    }
                    self.say_step()?;
                }
                NextStep::Leave => return Ok(()),
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

    fn carry_out(&mut self, command: DialogueCommand) -> Result<NextStep, TutorError> {
        match command {
            DialogueCommand::Quit => {
                // If something could not be stored, `with_session` has just verdict_text so.
                if self.with_session(Session::finish)?.is_some() {
                    self.print(FAREWELL)?;
                }
                return Ok(NextStep::Leave);
            }
            DialogueCommand::Help => self.print(HELP)?,
            DialogueCommand::Outline => {
                let text = self.state(|state| outline(self.course, state))?;
                self.print(&text)?;
            }
            DialogueCommand::Messages => self.say_messages()?,
            DialogueCommand::Again => return Ok(NextStep::Say),
            DialogueCommand::Open(name) => return self.open_lesson(&name),
            DialogueCommand::Page(name) => self.say_page(&name)?,
            DialogueCommand::Next => return self.next_step(),
            DialogueCommand::Back => {
                let at = self.at.as_ref();
                let before = at.and_then(|at| neighbour(self.course, at, -1));
                return self.open_step(before, "This is the lesson's first step.");
            }
            DialogueCommand::Skip(_) if self.progress()?.status == StepStatus::Done => {
                return self.stay_with_text("This step is done; there is nothing to skip.");
            }
            DialogueCommand::Skip(note) => {
                if let Some(at) = self.at.clone() {
                    self.request(SessionRequest::Skip(at, note))?;
                    return self.next_step();
                }
            }
            DialogueCommand::SkipLesson(note) => {
                if let Some(at) = self.at.clone() {
                    self.request(SessionRequest::SkipLesson(at, note))?;
                    let next = self.state(|state| next_unfinished(self.course, state))?;
                    return self.open_step(next, "Everything that is open is done.");
                }
            }
            DialogueCommand::Path(name) => return self.take_path(&name),
            DialogueCommand::Hint => self.hint()?,
            DialogueCommand::Check => {
                let checked = self.check()?;
                if let Some((_, step)) = self.current() {
                    self.run_in_turns(step, checked, true)?;
                }
            }
            DialogueCommand::Recall => return self.recall(),
            DialogueCommand::Run(flags) => {
                self.run(flags)?;
                return self.say_output();
            }
            DialogueCommand::Recording(speed) => {
                self.play(speed)?;
                return self.say_output();
            }
            DialogueCommand::Recordings(plays) => {
                self.plays_recordings = plays;
                self.print(match plays {
                    true => "From now on Enter plays the recording of a run.",
                    false => "From now on Enter starts runs here.",
                })?;
            }
            DialogueCommand::Import(path) => self.import(&path)?,
            DialogueCommand::Go => return self.act(),
            DialogueCommand::Text(text) => return self.answer(&text),
        }
        Ok(NextStep::Stay)
    }

    pub(super) fn next_step(&mut self) -> Result<NextStep, TutorError> {
        let (Some(at), course) = (self.at.clone(), self.course) else {
            return Ok(NextStep::Stay);
        };
        let next = self.state(|state| {
            following(course, state, &at).or_else(|| next_unfinished(course, state))
        })?;
        let done = "Everything that is open is done.";
        if next.is_none() && self.state(|state| recall::is_due(course, state, None))? {
            self.print(done)?;
            return self.recall();
        }
        self.open_step(next, done)
    }

    /// Asks earlier questions, one after the other.
    fn recall(&mut self) -> Result<NextStep, TutorError> {
        let course = self.course;
        let questions = self.state(|state| recall::questions(course, state))?;
        let (mut right, mut answered, of) = (0, 0, questions.len());
        if of == 0 {
            return Ok(NextStep::Stay);
        }
        self.print("\nEarlier questions come back before each session, because what is recalled is kept. Enter passes one, `stop` ends them.")?;
        for (number, at) in (1..).zip(questions) {
            let found = course.find_step(&at);
            let found = found.map(|(lesson, step)| (lesson, step.asked_again()));
            let Some((lesson, step, quiz)) = found.and_then(|(l, s)| Some((l, s, s.as_quiz()?)))
            else {
                continue;
            };
            let order = self.state(|state| quiz.order(&state.identity, &at))?;
            let (title, text) = (&step.title, self.filled(&step.text, lesson)?);
            self.print(&format!(
                "\n== Question {number} of {of}: {}: {title}\n",
                lesson.title
            ))?;
            self.print(&markdown(&self.options, &text))?;
            // What the question is about stands with it, as at its own step.
            let open = self.at.replace(at.clone());
            self.say_output()?;
            self.at = open;
            self.print(&choices(quiz, &order, &self.options))?;
            let Some(line) = self.ask("answer> ")? else {
                return Ok(NextStep::Leave);
            };
            match parse(&line, false) {
                Ok(DialogueCommand::Quit) => return self.carry_out(DialogueCommand::Quit),
                Ok(DialogueCommand::Go | DialogueCommand::Next) => continue,
                _ if line.trim() == "stop" => break,
                _ => {}
            }
            let Some(answer) = parse_answer(quiz, &order, line.trim()) else {
                self.print("That is no answer to this question; the next one follows.")?;
                continue;
            };
            let news = self.request(SessionRequest::Recall(at, answer))?;
            if let News::Marked(_, Some(marked)) = news {
                answered += 1;
                right += usize::from(marked.correct);
                self.print(&markdown(&self.options, &verdict_text(&marked)))?;
            }
        }
        self.stay_with_text(&match answered {
            0 => "No earlier question was answered; they come again.".into(),
            answered => format!("Earlier questions: {right} of {answered} right."),
        })
    }

    /// Lists the commands that take a path, and marks the one that is taken.
    fn paths(&self) -> Result<String, TutorError> {
        let taken = self.state(|state| state.path.clone())?;
        let taken = taken.as_ref().map_or(WHOLE, |path| &path.id);
        let lines = self.course.paths_in_text().into_iter().map(|(name, text)| {
            let is_taken = if name == taken { " (taken)" } else { "" };
            format!("  path {name:<10} {text}{is_taken}")
        });
        Ok(itertools::join(lines, "\n"))
    }

    /// Takes a path; without a name, lists them.
    fn take_path(&mut self, name: &str) -> Result<NextStep, TutorError> {
        if name.is_empty() {
            return self.stay_with_text(&self.paths()?);
        }
        match self.course.path(name) {
            Ok(path) => {
                self.request(SessionRequest::TakePath(path.cloned()))?;
                self.at = self.state(|state| next_unfinished(self.course, state))?;
                Ok(NextStep::Say)
            }
            Err(problem) => self.stay_with_text(&problem),
        }
    }

    fn open_step(
        &mut self,
        step: Option<StepRef>,
        otherwise: &str,
    ) -> Result<NextStep, TutorError> {
        if step.is_none() {
            return self.stay_with_text(otherwise);
        }
        self.at = step;
        Ok(NextStep::Say)
    }

    pub(super) fn stay_with_text(&mut self, text: &str) -> Result<NextStep, TutorError> {
        self.print(text)?;
        Ok(NextStep::Stay)
    }

    fn open_lesson(&mut self, name: &str) -> Result<NextStep, TutorError> {
        let course = self.course;
        let by_number = name
            .parse::<usize>()
            .ok()
            .and_then(|number| course.lessons().nth(number.checked_sub(1)?));
        let Some(lesson) = by_number.or_else(|| course.lesson(name)) else {
            return self.stay_with_text(&format!(
                "There is no lesson `{name}`; `outline` lists them."
            ));
        };
        let access = self.state(|state| access(course, state, lesson))?;
        let tried = self.tried_lesson.take();
        if let Access::Locked(missing) = access {
            if tried.as_ref() != Some(&lesson.id) {
                self.tried_lesson = Some(lesson.id.clone());
                let text = say::locked(course, lesson, &missing, "The same command again");
                return self.stay_with_text(&text);
            }
            self.request(SessionRequest::OpenEarly(lesson.id.clone()))?;
        }
        let first = lesson.steps.first();
        let first = first.map(|step| StepRef::new(&lesson.id, &step.id));
        self.at = self.state(|state| unfinished(state, lesson))?.or(first);
        Ok(NextStep::Say)
    }

    /// The open step with its lesson.
    pub(super) fn current(&self) -> Option<(&'c Lesson, &'c Step)> {
        self.course.find_step(self.at.as_ref()?)
    }

    pub(super) fn progress(&self) -> Result<StepProgress, TutorError> {
        let of = |state: &SessionState| self.at.as_ref().map(|at| state.progress(at));
        Ok(self.state(of)?.unwrap_or_default())
    }

    pub(super) fn measured(&self) -> Result<MeasuredRuns, TutorError> {
        let measured = self
            .session
            .with_session(|session| session.measured(self.course));
        Ok(measured.ok_or_else(session_closed_error)??)
    }

    /// Sends a request to the session. Returns `News::None` for one that fails, once the failure is printed.
    pub(super) fn request(&mut self, request: SessionRequest) -> Result<News, TutorError> {
        let course = self.course;
        let done = self.with_session(|session| {
            carry_out(session, course, request).unwrap_or(Ok(News::None))
        })?;
        Ok(done.unwrap_or(News::None))
    }

    /// Calls `act` with the session. Prints a session error, because it must not end the course, and returns `None`.
    pub(super) fn with_session<T>(
        &mut self,
        act: impl FnOnce(&mut Session) -> Result<T, SessionError>,
    ) -> Result<Option<T>, TutorError> {
        match self
            .session
            .with_session(act)
            .ok_or_else(session_closed_error)?
        {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                self.print(&format!("{error}. {}", error.remedy()))?;
                Ok(None)
            }
        }
    }

    pub(super) fn state<T>(&self, read: impl FnOnce(&SessionState) -> T) -> Result<T, TutorError> {
        let read = self.session.with_session(|session| read(session.state()));
        read.ok_or_else(session_closed_error)
    }

    pub(super) fn print(&mut self, text: &str) -> Result<(), TutorError> {
        let text = folded_for_terminal(&plain_lines(text));
        writeln!(self.output, "{text}")
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
                    self.print("")?;
                    return Ok(None);
                }
                Some(Ok(line)) => return Ok(Some(line)),
                Some(Err(why)) => self.print(&format!("{why} The line was ignored.\n{prompt}"))?,
            }
        }
    }

    /// Prints what instructors did since the last line.
    fn say_notices(&mut self) -> Result<(), TutorError> {
        let notices = self
            .with_session(Session::poll_notices)?
            .unwrap_or_default();
        notices
            .iter()
            .try_for_each(|notice| self.print(&plain(&notice.text(self.course))))
    }

    fn say_messages(&mut self) -> Result<(), TutorError> {
        let course = self.course;
        let lines = self.state(|state| {
            let received = received(state, course).into_iter().rev();
            let lines = received.map(|(time, from, text)| format!("{from}, {time}: {text}"));
            lines.collect::<Vec<_>>()
        })?;
        if lines.is_empty() {
            return self.print("You have no messages.");
        }
        lines.iter().try_for_each(|line| self.print(&plain(line)))
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
        self.print(&text)
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
fn session_closed_error() -> TutorError {
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
