//! Reads a child's output line by line.

use std::io::{self, BufRead, BufReader, Read};

/// Passes lines, each with its newline, to `on_line` until there are no more or `on_line` returns false.
pub fn each_line(from: impl Read, mut on_line: impl FnMut(io::Result<Vec<u8>>) -> bool) {
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        let read = from.read_until(b'\n', &mut line);
        if matches!(read, Ok(0)) || !on_line(read.map(|_| line)) {
            return;
        }
    }
}
