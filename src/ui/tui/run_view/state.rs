//! The known state of a run, updated from its event stream.

use std::collections::{BTreeMap, VecDeque};

use super::gpu::GpuTrack;
use super::history::{FigureHistory, RECENT};
use super::journal::{Journal, Voice};
use crate::tui::RunContext;
use tinyllama_base::Interval;
use tinyllama_contract::{
    Body, Event, Failure, Hello, Kernels, Parts, Phase, PhaseName, Step, Summary,
};
use tinyllama_runs::Metric;
use tinyllama_runs::{Line, event_text};
use tinyllama_session::CheckResultText;
use tinyllama_tutor_core::RunEnding;

/// The start of the measured steps.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredStart {
    /// Number of the first measured step.
    pub step: usize,
    /// Seconds at its end.
    pub t: f64,
    /// Milliseconds it took.
    pub total_ms: f64,
}

#[derive(Clone, Debug, Default)]
pub struct RunState {
    pub context: RunContext,
    pub hello: Option<Box<Hello>>,
    /// The phase of the run, and the time of its start in seconds since the run's start.
    pub phase: Option<(f64, Phase)>,
    /// The time of the last step in seconds since the run's start, and the step.
    pub step: Option<(f64, Step)>,
    /// The latest steps, the last one first.
    pub steps: VecDeque<Step>,
    pub first_step_ms: Option<f64>,
    pub start: Option<MeasuredStart>,
    /// Total time and parts of the measured steps, in milliseconds.
    pub times: BTreeMap<Metric, FigureHistory>,
    pub samples_per_s: FigureHistory,
    /// Loss of every step, warm-up included.
    pub loss: FigureHistory,
    pub first_loss: Option<f64>,
    /// The first step whose loss was not finite.
    pub loss_lost: Option<usize>,
    pub launches: FigureHistory,
    pub bytes_in_use: FigureHistory,
    pub bytes_reserved: FigureHistory,
    pub kernels: Option<Kernels>,
    pub parts: Option<Parts>,
    pub summary: Option<Box<Summary>>,
    pub failure: Option<Failure>,
    pub ended: Option<RunEnding>,
    /// Verdicts of the checks that have been evaluated.
    pub verdicts: Vec<CheckResultText>,
    /// Ratio of its step time to that of the same command's last run.
    pub to_before: Option<Interval>,
    /// What was measured of the guess, if that is a ratio or a figure of several runs.
    pub prediction_outcome: Option<f64>,
    pub journal: Journal,
    pub gpu: GpuTrack,
    /// Seconds since the start.
    pub clock: f64,
    /// Seconds since the last output, if that is unusually long ago.
    pub silent: Option<f64>,
}

impl RunState {
    pub fn new(context: RunContext) -> Self {
        RunState {
            context,
            ..RunState::default()
        }
    }

    pub fn line(&mut self, line: &Line) {
        self.silent = None;
        match line {
            Line::Event(event) => self.event(event),
            // A newer version makes such lines for newer readers.
            Line::Unknown => {}
            Line::Log(text) => self.journal.add(Voice::Output, text),
        }
    }

    fn event(&mut self, event: &Event) {
        let t = event.t;
        self.clock = self.clock.max(t);
        match &event.body {
            Body::Hello(hello) => self.hello = Some(hello.clone()),
            Body::Phase(phase) => self.phase = Some((t, phase.clone())),
            Body::Step(step) => self.add_step(t, step),
            Body::Kernels(kernels) => self.kernels = Some(kernels.clone()),
            Body::Parts(parts) => self.parts = Some(parts.clone()),
            Body::Summary(summary) => self.summary = Some(summary.clone()),
            Body::Error(failure) => self.failure = Some(failure.clone()),
            body => {
                let Some(text) = event_text::remark(body) else {
                    return;
                };
                let voice = match body {
                    Body::Sample(_) => Voice::Sample,
                    _ => Voice::Note,
                };
                self.journal.add(voice, &text);
            }
        }
    }

    fn add_step(&mut self, t: f64, step: &Step) {
        if self.step.is_none() {
            self.first_step_ms = Some(step.total_ms);
            self.first_loss = Some(step.loss);
        }
        if !step.loss.is_finite() {
            self.loss_lost.get_or_insert(step.n);
        }
        self.loss.push(Some(step.loss));
        self.launches.push(step.launches.map(|count| count as f64));
        self.bytes_in_use
            .push(step.bytes_in_use.map(|bytes| bytes as f64));
        self.bytes_reserved
            .push(step.bytes_reserved.map(|bytes| bytes as f64));
        if step.measured {
            self.start.get_or_insert(MeasuredStart {
                step: step.n,
                t,
                total_ms: step.total_ms,
            });
            for metric in Metric::ALL
                .into_iter()
                .filter(|metric| metric.is_per_step())
            {
                let history = self.times.entry(metric).or_default();
                history.push(metric.of_step(step));
            }
            self.samples_per_s.push(Some(step.samples_per_s));
        }
        self.steps.truncate(RECENT - 1);
        self.steps.push_front(step.clone());
        self.step = Some((t, step.clone()));
    }

    pub fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    /// Returns whether the run ended as planned.
    pub fn succeeded(&self) -> bool {
        self.ended.as_ref().is_some_and(RunEnding::is_success)
            && self.failure.is_none()
            && self.summary.as_ref().is_none_or(|summary| summary.complete)
    }

