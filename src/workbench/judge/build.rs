//! Compiles a learner's kernel so that its machine code can be judged.
//!
//! The compiler's front end makes LLVM's text, which is edited (see [`super::llvm_text`]), and its back end makes machine
//! code of it. Both work with `-O1`, because higher levels merge and move the source's loads and stores.

use std::collections::BTreeMap;

use anyhow::Result;
use tinyllama_machine::Program;

use super::llvm_text::{self, KernelArrays, MOST_LDS};
use super::words::{own_line, too_much_lds};
use crate::compiled::compiler::{Compiler, CompilerError};
use crate::exercise::{Exercise, LaunchText};
use crate::file::KernelFile;
use crate::finding::{FindingKind, KernelFinding};
use crate::source::{self, SOURCE};

/// File name of the text after the learner's.
const ENTRY: &str = "workbench-entry";

/// Largest number of compiler messages that are shown. Later ones follow from the first.
const MOST_MESSAGES: usize = 5;

/// Flags of the front end. Its checks call functions, which the emulator knows: an index outside an array whose size the
/// type says, a division by zero, code that must not be reached. `-fno-finite-loops` keeps endless loops, so that they are
/// found. Inline assembly is refused, because it could name files.
const FRONT: &str = "\
-emit-llvm -S -O1 -Xclang -disable-llvm-passes -fno-finite-loops -fno-gnu-inline-asm
-Xclang -fsanitize=array-bounds,integer-divide-by-zero,unreachable,return
-Wall -Wconditional-uninitialized -Wno-unused-function -Wno-unknown-pragmas -Wno-sign-compare
-Wno-pragma-once-outside-header -DTUTOR_JUDGE=1";

/// Flags of the back end. It traps where a pointer leaves a local or private array that it can see. Private arrays stay in
/// private memory, and calls of the checks' functions need no stack. A loop that `#pragma unroll` would make very long stays
/// a loop: it does the same, and compiles three times as fast.
const BACK: &str = "\
-O1 -Wno-everything
-Xclang -fsanitize=local-bounds -Xclang -fsanitize-trap=local-bounds
-mllvm -disable-promote-alloca-to-lds -mllvm -disable-promote-alloca-to-vector
-mllvm -amdgpu-assume-external-call-stack-size=0 -mllvm -pragma-unroll-threshold=1024";

/// Names of the functions that the compiler's checks call.
pub(super) const CHECKS: &str = "__ubsan_handle_";

/// A kernel as machine code.
#[derive(Debug)]
pub struct Built {
    pub program: Program,
    pub(super) arrays: BTreeMap<String, KernelArrays>,
    /// The compiler's warnings.
    pub warnings: Vec<KernelFinding>,
}

/// Compiles `file`, which has to contain the kernels of `exercise`. Faults of the file come back as findings.
///
/// # Errors
/// Fails if the compiler cannot be started, or the emulator does not know an instruction.
pub fn build(
    compiler: &Compiler,
    exercise: &Exercise,
    file: &KernelFile,
    architecture: &str,
) -> Result<Result<Built, Vec<KernelFinding>>> {
    let compile_finding = |line, why: String| KernelFinding::new(FindingKind::Compile, line, why);
    let failed = |error: CompilerError| match error {
        CompilerError::Refused { log, .. } => Ok(Err(what_is_wrong(exercise, &log))),
        CompilerError::Stopped { .. } => Ok(Err(vec![compile_finding(None, error.to_string())])),
        error => Err(error.into()),
    };
    let name = &exercise.name;
    let front: Vec<&str> = FRONT.split_whitespace().collect();
    let compiled = match compiler.compile(name, &source(exercise, file), architecture, &front) {
        Ok(compiled) => compiled,
        Err(error) => return failed(error),
    };
    let edited = llvm_text::edit(&compiled.text);
    for (kernel, arrays) in &edited.arrays {
        let bytes: usize = arrays.fixed.iter().map(|array| array.bytes).sum();
        let is_launched = exercise.launches.iter().any(|one| one.entry == *kernel);
        if is_launched && bytes > MOST_LDS {
            return Ok(Err(vec![too_much_lds(bytes)]));
        }
    }
    let back: Vec<&str> = BACK.split_whitespace().collect();
    let assembly = match compiler.lower(name, &edited.text, architecture, &back) {
        Ok(assembly) => assembly,
        Err(error) => return failed(error),
    };
    let program = Program::parse(&assembly)?;
    let mut missing = program.externals.iter();
    if let Some((name, location)) = missing.find(|(name, _)| !name.starts_with(CHECKS)) {
        let line = own_line(&program, *location);
        return Ok(Err(vec![compile_finding(line, calls_missing(name))]));
    }
    let mut launches = exercise.launches.iter();
    if let Some(launch) = launches.find(|launch| program.kernel(&launch.entry).is_none()) {
        return Ok(Err(vec![compile_finding(
            None,
            no_kernel(exercise, launch),
        )]));
    }
    Ok(Ok(Built {
        program,
        arrays: edited.arrays,
        warnings: messages(&compiled.log, "warning"),
    }))
}

