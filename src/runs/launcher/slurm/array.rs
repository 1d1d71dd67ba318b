//! Runs a series as the tasks of one job array.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{SUBMITTED, queue, resource_flags};
use crate::Launcher;
use crate::launcher::remote_end::{RemoteEnd, stream};
use crate::launcher::{launch, local_end, wrap};
use tinyllama_base::{create_private, replace, untrusted};

/// The script runs its arguments, which `sbatch` received after it.
const SCRIPT: &str = "#!/bin/sh\nexec \"$@\"\n";
const PIECES: &str = "pieces.json";
const MOST_BYTES: u64 = 16 << 20;
/// File in which the tutor's keeper finds the arrays to cancel.
pub(super) const ARRAYS: &str = "arrays";

/// Submits command lines of this program, of which at most `at_once` run at a time. Returns for each the arguments that
/// wait for it here.
pub(in crate::launcher) fn submit(
    launcher: &Launcher,
    pieces: &[Vec<OsString>],
    at_once: usize,
) -> Result<Vec<Vec<OsString>>> {
    let name = local_end::stream_name(launcher);
    let folder = stream(&name)?.path().to_path_buf();
    let broken = || format!("cannot write in {}", folder.display());
    create_private(&folder).with_context(broken)?;
    let all = pieces.iter().map(|piece| {
        let argv = piece.iter().map(|word| word.to_string_lossy());
        argv.collect::<Vec<_>>()
    });
    let all: Vec<_> = all.collect();
    replace(&folder.join(PIECES), &serde_json::to_vec(&all)?).with_context(broken)?;
    let script = folder.join("piece.sh");
    replace(&script, SCRIPT.as_bytes()).with_context(broken)?;
    let mut flags = own_flags(&folder, pieces.len(), at_once);
    flags.extend(resource_flags(&launcher.settings));
    flags.push(script.into());
    flags.extend(wrap(&launcher.settings));
    flags.extend(launch(&launcher.remote_program(), "piece"));
    flags.push(name.clone().into());
    let job = queue::submit(&flags, "")?;
    if let Some(keeper) = launcher.keeper() {
        let mut options = OpenOptions::new();
        let mut file = options
            .create(true)
            .append(true)
            .open(keeper.folder.join(ARRAYS))?;
        writeln!(file, "{job}")?;
    }
    let wait = |at: usize| {
        let mut argv = launch(&launcher.program, "wait");
        argv.push(format!("--launcher={}", launcher.json()).into());
        argv.extend([
            format!("--job={job}_{at}").into(),
            name.join(at.to_string()).into(),
        ]);
        argv
    };
    Ok((0..pieces.len()).map(wait).collect())
}

fn own_flags(folder: &Path, pieces: usize, at_once: usize) -> Vec<OsString> {
    // Slurm interprets characters after a per cent sign in file names.
    let plain = folder.to_string_lossy().replace('%', "%%");
    let own = SUBMITTED.into_iter().map(OsString::from);
    let named = [
        format!("--array=0-{}%{at_once}", pieces - 1),
        format!("--error={plain}/%a.err"),
    ];
    own.chain(named.map(OsString::from)).collect()
}

/// Runs the piece with this task's number, on the compute node.
///
/// # Errors
/// Fails if this process is not a task of an array, or its files are gone.
pub fn run_piece(name: &Path) -> Result<()> {
    let number = std::env::var("SLURM_ARRAY_TASK_ID").unwrap_or_default();
    let at: usize = number
        .parse()
        .context("this is not a task of a job array")?;
    let file = stream(name)?.path().join(PIECES);
    let pieces: Vec<Vec<String>> = untrusted::read_json(&file, MOST_BYTES)
        .with_context(|| format!("cannot read {}", file.display()))?;
    let mut pieces = pieces.into_iter();
    let argv = pieces.nth(at).context("the array has no such piece")?;
    RemoteEnd {
        stream: name.join(&number),
        folder: None,
        attended: false,
        argv: argv.into_iter().map(OsString::from).collect(),
    }
    .run()
}

/// Reads the error stream of a piece and deletes its file.
pub(in crate::launcher) fn take_errors(stream: &Path) -> Vec<u8> {
    let path: PathBuf = stream.with_extension("err");
    let text = untrusted::read(&path, MOST_BYTES).unwrap_or_default();
    // The file may not exist.
    drop(fs::remove_file(path));
    text
}
