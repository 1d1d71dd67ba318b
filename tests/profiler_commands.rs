//! Tests the profilers' command lines for every version against the options that each version accepts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tinyllama_profile::{
    CommandLine, Installed, LacksFlag, ProfileRequest, ProfileTask, Tool, ToolVersion, build,
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn data(tool: &str) -> Value {
    let path = root().join(format!("tests/stand_ins/tools/{tool}.json"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn version(text: &str) -> ToolVersion {
    text.parse().unwrap()
}

/// Every version of ROCm that any tool's data distinguishes.
fn versions() -> Vec<ToolVersion> {
    let all = Tool::ALL.into_iter().flat_map(|tool| {
        let versions = data(tool.name())["versions"].as_array().unwrap().clone();
        versions
            .into_iter()
            .map(|text| version(text.as_str().unwrap()))
    });
    all.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Every task that the tutor offers, with its name.
fn tasks() -> Vec<(Tool, &'static str, ProfileTask)> {
    let kinds = Tool::ALL.into_iter().flat_map(|tool| {
        let named = |task: ProfileTask| Some((tool, task.kind()?.0, task));
        tool.tasks().filter_map(named).collect::<Vec<_>>()
    });
    let compute = Tool::RocprofCompute;
    let mut tasks: Vec<_> = kinds.collect();
    let database = PathBuf::from("v1_results.db");
    let question = "SELECT * FROM top_kernels".to_owned();
    let trace = Tool::Rocprofv3;
    tasks.push((
        trace,
        "analyze FILE",
        ProfileTask::Summary(database.clone()),
    ));
    tasks.push((
        trace,
        "analyze FILE --query SQL",
        ProfileTask::Query(database, question),
    ));
    tasks.push((compute, "analyze", ProfileTask::Analyze));
    tasks.push((compute, "analyze --list-stats", ProfileTask::ListStats));
    tasks.push((compute, "analyze --dispatch 3", ProfileTask::Dispatch(3)));
    tasks
}

fn line_of(task: &ProfileTask, installed: &Installed) -> Result<CommandLine, LacksFlag> {
    let request = ProfileRequest {
        task: match task {
            ProfileTask::InputFile(_) => ProfileTask::InputFile("counters.yaml".into()),
            ProfileTask::Attach(_) => ProfileTask::Attach(4711),
            task => task.clone(),
        },
        target: vec!["PROGRAM".into()],
        launcher: Vec::new(),
        folder: PathBuf::from("DIR"),
        name: "v1".into(),
        architecture: Some("gfx942".into()),
    };
    build(&request, installed)
}

fn words(line: &CommandLine) -> Vec<String> {
    let words = line.args().into_iter();
    words.map(|word| word.into_string().unwrap()).collect()
}

fn for_rocm(task: &ProfileTask, rocm: &str) -> CommandLine {
    line_of(task, &Installed::assumed(task.tool(), version(rocm))).unwrap()
}

fn has(line: &CommandLine, word: &str) -> bool {
    words(line).iter().any(|known| known == word)
}

fn says(line: &CommandLine, note: &str) -> bool {
    line.notes.iter().any(|known| known.contains(note))
}

/// The stand-ins' verdict on each line.
fn checked(lines: &[Value]) -> Vec<Value> {
    let mut child = Command::new(root().join("tests/stand_ins/check_lines"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text = json!(lines).to_string();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_command_is_taken_by_the_tool_of_its_version() {
    let versions = versions();
    let questions: Vec<Value> = versions
        .iter()
        .flat_map(|rocm| {
            Tool::ALL.map(|tool| json!({"rocm": rocm.to_string(), "tool": tool.name()}))
        })
        .collect();
    let helps = checked(&questions);
    let mut lines = Vec::new();
    for (at, rocm) in versions.iter().enumerate() {
        for (tool, kind, task) in tasks() {
            let by_version = Installed::assumed(tool, *rocm);
            let place = Tool::ALL.iter().position(|known| *known == tool).unwrap();
            let help = helps[3 * at + place].as_str().unwrap();
            let by_help = Installed {
                help: help.to_owned(),
                ..by_version.clone()
            };
            let [by_version, by_help] =
                [&by_version, &by_help].map(|installed| line_of(&task, installed));
            assert_eq!(
                by_version.as_ref().ok().map(words),
                by_help.as_ref().ok().map(words),
                "{tool} {kind} of ROCm {rocm}: the table of versions and the help disagree"
            );
            if let Ok(line) = by_version {
                lines.push(json!({"rocm": rocm.to_string(), "words": words(&line)}));
            }
        }
    }
    assert!(lines.len() > 150, "{}", lines.len());
    let answers = checked(&lines);
    let refused = lines
        .iter()
        .zip(answers)
        .filter(|(_, answer)| !answer.is_null());
    let refused: Vec<String> = refused
        .map(|(line, answer)| format!("{line}\n  {answer}"))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn only_what_came_later_cannot_be_asked_for() {
    let first_versions = [
        ("renamed", "6.3"),
        ("pc-sampling", "6.4"),
        ("thread-trace", "7.0"),
        ("attach", "7.1"),
        ("analyze FILE", "7.1"),
        ("analyze FILE --query SQL", "7.1"),
        ("set", "7.1"),
        ("multiplexed", "7.12"),
    ];
    for rocm in versions() {
        for (tool, kind, task) in tasks() {
            let first = first_versions.iter().find(|(name, _)| *name == kind);
            let expected = first.is_none_or(|(_, first)| rocm >= version(first));
            let line = line_of(&task, &Installed::assumed(tool, rocm));
            assert_eq!(
                line.is_ok(),
                expected,
                "{tool} {kind} of ROCm {rocm}: {line:?}"
            );
        }
    }
}

#[test]
fn counters_follow_what_the_program_selects_since_7_14_only() {
    let task = ProfileTask::Counters(Vec::new());
    for rocm in versions() {
        let line = for_rocm(&task, &rocm.to_string());
        let selects = rocm >= version("7.14");
        assert_eq!(has(&line, "--selected-regions"), selects, "{rocm}");
        assert_eq!(
            says(&line, "Warm-up, tuning"),
            !selects,
            "{rocm}: {:?}",
            line.notes
        );
    }
    // Traces support it since 7.0.
    assert!(has(
        &for_rocm(&ProfileTask::Hotspots, "7.0"),
        "--selected-regions"
    ));
    assert!(has(
        &for_rocm(&ProfileTask::Runtime, "7.2"),
        "--selected-regions"
    ));
}

#[test]
fn a_roofline_is_never_a_whole_profile() {
    for (rocm, flag, device) in [
        ("6.2", "--roof-only", "--device"),
        ("10.1", "--roof-only", "--device"),
        ("10.2", "--roofline", "--roofline-device"),
    ] {
        let line = for_rocm(&ProfileTask::Roofline, rocm);
        assert!(has(&line, flag) && has(&line, device), "{rocm}: {line:?}");
    }
    // A later version with yet another name for the option.
    let installed = Installed {
        version: Some(version("3.12")),
        help: "--name --output-directory --overwrite --no-roof --set --block --kernel".into(),
        ..Installed::default()
    };
    let lacks = line_of(&ProfileTask::Roofline, &installed).unwrap_err();
    let text = lacks.to_string();
    assert!(
        text.contains("--roofline or --roof-only") && text.contains("3.12"),
        "{text}"
    );
    assert!(lacks.remedy().contains("--help"), "{}", lacks.remedy());
    line_of(&ProfileTask::Profile, &installed).unwrap();
}

#[test]
fn missing_abilities_of_a_tool_are_named() {
    let help =
        "--kernel-trace --output-format --pmc --hip-trace --hsa-trace --preload -d -o --log-level";
    let installed = Installed {
        version: Some(version("10.4")),
        help: help.into(),
        ..Installed::default()
    };
    let line_without = line_of(&ProfileTask::Hotspots, &installed).unwrap();
    for flag in ["--truncate-kernels", "--marker-trace", "--selected-regions"] {
        assert!(
            says(&line_without, flag),
            "{flag}: {:?}",
            line_without.notes
        );
    }
    // Versions that ask before they overwrite need the flag. Older versions do not ask.
    let help = "--name --output-directory --no-roof --set --block --kernel --roofline";
    let compute = |version: &str| Installed {
        version: Some(version.parse().unwrap()),
        help: help.into(),
        ..Installed::default()
    };
    assert!(line_of(&ProfileTask::Profile, &compute("3.7")).is_ok());
    let lacks = line_of(&ProfileTask::Profile, &compute("3.8"))
        .unwrap_err()
        .to_string();
    assert!(lacks.contains("--overwrite"), "{lacks}");
}

#[test]
fn omniperf_is_told_its_folder() {
    for (task, flag) in [
        (ProfileTask::ListStats, "--list-stats"),
        (ProfileTask::Dispatch(7), "--dispatch"),
    ] {
        let line = for_rocm(&task, "6.2");
        let words = words(&line);
        assert_eq!(words[..4], ["omniperf", "analyze", "--path", "DIR"]);
        assert!(has(&line, flag), "{words:?}");
    }
    let note = "from 1 since 3.10";
    assert!(says(&for_rocm(&ProfileTask::Dispatch(7), "10.2"), note));
}

#[test]
fn a_command_says_which_version_it_is_written_for() {
    let line = for_rocm(&ProfileTask::Profile, "10.2");
    assert!(
        says(&line, "ROCm 10.2 (rocprof-compute 3.10)"),
        "{:?}",
        line.notes
    );
    let installed = Installed {
        version: Some(version("7.0")),
        ..Installed::default()
    };
    let found = line_of(&ProfileTask::Hotspots, &installed).unwrap();
    assert!(!says(&found, "Written for"), "{:?}", found.notes);
}

const BEGIN: &str = "<!-- commands: tools/generate tables -->\n";
const END: &str = "<!-- end of commands -->";

/// Consecutive versions with the same flags share a line.
fn table() -> String {
    let mut text = String::from("| tool | task | ROCm | flags |\n|---|---|---|---|\n");
    let versions = versions();
    for (tool, kind, task) in tasks() {
        let flags = versions.iter().map(|rocm| {
            let line = line_of(&task, &Installed::assumed(tool, *rocm));
            match line {
                Ok(line) => format!("`{}`", flags_of(&line)),
                Err(_) => "not yet".to_owned(),
            }
        });
        let flags: Vec<String> = flags.collect();
        let mut from = 0;
        for at in 0..flags.len() {
            if flags.get(at + 1) == Some(&flags[at]) {
                continue;
            }
            let range = match (from == at, at + 1 == flags.len()) {
                (_, true) => format!("{} and later", versions[from]),
                (true, _) => versions[from].to_string(),
                _ => format!("{} to {}", versions[from], versions[at]),
            };
            text.push_str(&format!("| {tool} | {kind} | {range} | {} |\n", flags[at]));
            from = at + 1;
        }
    }
    text.push_str("\n| options of | version | read in |\n|---|---|---|\n");
    for tool in Tool::ALL.map(Tool::name).into_iter().chain(["rocpd"]) {
        let data = data(tool);
        let sources = data["read"].as_object().unwrap();
        let sources: BTreeMap<ToolVersion, &Value> = sources
            .iter()
            .map(|(known, source)| (version(known), source))
            .collect();
        for (version, source) in sources {
            let source = source.as_str().unwrap();
            text.push_str(&format!("| {tool} | {version} | {source} |\n"));
        }
    }
    text
}

fn flags_of(line: &CommandLine) -> String {
    let words = words(line).into_iter().skip(1);
    let own: Vec<String> = words.take_while(|word| word != "--").collect();
    own.join(" ").replace('|', "\\|")
}

#[test]
fn the_generated_table_shows_what_is_filled_in() {
    let path = root().join("docs/guide/profilers.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the beginning of the table");
    let (shown, after) = rest.split_once(END).expect("the end of the table");
    let table = table();
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(
            shown, table,
            "docs/guide/profilers.md is out of date: run tools/generate tables"
        );
    }
}
