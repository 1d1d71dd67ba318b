//! Takes every command that notes, remedies, documents and lessons advise, and asks whether its output can be imported.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::NothingRecorded;
use crate::read::import;

fn root() -> PathBuf {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let root = folders.find(|folder| folder.join("lessons").is_dir());
    root.unwrap().to_owned()
}

const VERSIONS: [ToolVersion; 9] = [
    ToolVersion(6, 2),
    ToolVersion(6, 3),
    ToolVersion(6, 4),
    ToolVersion(7, 0),
    ToolVersion(7, 1),
    ToolVersion(7, 2),
    ToolVersion(7, 13),
    ToolVersion(7, 14),
    ToolVersion(10, 2),
];

/// Places with texts for people.
const TEXTS: [&str; 5] = ["src", "docs/guide", "docs/design", "lessons", "README.md"];

fn texts(path: &Path, found: &mut Vec<(PathBuf, String)>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            texts(&entry.unwrap().path(), found);
        }
        return;
    }
    let extension = path.extension().unwrap_or_default();
    let is_test = path.to_string_lossy().contains("tests");
    if !is_test && ["rs", "md", "yaml"].iter().any(|known| extension == *known) {
        found.push((path.to_owned(), joined(&fs::read_to_string(path).unwrap())));
    }
}

/// Joins lines that end with a backslash, in strings of Rust and in shells.
fn joined(text: &str) -> String {
    let mut out = String::new();
    let mut parts = text.split("\\\n");
    out.push_str(parts.next().unwrap_or_default());
    parts.for_each(|part| out.push_str(part.trim_start()));
    out
}

/// The commands in a text that begin with `start`, each up to what ends code there.
fn commands<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(start).map(|(at, _)| {
        let rest = &text[at..];
        let end = rest
            .find(['`', '\n', '|', '"', ';', ')'])
            .unwrap_or(rest.len());
        rest[..end].trim()
    })
}

/// A fixture in each form that a line of rocprofv3 writes and that is read.
fn written_by_rocprofv3(words: &[&str]) -> Vec<&'static str> {
    let has = |flags: &[&str]| words.iter().any(|word| flags.contains(word));
    let at = words
        .iter()
        .position(|word| ["--output-format", "-f"].contains(word));
    let formats = at.map_or(&["rocpd"][..], |at| {
        let values = &words[at + 1..];
        let end = values.iter().position(|word| word.starts_with('-'));
        &values[..end.unwrap_or(values.len())]
    });
    let traces = [
        "--kernel-trace",
        "--runtime-trace",
        "--sys-trace",
        "--memory-copy-trace",
    ];
    let counts = ["--pmc", "-i", "--attach"];
    let is_in_tables_only = has(&["--att", "--pc-sampling-beta-enabled", "--kernel-rename"]);
    let mut forms = Vec::new();
    for format in formats {
        match *format {
            "csv" if has(&traces) => forms.push("rocprofv3/kernel_trace.csv"),
            "csv" if has(&counts) => forms.push("rocprofv3/counter_collection.csv"),
            "csv" if has(&["--att"]) => {
                forms.push("rocprofv3_debug/stats_ui_output_agent_1_dispatch_2.csv");
            }
            "csv" if has(&["--pc-sampling-beta-enabled"]) => {
                forms.push("rocprofv3/pc_sampling_host_trap.csv");
            }
            "rocpd" if !is_in_tables_only && (has(&traces) || has(&counts)) => {
                forms.push("rocpd/derived_from_908_schema300.db");
            }
            _ => {}
        }
    }
    forms
}

fn written_by(task: &ProfileTask, words: &[&str]) -> Vec<&'static str> {
    match task.tool() {
        Tool::Rocprofv3 => written_by_rocprofv3(words),
        Tool::RocprofSys if words.contains(&"--profile") => {
            vec!["rocprof-sys/wall_clock_doc_sample.txt"]
        }
        Tool::RocprofSys => vec![],
        Tool::RocprofCompute => vec!["rocprof-compute/vcopy/MI200"],
    }
}

fn assert_imported(advice: &str, forms: &[&str]) {
    assert!(
        !forms.is_empty(),
        "{advice}: writes nothing that can be imported"
    );
    for form in forms {
        let import = import(&root().join("tests/fixtures").join(form)).unwrap();
        assert_eq!(NothingRecorded::explain(&import), None, "{advice}: {form}");
    }
}

fn line_for(task: &ProfileTask, rocm: ToolVersion) -> Option<Vec<String>> {
    let task = match task {
        ProfileTask::InputFile(_) => ProfileTask::InputFile("counters.yaml".into()),
        task => task.clone(),
    };
    let installed = Installed::assumed(task.tool(), rocm);
    let request = ProfileRequest {
        task,
        target: vec!["PROGRAM".into()],
        launcher: Vec::new(),
        folder: PathBuf::from("DIR"),
        name: "v1".into(),
        architecture: Some("gfx942".into()),
    };
    let line = build(&request, &installed).ok()?;
    let words = line
        .args()
        .into_iter()
        .map(|word| word.into_string().unwrap());
    Some(words.take_while(|word| word != "--").collect())
}

