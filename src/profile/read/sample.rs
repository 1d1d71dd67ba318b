//! Takes a sample of a file to recognise its format.

use std::cell::OnceCell;
use std::io::Read;
use std::path::Path;

use super::damage::Damage;
use super::json::JsonOutline;
use super::table::CsvTable;
use super::{ReadRefusal, bounded, database};

/// Length of the sample in bytes. A report of rocprof-compute begins with a logo and the machine's description before its
/// first table.
const HEAD: u64 = 1 << 16;

/// First bytes of files that are not text, with the kind of file and what to do.
const BINARIES: &[(&[u8], &str)] = &[
    (
        b"\x1f\x8b",
        "compressed with gzip twice: unpack it with gunzip and import the result",
    ),
    (b"%PDF", "a PDF"),
    (
        b"NVR\0",
        "a report of Nsight Compute: write its table with `ncu --import FILE --csv --page raw` and import that",
    ),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
    (
        b"\x28\xb5\x2f\xfd",
        "compressed with zstd: unpack it with unzstd and import the result",
    ),
    (
        b"PK\x03\x04",
        "a zip archive: unpack it and import the result",
    ),
];

const PACKED_DATABASE: &str =
    "an SQLite database compressed with gzip: unpack it with gunzip and import the result";

/// Offset and text of the mark in a tar archive.
const TAR: (usize, &[u8]) = (257, b"ustar");

const UTF_16: &str = "text in UTF-16: save it as UTF-8 and import the result";

/// The beginning of a file.
#[derive(Debug)]
pub struct FileSample<'a> {
    path: &'a Path,
    pub content: SampleContent,
    columns: OnceCell<Vec<String>>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum SampleContent {
    Empty,
    /// The names of its tables and views.
    Database(Vec<String>),
    Json(JsonOutline),
    /// Bytes that are not text: a protocol buffer, a PDF, a compressed file.
    Binary(&'static str),
    /// Possibly a table with commas.
    Text(String),
}

impl<'a> FileSample<'a> {
    pub fn read(path: &'a Path) -> Result<Self, Damage> {
        let mut head = Vec::new();
        let input = bounded::open(path)?;
        let is_packed = input.is_packed();
        // A damaged file may have whole records before the damage.
        if let Err(error) = input.take(HEAD).read_to_end(&mut head)
            && head.is_empty()
        {
            return Err(Damage::io(path, &error));
        }
        let content = match head.starts_with(b"SQLite format 3\0") {
            true if is_packed => SampleContent::Binary(PACKED_DATABASE),
            true => SampleContent::Database(database::tables(path)?),
            false => content(&head),
        };
        Ok(FileSample {
            path,
            content,
            columns: OnceCell::new(),
        })
    }

    /// Returns whether it is text, not JSON, that contains all `parts`.
    pub fn contains_all(&self, parts: &[&str]) -> bool {
        matches!(&self.content, SampleContent::Text(text) if parts.iter().all(|part| text.contains(part)))
    }

    /// Returns whether it is text, not JSON, with a line for which `is_wanted` holds.
    pub fn has_line(&self, is_wanted: fn(&str) -> bool) -> bool {
        matches!(&self.content, SampleContent::Text(text) if text.lines().any(is_wanted))
    }

    /// Returns whether it is JSON with all of `keys` in its outer objects.
    pub fn has_keys(&self, keys: &[&str]) -> bool {
        matches!(&self.content, SampleContent::Json(outline) if keys.iter().all(|key| outline.has(key)))
    }

    /// Reads all of a JSON document's outer keys, for a format that its beginning does not tell.
    ///
    /// # Errors
    /// Fails if the file cannot be opened.
    pub fn read_on(&mut self) -> Result<(), Damage> {
        if let SampleContent::Json(outline) = &mut self.content {
            *outline = JsonOutline::read(bounded::open(self.path)?);
        }
        Ok(())
    }

    /// Returns whether it is a database with this table.
    pub fn has_table(&self, name: &str) -> bool {
        matches!(&self.content, SampleContent::Database(tables) if tables.iter().any(|table| table == name))
    }

    /// Returns whether it is a table with commas and all of `columns`.
    pub fn has(&self, columns: &[&str]) -> bool {
        columns.iter().all(|column| self.has_one_of(&[column]))
    }

    pub fn has_one_of(&self, columns: &[&str]) -> bool {
        let found = self.columns.get_or_init(|| self.header());
        found.iter().any(|name| columns.contains(&name.as_str()))
    }

    pub fn names_kernels(&self) -> bool {
        self.has_one_of(&["kernel_name", "kernelname"])
    }

    pub fn is_timed(&self) -> bool {
        self.has_one_of(&["start_timestamp", "beginns"])
    }

    pub fn is_csv(&self) -> bool {
        matches!(&self.content, SampleContent::Text(text) if text.lines().next().is_some_and(|line| line.contains(',')))
    }

    fn header(&self) -> Vec<String> {
        let table = self.is_csv().then(|| CsvTable::open(self.path));
        let table = table.and_then(Result::ok);
        table.map_or_else(Vec::new, |table| table.columns)
    }

    /// The reason to refuse it if no format knows it.
    pub fn unknown(&self) -> ReadRefusal {
        let reason = match &self.content {
            SampleContent::Empty => "is empty".to_owned(),
            SampleContent::Binary(what) => format!("is {what}"),
            SampleContent::Database(_) => "is an SQLite database of an unknown form".to_owned(),
            SampleContent::Json(_) => "is JSON of an unknown form".to_owned(),
            SampleContent::Text(_) if self.is_csv() => match CsvTable::open(self.path) {
                Ok(_) => "is CSV with columns that no profiler writes".to_owned(),
                Err(damage) => return damage.into(),
            },
            SampleContent::Text(_) => "is text of an unknown form".to_owned(),
        };
        ReadRefusal::PassedOver(reason)
    }
}

fn content(head: &[u8]) -> SampleContent {
    if let Some((_, what)) = BINARIES.iter().find(|(start, _)| head.starts_with(start)) {
        return SampleContent::Binary(what);
    }
    if head
        .get(TAR.0..)
        .is_some_and(|head| head.starts_with(TAR.1))
    {
        return SampleContent::Binary("an archive of tar: unpack it and import the folder");
    }
    if head.contains(&0) {
        return SampleContent::Binary(
            "binary; a Perfetto trace (.pftrace, .proto) opens in ui.perfetto.dev",
        );
    }
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.is_empty() {
        SampleContent::Empty
    } else if is_json(text) {
        SampleContent::Json(JsonOutline::read(text.as_bytes()))
    } else {
        SampleContent::Text(text.to_owned())
    }
}

/// Returns whether a text begins as JSON. Programs also print lines such as `[INFO] ...`.
fn is_json(text: &str) -> bool {
    let begins = |text: &str, starts: &[char]| text.trim_start().starts_with(starts);
    match text.split_at_checked(1) {
        Some(("{", rest)) => begins(rest, &['"', '}']) || rest.trim_start().is_empty(),
        Some(("[", rest)) => begins(rest, &['{', '[', '"', ']']) || rest.trim_start().is_empty(),
        _ => false,
    }
}
