//! Compares targets: time and its phases, launches, memory, rates, and how sure the differences are.

use serde::Serialize;

use super::parts;
use super::relative::{RelativeTime, USUAL_MARGIN, middle};
use super::runner::MeasuredRun;
use tinyllama_base::statistics::{Basis, Series};
use tinyllama_contract::event::Hello;
use tinyllama_runs::Metric;
use tinyllama_runs::energy::{Joules, RunEnergy};

/// One participant of a comparison.
#[derive(Clone, Debug)]
pub struct Side {
    pub name: String,
    /// In rounds if the sides took turns.
    pub runs: Vec<MeasuredRun>,
    /// A run that waited after each phase and counted its work. Its total time is not used.
    pub phases: Option<MeasuredRun>,
}

/// How the runs of the sides relate in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOrder {
    /// The n-th runs of all sides belong to the same round.
    InTurns,
    /// The runs were made at different times.
    Apart,
}

/// Median times of a side's phases, from a run that waits after each phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PhaseTimes {
    pub forward_ms: Option<f64>,
    pub backward_ms: Option<f64>,
    pub optimizer_ms: Option<f64>,
}

/// A side and its figures. Null means that the figure was not reported.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ComparisonRow {
    pub name: String,
    pub target: String,
    pub device: String,
    pub backend: String,
    pub runs: Vec<String>,
    /// Median of the runs' medians.
    pub step_ms: Option<f64>,
    /// Medians of the runs, in the order they were made.
    pub step_ms_of_runs: Vec<f64>,
    /// First step of the first run, including compiling and tuning.
    pub first_step_ms: Option<f64>,
    pub phases: PhaseTimes,
    pub samples_per_s: Option<f64>,
    pub tokens_per_s: Option<f64>,
    pub launches_per_step: Option<f64>,
    /// Launches of the forward pass, if a profile pass counted them.
    pub forward_launches: Option<f64>,
    pub peak_bytes_in_use: Option<u64>,
    pub peak_bytes_reserved: Option<u64>,
    /// Counted from shapes.
    pub flops_per_step: Option<f64>,
    /// Counted FLOP over the median step.
    pub flops_per_s: Option<f64>,
    /// Energy of the device during the measured steps, from power that was sampled while the runs ran.
    pub energy_per_step: Option<Joules>,
    pub energy_per_sample: Option<Joules>,
    /// Device time of the forward pass by kind of part, if a profile pass measured it.
    pub parts: Vec<parts::PartSum>,
    pub first_loss: Option<f64>,
    pub final_loss: Option<f64>,
    pub parameter_tensors: usize,
    pub parameters_with_gradient: Option<usize>,
    /// Step time over that of the first row. Null in the first row.
    pub relative_time: Option<RelativeTime>,
}

/// The table with its warnings.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub confidence: f64,
    /// A difference below this share of the time does not matter.
    pub margin: f64,
    pub rows: Vec<ComparisonRow>,
    /// Facts that a reader needs before believing the figures.
    pub warnings: Vec<String>,
}

impl ComparisonRow {
    /// The largest amount of device memory that the run held, if it is known.
    pub fn peak_bytes(&self) -> Option<u64> {
        self.peak_bytes_reserved.or(self.peak_bytes_in_use)
    }

    /// Formats how many of the parameters have a gradient.
    pub fn gradients(&self) -> Option<String> {
        let with = self.parameters_with_gradient?;
        Some(format!("{with} of {}", self.parameter_tensors))
    }
}

/// Compares every side with the first. Sides without a run are left out.
pub fn compare(sides: &[Side], made: RunOrder, confidence: f64) -> Comparison {
    let mut base: Option<Vec<Series>> = None;
    let mut rows = Vec::new();
    for side in sides {
        let Some(mut row) = row(side) else { continue };
        let series = total_series(&side.runs);
        row.relative_time = base.as_ref().and_then(|base| match made {
            RunOrder::InTurns => RelativeTime::from_rounds(&series, base, confidence, USUAL_MARGIN),
            RunOrder::Apart => RelativeTime::from_runs(&series, base, confidence, USUAL_MARGIN),
        });
        base.get_or_insert(series);
        rows.push(row);
    }
    let hellos: Vec<(&str, &Hello)> = sides
        .iter()
        .filter_map(|side| Some((side.name.as_str(), &side.runs.last()?.hello)))
        .collect();
    let mut warnings = circumstances(&hellos, made);
    warnings.extend(rows.iter().filter_map(without_gradient));
    warnings.extend(sides.iter().filter_map(unsynchronised));
    if rows.iter().any(rests_on_steps) {
        warnings.push(
            "Some ratios rest on the steps of one run each: they do not include differences from one start \
             of a program to the next. Three rounds or more show these too."
                .into(),
        );
    }
    Comparison {
        confidence,
        margin: USUAL_MARGIN,
        rows,
        warnings,
    }
}

