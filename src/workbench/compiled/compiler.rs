//! Calls a clang that knows AMD GPUs. ROCm is not needed: `device.h` in this folder has the few declarations that kernels
//! take from HIP's headers.
//!
//! The compiler reads the text from its standard input and sees no file but these headers, even if the text asks for one.
//! It writes to its standard output and runs no other program.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use thiserror::Error;

use super::child::{self, Stopped};
use tinyllama_base::{ScratchFolder, die_with_parent, rocm};

/// Environment variable that names the compiler. It comes before any compiler that is found.
const VARIABLE: &str = "TINYLLAMA_CLANG";

/// What to do without a compiler.
const INSTALL: &str = "install Debian's package clang-19 or ROCm";

/// The oldest version that knows gfx942 and the builtins of `device.h`.
const OLDEST: u32 = 17;

/// The first versions that know an architecture, for those that came after [`OLDEST`]. AMD's own clang knew some earlier.
const FIRST_VERSIONS: [(&str, u32); 3] = [("gfx1200", 18), ("gfx1201", 18), ("gfx950", 20)];

/// Versions that are searched by number, the newest first. A newer one is found as `clang`.
const VERSIONS: std::ops::RangeInclusive<u32> = OLDEST..=24;

const DEVICE_HEADER: &str = include_str!("device.h");

/// Declarations in front of kernels that are written by hand. Kernels that cubecl emits contain their own.
pub const HAND_WRITTEN: &str = include_str!("hand_written.h");

/// HIP's headers that sources include. They are empty, because `device.h` replaces them.
pub const REPLACED_HEADERS: [&str; 3] = ["hip_runtime.h", "hip_fp16.h", "hip_bf16.h"];

/// Limits of the compiler, so that no text keeps it busy: seconds of computing and bytes of memory, bytes of output, and
/// wall-clock time on a machine where many compile at once.
const MOST_SECONDS: u64 = 6;
const MOST_MEMORY: u64 = 8 << 30;
const MOST_OUTPUT: u64 = 256 << 20;
const LONGEST: Duration = Duration::from_secs(120);

/// Flags of HIP's device code without HIP's headers and AMD's device libraries, because they may not be installed. Source
/// lines change no instruction.
const HIP: &str = "\
-x hip --offload-device-only -nogpuinc -nogpulib -nostdinc -nobuiltininc
-fdeclspec -std=c++17 -gline-tables-only";

/// Flags for one diagnostic a line, and no reports of crashes.
const DIAGNOSTICS: &str =
    "-fno-color-diagnostics -fno-caret-diagnostics -fno-crash-diagnostics -ftemplate-depth=200";

