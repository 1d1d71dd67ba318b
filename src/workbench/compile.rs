//! Compiles a learner's kernel for this machine, with a call before every access to memory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::json;
use tempfile::TempDir;

use super::child::{self, Ended};
use super::exercise::Exercise;
use super::file::{KernelFile, UNCHECKED_WORDS};
use super::finding::{FindingKind, KernelFinding};
use super::object_file;
use super::toolchain::{self, Toolchain};

/// File name under which the compiler and the stand-in report lines.
pub const SOURCE: &str = "kernel.hip";

/// File name of the text after the learner's.
const ENTRY: &str = "workbench-entry";

/// Largest number of compiler messages that are shown. Later ones follow from the first.
const MOST_MESSAGES: usize = 5;

/// Limits of a compiler: bytes of messages, and wall-clock time on a machine where many compile at once.
const MOST_OUTPUT: u64 = 1 << 20;
const LONGEST: Duration = Duration::from_secs(180);

/// Flags that compile a GPU's kernel as C++, with strict arithmetic and line numbers. `-fno-finite-loops` keeps endless
/// loops, so that they are found.
const FLAGS: &str = "\
--driver-mode=g++ -x c++ -std=c++17 -O1 -fPIC -shared
-gdwarf-4 -gline-tables-only -ffp-contract=off -fno-math-errno -fno-finite-loops
-fno-exceptions -fno-rtti -nostdinc -nostdinc++ -nostdlib
-fno-color-diagnostics -fno-caret-diagnostics -ftemplate-depth=200
-Wall -Wconditional-uninitialized -Wno-unused-function -Wno-unknown-pragmas
-Wno-sign-compare -D__HIP__=1 -D__HIP_PLATFORM_AMD__=1";

/// Flags that make every access call a function of device/hip.h. A store after a load of the same address calls it too.
/// Stacks of lanes are not checked.
const CHECKED: &str = "\
-fsanitize=kernel-address,array-bounds,integer-divide-by-zero -fsanitize-recover=all
-mllvm -asan-instrumentation-with-call-threshold=0 -mllvm -asan-opt=0
-mllvm -asan-stack=0 -mllvm -asan-globals=0
-mllvm -asan-kernel-mem-intrinsic-prefix=1
-fno-optimize-sibling-calls -fno-gnu-inline-asm";

/// A kernel compiled for this machine. Its file is deleted with it.
#[derive(Debug)]
pub struct HostModule {
    pub(super) folder: TempDir,
    /// The compiler's warnings.
    pub warnings: Vec<KernelFinding>,
}

impl HostModule {
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("module.so")
    }
}

/// Compiles `file`, which has to contain the kernels of `exercise`. Faults of the file come back as findings.
///
/// # Errors
/// Fails if the compiler cannot be started, or files cannot be written.
pub fn compile(
    toolchain: &Toolchain,
    exercise: &Exercise,
    file: &KernelFile,
) -> Result<Result<HostModule, Vec<KernelFinding>>> {
    if let Some(refused) = file.refused().or_else(|| file.refused_on_stand_in()) {
        return Ok(Err(vec![refused]));
    }
    let folder = tempfile::Builder::new()
        .prefix("tinyllama-tutor-workbench")
        .tempdir()?;
    let text = module_text(exercise, &file.text);
    let ended = build(toolchain, folder.path(), &text, &[])?;
    let log = String::from_utf8_lossy(&ended.stderr);
    let messages = |severity: &str| messages(&log, severity);
    if let Some(stopped) = ended.stopped {
        let why = match stopped {
            child::Stopped::TooMuch => "writes more output than is read",
            child::Stopped::TooLong => "takes too long",
        };
        let why =
            format!("the compiler {why}, and was stopped: make the file simpler, templates first");
        return Ok(Err(vec![KernelFinding::new(
            FindingKind::Compile,
            None,
            why,
        )]));
    }
    if !ended.status.success() {
        return Ok(Err(what_is_wrong(exercise, &log, messages("error"))));
    }
    let warnings = messages("warning");
    let module = HostModule { folder, warnings };
    let compiled = std::fs::read(module.path())?;
    Ok(
        match object_file::refused(&compiled, toolchain::mathematics()?) {
            Some(refused) => {
                let line = file.line_of(&refused.name);
                Err(vec![KernelFinding::new(
                    FindingKind::Compile,
                    line,
                    refused.why,
                )])
            }
            None => Ok(module),
        },
    )
}

