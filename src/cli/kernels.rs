//! `kernels`: lists this project's kernels and checks their results on this device.

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use burn::tensor::FloatDType;
use clap::Args;
use serde::Serialize;
use tinyllama_base::terminal::Stdout;
use tinyllama_kernel_catalog::{KERNELS, KernelDescriptor, Role, StepSizes};
use tinyllama_kernels::binding;
use tinyllama_kernels::check::{OutputCheck, check_on_cpu};

use super::Exit;
use super::analysis::AnalysisPage;
use super::kernels_arch::{self, ArchArgs, KernelSelection};
use super::print_result::{print_json, print_page, print_prose};
use tinyllama_base::table::TableColumns;
use tinyllama_base::{Share, percent};
use tinyllama_contract::ElementType;
use tinyllama_contract::flags::{Dtype, UsageError};
use tinyllama_contract::targets::{engine_kind::EngineKind, v4};
use tinyllama_engine::device::{
    self, BackendChoice, CacheSettings, DeviceError, OpenDevice, Tuning,
};
use tinyllama_engine::model::Preset;
use tinyllama_engine::model::kernels::sizes;
use tinyllama_engine::targets::{self, Target};
use tinyllama_engine::train::float_dtype;

#[derive(Debug, Args)]
pub struct KernelsArgs {
    /// Kernels to show or check; default: all
    names: Vec<String>,
    /// Model preset for the costs
    #[arg(long, value_enum, default_value = "small")]
    config: Preset,
    /// Compare every kernel with its plain Rust reference on this device
    #[arg(long, conflicts_with = "arch")]
    check: bool,
    /// Time every kernel alone with cold caches, and compare it with this device's peak rates
    #[arg(long, conflicts_with = "check")]
    bench: bool,
    /// Element type to check (default: f32) or to show
    #[arg(long, value_enum)]
    dtype: Option<Dtype>,
    /// Draw the input from this seed instead of a new one
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Backend that executes the kernels
    #[arg(long, value_enum, default_value = "auto", env = "TINYLLAMA_BACKEND")]
    backend: BackendChoice,
    /// Device of the backend
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    compiled: ArchArgs,
}

/// An entry in the list of kernels.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    summary: &'static str,
    launches: &'static str,
    /// Targets that train with it. v4 is not among them, because it has separate kernels.
    targets: Vec<Target>,
    /// The unit of its block size and the valid sizes; null if it has no block size.
    block_size: Option<BlockSizes>,
    /// Minimum work of one run, counted from shapes.
    costs: Vec<ListedCost>,
}

#[derive(Serialize)]
struct BlockSizes {
    counts: &'static str,
    sizes: &'static [usize],
}

#[derive(Serialize)]
struct ListedCost {
    pass: &'static str,
    /// Runs in one step of v3.
    runs_per_step: usize,
    bytes: u64,
    flops: u64,
    flops_per_byte: Option<f64>,
}

/// A kernel's check on one line.
#[derive(Serialize)]
struct KernelCheck {
    name: &'static str,
    passed: bool,
    comparisons: usize,
    worst_error: f64,
    tolerance: f64,
    /// The comparison with the largest share of its tolerance.
    worst_case: String,
}

pub fn run(args: &KernelsArgs) -> Result<Exit> {
    let kernels = chosen(&args.names)?;
    if args.compiled.arch.is_some() {
        let mut operations: Vec<&'static str> = kernels.iter().map(|kernel| kernel.name).collect();
        if args.names.is_empty() {
            operations.push(v4::TARGET.name);
        }
        let selection = KernelSelection {
            operations: &operations,
            dtype: args.dtype.map(|dtype| ElementType::from(dtype).name()),
            json: args.json,
        };
        return kernels_arch::run(&args.compiled, &selection);
    }
    if args.check {
        return check(args, &kernels);
    }
    if args.bench {
        device::require_code_generator("--bench")?;
        return bench(args);
    }
    let sizes = sizes(&args.config.config());
    let listed: Vec<Listed> = kernels
        .iter()
        .map(|one| Listed::from_kernel(one, &sizes))
        .collect();
    let mut page = AnalysisPage::default();
    page.paragraph(&format!(
        "MB and MFLOP of one run in f32 are counted from the shapes of `{}`, not measured; runs are those of a step of v3",
        args.config
    ));
    print_prose(args.json, &listed, |out| {
        let mut kernels = listed.iter();
        kernels.try_for_each(|kernel| print_listed(out, kernel))?;
        write!(out, "{page}")
    })
}

