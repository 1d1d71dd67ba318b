//! Turns a run into the points of its roofline.

use crate::MeasuredRun;
use crate::parts::{by_kind, is_forward};
use tinyllama_base::roofline::{Grain, Point};
use tinyllama_base::{Share, milliseconds, percent};
use tinyllama_contract::event::{Kernel, Kernels, Parts};
use tinyllama_contract::model::{Attention, Backward, ModelConfig, Projection, Recipe, Swiglu};
use tinyllama_runs::Metric;

/// Work of one execution of a kernel's pass, counted from shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelWork {
    /// For example `rmsnorm`.
    pub kernel: String,
    /// `forward` or `backward`. Any other text stands for both.
    pub pass: String,
    pub flops: f64,
    pub bytes: f64,
}

/// Helper kernels, each with the kernel whose pass it belongs to.
const HELPERS: [(&str, &str); 2] = [("columnsums", "rmsnorm"), ("meanof", "cross_entropy")];

/// Name of the sum over all matrix products of a pass.
const PRODUCTS: &str = "matrix products";

/// Name of the optimizer's kernel. Its work is counted for all parameters.
const UPDATE: &str = "adamw";

/// Returns whether a kind of part contains matrix products. `norm`, `loss` and the update have none.
pub fn has_products(kind: &str) -> bool {
    let kind = kind.split(' ').next().unwrap_or_default();
    matches!(kind, "attention" | "ffn" | "head" | "backward")
}

pub(super) fn points_of_run(
    run: &MeasuredRun,
    works: &[KernelWork],
    notes: &mut Vec<String>,
) -> Vec<Point> {
    let Some(parts) = &run.parts else {
        notes.push("This run did not count its work (--flops).".into());
        return vec![];
    };
    if run.hello.recipe.backward == Backward::Missing {
        notes.push(
            "This target does not run most of the backward pass that was counted: the rates shown for it are not real."
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
        Some(Point {
            launches: run.summary.launches_per_step,
            ..Point::new("step", Grain::Step, true, work, ms)?
        })
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
        let products = has_products(&part.part);
        let work = (part.flops, part.bytes);
        Point::new(part.part, Grain::Part, products, work, part.device_ms?)
    }));
    match &run.kernels {
        Some(kernels) => points.extend(kernel_points(run, kernels, works, notes)),
        None => notes.push(
            "No kernel was timed: this backend reports none, or there was no profile pass.".into(),
        ),
    }
    points.retain(Point::has_place);
    points
}

/// A phase, its time, and a test whether a part of the model belongs to it.
type PhaseTime = (&'static str, Metric, fn(&str) -> bool);

fn phases(parts: &Parts, median: impl Fn(Metric) -> Option<f64>) -> Vec<Point> {
    let phases: [PhaseTime; 3] = [
        ("forward", Metric::ForwardMs, is_forward),
        ("backward", Metric::BackwardMs, |part| part == "backward"),
        ("optimizer", Metric::OptimizerMs, |part| part == "optimizer"),
    ];
    phases
        .into_iter()
        .filter_map(|(name, metric, is_of)| {
            let of_phase = || parts.parts.iter().filter(|part| is_of(&part.part));
            let work = (
                of_phase().map(|part| part.flops).sum(),
                of_phase().map(|part| part.bytes).sum(),
            );
            let (products, ms) = (name != "optimizer", median(metric)?);
            Point::new(name, Grain::Phase, products, work, ms)
        })
        .collect()
}

/// Points of kernels whose work is known from their name. A note names the others with their share of the time.
fn kernel_points(
    run: &MeasuredRun,
    kernels: &Kernels,
    works: &[KernelWork],
    notes: &mut Vec<String>,
) -> Vec<Point> {
    let mut groups: Vec<KernelGroup<'_>> = Vec::new();
    let (mut known, mut all) = (0.0, 0.0);
    for kernel in &kernels.kernels {
        let Some(ms) = kernel.device_ms_per_step else {
            continue;
        };
        all += ms;
        let name = match counted(kernel) {
            Some(_) => Some(name_of_counted(kernel)),
            None => operation(kernel, works),
        };
        let Some(name) = name else { continue };
        known += ms;
        let pass = ["backward", "forward"][usize::from(is_forward(&kernel.part))];
        let same = |group: &&mut KernelGroup<'_>| group.name == name && group.pass == pass;
        match groups.iter_mut().find(same) {
            Some(group) => group.kernels.push(kernel),
            None => groups.push(KernelGroup {
                name,
                pass,
                kernels: vec![kernel],
            }),
        }
    }
    if let Some(step) = run.measurements.series(Metric::TotalMs)
        && all > step.median()
    {
        notes.push(format!(
            "The kernels' times add up to {}, more than the {} of a step: timed one by one they wait for each other, in a step they overlap.",
            milliseconds(all),
            milliseconds(step.median())
        ));
    }
    if all > 0.0 {
        notes.push(format!(
            "Kernels whose work can be counted from shapes take {} of the device time; kernels that burn fused are not among them.",
            percent(Share(known / all))
        ));
    }
    groups
        .iter()
        .filter_map(|group| group.point(run, works))
        .collect()
}

/// Kernels of one operation in one pass.
struct KernelGroup<'a> {
    name: String,
    pass: &'static str,
    kernels: Vec<&'a Kernel>,
}

