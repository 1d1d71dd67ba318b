//! Tests missing, failing, hanging and full GPUs from a learner's view, on the stand-in for HIP. It checks the run's
//! messages, its event stream, and the session.

#[path = "common/mod.rs"]
mod common;
#[path = "common/small_disk.rs"]
mod small_disk;
#[path = "common/stand_in.rs"]
mod stand_in;
#[path = "common/terminal.rs"]
mod terminal;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{line_with, stderr, tutor};
use serde_json::Value;
use small_disk::SmallDisk;
use stand_in::{Record, environment};
use tempfile::TempDir;
use terminal::processes;
use tinyllama_runs::RunRecord;
use tinyllama_session::{Session, SessionLocation};
use tinyllama_ui::plain::FAREWELL;

const FLAGS: &str = "--hidden 32 --layers 1 --heads 4 --kv-heads 2 --ffn 64 --seq-len 16 --batch-size 2 --vocab 64 \
                     --num-steps 5 --warmup 1 --repeatability off";

/// A course with one run.
fn course(folder: &Path) {
    fs::create_dir_all(folder.join("only")).unwrap();
    let workshop = "format: 1\ntitle: One run\nversion: '1.0'\nsummary: Of v4.\nsessions:\n  - id: only\n    title: Only\n    \
                    minutes: 5\n    objectives: [Run.]\n    lessons: [one]\n";
    let lesson = format!(
        "id: one\ntitle: One\nminutes: 5\nlevel: beginner\nobjectives: [Run.]\nsteps:\n  - id: go\n    kind: run\n    \
         title: Go\n    text: It trains.\n    target: v4\n    flags: {FLAGS}\n"
    );
    fs::write(folder.join("workshop.yaml"), workshop).unwrap();
    fs::write(folder.join("only/one.yaml"), lesson).unwrap();
}

/// A machine with the stand-in as its GPU, and a learner who uses it.
struct Machine {
    home: TempDir,
    rocm: PathBuf,
    settings: Vec<(&'static str, String)>,
}

/// The result of a learner's single run.
struct Seen {
    /// Exit status of the tutor.
    status: Option<i32>,
    said: String,
    events: Vec<Value>,
    record: RunRecord,
}

impl Machine {
    fn new(rocm: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        course(&home.path().join("course"));
        Machine {
            home,
            rocm: rocm.into(),
            settings: vec![
                ("HIP_STAND_IN_CHECK", "none".into()),
                // Algorithms are chosen by time, and this clock always gives the same times.
                ("HIP_STAND_IN_CLOCK", "1".into()),
            ],
        }
    }

    fn with_variable(mut self, name: &'static str, value: impl ToString) -> Self {
        self.settings.push((name, value.to_string()));
        self
    }

    fn command(&self) -> Command {
        let mut command = tutor(self.home.path());
        command
            .envs(environment(&self.rocm, self.home.path()))
            .env("TINYLLAMA_BACKEND", "rocm")
            .env("TINYLLAMA_LESSONS", self.home.path().join("course"))
            .env("USER", "ada");
        if let Some(built) = stand_in::built() {
            command.env("HIP_STAND_IN_CACHE", built.join("cache"));
        }
        command.envs(self.settings.iter().cloned());
        command
    }

    fn state(&self) -> PathBuf {
        self.home.path().join("state/tinyllama-tutor")
    }

    fn run_folder(&self) -> Option<PathBuf> {
        let mut runs = fs::read_dir(self.state().join("runs")).ok()?.flatten();
        runs.next().map(|entry| entry.path())
    }

    fn events(&self) -> Vec<Value> {
        let stream = self.run_folder().map(|run| run.join("events.jsonl"));
        let text = stream.and_then(|stream| fs::read_to_string(stream).ok());
        // The last line may be incomplete while the run writes it.
        let lines = text.unwrap_or_default();
        lines.lines().flat_map(serde_json::from_str).collect()
    }

