//! `workbench`: exercises in which learners write kernels.

mod bench;
mod machine;
mod occupancy;
mod print;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use serde_json::json;

use super::Exit;
use super::print_result::{print_document, print_prose, print_text};
use super::session::SessionCommandArgs;
use tinyllama_base::file::path_text;
use tinyllama_base::untrusted::{PlainWriter, plain};
use tinyllama_base::{errln, locale, outln};
use tinyllama_contract::flags::UsageError;
use tinyllama_engine::device::{BackendChoice, DeviceError, open_driver_of};
use tinyllama_learner_kernels::gpu;
use tinyllama_runs::{Launcher, NotStarted, RunExit};
use tinyllama_session::event::KernelTime;
use tinyllama_session::kernel::CheckedKernel;
use tinyllama_session::state::{KernelAttemptResult, SessionState};
use tinyllama_session::{
    InstructorOrder, OrderAction, Session, SessionError, SessionEvent, inbox, store,
};
use tinyllama_workbench::check::{self, CheckOptions, CheckProgress};
use tinyllama_workbench::compiled::compiler::Compiler;
use tinyllama_workbench::machine::ARCHITECTURES;
use tinyllama_workbench::{Exercise, exercise_file, exercises, find, text};

/// Interval at which `watch` checks the file. It compares the time of change, which network homes report as well.
const LOOK: Duration = Duration::from_millis(300);

/// Time limit for a check on a GPU. After that the kernel counts as endless.
const GPU_LIMIT: Duration = Duration::from_secs(60);

pub type WorkbenchArgs = SessionCommandArgs<WorkbenchCommand>;

#[derive(Debug, Subcommand)]
pub enum WorkbenchCommand {
    /// List the exercises and the learner's progress
    List,
    /// Show an exercise and write its start file
    Start {
        /// Name or number of the exercise
        exercise: String,
        /// Folder for the file instead of the session's; `.` for the current one
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
    /// Check the file after every save
    Watch(CheckArgs),
    /// Check the file: results on awkward sizes, races, bounds, barriers, and memory access
    Check(CheckArgs),
    /// Time the file on this GPU, and compare it with the solution and this device's peak rates
    Bench(bench::BenchArgs),
    /// Execute the file as an AMD GPU's instructions and list them: no GPU is needed, and none is timed
    Machine(machine::MachineArgs),
    /// Show registers, spills and the waves that fit, and move block size, launch bounds and unrolling
    Occupancy(occupancy::OccupancyArgs),
    /// Show the next hint
    Hint {
        /// Name or number of the exercise
        exercise: String,
        /// Number of the hint to show instead
        #[arg(long, value_name = "N")]
        number: Option<usize>,
    },
    /// Show a solution
    Solution {
        /// Name or number of the exercise
        exercise: String,
    },
    /// Start again with a new file; the old one stays in the same folder
    Reset {
        /// Name or number of the exercise
        exercise: String,
        /// The learner's file (default: the one in the session)
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Name or number of the exercise
    exercise: String,
    /// The learner's file (default: the one in the session)
    #[arg(long, value_name = "FILE", overrides_with = "file")]
    file: Option<PathBuf>,
    /// Check only waves of this many lanes: 64 (CDNA) or 32 (RDNA, NVIDIA)
    #[arg(long, value_parser = ["64", "32"])]
    wave: Option<String>,
    /// Draw how a wavefront accesses memory
    #[arg(long)]
    picture: bool,
    /// Check the machine code of these architectures, for example gfx950,gfx1201
    #[arg(long, value_name = "ARCH", value_delimiter = ',', value_parser = ARCHITECTURES, conflicts_with = "wave")]
    arch: Vec<String>,
    /// Draw the sizes that a check adds from this number, which an earlier check showed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Check on this machine's GPU instead of the emulator: results only, without places
    #[arg(long)]
    gpu: bool,
    /// Selects a GPU.
    #[command(flatten)]
    device: DeviceArgs,
}

#[derive(Debug, Args)]
struct DeviceArgs {
    /// Backend of the GPU
    #[arg(long, value_enum, default_value = "auto", env = "TINYLLAMA_BACKEND")]
    backend: BackendChoice,
    /// Device of the backend
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Launcher for the GPU: local, slurm, or a command to put before the program, such as "srun --gres=gpu:1"
    #[arg(
        long,
        value_name = "WHERE",
        env = "TINYLLAMA_LAUNCHER",
        overrides_with = "launcher",
        value_parser = Launcher::check_flag
    )]
    launcher: Option<String>,
}

