//! `prepare`: compiles and tunes every target of the course in advance, so that no learner waits for it.

use std::fs;
use std::io::{BufRead, stdin};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use etcetera::BaseStrategy;

use super::Exit;
use super::session::warn_of;
use tinyllama_base::duration;
use tinyllama_base::file::replace;
use tinyllama_contract::event::{Body, Hello};
use tinyllama_contract::flags::RunSpec;
use tinyllama_engine::device::FORGET_TUNING;
use tinyllama_lesson::{Course, CourseSource};
use tinyllama_runs::{Control, Launcher, Line, RunUpdate, supervise};
use tinyllama_session::class_rights;
use tinyllama_tutor_core::prepare::targets;

/// Cache folders that any machine with the same GPU, driver and program can use.
const SHARED: [&str; 2] = ["kernels", "modules"];

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor prepare
      every target of the course, one step each; several compile at a time
  tinyllama-tutor prepare --class /shared/class
      takes what another machine with the same GPU and driver left there, prepares the rest, and shares it")]
pub struct PrepareArgs {
    /// Use the course in this folder instead of the built-in one
    #[arg(long, value_name = "DIR", env = "TINYLLAMA_LESSONS")]
    lessons: Option<PathBuf>,
    /// Share the prepared files through this class folder
    #[arg(long, value_name = "DIR", env = "TINYLLAMA_CLASS")]
    class: Option<PathBuf>,
    /// Run with low priority, pause and continue on commands from standard input, and end with it
    #[arg(long, hide = true)]
    background: bool,
    /// Launcher for runs: local, slurm, ssh:HOST, or a command to put before each run, such as "srun --gres=gpu:1"
    #[arg(long, value_name = "WHERE", env = "TINYLLAMA_LAUNCHER")]
    launcher: Option<String>,
    /// Number of programs that compile in parallel on a GPU of this machine (default: half the processors, at most
    /// 8); tuning follows afterwards, one program at a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: Option<u16>,
    /// Flags for every run, such as `-- --config small`
    #[arg(last = true, value_name = "RUN FLAGS")]
    flags: Vec<String>,
}

/// Requests from the tutor in the foreground.
#[derive(Debug, Default)]
struct TutorWishes {
    paused: bool,
    ended: bool,
    /// The started runs. Those that have ended ignore requests.
    going: Vec<Control>,
}

impl TutorWishes {
    fn stop(&mut self) {
        for run in self.going.drain(..) {
            run.stop(libc::SIGTERM);
        }
    }
}

type SharedWishes = Arc<(Mutex<TutorWishes>, Condvar)>;

pub fn run(args: &PrepareArgs) -> Result<Exit> {
    let course = Course::load(&CourseSource::new(args.lessons.clone()))?;
    if let Some(class) = &args.class {
        warn_of(class, &class_rights::for_instructor(class));
    }
    let launcher = Launcher::from_settings(args.launcher.as_deref(), args.class.as_deref())?;
    let specs = targets(&course, &args.flags)?;
    let wishes = SharedWishes::default();
    if args.background {
        lower_priority();
        read_commands(Arc::clone(&wishes));
    }
    let mut shared = None;
    let begun = Instant::now();
    let mut compiles = false;
    for (index, spec) in specs.iter().enumerate() {
        eprintln!("{} of {}: {}", index + 1, specs.len(), spec);
        let since = Instant::now();
        let mut taken = 0;
        let done = compile_one(spec, &launcher, &wishes, &mut |hello| {
            compiles = hello.backend != "cpu";
            if let (Some(class), None) = (&args.class, &shared) {
                let folder = class_folder(class, hello);
                taken = copy_missing(&folder, &cache()?)?;
                shared = Some(folder);
            }
            Ok(())
        })?;
        if taken > 0 {
            eprintln!("  took {taken} files that another machine had prepared");
        }
        match done {
            Some(true) => eprintln!("  ready in {}", duration(since.elapsed().as_secs_f64())),
            Some(false) => eprintln!("  did not run here; the course says so at its step"),
            None => return Ok(Exit::Ok),
        }
        // The first run has shown which device to compile for.
        if index == 0 && compiles && launcher.is_local() {
            let jobs = args.jobs.map_or_else(default_jobs, usize::from);
            if !compile_all(&specs[1..], &launcher, &wishes, jobs) {
                return Ok(Exit::Ok);
            }
        }
        if let Some(folder) = &shared {
            copy_missing(&cache()?, folder)?;
        }
    }
    let taken = duration(begun.elapsed().as_secs_f64());
    eprintln!("{} programs ready, in {taken}", specs.len());
    Ok(Exit::Ok)
}

fn default_jobs() -> usize {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    (cores / 2).clamp(1, 8)
}

