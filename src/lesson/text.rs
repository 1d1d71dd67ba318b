//! A lesson's text without a learner's results: its known figures with their sources below, the runs whose figures it
//! shows, and the words around them.

use std::fmt::Write as _;

use super::template::{self, TextPart};
use crate::StepRef;
use crate::placeholder::{KnownFigure, PlaceholderValue};

/// Fills in the figures of `text`, all of which must be the same for every learner.
///
/// # Errors
/// A message about a figure that differs between learners, or about a mistake.
pub(super) fn fill_known(text: &str) -> Result<String, String> {
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
pub(super) struct FilledText {
    pub text: String,
    /// Sources of the known figures.
    sources: Vec<String>,
    /// The recordings with figures in tables.
    marked: Vec<String>,
}

/// The mark after a recorded figure in a table.
const MARK: &str = "(r)";

impl FilledText {
    pub fn known(&mut self, known: KnownFigure) {
        self.text.push_str(&known.text);
        let new = known.source.filter(|source| !self.sources.contains(source));
        self.sources.extend(new);
    }

    /// Adds a measured value as shown, and the label of the recording that it comes from.
    pub fn measured(&mut self, (shown, recorded): (String, Option<String>)) {
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

    /// Adds the recordings and sources below.
    pub fn end(mut self) -> String {
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
fn values(text: &str) -> Vec<&str> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
