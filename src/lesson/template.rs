//! Parts of a lesson's text: what is written, live values, and passages that depend on results.
//!
//! ```text
//! {{ if passed fused.faster }} ... {{ else if missed fused.faster }} ... {{ else }} ... {{ end }}
//! ```
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

use crate::placeholder::PlaceholderValue;
use crate::{CommandOutputs, Condition, Lesson, Runs, StepRef, Verdict, exact};

/// A part of a text.
#[derive(Debug, PartialEq)]
pub enum TextPart<'a> {
    Written(&'a str),
    /// The expression of a live value.
    Value(&'a str),
    /// The passages of which the first whose condition holds is shown.
    Choice(Vec<Passage<'a>>),
}

/// A passage that depends on results.
#[derive(Debug, PartialEq)]
pub struct Passage<'a> {
    /// `None` for the passage that is shown if no condition holds.
    pub condition: Option<&'a str>,
    pub parts: Vec<TextPart<'a>>,
}

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
    fn holds(&self, lesson: &Lesson, runs: &dyn Runs, outputs: &dyn CommandOutputs) -> bool {
        match self {
            Self::Verdict {
                step,
                check,
                wanted,
            } => verdict(lesson, step, check, runs, outputs)
                .is_some_and(|verdict| wanted.contains(&verdict)),
            Self::Reported(PlaceholderValue::Run(quantity)) => exact(quantity, runs).is_ok(),
            Self::Reported(PlaceholderValue::Output(figure, _)) => figure.value(outputs).is_some(),
            Self::Reported(PlaceholderValue::KnownFigure(_)) => true,
            Self::OnCpu(run, is_wanted) => {
                let newest = runs.measurements(run).pop();
                newest.is_some_and(|run| run.is_of_cpu() == *is_wanted)
            }
            Self::Output(condition) => condition.holds(outputs) == Some(true),
        }
    }
}

fn verdict(
    lesson: &Lesson,
    step: &str,
    check: &str,
    runs: &dyn Runs,
    outputs: &dyn CommandOutputs,
) -> Option<Verdict> {
    let step = lesson.step(step)?;
    let of_run = step.checks.iter().find(|it| it.id == check);
    let of_run = of_run.map(|check| check.evaluate(runs).verdict);
    of_run.or_else(|| {
        let expect = step.expects().iter().find(|it| it.id == check)?;
        Some(expect.evaluate(outputs).verdict)
    })
}

