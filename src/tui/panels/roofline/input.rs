//! What a roofline is drawn from.

use std::fmt;

use crate::analysis::roofline::{Ceiling as RunCeiling, Grain, NEAR, Roofline, Source};
use crate::profiler::model::Profile;
use crate::profiler::name;
use crate::profiler::show::roofline;
use crate::recording::label;

/// Where a ceiling comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// By a benchmark on this very device.
    Measured,
    /// What the maker promises.
    DataSheet,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Measured => "measured",
            Origin::DataSheet => "data sheet",
        })
    }
}

/// What a ceiling limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Bytes a second.
    Bandwidth(f64),
    /// Floating-point operations a second.
    Compute(f64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// `memory`, `bf16 matrix`, ….
    pub name: String,
    pub limit: Limit,
    pub origin: Origin,
}

/// A kernel or a part of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub name: String,
    /// Floating-point operations of one launch, or of one step.
    pub flops: f64,
    /// Bytes to and from memory of the same piece of work.
    pub bytes: f64,
    /// Time of the same piece of work, measured on the device.
    pub seconds: f64,
    /// The name of the compute ceiling of its element type; the highest one where it is not told.
    pub compute: Option<String>,
    /// What would help, in a sentence.
    pub advice: Option<String>,
}

impl Point {
    /// Operations a byte; none where nothing is computed or moved.
    pub fn intensity(&self) -> Option<f64> {
        Some(self.flops / self.bytes).filter(|value| value.is_finite() && *value > 0.0)
    }

    /// Operations a second.
    pub fn performance(&self) -> f64 {
        self.flops / self.seconds
    }

    /// Bytes a second.
    pub fn bandwidth(&self) -> f64 {
        self.bytes / self.seconds
    }

    fn is_usable(&self) -> bool {
        self.seconds > 0.0
            && self.seconds.is_finite()
            && (self.flops >= 0.0 && self.flops.is_finite())
            && (self.bytes >= 0.0 && self.bytes.is_finite())
            && self.flops + self.bytes > 0.0
    }
}

/// Points under ceilings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RooflineInput {
    /// The device, as the run named it.
    pub device: String,
    /// In any order. Where the same thing was measured and promised, points are held against what was measured.
    pub ceilings: Vec<Ceiling>,
    /// Longest time first.
    pub points: Vec<Point>,
    /// Where operations and bytes come from: `counted from shapes`, `hardware counters`.
    pub work: String,
}

impl RooflineInput {
    /// Kernels whose hardware counters were collected, under the ceilings that rocprof-compute measured.
    pub fn of_profile(profile: &Profile) -> Self {
        let ceilings = roofline::ceilings(profile).into_iter().map(|ceiling| {
            let per_second = ceiling.value * 1e9;
            Ceiling {
                name: ceiling.name.clone(),
                limit: if ceiling.is_bandwidth() {
                    Limit::Bandwidth(per_second)
                } else {
                    Limit::Compute(per_second)
                },
                origin: Origin::Measured,
            }
        });
        // Caches and local memory are no limit of bytes counted at the memory.
        let ceilings = ceilings.filter(|ceiling| match ceiling.limit {
            Limit::Bandwidth(_) => ceiling.name.eq_ignore_ascii_case("HBMBw"),
            Limit::Compute(_) => ceiling.name.ends_with("Flops"),
        });
        let points = roofline::points(profile).into_iter().map(|point| Point {
            name: name::short(&point.kernel).to_owned(),
            flops: point.operations,
            bytes: point.bytes,
            seconds: point.mean_ns / 1e9,
            compute: None,
            advice: None,
        });
        let gpu = profile.agents.iter().find(|agent| agent.gpu);
        RooflineInput {
            device: gpu.map_or_else(String::new, |gpu| gpu.name.clone()),
            ceilings: ceilings.collect(),
            points: points.collect(),
            work: "hardware counters, per launch".to_owned(),
        }
    }

