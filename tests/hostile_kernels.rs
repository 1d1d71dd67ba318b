//! Kernel files that attack the program that checks them (`tests/workbench/hostile`). None creates or reads a file, starts
//! a program, or keeps the compiler busy, and each that is not right gets an explanation. The first lines of a file say
//! what is expected. Files that only the compiler for the host would misunderstand pass, because they are right kernels.

mod common;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use common::{stderr, stdout, tutor};

/// A text that no kernel may read.
const SECRET: &str = "TOPSECRET";

struct Hostile {
    name: String,
    text: String,
    expects: String,
    line: Option<String>,
}

fn hostile(home: &Path) -> Vec<Hostile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workbench/hostile");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let read = paths.iter().map(|path| {
        let text = fs::read_to_string(path).unwrap();
        let [out, secret] = ["out", "secret"].map(|name| home.join(name).display().to_string());
        let text = text.replace("@OUT@", &out).replace("@SECRET@", &secret);
        let said = |mark: &str| {
            let line = text
                .lines()
                .take(2)
                .find_map(|line| line.strip_prefix(mark));
            line.map(str::to_owned)
        };
        Hostile {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            expects: said("// expects: ").expect("what is expected"),
            line: said("// line: "),
            text,
        }
    });
    read.collect()
}

fn check(home: &Path, args: &[&str]) -> std::process::Output {
    let mut command = tutor(home);
    command.current_dir(home);
    command
        .args(["workbench", "check", "elementwise"])
        .args(args);
    command.output().expect("the program starts")
}

/// True if this machine can check kernels; otherwise prints a line.
fn ready(home: &Path) -> bool {
    let path = home.join("ready.hip");
    fs::write(
        &path,
        tinyllama_workbench::find("elementwise")
            .unwrap()
            .solution()
            .unwrap(),
    )
    .unwrap();
    let output = check(home, &["--file", "ready.hip"]);
    let is_required = std::env::var_os("HIP_STAND_IN_REQUIRED").is_some();
    match output.status.code() {
        Some(0) => true,
        Some(3) if !is_required => {
            std::io::stderr()
                .write_all(b"NOT CHECKED: no kernel can be compiled here\n")
                .unwrap();
            false
        }
        _ => panic!("{}{}", stdout(&output), stderr(&output)),
    }
}

#[test]
fn no_hostile_file_gets_anything_out() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("secret"), format!("#error {SECRET}\n")).unwrap();
    if !ready(home) {
        return;
    }
    let all = hostile(home);
    assert!(all.len() >= 30, "{} files", all.len());
    let mut wrong = vec![];
    for one in &all {
        fs::write(home.join("hostile.hip"), &one.text).unwrap();
        // A bomb takes as long as the compiler may.
        let is_bomb = one.name.starts_with("bomb");
        for json in [false, true].into_iter().take(if is_bomb { 1 } else { 2 }) {
            let args = ["--file", "hostile.hip", "--json"];
            let output = check(home, &args[..if json { 3 } else { 2 }]);
            let said = format!("{}{}", stdout(&output), stderr(&output));
            // Messages wrap at 80 columns and are quoted in JSON.
            let words = said
                .replace("\\\"", "\"")
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            let mut miss = |what: &str| {
                let start: String = words.chars().take(800).collect();
                wrong.push(format!("{}: {what}\n{start}", one.name));
            };
            let is_right = one.expects == "passed";
            if output.status.code() != Some(if is_right { 0 } else { 1 }) {
                miss(&format!("status {:?}", output.status));
            }
            let expects = match (one.expects.as_str(), json) {
                ("does not compile", true) => "\"kind\": \"compile\"",
                (expects, _) => expects,
            };
            let expects = expects.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_said = is_right && json || words.contains(&expects);
            if !is_said {
                miss(&format!("`{}` is not said", one.expects));
            }
            if let Some(line) = one.line.as_ref().filter(|_| !json)
                && !said.contains(&format!(", line {line}\n"))
            {
                miss(&format!("line {line} is not named"));
            }
            if said
                .chars()
                .any(|c| c != '\n' && (c.is_control() || c == '\u{202e}'))
            {
                miss("a control character gets through");
            }
            if home.join("out").exists() || said.contains(SECRET) && !one.text.contains(SECRET) {
                miss("something got out");
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn only_a_regular_file_is_read() {
    let home = tempfile::tempdir().unwrap();
    let output = check(home.path(), &["--file", "/dev/zero"]);
    assert_ne!(output.status.code(), Some(0));
    insta::assert_snapshot!(stderr(&output), @"error: /dev/zero: it is a folder, a pipe or a device; only regular files are read");
}

#[test]
fn a_file_of_the_current_folder_is_not_taken_by_itself() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("elementwise.hip"), "of somebody else\n").unwrap();
    let output = check(home.path(), &[]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    for words in ["elementwise.hip", "workbench start", "--file"] {
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}
