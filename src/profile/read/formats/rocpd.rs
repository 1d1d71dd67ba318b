//! Reads rocpd, the SQLite database that rocprofv3 writes since ROCm 7.0.
//!
//! Its tables have a unique suffix. The views without it are the stable interface, and only those are read.

use super::ProfileFormat;
use crate::read::damage::{Damage, FileLocation};
use crate::read::database::Database;
use crate::read::fields::{Field, FieldSource};
use crate::read::{FileImport, RowCount};
use itertools::Itertools;

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocpd (SQLite)",
    recognises: |file| file.has_table("rocpd_metadata"),
    read,
};

/// The schema generation whose views are read.
const SCHEMA: &str = "3";

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let database = Database::open(reading.path)?;
    check_schema(&database, reading)?;
    read_processes(&database, reading)?;
    database.for_each_row("rocpd_info_agent", reading, |records, row| {
        // Further properties in JSON. Without them the agent still has a name.
        let extra = row.text(Field::Extra)?.unwrap_or_default();
        let extra: serde_json::Value = serde_json::from_str(extra).unwrap_or_default();
        records.agent(row, extra["cu_count"].as_u64())
    })?;
    let mut rows = 0;
    rows += database.for_each_row("kernels", reading, |records, row| records.dispatch(row))?;
    rows += database.for_each_row("regions", reading, |records, row| records.call(row))?;
    rows += database.for_each_row("memory_copies", reading, |records, row| records.copy(row))?;
    rows += database.for_each_row("memory_allocations", reading, |records, row| {
        records.allocation(row)
    })?;
    rows += database.for_each_row("counters_collection", reading, |records, row| {
        records.counter(row)
    })?;
    Ok(rows)
}

/// Reads the command of each process, and names the processes of a merged database.
fn read_processes(database: &Database<'_>, reading: &mut FileImport<'_>) -> Result<(), Damage> {
    let mut labels = Vec::new();
    database.for_each_row("processes", reading, |records, row| {
        let command = row.text(Field::Command)?;
        records.profile.commands.extend(command.map(str::to_owned));
        if let Some(guid) = row.text(Field::Guid)? {
            let pid = row.unsigned(Field::Process)?.unwrap_or(0);
            let host = row.text(Field::Host)?.unwrap_or("a host");
            labels.push((guid.to_owned(), format!("pid {pid} on {host}")));
        }
        Ok(())
    })?;
    reading.guids.databases.extend(metadata(database, "guid"));
    let file = reading.process();
    let pass = reading.profile.process(file).pass.clone();
    let folder = reading.path.to_string_lossy();
    let counts = labels.iter().map(|(_, label)| label.clone()).counts();
    for (guid, label) in &labels {
        let process = match labels.len() {
            1 => file,
            // Containers on one host may use the same process number.
            _ if counts[label] > 1 => {
                let label = format!("{label} ({guid})");
                reading.profile.process_id(&label, &folder, pass.clone())
            }
            _ => reading.profile.process_id(label, &folder, pass.clone()),
        };
        reading.guids.insert(guid, process);
        reading.guids.databases.insert(guid.clone());
    }
    Ok(())
}

fn metadata(database: &Database<'_>, tag: &str) -> Option<String> {
    let query = "SELECT value FROM rocpd_metadata WHERE tag = ?1";
    let value = database
        .connection
        .query_row(query, [tag], |row| row.get(0));
    value.ok()
}

