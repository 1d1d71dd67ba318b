//! Asks a compiler which resources of an AMD GPU a learner's kernel takes: registers, local memory, waves, spills. Nothing
//! runs.

use std::sync::Mutex;

use anyhow::Result;

use super::exercise::Exercise;
use super::file::KernelFile;
use super::problem::PreparedCase;
use super::source::source;
use crate::compiled::assembly;
use crate::compiled::compiler::{Compiler, CompilerError};
use crate::compiled::facts::KernelFacts;

/// Architectures whose resources a check shows: CDNA 2, 3 and 4 with waves of 64, RDNA 3 with waves of 32.
pub const ARCHITECTURES: [&str; 4] = ["gfx90a", "gfx942", "gfx950", "gfx1100"];

/// The architecture whose instructions are counted.
pub const COUNTED: &str = "gfx942";

/// What a learner may change to see what the compiler answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Threads of a workgroup, instead of those that the exercise launches.
    pub block: Option<u32>,
    /// Replaces every `__launch_bounds__`.
    pub launch_bounds: Option<u32>,
    /// Unrolls every loop that often.
    pub unroll: Option<u32>,
}

impl Tuning {
    fn flags(self) -> Vec<String> {
        let bounds = self.launch_bounds.map(|threads| {
            [
                "-DTUTOR_NO_BOUNDS=1".to_owned(),
                format!("--gpu-max-threads-per-block={threads}"),
            ]
        });
        let unroll = self
            .unroll
            .map(|times| ["-mllvm".to_owned(), format!("-unroll-count={times}")]);
        bounds.into_iter().chain(unroll).flatten().collect()
    }
}

/// What a compiler makes of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compiled {
    /// Every kernel on every architecture.
    pub kernels: Vec<KernelFacts>,
    /// Architectures without figures, and the reason.
    pub missing: Vec<(String, String)>,
    /// The assembly whose instructions are counted.
    pub(crate) counted: Option<String>,
}

/// Compiles `file` for every architecture, two at a time. After a file that keeps the compiler busy, no other is tried.
/// `say` receives the number of architectures that are done.
///
/// # Errors
/// Fails if a formula of the exercise cannot be computed, or the compiler's assembly cannot be read.
pub fn compile(
    compiler: &Compiler,
    exercise: &Exercise,
    file: &KernelFile,
    tuning: Tuning,
    say: &(dyn Fn(usize) + Sync),
) -> Result<Compiled> {
    let source = source(file);
    let flags = tuning.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let todo = Mutex::new(ARCHITECTURES.iter());
    let assemblies = Mutex::new(vec![]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let next = || todo.lock().ok().and_then(|mut todo| todo.next());
                while let Some(architecture) = next() {
                    let done = compiler.assembly(&exercise.name, &source, architecture, &flags);
                    if matches!(done, Err(CompilerError::Stopped { .. }))
                        && let Ok(mut todo) = todo.lock()
                    {
                        todo.by_ref().for_each(drop);
                    }
                    if let Ok(mut all) = assemblies.lock() {
                        all.push((*architecture, done));
                        say(all.len());
                    }
                }
            });
        }
    });
    let mut all = assemblies.into_inner().unwrap_or_default();
    all.sort_by_key(|(name, _)| ARCHITECTURES.iter().position(|one| one == name));
    let mut compiled = Compiled::default();
    for (architecture, done) in all {
        let assembly = match done {
            Ok(assembly) => assembly,
            Err(error) => {
                let why = why_missing(&error);
                compiled.missing.push((architecture.to_owned(), why));
                continue;
            }
        };
        let wave = if architecture.starts_with("gfx9") {
            64
        } else {
            32
        };
        let problem = PreparedCase::salted(exercise, &exercise.bench, wave, None)?;
        for launch in &problem.launches {
            let (resources, fixed) = assembly::resources(&assembly, launch.entry)?;
            let threads = launch.block.iter().product();
            compiled.kernels.push(KernelFacts {
                architecture: architecture.to_owned(),
                operation: exercise.name.clone(),
                kernel: launch.entry.to_owned(),
                dtype: "f32".into(),
                case: problem.describe(),
                threads: tuning.block.unwrap_or(threads),
                lds_bytes: fixed + launch.shared,
                resources,
                source: file.digest(),
            });
        }
        if architecture == COUNTED {
            compiled.counted = Some(assembly);
        }
    }
    Ok(compiled)
}

fn why_missing(error: &CompilerError) -> String {
    match error {
        CompilerError::Refused { .. } => "the file does not compile for it".into(),
        error => error.to_string(),
    }
}
