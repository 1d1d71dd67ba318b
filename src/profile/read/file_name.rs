//! What a file's name and its folders tell: its form, its run, its process and its replay.

use std::path::{Path, PathBuf};

use crate::model::{ProcessId, Profile, ReplayPass};

/// The extension of a file's name in lower case.
pub fn extension(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default();
    extension.to_string_lossy().to_lowercase()
}

/// Removes the extension of a compressed file from a path.
pub fn unpacked(path: &Path) -> PathBuf {
    match extension(path).as_str() {
        "gz" => path.with_extension(""),
        _ => path.to_owned(),
    }
}

fn stem(path: &Path) -> String {
    let path = unpacked(path);
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Texts that rocprofv3 puts between the name of a run and `_trace` or `_stats`.
const DOMAINS: &str = "_kernel _hip_api _hsa_api _memory_copy _memory_allocation _scratch_memory _marker_api _rccl_api _domain";

/// Texts that rocprofv3 puts between the name of a run and the extension of other files.
const PARTS: &str =
    "_counter_collection _agent_info _pc_sampling_host_trap _pc_sampling_stochastic _results";

/// Folder and name of the run that a file belongs to.
pub fn run_of(path: &Path) -> PathBuf {
    let stem = stem(path);
    path.with_file_name(&stem[..run_length(&stem).unwrap_or(stem.len())])
}

/// Finds how many bytes at the start of a file name are the name of the run. `None` for names that rocprofv3 does not give.
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

/// The set of counters in the name of a rocprof-compute table: `pmc_perf_0` in `results_pmc_perf_0.csv`. A table with all
/// sets has `pmc_perf`.
fn counter_set(stem: &str) -> Option<&str> {
    let name = stem.strip_prefix("results_").unwrap_or(stem);
    let is_level = name.starts_with("SQ_") || name.starts_with("SQC_");
    let is_of_rocprofv3 = run_length(stem).is_some();
    (name.starts_with("pmc_perf") || is_level && !is_of_rocprofv3).then_some(name)
}

/// rocprof-compute stores the same counters in three forms: a table of each replay, the table that `analyze` makes of all,
/// and the parts that older versions joined into it. Returns the number of a table's form in this order.
pub fn form_of_counters(path: &Path) -> Option<u32> {
    let stem = stem(path);
    counter_set(&stem)?;
    match stem.as_str() {
        "pmc_perf" => Some(1),
        _ if run_length(&stem).is_some() => None,
        _ if stem.starts_with("results_") => Some(0),
        _ => Some(2),
    }
}

/// Finds the process of a file by its name, its folder and its replay.
pub fn process(path: &Path, profile: &mut Profile) -> ProcessId {
    let stem = stem(path);
    let (run, folder) = (run_of(path), path.parent().unwrap_or(Path::new("")));
    let name = run.file_name().unwrap_or_default().to_string_lossy();
    let (label, pass) = match counter_set(&stem) {
        Some(set) => {
            let set = set.get(..run_length(set).unwrap_or(set.len()));
            let name = folder.file_name().map(|name| name.to_string_lossy());
            (name, Some(pass(folder, set.unwrap_or_default())))
        }
        None => (Some(name), folder_of_pass(path)),
    };
    let folder = match &pass {
        Some(pass) => pass.workload.clone(),
        None => folder.to_string_lossy().into_owned(),
    };
    profile.process_id(&label.unwrap_or_default(), &folder, pass)
}

/// The replay in the name of a folder above the file: `pass_1` of rocprofv3, `pmc_1` and `out/pmc_perf_0` of
/// rocprof-compute.
fn folder_of_pass(path: &Path) -> Option<ReplayPass> {
    let is_pass = |name: &str| {
        let mut starts = ["pass_", "pmc_"].into_iter();
        let number = starts.find_map(|start| name.strip_prefix(start));
        let is_number = |number: &str| number.parse::<u32>().is_ok();
        number.is_some_and(is_number) || name.starts_with("pmc_perf")
    };
    path.ancestors().skip(1).find_map(|folder| {
        let name = folder.file_name()?.to_str()?;
        is_pass(name).then(|| pass(folder.parent().unwrap_or(Path::new("")), name))
    })
}

/// A replay below `folder`.
fn pass(folder: &Path, name: &str) -> ReplayPass {
    let workload = match folder.file_name() {
        Some(out) if out == "out" => folder.parent().unwrap_or(folder),
        _ => folder,
    };
    ReplayPass {
        workload: workload.to_string_lossy().into_owned(),
        name: name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(profile.process(two).pass.as_ref().unwrap().name, "pass_2");
        assert_eq!(profile.process(two).label, "908");
    }
}
