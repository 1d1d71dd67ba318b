//! `kernels --arch`: what the kernels become on an AMD GPU, on a machine that needs none. Source, instructions, and
//! what they take of a compute unit: all of it from compilers, none of it measured.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use tinyllama_kernels::source::{SourceError, Target};

use super::Exit;
use super::training_args::UsageError;
use crate::compiled::assembly;
use crate::compiled::budget::Budgets;
use crate::compiled::compiler::{Compiler, CompilerError};
use crate::compiled::facts::{self, ARCHITECTURES, Candidate, Facts, KernelFacts};
use crate::profiler::show::text::{Align, TextTable};

/// Columns of a table where the width of the terminal is of no help.
const WIDTH: usize = 118;

#[derive(Debug, Args)]
pub struct ArchArgs {
    /// Show what the kernels take of a compute unit of this architecture: gfx90a, gfx942, gfx1100, or all of them
    #[arg(long, value_name = "ARCH", help_heading = "Compiled code")]
    arch: Option<String>,
    /// Print a kernel as HIP C++ (or CUDA C++ with --arch sm_90)
    #[arg(
        long,
        value_name = "KERNEL",
        requires = "arch",
        help_heading = "Compiled code"
    )]
    source: Option<String>,
    /// Print a kernel's instructions; needs clang
    #[arg(
        long,
        value_name = "KERNEL",
        requires = "arch",
        conflicts_with = "source",
        help_heading = "Compiled code"
    )]
    isa: Option<String>,
    /// Compile here with clang instead of showing recorded figures
    #[arg(long, requires = "arch", help_heading = "Compiled code")]
    compile: bool,
    /// Every size and block size, not one of each kernel
    #[arg(long, requires = "compile", help_heading = "Compiled code")]
    all: bool,
    /// Fail where a kernel takes more than this file allows, spills or needs scratch memory
    #[arg(
        long,
        value_name = "FILE",
        requires = "arch",
        help_heading = "Compiled code"
    )]
    budget: Option<PathBuf>,
    /// Write the compiled table to this file
    #[arg(
        long,
        value_name = "FILE",
        requires = "compile",
        help_heading = "Compiled code"
    )]
    record: Option<PathBuf>,
}

/// Which kernels, as the command's other flags say.
pub struct Selection<'a> {
    /// Operations; all where there is none.
    pub operations: &'a [&'static str],
    /// `f32`, `bf16` or `f16`; all where it was not given.
    pub dtype: Option<&'static str>,
    pub json: bool,
}

impl Selection<'_> {
    fn takes(&self, operation: &str, dtype: &str) -> bool {
        self.operations.contains(&operation) && self.dtype.is_none_or(|wanted| wanted == dtype)
    }
}

impl ArchArgs {
    pub fn is_given(&self) -> bool {
        self.arch.is_some()
    }
}

pub fn run(args: &ArchArgs, selection: &Selection<'_>) -> Result<Exit> {
    let targets = targets(args.arch.as_deref().unwrap_or("all"))?;
    let shown = match (&args.source, &args.isa) {
        (Some(name), _) => sources(&targets, name, selection),
        (_, Some(name)) => listings(&targets, name, selection),
        _ => table(args, &targets, selection),
    };
    match shown {
        Err(error) if error.is::<CompilerError>() && !refused(&error) => {
            eprintln!("error: {error:#}");
            Ok(Exit::Environment)
        }
        other => other,
    }
}

/// Whether the compiler ran and said no, which is about the kernel and not about this machine.
fn refused(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref::<CompilerError>(),
        Some(CompilerError::Refused { .. })
    )
}

fn targets(arch: &str) -> Result<Vec<Target>> {
    let names: Vec<&str> = match arch {
        "all" => ARCHITECTURES.to_vec(),
        names => names.split(',').map(str::trim).collect(),
    };
    names
        .into_iter()
        .map(|name| {
            Target::parse(name).map_err(|error: SourceError| UsageError(error.to_string()).into())
        })
        .collect()
}

/// The typical launches called `name`, by kernel or by operation.
fn named(target: &Target, name: &str, selection: &Selection<'_>) -> Result<Vec<Candidate>> {
    let mut all = facts::candidates(target, false)?;
    all.retain(|candidate| selection.takes(candidate.operation, candidate.dtype));
    let mut kernels: Vec<String> = all.iter().map(|one| one.launch.kernel.clone()).collect();
    kernels.dedup();
    all.retain(|candidate| candidate.launch.kernel == name || candidate.operation == name);
    if all.is_empty() {
        bail!(UsageError(format!(
            "there is no kernel `{name}` here; there are: {}",
            kernels.join(", ")
        )));
    }
    // One element type is enough unless one was asked for.
    if selection.dtype.is_none() {
        let first = all[0].dtype;
        all.retain(|candidate| candidate.dtype == first);
    }
    Ok(all)
}

/// A kernel's text with what it is.
#[derive(Serialize)]
struct Text {
    architecture: String,
    kernel: String,
    dtype: &'static str,
    case: String,
    entry: String,
    threads: [u32; 3],
    shared_memory_bytes: usize,
    text: String,
}

