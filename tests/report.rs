//! Tests reports of invented sessions: their content, their appearance, and the detection of changed hand-ins.

mod class;
#[path = "report/commands.rs"]
mod commands;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use class::{MadeUp, course, make_up, place, walk};
use serde_json::Value;
use tempfile::TempDir;
use tinyllama_lesson::Verdict;
use tinyllama_report::{CollectOptions, Report, class as of_class, collect, html, markdown};
use tinyllama_session::{RunExit, Session, SessionEvent, SessionLocation, StepRef};

fn report(place: &SessionLocation) -> Report {
    collect(place, course(), CollectOptions::default()).unwrap()
}

/// Six debugging stages, a noisy run, a recording, a failed run, and text that looks like markup.
fn eventful(class: &Path) -> SessionLocation {
    let place = walk(place(class, "ada"), course(), 2, 7);
    let mut session = Session::open(place.clone()).unwrap();
    for (number, step_ms) in (1..).zip([40.0, 36.0, 12.0, 30.0, 20.0, 8.0]) {
        let target = ["stage1", "stage2", "stage3", "stage4", "stage5", "stage6"][number - 1];
        let run = MadeUp {
            with_gradient: if number == 6 { 1 } else { 38 },
            ..MadeUp::new(target, step_ms)
        };
        make_up(
            &mut session,
            &format!("7{number:05}-{target}"),
            None,
            &run,
            number as u64,
        );
    }
    // A case ends with its fix, which runs another program.
    let repaired = MadeUp {
        fix: Some("layout"),
        ..MadeUp::new("stage2", 3.0)
    };
    make_up(&mut session, "710002-stage2", None, &repaired, 3);
    let noisy = MadeUp {
        noise: 0.9,
        ..MadeUp::new("v2", 10.0)
    };
    make_up(&mut session, "800000-v2", None, &noisy, 1);
    let recorded = MadeUp {
        device: "Recorded GPU".into(),
        ..MadeUp::new("v3", 5.0)
    };
    make_up(&mut session, "900000-v3", None, &recorded, 2);
    session
        .mark_recording("900000-v3", "a machine far away")
        .unwrap();
    let words = ["run", "</table><script>alert(1)</script>"].map(str::to_string);
    session
        .start_run("950000-v1", None, "v1", words.to_vec())
        .unwrap();
    session
        .finish_run("950000-v1", RunExit::Signal(9), [].into())
        .unwrap();
    let at = StepRef::new("first-baseline", "what-v1-does");
    let text = "</blockquote><script src=\"https://example.org/x.js\"></script> | *x*";
    session.reflect(at, text).unwrap();
    place
}

#[test]
fn a_report_holds_what_was_measured_and_says_what_to_doubt() {
    let folder = TempDir::new().unwrap();
    let report = report(&eventful(folder.path()));
    assert_eq!(report.learner.as_deref(), Some("ada"));
    assert_eq!(report.totals.lessons_finished, 2, "{:?}", report.lessons);
    assert_eq!(report.devices.len(), 2);
    assert!(report.lessons[0].minutes > 0.5 && report.lessons[0].planned_minutes.is_some());

    let run = |id: &str| report.runs.iter().find(|run| run.id == id).unwrap();
    assert_eq!(run("950000-v1").exit, "signal 9");
    assert_eq!(run("950000-v1").step_time, None);
    let fast = run("700006-stage6").ratio.as_ref().unwrap();
    let interval = fast.interval.unwrap();
    assert!(
        (2.0..3.0).contains(&fast.speedup)
            && interval.low < fast.speedup
            && fast.speedup < interval.high,
        "{fast:?}"
    );
    // A run on another device, and a recording. Neither has a run here to compare with.
    assert_eq!(run("900000-v3").ratio, None);
    assert_eq!(run("800000-v2").samples.total_ms.len(), 30);
    assert_eq!(
        run("800000-v2").command,
        "tinyllama-tutor run v2 --events --data 'a text.txt' '--num-steps=30' '--batch-size=8' '--warmup=1'"
    );

    let stages: Vec<&str> = report.stages.iter().map(|row| row.stage.as_str()).collect();
    assert_eq!(
        stages,
        ["stage1", "stage2", "stage3", "stage4", "stage5", "stage6"]
    );
    let step = report.stages[2].to_stage_before.unwrap();
    assert!((2.7..3.3).contains(&step), "{step}");
    assert_eq!(
        report.stages[1].run, "700002-stage2",
        "not the repaired one"
    );
    assert!(markdown(&report).contains("| stage2 with --fix layout |"));

    let guess = report
        .predictions
        .iter()
        .find(|guess| guess.step == "guess-time")
        .unwrap();
    let measured = guess.measured.unwrap();
    assert!((17.0..23.0).contains(&measured), "{measured}");
    assert_eq!(guess.ratio, Some(guess.predicted / measured));

    let warnings = report.warnings.join("\n");
    for expected in ["recording", "10 %", "no gradient", "800000-v2", "950000-v1"] {
        assert!(warnings.contains(expected), "{expected}: {warnings}");
    }
    let checks: Vec<Verdict> = report.lessons[1]
        .steps
        .iter()
        .flat_map(|step| &step.checks)
        .map(|check| check.verdict)
        .collect();
    assert!(
        !checks.is_empty() && checks.iter().all(|verdict| *verdict == Verdict::Passed),
        "{checks:?}"
    );
}

