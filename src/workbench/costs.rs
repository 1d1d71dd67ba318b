//! What a kernel costs on an AMD GPU: instructions, memory, local memory.
//!
//! The compiler and the emulator count; nothing was run on a GPU, and counts give no time.

use serde::Serialize;
use tinyllama_machine::{Observer, Program, Step};

use super::exercise::{Exercise, NamedSizes};
use super::judge::own_line;
use super::machine;
use super::picture::{AccessPicture, WavePictures};
use super::problem::PreparedCase;

pub use super::amd::COUNTED;

/// A sum over one case, and the source line that has the largest part of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spent {
    pub all: u64,
    /// Elements of the largest array for instructions, else the fewest lines or passes.
    pub needed: u64,
    pub line: Option<u32>,
    pub of_line: u64,
}

/// The costs of a kernel in the first case of its exercise.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KernelCosts {
    /// Instructions that a lane takes part in, at `-O3` on [`COUNTED`].
    pub instructions: Option<Spent>,
    /// The largest array.
    pub array: String,
    /// Cache lines of 128 bytes.
    pub memory: Option<Spent>,
    /// Passes through the banks.
    pub local: Option<Spent>,
}

/// Counts the executions of each instruction.
#[derive(Default)]
struct Executions(Vec<u64>);

impl Observer for Executions {
    fn step(&mut self, step: &Step<'_>) {
        let at = step.pc as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        self.0[at] += 1;
    }
}

/// Counts the instructions of a case. `None` if the emulator cannot execute the code to its end.
pub(super) fn instructions(
    assembly: &str,
    exercise: &Exercise,
    sizes: &NamedSizes,
) -> Option<Spent> {
    let program = Program::parse(assembly).ok()?;
    let wave = u32::try_from(program.wave_size).ok()?;
    let problem = PreparedCase::new(exercise, sizes, wave).ok()?;
    let mut executions = Executions::default();
    let executed = machine::execute(&program, &problem, &mut executions).ok()?;
    let of_lines = executions.0.iter().zip(&program.instructions);
    let of_lines = of_lines.map(|(times, one)| (own_line(&program, one.location), *times));
    let lanes = program.wave_size as u64;
    let elements = problem.buffers.iter().map(|one| one.elements).max()?;
    let parts = of_lines.map(|(line, times)| (line, times * lanes, times * lanes));
    executed.error.is_none().then(|| Spent {
        needed: elements as u64,
        ..spent(parts)
    })
}

/// Adds parts of a line: what it spends, and what counts for the costliest line.
fn spent(parts: impl Iterator<Item = (Option<u32>, u64, u64)>) -> Spent {
    let (mut all, mut lines) = (0, std::collections::BTreeMap::<u32, u64>::new());
    for (line, part, weight) in parts {
        all += part;
        if let Some(line) = line {
            *lines.entry(line).or_default() += weight;
        }
    }
    let most = lines.into_iter().rev().max_by_key(|(_, weight)| *weight);
    Spent {
        all,
        needed: 0,
        line: most.map(|(line, _)| line),
        of_line: most.map_or(0, |(_, weight)| weight),
    }
}

/// Adds up pictures, with what they touch and need.
fn of_pictures(
    pictures: &[AccessPicture],
    local: bool,
    figures: fn(&AccessPicture) -> (u64, u64),
) -> Option<Spent> {
    let of_kind = || pictures.iter().filter(|one| one.local == local);
    let parts = of_kind().map(|one| {
        let (touched, needed) = figures(one);
        (Some(one.line), touched, touched.saturating_sub(needed))
    });
    let needed = of_kind().map(|one| figures(one).1).sum();
    of_kind().next().is_some().then(|| Spent {
        needed,
        ..spent(parts)
    })
}

impl KernelCosts {
    pub(super) fn new(
        pictures: &[WavePictures],
        instructions: Option<Spent>,
        problem: &PreparedCase<'_>,
    ) -> KernelCosts {
        let largest = problem.buffers.iter().rev().max_by_key(|one| one.elements);
        let first = pictures.first().map_or(&[][..], |one| &one.pictures);
        KernelCosts {
            instructions,
            array: largest.map_or(String::new(), |one| one.argument.name.clone()),
            memory: of_pictures(first, false, |one| (one.lines, one.fewest)),
            local: of_pictures(first, true, |one| (one.passes, one.groups)),
        }
    }
}
