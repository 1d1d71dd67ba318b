//! Reads CSV of profilers: columns by name, rows streamed, memory limited, every error with its place.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::bounded::{self, BoundedInput};
use super::damage::{Damage, DamageLog, FileLocation};
use super::fields::{self, Field, FieldColumns};
use crate::model::TimeSpan;

/// Limit of one row. Kernel names have up to kilobytes, and the widest rows 30 KB. A longer row has an open quote.
const LONGEST_ROW: usize = 4 << 20;
const MOST_COLUMNS: usize = 1 << 16;

/// A CSV file with a header.
pub struct CsvTable {
    path: PathBuf,
    input: BufReader<BoundedInput>,
    parser: csv_core::Reader,
    /// Fields of the current row, one after the other, and the end of each.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    pub columns: Vec<String>,
    /// Names in the file's spelling.
    pub headers: Vec<String>,
    fields: FieldColumns,
    /// Fields that every row has. More, up to the header's number, are allowed.
    pub least_width: usize,
    /// Line of the next byte of `input`.
    line: u64,
    /// True if a line says that rows were left out.
    is_shortened: bool,
}

impl CsvTable {
    pub fn open(path: &Path) -> Result<Self, Damage> {
        let mut table = CsvTable::new(path)?;
        table.read_header()?;
        Ok(table)
    }

    /// Takes the next row as the header.
    pub fn read_header(&mut self) -> Result<(), Damage> {
        let headers = self.next_row()?.map_or_else(Vec::new, |row| row.headers());
        self.set_headers(headers);
        Ok(())
    }

    /// Opens the table below other lines. Returns `None` if no line is its header.
    pub fn open_below(path: &Path, is_header: fn(&str) -> bool) -> Result<Option<Self>, Damage> {
        let mut table = CsvTable::new(path)?;
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut input = (&mut table.input).take(LONGEST_ROW as u64);
            let read = input.read_until(b'\n', &mut line);
            if read.map_err(|error| Damage::io(path, &error))? == 0 {
                return Ok(None);
            }
            table.line += u64::from(line.ends_with(b"\n"));
            if is_header(&String::from_utf8_lossy(&line)) {
                break;
            }
        }
        let mut parser = csv::ReaderBuilder::new();
        let mut parser = parser.has_headers(false).from_reader(line.as_slice());
        let headers = parser.byte_records().next().and_then(Result::ok);
        let headers = headers.unwrap_or_default();
        let headers = headers.iter().map(|name| String::from_utf8_lossy(name));
        table.set_headers(headers.map(|name| name.trim().to_owned()).collect());
        Ok(Some(table))
    }

    fn new(path: &Path) -> Result<Self, Damage> {
        Ok(CsvTable {
            path: path.to_owned(),
            input: BufReader::with_capacity(1 << 18, bounded::open(path)?),
            parser: csv_core::Reader::new(),
            bytes: vec![0; 1 << 12],
            ends: vec![0; 64],
            columns: Vec::new(),
            headers: Vec::new(),
            fields: FieldColumns::default(),
            least_width: 0,
            line: 1,
            is_shortened: false,
        })
    }

    fn set_headers(&mut self, headers: Vec<String>) {
        self.columns = headers.iter().map(|header| normalised(header)).collect();
        self.fields = FieldColumns::from_names(&self.columns);
        self.least_width = headers.len();
        self.headers = headers;
    }

    /// Returns whether the rows have a field.
    pub fn has(&self, field: Field) -> bool {
        self.fields.column_of(field).is_some()
    }

    /// Index of the column called `name`.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Message about a table in which `...` stands for rows.
    pub fn shortened(&self) -> Option<String> {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        let note =
            || format!("{file} has lines of `...`: rows are left out, and sums are too small");
        self.is_shortened.then(note)
    }

    /// Passes every row of the header's width to `add`, and returns how many it accepted. The others are damage.
    pub fn for_each_row(
        &mut self,
        log: &mut DamageLog,
        mut add: impl FnMut(&CsvRow<'_>) -> Result<(), Damage>,
    ) -> Result<u64, Damage> {
        let mut rows = 0;
        loop {
            let row = match self.next_row() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(rows),
                Err(damage) if rows == 0 => return Err(damage),
                // The file ends here, and what stands before is whole.
                Err(damage) => {
                    log.found.push(damage);
                    return Ok(rows);
                }
            };
            if row.stands_for_others() {
                self.is_shortened = true;
                continue;
            }
            // Messages of Nsight Compute stand among its rows.
            if row.bytes(0).starts_with(b"==") {
                continue;
            }
            match row.check_width().and_then(|()| add(&row)) {
                Ok(()) => rows += 1,
                Err(damage) => log.add(damage)?,
            }
        }
    }

    /// Returns the next row, or `None` after the last. After an `Err` the rest of the file cannot be parsed.
    pub fn next_row(&mut self) -> Result<Option<CsvRow<'_>>, Damage> {
        self.skip_line_ends()?;
        let line = self.line;
        let too_large = |problem| Damage::new(FileLocation::line(&self.path, line), problem);
        let (mut length, mut fields) = (0, 0);
        loop {
            let input = self.input.fill_buf();
            let input = input.map_err(|error| Damage::io(&self.path, &error))?;
            let (result, consumed, written, ended) =
                self.parser
                    .read_record(input, &mut self.bytes[length..], &mut self.ends[fields..]);
            self.line += memchr::memchr_iter(b'\n', &input[..consumed]).count() as u64;
            self.input.consume(consumed);
            length += written;
            fields += ended;
            match result {
                csv_core::ReadRecordResult::InputEmpty => {}
                csv_core::ReadRecordResult::OutputFull => {
                    let problem =
                        "a row is longer than 4 MiB; a quotation mark was probably left open";
                    make_room(&mut self.bytes, LONGEST_ROW).ok_or_else(|| too_large(problem))?;
                }
                csv_core::ReadRecordResult::OutputEndsFull => {
                    let problem = "a row has more than 65536 fields";
                    make_room(&mut self.ends, MOST_COLUMNS).ok_or_else(|| too_large(problem))?;
                }
                csv_core::ReadRecordResult::Record => break,
                csv_core::ReadRecordResult::End => return Ok(None),
            }
        }
        Ok(Some(CsvRow {
            path: &self.path,
            line,
            bytes: &self.bytes[..length],
            ends: &self.ends[..fields],
            columns: &self.columns,
            fields: &self.fields,
            least_width: self.least_width,
        }))
    }

    /// The parser would skip them too, but then the row's line number would be unknown.
    fn skip_line_ends(&mut self) -> Result<(), Damage> {
        loop {
            let input = self.input.fill_buf();
            let input = input.map_err(|error| Damage::io(&self.path, &error))?;
            match input.first() {
                Some(b'\n') => self.line += 1,
                Some(b'\r') => {}
                _ => return Ok(()),
            }
            self.input.consume(1);
        }
    }
}

