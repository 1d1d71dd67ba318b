//! Reading what profilers wrote: one file or a whole folder, recognised by content.

mod analysis_text;
mod bounded;
mod calls;
mod columns;
mod counters;
mod csv;
mod damage;
mod detect;
mod finish;
mod json;
mod machine;
mod rocpd;
mod selection;
mod statistics;
mod summary_text;
mod table;
mod text_table;
mod trace;
mod wall_clock;

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use self::damage::DamageLog;
pub use self::damage::{Damage, Place};
use self::detect::Kind;
use self::table::Table;
use crate::profiler::model::Profile;

/// A format a profiler writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    KernelTrace,
    CounterCollection,
    ApiTrace,
    MemoryCopyTrace,
    AllocationTrace,
    ProgramCounterSamples,
    Statistics,
    Agents,
    /// One row a launch, with counters beside it: rocprof, rocprofv2, rocprof-compute.
    LaunchTable,
    /// Names of dispatches without figures.
    DispatchList,
    ComputeSystem,
    ComputeRoofline,
    ComputeAnalysis,
    ComputeDatabase,
    RocprofV3Json,
    RocprofV3Summary,
    Rocpd,
    WallClockText,
    WallClockJson,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::KernelTrace => "rocprofv3 kernel trace (CSV)",
            Format::CounterCollection => "counters, one row each (CSV)",
            Format::ApiTrace => "rocprofv3 API trace (CSV)",
            Format::MemoryCopyTrace => "rocprofv3 memory copies (CSV)",
            Format::AllocationTrace => "rocprofv3 allocations (CSV)",
            Format::ProgramCounterSamples => "rocprofv3 program counter samples (CSV)",
            Format::Statistics => "summary statistics (CSV)",
            Format::Agents => "rocprofv3 agents (CSV)",
            Format::LaunchTable => "launches with their counters (CSV)",
            Format::DispatchList => "list of dispatches (CSV)",
            Format::ComputeSystem => "rocprof-compute system description (CSV)",
            Format::ComputeRoofline => "rocprof-compute measured ceilings (CSV)",
            Format::ComputeAnalysis => "rocprof-compute analysis (text)",
            Format::ComputeDatabase => "rocprof-compute analysis (SQLite)",
            Format::RocprofV3Json => "rocprofv3 results (JSON)",
            Format::RocprofV3Summary => "rocprofv3 summary (text)",
            Format::Rocpd => "rocpd (SQLite)",
            Format::WallClockText => "rocprof-sys call tree (text)",
            Format::WallClockJson => "rocprof-sys call tree (JSON)",
        })
    }
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub path: PathBuf,
    pub format: Format,
    pub rows: u64,
}

/// A file that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    pub path: PathBuf,
    pub reason: String,
}

/// What an import found.
#[derive(Debug)]
pub struct Import {
    pub profile: Profile,
    pub taken: Vec<Taken>,
    pub passed_over: Vec<PassedOver>,
    /// Damaged places. Everything around them is in the profile.
    pub damage: Vec<Damage>,
    /// Marks of the databases read, which rows exported from them carry too.
    guids: Vec<String>,
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
        guids: Vec::new(),
    };
    for file in selection::in_order(files) {
        import.add(&file);
    }
    finish::finish(&mut import.profile);
    Ok(import)
}

impl Import {
    fn add(&mut self, path: &Path) {
        if let Some(reason) = selection::told_already(path, &self.taken) {
            self.pass_over(path, reason);
            return;
        }
        let mut log = DamageLog::default();
        let outcome = self.read(path, &mut log);
        self.damage.append(&mut log.found);
        match outcome {
            Ok(Outcome::Read(format, rows)) => {
                self.profile.sources.push(path.to_owned());
                self.taken.push(Taken {
                    path: path.to_owned(),
                    format,
                    rows,
                });
            }
            Ok(Outcome::PassOver(reason)) => self.pass_over(path, reason),
            Err(damage) => self.damage.push(damage),
        }
    }