impl Text {
    fn of(target: &Target, candidate: &Candidate, text: String) -> Text {
        Text {
            architecture: target.to_string(),
            kernel: candidate.launch.kernel.clone(),
            dtype: candidate.dtype,
            case: candidate.case.clone(),
            entry: candidate.launch.entry.clone(),
            threads: candidate.launch.cube_dim,
            shared_memory_bytes: candidate.launch.shared_memory_bytes,
            text,
        }
    }
}

fn sources(targets: &[Target], name: &str, selection: &Selection<'_>) -> Result<Exit> {
    let mut texts = Vec::new();
    for target in targets {
        for candidate in named(target, name, selection)? {
            let text = candidate.launch.source.trim().to_owned();
            texts.push(Text::of(target, &candidate, text));
        }
    }
    print_texts(&texts, "//", selection.json)
}

fn listings(targets: &[Target], name: &str, selection: &Selection<'_>) -> Result<Exit> {
    let compiler = Compiler::find()?;
    let mut texts = Vec::new();
    for target in targets {
        refuse_cuda(target)?;
        for candidate in named(target, name, selection)? {
            let launch = &candidate.launch;
            let assembly =
                compiler.assembly(&launch.kernel, &launch.source, &target.to_string())?;
            let text = assembly::instructions(&assembly, &launch.entry)?;
            texts.push(Text::of(target, &candidate, text.trim_end().to_owned()));
        }
    }
    print_texts(&texts, ";", selection.json)
}

fn print_texts(texts: &[Text], comment: &str, json: bool) -> Result<Exit> {
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, texts)?;
        writeln!(out)?;
        return Ok(Exit::Ok);
    }
    for text in texts {
        let [x, y, z] = text.threads;
        writeln!(
            out,
            "{comment} {} in {}, {} configuration, for {}: {x} x {y} x {z} threads, {} bytes of dynamic local memory",
            text.kernel, text.dtype, text.case, text.architecture, text.shared_memory_bytes
        )?;
        writeln!(out, "{}\n", text.text)?;
    }
    Ok(Exit::Ok)
}

fn refuse_cuda(target: &Target) -> Result<()> {
    if !target.is_hip() {
        bail!(UsageError(format!(
            "{target} is not an AMD architecture: only its source can be shown, with --source"
        )));
    }
    Ok(())
}

fn table(args: &ArchArgs, targets: &[Target], selection: &Selection<'_>) -> Result<Exit> {
    for target in targets {
        refuse_cuda(target)?;
    }
    let mut facts = if args.compile {
        compile(targets, args.all)?
    } else {
        recorded(targets)?
    };
    if let Some(path) = &args.record {
        let text = serde_json::to_string_pretty(&facts)? + "\n";
        fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    let violations = match &args.budget {
        Some(path) => {
            let yaml = fs::read_to_string(path)
                .map_err(|error| UsageError(format!("{}: {error}", path.display())))?;
            let budgets = Budgets::read(&yaml)
                .map_err(|error| UsageError(format!("{}: {error}", path.display())))?;
            budgets.violations(&facts.kernels)
        }
        None => Vec::new(),
    };
    facts
        .kernels
        .retain(|kernel| selection.takes(&kernel.operation, &kernel.dtype));
    let mut out = io::stdout().lock();
    if selection.json {
        let document = Document {
            compiled_with: &facts.compiler,
            measured: false,
            kernels: facts.kernels.iter().map(Row::of).collect(),
            violations: &violations,
        };
        serde_json::to_writer_pretty(&mut out, &document)?;
        writeln!(out)?;
    } else {
        for target in targets {
            write!(
                out,
                "{}",
                text_table(&facts, &target.to_string()).render(WIDTH)
            )?;
            writeln!(out)?;
        }
        for violation in &violations {
            writeln!(out, "over budget: {violation}")?;
        }
    }
    Ok(if violations.is_empty() {
        Exit::Ok
    } else {
        Exit::Failed
    })
}

/// The recorded rows of `targets`; those compiled here are the answer for any other architecture.
fn recorded(targets: &[Target]) -> Result<Facts> {
    let mut facts = facts::recorded()?;
    let names: Vec<String> = targets.iter().map(Target::to_string).collect();
    for name in &names {
        if !facts
            .kernels
            .iter()
            .any(|kernel| kernel.architecture == *name)
        {
            bail!(UsageError(format!(
                "no figures are recorded for {name}, only for {}; with clang installed, --compile finds them out",
                ARCHITECTURES.join(", ")
            )));
        }
    }
    facts
        .kernels
        .retain(|kernel| names.contains(&kernel.architecture));
    Ok(facts)
}

fn compile(targets: &[Target], all: bool) -> Result<Facts> {
    let compiler = Compiler::find()?;
    let progress = io::stderr().is_terminal();
    let mut kernels = Vec::new();
    for target in targets {
        let candidates = facts::candidates(target, all)?;
        let finished = AtomicUsize::new(0);
        let done = || {
            let finished = finished.fetch_add(1, Ordering::Relaxed) + 1;
            if progress {
                eprint!(
                    "\rcompiling for {target}: {finished} of {}",
                    candidates.len()
                );
            }
        };
        kernels.extend(facts::compile(&compiler, target, &candidates, &done)?);
        if progress {
            eprintln!();
        }
    }
    Ok(Facts {
        compiler: compiler.version().to_owned(),
        kernels,
    })
}

#[derive(Serialize)]
struct Document<'a> {
    compiled_with: &'a str,
    /// Never: these are a compiler's figures.
    measured: bool,
    kernels: Vec<Row<'a>>,
    violations: &'a [String],
}

