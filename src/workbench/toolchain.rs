//! The compiler of this machine, and the program that runs kernels on it. That program is built once from the sources
//! inside this one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, anyhow};
use include_dir::{Dir, include_dir};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::file::HEADERS;
use tinyllama_base::rocm;

static SOURCES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../kernels/stand-in");

/// Environment variable that names the compiler. It comes before any compiler that is found.
const VARIABLE: &str = "TINYLLAMA_CLANG";

/// Versions whose checks have the form that the stand-in reads.
const VERSIONS: [u32; 8] = [19, 20, 21, 22, 23, 24, 18, 17];

/// Sources of the program that runs kernels: the workbench's files, and those it shares with the stand-in for the HIP
/// library.
const PROGRAM: [&str; 7] = [
    "workbench/run.cpp",
    "workbench/confine.cpp",
    "workbench/loaded.cpp",
    "workbench/module_file.cpp",
    "library/execute.cpp",
    "library/fibers.cpp",
    "library/memory.cpp",
];

/// Why kernels cannot run on this machine without a GPU.
#[derive(Debug, Error)]
pub enum ToolchainError {
    #[error(
        "no clang of version 17 or later was found: install one (Debian and Ubuntu: `apt install clang-19`; ROCm brings one), \
         or name one in {VARIABLE}"
    )]
    NoCompiler,
    #[error(
        "the stand-in for a GPU runs on Linux on x86-64, and this machine is neither; `--gpu` runs kernels on a GPU"
    )]
    OtherMachine,
    #[error("{} cannot build the stand-in for a GPU; its C++ library may be missing (Debian: `apt install libstdc++-12-dev`):\n{log}", .compiler.display())]
    NotBuilt { compiler: PathBuf, log: String },
}

/// A compiler and the built stand-in.
#[derive(Clone, Debug)]
pub struct Toolchain {
    pub compiler: PathBuf,
    /// Folder of the compiler's headers. The freestanding ones are needed.
    pub headers: PathBuf,
    /// Folder with `device`, `workbench`, `include` and the program.
    pub folder: PathBuf,
}

impl Toolchain {
    /// Finds the compiler and builds the stand-in if it is missing. Building takes some seconds, once, and `say` receives
    /// a message.
    ///
    /// # Errors
    /// Returns a [`ToolchainError`], or the reason why files cannot be written.
    pub fn ready(say: &mut dyn FnMut(&str)) -> Result<Toolchain> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(ToolchainError::OtherMachine.into());
        }
        let (compiler, headers) = find().ok_or(ToolchainError::NoCompiler)?;
        let folder = cache_folder(&compiler)?;
        let toolchain = Toolchain {
            compiler,
            headers,
            folder,
        };
        if !toolchain.program().exists() {
            say("building the stand-in for a GPU, once");
            toolchain.build()?;
        }
        Ok(toolchain)
    }

    pub fn program(&self) -> PathBuf {
        self.folder.join("run")
    }

    fn build(&self) -> Result<()> {
        let folder = &self.folder;
        let describe = || {
            format!(
                "{}: the stand-in for a GPU is built there",
                folder.display()
            )
        };
        fs::create_dir_all(folder).with_context(describe)?;
        // Two programs may build at once. The file that is made last shows that all others are complete.
        let lock = fs::File::create(folder.join("lock")).with_context(describe)?;
        lock.lock().with_context(describe)?;
        if self.program().exists() {
            return Ok(());
        }
        SOURCES.extract(folder).with_context(describe)?;
        let hip = folder.join("include/hip");
        fs::create_dir_all(&hip).with_context(describe)?;
        for header in HEADERS {
            fs::write(hip.join(header), "#pragma once\n").with_context(describe)?;
        }
        // A process per source, because a learner waits for this build: with two cores it takes half the time.
        let objects = PROGRAM.map(|source| folder.join(source).with_extension("o"));
        let compiled = PROGRAM.iter().zip(&objects).map(|(source, object)| {
            let mut command = self.cpp_compiler();
            command.arg("-c").arg(folder.join(source)).arg("-o");
            command.arg(object).stderr(Stdio::piped()).spawn()
        });
        let compiled: Vec<_> = compiled.collect::<Result<_, _>>().with_context(describe)?;
        for child in compiled {
            self.must_succeed(&child.wait_with_output().with_context(describe)?)?;
        }
        let partial = folder.join("run.part");
        let mut link = self.cpp_compiler();
        link.args(&objects).arg("-o").arg(&partial).arg("-ldl");
        self.must_succeed(&link.output().with_context(describe)?)?;
        fs::rename(&partial, self.program()).with_context(describe)
    }

    fn cpp_compiler(&self) -> Command {
        let mut command = Command::new(&self.compiler);
        command.args(["--driver-mode=g++", "-std=c++17", "-O2", "-w"]);
        command
    }

    fn must_succeed(&self, output: &Output) -> Result<(), ToolchainError> {
        if output.status.success() {
            return Ok(());
        }
        let log = String::from_utf8_lossy(&output.stderr);
        Err(ToolchainError::NotBuilt {
            compiler: self.compiler.clone(),
            log: log.lines().take(12).collect::<Vec<_>>().join("\n"),
        })
    }
}

/// Returns the list of functions that a kernel may call.
///
/// # Errors
/// Fails if this program was built without it.
pub fn mathematics() -> Result<&'static include_dir::File<'static>> {
    let list = SOURCES.get_file("workbench/mathematics.h");
    list.ok_or_else(|| anyhow!("kernels/stand-in/workbench/mathematics.h is missing"))
}

/// Finds the first compiler that answers, and its headers.
fn find() -> Option<(PathBuf, PathBuf)> {
    let headers = |path: &Path| {
        let output = Command::new(path)
            .arg("-print-resource-dir")
            .output()
            .ok()?;
        let folder = String::from_utf8(output.stdout).ok()?;
        let folder = PathBuf::from(folder.trim()).join("include");
        (output.status.success() && folder.is_dir()).then_some(folder)
    };
    if let Some(named) = std::env::var_os(VARIABLE) {
        let path = PathBuf::from(named);
        return headers(&path).map(|headers| (path, headers));
    }
    let numbered = VERSIONS.iter().map(|version| format!("clang-{version}"));
    let names = numbered.chain(["clang".to_owned()]).map(PathBuf::from);
    let mut paths = names.chain(rocm::clangs());
    paths.find_map(|path| headers(&path).map(|headers| (path, headers)))
}

/// Returns a folder for each combination of sources and compiler.
fn cache_folder(compiler: &Path) -> Result<PathBuf> {
    let strategy = etcetera::BaseStrategy::cache_dir(
        &etcetera::choose_base_strategy().context("no folder for caches: HOME is not set")?,
    );
    let mut digest = Sha256::new();
    digest.update(compiler.as_os_str().as_encoded_bytes());
    hash(&SOURCES, &mut digest);
    let name = &format!("{:x}", digest.finalize())[..16];
    Ok(strategy.join("tinyllama-tutor/workbench").join(name))
}

fn hash(folder: &Dir<'_>, digest: &mut Sha256) {
    for file in folder.files() {
        digest.update(file.path().as_os_str().as_encoded_bytes());
        digest.update(file.contents());
    }
    for inner in folder.dirs() {
        hash(inner, digest);
    }
}
