//! Tests the workbench: every starter fails, every solution passes, and every typical mistake gets the right message.
//! A file that is not a kernel gets a message with a remedy.

mod common;
#[path = "workbench/training.rs"]
mod training;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use common::{stderr, stdout, tutor, without_figures};
use serde_json::Value;
use tinyllama_session::{
    InstructorOrder, OrderAction, OutsideChange, Session, SessionEvent, SessionLocation, StepRef,
    inbox,
};
use tinyllama_workbench::compiled::compiler::{Compiler, CompilerError};
use tinyllama_workbench::{FindingKind, exercises, find};

/// Environment variable that makes tests fail on a machine without the compiler, so that nothing stays unchecked.
const REQUIRED: &str = "HIP_STAND_IN_REQUIRED";

/// True if this machine can compile kernels; otherwise prints a line.
fn ready() -> bool {
    static READY: OnceLock<bool> = OnceLock::new();
    *READY.get_or_init(|| match Compiler::find() {
        Ok(_) => true,
        Err(error @ CompilerError::NoCompiler) if std::env::var_os(REQUIRED).is_none() => {
            // Writes directly to stderr, because the test harness hides the output of tests that pass.
            let line = format!("NOT CHECKED in the workbench: {error}\n");
            std::io::stderr().write_all(line.as_bytes()).expect("said");
            false
        }
        Err(error) => panic!("the workbench does not work here: {error}"),
    })
}

#[test]
fn every_folder_is_an_exercise_with_all_it_needs() {
    let all = exercises().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/workbench");
    let folders = std::fs::read_dir(root)
        .unwrap()
        .map(|it| it.unwrap().file_name());
    let folders: BTreeSet<OsString> = folders.collect();
    let read = all
        .iter()
        .map(|it| format!("{:02}-{}", it.number, it.name).into());
    let read: BTreeSet<OsString> = read.collect();
    assert_eq!(read, folders);
    assert!(all.iter().map(|it| it.number).eq(1..=all.len()));
    for exercise in all {
        let name = &exercise.name;
        for before in &exercise.after {
            let before = find(before).unwrap().number;
            assert!(
                before < exercise.number,
                "{name} comes before its prerequisite"
            );
        }
        assert!(
            exercise.number == 1 || !exercise.after.is_empty(),
            "{name}: no prerequisite"
        );
        for sentence in [&exercise.model, &exercise.reason] {
            let is_one = sentence.ends_with('.') && !sentence.contains(". ");
            assert!(
                is_one && sentence.split(' ').count() <= 35,
                "{name}: {sentence}"
            );
        }
        assert!(
            exercise.starter().is_ok() && exercise.solution().is_ok(),
            "{name}"
        );
        assert!(
            !exercise.wrong.is_empty() && exercise.hints.len() >= 3,
            "{name}"
        );
        assert!(exercise.cases.len() >= 2, "{name}: no awkward shape");
        assert!(exercise.title.chars().count() <= 40, "{name}");
        for wrong in &exercise.wrong {
            assert!(exercise.file(&wrong.file).is_ok(), "{name}: {}", wrong.file);
        }
        for line in exercise.text.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
    }
}