    fn pass_over(&mut self, path: &Path, reason: impl Into<String>) {
        self.passed_over.push(PassedOver {
            path: path.to_owned(),
            reason: reason.into(),
        });
    }

    fn read(&mut self, path: &Path, log: &mut DamageLog) -> Result<Outcome, Damage> {
        let io = |error: std::io::Error| Damage::io(path, &error);
        let open = || File::open(path).map_err(io);
        let profile = &mut self.profile;
        let (format, rows) = match detect::kind(path).map_err(io)? {
            Kind::Empty => return pass_over("is empty"),
            Kind::Binary(what) => return pass_over(format!("is {what}")),
            Kind::OtherText => return pass_over("is text of no known form"),
            Kind::Csv => return self.read_csv(path, open()?, log),
            Kind::Sqlite => return self.read_database(path, log),
            Kind::Json => return self.read_json(path, open()?, log),
            Kind::WallClockText => (
                Format::WallClockText,
                wall_clock::read_text(path, open()?, profile, log)?,
            ),
            Kind::SummaryText => (
                Format::RocprofV3Summary,
                summary_text::read(path, open()?, profile, log)?,
            ),
            Kind::AnalysisText => (
                Format::ComputeAnalysis,
                analysis_text::read(path, open()?, profile, log)?,
            ),
        };
        Ok(Outcome::Read(format, rows))
    }

    fn read_csv(
        &mut self,
        path: &Path,
        file: File,
        log: &mut DamageLog,
    ) -> Result<Outcome, Damage> {
        let mut table = Table::open(path, BufReader::with_capacity(1 << 18, file))?;
        let Some(format) = csv::recognise(&table) else {
            return pass_over("is CSV with columns no profiler writes");
        };
        if format == Format::DispatchList {
            return pass_over("only lists the dispatches that pmc_perf.csv has with their figures");
        }
        if let Some(guid) = csv::guid(path)?.filter(|guid| self.guids.contains(guid)) {
            return pass_over(format!(
                "was exported from the database {guid}, which is read itself"
            ));
        }
        let process = selection::process(path, &mut self.profile);
        let rows = csv::read(&mut table, format, path, process, &mut self.profile, log)?;
        Ok(Outcome::Read(format, rows))
    }

    fn read_database(&mut self, path: &Path, log: &mut DamageLog) -> Result<Outcome, Damage> {
        let Some(database) = rocpd::open(path)? else {
            return pass_over("is an SQLite database of no known form");
        };
        let process = selection::process(path, &mut self.profile);
        self.guids.extend(database.guid.clone());
        let rows = database.read(path, process, &mut self.profile, log)?;
        Ok(Outcome::Read(database.format, rows))
    }

    fn read_json(
        &mut self,
        path: &Path,
        file: File,
        log: &mut DamageLog,
    ) -> Result<Outcome, Damage> {
        let mut head = String::new();
        let mut start = file.take(4096);
        // Only for telling formats apart; damage is found when the document is read.
        let _ = start.read_to_string(&mut head);
        let file = File::open(path).map_err(|error| Damage::io(path, &error))?;
        let profile = &mut self.profile;
        if head.contains("\"rocprofiler-sdk-tool\"") {
            let process = selection::process(path, profile);
            let rows = json::read(path, BufReader::new(file), process, profile, log)?;
            return Ok(Outcome::Read(Format::RocprofV3Json, rows));
        }
        if head.contains("\"timemory\"") && head.contains("\"wall_clock\"") {
            let rows = wall_clock::read_json(path, BufReader::new(file), profile, log)?;
            return Ok(Outcome::Read(Format::WallClockJson, rows));
        }
        pass_over("is JSON of no known form")
    }
}

enum Outcome {
    Read(Format, u64),
    PassOver(String),
}

fn pass_over(reason: impl Into<String>) -> Result<Outcome, Damage> {
    Ok(Outcome::PassOver(reason.into()))
}