/// Builds the text for the compiler: declarations, the file, and a comparison of the kernels' types.
fn source(exercise: &Exercise, file: &KernelFile) -> String {
    let mut source = source::source(file);
    source += &format!(
        "\n#line 1 \"{ENTRY}\"\n\
         template <class A> struct TutorPlain {{ typedef A Type; }};\n\
         template <class A> struct TutorPlain<const A *> {{ typedef A *Type; }};\n\
         template <class... A> void (*tutor_plain(void (*)(A...)))(typename TutorPlain<A>::Type...);\n"
    );
    for launch in &exercise.launches {
        let entry = &launch.entry;
        let types = launch.arguments.iter();
        let types = types.filter_map(|name| Some(exercise.argument(name)?.kind.plain()));
        let types = itertools::join(types, ", ");
        source += &format!(
            "static_assert(__is_same(decltype(tutor_plain(&{entry})), void (*)({types})), \"signature of {entry}\");\n"
        );
    }
    source
}

fn no_kernel(exercise: &Exercise, launch: &LaunchText) -> String {
    format!(
        "there is no kernel `{}` in the file; it begins with\n    {}",
        launch.entry,
        exercise.signature(launch)
    )
}

fn calls_missing(name: &str) -> String {
    format!(
        "calls `{name}`, which does not exist on a GPU: mark the file's own functions with `__device__`; a kernel reaches no files and no system"
    )
}

/// Collects the compiler's messages about the learner's file.
fn messages(log: &str, severity: &str) -> Vec<KernelFinding> {
    let (start, mark) = (format!("{SOURCE}:"), format!("{severity}: "));
    let mut lines = log.lines().peekable();
    let mut found = vec![];
    while let Some(line) = lines.next() {
        let message = line
            .strip_prefix(&start)
            .and_then(|rest| rest.split_once(&mark));
        let Some((place, message)) = message else {
            continue;
        };
        if let Some(Ok(number)) = place.split(':').next().map(str::parse) {
            let note = lines.peek().copied().unwrap_or_default();
            let message = explained(message, note);
            found.push(KernelFinding::new(
                FindingKind::Compile,
                Some(number),
                message,
            ));
        }
    }
    found.truncate(MOST_MESSAGES);
    found
}

/// Says what to do in place of messages that a learner cannot know. `note` is the line behind the message.
fn explained(message: &str, note: &str) -> String {
    let name = || message.split('\'').nth(1).unwrap_or_default();
    let is_of_host = message.starts_with("reference to __host__ function")
        || note.contains("call to __host__ function from");
    if is_of_host {
        calls_missing(name())
    } else if message.starts_with("reference to __host__ variable") {
        let name = name();
        format!(
            "`{name}` is a variable of the host: mark a variable that a kernel reaches with `__device__` or `__shared__`"
        )
    } else if message.ends_with("file not found") {
        format!("{message}: a kernel of the workbench includes <hip/hip_runtime.h> or nothing")
    } else if message == "GNU-style inline assembly is disabled" {
        "assembly is refused: write C++".into()
    } else {
        message.to_owned()
    }
}

/// Returns errors in the learner's lines. Without any, explains what the surrounding parts report.
fn what_is_wrong(exercise: &Exercise, log: &str) -> Vec<KernelFinding> {
    let errors = messages(log, "error");
    if !errors.is_empty() {
        return errors;
    }
    let finding = |line, why: String| vec![KernelFinding::new(FindingKind::Compile, line, why)];
    for launch in &exercise.launches {
        let entry = &launch.entry;
        if log.contains(&format!("undeclared identifier '{entry}'")) {
            return finding(None, no_kernel(exercise, launch));
        }
        if log.contains(&format!("signature of {entry}"))
            || log.contains("no matching function for call to 'tutor_plain'")
        {
            let signature = exercise.signature(launch);
            let why = format!(
                "`{entry}` does not take the arguments that it is called with; it has to begin with\n    {signature}"
            );
            return finding(None, why);
        }
    }
    // An error in a header that a line of the file caused, or of the back end.
    let mut lines = log.lines();
    let said = lines.find_map(|line| Some(line.split_once("error: ")?.1));
    let line = messages(log, "note").first().and_then(|note| note.line);
    let is_crash = log.contains("Stack dump") || log.contains("failed due to signal");
    let why = match said {
        Some(said) if !is_crash && !said.starts_with("error in backend") => said.to_owned(),
        Some(said) if said.contains("Cannot select") => {
            "the compiler makes no machine code of it: it asks for what an AMD GPU does not have"
                .into()
        }
        _ => "the compiler fails at this file and does not say where: take away the last change"
            .into(),
    };
    finding(line, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_learners_lines() {
        let log = "kernel.hip:7:5: fatal error: use of undeclared identifier 'v'\n/x/device.h:3:1: error: other\nkernel.hip:9:2: warning: unused\n";
        let errors = messages(log, "error");
        assert_eq!(errors.len(), 1);
        assert_eq!(
            (errors[0].line, errors[0].message.as_str()),
            (Some(7), "use of undeclared identifier 'v'")
        );
        for host in [
            "kernel.hip:3:5: error: reference to __host__ function 'system' in __global__ function\n",
            "kernel.hip:3:5: error: no matching function for call to 'system'\n\
             kernel.hip:1:5: note: candidate function not viable: call to __host__ function from __global__ function\n",
        ] {
            let found = &messages(host, "error")[0];
            assert!(
                found.message.starts_with("calls `system`"),
                "{}",
                found.message
            );
        }
    }
}
