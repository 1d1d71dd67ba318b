//! Reads files that this program did not write, and makes their text safe to show.
//!
//! Profiles, courses, reports and sessions come from other machines and other people. All code opens such files
//! through this module, which accepts only regular files up to a size limit. All text from them passes through here
//! before anything shows it.

use std::fmt::{self, Display, Formatter, Write};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Size limit in bytes for a document that is read whole: a report, an order, a calibration.
pub const MOST_BYTES: u64 = 256 << 20;

/// Length limit in bytes for a line of a log or an event stream.
pub const LONGEST_LINE: u64 = 64 << 20;

/// Opens a regular file. Pipes and devices may never end, and a folder has no content to read.
///
/// # Errors
/// Returns the file system's error, or an error if the path is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    tracing::debug!(?path, "reads a file");
    // Opens without blocking, because a pipe without a writer would block forever.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    regular(file)
}

/// Refuses an open file that is not a regular one.
///
/// # Errors
/// Returns the file system's error, or an error if the file is not a regular one.
pub fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let why = "it is a folder, a pipe or a device; only regular files are read";
    Err(io::Error::new(ErrorKind::InvalidInput, why))
}

/// Reads a file of at most `most` bytes.
///
/// # Errors
/// As [`open`], and if the file is larger.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_from(open(path)?, most)
}

/// Reads everything from a reader, at most `most` bytes.
///
/// # Errors
/// Returns the reader's error, or an error if there are more bytes.
pub fn read_from(reader: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(bytes)
}

fn too_large(most: u64) -> io::Error {
    let why = format!("it is larger than {most} bytes, the limit for such a file");
    io::Error::new(ErrorKind::FileTooLarge, why)
}

/// Reads a file as text, without a byte order mark, and replaces invalid UTF-8.
///
/// # Errors
/// As [`read`].
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    Ok(String::from_utf8_lossy(without_mark(&read(path, most)?)).into_owned())
}

/// Leaves out the byte order mark with which some editors begin a file.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Reads a JSON document, also with a byte order mark. serde_json's limit on nesting applies.
///
/// # Errors
/// As [`read`], and if the content is not such a document.
pub fn read_json<T: DeserializeOwned>(path: &Path, most: u64) -> io::Result<T> {
    Ok(serde_json::from_slice(without_mark(&read(path, most)?))?)
}

/// Iterates over a file's lines as bytes, each with its newline if it has one. [`LONGEST_LINE`] limits their length.
#[derive(Debug)]
pub struct BoundedLines(BufReader<File>);

impl BoundedLines {
    pub fn new(file: File) -> Self {
        Self(BufReader::with_capacity(1 << 16, file))
    }

    /// Puts the next line into `line`; returns false at the end.
    ///
    /// # Errors
    /// Returns the file system's error, or an error if a line exceeds [`LONGEST_LINE`].
    pub fn next_into(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        line.clear();
        let read = self.0.by_ref().take(LONGEST_LINE).read_until(b'\n', line)?;
        match read as u64 == LONGEST_LINE && line.last() != Some(&b'\n') {
            true => Err(too_large(LONGEST_LINE)),
            false => Ok(read > 0),
        }
    }
}

/// Puts foreign text on one line and makes terminal controls visible: `ESC` becomes `^[`, and characters that change
/// the writing direction become their numbers.
pub fn plain(text: &str) -> String {
    shown(text, |c| matches!(c, '\n' | '\r' | '\t').then_some(' '))
}

/// Like [`plain`], but keeps line breaks.
pub fn plain_lines(text: &str) -> String {
    shown(text, |c| match c {
        '\n' => Some('\n'),
        '\t' => Some(' '),
        _ => None,
    })
}

fn shown(text: &str, space: impl Fn(char) -> Option<char>) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match (space(c), c) {
            (Some(space), _) => out.push(space),
            (None, '\0'..='\x1f' | '\x7f') => {
                out.push('^');
                out.push(char::from(c as u8 ^ 64));
            }
            (None, c) if c.is_control() || is_hidden(c) => {
                out.push_str(&format!("<U+{:04X}>", u32::from(c)));
            }
            (None, c) => out.push(c),
        }
    }
    out
}

/// True for invisible characters that change the writing direction, end a line, or hide text from a reader. Joiners
/// are not among them, because some scripts need them.
pub fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Formats a value as JSON over several lines. A terminal control, or a character that hides text or changes its direction,
/// is written as its number, so that the document can be shown as it is. A reader gets the same strings.
///
/// # Errors
/// If the value cannot be JSON, for example because a map's key is no string.
pub fn json(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(escaped)
}

/// As [`json`], on one line.
///
/// # Errors
/// As [`json`].
pub fn json_line(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value).map(escaped)
}

