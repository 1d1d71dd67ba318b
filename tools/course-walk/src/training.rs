//! Walks run steps with real runs, and checks that each check tells a good run from a bad one.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;

use crate::Progress;
use crate::faults;
use crate::flags::{resizes, shrunk};
use crate::visit::Visit;
use crate::walk::LessonWalker;
use tinyllama_contract::flags::RunSpec;
use tinyllama_lesson::{Check, Verdict};
use tinyllama_runs::Metric;
use tinyllama_runs::recording::{Library, RecordingSource};
use tinyllama_runs::{Control, EndedRun, RunStart, RunUpdate, Speed, supervise};
use tinyllama_session::turns::{self, TurnAction};
use tinyllama_session::{CheckResultText, StepRef, is_complete};

/// The note about a check that the walk does not make.
pub(crate) fn left_out_note(check: &str) -> String {
    format!("`{check}` is left out")
}

impl LessonWalker<'_> {
    pub fn run(&mut self, visit: &mut Visit) -> Result<Option<String>> {
        let (lesson, step) = (visit.lesson, visit.step);
        let editable = step.editable;
        let target = step.target.as_deref().unwrap_or_default();
        let before = self.session.check(self.course, lesson, step)?;
        for (index, outcome) in before.iter().enumerate() {
            if outcome.verdict == Verdict::Passed {
                let location = format!("checks/{index}/measure");
                visit.problem(
                    &location,
                    "this check passes before the step's run was started",
                );
            }
        }
        for (index, check) in step.checks.iter().enumerate() {
            if let Some(message) = mixed_units(check) {
                visit.problem(&format!("checks/{index}/measure"), message);
            }
        }
        // A goal is set for one size, and so are its flags.
        let other_goal = editable && resizes(&self.options.flags);
        let without_sizes = self.options.fast || other_goal;
        let left_out = |check: &Check| without_sizes && depends_on_size(check);
        let some_left_out = step.checks.iter().any(left_out);
        if editable && !some_left_out {
            self.timed(visit, |walk, at| walk.start(at, target, &step.flags))?;
            self.refuse_unchanged(visit)?;
        }
        let golden = step.golden_flags();
        let mut ended = self.timed(visit, |walk, at| walk.start(at, target, golden))?;
        if !ended.exit.is_success()
            && let Some(played) = self.play_recording(visit, target, golden, &ended)?
        {
            ended = played;
        }
        if !ended.exit.is_success() {
            let key = if step.golden.flags.is_some() {
                "golden"
            } else {
                "flags"
            };
            visit.problem(key, failure(&ended));
            return Ok(None);
        }
        let outcomes = self.run_in_turns(visit)?;
        for (index, (check, outcome)) in step.checks.iter().zip(&outcomes).enumerate() {
            if without_sizes && depends_on_size(check) {
                visit.notes.push(left_out_note(&check.id));
                refuse_faults(visit, index, check, None);
            } else {
                let key = missed_bound(check, outcome.value);
                visit.judge(index, outcome, check.required, (key, "a good run"));
                // A bound for one size does not apply to the counts of another size.
                let other_size = resizes(&self.options.flags) && depends_on_size(check);
                let golden = outcome.value.filter(|_| !other_size);
                refuse_faults(visit, index, check, golden);
            }
        }
        let why = "without the checks that depend on the model's size".to_string();
        Ok(some_left_out.then_some(why))
    }

    /// The checks' verdicts. For an undecided effect it repeats both runs again and again, as the tutor does.
    pub(crate) fn run_in_turns(&mut self, visit: &mut Visit) -> Result<Vec<CheckResultText>> {
        let (lesson, step) = (visit.lesson, visit.step);
        loop {
            let checked = self.session.check(self.course, lesson, step)?;
            let (state, measured) = (self.session.state(), self.measured()?);
            let turn = turns::next(self.course, state, &measured, step, &checked, true);
            let Some(TurnAction::Again { runs, .. }) = turn.filter(|_| !self.options.fast) else {
                return Ok(checked);
            };
            let starts = turns::starts(&self.options.launcher, &runs)?;
            for (run, start) in runs.into_iter().zip(&starts) {
                let ended = self.timed(visit, |walk, _| {
                    walk.supervise_step(run.at, &run.target, start)
                })?;
                if !ended.exit.is_success() {
                    visit.problem("flags", failure(&ended));
                }
            }
        }
    }

    /// Checks that the checks fail with unchanged flags, if the learner may change them.
    pub(crate) fn refuse_unchanged(&mut self, visit: &mut Visit) -> Result<()> {
        self.session.check(self.course, visit.lesson, visit.step)?;
        let state = self.session.state();
        if is_complete(visit.step, &state.progress(&visit.step_ref()), state) {
            visit.problem("flags", "its checks pass with the flags unchanged");
        }
        Ok(())
    }

    /// Plays the recording of a run on several GPUs, as a learner with too few GPUs does.
    fn play_recording(
        &mut self,
        visit: &mut Visit,
        target: &str,
        flags: &[String],
        failed: &EndedRun,
    ) -> Result<Option<EndedRun>> {
        let several = RunSpec::parse(target, flags)?.flags.ranks.gpu_count();
        let (Some(_), Some(id)) = (several, &visit.step.recording) else {
            return Ok(None);
        };
        let library = Library::load(RecordingSource::BuiltIn)?;
        let recording = library.find(id)?;
        visit
            .notes
            .push(format!("{}; its recording was played", failure(failed)));
        let start = RunStart::Recording(library.tape(recording)?);
        let played = self.supervise_step(visit.step_ref(), target, &start)?;
        self.session
            .mark_recording(&played.run.id(), &recording.origin())?;
        Ok(Some(played))
    }

    /// Runs something and adds its time to the step's.
    pub(crate) fn timed(
        &mut self,
        visit: &mut Visit,
        run: impl FnOnce(&mut Self, StepRef) -> Result<EndedRun>,
    ) -> Result<EndedRun> {
        let started = Instant::now();
        let ended = run(self, visit.step_ref())?;
        visit.seconds += started.elapsed().as_secs_f64();
        Ok(ended)
    }

    pub(crate) fn start(
        &mut self,
        at: StepRef,
        target: &str,
        flags: &[String],
    ) -> Result<EndedRun> {
        let mut spec = RunSpec::parse(target, flags)?;
        if self.options.fast {
            spec = shrunk(&spec)?;
        }
        spec = spec.surrounded_by(&[], &self.options.flags)?;
        let start = self.options.launcher.run(&spec);
        self.supervise_step(at, target, &start)
    }

    /// Watches something until it ends and records it in the session.
    pub(crate) fn supervise_step(
        &mut self,
        at: StepRef,
        name: &str,
        start: &RunStart,
    ) -> Result<EndedRun> {
        let mut command = Vec::new();
        if let Some(argv) = start.argv() {
            (self.progress)(Progress::Run { argv });
        }
        let control = Control::default();
        control.set_speed(Speed::END);
        let folder = self.session.location.folder.clone();
        let ended = supervise(start, &folder, &control, &mut |update| {
            if let RunUpdate::Started { command: argv, .. } = update {
                command = argv;
            }
            Ok(())
        })?;
        let run = ended.run.id();
        self.session.runs.add(Arc::clone(&ended.run));
        self.session.start_run(&run, Some(at), name, command)?;
        self.session.run_ended(&run, ended.exit)?;
        Ok(ended)
    }
}

/// Reports every fault that the check accepts.
fn refuse_faults(visit: &mut Visit, index: usize, check: &Check, golden: Option<f64>) {
    for fault in faults::accepted_faults(check, golden) {
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
        visit.problem(&format!("checks/{index}/{key}"), message);
    }
}

/// A problem if the check divides figures of different kinds, because no bound makes sense for the ratio. Operations
/// per byte are allowed.
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

/// Returns whether a figure changes its meaning for a smaller model; ratios mostly do not.
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

pub(crate) fn failure(ended: &EndedRun) -> String {
    let why = match &ended.run.reported.error {
        Some(error) => &error.message,
        None => ended.stderr.lines().last().unwrap_or_default(),
    };
    format!("its run ended with {}: {why}", ended.exit)
}
