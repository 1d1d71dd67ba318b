//! One function for each kind of foreign file. It passes bytes to the reader as the program does, and shows the result.
//! A reader may report damage. It may not panic, hang, fill the memory, or let a control character through.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use tinyllama_analysis::{Baseline, Calibration};
use tinyllama_lesson::{Course, CourseSource, Style};
use tinyllama_profile::{GroupBy, KernelParts, ReportOptions, import, report};
use tinyllama_report::class::{merge, sources};
use tinyllama_report::{CollectOptions, collect, hand_in, html, markdown};
use tinyllama_runs::FinishedRun;
use tinyllama_runs::recording::{Library, RecordingSource};
use tinyllama_session::{Session, SessionLocation, archive, chain, inbox, lock, read_only};
use tinyllama_workbench::KernelFile;

/// A reader and the name of its target and its folder in `corpus`.
pub type Reader = (&'static str, fn(&[u8]));

pub const READERS: &[Reader] = &[
    ("profile_table", profile_table),
    ("profile_json", profile_json),
    ("profile_text", profile_text),
    ("profile_gzip", profile_gzip),
    ("profile_database", profile_database),
    ("event_stream", event_stream),
    ("session_log", session_log),
    ("hand_in", hand_in),
    ("archive", archive),
    ("lesson", lesson),
    ("recording", recording),
    ("order", order),
    ("kernel_file", kernel_file),
];

/// A folder of this process. Each reader writes its file into it anew.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a temporary folder"));

/// The small course of the tests.
static COURSE: LazyLock<Course> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let roots = ["../fixtures/course", "tests/fixtures/course"].map(|path| folder.join(path));
    let root = roots.into_iter().find(|root| root.exists());
    let source = CourseSource::Folder(root.expect("the course of the tests"));
    Course::load(&source).expect("a sound course")
});

fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = FOLDER.path().join(name);
    fs::write(&path, bytes).expect("the temporary folder takes files");
    path
}

fn check_shown(text: &str) {
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
}

fn profile(name: &str, bytes: &[u8]) {
    let found = import(&write(name, bytes)).expect("damage is part of the result");
    let options = ReportOptions {
        group: GroupBy::ShortName,
        rows: 5,
    };
    for table in report(&found.profile, &KernelParts::default(), options) {
        check_shown(&table.render(80));
    }
    for damage in &found.damage {
        check_shown(&damage.to_string());
    }
}

/// The name of a file says what its statistics are about.
pub fn profile_table(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    let names = [
        "1_kernel_stats.csv",
        "1_hip_api_stats.csv",
        "pmc_perf.csv",
        "out.csv",
    ];
    profile(names[usize::from(kind % 4)], rest);
}

pub fn profile_json(bytes: &[u8]) {
    profile("1_results.json", bytes);
}

pub fn profile_text(bytes: &[u8]) {
    profile("out.txt", bytes);
}

pub fn profile_gzip(bytes: &[u8]) {
    profile("1_kernel_trace.csv.gz", bytes);
}

pub fn profile_database(bytes: &[u8]) {
    profile("1_results.db", bytes);
}

pub fn event_stream(bytes: &[u8]) {
    let run = FinishedRun::read(&write("events.jsonl", bytes)).expect("each line may be a log's");
    run.figures();
}

/// Lines of records, without their hashes. What follows a zero byte is the stream of the run `1-v1`.
pub fn session_log(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let records = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let folder = TempDir::new().expect("a temporary folder");
    let place = SessionLocation::new(folder.path(), "ada");
    let run = place.runs().join("1-v1");
    fs::create_dir_all(&run).expect("a folder");
    fs::write(run.join("events.jsonl"), parts.next().unwrap_or_default()).expect("a stream");
    let mut hash = chain::START.to_owned();
    let mut log = String::new();
    for record in records.lines() {
        let (line, next) = chain::encode(&hash, record);
        log += &line;
        hash = next;
    }
    fs::write(place.events(), log).expect("a log");
    drop(read_only(&place));
    drop(hand_in::verify(&place.folder, None, None, &COURSE));
    if let Ok(report) = collect(&place, &COURSE, CollectOptions::default()) {
        check_shown(&markdown(&report));
        html::render(&report);
        let bytes = serde_json::to_vec(&report).expect("a report is JSON");
        let file = folder.path().join("session.json");
        fs::write(&file, bytes).expect("a report");
        drop(hand_in::verify(&file, None, None, &COURSE));
    }
    if let Ok(mut session) = Session::open(place) {
        session.finish().expect("the folder takes files");
    }
}

