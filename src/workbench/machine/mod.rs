//! Executes a kernel as an AMD GPU's instructions, one by one, in the emulator `tinyllama-machine`. It needs no GPU and
//! measures no time.

pub mod listing;
pub mod trace;

use anyhow::Result;
pub use tinyllama_machine::ARCHITECTURES;
use tinyllama_machine::{
    BufferId, ExecutionError, LaunchError, Machine, Memory, Observer, Program,
};

use super::compare::compare;
use super::exercise::Exercise;
use super::file::KernelFile;
use super::finding::{FindingKind, KernelFinding};
use super::judge::{BUDGET, KernelOutput, of_error, of_mistake};
use super::problem::PreparedCase;
use super::reference::Reference;
use super::source::{SOURCE, source};
use crate::compiled::compiler::{Compiler, CompilerError};

/// Content of a buffer that no thread has written.
const UNWRITTEN: u32 = 0x7fc0_beef;

/// Compiles the file's kernels to machine code for `architecture`, or returns the fault of the file.
///
/// # Errors
/// Fails if the compiler cannot be started, or the emulator does not know an instruction.
pub fn program(
    compiler: &Compiler,
    exercise: &Exercise,
    file: &KernelFile,
    architecture: &str,
) -> Result<Result<Program, KernelFinding>> {
    let assembly = match compiler.assembly(&exercise.name, &source(file), architecture, &[]) {
        Ok(assembly) => assembly,
        Err(CompilerError::Refused { log, .. }) => return Ok(Err(refusal(&log))),
        Err(error) => return Err(error.into()),
    };
    Ok(Ok(Program::parse(&assembly)?))
}

/// Returns the first error in the learner's lines.
fn refusal(log: &str) -> KernelFinding {
    let error = log
        .lines()
        .find(|line| line.contains(" error: "))
        .unwrap_or(log);
    let place = error
        .strip_prefix(SOURCE)
        .and_then(|rest| rest.strip_prefix(':'));
    let line = place.and_then(|rest| rest.split(':').next()?.parse().ok());
    let said = error.split_once(" error: ").map_or(error, |(_, said)| said);
    KernelFinding::new(FindingKind::Compile, line, said)
}

/// The result of one executed case.
#[derive(Debug)]
pub struct Executed {
    /// Mistakes, and the reason why the kernel could not continue.
    findings: Vec<KernelFinding>,
    /// The error that ended the execution, if any.
    pub error: Option<Box<ExecutionError>>,
    /// Number of executed wave instructions.
    pub instructions: u64,
    /// The buffers as the kernel left them.
    pub memory: Memory,
    /// The buffers of the case, in its order.
    buffers: Vec<BufferId>,
}

/// Executes the launches of `problem`.
///
/// # Errors
/// Fails if the program lacks a kernel of the exercise.
pub fn execute<O: Observer>(
    program: &Program,
    problem: &PreparedCase<'_>,
    observer: &mut O,
) -> Result<Executed> {
    let (memory, buffers) = prepare_memory(problem);
    let mut machine = Machine::new(program, memory);
    let mut findings = vec![];
    let mut error = None;
    for planned in &problem.launches {
        let mut launch = planned.launch(&buffers);
        launch.budget = BUDGET;
        match machine.run(&launch, observer) {
            Ok(()) => {}
            Err(LaunchError::Execution(stopped)) => {
                findings.push(of_error(program, &stopped));
                error = Some(stopped);
                break;
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mistakes = machine.mistakes().iter();
    findings.extend(mistakes.map(|mistake| of_mistake(program, mistake)));
    Ok(Executed {
        findings,
        error,
        instructions: machine.executed,
        memory: machine.memory,
        buffers,
    })
}

impl Executed {
    /// Returns all findings, wrong elements too, for which it executes the reference.
    ///
    /// # Errors
    /// Fails if the reference cannot be executed.
    pub fn findings(
        &self,
        problem: &PreparedCase<'_>,
        reference: Reference<'_>,
    ) -> Result<Vec<KernelFinding>> {
        let mut findings = self.findings.clone();
        if self.error.is_some() {
            return Ok(findings);
        }
        for (name, expected) in reference.results(problem)? {
            let mut named = problem.buffers.iter().zip(&self.buffers);
            let output = named.find(|(buffer, _)| buffer.argument.name == name);
            let words = output.map_or(vec![], |(_, id)| self.memory.buffer(*id).words().collect());
            // The emulator does not record which line wrote an element. An element that still holds the pattern was not
            // written.
            let lines = words
                .iter()
                .map(|word| u32::from(*word != UNWRITTEN))
                .collect();
            let output = KernelOutput { words, lines };
            let found = compare(problem.exercise, name, &output, &expected);
            findings.extend(found.map(|found| KernelFinding {
                line: None,
                ..found
            }));
        }
        Ok(findings)
    }
}

/// Creates the buffers of a case, in the order of `problem.buffers`.
fn prepare_memory(problem: &PreparedCase<'_>) -> (Memory, Vec<BufferId>) {
    let mut memory = Memory::new();
    let buffers = problem.buffers.iter().map(|buffer| {
        let empty = || vec![UNWRITTEN; buffer.elements];
        let words = buffer.bits.clone().unwrap_or_else(empty);
        memory.add_words(&buffer.argument.name, &words)
    });
    let buffers = buffers.collect();
    (memory, buffers)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::exercises;

    /// Returns `None` if no compiler on this machine knows AMD GPUs.
    pub fn compiler() -> Option<Compiler> {
        match Compiler::find() {
            Ok(compiler) => Some(compiler),
            Err(CompilerError::NoCompiler)
                if std::env::var_os("HIP_STAND_IN_REQUIRED").is_none() =>
            {
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns the architectures that the compiler knows, of those that the emulator knows.
    pub fn architectures(compiler: &Compiler) -> Vec<&'static str> {
        let knows = |architecture: &&str| match compiler.assembly("none", "", architecture, &[]) {
            Ok(_) => true,
            Err(error @ CompilerError::UnknownArchitecture { .. }) => {
                assert!(error.to_string().contains("; install clang "), "{error}");
                false
            }
            Err(error) => panic!("{error}"),
        };
        ARCHITECTURES.into_iter().filter(knows).collect()
    }

    #[test]
    fn solutions_are_right_as_machine_code() {
        let Some(compiler) = compiler() else {
            return;
        };
        let architectures = architectures(&compiler);
        let mut wrong = vec![];
        for exercise in exercises().unwrap() {
            let text = exercise.solution().unwrap().to_owned();
            let file = KernelFile {
                path: exercise.file_name().into(),
                text,
            };
            let reference = Reference::compile(&compiler, exercise).unwrap();
            for architecture in &architectures {
                let program = program(&compiler, exercise, &file, architecture);
                let program = match program {
                    Ok(program) => program.unwrap(),
                    Err(error) => {
                        wrong.push(format!("{} {architecture}: {error}", exercise.name));
                        continue;
                    }
                };
                for sizes in &exercise.cases {
                    let problem =
                        PreparedCase::new(exercise, sizes, program.wave_size as u32).unwrap();
                    let executed = execute(&program, &problem, &mut ()).unwrap();
                    for finding in executed.findings(&problem, reference).unwrap() {
                        wrong.push(format!(
                            "{} {architecture} {}: {finding:?}",
                            exercise.name,
                            problem.describe()
                        ));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
