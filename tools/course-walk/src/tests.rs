//! Walks the built-in course and spoiled copies of it, with a stand-in for the training program.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::training::left_out_note;
use crate::{Progress, VerifyOptions, WalkOutcome, WalkReport, verify};
use tinyllama_lesson::{Course, CourseSource, Problem, Verdict};
use tinyllama_runs::Launcher;

/// Prints the events of a good run of a target, at a hundred milliseconds a step; work follows from batch and length.
/// For other commands it prints a stored document of such a command.
const STAND_IN: &str = r#"#!/bin/sh
case "$1" in
  run) ;;
  roofline) exec cat "@assets/analysis/roofline-v3.json" ;;
  predict) exec cat "@assets/analysis/predict-v4.json" ;;
  calibrate|stages|tune|ablate|scale) exec cat "@assets/analysis/$1.json" ;;
  *) exec cat "@tests/fixtures/documents/$1.json" ;;
esac
target=$2; batch=1; length=1; flash=""; faster=100; first=6.95; final=5.2; gradients=38; flops=""; samples=8; tokens=128; table=10
while [ $# -gt 0 ]; do
  case "$1" in
    --batch-size) samples=$2; [ "$2" -gt 8 ] && batch=2 ;;
    --seq-len) tokens=$2; [ "$2" -gt 128 ] && length=2 ;;
    --flops) flops=yes ;;
    --flash-attention) flash=$2; [ "$2" = off ] && table=17 ;;
    --graph-fusion) [ "$flash $2" = "on on" ] && faster=60 ;;
    --fix) [ "$2" = init ] && target=fixed ;;
    --device) echo "out of luck" >&2; exit 3 ;;
  esac
  shift
done
case "$target" in
  v3) table=6 ;;
  stage1) first=300; final=250 ;;
  stage6) gradients=1; final=6.5 ;;
esac
all=$((samples * tokens)); scores=$tokens
# Without a table of scores, bytes go by tokens alone.
[ "$target" = v3 ] && scores=128
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
  ms=$((faster * batch * length + n % 3))
  echo "{\"t\":0,\"event\":\"step\",\"n\":$n,\"of\":12,\"measured\":true,\"loss\":6.0,\"total_ms\":$ms,\"forward_ms\":30,\"backward_ms\":6$n.5,\"optimizer_ms\":1.0,\"synchronized\":true,\"launches\":null,\"bytes_in_use\":null,\"bytes_reserved\":null,\"samples_per_s\":1.0}"
done
[ -n "$flops" ] && echo "{\"t\":1,\"event\":\"parts\",\"source\":\"counted\",\"parts\":[],\"flops_per_step\":$((all * (160 + 10 * tokens / 128) / 1024))e8,\"bytes_per_step\":$((table * 87 * (20 + all * (40 + 40 * scores / 128) / 1024) / 100))e6,\"achieved_flops_per_s\":1e11}"
echo "{\"t\":1,\"event\":\"summary\",\"complete\":true,\"steps\":12,\"measured_steps\":12,\"samples\":96,\"samples_per_s\":$((10 * samples)),\"tokens_per_s\":1e4,\"total_ms\":null,\"forward_ms\":null,\"backward_ms\":null,\"optimizer_ms\":null,\"synchronized\":true,\"first_step_ms\":200.0,\"launches_per_step\":null,\"peak_bytes_in_use\":null,\"peak_bytes_reserved\":null,\"first_loss\":$first,\"final_loss\":$final,\"parameters\":2617600,\"parameter_tensors\":38,\"parameters_with_gradient\":$gradients,\"repeatability\":{\"repeats\":2,\"identical\":true,\"loss_difference\":0.0,\"gradient_difference\":0.0,\"differing_parameter\":null}}"
"#;

/// A folder with the stand-in and a copy of the built-in course.
struct TestCourse(TempDir);

impl TestCourse {
    fn new() -> Self {
        let bench = TestCourse(TempDir::new().unwrap());
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        fs::write(bench.program(), STAND_IN.replace('@', root)).unwrap();
        fs::set_permissions(bench.program(), fs::Permissions::from_mode(0o755)).unwrap();
        let lessons = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lessons");
        copy(&lessons, &bench.course());
        bench
    }

    fn program(&self) -> PathBuf {
        self.0.path().join("stand-in")
    }

    fn launcher(&self) -> Launcher {
        Launcher::local(self.program())
    }