/// Doubles the buffer, but not beyond `most`.
fn make_room<T: Clone + Default>(places: &mut Vec<T>, most: usize) -> Option<()> {
    let length = places.len();
    (length < most).then(|| places.resize(length * 2, T::default()))
}

/// The name of a column as [`Field`] has it.
pub fn normalised(header: &str) -> String {
    header.to_lowercase().replace([' ', '-'], "_")
}

/// A row of a [`CsvTable`].
pub struct CsvRow<'a> {
    path: &'a Path,
    line: u64,
    bytes: &'a [u8],
    ends: &'a [usize],
    pub columns: &'a [String],
    fields: &'a FieldColumns,
    least_width: usize,
}

impl<'a> CsvRow<'a> {
    /// Returns whether the row is a mark for rows that were left out in print.
    fn stands_for_others(&self) -> bool {
        let is_dots = |text: &str| matches!(text.trim(), "..." | "\u{2026}");
        self.ends.len() == 1 && std::str::from_utf8(self.bytes(0)).is_ok_and(is_dots)
    }

    /// Texts of the first row.
    fn headers(&self) -> Vec<String> {
        let text = |column| String::from_utf8_lossy(self.bytes(column));
        let columns = 0..self.ends.len();
        columns
            .map(|column| text(column).trim().to_owned())
            .collect()
    }

    /// Returns an error unless the row has as many fields as its table needs and its header names.
    fn check_width(&self) -> Result<(), Damage> {
        if (self.least_width..=self.columns.len()).contains(&self.ends.len()) {
            return Ok(());
        }
        let place = FileLocation {
            column: Some(self.ends.len() as u64),
            ..FileLocation::line(self.path, self.line)
        };
        let (found, named) = (self.ends.len(), self.columns.len());
        let problem = match found < named {
            true => "the file was probably cut off here: profile again, and let the program finish",
            false => "a name with a comma is probably not quoted",
        };
        let problem =
            format!("the row has {found} fields where the header names {named}; {problem}");
        Err(Damage::new(place, problem))
    }

