//! Readers that refuse input that would fill the memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::de::DeserializeOwned;

use super::damage::{Damage, Place};
use crate::base::foreign;

/// Bytes between two delimiters. Real names and messages stay far below.
const LONGEST: usize = 8 << 20;

/// Passes bytes on as long as a delimiter turns up often enough, so that no string or line can grow without end.
struct LongestRun<R> {
    input: R,
    delimiter: u8,
    run: usize,
}

impl<R: Read> LongestRun<R> {
    fn new(input: R, delimiter: u8) -> BufReader<Self> {
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
            let problem = "more than 8 MiB without an end in sight: this is no profile";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(count)
    }
}

/// Opens a file that a profiler wrote: the one way to all of them.
pub fn open(path: &Path) -> Result<File, Damage> {
    foreign::open(path).map_err(|error| Damage::io(path, &error))
}

/// The lines of a text with their numbers, without their ends; a line that is no UTF-8 or has no end is damage.
pub fn lines(path: &Path) -> Result<impl Iterator<Item = Result<(u64, String), Damage>>, Damage> {
    let lines = LongestRun::new(open(path)?, b'\n').lines();
    Ok((1..).zip(lines).map(move |(number, line)| match line {
        Ok(line) => Ok((number, line)),
        Err(error) => {
            let problem = format!("cannot be read: {error}");
            Err(Damage::new(Place::line(path, number), problem))
        }
    }))
}

/// A document in JSON, or where it is none.
pub fn json<T: DeserializeOwned>(path: &Path) -> Result<T, Damage> {
    let document = serde_json::from_reader(LongestRun::new(open(path)?, b'"'));
    document.map_err(|error| {
        let place = Place {
            column: Some(error.column() as u64),
            ..Place::line(path, error.line() as u64)
        };
        let hint = match error.is_eof() {
            true => " (the file was cut off: profile again, and let the program end by itself)",
            false => "",
        };
        Damage::new(place, format!("{error}{hint}"))
    })
}
