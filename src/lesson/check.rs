//! Checks: a bound on the measurements of runs, and the verdict.

use super::document::CheckDocument;
use super::partner::WithRecordedPartner;
use super::step_reader::StepReader;
use crate::{FIXED, Quantity, Runs, StepRef, Term};
use tinyllama_base::statistics::interval_of_median;
use tinyllama_base::{
    Basis, CompareError, Interval, Series, Share, named, ratio_in_rounds, ratio_of_medians,
    statistics, whole_percent,
};
use tinyllama_runs::Measurements;
use tinyllama_runs::Metric;
use tinyllama_runs::recording::label;

use serde::{Deserialize, Serialize};

/// Confidence of a check that names none.
pub const USUAL_CONFIDENCE: f64 = 0.95;

/// Fewer rounds do not show how much they scatter.
const LEAST_ROUNDS: usize = 3;

/// On a shared GPU, a single pair of runs only counts if its ratio is at least this factor away from the bound.
/// Two identical programs on an H200 next to another program measured ratios of 0.76 and 1.16.
const ONE_RUN_EACH: f64 = 1.5;

/// Share of a round's steps that is left out at each end.
const LEFT_OUT: f64 = 0.1;

/// A condition that runs have to meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub id: String,
    pub measure: Quantity,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
    /// Two-sided confidence; `None` if the quantity is one number without a spread.
    pub confidence: Option<f64>,
    /// True if a missed check keeps the step open. An effect that a machine may not show is not required.
    pub required: bool,
    /// True if only a GPU can show the effect. A run on a CPU is then not checked.
    pub on_gpu: bool,
    pub passed: String,
    pub not_yet: String,
}

named! {
    /// A check's verdict, as events and reports write it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Verdict {
        #[serde(rename = "passed")]
        Passed = "passed",
        #[serde(rename = "not yet")]
        NotYet = "not yet",
        #[serde(rename = "inconclusive")]
        Inconclusive = "inconclusive",
        /// The check was not evaluated, or a newer program wrote a verdict that this one does not know.
        #[default]
        #[serde(rename = "not evaluated", other)]
        NotEvaluated = "not evaluated",
    }
}

/// The reason why a check has no verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum Undecided {
    /// The run has not started yet.
    NotRun(StepRef),
    /// The run, or its backend, does not report this figure.
    NotReported(String),
    /// The figure is not a finite number.
    NotFinite(String),
    /// Two runs of this machine used different devices.
    OtherDevice { above: String, below: String },
    /// The spread is larger than the effect.
    Spread { further_steps: Option<usize> },
    /// There are too few measurements to know the spread.
    TooLittle(CompareError),
    /// GPU runs that were not made in turns. Other programs on the GPU can cause the whole difference.
    OneRunEach,
    /// One of the runs is a recording of another machine.
    OtherMachine { recording: StepRef },
}

/// A verdict and its basis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckOutcome {
    pub verdict: Verdict,
    /// The reason for an inconclusive verdict.
    pub undecided: Option<Undecided>,
    /// The measured value; `None` if there is none.
    pub value: Option<f64>,
    /// The interval, if a spread is known.
    pub interval: Option<Interval>,
    /// Place and time of the recording; `None` for runs of this machine.
    pub recorded: Option<String>,
}

impl Check {
    /// Reads the check at `index` of a step.
    pub(super) fn read(
        reader: &mut StepReader,
        index: usize,
        document: &CheckDocument,
    ) -> Option<Self> {
        let path = format!("checks/{index}/measure");
        let measure = reader.quantity(&path, &document.measure)?;
        if document.is.is_some() {
            let message = "`is` compares texts, which only a command's document has";
            reader.refuse(&path, message);
        }
        Some(Check {
            passed: reader.settled(&path, &document.passed),
            not_yet: reader.settled(&path, &document.not_yet),
            ..Self::from_document(measure, document)
        })
    }

    /// The check of `measure` with the document's values, or what holds for a key that it lacks.
    fn from_document(measure: Quantity, document: &CheckDocument) -> Self {
        let usual = measure.has_spread().then_some(USUAL_CONFIDENCE);
        Check {
            id: document.id.clone(),
            measure,
            at_least: document.at_least,
            at_most: document.at_most,
            confidence: document.confidence.or(usual),
            required: document.required.unwrap_or(true),
            on_gpu: document.on_gpu.unwrap_or(false),
            passed: document.passed.clone(),
            not_yet: document.not_yet.clone(),
        }
    }

