//! Compiling and tuning what the course will run, before it is needed: what to run for it, and doing so behind a learner.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::lesson::{Course, Step, StepKind};
use crate::run::{RunSpec, UsageError, split};

/// Flags that change how long and how loudly a run goes, but no kernel of it.
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
/// A single step is enough: compiling and tuning happen in the first.
const ONE_STEP: [&str; 3] = ["--num-steps=1", "--warmup=0", "--repeatability=off"];

/// Every run of the course that compiles something of its own, in the order of the course, with `more` flags for all.
///
/// # Errors
/// When a target does not take them.
pub fn targets(course: &Course, more: &[String]) -> Result<Vec<RunSpec>, UsageError> {
    let mut specs: Vec<RunSpec> = Vec::new();
    for (_, step) in course.steps() {
        let Some((target, flags)) = started(step) else {
            continue;
        };
        let kept = split(flags);
        let kept = kept
            .iter()
            .filter(|flag| !CIRCUMSTANCES.contains(&flag.name()));
        let kept: Vec<String> = kept.flat_map(|flag| flag.words().to_vec()).collect();
        let one = ONE_STEP.map(str::to_owned);
        let after: Vec<String> = more.iter().cloned().chain(one).collect();
        let spec = RunSpec::parse(target, &kept)?.within(&[], &after)?;
        if !specs.contains(&spec) {
            specs.push(spec);
        }
    }
    Ok(specs)
}

fn started(step: &Step) -> Option<(&str, &[String])> {
    let golden = step.golden.flags.as_deref();
    match &step.kind {
        StepKind::Run { target, flags, .. } => Some((target, golden.unwrap_or(flags))),
        StepKind::Investigate(case) => Some((&case.target, &case.flags)),
        _ => None,
    }
}

/// `prepare` going on behind a learner. It steps aside as long as a run is going, and ends with the tutor.
#[derive(Clone, Debug, Default)]
pub struct Background(Arc<Mutex<Option<Child>>>);

impl Background {
    /// Starts it, sharing through the folder of a class; where that fails, the learner's own runs compile what they need.
    pub fn start(&self, program: &Path, class: Option<&Path>) {
        let mut command = Command::new(program);
        command.args(["prepare", "--background"]);
        if let Some(class) = class {
            command.arg("--class").arg(class);
        }
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        *self.0.lock() = child.ok();
    }

    /// Has it step aside until what is returned is dropped.
    pub fn aside(&self) -> Aside {
        self.say("pause\n");
        Aside(self.clone())
    }

    /// Its input ends, and so does it.
    pub fn end(&self) {
        let child = self.0.lock().take();
        if let Some(mut child) = child {
            drop(child.stdin.take());
            drop(child.wait());
        }
    }

    fn say(&self, word: &str) {
        let mut child = self.0.lock();
        let stdin = child.as_mut().and_then(|child| child.stdin.as_mut());
        // One that has ended already needs no word.
        if let Some(stdin) = stdin {
            drop(
                stdin
                    .write_all(word.as_bytes())
                    .and_then(|()| stdin.flush()),
            );
        }
    }
}

/// Lets a [`Background`] go on when it is dropped.
#[derive(Debug)]
pub struct Aside(Background);

impl Drop for Aside {
    fn drop(&mut self) {
        self.0.say("go\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::Source;

    #[test]
    fn each_program_of_the_course_is_prepared_once_and_runs_one_step() {
        let course = Course::load(&Source::BuiltIn).unwrap();
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