fn escaped(text: String) -> String {
    let is_safe = |c: char| c == '\n' || !(c.is_control() || is_hidden(c));
    // A report with thousands of runs has seventy megabytes, nearly all of it ASCII.
    let is_ascii = |line: &str| line.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let mut lines = text.split('\n');
    if lines.all(|line| is_ascii(line) || line.chars().all(is_safe)) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_safe(c) {
            true => out.push(c),
            // Outside of strings JSON has none of these.
            false => {
                let units = c.encode_utf16(&mut [0; 2]).to_vec();
                out.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
    }
    out
}

/// A writer for foreign text: it sends everything through [`plain_lines`] to the terminal behind it.
pub struct PlainWriter<W>(pub W);

impl<W: io::Write> io::Write for PlainWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.iter().all(|byte| matches!(byte, b'\n' | b' '..=b'~')) {
            self.0.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let text = plain_lines(&String::from_utf8_lossy(bytes));
        self.0.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Escapes text for Markdown: the result is on one line and contains no table, HTML or emphasis.
pub fn markdown(text: &str) -> String {
    let text = plain(text.trim());
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '|' | '<' | '*' | '_' | '`' | '[' | ']' | '\\' | '#') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Formats text as inline code for Markdown.
pub fn code(text: &str) -> String {
    format!("`{}`", plain(text).replace('`', "'"))
}

/// Displays text escaped for HTML: nothing in it can become an element, end an attribute or act as a control
/// character.
pub struct HtmlWriter<'a>(pub &'a str);

impl Display for HtmlWriter<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(c)?,
                c if c.is_control() || is_hidden(c) => {}
                // XML cannot contain these two.
                '\u{fffe}' | '\u{ffff}' => {}
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_become_markup_or_a_command() {
        assert_eq!(
            markdown("a|b <script>\n# [x](y)"),
            "a\\|b \\<script> \\# \\[x\\](y)"
        );
        let evil = "</td><script>alert('1')</script>\" onload=\"x\u{202e}\u{0}&amp;";
        assert_eq!(
            HtmlWriter(evil).to_string(),
            "&lt;/td&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot; onload=&quot;x&amp;amp;"
        );
        let evil = "a\u{1b}]52;c;x\u{7}\u{9b}8m\r\nb\u{202e}\u{7f}";
        assert_eq!(plain(evil), "a^[]52;c;x^G<U+009B>8m  b<U+202E>^?");
        assert_eq!(plain_lines("a\u{1b}[8m\n\tb\u{2028}"), "a^[[8m\n b<U+2028>");
        assert_eq!(code("a`b\u{1b}"), "`a'b^[`");
        for c in [
            '\u{ad}',
            '\u{61c}',
            '\u{200b}',
            '\u{2060}',
            '\u{2066}',
            '\u{e0041}',
        ] {
            assert_eq!(
                plain(&format!("a{c}b")),
                format!("a<U+{:04X}>b", u32::from(c))
            );
        }
    }

    #[test]
    fn a_document_has_the_same_strings_without_raw_controls() {
        let strings = [
            "a\u{9b}8m",
            "\u{202e}b",
            "\u{7f}",
            "\u{e0041}",
            "\u{1b}\n",
            "ä\u{200d}",
        ];
        let text = json(&strings).unwrap();
        let is_raw = |c: char| c != '\n' && (c.is_control() || is_hidden(c));
        assert!(!text.contains(is_raw), "{text:?}");
        assert!(
            text.contains("\\udb40\\udc41") && text.contains("ä\u{200d}"),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), strings);
    }

    #[test]
    fn only_regular_files_within_their_bound_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
        // SAFETY: the path ends in a zero byte, and the mode is a plain number.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        for path in [&pipe, folder.path(), Path::new("/dev/zero")] {
            let error = open(path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{}", path.display());
        }
        let file = folder.path().join("file");
        std::fs::write(&file, "four\n\u{e9}").unwrap();
        assert_eq!(read(&file, 7).unwrap().len(), 7);
        assert_eq!(read(&file, 6).unwrap_err().kind(), ErrorKind::FileTooLarge);
        std::fs::write(&file, "\u{feff}[1]").unwrap();
        assert_eq!(read_text(&file, 7).unwrap(), "[1]");
        assert_eq!(read_json::<Vec<u8>>(&file, 7).unwrap(), [1]);
        std::fs::write(&file, "four\n\u{e9}").unwrap();
        let (mut lines, mut line) = (BoundedLines::new(open(&file).unwrap()), Vec::new());
        let mut read = || {
            lines
                .next_into(&mut line)
                .unwrap()
                .then(|| String::from_utf8_lossy(&line).into_owned())
        };
        assert_eq!(read().as_deref(), Some("four\n"));
        assert_eq!(read().as_deref(), Some("\u{e9}"));
        assert_eq!(read(), None);
        // The file is sparse: an endless line that takes no space on the disk.
        File::create(&file)
            .and_then(|file| file.set_len(LONGEST_LINE))
            .unwrap();
        let endless = BoundedLines::new(open(&file).unwrap()).next_into(&mut Vec::new());
        assert_eq!(endless.unwrap_err().kind(), ErrorKind::FileTooLarge);
    }
}