    pub fn evaluate(&self, runs: &dyn Runs) -> CheckOutcome {
        let with_partner = WithRecordedPartner::find(&self.measure, runs);
        let runs = with_partner.as_ref().map_or(runs, |it| it as &dyn Runs);
        if self.on_gpu && self.measure.runs().any(|run| on_cpu(run, runs)) {
            // Stays not evaluated, because a CPU cannot show the effect.
            return CheckOutcome::default();
        }
        let (judged, value, interval) = match self.measured(runs) {
            Err(undecided) => (Err(undecided), None, None),
            Ok(MeasuredValue::One(value)) => (Ok(self.accepts(value)), Some(value), None),
            Ok(MeasuredValue::Spread(interval)) => {
                let judged = match self.is_chance(&interval, runs) {
                    true => Err(Undecided::OneRunEach),
                    false => self.judge(&interval),
                };
                (judged, Some(interval.value), Some(interval))
            }
        };
        CheckOutcome {
            verdict: match judged {
                Ok(true) => Verdict::Passed,
                Ok(false) => Verdict::NotYet,
                Err(_) => Verdict::Inconclusive,
            },
            undecided: judged.err(),
            value,
            interval,
            recorded: recorded(&self.measure, runs).map(str::to_owned),
        }
    }

    /// The bounds as text, such as `at least 1.1`.
    pub fn bounds(&self) -> String {
        let unit = self.measure.unit();
        bounds(self.at_least, self.at_most, |bound| unit.show(bound))
    }

    /// Returns whether a value lies within the bounds, without regard to spread. False for NaN.
    pub fn accepts(&self, value: f64) -> bool {
        lies_within(value, self.at_least, self.at_most)
    }

    fn judge(&self, interval: &Interval) -> Result<bool, Undecided> {
        match interval.judge(self.at_least, self.at_most) {
            statistics::BoundVerdict::Passed => Ok(true),
            statistics::BoundVerdict::NotYet => Ok(false),
            statistics::BoundVerdict::Inconclusive { further_steps } => {
                Err(Undecided::Spread { further_steps })
            }
        }
    }

    /// Returns whether other programs on the GPU may have moved the ratio of two runs across a bound.
    fn is_chance(&self, interval: &Interval, runs: &dyn Runs) -> bool {
        let is_shared = |run| {
            runs.measurements(run)
                .last()
                .is_some_and(|run| run.is_of_gpu())
                && runs.recorded(run).is_none()
        };
        let is_near = |bound: &f64| (interval.value / bound).ln().abs() < ONE_RUN_EACH.ln();
        interval.basis == Basis::Steps
            && self.measure.compared().is_some()
            && self.measure.runs().all(is_shared)
            && self.at_least.iter().chain(&self.at_most).any(is_near)
    }

    fn measured(&self, runs: &dyn Runs) -> Result<MeasuredValue, Undecided> {
        match self.confidence {
            Some(confidence) => self
                .with_spread(runs, confidence)
                .map(MeasuredValue::Spread),
            None => exact(&self.measure, runs).map(MeasuredValue::One),
        }
    }

    fn with_spread(&self, runs: &dyn Runs, confidence: f64) -> Result<Interval, Undecided> {
        comparable(&self.measure, runs)?;
        let numerator = all_series(&self.measure.numerator, runs)?;
        let interval = match (&self.measure.denominator, numerator.last()) {
            // A disturbance lengthens all phases of a step, so the ratio is taken within each step.
            (Some(denominator), Some(above)) if denominator.run == self.measure.numerator.run => {
                let below = all_series(denominator, runs)?;
                let below = below.last().map_or(&[][..], Series::values);
                let ratios = above.values().iter().zip(below).map(|(a, b)| a / b);
                Series::new(ratios.collect())
                    .map_err(|_| Undecided::NotFinite(self.measure.in_words()))
                    .map(|ratios| interval_of_median(&ratios, confidence))?
            }
            (Some(denominator), _) => {
                let below = all_series(denominator, runs)?;
                let rounds = runs.rounds(&self.measure.numerator.run, &denominator.run);
                match (last(&numerator, rounds), last(&below, rounds)) {
                    // A drift between rounds affects both runs alike, so the ratio is taken within each round.
                    (Some(above), Some(below)) if rounds >= LEAST_ROUNDS => {
                        ratio_in_rounds(above, below, middle, confidence)
                    }
                    _ => ratio_of_medians(&numerator, &below, confidence),
                }
            }
            (None, Some(last)) => interval_of_median(last, confidence),
            (None, None) => Err(CompareError::NoRun),
        };
        interval.map_err(Undecided::TooLittle)
    }
}

/// Mean of a round without its longest and shortest steps. A shared device serves programs in time slices, and chance
/// decides whether the step in the middle of a round meets another program's slice.
fn middle(run: &Series) -> f64 {
    run.trimmed_mean(LEFT_OUT)
}