/// A kernel's figures with what follows from them.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    kernel: &'a KernelFacts,
    waves_per_simd: Option<f64>,
    occupancy_percent: Option<f64>,
    limited_by: Option<String>,
}

impl Row<'_> {
    fn of(kernel: &KernelFacts) -> Row<'_> {
        let occupancy = kernel.occupancy();
        Row {
            kernel,
            waves_per_simd: kernel.waves_per_simd(),
            occupancy_percent: occupancy.as_ref().map(|occupancy| occupancy.percent()),
            limited_by: occupancy.map(|occupancy| occupancy.limiter.to_string()),
        }
    }
}

fn text_table(facts: &Facts, architecture: &str) -> TextTable {
    let mut table = TextTable::new(
        format!(
            "Compiled for {architecture} from HIP C++ by {}; never run, never measured",
            facts.compiler
        ),
        &[
            ("kernel", Align::Left),
            ("type", Align::Left),
            ("threads", Align::Right),
            ("VGPRs", Align::Right),
            ("SGPRs", Align::Right),
            ("LDS", Align::Right),
            ("scratch", Align::Right),
            ("waves / SIMD", Align::Right),
            ("limited by", Align::Left),
        ],
    );
    let rows = facts
        .kernels
        .iter()
        .filter(|kernel| kernel.architecture == architecture);
    for kernel in rows {
        let unknown = || "not known".to_owned();
        let vgprs = match kernel.agprs {
            0 => kernel.vgprs.to_string(),
            agprs => format!("{} ({agprs} AGPRs)", kernel.vgprs),
        };
        table.rows.push(vec![
            kernel.kernel.clone(),
            kernel.dtype.clone(),
            kernel.threads.to_string(),
            vgprs,
            kernel.sgprs.to_string(),
            kernel.lds_bytes.to_string(),
            kernel.scratch_bytes.to_string(),
            kernel
                .waves_per_simd()
                .map_or_else(unknown, |waves| format!("{waves:.1}")),
            kernel
                .occupancy()
                .map_or_else(unknown, |occupancy| occupancy.limiter.to_string()),
        ]);
    }
    table.notes.push(
        "sizes of the small configuration with the block sizes a device of this architecture would get".to_owned(),
    );
    table.notes.push(
        "AMD's own compiler decides for itself: its figures can differ by a few registers"
            .to_owned(),
    );
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiled::facts::recorded as table_of_this_build;

    const ALL: Selection<'static> = Selection {
        operations: &["rmsnorm", "flash_attention"],
        dtype: None,
        json: false,
    };

    #[test]
    fn architectures_are_named_one_by_one_or_all_at_once() {
        assert_eq!(targets("all").unwrap().len(), ARCHITECTURES.len());
        let two = targets("gfx942, gfx1100").unwrap();
        assert_eq!(
            two.iter().map(Target::to_string).collect::<Vec<_>>(),
            ["gfx942", "gfx1100"]
        );
        let error = targets("gfx1").unwrap_err();
        assert!(error.is::<UsageError>(), "{error}");
    }

    #[test]
    fn kernels_are_found_by_their_own_name_and_by_operation() {
        let target = Target::hip("gfx1100").unwrap();
        let kernels = |name| -> Vec<String> {
            named(&target, name, &ALL)
                .unwrap()
                .into_iter()
                .map(|candidate| format!("{} {}", candidate.launch.kernel, candidate.dtype))
                .collect()
        };
        assert_eq!(kernels("rmsnorm_forward"), ["rmsnorm_forward f32"]);
        assert_eq!(
            kernels("rmsnorm"),
            [
                "rmsnorm_forward f32",
                "rmsnorm_backward f32",
                "column_sums f32"
            ]
        );
        let error = named(&target, "rmsnorm_sideways", &ALL).unwrap_err();
        assert!(
            error.to_string().contains("flash_attention_forward"),
            "{error}"
        );
    }

    /// What a learner without clang reads: every kernel, with what limits it, labelled as compiled.
    #[test]
    fn the_recorded_table_covers_every_kernel() {
        let facts = table_of_this_build().unwrap();
        for architecture in ARCHITECTURES {
            let table = text_table(&facts, architecture);
            assert!(table.title.contains("never measured"));
            assert!(
                table.rows.len() > 40,
                "{architecture}: {}",
                table.rows.len()
            );
            for row in &table.rows {
                assert!(!row.contains(&"not known".to_owned()), "{row:?}");
            }
        }
    }
}