#[derive(Debug, Error)]
pub enum CompilerError {
    #[error(
        "no clang of version {OLDEST} or later that compiles for AMD GPUs was found; {INSTALL}, or name another in the \
         variable {VARIABLE}"
    )]
    NoCompiler,
    #[error("{path}: {reason}", path = .path.display())]
    Unusable { path: PathBuf, reason: String },
    #[error("`{kernel}` does not compile for {architecture}:\n{log}")]
    Refused {
        kernel: String,
        architecture: String,
        log: String,
    },
    #[error("{compiler} does not know {architecture}{remedy}")]
    UnknownArchitecture {
        architecture: String,
        compiler: String,
        remedy: String,
    },
    #[error("the compiler {why}, and was stopped: make the file simpler, templates first")]
    Stopped { why: &'static str },
    #[error("files for the compiler: {0}")]
    Files(#[from] std::io::Error),
}

/// A clang and a folder for its headers.
#[derive(Debug)]
pub struct Compiler {
    path: PathBuf,
    /// For example `clang 19.1.7`.
    pub version: String,
    folder: ScratchFolder,
}

/// What the compiler wrote: the result, and its messages.
#[derive(Debug)]
pub struct Compiled {
    pub text: String,
    pub log: String,
}

impl Compiler {
    /// Takes the compiler that `TINYLLAMA_CLANG` names, otherwise the newest that is found.
    ///
    /// # Errors
    /// Fails if no compiler is found, the named one cannot be used, or its files cannot be written.
    pub fn find() -> Result<Compiler, CompilerError> {
        if let Some(named) = std::env::var_os(VARIABLE) {
            let path = PathBuf::from(named);
            let version = version_of(&path).ok_or_else(|| CompilerError::Unusable {
                path: path.clone(),
                reason: format!(
                    "{VARIABLE} names it, but it is not a clang of version {OLDEST} or later that compiles for AMD GPUs; {INSTALL}, and unset it"
                ),
            })?;
            return Compiler::new(path, version);
        }
        let numbered = VERSIONS.rev().map(|version| format!("clang-{version}"));
        let names = numbered.chain(["clang".to_owned(), "amdclang".to_owned()]);
        for path in names.map(PathBuf::from).chain(rocm::clangs()) {
            if let Some(version) = version_of(&path) {
                return Compiler::new(path, version);
            }
        }
        Err(CompilerError::NoCompiler)
    }

    fn new(path: PathBuf, version: String) -> Result<Compiler, CompilerError> {
        let folder = ScratchFolder::new()?;
        let headers = folder.path().join("headers");
        let hip = headers.join("hip");
        std::fs::create_dir_all(&hip)?;
        std::fs::write(headers.join("device.h"), DEVICE_HEADER)?;
        for header in REPLACED_HEADERS {
            std::fs::write(hip.join(header), "")?;
        }
        // The compiler's view of files: this folder and nothing else.
        let overlay = json!({
            "version": 0,
            "case-sensitive": true,
            "redirecting-with": "redirect-only",
            "roots": [{
                "type": "directory-remap",
                "name": headers,
                "external-contents": headers,
            }],
        });
        std::fs::write(folder.path().join("files.yaml"), overlay.to_string())?;
        Ok(Compiler {
            path,
            version,
            folder,
        })
    }

    /// Compiles HIP C++ `source` for `architecture`, with more flags, and returns the assembly. Errors name the kernel by `kernel`.
    ///
    /// # Errors
    /// Fails if the source does not compile, with the compiler's messages, or files cannot be written.
    pub fn assembly(
        &self,
        kernel: &str,
        source: &str,
        architecture: &str,
        flags: &[&str],
    ) -> Result<String, CompilerError> {
        let flags = [&["-S", "-O3", "-Wno-everything"], flags].concat();
        let compiled = self.compile(kernel, source, architecture, &flags)?;
        Ok(compiled.text)
    }

    /// Compiles HIP C++ `source` like [`Compiler::assembly`], with these flags.
    ///
    /// # Errors
    /// Fails like [`Compiler::assembly`].
    pub fn compile(
        &self,
        kernel: &str,
        source: &str,
        architecture: &str,
        flags: &[&str],
    ) -> Result<Compiled, CompilerError> {
        let headers = self.folder.path().join("headers");
        let mut command = Command::new(&self.path);
        command
            .args(HIP.split_whitespace())
            .arg(format!("--offload-arch={architecture}"))
            .args(flags)
            .arg("-ivfsoverlay")
            .arg(self.folder.path().join("files.yaml"))
            .arg("-I")
            .arg(&headers)
            .arg("-include")
            .arg(headers.join("device.h"));
        self.run(command, kernel, source, architecture)
    }

    /// Compiles LLVM's own text for `architecture` to assembly, with these flags.
    ///
    /// # Errors
    /// Fails like [`Compiler::assembly`].
    pub fn lower(
        &self,
        kernel: &str,
        text: &str,
        architecture: &str,
        flags: &[&str],
    ) -> Result<String, CompilerError> {
        let mut command = Command::new(&self.path);
        command
            .args(["-x", "ir", "-nogpulib", "--target=amdgcn-amd-amdhsa", "-S"])
            .arg(format!("-mcpu={architecture}"))
            .args(flags);
        Ok(self.run(command, kernel, text, architecture)?.text)
    }

    fn unknown(&self, architecture: &str) -> CompilerError {
        CompilerError::UnknownArchitecture {
            architecture: architecture.to_owned(),
            compiler: self.version.clone(),
            remedy: needed(architecture),
        }
    }

    fn run(
        &self,
        mut command: Command,
        kernel: &str,
        input: &str,
        architecture: &str,
    ) -> Result<Compiled, CompilerError> {
        command
            .args(DIAGNOSTICS.split_whitespace())
            .args(["-", "-o", "-"])
            .current_dir(self.folder.path());
        child::limit(&mut command, MOST_SECONDS, MOST_MEMORY);
        let ended = child::run(&mut command, input.as_bytes(), MOST_OUTPUT, LONGEST)?;
        let why = match ended.stopped {
            Some(Stopped::TooMuch) => Some("writes more output than is read"),
            Some(Stopped::TooLong) => Some("takes too long"),
            None if ended.is_over_time() => Some("takes too long"),
            None => None,
        };
        if let Some(why) = why {
            return Err(CompilerError::Stopped { why });
        }
        let log = String::from_utf8_lossy(&ended.stderr).into_owned();
        if !ended.status.success() {
            if ["invalid target ID", "unknown target CPU"]
                .iter()
                .any(|what| log.contains(what))
            {
                return Err(self.unknown(architecture));
            }
            return Err(CompilerError::Refused {
                kernel: kernel.to_owned(),
                architecture: architecture.to_owned(),
                log,
            });
        }
        let text = String::from_utf8_lossy(&ended.stdout).into_owned();
        Ok(Compiled { text, log })
    }
}

fn needed(architecture: &str) -> String {
    let first = FIRST_VERSIONS
        .iter()
        .find(|(name, _)| *name == architecture);
    first.map_or(String::new(), |(_, version)| {
        format!(
            "; install clang {version} or later, for example Debian's package clang-22 or ROCm's, or name one in the variable {VARIABLE}"
        )
    })
}

/// Returns `clang 19.1.7` if `path` is a clang that is new enough and has the AMDGPU target.
fn version_of(path: &Path) -> Option<String> {
    // Both questions are asked at once, because a learner waits for each start of the compiler.
    let ask = |argument: &str| {
        let mut command = Command::new(path);
        command
            .arg(argument)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        die_with_parent(&mut command, libc::SIGKILL);
        command.spawn()
    };
    let asked = [ask("--version").ok()?, ask("--print-targets").ok()?];
    let [version, targets] = asked.map(|child| {
        let output = child.wait_with_output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(said)
    });
    let version = number_in(&version?)?;
    let major: u32 = version.split('.').next()?.parse().ok()?;
    (major >= OLDEST && targets?.contains("amdgcn")).then(|| format!("clang {version}"))
}

/// Finds `19.1.7` in `Debian clang version 19.1.7 (3+b1)`.
fn number_in(text: &str) -> Option<String> {
    let after = text.split_once("clang version ")?.1;
    let number: String = after
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    (!number.is_empty()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_clang_prints() {
        let debian = "Debian clang version 19.1.7 (3+b1)\nTarget: x86_64-pc-linux-gnu\n";
        assert_eq!(number_in(debian).as_deref(), Some("19.1.7"));
        let amd = "AMD clang version 18.0.0git (https://github.com/RadeonOpenCompute)";
        assert_eq!(number_in(amd).as_deref(), Some("18.0.0"));
        assert_eq!(number_in("gcc (Debian 12.2.0)"), None);
    }
}
