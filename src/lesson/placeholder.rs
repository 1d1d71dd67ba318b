//! What an expression between double braces stands for: a figure of this learner's runs, or one that is the same for all.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use super::figure::show as show_value;
use crate::{CommandOutputs, OutputFigure, Quantity, StepRef};
use tinyllama_analysis::gpus;
use tinyllama_runs::recording::{Library, documents, label};
use tinyllama_runs::{FinishedRun, MetricUnit};

/// A figure that is the same for every learner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFigure {
    pub(super) text: String,
    /// `None` if it was not measured.
    pub(super) source: Option<String>,
}

/// A parsed expression between double braces.
#[derive(Clone, Debug, PartialEq)]
pub enum PlaceholderValue {
    Run(Quantity),
    /// The figure, and the unit in which it is shown.
    Output(OutputFigure, String),
    KnownFigure(KnownFigure),
}

impl PlaceholderValue {
    /// Parses an expression for a step of `lesson`.
    ///
    /// # Errors
    /// A message about the mistake in it.
    pub fn parse(text: &str, lesson: &str) -> Result<Self, String> {
        if let Some(given) = text.strip_prefix('=') {
            return Ok(PlaceholderValue::KnownFigure(KnownFigure {
                text: given.trim().into(),
                source: None,
            }));
        }
        let Some((name, what)) = text.split_once(':') else {
            return Quantity::parse(text, lesson).map(PlaceholderValue::Run);
        };
        let (name, what) = (name.trim(), what.trim());
        let (path, unit) = what.rsplit_once('|').unwrap_or((what, ""));
        let unit = unit.trim().to_string();
        match name.split_once(' ') {
            Some(("recording", id)) => recorded_figure(id, what).map(PlaceholderValue::KnownFigure),
            Some(("kernels", id)) => kernel_figure(id, what).map(PlaceholderValue::KnownFigure),
            Some(("analysis", id)) => {
                document_figure(id, path, &unit).map(PlaceholderValue::KnownFigure)
            }
            Some(("sheet", device)) => {
                data_sheet_figure(device, what).map(PlaceholderValue::KnownFigure)
            }
            None if name == "known" => cited_figure(what).map(PlaceholderValue::KnownFigure),
            _ => {
                let step = StepRef::parse(name, lesson);
                OutputFigure::parse(path, &step)
                    .map(|figure| PlaceholderValue::Output(figure, unit))
            }
        }
    }
}

fn recorded_figure(id: &str, what: &str) -> Result<KnownFigure, String> {
    // In a ratio, the other recording is named like a run: `total_ms / v4.total_ms`.
    let quantity = Quantity::parse(&format!("{id}.{what}"), "")?;
    let mut origins = Vec::new();
    let mut value = |term: &super::quantity::Term| {
        let recording = &term.run.step;
        let (run, origin) = recording_of(recording)?;
        origins.push(origin);
        let value = run.measurements.value(term.metric, term.statistic);
        value.ok_or_else(|| format!("recording `{recording}` does not report {}", term.metric))
    };
    let mut number = value(&quantity.numerator)?;
    if let Some(term) = &quantity.denominator {
        number /= value(term)?;
    }
    Ok(KnownFigure {
        text: quantity.unit().show(number),
        source: origins.first().map(|origin| label(origin)),
    })
}

fn recording_of(id: &str) -> Result<(Arc<FinishedRun>, String), String> {
    Library::built_in(id).ok_or_else(|| format!("there is no recording `{id}`"))
}

/// The time per step of the kernels for which each word of `what` is the name, or the phase that launched them.
fn kernel_figure(id: &str, what: &str) -> Result<KnownFigure, String> {
    let (run, origin) = recording_of(id)?;
    let kernels = run
        .reported
        .kernels
        .iter()
        .flat_map(|kernels| &kernels.kernels);
    let meant = kernels.filter(|kernel| {
        let phase = match &*kernel.part {
            phase @ ("backward" | "optimizer") => phase,
            _ => "forward",
        };
        what.split(' ')
            .all(|word| [&*kernel.name, phase].contains(&word))
    });
    let times: Vec<f64> = meant
        .filter_map(|kernel| kernel.device_ms_per_step)
        .collect();
    if times.is_empty() {
        return Err(format!("recording `{id}` timed no kernel `{what}`"));
    }
    Ok(KnownFigure {
        text: MetricUnit::Milliseconds.show(times.iter().sum()),
        source: Some(label(&origin)),
    })
}

fn document_figure(id: &str, path: &str, unit: &str) -> Result<KnownFigure, String> {
    struct SingleOutput<'a>(&'a serde_json::Value);
    impl CommandOutputs for SingleOutput<'_> {
        fn document(&self, _: &StepRef) -> Option<&serde_json::Value> {
            Some(self.0)
        }
    }
    let document =
        documents::find(id).ok_or_else(|| format!("there is no recorded document `{id}`"))?;
    let figure = OutputFigure::parse(path, &StepRef::parse(id, ""))?;
    let value = figure.value(&SingleOutput(&document.value));
    let value = value.ok_or_else(|| format!("`{figure}` is not in `{id}.json`"))?;
    Ok(KnownFigure {
        text: show_value(&value, unit),
        source: Some(format!("`{}`, {}", document.command, document.origin())),
    })
}

fn data_sheet_figure(device: &str, what: &str) -> Result<KnownFigure, String> {
    let sheet = gpus::find(device).ok_or_else(|| format!("no data sheet of `{device}`"))?;
    let text = match what {
        "bandwidth" => Some(format!("{} GB/s", sheet.bandwidth)),
        "memory" => Some(format!("{} GiB", sheet.memory)),
        "units" => Some(sheet.units.to_string()),
        "local_memory" => Some(format!("{} KiB", sheet.local_memory)),
        dtype => sheet
            .flops_per_s(dtype)
            .map(|rate| format!("{} TFLOP/s", rate / 1e12)),
    };
    Ok(KnownFigure {
        text: text.ok_or_else(|| format!("the data sheet of `{device}` has no `{what}`"))?,
        source: Some(format!("data sheet of the {}", sheet.name)),
    })
}

#[derive(Deserialize)]
struct CitedFigures {
    sources: BTreeMap<String, String>,
    figures: BTreeMap<String, CitedFigure>,
}

#[derive(Deserialize)]
struct CitedFigure {
    value: String,
    source: String,
}

static TABLE: LazyLock<Option<CitedFigures>> =
    LazyLock::new(|| serde_yaml::from_str(include_str!("../../assets/figures.yaml")).ok());

fn cited_figure(id: &str) -> Result<KnownFigure, String> {
    let table = TABLE.as_ref().ok_or("assets/figures.yaml cannot be read")?;
    let known = table.figures.get(id);
    let known = known.ok_or_else(|| format!("assets/figures.yaml has no figure `{id}`"))?;
    let source = table.sources.get(&known.source);
    let source = source.ok_or_else(|| format!("figure `{id}` has no source `{}`", known.source))?;
    Ok(KnownFigure {
        text: known.value.clone(),
        source: Some(source.clone()),
    })
}
