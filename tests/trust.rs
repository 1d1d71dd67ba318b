//! Tests that honest work is never refused and forged work is never accepted. It uses generated sessions, hand-ins
//! with every field changed in turn, impossible records, and classes with misleading names.

mod class;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use class::{MadeUp, course, make_up, place, walk};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tempfile::TempDir;
use tinyllama_course::lesson::Course;
use tinyllama_course::report::class::document::LearnerRow;
use tinyllama_course::report::class::{html, merge, sources};
use tinyllama_course::report::hand_in::{HandInError, HandInFindings, verify};
use tinyllama_course::report::{CollectOptions, collect};
use tinyllama_course::session::{
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
    let report = collect(place, &course(), CollectOptions { anonymous }).unwrap();
    let text = serde_json::to_string_pretty(&report).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn check(document: &Value, against: Option<&Path>) -> Result<HandInFindings, HandInError> {
    let folder = memory();
    let file = folder.path().join("session.json");
    fs::write(&file, document.to_string()).unwrap();
    verify(&file, against, &course())
}

/// A generated session: steps of all kinds, resets, skipped steps, crashed and unfinished runs, a compacted log.
fn honest(class: &Path, seed: u64) -> SessionLocation {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let course = course();
    let name = format!("learner-{seed}");
    let place = walk(
        place(class, &name),
        &course,
        random.random_range(1..5),
        seed,
    );
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
        intact("folder", verify(&place.folder, None, &course()).unwrap());
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
            intact("export", verify(&export, None, &course()).unwrap());
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
    let found = sources::read(&[folder.path().to_path_buf()], &course());
    assert_eq!(found.unreadable, [""; 0]);
    let class = merge(found.hand_ins, &course(), vec![]);
    assert_eq!(class.learners.len() as u64, sessions);
    assert!(
        class.learners.iter().all(|row| row.intact == Some(true)),
        "{:?}",
        class.warnings
    );
}

#[test]
fn a_report_is_not_of_this_course_says_so_and_is_not_refused() {
    let folder = memory();
    let place = walk(place(folder.path(), "ada"), &course(), 2, 3);
    let plain = document(&place, false);
    let file = folder.path().join("session.json");
    fs::write(&file, plain.to_string()).unwrap();
    let mut other = course();
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
    let place = walk(place(class, "ada"), &course(), 2, 11);
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

#[test]
fn records_that_cannot_be_are_named_though_their_chain_is_whole() {
    let folder = memory();
    let place = walk(place(folder.path(), "ada"), &course(), 2, 5);
    let report = document(&place, false);
    let found = |change: &dyn Fn(usize, &mut Value)| {
        let mut forged = report.clone();
        rewrite(&mut forged, change);
        let found = check(&forged, None).unwrap();
        (found.problems.join("\n"), found.unusual.join("\n"))
    };
    let (problems, _) = found(&|_, _| {});
    assert_eq!(problems, "");
    let (problems, _) = found(&|_, record| record["n"] = 5.into());
    assert!(problems.contains("it follows record 5"), "{problems}");
    let (problems, _) = found(&|_, record| {
        if let Some(correct) = record.pointer_mut("/event/answered/correct") {
            *correct = (!correct.as_bool().unwrap()).into();
        }
    });
    assert!(problems.contains("is not wrong"), "{problems}");
    let (problems, _) = found(&|_, record| {
        let entered = record.pointer("/event/run_finished").is_some();
        if entered {
            record["event"]["run_finished"]["run"] = "other".into();
        }
    });
    assert!(problems.contains("never started"), "{problems}");
    let (problems, _) = found(&|_, record| {
        if let Some(seconds) = record.pointer_mut("/event/time_spent/seconds") {
            *seconds = (-1.0).into();
        }
    });
    assert!(problems.contains("cannot be spent"), "{problems}");
    let (_, unusual) = found(&|index, record| {
        record["time"] = if index < 9 {
            "1999-01-01T00:00:00Z"
        } else {
            "2091-01-01T00:00:00Z"
        }
        .into();
    });
    assert!(
        unusual.contains("1999") && unusual.contains("days") && unusual.contains("future"),
        "{unusual}"
    );
    let (_, unusual) = found(&|index, record| {
        record["time"] = if index < 9 {
            "2026-02-01T00:00:00Z"
        } else {
            "2026-01-01T00:00:00Z"
        }
        .into();
    });
    assert!(unusual.contains("went back"), "{unusual}");

    // Replaces minutes by a second start of a run, a second seal, and a hint that does not exist.
    let id = report["runs"][0]["id"].as_str().unwrap();
    let lesson = course().lessons().next().unwrap().clone();
    let at = json!({"lesson": lesson.id, "step": lesson.steps[0].id});
    for (event, said) in [
        (
            json!({"run_started": {"run": id, "at": null, "target": "v1", "command": [], "host": ""}}),
            "is started a second time",
        ),
        (
            json!({"sealed": {"run": id, "sha256": "ab"}}),
            "is sealed a second time",
        ),
        (
            json!({"hint_shown": {"at": at, "hint": 99}}),
            "has no hint 99",
        ),
    ] {
        let (problems, _) = found(&|_, record| {
            if record.pointer("/event/time_spent").is_some() {
                record["event"] = event.clone();
            }
        });
        assert!(problems.contains(said), "{problems}");
    }
    let (problems, _) = found(&|_, record| {
        let renamed = record.to_string().replace(id, "../x");
        *record = serde_json::from_str(&renamed).unwrap();
    });
    assert!(problems.contains("cannot be the name"), "{problems}");

    // Steps recorded as done without any work.
    let liar = class::place(folder.path(), "liar");
    let mut session = Session::open(liar.clone()).unwrap();
    session
        .record_opening(&course().title, &course().version)
        .unwrap();
    for lesson in course().lessons() {
        for step in &lesson.steps {
            let at = StepRef::new(&lesson.id, &step.id);
            session.record(SessionEvent::StepDone { at }).unwrap();
        }
    }
    drop(session);
    let found = verify(&liar.folder, None, &course()).unwrap();
    assert!(
        found
            .problems
            .join("")
            .contains("no record shows that it was"),
        "{found:?}"
    );

    // Figures that the sealed file of their run does not contain.
    let mut forged = report.clone();
    rewrite(&mut forged, |_, record| {
        if let Some(value) = record.pointer_mut("/event/run_finished/values/total_ms") {
            *value = 1.0.into();
        }
    });
    fs::write(
        place.events(),
        forged["chain"]["lines"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| format!("{}\n", line.as_str().unwrap()))
            .collect::<String>(),
    )
    .unwrap();
    let found = verify(&place.folder, None, &course()).unwrap();
    assert!(found.problems.join("").contains("total_ms"), "{found:?}");
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

#[test]
fn a_class_goes_by_folders_and_chains_not_by_recorded_names() {
    let folder = memory();
    let in_class = folder.path().join("class");
    let alice = walk(place(&in_class, "alice"), &course(), 1, 1);
    // A longer log that claims to be alice's.
    let mallory = walk(place(&in_class, "mallory"), &course(), 2, 2);
    let events = fs::read_to_string(mallory.events()).unwrap();
    let mut forged = json!({"chain": {"lines": events.lines().collect::<Vec<_>>()}});
    rewrite(&mut forged, |index, record| {
        if index == 0 {
            record["event"]["created"]["learner"] = "alice".into();
        }
    });
    let lines = forged["chain"]["lines"].as_array().unwrap();
    let lines: String = lines
        .iter()
        .map(|line| format!("{}\n", line.as_str().unwrap()))
        .collect();
    fs::write(mallory.events(), lines).unwrap();
    copy(&alice.folder, &in_class.join("thief"));
    fs::write(in_class.join(".class.json"), "{}").unwrap();
    let merged = |paths: &[&Path]| {
        let paths: Vec<_> = paths.iter().map(|path| path.to_path_buf()).collect();
        let found = sources::read(&paths, &course());
        let class = merge(found.hand_ins, &course(), found.unreadable);
        let names: Vec<String> = class.learners.iter().map(|row| row.name.clone()).collect();
        (names, class.warnings.join("\n"))
    };
    let (names, warnings) = merged(&[&in_class]);
    assert_eq!(names, ["alice", "mallory", "thief"]);
    for expected in [
        "mallory: the records in this folder say that they are alice's",
        "one is a copy",
    ] {
        assert!(warnings.contains(expected), "{warnings}");
    }
    assert!(!warnings.contains(".class.json"), "{warnings}");

    // Copies under other names, with recomputed checksums.
    let renamed = |name: &str, from: &SessionLocation| {
        let events = fs::read_to_string(from.events()).unwrap();
        let mut forged = json!({"chain": {"lines": events.lines().collect::<Vec<_>>()}});
        rewrite(&mut forged, |index, record| {
            if index == 0 {
                record["event"]["created"]["learner"] = name.into();
            }
        });
        let place = place(&folder.path().join("renamed"), name);
        copy(&from.folder, &place.folder);
        write_lines(&place, &forged["chain"]["lines"]);
        place
    };
    let zoe = walk(
        place(&folder.path().join("renamed"), "zoe"),
        &course(),
        2,
        6,
    );
    let copies = [renamed("bob", &alice), renamed("carol", &alice)];
    let files: Vec<_> = copies
        .iter()
        .chain([&alice, &zoe])
        .map(|place| {
            let file = folder.path().join(format!("of-{}.json", place.learner));
            fs::write(&file, document(place, false).to_string()).unwrap();
            file
        })
        .collect();
    let files: Vec<&Path> = files.iter().map(std::path::PathBuf::as_path).collect();
    for paths in [&files[..], &[&folder.path().join("renamed"), &alice.folder]] {
        let (names, warnings) = merged(paths);
        assert_eq!(names, ["alice", "bob", "carol", "zoe"]);
        assert!(
            warnings.contains("alice, bob, carol are not the work of different people")
                && warnings.contains("1 session"),
            "{warnings}"
        );
    }

    // Two people without a separate name, and one of them twice.
    let hand_in = |name: &str, place: &SessionLocation, anonymous: bool| {
        let file = folder.path().join(name);
        fs::write(&file, document(place, anonymous).to_string()).unwrap();
        file
    };
    let one = walk(place(&folder.path().join("a"), "learner"), &course(), 1, 3);
    let two = walk(place(&folder.path().join("b"), "learner"), &course(), 2, 4);
    let first = hand_in("first.json", &one, false);
    let again = hand_in("again.json", &one, true);
    let second = hand_in("second.json", &two, false);
    let (names, warnings) = merged(&[&first, &again, &second]);
    assert_eq!(names, ["learner", "learner (2)"], "{warnings}");
    assert!(
        warnings.contains("more than once") && warnings.contains("Different sessions"),
        "{warnings}"
    );

    // Forged figures do not reach the page, because it computes them from the records.
    let mut forged = document(&one, false);
    forged["totals"]["minutes"] = 9999.0.into();
    fs::write(&first, forged.to_string()).unwrap();
    let found = sources::read(&[first], &course());
    let class = merge(found.hand_ins, &course(), vec![]);
    assert!(class.learners[0].minutes < 9000.0 && class.learners[0].intact == Some(false));
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
    let page = html::render(&class);
    for text in &class.learners[0].unchecked {
        assert!(page.contains(&text[..20]), "{page}");
    }
    (class.learners[0].clone(), class.warnings.join("\n"))
}

#[test]
fn a_compaction_makes_nothing_that_was_not_seen() {
    let folder = memory();
    // A single record that claims to have completed everything.
    let liar = class::place(folder.path(), "liar");
    let done: serde_json::Map<String, Value> = course()
        .lessons()
        .map(|lesson| {
            let steps = lesson.steps.iter();
            let done = json!({"status": "done", "seconds": 60.0, "attempts": 1, "hints": [], "prediction": null,
                "answers": [], "reflection": null, "checks": {}, "runs": []});
            let steps = steps.map(|step| (step.id.clone(), done.clone()));
            (lesson.id.clone(), Value::Object(steps.collect()))
        })
        .collect();
    let state = json!({"learner": "liar", "course": [course().title, course().version], "position": null,
        "lessons": done, "unlocked": {}, "runs": {}, "backups": {}, "messages": [], "notes": [],
        "unknown_events": 0, "records": 900, "last_time": "2026-01-01T00:00:00Z"});
    let record = json!({"n": 901, "time": "2026-01-01T00:00:00Z", "event": {"compacted": {"format": 1,
        "version": "0.1.0", "previous_hash": "ab", "previous_records": 900, "state": state}}});
    write_lines(&liar, &json!([encoded(chain::START, &record).0]));
    let file = folder.path().join("liar.json");
    let hand_in = document(&liar, false);
    assert!(hand_in["totals"]["steps_finished"].as_u64().unwrap() > 100);
    fs::write(&file, hand_in.to_string()).unwrap();
    for path in [&liar.folder, &file] {
        let found = verify(path, None, &course()).unwrap();
        assert_eq!((found.intact(), found.unseen_records), (None, 900));
        assert!(found.verdict().contains("was not checked"));
        let (row, warnings) = on_a_page(std::slice::from_ref(path), &course());
        assert_eq!(row.intact, None);
        assert!(
            row.unchecked.join("").contains("up to record 900"),
            "{row:?}"
        );
        assert!(warnings.contains("liar: not checked: "), "{warnings}");
    }

    // A compaction of no records is not accepted either, nor one within an order.
    let mut of_nothing = record.clone();
    of_nothing["event"]["compacted"]["previous_records"] = 0.into();
    write_lines(&liar, &json!([encoded(chain::START, &of_nothing).0]));
    let found = verify(&liar.folder, None, &course()).unwrap();
    assert_ne!(found.intact(), Some(true));
    of_nothing["n"] = 1.into();
    write_lines(&liar, &json!([encoded(chain::START, &of_nothing).0]));
    let found = verify(&liar.folder, None, &course()).unwrap();
    assert_eq!(found.intact(), None, "{found:?}");
    let eve = place(folder.path(), "eve");
    drop(Session::open(eve.clone()).unwrap());
    let log = fs::read_to_string(eve.events()).unwrap();
    let last = scan(&eve.events()).unwrap().last_hash;
    let order = json!({"n": 2, "time": "2026-01-01T00:00:00Z",
        "event": {"ordered": {"order": "x", "events": [record["event"].clone()]}}});
    write_lines(&eve, &json!([log.trim_end(), encoded(&last, &order).0]));
    let found = verify(&eve.folder, None, &course()).unwrap();
    assert!(
        found.problems.join("").contains("what an order cannot do"),
        "{found:?}"
    );

    // A compaction that claims more than the records it replaced.
    let ada = walk(place(folder.path(), "ada"), &course(), 2, 5);
    Session::open(ada.clone()).unwrap().compact().unwrap();
    let report = document(&ada, false);
    assert_eq!(check(&report, None).unwrap().intact(), Some(true));
    let mut forged = report.clone();
    rewrite(&mut forged, |_, record| {
        if let Some(state) = record.pointer_mut("/event/compacted/state") {
            let welcome = done["welcome"].as_object().unwrap();
            state["lessons"]["welcome"]["made-up"] = welcome.values().next().unwrap().clone();
            state["notes"] = json!(["made up"]);
        }
    });
    let problems = check(&forged, None).unwrap().problems.join("\n");
    assert!(problems.contains("is not what they give"), "{problems}");
    write_lines(&ada, &forged["chain"]["lines"]);
    let problems = verify(&ada.folder, None, &course()).unwrap().problems;
    assert!(
        problems.join("\n").contains("is not what they give"),
        "{problems:?}"
    );
    // Other records in place of the compacted ones.
    let mut forged = report.clone();
    let earlier = forged["chain"]["earlier"][0].as_array_mut().unwrap();
    earlier.pop();
    let found = check(&forged, None).unwrap();
    let problems = found.problems.join("\n");
    assert!(
        problems.contains("not the one that was compacted"),
        "{problems}"
    );
}

#[test]
fn a_run_that_ended_well_has_a_stream_and_a_seal() {
    let folder = memory();
    let place = walk(place(folder.path(), "ada"), &course(), 3, 5);
    let report = document(&place, false);
    assert!(!report["runs"].as_array().unwrap().is_empty());
    let problems = |document: &Value| check(document, None).unwrap().problems.join("\n");
    let mut without = report.clone();
    without["chain"]["streams"] = json!({});
    assert!(problems(&without).contains("its event stream is not there"));
    without["chain"]["streams"] = Value::Null;
    assert!(problems(&without).contains("its event stream is not there"));
    let unseal = |_, record: &mut Value| {
        if record.pointer("/event/sealed").is_some() {
            record["event"] = json!({"note": {"text": "no seal"}});
        }
    };
    let mut unsealed = report.clone();
    rewrite(&mut unsealed, unseal);
    assert!(problems(&unsealed).contains("without the checksum"));
    write_lines(&place, &unsealed["chain"]["lines"]);
    let in_folder = || {
        verify(&place.folder, None, &course())
            .unwrap()
            .problems
            .join("\n")
    };
    assert!(
        in_folder().contains("without the checksum"),
        "{}",
        in_folder()
    );
    write_lines(&place, &report["chain"]["lines"]);
    assert_eq!(in_folder(), "");
    fs::remove_dir_all(place.runs()).unwrap();
    assert!(in_folder().contains("its event stream is not there"));
}

#[test]
fn a_seal_that_a_power_cut_took_is_made_good() {
    let folder = memory();
    let place = place(folder.path(), "ada");
    let mut session = Session::open(place.clone()).unwrap();
    make_up(&mut session, "1-v1", None, &MadeUp::new("v1", 20.0), 1);
    drop(session);
    let log = fs::read_to_string(place.events()).unwrap();
    let without_seal = log.trim_end().rsplit_once('\n').unwrap().0;
    fs::write(place.events(), format!("{without_seal}\n{{\"hash")).unwrap();
    drop(Session::open(place.clone()).unwrap());
    let found = verify(&place.folder, None, &course()).unwrap();
    assert_eq!(found.problems, [""; 0]);
}

#[test]
fn what_was_not_checked_stands_beside_the_learner() {
    let folder = memory();
    let ada = place(folder.path(), "ada");
    let mut session = Session::open(ada.clone()).unwrap();
    session.record_opening(&course().title, "0.9").unwrap();
    for (lesson, step) in course().steps() {
        let at = StepRef::new(&lesson.id, &step.id);
        session.record(SessionEvent::StepDone { at }).unwrap();
    }
    drop(session);
    let file = folder.path().join("session.json");
    fs::write(&file, document(&ada, false).to_string()).unwrap();
    for path in [file, ada.folder.clone()] {
        let (row, warnings) = on_a_page(&[path], &course());
        assert!(row.unchecked.join("").contains("--lessons"), "{row:?}");
        assert!(warnings.contains("ada: not checked: "), "{warnings}");
    }
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
