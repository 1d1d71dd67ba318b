//! `kernels`: what this project's kernels are, and whether they compute the right thing on this device.

use std::io::{self, Write};

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use tinyllama_kernels::{CATALOG, Entry, binding};

use super::Exit;
use super::kernels_arch::{self, ArchArgs, Selection};
use super::training_args::{Dtype, UsageError};
use crate::device::{self, Backend, BackendChoice, CacheSettings, DeviceError};

#[derive(Debug, Args)]
pub struct KernelsArgs {
    /// Kernels to show or check; all where none is named
    names: Vec<String>,
    /// Run every kernel against its plain Rust reference on this device
    #[arg(long, conflicts_with = "arch")]
    check: bool,
    /// Element type: of the check (f32 where none is named), or to show
    #[arg(long, value_enum)]
    dtype: Option<Dtype>,
    /// Draw the input from this seed instead of a fresh one
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Where to compute
    #[arg(long, value_enum, default_value = "auto", env = "TINYLLAMA_BACKEND")]
    backend: BackendChoice,
    /// Which device of the backend
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    compiled: ArchArgs,
}

/// A kernel as it is listed.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    summary: &'static str,
    launches: &'static str,
}

/// A kernel's check in one line.
#[derive(Serialize)]
struct Checked {
    name: &'static str,
    passed: bool,
    comparisons: usize,
    worst_error: f64,
    tolerance: f64,
    /// The comparison closest to or furthest beyond its tolerance.
    worst_case: String,
}

pub fn run(args: &KernelsArgs) -> Result<Exit> {
    let entries = chosen(&args.names)?;
    if args.compiled.is_given() {
        let operations: Vec<&'static str> = entries.iter().map(|entry| entry.name).collect();
        let selection = Selection {
            operations: &operations,
            dtype: args.dtype.map(|dtype| match dtype {
                Dtype::F32 => "f32",
                Dtype::Bf16 => "bf16",
                Dtype::F16 => "f16",
            }),
            json: args.json,
        };
        return kernels_arch::run(&args.compiled, &selection);
    }
    if args.check {
        return check(args, &entries);
    }
    let listed: Vec<Listed> = entries
        .iter()
        .map(|entry| Listed {
            name: entry.name,
            summary: entry.summary,
            launches: entry.launches,
        })
        .collect();
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &listed)?;
        writeln!(out)?;
        return Ok(Exit::Ok);
    }
    for kernel in listed {
        writeln!(out, "{:<16} {}", kernel.name, kernel.summary)?;
        writeln!(out, "{:<16} launches: {}", "", kernel.launches)?;
    }
    Ok(Exit::Ok)
}

fn chosen(names: &[String]) -> Result<Vec<&'static Entry>> {
    if names.is_empty() {
        return Ok(CATALOG.iter().collect());
    }
    names
        .iter()
        .map(
            |name| match CATALOG.iter().find(|entry| entry.name == name) {
                Some(entry) => Ok(entry),
                None => {
                    let all: Vec<&str> = CATALOG.iter().map(|entry| entry.name).collect();
                    bail!(UsageError(format!(
                        "there is no kernel `{name}`; there are: {}",
                        all.join(", ")
                    )))
                }
            },
        )
        .collect()
}

fn check(args: &KernelsArgs, entries: &[&'static Entry]) -> Result<Exit> {
    device::configure_runtime(CacheSettings { fusion: true });
    let open = device::open(args.backend, args.device.as_deref())?;
    let dtype = args.dtype.unwrap_or(Dtype::F32).into();
    open.require_dtype(dtype)?;
    if !open.backend.is_asynchronous() {
        // Kernels run on GPUs alone; the CPU backend computes the same formulas without them.
        bail!(DeviceError::NoDevice {
            backend: Backend::Vulkan,
            detail: Some("kernels need a GPU backend".into()),
        });
    }
    let seed = args.seed.unwrap_or_else(super::gradcheck::fresh_seed);
    let mut out = io::stdout().lock();
    if !args.json {
        writeln!(
            out,
            "kernels on {} in {dtype:?}, input seed {seed}",
            open.name
        )?;
    }
    let mut rows = Vec::new();
    for entry in entries {
        let Some(result) = binding::check(entry, &open.device, dtype, seed) else {
            continue;
        };
        let row = summarise(entry.name, &result?);
        if !args.json {
            print(&mut out, &row)?;
        }
        rows.push(row);
    }
    if args.json {
        serde_json::to_writer_pretty(&mut out, &rows)?;
        writeln!(out)?;
    }
    let passed = rows.iter().all(|row| row.passed);
    Ok(if passed { Exit::Ok } else { Exit::Failed })
}

fn summarise(name: &'static str, checks: &[tinyllama_kernels::check::Check]) -> Checked {
    let worst = checks
        .iter()
        .max_by(|a, b| (a.error / a.tolerance).total_cmp(&(b.error / b.tolerance)));
    Checked {
        name,
        // A kernel without a comparison was not checked.
        passed: worst.is_some() && checks.iter().all(tinyllama_kernels::check::Check::passed),
        comparisons: checks.len(),
        worst_error: worst.map_or(f64::INFINITY, |check| check.error),
        tolerance: worst.map_or(0.0, |check| check.tolerance),
        worst_case: worst.map_or_else(String::new, |check| {
            format!("{} of {}", check.output, check.case)
        }),
    }
}

fn print(out: &mut impl Write, row: &Checked) -> io::Result<()> {
    writeln!(
        out,
        "  {:<16} {}  {:>4} comparisons, worst {:.2e} (at most {:.0e}): {}",
        row.name,
        if row.passed { "ok    " } else { "FAILED" },
        row.comparisons,
        row.worst_error,
        row.tolerance,
        row.worst_case
    )?;
    out.flush()
}
