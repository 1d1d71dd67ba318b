//! Tests every reader with thousands of damaged files. A reader reports the damage or uses the rest; it never panics,
//! hangs or fills the memory. The seeds are the fixtures and files that the program writes.
//!
//! `MUTANTS` sets the number of files of each kind, and `MUTANTS_SEED` the random numbers. `.ci/mutants` runs many
//! more.

mod class;
#[path = "mutants/documents.rs"]
mod documents;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use class::{course, place, walk};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;
use tinyllama_analysis::{Baseline, Calibration};
use tinyllama_lesson::{Course, CourseSource, Style};
use tinyllama_profile::{GroupBy, KernelParts, ReportOptions, import, report};
use tinyllama_report::class::{merge, sources};
use tinyllama_report::{CollectOptions, collect, hand_in, html, markdown};
use tinyllama_runs::FinishedRun;
use tinyllama_runs::recording::{self, Library};
use tinyllama_session::{Session, SessionError, SessionLocation, archive, lock, read_only};

/// Number of mutants of each kind.
const MUTANTS: usize = 60;
/// A reader that takes this long counts as hanging.
const HANGS: Duration = Duration::from_secs(120);

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

/// Replacements for numbers, names and brackets.
const WORDS: [&str; 24] = [
    "-1",
    "0",
    "1e999",
    "-1e999",
    "NaN",
    "null",
    "18446744073709551616",
    "9223372036854775807",
    "0.1e-400",
    "\"\"",
    "{}",
    "[]",
    "[[[[[[[[",
    "{\"a\":",
    "\u{1b}]52;c;x\u{7}",
    "\u{202e}",
    "\0",
    "\r\n",
    "\u{feff}",
    ",,,,",
    "\"",
    "../../x",
    "%s%n",
    "*a",
];

/// Returns the bytes with one to four changes.
fn mutate(seed: &[u8], random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..random.random_range(1..=4) {
        let length = bytes.len();
        let at = random.random_range(0..=length);
        let end = (at + random.random_range(0..=64)).min(length);
        match random.random_range(0..7) {
            0 if at < length => bytes[at] ^= 1 << random.random_range(0..8),
            1 if at < length => bytes[at] = random.random(),
            2 => drop(bytes.drain(at..end)),
            3 => bytes.truncate(at),
            4 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again.repeat(random.random_range(1..200)));
            }
            5 => drop(bytes.splice(at..end, WORDS.choose(random).unwrap().bytes())),
            // Replaces the next number after this position, if there is one.
            _ => {
                let digit = |byte: &u8| byte.is_ascii_digit();
                if let Some(start) = bytes[at..].iter().position(digit).map(|found| at + found) {
                    let count = bytes[start..].iter().take_while(|byte| digit(byte)).count();
                    let word = WORDS.choose(random).unwrap();
                    bytes.splice(start..start + count, word.bytes());
                }
            }
        }
    }
    bytes
}

/// Passes mutants of the seeds to a reader.
fn try_all(what: &str, seeds: &[Vec<u8>], read: impl Fn(&[u8]) + Send + Sync + 'static) {
    let count = setting("MUTANTS", MUTANTS as u64);
    let first = setting("MUTANTS_SEED", 1);
    let (sender, watched) = mpsc::channel();
    let (what, seeds) = (what.to_string(), seeds.to_vec());
    let name = what.clone();
    let work = thread::spawn(move || {
        for number in 0..count {
            let mut random = ChaCha8Rng::seed_from_u64(first + number);
            let seed = &seeds[number as usize % seeds.len()];
            let mutant = mutate(seed, &mut random);
            if catch_unwind(AssertUnwindSafe(|| read(&mutant))).is_err() {
                let text = String::from_utf8_lossy(&mutant);
                let start: String = text.chars().take(2000).collect();
                panic!("{what}, mutant {number} with MUTANTS_SEED={first}:\n{start}");
            }
            let _ = sender.send(number);
        }
    });
    let mut last = None;
    loop {
        match watched.recv_timeout(HANGS) {
            Ok(number) => last = Some(number),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("{name} hangs behind mutant {last:?}"),
        }
    }
    work.join().unwrap();
}

