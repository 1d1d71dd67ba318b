//! Gives absurd values to every flag and argument of every command, as an account that can write into its own folder
//! only. The program answers with a status from 0 to 3, without a panic, and with nothing that a terminal would obey.

mod common;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use common::SMALL;

/// Arguments without which a command does nothing or works for long.
const ARGUMENTS: &[(&str, &[&str])] = &[
    ("", &["--plain"]),
    ("ablate", &["v2"]),
    ("batch-size", &["v1"]),
    ("benchmark gemm", SMALL),
    ("benchmark launches", SMALL),
    ("compare", &["v1", "v2"]),
    ("completions", &["bash"]),
    ("diff", &["v1", "v2"]),
    ("gradcheck", &["v1"]),
    ("instructor collect", &["--output=out"]),
    ("instructor message", &["hello"]),
    ("instructor reset", &["ada", "--all"]),
    ("instructor restore", &["ada"]),
    ("instructor show", &["ada"]),
    ("instructor solve", &["ada", "memory/one"]),
    ("instructor unlock", &["memory"]),
    ("launch keep", &["folder"]),
    ("launch step", &["--launcher=/bin/false", "--", "/bin/true"]),
    ("lessons new", &["foundation", "mine"]),
    ("lessons show", &["welcome"]),
    ("lessons verify", &["no-such-lesson"]),
    ("predict", &["v1"]),
    ("profile all", &["v1", "--print"]),
    ("profile analyze", &["folder"]),
    ("profile compare", &["folder", "folder"]),
    ("profile import", &["folder"]),
    ("profile rocprof-compute", &["v1"]),
    ("profile rocprof-sys", &["v1"]),
    ("profile rocprofv3", &["v1"]),
    ("pytorch", &["clocks"]),
    ("recordings play", &["v1", "--speed=end"]),
    ("recordings show", &["v1"]),
    ("regress", &["v1", "--baseline=baseline"]),
    ("report merge", &["folder"]),
    ("report verify", &["file"]),
    ("roofline", &["v1"]),
    ("run", &["v1", "--warmup=0", "--num-steps=1"]),
    ("runs compare", &["a", "b"]),
    ("runs prune", &["--keep=1"]),
    ("runs show", &["last"]),
    ("scale", &["v1"]),
    ("schema", &["run"]),
    ("session export", &["out.tar.gz"]),
    ("session import", &["file"]),
    ("trace", &["v1", "--warmup=0", "--num-steps=1"]),
    ("tune", &["v3"]),
    ("verify", &["v1", "--warmup=0", "--num-steps=1"]),
    ("workbench bench", &["elementwise"]),
    ("workbench check", &["elementwise"]),
    ("workbench hint", &["elementwise"]),
    ("workbench machine", &["elementwise"]),
    ("workbench occupancy", &["elementwise"]),
    ("workbench reset", &["elementwise"]),
    ("workbench solution", &["elementwise"]),
    ("workbench start", &["elementwise"]),
    ("workbench watch", &["elementwise"]),
];

/// Commands that train themselves get a small model.
const TRAINING: [&str; 4] = ["gradcheck", "run", "trace", "verify"];

/// What a terminal would obey: it sets the title, clears the screen and turns the direction of text.
const ESCAPES: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}";

/// A call of the program.
#[derive(Clone)]
struct Call(Vec<OsString>);

/// An account with a folder of its own, and nothing else.
struct Account {
    folder: TempDir,
    program: PathBuf,
}

