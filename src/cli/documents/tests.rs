//! Documents and lessons name commands and files. These tests check that each of them exists.

use std::any::TypeId;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use clap::{Command, CommandFactory};

use super::{Cli, command_names};
use tinyllama_lesson::command::COMMANDS;

const FOLDERS: [&str; 9] = [
    "src",
    "tests",
    "docs",
    ".ci",
    "kernels",
    "lessons",
    "assets",
    "containers",
    "tools",
];
/// Old names of commands. Clap still accepts them, and the program prints the new name.
const MOVED: [&str; 1] = ["bench"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Collects the files below `folder` with one of `endings`.
fn files(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, endings, found);
        } else if endings
            .iter()
            .any(|end| path.to_string_lossy().ends_with(end))
        {
            found.push(path);
        }
    }
}

fn pages() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "kernels/README.md",
    ]
    .iter()
    .map(|page| root().join(page))
    .collect();
    files(&root().join("docs"), &[".md"], &mut found);
    files(&root().join("lessons"), &[".md", ".yaml"], &mut found);
    found
}

/// Texts between backticks and lines of code blocks, each with its line number.
fn code(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    let mut inside = false;
    let mut span = String::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            inside = false;
        } else if fenced {
            found.push((number + 1, line.to_string()));
        } else {
            if line.trim().is_empty() {
                inside = false;
            }
            for (index, piece) in line.split('`').enumerate() {
                if index > 0 {
                    if inside {
                        found.push((number + 1, std::mem::take(&mut span)));
                    }
                    inside = !inside;
                    span.clear();
                }
                if inside {
                    span.push_str(piece);
                    span.push(' ');
                }
            }
        }
    }
    found
}

/// The error in the arguments after the program's name, if there is one.
fn fault(command: &Command, line: &str) -> Option<String> {
    let mut here = command;
    let mut flags: BTreeSet<&str> = BTreeSet::new();
    let mut values = false;
    for word in line.split_whitespace() {
        let stops = ["#", "--", "|", "\\", "&&", ">", "2>&1", "<"].contains(&word);
        if stops || word.starts_with(['…', '[', '(', '<', '"', '\'']) {
            break;
        }
        flags.extend(here.get_arguments().filter_map(clap::Arg::get_long));
        flags.extend(["help", "version"]);
        if let Some(flag) = word.strip_prefix("--") {
            let flag = flag.trim_end_matches([',', ';', '.', ':', ')']);
            let name = flag.split('=').next().unwrap_or(flag);
            if !flags.contains(name) {
                return Some(format!("`{}` has no flag --{name}", here.get_name()));
            }
            values = true;
            continue;
        }
        if values || !here.has_subcommands() || word.starts_with('-') {
            continue;
        }
        for name in word
            .split('|')
            .map(|name| name.trim_end_matches(['\\', ',', ';', '.', ':', ')']))
        {
            let placeholder = name.chars().all(|sign| sign.is_uppercase());
            match here
                .find_subcommand(name)
                .filter(|found| !found.is_hide_set())
            {
                Some(found) => here = found,
                None if placeholder => return None,
                None => return Some(format!("`{}` has no command `{name}`", here.get_name())),
            }
            if word.contains('|') {
                return None;
            }
        }
    }
    None
}

/// Paths in code that begin with a folder of this tree, up to the first placeholder.
fn paths(line: &str) -> Vec<String> {
    let is_part = |sign: char| sign.is_alphanumeric() || "/._-*".contains(sign);
    line.split(|sign| !is_part(sign))
        .map(|word| word.trim_end_matches(['.', '/', '-']))
        .filter(|word| word.contains('/') && !word.contains('*') && !word.contains(".."))
        .filter(|word| FOLDERS.contains(&word.split('/').next().unwrap_or_default()))
        .filter(|word| !word.split('/').any(is_placeholder))
        .map(str::to_string)
        .collect()
}

/// True for parts that the reader replaces: `NAME`, `NN-name`, `SESSION`.
fn is_placeholder(part: &str) -> bool {
    let name = part.split(['.', '-']).next().unwrap_or_default();
    name.len() > 1 && name.chars().all(|sign| sign.is_ascii_uppercase()) && name != "README"
}

/// Checks a page's path relative to the root and to the page.
fn is_there(page: &Path, path: &str) -> bool {
    let beside = page.parent().expect("a folder").join(path);
    root().join(path).exists() || beside.exists()
}

fn name_of(page: &Path) -> String {
    let relative = page.strip_prefix(root()).unwrap_or(page);
    relative.display().to_string()
}

fn commands_of(text: &str, command: &Command) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in code(text) {
        for (place, name) in line.match_indices("tinyllama-tutor ") {
            // `/shared/tinyllama-tutor` is a folder; `target/release/tinyllama-tutor` is the program.
            let before = &line[..place];
            if before.ends_with('/') && !before.ends_with("release/") {
                continue;
            }
            let rest = &line[place + name.len()..];
            found.extend(fault(command, rest).map(|fault| format!("{number}: {fault}")));
        }
        let first = line.split_whitespace().next().unwrap_or_default();
        if MOVED.contains(&first) {
            found.push(format!("{number}: `{first}` is no command any more"));
        }
    }
    found
}

