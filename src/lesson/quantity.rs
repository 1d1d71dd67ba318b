//! Parses `run.metric`, `run.metric.p90` and `run.metric / run.metric`, with which lessons refer to
//! measurements of runs.

use std::fmt;

use serde::{Deserialize, Serialize};

use tinyllama_runs::{Metric, MetricUnit, Statistic};

/// Suffix of an investigation's id, for its runs with a fix.
pub const FIXED: &str = "+fix";

/// A step of a lesson; its run has the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StepRef {
    pub lesson: String,
    pub step: String,
}

impl StepRef {
    /// Parses `step` (of `lesson`) or `lesson/step`.
    pub fn parse(text: &str, lesson: &str) -> Self {
        match text.split_once('/') {
            Some((lesson, step)) => Self::new(lesson, step),
            None => Self::new(lesson, text),
        }
    }

    pub fn new(lesson: impl Into<String>, step: impl Into<String>) -> Self {
        Self {
            lesson: lesson.into(),
            step: step.into(),
        }
    }
}

impl fmt::Display for StepRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.lesson, self.step)
    }
}

/// One figure of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub run: StepRef,
    pub metric: Metric,
    pub statistic: Statistic,
    /// Title of the run's step; its id until the whole course is read.
    pub title: String,
    /// The step's recording, if the step is an earlier one.
    pub recording: Option<String>,
}

/// A figure, or the ratio of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    pub numerator: Term,
    pub denominator: Option<Term>,
}

impl Quantity {
    /// Parses a quantity. A run without a lesson belongs to `lesson`.
    ///
    /// # Errors
    /// A message about the expected form.
    pub fn parse(text: &str, lesson: &str) -> Result<Self, String> {
        // A fraction bar has spaces around it; the slash inside `lesson/step` has none.
        let mut terms = text.split(" / ");
        let numerator = Term::parse(terms.next().unwrap_or_default().trim(), lesson)?;
        let denominator = terms
            .next()
            .map(|term| Term::parse(term.trim(), lesson))
            .transpose()?;
        if terms.next().is_some() {
            return Err(format!("`{text}` has more than one fraction bar"));
        }
        Ok(Self {
            numerator,
            denominator,
        })
    }

    /// All runs that it needs.
    pub fn runs(&self) -> impl Iterator<Item = &StepRef> {
        self.terms().map(|term| &term.run)
    }

    /// The two runs whose ratio it is; `None` if it is no ratio of two runs.
    pub fn compared(&self) -> Option<[&StepRef; 2]> {
        let (above, below) = (&self.numerator.run, &self.denominator.as_ref()?.run);
        (above != below).then_some([above, below])
    }

    /// Takes the titles of the runs' steps from the whole course.
    pub(super) fn take_titles(&mut self, title: &dyn Fn(&StepRef) -> Option<String>) {
        for term in self.terms_mut() {
            if let Some(title) = title(&term.run) {
                term.title = title;
            }
        }
    }

    /// Takes the recordings of the runs' steps.
    pub(super) fn take_recordings(&mut self, recording: &dyn Fn(&StepRef) -> Option<String>) {
        for term in self.terms_mut() {
            term.recording = recording(&term.run);
        }
    }

    fn terms_mut(&mut self) -> impl Iterator<Item = &mut Term> {
        std::iter::once(&mut self.numerator).chain(&mut self.denominator)
    }

    /// Both figures of a ratio, or the one.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        std::iter::once(&self.numerator).chain(&self.denominator)
    }

    /// The quantity for people: `step time of "A", divided by that of "B"`.
    pub fn in_words(&self) -> String {
        let above = self.numerator.in_words();
        let Some(below) = &self.denominator else {
            return above;
        };
        let is_same =
            (below.metric, below.statistic) == (self.numerator.metric, self.numerator.statistic);
        match (is_same, below.run == self.numerator.run) {
            (true, _) => format!("{above}, divided by that of \"{}\"", below.title),
            (false, true) => format!("{above}, divided by its {}", below.metric_in_words()),
            (false, false) => format!("{above}, divided by the {}", below.in_words()),
        }
    }

    /// The quantity in words, with a capital letter.
    pub fn in_a_sentence(&self) -> String {
        let words = self.in_words();
        let mut letters = words.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect()
    }

    /// The quantity for a narrow line, without the runs: `step time, one run over the other`.
    pub fn in_short(&self) -> String {
        let above = self.numerator.metric_in_words();
        match &self.denominator {
            None => above,
            Some(below) if below.metric_in_words() == above => {
                format!("{above}, one run over the other")
            }
            Some(below) => format!("{above} over {}", below.metric_in_words()),
        }
    }

    /// Returns whether it has a spread over steps, so that a confidence makes sense.
    pub fn has_spread(&self) -> bool {
        let spread = |term: &Term| term.metric.is_per_step() && term.statistic == Statistic::Median;
        spread(&self.numerator) && self.denominator.as_ref().is_none_or(spread)
    }

    /// A ratio is a pure number.
    pub fn unit(&self) -> MetricUnit {
        if self.denominator.is_some() || self.numerator.statistic == Statistic::Spread {
            MetricUnit::One
        } else {
            self.numerator.metric.unit()
        }
    }
}

