//! Judges whether the effect of each stage shows in the measurements.

use serde::{Deserialize, Serialize};

use crate::comparison::Side;
use crate::parts::is_forward;
use crate::relative::{RelativeTime, USUAL_MARGIN, middle};
use crate::runner::MeasuredRun;
use tinyllama_base::statistics::{Finding, LEAST_RUNS, Series};
use tinyllama_base::{Share, named, percent};
use tinyllama_runs::Metric;

/// A first loss at least this many times that of a stage with small weights counts as an explosion.
const EXPLODED: f64 = 2.0;

/// If the parts of a step reach less than this share of it, some time is missing from them.
const ADDS_UP: f64 = 0.9;

named! {
    /// The effect that a stage demonstrates.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum EffectId {
        /// Stage 1: the first loss is far above that of small weights.
        BrokenLoss = "broken loss",
        /// Stage 2 against 3: strided keys and values cost time.
        StridedKeyValue = "strided keys and values",
        /// Stage 3: forward, backward and optimizer do not add up to the step.
        MissingTime = "missing time",
        /// Stage 4 against 5: the naive kernel makes the forward pass slower.
        NaiveSwiglu = "naive SwiGLU",
        /// Stage 5 against v1: the solved version is faster than the baseline.
        HybridWins = "hybrid beats the baseline",
        /// Stage 6: a step is faster because most of its work is left out.
        FastWithoutGradients = "fast without gradients",
        /// Stage 6: almost no parameter has a gradient.
        NoGradients = "no gradients",
    }
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum EffectShown {
        Yes = "yes",
        No = "no",
        /// The spread is larger than the effect.
        Unclear = "unclear",
        /// A stage did not run, or does not report the figure.
        NotMeasured = "not measured",
    }
}

/// An effect and the figures that decide it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageEffect {
    pub id: EffectId,
    pub shows: EffectShown,
    /// A ratio that is above 1 if the effect shows. Null if nothing was measured.
    pub ratio: Option<f64>,
    /// Ends of the interval. Null if a single number decides.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The result as text with its numbers.
    pub text: String,
}

/// Judges every effect from the runs of stages that took turns.
pub fn effects(stages: &[Side], confidence: f64) -> Vec<StageEffect> {
    let stages = Stages { stages, confidence };
    vec![
        stages.broken_loss(),
        stages.strided(),
        stages.missing_time(),
        stages.naive(),
        stages.slower(
            EffectId::HybridWins,
            ("v1", "stage5"),
            Metric::TotalMs,
            "a step of the baseline takes",
        ),
        stages.slower(
            EffectId::FastWithoutGradients,
            ("stage5", "stage6"),
            Metric::TotalMs,
            "a step that trains everything takes",
        ),
        stages.no_gradients(),
    ]
}

struct Stages<'a> {
    stages: &'a [Side],
    confidence: f64,
}

