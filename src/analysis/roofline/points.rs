//! From a run to the points of its roofline.

use super::{Grain, Point};
use crate::analysis::parts::{by_kind, is_forward};
use crate::analysis::{MeasuredRun, Metric};
use crate::model::{Attention, Backward, ModelConfig, Projection, Recipe, Swiglu};
use crate::train::event::{Kernel, Kernels, Parts};

/// What one run of a pass of this project's kernels computes and moves, counted from shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelWork {
    /// `rmsnorm`.
    pub kernel: String,
    /// `forward` or `backward`; anything else stands for both.
    pub pass: String,
    pub flops: f64,
    pub bytes: f64,
}

/// Helper kernels that are part of another one's pass.
const HELPERS: [(&str, &str); 2] = [("columnsums", "rmsnorm"), ("meanof", "cross_entropy")];

/// The name under which all matrix products of a pass are taken together.
const PRODUCTS: &str = "matrix products";

/// The optimizer's kernel, whose work is counted for all parameters.
const UPDATE: &str = "adamw";

pub(super) fn of(run: &MeasuredRun, works: &[KernelWork], notes: &mut Vec<String>) -> Vec<Point> {
    let Some(parts) = &run.parts else {
        notes.push("This run did not count its work (--flops).".into());
        return vec![];
    };
    if run.hello.recipe.backward == Backward::Missing {
        notes.push(
            "Most of the backward pass that was counted does not happen in this target: what it seems to reach in it is not real."
                .into(),
        );
    }
    if run.hello.dtype != "f32" {
        notes.push(format!(
            "Bytes of the step, its phases and parts are counted as if everything were f32; operands of products are {}.",
            run.hello.dtype
        ));
    }
    let median = |metric| Some(run.measurements.series(metric)?.median());
    let mut points = Vec::new();
    points.extend(median(Metric::TotalMs).and_then(|ms| {
        let work = (parts.flops_per_step, parts.bytes_per_step);
        Point::new("step", Grain::Step, work, ms, run.summary.launches_per_step)
    }));
    if run.summary.synchronized {
        points.extend(phases(parts, median));
    } else {
        notes.push(
            "The phases of this run were read without waiting for the device: they are left out."
                .into(),
        );
    }
    points.extend(by_kind(parts).into_iter().filter_map(|part| {
        let work = (part.flops, part.bytes);
        Point::new(part.part, Grain::Part, work, part.device_ms?, None)
    }));
    match &run.kernels {
        Some(kernels) => points.extend(kernel_points(run, kernels, works, notes)),
        None => notes.push(
            "No kernel was timed: this backend reports none, or there was no profile pass.".into(),
        ),
    }
    points
}

fn phases(parts: &Parts, median: impl Fn(Metric) -> Option<f64>) -> Vec<Point> {
    let sum = |is_of: &dyn Fn(&str) -> bool| {
        parts
            .parts
            .iter()
            .filter(|part| is_of(&part.part))
            .fold((0.0, 0.0), |(flops, bytes), part| {
                (flops + part.flops, bytes + part.bytes)
            })
    };
    let phases = [
        ("forward", Metric::ForwardMs, sum(&is_forward)),
        (
            "backward",
            Metric::BackwardMs,
            sum(&|part| part == "backward"),
        ),
        (
            "optimizer",
            Metric::OptimizerMs,
            sum(&|part| part == "optimizer"),
        ),
    ];
    phases
        .into_iter()
        .filter_map(|(name, metric, work)| {
            Point::new(name, Grain::Phase, work, median(metric)?, None)
        })
        .collect()
}

/// Kernels whose work is known from their name; the others are named in a note with their share of the time.
fn kernel_points(
    run: &MeasuredRun,
    kernels: &Kernels,
    works: &[KernelWork],
    notes: &mut Vec<String>,
) -> Vec<Point> {
    let mut groups: Vec<Group> = Vec::new();
    let (mut known, mut all) = (0.0, 0.0);
    for kernel in &kernels.kernels {
        let Some(ms) = kernel.device_ms_per_step else {
            continue;
        };
        all += ms;
        let counted = kernel.flops_per_step.zip(kernel.bytes_per_step);
        let name = match counted {
            Some(_) => Some(name_of_counted(kernel)),
            None => operation(kernel, works),
        };
        let Some(name) = name else { continue };
        known += ms;
        let backward = !is_forward(&kernel.part);
        match groups
            .iter_mut()
            .find(|group| group.name == name && group.backward == backward)
        {
            Some(group) => group.add(kernel, ms, counted),
            None => {
                let mut group = Group::new(name, backward);
                group.add(kernel, ms, counted);
                groups.push(group);
            }
        }
    }
    if let Some(step) = run.measurements.series(Metric::TotalMs)
        && all > step.median()
    {
        notes.push(format!(
            "The kernels' times add up to {all:.2} ms, more than the {:.2} ms of a step: timed one by one they wait for each other, in a step they overlap.",
            step.median()
        ));
    }
    if all > 0.0 {
        notes.push(format!(
            "Kernels whose work can be counted from shapes take {:.0} % of the device time; kernels that burn fused are not among them.",
            100.0 * known / all
        ));
    }
    let (config, recipe) = (&run.hello.config, &run.hello.recipe);
    groups
        .iter()
        .filter_map(|group| group.point(config, recipe, works))
        .collect()
}

/// Kernels of one operation in one pass.
struct Group {
    name: String,
    backward: bool,
    ms: f64,
    /// Launches by kernel.
    launches: Vec<(String, f64)>,
    /// FLOP and bytes, where the run counted them itself.
    counted: Option<(f64, f64)>,
}

