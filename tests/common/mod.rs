//! Shared parts of the end-to-end tests: the program, and a model small enough to train in a test.

#![allow(dead_code, reason = "every test binary uses its own part of this")]

use std::process::{Command, Output};

/// A model whose step takes milliseconds on a CPU.
pub const SMALL: &[&str] = &[
    "--hidden=32",
    "--layers=2",
    "--heads=4",
    "--kv-heads=2",
    "--ffn=48",
    "--seq-len=16",
    "--batch-size=2",
    "--vocab=300",
];

/// The program on the CPU, with separate state and caches.
pub fn tutor(home: &std::path::Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"));
    command
        .env("XDG_STATE_HOME", home.join("state"))
        .env("XDG_CACHE_HOME", home.join("cache"))
        .env("TINYLLAMA_BACKEND", "cpu")
        .env("COLUMNS", "100");
    command
}

/// Runs the program to its end.
pub fn run(arguments: &[&str]) -> Output {
    let home = tempfile::tempdir().expect("a temporary folder");
    tutor(home.path())
        .args(arguments)
        .output()
        .expect("the program starts")
}

/// Runs `run v1` on the small model with `more` flags.
pub fn run_v1(more: &[&str]) -> Output {
    run(&[&["run", "v1"], SMALL, more].concat())
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Replaces the program's path. A program names itself by its real path, which is another one where `target/` is a link.
pub fn without_program(text: &str, mask: &str) -> String {
    let built = std::path::Path::new(env!("CARGO_BIN_EXE_tinyllama-tutor"));
    let real = built.canonicalize().expect("the program is there");
    [real.as_path(), built]
        .iter()
        .fold(text.to_owned(), |text, path| {
            text.replace(&path.display().to_string(), mask)
        })
}

/// The first line that contains `part`, without the spaces around it.
pub fn line_with<'a>(part: &str, text: &'a str) -> &'a str {
    let line = text.lines().find(|line| line.contains(part));
    line.unwrap_or_else(|| panic!("`{part}` is in no line of {text}"))
        .trim()
}

/// A message for a snapshot: measured figures become `#`.
pub fn without_figures(text: &str) -> String {
    let is_figure = |c: char| c.is_ascii_digit() || c == '.';
    let words = text.split_inclusive([' ', '\n', ',', ':', ';', '(', ')', '/']);
    let words = words.map(
        |word| match word.starts_with(|c: char| c.is_ascii_digit()) {
            true => format!(
                "#{}",
                word.trim_start_matches(|c| is_figure(c) || "e-".contains(c))
            ),
            false => word.to_owned(),
        },
    );
    words.collect()
}