impl Listed {
    fn from_kernel(kernel: &'static KernelDescriptor, sizes: &StepSizes) -> Listed {
        let costs = kernel.step_passes(sizes).map(|(pass, runs_per_step)| {
            let cost = (pass.cost)(sizes);
            ListedCost {
                pass: pass.name,
                runs_per_step,
                bytes: cost.bytes(),
                flops: cost.flops,
                flops_per_byte: cost.intensity(),
            }
        });
        Listed {
            name: kernel.name,
            summary: kernel.summary,
            launches: kernel.launches,
            targets: match kernel.role {
                Role::Product => targets::ALL
                    .iter()
                    .copied()
                    .filter(|target| target.engine == EngineKind::Autodiff)
                    .collect(),
                _ => targets::launching(kernel.name),
            },
            block_size: kernel.block_size.map(|block| BlockSizes {
                counts: block.counts,
                sizes: block.sizes,
            }),
            costs: costs.collect(),
        }
    }
}

fn print_listed(out: &mut impl Write, kernel: &Listed) -> io::Result<()> {
    writeln!(out, "{}\n  {}", kernel.name, kernel.summary)?;
    writeln!(out, "  launches: {}", kernel.launches)?;
    let targets: Vec<&str> = kernel.targets.iter().map(|target| target.name).collect();
    match targets.as_slice() {
        [] => writeln!(out, "  in: no target; it exists to be measured")?,
        targets => writeln!(out, "  in: {}", targets.join(" "))?,
    }
    if let Some(BlockSizes { counts, sizes }) = &kernel.block_size {
        let (name, sizes) = (kernel.name, itertools::join(*sizes, " "));
        writeln!(out, "  --block-size {name}=N, N {counts}:\n    {sizes}")?;
    }
    for cost in &kernel.costs {
        let (pass, runs) = (cost.pass, cost.runs_per_step);
        let (megabytes, mflop) = (cost.bytes as f64 / 1e6, cost.flops as f64 / 1e6);
        let ratio = cost.flops_per_byte.unwrap_or_default();
        writeln!(
            out,
            "  {pass:<9} {runs:>3} runs  {megabytes:>9.3} MB  {mflop:>9.2} MFLOP  {ratio:>6.2} FLOP/byte"
        )?;
    }
    writeln!(out)
}

fn chosen(names: &[String]) -> Result<Vec<&'static KernelDescriptor>> {
    if names.is_empty() {
        return Ok(KERNELS.to_vec());
    }
    let find = |name: &String| {
        let found = KERNELS.iter().find(|kernel| kernel.name == name);
        found.copied().ok_or_else(|| {
            let all = itertools::join(KERNELS.iter().map(|kernel| kernel.name), ", ");
            UsageError(format!("there is no kernel `{name}`; there are: {all}")).into()
        })
    };
    names.iter().map(find).collect()
}

