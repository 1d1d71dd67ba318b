//! One case of an exercise with its numbers: filled buffers and sized launches.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use tinyllama_kernel_catalog::adamw::{Factors, Hyperparameters};
use tinyllama_kernel_catalog::check::Random;

use super::exercise::{Exercise, KernelParameter, LaunchText, NamedSizes};
use tinyllama_base::Expression;
use tinyllama_contract::LaunchShape;
use tinyllama_machine::{Argument, BufferId, Launch};

/// Largest number of elements in a case, so that a mistyped size does not fill the memory.
const MOST_ELEMENTS: usize = 1 << 30;

/// Number of sizes that are drawn to find some that the exercise allows.
const DRAWS: usize = 200;

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A case that is ready to run.
#[derive(Debug)]
pub struct PreparedCase<'a> {
    pub exercise: &'a Exercise,
    pub wave: u32,
    pub sizes: NamedSizes,
    pub buffers: Vec<CaseBuffer<'a>>,
    pub launches: Vec<Planned<'a>>,
}

/// An array of words of four bytes.
#[derive(Debug)]
pub struct CaseBuffer<'a> {
    pub argument: &'a KernelParameter,
    pub elements: usize,
    /// Bits of each element. `None` if it starts unwritten.
    pub bits: Option<Vec<u32>>,
}

/// A launch with its numbers.
#[derive(Debug)]
pub struct Planned<'a> {
    pub entry: &'a str,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub arguments: Vec<KernelArgument>,
}

impl<'a> Planned<'a> {
    /// Returns the launch in the emulator, on these buffers of the case.
    pub(crate) fn launch(&self, buffers: &[BufferId]) -> Launch<'a> {
        let arguments = self.arguments.iter().map(|passed| match passed {
            KernelArgument::Buffer(index) => Argument::Buffer(buffers[*index]),
            KernelArgument::Word(word) => Argument::Word(*word),
        });
        let mut launch = Launch::new(self.entry, self.grid, self.block, arguments.collect());
        launch.dynamic_lds = self.shared as usize;
        launch
    }
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelArgument {
    /// Index of a buffer.
    Buffer(usize),
    /// Bits of a number.
    Word(u32),
}

/// Converts a number to the bits that a kernel receives.
fn bits(value: f64, float: bool) -> u32 {
    match float {
        true => (value as f32).to_bits(),
        false => (value as i32).cast_unsigned(),
    }
}

