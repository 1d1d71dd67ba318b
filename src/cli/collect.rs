//! `doctor --collect`: everything a first run on new hardware can tell, in one archive that can be sent in.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::Exit;

/// A command of this program and the file its output goes to.
struct Fact {
    file: &'static str,
    arguments: &'static str,
    /// Whether it takes the flags of a training run.
    trains: bool,
}

/// From what always works to what takes long, so that a machine that stops half-way has said the most.
const FACTS: [Fact; 18] = [
    other("doctor.json", "doctor --json"),
    other("kernels-compiled.json", "kernels --arch all --json"),
    other("kernels-f32.json", "kernels --check --json"),
    other("kernels-bf16.json", "kernels --check --json --dtype bf16"),
    other("kernels-f16.json", "kernels --check --json --dtype f16"),
    training(
        "v3-tiny.json",
        "run v3 --config tiny --num-steps 20 --profile-steps 2 --flops --json",
    ),
    training(
        "v4-tiny.json",
        "run v4 --config tiny --num-steps 20 --profile-steps 2 --flops --json",
    ),
    training("gradcheck-f32.json", "gradcheck --config tiny --json"),
    training(
        "gradcheck-bf16.json",
        "gradcheck --config tiny --dtype bf16 --json",
    ),
    training("verify.json", "verify --config tiny --json"),
    other("calibrate.json", "calibrate --json"),
    training(
        "v1-small.json",
        "run v1 --config small --num-steps 30 --profile-steps 2 --flops --json",
    ),
    training(
        "v2-small.json",
        "run v2 --config small --num-steps 30 --profile-steps 2 --flops --json",
    ),
    training(
        "v3-small.json",
        "run v3 --config small --num-steps 30 --profile-steps 2 --flops --json",
    ),
    training(
        "v4-small.json",
        "run v4 --config small --num-steps 30 --profile-steps 2 --flops --json",
    ),
    training(
        "v3-small-bf16.json",
        "run v3 --config small --num-steps 30 --dtype bf16 --json",
    ),
    training(
        "v4-small-bf16.json",
        "run v4 --config small --num-steps 30 --dtype bf16 --json",
    ),
    training("stages.json", "stages --config small --num-steps 20 --json"),
];

const fn training(file: &'static str, arguments: &'static str) -> Fact {
    Fact {
        file,
        arguments,
        trains: true,
    }
}

const fn other(file: &'static str, arguments: &'static str) -> Fact {
    Fact {
        file,
        arguments,
        trains: false,
    }
}

/// How long a command may take to end once it was asked to.
const GRACE: Duration = Duration::from_secs(10);

/// Runs every fact's command, those that train with `flags` besides, none for longer than `limit`, and packs what they printed.
pub fn collect(to: &Path, flags: &[String], limit: Duration) -> Result<Exit> {
    let archive =
        File::create_new(to).with_context(|| format!("cannot create {}", to.display()))?;
    let folder = tempfile::tempdir().context("no room for temporary files")?;
    let mut index = File::create(folder.path().join("index.txt"))?;
    let mut failed = 0;
    for (number, fact) in FACTS.iter().enumerate() {
        let mut arguments: Vec<&str> = fact.arguments.split(' ').collect();
        if fact.trains {
            arguments.extend(flags.iter().map(String::as_str));
        }
        let command = arguments.join(" ");
        eprintln!("{} of {}: {command}", number + 1, FACTS.len());
        let started = Instant::now();
        let ending = run(&arguments, fact.file, folder.path(), limit)?;
        let line = format!(
            "{command}: {ending}, {:.0} s",
            started.elapsed().as_secs_f64()
        );
        eprintln!("  {ending}");
        writeln!(index, "{line}")?;
        failed += usize::from(ending != "exit status: 0");
    }
    let mut archive = tar::Builder::new(GzEncoder::new(archive, Compression::default()));
    archive.append_dir_all("tinyllama-tutor-facts", folder.path())?;
    archive.into_inner()?.finish()?.sync_all()?;
    println!(
        "wrote {} ({} of {} commands succeeded); it holds device, driver and library names and measurements, no files of yours",
        to.display(),
        FACTS.len() - failed,
        FACTS.len()
    );
    Ok(if failed == 0 { Exit::Ok } else { Exit::Failed })
}

/// Runs one command, its output and error stream kept side by side; says how it ended.
fn run(arguments: &[&str], file: &str, folder: &Path, limit: Duration) -> Result<String> {
    let program = std::env::current_exe().context("cannot find this program's own path")?;
    let create = |name: String| -> Result<File> {
        let path = folder.join(name);
        File::create(&path).with_context(|| format!("cannot write {}", path.display()))
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(create(file.to_string())?)
        .stderr(create(format!("{file}.stderr"))?)
        .spawn()
        .context("cannot start this program again")?;
    if let Some(status) = wait(&mut child, limit)? {
        return Ok(status.to_string());
    }
    // Asked first, for some commands have children of their own to end.
    if let Ok(id) = i32::try_from(child.id()) {
        // SAFETY: kill takes two numbers, and the child has not been waited for, so the number is still its own.
        unsafe { libc::kill(id, libc::SIGTERM) };
    }
    if wait(&mut child, GRACE)?.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(format!("ended after {:.0} s", limit.as_secs_f64()))
}

/// Waits for `child`, but not for longer than `limit`.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        let status = child.try_wait()?;
        if status.is_some() || started.elapsed() > limit {
            return Ok(status);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Refuses a name that would not be recognised as an archive.
pub fn check_name(path: &Path) -> Result<()> {
    if path.extension().is_none_or(|extension| extension != "gz") {
        bail!(super::training_args::UsageError(format!(
            "--collect {}: name a file that ends in .tar.gz",
            path.display()
        )));
    }
    Ok(())
}