impl Account {
    const ID: u32 = 61_004;

    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let mut account = Account {
            program: env!("CARGO_BIN_EXE_tinyllama-tutor").into(),
            folder,
        };
        if chown(account.home(), Some(Self::ID), Some(Self::ID)).is_err() {
            eprintln!("NOT CHECKED as another account: only root can become one");
        } else if account.start(&[OsString::from("--version")]).is_err() {
            // The program lies where that account cannot read.
            let copy = account.folder.path().join("program");
            fs::copy(&account.program, &copy).unwrap();
            account.program = copy;
        }
        account
    }

    fn home(&self) -> PathBuf {
        let home = self.folder.path().join("home");
        if !home.is_dir() {
            fs::create_dir(&home).unwrap();
        }
        home
    }

    /// Runs behind a launcher fail at once, and no compiler, profiler or interpreter is found.
    fn start(&self, args: &[OsString]) -> std::io::Result<Child> {
        let home = self.home();
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .current_dir(&home)
            .env_clear()
            .env("HOME", &home)
            .env("PATH", "/no/programs")
            .env("TINYLLAMA_BACKEND", "cpu")
            .env("TINYLLAMA_LAUNCHER", "/bin/false")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // SAFETY: getuid has no arguments and cannot fail.
        if unsafe { libc::getuid() } == 0 {
            command.uid(Self::ID).gid(Self::ID);
        }
        command.spawn()
    }

    fn output(&self, args: &[OsString]) -> Output {
        const LONGEST: Duration = Duration::from_secs(180);
        let child = self.start(args).unwrap();
        let id = child.id();
        let (done, ended) = mpsc::channel();
        thread::spawn(move || done.send(child.wait_with_output()));
        match ended.recv_timeout(LONGEST) {
            Ok(output) => output.unwrap(),
            Err(_) => {
                // SAFETY: kill takes two numbers; the child has not been waited for.
                unsafe { libc::kill(id.cast_signed(), libc::SIGKILL) };
                panic!("{args:?} went on for {LONGEST:?}");
            }
        }
    }

    fn help(&self, command: &[&str]) -> String {
        let args = command.iter().chain(&["--help"]).map(OsString::from);
        let output = self.output(&args.collect::<Vec<_>>());
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Names in the section `Commands:` of a help text.
fn commands(help: &str) -> Vec<&str> {
    let section = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    let lines = section.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").collect()
}

/// Flags of a help text that take a value.
fn flags(help: &str) -> Vec<&str> {
    let lines = help.lines().map(str::trim_start);
    let lines = lines.filter_map(|line| {
        line.starts_with('-')
            .then(|| line.find("--"))
            .flatten()
            .map(|at| &line[at..])
    });
    let name = |line: &str| {
        line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
            .unwrap_or(line.len())
    };
    let takes = lines.filter(|line| {
        line[name(line)..]
            .trim_start_matches([' ', '=', '['])
            .starts_with('<')
    });
    takes.map(|line| &line[..name(line)]).collect()
}

/// Adds the command `above` and all below it, each with its help.
fn add_commands(account: &Account, above: &[&str], found: &mut Vec<(String, String)>) {
    let help = account.help(above);
    found.push((above.join(" "), help.clone()));
    for name in commands(&help) {
        add_commands(account, &[above, &[name]].concat(), found);
    }
}

fn values(all: bool) -> Vec<OsString> {
    let mut values = vec![OsString::from(ESCAPES)];
    if all {
        let texts = [
            "",
            "18446744073709551615",
            "nan",
            "/",
            "/no/such/folder/file",
        ];
        values.extend(texts.map(OsString::from));
        values.push("x".repeat(100_000).into());
        values.push(OsString::from_vec(vec![b'a', 0xff, b'b']));
    }
    values
}

/// All calls with one absurd value.
fn calls(account: &Account) -> Vec<Call> {
    let mut found = Vec::new();
    add_commands(account, &[], &mut found);
    found.push(("launch keep".into(), account.help(&["launch", "keep"])));
    found.push(("launch step".into(), account.help(&["launch", "step"])));
    let known: BTreeSet<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    for (name, _) in ARGUMENTS {
        assert!(
            known.contains(name),
            "ARGUMENTS names `{name}`, which is no command"
        );
    }
    let of_run = found.iter().find(|(name, _)| name == "run").unwrap();
    let of_run: BTreeSet<&str> = flags(&of_run.1).into_iter().collect();
    let mut calls = Vec::new();
    for (name, help) in &found {
        let words: Vec<OsString> = name.split_whitespace().map(OsString::from).collect();
        let arguments = ARGUMENTS
            .iter()
            .find(|(of, _)| of == name)
            .map_or(&[][..], |(_, arguments)| arguments);
        let small = if TRAINING.contains(&name.as_str()) {
            SMALL
        } else {
            &[]
        };
        for flag in flags(help) {
            // Flags that commands share with `run` are tried there, and in `compare`, which passes them on.
            let is_shared = name != "run" && of_run.contains(flag);
            if is_shared && name != "compare" {
                continue;
            }
            for value in values(!is_shared) {
                let others = arguments.iter().chain(small);
                let others = others.filter(|other| other.split('=').next() != Some(flag));
                let mut call = words.clone();
                call.extend(others.map(OsString::from));
                call.push(
                    [OsStr::new(flag), OsStr::new("="), &value]
                        .into_iter()
                        .collect(),
                );
                calls.push(Call(call));
            }
        }
        for value in values(true) {
            let mut call = words.clone();
            call.push(value);
            calls.push(Call(call));
        }
    }
    calls
}

/// Says what is wrong with the answer to a call.
fn fault(output: &Output) -> Option<String> {
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let obeyed = |c: &char| *c != '\n' && (c.is_control() || *c == '\u{202e}');
    if !matches!(output.status.code(), Some(0..=3)) {
        return Some(format!("{}: {text}", output.status));
    }
    if text.contains("panicked at") {
        return Some(text.into_owned());
    }
    text.chars()
        .find(obeyed)
        .map(|c| format!("U+{:04X} in {text:?}", u32::from(c)))
}

#[test]
fn absurd_values_are_answered_by_every_command() {
    let account = Account::new();
    let calls = calls(&account);
    assert!(calls.len() > 1000, "only {} calls were found", calls.len());
    let (next, (wrong, found)) = (AtomicUsize::new(0), mpsc::channel());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            let wrong = wrong.clone();
            scope.spawn(|| {
                let wrong = wrong;
                while let Some(Call(args)) = calls.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(fault) = fault(&account.output(args)) {
                        let args = args.iter().map(|arg| format!("{:.60?}", arg));
                        let line =
                            format!("{}: {:.600}", args.collect::<Vec<_>>().join(" "), fault);
                        wrong.send(line).unwrap();
                    }
                }
            });
        }
    });
    drop(wrong);
    let found: Vec<String> = found.iter().collect();
    assert!(
        found.is_empty(),
        "{} of {} calls:\n{}",
        found.len(),
        calls.len(),
        found.join("\n")
    );
}
