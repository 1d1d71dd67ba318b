//! Reads the files of profilers: one file or a whole folder, recognised by content.
//!
//! A new format needs one file in [`formats`] and a line in its list.

mod bounded;
mod budget;
mod damage;
mod database;
mod durations;
mod fields;
mod finish;
pub mod formats;
mod json;
pub mod private_copy;
mod records;
mod runs;
mod sample;
mod selection;
mod table;
mod text_table;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use self::damage::DamageLog;
pub use self::damage::{Damage, FileLocation};
use self::formats::{FORMATS, ProfileFormat};
use self::records::ProfileRowWriter;
pub use self::sample::EMPTY;
use self::sample::FileSample;
use self::table::{CsvRow, CsvTable};
use crate::model::{ProcessId, Profile};
use tinyllama_base::plural;

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRead {
    pub path: PathBuf,
    pub format: &'static ProfileFormat,
    pub rows: u64,
}

impl fmt::Display for FileRead {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let (path, rows) = (self.path.display(), plural(self.rows as usize, "row"));
        write!(out, "{path}: {}, {rows}", self.format)
    }
}

/// A file that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    pub path: PathBuf,
    pub reason: String,
}

/// Files that were not read for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut<'a> {
    /// The file, or the innermost folder that holds all of them.
    pub path: &'a Path,
    pub files: usize,
    pub reason: &'a str,
}

impl LeftOut<'_> {
    /// The path, with the number of files below it if there are several.
    pub fn files(&self) -> String {
        let path = self.path.display();
        match self.files {
            1 => path.to_string(),
            several => format!("{path} ({several} files)"),
        }
    }
}

impl fmt::Display for LeftOut<'_> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}: {}", self.files(), self.reason)
    }
}

/// The result of an import.
#[derive(Debug)]
pub struct Import {
    pub profile: Profile,
    pub taken: Vec<FileRead>,
    pub passed_over: Vec<PassedOver>,
    /// Damaged places. Everything around them is in the profile.
    pub damage: Vec<Damage>,
    guids: RunGuids,
}

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

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{}: {error}", path.display())]
    Unreadable {
        path: PathBuf,
        error: std::io::Error,
    },
}

/// Reads a file, or every file below a folder.
///
/// # Errors
/// Fails if the file or folder cannot be read. A file that no format knows, or a damaged one, is part of the result.
pub fn import(path: &Path) -> Result<Import, ImportError> {
    let files = selection::files(path).map_err(|error| ImportError::Unreadable {
        path: path.to_owned(),
        error,
    })?;
    let mut import = Import {
        profile: Profile::default(),
        taken: Vec::new(),
        passed_over: Vec::new(),
        damage: Vec::new(),
        guids: RunGuids::default(),
    };
    for file in selection::in_order(files) {
        import.add(&file);
    }
    finish::finish(&mut import.profile);
    Ok(import)
}

impl Import {
    /// The files that were not read. Those with the same reason are one entry, because a thread trace has hundreds.
    pub fn left_out(&self) -> Vec<LeftOut<'_>> {
        let mut groups: Vec<LeftOut<'_>> = Vec::new();
        for PassedOver { path, reason } in &self.passed_over {
            match groups.iter_mut().find(|group| group.reason == reason) {
                Some(group) => {
                    let mut folders = group.path.ancestors();
                    let common = folders.find(|folder| path.starts_with(folder) && *folder != path);
                    group.path = common.unwrap_or(Path::new(""));
                    group.files += 1;
                }
                None => groups.push(LeftOut {
                    path,
                    files: 1,
                    reason,
                }),
            }
        }
        groups
    }

    /// Returns whether a file of this format was read.
    pub fn took(&self, format: &ProfileFormat) -> bool {
        self.taken.iter().any(|taken| taken.format == format)
    }

    fn add(&mut self, path: &Path) {
        let mut log = DamageLog::default();
        let outcome = self.read(path, &mut log);
        self.damage.append(&mut log.found);
        let path = path.to_owned();
        match outcome {
            Ok((format, rows)) => {
                self.profile.sources.push(path.clone());
                self.taken.push(FileRead { path, format, rows });
            }
            Err(ReadRefusal::PassedOver(reason)) => {
                self.passed_over.push(PassedOver { path, reason })
            }
            Err(ReadRefusal::Damaged(damage)) => self.damage.push(damage),
        }
    }

    fn read(
        &mut self,
        path: &Path,
        log: &mut DamageLog,
    ) -> Result<(&'static ProfileFormat, u64), ReadRefusal> {
        let mut sample = FileSample::read(path)?;
        let find = |sample: &FileSample<'_>| FORMATS.iter().find(|it| (it.recognises)(sample));
        let mut known = find(&sample);
        if known.is_none() {
            sample.read_on()?;
            known = find(&sample);
        }
        let format = known.ok_or_else(|| sample.refusal())?;
        if let Some(reason) = selection::told_already(path, &self.taken) {
            return Err(ReadRefusal::PassedOver(reason));
        }
        let mut reading = FileImport {
            path,
            profile: &mut self.profile,
            log,
            guids: &mut self.guids,
        };
        Ok((format, (format.read)(&mut reading)?))
    }
}

