//! Run steps: real runs, and whether each check tells a good one from a bad one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Instant;

use anyhow::{Context, Result};

use super::Progress;
use super::faults;
use super::flags::{overridden, resize, shrunk};
use super::report::CheckReport;
use super::visit::Visit;
use super::walk::Walk;
use crate::analysis::Metric;
use crate::lesson::{Check, Outcome, Place, Verdict};
use crate::run::{Exited, RunChild, RunCommand};
use crate::session::event::{RunExit, StepRef};
use crate::session::progress::is_complete;

impl Walk<'_> {
    pub(super) fn run(
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
                visit.checks.push(CheckReport {
                    id: check.id.clone(),
                    required: check.required,
                    verdict: outcome.verdict.name(),
                    value: outcome.value,
                });
                judge(visit, index, check, outcome);
                // A bound for one size says nothing about a hundredth of what another size counts.
                let other_size = resize(&self.options.flags) && depends_on_size(check);
                let golden = outcome.value.filter(|_| !other_size);
                refuse_faults(visit, index, check, golden);
            }
        }
        let why = "without the checks that depend on the model's size".to_string();
        Ok(some_left_out.then_some(why))
    }

    /// Runs, and adds the time to the step's.
    pub(super) fn timed(
        &mut self,
        visit: &mut Visit,
        target: &str,
        flags: &[String],
    ) -> Result<Exited> {
        let started = Instant::now();
        let exited = self.start(visit.at(), target, flags)?;
        visit.seconds += started.elapsed().as_secs_f64();
        Ok(exited)
    }

    pub(super) fn start(&mut self, at: StepRef, target: &str, flags: &[String]) -> Result<Exited> {
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
