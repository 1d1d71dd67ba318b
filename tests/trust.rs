//! Tests that honest work is never refused and forged work is never accepted. It uses generated sessions, hand-ins
//! with every field changed in turn, impossible records, and classes with misleading names.

mod class;
#[path = "trust/class_page.rs"]
mod class_page;
#[path = "trust/forged.rs"]
mod forged;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use class::{MadeUp, course, make_up, place, walk};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tempfile::TempDir;
use tinyllama_lesson::Course;
use tinyllama_report::class::document::LearnerRow;
use tinyllama_report::class::{merge, page, sources};
use tinyllama_report::hand_in::{HandInError, HandInFindings, verify};
use tinyllama_report::{CollectOptions, collect};
use tinyllama_session::{
    KernelTime, RunExit, Scope, Session, SessionEvent, SessionLocation, StepRef, archive, chain,
    scan,
};

/// Number of generated sessions. TRUST_SESSIONS overrides it.
const SESSIONS: u64 = 100;

fn count(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |count| count.parse().unwrap())
}

/// A folder in memory if possible, because thousands of records would wait for a disk.
fn memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => TempDir::new_in(memory).unwrap(),
        false => TempDir::new().unwrap(),
    }
}

/// A session's report in the form of a hand-in.
fn document(place: &SessionLocation, anonymous: bool) -> Value {
    let report = collect(place, course(), CollectOptions { anonymous }).unwrap();
    let text = serde_json::to_string_pretty(&report).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn check(document: &Value, against: Option<&Path>) -> Result<HandInFindings, HandInError> {
    let folder = memory();
    let file = folder.path().join("session.json");
    fs::write(&file, document.to_string()).unwrap();
    verify(&file, against, course())
}

/// A generated session: steps of all kinds, resets, skipped steps, crashed and unfinished runs, a compacted log.
fn honest(class: &Path, seed: u64) -> SessionLocation {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let course = course();
    let name = format!("learner-{seed}");
    let place = walk(place(class, &name), course, random.random_range(1..5), seed);
    let mut session = Session::open(place.clone()).unwrap();
    for number in 0..random.random_range(0..4_u32) {
        let id = format!("9{number:05}-v2");
        let run = MadeUp {
            noise: random.random(),
            device: ["Imagined GPU", "NVIDIA H200"][random.random_range(0..2)].into(),
            with_gradient: random.random_range(1..=38),
            ..MadeUp::new("v2", random.random_range(0.5..60.0))
        };
        make_up(&mut session, &id, None, &run, random.random());
    }
    let lesson = course.lessons().next().unwrap();
    let at = StepRef::new(&lesson.id, &lesson.steps[0].id);
    for _ in 0..random.random_range(0..30) {
        session
            .spend(at.clone(), random.random_range(0.0..5.0))
            .unwrap();
    }
    if random.random_bool(0.3) {
        session.reset(Scope::Step(at.clone()), &[], "ann").unwrap();
    }
    if random.random_bool(0.3) {
        session.skip(at.clone(), "no time | \u{1b}[8m <b>").unwrap();
    }
    if random.random_bool(0.3) {
        session
            .start_run("950000-v1", None, "v1", vec!["run".into()])
            .unwrap();
        session
            .finish_run("950000-v1", RunExit::Signal(9), [].into())
            .unwrap();
    }
    if random.random_bool(0.2) {
        session
            .start_run("960000-v1", None, "v1", vec!["run".into()])
            .unwrap();
    }
    if random.random_bool(0.2) {
        session.compact().unwrap();
    }
    place
}

/// Changes every number with a fraction to its neighbour, as a less exact reader would.
fn read_less_exactly(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() && number.as_f64() != Some(0.0) => {
            *value = number.as_f64().unwrap().next_up().into();
        }
        Value::Array(list) => list.iter_mut().for_each(read_less_exactly),
        Value::Object(map) => map.values_mut().for_each(read_less_exactly),
        _ => {}
    }
}