impl DeviceArgs {
    /// Runs this command on the machine with the GPU, unless that is this one. The other machine must have access to
    /// the file and the session.
    fn run_on_launcher(&self, file: &Path) -> Result<Option<Exit>> {
        let launcher = Launcher::from_settings(self.launcher.as_deref(), None)?;
        if launcher.is_local() {
            return Ok(None);
        }
        let file = std::path::absolute(file).context("this folder is gone")?;
        let mut command = launcher.child(std::env::args_os().skip(1));
        let status = command
            .args(["--launcher=local", "--file"])
            .arg(file)
            .status();
        let status = status.map_err(NotStarted::from_program(command.get_program()))?;
        Ok(Some(RunExit::from(status).into()))
    }

    fn open(&self) -> Result<tinyllama_engine::device::driver::Driver> {
        let driver = open_driver_of(self.backend, self.device.as_deref())?;
        Ok(driver.ok_or(DeviceError::NoGpu)?)
    }
}

pub fn run(args: &WorkbenchArgs) -> Result<Exit> {
    let session = args.place.find()?;
    match &args.command {
        WorkbenchCommand::List => {
            let state = store::read_only(&session).map(|(state, _)| state);
            let state = state.unwrap_or_default();
            print::list(exercises()?, &state, args.json)
        }
        WorkbenchCommand::Start { exercise, to } => {
            let exercise = find(exercise)?;
            let folder = to.clone().unwrap_or_else(|| session.workbench());
            let path = folder.join(exercise.file_name());
            let is_new = exercise_file::start(exercise, &path)?;
            let document =
                json!({ "exercise": exercise.name, "file": path_text(&path), "new": is_new });
            let exit = print_prose(args.json, &document, |out| {
                print::start(out, exercise, &path, is_new, to.is_some())
            })?;
            // The learner reads now. Later, the first check would miss a compiler.
            if let Err(error) = Compiler::find() {
                errln!("{error}");
            }
            Ok(exit)
        }
        WorkbenchCommand::Watch(check) => watch(args, check),
        WorkbenchCommand::Check(check) => {
            let (exercise, path) = args.file_of(&check.exercise, check.file.as_deref())?;
            if check.gpu
                && let Some(exit) = check.device.run_on_launcher(&path)?
            {
                return Ok(exit);
            }
            check_once(args, check, exercise, &path)
        }
        WorkbenchCommand::Bench(bench) => bench::run(args, bench),
        WorkbenchCommand::Machine(machine) => machine::run(args, machine),
        WorkbenchCommand::Occupancy(occupancy) => occupancy::run(args, occupancy),
        WorkbenchCommand::Hint { exercise, number } => {
            let exercise = find(exercise)?;
            let counter = session.workbench().join(format!("{}.hints", exercise.name));
            print::hint(exercise, *number, &counter, args.json)
        }
        WorkbenchCommand::Solution { exercise } => {
            let exercise = find(exercise)?;
            let text = exercise.solution()?;
            let document = json!({ "exercise": exercise.name, "solution": text });
            print_document(args.json, &document, |out| write!(out, "{text}"))
        }
        WorkbenchCommand::Reset { exercise, file } => {
            let exercise = find(exercise)?;
            let own = || exercise_file::exercise_path(exercise, &session.workbench());
            let path = file.clone().unwrap_or_else(own);
            let kept = exercise_file::reset(exercise, &path)?;
            let (file, was) = (path.display(), kept.display());
            let text = format!("{file} is the starter again; your version was saved as {was}");
            print_text(
                args.json,
                &json!({ "file": path_text(&path), "kept": path_text(&kept) }),
                &text,
            )
        }
    }
}

impl WorkbenchArgs {
    /// The exercise and the learner's file for it.
    fn file_of(&self, name: &str, file: Option<&Path>) -> Result<(&'static Exercise, PathBuf)> {
        let exercise = find(name)?;
        let folder = self.place.find()?.workbench();
        let path = file.map_or_else(
            || exercise_file::exercise_path(exercise, &folder),
            Path::to_owned,
        );
        if !path.exists() {
            let (path, name) = (path.display(), &exercise.name);
            let why = format!(
                "{path} does not exist; `workbench start {name}` writes it, and `--file` names another file"
            );
            return Err(UsageError(why).into());
        }
        Ok((exercise, path))
    }

    /// Adds an event to the learner's history. If a tutor has the session open, that tutor adds it.
    fn record(&self, event: SessionEvent) -> Option<String> {
        let kept = self.place.find().and_then(|place| {
            let order = InstructorOrder::new(
                &place.learner,
                OrderAction::Record {
                    event: event.clone(),
                },
            );
            match Session::open(place.clone()) {
                Ok(mut session) => session.record(event),
                Err(SessionError::Held { .. }) => inbox::send(&place, &order).map(drop),
                Err(error) => Err(error),
            }
        });
        let error = kept.err()?;
        Some(format!("not kept in the history: {error}"))
    }
}

