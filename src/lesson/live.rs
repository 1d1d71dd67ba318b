//! Fills in the expressions between double braces in a lesson's text, and adds the sources of the figures below it.
//!
//! | written | is |
//! |---|---|
//! | `run.metric`, `run.metric / run.metric` | a measurement of this learner's runs |
//! | `step: path \| unit` | a figure in the document of a command step |
//! | `recording v1: total_ms` | a measurement of a recorded run, or a ratio of two |
//! | `kernels stage2: FlashAttentionForward` | the time per step of a recorded run's kernels of this name, or in this phase |
//! | `analysis compare: rows[name=v1].step_ms \| ms` | a figure in a recorded document |
//! | `sheet NVIDIA H200: bandwidth` | a figure of the maker's data sheet |
//! | `known: v1-step` | a figure of `assets/figures.yaml` |
//! | `= 10 ms` | a figure of an exercise, which is not measured |

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use super::figure::show as show_value;
use crate::{CommandOutputs, OutputFigure, Quantity, RunName, Runs, Undecided, exact, recorded};
use tinyllama_analysis::gpus;
use tinyllama_runs::FinishedRun;
use tinyllama_runs::MetricUnit;
use tinyllama_runs::recording::{Library, documents, label};

/// What a text shows until the runs of its figure are there.
pub const NOT_MEASURED: &str = "(not measured yet)";
/// What a text shows for a figure that its run did not report.
pub const NOT_REPORTED: &str = "(not reported)";

/// A figure that is the same for every learner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFigure {
    text: String,
    /// `None` if it was not measured.
    source: Option<String>,
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
                let step = RunName::parse(name, lesson);
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
        fn document(&self, _: &RunName) -> Option<&serde_json::Value> {
            Some(self.0)
        }
    }
    let document =
        documents::find(id).ok_or_else(|| format!("there is no recorded document `{id}`"))?;
    let figure = OutputFigure::parse(path, &RunName::parse(id, ""))?;
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

/// Fills in every value of `text` for a step of `lesson`, and adds the sources of the known ones below. Figures of
/// recordings are labelled; within a table they get only a mark, which is explained below.
pub fn fill(text: &str, lesson: &str, runs: &dyn Runs, outputs: &dyn CommandOutputs) -> String {
    let mut filled = FilledText::default();
    let (found, rest) = pieces(text);
    for (before, expression) in found {
        filled.text.push_str(before);
        match PlaceholderValue::parse(expression, lesson) {
            Ok(PlaceholderValue::KnownFigure(known)) => filled.known(known),
            Ok(value) => filled.measured(measured(&value, runs, outputs)),
            Err(_) => drop(write!(filled.text, "{{{{ {expression} }}}}")),
        }
    }
    filled.text.push_str(rest);
    filled.end()
}

/// Fills in the figures of `text`, all of which must be the same for every learner.
///
/// # Errors
/// A message about a figure that differs between learners, or about a mistake.
pub fn fill_known(text: &str) -> Result<String, String> {
    let mut filled = FilledText::default();
    let (found, rest) = pieces(text);
    for (before, expression) in found {
        filled.text.push_str(before);
        let PlaceholderValue::KnownFigure(known) = PlaceholderValue::parse(expression, "")? else {
            let why = "belongs to one learner, so only the text of a step can show it";
            return Err(format!("`{{{{ {expression} }}}}` {why}"));
        };
        filled.known(known);
    }
    filled.text.push_str(rest);
    Ok(filled.end())
}

/// A text that is partly filled in.
#[derive(Default)]
struct FilledText {
    text: String,
    /// Sources of the known figures.
    sources: Vec<String>,
    /// The recordings with figures in tables.
    marked: Vec<String>,
}

/// The mark after a recorded figure in a table.
const MARK: &str = "(r)";

impl FilledText {
    fn known(&mut self, known: KnownFigure) {
        self.text.push_str(&known.text);
        let new = known.source.filter(|source| !self.sources.contains(source));
        self.sources.extend(new);
    }

    fn measured(&mut self, (shown, recorded): (String, Option<String>)) {
        self.text.push_str(&shown);
        let Some(label) = recorded else {
            return;
        };
        let line = self.text.lines().next_back().unwrap_or_default();
        if line.trim_start().starts_with('|') {
            let _ = write!(self.text, " {MARK}");
            if !self.marked.contains(&label) {
                self.marked.push(label);
            }
        } else {
            let _ = write!(self.text, " ({label})");
        }
    }

    fn end(mut self) -> String {
        let mut below = Vec::new();
        if !self.marked.is_empty() {
            below.push(format!("{MARK}: {}", self.marked.join("; ")));
        }
        if !self.sources.is_empty() {
            let many = if self.sources.len() == 1 { "" } else { "s" };
            below.push(format!(
                "Source{many} of the figures: {}",
                self.sources.join("; ")
            ));
        }
        if below.is_empty() {
            return self.text;
        }
        let below = below.join(". ");
        match ["\n\n", "\n|"]
            .iter()
            .any(|several| self.text.contains(several))
        {
            // Writing to a string cannot fail.
            true => drop(write!(self.text, "\n\n*{below}.*\n")),
            false => self.text = format!("{} ({below})", self.text.trim_end()),
        }
        self.text
    }
}