/// Files that do not solve the first exercise, and the expected messages.
const BAD: &[(&str, &str, FindingKind, &[&str])] = &[
    (
        "a syntax error",
        "extern \"C\" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {\n    out[0] = x[0]\n}\n",
        FindingKind::Compile,
        &["expected ';'", "line 2"],
    ),
    (
        "no entry point",
        "extern \"C\" __global__ void other(float *x) {}\n",
        FindingKind::Compile,
        &[
            "no kernel `scale_add`",
            "extern \"C\" __global__ void scale_add",
        ],
    ),
    (
        "another signature",
        "extern \"C\" __global__ void scale_add(const float *x, float *out, int n) {}\n",
        FindingKind::Compile,
        &["does not take the arguments", "float a"],
    ),
    (
        "an endless loop",
        "extern \"C\" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {\n    volatile int on = 1;\n    while (on) {}\n}\n",
        FindingKind::Endless,
        &["did not end", "line 3"],
    ),
    (
        "one element too far",
        "extern \"C\" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i <= n)\n        out[i] = a * x[i] + y[i];\n}\n",
        FindingKind::OutOfBounds,
        &["[257] of 257 elements", "line 4"],
    ),
    (
        "a NaN",
        "extern \"C\" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        out[i] = sqrtf(x[i] - 2) + y[i] * a;\n}\n",
        FindingKind::Nan,
        &["is NaN", "line 4"],
    ),
    (
        "a race",
        "extern \"C\" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {\n    out[0] = threadIdx.x;\n}\n",
        FindingKind::Race,
        &["out[0]", "line 2"],
    ),
    (
        "an endless loop that an optimiser would remove",
        "extern \"C\" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {\n    int i = 0;\n    while (i < n) {}\n    out[0] = 1;\n}\n",
        FindingKind::Endless,
        &["did not end"],
    ),
    (
        "a copy past the end",
        "extern \"C\" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {\n    if (threadIdx.x == 0) memcpy(out, x, (n + 1) * sizeof(float));\n}\n",
        FindingKind::OutOfBounds,
        &["[1024] of 1024 elements", "line 2"],
    ),
    (
        "a move past the end",
        "extern \"C\" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {\n    if (threadIdx.x == 0) memmove(out + 1, out, n * sizeof(float));\n}\n",
        FindingKind::OutOfBounds,
        &["[1024] of 1024 elements", "line 2"],
    ),
    (
        "a copy far past the end",
        "extern \"C\" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {\n    if (threadIdx.x == 0) memcpy(out, x, size_t(1) << 40);\n}\n",
        FindingKind::OutOfBounds,
        &["of 1024 elements", "line 2"],
    ),
    ("nothing", "", FindingKind::Compile, &["empty"]),
    (
        "somebody else's file",
        "#include \"/etc/passwd\"\n",
        FindingKind::Compile,
        &["file not found", "<hip/hip_runtime.h> or nothing", "line 1"],
    ),
    (
        "a call of the system",
        "extern \"C\" int system(const char *);\nextern \"C\" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {\n    system(\"true\");\n}\n",
        FindingKind::Compile,
        &["`system`", "does not exist on a GPU"],
    ),
    (
        "assembly",
        "extern \"C\" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {\n    asm(\"syscall\");\n}\n",
        FindingKind::Compile,
        &["assembly", "line 2"],
    ),
    (
        "an index out of a small array",
        "extern \"C\" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {\n    float part[4];\n    for (int i = 0; i <= n; i++) part[i] = 1;\n    out[0] = part[n % 4];\n}\n",
        FindingKind::OutOfBounds,
        &["index 4 of float[4]", "line 3"],
    ),
    (
        "a division by zero",
        "extern \"C\" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {\n    int none = n - n;\n    out[0] = n / none;\n}\n",
        FindingKind::Crash,
        &["by zero"],
    ),
    (
        "too much local memory",
        "extern \"C\" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {\n    __shared__ float big[20000];\n    big[threadIdx.x] = 1;\n    out[0] = big[0];\n}\n",
        FindingKind::Crash,
        &["65536", "80000"],
    ),
];

#[test]
fn a_bad_file_gives_a_message_to_act_on() {
    if !ready() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    for (what, text, kind, expected) in BAD {
        let path = home.path().join("elementwise.hip");
        std::fs::write(&path, text).unwrap();
        let output = check_file(home.path(), &path);
        assert_eq!(output.status.code(), Some(1), "{what}: {}", stderr(&output));
        let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
        let kinds = document["check"]["findings"].as_array().expect("findings");
        let found = kinds
            .iter()
            .find(|finding| finding["kind"] == serde_json::to_value(kind).unwrap());
        let found = found.unwrap_or_else(|| panic!("{what}: {kinds:#?}"));
        let line = found["line"]
            .as_u64()
            .map_or(String::new(), |line| format!("line {line}"));
        let told = format!("{line} {}", found["message"].as_str().unwrap());
        for words in *expected {
            assert!(told.contains(words), "{what}: `{words}` is not in: {told}");
        }
    }
}

