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
//!
//! Passages that depend on results are in [`template`].

use std::fmt::Write as _;

use super::figure::show as show_value;
use super::template::{self, TextPart};
use crate::placeholder::{KnownFigure, PlaceholderValue};
use crate::{CommandOutputs, Lesson, Runs, StepRef, Undecided, exact, recorded};
use tinyllama_runs::recording::label;

/// What a text shows until the runs of its figure are there.
pub const NOT_MEASURED: &str = "(not measured yet)";
/// What a text shows for a figure that its run did not report.
pub const NOT_REPORTED: &str = "(not reported)";

/// Fills in every value of `text` for a step of `lesson`, and adds the sources of the known ones below. Figures of
/// recordings are labelled; within a table they get only a mark, which is explained below.
pub fn fill(text: &str, lesson: &Lesson, runs: &dyn Runs, outputs: &dyn CommandOutputs) -> String {
    let mut filled = FilledText::default();
    // A text that does not parse was reported when the course was read.
    let parts = template::parse(text).unwrap_or_else(|_| vec![TextPart::Written(text)]);
    filled.parts(&parts, lesson, runs, outputs);
    filled.end()
}

/// Fills in the figures of `text`, all of which must be the same for every learner.
///
/// # Errors
/// A message about a figure that differs between learners, or about a mistake.
pub fn fill_known(text: &str) -> Result<String, String> {
    let mut filled = FilledText::default();
    for part in template::parse(text)? {
        let refused = |what: &str| {
            let why = "belongs to one learner, so only the text of a step can show it";
            Err(format!("`{{{{ {what} }}}}` {why}"))
        };
        match part {
            TextPart::Written(written) => filled.text.push_str(written),
            TextPart::Value(expression) => match PlaceholderValue::parse(expression, "")? {
                PlaceholderValue::KnownFigure(known) => filled.known(known),
                _ => return refused(expression),
            },
            TextPart::Choice(_) => return refused("if"),
        }
    }
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
    fn parts(
        &mut self,
        parts: &[TextPart],
        lesson: &Lesson,
        runs: &dyn Runs,
        outputs: &dyn CommandOutputs,
    ) {
        for part in parts {
            match part {
                TextPart::Written(written) => self.text.push_str(written),
                TextPart::Value(expression) => {
                    match PlaceholderValue::parse(expression, &lesson.id) {
                        Ok(PlaceholderValue::KnownFigure(known)) => self.known(known),
                        Ok(value) => self.measured(measured(&value, runs, outputs)),
                        // Writing to a string cannot fail.
                        Err(_) => drop(write!(self.text, "{{{{ {expression} }}}}")),
                    }
                }
                TextPart::Choice(passages) => {
                    let parts = template::choose(passages, lesson, runs, outputs);
                    self.parts(parts, lesson, runs, outputs);
                }
            }
        }
    }

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

/// All runs whose figures `text` can show, for a step of `lesson`.
pub fn runs(text: &str, lesson: &str) -> Vec<StepRef> {
    let parsed = values(text)
        .into_iter()
        .map(|expression| PlaceholderValue::parse(expression, lesson));
    let quantities = parsed.filter_map(|value| match value {
        Ok(PlaceholderValue::Run(quantity)) => Some(quantity),
        _ => None,
    });
    quantities
        .flat_map(|quantity| quantity.runs().cloned().collect::<Vec<_>>())
        .collect()
}

/// All expressions of `text`, as written.
pub(super) fn values(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let parts = template::parse(text).unwrap_or_default();
    template::visit(&parts, &mut |part, _| {
        if let TextPart::Value(expression) = part {
            found.push(*expression);
        }
    });
    found
}

/// `text` without what stands between double braces.
pub fn typed(text: &str) -> String {
    let mut typed = String::new();
    let parts = template::parse(text).unwrap_or_else(|_| vec![TextPart::Written(text)]);
    template::visit(&parts, &mut |part, _| {
        if let TextPart::Written(written) = part {
            typed.push_str(written);
        }
    });
    typed
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
    use crate::document::Level;
    use tinyllama_runs::Measurements;
    use tinyllama_runs::recording::Library;

    fn lesson() -> Lesson {
        Lesson {
            id: "l".into(),
            session: "s".into(),
            title: String::new(),
            minutes: 1,
            level: Level::Beginner,
            requires: Vec::new(),
            objectives: Vec::new(),
            steps: Vec::new(),
        }
    }

    struct Played(Measurements, Option<&'static str>);

    impl Runs for Played {
        fn measurements(&self, _: &StepRef) -> Vec<&Measurements> {
            vec![&self.0]
        }
        fn recorded(&self, _: &StepRef) -> Option<&str> {
            self.1
        }
    }

    impl CommandOutputs for Played {
        fn document(&self, _: &StepRef) -> Option<&serde_json::Value> {
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
            &lesson(),
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
        let own = fill(row, &lesson(), &Played(v1.clone(), None), &Played(v1, None));
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