/// Compiles `text` to `module.so` in `folder`. The compiler sees the text, the stand-in's headers and its own headers. It
/// sees no other file, even if the text includes one.
pub(super) fn build(
    toolchain: &Toolchain,
    folder: &Path,
    text: &str,
    flags: &[&str],
) -> Result<Ended> {
    let source = folder.join("module.cpp");
    std::fs::write(&source, text)?;
    let seen = [&source, &toolchain.folder, &toolchain.headers];
    let remap = |path: &&PathBuf| {
        let kind = if path.is_dir() {
            "directory-remap"
        } else {
            "file"
        };
        json!({ "type": kind, "name": path, "external-contents": path })
    };
    let overlay = json!({
        "version": 0,
        "case-sensitive": true,
        "redirecting-with": "redirect-only",
        "roots": seen.iter().map(remap).collect::<Vec<_>>(),
    });
    std::fs::write(folder.join("files.yaml"), overlay.to_string())?;
    // These limits also end a compiler that a template keeps busy for ever. Units are seconds, KiB, and blocks of 512
    // bytes.
    let limits = "ulimit -t 30; ulimit -v 8000000; ulimit -f 131072; exec \"$@\"";
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", limits, "sh"])
        .arg(&toolchain.compiler)
        .args(FLAGS.split_whitespace())
        .args(CHECKED.split_whitespace())
        .args(flags)
        .arg("-ivfsoverlay")
        .arg(folder.join("files.yaml"))
        .arg("-isystem")
        .arg(&toolchain.headers)
        .arg("-I")
        .arg(toolchain.folder.join("include"))
        .arg("-include")
        .arg(toolchain.folder.join("device/hip.h"))
        .arg("-include")
        .arg(toolchain.folder.join("workbench/workbench.h"))
        // Only mathematics is linked: a kernel that calls the system does not link.
        .arg("-Wl,-z,defs")
        .arg(&source)
        .arg("-lm")
        .arg("-o")
        .arg(folder.join("module.so"))
        .current_dir(folder);
    child::run(&mut command, &[], MOST_OUTPUT, LONGEST).context("the compiler cannot be started")
}

/// Builds the module's text around the learner's text.
pub(super) fn module_text(exercise: &Exercise, text: &str) -> String {
    // Poisons the words that `KernelFile::refused_on_stand_in` refuses, in case the compiler reads the text differently.
    let poisoned = UNCHECKED_WORDS.join(" ");
    let mut module = format!(
        "#undef __has_include\n#undef __has_include_next\n#undef __has_embed\n\
         #pragma GCC poison asm __asm __asm__ _Pragma {poisoned}\n\
         #line 1 \"{SOURCE}\"\n{}\n#line 1 \"{ENTRY}\"\n",
        with_dynamic_local_memory(text)
    );
    let mut kernels = String::new();
    for launch in &exercise.launches {
        let entry = &launch.entry;
        let types = launch.arguments.iter();
        let types = types.filter_map(|name| Some(exercise.argument(name)?.kind.plain()));
        let types = itertools::join(types, ", ");
        module += &format!(
            "static_assert(stand_in::same<decltype(stand_in::plain(&{entry})), void (*)({types})>, \"signature of {entry}\");\n"
        );
        kernels += &format!("STAND_IN_KERNEL({entry}) ");
    }
    module + &format!("STAND_IN_MODULE({kernels})\n")
}

/// Replaces `extern __shared__ float tile[];` by a pointer to the memory that the launch requests, on the same line.
fn with_dynamic_local_memory(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("extern") {
        let (before, from) = rest.split_at(at);
        result += before;
        let declared = from.split_once(';').and_then(|(declaration, after)| {
            let body = declaration.strip_prefix("extern")?.trim_start().strip_prefix("__shared__")?;
            let body = body.trim().strip_suffix(']')?.trim_end().strip_suffix('[')?.trim_end();
            let name_at = body.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_')? + 1;
            let (kind, name) = body.split_at(name_at);
            // Skips an alignment in front of the type, because the memory is aligned anyway.
            let kind = kind.rsplit(')').next().unwrap_or(kind).trim();
            let lines = "\n".repeat(declaration.matches('\n').count());
            Some((format!("{kind} *const {name} = reinterpret_cast<{kind} *>(STAND_IN_DYNAMIC_LOCAL_MEMORY);{lines}"), after))
        });
        match declared {
            Some((replacement, after)) => {
                result += &replacement;
                rest = after;
            }
            None => {
                result += "extern";
                rest = &from["extern".len()..];
            }
        }
    }
    result + rest
}

