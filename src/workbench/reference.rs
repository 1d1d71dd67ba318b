//! Computes the correct results of an exercise: compiles its `reference.hip` and executes it in the emulator, in f64. A
//! check on a GPU executes it there.

use anyhow::{Result, anyhow, bail};
use tinyllama_machine::{Argument, Checks, Launch, LaunchError, Machine, Memory, Program};

use super::exercise::Exercise;
use super::file::KernelFile;
use super::judge::{BUDGET, of_error};
use super::problem::{KernelArgument, PreparedCase};
use super::source::source;
use crate::compiled::compiler::{Compiler, CompilerError};

/// File name in the exercise's folder.
const FILE: &str = "reference.hip";

/// Name of the kernel in every reference.
pub const KERNEL: &str = "reference";

/// Mathematics in f64.
const HEADER: &str = include_str!("reference.h");

/// The architecture that references are compiled for. Every usable compiler knows it.
const ARCHITECTURE: &str = "gfx942";

/// Number of threads of a workgroup.
pub const BLOCK: u32 = 64;

/// The correct elements of every output, by its name.
pub type Expected<'a> = Vec<(&'a str, Vec<f64>)>;

/// An exercise's reference as machine code.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'a>(&'a Program);

impl<'a> Reference<'a> {
    /// Compiles the reference of `exercise`, once in a process.
    ///
    /// # Errors
    /// Fails if the compiler cannot be started, or the file is missing or does not compile.
    pub fn compile(compiler: &Compiler, exercise: &'a Exercise) -> Result<Reference<'a>> {
        if let Some(program) = exercise.reference_program.get() {
            return Ok(Reference(program));
        }
        let program = program(compiler, &reference_file(exercise)?)?;
        Ok(Reference(
            exercise.reference_program.get_or_init(|| program),
        ))
    }

    /// Computes the outputs of `problem`, a case of the exercise that this is the reference of.
    ///
    /// # Errors
    /// Fails if the reference does not run to its end, leaves an element of an output unwritten, or does not take the
    /// arguments that the exercise names.
    pub fn results<'b>(&self, problem: &PreparedCase<'b>) -> Result<Expected<'b>> {
        let path = problem.exercise.path_of(FILE);
        let prepared = ReferenceLaunch::of(problem)?;
        let mut memory = Memory::new();
        let mut outputs = vec![];
        let arguments = prepared.arguments.iter().map(|argument| match argument {
            ReferenceArgument::Word(word) => Argument::Word(*word),
            ReferenceArgument::Input(name, words) => {
                Argument::Buffer(memory.add_words(*name, words))
            }
            ReferenceArgument::Output(name, first) => {
                let bytes = first.iter().flat_map(|element| element.to_le_bytes());
                let id = memory.add(*name, bytes.collect());
                outputs.push((*name, id));
                Argument::Buffer(id)
            }
        });
        let arguments = arguments.collect();
        let grid = [prepared.workgroups, 1, 1];
        let mut launch = Launch::new(KERNEL, grid, [BLOCK, 1, 1], arguments);
        launch.budget = BUDGET;
        launch.checks = Checks::Off;
        launch.checks_waits = false;
        let mut machine = Machine::new(self.0, memory);
        match machine.run(&launch, &mut ()) {
            Ok(()) => {}
            Err(LaunchError::Execution(error)) => {
                let found = of_error(self.0, &error);
                let line = found.line.map_or(String::new(), |line| format!(":{line}"));
                bail!("{path}{line}: {} ({})", found.message, problem.describe());
            }
            Err(error) => return Err(anyhow!("{path}: {error}")),
        }
        let outputs = outputs.into_iter().map(|(name, id)| {
            let (doubles, _) = machine.memory.buffer(id).bytes.as_chunks();
            let elements = doubles.iter().map(|bytes| f64::from_le_bytes(*bytes));
            (name, elements.collect())
        });
        computed(problem, outputs.collect())
    }
}

/// The text of an exercise's reference, with its path in the project.
///
/// # Errors
/// Fails if the exercise has none.
pub fn reference_file(exercise: &Exercise) -> Result<KernelFile> {
    Ok(KernelFile {
        path: exercise.path_of(FILE).into(),
        text: exercise.file(FILE)?.to_owned(),
    })
}

/// One launch of [`KERNEL`], with [`BLOCK`] threads in each workgroup.
pub struct ReferenceLaunch<'a> {
    pub workgroups: u32,
    pub arguments: Vec<ReferenceArgument<'a>>,
}