impl KernelGroup<'_> {
    /// FLOP and bytes a step: the run's own count if it has one, otherwise counted from shapes.
    fn work(
        &self,
        run: &MeasuredRun,
        works: &[KernelWork],
        launches: &[(&str, f64)],
    ) -> Option<(f64, f64)> {
        let by_itself = self.kernels.iter().filter_map(|kernel| counted(kernel));
        if let Some(counted) = by_itself.reduce(|a, b| (a.0 + b.0, a.1 + b.1)) {
            return Some(counted);
        }
        if self.name == PRODUCTS {
            let (flops, bytes) = product_work(&run.hello.config, &run.hello.recipe);
            // The backward pass has two products for each one of the forward pass.
            let factor = if self.pass == "backward" { 2.0 } else { 1.0 };
            return Some((factor * flops, factor * bytes));
        }
        let of_kernel = || works.iter().filter(|work| work.kernel == self.name);
        let of_pass = of_kernel().find(|work| work.pass == self.pass);
        let work = of_pass
            .or_else(|| of_kernel().find(|work| !matches!(&*work.pass, "forward" | "backward")))?;
        // Each kernel is launched once per execution of the pass, but the update may need several launches.
        let runs = match &*self.name {
            UPDATE => 1.0,
            _ => launches.iter().map(|(_, runs)| *runs).fold(0.0, f64::max),
        };
        Some((runs * work.flops, runs * work.bytes))
    }

    fn point(&self, run: &MeasuredRun, works: &[KernelWork]) -> Option<Point> {
        let mut launches: Vec<(&str, f64)> = Vec::new();
        for kernel in &self.kernels {
            match launches.iter_mut().find(|(name, _)| *name == kernel.name) {
                Some((_, launches)) => *launches += kernel.launches_per_step,
                None => launches.push((&kernel.name, kernel.launches_per_step)),
            }
        }
        let name = match self.name.as_str() {
            name if name.starts_with(UPDATE) || name.ends_with(self.pass) => name.to_string(),
            name => format!("{name} {}", self.pass),
        };
        let times = self.kernels.iter();
        let ms = times.filter_map(|kernel| kernel.device_ms_per_step).sum();
        let work = self.work(run, works, &launches)?;
        Some(Point {
            launches: Some(launches.iter().map(|(_, launches)| launches).sum()),
            kernels: launches.iter().map(|(name, _)| name.to_string()).collect(),
            ..Point::new(name, Grain::Kernel, is_product(&self.name), work, ms)?
        })
    }
}

fn counted(kernel: &Kernel) -> Option<(f64, f64)> {
    kernel.flops_per_step.zip(kernel.bytes_per_step)
}

/// Gives a kernel with counted work its own point. The names of matrix products begin with their group.
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

/// Finds a kernel's operation by its name. Profilers may write the name in any case.
fn operation(kernel: &Kernel, works: &[KernelWork]) -> Option<String> {
    let name = plain(&kernel.name);
    if is_product_kernel(&name) {
        return Some(PRODUCTS.into());
    }
    let helper = HELPERS
        .iter()
        .find(|(helper, _)| name.starts_with(helper))
        .map(|(_, kernel)| (*kernel).to_string());
    // The longest name wins, because a naive kernel's name starts with that of the other one.
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

/// FLOP and least bytes of every matrix product of a forward pass in f32. Attention's products are included if the scores
/// are materialised.
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
        // The naive kernel computes these products itself.
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
        // Queries times keys, then scores times values.
        flops += heads * 2.0 * 2.0 * s * s * width;
        elements += heads * 2.0 * (2.0 * s * width + s * s);
    }
    (flops, 4.0 * elements)
}