/// Collects the compiler's messages about the learner's file.
fn messages(log: &str, severity: &str) -> Vec<KernelFinding> {
    static START: LazyLock<String> = LazyLock::new(|| format!("{SOURCE}:"));
    let mark = format!(" {severity}: ");
    let of_line = |line: &str| {
        let at = line.find(START.as_str())?;
        let (place, message) = line[at + START.len()..].split_once(&mark)?;
        let number = place.split(':').next()?.parse().ok()?;
        Some(KernelFinding::new(
            FindingKind::Compile,
            Some(number),
            message,
        ))
    };
    log.lines()
        .filter_map(of_line)
        .take(MOST_MESSAGES)
        .collect()
}

/// Returns errors in the learner's lines. Without any, explains what the surrounding parts report.
fn what_is_wrong(exercise: &Exercise, log: &str, errors: Vec<KernelFinding>) -> Vec<KernelFinding> {
    if !errors.is_empty() {
        return errors;
    }
    let missing: Vec<KernelFinding> = log.lines().filter_map(undefined).collect();
    if !missing.is_empty() {
        return missing;
    }
    // The linker's message for variables that are out of reach of an instruction.
    if log.contains("truncated to fit") || log.contains("relocation R_X86_64_PC32 out of range") {
        let why =
            "the file's own variables are too large: use the arguments or `__shared__` memory";
        return vec![KernelFinding::new(FindingKind::Compile, None, why)];
    }
    for launch in &exercise.launches {
        let signature = exercise.signature(launch);
        let entry = &launch.entry;
        if log.contains(&format!("undeclared identifier '{entry}'")) {
            let why = format!(
                "there is no kernel `{entry}` in the file; it begins with\n    {signature}"
            );
            return vec![KernelFinding::new(FindingKind::Compile, None, why)];
        }
        if log.contains(&format!("signature of {entry}")) {
            let why = format!(
                "`{entry}` does not take the arguments that it is called with; it has to begin with\n    {signature}"
            );
            return vec![KernelFinding::new(FindingKind::Compile, None, why)];
        }
    }
    // An error in a header that a line of the file caused.
    let said = log
        .lines()
        .find_map(|line| line.split_once("error: "))
        .map(|(_, error)| error);
    let said = said
        .or(log.lines().next())
        .unwrap_or("the compiler ended without a message: it took too long or too much memory");
    let line = messages(log, "note").first().and_then(|note| note.line);
    vec![KernelFinding::new(FindingKind::Compile, line, said)]
}

/// Finds a call of a function that kernels cannot call.
fn undefined(line: &str) -> Option<KernelFinding> {
    let (before, after) = line
        .split_once("undefined reference to ")
        .or_else(|| line.split_once("undefined symbol: "))?;
    let name = after.trim().trim_matches(['`', '\'', '"']);
    let number = before.rsplit_once(&format!("{SOURCE}:"));
    let number = number.and_then(|(_, number)| number.split(':').next()?.parse().ok());
    Some(KernelFinding::new(
        FindingKind::Compile,
        number,
        format!(
            "calls `{name}`, which does not exist on a GPU: a kernel reaches its arguments and local memory, no files and no system"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dynamic_local_memory_becomes_a_pointer_on_the_same_line() {
        let text = "extern \"C\" int f();\n  extern __shared__ float tile[];\nextern __shared__ __align__(16)\n char bytes[ ];\nint after;";
        let changed = with_dynamic_local_memory(text);
        assert!(changed.contains("float *const tile = "), "{changed}");
        assert!(changed.contains("char *const bytes = "), "{changed}");
        assert!(changed.starts_with("extern \"C\" int f();\n"), "{changed}");
        assert_eq!(changed.lines().count(), text.lines().count());
        assert_eq!(changed.lines().last(), Some("int after;"));
    }

    #[test]
    fn messages_name_the_learners_lines() {
        let log = "kernel.hip:7:5: error: use of undeclared identifier 'v'\n/x/hip.h:3:1: error: other\nkernel.hip:9:2: warning: unused\n";
        let errors = messages(log, "error");
        assert_eq!(errors.len(), 1);
        assert_eq!(
            (errors[0].line, errors[0].message.as_str()),
            (Some(7), "use of undeclared identifier 'v'")
        );
        for line in [
            "/tmp/x/kernel.hip:3: undefined reference to `system'",
            "ld.lld: error: undefined symbol: system",
        ] {
            let found = undefined(line).unwrap();
            assert!(found.message.contains("`system`"), "{}", found.message);
        }
    }
}