#[test]
fn the_html_is_one_safe_file_and_the_other_formats_are_whole() {
    let folder = TempDir::new().unwrap();
    let place = eventful(folder.path());
    let report = report(&place);
    let page = html::render(&report);
    if let Some(kept) = std::env::var_os("REPORT_TEST_KEEP") {
        fs::write(Path::new(&kept).join("report.html"), &page).unwrap();
    }
    assert!(page.len() < html::MOST_BYTES);
    for forbidden in [
        "<script",
        "<img",
        "<link",
        "<iframe",
        "src=",
        "@import",
        "url(",
        "NaN",
        "javascript:",
    ] {
        let hits: Vec<_> = page
            .match_indices(forbidden)
            .map(|(at, _)| &page[at.saturating_sub(60)..at + 20])
            .collect();
        assert!(
            hits.is_empty()
                || forbidden == "src=" && hits.iter().all(|hit| hit.contains("&lt;script")),
            "{forbidden}: {hits:?}"
        );
    }
    for (at, _) in page.match_indices("href=") {
        assert!(page[at..].starts_with("href=\"#"), "{}", &page[at..at + 40]);
    }
    for (at, _) in page.match_indices("https:") {
        assert!(
            page[..at].ends_with("&quot;"),
            "only the learner's own words may name a site"
        );
    }
    assert_eq!(
        page.matches("<svg").count(),
        page.matches("role=\"img\" aria-labelledby=").count()
    );
    assert!(page.matches("<svg").count() >= 5);
    for (open, close) in [
        ("<table>", "</table>"),
        ("<section", "</section>"),
        ("<tr>", "</tr>"),
        ("<svg", "</svg>"),
        ("<td", "</td>"),
    ] {
        assert_eq!(
            page.matches(open).count(),
            page.matches(close).count(),
            "{open}"
        );
    }
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("@media print"));

    let text = markdown(&report);
    assert!(
        text.contains("# Session report: ada")
            && !text.contains("\n<script")
            && text.contains("\\<script")
    );
    let schema: Value = serde_json::from_str(
        &fs::read_to_string(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/report.schema.json"),
        )
        .unwrap(),
    )
    .unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let value = serde_json::to_value(&report).unwrap();
    assert!(validator.validate(&value).is_ok());
    let mut broken = value.clone();
    // The first run is a command, which measures no steps.
    broken["runs"][1]["samples"]["total_ms"][0] = "fast".into();
    assert!(validator.validate(&broken).is_err());
}

#[test]
fn a_guess_about_this_machine_is_not_held_against_a_recording() {
    let folder = TempDir::new().unwrap();
    let place = eventful(folder.path());
    let mut session = Session::open(place.clone()).unwrap();
    let baseline = session.state().step("first-baseline", "baseline").unwrap();
    for id in baseline.runs.clone() {
        session.mark_recording(&id, "NVIDIA H200, then").unwrap();
    }
    drop(session);
    let report = report(&place);
    let mut guesses = report.predictions.iter();
    let guess = guesses.find(|guess| guess.step == "guess-time").unwrap();
    assert!(
        guess.measured.is_some() && guess.ratio.is_none(),
        "{guess:?}"
    );
    let text = markdown(&report);
    let line = text
        .lines()
        .find(|line| line.contains("How long is a step?"));
    let line = line.unwrap();
    insta::assert_snapshot!(line, @r#"| How long is a step? | 10.68 ms | 18.89 ms (recording: NVIDIA H200, then, another machine) | - |"#);
    assert!(line.trim_end().ends_with("| - |"), "{line}");
}

/// The stored calibration for the device of invented runs.
fn calibrate(state: &Path, driver: &str) {
    let sampled = |median: f64| serde_json::json!({"median": median, "p10": median, "p90": median, "repeats": 5});
    let calibration = serde_json::json!({
        "version": 1, "measured": 0, "program": "0",
        "facts": {"backend": "imagined", "device": "Imagined GPU", "arch": "gfx000", "driver": driver, "memory": 1_u64 << 34},
        "compute": [{"dtype": "f32", "unit": "vector", "flops_per_s": sampled(1e13), "how": "made up"}],
        "bandwidth": [{"level": "cold", "bytes_per_s": sampled(1e12), "working_set": 1, "how": "made up"}],
        "launch": null, "synchronise": null, "notes": [],
    });
    let folder = state.join("tinyllama-tutor/calibration");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("imagined.json"), calibration.to_string()).unwrap();
}

