//! Which files of a folder are read, in which order, and which of them say the same thing twice.

use std::io;
use std::path::{Path, PathBuf};

use super::Taken;
use super::formats::TELL_ALL;
use crate::profiler::model::{ProcessId, Profile};

/// Folders deeper than this belong to something else.
const DEEPEST: usize = 8;

/// The file itself, or every file below the folder.
pub fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect(path, DEEPEST, &mut files)?;
    Ok(files)
}

fn collect(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !std::fs::metadata(path)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        // A link could lead back up.
        if !entry.file_type()?.is_symlink() {
            collect(&entry.path(), depth - 1, files)?;
        }
    }
    Ok(())
}

/// Databases first, then JSON, then the rest: the fuller form of a run is read, and the others are passed over.
pub fn in_order(mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    let rank = |path: &Path| match extension(path).as_str() {
        "db" => 0,
        "json" => 1,
        _ => 2,
    };
    files.sort_by_key(|path| (rank(path), path.clone()));
    files
}

fn extension(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default();
    extension.to_string_lossy().to_lowercase()
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// What rocprofv3 puts between the name of a run and `_trace` or `_stats`.
const DOMAINS: &str = "_kernel _hip_api _hsa_api _memory_copy _memory_allocation _scratch_memory _marker_api _rccl_api _domain";

/// What it puts between the name of a run and the extension of other files.
const PARTS: &str =
    "_counter_collection _agent_info _pc_sampling_host_trap _pc_sampling_stochastic _results";

/// Folder and name of the run a file belongs to.
fn run_of(path: &Path) -> PathBuf {
    let stem = stem(path);
    path.with_file_name(&stem[..run_length(&stem).unwrap_or(stem.len())])
}

/// Bytes of a run's name in that of a file; `None` for names that rocprofv3 does not give.
fn run_length(stem: &str) -> Option<usize> {
    let without = |parts: &str, of: &str| -> Option<usize> {
        let mut parts = parts.split(' ');
        parts.find_map(|part| Some(of.strip_suffix(part)?.len()))
    };
    let mut ends = ["_trace", "_stats"].into_iter();
    let table = ends.find_map(|end| stem.strip_suffix(end));
    let length = table.and_then(|table| without(DOMAINS, table));
    length.or_else(|| without(PARTS, stem))
}

/// Whether a file's name says which process it is about.
pub fn names_process(path: &Path) -> bool {
    run_length(&stem(path)).is_some_and(|length| length > 0)
}

/// Why a file need not be read, given those that were.
pub fn told_already(path: &Path, taken: &[Taken]) -> Option<String> {
    let run = run_of(path);
    let mut taken = taken.iter();
    let same_run = taken.find(|one| TELL_ALL.contains(one.format) && run_of(&one.path) == run)?;
    let told = same_run.path.file_name().unwrap_or_default();
    Some(format!("tells what {} told", told.to_string_lossy()))
}

/// The process a file is about, by its name and the folder of its pass.
pub fn process(path: &Path, profile: &mut Profile) -> ProcessId {
    let pass = path.iter().rev().find_map(|part| {
        let part = part.to_str()?;
        let mut starts = ["pass_", "pmc_"].into_iter();
        let number = starts.find_map(|start| part.strip_prefix(start))?;
        number.parse::<u32>().ok()
    });
    let run = run_of(path);
    let label = run.file_name().unwrap_or_default().to_string_lossy();
    profile.process_id(&label, pass)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_read_instead_of_the_csv_beside_it() {
        let files = [
            "out/a_kernel_trace.csv",
            "out/a_results.db",
            "out/b_kernel_trace.csv",
        ];
        let ordered = in_order(files.iter().map(PathBuf::from).collect());
        assert_eq!(ordered[0], Path::new("out/a_results.db"));
        let taken = [Taken {
            path: ordered[0].clone(),
            format: &super::super::formats::rocpd::FORMAT,
            rows: 1,
        }];
        assert!(told_already(Path::new("out/a_kernel_trace.csv"), &taken).is_some());
        assert!(told_already(Path::new("out/b_kernel_trace.csv"), &taken).is_none());
        assert!(told_already(Path::new("other/a_kernel_trace.csv"), &taken).is_none());
    }

    #[test]
    fn passes_and_processes_are_told_apart() {
        let mut profile = Profile::default();
        let one = process(
            Path::new("out/pass_1/908_counter_collection.csv"),
            &mut profile,
        );
        let two = process(
            Path::new("out/pass_2/908_counter_collection.csv"),
            &mut profile,
        );
        let same = process(Path::new("out/pass_1/908_kernel_trace.csv"), &mut profile);
        assert_ne!(one, two);
        assert_eq!(one, same);
        assert_eq!(profile.process(two).pass, Some(2));
        assert_eq!(profile.process(two).label, "908");
    }
}
