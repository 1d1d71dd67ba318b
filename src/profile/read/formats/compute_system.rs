//! Reads rocprof-compute's `sysinfo`: one row about the machine. Every column is kept under its own name.

use super::ProfileFormat;
use crate::model::{Agent, Profile};
use crate::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprof-compute system description (CSV)",
    recognises: |file| file.has(&["gpu_arch", "command"]),
    read,
};

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let rows = reading.rows(|records, row| {
        let mut values = Vec::new();
        for (at, column) in row.columns.iter().enumerate() {
            let value = row.text_at(at)?;
            if !["", "na", "n/a"].contains(&value.to_ascii_lowercase().as_str()) {
                values.push((column.clone(), value.to_owned()));
            }
        }
        records.profile.system.extend(values);
        Ok(())
    })?;
    let profile = &mut *reading.profile;
    let command = profile.system.get("command").cloned();
    profile.commands.extend(command);
    if let Some(agent) = agent(profile) {
        profile.add_agent(agent);
    }
    Ok(rows)
}

/// Returns the one profiled GPU, which is missing from the list of agents.
fn agent(profile: &Profile) -> Option<Agent> {
    let units = profile.system.get("cu_per_gpu");
    let units = units.and_then(|units| units.parse::<f64>().ok());
    Some(Agent {
        gpu: true,
        name: profile.system.get("gpu_arch")?.clone(),
        compute_units: units
            .filter(|units| *units >= 1.0)
            .map(|units| units as u64),
        ..Agent::default()
    })
}