#[test]
fn honest_sessions_are_intact_in_every_form() {
    let folder = memory();
    let sessions = count("TRUST_SESSIONS", SESSIONS);
    for seed in 0..sessions {
        let place = honest(folder.path(), seed);
        let intact = |what: &str, found: HandInFindings| {
            assert_eq!(found.problems, [""; 0], "seed {seed}, {what}");
            assert_eq!(found.intact(), Some(true), "seed {seed}, {what}");
        };
        intact("folder", verify(&place.folder, None, course()).unwrap());
        let mut plain = document(&place, false);
        intact("plain", check(&plain, None).unwrap());
        intact("against", check(&plain, Some(&place.folder)).unwrap());
        read_less_exactly(&mut plain);
        intact("neighbours", check(&plain, None).unwrap());
        let anonymous = document(&place, true);
        let found = check(&anonymous, None).unwrap();
        assert!(
            found.is_unchecked() && found.verdict().contains("Nothing"),
            "{found:?}"
        );
        intact("anonymous", check(&anonymous, Some(&place.folder)).unwrap());
        if seed % 10 == 0 {
            let export = folder.path().join(format!("{seed}.tar.gz"));
            archive::export(&place, &export).unwrap();
            intact("export", verify(&export, None, course()).unwrap());
            intact("against export", check(&plain, Some(&export)).unwrap());
            fs::remove_file(export).unwrap();
            // After the report, the session continues and is compacted.
            let mut session = Session::open(place.clone()).unwrap();
            session
                .record(SessionEvent::Note {
                    text: "later".into(),
                })
                .unwrap();
            session.compact().unwrap();
            intact("later", check(&plain, Some(&place.folder)).unwrap());
            intact(
                "later, anonymous",
                check(&anonymous, Some(&place.folder)).unwrap(),
            );
        }
    }
    let found = sources::read(&[folder.path().to_path_buf()], course());
    assert_eq!(found.unreadable, [""; 0]);
    let class = merge(found.hand_ins, course(), vec![]);
    assert_eq!(class.learners.len() as u64, sessions);
    assert!(
        class.learners.iter().all(|row| row.intact == Some(true)),
        "{:?}",
        class.warnings
    );
}

#[test]
fn a_report_of_another_course_is_accepted_and_named() {
    let folder = memory();
    let place = walk(place(folder.path(), "ada"), course(), 2, 3);
    let plain = document(&place, false);
    let file = folder.path().join("session.json");
    fs::write(&file, plain.to_string()).unwrap();
    let mut other = course().clone();
    other.version = "another".into();
    let found = verify(&file, None, &other).unwrap();
    assert_eq!(found.problems, [""; 0]);
    assert!(
        found.unchecked.join("").contains("--lessons"),
        "{:?}",
        found.unchecked
    );
    let mut forged = plain;
    forged["lessons"][1]["steps"][0]["attempts"] = 99.into();
    fs::write(&file, forged.to_string()).unwrap();
    assert!(!verify(&file, None, &other).unwrap().is_intact());
}

/// Records one measurement, a suspect, and the fix.
fn investigate(session: &mut Session) {
    let at = StepRef::new("five-stages", "stage1");
    let suspect = "init".to_string();
    for (id, flags) in [
        ("710000-stage1", ["--diagnose", "--flops"]),
        ("710001-stage1", ["--fix", "init"]),
    ] {
        let events = MadeUp::new("stage1", 20.0).events(&mut ChaCha8Rng::seed_from_u64(5));
        let folder = session.location.runs().join(id);
        fs::create_dir_all(&folder).unwrap();
        let lines = events
            .iter()
            .map(|event| serde_json::to_string(event).unwrap() + "\n");
        fs::write(folder.join("events.jsonl"), lines.collect::<String>()).unwrap();
        let words = ["tinyllama-tutor", "run", "stage1"]
            .into_iter()
            .chain(flags);
        let command = words.map(str::to_string).collect();
        session
            .start_run(id, Some(at.clone()), "stage1", command)
            .unwrap();
        session.run_ended(id, RunExit::SUCCESS).unwrap();
        let (at, suspect) = (at.clone(), suspect.clone());
        session
            .record(SessionEvent::Suspected { at, suspect })
            .unwrap();
    }
}

/// Records a kernel that failed a check and was timed.
fn write_a_kernel(session: &mut Session) {
    let (exercise, sha256) = ("rmsnorm".to_string(), "ab".repeat(32));
    session
        .record(SessionEvent::KernelChecked {
            at: None,
            exercise: exercise.clone(),
            sha256: sha256.clone(),
            passed: false,
            findings: vec!["race".into()],
        })
        .unwrap();
    session
        .record(SessionEvent::KernelTimed {
            exercise,
            sha256,
            timed: KernelTime {
                device: "NVIDIA H100".into(),
                milliseconds: 0.25,
                gigabytes_per_s: 2000.0,
                gigaflops_per_s: 1000.0,
            },
        })
        .unwrap();
}

