//! Lines of a child.

use std::io::{self, BufRead, BufReader, Read};

/// Hands on lines, each with its end, until there are no more or nobody hears them.
pub fn each_line(from: impl Read, mut hear: impl FnMut(io::Result<Vec<u8>>) -> bool) {
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        let read = from.read_until(b'\n', &mut line);
        if matches!(read, Ok(0)) || !hear(read.map(|_| line)) {
            return;
        }
    }
}