    fn course(&self) -> PathBuf {
        self.0.path().join("lessons")
    }

    /// Replaces the only occurrence of `from` in `file`; returns its line.
    fn spoil(&self, file: &str, from: &str, to: &str) -> usize {
        let path = self.course().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{from:?} in {file}");
        let line = text[..text.find(from).unwrap()].matches('\n').count() + 1;
        fs::write(&path, text.replace(from, to)).unwrap();
        line
    }

    fn verify(
        &self,
        lessons: &[&str],
        fast: bool,
        flags: &[&str],
    ) -> Result<WalkReport, Vec<Problem>> {
        let source = CourseSource::Folder(self.course());
        let course = Course::load(&source).map_err(|problems| problems.0)?;
        let options = VerifyOptions {
            path: None,
            launcher: self.launcher(),
            fast,
            flags: flags.iter().map(ToString::to_string).collect(),
        };
        let lessons: Vec<String> = lessons.iter().map(ToString::to_string).collect();
        Ok(verify(&course, &source, &lessons, &options, &mut |_| {}).unwrap())
    }

    /// Line and message of every problem.
    fn found(&self, lessons: &[&str]) -> Vec<(usize, String)> {
        let problems = match self.verify(lessons, false, &[]) {
            Ok(report) => report.problems().cloned().collect(),
            Err(problems) => problems,
        };
        let location = |problem: &Problem| (problem.line.unwrap_or(0), problem.message.clone());
        problems.iter().map(location).collect()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn the_built_in_course_can_be_walked_from_end_to_end() {
    let bench = TestCourse::new();
    let report = bench.verify(&[], false, &[]).unwrap();
    let problems: Vec<String> = report
        .problems()
        .map(|problem| format!("{}:{:?}: {problem}", problem.file, problem.line))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
    let course = Course::load(&CourseSource::Folder(bench.course())).unwrap();
    for lesson in course.lessons() {
        for step in &lesson.steps {
            let (_, found) = report
                .steps()
                .find(|(id, found)| *id == lesson.id && found.id == step.id)
                .unwrap_or_else(|| panic!("{}/{} was not walked", lesson.id, step.id));
            let skipped = matches!(found.result, WalkOutcome::Skipped(_));
            // A kernel's solution is checked if there is a compiler.
            if step.as_kernel().is_none() {
                let elsewhere = step.as_profile().is_some();
                assert_eq!(skipped, elsewhere, "{}/{}", lesson.id, step.id);
            }
        }
    }
}

#[test]
fn a_spoiled_course_is_reported_with_the_line() {
    const BASELINE: &str = "foundation/first-baseline.yaml";
    for (what, lesson, file, from, to, message) in [
        (
            "a bound with two characters wrong",
            "first-baseline",
            BASELINE,
            "at_most: 0.95",
            "at_most: 9.55",
            "a loss that did not fall",
        ),
        (
            "a bound a good run misses",
            "first-baseline",
            BASELINE,
            "at_least: 6.7",
            "at_least: 7.2",
            "a good run does not pass",
        ),
        (
            "a metric that is not the one meant",
            "first-baseline",
            BASELINE,
            "measure: baseline.final_loss / baseline.first_loss",
            "measure: baseline.final_loss / baseline.total_ms",
            "figures of different kinds",
        ),
        (
            "a metric that does not exist",
            "first-baseline",
            BASELINE,
            "measure: baseline.final_loss / baseline.first_loss",
            "measure: baseline.final_los / baseline.first_loss",
            "no metric `final_los`",
        ),
        (
            "an unknown key",
            "first-baseline",
            BASELINE,
            "    recording: v1\n",
            "    recroding: v1\n",
            "unknown field",
        ),
        (
            "a required figure that not every machine reports",
            "memory",
            "foundation/memory.yaml",
            "measure: long.final_loss / long.first_loss",
            "measure: long.launches_per_step / first-baseline/baseline.launches_per_step",
            "does not report",
        ),
        (
            "a task that is solved before it is begun",
            "bottleneck",
            "foundation/bottleneck.yaml",
            "    flags: --config tiny --num-steps 30 --flops\n    editable: true",
            "    flags: --config tiny --num-steps 30 --flops --batch-size 16\n    editable: true",
            "with the flags unchanged",
        ),
        (
            "a tolerance with a digit wrong, which takes a wrong number for right",
            "bottleneck",
            "foundation/bottleneck.yaml",
            "      tolerance: 0.01",
            "      tolerance: 0.31",
            "this wrong answer is accepted",
        ),
        (
            "a run that fails",
            "welcome",
            "foundation/welcome.yaml",
            "flags: --config tiny --num-steps 5",
            "flags: --config tiny --num-steps 5 --device none",
            "out of luck",
        ),
        (
            "a lesson that is never opened",
            "memory",
            "foundation/memory.yaml",
            "requires: [first-baseline]",
            "requires: [bottleneck]",
            "wait for itself",
        ),
        (
            "a sample that is not there",
            "first-profile",
            "optimization/first-profile.yaml",
            "import: profiles/wall_clock.txt",
            "import: profiles/wall_clocks.txt",
            "no such file",
        ),
    ] {
        let bench = TestCourse::new();
        let (file_to_spoil, from) = match what {
            // No step of this lesson has this key.
            "an unknown key" => ("foundation/bottleneck.yaml", from),
            _ => (file, from),
        };
        let line = bench.spoil(file_to_spoil, from, to);
        let found = bench.found(&[lesson]);
        assert!(
            found
                .iter()
                .any(|(at, text)| at.abs_diff(line) <= 1 && text.contains(message)),
            "{what}: not at line {line} in {found:#?}"
        );
    }
}

#[test]
fn a_lesson_planned_far_too_long_is_reported() {
    let bench = TestCourse::new();
    bench.spoil(
        "workshop.yaml",
        "title: Foundation\n    minutes: 61",
        "title: Foundation\n    minutes: 80",
    );
    bench.spoil(
        "workshop.yaml",
        "keep the gain\n    minutes: 204",
        "keep the gain\n    minutes: 240",
    );
    let line = bench.spoil("foundation/welcome.yaml", "minutes: 8", "minutes: 24");
    let found = bench.found(&["welcome"]);
    let course = Course::load(&CourseSource::Folder(bench.course())).unwrap();
    let welcome = course.lesson("welcome").unwrap();
    assert_eq!(welcome.minutes, 24);
    assert_eq!(found, [(line, welcome.minutes_problem())]);
    assert!(found[0].1.starts_with("24 "), "{found:#?}");
}

#[test]
fn a_fast_walk_leaves_out_what_depends_on_the_size_and_says_so() {
    let bench = TestCourse::new();
    let report = bench.verify(&["first-baseline"], true, &[]).unwrap();
    assert!(
        report.is_sound(),
        "{:?}",
        report.problems().collect::<Vec<_>>()
    );
    let (_, step) = report
        .steps()
        .find(|(_, step)| step.id == "baseline")
        .unwrap();
    assert!(matches!(step.result, WalkOutcome::InPart(_)));
    let note = left_out_note("begins-ignorant");
    assert!(note.contains("`begins-ignorant`"), "{note}");
    assert!(step.notes.contains(&note), "{:?}", step.notes);
}

#[test]
fn runs_of_other_lessons_come_first_and_flags_are_filled_in() {
    let bench = TestCourse::new();
    let source = CourseSource::Folder(bench.course());
    let course = Course::load(&source).unwrap();
    let options = VerifyOptions {
        path: None,
        launcher: bench.launcher(),
        fast: false,
        flags: vec!["--config".into(), "small".into()],
    };
    let mut needed = Vec::new();
    let mut lines = Vec::new();
    let mut listen = |progress: Progress| match progress {
        Progress::Needed { lesson, step } => needed.push(format!("{lesson}/{step}")),
        Progress::Run { argv } => {
            let argv: Vec<_> = argv.iter().map(|word| word.to_string_lossy()).collect();
            lines.push(argv.join(" "));
        }
        _ => {}
    };
    let report = verify(&course, &source, &["memory".into()], &options, &mut listen).unwrap();
    assert!(report.is_sound());
    assert_eq!(needed, ["first-baseline/baseline"]);
    assert_eq!(lines.len(), 2);
    assert!(
        lines
            .iter()
            .all(|line| line.contains("--config small") && !line.contains("tiny")),
        "{lines:?}"
    );
}

/// The report of a lesson's walk, and the commands that ran.
fn runs_of(bench: &TestCourse, lesson: &str) -> (WalkReport, Vec<String>) {
    let source = CourseSource::Folder(bench.course());
    let course = Course::load(&source).unwrap();
    let (launcher, flags) = (bench.launcher(), vec![]);
    let options = VerifyOptions {
        path: None,
        launcher,
        fast: false,
        flags,
    };
    let mut runs = Vec::new();
    let mut listen = |progress: Progress| {
        if let Progress::Run { argv } = progress {
            runs.push(argv.join(OsStr::new(" ")).to_string_lossy().into_owned());
        }
    };
    let report = verify(&course, &source, &[lesson.into()], &options, &mut listen).unwrap();
    (report, runs)
}

/// The verdict of a check at the first step with this id.
fn verdict(report: &WalkReport, step: &str, check: &str) -> Verdict {
    let mut steps = report.steps();
    let (_, step) = steps.find(|(_, found)| found.id == step).unwrap();
    let mut checks = step.checks.iter();
    checks.find(|found| found.check == check).unwrap().verdict
}

#[test]
fn an_undecided_effect_is_measured_again_in_turns_and_a_decided_one_is_not() {
    let bench = TestCourse::new();
    let split = |runs: &[String]| {
        let long = |run: &&String| run.contains("--seq-len");
        let long = runs.iter().filter(long).count();
        [runs.len() - long, long]
    };
    assert_eq!(split(&runs_of(&bench, "memory").1), [1, 1]);
    // The stand-in's steps scatter about a ratio of 1.9901: too near to decide with one run of each.
    bench.spoil(
        "foundation/memory.yaml",
        "baseline.total_ms\n        at_least: 1.3\n        required: false",
        "baseline.total_ms\n        at_least: 1.985\n        required: false",
    );
    let (report, runs) = runs_of(&bench, "memory");
    let [base, long] = split(&runs);
    assert!(base == long && (3..=6).contains(&long), "{runs:#?}");
    assert_eq!(verdict(&report, "long", "slower"), Verdict::Passed);
}

/// Measurements cost the learner only until the case is solved. A fix that fails in its turn ends them.
#[test]
fn an_undecided_case_goes_on_in_turns_once_it_is_solved() {
    let of_stage = |runs: &[String]| {
        let of_stage = runs.iter().filter(|run| run.contains(" stage2 "));
        let case_move = |run: &String| match run.contains("--fix") {
            true => 'f',
            false => 'm',
        };
        of_stage.map(case_move).collect::<String>()
    };
    let bench = TestCourse::new();
    let (report, runs) = runs_of(&bench, "five-stages");
    let decided = verdict(&report, "stage2", "layout-mattered");
    assert_eq!(
        (decided, of_stage(&runs).as_str()),
        (Verdict::NotYet, "mmmfff")
    );
    // Both take equally long, so one run of each cannot decide whether this is met.
    bench.spoil(
        "advanced/five-stages.yaml",
        "measure: stage2.total_ms / stage2+fix.total_ms\n        at_least: 1.1",
        "measure: stage2.total_ms / stage2+fix.total_ms\n        at_least: 1.0",
    );
    let (report, runs) = runs_of(&bench, "five-stages");
    let decided = verdict(&report, "stage2", "layout-mattered");
    assert_eq!(
        (decided, of_stage(&runs).as_str()),
        (Verdict::Passed, "mmmfffmfmf")
    );

    let once = r#"case "$*" in
      *" stage2 "*layout*) [ -e "$0.ran" ] && exit 3; touch "$0.ran" ;;
    esac
    target=$2;"#;
    let program = fs::read_to_string(bench.program()).unwrap();
    fs::write(bench.program(), program.replace("target=$2;", once)).unwrap();
    let (report, runs) = runs_of(&bench, "five-stages");
    let decided = verdict(&report, "stage2", "layout-mattered");
    assert_eq!(
        (decided, of_stage(&runs).as_str()),
        (Verdict::Inconclusive, "mmmfffmf")
    );
}

#[test]
fn goals_whose_flags_are_for_one_size_are_left_out_in_another_and_it_is_said() {
    let bench = TestCourse::new();
    let goal = |flags: &[&str]| {
        let report = bench
            .verify(&["precision-and-batch"], false, flags)
            .unwrap();
        let (_, step) = report
            .steps()
            .find(|(_, step)| step.id == "just-fits")
            .unwrap();
        (step.result.clone(), step.notes.join(" "))
    };
    assert_eq!(goal(&[]).0, WalkOutcome::Done);
    let (result, notes) = goal(&["--config", "small"]);
    assert!(matches!(result, WalkOutcome::InPart(_)), "{result:?}");
    let note = left_out_note("within");
    assert!(
        note.contains("`within`") && notes.contains(&note),
        "{notes}"
    );
}