/// Why a file is not read, or not to its end.
#[derive(Debug)]
pub enum ReadRefusal {
    Damaged(Damage),
    PassedOver(String),
}

impl From<Damage> for ReadRefusal {
    fn from(damage: Damage) -> Self {
        ReadRefusal::Damaged(damage)
    }
}

/// The number of rows that were read, or the reason why not.
pub type RowCount = Result<u64, ReadRefusal>;

/// The state of reading one file into a profile.
pub struct FileImport<'a> {
    pub path: &'a Path,
    pub profile: &'a mut Profile,
    pub log: &'a mut DamageLog,
    pub guids: &'a mut RunGuids,
}

impl<'a> FileImport<'a> {
    /// The lines of the file with their numbers.
    pub fn lines(
        &self,
    ) -> Result<impl Iterator<Item = Result<(u64, String), Damage>> + use<'a>, Damage> {
        bounded::lines(self.path)
    }

    /// Reads a JSON document whose records stand at most `depth` brackets deep. Damage in it is logged.
    pub fn json<T: DeserializeOwned>(&mut self, depth: usize) -> Result<T, Damage> {
        json::read(self.path, depth, |damage| self.log.add(damage))
    }

    /// Notes a fault of a line, from the character `column` on.
    pub fn damaged_line(
        &mut self,
        line: u64,
        column: Option<u64>,
        problem: String,
    ) -> Result<(), Damage> {
        let place = FileLocation {
            column,
            ..FileLocation::line(self.path, line)
        };
        self.log.add(Damage::new(place, problem))
    }

    /// Notes a fault of a JSON record, by its array and its index in it.
    pub fn damaged_record(
        &mut self,
        array: &str,
        at: usize,
        problem: impl Into<String>,
    ) -> Result<(), Damage> {
        let place = FileLocation {
            name: Some(format!("{array}[{at}]")),
            ..FileLocation::file(self.path)
        };
        self.log.add(Damage::new(place, problem))
    }

    /// The process that the file describes.
    pub fn process(&mut self) -> ProcessId {
        selection::process(self.path, self.profile)
    }

    /// Opens the file as CSV, unless it was exported from a database that was read already.
    ///
    /// # Errors
    /// Fails if the file cannot be read, has no valid header, or was exported from such a database.
    pub fn table(&self) -> Result<CsvTable, ReadRefusal> {
        if let Some(guid) = self
            .guid()?
            .filter(|guid| self.guids.databases.contains(guid))
        {
            return Err(ReadRefusal::PassedOver(format!(
                "was exported from the database {guid}, which is read itself"
            )));
        }
        Ok(CsvTable::open(self.path)?)
    }

    /// Id of the database that a file was exported from, in its first row.
    fn guid(&self) -> Result<Option<String>, Damage> {
        let mut table = CsvTable::open(self.path)?;
        let Some(column) = table.find("guid") else {
            return Ok(None);
        };
        let row = table.next_row()?;
        row.map(|row| Ok(row.text_at(column)?.to_owned()))
            .transpose()
    }

    /// Passes every row of the CSV file to `add`, and returns how many it accepted.
    pub fn rows(
        &mut self,
        mut add: impl FnMut(&mut ProfileRowWriter<'_>, &CsvRow<'_>) -> Result<(), Damage>,
    ) -> RowCount {
        let mut table = self.table()?;
        let process = self.process();
        let mut records = ProfileRowWriter::new(self.profile, process, self.guids);
        let rows = table.for_each_row(self.log, |row| add(&mut records, row))?;
        self.profile.notes.extend(table.shortened());
        Ok(rows)
    }
}