/// A run as the store leaves it, with the energy in `run.json`.
fn run_with_energy(session: &mut Session) {
    let id = "990000-v1";
    let folder = session.location.runs().join(id);
    fs::create_dir_all(&folder).unwrap();
    let record = serde_json::json!({
        "command": [], "started": 0, "exit": null, "hello": null, "summary": null, "error": null,
        "energy": {"joules": 120.0, "uncertainty": 6.0, "power_samples": 9, "steps": 30, "samples": 240, "source": "made up"},
    });
    fs::write(folder.join("run.json"), record.to_string()).unwrap();
    fs::write(folder.join("events.jsonl"), "").unwrap();
    session
        .start_run(id, None, "v1", vec!["run".into()])
        .unwrap();
    session.run_ended(id, RunExit::SUCCESS).unwrap();
}

#[test]
fn ceilings_and_energy_reach_every_format() {
    let state = TempDir::new().unwrap();
    let place = SessionLocation {
        folder: state.path().join("tinyllama-tutor"),
        learner: "ada".into(),
    };
    let mut session = Session::open(place.clone()).unwrap();
    make_up(&mut session, "100000-v1", None, &MadeUp::new("v1", 20.0), 1);
    make_up(&mut session, "200000-v3", None, &MadeUp::new("v3", 5.0), 2);
    session.mark_recording("200000-v3", "elsewhere").unwrap();
    run_with_energy(&mut session);
    drop(session);
    let report = |driver: &str| -> Report {
        calibrate(state.path(), driver);
        let written = tutor(state.path(), &["report", "-o", "out"]);
        assert_eq!(written.status.code(), Some(0), "{written:?}");
        let text = fs::read(state.path().join("out/session.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    let fresh = report("1.2");
    let work = |run: usize| fresh.runs[run].work.as_ref().unwrap();
    let values: Vec<f64> = work(0).ceilings.iter().map(|line| line.value).collect();
    assert_eq!(values, [1e13, 1e13, 1e12], "{:?}", work(0).ceilings);
    let lines = work(0).roofline().ceilings;
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "f32 products 10.00 TFLOP/s (measured)",
            "f32 vector 10.00 TFLOP/s (measured)",
            "memory 1.00 TB/s (measured)"
        ]
    );
    assert_eq!(
        work(1).ceilings,
        [],
        "a recording was made on another machine"
    );
    assert_eq!(fresh.runs[2].figures["joules_per_step"], 4.0);

    let page = html::render(&fresh);
    let text = markdown(&fresh);
    for expected in [
        "4.00 J +/- 0.20 J",
        "0.500 J +/- 0.025 J",
        "memory 1.00 TB/s (measured)",
    ] {
        assert!(page.contains(expected), "{expected}");
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // A part that only moves data is compared with memory: 8 MB in 5 ms, at a peak of 1000 GB/s.
    let copies = |line: &str| line.starts_with("| embedding |") && line.ends_with("| 0.2 % |");
    assert!(text.lines().any(copies), "{text}");
    assert!(!page.contains("NaN") && !text.contains("NaN"));
    assert_eq!(page.matches("class=\"roof\"").count(), 3);
    let doubts = |report: &Report| report.runs[0].warnings.join(" ");
    assert!(!doubts(&fresh).contains("driver"), "{}", doubts(&fresh));
    let stale = report("1.1");
    assert!(
        doubts(&stale).contains("driver: 1.1 then, 1.2 now"),
        "{}",
        doubts(&stale)
    );
}

/// What a profiler wrote into its database of the process that it followed.
const TOKEN: &str = "hf_SecretTokenOfAda";

#[test]
fn a_report_and_an_export_give_nothing_of_a_profiles_environment_away() {
    let state = TempDir::new().unwrap();
    let place = SessionLocation {
        folder: state.path().join("tinyllama-tutor"),
        learner: "ada".into(),
    };
    let mut session = Session::open(place.clone()).unwrap();
    make_up(&mut session, "100000-v1", None, &MadeUp::new("v1", 20.0), 1);
    drop(session);
    let profiles = place.runs().join("100000-v1/profiles/hotspots");
    fs::create_dir_all(&profiles).unwrap();
    let statements = format!(
        "CREATE TABLE rocpd_metadata (id, tag, value);
         INSERT INTO rocpd_metadata VALUES (1, 'schema_version', '3');
         CREATE TABLE rocpd_info_process_a (id INTEGER PRIMARY KEY, command, environment NOT NULL);
         INSERT INTO rocpd_info_process_a VALUES (1, './train --key {TOKEN}', '{{\"HF_TOKEN\": \"{TOKEN}\"}}');
         CREATE VIEW processes AS SELECT command FROM rocpd_info_process_a;
         CREATE TABLE kernels (name, start, \"end\", dispatch_id);
         INSERT INTO kernels VALUES ('a_kernel_of_adas', 100, 250, 1);"
    );
    let database = rusqlite::Connection::open(profiles.join("1_results.db")).unwrap();
    database.execute_batch(&statements).unwrap();
    drop(database);

    let written = tutor(state.path(), &["report", "-o", "out"]);
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    let mut shown = 0;
    for file in fs::read_dir(state.path().join("out")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        shown += usize::from(text.contains("a_kernel_of_adas"));
        assert!(!text.contains(TOKEN) && !text.contains("./train"));
    }
    assert!(shown > 0, "the profile is in the report");

    let exported = tutor(state.path(), &["session", "export", "ada.tar.gz"]);
    assert_eq!(exported.status.code(), Some(0), "{exported:?}");
    let said = String::from_utf8(exported.stdout).unwrap();
    insta::assert_snapshot!(said);
}

#[test]
fn a_very_long_session_still_makes_a_small_page() {
    let folder = TempDir::new().unwrap();
    let place = place(folder.path(), "ada");
    let mut session = Session::open(place.clone()).unwrap();
    let mut events = Vec::new();
    for number in 0..3_000 {
        let run = format!("{number:06}");
        let command = vec!["run".to_string(), "v1".repeat(40)];
        events.push(SessionEvent::RunStarted {
            run: run.clone(),
            at: None,
            target: "v1".into(),
            command,
            host: "h".into(),
        });
        events.push(SessionEvent::RunFinished {
            run,
            exit: RunExit::Status(1),
            values: [].into(),
        });
    }
    session.record_all(events).unwrap();
    session
        .reflect(
            StepRef::new("bottleneck", "closing"),
            &"long ".repeat(60_000),
        )
        .unwrap();
    drop(session);
    let report = report(&place);
    let page = html::render(&report);
    assert!(page.len() < html::MOST_BYTES, "{}", page.len());
    let rest = page.lines().find(|line| line.contains("earlier"));
    insta::assert_snapshot!(rest.unwrap(), @"<p>2700 runs earlier ones are in the JSON document.</p>");
    assert_eq!(report.runs.len(), 3_000);
}

#[test]
fn an_anonymous_report_names_nobody() {
    let folder = TempDir::new().unwrap();
    let ada = eventful(folder.path());
    let mut session = Session::open(ada.clone()).unwrap();
    session
        .reflect(StepRef::new("bottleneck", "closing"), "I, ada, think so.")
        .unwrap();
    drop(session);
    let anonymous = collect(&ada, course(), CollectOptions { anonymous: true }).unwrap();
    let text = serde_json::to_string(&anonymous).unwrap();
    for name in ["\"ada\"", "ada,", &*folder.path().display().to_string()] {
        assert!(!text.contains(name), "{name}");
    }
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    assert!(host.len() < 3 || !text.contains(&format!("\"{host}\"")));
}

fn tutor(state: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
        .args(args)
        .current_dir(state)
        .env("XDG_STATE_HOME", state)
        .env("USER", "ada")
        .env_remove("TINYLLAMA_CLASS")
        .env_remove("TINYLLAMA_LESSONS")
        .output()
        .unwrap()
}
