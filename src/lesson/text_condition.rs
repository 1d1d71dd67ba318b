//! Conditions of the passages in a lesson's text.
//!
//! | condition | holds if |
//! |---|---|
//! | `passed STEP.CHECK` | the check passed |
//! | `missed STEP.CHECK` | the check was decided and not met |
//! | `decided STEP.CHECK` | one of the two |
//! | `reported FIGURE` | the figure of a live value is there |
//! | `on cpu RUN`, `on gpu RUN` | the newest run of this step was made on such a device |
//! | `STEP: PATH >= 3` | the document of a command step says so |
//!
//! A check belongs to a step of the same lesson. Without a run only `else` is shown.

use super::template::{Passage, TextPart};
use crate::placeholder::PlaceholderValue;
use crate::{Condition, Lesson, Results, StepRef, Verdict, exact};

/// A condition of a passage.
#[derive(Debug, PartialEq)]
pub enum TextCondition {
    /// The verdicts that a check of this step may have.
    Verdict {
        step: String,
        check: String,
        wanted: &'static [Verdict],
    },
    Reported(PlaceholderValue),
    OnCpu(StepRef, bool),
    Output(Condition),
}

impl TextCondition {
    /// Parses the condition of a passage in a text of `lesson`.
    ///
    /// # Errors
    /// A message about the mistake in it.
    pub fn parse(text: &str, lesson: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let rest = rest.trim();
        let wanted: &[Verdict] = match word {
            "passed" => &[Verdict::Passed],
            "missed" => &[Verdict::NotYet],
            "decided" => &[Verdict::Passed, Verdict::NotYet],
            "reported" => return PlaceholderValue::parse(rest, lesson).map(Self::Reported),
            "on" => {
                let (device, run) = rest.split_once(' ').unwrap_or((rest, ""));
                let run = StepRef::parse(run.trim(), lesson);
                return match device {
                    "cpu" => Ok(Self::OnCpu(run, true)),
                    "gpu" => Ok(Self::OnCpu(run, false)),
                    _ => Err(format!(
                        "`{device}` is no device: write `on cpu RUN` or `on gpu RUN`"
                    )),
                };
            }
            _ if text.contains(':') => {
                return Condition::parse(text, &StepRef::new(lesson, "")).map(Self::Output);
            }
            _ => {
                return Err(format!(
                    "`{text}` is no condition: write `passed STEP.CHECK`, `missed STEP.CHECK`, `decided STEP.CHECK`, \
                     `reported FIGURE`, `on cpu RUN`, `on gpu RUN` or `STEP: PATH >= 3`"
                ));
            }
        };
        let (step, check) = rest
            .split_once('.')
            .ok_or_else(|| format!("`{rest}` is no check: write `STEP.CHECK`"))?;
        Ok(Self::Verdict {
            step: step.into(),
            check: check.into(),
            wanted,
        })
    }

    /// Returns whether it holds. A check, a run or a document that is not there makes it false.
    fn holds(&self, lesson: &Lesson, results: &dyn Results) -> bool {
        match self {
            Self::Verdict {
                step,
                check,
                wanted,
            } => verdict(lesson, step, check, results)
                .is_some_and(|verdict| wanted.contains(&verdict)),
            Self::Reported(PlaceholderValue::Run(quantity)) => exact(quantity, results).is_ok(),
            Self::Reported(PlaceholderValue::Output(figure, _)) => figure.value(results).is_some(),
            Self::Reported(PlaceholderValue::KnownFigure(_)) => true,
            Self::OnCpu(run, is_wanted) => {
                let newest = results.measurements(run).pop();
                newest.is_some_and(|run| run.is_of_cpu() == *is_wanted)
            }
            Self::Output(condition) => condition.holds(results) == Some(true),
        }
    }
}

fn verdict(lesson: &Lesson, step: &str, check: &str, results: &dyn Results) -> Option<Verdict> {
    let step = lesson.step(step)?;
    let of_run = step.checks.iter().find(|it| it.id == check);
    let of_run = of_run.map(|check| check.evaluate(results).verdict);
    of_run.or_else(|| {
        let expect = step.expects().iter().find(|it| it.id == check)?;
        Some(expect.evaluate(results).verdict)
    })
}

/// The passage that is shown.
pub(super) fn choose<'a, 'b>(
    passages: &'b [Passage<'a>],
    lesson: &Lesson,
    results: &dyn Results,
) -> &'b [TextPart<'a>] {
    let holds = |passage: &&Passage| {
        let condition = passage
            .condition
            .map(|text| TextCondition::parse(text, &lesson.id));
        condition.is_none_or(|condition| {
            condition.is_ok_and(|condition| condition.holds(lesson, results))
        })
    };
    passages
        .iter()
        .find(holds)
        .map_or(&[], |passage| &passage.parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_conditions_are_refused() {
        for text in [
            "passed",
            "passed a",
            "maybe a.b",
            "reported a.speed",
            "on tpu a",
            "compare: rows",
        ] {
            assert!(TextCondition::parse(text, "lesson").is_err(), "{text}");
        }
        for text in [
            "missed a.b",
            "reported a.total_ms / b.total_ms",
            "reported compare: rows.# | x",
            "on gpu other/a",
            "compare: rows.# >= 3",
        ] {
            assert!(TextCondition::parse(text, "lesson").is_ok(), "{text}");
        }
    }
}