impl<'a> PreparedCase<'a> {
    /// Builds a case with filled buffers.
    ///
    /// # Errors
    /// Fails if a formula of the exercise does not give a valid value.
    pub fn new(exercise: &'a Exercise, sizes: &NamedSizes, wave: u32) -> Result<PreparedCase<'a>> {
        PreparedCase::salted(exercise, sizes, wave, Some(0))
    }

    /// Draws up to `count` sizes that no case has: whole multiples of what the sizes of all cases have in common, up to
    /// the largest.
    pub fn draw(exercise: &Exercise, seed: u64, count: usize) -> Vec<NamedSizes> {
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let names: Vec<&String> = exercise
            .cases
            .iter()
            .take(1)
            .flat_map(BTreeMap::keys)
            .collect();
        let mut draw = |name: &String| -> f64 {
            let mut pick = |count: usize| (random.share() * count as f64) as usize;
            if let Some(values) = exercise.drawn.get(name) {
                return values.get(pick(values.len())).copied().unwrap_or(0.0);
            }
            let values = exercise.cases.iter().filter_map(|case| case.get(name));
            let values: Vec<u64> = values.map(|value| *value as u64).collect();
            let unit = values
                .iter()
                .fold(0, |unit, value| gcd(unit, *value))
                .max(1);
            let most = values.into_iter().max().unwrap_or(unit) / unit;
            (unit * (1 + pick(most as usize) as u64)) as f64
        };
        let largest = exercise
            .cases
            .iter()
            .filter_map(|sizes| {
                PreparedCase::empty(exercise, sizes.clone(), 64)
                    .costs()
                    .ok()
            })
            .map(|(bytes, _)| bytes)
            .fold(0.0, f64::max);
        let mut drawn: Vec<NamedSizes> = vec![];
        for _ in 0..DRAWS {
            let sizes = names.iter().map(|name| ((*name).clone(), draw(name)));
            let sizes: NamedSizes = sizes.collect();
            let case = PreparedCase::empty(exercise, sizes.clone(), 64);
            let is_kept = |formula: &Expression| case.size(formula).is_ok();
            let is_allowed = exercise.sizes.iter().all(is_kept)
                && case.costs().is_ok_and(|(bytes, _)| bytes <= largest);
            let is_new = !exercise.cases.contains(&sizes) && !drawn.contains(&sizes);
            if is_allowed && is_new && drawn.len() < count {
                drawn.push(sizes);
            }
        }
        drawn
    }

    fn empty(exercise: &'a Exercise, sizes: NamedSizes, wave: u32) -> PreparedCase<'a> {
        PreparedCase {
            exercise,
            wave,
            sizes,
            buffers: vec![],
            launches: vec![],
        }
    }

    /// Builds a case like [`PreparedCase::new`], with different numbers in the buffers for every `salt`. Without one the
    /// buffers stay empty, for callers that only need shapes.
    ///
    /// # Errors
    /// Fails like [`PreparedCase::new`].
    pub fn salted(
        exercise: &'a Exercise,
        sizes: &NamedSizes,
        wave: u32,
        salt: Option<u64>,
    ) -> Result<PreparedCase<'a>> {
        let mut problem = PreparedCase::empty(exercise, sizes.clone(), wave);
        for (index, argument) in exercise.arguments.iter().enumerate() {
            if argument.kind.is_buffer() {
                let buffer = problem.buffer(argument, salt.map(|salt| salt ^ index as u64))?;
                problem.buffers.push(buffer);
            }
        }
        for launch in &exercise.launches {
            let arguments = launch.arguments.iter().map(|name| problem.passed(name));
            let arguments = arguments.collect::<Result<Vec<KernelArgument>>>()?;
            let (grid, block, shared) = problem.shape_of(launch)?;
            problem.launches.push(Planned {
                entry: &launch.entry,
                grid,
                block,
                shared,
                arguments,
            });
        }
        Ok(problem)
    }

    /// Replaces a number of this name in every launch.
    pub fn set_number(&mut self, name: &str, value: f32) {
        for (planned, launch) in self.launches.iter_mut().zip(&self.exercise.launches) {
            for (passed, argument) in planned.arguments.iter_mut().zip(&launch.arguments) {
                if argument == name {
                    *passed = KernelArgument::Word(value.to_bits());
                }
            }
        }
    }

    /// Computes the first launch of an exercise for these sizes.
    ///
    /// # Errors
    /// Fails if a formula cannot be computed.
    pub fn launch_shape(exercise: &Exercise, sizes: NamedSizes, wave: u32) -> Result<LaunchShape> {
        let problem = PreparedCase::empty(exercise, sizes, wave);
        let launch = exercise.launches.first();
        let launch = launch.ok_or_else(|| anyhow!("{}: no launch", exercise.name))?;
        problem.shape_of(launch)
    }

    fn shape_of(&self, launch: &LaunchText) -> Result<LaunchShape> {
        let shared = launch.shared.as_ref();
        let shared = shared.map_or(Ok(0), |shared| self.size(shared))?;
        let (grid, block) = (self.three(&launch.grid)?, self.three(&launch.block)?);
        Ok((grid, block, u32::try_from(shared)?))
    }

    /// Formats `rows 4, width 256`.
    pub fn describe(&self) -> String {
        let sizes = self.sizes.iter();
        itertools::join(sizes.map(|(name, value)| format!("{name} {value}")), ", ")
    }

    /// Returns the least bytes and operations of the case.
    ///
    /// # Errors
    /// Fails if a formula cannot be computed.
    pub fn costs(&self) -> Result<(f64, f64)> {
        let Exercise { bytes, flops, .. } = self.exercise;
        Ok((self.value(bytes)?, self.value(flops)?))
    }

    fn value(&self, formula: &Expression) -> Result<f64> {
        let value = formula.evaluate(&|name| self.name(name));
        value.map_err(|error| anyhow!("{}: {error}", self.exercise.name))
    }

    /// Returns a size of the case, or the wave size.
    pub(super) fn name(&self, name: &str) -> Option<f64> {
        match name {
            "wave" => Some(f64::from(self.wave)),
            _ => self.sizes.get(name).copied(),
        }
    }

    pub(super) fn size(&self, formula: &Expression) -> Result<usize> {
        let size = formula.size(&|name| self.name(name));
        size.map_err(|error| anyhow!("{}: {error}", self.exercise.name))
    }

    fn three(&self, sides: &[Expression]) -> Result<[u32; 3]> {
        let mut three = [1; 3];
        for (side, formula) in three.iter_mut().zip(sides) {
            *side = u32::try_from(self.size(formula)?)?.max(1);
        }
        Ok(three)
    }

    pub fn passed(&self, name: &str) -> Result<KernelArgument> {
        let mut buffers = self.buffers.iter();
        if let Some(index) = buffers.position(|buffer| buffer.argument.name == name) {
            return Ok(KernelArgument::Buffer(index));
        }
        let value = self.number(name)?;
        let argument = self.exercise.argument(name);
        let is_float = argument.is_some_and(|one| one.kind.is_float());
        Ok(KernelArgument::Word(bits(value, is_float)))
    }

    /// Returns a number among the arguments.
    pub(super) fn number(&self, name: &str) -> Result<f64> {
        let argument = self.exercise.argument(name);
        let formula = argument.and_then(|argument| argument.value.as_ref());
        let exercise = &self.exercise.name;
        let none = || anyhow!("{exercise}: `{name}` is not an argument with a value");
        self.value(formula.ok_or_else(none)?)
    }

    fn buffer(&self, argument: &'a KernelParameter, seed: Option<u64>) -> Result<CaseBuffer<'a>> {
        let name = &argument.name;
        let size = argument.size.as_ref();
        let size = size.ok_or_else(|| anyhow!("{}: `{name}` has no size", self.exercise.name))?;
        let elements = self.size(size)?;
        let before: usize = self.buffers.iter().map(|buffer| buffer.elements).sum();
        if before.saturating_add(elements) > MOST_ELEMENTS {
            let exercise = &self.exercise.name;
            bail!("{exercise}: {elements} elements of `{name}` are too many");
        }
        let filled = argument.values.as_deref().zip(seed);
        let words = filled.map(|(values, seed)| {
            self.values(values, elements, seed, argument.kind.is_float())
                .map_err(|error| anyhow!("{}: values of `{name}`: {error}", self.exercise.name))
        });
        Ok(CaseBuffer {
            argument,
            elements,
            bits: words.transpose()?,
        })
    }

    fn values(
        &self,
        text: &str,
        elements: usize,
        seed: u64,
        float: bool,
    ) -> Result<Vec<u32>, String> {
        let (kind, rest) = text.split_once('(').ok_or("no parentheses")?;
        let inside = rest.trim_end().strip_suffix(')');
        let inside = inside.ok_or("no `)` at the end")?;
        let value = |text: &str| -> Result<f64, String> {
            let formula: Expression =
                serde_yaml::from_str(&format!("{text:?}")).map_err(|e| e.to_string())?;
            formula.evaluate(&|name| self.name(name))
        };
        let range = || -> Result<[f64; 2], String> {
            let (low, high) = inside.split_once(',').ok_or("two numbers are needed")?;
            Ok([value(low)?, value(high)?])
        };
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed);
        let filled = |mut one: Box<dyn FnMut(usize) -> f64 + '_>| {
            (0..elements).map(|i| bits(one(i), float)).collect()
        };
        Ok(match kind.trim() {
            "uniform" => {
                let [low, high] = range()?;
                filled(Box::new(|_| low + (high - low) * random.share()))
            }
            "integers" => {
                let [low, high] = range()?;
                filled(Box::new(|_| (low + (high - low) * random.share()).floor()))
            }
            // Odd numbers from -n to n for an odd n. No quotient by n lies half-way between two steps.
            "odd" => {
                let n = value(inside)?;
                filled(Box::new(|_| 2.0 * (random.share() * (n + 1.0)).floor() - n))
            }
            "constant" => {
                let constant = value(inside)?;
                filled(Box::new(|_| constant))
            }
            "index" => filled(Box::new(|i| i as f64)),
            "rotary" => {
                let features = value(inside)? as usize;
                let table = tinyllama_kernel_catalog::rope::table(
                    elements / features.max(1),
                    features,
                    tinyllama_contract::model::ROTARY_BASE,
                );
                filled(Box::new(|i| table.get(i).copied().map_or(0.0, f64::from)))
            }
            "adamw" => {
                let usual = Hyperparameters {
                    learning_rate: 1e-3,
                    beta1: 0.9,
                    beta2: 0.95,
                    epsilon: 1e-8,
                    weight_decay: 0.1,
                };
                let factors = Factors::new(&usual, 3).to_array();
                filled(Box::new(|i| factors.get(i).copied().map_or(0.0, f64::from)))
            }
            other => return Err(format!("`{other}` is unknown")),
        })
    }

    /// Returns a size of the case, or 0 if the case has none of that name.
    pub fn extent(&self, name: &str) -> usize {
        self.name(name).map_or(0, |value| value as usize)
    }
}
