//! Readers that refuse input that would fill the memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;

use super::damage::{Damage, FileLocation};
use flate2::read::MultiGzDecoder;
use tinyllama_base::safe_path;

/// Limit of the bytes between two delimiters. Real names and messages are far shorter.
const LONGEST: usize = 8 << 20;

/// Passes bytes on while delimiters appear often enough. So no string or line can grow without limit.
pub struct LongestRun<R> {
    input: R,
    delimiter: u8,
    run: usize,
}

impl<R: Read> LongestRun<R> {
    pub fn new(input: R, delimiter: u8) -> BufReader<Self> {
        BufReader::with_capacity(
            1 << 16,
            LongestRun {
                input,
                delimiter,
                run: 0,
            },
        )
    }
}

impl<R: Read> Read for LongestRun<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        match memchr::memrchr(self.delimiter, &buffer[..count]) {
            Some(last) => self.run = count - last,
            None => self.run += count,
        }
        if self.run > LONGEST {
            let problem = "more than 8 MiB without a line break: this is not a profile";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(count)
    }
}

/// Bytes that a compressed file may unpack to. A file of one megabyte can hold a thousand.
const MOST_UNPACKED: u64 = 1 << 30;

/// The content of a file, unpacked if it is compressed with gzip.
pub struct BoundedInput {
    content: Box<dyn Read + Send>,
    pub is_packed: bool,
}

impl Read for BoundedInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.content.read(buffer)
    }
}

/// Unpacks gzip up to a limit.
struct Unpacked {
    decoder: MultiGzDecoder<BufReader<File>>,
    left: u64,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(buffer)?;
        let left = self.left.checked_sub(count as u64);
        self.left = left.ok_or_else(|| {
            let problem = format!(
                "it unpacks to more than {} MiB; if you trust it, unpack it with gunzip and import the result",
                MOST_UNPACKED >> 20
            );
            io::Error::new(io::ErrorKind::FileTooLarge, problem)
        })?;
        Ok(count)
    }
}

/// Opens a file of a profiler. All readers open files this way.
///
/// # Errors
/// Fails if the file cannot be opened.
pub fn open(path: &Path) -> Result<BoundedInput, Damage> {
    input(path, MOST_UNPACKED).map_err(|error| Damage::io(path, &error))
}

fn input(path: &Path, most_unpacked: u64) -> io::Result<BoundedInput> {
    let mut file = safe_path::open(path)?;
    let mut start = Vec::new();
    file.by_ref().take(2).read_to_end(&mut start)?;
    file.rewind()?;
    let is_packed = start == b"\x1f\x8b";
    let content: Box<dyn Read + Send> = match is_packed {
        true => Box::new(Unpacked {
            decoder: MultiGzDecoder::new(BufReader::new(file)),
            left: most_unpacked,
        }),
        false => Box::new(file),
    };
    Ok(BoundedInput { content, is_packed })
}

/// Returns the lines of a text with their numbers, without line ends. A line that is not UTF-8 or too long is damage.
pub fn lines(path: &Path) -> Result<impl Iterator<Item = Result<(u64, String), Damage>>, Damage> {
    let lines = LongestRun::new(open(path)?, b'\n').lines();
    Ok((1..).zip(lines).map(move |(number, line)| match line {
        Ok(line) => Ok((number, line)),
        Err(error) => {
            let problem = format!("cannot be read: {error}");
            Err(Damage::new(FileLocation::line(path, number), problem))
        }
    }))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// Compresses parts and joins them, as `cat` does.
    fn packed(folder: &Path, parts: [&[u8]; 2]) -> std::path::PathBuf {
        let mut bytes = Vec::new();
        for part in parts {
            let mut encoder = GzEncoder::new(&mut bytes, Compression::fast());
            encoder.write_all(part).unwrap();
            encoder.finish().unwrap();
        }
        let path = folder.join("a.csv.gz");
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn a_compressed_file_is_unpacked_up_to_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = packed(folder.path(), [&[b'a'; 70_000], b"bc"]);
        let mut content = Vec::new();
        input(&path, 70_002)
            .unwrap()
            .read_to_end(&mut content)
            .unwrap();
        assert_eq!((content.len(), content.last()), (70_002, Some(&b'c')));
        let error = input(&path, 70_001).unwrap().read_to_end(&mut Vec::new());
        insta::assert_snapshot!(error.unwrap_err());
    }

    #[test]
    fn eight_mebibytes_without_a_delimiter_are_the_most() {
        let read = |after: usize| {
            let text = [&[b'a'; 60_000], &b"\n"[..], &vec![b'b'; after]].concat();
            LongestRun::new(&text[..], b'\n').read_to_end(&mut Vec::new())
        };
        assert_eq!(read(LONGEST - 1).unwrap(), 60_000 + LONGEST);
        insta::assert_snapshot!(read(LONGEST).unwrap_err(), @"more than 8 MiB without a line break: this is not a profile");
    }
}