    /// Bytes of a field. Empty if the row has no such field.
    fn bytes(&self, column: usize) -> &'a [u8] {
        let start = match column {
            0 => 0,
            _ => self.ends.get(column - 1).copied().unwrap_or(0),
        };
        let end = self.ends.get(column).copied().unwrap_or(start);
        self.bytes.get(start..end).unwrap_or_default()
    }

    pub fn text_at(&self, column: usize) -> Result<&'a str, Damage> {
        std::str::from_utf8(self.bytes(column))
            .map(str::trim)
            .map_err(|_| self.damage(column, "is not UTF-8 text".to_owned()))
    }

    /// Returns a whole number. It may have a fraction, an exponent, or the form of hex or `Agent 4`. `None` for an empty
    /// field.
    pub fn whole_at(&self, column: usize) -> Result<Option<u64>, Damage> {
        let bytes = self.bytes(column);
        if let Some(number) = decimal(bytes) {
            return Ok(Some(number));
        }
        let text = self.text_at(column)?;
        let text = text.strip_prefix("Agent ").unwrap_or(text);
        if text.is_empty() {
            return Ok(None);
        }
        if let Some(hex) = text.strip_prefix("0x") {
            let problem = |_| format!("`{}` is not a hexadecimal number", shown(text));
            let number = u64::from_str_radix(hex, 16).map(Some).map_err(problem);
            return number.map_err(|problem| self.damage(column, problem));
        }
        match text.parse::<f64>() {
            // The largest float below 2^63.
            Ok(number) if (0.0..=9.223_372_036_854_775e18).contains(&number) => {
                Ok(Some(number.round() as u64))
            }
            _ => {
                let problem = format!("`{}` is not a number from 0 to 2^63", shown(text));
                Err(self.damage(column, problem))
            }
        }
    }

    /// Returns a finite number. `None` for an empty field, `N/A` and `nan`, which profilers write for "no value".
    pub fn number_at(&self, column: usize) -> Result<Option<f64>, Damage> {
        if let Some(number) = decimal(self.bytes(column)) {
            return Ok(Some(number as f64));
        }
        let text = self.text_at(column)?;
        if text.is_empty() || text.eq_ignore_ascii_case("n/a") || text.eq_ignore_ascii_case("nan") {
            return Ok(None);
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(self.damage(column, format!("`{}` is not a finite number", shown(text)))),
        }
    }

    /// Returns the text in the column called `name`. Empty if there is no such column.
    pub fn text_of(&self, name: &str) -> Result<&'a str, Damage> {
        let column = self.columns.iter().position(|column| column == name);
        column.map_or(Ok(""), |column| self.text_at(column))
    }

    /// Returns whether a number has an exponent, as spreadsheets write it when they round.
    fn is_rounded(&self, field: Field) -> bool {
        let bytes = self
            .fields
            .column_of(field)
            .map(|column| self.bytes(column));
        bytes.is_some_and(|bytes| bytes.iter().any(|b| matches!(b, b'e' | b'E')))
    }

    pub fn damage(&self, column: usize, problem: String) -> Damage {
        let place = FileLocation {
            column: Some(column as u64 + 1),
            name: self.columns.get(column).cloned(),
            ..FileLocation::line(self.path, self.line)
        };
        Damage::new(place, problem)
    }
}

impl fields::FieldSource for CsvRow<'_> {
    type Problem = Damage;

    fn has(&self, field: Field) -> bool {
        self.fields.column_of(field).is_some()
    }

    fn text(&self, field: Field) -> Result<Option<&str>, Damage> {
        let column = self.fields.column_of(field);
        column.map(|column| self.text_at(column)).transpose()
    }

    fn unsigned(&self, field: Field) -> Result<Option<u64>, Damage> {
        let column = self.fields.column_of(field);
        column.map_or(Ok(None), |column| self.whole_at(column))
    }

    fn number(&self, field: Field) -> Result<Option<f64>, Damage> {
        let column = self.fields.column_of(field);
        column.map_or(Ok(None), |column| self.number_at(column))
    }

    fn stamp(&self, field: Field) -> Result<Option<i64>, Damage> {
        let stamp = self.unsigned(field)?;
        let no_time =
            |stamp| self.problem(field, format!("`{stamp}` is not a time in nanoseconds"));
        stamp
            .map(|stamp| i64::try_from(stamp).map_err(|_| no_time(stamp)))
            .transpose()
    }

    fn problem(&self, field: Field, problem: String) -> Damage {
        self.damage(self.fields.column_of(field).unwrap_or(0), problem)
    }

    fn exact_time(&self) -> Result<Option<TimeSpan>, Damage> {
        let is_rounded = self.is_rounded(Field::Start) || self.is_rounded(Field::End);
        Ok(self.time()?.filter(|_| !is_rounded))
    }
}

/// Reads at most 18 digits and nothing else. Nearly every field has this form, so this is the fast path.
fn decimal(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() || bytes.len() > 18 {
        return None;
    }
    bytes.iter().try_fold(0u64, |number, &byte| {
        (byte.is_ascii_digit()).then(|| number * 10 + u64::from(byte - b'0'))
    })
}

/// Shortens a text for a message.
pub fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
