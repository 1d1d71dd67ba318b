//! Computes the correct results of an exercise: compiles its `reference.hip` and executes it in the emulator, in f64.

use anyhow::{Result, anyhow, bail};
use tinyllama_machine::{
    Argument, BufferId, Checks, Launch, LaunchError, Machine, Memory, Program,
};

use super::exercise::Exercise;
use super::file::KernelFile;
use super::judge::{BUDGET, of_error};
use super::problem::{KernelArgument, PreparedCase};
use super::source::source;
use crate::compiled::compiler::{Compiler, CompilerError};

/// File name in the exercise's folder, and the name of its kernel.
const FILE: &str = "reference.hip";
const KERNEL: &str = "reference";

/// Mathematics in f64.
const HEADER: &str = include_str!("reference.h");

/// The architecture that references are compiled for. Every usable compiler knows it.
const ARCHITECTURE: &str = "gfx942";

/// Number of threads of a workgroup.
const BLOCK: usize = 64;

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
        let program = program(compiler, &exercise.path_of(FILE), exercise.file(FILE)?)?;
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
        let exercise = problem.exercise;
        let path = exercise.path_of(FILE);
        let mut memory = Memory::new();
        let mut outputs = vec![];
        let names = exercise.reference.arguments.iter();
        let arguments = names.map(|name| argument(problem, name, &mut memory, &mut outputs));
        let arguments = arguments.collect::<Result<_>>()?;
        let workgroups = problem.size(&exercise.reference.threads)?.div_ceil(BLOCK);
        let mut launch = Launch::new(
            KERNEL,
            [u32::try_from(workgroups)?, 1, 1],
            [BLOCK as u32, 1, 1],
            arguments,
        );
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
            let elements: Vec<f64> = doubles
                .iter()
                .map(|bytes| f64::from_le_bytes(*bytes))
                .collect();
            match elements.iter().position(|element| element.is_nan()) {
                Some(at) => bail!(
                    "{path}: {name}[{at}] is not computed ({})",
                    problem.describe()
                ),
                None => Ok((name, elements)),
            }
        });
        outputs.collect()
    }
}

fn program(compiler: &Compiler, path: &str, text: &str) -> Result<Program> {
    let file = KernelFile {
        path: path.into(),
        text: text.to_owned(),
    };
    let text = format!("{HEADER}\n{}", source(&file));
    let compiled = compiler.assembly(path, &text, ARCHITECTURE, &["-fno-finite-loops"]);
    let assembly = compiled.map_err(|error| match error {
        CompilerError::Refused { log, .. } => anyhow!("{path} does not compile: {log}"),
        error => error.into(),
    })?;
    Program::parse(&assembly).map_err(|error| anyhow!("{path}: {error}"))
}

/// Builds one argument: an input as the kernel gets it, an output in f64 with its first values, or a number.
fn argument<'a>(
    problem: &PreparedCase<'a>,
    name: &'a str,
    memory: &mut Memory,
    outputs: &mut Vec<(&'a str, BufferId)>,
) -> Result<Argument> {
    if problem.exercise.argument(name).is_none() {
        let size = problem.name(name);
        let exercise = &problem.exercise.name;
        let size = size
            .ok_or_else(|| anyhow!("{exercise}: the reference takes `{name}`, which is unknown"))?;
        return Ok(Argument::Word(size as u32));
    }
    let index = match problem.passed(name)? {
        KernelArgument::Word(word) => return Ok(Argument::Word(word)),
        KernelArgument::Buffer(index) => index,
    };
    let buffer = &problem.buffers[index];
    let bits = buffer.bits.as_deref();
    let id = if buffer.argument.output {
        let is_float = buffer.argument.kind.is_float();
        let value = |bits: u32| match is_float {
            true => f64::from(f32::from_bits(bits)),
            false => f64::from(bits.cast_signed()),
        };
        // Without first values each element is a NaN until it is written.
        let first = |at: usize| bits.map_or(f64::NAN, |bits| value(bits[at]));
        let bytes = (0..buffer.elements).flat_map(|at| first(at).to_le_bytes());
        let id = memory.add(name, bytes.collect());
        outputs.push((name, id));
        id
    } else {
        let bits = bits.ok_or_else(|| anyhow!("`{name}` has no values for the reference"))?;
        memory.add_words(name, bits)
    };
    Ok(Argument::Buffer(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;
    use crate::machine::tests::compiler;

    /// Executes this reference of `elementwise` in its second case, with 257 elements.
    fn executed(compiler: &Compiler, text: &str) -> Result<Vec<f64>> {
        let exercise = find("elementwise")?;
        let program = program(compiler, &exercise.path_of(FILE), text)?;
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
                "the kernel did not end within 20 million instructions",
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