/// What stands between double braces.
enum Tag<'a> {
    Value(&'a str),
    If(&'a str),
    ElseIf(&'a str),
    Else,
    End,
}

impl<'a> Tag<'a> {
    fn new(text: &'a str) -> Self {
        let text = text.trim();
        if let Some(condition) = text.strip_prefix("if ") {
            Tag::If(condition.trim())
        } else if let Some(condition) = text.strip_prefix("else if ") {
            Tag::ElseIf(condition.trim())
        } else if text == "else" {
            Tag::Else
        } else if text == "end" {
            Tag::End
        } else {
            Tag::Value(text)
        }
    }
}

/// Splits a text into its parts. A tag alone on its line leaves no line behind.
///
/// # Errors
/// A message about a passage that does not end, or a tag without its passage.
pub fn parse(text: &str) -> Result<Vec<TextPart<'_>>, String> {
    let mut outer = Vec::new();
    // The passages of the choice that is open.
    let mut open: Option<Vec<Passage>> = None;
    let mut rest = text;
    let mut begins_line = true;
    while let Some((before, from)) = rest.split_once("{{")
        && let Some((tag, after)) = from.split_once("}}")
    {
        let tag = Tag::new(tag);
        rest = after;
        let mut written = before;
        match tag {
            Tag::Value(_) => begins_line = false,
            _ => {
                let blank = written.trim_end_matches([' ', '\t']);
                let is_first = blank.ends_with('\n') || blank.is_empty() && begins_line;
                let behind = rest.trim_start_matches([' ', '\t']);
                begins_line = is_first && (behind.is_empty() || behind.starts_with('\n'));
                if begins_line {
                    (written, rest) = (blank, behind.strip_prefix('\n').unwrap_or(behind));
                }
            }
        }
        let parts = match open.as_mut().and_then(|passages| passages.last_mut()) {
            Some(passage) => &mut passage.parts,
            None => &mut outer,
        };
        if !written.is_empty() {
            parts.push(TextPart::Written(written));
        }
        if let Tag::Value(value) = tag {
            parts.push(TextPart::Value(value));
            continue;
        }
        let begin = |condition| Passage {
            condition,
            parts: Vec::new(),
        };
        match (tag, &mut open) {
            (Tag::Value(_), _) => {}
            (Tag::If(condition), None) => open = Some(vec![begin(Some(condition))]),
            (Tag::If(_), Some(_)) => return Err("an `if` inside another one".into()),
            (Tag::ElseIf(_) | Tag::Else, Some(passages))
                if passages.last().is_some_and(|last| last.condition.is_none()) =>
            {
                return Err("a passage after the `else`".into());
            }
            (Tag::ElseIf(condition), Some(passages)) => passages.push(begin(Some(condition))),
            (Tag::Else, Some(passages)) => passages.push(begin(None)),
            (Tag::End, Some(_)) => outer.extend(open.take().map(TextPart::Choice)),
            (Tag::ElseIf(_) | Tag::Else | Tag::End, None) => {
                return Err("an `else` or `end` without its `if`".into());
            }
        }
    }
    if open.is_some() {
        return Err("an `if` without its `end`".into());
    }
    if !rest.is_empty() {
        outer.push(TextPart::Written(rest));
    }
    Ok(outer)
}

/// The passage that is shown.
pub(super) fn choose<'a, 'b>(
    passages: &'b [Passage<'a>],
    lesson: &Lesson,
    runs: &dyn Runs,
    outputs: &dyn CommandOutputs,
) -> &'b [TextPart<'a>] {
    let holds = |passage: &&Passage| {
        let condition = passage
            .condition
            .map(|text| TextCondition::parse(text, &lesson.id));
        condition.is_none_or(|condition| {
            condition.is_ok_and(|condition| condition.holds(lesson, runs, outputs))
        })
    };
    passages
        .iter()
        .find(holds)
        .map_or(&[], |passage| &passage.parts)
}

/// Calls `found` with every part, those in passages included, and the condition of its passage: `Some(None)` for
/// `else`.
pub fn visit<'a>(
    parts: &[TextPart<'a>],
    found: &mut dyn FnMut(&TextPart<'a>, Option<Option<&'a str>>),
) {
    for part in parts {
        found(part, None);
        let TextPart::Choice(passages) = part else {
            continue;
        };
        for passage in passages {
            for part in &passage.parts {
                found(part, Some(passage.condition));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_alone_on_its_line_leaves_no_line_behind() {
        let text = "One.\n\n{{ if passed a.b }}\nTwo {{ a.total_ms }}.\n  {{ else }}\nThree.\n{{ end }}\nFour{{ if on cpu a }}, five{{ end }}.\n";
        let parts = parse(text).unwrap();
        let passage = |condition, parts| Passage { condition, parts };
        assert_eq!(
            parts,
            [
                TextPart::Written("One.\n\n"),
                TextPart::Choice(vec![
                    passage(
                        Some("passed a.b"),
                        vec![
                            TextPart::Written("Two "),
                            TextPart::Value("a.total_ms"),
                            TextPart::Written(".\n"),
                        ]
                    ),
                    passage(None, vec![TextPart::Written("Three.\n")]),
                ]),
                TextPart::Written("Four"),
                TextPart::Choice(vec![passage(
                    Some("on cpu a"),
                    vec![TextPart::Written(", five")]
                )]),
                TextPart::Written(".\n"),
            ]
        );
        // The value before the tag stands on the same line.
        let inline = parse("{{ if on cpu a }}{{ a.total_ms }}{{ end }}\nx").unwrap();
        assert_eq!(inline.last(), Some(&TextPart::Written("\nx")));
    }

    #[test]
    fn passages_that_do_not_fit_together_and_unknown_conditions_are_refused() {
        for text in [
            "{{ if passed a.b }} x",
            "x {{ end }}",
            "{{ else }}",
            "{{ if passed a.b }}{{ if passed a.c }}{{ end }}{{ end }}",
            "{{ if passed a.b }}{{ else }}{{ else }}{{ end }}",
            "{{ if passed a.b }}{{ else }}{{ else if passed a.c }}{{ end }}",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
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