impl Stages<'_> {
    fn runs_of(&self, target: &str) -> &[MeasuredRun] {
        let stage = self.stages.iter().find(|stage| stage.name == target);
        stage.map_or(&[], |stage| stage.runs.as_slice())
    }

    fn series(&self, target: &str, metric: Metric) -> Vec<Series> {
        self.runs_of(target)
            .iter()
            .filter_map(|run| run.measurements.series(metric))
            .collect()
    }

    /// Judges whether the first of two targets takes longer.
    fn slower(
        &self,
        id: EffectId,
        (slow, fast): (&str, &str),
        metric: Metric,
        what: &str,
    ) -> StageEffect {
        let [a, b] = [slow, fast].map(|target| self.series(target, metric));
        let time = RelativeTime::from_rounds(&a, &b, self.confidence, USUAL_MARGIN);
        let text = |factor: &str| format!("{what} {factor} that of {fast}");
        relative(id, time, text)
    }

    /// Judges the attention kernel's own time if kernels were timed. In a whole step the host's work may hide the
    /// difference.
    fn strided(&self) -> StageEffect {
        let step = self.slower(
            EffectId::StridedKeyValue,
            ("stage2", "stage3"),
            Metric::TotalMs,
            "a step with strided keys and values takes",
        );
        let of = |target| -> Vec<Series> {
            self.runs_of(target)
                .iter()
                .filter_map(|run| Series::new(vec![forward_kernels_ms(run, "attention")?]).ok())
                .collect()
        };
        let (strided, sound) = (of("stage2"), of("stage3"));
        if strided.len().min(sound.len()) < LEAST_RUNS {
            return step;
        }
        let time = RelativeTime::from_rounds(&strided, &sound, self.confidence, USUAL_MARGIN);
        relative(EffectId::StridedKeyValue, time, |factor| {
            format!(
                "the attention kernel of the forward pass takes {factor} as long with strided keys and values as in stage3; {}",
                step.text
            )
        })
    }

    fn naive(&self) -> StageEffect {
        let mut effect = self.slower(
            EffectId::NaiveSwiglu,
            ("stage4", "stage5"),
            Metric::ForwardMs,
            "the forward pass with the naive kernel takes",
        );
        let share = self.runs_of("stage4").last().and_then(|run| {
            Some(forward_kernels_ms(run, "swiglu")? / forward_kernels_ms(run, "")?)
        });
        if let Some(share) = share {
            effect.text += &format!(
                "; the kernel takes {} of its device time",
                percent(Share(share))
            );
        }
        effect
    }

    fn broken_loss(&self) -> StageEffect {
        let first = |target| self.runs_of(target).first()?.summary.first_loss;
        let judged = first("stage1").zip(first("stage2")).map(|(broken, sound)| {
            let text = format!("the first loss is {broken:.1} in stage1 and {sound:.2} in stage2");
            (broken / sound, broken > EXPLODED * sound, text)
        });
        exact(EffectId::BrokenLoss, judged)
    }

    /// Time over the sum of its parts. It is above 1 if some time belongs to no part.
    fn missing_time(&self) -> StageEffect {
        let (total, sums): (Vec<Series>, Vec<Series>) = self
            .runs_of("stage3")
            .iter()
            .filter_map(|run| Some((run.measurements.series(Metric::TotalMs)?, part_sums(run)?)))
            .unzip();
        let time = RelativeTime::from_rounds(&total, &sums, self.confidence, 1.0 / ADDS_UP - 1.0);
        let shares = middle(&sums).zip(middle(&total));
        let text = |_: &str| {
            let share = percent(Share(shares.map_or(0.0, |(sum, total)| sum / total)));
            format!("forward, backward and optimizer of stage3 add up to {share} of its step")
        };
        let mut effect = relative(EffectId::MissingTime, time, text);
        // The loop itself takes a few per cent between the parts.
        if effect.shows == EffectShown::Yes && effect.low.is_some_and(|low| low < 1.0 / ADDS_UP) {
            effect.shows = match effect.high {
                Some(high) if high < 1.0 / ADDS_UP => EffectShown::No,
                _ => EffectShown::Unclear,
            };
        }
        effect
    }

    fn no_gradients(&self) -> StageEffect {
        let judged = self.runs_of("stage6").last().and_then(|run| {
            let summary = &run.summary;
            let (tensors, with) = (summary.parameter_tensors, summary.parameters_with_gradient?);
            let losses = summary.first_loss.zip(summary.final_loss);
            let loss = losses.map_or(String::new(), |(first, last)| {
                format!("; its loss goes from {first:.3} to {last:.3}")
            });
            let text = format!("{with} of {tensors} parameters of stage6 have a gradient{loss}");
            let ratio = tensors as f64 / with.max(1) as f64;
            Some((ratio, with * 2 < tensors, text))
        });
        exact(EffectId::NoGradients, judged)
    }
}

/// Device time a step of the forward kernels whose name contains `name`. Returns `None` if none was timed.
fn forward_kernels_ms(run: &MeasuredRun, name: &str) -> Option<f64> {
    let kernels = &run.kernels.as_ref()?.kernels;
    let times = kernels
        .iter()
        .filter(|kernel| is_forward(&kernel.part) && kernel.name.to_lowercase().contains(name))
        .filter_map(|kernel| kernel.device_ms_per_step);
    Some(times.sum()).filter(|sum| *sum > 0.0)
}

/// Sums forward, backward and optimizer of every measured step.
fn part_sums(run: &MeasuredRun) -> Option<Series> {
    let sums: Option<Vec<f64>> = run
        .steps
        .iter()
        .map(|step| Some(step.forward_ms? + step.backward_ms? + step.optimizer_ms?))
        .collect();
    Series::new(sums?).ok()
}

fn relative(
    id: EffectId,
    time: Option<RelativeTime>,
    text: impl Fn(&str) -> String,
) -> StageEffect {
    let none = not_measured(id);
    let Some(time) = time else {
        return none;
    };
    let shows = match time.finding {
        Some(Finding::Slower) => EffectShown::Yes,
        Some(Finding::Faster | Finding::NoDifference) => EffectShown::No,
        Some(Finding::TooNoisy { .. }) | None => EffectShown::Unclear,
    };
    let settle = match (time.finding, &time.unknown) {
        (Some(Finding::TooNoisy { further }), _) => further.map_or(String::new(), |further| {
            format!("; {further} should settle it")
        }),
        (None, Some(why)) => format!("; {why}"),
        _ => String::new(),
    };
    StageEffect {
        shows,
        ratio: Some(time.ratio),
        low: time.interval.map(|interval| interval.low),
        high: time.interval.map(|interval| interval.high),
        text: format!("{}{settle}", text(&time.ratio_text())),
        ..none
    }
}

/// An effect that a number decides without a spread: its ratio, whether it shows, and its text.
fn exact(id: EffectId, judged: Option<(f64, bool, String)>) -> StageEffect {
    match judged {
        Some((ratio, shows, text)) if ratio.is_finite() => StageEffect {
            shows: if shows {
                EffectShown::Yes
            } else {
                EffectShown::No
            },
            ratio: Some(ratio),
            text,
            ..not_measured(id)
        },
        _ => not_measured(id),
    }
}

fn not_measured(id: EffectId) -> StageEffect {
    StageEffect {
        id,
        shows: EffectShown::NotMeasured,
        ratio: None,
        low: None,
        high: None,
        text: "a stage it needs did not run, or does not report the figure".into(),
    }
}