/// A session whose report has a value in every field.
fn full(class: &Path) -> SessionLocation {
    let place = walk(place(class, "ada"), course(), 2, 11);
    let mut session = Session::open(place.clone()).unwrap();
    for (number, target) in ["v1", "stage1", "stage2", "v2"].into_iter().enumerate() {
        let run = MadeUp {
            device: "NVIDIA H200".into(),
            noise: 0.5,
            with_gradient: 30,
            ..MadeUp::new(target, 20.0 - number as f64)
        };
        make_up(
            &mut session,
            &format!("70000{number}-{target}"),
            None,
            &run,
            number as u64,
        );
    }
    session.mark_recording("700003-v2", "elsewhere").unwrap();
    investigate(&mut session);
    write_a_kernel(&mut session);
    // A run with timed kernels.
    let run = |id: &str| place.runs().join(id).join("events.jsonl");
    let stream = fs::read_to_string(run("700000-v1")).unwrap();
    let kernels = json!({"t": 2.0, "event": "kernels", "steps": 1, "launches_per_step": 2.0, "device_ms_per_step": 1.5,
        "span_ms_per_step": 2.5, "kernels": [{"name": "gemm", "part": "attention", "launches_per_step": 2.0,
        "device_ms_per_step": 1.5, "fused_operations": 3.0, "flops_per_step": 1e9, "bytes_per_step": 1e6}]});
    fs::create_dir_all(run("800000-v1").parent().unwrap()).unwrap();
    fs::write(run("800000-v1"), format!("{stream}{kernels}\n")).unwrap();
    session
        .start_run("800000-v1", None, "v1", vec!["run".into()])
        .unwrap();
    session.run_ended("800000-v1", RunExit::SUCCESS).unwrap();
    session
        .record(SessionEvent::Note {
            text: "a note".into(),
        })
        .unwrap();
    let skipped = StepRef::new("welcome", "nowhere");
    session.skip(skipped, "later").unwrap();
    let profiles = place.runs().join("700001-stage1/profiles/one");
    fs::create_dir_all(&profiles).unwrap();
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rocprofv3/kernel_trace.csv");
    fs::copy(fixture, profiles.join("kernel_trace.csv")).unwrap();
    drop(session);
    place
}

/// A value of the document. It has two paths: in names, as findings use them, and as a JSON pointer.
struct Leaf {
    names: Vec<String>,
    pointer: String,
    /// The path with `*` for every entry of a list or map, which identifies a field of the schema.
    field: String,
}

fn leaves(value: &Value) -> Vec<Leaf> {
    fn walk(value: &Value, names: &[String], pointer: &str, field: &str, out: &mut Vec<Leaf>) {
        let mut below = |name: String, step: String, part: &str, value: &Value| {
            let names = [names, &[name]].concat();
            walk(
                value,
                &names,
                &format!("{pointer}/{step}"),
                &format!("{field}/{part}"),
                out,
            );
        };
        match value {
            Value::Object(map) if !map.is_empty() => {
                let is_map = ["/runs/*/figures", "/chain/streams"].contains(&field);
                for (name, value) in map {
                    let step = name.replace('~', "~0").replace('/', "~1");
                    below(name.clone(), step, if is_map { "*" } else { name }, value);
                }
            }
            Value::Array(list) if !list.is_empty() => {
                for (index, value) in list.iter().enumerate() {
                    let text = |key: &str| Some(value.get(key)?.as_str()?.to_string());
                    let pair = || Some(format!("{}/{}", text("lesson")?, text("step")?));
                    let name = text("id").or_else(pair).or_else(|| text("stage"));
                    below(
                        name.unwrap_or(index.to_string()),
                        index.to_string(),
                        "*",
                        value,
                    );
                }
            }
            _ => out.push(Leaf {
                names: names.to_vec(),
                pointer: pointer.into(),
                field: field.into(),
            }),
        }
    }
    let mut out = Vec::new();
    walk(value, &[], "", "", &mut out);
    out
}

/// Other values of the same type. For null it returns a value.
fn forged(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![json!("something"), json!(1), json!(true)],
        Value::Bool(value) => vec![json!(!value)],
        Value::Number(number) if number.is_u64() => vec![json!(number.as_u64().unwrap() + 1)],
        Value::Number(number) => vec![json!(number.as_f64().unwrap() * 1.0001 + 1e-6)],
        Value::String(text) => vec![json!(format!("{text}x")), Value::Null],
        Value::Array(_) => vec![json!(["something"]), json!([1])],
        Value::Object(_) => vec![json!({"something": 1})],
    }
}

