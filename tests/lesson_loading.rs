//! Tests which courses are accepted, and that each mistake is reported with its place.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tinyllama_contract::targets;
use tinyllama_course_walk::scaffold;
use tinyllama_lesson::kinds::Kind;
use tinyllama_lesson::{Course, CourseSource, Problem, Problems, Style, schema};
use tinyllama_runs::Metric;

const WORKSHOP: &str = r#"format: 1
title: A course
version: "1"
summary: Small.
sessions:
  - id: first
    title: First
    minutes: 60
    objectives: [Something]
    lessons:
      - one
      - two
"#;

/// A course with two lessons. The second requires the first.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let files = Files(TempDir::new().unwrap());
        fs::create_dir(files.path().join("first")).unwrap();
        files.write("workshop.yaml", WORKSHOP);
        files.write("first/one.yaml", &scaffold::lesson("one", "One"));
        let two = scaffold::lesson("two", "Two").replace("requires: []", "requires: [one]");
        files.write("first/two.yaml", &two);
        files
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.path().join(path), text).unwrap();
    }

    /// Replaces a passage that must occur exactly once, and returns its line.
    fn edit(&self, path: &str, from: &str, to: &str) -> usize {
        let text = fs::read_to_string(self.path().join(path)).unwrap();
        assert_eq!(
            text.matches(from).count(),
            1,
            "{path} has not exactly one {from:?}"
        );
        let line = text[..text.find(from).unwrap()].lines().count().max(1);
        self.write(path, &text.replace(from, to));
        line
    }

    fn load(&self) -> Result<Course, Problems> {
        Course::load(&CourseSource::Folder(self.path().to_path_buf()))
    }

    /// The course's only problem.
    fn problem(&self) -> Problem {
        let mut problems = self
            .load()
            .map(|_| ())
            .expect_err("the mistake was not noticed")
            .0;
        assert_eq!(problems.len(), 1, "{problems:#?}");
        problems.remove(0)
    }
}

#[test]
fn a_course_as_scaffolded_is_accepted() {
    let course = Files::new().load().unwrap();
    let ids: Vec<&str> = course.lessons().map(|lesson| lesson.id.as_str()).collect();
    assert_eq!(ids, ["one", "two"]);
    let step = course.step("one", "baseline").unwrap();
    assert!(step.as_run().is_some());
    assert_eq!((step.target.as_deref(), step.flags.len()), (Some("v1"), 4));
    assert_eq!(step.checks[0].confidence, None);
}

