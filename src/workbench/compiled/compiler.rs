//! Calls a clang that knows AMD GPUs. ROCm is not needed: `device.h` in this folder has the few declarations that kernels
//! take from HIP's headers.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use thiserror::Error;

use tinyllama_base::rocm;

/// Environment variable that names the compiler. It comes before any compiler that is found.
const VARIABLE: &str = "TINYLLAMA_CLANG";

/// The oldest version that knows gfx942 and the builtins of `device.h`.
const OLDEST: u32 = 17;

/// Versions that are searched by number, the newest first. A newer one is found as `clang`.
const VERSIONS: std::ops::RangeInclusive<u32> = OLDEST..=24;

const DEVICE_HEADER: &str = include_str!("device.h");

/// Declarations in front of kernels that are written by hand. Kernels that cubecl emits contain their own.
pub const HAND_WRITTEN: &str = include_str!("hand_written.h");

/// Headers that sources include and `device.h` replaces.
const REPLACED_HEADERS: [&str; 3] = ["hip_bf16.h", "hip_fp16.h", "hip_runtime.h"];

#[derive(Debug, Error)]
pub enum CompilerError {
    #[error(
        "no clang of version {OLDEST} or later that compiles for AMD GPUs was found; install Debian's \
         package clang-19 or ROCm, or name another in the variable {VARIABLE}"
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
    #[error("files for the compiler: {0}")]
    Files(#[from] std::io::Error),
}

/// A clang and a folder for its files.
#[derive(Debug)]
pub struct Compiler {
    path: PathBuf,
    /// For example `clang 19.1.7`.
    pub version: String,
    folder: TempDir,
}

impl Compiler {
    /// Takes the compiler that [`VARIABLE`] names, otherwise the newest that is found.
    ///
    /// # Errors
    /// Fails if no compiler is found, the named one cannot be used, or its files cannot be written.
    pub fn find() -> Result<Compiler, CompilerError> {
        if let Some(named) = std::env::var_os(VARIABLE) {
            let path = PathBuf::from(named);
            let version = version_of(&path).ok_or_else(|| CompilerError::Unusable {
                path: path.clone(),
                reason: format!(
                    "{VARIABLE} names it, but it is not a clang of version {OLDEST} or later that compiles for AMD GPUs"
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
        let folder = tempfile::Builder::new()
            .prefix("tinyllama-tutor-compile")
            .tempdir()?;
        std::fs::write(folder.path().join("device.h"), DEVICE_HEADER)?;
        let hip = folder.path().join("hip");
        std::fs::create_dir(&hip)?;
        for header in REPLACED_HEADERS {
            std::fs::write(hip.join(header), "")?;
        }
        Ok(Compiler {
            path,
            version,
            folder,
        })
    }

    /// Compiles HIP C++ `source` for `architecture` and returns the assembly. Errors name the kernel by `kernel`.
    ///
    /// # Errors
    /// Fails if the source does not compile, with the compiler's messages, or files cannot be written.
    pub fn assembly(
        &self,
        kernel: &str,
        source: &str,
        architecture: &str,
    ) -> Result<String, CompilerError> {
        self.compile(kernel, source, architecture, &["-O3"])
    }

    /// Compiles HIP C++ `source` like [`Compiler::assembly`] to the compiler's own form. Sizes of the grid and of a
    /// workgroup are calls there.
    ///
    /// # Errors
    /// Fails like [`Compiler::assembly`].
    pub fn intermediate(
        &self,
        kernel: &str,
        source: &str,
        architecture: &str,
    ) -> Result<String, CompilerError> {
        let flags = ["-emit-llvm", "-O1", "-DTUTOR_SIZES"];
        self.compile(kernel, source, architecture, &flags)
    }

    fn compile(
        &self,
        kernel: &str,
        source: &str,
        architecture: &str,
        flags: &[&str],
    ) -> Result<String, CompilerError> {
        let mut input = tempfile::Builder::new()
            .suffix(".hip")
            .tempfile_in(self.folder.path())?;
        input.write_all(source.as_bytes())?;
        let output = input.path().with_extension("s");
        let folder = self.folder.path();
        // A file of a learner may keep a compiler busy for ever. Units are seconds, KiB, and blocks of 512 bytes.
        let limits = "ulimit -t 120; ulimit -v 8000000; ulimit -f 131072; exec \"$@\"";
        let compiled = Command::new("/bin/sh")
            .args(["-c", limits, "sh"])
            .arg(&self.path)
            .args(["-x", "hip", "--offload-device-only", "-S"])
            .arg(format!("--offload-arch={architecture}"))
            // Without HIP's headers and AMD's device libraries, because they may not be installed.
            .args(["-nogpuinc", "-nogpulib", "-fdeclspec", "-std=c++17"])
            .args(flags)
            // Source lines, which change no instruction.
            .arg("-gline-tables-only")
            .arg("-Wno-everything")
            .arg("-I")
            .arg(folder)
            .arg("-include")
            .arg(folder.join("device.h"))
            .arg(input.path())
            .arg("-o")
            .arg(&output)
            .output()?;
        if !compiled.status.success() {
            return Err(CompilerError::Refused {
                kernel: kernel.to_owned(),
                architecture: architecture.to_owned(),
                log: String::from_utf8_lossy(&compiled.stderr).into_owned(),
            });
        }
        let assembly = std::fs::read_to_string(&output)?;
        std::fs::remove_file(&output)?;
        Ok(assembly)
    }
}

/// Returns `clang 19.1.7` if `path` is a clang that is new enough and has the AMDGPU target.
fn version_of(path: &Path) -> Option<String> {
    let says = |argument: &str| {
        let output = Command::new(path).arg(argument).output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let version = number_in(&says("--version")?)?;
    let major: u32 = version.split('.').next()?.parse().ok()?;
    (major >= OLDEST && says("--print-targets")?.contains("amdgcn"))
        .then(|| format!("clang {version}"))
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