fn fixtures(folder: &str) -> Vec<PathBuf> {
    fn below(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.path().is_dir() {
                true => below(&entry.path(), files),
                false => files.push(entry.path()),
            }
        }
    }
    let mut files = Vec::new();
    below(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures")
            .join(folder),
        &mut files,
    );
    files.sort();
    files
}

fn contents(files: &[PathBuf]) -> Vec<Vec<u8>> {
    let contents: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    assert!(!contents.is_empty());
    contents
}

#[test]
fn profiles() {
    // The other folders have no files of profilers.
    let others = [
        "commands",
        "course",
        "documents",
        "kfd",
        "recordings",
        "runs",
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let folders = fs::read_dir(root).unwrap().flatten();
    let folders = folders.filter(|entry| entry.path().is_dir());
    let folders: BTreeSet<_> = folders.map(|entry| entry.file_name()).collect();
    assert!(
        others
            .iter()
            .all(|other| folders.contains(OsStr::new(other)))
    );
    for kind in folders
        .iter()
        .filter(|kind| !others.iter().any(|it| it == kind))
    {
        let files = fixtures(kind.to_str().unwrap());
        let names: Vec<String> = files
            .iter()
            .map(|file| file.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        for name in names.iter().map(String::as_str).collect::<BTreeSet<_>>() {
            let of_name: Vec<PathBuf> = files
                .iter()
                .filter(|file| file.ends_with(name))
                .cloned()
                .collect();
            let name = name.to_string();
            try_all(&name.clone(), &contents(&of_name[..1]), move |bytes| {
                let folder = TempDir::new().unwrap();
                let file = folder.path().join(&name);
                fs::write(&file, bytes).unwrap();
                let found = import(&file).unwrap();
                let options = ReportOptions {
                    group: GroupBy::ShortName,
                    rows: 5,
                };
                for table in report(&found.profile, &KernelParts::default(), options) {
                    let text = table.render(80);
                    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
                }
                for damage in &found.damage {
                    assert!(
                        !damage.to_string().contains(['\u{1b}', '\n', '\u{202e}']),
                        "{damage}"
                    );
                }
            });
        }
    }
}

#[test]
fn event_streams() {
    try_all("stream", &contents(&fixtures("runs")), |bytes| {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        FinishedRun::read(file.path()).unwrap().figures();
    });
}

/// A session with its files, as seeds.
fn seed() -> (TempDir, SessionLocation) {
    let folder = TempDir::new().unwrap();
    let place = walk(place(folder.path(), "ada"), course(), 2, 7);
    (folder, place)
}

#[test]
fn session_logs() {
    let (_folder, place) = seed();
    try_all("log", &contents(&[place.events()]), |bytes| {
        let folder = TempDir::new().unwrap();
        let place = class::place(folder.path(), "ada");
        fs::create_dir_all(&place.folder).unwrap();
        fs::write(place.events(), bytes).unwrap();
        drop(read_only(&place));
        drop(hand_in::verify(&place.folder, None, None, course()));
        if let Ok(report) = collect(&place, course(), CollectOptions::default()) {
            markdown(&report);
            html::render(&report);
        }
        if let Ok(mut session) = Session::open(place.clone()) {
            session.finish().unwrap();
        }
        assert!(fs::metadata(place.events()).unwrap().len() > 0 || bytes.is_empty());
    });
}

#[test]
fn reports() {
    let (_folder, place) = seed();
    let report = collect(&place, course(), CollectOptions::default()).unwrap();
    let seeds = [serde_json::to_vec(&report).unwrap()];
    try_all("report", &seeds, |bytes| {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("session.json"), bytes).unwrap();
        let found = sources::read(&[folder.path().to_path_buf()], course());
        merge(found.hand_ins, course(), found.unreadable);
    });
}

#[test]
fn archives() {
    let (folder, place) = seed();
    let file = folder.path().join("ada.tar.gz");
    archive::export(&place, &file).unwrap();
    let packed = fs::read(&file).unwrap();
    let mut unpacked = Vec::new();
    GzDecoder::new(&packed[..])
        .read_to_end(&mut unpacked)
        .unwrap();
    let unpack = |bytes: &[u8]| {
        // The folder around the class is the test's own: other programs may have an `x` in the folder for temporaries.
        let around = TempDir::new().unwrap();
        let class = around.path().join("a/b");
        fs::create_dir_all(&class).unwrap();
        let file = class.join("x.tar.gz");
        fs::write(&file, bytes).unwrap();
        drop(archive::import(&file, &class::place(&class, "ada")));
        let mut outside = class.ancestors().take(3);
        assert!(outside.all(|folder| !folder.join("x").exists()));
    };
    try_all("archive", &[packed], unpack);
    try_all("archive's content", &[unpacked], move |bytes| {
        unpack(&gz(bytes))
    });
    // The mutations above rarely keep archive headers valid if lengths change. Here the headers are valid, but the
    // content is not.
    let archive_of = |path: &[u8], content: &[u8]| {
        let mut header = tar::Header::new_gnu();
        let name = &mut header.as_old_mut().name;
        let length = path.len().min(name.len());
        name[..length].copy_from_slice(&path[..length]);
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        header.set_cksum();
        let mut builder = tar::Builder::new(Vec::new());
        builder.append(&header, content).unwrap();
        gz(&builder.into_inner().unwrap())
    };
    let events = contents(&[place.events()]);
    try_all("archive's events", &events, move |bytes| {
        unpack(&archive_of(b"events.jsonl", bytes))
    });
    let paths = [&b"runs/1-x/events.jsonl"[..], b"backups/1/x", b"lock"].map(<[u8]>::to_vec);
    try_all("archive's paths", &paths, move |bytes| {
        unpack(&archive_of(bytes, b"x"))
    });
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn courses() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/course");
    for file in fixtures("course") {
        let path = file.strip_prefix(&root).unwrap().to_path_buf();
        let root = root.clone();
        try_all(
            &path.display().to_string(),
            &contents(&[file]),
            move |bytes| {
                lint(&root, &path, bytes);
            },
        );
    }
}

/// Exchanges a word or number, or swaps two lines. Most results are still valid YAML.
fn changed_words(text: &str, random: &mut ChaCha8Rng) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = random.random_range(0..lines.len());
    let mut words: Vec<&str> = lines[at].split(' ').collect();
    let other = text.split_whitespace().collect::<Vec<_>>();
    let place = random.random_range(0..words.len());
    words[place] = match random.random_bool(0.3) {
        true => WORDS.choose(random).unwrap(),
        false => other.choose(random).unwrap(),
    };
    lines[at] = words.join(" ");
    lines.join("\n") + "\n"
}

