//! Reads one file into a profile: what every format's reader is given, and what it returns.

use std::path::Path;

use serde::de::DeserializeOwned;

use super::damage::{Damage, DamageLog, FileLocation};
use super::guids::RunGuids;
use super::records::ProfileRowWriter;
use super::table::{CsvRow, CsvTable};
use super::{bounded, file_name, json};
use crate::model::{ProcessId, Profile};

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
        file_name::process(self.path, self.profile)
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
