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
//! The conditions of passages that depend on results are in [`text_condition`].

use std::fmt::Write as _;

use super::figure::show as show_value;
use super::template::{self, TextPart};
use super::text::FilledText;
pub use super::text::{runs, typed};
use super::text_condition;
use crate::placeholder::PlaceholderValue;
use crate::{Lesson, Results, Undecided, exact, recorded};
use tinyllama_runs::recording::label;

/// What a text shows until the runs of its figure are there.
pub const NOT_MEASURED: &str = "(not measured yet)";
/// What a text shows for a figure that its run did not report.
pub const NOT_REPORTED: &str = "(not reported)";

/// Fills in every value of `text` for a step of `lesson`, and adds the sources of the known ones below. Figures of
/// recordings are labelled; within a table they get only a mark, which is explained below.
pub fn fill(text: &str, lesson: &Lesson, results: &dyn Results) -> String {
    let mut filled = FilledText::default();
    // A text that does not parse was reported when the course was read.
    let parts = template::parse(text).unwrap_or_else(|_| vec![TextPart::Written(text)]);
    filled.parts(&parts, lesson, results);
    filled.end()
}

impl FilledText {
    fn parts(&mut self, parts: &[TextPart], lesson: &Lesson, results: &dyn Results) {
        for part in parts {
            match part {
                TextPart::Written(written) => self.text.push_str(written),
                TextPart::Value(expression) => {
                    match PlaceholderValue::parse(expression, &lesson.id) {
                        Ok(PlaceholderValue::KnownFigure(known)) => self.known(known),
                        Ok(value) => self.measured(measured(&value, results)),
                        // Writing to a string cannot fail.
                        Err(_) => drop(write!(self.text, "{{{{ {expression} }}}}")),
                    }
                }
                TextPart::Choice(passages) => {
                    let parts = text_condition::choose(passages, lesson, results);
                    self.parts(parts, lesson, results);
                }
            }
        }
    }
}

/// The shown value, and the recording that it comes from.
fn measured(value: &PlaceholderValue, results: &dyn Results) -> (String, Option<String>) {
    let (shown, origin) = match value {
        PlaceholderValue::KnownFigure(known) => (known.text.clone(), None),
        PlaceholderValue::Output(figure, unit) => match figure.value(results) {
            Some(value) => (show_value(&value, unit), results.recorded(&figure.step)),
            None if results.document(&figure.step).is_none() => ("(not run yet)".into(), None),
            None => (NOT_REPORTED.into(), None),
        },
        PlaceholderValue::Run(quantity) => match exact(quantity, results) {
            Ok(value) => (quantity.unit().show(value), recorded(quantity, results)),
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
    use crate::{CommandOutputs, Runs, StepRef};
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
        let shown = fill(row, &lesson(), &Played(v1.clone(), Some(origin)));
        assert_eq!(shown.matches(" (r) |").count(), 2, "{shown}");
        assert_eq!(
            shown.matches("(r): recording: NVIDIA H200").count(),
            1,
            "{shown}"
        );
        assert_eq!(shown.matches(" (recording: NVIDIA").count(), 1, "{shown}");
        let own = fill(row, &lesson(), &Played(v1, None));
        assert!(!own.contains("(r)") && !own.contains("recording"), "{own}");
    }
}