    /// Parts and kernels of a run, and its step as a whole; `origin` says where it was recorded.
    pub fn of_run(roofline: &Roofline, origin: Option<&str>) -> Self {
        let (arithmetic, bandwidths) = roofline.ceilings.all();
        let ceiling = |line: &RunCeiling, limit: fn(f64) -> Limit| Ceiling {
            name: line.label.clone(),
            limit: limit(line.value),
            origin: match line.source {
                Source::Measured => Origin::Measured,
                Source::DataSheet => Origin::DataSheet,
            },
        };
        let arithmetic = arithmetic
            .into_iter()
            .map(|line| ceiling(line, Limit::Compute));
        // A cache's line limits nothing: bytes are counted as if each came from memory.
        let bandwidths = bandwidths.into_iter().filter(|line| line.label == "memory");
        let bandwidths = bandwidths.map(|line| ceiling(line, Limit::Bandwidth));
        let points = roofline.points.iter().map(|point| Point {
            name: match point.grain {
                Grain::Step => "the whole step".into(),
                Grain::Phase => format!("{} (host)", point.name),
                Grain::Part | Grain::Kernel => point.name.clone(),
            },
            flops: point.flops,
            bytes: point.bytes,
            seconds: point.ms / 1e3,
            compute: roofline
                .ceilings
                .products
                .first()
                .map(|line| line.label.clone()),
            advice: point.what_would_help.clone(),
        });
        RooflineInput {
            device: match origin {
                Some(origin) => format!("{} ({})", roofline.target, label(origin)),
                None => format!("{} on {}", roofline.target, roofline.device),
            },
            ceilings: arithmetic.chain(bandwidths).collect(),
            points: points.collect(),
            work: "shapes, a step".to_owned(),
        }
    }

    /// Without points whose figures are no figures.
    pub fn usable(mut self) -> Self {
        self.points.retain(Point::is_usable);
        self
    }
}

/// What keeps a point down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    Memory,
    Compute,
    /// It reaches so little of either that launching, waiting or too little parallel work must be what costs.
    Neither,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bound::Memory => "memory",
            Bound::Compute => "compute",
            Bound::Neither => "neither",
        })
    }
}

/// A point against the ceilings above it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub bound: Bound,
    /// Share of the limit that was reached; above 1 when caches save traffic that was counted, or a ceiling is too low.
    pub reached: f64,
    pub ceiling: Ceiling,
}

impl RooflineInput {
    /// The bandwidth that counts: measured before promised, then the highest.
    pub fn bandwidth(&self) -> Option<(&Ceiling, f64)> {
        self.best(|ceiling| match ceiling.limit {
            Limit::Bandwidth(limit) => Some(limit),
            Limit::Compute(_) => None,
        })
    }

    /// The compute ceiling called `name`; the highest where there is none of the name.
    pub fn compute(&self, name: Option<&str>) -> Option<(&Ceiling, f64)> {
        let limit = |ceiling: &Ceiling| match ceiling.limit {
            Limit::Compute(limit) => Some(limit),
            Limit::Bandwidth(_) => None,
        };
        let named = name
            .and_then(|name| self.best(|ceiling| limit(ceiling).filter(|_| ceiling.name == name)));
        named.or_else(|| self.best(limit))
    }

    fn best(&self, limit: impl Fn(&Ceiling) -> Option<f64>) -> Option<(&Ceiling, f64)> {
        self.ceilings
            .iter()
            .filter_map(|ceiling| Some((ceiling, limit(ceiling)?)))
            .filter(|(_, limit)| limit.is_finite() && *limit > 0.0)
            .max_by(|(a, x), (b, y)| {
                let measured = |ceiling: &Ceiling| ceiling.origin == Origin::Measured;
                measured(a).cmp(&measured(b)).then(x.total_cmp(y))
            })
    }

    /// What limits `point`; none where a ceiling is missing.
    pub fn judge(&self, point: &Point) -> Option<Judgement> {
        let (memory, bandwidth) = self.bandwidth()?;
        let by_memory = point.bandwidth() / bandwidth;
        let compute = self.compute(point.compute.as_deref());
        let by_compute = compute.map(|(_, limit)| point.performance() / limit);
        // The limit that is nearer is the one that binds.
        let (bound, reached, ceiling) = match (by_compute, compute) {
            (Some(share), Some((ceiling, _))) if share > by_memory => {
                (Bound::Compute, share, ceiling)
            }
            _ => (Bound::Memory, by_memory, memory),
        };
        Some(Judgement {
            bound: if reached < NEAR {
                Bound::Neither
            } else {
                bound
            },
            reached,
            ceiling: ceiling.clone(),
        })
    }
}
