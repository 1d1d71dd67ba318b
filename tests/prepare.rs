//! Tests `prepare` for a course, on the stand-in for HIP.

#[path = "common/mod.rs"]
mod common;
#[path = "common/stand_in.rs"]
mod stand_in;

use std::fs;

use common::{stderr, tutor};
use stand_in::environment;

const WORKSHOP: &str = "format: 1\ntitle: Three runs\nversion: '1.0'\nsummary: Of v4.\nsessions:\n  - id: only\n    title: Only\n    \
                        minutes: 5\n    objectives: [Run.]\n    lessons: [one]\n";

#[test]
fn programs_compile_side_by_side_once_the_first_has_told_of_a_gpu() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let course = home.path().join("course");
    fs::create_dir_all(course.join("only")).unwrap();
    fs::write(course.join("workshop.yaml"), WORKSHOP).unwrap();
    let steps: String = [32, 48, 64].iter().fold(String::new(), |steps, hidden| {
        let flags = format!(
            "--hidden {hidden} --layers 1 --heads 4 --kv-heads 2 --ffn 64 --seq-len 16 --batch-size 2 --vocab 64"
        );
        steps + &format!(
            "  - id: h{hidden}\n    kind: run\n    title: Go\n    text: It trains.\n    target: v4\n    flags: {flags}\n"
        )
    });
    let lesson = "id: one\ntitle: One\nminutes: 5\nlevel: beginner\nobjectives: [Run.]\nsteps:\n";
    fs::write(course.join("only/one.yaml"), format!("{lesson}{steps}")).unwrap();
    let prepare = |backend: &str, jobs: &str| {
        let output = tutor(home.path())
            .envs(environment(rocm, home.path()))
            .env("HIP_STAND_IN_CHECK", "none")
            .env("TINYLLAMA_BACKEND", backend)
            .args(["prepare", "--jobs", jobs, "--lessons"])
            .arg(&course)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains("3 programs ready"), "{said}");
        let compiled = said
            .lines()
            .filter(|line| line.starts_with("  compiled: v4"));
        (
            compiled.count(),
            said.contains("compiling 2 programs, 2 at a time"),
        )
    };
    assert_eq!(prepare("rocm", "2"), (2, true));
    assert_eq!(prepare("rocm", "1"), (0, false));
    // The CPU has nothing to compile in advance.
    assert_eq!(prepare("cpu", "2"), (0, false));
}
