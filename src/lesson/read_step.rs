//! Converts a step document into a [`Step`].

use serde_json::Value;

use super::document::GoldenDocument;
use super::kinds::COMMON;
use super::step_reader::StepReader;
use crate::{Check, Golden, Hint, Step, StepDocument};

impl StepReader<'_> {
    pub(super) fn read(mut self, step: &StepDocument) -> Option<Step> {
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
        let hints = hints.map(|(i, hint)| Hint {
            text: self.settled(&format!("hints/{i}"), &hint.text),
            after: hint.after.clone(),
        });
        let mut hints: Vec<Hint> = hints.collect();
        let kind = kind?;
        let of_kind = kind.content().hints().iter().cloned();
        hints.extend(of_kind.map(|text| Hint { text, after: None }));
        let golden = self.golden(step);
        let mut read = Step {
            id: step.id.clone(),
            title: step.title.clone(),
            text: step.text.clone(),
            kind,
            target: step.target.clone(),
            flags: flags?,
            recording: step.recording.clone(),
            on_gpu: step.on_gpu.unwrap_or(false),
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

impl StepDocument {
    /// Returns the keys written in the file, as far as they depend on the kind.
    fn present(&self) -> Vec<String> {
        let written = serde_json::to_value(self).unwrap_or_default();
        let keys = written.as_object().into_iter().flatten();
        let is_there = |key: &str, value: &Value| match key {
            "checks" => !self.checks.is_empty(),
            key => !COMMON.contains(&key) && !value.is_null(),
        };
        keys.filter(|(key, value)| is_there(key, value))
            .map(|(key, _)| key.clone())
            .collect()
    }
}
