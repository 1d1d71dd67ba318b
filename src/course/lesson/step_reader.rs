//! Converts a step document into a [`Step`].

use super::case::Measurement;
use super::check::USUAL_CONFIDENCE;
use super::document::{CheckDocument, ChoiceDocument, GoldenDocument, Kind, NumberDocument};
use super::file::CourseFile;
use super::kinds::COMMON;
use super::quiz::NumberQuestion;
use crate::analysis::Metric;
use crate::lesson::{
    Case, Check, CommandCheck, Condition, Expect, Golden, Hint, LessonCommand, Mistake,
    OutputFigure, Problem, Quantity, Quiz, QuizChoice, RunName, Step, StepDocument, StepKind,
    limits, live,
};
use crate::workbench;
use tinyllama_contract::targets;

/// Converts one step.
pub(super) struct StepReader<'a> {
    pub file: &'a CourseFile,
    pub lesson: &'a str,
    pub index: usize,
    pub commands: CommandCheck<'a>,
    pub problems: &'a mut Vec<Problem>,
}

impl StepReader<'_> {
    pub fn read(mut self, step: &StepDocument) -> Option<Step> {
        self.keys(step);
        let kind = self.kind(step);
        // The checks of a command's document are read with its kind.
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
                text: self.settled(&format!("hints/{i}"), &hint.text),
                after: hint.after.clone(),
            })
            .collect();
        let kind = kind?;
        let hints = match &kind {
            StepKind::Kernel { exercise } if step.hints.is_empty() => {
                let of_all = exercise.hints.iter().cloned();
                of_all.map(|text| Hint { text, after: None }).collect()
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

    fn refuse(&mut self, path: &str, message: impl Into<String>) {
        let path = format!("steps/{}/{path}", self.index);
        self.problems.push(self.file.problem(&path, message));
    }

    fn or_refuse<T>(&mut self, path: &str, read: Result<T, impl ToString>) -> Option<T> {
        read.map_err(|error| self.refuse(path, error.to_string()))
            .ok()
    }

    fn run_name(&self, text: &str) -> RunName {
        RunName::parse(text, self.lesson)
    }

    /// A text that is the same for every learner, with its figures filled in.
    fn settled(&mut self, path: &str, text: &str) -> String {
        live::fill_known(text).unwrap_or_else(|message| {
            self.refuse(path, message);
            text.into()
        })
    }

    fn keys(&mut self, step: &StepDocument) {
        let (required, optional) = step.kind.keys();
        let kind = step.kind.name();
        let present = step.present();
        for key in &present {
            let key = key.as_str();
            if !required.contains(&key) && !optional.contains(&key) {
                let allowed = [&COMMON[..], required, optional].concat();
                let allowed = allowed.join(", ");
                let message = format!("a `{kind}` step has no `{key}`; it has: {allowed}");
                self.refuse(key, message);
            }
        }
        let is_missing = |key: &&&str| !present.iter().any(|given| given == *key);
        for key in required.iter().filter(is_missing) {
            self.refuse("", format!("this `{kind}` step lacks `{key}`"));
        }
    }

    fn kind(&mut self, step: &StepDocument) -> Option<StepKind> {
        Some(match step.kind {
            Kind::Read => StepKind::Read,
            Kind::Reflect => StepKind::Reflect,
            Kind::Predict => StepKind::Predict {
                measure: self.quantity("measure", step.measure.as_deref()?)?,
            },
            Kind::Run => {
                let target = step.target.clone()?;
                StepKind::Run {
                    flags: self.flags("flags", &target, step.flags.as_deref())?,
                    target,
                    editable: step.editable.unwrap_or(false),
                    contest: step.contest.unwrap_or(false),
                }
            }
            Kind::Command => {
                let command = LessonCommand::parse(step.command.as_deref()?);
                let command = self.or_refuse("command", command)?;
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
                let tool = step.tool?;
                let task = step
                    .task
                    .as_deref()
                    .map_or_else(|| Ok(tool.usual_task().clone()), |kind| tool.task(kind));
                StepKind::Profile {
                    flags: self.flags("flags", &target, step.flags.as_deref())?,
                    task: self.or_refuse("task", task)?,
                    target,
                }
            }
            Kind::Compare => {
                let runs = step.runs.as_ref()?.iter();
                StepKind::Compare {
                    runs: runs.map(|run| self.run_name(run)).collect(),
                    metrics: self.metrics(step.metrics.as_ref()?)?,
                }
            }
            Kind::Quiz => StepKind::Quiz(self.quiz(step)?),
            Kind::Kernel => {
                let exercise = workbench::find(step.exercise.as_deref()?);
                StepKind::Kernel {
                    exercise: self.or_refuse("exercise", exercise)?,
                }
            }
        })
    }

    fn metrics(&mut self, names: &[String]) -> Option<Vec<Metric>> {
        let metrics = names.iter().enumerate();
        let metrics = metrics
            .map(|(i, name)| self.or_refuse(&format!("metrics/{i}"), name.parse::<Metric>()));
        let metrics: Vec<Option<Metric>> = metrics.collect();
        metrics.into_iter().collect()
    }

    fn quantity(&mut self, path: &str, text: &str) -> Option<Quantity> {
        self.or_refuse(path, Quantity::parse(text, self.lesson))
    }

    fn split_line(&mut self, key: &str, line: Option<&str>) -> Option<Vec<String>> {
        let args = shlex::split(line.unwrap_or_default());
        self.or_refuse(key, args.ok_or("a quote in this line is not closed"))
    }

    fn flags(&mut self, key: &str, target: &str, line: Option<&str>) -> Option<Vec<String>> {
        let flags = self.split_line(key, line)?;
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

    fn command_flags(
        &mut self,
        key: &str,
        command: LessonCommand,
        line: Option<&str>,
    ) -> Option<Vec<String>> {
        let flags = self.split_line(key, line)?;
        let refused = command
            .check(&flags)
            .and_then(|()| (self.commands)(command.name, &flags));
        self.or_refuse(key, refused);
        Some(flags)
    }

    fn case(&mut self, step: &StepDocument) -> Option<Case> {
        let target = step.target.clone()?;
        let flags = self.flags("flags", &target, step.flags.as_deref())?;
        let mut measurements = Vec::new();
        for (i, measurement) in step.measurements.iter().flatten().enumerate() {
            let Some(flags) = shlex::split(&measurement.flags) else {
                let path = format!("measurements/{i}");
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
            suspects: step.suspects.clone().unwrap_or_default(),
            measurements,
        };
        for (key, message) in case.problems(self.commands) {
            self.refuse(key, message);
        }
        Some(case)
    }

    fn expect(&mut self, index: usize, step: &str, check: &CheckDocument) -> Option<Expect> {
        let path = format!("checks/{index}/measure");
        let figure = OutputFigure::parse(&check.measure, &self.run_name(step));
        let figure = self.or_refuse(&path, figure)?;
        if check.is.is_none() && check.at_least.is_none() && check.at_most.is_none() {
            self.refuse(&path, "it needs `at_least`, `at_most` or `is`");
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

    /// Accepts only a path below the course.
    fn path(&mut self, at: &str, path: String) -> Option<String> {
        let below =
            "a path of a course must stay in its folder, and no part of it may begin with a dot";
        let stays = limits::stays_below(&path).then_some(path);
        self.or_refuse(at, stays.ok_or(below))
    }

    fn quiz(&mut self, step: &StepDocument) -> Option<Quiz> {
        let of = step.of.as_deref().unwrap_or(&step.id);
        let of = self.run_name(of);
        match (&step.choices, &step.number) {
            (Some(choices), None) => {
                let choices = choices.iter().enumerate();
                let choices = choices.map(|(i, choice)| self.choice(i, choice, &of));
                choices.collect::<Option<_>>().map(Quiz::Choices)
            }
            (None, Some(number)) => self.number(number, &of).map(Quiz::NumberQuestion),
            _ => {
                self.refuse("", "a `quiz` step needs either `choices` or `number`");
                None
            }
        }
    }

    fn choice(
        &mut self,
        index: usize,
        choice: &ChoiceDocument,
        of: &RunName,
    ) -> Option<QuizChoice> {
        let path = format!("choices/{index}");
        let when = choice.when.as_deref();
        let when = when.map(|when| Condition::parse(when, of)).transpose();
        let when = self.or_refuse(&format!("{path}/when"), when);
        Some(QuizChoice {
            text: self.settled(&path, &choice.text),
            correct: choice.correct,
            when: when?,
            because: self.settled(&path, &choice.because),
        })
    }

    fn number(&mut self, number: &NumberDocument, of: &RunName) -> Option<NumberQuestion> {
        let path = "number";
        let read = number
            .read
            .as_deref()
            .map(|read| OutputFigure::parse(read, of));
        let read = self.or_refuse(path, read.transpose())?;
        if number.answer.is_some() == read.is_some() {
            let message = "a number needs either its `answer` or where to `read` it";
            self.refuse(path, message);
            return None;
        }
        let mistakes = number.mistakes.iter().map(|mistake| Mistake {
            value: mistake.value,
            because: self.settled(path, &mistake.because),
        });
        let mistakes = mistakes.collect();
        Some(NumberQuestion {
            answer: number.answer.unwrap_or(f64::NAN),
            read,
            tolerance: number.tolerance,
            unit: number.unit.clone(),
            because: self.settled(path, &number.because),
            mistakes,
        })
    }

    fn check(&mut self, index: usize, check: &CheckDocument) -> Option<Check> {
        let path = format!("checks/{index}/measure");
        let measure = self.quantity(&path, &check.measure)?;
        if check.is.is_some() {
            let message = "`is` compares texts, which only a command's document has";
            self.refuse(&path, message);
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
        let command = step.command.as_deref().map(LessonCommand::parse);
        let flags = flags.and_then(|line| match command {
            Some(Ok(command)) => self.command_flags("golden", command, Some(&line)),
            _ => self.flags("golden", &target, Some(&line)),
        });
        let import = import.and_then(|path| self.path("golden", path));
        Golden {
            number,
            flags,
            text,
            import,
        }
    }
}
