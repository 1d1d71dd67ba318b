//! Converts a step document into a [`Step`].

use super::document::GoldenDocument;
use super::file::CourseFile;
use super::kinds::COMMON;
use crate::{
    Check, CommandCheck, Golden, Hint, LessonCommand, Problem, Quantity, RunName, Step,
    StepDocument, limits, live,
};
use tinyllama_contract::targets;

/// Converts one step.
pub(crate) struct StepReader<'a> {
    pub(super) file: &'a CourseFile,
    pub(super) lesson: &'a str,
    pub(super) index: usize,
    pub(super) commands: CommandCheck<'a>,
    pub(super) problems: &'a mut Vec<Problem>,
}

impl StepReader<'_> {
    pub fn read(mut self, step: &StepDocument) -> Option<Step> {
        self.keys(step);
        let kind = step.kind.read(&mut self, step);
        let flags = self.step_flags("flags", step, step.flags.as_deref());
        // The checks of a command's document are read with its kind.
        let checks = step.checks.iter().enumerate();
        let checks = checks.filter(|_| step.command.is_none());
        let checks: Vec<_> = checks
            .filter_map(|(i, check)| Check::read(&mut self, i, check))
            .collect();
        let hints = step.hints.iter().enumerate();
        let hints = hints
            .map(|(i, hint)| Hint {
                text: self.settled(&format!("hints/{i}"), &hint.text),
                after: hint.after.clone(),
            })
            .collect();
        let kind = kind?;
        let hints = if step.hints.is_empty() {
            let of_kind = kind.content().hints().iter().cloned();
            of_kind.map(|text| Hint { text, after: None }).collect()
        } else {
            hints
        };
        let golden = self.golden(step);
        let mut read = Step {
            id: step.id.clone(),
            title: step.title.clone(),
            text: step.text.clone(),
            kind,
            target: step.target.clone(),
            flags: flags?,
            recording: step.recording.clone(),
            optional: step.optional.unwrap_or(false),
            editable: step.editable.unwrap_or(false),
            checks,
            hints,
            golden,
            again: None,
        };
        let mut other = step.clone();
        if let Some(number) = &mut other.number
            && let Some(again) = number.again.take()
        {
            (number.answer, number.because) = (Some(again.answer), again.because);
            number.mistakes.clear();
            let kind = step.kind.read(&mut self, &other)?;
            let text = again.text;
            read.again = Some(Box::new(Step {
                kind,
                text,
                ..read.clone()
            }));
        }
        Some(read)
    }

    pub(super) fn refuse(&mut self, path: &str, message: impl Into<String>) {
        let path = format!("steps/{}/{path}", self.index);
        self.problems.push(self.file.problem(&path, message));
    }

    pub(super) fn or_refuse<T>(&mut self, path: &str, read: Result<T, impl ToString>) -> Option<T> {
        read.map_err(|error| self.refuse(path, error.to_string()))
            .ok()
    }

    pub(super) fn run_name(&self, text: &str) -> RunName {
        RunName::parse(text, self.lesson)
    }

    /// A text that is the same for every learner, with its figures filled in.
    pub(super) fn settled(&mut self, path: &str, text: &str) -> String {
        live::fill_known(text).unwrap_or_else(|message| {
            self.refuse(path, message);
            text.into()
        })
    }

    fn keys(&mut self, step: &StepDocument) {
        let keys = step.kind.keys();
        let kind = step.kind.name();
        let present = step.present();
        for key in &present {
            let key = key.as_str();
            if !keys.needs.contains(&key) && !keys.may.contains(&key) {
                let allowed = [&COMMON[..], keys.needs, keys.may].concat();
                let allowed = allowed.join(", ");
                let message = format!("a `{kind}` step has no `{key}`; it has: {allowed}");
                self.refuse(key, message);
            }
        }
        let is_missing = |key: &&&str| !present.iter().any(|given| given == *key);
        for key in keys.needs.iter().filter(is_missing) {
            self.refuse("", format!("this `{kind}` step lacks `{key}`"));
        }
    }

    pub(super) fn quantity(&mut self, path: &str, text: &str) -> Option<Quantity> {
        self.or_refuse(path, Quantity::parse(text, self.lesson))
    }

    /// Flags of the run or the command that the step starts.
    fn step_flags(
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
    fn path(&mut self, at: &str, path: String) -> Option<String> {
        let below =
            "a path of a course must stay in its folder, and no part of it may begin with a dot";
        let stays = limits::stays_below(&path).then_some(path);
        self.or_refuse(at, stays.ok_or(below))
    }

    fn golden(&mut self, step: &StepDocument) -> Golden {
        let GoldenDocument {
            number,
            flags,
            text,
            import,
        } = step.golden.clone().unwrap_or_default();
        let flags = flags.and_then(|line| self.step_flags("golden", step, Some(&line)));
        let import = import.and_then(|path| self.path("golden", path));
        Golden {
            number,
            flags,
            text,
            import,
        }
    }
}
