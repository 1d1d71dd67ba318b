//! One line of `events.jsonl`: a record, its checksum, and the checksum of the line before.
//!
//! `{"hash":H,"previous":P,"record":R}` with H = SHA-256 of P, a newline and the bytes of R. Each line proves without
//! its neighbours that it is intact. The links show whether lines were removed, added or reordered. This finds damage
//! and careless edits, but no deliberate forgery: somebody who rewrites the whole file can compute new checksums.

use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;
use tinyllama_base::checksum::sha256_hex;

/// `previous` of the first line.
pub const START: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A line that is unchanged since it was written.
#[derive(Deserialize)]
pub struct Intact<'a> {
    pub hash: &'a str,
    pub previous: &'a str,
    #[serde(borrow)]
    pub record: &'a RawValue,
}

/// The damage of a line.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Broken {
    #[error("it cannot be read ({0})")]
    Unreadable(String),
    #[error("its checksum does not match")]
    Checksum,
}

/// The line for `record`, newline included, and its hash.
pub fn encode(previous: &str, record: &str) -> (String, String) {
    let hash = hash(previous, record);
    (
        format!("{{\"hash\":\"{hash}\",\"previous\":\"{previous}\",\"record\":{record}}}\n"),
        hash,
    )
}

/// Reads a line without its newline.
pub fn decode(line: &[u8]) -> Result<Intact<'_>, Broken> {
    let line: Intact =
        serde_json::from_slice(line).map_err(|error| Broken::Unreadable(error.to_string()))?;
    match hash(line.previous, line.record.get()) == line.hash {
        true => Ok(line),
        false => Err(Broken::Checksum),
    }
}

fn hash(previous: &str, record: &str) -> String {
    sha256_hex([previous, "\n", record])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_back_and_every_changed_byte_is_noticed() {
        let (line, hash) = encode(START, r#"{"n":1,"text":"ä"}"#);
        let intact = decode(line.trim_end().as_bytes())
            .map_err(|error| error.to_string())
            .unwrap();
        assert_eq!(
            (intact.hash, intact.previous, intact.record.get()),
            (hash.as_str(), START, r#"{"n":1,"text":"ä"}"#)
        );
        // `(64 times 0; echo; printf RECORD) | sha256sum`. Sessions of years ago have to stay readable.
        let known = "8355e0f6177f9a4a6d7b774ae3cf8d3b0dace00385b6cebc29a08a1b183fc92d";
        assert_eq!(hash, known);
        for position in 0..line.len() - 1 {
            let mut damaged = line.trim_end().as_bytes().to_vec();
            damaged[position] ^= 1;
            assert!(decode(&damaged).is_err(), "byte {position}");
        }
    }
}