/// All runs that the live values of `text` name, for a step of `lesson`.
pub fn runs(text: &str, lesson: &str) -> Vec<RunName> {
    values(text)
        .filter_map(
            |expression| match PlaceholderValue::parse(expression, lesson) {
                Ok(PlaceholderValue::Run(quantity)) => Some(quantity),
                _ => None,
            },
        )
        .flat_map(|quantity| quantity.runs().cloned().collect::<Vec<_>>())
        .collect()
}

/// All expressions of `text`, as written.
pub(super) fn values(text: &str) -> impl Iterator<Item = &str> {
    let (found, _) = pieces(text);
    found.into_iter().map(|(_, expression)| expression)
}

/// `text` without its expressions between double braces.
pub fn typed(text: &str) -> String {
    let (found, rest) = pieces(text);
    let typed = found.into_iter().map(|(before, _)| before);
    typed.chain([rest]).collect()
}

/// Splits a text into expressions between double braces, each with the text before it, and the text after the
/// last one.
fn pieces(text: &str) -> (Vec<(&str, &str)>, &str) {
    let mut rest = text;
    let mut found = Vec::new();
    while let Some((before, from)) = rest.split_once("{{")
        && let Some((expression, after)) = from.split_once("}}")
    {
        found.push((before, expression.trim()));
        rest = after;
    }
    (found, rest)
}

/// The shown value, and the recording that it comes from.
fn measured(
    value: &PlaceholderValue,
    runs: &dyn Runs,
    outputs: &dyn CommandOutputs,
) -> (String, Option<String>) {
    let (shown, origin) = match value {
        PlaceholderValue::KnownFigure(known) => (known.text.clone(), None),
        PlaceholderValue::Output(figure, unit) => match figure.value(outputs) {
            Some(value) => (show_value(&value, unit), runs.recorded(&figure.step)),
            None if outputs.document(&figure.step).is_none() => ("(not run yet)".into(), None),
            None => (NOT_REPORTED.into(), None),
        },
        PlaceholderValue::Run(quantity) => match exact(quantity, runs) {
            Ok(value) => (quantity.unit().show(value), recorded(quantity, runs)),
            Err(undecided) => (undecided_text(&undecided).into(), None),
        },
    };
    (shown, origin.map(label))
}

fn undecided_text(undecided: &Undecided) -> &'static str {
    match undecided {
        Undecided::OtherMachine { .. } => "(one of the runs is a recording of another machine)",
        Undecided::NotReported(_) => NOT_REPORTED,
        Undecided::NotFinite(_) => "(not a finite number)",
        Undecided::OtherDevice { .. } => "(of different devices)",
        _ => NOT_MEASURED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_runs::Measurements;

    struct Played(Measurements, Option<&'static str>);

    impl Runs for Played {
        fn measurements(&self, _: &RunName) -> Vec<&Measurements> {
            vec![&self.0]
        }
        fn recorded(&self, _: &RunName) -> Option<&str> {
            self.1
        }
    }

    impl CommandOutputs for Played {
        fn document(&self, _: &RunName) -> Option<&serde_json::Value> {
            None
        }
    }

    #[test]
    fn a_recorded_figure_names_its_recording_and_within_a_table_all_do_once() {
        let (v1, origin) = Library::built_in("v1").unwrap();
        let v1 = v1.measurements.clone();
        let origin: &'static str = origin.leak();
        let row = "| step | {{ a.total_ms }} |\n| loss | {{ a.first_loss }} |\n\n{{ a.first_loss }} at first.";
        let shown = fill(
            row,
            "l",
            &Played(v1.clone(), Some(origin)),
            &Played(v1.clone(), None),
        );
        assert_eq!(shown.matches(" (r) |").count(), 2, "{shown}");
        assert_eq!(
            shown.matches("(r): recording: NVIDIA H200").count(),
            1,
            "{shown}"
        );
        assert_eq!(shown.matches(" (recording: NVIDIA").count(), 1, "{shown}");
        let own = fill(row, "l", &Played(v1.clone(), None), &Played(v1, None));
        assert!(!own.contains("(r)") && !own.contains("recording"), "{own}");
    }

    #[test]
    fn a_text_for_all_learners_takes_figures_that_are_the_same_for_all() {
        let settled = fill_known("It took {{ known: v1 }}.").unwrap();
        let page =
            fill_known("One.\n\n{{ = 10 ms }}, {{ known: v1 }}, {{ known: v2 }}.\n").unwrap();
        assert_eq!(page.matches("Source").count(), 1, "{page}");
        let kernels = "{{ kernels stage2: FlashAttentionForward }}, {{ kernels stage2: MatmulEntry forward }}";
        let kernels = fill_known(kernels).unwrap();
        let plain = "As it is.";
        assert_eq!(fill_known(plain), Ok(plain.into()));
        let refused = [
            "{{ own.total_ms }}",
            "{{ known: nobody }}",
            "{{ recording nobody: total_ms }}",
            "{{ kernels stage2: Nothing }}",
        ]
        .map(|text| fill_known(text).unwrap_err());
        insta::assert_snapshot!(format!("{settled}\n{kernels}\n{}", refused.join("\n")));
    }
}