#[test]
fn each_mistake_is_reported_where_it_stands() {
    // Passage, replacement, and offset of the expected line from the passage's first line.
    let mistakes: &[(&str, &str, usize)] = &[
        ("minutes: 5", "minuts: 5", 0),
        ("minutes: 5", "minutes: five", 0),
        ("minutes: 5", "minutes: 40", 0),
        ("minutes: 5", "minutes: 1", 0),
        ("level: beginner", "level: expert", 0),
        ("requires: [", "requires: [three, ", 0),
        ("requires: [", "requires: [two, ", 0),
        ("id: one", "id: uno", 0),
        ("  - id: seen", "  - id: guess", 0),
        ("  - id: seen", "  - id: Seen!", 0),
        ("    kind: quiz", "    kind: quizz", 0),
        ("    target: v1", "    target: v9", 0),
        ("    target: v1", "    target: v1\n    target: v2", 1),
        (
            "    target: v1",
            "    measure: baseline.total_ms\n    target: v1",
            0,
        ),
        ("    target: v1", "    recording: ../v1\n    target: v1", 0),
        ("    kind: quiz", "    kind: quiz\n    recording: v1", 1),
        ("    flags: --config", "    flags: it's --config", 0),
        (
            "measure: baseline.final_loss / baseline.first_loss",
            "measure: baseline.speed",
            0,
        ),
        (
            "measure: baseline.final_loss / baseline.first_loss",
            "measure: later.final_loss",
            0,
        ),
        (
            "measure: baseline.final_loss / baseline.first_loss",
            "measure: baseline.final_loss / baseline.loss_difference",
            0,
        ),
        (
            "measure: baseline.final_loss / baseline.first_loss",
            "measure: two/baseline.final_loss",
            0,
        ),
        ("at_most: 0.99", "at_most: 0.9O", 0),
        ("at_most: 0.99", "at_most: -1", 0),
        ("at_most: 0.99", "at_least: 0", 0),
        ("at_most: 0.99", "at_most: .nan", 0),
        ("at_most: 0.99", "at_most: 0.99\n        at_least: 1.5", 0),
        (
            "at_most: 0.99",
            "at_most: 0.99\n        confidence: 0.95",
            0,
        ),
        ("after: learns", "after: lerns", 0),
        (
            "The median step took {{ baseline.total_ms }}",
            "It took {{ baseline.totl_ms }}",
            0,
        ),
        (
            "The median step took {{ baseline.total_ms }}",
            "See [this](reference/nowhere.md)",
            0,
        ),
        ("        correct: true", "        correct: false", 0),
        (
            "because: It needs sorting; the mean is the easier one.",
            "because: \"\"",
            0,
        ),
        ("      number: 100", "      text: a lot", 0),
        (
            "    measure: baseline.total_ms\n",
            "    measure: baseline.total_ms.p99\n",
            0,
        ),
    ];
    let mut reported = Vec::new();
    for (from, to, below) in mistakes {
        let files = Files::new();
        let line = files.edit("first/one.yaml", from, to);
        let problems = files.load().map(|_| ()).expect_err(to).0;
        let here: Vec<_> = problems
            .iter()
            .filter(|problem| problem.file.ends_with("first/one.yaml"))
            .collect();
        let [problem] = here[..] else {
            panic!("{to}: {problems:#?}")
        };
        let change = to.lines().map(str::trim).collect::<Vec<_>>().join(" / ");
        reported.push(format!("{change}\n    {}", problem.message));
        // An error in a check or text points to its first line, which is a few lines further up.
        let found = problem.line.unwrap_or_else(|| panic!("{to}: no line"));
        let away = (line + below).abs_diff(found);
        assert!(
            away <= 4,
            "{to}: reported in line {found}, stands in {}",
            line + below
        );
    }
    // These lists grow with what they list.
    let kinds = Kind::ALL.map(|kind| format!("`{kind}`")).join(", ");
    let targets = targets::names().collect::<Vec<_>>().join(", ");
    let metrics = Metric::ALL.map(Metric::name).join(", ");
    let mut reported = reported.join("\n");
    for (list, word) in [(kinds, "kind"), (targets, "target"), (metrics, "metric")] {
        assert!(reported.contains(&list), "every {word}: {list}");
        reported = reported.replace(&list, &format!("(every {word})"));
    }
    insta::assert_snapshot!(reported);
}

#[test]
fn a_run_that_only_comes_later_cannot_be_checked_before() {
    let files = Files::new();
    let text = fs::read_to_string(files.path().join("first/one.yaml")).unwrap();
    let (before, quiz) = text.split_once("  - id: seen").unwrap();
    let (head, run) = before.split_once("  - id: baseline").unwrap();
    files.write(
        "first/one.yaml",
        &format!("{head}  - id: seen{quiz}\n  - id: baseline{run}"),
    );
    insta::assert_snapshot!(files.problem().message);
}

#[test]
fn a_check_of_a_document_takes_no_attribute_of_runs() {
    for (key, value) in [("on_gpu", "true"), ("confidence", "0.9")] {
        let check = format!(
            "{{ id: one, measure: \"differences.#\", at_most: 1, {key}: {value}, passed: One., not_yet: More. }}"
        );
        let step = format!(
            "  - id: differs\n    kind: command\n    title: Differences\n    text: A command.\n    command: diff\n    \
             flags: stage2 stage3\n    checks:\n      - {check}\n  - id: seen"
        );
        let files = Files::new();
        files.edit("first/one.yaml", "  - id: seen", &step);
        let message = files.problem().message;
        assert!(message.contains(&format!("takes no `{key}`")), "{message}");
    }
}

#[test]
fn mistakes_of_the_workshop_file_are_reported_too() {
    let reported = [
        ("format: 1", "format: 2"),
        ("      - two", "      - one"),
        ("      - two", "      - ../two"),
        ("      - two", "      - three"),
        ("title: A course", "titel: A course"),
    ]
    .map(|(from, to)| {
        let files = Files::new();
        files.edit("workshop.yaml", from, to);
        let problems = files.load().map(|_| ()).unwrap_err().0;
        let messages: Vec<&str> = problems.iter().map(|it| it.message.as_str()).collect();
        format!("{}: {}", to.trim(), messages.join("\n"))
    });
    insta::assert_snapshot!(reported.join("\n"));
}

#[test]
fn a_lesson_nobody_lists_is_not_silently_dropped() {
    let files = Files::new();
    files.write("first/three.yaml", &scaffold::lesson("three", "Three"));
    assert!(files.problem().message.contains("first/three.yaml"));
}

