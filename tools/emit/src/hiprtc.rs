//! Compiles every kernel with AMD's run-time compiler, with this program's options. It needs no GPU.

use std::collections::HashSet;
use std::io::{self, Write};
use std::time::Instant;

use anyhow::Result;
use clap::ValueEnum;
use tinyllama_base::architecture;
use tinyllama_base::terminal::Stdout;
use tinyllama_contract::flags::UsageError;
use tinyllama_contract::model::Preset;
use tinyllama_contract::model::kernels::TYPICAL;
use tinyllama_engine::device::driver::{
    self, CompileRequest, DriverError, GemmPrecision, Properties, RuntimeCompiler, Vendor,
};
use tinyllama_engine::targets::v4;
use tinyllama_learner_kernels::gpu;
use tinyllama_workbench::compiled::facts::RECORDED_ARCHITECTURES;
use tinyllama_workbench::exercise::{Exercise, exercises};
use tinyllama_workbench::file::KernelFile;
use tinyllama_workbench::source::SOURCE;

use crate::candidates;
use crate::selection::{KernelSelection, V4};
use crate::source::Target;

/// Compute units of a device that cubecl emits no sources for: the number of an MI350X. Block sizes depend on it.
const UNLISTED_COMPUTE_UNITS: u32 = 256;

/// A module to compile, with its name for messages.
struct ModuleSource {
    label: String,
    source: driver::SourceCode,
}

struct CompiledModule {
    architecture: String,
    compiler: String,
    modules: usize,
    seconds: f64,
    refused: Vec<CompileRefusal>,
}

struct CompileRefusal {
    kernel: String,
    log: String,
}

/// Compiles the modules for a device of each architecture in `named`: those of typical sizes, or all.
///
/// # Errors
/// If an architecture is unknown, or there is no compiler. What the compiler refuses is printed, and makes the result false.
pub fn compile(named: &str, all: bool, selection: &KernelSelection) -> Result<bool> {
    let architectures: Vec<&str> = match named {
        "all" => RECORDED_ARCHITECTURES.to_vec(),
        named => named.split(',').map(str::trim).collect(),
    };
    let mut passed = true;
    for architecture in architectures {
        let mut properties = offline(architecture)?;
        let compiler = compiler(&mut properties).map_err(|error| {
            let remedy = error.remedy();
            anyhow::Error::new(error).context(remedy)
        })?;
        let compiled = compile_for(&compiler, &properties, all, selection)?;
        passed &= compiled.refused.is_empty();
        print(&mut Stdout, &compiled)?;
    }
    Ok(passed)
}

fn print(out: &mut impl Write, compiled: &CompiledModule) -> io::Result<()> {
    let CompiledModule {
        architecture,
        compiler,
        modules,
        seconds,
        refused,
    } = compiled;
    for CompileRefusal { kernel, log } in refused {
        writeln!(out, "{kernel} does not compile for {architecture}:\n{log}")?;
    }
    let taken = modules - refused.len();
    writeln!(
        out,
        "{architecture}: {taken} of {modules} modules compile with {compiler} ({seconds:.0} s); none was run"
    )
}

/// The properties of a device with this architecture, as far as sources depend on them.
fn offline(name: &str) -> Result<Properties> {
    if let Ok(target) = Target::hip(name) {
        return Ok(candidates::offline(&target));
    }
    let Some(known) = architecture::find(name) else {
        let known = RECORDED_ARCHITECTURES.join(", ");
        return Err(UsageError(format!(
            "`{name}` is not a known architecture; take one such as {known}"
        ))
        .into());
    };
    Ok(Properties::offline(
        name,
        known.wave_size,
        UNLISTED_COMPUTE_UNITS,
    ))
}

/// Loads AMD's compiler. Its version is that of the HIP in the same installation.
fn compiler(properties: &mut Properties) -> driver::Result<RuntimeCompiler> {
    if let Some(version) = driver::inventory(Vendor::Amd)?.driver {
        properties.driver = version;
    }
    RuntimeCompiler::load(properties)
}

