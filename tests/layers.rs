//! The order of the layers: `src/lib.rs` names it from top to bottom, and a file uses only layers below its own.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What the order is fenced by, in `lib.rs` and in README.md.
const FENCE: &str = "```text\n";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The block between the fences, as it stands.
fn block(text: &str) -> &str {
    let (_, rest) = text.split_once(FENCE).expect("a fenced block of layers");
    rest.split_once("```").expect("the end of the fence").0
}

/// `lib.rs`' own documentation, without the slashes.
fn documentation() -> String {
    let text = read(&root().join("src/lib.rs"));
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Layers from top to bottom.
fn order() -> Vec<String> {
    let documentation = documentation();
    let names = block(&documentation).lines();
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

/// Files of the program, without those that only tests are made of.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("");
        if path.is_dir() && name != "tests" {
            sources(&path, into);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            into.push(path);
        }
    }
}

/// The text without its test modules at the end.
fn without_tests(text: &str) -> &str {
    let tests = text.match_indices("#[cfg(test)]\n").find(|(at, mark)| {
        let next = text[at + mark.len()..].lines().next().unwrap_or("");
        next.contains("mod ") && next.ends_with('{')
    });
    tests.map_or(text, |(at, _)| &text[..at])
}

/// Top-level modules that `text` names.
fn named(text: &str) -> BTreeSet<&str> {
    let uses = text
        .match_indices("crate::")
        .map(|(at, mark)| &text[at + mark.len()..]);
    let word = |rest: &'_ str| {
        rest.find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len())
    };
    uses.map(|rest| &rest[..word(rest)]).collect()
}

#[test]
fn a_layer_uses_only_those_below_it() {
    let order = order();
    let place = |name: &str| order.iter().position(|layer| layer == name);
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    assert!(files.len() > 300, "{} files", files.len());
    let mut upwards = Vec::new();
    for file in &files {
        let inside = file.strip_prefix(root().join("src")).expect("below src");
        let first = inside
            .iter()
            .next()
            .and_then(|part| part.to_str())
            .unwrap_or("");
        let layer = first.trim_end_matches(".rs");
        if ["lib", "main"].contains(&layer) {
            continue;
        }
        let own = place(layer)
            .unwrap_or_else(|| panic!("`{layer}` is not among the layers of src/lib.rs"));
        let text = read(file);
        for used in named(without_tests(&text)) {
            if place(used).is_some_and(|other| other < own) {
                upwards.push(format!("src/{}: {layer} uses {used}", inside.display()));
            }
        }
    }
    assert!(
        upwards.is_empty(),
        "imports upwards:\n{}\nThe one order, from top to bottom:\n{}",
        upwards.join("\n"),
        block(&documentation())
    );
}

#[test]
fn the_order_is_told_once_more_and_the_same() {
    let guide = read(&root().join("README.md"));
    assert!(
        guide.contains(block(&documentation())),
        "README.md has another order than src/lib.rs:\n{}",
        block(&documentation())
    );
    let library = read(&root().join("src/lib.rs"));
    let declared = library.lines().filter(|line| line.ends_with(';'));
    for module in declared.filter_map(|line| line.split_once("mod ")) {
        let name = module.1.trim_end_matches(';');
        assert!(
            module.0.starts_with("//") || order().iter().any(|layer| layer == name),
            "`{name}` has no place in the order"
        );
    }
}
