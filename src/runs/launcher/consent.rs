//! Asks for consent to a site's settings. They name programs that start with the learner's rights, so they are shown
//! before their first use.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use uzers::{get_effective_uid, get_user_by_uid};

use super::Settings;
use crate::state_folder;
use tinyllama_base::checksum::sha256_hex;
use tinyllama_base::{create_private, errln, plain, replace, untrusted};
use tinyllama_contract::flags::UsageError;

/// A file in the state folder with one line for each settings file that was shown: its checksum.
const SHOWN: &str = "site-files";
const MOST_BYTES: u64 = 1 << 20;

/// Shows the programs that a site's file starts, once for each content. If another user owns the file, the learner has to
/// agree.
///
/// # Errors
/// Fails if the learner does not agree.
pub(super) fn ask(path: &Path, text: &str, settings: &Settings) -> Result<(), UsageError> {
    let programs = programs(settings);
    let sum = sha256_hex([text]);
    if programs.is_empty() || was_shown(&sum) {
        return Ok(());
    }
    let owner = fs::metadata(path).map_or(0, |found| found.uid());
    let name = get_user_by_uid(owner).map_or(owner.to_string(), |user| {
        user.name().to_string_lossy().into_owned()
    });
    let file = plain(&path.display().to_string());
    errln!("note: {file}, a file of {name}, names programs that start here with your rights:");
    for (key, argv) in &programs {
        errln!("       {key:<14} {}", plain(argv));
    }
    if owner != get_effective_uid() {
        ask_for_consent(path)?;
    }
    remember(&sum);
    Ok(())
}

/// Lists every key that names a program or passes arguments to one.
fn programs(settings: &Settings) -> Vec<(&'static str, String)> {
    let joined = |argv: &[String]| {
        let argv = shlex::try_join(argv.iter().map(String::as_str));
        argv.unwrap_or_default()
    };
    let launcher = settings.launcher.clone();
    let program = settings.program.as_ref();
    let all = [
        ("launcher", launcher.filter(|name| name != "local")),
        ("program", program.map(|path| path.display().to_string())),
        ("modules", Some(settings.modules.join(" "))),
        ("container", Some(joined(&settings.container))),
        ("slurm.options", Some(joined(&settings.slurm.options))),
    ];
    let named = all.into_iter().filter_map(|(key, argv)| Some((key, argv?)));
    named.filter(|(_, argv)| !argv.is_empty()).collect()
}

fn ask_for_consent(path: &Path) -> Result<(), UsageError> {
    let refused = |why: &str| {
        UsageError(format!(
            "{}: {why}; it names programs that start with your rights. Ask the owner of the class, or leave out --class",
            path.display()
        ))
    };
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(refused(
            "you have not agreed to this file yet: run `tinyllama-tutor doctor` for this class in a terminal once",
        ));
    }
    eprint!("Start these from now on? [y/N] ");
    drop(io::stderr().flush());
    let mut line = String::new();
    let answer = io::stdin()
        .read_line(&mut line)
        .map(|_| line.trim().to_lowercase());
    match answer.as_deref() {
        Ok("y" | "yes") => Ok(()),
        _ => Err(refused("you did not agree to this file")),
    }
}

fn shown_file() -> Option<PathBuf> {
    Some(state_folder().ok()?.join(SHOWN))
}

fn read_shown() -> String {
    let text = shown_file().and_then(|path| untrusted::read_text(&path, MOST_BYTES).ok());
    text.unwrap_or_default()
}

fn was_shown(sum: &str) -> bool {
    read_shown().lines().any(|line| line == sum)
}

/// If the file cannot be written, the settings are shown again next time.
fn remember(sum: &str) {
    let Some(path) = shown_file() else { return };
    if let Some(folder) = path.parent() {
        drop(create_private(folder));
    }
    drop(replace(
        &path,
        format!("{}{sum}\n", read_shown()).as_bytes(),
    ));
}