impl Term {
    fn parse(text: &str, lesson: &str) -> Result<Self, String> {
        let mut parts = text.split('.');
        let (Some(run), Some(metric)) = (parts.next(), parts.next()) else {
            return Err(format!(
                "`{text}` names no figure: write `run.metric`, such as `baseline.total_ms`"
            ));
        };
        let metric: Metric = metric.parse().map_err(|error| format!("{error}"))?;
        let statistic = match parts.next() {
            None => Statistic::Median,
            Some(name) => statistic(name, metric)?,
        };
        if parts.next().is_some() || run.is_empty() || run.contains(char::is_whitespace) {
            return Err(format!(
                "`{text}` is not of the form `run.metric` or `run.metric.p90`"
            ));
        }
        let run = StepRef::parse(run, lesson);
        let title = run.step.clone();
        Ok(Self {
            run,
            metric,
            statistic,
            title,
            recording: None,
        })
    }

    /// The figure for people: `step time of "A fresh baseline"`.
    pub fn in_words(&self) -> String {
        format!("{} of \"{}\"", self.metric_in_words(), self.title)
    }

    fn metric_in_words(&self) -> String {
        let metric = self.metric.in_words();
        match self.statistic {
            Statistic::Median => metric.into(),
            Statistic::P10 => format!("10th percentile of the {metric}"),
            Statistic::P90 => format!("90th percentile of the {metric}"),
            Statistic::Spread => format!("spread of the {metric}"),
        }
    }
}

fn statistic(name: &str, metric: Metric) -> Result<Statistic, String> {
    if !metric.is_per_step() {
        return Err(format!(
            "{metric} is one number for a whole run: it has no `{name}`"
        ));
    }
    Statistic::of_name(name).ok_or_else(|| {
        let names = Statistic::ALL.map(Statistic::name).join(", ");
        format!("`{name}` is not a statistic; there are: {names}")
    })
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.run.step, self.metric)?;
        if self.statistic != Statistic::Median {
            write!(f, ".{}", self.statistic.name())?;
        }
        Ok(())
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.denominator {
            None => write!(f, "{}", self.numerator),
            Some(denominator) => write!(f, "{} / {denominator}", self.numerator),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_ratios_are_read_with_their_runs() {
        let one = Quantity::parse("baseline.total_ms.p90", "first").unwrap();
        assert_eq!(
            one.numerator.run,
            StepRef {
                lesson: "first".into(),
                step: "baseline".into()
            }
        );
        assert_eq!(
            (one.numerator.metric, one.numerator.statistic),
            (Metric::TotalMs, Statistic::P90)
        );
        assert!(!one.has_spread());

        let ratio = Quantity::parse("baseline.total_ms / second/fused.total_ms", "first").unwrap();
        assert!(ratio.has_spread());
        let runs: Vec<String> = ratio.runs().map(ToString::to_string).collect();
        assert_eq!(runs, ["first/baseline", "second/fused"]);
        assert_eq!(ratio.unit(), MetricUnit::One);
    }

    #[test]
    fn an_unreadable_quantity_is_answered_with_readable_ones() {
        let errors = [
            "total_ms",
            "baseline.speed",
            "baseline.total_ms.p99",
            "baseline.final_loss.p90",
            "a.total_ms / b.total_ms / c.total_ms",
            "a b.total_ms",
            "",
        ]
        .map(|text| format!("`{text}`: {}", Quantity::parse(text, "first").unwrap_err()));
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn a_quantity_in_words_names_runs_by_their_titles() {
        let title = |run: &StepRef| match &*run.step {
            "base" => Some("A baseline".to_string()),
            "fused" => Some("One product".to_string()),
            _ => None,
        };
        let words = [
            "base.total_ms",
            "base.total_ms.spread",
            "base.total_ms / fused.total_ms",
            "base.final_loss / base.first_loss",
            "base.total_ms / fused.forward_ms",
            "unknown.launches_per_step.",
        ]
        .map(|text| {
            let mut quantity = Quantity::parse(text.trim_end_matches('.'), "lesson").unwrap();
            quantity.take_titles(&title);
            quantity.in_words()
        });
        insta::assert_snapshot!(words.join("\n"));
    }
}
