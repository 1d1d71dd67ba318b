//! One learner's way through a lesson, step by step, noting what is not as it should be.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Instant;

use anyhow::{Context, Result};

use super::faults;
use super::flags::{overridden, shrunk};
use super::report::{LessonReport, StepReport, StepResult};
use super::{Options, Progress};
use crate::analysis::{Metric, Statistic};
use crate::lesson::check::exact;
use crate::lesson::quiz::{Answer, Quiz};
use crate::lesson::{
    Check, Course, Lesson, Outcome, Place, Problem, RunName, Runs, Source, Step, StepKind,
    Undecided, Verdict, live, place,
};
use crate::profiler::read;
use crate::run::{Exited, RunChild, RunCommand};
use crate::session::event::{RunExit, StepRef};
use crate::session::progress::{Access, access, is_complete, progress};
use crate::session::runs::MeasuredRuns;
use crate::session::state::Status;
use crate::session::store::Session;

/// A lesson planned for longer than this many times its estimate is taken for a mistake.
const MOST_SLACK: f64 = 2.5;

pub(super) struct Walk<'a> {
    pub course: &'a Course,
    pub source: &'a Source,
    pub options: &'a Options,
    pub session: Session,
    /// Lessons that were walked from end to end.
    pub walked: BTreeSet<String>,
    pub progress: &'a mut dyn FnMut(Progress),
}

/// A step, and what was found at it so far.
struct Visit<'a> {
    source: &'a Source,
    lesson: &'a Lesson,
    step: &'a Step,
    index: usize,
    problems: Vec<Problem>,
    notes: Vec<String>,
    seconds: f64,
}

impl Visit<'_> {
    fn at(&self) -> StepRef {
        StepRef::new(&self.lesson.id, &self.step.id)
    }

    fn problem(&mut self, place: Place, message: impl Into<String>) {
        let problem = place::problem(self.source, self.lesson, place, message);
        self.problems.push(problem);
    }

    fn problem_in_step(&mut self, key: Option<&'static str>, message: impl Into<String>) {
        self.problem(Place::Step(self.index, key), message);
    }
}

