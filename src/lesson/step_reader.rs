//! From a step as it is written to a step as it is used.

use super::bounds;
use super::case::{Case, Measurement, Suspect};
use super::check::{Check, USUAL_CONFIDENCE};
use super::command::Command;
use super::course::{Golden, Hint, Step, StepKind};
use super::document::{
    CheckDocument, ChoiceDocument, GoldenDocument, Kind, NumberDocument, StepDocument,
};
use super::expect::Expect;
use super::figure::{Condition, Figure};
use super::file::File;
use super::kinds::COMMON;
use super::live;
use super::load::CommandCheck;
use super::locate::Part;
use super::problem::Problem;
use super::quantity::{Quantity, RunName};
use super::quiz::{Choice, Mistake, Number, Quiz};
use crate::analysis::Metric;
use crate::targets;
use crate::workbench;

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
        // What a command's document has to say is read with its kind.
        let of_runs = step.kind != Kind::Command;
        let checks: Vec<_> = step
            .checks
            .iter()
            .enumerate()
            .filter(|_| of_runs)
            .filter_map(|(i, check)| self.check(i, check))
            .collect();
        let hints = step.hints.iter().enumerate();
        let hints = hints
            .map(|(i, hint)| Hint {
                text: self.settled(&[Part::Key("hints"), Part::Index(i)], &hint.text),
                after: hint.after.clone(),
            })
            .collect();
        let kind = kind?;
        let hints = match &kind {
            StepKind::Kernel { exercise } if step.hints.is_empty() => {
                exercise.hints.iter().map(Hint::from).collect()
            }
            _ => hints,
        };
        let golden = self.golden(step);
        Some(Step {
            id: step.id.clone(),
            title: step.title.clone(),
            text: step.text.clone(),
            kind,
            recording: step.recording.clone(),
            optional: step.optional.unwrap_or(false),
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

    /// A text that is the same for every learner, with its figures.
    fn settled(&mut self, path: &[Part], text: &str) -> String {
        live::settle(text).unwrap_or_else(|message| {
            self.refuse(path, message);
            text.into()
        })
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
                    against: step
                        .against
                        .as_deref()
                        .map(|run| RunName::parse(run, self.lesson)),
                    contest: step.contest.unwrap_or(false),
                }
            }
            Kind::Command => {
                let name = step.command.as_deref()?;
                let command = match Command::parse(name) {
                    Ok(command) => command,
                    Err(message) => {
                        self.refuse(&[Part::Key("command")], message);
                        return None;
                    }
                };
                let expects = step.checks.iter().enumerate();
                let expects = expects
                    .filter_map(|(i, check)| self.expect(i, &step.id, check))
                    .collect();
                StepKind::Command {
                    command,
                    flags: self.command_flags("flags", command, step.flags.as_deref())?,
                    editable: step.editable.unwrap_or(false),
                    expects,
                }
            }
            Kind::Investigate => StepKind::Investigate(self.case(step)?),
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
            Kind::Kernel => match workbench::find(step.exercise.as_deref()?) {
                Ok(exercise) => StepKind::Kernel { exercise },
                Err(error) => {
                    self.refuse(&[Part::Key("exercise")], error.to_string());
                    return None;
                }
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
        if let Some(message) = bounds::refused_flag(&flags) {
            self.refuse(&[Part::Key(key)], message);
            return None;
        }
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

    fn command_flags(
        &mut self,
        key: &str,
        command: Command,
        line: Option<&str>,
    ) -> Option<Vec<String>> {
        let Some(flags) = shlex::split(line.unwrap_or_default()) else {
            self.refuse(&[Part::Key(key)], "a quote in this line is not closed");
            return None;
        };
        let refused = command
            .check(&flags)
            .and_then(|()| (self.commands)(command.name, &flags));
        if let Err(message) = refused {
            self.refuse(&[Part::Key(key)], message);
        }
        Some(flags)
    }

    fn case(&mut self, step: &StepDocument) -> Option<Case> {
        let target = step.target.clone()?;
        let flags = self.flags("flags", &target, step.flags.as_deref())?;
        let suspects = step.suspects.iter().flatten().map(|suspect| Suspect {
            id: suspect.id.clone(),
            text: suspect.text.clone(),
            fix: suspect.fix.clone(),
            guilty: suspect.guilty,
            recording: suspect.recording.clone(),
            because: suspect.because.clone(),
        });
        let mut measurements = Vec::new();
        for (i, measurement) in step.measurements.iter().flatten().enumerate() {
            let Some(flags) = shlex::split(&measurement.flags) else {
                let path = [Part::Key("measurements"), Part::Index(i)];
                self.refuse(&path, "a quote in its flags is not closed");
                return None;
            };
            measurements.push(Measurement {
                id: measurement.id.clone(),
                text: measurement.text.clone(),
                flags,
                recording: measurement.recording.clone(),
                shows: measurement.shows.clone(),
                convicts: measurement.convicts,
            });
        }
        let case = Case {
            target,
            flags,
            suspects: suspects.collect(),
            measurements,
        };
        for (key, message) in case.problems(self.commands) {
            self.refuse(&[Part::Key(key)], message);
        }
        Some(case)
    }

    fn expect(&mut self, index: usize, step: &str, check: &CheckDocument) -> Option<Expect> {
        let path = [
            Part::Key("checks"),
            Part::Index(index),
            Part::Key("measure"),
        ];
        let name = RunName::parse(step, self.lesson);
        let figure = Figure::parse(&check.measure, &name)
            .map_err(|message| self.refuse(&path, message))
            .ok()?;
        if check.is.is_none() && check.at_least.is_none() && check.at_most.is_none() {
            self.refuse(&path, "it has `at_least`, `at_most` or `is`");
        }
        if check.confidence.is_some() {
            self.refuse(&path, "a document has no spread: it takes no `confidence`");
        }
        Some(Expect {
            id: check.id.clone(),
            figure,
            at_least: check.at_least,
            at_most: check.at_most,
            is: check.is.clone(),
            required: check.required.unwrap_or(true),
            passed: self.settled(&path, &check.passed),
            not_yet: self.settled(&path, &check.not_yet),
        })
    }

    /// A path below the workbench or the course.
    fn path(&mut self, at: &[Part], path: &str) -> Option<String> {
        if bounds::stays_below(path) {
            return Some(path.into());
        }
        self.refuse(
            at,
            "a path of a course stays below its folder, and no part of it begins with a dot",
        );
        None
    }

    fn quiz(&mut self, step: &StepDocument) -> Option<Quiz> {
        let of = step.of.as_deref().unwrap_or(&step.id);
        let of = RunName::parse(of, self.lesson);
        match (&step.choices, &step.number) {
            (Some(choices), None) => {
                let choices = choices.iter().enumerate();
                let choices = choices.map(|(i, choice)| self.choice(i, choice, &of));
                choices.collect::<Option<_>>().map(Quiz::Choices)
            }
            (None, Some(number)) => self.number(number, &of).map(Quiz::Number),
            _ => {
                self.refuse(&[], "a `quiz` step has either `choices` or `number`");
                None
            }
        }
    }

    fn choice(&mut self, index: usize, choice: &ChoiceDocument, of: &RunName) -> Option<Choice> {
        let when = choice
            .when
            .as_deref()
            .map(|when| Condition::parse(when, of));
        let when = when.transpose().map_err(|message| {
            let path = [Part::Key("choices"), Part::Index(index), Part::Key("when")];
            self.refuse(&path, message);
        });
        let path = [Part::Key("choices"), Part::Index(index)];
        Some(Choice {
            text: self.settled(&path, &choice.text),
            correct: choice.correct,
            when: when.ok()?,
            because: self.settled(&path, &choice.because),
        })
    }

    fn number(&mut self, number: &NumberDocument, of: &RunName) -> Option<Number> {
        let path = [Part::Key("number")];
        let read = number.read.as_deref().map(|read| Figure::parse(read, of));
        let read = read
            .transpose()
            .map_err(|message| self.refuse(&path, message))
            .ok()?;
        if number.answer.is_some() == read.is_some() {
            self.refuse(
                &path,
                "a number has either its `answer` or where to `read` it",
            );
            return None;
        }
        let mistakes = number.mistakes.iter().map(|mistake| Mistake {
            value: mistake.value,
            because: self.settled(&path, &mistake.because),
        });
        let mistakes = mistakes.collect();
        Some(Number {
            answer: number.answer.unwrap_or(f64::NAN),
            read,
            tolerance: number.tolerance,
            unit: number.unit.clone(),
            because: self.settled(&path, &number.because),
            mistakes,
        })
    }

    fn check(&mut self, index: usize, check: &CheckDocument) -> Option<Check> {
        let path = [
            Part::Key("checks"),
            Part::Index(index),
            Part::Key("measure"),
        ];
        let measure = self.quantity(&path, &check.measure)?;
        if check.is.is_some() {
            self.refuse(
                &path,
                "only a command's document can have a text: `is` is for them",
            );
        }
        let usual = measure.has_spread().then_some(USUAL_CONFIDENCE);
        Some(Check {
            id: check.id.clone(),
            measure,
            at_least: check.at_least,
            at_most: check.at_most,
            confidence: check.confidence.or(usual),
            required: check.required.unwrap_or(true),
            on_gpu: check.on_gpu.unwrap_or(false),
            passed: self.settled(&path, &check.passed),
            not_yet: self.settled(&path, &check.not_yet),
        })
    }

    fn golden(&mut self, step: &StepDocument) -> Golden {
        let GoldenDocument {
            number,
            flags,
            text,
            import,
        } = step.golden.clone().unwrap_or_default();
        let target = step.target.clone().unwrap_or_default();
        let command = step.command.as_deref().map(Command::parse);
        let flags = flags.and_then(|line| match command {
            Some(Ok(command)) => self.command_flags("golden", command, Some(&line)),
            _ => self.flags("golden", &target, Some(&line)),
        });
        let import = import.and_then(|path| self.path(&[Part::Key("golden")], &path));
        Golden {
            number,
            flags,
            text,
            import,
        }
    }
}