/// The last `count` elements of a list; `None` if it has fewer.
fn last<T>(list: &[T], count: usize) -> Option<&[T]> {
    list.get(list.len().checked_sub(count)?..)
}

enum MeasuredValue {
    One(f64),
    Spread(Interval),
}

/// Origin of the first of `quantity`'s runs that is a recording.
pub fn recorded<'a>(quantity: &Quantity, runs: &'a dyn Runs) -> Option<&'a str> {
    quantity.runs().find_map(|run| runs.recorded(run))
}

/// Refuses ratios of runs on two machines, or on two devices of one machine, because they say nothing about
/// the programs.
fn comparable(quantity: &Quantity, runs: &dyn Runs) -> Result<(), Undecided> {
    // The first loss follows from the seed, so recordings of two machines have the same one.
    let recordings_only = quantity.runs().all(|run| runs.recorded(run).is_some());
    if recordings_only && quantity.numerator.metric == Metric::FirstLoss {
        return Ok(());
    }
    on_one_machine(quantity, runs)?;
    check_same_device(quantity, runs)
}

fn on_one_machine(quantity: &Quantity, runs: &dyn Runs) -> Result<(), Undecided> {
    let were_run = quantity
        .runs()
        .all(|run| !runs.measurements(run).is_empty());
    let first = quantity.runs().next().and_then(|run| runs.recorded(run));
    let differ = quantity.runs().any(|run| runs.recorded(run) != first);
    let recording = quantity.runs().find(|run| runs.recorded(run).is_some());
    match recording {
        Some(recording) if were_run && differ => Err(Undecided::OtherMachine {
            recording: recording.clone(),
        }),
        _ => Ok(()),
    }
}

/// The value of `quantity` in the newest runs, without regard to spread.
pub fn exact(quantity: &Quantity, runs: &dyn Runs) -> Result<f64, Undecided> {
    let with_partner = WithRecordedPartner::find(quantity, runs);
    let runs = with_partner.as_ref().map_or(runs, |it| it as &dyn Runs);
    comparable(quantity, runs)?;
    let numerator = newest(&quantity.numerator, runs)?;
    let value = match &quantity.denominator {
        Some(denominator) => match losses_of_one_step(&quantity.numerator, denominator, runs) {
            Some([above, below]) => above / below,
            None => numerator / newest(denominator, runs)?,
        },
        None => numerator,
    };
    if value.is_finite() {
        Ok(value)
    } else {
        Err(Undecided::NotFinite(quantity.in_words()))
    }
}

/// The losses of both runs at the last step that both have; `None` if both ended at the same step. A run that trains
/// longer has learned more, and its rounding errors have grown further.
fn losses_of_one_step(above: &Term, below: &Term, runs: &dyn Runs) -> Option<[f64; 2]> {
    let losses = |term: &Term| {
        let newest = newest_run(term, runs).ok();
        newest
            .filter(|_| term.metric == Metric::FinalLoss)
            .map(Measurements::losses)
    };
    let (a, b) = (losses(above)?, losses(below)?);
    let shortest = [above, below].map(|term| runs.shortest(&term.run));
    let steps = a.len().min(b.len()).min(shortest[0]).min(shortest[1]);
    let at = |losses: &[f64]| losses.get(steps.checked_sub(1)?).copied();
    (steps < a.len().max(b.len())).then_some([at(a)?, at(b)?])
}

fn check_same_device(quantity: &Quantity, runs: &dyn Runs) -> Result<(), Undecided> {
    let Some(denominator) = &quantity.denominator else {
        return Ok(());
    };
    let (above, below) = (
        newest_run(&quantity.numerator, runs)?,
        newest_run(denominator, runs)?,
    );
    match (above.device(), below.device()) {
        (Some(above), Some(below)) if above != below => Err(Undecided::OtherDevice {
            above: above.into(),
            below: below.into(),
        }),
        _ => Ok(()),
    }
}

fn on_cpu(run: &StepRef, runs: &dyn Runs) -> bool {
    runs.measurements(run)
        .last()
        .is_some_and(|run| run.is_of_cpu())
}

fn newest(term: &Term, runs: &dyn Runs) -> Result<f64, Undecided> {
    newest_run(term, runs)?
        .value(term.metric, term.statistic)
        .ok_or_else(|| Undecided::NotReported(term.in_words()))
}

fn newest_run<'a>(term: &Term, runs: &'a dyn Runs) -> Result<&'a Measurements, Undecided> {
    let newest = runs.measurements(&term.run).pop();
    newest.ok_or_else(|| Undecided::NotRun(term.run.clone()))
}