/// Collects the measured step times of runs. Runs without any are left out.
pub fn total_series(runs: &[MeasuredRun]) -> Vec<Series> {
    runs.iter()
        .filter_map(|run| run.measurements.series(Metric::TotalMs))
        .collect()
}

/// Median of the runs' median steps.
pub fn step_ms(runs: &[MeasuredRun]) -> Option<f64> {
    middle(&total_series(runs))
}

/// The most memory that a run took from the device, if the backend reports it.
pub fn peak_bytes(run: &MeasuredRun) -> Option<u64> {
    let summary = &run.summary;
    summary.peak_bytes_reserved.or(summary.peak_bytes_in_use)
}

/// Paths of the runs' files.
pub fn paths<'a>(runs: impl IntoIterator<Item = &'a MeasuredRun>) -> Vec<String> {
    let runs = runs.into_iter();
    runs.map(|run| run.path.display().to_string()).collect()
}

fn row(side: &Side) -> Option<ComparisonRow> {
    let (first, last) = (side.runs.first()?, side.runs.last()?);
    let (hello, summary) = (&last.hello, &last.summary);
    let apart = side.phases.as_ref();
    let series = total_series(&side.runs);
    let step_ms = middle(&series);
    let phase = |metric: Metric| {
        let run = apart.unwrap_or(last);
        Some(run.measurements.series(metric)?.median())
    };
    let work = apart.and_then(|run| run.parts.as_ref());
    let work = work.or(last.parts.as_ref());
    let kernels = apart.and_then(|run| run.kernels.as_ref());
    let kernels = kernels.or(last.kernels.as_ref());
    let flops_per_step = work.map(|work| work.flops_per_step);
    let energy = RunEnergy::together(side.runs.iter().filter_map(|run| run.energy.as_ref()));
    let a_second = |things: f64| step_ms.map(|ms| things / (ms / 1e3));
    Some(ComparisonRow {
        name: side.name.clone(),
        target: hello.target.clone(),
        device: hello.device.clone(),
        backend: hello.backend.clone(),
        runs: paths(side.runs.iter().chain(apart)),
        step_ms,
        step_ms_of_runs: series.iter().map(Series::median).collect(),
        first_step_ms: first.summary.first_step_ms,
        phases: PhaseTimes {
            forward_ms: phase(Metric::ForwardMs),
            backward_ms: phase(Metric::BackwardMs),
            optimizer_ms: phase(Metric::OptimizerMs),
        },
        samples_per_s: a_second(hello.config.batch_size as f64),
        tokens_per_s: a_second(hello.config.tokens() as f64),
        launches_per_step: summary.launches_per_step,
        forward_launches: kernels.map(parts::forward_launches),
        peak_bytes_in_use: summary.peak_bytes_in_use,
        peak_bytes_reserved: summary.peak_bytes_reserved,
        flops_per_step,
        flops_per_s: flops_per_step.and_then(a_second),
        energy_per_step: energy.as_ref().and_then(RunEnergy::per_step),
        energy_per_sample: energy.as_ref().and_then(RunEnergy::per_sample),
        parts: work.map(parts::by_kind).unwrap_or_default(),
        first_loss: summary.first_loss,
        final_loss: summary.final_loss,
        parameter_tensors: summary.parameter_tensors,
        parameters_with_gradient: summary.parameters_with_gradient,
        relative_time: None,
    })
}

fn rests_on_steps(row: &ComparisonRow) -> bool {
    let time = row.relative_time.as_ref();
    let interval = time.and_then(|time| time.interval);
    interval.is_some_and(|interval| interval.basis == Basis::Steps)
}

