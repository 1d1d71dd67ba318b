//! Parts of a lesson's text: what is written, live values, and passages that depend on results.
//!
//! ```text
//! {{ if passed fused.faster }} ... {{ else if missed fused.faster }} ... {{ else }} ... {{ end }}
//! ```
//!
//! The conditions are in [`super::text_condition`].

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
    fn passages_that_do_not_fit_together_are_refused() {
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
    }
}
