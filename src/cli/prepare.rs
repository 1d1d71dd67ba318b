//! `prepare`: compiles and tunes every target of the course in advance, so that no learner waits for it.

use std::ffi::OsStr;
use std::io::{self, BufRead, stdin};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use std::{fs, thread};

use anyhow::{Context, Result};
use clap::Args;
use etcetera::BaseStrategy;

use super::Exit;
use super::session::warn_instructor;
use tinyllama_base::file::replace;
use tinyllama_base::safe_path::{FileKind, FolderEntry, Refused, SafeFolder};
use tinyllama_base::{ScratchFolder, duration, errln, if_there, inside, plain, untrusted};
use tinyllama_contract::bounds;
use tinyllama_contract::event::{Body, Hello};
use tinyllama_contract::flags::RunSpec;
use tinyllama_engine::device::FORGET_TUNING;
use tinyllama_lesson::{Course, CourseSource};
use tinyllama_runs::{Control, Launcher, Line, RunUpdate, supervise};
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
    /// Launcher for runs: local, slurm, or a command to put before each run, such as "srun --gres=gpu:1"
    #[arg(long, value_name = "WHERE", env = "TINYLLAMA_LAUNCHER", value_parser = Launcher::check_flag)]
    launcher: Option<String>,
    /// Number of programs that compile in parallel on a GPU of this machine (default: half the processors, at most
    /// 8); tuning follows afterwards, one program at a time
    #[arg(long, value_name = "N", value_parser = bounds::JOBS)]
    jobs: Option<usize>,
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
        warn_instructor(class);
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
        errln!("{} of {}: {}", index + 1, specs.len(), spec);
        let since = Instant::now();
        let mut taken = 0;
        let done = compile_one(spec, &launcher, &wishes, &mut |hello| {
            compiles = hello.backend != "cpu";
            if let (Some(class), None) = (&args.class, &shared) {
                let device = device_folder(hello);
                taken = take_prepared(class, &device, &cache()?)?;
                shared = Some((class, device));
            }
            Ok(())
        })?;
        if taken > 0 {
            errln!("  took {taken} files that another machine had prepared");
        }
        match done {
            Some(true) => errln!("  ready in {}", duration(since.elapsed().as_secs_f64())),
            Some(false) => errln!("  did not run here; the course says so at its step"),
            None => return Ok(Exit::Ok),
        }
        // The first run has shown which device to compile for.
        if index == 0 && compiles && launcher.is_local() {
            let jobs = args.jobs.unwrap_or_else(default_jobs);
            if !compile_all(&specs[1..], &launcher, &wishes, jobs) {
                return Ok(Exit::Ok);
            }
        }
        if let Some((class, device)) = &shared {
            share_prepared(class, device, &cache()?)?;
        }
    }
    let taken = duration(begun.elapsed().as_secs_f64());
    errln!("{} programs ready, in {taken}", specs.len());
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
    errln!("compiling {} programs, {jobs} at a time", specs.len());
    let forgetful = launcher.clone().with_variable(FORGET_TUNING, "1");
    let next = AtomicUsize::new(0);
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..jobs.min(specs.len()) {
            scope.spawn(|| {
                while let Some(spec) = specs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match compile_one(spec, &forgetful, wishes, &mut |_| Ok(())) {
                        Ok(None) => ended.store(true, Ordering::Relaxed),
                        Ok(Some(true)) => errln!("  compiled: {spec}"),
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
    on_hello: &mut dyn FnMut(&Hello) -> Result<()>,
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
        let folder = ScratchFolder::new().context("cannot create a folder for the run")?;
        let ended = supervise(
            &launcher.run(spec),
            folder.path(),
            &control,
            &mut |update| {
                if let RunUpdate::Line(Line::Event(event)) = update
                    && let Body::Hello(hello) = event.body
                {
                    on_hello(&hello)?;
                }
                Ok(())
            },
        )?;
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

/// The folder in a class for prepared files.
const PREPARED: &str = ".prepared";

/// Name of the folder for what was prepared for this device. Machines with the same GPU, driver and version of the
/// program share it.
fn device_folder(hello: &Hello) -> String {
    let driver = hello.driver.as_deref().unwrap_or("any");
    let (version, backend, device) = (&hello.version, &hello.backend, &hello.device);
    let name = format!("{version} {backend} {device} {driver}");
    let is_special = |c: char| !c.is_ascii_alphanumeric() && c != '.';
    name.replace(is_special, "-")
}

/// Copies the files that the cache lacks from the class folder, and returns their number. They hold code for a GPU, so
/// only files of the folder's owner count.
fn take_prepared(class: &Path, device: &str, cache: &Path) -> Result<usize> {
    let found = SafeFolder::open_owned(class)
        .and_then(|class| class.folder(OsStr::new(PREPARED)))
        .and_then(|prepared| prepared.folder(OsStr::new(device)));
    match if_there(found) {
        Ok(Some(prepared)) => {
            shared_folders(|name| match if_there(prepared.folder(OsStr::new(name)))? {
                Some(from) => copy_in(&from, &cache.join(name)),
                None => Ok(0),
            })
        }
        Ok(None) => Ok(0),
        Err(error) if Refused::from_error(&error).is_some() => {
            eprintln!(
                "warning: nothing is taken from {}/{PREPARED}: {error}",
                plain(&class.display().to_string())
            );
            Ok(0)
        }
        Err(error) => Err(error).with_context(|| format!("opening {}/{PREPARED}", class.display())),
    }
}

/// Copies the files that the class folder lacks from the cache, for all to read. Others than the owner of the class folder
/// keep theirs, because nobody would take them.
fn share_prepared(class: &Path, device: &str, cache: &Path) -> Result<()> {
    let folder = SafeFolder::open_owned(class)?;
    if !folder.is_own() {
        return Ok(());
    }
    let prepared = folder
        .create_folder(OsStr::new(PREPARED), SHARED_FOLDER)
        .and_then(|prepared| prepared.create_folder(OsStr::new(device), SHARED_FOLDER));
    let prepared = match prepared {
        Err(error) if Refused::from_error(&error).is_some() => return Ok(()),
        prepared => prepared.with_context(|| format!("creating {}/{PREPARED}", class.display()))?,
    };
    shared_folders(|name| {
        let to = prepared.create_folder(OsStr::new(name), SHARED_FOLDER)?;
        copy_out(&cache.join(name), &to)
    })?;
    Ok(())
}

/// Modes of what others read.
const SHARED_FOLDER: u32 = 0o755;
const SHARED_FILE: u32 = 0o644;

fn shared_folders(copy: impl Fn(&str) -> io::Result<usize>) -> Result<usize> {
    let copied = SHARED
        .iter()
        .map(|name| copy(name).with_context(|| format!("copying {name}")));
    copied.sum()
}

fn copy_in(from: &SafeFolder, to: &Path) -> io::Result<usize> {
    fs::create_dir_all(to)?;
    let mut copied = 0;
    for FolderEntry { name, kind } in from.entries()? {
        let target = to.join(&name);
        let taken = match kind {
            FileKind::Directory => from
                .folder(&name)
                .and_then(|folder| copy_in(&folder, &target)),
            FileKind::RegularFile if !target.exists() => take_file(from, &name, &target),
            _ => Ok(0),
        };
        copied += match taken {
            Err(error) if Refused::from_error(&error).is_some() => {
                eprintln!(
                    "warning: {} is not taken: {error}",
                    plain(&name.to_string_lossy())
                );
                0
            }
            taken => taken?,
        };
    }
    Ok(copied)
}

fn take_file(from: &SafeFolder, name: &OsStr, to: &Path) -> io::Result<usize> {
    let bytes = untrusted::read_from(from.file(name)?, untrusted::MOST_BYTES)?;
    // The replacement is atomic, because another process may be reading.
    replace(to, &bytes).map(|()| 1)
}

fn copy_out(from: &Path, to: &SafeFolder) -> io::Result<usize> {
    let there = to.entries()?;
    let mut copied = 0;
    for path in inside(from)? {
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            copied += copy_out(&path, &to.create_folder(name, SHARED_FOLDER)?)?;
        } else if path.is_file() && there.iter().all(|entry| entry.name != name) {
            to.replace(name, &fs::read(&path)?, SHARED_FILE)?;
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
        let [mine, class, yours] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let write = |root: &Path, file: &str, text: &str| {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(mine.path(), "kernels/cuda/a", "one");
        write(mine.path(), "kernels/b", "two");
        write(mine.path(), "modules/c", "three");
        write(mine.path(), "refused/d", "of this machine alone");
        write(yours.path(), "kernels/b", "mine");
        share_prepared(class.path(), "gpu", mine.path()).unwrap();
        let prepared = class.path().join(".prepared/gpu");
        assert!(!prepared.join("refused").exists());
        let take = || take_prepared(class.path(), "gpu", yours.path()).unwrap();
        assert_eq!(take(), 2);
        let taken = |file: &str| fs::read_to_string(yours.path().join(file)).unwrap();
        assert_eq!(
            (
                taken("kernels/b").as_str(),
                taken("kernels/cuda/a").as_str()
            ),
            ("mine", "one")
        );
        assert_eq!(take(), 0);
        // A link leads nowhere, whoever made it.
        write(mine.path(), "elsewhere/e", "four");
        std::os::unix::fs::symlink(mine.path().join("elsewhere"), prepared.join("modules/link"))
            .unwrap();
        assert_eq!(take(), 0);
        assert!(!yours.path().join("modules/link").exists());
    }
}
