//! Hot spots of the profiles in a run's folder, `runs/ID/profiles`.

use std::path::{Path, PathBuf};

use crate::{HotspotRow, ProfileReport};
use tinyllama_base::inside;
use tinyllama_profile::read::import;
use tinyllama_profile::show::hotspots::{GroupBy, hotspots};
use tinyllama_profile::show::idle::idle;
use tinyllama_profile::show::memory_chart::{self, MemoryChart};
use tinyllama_profile::show::parts::KernelParts;
use tinyllama_runs::FinishedRuns;
use tinyllama_session::SessionState;

/// Largest number of kernels that are listed per profile.
const MOST_KERNELS: usize = 10;

pub fn collect(state: &SessionState, runs: &FinishedRuns) -> Vec<ProfileReport> {
    let folders = state.runs.keys().flat_map(|run| {
        let found = folders(&runs.folder.join(run).join("profiles"));
        found.into_iter().map(move |folder| (run, folder))
    });
    folders
        .filter_map(|(run, folder)| profile(runs, run, &folder))
        .collect()
}

/// Lists one folder per profile. If `profiles` itself has files, it is the only one.
fn folders(profiles: &Path) -> Vec<PathBuf> {
    let entries = inside(profiles).unwrap_or_default();
    match entries.iter().any(|path| path.is_file()) {
        true => vec![profiles.to_path_buf()],
        false => entries.into_iter().filter(|path| path.is_dir()).collect(),
    }
}

fn profile(runs: &FinishedRuns, run: &str, folder: &Path) -> Option<ProfileReport> {
    let name = folder.file_name()?.to_string_lossy().into_owned();
    let report = |hotspots, total_ns, notes| {
        Some(ProfileReport {
            run: run.into(),
            folder: name,
            hotspots,
            total_ns,
            notes,
        })
    };
    let import = match import(folder) {
        Ok(import) => import,
        Err(error) => {
            let notes = vec![format!("It cannot be read: {error}")];
            return report(Vec::new(), 0.0, notes);
        }
    };
    let finished = runs.get(run).ok().flatten();
    let kernels = finished
        .iter()
        .filter_map(|run| run.reported.kernels.as_ref());
    let parts = KernelParts::of_kernels(kernels);
    let found = hotspots(&import.profile, GroupBy::ShortName, &parts);
    if found.kernels.is_empty() {
        return None;
    }
    let charts = memory_chart::charts(&import.profile, 1);
    let mut notes: Vec<String> = charts.iter().flat_map(MemoryChart::lines).collect();
    notes.extend(idle(&import.profile).line());
    if found.kernels.len() > MOST_KERNELS {
        notes.push(format!(
            "{} more kernels",
            found.kernels.len() - MOST_KERNELS
        ));
    }
    if !import.damage.is_empty() {
        notes.push(format!(
            "{} damaged places were left out",
            import.damage.len()
        ));
    }
    let rows = found
        .kernels
        .into_iter()
        .take(MOST_KERNELS)
        .map(|kernel| HotspotRow {
            kernel: kernel.name,
            part: kernel.part,
            calls: kernel.calls,
            total_ns: kernel.total_ns,
            percent: kernel.percent.0,
        });
    report(rows.collect(), found.total_ns, notes)
}