#[test]
fn a_file_that_is_no_text_never_reaches_a_compiler() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("elementwise.hip");
    for (bytes, words) in [
        (vec![b'x'; 1 << 20], "KiB"),
        (vec![0x7f, b'E', b'L', b'F', 0, 0, 1], "binary"),
        (vec![0xff, 0xfe, b'a'], "not text"),
        (b" \n".to_vec(), "empty"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let output = check_file(home.path(), &path);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stdout(&output).contains(words), "{}", stdout(&output));
    }
    let missing = tutor(home.path())
        .args(["workbench", "check", "rope"])
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        stderr(&missing).contains("workbench start rope"),
        "{}",
        stderr(&missing)
    );
    let unknown = tutor(home.path())
        .args(["workbench", "start", "rmsnrom"])
        .output()
        .unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    let said = stderr(&unknown);
    let (said, _) = said.split_once('?').unwrap();
    insta::assert_snapshot!(said, @"error: no exercise is called `rmsnrom`; did you mean `rmsnorm`");
}

fn check_file(home: &Path, path: &Path) -> std::process::Output {
    let mut command = tutor(home);
    command
        .args(["workbench", "check", "elementwise", "--json", "--file"])
        .arg(path);
    command.output().expect("the program starts")
}

#[test]
fn an_exercise_goes_from_start_to_a_passed_check() {
    if !ready() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let workbench = |words: &[&str]| {
        let mut command = tutor(home.path());
        command.current_dir(home.path());
        command
            .arg("workbench")
            .args(words)
            .output()
            .expect("the program starts")
    };
    let started = workbench(&["start", "elementwise", "--to", "."]);
    assert!(
        stdout(&started).contains("extern \"C\" __global__ void scale_add("),
        "{}",
        stdout(&started)
    );
    let first = workbench(&[
        "check",
        "elementwise",
        "--wave",
        "64",
        "--file",
        "elementwise.hip",
    ]);
    assert_eq!(
        first.status.code(),
        Some(1),
        "{}{}",
        stdout(&first),
        stderr(&first)
    );
    assert!(stdout(&first).contains("not yet"), "{}", stdout(&first));
    let hint = workbench(&["hint", "elementwise"]);
    assert!(stdout(&hint).starts_with("Hint 1 of "), "{}", stdout(&hint));
    assert!(stdout(&workbench(&["hint", "1"])).starts_with("Hint 2 of "));
    let solution = workbench(&["solution", "elementwise"]);
    std::fs::write(home.path().join("elementwise.hip"), &solution.stdout).unwrap();
    let second = workbench(&[
        "check",
        "elementwise",
        "--picture",
        "--file",
        "elementwise.hip",
    ]);
    assert_eq!(
        second.status.code(),
        Some(0),
        "{}{}",
        stdout(&second),
        stderr(&second)
    );
    assert!(
        stdout(&second).contains("a wavefront"),
        "{}",
        stdout(&second)
    );
    for line in stdout(&second).lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let listed: Value = serde_json::from_slice(&workbench(&["list", "--json"]).stdout).unwrap();
    assert_eq!(
        (&listed[0]["checks"], &listed[0]["passed"]),
        (&Value::from(2), &Value::from(true)),
        "{listed:#}"
    );
    let reset = workbench(&["reset", "elementwise", "--file", "elementwise.hip"]);
    assert!(
        stdout(&reset).contains("elementwise.1.hip"),
        "{}",
        stdout(&reset)
    );
}

