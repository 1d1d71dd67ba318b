//! From a step as it is written to a step as it is used.

use super::check::{Check, USUAL_CONFIDENCE};
use super::course::{Golden, Hint, Step, StepKind};
use super::document::{CheckDocument, GoldenDocument, Kind, StepDocument};
use super::file::File;
use super::kinds::COMMON;
use super::load::CommandCheck;
use super::locate::Part;
use super::problem::Problem;
use super::quantity::{Quantity, RunName};
use super::quiz::{Choice, Number, Quiz};
use crate::analysis::Metric;
use crate::targets;

/// Turns one step as written into a step as used.
pub(super) struct StepReader<'a> {
    pub file: &'a File,
    pub lesson: &'a str,
    pub index: usize,
    pub commands: CommandCheck<'a>,
    pub problems: &'a mut Vec<Problem>,
}

impl StepReader<'_> {
    pub fn read(mut self, step: &StepDocument) -> Option<Step> {
        self.keys(step);
        let kind = self.kind(step);
        let checks: Vec<_> = step
            .checks
            .iter()
            .enumerate()
            .filter_map(|(i, check)| self.check(i, check))
            .collect();
        let hints = step
            .hints
            .iter()
            .map(|hint| Hint {
                text: hint.text.clone(),
                after: hint.after.clone(),
            })
            .collect();
        let golden = self.golden(step);
        Some(Step {
            id: step.id.clone(),
            title: step.title.clone(),
            text: step.text.clone(),
            kind: kind?,
            recording: step.recording.clone(),
            checks,
            hints,
            golden,
        })
    }

    fn refuse(&mut self, path: &[Part], message: impl Into<String>) {
        let mut full = vec![Part::Key("steps"), Part::Index(self.index)];
        full.extend_from_slice(path);
        self.problems.push(self.file.problem(&full, message));
    }

    fn keys(&mut self, step: &StepDocument) {
        let keys = step.kind.keys();
        let kind = step.kind.name();
        let present = step.present();
        for key in &present {
            if !keys.required.contains(key) && !keys.optional.contains(key) {
                let allowed = [&COMMON[..], keys.required, keys.optional]
                    .concat()
                    .join(", ");
                self.refuse(
                    &[Part::Key(key)],
                    format!("a `{kind}` step has no `{key}`; it has: {allowed}"),
                );
            }
        }
        for key in keys.required.iter().filter(|key| !present.contains(*key)) {
            self.refuse(&[], format!("this `{kind}` step lacks `{key}`"));
        }
    }

    fn kind(&mut self, step: &StepDocument) -> Option<StepKind> {
        Some(match step.kind {
            Kind::Read => StepKind::Read,
            Kind::Reflect => StepKind::Reflect,
            Kind::Predict => {
                let measure = step.measure.as_deref()?;
                StepKind::Predict {
                    measure: self.quantity(&[Part::Key("measure")], measure)?,
                }
            }
            Kind::Run => {
                let target = step.target.clone()?;
                let flags = self.flags("flags", &target, step.flags.as_deref())?;
                StepKind::Run {
                    target,
                    flags,
                    editable: step.editable.unwrap_or(false),
                }
            }
            Kind::Profile => {
                let target = step.target.clone()?;
                let flags = self.flags("flags", &target, step.flags.as_deref())?;
                StepKind::Profile {
                    tool: step.tool?,
                    target,
                    flags,
                }
            }
            Kind::Compare => {
                let runs = step
                    .runs
                    .as_ref()?
                    .iter()
                    .map(|run| RunName::parse(run, self.lesson))
                    .collect();
                StepKind::Compare {
                    runs,
                    metrics: self.metrics(step.metrics.as_ref()?)?,
                }
            }
            Kind::Quiz => StepKind::Quiz(self.quiz(step)?),
            Kind::Kernel => StepKind::Kernel {
                file: step.file.clone()?,
            },
        })
    }

    fn metrics(&mut self, names: &[String]) -> Option<Vec<Metric>> {
        let mut metrics = Vec::new();
        for (i, name) in names.iter().enumerate() {
            match name.parse() {
                Ok(metric) => metrics.push(metric),
                Err(error) => {
                    self.refuse(&[Part::Key("metrics"), Part::Index(i)], format!("{error}"))
                }
            }
        }
        (metrics.len() == names.len()).then_some(metrics)
    }

    fn quantity(&mut self, path: &[Part], text: &str) -> Option<Quantity> {
        Quantity::parse(text, self.lesson)
            .map_err(|message| self.refuse(path, message))
            .ok()
    }

    fn flags(&mut self, key: &str, target: &str, line: Option<&str>) -> Option<Vec<String>> {
        let Some(flags) = shlex::split(line.unwrap_or_default()) else {
            self.refuse(&[Part::Key(key)], "a quote in this line is not closed");
            return None;
        };
        if targets::names().any(|known| known == target)
            && let Err(message) = (self.commands)(target, &flags)
        {
            self.refuse(
                &[Part::Key(key)],
                format!("the run command refuses this: {message}"),
            );
        }
        Some(flags)
    }

    fn quiz(&mut self, step: &StepDocument) -> Option<Quiz> {
        match (&step.choices, &step.number) {
            (Some(choices), None) => {
                let choices = choices.iter().map(|choice| Choice {
                    text: choice.text.clone(),
                    correct: choice.correct,
                    because: choice.because.clone(),
                });
                Some(Quiz::Choices(choices.collect()))
            }
            (None, Some(number)) => Some(Quiz::Number(Number {
                answer: number.answer,
                tolerance: number.tolerance,
                unit: number.unit.clone(),
                because: number.because.clone(),
            })),
            _ => {
                self.refuse(&[], "a `quiz` step has either `choices` or `number`");
                None
            }
        }
    }

    fn check(&mut self, index: usize, check: &CheckDocument) -> Option<Check> {
        let path = [
            Part::Key("checks"),
            Part::Index(index),
            Part::Key("measure"),
        ];
        let measure = self.quantity(&path, &check.measure)?;
        let usual = measure.has_spread().then_some(USUAL_CONFIDENCE);
        Some(Check {
            id: check.id.clone(),
            measure,
            at_least: check.at_least,
            at_most: check.at_most,
            confidence: check.confidence.or(usual),
            required: check.required.unwrap_or(true),
            passed: check.passed.clone(),
            not_yet: check.not_yet.clone(),
        })
    }

    fn golden(&mut self, step: &StepDocument) -> Golden {
        let GoldenDocument {
            number,
            flags,
            text,
            file,
            import,
        } = step.golden.clone().unwrap_or_default();
        let target = step.target.clone().unwrap_or_default();
        let flags = flags.and_then(|line| self.flags("golden", &target, Some(&line)));
        Golden {
            number,
            flags,
            text,
            file,
            import,
        }
    }
}