impl Walk<'_> {
    /// Makes a run that other lessons look back at.
    pub fn needed(&mut self, lesson: &Lesson, step: &Step) -> Result<()> {
        let StepKind::Run { target, flags, .. } = &step.kind else {
            return Ok(());
        };
        (self.progress)(Progress::Needed {
            lesson: &lesson.id,
            step: &step.id,
        });
        let at = StepRef::new(&lesson.id, &step.id);
        let flags = step.golden.flags.as_ref().unwrap_or(flags);
        self.start(at, target, flags).map(drop)
    }

    pub fn lesson(&mut self, lesson: &Lesson) -> Result<LessonReport> {
        let mut problems = self.before(lesson);
        let mut steps = Vec::new();
        for (index, step) in lesson.steps.iter().enumerate() {
            let report = self.step(lesson, index, step)?;
            (self.progress)(Progress::Step {
                lesson: &lesson.id,
                step: &report,
            });
            steps.push(report);
        }
        self.predictions(lesson, &mut steps)?;
        if !progress(self.session.state(), lesson).is_finished() && all_sound(&steps) {
            let message = "every step was done, and the lesson is not finished";
            problems.push(place::problem(
                self.source,
                lesson,
                Place::Lesson("steps"),
                message,
            ));
        }
        self.walked.insert(lesson.id.clone());
        Ok(LessonReport {
            id: lesson.id.clone(),
            steps,
            problems,
        })
    }

    /// What can be said of a lesson before it is walked.
    fn before(&self, lesson: &Lesson) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut refuse = |key, message: String| {
            problems.push(place::problem(
                self.source,
                lesson,
                Place::Lesson(key),
                message,
            ));
        };
        let (planned, estimated) = (lesson.minutes, lesson.estimated_minutes());
        if f64::from(planned) > MOST_SLACK * estimated {
            let message = format!(
                "{planned} minutes are planned, but its texts, runs and questions take about {estimated:.0}"
            );
            refuse("minutes", message);
        }
        // Of lessons that were not walked nothing can be said.
        if lesson.requires.iter().all(|id| self.walked.contains(id))
            && let Access::Locked(missing) = access(self.course, self.session.state(), lesson)
        {
            let message = format!(
                "it is still locked when its turn comes: {} is not finished",
                missing.join(", ")
            );
            refuse("requires", message);
        }
        problems
    }

    fn step(&mut self, lesson: &Lesson, index: usize, step: &Step) -> Result<StepReport> {
        let mut visit = Visit {
            source: self.source,
            lesson,
            step,
            index,
            problems: Vec::new(),
            notes: Vec::new(),
            seconds: 0.0,
        };
        self.session.enter(lesson, step)?;
        self.text(&mut visit)?;
        let skipped = match &step.kind {
            StepKind::Read => None,
            StepKind::Predict { .. } => self.predict(&visit)?,
            StepKind::Quiz(quiz) => self.quiz(&mut visit, quiz)?,
            StepKind::Run {
                target,
                flags,
                editable,
            } => self.run(&mut visit, target, flags, *editable)?,
            StepKind::Compare { runs, metrics } => self.compare(&mut visit, runs, metrics)?,
            StepKind::Reflect => self.reflect(&visit)?,
            StepKind::Profile { .. } => {
                self.sample(&mut visit)?;
                Some("needs AMD's profilers and a GPU of theirs".to_string())
            }
            StepKind::Kernel { .. } => Some("needs the workbench".to_string()),
        };
        self.hints(&mut visit)?;
        if let Some(why) = &skipped {
            self.session.skip(visit.at(), why)?;
        }
        let at = visit.at();
        let state = self.session.state();
        let status = state
            .step(&at.lesson, &at.step)
            .map(|step| step.status.clone());
        if visit.problems.is_empty() && status.unwrap_or_default() == Status::Open {
            visit.problem_in_step(
                None,
                "everything it asks for was done, and it is still open",
            );
        }
        Ok(StepReport {
            id: step.id.clone(),
            kind: step.kind.kind().name(),
            result: match (skipped, &step.kind) {
                _ if !visit.problems.is_empty() => StepResult::Failed,
                (Some(why), StepKind::Run { .. }) => StepResult::InPart(why),
                (Some(why), _) => StepResult::Skipped(why),
                (None, _) => StepResult::Done,
            },
            problems: visit.problems,
            notes: visit.notes,
            seconds: visit.seconds,
        })
    }

    /// Every live value has been measured by the time it is read.
    fn text(&self, visit: &mut Visit) -> Result<()> {
        let runs = self.measured()?;
        let missing: Vec<RunName> = live::runs(&visit.step.text, &visit.lesson.id)
            .into_iter()
            .filter(|run| runs.of(run).is_empty())
            .collect();
        for run in missing {
            visit.problem_in_step(
                Some("text"),
                format!("it shows figures of `{run}`, which did not run"),
            );
        }
        Ok(())
    }

    fn predict(&mut self, visit: &Visit) -> Result<Option<String>> {
        if let Some(guess) = visit.step.golden.number {
            self.session.predict(visit.at(), guess)?;
        }
        Ok(None)
    }

    fn reflect(&mut self, visit: &Visit) -> Result<Option<String>> {
        let text = visit.step.golden.text.as_deref().unwrap_or_default();
        self.session.reflect(visit.at(), text)?;
        Ok(None)
    }

    /// Every wrong answer is refused with a reason, and the right one is accepted.
    fn quiz(&mut self, visit: &mut Visit, quiz: &Quiz) -> Result<Option<String>> {
        for (answer, place) in wrong_answers(quiz, visit.index) {
            match self.session.answer(visit.at(), quiz, answer)? {
                Some(marked) if marked.correct => {
                    visit.problem(place, "this wrong answer is accepted");
                }
                Some(marked) if marked.because.trim().is_empty() => {
                    visit.problem(place, "this wrong answer is refused without a reason");
                }
                Some(_) => {}
                None => visit.problem(place, "this answer cannot be given"),
            }
        }
        let right = match quiz.solution() {
            Some(answer) => self.session.answer(visit.at(), quiz, answer)?,
            None => None,
        };
        if !right.is_some_and(|marked| marked.correct) {
            visit.problem_in_step(None, "its own answer is not accepted");
        }
        Ok(None)
    }

    fn compare(
        &mut self,
        visit: &mut Visit,
        runs: &[RunName],
        metrics: &[Metric],
    ) -> Result<Option<String>> {
        let measured = self.measured()?;
        for run in runs.iter().filter(|run| measured.of(run).is_empty()) {
            visit.problem_in_step(Some("runs"), format!("`{run}` did not run"));
        }
        for metric in metrics {
            let reported = |run: &RunName| {
                let newest = measured.of(run).last();
                newest.is_some_and(|run| run.value(*metric, Statistic::Median).is_some())
            };
            if !runs.iter().any(reported) {
                visit.notes.push(format!("{metric} is not reported here"));
            }
        }
        self.session.check(self.course, visit.lesson, visit.step)?;
        Ok(None)
    }

    fn run(
        &mut self,
        visit: &mut Visit,
        target: &str,
        flags: &[String],
        editable: bool,
    ) -> Result<Option<String>> {
        let (lesson, step) = (visit.lesson, visit.step);
        let before = self.session.check(self.course, lesson, step)?;
        for (index, outcome) in before.iter().enumerate() {
            if outcome.verdict == Verdict::Passed {
                let place = Place::Check(visit.index, index, "measure");
                visit.problem(place, "this check passes before the step's run was started");
            }
        }
        for (index, check) in step.checks.iter().enumerate() {
            if let Some(message) = mixed_units(check) {
                visit.problem(Place::Check(visit.index, index, "measure"), message);
            }
        }
        let left_out = |check: &Check| self.options.fast && depends_on_size(check);
        let some_left_out = step.checks.iter().any(left_out);
        if editable && !some_left_out {
            self.timed(visit, target, flags)?;
            self.session.check(self.course, lesson, step)?;
            let at = visit.at();
            let state = self.session.state();
            let unchanged = state
                .step(&at.lesson, &at.step)
                .cloned()
                .unwrap_or_default();
            if is_complete(step, &unchanged, state) {
                visit.problem_in_step(Some("flags"), "its checks pass with the flags unchanged");
            }
        }
        let golden = step.golden.flags.as_deref().unwrap_or(flags);
        let exited = self.timed(visit, target, golden)?;
        if !exited.status.success() {
            let key = if step.golden.flags.is_some() {
                "golden"
            } else {
                "flags"
            };
            visit.problem_in_step(Some(key), failure(&exited));
            return Ok(None);
        }
        let outcomes = self.session.check(self.course, lesson, step)?;
        for (index, (check, outcome)) in step.checks.iter().zip(&outcomes).enumerate() {
            if self.options.fast && depends_on_size(check) {
                let note = format!("`{}` is left out", check.id);
                visit.notes.push(note);
                refuse_faults(visit, index, check, None);
            } else {
                judge(visit, index, check, outcome);
                refuse_faults(visit, index, check, outcome.value);
            }
        }
        let why = "without the checks that depend on the model's size".to_string();
        Ok(some_left_out.then_some(why))
    }

    /// Runs, and adds the time to the step's.
    fn timed(&mut self, visit: &mut Visit, target: &str, flags: &[String]) -> Result<Exited> {
        let started = Instant::now();
        let exited = self.start(visit.at(), target, flags)?;
        visit.seconds += started.elapsed().as_secs_f64();
        Ok(exited)
    }

    fn start(&mut self, at: StepRef, target: &str, flags: &[String]) -> Result<Exited> {
        let flags = if self.options.fast {
            shrunk(flags)
        } else {
            flags.to_vec()
        };
        let flags = overridden(&flags, &self.options.flags);
        let command = RunCommand {
            launcher: Vec::new(),
            program: self.options.program.clone(),
            target: target.into(),
            flags: flags.iter().map(OsString::from).collect(),
        };
        let words = command.words();
        (self.progress)(Progress::Run { words: &words });
        let exited = RunChild::start(&command, &self.session.place.folder)?.wait()?;
        let name = exited
            .folder
            .path()
            .file_name()
            .and_then(|name| name.to_str())
            .context("the run's folder has no name")?
            .to_string();
        self.session.start_run(&name, Some(at), target, flags)?;
        let exit = run_exit(exited.status);
        self.session.finish_run(&name, exit, BTreeMap::new())?;
        Ok(exited)
    }

    /// A profile to import in place of the profiler's can be read.
    fn sample(&self, visit: &mut Visit) -> Result<()> {
        let Some(path) = &visit.step.golden.import else {
            return Ok(());
        };
        let folder = tempfile::tempdir().context("creating a folder for a sample profile")?;
        let found = self
            .source
            .extract(path, folder.path())
            .and_then(|path| read::import(&path).map_err(|error| error.to_string()));
        match found {
            Err(message) => visit.problem_in_step(Some("golden"), format!("{path}: {message}")),
            Ok(import) if import.taken.is_empty() => {
                visit.problem_in_step(Some("golden"), format!("{path} is no profile"));
            }
            Ok(import) if !import.damage.is_empty() => {
                visit.problem_in_step(Some("golden"), format!("{path} is damaged"));
            }
            Ok(import) => visit
                .notes
                .push(format!("its sample was read: {} files", import.taken.len())),
        }
        Ok(())
    }

    /// All hints are offered to someone who missed every check.
    fn hints(&mut self, visit: &mut Visit) -> Result<()> {
        let at = visit.at();
        let missed = visit
            .step
            .checks
            .iter()
            .map(|check| check.id.clone())
            .collect::<Vec<_>>();
        let on_offer = visit.step.hints_after(&missed).len();
        for (index, hint) in visit.step.hints.iter().enumerate() {
            if hint.text.trim().is_empty() {
                visit.problem(Place::Hint(visit.index, index), "this hint says nothing");
            }
        }
        if on_offer < visit.step.hints.len() {
            visit.problem_in_step(Some("hints"), "not every hint can be reached");
        }
        // The first is asked for the way a learner does.
        let unconditional = visit.step.hints.iter().any(|hint| hint.after.is_none());
        if self.session.next_hint(at, visit.step)?.is_none() && unconditional {
            visit.problem_in_step(Some("hints"), "no hint is given to someone who asks");
        }
        Ok(())
    }

    /// What was guessed has been measured by the end of the lesson.
    fn predictions(&self, lesson: &Lesson, steps: &mut [StepReport]) -> Result<()> {
        let runs = self.measured()?;
        for (index, (step, report)) in lesson.steps.iter().zip(steps).enumerate() {
            let StepKind::Predict { measure } = &step.kind else {
                continue;
            };
            match exact(measure, &runs) {
                Ok(_) => {}
                Err(Undecided::NotReported(figure)) => report.notes.push(format!(
                    "the guess stays open: {figure} is not reported here"
                )),
                Err(_) => {
                    let place = Place::Step(index, Some("measure"));
                    let message = "what is guessed here was not measured in this lesson";
                    report
                        .problems
                        .push(place::problem(self.source, lesson, place, message));
                    report.result = StepResult::Failed;
                }
            }
        }
        Ok(())
    }

    fn measured(&self) -> Result<MeasuredRuns> {
        let runs = MeasuredRuns::read(
            self.course,
            self.session.state(),
            &self.session.place.runs(),
        );
        Ok(runs?)
    }
}

