//! Finds texts that claim more than results do: times of two runs without a verdict, figures that a machine may not
//! report, formulas of this program, and answers to a text that nobody has seen.

use std::collections::BTreeMap;

use tinyllama_lesson::placeholder::PlaceholderValue;
use tinyllama_lesson::template::{self, TextPart};
use tinyllama_lesson::{Quantity, Step, StepRef};
use tinyllama_runs::Metric;

/// Conditions of passages that may compare times of runs.
const OF_VERDICT: [&str; 3] = ["passed ", "missed ", "decided "];

/// Writers of texts that are not on the screen, and what they are said to do there.
const WRITERS: [&str; 11] = [
    "guide", "listing", "post", "slide", "report", "reports", "paper", "table", "tables", "text",
    "page",
];
const CLAIMS: [&str; 14] = [
    "say",
    "says",
    "promise",
    "promises",
    "call",
    "calls",
    "advise",
    "advises",
    "claim",
    "claims",
    "multiplies",
    "divides",
    "name",
    "names",
];

/// Messages about the text of a step of `lesson`.
pub(crate) fn of_step(lesson: &str, step: &Step) -> Vec<String> {
    let mut messages = of_figures(lesson, &step.text);
    messages.extend(of_words(&step.text));
    messages
}

/// Messages about live figures of a text.
fn of_figures(lesson: &str, text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    let mut line = String::new();
    let mut shown: BTreeMap<Metric, StepRef> = BTreeMap::new();
    let parts = template::parse(text).unwrap_or_default();
    template::visit(&parts, &mut |part, condition| {
        let written = match part {
            TextPart::Written(written) => *written,
            TextPart::Value(written) => *written,
            TextPart::Choice(_) => return,
        };
        if let TextPart::Written(written) = part {
            match written.rsplit_once('\n') {
                Some((_, last)) => line = last.into(),
                None => line.push_str(written),
            }
            return;
        }
        let Ok(PlaceholderValue::Run(quantity)) = PlaceholderValue::parse(written, lesson) else {
            return;
        };
        let condition = condition.flatten();
        let is_in_table = line.trim_start().starts_with('|');
        let has_verdict = condition
            .is_some_and(|condition| OF_VERDICT.iter().any(|word| condition.starts_with(word)));
        if is_in_table || has_verdict {
            return;
        }
        if compares_times(&quantity, &mut shown) {
            messages.push(format!(
                "`{{{{ {written} }}}}`: this compares the times of two runs, and their check may be inconclusive: write it into \
                 `{{{{ if decided STEP.CHECK }}}}` ... `{{{{ end }}}}`, or into a table"
            ));
        }
        if condition.is_none()
            && quantity
                .terms()
                .any(|term| !term.metric.is_always_reported())
        {
            messages.push(format!(
                "`{{{{ {written} }}}}`: not every machine reports this: write the clause into `{{{{ if reported {written} }}}}` \
                 ... `{{{{ end }}}}`, or into a table"
            ));
        }
    });
    messages
}

/// Returns whether a figure compares times of two runs, alone or with those shown before, and adds it to them.
fn compares_times(quantity: &Quantity, shown: &mut BTreeMap<Metric, StepRef>) -> bool {
    let metric = quantity.numerator.metric;
    if !(metric.is_per_step() || matches!(metric, Metric::SamplesPerS | Metric::TokensPerS)) {
        return false;
    }
    if quantity.denominator.is_some() {
        return quantity.compared().is_some();
    }
    let run = &quantity.numerator.run;
    shown.entry(metric).or_insert_with(|| run.clone()) != run
}

/// Messages about words of a text.
fn of_words(text: &str) -> Vec<String> {
    let text = &without_blocks(text);
    let code = text.split('`').skip(1).step_by(2);
    let formulas = code.filter(|code| {
        let parts = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
        let is_formula = |part: &str| {
            let end = part.split_once('.').map(|(_, metric)| metric);
            // Names without an underscore are words of other programs, too.
            end.is_some_and(|metric| metric.contains('_') && metric.parse::<Metric>().is_ok())
        };
        code.contains(".#") || parts.into_iter().any(is_formula)
    });
    let formulas = formulas.map(|code| {
        format!(
            "`{code}` is a formula of this program: name the quantity, and the run by its title"
        )
    });
    let absent = absent_text(text).map(|words| {
        format!(
            "\"{words}\": the learner has not seen that text. Ask about a figure on the page, or let a guess or a kernel of the \
             learner be wrong"
        )
    });
    formulas.chain(absent).collect()
}

/// A text without its blocks of code and drawings.
fn without_blocks(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// The words with which a text refers to one that is not on the screen, such as `A guide advises`.
fn absent_text(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is = |word: &str, list: &[&str]| {
        let word = word
            .trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase();
        list.contains(&&*word)
    };
    let at = (1..words.len().saturating_sub(1)).find(|at| {
        let before = &words[at.saturating_sub(2)..*at];
        is(words[*at], &WRITERS)
            && is(words[at + 1], &CLAIMS)
            && before
                .iter()
                .any(|word| is(word, &["a", "another", "published", "some"]))
    })?;
    Some(words[at - 1..=at + 1].join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_without_its_verdict_and_a_figure_that_may_be_missing_are_found() {
        for (text, expected) in [
            ("From {{ a.total_ms }} to {{ b.total_ms }}.", 1),
            ("A ratio of {{ a.total_ms / b.total_ms }}.", 1),
            (
                "{{ if decided b.faster }}From {{ a.total_ms }} to {{ b.total_ms }}.{{ end }}",
                0,
            ),
            (
                "{{ if reported b.total_ms }}From {{ a.total_ms }} to {{ b.total_ms }}.{{ end }}",
                1,
            ),
            ("| time | {{ a.total_ms }} | {{ b.total_ms }} |", 0),
            (
                "Half of {{ a.total_ms }} is {{ a.forward_ms / a.total_ms }}.",
                0,
            ),
            ("It starts {{ a.launches_per_step }}.", 1),
            (
                "It starts {{ if reported a.launches_per_step }}{{ a.launches_per_step }}{{ end }}.",
                0,
            ),
            ("| launches | {{ a.launches_per_step }} |", 0),
            ("A loss of {{ a.final_loss }} and {{ b.final_loss }}.", 0),
        ] {
            assert_eq!(of_figures("lesson", text).len(), expected, "{text}");
        }
    }

    #[test]
    fn formulas_and_texts_that_nobody_has_seen_are_found() {
        for (text, expected) in [
            ("It is `base.total_ms / fused.total_ms`.", 1),
            ("Count `points.#`.", 1),
            (
                "```python\nlist(model.parameters())\n```\n`model.parameters()`",
                0,
            ),
            ("Read `report.json`, then `--config tiny`.", 0),
            ("A guide advises more intensity.", 1),
            ("Published tables name 1.2.", 1),
            ("A compiler's report says 96 registers.", 1),
            ("The table says 36 %.", 0),
            ("A table of two rows says more.", 0),
        ] {
            assert_eq!(of_words(text).len(), expected, "{text}");
        }
    }
}