pub fn hand_in(bytes: &[u8]) {
    let file = write("session.json", bytes);
    if hand_in::verify(&file, None, None, &COURSE).is_ok() {
        let found = sources::read(&[file], &COURSE);
        merge(found.hand_ins, &COURSE, found.unreadable);
    }
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::none());
    packed.write_all(bytes).expect("memory takes bytes");
    packed.finish().expect("memory takes bytes")
}

/// An export before it is packed.
pub fn archive(bytes: &[u8]) {
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("ada.tar.gz");
    fs::write(&file, packed(bytes)).expect("an archive");
    let place = SessionLocation::new(folder.path().join("class"), "ada");
    drop(archive::import(&file, &place));
    for entry in fs::read_dir(folder.path()).expect("the folder stays") {
        let name = entry.expect("an entry").file_name();
        assert!(
            name == "class" || name == "ada.tar.gz",
            "{name:?} is outside"
        );
    }
}

/// A course with one lesson.
pub fn lesson(bytes: &[u8]) {
    let root = FOLDER.path().join("course");
    if !root.exists() {
        fs::create_dir_all(root.join("basics")).expect("a folder");
        let workshop = "format: 1\ntitle: a\nversion: \"1\"\nsummary: b\nsessions:\n  - id: basics\n    title: c\n    \
             minutes: 45\n    objectives: [d]\n    lessons: [first]\n";
        write("course/workshop.yaml", workshop.as_bytes());
    }
    write("course/basics/first.yaml", bytes);
    let style = Style {
        colour: false,
        unicode: true,
        width: 80,
    };
    if let Err(problems) = Course::load(&CourseSource::Folder(root)) {
        for problem in &problems.0 {
            check_shown(&problem.render(style));
        }
    }
}

/// The index of recordings; after a zero byte the stream of each of them.
pub fn recording(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let folder = FOLDER.path().join("recordings");
    fs::create_dir_all(&folder).expect("a folder");
    write("recordings/INDEX.yaml", parts.next().unwrap_or_default());
    write(
        "recordings/a.jsonl.gz",
        &packed(parts.next().unwrap_or_default()),
    );
    if let Ok(library) = Library::load(RecordingSource::Folder(folder)) {
        for recording in &library.recordings {
            recording.label();
            drop(library.tape(recording));
        }
    }
}

/// Orders of an instructor, and small files of a class or a machine.
pub fn order(bytes: &[u8]) {
    let folder = TempDir::new().expect("a temporary folder");
    let place = SessionLocation::new(folder.path(), "ada");
    let mut session = Session::open(place.clone()).expect("an empty session opens");
    fs::create_dir_all(place.inbox()).expect("a folder");
    let name = format!("{}.json", inbox::new_name());
    fs::write(place.inbox().join(name), bytes).expect("an order");
    for notice in session.poll_notices().expect("a bad order is set aside") {
        drop(notice.to_string());
    }
    drop(session);
    lock::holder(&write("lock", bytes));
    fs::create_dir_all(FOLDER.path().join("calibration")).expect("a folder");
    drop(Baseline::read(&write("calibration/b.json", bytes)));
    drop(Calibration::load_all(FOLDER.path()));
}

pub fn kernel_file(bytes: &[u8]) {
    if let Ok(Ok(file)) = KernelFile::read(&write("a.hip", bytes)) {
        let line = file.refused().and_then(|finding| finding.line);
        let line = line.unwrap_or(1);
        assert!(file.line(line).is_some() || line == 1, "line {line}");
    }
}