#[test]
fn commands_in_documents_and_lessons_exist() {
    let command = Cli::command();
    let wrong: Vec<String> = pages()
        .iter()
        .flat_map(|page| {
            let text = fs::read_to_string(page).expect("a page");
            let found = commands_of(&text, &command);
            found
                .into_iter()
                .map(|fault| format!("{}:{fault}", name_of(page)))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commands_that_the_program_names_exist() {
    let command = Cli::command();
    let mut sources = Vec::new();
    files(&root().join("src"), &[".rs"], &mut sources);
    let (mut named, mut wrong) = (0, Vec::new());
    // Tests name commands that are wrong on purpose.
    let is_product = |path: &&PathBuf| !path.to_string_lossy().contains("tests");
    for source in sources.iter().filter(is_product) {
        let text = fs::read_to_string(source).expect("a file");
        for rest in text.split("`tinyllama-tutor ").skip(1) {
            let words = rest.split('`').next().unwrap_or_default();
            // A command that is put together when the program runs has holes.
            if words.contains(['{', '\n', '\\']) {
                continue;
            }
            named += 1;
            let fault = fault(&command, words);
            wrong.extend(fault.map(|fault| format!("{}: {fault}", name_of(source))));
        }
    }
    assert!(named > 30, "{named} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn paths_in_documents_and_lessons_exist() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for (number, line) in code(&text) {
            let missing = paths(&line)
                .into_iter()
                .filter(|path| !is_there(&page, path));
            wrong.extend(missing.map(|path| format!("{}:{number}: {path}", name_of(&page))));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut wrong = Vec::new();
    for page in pages()
        .iter()
        .filter(|page| page.extension().is_some_and(|end| end == "md"))
    {
        let text = fs::read_to_string(page).expect("a page");
        for rest in text.split("](").skip(1) {
            let target = rest.split([')', '#']).next().unwrap_or_default();
            // The README can include this text, so its links start at the root.
            if target.contains('.') && !target.contains("://") && !is_there(page, target) {
                wrong.push(format!("{}: {target}", name_of(page)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Messages and comments refer readers to pages.
#[test]
fn pages_that_the_program_names_exist() {
    let mut sources = Vec::new();
    for folder in ["src", "kernels", "tests"] {
        files(&root().join(folder), &[".rs", ".yaml"], &mut sources);
    }
    files(&root().join(".ci"), &[""], &mut sources);
    let mut wrong = Vec::new();
    for source in sources {
        let text = fs::read_to_string(&source).unwrap_or_default();
        for line in text.lines() {
            let named = paths(line)
                .into_iter()
                .filter(|path| path.starts_with("docs/"));
            let missing = named.filter(|path| path.ends_with(".md") && !root().join(path).exists());
            wrong.extend(missing.map(|path| format!("{}: {path}", name_of(&source))));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_generated_list_names_every_command_of_steps() {
    let path = root().join("docs/authors.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once("\nAllowed are ").expect("the list");
    let (_, after) = rest.split_once(". It runs").expect("the list's end");
    let names = COMMANDS.iter().map(|command| format!("`{}`", command.name));
    let names = names.collect::<Vec<_>>().join(", ");
    let written = format!("{before}\nAllowed are {names}. It runs{after}");
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, &written).expect("the page");
    } else {
        assert_eq!(page, written, "run tools/generate tables");
    }
}

/// A new flag that names a file makes this test red until a lesson's step is refused it, or it is one of the few that
/// name files of the session.
#[test]
fn no_command_of_a_step_takes_a_flag_that_names_a_file_outside_the_session() {
    const OF_THE_SESSION: [&str; 2] = ["baseline", "file"];
    let program = Cli::command();
    let mut taken = BTreeSet::new();
    for step_command in COMMANDS {
        let names = step_command.name.split(' ');
        let command = names.fold(&program, |command, name| {
            command.find_subcommand(name).expect("a subcommand")
        });
        for argument in command.get_arguments() {
            let names_a_file = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
            if let Some(flag) = argument.get_long().filter(|_| names_a_file)
                && step_command.check(&[format!("--{flag}=x")]).is_ok()
            {
                taken.insert(flag);
            }
        }
    }
    assert_eq!(taken, BTreeSet::from(OF_THE_SESSION));
}

#[test]
fn the_page_of_commands_has_every_command() {
    let page = fs::read_to_string(root().join("docs/guide/commands.md")).expect("the page");
    let mut names = command_names();
    names.retain(|name| {
        !code(&page)
            .iter()
            .any(|(_, line)| line.split_whitespace().next() == Some(name.as_str()))
    });
    assert_eq!(names, [""; 0], "docs/guide/commands.md");
}

#[test]
fn a_command_that_is_gone_is_seen() {
    let command = Cli::command();
    let seen = |text: &str| commands_of(text, &command).join("; ");
    for right in ["run v1 --config tiny", "workbench hint|reset rmsnorm"] {
        assert_eq!(seen(&format!("`tinyllama-tutor {right}`")), "");
    }
    let wrong = [
        "`tinyllama-tutor bench v1`",
        "`compare`, `bench v1 v2`",
        "```sh\ntinyllama-tutor session shew\n```",
        "`tinyllama-tutor kernels --chek`",
    ];
    insta::assert_snapshot!(wrong.map(seen).join("\n"));
}