/// Asserts that in each version which can do the task its output is read.
fn assert_task_is_imported(advice: &str, task: &ProfileTask) {
    let mut built = 0;
    for rocm in VERSIONS {
        let Some(line) = line_for(task, rocm) else {
            continue;
        };
        built += 1;
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        assert_imported(
            &format!("{advice} on ROCm {rocm}: {}", line.join(" ")),
            &written_by(task, &words),
        );
    }
    assert!(built > 0, "{advice}: no version can do it");
}

#[test]
fn every_task_that_profiles_writes_what_can_be_imported() {
    for tool in Tool::ALL {
        for task in tool
            .tasks()
            .filter(|task| *task != ProfileTask::Configuration)
        {
            assert_task_is_imported(tool.name(), &task);
        }
    }
}

#[test]
fn a_timeline_alone_is_nothing_to_import() {
    let alone = ["--runtime-trace", "--output-format", "pftrace", "-d", "DIR"];
    assert!(written_by_rocprofv3(&alone).is_empty());
    let both = [
        "--runtime-trace",
        "--output-format",
        "rocpd",
        "pftrace",
        "-d",
        "DIR",
    ];
    assert_eq!(written_by_rocprofv3(&both).len(), 1);
    let samples = ["--pc-sampling-beta-enabled", "--output-format", "rocpd"];
    assert!(written_by_rocprofv3(&samples).is_empty());
}

#[test]
fn a_runtime_trace_has_the_calls_of_the_host_in_a_form_that_is_read() {
    for rocm in VERSIONS {
        let line = line_for(&ProfileTask::Runtime, rocm).unwrap();
        let has = |word: &str| line.iter().any(|known| known == word);
        assert!(
            has("--runtime-trace") || has("--hip-trace"),
            "{rocm}: {line:?}"
        );
        assert!(
            has(if rocm < ToolVersion(7, 0) {
                "csv"
            } else {
                "rocpd"
            }),
            "{rocm}: {line:?}"
        );
        assert!(has("pftrace"), "{rocm}: {line:?}");
    }
}

#[test]
fn every_advised_command_of_this_program_writes_what_can_be_imported() {
    let mut found = Vec::new();
    TEXTS
        .iter()
        .for_each(|path| texts(&root().join(path), &mut found));
    let mut advised = 0;
    for (path, text) in &found {
        for tool in Tool::ALL {
            let start = format!("profile {} ", tool.name());
            for command in commands(text, &start) {
                let words: Vec<&str> = command.split_whitespace().collect();
                let kind = words.iter().position(|word| *word == "--kind");
                let kind = kind.and_then(|at| words.get(at + 1)).copied();
                // "--kind …" stands for any of them.
                let kind = kind.map(|kind| kind.trim_end_matches(['.', ',', ':']));
                if kind.is_some_and(|kind| kind == "…" || kind == "config") {
                    continue;
                }
                let advice = format!("{}: {command}", path.display());
                let task = tool
                    .task(kind)
                    .unwrap_or_else(|why| panic!("{advice}: {why}"));
                assert_task_is_imported(&advice, &task);
                advised += 1;
            }
        }
    }
    assert!(advised > 20, "only {advised} were found");
}

#[test]
fn every_advised_command_of_rocprofv3_writes_what_can_be_imported() {
    let mut found = Vec::new();
    TEXTS
        .iter()
        .for_each(|path| texts(&root().join(path), &mut found));
    let mut advised = 0;
    for (path, text) in &found {
        for command in commands(text, "rocprofv3 --") {
            let words: Vec<&str> = command.split_whitespace().skip(1).collect();
            let ends = words.iter().position(|word| *word == "--");
            // Flags that are only mentioned are no command.
            let Some(ends) = ends else { continue };
            let advice = format!("{}: {command}", path.display());
            assert_imported(&advice, &written_by_rocprofv3(&words[..ends]));
            advised += 1;
        }
        for command in commands(text, "rocpd convert -i FILE") {
            assert!(
                command.contains("--output-format csv"),
                "{}: {command}",
                path.display()
            );
            assert_imported(
                command,
                &["readme_csv/Rocprofv3__rocpd__README.md_L167.csv"],
            );
            advised += 1;
        }
        for command in commands(text, "ncu --").filter(|command| command.contains("FILE")) {
            let forms = match command.contains("--page source") {
                true => &["nsight_compute/imported.csv"],
                false => &["nsight_compute/raw.csv"],
            };
            let is_table = command.contains("--csv");
            assert!(
                is_table || command.contains("-o REPORT"),
                "{}: {command}",
                path.display()
            );
            assert_imported(command, forms);
            advised += 1;
        }
    }
    assert!(advised > 10, "only {advised} were found");
}