#[test]
fn a_report_shows_the_lines_and_what_is_meant() {
    let files = Files::new();
    files.edit("first/one.yaml", "minutes: 5", "minuts: 5");
    let problem = files.problem();
    assert_eq!((problem.line, problem.column), (Some(4), Some(1)));
    let report = problem.render(Style {
        colour: false,
        unicode: false,
        width: 80,
    });
    insta::assert_snapshot!(report.replace(&problem.file, "[file]"));
}

#[test]
fn files_that_are_no_text_or_far_too_long_are_refused() {
    let files = Files::new();
    fs::write(files.path().join("first/one.yaml"), [b'i', b'd', 0xff]).unwrap();
    assert!(
        files
            .load()
            .unwrap_err()
            .to_string()
            .contains("not UTF-8 text: byte 3")
    );
    files.write("first/one.yaml", &"#".repeat(2 << 20));
    assert!(files.load().unwrap_err().to_string().contains("at most"));
}

#[test]
fn reference_pages_are_read_up_to_a_bound_of_all_of_them() {
    let files = Files::new();
    fs::create_dir(files.path().join("reference")).unwrap();
    let page = |number: usize| format!("reference/{number:02}.md");
    let text = "# a\n".repeat(1 << 18);
    for number in 0..16 {
        files.write(&page(number), &text);
    }
    assert!(files.load().is_ok(), "16 MiB");
    for number in 16..40 {
        files.write(&page(number), "a");
    }
    let problem = files.problem();
    assert!(problem.file.ends_with("16.md"), "{problem:?}");
    insta::assert_snapshot!(problem.message, @"up to here the pages have more than the 16777216 bytes that are read");
}

#[test]
fn every_truncation_of_a_lesson_is_an_error_or_a_course_and_never_a_panic() {
    let files = Files::new();
    let text = fs::read_to_string(files.path().join("first/one.yaml")).unwrap();
    for end in (0..text.len()).step_by(7) {
        files.write("first/one.yaml", &text[..end]);
        if let Err(problems) = files.load() {
            let style = Style {
                colour: false,
                unicode: true,
                width: 80,
            };
            assert!(
                problems
                    .0
                    .iter()
                    .all(|problem| !problem.render(style).is_empty())
            );
        }
    }
}

#[test]
fn the_flags_of_a_run_are_put_to_the_run_command() {
    let files = Files::new();
    let source = CourseSource::Folder(files.path().to_path_buf());
    let refuse = |_: &str, flags: &[String]| {
        if flags.iter().any(|flag| flag == "--num-steps") {
            Err("no such flag".to_string())
        } else {
            Ok(())
        }
    };
    let problems = Course::load_with(&source, &refuse).map(|_| ()).unwrap_err();
    let mut messages: Vec<&str> = problems.0.iter().map(|it| it.message.as_str()).collect();
    messages.dedup();
    insta::assert_snapshot!(messages.join("\n"), @"the run command refuses this: no such flag");
}

#[test]
fn a_profile_step_names_a_task_its_tool_has() {
    let files = Files::new();
    let step = "  - id: profiled\n    kind: profile\n    title: Profile it\n    text: Look.\n    tool: rocprof-compute\n    task: rooflines\n    target: v1\n    golden:\n      import: none.csv\n\n  - id: seen";
    files.edit("first/one.yaml", "  - id: seen", step);
    let problems = files.load().map(|_| ()).unwrap_err().to_string();
    let expected = "rocprof-compute has no task `rooflines`; there are profile, roofline";
    assert!(problems.contains(expected), "{problems}");
}

#[test]
fn the_schema_files_are_those_of_the_program() {
    for (name, schema) in [
        ("lesson", schema::lesson()),
        ("workshop", schema::workshop()),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("assets/{name}.schema.json"));
        let generated = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("UPDATE_GENERATED").is_some() {
            fs::write(&path, &generated).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == generated,
            "{} is out of date: run tools/generate schemas",
            path.display()
        );
    }
}

#[test]
fn the_schema_accepts_what_is_accepted_and_refuses_keys_of_another_kind() {
    let validator = jsonschema::validator_for(schema::lesson().as_value()).unwrap();
    let good = scaffold::lesson("one", "One");
    let valid =
        |text: &str| validator.is_valid(&serde_yaml::from_str::<serde_json::Value>(text).unwrap());
    assert!(valid(&good));
    assert!(!valid(&good.replace(
        "    target: v1",
        "    target: v1\n    measure: baseline.total_ms"
    )));
    assert!(!valid(&good.replace("    target: v1", "    target: v9")));
    assert!(!valid(&good.replace("    target: v1\n", "")));
    assert!(!valid(&good.replace("minutes: 5", "minuts: 5")));
}