impl Group {
    fn new(name: String, backward: bool) -> Self {
        Group {
            name,
            backward,
            ms: 0.0,
            launches: vec![],
            counted: None,
        }
    }

    fn add(&mut self, kernel: &Kernel, ms: f64, counted: Option<(f64, f64)>) {
        self.ms += ms;
        if let Some((flops, bytes)) = counted {
            let (more_flops, more_bytes) = self.counted.unwrap_or_default();
            self.counted = Some((flops + more_flops, bytes + more_bytes));
        }
        match self
            .launches
            .iter_mut()
            .find(|(name, _)| *name == kernel.name)
        {
            Some((_, launches)) => *launches += kernel.launches_per_step,
            None => self
                .launches
                .push((kernel.name.clone(), kernel.launches_per_step)),
        }
    }

    /// How often the pass was run: each of its kernels is launched once a run, but for the update, which may go over the
    /// parameters in several launches.
    fn runs(&self) -> f64 {
        if self.name == UPDATE {
            return 1.0;
        }
        let launches = self.launches.iter().map(|(_, launches)| *launches);
        launches.fold(0.0, f64::max)
    }

    fn point(&self, config: &ModelConfig, recipe: &Recipe, works: &[KernelWork]) -> Option<Point> {
        let pass = if self.backward { "backward" } else { "forward" };
        let launches: f64 = self.launches.iter().map(|(_, launches)| launches).sum();
        let work = if let Some(counted) = self.counted {
            counted
        } else if self.name == PRODUCTS {
            let (flops, bytes) = product_work(config, recipe);
            // Each product has two in the backward pass.
            let factor = if self.backward { 2.0 } else { 1.0 };
            (factor * flops, factor * bytes)
        } else {
            let of_kernel = || works.iter().filter(|work| work.kernel == self.name);
            let work = of_kernel().find(|work| work.pass == pass).or_else(|| {
                of_kernel().find(|work| !matches!(&*work.pass, "forward" | "backward"))
            })?;
            (self.runs() * work.flops, self.runs() * work.bytes)
        };
        let name = match self.name.as_str() {
            name if name.starts_with(UPDATE) || name.ends_with(pass) => name.to_string(),
            name => format!("{name} {pass}"),
        };
        let kernels = self.launches.iter().map(|(name, _)| name.clone());
        Some(Point {
            kernels: kernels.collect(),
            ..Point::new(name, Grain::Kernel, work, self.ms, Some(launches))?
        })
    }
}

/// A kernel whose run counted its work is a point of its own, a matrix product among those of its kind.
fn name_of_counted(kernel: &Kernel) -> String {
    if is_product_kernel(&plain(&kernel.name)) {
        format!("{PRODUCTS} ({})", kernel.name)
    } else {
        kernel.name.clone()
    }
}

fn is_product_kernel(plain: &str) -> bool {
    plain.contains("matmul") || plain.contains("gemm")
}

/// The operation a kernel carries out, judged by its name, which a profiler may write in any case.
fn operation(kernel: &Kernel, works: &[KernelWork]) -> Option<String> {
    let name = plain(&kernel.name);
    if is_product_kernel(&name) {
        return Some(PRODUCTS.into());
    }
    let helper = HELPERS
        .iter()
        .find(|(helper, _)| name.starts_with(helper))
        .map(|(_, kernel)| (*kernel).to_string());
    // The longest name wins: a naive kernel's name starts with that of the other one.
    let own = works
        .iter()
        .filter(|work| name.starts_with(&plain(&work.kernel)))
        .max_by_key(|work| work.kernel.len())
        .map(|work| work.kernel.clone());
    helper.or(own)
}

pub(super) fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

pub(super) fn is_product(name: &str) -> bool {
    name.starts_with(PRODUCTS)
}

/// FLOP and least bytes of every matrix product of a forward pass in f32; those of attention where scores are materialised.
pub fn product_work(config: &ModelConfig, recipe: &Recipe) -> (f64, f64) {
    let n = config.tokens() as f64;
    let (d, f) = (config.hidden as f64, config.ffn as f64);
    let kv = (config.kv_heads * config.head_dim()) as f64;
    let layers = config.layers as f64;
    let mut products: Vec<(f64, f64, f64)> = match recipe.qkv {
        Projection::Separate => vec![(layers, d, d), (layers, d, kv), (layers, d, kv)],
        Projection::Fused => vec![(layers, d, d + 2.0 * kv)],
    };
    products.push((layers, d, d));
    match (recipe.swiglu, recipe.gate_up) {
        // The naive kernel computes these itself.
        (Swiglu::Naive, _) => {}
        (_, Projection::Separate) => products.push((2.0 * layers, d, f)),
        (_, Projection::Fused) => products.push((layers, d, 2.0 * f)),
    }
    products.push((layers, f, d));
    products.push((1.0, d, config.vocabulary as f64));
    let mut flops = 0.0;
    let mut elements = 0.0;
    for (count, inner, columns) in products {
        flops += count * 2.0 * n * inner * columns;
        elements += count * (n * inner + inner * columns + n * columns);
    }
    if recipe.attention == Attention::Materialised {
        let heads = layers * (config.batch_size * config.heads) as f64;
        let s = config.sequence_length as f64;
        let width = config.head_dim() as f64;
        // Queries with keys, then scores with values.
        flops += heads * 2.0 * 2.0 * s * s * width;
        elements += heads * 2.0 * (2.0 * s * width + s * s);
    }
    (flops, 4.0 * elements)
}