fn check_once(
    args: &WorkbenchArgs,
    asked: &CheckArgs,
    exercise: &Exercise,
    path: &Path,
) -> Result<Exit> {
    let tried = tried(asked, exercise, path)?;
    let CheckedKernel { file, checked } = &tried;
    let note = args.record(tried.event(None));
    let document = json!({ "check": checked, "compiled": checked.compiled.kernels, "note": note });
    print_document(args.json, &document, |out| {
        let out = &mut PlainWriter(out);
        for line in tried.lines() {
            writeln!(out, "{line}")?;
        }
        if asked.picture {
            writeln!(out)?;
            for line in text::pictures(checked, file, locale::is_utf8(locale::variable)) {
                writeln!(out, "{line}")?;
            }
        }
        if checked.passed {
            writeln!(out)?;
            for line in text::after_pass(exercise, 80) {
                writeln!(out, "{line}")?;
            }
        } else if checked.cases > 0 && !asked.picture {
            writeln!(
                out,
                "\n`workbench hint {}` helps; `--picture` shows how it accesses memory",
                exercise.name
            )?;
        }
        let mut note = note.iter();
        note.try_for_each(|note| writeln!(out, "({note})"))
    })?;
    Ok(Exit::from_passed(checked.passed))
}

fn tried(asked: &CheckArgs, exercise: &Exercise, path: &Path) -> Result<CheckedKernel> {
    CheckedKernel::by_check(exercise, path, |file| {
        if asked.gpu {
            let driver = asked.device.open()?;
            return with_time_limit(GPU_LIMIT, &exercise.name, || {
                gpu::check(&driver, exercise, file)
            });
        }
        let wave = asked.wave.as_ref();
        let wave = wave.and_then(|wave| wave.parse::<u32>().ok());
        let chosen = match (wave, asked.arch.is_empty()) {
            (Some(wave), _) => CheckOptions::of_waves(&[wave]),
            (None, true) => CheckOptions::default(),
            (None, false) => CheckOptions::of(&asked.arch),
        };
        let options = CheckOptions {
            seed: asked.seed,
            counts: true,
            ..chosen
        };
        check::check(exercise, file, &options, &mut show_progress)
    })
}

/// Shows on a terminal what a check is doing, in one line that the next one replaces.
fn show_progress(progress: CheckProgress) {
    if std::io::stderr().is_terminal() {
        eprint!("\r{}\x1b[K\r", progress.text());
    }
}

/// Ends this process if a kernel occupies the GPU for longer than `limit`. A driver cannot stop a kernel, but it
/// takes the device back from a process that ends.
fn with_time_limit<T>(limit: Duration, name: &str, work: impl FnOnce() -> T) -> T {
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    let name = name.to_owned();
    std::thread::spawn(move || {
        if waiting.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            errln!(
                "{name}: endless: the kernel did not end within {} s on the GPU; it was stopped together with this process",
                limit.as_secs()
            );
            // SAFETY: everything is written, and the driver's clean-up would wait for the kernel.
            unsafe { libc::_exit(i32::from(Exit::Failed.code())) };
        }
    });
    let result = work();
    drop(done);
    result
}

/// Checks the file after every save until the user interrupts it.
fn watch(args: &WorkbenchArgs, asked: &CheckArgs) -> Result<Exit> {
    let (exercise, path) = args.file_of(&asked.exercise, asked.file.as_deref())?;
    let shown = plain(&path.display().to_string());
    outln!("{shown}: checked on every save; Ctrl-C ends");
    let mut seen: Option<(SystemTime, u64)> = None;
    loop {
        // Some editors replace the file, so it may be missing for a moment.
        let now = std::fs::metadata(&path).and_then(|data| Ok((data.modified()?, data.len())));
        if let Ok(now) = now
            && seen != Some(now)
        {
            seen = Some(now);
            outln!("");
            check_once(args, asked, exercise, &path)?;
        }
        std::thread::sleep(LOOK);
    }
}

/// A learner's result for an exercise: attempts, whether a check passed, and the best time.
fn exercise_progress(state: &SessionState, exercise: &Exercise) -> (usize, bool, Option<f64>) {
    let all = || state.kernels.iter();
    let mine = || all().filter(|attempt| attempt.exercise == exercise.name);
    let passed = mine().any(|attempt| {
        matches!(
            attempt.did,
            KernelAttemptResult::Checked { passed: true, .. }
        )
    });
    let times = mine().filter_map(|attempt| match attempt.did {
        KernelAttemptResult::Timed(KernelTime { milliseconds, .. }) => Some(milliseconds),
        KernelAttemptResult::Checked { .. } => None,
    });
    let checks =
        mine().filter(|attempt| matches!(attempt.did, KernelAttemptResult::Checked { .. }));
    (checks.count(), passed, times.reduce(f64::min))
}