    /// Finished share of the current phase, from 0 to 1; `None` if nothing allows an estimate.
    pub fn progress(&self) -> Option<f64> {
        let (_, phase) = self.phase.as_ref()?;
        let counted = matches!(phase.phase, PhaseName::WarmUp | PhaseName::Measure);
        match &self.step {
            Some((_, step)) if counted && step.of > 0 => Some(step.n as f64 / step.of as f64),
            _ => phase.progress,
        }
        .filter(|progress| progress.is_finite())
        .map(|progress| progress.clamp(0.0, 1.0))
    }

    /// Seconds left of the current phase; `None` if nothing allows an estimate.
    pub fn seconds_left(&self) -> Option<f64> {
        let (since, phase) = self.phase.as_ref()?;
        let left = if phase.phase == PhaseName::Measure {
            self.seconds_of_steps_left()?
        } else {
            phase.eta_s? - (self.clock - since)
        };
        left.is_finite().then_some(left.max(0.0))
    }

    /// Uses the clock between steps, because the time between them counts as well.
    fn seconds_of_steps_left(&self) -> Option<f64> {
        let (t, step) = self.step.as_ref()?;
        let start = self.start?;
        let done = step.n.checked_sub(start.step)?;
        let left = step.of.checked_sub(step.n)? as f64;
        let each = match done {
            0 => step.total_ms / 1e3,
            done => (t - start.t) / done as f64,
        };
        Some(left * each - (self.clock - t).min(each))
    }

    /// Start of the first measured step and end of the last one, in seconds of the run, and the number of steps.
    pub fn measured_interval(&self) -> Option<(f64, f64, u64)> {
        let start = self.start?;
        let (t, _) = self.step.as_ref()?;
        let begin = start.t - start.total_ms / 1e3;
        Some((begin, *t, self.samples_per_s.steps))
    }

    /// Returns whether the clock was read only after the device had finished; `None` before the first step.
    pub fn synchronized(&self) -> Option<bool> {
        self.step.as_ref().map(|(_, step)| step.synchronized)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::run_view::tests::ended;
    use tinyllama_runs::read_line;
    use tinyllama_session::event::RunExit;

    fn state(lines: &str) -> RunState {
        let mut state = RunState::new(RunContext::default());
        for line in lines.lines() {
            state.line(&read_line(line));
        }
        state
    }

    fn step(t: f64, n: usize, measured: bool) -> String {
        format!(
            r#"{{"t":{t},"event":"step","n":{n},"of":12,"measured":{measured},"loss":7.0,"total_ms":100.0,"forward_ms":30.0,"backward_ms":60.0,"optimizer_ms":null,"synchronized":true,"launches":5,"bytes_in_use":null,"bytes_reserved":null,"samples_per_s":80.0}}"#
        )
    }

    #[test]
    fn warm_up_steps_are_in_the_loss_but_not_in_the_times() {
        let lines = [step(1.0, 1, false), step(2.0, 2, true), step(3.0, 3, true)].join("\n");
        let state = state(&lines);
        assert_eq!(state.loss.steps, 3);
        assert_eq!(state.times[&Metric::TotalMs].steps, 2);
        assert_eq!(state.times[&Metric::OptimizerMs].reported, 0);
        assert_eq!(state.first_step_ms, Some(100.0));
        assert_eq!(state.measured_interval(), Some((1.9, 3.0, 2)));
    }

    #[test]
    fn time_left_comes_from_the_clock_between_steps_and_from_the_compiler() {
        let compile = r#"{"t":1.0,"event":"phase","phase":"compile","progress":0.25,"eta_s":30.0,"message":"compiling"}"#;
        let mut early = state(compile);
        assert_eq!(early.progress(), Some(0.25));
        early.clock = 5.0;
        assert_eq!(early.seconds_left(), Some(26.0));
        early.clock = 500.0;
        assert_eq!(early.seconds_left(), Some(0.0));

        let measure = r#"{"t":1.0,"event":"phase","phase":"measure","progress":null,"eta_s":null,"message":"10 counted steps"}"#;
        let steps = [step(2.0, 3, true), step(3.0, 4, true), step(4.0, 5, true)].join("\n");
        let late = state(&format!("{measure}\n{steps}"));
        assert_eq!(
            late.seconds_left(),
            Some(7.0),
            "a second a step, seven to go"
        );
        assert_eq!(late.progress(), Some(5.0 / 12.0));
        assert_eq!(state(measure).seconds_left(), None);
    }

    #[test]
    fn a_run_has_succeeded_only_when_nothing_speaks_against_it() {
        let mut run = state(&step(1.0, 1, true));
        assert!(run.is_running() && !run.succeeded());
        run.ended = Some(ended(RunExit::Status(0)));
        assert!(run.succeeded());
        let error =
            r#"{"t":2.0,"event":"error","code":"out-of-memory","message":"no","remedy":"less"}"#;
        run.line(&read_line(error));
        assert!(!run.succeeded());
        let mut killed = state("");
        killed.ended = Some(ended(RunExit::Signal(9)));
        assert!(!killed.is_running() && !killed.succeeded());
    }
}