    /// A learner starts the run, `look` observes it, and the learner leaves.
    fn learn(&self, look: impl FnOnce(&Child)) -> Seen {
        let mut child = self
            .command()
            .arg("--plain")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"run\n").unwrap();
        look(&child);
        input.write_all(b"quit\n").unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
        let record = self.run_folder().and_then(|run| RunRecord::read(&run));
        Seen {
            status: output.status.code(),
            record: record.unwrap_or_else(|| panic!("no record of a run: {said}")),
            events: self.events(),
            said,
        }
    }

    /// Asserts that the session opens without damage, knows how its run ended, and passes verification.
    fn is_whole(&self, what: &str, seen: &Seen) {
        assert_eq!(seen.status, Some(0), "{what}: {}", seen.said);
        assert!(seen.said.contains(FAREWELL), "{what}: {}", seen.said);
        let place = SessionLocation {
            folder: self.state(),
            learner: "ada".into(),
        };
        let session = Session::open(place).unwrap();
        assert_eq!(session.damage, [], "{what}");
        let runs = &session.state().runs;
        assert_eq!(runs.len(), 1, "{what}");
        let exit = runs.values().next().and_then(|run| run.exit);
        assert_eq!(
            exit.map(|exit| exit.to_string()),
            seen.record.exit,
            "{what}"
        );
        drop(session);
        let course = self.home.path().join("course");
        let verified = tutor(self.home.path())
            .args(["report", "verify"])
            .arg(self.state())
            .arg("--lessons")
            .arg(course)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&verified.stdout).into_owned() + &stderr(&verified);
        assert_eq!(verified.status.code(), Some(0), "{what}: {said}");
        assert_eq!(processes(self.home.path()), Vec::<u32>::new(), "{what}");
    }
}

fn steps(events: &[Value]) -> usize {
    let is_step = |event: &&Value| event["event"] == "step";
    events.iter().filter(is_step).count()
}

/// Number of graph replays in a successful run. The last one belongs to its last step.
fn replays(rocm: &Path) -> usize {
    let machine = Machine::new(rocm);
    let seen = machine.learn(|_| {});
    assert_eq!(
        seen.record.exit.as_deref(),
        Some("exit status: 0"),
        "{}",
        seen.said
    );
    assert_eq!(steps(&seen.events), 6);
    machine.is_whole("a GPU that works", &seen);
    let record = Record::read(machine.home.path());
    assert_eq!(record.complaints, Vec::<String>::new());
    record.count("hipGraphLaunch")
}

struct Case {
    what: &'static str,
    rocm: PathBuf,
    settings: (&'static str, String),
    /// Error code of the last event.
    code: &'static str,
    /// Texts that the learner must see.
    words: &'static [&'static str],
    /// Number of steps before the failure.
    steps: usize,
}

