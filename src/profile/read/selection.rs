//! Decides which files of a folder are read, in which order, and which of them repeat others.

use std::io;
use std::path::{Path, PathBuf};

use super::file_name::{extension, form_of_counters, run_of, unpacked};
use super::formats::{COUNTERS, WHOLE_RUNS};
use super::outcome::FileRead;

/// Deeper folders belong to something else.
const DEEPEST: usize = 8;

/// Returns the file itself, or every file below the folder.
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

/// Sorts databases first, then JSON, then the rest. So the fullest form of a run is read, and the others are ignored.
pub fn in_order(mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    let rank = |path: &Path| {
        let plain = unpacked(path);
        let kind = match extension(&plain).as_str() {
            "db" => 0,
            "json" => 1,
            _ => 2,
        };
        (kind, form_of_counters(path).unwrap_or(0), plain != path)
    };
    files.sort_by_key(|path| (rank(path), path.clone()));
    files
}

/// Why a file need not be read, given the files that were read.
pub fn told_already(path: &Path, taken: &[FileRead]) -> Option<String> {
    let run = run_of(path);
    let plain = unpacked(path);
    let form = form_of_counters(path);
    let is_repeated = |one: &&FileRead| {
        let is_fuller = || {
            let other = form_of_counters(&one.path);
            COUNTERS.contains(one.format) && other.zip(form).is_some_and(|(a, b)| a < b)
        };
        WHOLE_RUNS.contains(one.format) && run_of(&one.path) == run
            || unpacked(&one.path) == plain
            || one.path.parent() == path.parent() && is_fuller()
    };
    let other = taken.iter().find(is_repeated)?;
    let other = other.path.file_name().unwrap_or_default();
    Some(format!("tells what {} told", other.to_string_lossy()))
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
        let taken = [FileRead {
            path: ordered[0].clone(),
            format: &super::super::formats::rocpd::FORMAT,
            rows: 1,
        }];
        assert!(told_already(Path::new("out/a_kernel_trace.csv"), &taken).is_some());
        assert!(told_already(Path::new("out/b_kernel_trace.csv"), &taken).is_none());
        assert!(told_already(Path::new("other/a_kernel_trace.csv"), &taken).is_none());
    }
}
