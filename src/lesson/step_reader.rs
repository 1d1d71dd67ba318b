//! What the parts of a step are read with: each reports a mistake at its place in the file.

use super::file::CourseFile;
use crate::{CommandCheck, LessonCommand, Problem, Quantity, StepDocument, StepRef, limits, text};
use tinyllama_contract::targets;

/// Reads one step.
pub(crate) struct StepReader<'a> {
    pub(super) file: &'a CourseFile,
    pub(super) lesson: &'a str,
    pub(super) index: usize,
    pub(super) commands: CommandCheck<'a>,
    pub(super) problems: &'a mut Vec<Problem>,
}

impl StepReader<'_> {
    pub(super) fn refuse(&mut self, path: &str, message: impl Into<String>) {
        let path = format!("steps/{}/{path}", self.index);
        self.problems.push(self.file.problem(&path, message));
    }

    pub(super) fn or_refuse<T>(&mut self, path: &str, read: Result<T, impl ToString>) -> Option<T> {
        read.map_err(|error| self.refuse(path, error.to_string()))
            .ok()
    }

    pub(super) fn run_name(&self, text: &str) -> StepRef {
        StepRef::parse(text, self.lesson)
    }

    /// A text that is the same for every learner, with its figures filled in.
    pub(super) fn settled(&mut self, path: &str, text: &str) -> String {
        text::fill_known(text).unwrap_or_else(|message| {
            self.refuse(path, message);
            text.into()
        })
    }

    pub(super) fn quantity(&mut self, path: &str, text: &str) -> Option<Quantity> {
        self.or_refuse(path, Quantity::parse(text, self.lesson))
    }

    /// Flags of the run or the command that the step starts.
    pub(super) fn step_flags(
        &mut self,
        key: &str,
        step: &StepDocument,
        line: Option<&str>,
    ) -> Option<Vec<String>> {
        let flags = shlex::split(line.unwrap_or_default());
        let flags = self.or_refuse(key, flags.ok_or("a quote in this line is not closed"))?;
        if let Some(Ok(command)) = step.command.as_deref().map(LessonCommand::parse) {
            let refused = command
                .check(&flags)
                .and_then(|()| (self.commands)(command.name, &flags));
            self.or_refuse(key, refused);
            return Some(flags);
        }
        let target = step.target.as_deref().unwrap_or_default();
        if let Some(message) = limits::refused_flag(&flags) {
            self.refuse(key, message);
            return None;
        }
        if targets::names().any(|known| known == target)
            && let Err(message) = (self.commands)(target, &flags)
        {
            self.refuse(key, format!("the run command refuses this: {message}"));
        }
        Some(flags)
    }

    /// Accepts only a path below the course.
    pub(super) fn path(&mut self, at: &str, path: String) -> Option<String> {
        let below =
            "a path of a course must stay in its folder, and no part of it may begin with a dot";
        let stays = limits::stays_below(&path).then_some(path);
        self.or_refuse(at, stays.ok_or(below))
    }
}