fn check(args: &KernelsArgs, kernels: &[&'static KernelDescriptor]) -> Result<Exit> {
    let open = open(args)?;
    let on_gpu = open.backend.is_asynchronous();
    let dtype = float_dtype(args.dtype.unwrap_or(Dtype::F32).into());
    open.require_dtype(dtype)?;
    if !on_gpu && dtype != FloatDType::F32 {
        bail!(DeviceError::UnsupportedType {
            device: open.facts.device,
            dtype: "bf16 or f16 in a kernel".into(),
        });
    }
    let seed = args.seed.unwrap_or_else(super::gradcheck::fresh_seed);
    let mut out = Stdout;
    if !args.json {
        let device = &open.facts.device;
        writeln!(out, "kernels on {device} in {dtype:?}, input seed {seed}")?;
    }
    let mut rows = Vec::new();
    for kernel in kernels {
        let checks = match on_gpu {
            true => binding::check(kernel, &open.device, dtype, seed).transpose()?,
            false => Some(check_on_cpu(kernel, seed)),
        };
        let Some(checks) = checks else {
            continue;
        };
        let row = summarise(kernel.name, &checks);
        if !args.json {
            print(&mut out, &row)?;
        }
        rows.push(row);
    }
    if args.json {
        print_json(&rows)?;
    }
    Ok(Exit::from_passed(rows.iter().all(|row| row.passed)))
}

fn open(args: &KernelsArgs) -> Result<OpenDevice> {
    device::configure_runtime(CacheSettings {
        fusion: true,
        tuning: Tuning::Full,
    });
    Ok(device::open(args.backend, args.device.as_deref())?)
}

fn summarise(name: &'static str, checks: &[OutputCheck]) -> KernelCheck {
    let worst = checks
        .iter()
        .max_by(|a, b| (a.error / a.tolerance).total_cmp(&(b.error / b.tolerance)));
    KernelCheck {
        name,
        // A kernel without a comparison does not count as checked.
        passed: worst.is_some() && checks.iter().all(OutputCheck::passed),
        comparisons: checks.len(),
        worst_error: worst.map_or(f64::INFINITY, |check| check.error),
        tolerance: worst.map_or(0.0, |check| check.tolerance),
        worst_case: worst.map_or_else(String::new, |check| {
            format!("{} of {}", check.output, check.case)
        }),
    }
}

fn print(out: &mut impl Write, row: &KernelCheck) -> io::Result<()> {
    let verdict = super::gradcheck::verdict(row.passed);
    let (name, case) = (row.name, &row.worst_case);
    let (count, worst, most) = (row.comparisons, row.worst_error, row.tolerance);
    writeln!(
        out,
        "  {name:<16} {verdict:<6}  {count:>4} comparisons, worst {worst:.2e} (at most {most:.0e}): {case}"
    )?;
    out.flush()
}

/// Repeats of every kernel, of which the median counts.
const REPEATS: usize = 30;

/// A kernel pass with its time and its lower limit.
#[derive(Serialize)]
struct BenchedPass {
    kernel: &'static str,
    pass: &'static str,
    milliseconds: f64,
    gigabytes_per_s: f64,
    gigaflops_per_s: f64,
    /// Minimum time that the ceilings allow, divided by the measured time.
    of_ceiling: f64,
}

fn bench(args: &KernelsArgs) -> Result<Exit> {
    let open = open(args)?;
    if !open.backend.is_asynchronous() {
        bail!(DeviceError::NeedsGpu {
            what: "the time of a kernel alone",
            device: open.facts.device,
        });
    }
    let sizes = sizes(&args.config.config());
    let (ceilings, timed) =
        binding::bench(&open.device, &sizes, REPEATS).context("this device runs no kernels")??;
    let rows: Vec<BenchedPass> = timed
        .iter()
        .map(|timed| BenchedPass {
            kernel: timed.kernel,
            pass: timed.pass,
            milliseconds: timed.seconds * 1e3,
            gigabytes_per_s: timed.cost.bytes() as f64 / timed.seconds / 1e9,
            gigaflops_per_s: timed.cost.flops as f64 / timed.seconds / 1e9,
            of_ceiling: timed.floor(&ceilings) / timed.seconds,
        })
        .collect();
    let (config, device) = (args.config, &open.facts.device);
    let (bytes, flops) = (ceilings.bytes_per_s / 1e9, ceilings.flops_per_s / 1e9);
    let title = format!(
        "{config} on {device}: a copy moves {bytes:.0} GB/s, multiply-adds reach {flops:.0} GFLOP/s (f32); median of {REPEATS}, cold caches"
    );
    let table = TableColumns::titled(title, &rows)
        .left("kernel", |row| row.kernel.to_owned())
        .left("pass", |row| row.pass.to_owned())
        .right("ms", |row| format!("{:.4}", row.milliseconds))
        .right("GB/s", |row| format!("{:.0}", row.gigabytes_per_s))
        .right("GFLOP/s", |row| format!("{:.0}", row.gigaflops_per_s))
        .right("of ceiling", |row| percent(Share(row.of_ceiling)));
    let mut page = AnalysisPage::default();
    page.first_table(table);
    print_page(args.json, &rows, &page)
}