#[test]
fn a_gpu_that_fails_is_told_with_a_remedy_and_leaves_a_session_that_is_whole() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    let last = replays(rocm);
    let case = |what, settings: (&'static str, String), code, words, steps| Case {
        what,
        rocm: rocm.into(),
        settings,
        code,
        words,
        steps,
    };
    let failing = |failure: String| ("HIP_STAND_IN_FAIL", failure);
    let cases = [
        case(
            "no device",
            ("HIP_STAND_IN_DEVICES", "0".into()),
            "environment",
            &["HIP reports no device", "rocminfo", "`render`"],
            0,
        ),
        case(
            "no permission, as the driver says it",
            failing("hipInit=100".into()),
            "environment",
            &["HIP reports no device", "`render`"],
            0,
        ),
        case(
            "a device that may not be taken",
            failing("hipSetDevice=101".into()),
            "environment",
            &["hipErrorInvalidDevice", "missing or busy"],
            0,
        ),
        case(
            "a driver that is too old for its library",
            failing("hipInit=35".into()),
            "environment",
            &["hipErrorInsufficientDriver", "update the driver"],
            0,
        ),
        Case {
            rocm: rocm.join("before-6"),
            ..case(
                "HIP before version 6",
                ("HIP_STAND_IN_VERSION", "5.7.0".into()),
                "environment",
                &["hipGetDevicePropertiesR0600", "too old", "ROCm 6"],
                0,
            )
        },
        case(
            "no memory from the start",
            failing("hipMalloc=2".into()),
            "out-of-memory",
            &["hipErrorOutOfMemory", "--batch-size", "other programs"],
            0,
        ),
        case(
            "no memory at a step",
            failing(format!("hipGraphLaunch#{last}=2")),
            "out-of-memory",
            &[
                "training step 6 failed",
                "hipErrorOutOfMemory",
                "--batch-size",
            ],
            5,
        ),
        case(
            "a device lost at a step",
            failing(format!("hipGraphLaunch#{}=719!", last - 2)),
            "device",
            &[
                "training step 4 failed",
                "hipErrorLaunchFailure",
                "has lost it",
            ],
            3,
        ),
        case(
            "an access where nothing is",
            failing(format!("hipStreamSynchronize#{last}=700!")),
            "device",
            &["hipErrorIllegalAddress", "has lost it"],
            0,
        ),
    ];
    for case in cases {
        let (name, value) = case.settings;
        let machine = Machine::new(&case.rocm).with_variable(name, value);
        let seen = machine.learn(|_| {});
        let what = case.what;
        assert_eq!(
            seen.record.exit.as_deref(),
            Some("exit status: 3"),
            "{what}: {}",
            seen.said
        );
        for word in case.words {
            assert!(seen.said.contains(word), "{what}: {word}: {}", seen.said);
        }
        assert!(!seen.said.contains("panicked"), "{what}: {}", seen.said);
        let end = seen.events.last().unwrap();
        assert_eq!(
            (&end["event"], &end["code"]),
            (&"error".into(), &case.code.into()),
            "{what}"
        );
        assert!(
            end["remedy"].as_str().is_some_and(|text| !text.is_empty()),
            "{what}: {end}"
        );
        assert!(
            steps(&seen.events) >= case.steps,
            "{what}: {:?}",
            seen.events
        );
        machine.is_whole(what, &seen);
    }
}

/// Waits until the run has reported this many steps, and a while longer in which it could report another one. Then
/// sends Ctrl-C.
fn interrupt_after(machine: &Machine, child: &Child, wanted: usize) {
    let until = Instant::now() + Duration::from_secs(120);
    while steps(&machine.events()) < wanted {
        assert!(Instant::now() < until, "{:?}", machine.events());
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(300));
    let tutor = i32::try_from(child.id()).unwrap();
    // SAFETY: kill takes two numbers, and the process is a child of this test.
    unsafe { libc::kill(tutor, libc::SIGINT) };
}

#[test]
fn a_gpu_that_hangs_is_given_up_on_ctrl_c_with_everything_that_was_started() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    let last = replays(rocm);
    // If a call never returns, the program still reports its summary. If the driver also blocks the exit, only KILL
    // ends the process.
    for (failure, exit, summary) in [
        ("hang", "exit status: 143", true),
        ("hang!", "signal 9 (KILL)", true),
    ] {
        let plan = format!("hipGraphLaunch#{last}={failure}");
        let machine = Machine::new(rocm).with_variable("HIP_STAND_IN_FAIL", plan);
        let seen = machine.learn(|child| interrupt_after(&machine, child, 5));
        assert_eq!(seen.record.exit.as_deref(), Some(exit), "{}", seen.said);
        insta::allow_duplicates! {
            insta::assert_snapshot!(line_with("stopped", &seen.said), @"The run was stopped.");
        }
        assert_eq!(steps(&seen.events), 5, "{failure}");
        let end = seen.events.last().unwrap();
        assert_eq!(
            end["event"] == "summary" && end["complete"] == false,
            summary,
            "{end}"
        );
        machine.is_whole(failure, &seen);
    }
}

#[test]
fn a_driver_that_hangs_does_not_hang_the_doctor() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    // One call never returns, and another even prevents a normal exit of its process.
    for failure in ["hipInit#1=hang", "hipInit#1=hang!"] {
        let machine = Machine::new(rocm).with_variable("HIP_STAND_IN_FAIL", failure);
        let doctor = machine
            .command()
            .args(["doctor", "--json"])
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&doctor.stdout)
            .unwrap_or_else(|_| panic!("{}", stderr(&doctor)));
        let findings = report["findings"].as_array().unwrap();
        let of = |name: &str| findings.iter().find(|one| one["name"] == name).unwrap();
        assert_eq!(doctor.status.code(), Some(0), "{failure}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(of("rocm")["detail"].as_str().unwrap(), @"gave no answer in 10 s");
        }
        assert!(of("rocm")["remedy"].as_str().unwrap().contains("dmesg"));
        assert_eq!(of("cpu")["status"], "ok");
    }
}