/// Reads a course with one file replaced, and returns its problems as text.
fn lint(root: &Path, path: &Path, bytes: &[u8]) -> String {
    let folder = TempDir::new().unwrap();
    for file in fixtures("course") {
        let target = folder.path().join(file.strip_prefix(root).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&file, target).unwrap();
    }
    fs::write(folder.path().join(path), bytes).unwrap();
    let style = Style {
        colour: false,
        unicode: true,
        width: 80,
    };
    match Course::load(&CourseSource::Folder(folder.path().to_path_buf())) {
        Ok(_) => String::new(),
        Err(problems) => problems
            .0
            .iter()
            .map(|problem| problem.render(style))
            .collect(),
    }
}

/// Inputs with which readers once panicked, hung or ran out of memory.
mod once {
    use super::*;

    const LESSON: &str = "basics";

    fn first_lesson() -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/course");
        let files = fixtures("course");
        let lesson = files
            .iter()
            .find(|file| file.to_string_lossy().contains(LESSON))
            .unwrap();
        lesson.strip_prefix(&root).unwrap().to_path_buf()
    }

    fn lint_first(text: &str) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/course");
        lint(&root, &first_lesson(), text.as_bytes())
    }

    #[test]
    fn long_lines_hidden_text_and_exploding_yaml_in_a_lesson() {
        let long = format!("id: x\nnonsense: {}\n", "x".repeat(70_000));
        assert!(lint_first(&long).contains("nonsense"));
        let hidden = lint_first("id: x\n\"\\e[8mnonsense\": 1 # \u{1b}[8m\n");
        assert!(!hidden.is_empty() && !hidden.contains('\u{1b}'), "{hidden}");
        for text in [
            "{a: ".repeat(100_000),
            "[".repeat(100_000),
            format!(
                "a: &a {}\nb: [{}]",
                "x".repeat(100_000),
                "*a, ".repeat(200_000)
            ),
        ] {
            assert!(!lint_first(&text).is_empty());
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/course");
        let sound = fs::read_to_string(root.join(first_lesson())).unwrap();
        assert_eq!(
            lint_first(&format!("\u{feff}{sound}")),
            "",
            "a mark of a Windows editor"
        );
    }

    #[test]
    fn pipes_and_devices_in_the_place_of_files() {
        let (folder, place) = seed();
        let pipe = |path: &Path| {
            let _ = fs::remove_file(path);
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.unwrap().success());
        };
        pipe(&place.lock());
        assert_eq!(lock::holder(&place.lock()), None);
        pipe(&place.events());
        assert!(read_only(&place).is_err());
        let found = sources::read(&[folder.path().to_path_buf()], course());
        assert_eq!((found.hand_ins.len(), found.unreadable.len()), (0, 1));
        let profiles = TempDir::new().unwrap();
        pipe(&profiles.path().join("kernel_trace.csv"));
        std::os::unix::fs::symlink("/dev/zero", profiles.path().join("zero.json")).unwrap();
        assert_eq!(import(profiles.path()).unwrap().damage.len(), 1);
        assert_eq!(
            import(&profiles.path().join("zero.json"))
                .unwrap()
                .damage
                .len(),
            1
        );
        let stream = profiles.path().join("events.jsonl");
        pipe(&stream);
        assert!(FinishedRun::read(&stream).is_err());
    }

    #[test]
    fn views_that_compute_without_end() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.db");
        let database = rusqlite::Connection::open(&path).unwrap();
        let endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)";
        database
            .execute_batch(&format!(
                "CREATE TABLE compute_metadata (a);
                 CREATE VIEW compute_kernel_view AS {endless} SELECT max(n) AS kernel_name, n AS dispatch_count FROM c;
                 CREATE VIEW compute_metric_view AS SELECT hex(zeroblob(900000000)) AS metric_name;"
            ))
            .unwrap();
        drop(database);
        let damage = import(&path).unwrap().damage;
        assert!(damage[0].to_string().contains("compute more"), "{damage:?}");
    }

    /// SQL views with few steps in SQLite's virtual machine, each of which takes long or fills memory or disk.
    #[test]
    fn views_whose_steps_are_few_and_large() {
        let count =
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 100000000)";
        let views = [
            (
                "time",
                "SELECT sum(length(hex(zeroblob(500000 + n % 1000)))) AS kernel_name FROM c",
            ),
            (
                "sorted rows",
                "SELECT n AS kernel_name FROM c ORDER BY randomblob(900000)",
            ),
            (
                "names",
                "SELECT hex(zeroblob(400000)) || n AS kernel_name, 1 AS dispatch_count, 1.5 AS duration_ns_sum FROM c",
            ),
            (
                "rows",
                "SELECT 'a' AS kernel_name, 1 AS dispatch_count, 1.5 AS duration_ns_sum FROM c",
            ),
            (
                "patterns",
                "SELECT glob('*a*a*a*a*a*a*a*a*a*a*a*b', replace(hex(zeroblob(400000)), '0', 'a')) AS kernel_name",
            ),
        ];
        for (what, view) in views {
            let folder = TempDir::new().unwrap();
            let path = folder.path().join("x.db");
            let database = rusqlite::Connection::open(&path).unwrap();
            let tables = format!(
                "CREATE TABLE compute_metadata (a);
                 CREATE VIEW compute_kernel_view AS {count} {view};"
            );
            database.execute_batch(&tables).unwrap();
            drop(database);
            let (sender, answer) = mpsc::channel();
            thread::spawn(move || sender.send(import(&path).unwrap().damage));
            let damage = answer.recv_timeout(HANGS / 4);
            let damage = damage.unwrap_or_else(|_| panic!("{what}: no answer"));
            assert!(!damage.is_empty(), "{what}");
            drop(folder);
        }
        // SAFETY: the call only returns a number.
        let most = unsafe { rusqlite::ffi::sqlite3_memory_highwater(0) };
        assert!(most < 600 << 20, "SQLite held {} MiB", most >> 20);
    }

    #[test]
    fn archives_that_nest_or_claim_too_much() {
        let refused = |build: &dyn Fn(&mut tar::Builder<Vec<u8>>)| {
            let mut builder = tar::Builder::new(Vec::new());
            build(&mut builder);
            let folder = TempDir::new().unwrap();
            let file = folder.path().join("x.tar.gz");
            fs::write(&file, gz(&builder.into_inner().unwrap())).unwrap();
            match archive::import(&file, &class::place(folder.path(), "ada")) {
                Err(SessionError::NoExport { why, .. }) => why,
                other => panic!("{other:?}"),
            }
        };
        let entry = |kind: tar::EntryType, size: u64| {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_size(size);
            header.set_mode(0o600);
            header
        };
        let deep = refused(&|builder| {
            let path = format!("runs/{}", "a/".repeat(1200));
            let mut header = entry(tar::EntryType::Directory, 0);
            builder.append_data(&mut header, path, &[][..]).unwrap();
        });
        insta::assert_snapshot!(deep.replace("a/", ""), @"`runs/` does not belong in a session");
        let long_name = refused(&|builder| {
            let mut header = entry(tar::EntryType::GNULongName, 1 << 20);
            header.set_path("././@LongLink").unwrap();
            header.set_cksum();
            builder.append(&header, &vec![b'a'; 1 << 20][..]).unwrap();
        });
        insta::assert_snapshot!(long_name, @"`@LongLink` does not belong in a session");
        let large = refused(&|builder| {
            let mut header = entry(tar::EntryType::Regular, 1 << 40);
            header.set_path("events.jsonl").unwrap();
            header.set_cksum();
            builder.append(&header, &b"x"[..]).unwrap();
        });
        insta::assert_snapshot!(large, @"it unpacks to more than a session can hold");
    }

    #[test]
    fn bytes_that_are_no_text_in_the_stream_of_a_run() {
        let (_folder, place) = seed();
        let timed = |place: &SessionLocation| {
            let report = collect(place, course(), CollectOptions::default()).unwrap();
            let timed = report
                .runs
                .into_iter()
                .filter(|run| run.step_time.is_some());
            timed.map(|run| run.id).collect::<Vec<_>>()
        };
        let before = timed(&place);
        let stream = place.runs().join(&before[0]).join("events.jsonl");
        let mut bytes = fs::read(&stream).unwrap();
        bytes.splice(0..0, *b"\xff\xfe of a profiler\n");
        fs::write(&stream, bytes).unwrap();
        assert_eq!(timed(&place), before);
        let session = Session::open(place).unwrap();
        session.measured(course()).unwrap();
    }
}
