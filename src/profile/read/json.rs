//! Reads JSON documents. Of a damaged one, everything that is whole before the damage is kept.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Read};
use std::path::Path;

use serde::de::DeserializeOwned;

use super::bounded::{self, LongestRun};
use super::damage::{Damage, FileLocation};

/// Follows strings and brackets through a JSON text.
#[derive(Clone, Debug, Default)]
struct JsonScanner {
    /// The brackets that are open: `{` or `[`.
    open: Vec<u8>,
    in_string: bool,
    is_escaped: bool,
}

/// What a byte means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JsonByte {
    Text,
    Quote,
    Open,
    Close,
    Other,
}

impl JsonScanner {
    fn step(&mut self, byte: u8) -> JsonByte {
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => {
                    self.in_string = false;
                    return JsonByte::Quote;
                }
                _ => {}
            }
            return JsonByte::Text;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                JsonByte::Quote
            }
            b'{' | b'[' => {
                self.open.push(byte);
                JsonByte::Open
            }
            b'}' | b']' => {
                self.open.pop();
                JsonByte::Close
            }
            _ => JsonByte::Other,
        }
    }
}

/// The keys of a document's outer objects, wherever they stand.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct JsonOutline {
    keys: BTreeSet<String>,
}

/// Objects deeper than this have keys that say nothing about the document.
const OUTER: usize = 2;

/// A document with more outer keys is a dictionary, and they are no names of a format.
const MOST_KEYS: usize = 1000;

/// Longer keys are no names of a format.
const LONGEST_KEY: usize = 100;

impl JsonOutline {
    /// Reads to the end, or to the first damage.
    pub fn read(input: impl Read) -> Self {
        let mut outline = JsonOutline::default();
        let mut scanner = JsonScanner::default();
        let mut text = Vec::new();
        let bytes = io::BufReader::with_capacity(1 << 16, input).bytes();
        for byte in bytes.map_while(Result::ok) {
            let meaning = scanner.step(byte);
            if scanner.open.len() > OUTER || outline.keys.len() >= MOST_KEYS {
                continue;
            }
            match meaning {
                JsonByte::Quote if scanner.in_string => text.clear(),
                JsonByte::Text if text.len() <= LONGEST_KEY => text.push(byte),
                JsonByte::Other if byte == b':' && text.len() <= LONGEST_KEY => {
                    let key = String::from_utf8_lossy(&text).into_owned();
                    outline.keys.insert(key);
                }
                _ => {}
            }
        }
        outline
    }

    pub fn has(&self, key: &str) -> bool {
        self.keys.contains(key)
    }
}

/// Reads a document whose records stand at most `depth` brackets deep. If it is damaged, `report` gets the damage, and the
/// document ends with the last record before it.
///
/// # Errors
/// Fails if the file cannot be opened, or if no record in it is whole.
pub fn read<T: DeserializeOwned>(
    path: &Path,
    depth: usize,
    report: impl FnOnce(Damage) -> Result<(), Damage>,
) -> Result<T, Damage> {
    let input = LongestRun::new(bounded::open(path)?, b'"');
    let mut fault = match serde_json::from_reader(input) {
        Ok(document) => return Ok(document),
        Err(error) => damage(path, &error),
    };
    // A record that is only whole up to some inner bracket may lack what the document needs.
    for depth in (1..=depth).rev() {
        let mut found = whole_records(path, depth, None)?;
        if let Err(error) = &found {
            let end = (error.line() as u64, error.column() as u64);
            found = whole_records(path, depth, Some(end))?;
        }
        if let Ok((document, was_cut)) = found {
            if was_cut {
                fault.problem += "; what is whole before it is read";
                report(fault)?;
            }
            return Ok(document);
        }
    }
    Err(fault)
}

fn damage(path: &Path, error: &serde_json::Error) -> Damage {
    let place = FileLocation {
        column: Some(error.column() as u64),
        ..FileLocation::line(path, error.line() as u64)
    };
    let is_unpacking = error.io_error_kind() == Some(io::ErrorKind::UnexpectedEof);
    match error.is_eof() || is_unpacking {
        true => {
            let hint = "the file was cut off: profile again, and let the program finish";
            Damage::new(place, format!("{error} ({hint})"))
        }
        false => Damage::new(place, error.to_string()),
    }
}

