//! Stores a run's stream in a file that both ends see. Files next to it hold its writer, its reader and its end.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tinyllama_base::{create_private, create_private_file, replace};

/// Streams that were never fetched are removed after this time.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The files that belong to a stream.
#[derive(Clone, Debug)]
pub struct RunStream(PathBuf);

/// The next part of a stream.
pub(super) enum StreamPiece {
    /// A whole line with its newline.
    Line(Vec<u8>),
    /// No further line yet.
    Nothing,
    /// Everything was read, and the run ended with this status.
    End(i32),
}

impl RunStream {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Creates an empty stream to write, and removes old streams from its folder.
    pub(super) fn create(&self) -> io::Result<File> {
        if let Some(folder) = self.0.parent() {
            create_private(folder)?;
            for entry in fs::read_dir(folder)?.flatten() {
                let changed = entry.metadata().and_then(|found| found.modified());
                let age = changed.map(|time| SystemTime::now().duration_since(time));
                if age.is_ok_and(|age| age.is_ok_and(|age| age > KEPT)) {
                    // A file, or the folder of an array. Another process may have removed it first.
                    drop(
                        fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path())),
                    );
                }
            }
        }
        create_private_file(&self.0)
    }

    fn sibling(&self, name: &str) -> PathBuf {
        self.0.with_extension(name)
    }

    /// Notes which process writes the stream.
    pub(super) fn is_written_by(&self, process: u32) -> io::Result<()> {
        replace(&self.sibling("pid"), process.to_string().as_bytes())
    }

    pub(super) fn writer(&self) -> Option<u32> {
        fs::read_to_string(self.sibling("pid")).ok()?.parse().ok()
    }

    /// Notes that a process reads the stream.
    pub(super) fn is_read(&self) -> io::Result<()> {
        replace(&self.sibling("seen"), b"")
    }

    /// Time since the stream was last read.
    pub(super) fn unread_for(&self) -> Option<Duration> {
        let seen = fs::metadata(self.sibling("seen")).ok()?.modified().ok()?;
        SystemTime::now().duration_since(seen).ok()
    }

    pub(super) fn ends(&self, status: i32) -> io::Result<()> {
        replace(&self.sibling("end"), status.to_string().as_bytes())
    }

    pub(super) fn is_over(&self) -> bool {
        self.end().is_some()
    }

    fn end(&self) -> Option<i32> {
        fs::read_to_string(self.sibling("end")).ok()?.parse().ok()
    }

    /// Removes all files of the stream.
    pub(super) fn remove(&self) {
        let files = ["pid", "seen", "end"].map(|name| self.sibling(name));
        for file in files.iter().chain([&self.0]) {
            // If the other machine has its own disk, the files are not here.
            drop(fs::remove_file(file));
        }
    }

    pub(super) fn reader(&self, from: u64) -> io::Result<StreamReader> {
        let mut file = File::open(&self.0)?;
        file.seek(SeekFrom::Start(from))?;
        Ok(StreamReader {
            stream: self.clone(),
            file,
            ahead: Vec::new(),
        })
    }
}

/// Reads a stream that may still grow.
pub(super) struct StreamReader {
    stream: RunStream,
    file: File,
    ahead: Vec<u8>,
}

impl StreamReader {
    pub(super) fn next(&mut self) -> io::Result<StreamPiece> {
        // The end is read first. Nothing is written after it, so the rest is then complete.
        let end = self.stream.end();
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.ahead) {
                let rest = self.ahead.split_off(at + 1);
                return Ok(StreamPiece::Line(std::mem::replace(&mut self.ahead, rest)));
            }
            let mut more = [0; 1 << 14];
            match self.file.read(&mut more)? {
                0 => break,
                read => self.ahead.extend_from_slice(&more[..read]),
            }
        }
        Ok(end.map_or(StreamPiece::Nothing, StreamPiece::End))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_growing_stream_is_read_by_whole_lines_from_any_place_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let stream = RunStream::new(folder.path().join("it's/a run"));
        let mut file = stream.create().unwrap();
        file.write_all(b"one\ntwo\nth").unwrap();
        let mut reader = stream.reader(4).unwrap();
        assert!(matches!(reader.next().unwrap(), StreamPiece::Line(line) if line == b"two\n"));
        assert!(matches!(reader.next().unwrap(), StreamPiece::Nothing));
        file.write_all(b"ree\n").unwrap();
        stream.ends(3).unwrap();
        assert!(matches!(reader.next().unwrap(), StreamPiece::Line(line) if line == b"three\n"));
        assert!(matches!(reader.next().unwrap(), StreamPiece::End(3)));
        stream.remove();
        assert!(!stream.path().exists());
    }
}