fn check_schema(database: &Database<'_>, reading: &FileImport<'_>) -> Result<(), Damage> {
    let problem = match metadata(database, "schema_version") {
        Some(version) if version.split('.').next() == Some(SCHEMA) => return Ok(()),
        Some(version) => format!(
            "has schema version {version}, and only {SCHEMA}.x is read. `rocpd convert --output-format csv` of the ROCm that wrote it makes files that are read"
        ),
        None => "names no schema version: the file is not a complete rocpd database".to_owned(),
    };
    let place = FileLocation {
        name: Some("rocpd_metadata".to_owned()),
        ..FileLocation::file(reading.path)
    };
    Err(Damage::new(place, problem))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::model::Profile;
    use crate::read::import;
    use crate::show::idle::{self, idle};
    use crate::show::launches::launch_overhead;

    fn read(name: &str) -> Profile {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let import = import(&root.join("tests/fixtures/rocpd").join(name)).unwrap();
        assert_eq!(import.damage, []);
        import.profile
    }

    fn from_tables(kernel_key: &str, call_key: &str, key: u32) -> Profile {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1_results.db");
        let statements = format!(
            "CREATE TABLE rocpd_metadata (tag, value); INSERT INTO rocpd_metadata VALUES ('schema_version', '3');
             CREATE TABLE kernels (name, start, end, queue_id, {kernel_key});
             INSERT INTO kernels VALUES ('a', 100, 200, 1, {key}), ('b', 300, 400, 1, {key});
             CREATE TABLE regions (category, name, start, end, {call_key});
             INSERT INTO regions VALUES ('HIP_RUNTIME_API', 'hipLaunchKernel', 50, 60, {key}),
                 ('HIP_RUNTIME_API', 'hipLaunchKernel', 210, 220, {key});"
        );
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch(&statements).unwrap();
        import(&path).unwrap().profile
    }

    /// Four kernels 40, 4 and 46 us apart, divided by hand: 20 us without a call, 15 of launch and 5 unknown; 4 after a
    /// kernel; 34 without a call and 12 of launch. `corr_id` is 0 in every row, as in databases of ROCm 7.1.1 and 7.2.0.
    #[test]
    fn a_call_and_its_kernel_share_the_stack_id() {
        let profile = read("stack_ids.db");
        assert_eq!(idle(&profile).by_cause(), [54_000, 27_000, 0, 4_000, 5_000]);
        let overhead = launch_overhead(&profile);
        let queueing = overhead.queueing.unwrap();
        assert_eq!((queueing.count, queueing.total_ns), (4, 116_000.0));
        assert_eq!((queueing.median_ns, queueing.p90_ns), (20_000.0, 64_000.0));
        assert_eq!(overhead.calls.unwrap().count, 3);
        let table = idle::tables(&profile)[0].render(90);
        assert!(table.contains("54.00 us"), "{table}");
        let table = overhead.table().render(90);
        assert!(table.contains("20.00 us    64.00 us  116.00 us"), "{table}");
    }

    #[test]
    fn a_marker_has_the_text_of_the_program() {
        let profile = read("stack_ids.db");
        let marked = crate::show::report::marked(&profile);
        assert_eq!(marked, [("step", (1, 204_000.0))]);
    }

    /// Both ranks use the same stack ids, and one of them is 7 us later.
    #[test]
    fn ranks_of_a_merged_database_are_paired_apart() {
        let profile = read("merged_two_ranks.db");
        let found = idle(&profile);
        assert_eq!((found.queues, found.span_ns), (2, 2 * 206_000));
        assert_eq!(found.by_cause(), [108_000, 54_000, 0, 8_000, 10_000]);
        assert_eq!(
            launch_overhead(&profile).queueing.unwrap().total_ns,
            232_000.0
        );
        let labels: Vec<&str> = profile.processes().map(|it| it.label.as_str()).collect();
        assert!(
            labels.contains(&"pid 41 on node-a") && labels.contains(&"pid 41 on node-b"),
            "{labels:?}"
        );
    }

    #[test]
    fn a_constant_pairs_nothing() {
        let keys = [
            ("corr_id", "corr_id", 0),
            ("stack_id", "stack_id", 7),
            ("queue", "stack_id", 0),
        ];
        for (kernel_key, call_key, key) in keys {
            let profile = from_tables(kernel_key, call_key, key);
            let found = idle(&profile);
            assert_eq!(found.by_cause(), [0, 0, 0, 0, 100], "{kernel_key}");
            assert!(!found.knows_calls && found.pairs_nothing);
            assert_eq!(launch_overhead(&profile).queueing, None);
            let table = &idle::tables(&profile)[0];
            assert!(
                table.notes[0].contains("no number that pairs"),
                "{:?}",
                table.notes
            );
            assert_eq!(table.rows[0][1], "not reported");
        }
    }
}
