//! `doctor --collect`: packs all facts from a first run on new hardware into one archive that can be sent to us.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::Exit;
use tinyllama_base::terminal::Stdout;
use tinyllama_base::{ScratchFolder, die_with_parent, duration, errln};
use tinyllama_contract::flags::UsageError;
use tinyllama_runs::signal_group;

/// File names with the commands that fill them. Reliable commands come first and long ones last, so a machine that
/// stops early has already given the most important facts.
const FACTS: &str = "\
doctor | doctor
driver | doctor --driver
kernels-compiled | kernels --arch all
kernels-f32 | kernels --check
kernels-bf16 | kernels --check --dtype bf16
kernels-f16 | kernels --check --dtype f16
v3-tiny | run v3 --config tiny --num-steps 20 --profile-steps 2 --flops
v4-tiny | run v4 --config tiny --num-steps 20 --profile-steps 2 --flops
gradcheck-f32 | gradcheck --config tiny
gradcheck-bf16 | gradcheck --config tiny --dtype bf16
verify | verify --config tiny
calibrate | calibrate
v1-small | run v1 --config small --num-steps 30 --profile-steps 2 --flops
v2-small | run v2 --config small --num-steps 30 --profile-steps 2 --flops
v3-small | run v3 --config small --num-steps 30 --profile-steps 2 --flops
v4-small | run v4 --config small --num-steps 30 --profile-steps 2 --flops
v3-small-bf16 | run v3 --config small --num-steps 30 --dtype bf16
v4-small-bf16 | run v4 --config small --num-steps 30 --dtype bf16
stages | stages --config small --num-steps 20";

/// Commands that train. They accept the flags of a training run.
const TRAINING: [&str; 4] = ["run", "gradcheck", "verify", "stages"];

/// Time for a command to end after it was asked to.
const GRACE: Duration = Duration::from_secs(10);

/// Interval between checks on a running command.
const LOOK: Duration = Duration::from_millis(100);

/// Runs every command of `FACTS` for at most `limit`; those that train also get `flags`. It packs their output into
/// an archive. After a signal it packs the output so far.
pub fn collect(to: &Path, flags: &[String], limit: Duration) -> Result<Exit> {
    let name = to.display();
    let archive = File::create_new(to).map_err(|error| {
        UsageError(format!(
            "--collect {name}: {error}; name a new file in a folder that can be written"
        ))
    })?;
    let interrupted = watch_signals()?;
    let signal = || interrupted.load(Ordering::Relaxed);
    let folder = ScratchFolder::new().context("cannot create a folder for temporary files")?;
    let mut index = File::create(folder.path().join("index.txt"))?;
    let mut succeeded = 0;
    let facts = FACTS.lines().filter_map(|line| line.split_once(" | "));
    let facts: Vec<_> = facts.collect();
    for (number, (file, argv)) in facts.iter().enumerate() {
        if signal() != 0 {
            break;
        }
        let mut arguments: Vec<&str> = argv.split(' ').chain(["--json"]).collect();
        if TRAINING.contains(&arguments[0]) {
            arguments.extend(flags.iter().map(String::as_str));
        }
        let command = arguments.join(" ");
        errln!("{} of {}: {command}", number + 1, facts.len());
        let started = Instant::now();
        let stop = || signal() != 0 || started.elapsed() > limit;
        let ending = match run(&arguments, file, folder.path(), &stop)? {
            Some(status) => status.to_string(),
            None if signal() != 0 => "interrupted".into(),
            None => format!("ended after {}", duration(limit.as_secs_f64())),
        };
        errln!("  {ending}");
        let taken = duration(started.elapsed().as_secs_f64());
        writeln!(index, "{command}: {ending}, {taken}")?;
        succeeded += usize::from(ending == "exit status: 0");
    }
    let mut archive = tar::Builder::new(GzEncoder::new(archive, Compression::default()));
    archive.append_dir_all("tinyllama-tutor-facts", folder.path())?;
    archive.into_inner()?.finish()?.sync_all()?;
    let of = facts.len();
    writeln!(
        Stdout,
        "wrote {name} ({succeeded} of {of} commands succeeded); it holds device, driver and library names and measurements, none of your files"
    )?;
    Ok(match i32::try_from(signal()) {
        Ok(signal) if signal != 0 => Exit::Signal(signal),
        _ if succeeded == facts.len() => Exit::Ok,
        _ => Exit::Failed,
    })
}

/// Returns the number of the signal that asked this program to end; 0 before that.
fn watch_signals() -> Result<Arc<AtomicUsize>> {
    let received = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let number = usize::try_from(signal)?;
        signal_hook::flag::register_usize(signal, Arc::clone(&received), number)
            .context("cannot listen for signals")?;
    }
    Ok(received)
}

/// Runs one command and stores its output and error streams in separate files. Returns `None` if it had to be ended.
fn run(
    arguments: &[&str],
    file: &str,
    folder: &Path,
    stop: &dyn Fn() -> bool,
) -> Result<Option<ExitStatus>> {
    let program = std::env::current_exe().context("cannot find this program's own path")?;
    let create = |name: String| -> Result<File> {
        let path = folder.join(name);
        File::create(&path).with_context(|| format!("cannot write {}", path.display()))
    };
    // A separate process group, because the children of some commands have to end with them.
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(create(format!("{file}.json"))?)
        .stderr(create(format!("{file}.json.stderr"))?)
        .process_group(0);
    die_with_parent(&mut command, libc::SIGTERM);
    let child = command.spawn();
    let mut child = child.context("cannot start this program again")?;
    let status = wait(&mut child, stop)?;
    if status.is_none() {
        signal_group(child.id(), libc::SIGTERM);
        let asked = Instant::now();
        let ended = wait(&mut child, &|| asked.elapsed() > GRACE)?;
        signal_group(child.id(), libc::SIGKILL);
        if ended.is_none() {
            child.wait()?;
        }
    }
    Ok(status)
}

/// Waits for `child` until `stop` returns true.
fn wait(child: &mut Child, stop: &dyn Fn() -> bool) -> Result<Option<ExitStatus>> {
    loop {
        let status = child.try_wait()?;
        if status.is_some() || stop() {
            return Ok(status);
        }
        std::thread::sleep(LOOK);
    }
}

/// Refuses a name without an archive's extension.
pub fn check_name(path: &Path) -> Result<()> {
    if path.extension().is_none_or(|extension| extension != "gz") {
        let path = path.display();
        bail!(UsageError(format!(
            "--collect {path}: name a file that ends in .tar.gz"
        )));
    }
    Ok(())
}
