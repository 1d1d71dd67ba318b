//! The formats that can be read, one file each; tables of rocprofv3 that are read row by row share one.

mod analysis_database;
mod analysis_tables;
mod analysis_text;
mod compute_ceilings;
mod compute_system;
pub mod event_trace;
mod first_rocprof;
mod format;
mod instructions;
mod kernel_top;
mod launches;
mod nsight_compute;
mod nsight_source;
pub mod refused;
pub mod rocpd;
mod rocprofv3_json;
mod rocprofv3_tables;
mod statistics;
mod summary_text;
mod thread_trace;
mod wall_clock;

pub use self::format::ProfileFormat;

/// All formats. No file is recognised by two of them.
pub static FORMATS: &[ProfileFormat] = &[
    rocpd::FORMAT,
    first_rocprof::FORMAT,
    analysis_database::FORMAT,
    analysis_tables::KERNELS,
    analysis_tables::METRICS,
    analysis_tables::SAMPLES,
    analysis_tables::SOURCES,
    analysis_tables::INSTRUCTIONS,
    analysis_tables::ROOFLINES,
    rocprofv3_json::FORMAT,
    event_trace::FORMAT,
    nsight_source::FORMAT,
    nsight_compute::FORMAT,
    wall_clock::JSON,
    wall_clock::TEXT,
    summary_text::FORMAT,
    analysis_text::FORMAT,
    kernel_top::FORMAT,
    rocprofv3_tables::COUNTERS,
    rocprofv3_tables::KERNELS,
    launches::FORMAT,
    rocprofv3_tables::CALLS,
    rocprofv3_tables::COPIES,
    rocprofv3_tables::ALLOCATIONS,
    statistics::FORMAT,
    rocprofv3_tables::AGENTS,
    instructions::FORMAT,
    thread_trace::FORMAT,
    compute_system::FORMAT,
    compute_ceilings::FORMAT,
];

/// Formats with all of a run. Its other files need not be read.
pub static WHOLE_RUNS: &[ProfileFormat] =
    &[rocpd::FORMAT, first_rocprof::FORMAT, rocprofv3_json::FORMAT];

/// Launches with their counters, which rocprof-compute stores in several forms.
pub static COUNTERS: &[ProfileFormat] = &[rocprofv3_tables::COUNTERS, launches::FORMAT];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::read::sample::FileSample;

    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .flat_map(|path| match path.is_dir() {
                true => files(&path),
                false => vec![path],
            })
            .collect()
    }

    /// So the order of [`FORMATS`] decides nothing.
    #[test]
    fn no_fixture_is_recognised_by_two_formats() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
        let (mut known, mut clashes) = (0, vec![]);
        for path in files(&fixtures) {
            let Ok(sample) = FileSample::read(&path) else {
                continue;
            };
            let formats = FORMATS.iter().filter(|format| (format.recognises)(&sample));
            let names: Vec<&str> = formats.map(|format| format.name).collect();
            known += names.len();
            if names.len() > 1 {
                clashes.push(format!("{}: {names:?}", path.display()));
            }
        }
        assert!(known > FORMATS.len(), "{known} fixtures are known");
        assert!(clashes.is_empty(), "{}", clashes.join("\n"));
    }
}