/// A good run has to meet what is required; the rest depends on the machine.
fn judge(visit: &mut Visit, index: usize, check: &Check, outcome: &Outcome) {
    if outcome.verdict == Verdict::Passed {
        return;
    }
    let said = outcome
        .explain(check)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    if check.required {
        let place = Place::Check(visit.index, index, missed_bound(check, outcome.value));
        visit.problem(
            place,
            format!("a good run does not pass this check. {said}"),
        );
    } else {
        visit.notes.push(format!(
            "`{}`: {}. {said}",
            check.id,
            outcome.verdict.name()
        ));
    }
}

/// A fault must not pass.
fn refuse_faults(visit: &mut Visit, index: usize, check: &Check, golden: Option<f64>) {
    for fault in faults::accepted(check, golden) {
        let too_low = golden.is_some_and(|golden| fault.value < golden);
        let key = match (check.at_least, check.at_most) {
            (Some(_), Some(_)) if too_low => "at_least",
            (Some(_), None) => "at_least",
            _ => "at_most",
        };
        let message = format!(
            "this bound cannot tell a good run from {}: {:.3} passes",
            fault.meaning, fault.value
        );
        visit.problem(Place::Check(visit.index, index, key), message);
    }
}

/// A ratio of figures that are no two of a kind, which no bound makes sense for. Operations per byte are one.
fn mixed_units(check: &Check) -> Option<String> {
    let above = check.measure.numerator.metric;
    let below = check.measure.denominator.as_ref()?.metric;
    let intensity = (above, below) == (Metric::FlopsPerStep, Metric::BytesPerStep);
    (above.unit() != below.unit() && !intensity).then(|| {
        format!("{above} and {below} are figures of different kinds: what would their ratio say?")
    })
}