#[test]
fn no_field_of_a_hand_in_can_be_changed_unnoticed() {
    let folder = memory();
    let place = full(folder.path());
    let schema = include_str!("../assets/report.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let most = count("TRUST_LEAVES_PER_FIELD", 1) as usize;
    for (anonymous, against) in [(false, false), (false, true), (true, true)] {
        let document = document(&place, anonymous);
        let session = against.then_some(place.folder.as_path());
        let untouched = check(&document, session).unwrap();
        assert_eq!(untouched.problems, [""; 0]);
        // The only fields that may change. The list is independent of the program's own list.
        let free = [
            "written",
            "program",
            "profiles",
            "runs/*/work/ceilings",
            "chain/streams",
            "chain/earlier",
        ];
        assert_eq!(untouched.not_compared, free);
        let leaves = leaves(&document);
        if !anonymous {
            every_field_has_a_value(&schema, &leaves);
        }
        let mut tried: std::collections::BTreeMap<&str, usize> = Default::default();
        for leaf in leaves.iter().rev() {
            let count = tried.entry(&leaf.field).or_default();
            *count += 1;
            if *count > most {
                continue;
            }
            for value in forged(document.pointer(&leaf.pointer).unwrap()) {
                let mut changed = document.clone();
                *changed.pointer_mut(&leaf.pointer).unwrap() = value.clone();
                // A document that is no longer a report is refused as such.
                let Ok(found) = check(&changed, session) else {
                    continue;
                };
                let named = found.leaves(&leaf.names) && !found.never_checked.is_empty();
                assert!(
                    !found.is_intact() || named,
                    "{} as {value}, anonymous: {anonymous}, against its session: {against}",
                    leaf.pointer
                );
            }
        }
        // Removes and adds entries.
        for list in [
            "/runs",
            "/lessons",
            "/predictions",
            "/lessons/1/steps",
            "/chain/lines",
            "/devices",
            "/stages",
        ] {
            let mut shorter = document.clone();
            let entries = shorter.pointer_mut(list).and_then(Value::as_array_mut);
            if let Some(entries) = entries {
                entries.remove(0);
                assert!(
                    !check(&shorter, session).is_ok_and(|found| found.is_intact()),
                    "{list}"
                );
            }
        }
        let mut more = document.clone();
        more["runs"][0]["added"] = true.into();
        assert!(!check(&more, session).unwrap().is_intact());
    }
}

/// Checks that every property of the schema has a value, so that new properties are changed above, too.
fn every_field_has_a_value(schema: &Value, leaves: &[Leaf]) {
    let seen: BTreeSet<&str> = leaves
        .iter()
        .flat_map(|leaf| leaf.field.split('/'))
        .collect();
    let defined = schema["$defs"].as_object().unwrap().values();
    for definition in defined.chain([schema]) {
        let Some(properties) = definition["properties"].as_object() else {
            continue;
        };
        let missing: Vec<&String> = properties
            .keys()
            .filter(|name| !seen.contains(name.as_str()))
            .collect();
        assert!(missing.is_empty(), "no report of this test has {missing:?}");
    }
}

/// Changes records and recomputes every checksum, as a forger would.
fn rewrite(document: &mut Value, change: impl Fn(usize, &mut Value)) {
    let mut previous = chain::START.to_string();
    let lines = document["chain"]["lines"].as_array_mut().unwrap();
    for (index, line) in lines.iter_mut().enumerate() {
        let whole: Value = serde_json::from_str(line.as_str().unwrap()).unwrap();
        let mut record = whole["record"].clone();
        change(index, &mut record);
        let (text, hash) = chain::encode(&previous, &record.to_string());
        *line = text.trim_end().into();
        previous = hash;
    }
    document["chain"]["last_hash"] = previous.into();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

fn write_lines(place: &SessionLocation, lines: &Value) {
    let lines = lines.as_array().unwrap().iter();
    let lines: String = lines
        .map(|line| format!("{}\n", line.as_str().unwrap()))
        .collect();
    fs::create_dir_all(&place.folder).unwrap();
    fs::write(place.events(), lines).unwrap();
}

/// A line without its newline, and its hash.
fn encoded(previous: &str, record: &Value) -> (String, String) {
    let (line, hash) = chain::encode(previous, &record.to_string());
    (line.trim_end().into(), hash)
}

/// The page of a class with one learner.
fn on_a_page(paths: &[std::path::PathBuf], course: &Course) -> (LearnerRow, String) {
    let found = sources::read(paths, course);
    let class = merge(found.hand_ins, course, found.unreadable);
    let page = page(&class);
    for text in &class.learners[0].unchecked {
        assert!(page.contains(&text[..20]), "{page}");
    }
    (class.learners[0].clone(), class.warnings.join("\n"))
}

#[test]
fn without_a_user_in_the_environment_the_password_database_has_the_name() {
    let state = memory();
    let output = Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
        .args(["session", "path", "--json"])
        .env("XDG_STATE_HOME", state.path())
        .env_remove("USER")
        .env_remove("LOGNAME")
        .env_remove("TINYLLAMA_CLASS")
        .output()
        .unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let id = Command::new("id").arg("-un").output().unwrap();
    assert_eq!(value["learner"], String::from_utf8_lossy(&id.stdout).trim());
}