#[test]
fn a_second_interrupt_ends_a_run_whose_driver_does_not_let_it_end() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    let machine = Machine::new(rocm).with_variable("HIP_STAND_IN_FAIL", "hipGraphLaunch#1=hang!");
    let mut child = machine
        .command()
        .args(["run", "v4", "--events"])
        .args(FLAGS.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let process = i32::try_from(child.id()).unwrap();
    let mut said = Vec::new();
    let mut output = child.stdout.take().unwrap();
    let hears = |text: &str, said: &mut Vec<u8>, output: &mut dyn Read| {
        let mut byte = [0];
        while !String::from_utf8_lossy(said).contains(text) {
            assert_eq!(output.read(&mut byte).unwrap(), 1, "it ended before {text}");
            said.push(byte[0]);
        }
    };
    hears("compiling kernels", &mut said, &mut output);
    // SAFETY: kill takes two numbers, and the process is a child of this test.
    let interrupt = || unsafe { libc::kill(process, libc::SIGINT) };
    interrupt();
    hears("\"summary\"", &mut said, &mut output);
    interrupt();
    let until = Instant::now() + Duration::from_secs(60);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > until {
            child.kill().unwrap();
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(130), "{status}");
}

#[test]
fn a_cache_that_cannot_be_written_costs_time_and_is_named() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    let mut folders = Vec::new();
    let in_the_way = tempfile::NamedTempFile::new().unwrap();
    folders.push((in_the_way.path().join("cache"), "Not a directory"));
    let disks = [SmallDisk::mount(), SmallDisk::mount()];
    if let [Some(full), Some(read_only)] = &disks {
        let mut ballast = fs::File::create(full.path().join("ballast")).unwrap();
        while ballast.write_all(&[0; 512]).is_ok() {}
        read_only.make_read_only();
        folders.push((full.path().into(), "No space left"));
        folders.push((read_only.path().into(), "Read-only"));
    } else {
        eprintln!("SKIPPED: this process may not mount a small disk");
    }
    for (cache, why) in folders {
        let machine = Machine::new(rocm).with_variable("XDG_CACHE_HOME", cache.display());
        let seen = machine.learn(|_| {});
        assert_eq!(
            seen.record.exit.as_deref(),
            Some("exit status: 0"),
            "{why}: {}",
            seen.said
        );
        let (note, _) = line_with(why, &seen.said).split_once(" (").unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(note, @"compiled kernels could not be kept, so every start compiles them again");
        }
        machine.is_whole(why, &seen);
    }
}

#[test]
fn two_processes_on_one_gpu_train_alike_and_share_what_was_compiled() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    let cache = tempfile::tempdir().unwrap();
    let machines = [(); 2]
        .map(|()| Machine::new(rocm).with_variable("XDG_CACHE_HOME", cache.path().display()));
    let seen = thread::scope(|scope| {
        let learners = machines
            .each_ref()
            .map(|machine| scope.spawn(|| machine.learn(|_| {})));
        learners.map(|learner| learner.join().unwrap())
    });
    let losses = seen.each_ref().map(|seen| {
        let losses = seen.events.iter().map(|event| event["loss"].as_f64());
        losses.flatten().collect::<Vec<_>>()
    });
    assert_eq!(losses[0].len(), 6, "{}", seen[0].said);
    assert_eq!(losses[0], losses[1]);
    for (machine, seen) in machines.iter().zip(&seen) {
        machine.is_whole("one of two", seen);
    }
    // If another process took the memory, the message names that as a possible cause.
    let machine = Machine::new(rocm).with_variable("HIP_STAND_IN_MEMORY", 1);
    let seen = machine.learn(|_| {});
    assert!(
        seen.said.contains("hipErrorOutOfMemory") && seen.said.contains("other programs"),
        "{}",
        seen.said
    );
    machine.is_whole("a full device", &seen);
}
