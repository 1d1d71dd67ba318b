//! Takes a sample of a file to recognise its format.

use std::cell::OnceCell;
use std::io::Read;
use std::path::Path;

use super::damage::Damage;
use super::file_name::{extension, unpacked};
use super::json::JsonOutline;
use super::table::CsvTable;
use super::{bounded, database};

/// Length of the sample in bytes. A report of rocprof-compute begins with a logo and the machine's description before its
/// first table.
const HEAD: u64 = 1 << 16;

/// The beginning of a file.
#[derive(Debug)]
pub struct FileSample<'a> {
    pub path: &'a Path,
    head: Vec<u8>,
    pub content: SampleContent,
    columns: OnceCell<Vec<String>>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum SampleContent {
    Empty,
    /// The names of its tables and views.
    Database(Vec<String>),
    Json {
        outline: JsonOutline,
        head: String,
    },
    /// Bytes that are not text: a protocol buffer, a compressed file.
    Binary,
    /// Possibly a table with commas.
    Text(String),
}

impl<'a> FileSample<'a> {
    pub fn read(path: &'a Path) -> Result<Self, Damage> {
        let mut head = Vec::new();
        let input = bounded::open(path)?;
        let is_packed = input.is_packed;
        // A damaged file may have whole records before the damage.
        if let Err(error) = input.take(HEAD).read_to_end(&mut head)
            && head.is_empty()
        {
            return Err(Damage::io(path, &error));
        }
        let content = match head.starts_with(b"SQLite format 3\0") {
            true if is_packed => SampleContent::Binary,
            true => SampleContent::Database(database::tables(path)?),
            false => content(&head),
        };
        Ok(FileSample {
            path,
            head,
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

    /// Returns whether it is text or JSON that contains all `parts`. Some tools print a line of text before their JSON.
    pub fn says_all(&self, parts: &[&str]) -> bool {
        parts.iter().all(|part| self.text().contains(part))
    }

    /// Returns whether it is text or JSON that contains one of `parts`.
    pub fn says_one(&self, parts: &[&str]) -> bool {
        parts.iter().any(|part| self.text().contains(part))
    }

    /// The lines of text or JSON that are not blank.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.text().lines().filter(|line| !line.trim().is_empty())
    }

    fn text(&self) -> &str {
        match &self.content {
            SampleContent::Json { head: text, .. } | SampleContent::Text(text) => text,
            _ => "",
        }
    }

    pub fn is_binary(&self) -> bool {
        self.content == SampleContent::Binary
    }

    pub fn starts_with(&self, bytes: &[u8]) -> bool {
        self.has_bytes_at(0, bytes)
    }

    pub fn has_bytes_at(&self, offset: usize, bytes: &[u8]) -> bool {
        self.head
            .get(offset..)
            .is_some_and(|head| head.starts_with(bytes))
    }

    pub fn is_named(&self, names: &[&str]) -> bool {
        let name = self.path.file_name();
        name.is_some_and(|name| names.iter().any(|known| name == *known))
    }

    /// Returns whether its name, without `.gz`, has one of these extensions in lower case.
    pub fn ends_in(&self, extensions: &[&str]) -> bool {
        let path = unpacked(self.path);
        extensions.contains(&extension(&path).as_str())
    }

    /// Returns whether the name of a folder above it begins with `start`.
    pub fn is_below(&self, start: &str) -> bool {
        let folders = self.path.ancestors().skip(1).filter_map(Path::file_name);
        let mut names = folders.map(|name| name.to_string_lossy());
        names.any(|name| name.starts_with(start))
    }

    /// Returns whether it is JSON with all of `keys` in its outer objects.
    pub fn has_keys(&self, keys: &[&str]) -> bool {
        matches!(&self.content, SampleContent::Json { outline, .. } if keys.iter().all(|key| outline.has(key)))
    }

    /// Reads all of a JSON document's outer keys, for a format that its beginning does not tell.
    ///
    /// # Errors
    /// Fails if the file cannot be opened.
    pub fn read_on(&mut self) -> Result<(), Damage> {
        if let SampleContent::Json { outline, .. } = &mut self.content {
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
        let mut found = self.columns().iter();
        found.any(|name| columns.contains(&name.as_str()))
    }

    /// The cells of the first row of a table with commas, in lower case. Empty if it is no such table.
    pub fn columns(&self) -> &[String] {
        self.columns.get_or_init(|| self.header())
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
}

fn content(head: &[u8]) -> SampleContent {
    if head.contains(&0) || head.starts_with(b"\x1f\x8b") {
        return SampleContent::Binary;
    }
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.is_empty() {
        SampleContent::Empty
    } else if is_json(text) {
        SampleContent::Json {
            outline: JsonOutline::read(text.as_bytes()),
            head: text.to_owned(),
        }
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