/// The bounds as text.
pub(super) fn bounds(
    least: Option<f64>,
    most: Option<f64>,
    show: impl Fn(f64) -> String,
) -> String {
    let bounds_are_equal = least.is_some() && least == most;
    match (least.map(&show), most.map(&show)) {
        (Some(least), Some(_)) if bounds_are_equal => format!("exactly {least}"),
        (Some(least), Some(most)) => format!("between {least} and {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => String::new(),
    }
}

/// False for NaN.
pub(super) fn lies_within(value: f64, least: Option<f64>, most: Option<f64>) -> bool {
    least.is_none_or(|least| value >= least)
        && most.is_none_or(|most| value <= most)
        && !value.is_nan()
}

fn all_series(term: &Term, runs: &dyn Runs) -> Result<Vec<Series>, Undecided> {
    let runs = runs.measurements(&term.run);
    if runs.is_empty() {
        return Err(Undecided::NotRun(term.run.clone()));
    }
    let series = runs
        .iter()
        .map(|run| run.series(term.metric))
        .collect::<Option<Vec<_>>>();
    series.ok_or_else(|| Undecided::NotReported(term.in_words()))
}

impl CheckOutcome {
    /// The text for the learner: the check's own text, the numbers, and advice if it is undecided.
    pub fn explain(&self, check: &Check) -> String {
        let numbers = self.numbers(check);
        match &self.undecided {
            Some(undecided) => format!("{}{numbers}", undecided.explain(&check.measure)),
            None if self.verdict == Verdict::NotEvaluated => {
                "Only a GPU can show this. For runs on a CPU it is not checked.".into()
            }
            None if self.verdict == Verdict::Passed => {
                format!("{}\n{numbers}", check.passed.trim())
            }
            None => format!("{}\n{numbers}", check.not_yet.trim()),
        }
    }

    fn numbers(&self, check: &Check) -> String {
        let Some(value) = self.value else {
            return String::new();
        };
        let unit = check.measure.unit();
        let spread = self.interval.map_or(String::new(), |interval| {
            let basis = match interval.basis {
                Basis::Steps if check.measure.compared().is_some() => {
                    "from the steps of one run each; a drift of the machine between the two is not in it"
                }
                Basis::Steps => "from the steps of one run",
                Basis::Runs | Basis::Rounds | Basis::Combinations => "from several runs each",
            };
            let (low, high) = (unit.show(interval.low), unit.show(interval.high));
            format!(
                " ({} interval {low} to {high}, {basis})",
                whole_percent(Share(interval.confidence))
            )
        });
        let recorded = self.recorded.as_deref().map(label);
        let recorded = recorded.map_or(String::new(), |label| format!(" ({label})"));
        let (measure, value) = (check.measure.in_a_sentence(), unit.show(value));
        let bounds = check.bounds();
        format!("{measure}: {value}{spread}. Asked for: {bounds}.{recorded}")
    }
}

impl Undecided {
    fn explain(&self, measure: &Quantity) -> String {
        let title = |run: &StepRef| {
            let of_run = measure.terms().find(|term| term.run == *run);
            of_run.map_or(run.step.clone(), |term| term.title.clone())
        };
        match self {
            Undecided::NotRun(run) if run.step.ends_with(FIXED) => {
                "This is decided by the run with the right fix, which was not made yet.".into()
            }
            Undecided::NotRun(run) => {
                format!("This needs the run \"{}\", which was not made yet.", title(run))
            }
            Undecided::NotReported(figure) => {
                format!("The backend does not report the {figure}, so this cannot be checked.")
            }
            Undecided::NotFinite(figure) => {
                format!("The {figure} is not a finite number: look at the run's loss and its log.")
            }
            Undecided::OtherDevice { above, below } => format!(
                "The two runs come from different devices, {above} and {below}, so their ratio says nothing. Run both on one device."
            ),
            Undecided::Spread { further_steps: Some(steps) } => format!(
                "The steps vary by more than the effect. About {steps} further steps on each side should settle it.\n"
            ),
            Undecided::Spread { further_steps: None } => {
                "The value lies so close to the bound that measuring longer will not tell them apart.\n".into()
            }
            Undecided::OtherMachine { recording } => format!(
                "The run \"{}\" is a recording of another machine: play recordings of both, or run both here.",
                title(recording)
            ),
            Undecided::OneRunEach => {
                "One run of each is not enough here: other programs on this GPU can cause as large a difference. Take three of each, in turns.\n".into()
            }
            Undecided::TooLittle(error) => format!("Too little was measured to know the spread: {error}."),
        }
    }
}

#[cfg(test)]
mod tests;
