//! Finds the process of a row by the id that rocpd gave the process.

use std::collections::{HashMap, HashSet};

use crate::model::{ProcessId, Profile};

/// The ids that rocpd gives processes. Rows exported from its databases have the same ids.
#[derive(Debug, Default)]
pub struct RunGuids {
    /// Ids of the databases that were read.
    pub databases: HashSet<String>,
    processes: HashMap<String, ProcessId>,
}

impl RunGuids {
    /// Names the process with the id `guid`.
    pub fn insert(&mut self, guid: &str, process: ProcessId) {
        self.processes.insert(guid.to_owned(), process);
    }

    /// The process with the id `guid`. The first one of a file is the file's own process `of_file`.
    pub fn process(&mut self, guid: &str, of_file: ProcessId, profile: &mut Profile) -> ProcessId {
        // Each replay of a program has an id of its own.
        if profile.process(of_file).pass.is_some() {
            return of_file;
        }
        if let Some(known) = self.processes.get(guid) {
            return *known;
        }
        let named = self.processes.values().filter(|known| **known == of_file);
        let process = match named.count() {
            0 => of_file,
            _ => {
                let file = profile.process(of_file).clone();
                let label = format!("{} ({guid})", file.label);
                profile.process_id(&label, &file.folder, file.pass)
            }
        };
        self.insert(guid, process);
        process
    }
}