/// Parses the records before `end`, a line and a column. Returns also whether something was left out.
fn whole_records<T: DeserializeOwned>(
    path: &Path,
    depth: usize,
    end: Option<(u64, u64)>,
) -> Result<serde_json::Result<(T, bool)>, Damage> {
    let mut input = WholeRecords {
        input: LongestRun::new(bounded::open(path)?, b'"'),
        depth,
        end,
        position: (1, 0),
        scanner: JsonScanner::default(),
        is_in_token: false,
        pending: Vec::new(),
        ready: Vec::new(),
        taken: 0,
        open: Vec::new(),
        has_record: false,
        is_at_end: false,
        was_cut: false,
    };
    let document = serde_json::from_reader(&mut input);
    Ok(document.map(|document| (document, input.was_cut)))
}

/// A record with more bytes is not kept.
const LONGEST_RECORD: usize = 16 << 20;

/// Passes the whole records of a document on and closes it after the last one. Mends what some programs write beyond JSON:
/// `NaN`, `Infinity`, and single backslashes and line breaks in strings.
struct WholeRecords<R> {
    input: R,
    depth: usize,
    end: Option<(u64, u64)>,
    position: (u64, u64),
    scanner: JsonScanner,
    /// True within `NaN` or `Infinity`.
    is_in_token: bool,
    /// Bytes since the last whole record.
    pending: Vec<u8>,
    ready: Vec<u8>,
    /// Number of bytes of `ready` that were passed on.
    taken: usize,
    /// The brackets that are open after `ready`.
    open: Vec<u8>,
    has_record: bool,
    is_at_end: bool,
    was_cut: bool,
}

impl<R: BufRead> WholeRecords<R> {
    fn read_on(&mut self) {
        let chunk = match self.input.fill_buf() {
            Ok(chunk) => chunk.to_vec(),
            Err(_) => {
                self.was_cut = true;
                Vec::new()
            }
        };
        self.input.consume(chunk.len());
        for byte in &chunk {
            let (line, column) = self.position;
            self.position = match byte {
                b'\n' => (line + 1, 0),
                _ => (line, column + 1),
            };
            let is_past_end = self.end.is_some_and(|end| (line, column + 1) >= end);
            if is_past_end || self.pending.len() > LONGEST_RECORD {
                self.was_cut = true;
                return self.close();
            }
            self.add(*byte);
        }
        if chunk.is_empty() {
            self.close();
        }
    }

    fn add(&mut self, byte: u8) {
        let was_escaped = self.scanner.is_escaped;
        let meaning = self.scanner.step(byte);
        self.is_in_token &= byte.is_ascii_alphabetic();
        match meaning {
            JsonByte::Other if self.is_in_token => return,
            JsonByte::Other if matches!(byte, b'N' | b'I') => {
                self.is_in_token = true;
                self.pending.pop_if(|last| *last == b'-');
                self.pending.extend(b"null");
                return;
            }
            JsonByte::Text if was_escaped && !br#""\/bfnrtu"#.contains(&byte) => {
                self.pending.extend([b'\\', byte]);
            }
            JsonByte::Text if byte < b' ' => self.pending.push(b' '),
            _ => self.pending.push(byte),
        }
        if meaning == JsonByte::Close && self.scanner.open.len() <= self.depth {
            self.ready.append(&mut self.pending);
            self.open.clone_from(&self.scanner.open);
            self.has_record = true;
        }
    }

    /// Ends the document after its last whole record.
    fn close(&mut self) {
        self.is_at_end = true;
        let is_rest = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
        // A list of events may end without its bracket.
        let is_whole = matches!(self.scanner.open.as_slice(), [] | [b'['])
            && self.pending.iter().all(is_rest)
            && self.has_record;
        self.was_cut |= !is_whole;
        let brackets = self.open.iter().rev();
        let brackets = brackets.map(|open| if *open == b'{' { b'}' } else { b']' });
        self.ready.extend(brackets);
    }
}

impl<R: BufRead> Read for WholeRecords<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.ready.len() && !self.is_at_end {
            self.ready.clear();
            self.taken = 0;
            self.read_on();
        }
        let left = &self.ready[self.taken..];
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