fn without_gradient(row: &ComparisonRow) -> Option<String> {
    let with = row.parameters_with_gradient?;
    (with < row.parameter_tensors).then(|| {
        format!(
            "{}: {with} of {} parameters have a gradient. It does not train the model, so its time is no speed-up.",
            row.name, row.parameter_tensors
        )
    })
}

fn unsynchronised(side: &Side) -> Option<String> {
    let last = side.runs.last()?;
    (!last.summary.synchronized).then(|| {
        format!(
            "{}: the clock was read without waiting for the device; its times are the host's.",
            side.name
        )
    })
}

/// Describes in sentences how the circumstances of the runs differ.
pub fn circumstances(hellos: &[(&str, &Hello)], made: RunOrder) -> Vec<String> {
    let Some(((first, base), others)) = hellos.split_first() else {
        return vec![];
    };
    let mut warnings = Vec::new();
    for (name, hello) in others {
        let (places, facts): (Vec<&str>, Vec<&str>) = differing_facts(base, hello, made)
            .into_iter()
            .partition(|fact| PLACE.contains(fact));
        if !places.is_empty() {
            let place = |hello: &Hello| format!("{} ({})", hello.device, hello.backend);
            warnings.push(format!(
                "{name} ran on {}, {first} on {}: their times say nothing about the targets.",
                place(hello),
                place(base)
            ));
        }
        if !facts.is_empty() {
            let facts = facts.join(", ");
            warnings.push(format!(
                "{name} and {first} differ in more than the target: {facts}."
            ));
        }
    }
    warnings
}

/// Names of facts that say which device a run used.
const PLACE: [&str; 2] = ["device", "backend"];

/// Names the facts in which `hello` differs from `base`. Runs that took turns may differ in waiting and in block sizes,
/// because those are part of the comparison. Block sizes of different targets are not compared.
pub fn differing_facts(base: &Hello, hello: &Hello, made: RunOrder) -> Vec<&'static str> {
    let in_turns = made == RunOrder::InTurns;
    let waiting = in_turns || base.synchronize == hello.synchronize;
    let block_sizes =
        in_turns || base.target != hello.target || base.block_sizes == hello.block_sizes;
    let facts = [
        (PLACE[0], base.device == hello.device),
        (PLACE[1], base.backend == hello.backend),
        ("driver", base.driver == hello.driver),
        ("model or batch", base.config == hello.config),
        ("seed", base.seed == hello.seed),
        ("number type", base.dtype == hello.dtype),
        ("waiting for the device", waiting),
        ("learning rate", base.learning_rate == hello.learning_rate),
        ("block sizes", block_sizes),
    ];
    let differing = facts.into_iter().filter(|(_, same)| !same);
    differing.map(|(fact, _)| fact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_contract::{Body, Event};

    fn hello(device: &str, backend: &str) -> Hello {
        let line = r#"{"t":0.4,"event":"hello","stream":1,"version":"0.1.0","target":"v2","recipe":{"qkv":"fused","gate_up":"fused","attention":"kernel","operations":"library","graph_fusion":true},"backend":"BACKEND","device":"DEVICE","config":{"vocabulary":1000,"hidden":512,"layers":8,"heads":8,"kv_heads":4,"ffn":2048,"sequence_length":128,"batch_size":8},"seed":42,"parameters":31990272,"parameter_tensors":74,"dtype":"bf16","matmul_precision":"tf32","learning_rate":0.0003,"weight_decay":0.01,"steps":40,"warmup":3,"data":{"kind":"synthetic"},"deterministic":false,"synchronize":"phases"}"#;
        let line = line.replace("BACKEND", backend).replace("DEVICE", device);
        match serde_json::from_str::<Event>(&line).unwrap().body {
            Body::Hello(hello) => *hello,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn runs_on_different_devices_are_told_with_both_devices() {
        let (gpu, cpu) = (hello("AMD Instinct MI355X", "rocm"), hello("EPYC", "cpu"));
        let warnings = circumstances(&[("v4", &gpu), ("v1", &cpu)], RunOrder::InTurns);
        insta::assert_snapshot!(
            warnings.join("\n"),
            @"v1 ran on EPYC (cpu), v4 on AMD Instinct MI355X (rocm): their times say nothing about the targets."
        );
        assert!(circumstances(&[("v4", &gpu), ("v1", &gpu)], RunOrder::InTurns).is_empty());
    }
}
