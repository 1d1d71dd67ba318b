//! Shows for every size at once that no two threads of a kernel write one element, and that no thread writes outside an
//! array. "Not proven" is an answer.
//!
//! A compiler for AMD GPUs gives the kernel in LLVM's form ([`ir`]). [`kernel`] follows whole numbers as polynomials over
//! sizes, threads and rounds of loops ([`symbols`], [`poly`]), [`distinct`] compares indices, and [`size`] looks for the
//! smallest sizes at which what was not proven goes wrong.

mod access;
mod distinct;
mod ir;
mod kernel;
mod poly;
mod size;
mod symbols;
#[cfg(test)]
mod tests;

use serde::Serialize;
use tinyllama_base::named;

use self::access::{Access, AccessKind, accesses};
use self::distinct::are_distinct;
use self::ir::Module;
use self::kernel::Kernel;
use self::size::{Suspect, smallest};
use self::symbols::{Places, Symbols};
use super::amd;
use super::exercise::{Exercise, LaunchText, NamedSizes};
use super::file::KernelFile;
use super::finding::KernelFinding;
use crate::compiled::compiler::Compiler;

const PROVEN: &str = "proven that no two threads write one element, none reads what another one writes, and none \
    writes outside an array (up to 2^30 elements and threads).";

/// The proof follows no function with more basic blocks.
const MOST_BLOCKS: usize = 4000;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ProofAnswer {
        Proven = "proven",
        NotProven = "not proven",
        /// The stand-in showed a fault at a size that the proof found.
        Refuted = "refuted",
    }
}

/// What holds of a kernel at every size up to 2^30 elements of an array and threads of a launch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EverySize {
    pub answer: ProofAnswer,
    /// Line of the file that is not proven.
    pub line: Option<u32>,
    pub why: String,
    /// Sizes at which it may go wrong.
    #[serde(skip)]
    pub sizes: Option<NamedSizes>,
}

impl EverySize {
    pub fn is_proven(&self) -> bool {
        self.answer == ProofAnswer::Proven
    }

    /// The same after `finding` was seen in a case of the failed sizes.
    pub fn refuted(self, case: &str, finding: &KernelFinding) -> EverySize {
        let why = format!("with {case}: {}", finding.message);
        EverySize {
            answer: ProofAnswer::Refuted,
            line: finding.line,
            why,
            ..self
        }
    }

    /// One sentence.
    pub fn text(&self) -> String {
        let line = self
            .line
            .map_or(String::new(), |line| format!(" in line {line}"));
        let answer = match self.answer {
            ProofAnswer::Proven => PROVEN.to_owned(),
            ProofAnswer::NotProven => format!("not proven{line}: {}.", self.why),
            ProofAnswer::Refuted => format!("wrong{line} {}.", self.why),
        };
        format!("For every size: {answer}")
    }

    fn not_proven(line: Option<u32>, why: impl Into<String>) -> EverySize {
        EverySize {
            answer: ProofAnswer::NotProven,
            line,
            why: why.into(),
            sizes: None,
        }
    }
}

/// Tries the proof for waves of 64 or 32 lanes. `None` means that no compiler on this machine knows AMD GPUs.
pub fn prove(exercise: &Exercise, file: &KernelFile, wave: u32) -> Option<EverySize> {
    let compiler = Compiler::find().ok()?;
    let architecture = if wave == 64 { "gfx942" } else { "gfx1100" };
    let Ok(text) = compiler.intermediate(&exercise.name, &amd::source(file), architecture) else {
        return Some(EverySize::not_proven(
            None,
            "the file does not compile for AMD GPUs",
        ));
    };
    let module = Module::parse(&text);
    let launches = exercise
        .launches
        .iter()
        .map(|launch| prove_launch(exercise, launch, &module, wave));
    let mut failed: Vec<EverySize> = launches.filter_map(Result::err).collect();
    // A size that can be tried says more.
    failed.sort_by_key(|one| one.sizes.is_none());
    let proven = EverySize {
        answer: ProofAnswer::Proven,
        ..EverySize::not_proven(None, "")
    };
    Some(failed.into_iter().next().unwrap_or(proven))
}

fn prove_launch(
    exercise: &Exercise,
    launch: &LaunchText,
    module: &Module<'_>,
    wave: u32,
) -> Result<(), EverySize> {
    let refused = |why: &str| EverySize::not_proven(None, why);
    let function = module.functions.get(launch.entry.as_str());
    let function = function.filter(|one| one.blocks.len() <= MOST_BLOCKS);
    let function = function.ok_or_else(|| refused("the kernel has too many branches"))?;
    let prepared = prepare(exercise, launch, wave);
    let (mut symbols, places) = prepared.ok_or_else(|| refused("a size is no polynomial"))?;
    let arguments = launch.arguments.iter().enumerate();
    let arguments = arguments.map(|(at, name)| symbols.argument(exercise, name, at));
    let (values, lengths): (Vec<_>, Vec<_>) = arguments.map(Option::unzip).unzip();
    let sides = places.0.clone();
    let mut kernel = Kernel::new(module, function, symbols, places, values);
    let accesses = accesses(&mut kernel)?;
    let symbols = &kernel.symbols;
    let failed = |access: &Access, why: &str, suspect: Suspect| {
        let why = format!("{why} of {}", launch.arguments[access.array]);
        let sizes = smallest(symbols, &suspect, &sides, &exercise.cases[0]);
        EverySize {
            sizes,
            ..EverySize::not_proven(access.line, why)
        }
    };
    for access in &accesses {
        let index = &access.index;
        let length = lengths[access.array].clone().unwrap_or_default();
        let inside = [index.poly.clone(), &length.plus_number(-1) - &index.poly];
        let is_inside =
            access.kind == AccessKind::Read || inside.iter().all(|one| index.holds(symbols, one));
        if !access.is_exact || !is_inside {
            let why = match access.is_exact {
                true => "a thread may write outside the elements",
                false => "32 bits may be too few for the index",
            };
            let suspect = Suspect {
                indices: vec![index],
                past: Some(&length),
            };
            return Err(failed(access, why, suspect));
        }
    }
    for (at, a) in accesses.iter().enumerate() {
        for b in accesses[at..].iter().filter(|b| a.may_race(b)) {
            let both = [&a.index, &b.index];
            if !are_distinct(symbols, both) {
                let suspect = Suspect {
                    indices: both.to_vec(),
                    past: None,
                };
                let read = [a, b].iter().any(|one| one.kind == AccessKind::Read);
                let why = match read {
                    true => "a thread may read what another one writes",
                    false => "two threads may write one element",
                };
                return Err(failed(a, why, suspect));
            }
        }
    }
    Ok(())
}

fn prepare(exercise: &Exercise, launch: &LaunchText, wave: u32) -> Option<(Symbols, Places)> {
    let mut symbols = Symbols::of_exercise(exercise, wave)?;
    let places = symbols.places(exercise, launch)?;
    Some((symbols, places))
}