/// Compiles all targets, `jobs` at a time. These runs do not store tuning results, because others use the device at
/// the same time. The run that follows reports targets that do not run here. Returns false if the end was requested.
fn compile_all(specs: &[RunSpec], launcher: &Launcher, wishes: &SharedWishes, jobs: usize) -> bool {
    if jobs < 2 || specs.len() < 2 {
        return true;
    }
    eprintln!("compiling {} programs, {jobs} at a time", specs.len());
    let forgetful = launcher.clone().with_variable(FORGET_TUNING, "1");
    let next = AtomicUsize::new(0);
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..jobs.min(specs.len()) {
            scope.spawn(|| {
                while let Some(spec) = specs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match compile_one(spec, &forgetful, wishes, &mut |_| Ok(())) {
                        Ok(None) => ended.store(true, Ordering::Relaxed),
                        Ok(Some(true)) => eprintln!("  compiled: {spec}"),
                        Ok(Some(false)) | Err(_) => {}
                    }
                }
            });
        }
    });
    !ended.into_inner()
}

/// Runs one step of a target, again after each interruption. Returns whether it succeeded; `None` if the end was
/// requested.
fn compile_one(
    spec: &RunSpec,
    launcher: &Launcher,
    wishes: &SharedWishes,
    hear: &mut dyn FnMut(&Hello) -> Result<()>,
) -> Result<Option<bool>> {
    loop {
        let control = Control::default();
        {
            let mut wanted = lock(wishes);
            while wanted.paused && !wanted.ended {
                let woken = wishes.1.wait(wanted);
                wanted = woken.unwrap_or_else(PoisonError::into_inner);
            }
            if wanted.ended {
                return Ok(None);
            }
            wanted.going.push(control.clone());
        }
        let folder = tempfile::tempdir().context("cannot create a folder for the run")?;
        let ended = supervise(&launcher.run(spec), folder.path(), &control, &mut |told| {
            if let RunUpdate::Line(Line::Event(event)) = told
                && let Body::Hello(hello) = event.body
            {
                hear(&hello)?;
            }
            Ok(())
        })?;
        if !ended.stopped {
            return Ok(Some(ended.exit.is_success()));
        }
    }
}

fn lock(wishes: &SharedWishes) -> MutexGuard<'_, TutorWishes> {
    wishes.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads `pause` and `go`, one per line, from the tutor in the foreground. When the tutor ends, this process ends,
/// too.
fn read_commands(wishes: SharedWishes) {
    thread::spawn(move || {
        for line in stdin().lock().lines().map_while(Result::ok) {
            let mut wanted = lock(&wishes);
            wanted.paused = line == "pause";
            if wanted.paused {
                wanted.stop();
            }
            wishes.1.notify_all();
        }
        let mut wanted = lock(&wishes);
        wanted.ended = true;
        wanted.stop();
        wishes.1.notify_all();
    });
}

/// Lowers the priority below everything else. Children inherit it.
fn lower_priority() {
    const LOWEST: i32 = 19;
    // SAFETY: the call takes a number. If it is refused, the priority stays unchanged.
    unsafe { libc::nice(LOWEST) };
}

fn cache() -> Result<PathBuf> {
    let strategy = etcetera::choose_base_strategy().context("no home directory: set HOME")?;
    Ok(strategy.cache_dir().join("tinyllama-tutor"))
}

/// Folder for prepared files. Machines with the same GPU, driver and version of the program share it.
fn class_folder(class: &Path, hello: &Hello) -> PathBuf {
    let driver = hello.driver.as_deref().unwrap_or("any");
    let (version, backend, device) = (&hello.version, &hello.backend, &hello.device);
    let name = format!("{version} {backend} {device} {driver}");
    let is_special = |c: char| !c.is_ascii_alphanumeric() && c != '.';
    class.join(".prepared").join(name.replace(is_special, "-"))
}

/// Copies the files that `to` lacks and returns their number.
fn copy_missing(from: &Path, to: &Path) -> Result<usize> {
    SHARED
        .iter()
        .map(|folder| copy_folder(&from.join(folder), &to.join(folder)))
        .sum()
}

fn copy_folder(from: &Path, to: &Path) -> Result<usize> {
    let Ok(entries) = fs::read_dir(from) else {
        return Ok(0);
    };
    fs::create_dir_all(to).with_context(|| format!("creating {}", to.display()))?;
    let mut copied = 0;
    for entry in entries {
        let path = entry
            .with_context(|| format!("reading {}", from.display()))?
            .path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copied += copy_folder(&path, &target)?;
        } else if path.is_file() && !target.exists() {
            let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
            // The replacement is atomic, because another process may be reading.
            replace(&target, &bytes).with_context(|| format!("writing {}", target.display()))?;
            copied += 1;
        }
    }
    Ok(copied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_files_are_copied_and_existing_ones_stay() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |root: &Path, file: &str, text: &str| {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(from.path(), "kernels/cuda/a", "one");
        write(from.path(), "kernels/b", "two");
        write(from.path(), "modules/c", "three");
        write(from.path(), "refused/d", "of this machine alone");
        write(to.path(), "kernels/b", "mine");
        assert_eq!(copy_missing(from.path(), to.path()).unwrap(), 2);
        assert_eq!(
            fs::read_to_string(to.path().join("kernels/b")).unwrap(),
            "mine"
        );
        assert!(to.path().join("kernels/cuda/a").exists());
        assert!(!to.path().join("refused").exists());
        assert_eq!(copy_missing(from.path(), to.path()).unwrap(), 0);
    }
}