pub enum ReferenceArgument<'a> {
    Word(u32),
    /// Name and 32-bit elements, as the learner's kernel gets them.
    Input(&'a str, Vec<u32>),
    /// Name and first elements. An element without one is a NaN until it is computed.
    Output(&'a str, Vec<f64>),
}

impl<'a> ReferenceLaunch<'a> {
    /// # Errors
    /// Fails if the exercise does not know an argument that it names.
    pub fn of(problem: &PreparedCase<'a>) -> Result<Self> {
        let wanted = &problem.exercise.reference;
        let threads = problem.size(&wanted.threads)?;
        let arguments = wanted.arguments.iter().map(|name| argument(problem, name));
        Ok(ReferenceLaunch {
            workgroups: u32::try_from(threads.div_ceil(BLOCK as usize))?,
            arguments: arguments.collect::<Result<_>>()?,
        })
    }
}

/// Refuses results with an element that was not computed.
///
/// # Errors
/// Names the first such element.
pub fn computed<'a>(problem: &PreparedCase<'a>, results: Expected<'a>) -> Result<Expected<'a>> {
    for (name, elements) in &results {
        if let Some(at) = elements.iter().position(|element| element.is_nan()) {
            let path = problem.exercise.path_of(FILE);
            bail!(
                "{path}: {name}[{at}] is not computed ({})",
                problem.describe()
            );
        }
    }
    Ok(results)
}

fn program(compiler: &Compiler, file: &KernelFile) -> Result<Program> {
    let path = &*file.path.to_string_lossy();
    let text = format!("{HEADER}\n{}", source(file));
    let compiled = compiler.assembly(path, &text, ARCHITECTURE, &["-fno-finite-loops"]);
    let assembly = compiled.map_err(|error| match error {
        CompilerError::Refused { log, .. } => anyhow!("{path} does not compile: {log}"),
        error => error.into(),
    })?;
    Program::parse(&assembly).map_err(|error| anyhow!("{path}: {error}"))
}

fn argument<'a>(problem: &PreparedCase<'a>, name: &'a str) -> Result<ReferenceArgument<'a>> {
    if problem.exercise.argument(name).is_none() {
        let size = problem.name(name);
        let exercise = &problem.exercise.name;
        let size = size
            .ok_or_else(|| anyhow!("{exercise}: the reference takes `{name}`, which is unknown"))?;
        return Ok(ReferenceArgument::Word(size as u32));
    }
    let index = match problem.passed(name)? {
        KernelArgument::Word(word) => return Ok(ReferenceArgument::Word(word)),
        KernelArgument::Buffer(index) => index,
    };
    let buffer = &problem.buffers[index];
    let bits = buffer.bits.as_deref();
    if !buffer.argument.output {
        let bits = bits.ok_or_else(|| anyhow!("`{name}` has no values for the reference"))?;
        return Ok(ReferenceArgument::Input(name, bits.to_vec()));
    }
    let is_float = buffer.argument.kind.is_float();
    let value = |bits: u32| match is_float {
        true => f64::from(f32::from_bits(bits)),
        false => f64::from(bits.cast_signed()),
    };
    let first = |at: usize| bits.map_or(f64::NAN, |bits| value(bits[at]));
    let elements = (0..buffer.elements).map(first).collect();
    Ok(ReferenceArgument::Output(name, elements))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;
    use crate::machine::tests::compiler;

    /// Executes this reference of `elementwise` in its second case, with 257 elements.
    fn executed(compiler: &Compiler, text: &str) -> Result<Vec<f64>> {
        let exercise = find("elementwise")?;
        let mut file = reference_file(exercise)?;
        text.clone_into(&mut file.text);
        let program = program(compiler, &file)?;
        let problem = PreparedCase::new(exercise, &exercise.cases[1], 64)?;
        let mut results = Reference(&program).results(&problem)?;
        Ok(results.remove(0).1)
    }

    #[test]
    fn a_faulty_reference_is_an_error_with_its_file_and_line() {
        let Some(compiler) = compiler() else {
            return;
        };
        let right = find("elementwise").unwrap().file(FILE).unwrap();
        assert_eq!(executed(&compiler, right).unwrap().len(), 257);
        let condition = "if (i < n)";
        for (condition_of_fault, said) in [
            (
                "if (i <= n)",
                "01-elementwise/reference.hip:6: thread 1 of block 4 reads",
            ),
            (
                "if (i < n - 1)",
                "01-elementwise/reference.hip: out[256] is not computed (n 257)",
            ),
            (
                "while (true)",
                "the kernel did not end within 4 million instructions",
            ),
            (
                "if (",
                "01-elementwise/reference.hip does not compile: kernel.hip:5",
            ),
        ] {
            let faulty = right.replace(condition, condition_of_fault);
            assert_ne!(faulty, right);
            let error = executed(&compiler, &faulty).unwrap_err().to_string();
            assert!(error.contains(said), "{condition_of_fault}: {error}");
        }
    }

    #[test]
    fn functions_in_f64_are_exact_to_the_last_places() {
        let Some(compiler) = compiler() else {
            return;
        };
        let right = find("elementwise").unwrap().file(FILE).unwrap();
        let of = |formula: &str| {
            let text = right.replace("(double)a * x[i] + y[i]", formula);
            executed(&compiler, &text).unwrap()
        };
        let arguments = of("x[i] * 740.0");
        assert!(arguments.iter().any(|x| *x > 709.9) && arguments.iter().any(|x| *x < -700.0));
        let pairs = arguments.iter().zip(of("exp(x[i] * 740.0)"));
        let exponentials = pairs.map(|(x, got)| (got, x.exp()));
        let small = of("x[i] * x[i] + 1e-9");
        let pairs = small.iter().zip(of("log(x[i] * x[i] + 1e-9)"));
        let logarithms = pairs.map(|(x, got)| (got, x.ln()));
        let large = of("exp(x[i] * 300.0)");
        let pairs = large.iter().zip(of("log(exp(x[i] * 300.0))"));
        let far = pairs.map(|(x, got)| (got, x.ln()));
        for (got, right) in exponentials.chain(logarithms).chain(far) {
            let error = (got - right).abs();
            let is_near = got == right || error <= 1e-15 * right.abs() + f64::MIN_POSITIVE;
            assert!(is_near, "{got:e} is not {right:e}");
        }
    }
}