fn missed_bound(check: &Check, value: Option<f64>) -> &'static str {
    match value {
        Some(value) if check.at_least.is_some_and(|bound| value < bound) => "at_least",
        Some(value) if check.at_most.is_some_and(|bound| value > bound) => "at_most",
        _ => "measure",
    }
}

/// Whether a figure means something else for a smaller model; ratios mostly do not.
fn depends_on_size(check: &Check) -> bool {
    let measure = &check.measure;
    let metric = measure.numerator.metric;
    let counted = matches!(
        metric,
        Metric::FlopsPerStep | Metric::BytesPerStep | Metric::AchievedFlopsPerS
    );
    let absolute = measure.denominator.is_none()
        && !matches!(
            metric,
            Metric::ParametersWithGradient | Metric::LossDifference | Metric::GradientDifference
        );
    counted || absolute
}

/// Every wrong choice, or numbers that are off.
fn wrong_answers(quiz: &Quiz, step: usize) -> Vec<(Answer, Place<'static>)> {
    match quiz {
        Quiz::Choices(choices) => choices
            .iter()
            .enumerate()
            .filter(|(_, choice)| !choice.correct)
            .map(|(index, _)| (Answer::Choice(index), Place::Choice(step, index)))
            .collect(),
        Quiz::Number(number) => {
            // Someone who is off by a fifth did not get it.
            let off = if number.answer == 0.0 {
                1.0
            } else {
                0.2 * number.answer
            };
            [number.answer + off, number.answer - off]
                .into_iter()
                .map(|wrong| (Answer::Number(wrong), Place::Step(step, Some("number"))))
                .collect()
        }
    }
}

fn failure(exited: &Exited) -> String {
    let why = match &exited.folder.record.error {
        Some(error) => error.message.clone(),
        None => exited.stderr.lines().last().unwrap_or_default().to_string(),
    };
    format!("its run ended with {}: {why}", exited.status)
}

fn run_exit(status: ExitStatus) -> RunExit {
    match (status.code(), status.signal()) {
        (Some(code), _) => RunExit::Status(code),
        (None, Some(signal)) => RunExit::Signal(signal),
        (None, None) => RunExit::Lost,
    }
}

fn all_sound(steps: &[StepReport]) -> bool {
    steps.iter().all(|step| step.problems.is_empty())
}