fn compile_for(
    compiler: &RuntimeCompiler,
    properties: &Properties,
    all: bool,
    selection: &KernelSelection,
) -> Result<CompiledModule> {
    let started = Instant::now();
    let modules = modules(properties, all, selection)?;
    let mut refused = vec![];
    for ModuleSource { label, source } in &modules {
        match compiler.compile(&CompileRequest::new(source, properties)) {
            // An empty result is not a code object.
            Ok(code) if !code.is_empty() => {}
            Ok(_) => refused.push(CompileRefusal {
                kernel: label.clone(),
                log: "it produced no code".into(),
            }),
            Err(DriverError::Compile { log, .. }) => refused.push(CompileRefusal {
                kernel: label.clone(),
                log,
            }),
            Err(error) => refused.push(CompileRefusal {
                kernel: label.clone(),
                log: error.to_string(),
            }),
        }
    }
    Ok(CompiledModule {
        architecture: properties.arch.clone(),
        compiler: compiler.version()?,
        modules: modules.len(),
        seconds: started.elapsed().as_secs_f64(),
        refused,
    })
}

/// Every text once: cubecl's kernels if cubecl knows the architecture, V4's kernels, and the workbench's solutions.
fn modules(
    properties: &Properties,
    all: bool,
    selection: &KernelSelection,
) -> Result<Vec<ModuleSource>> {
    let mut modules = vec![];
    if let Ok(target) = Target::hip(&properties.arch) {
        let emitted = candidates::candidates(&target, all)?;
        let emitted = emitted.into_iter().filter(|one| one.operation != V4);
        let wanted = emitted.filter(|one| selection.takes(one.operation, one.dtype));
        modules.extend(wanted.map(|one| ModuleSource {
            label: format!("{} in {} ({})", one.launch.kernel, one.dtype, one.case),
            source: driver::SourceCode::new(one.launch.kernel, one.launch.source),
        }));
    }
    if selection.has_operation(V4) {
        modules.extend(v4_modules(properties, all, selection));
        modules.extend(solutions()?);
    }
    let mut seen = HashSet::new();
    modules
        .retain(|module| seen.insert((module.source.text.clone(), module.source.defines.clone())));
    Ok(modules)
}

fn v4_modules(
    properties: &Properties,
    all: bool,
    selection: &KernelSelection,
) -> Vec<ModuleSource> {
    let mut modules = vec![];
    let presets = Preset::value_variants().iter();
    for preset in presets.filter(|preset| all || **preset == TYPICAL) {
        for precision in GemmPrecision::ALL {
            // Only gfx942 offers products with tf32 operands.
            let offered = precision != GemmPrecision::Tf32 || properties.arch == "gfx942";
            if !offered || !selection.takes(V4, precision.name()) {
                continue;
            }
            let sources = v4::sources(&preset.config(), precision, properties);
            modules.extend(sources.into_iter().flatten().map(|source| ModuleSource {
                label: format!("v4 in {} ({preset})", precision.name()),
                source,
            }));
        }
    }
    modules
}

/// The workbench's solutions, prepared like a learner's file.
fn solutions() -> Result<Vec<ModuleSource>> {
    let solution = |exercise: &Exercise| {
        let file = KernelFile {
            path: exercise.file_name().into(),
            text: exercise.solution()?.to_owned(),
        };
        Ok(ModuleSource {
            label: format!("the workbench's solution {}", exercise.name),
            source: driver::SourceCode::new(SOURCE, gpu::source(&file)),
        })
    };
    exercises()?.iter().map(solution).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_architecture_is_a_usage_error() {
        let error = offline("gfx9999").err().unwrap();
        assert!(error.is::<UsageError>(), "{error}");
        // The program knows it; cubecl does not.
        assert_eq!(offline("gfx950").unwrap().plane_size, 64);
    }
}
