//! Compiles and tunes in advance what the course will run: finds the runs, and does the work in the background.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use parking_lot::Mutex;

use tinyllama_base::die_with_parent;
use tinyllama_contract::flags::{RunSpec, UsageError, parse_flags};
use tinyllama_lesson::Job;
use tinyllama_lesson::{Course, Step};

/// Flags that change the length or the output of a run, but no kernel of it.
const CIRCUMSTANCES: [&str; 10] = [
    "--num-steps",
    "--warmup",
    "--profile-steps",
    "--diagnose",
    "--flops",
    "--sync",
    "--seed",
    "--repeatability",
    "--trace",
    "--deterministic",
];
/// A single step is enough, because compiling and tuning happen in the first.
const ONE_STEP: [&str; 3] = ["--num-steps=1", "--warmup=0", "--repeatability=off"];

/// Returns all runs of the course that compile something different, in the order of the course, each with the flags
/// `more`.
///
/// # Errors
/// Fails if a target does not take them.
pub fn targets(course: &Course, more: &[String]) -> Result<Vec<RunSpec>, UsageError> {
    let mut specs: Vec<RunSpec> = Vec::new();
    for (_, step) in course.steps() {
        let Some((target, flags)) = started(step) else {
            continue;
        };
        let kept = parse_flags(flags);
        let kept = kept
            .iter()
            .filter(|flag| !CIRCUMSTANCES.contains(&flag.name()));
        let kept: Vec<String> = kept.flat_map(|flag| flag.args().to_vec()).collect();
        let one = ONE_STEP.map(str::to_owned);
        let after: Vec<String> = more.iter().cloned().chain(one).collect();
        let spec = RunSpec::parse(&target, &kept)?.surrounded_by(&[], &after)?;
        if !specs.contains(&spec) {
            specs.push(spec);
        }
    }
    Ok(specs)
}

fn started(step: &Step) -> Option<(String, &[String])> {
    match step.job()? {
        Job::Run(target) => Some((target, step.golden_flags())),
        Job::Command(_) => None,
    }
}

/// A `prepare` process in the background. It pauses while a run is active, and ends with the tutor.
#[derive(Clone, Debug, Default)]
pub struct Background(Arc<Mutex<Option<Child>>>);

impl Background {
    /// Starts the process, which shares its results through the folder of a class. If that fails, the learner's own
    /// runs compile what they need.
    pub fn start(&self, program: &Path, class: Option<&Path>) {
        let mut command = Command::new(program);
        command.args(["prepare", "--background"]);
        if let Some(class) = class {
            command.arg("--class").arg(class);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        die_with_parent(&mut command, libc::SIGTERM);
        *self.0.lock() = command.spawn().ok();
    }

    /// Pauses the process until the returned guard is dropped.
    pub fn pause_guard(&self) -> PauseGuard {
        self.send("pause\n");
        PauseGuard(self.clone())
    }

    /// Closes the process's input, which ends it, and waits for it.
    pub fn end(&self) {
        let child = self.0.lock().take();
        if let Some(mut child) = child {
            drop(child.stdin.take());
            drop(child.wait());
        }
    }

    fn send(&self, word: &str) {
        let mut child = self.0.lock();
        let stdin = child.as_mut().and_then(|child| child.stdin.as_mut());
        // Writing fails if the process has ended, and then it needs no command.
        if let Some(stdin) = stdin {
            drop(
                stdin
                    .write_all(word.as_bytes())
                    .and_then(|()| stdin.flush()),
            );
        }
    }
}

/// Resumes a [`Background`] when it is dropped.
#[derive(Debug)]
pub struct PauseGuard(Background);

impl Drop for PauseGuard {
    fn drop(&mut self) {
        self.0.send("go\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_lesson::CourseSource;

    #[test]
    fn each_program_of_the_course_is_prepared_once_and_runs_one_step() {
        let course = Course::load(&CourseSource::BuiltIn).unwrap();
        let more = ["--backend=cpu".to_string()];
        let specs = targets(&course, &more).unwrap();
        let runs = course.lessons().flat_map(|lesson| &lesson.steps);
        let runs = runs.filter(|step| started(step).is_some()).count();
        assert!(
            specs.len() > 15 && specs.len() < runs,
            "{} of {runs}",
            specs.len()
        );
        let names: Vec<String> = specs.iter().map(ToString::to_string).collect();
        let plain = "v1 --config tiny --backend=cpu --num-steps=1 --warmup=0 --repeatability=off";
        assert_eq!(
            names.iter().filter(|name| *name == plain).count(),
            1,
            "{names:#?}"
        );
        for target in ["v2", "v3", "v4", "stage4", "case2"] {
            assert!(
                names.iter().any(|name| name.starts_with(target)),
                "{target}"
            );
        }
    }
}