#[test]
fn a_reset_moves_nothing_away_but_files_of_exercises() {
    let home = tempfile::tempdir().unwrap();
    let reset = |file: &str| {
        let mut command = tutor(home.path());
        command.args(["workbench", "reset", "elementwise", "--file", file]);
        command.current_dir(home.path()).output().unwrap()
    };
    let path = |name: &str| home.path().join(name);
    let kernel = "__global__ void mine() {}";
    for (name, text) in [
        ("notes.txt", kernel),
        ("data.hip", "1 2 3"),
        ("of-mine.hip", kernel),
    ] {
        std::fs::write(path(name), text).unwrap();
    }
    std::os::unix::fs::symlink("of-mine.hip", path("link.hip")).unwrap();
    std::fs::create_dir(path("elementwise.hip")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(path("pipe.hip"))
        .status();
    assert!(made.unwrap().success());
    for name in [
        "notes.txt",
        "data.hip",
        "link.hip",
        "elementwise.hip",
        "pipe.hip",
        "/dev/null",
        "none.hip",
    ] {
        let output = reset(name);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", stderr(&output));
        assert!(stderr(&output).contains(name), "{}", stderr(&output));
    }
    assert_eq!(
        std::fs::read_dir(home.path()).unwrap().count(),
        6,
        "nothing was moved or made"
    );
    std::fs::remove_dir(path("elementwise.hip")).unwrap();
    // The exercise's own file, however broken it is, and one under another name.
    std::fs::write(path("elementwise.hip"), "").unwrap();
    for name in ["elementwise", "of-mine"] {
        let output = reset(&format!("{name}.hip"));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(path(&format!("{name}.1.hip")).exists());
        let starter = std::fs::read_to_string(path(&format!("{name}.hip"))).unwrap();
        assert!(starter.contains("__global__"), "{starter}");
    }
}

#[test]
fn a_check_in_a_second_terminal_is_kept_by_the_tutor_that_is_open() {
    if !ready() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let place = SessionLocation {
        folder: home.path().join("state/tinyllama-tutor"),
        learner: "ada".into(),
    };
    let mut session = Session::open(place.clone()).unwrap();
    let path = home.path().join("elementwise.hip");
    std::fs::write(&path, solution("elementwise")).unwrap();
    let output = tutor(home.path())
        .env("USER", "ada")
        .args(["workbench", "check", "elementwise", "--file"])
        .arg(&path)
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stdout(&output).contains("not kept"), "{}", stdout(&output));
    let notices = session.poll_notices().unwrap();
    let [notice] = &notices[..] else {
        panic!("{notices:?}")
    };
    insta::assert_snapshot!(notice, @"What you did with elementwise in another terminal is kept.");
    let kernels = &session.state().kernels;
    assert_eq!(kernels.len(), 1);
    assert_eq!(kernels[0].exercise, "elementwise");

    // An order of this kind keeps nothing else, not even what other orders may do.
    let event = SessionEvent::StepDone {
        at: StepRef::new("welcome", "doctor"),
    };
    let order = InstructorOrder::new("ada", OrderAction::Record { event });
    inbox::send(&place, &order).unwrap();
    let notices = session.poll_notices().unwrap();
    assert!(
        matches!(&notices[..], [OutsideChange::Refused { .. }]),
        "{notices:?}"
    );
    assert!(session.state().lessons.is_empty());
}

#[test]
fn the_question_after_a_kernel_is_answered_where_no_gpu_can_measure_it() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("elementwise.hip");
    std::fs::write(&path, solution("elementwise")).unwrap();
    let output = tutor(home.path())
        .env("CUDA_VISIBLE_DEVICES", "")
        .env("HIP_VISIBLE_DEVICES", "")
        .args(["workbench", "bench", "elementwise", "--file"])
        .arg(&path)
        .output()
        .expect("the program starts");
    let (said, why) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(3), "{said}{why}");
    let exercise = find("elementwise").unwrap();
    // The program breaks the lines anew.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [&exercise.question, &exercise.answer] {
        assert!(words(&said).contains(&words(text)), "{said}");
    }
}

fn solution(name: &str) -> &'static str {
    find(name).unwrap().solution().unwrap()
}
