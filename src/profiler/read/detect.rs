//! What kind of file something is, by its first bytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes looked at. A report of rocprof-compute opens with a logo and the machine's description before its first table.
const HEAD: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Empty,
    Sqlite,
    Json,
    /// A protocol buffer, a PDF, a compressed file: bytes that are no text. The word says which, where it is known.
    Binary(&'static str),
    WallClockText,
    SummaryText,
    AnalysisText,
    /// Text with commas in its first line.
    Csv,
    OtherText,
}

pub fn kind(path: &Path) -> io::Result<Kind> {
    let mut head = Vec::with_capacity(HEAD);
    File::open(path)?.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(kind_of(&head))
}

fn kind_of(head: &[u8]) -> Kind {
    if head.is_empty() {
        return Kind::Empty;
    }
    let binaries: [(&[u8], &'static str); 4] = [
        (
            b"\x1f\x8b",
            "compressed with gzip: unpack it with gunzip and import the result",
        ),
        (b"%PDF", "a PDF"),
        (
            b"\x28\xb5\x2f\xfd",
            "compressed with zstd: unpack it with unzstd and import the result",
        ),
        (
            b"PK\x03\x04",
            "a zip archive: unpack it and import the result",
        ),
    ];
    if head.starts_with(b"SQLite format 3\0") {
        return Kind::Sqlite;
    }
    if let Some((_, what)) = binaries.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Kind::Binary(what);
    }
    if head.contains(&0) {
        return Kind::Binary(
            "binary; a Perfetto trace (.pftrace, .proto) opens in ui.perfetto.dev",
        );
    }
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.is_empty() {
        return Kind::Empty;
    }
    if text.starts_with(['{', '[']) {
        return Kind::Json;
    }
    if text.contains("| LABEL ") || (text.contains("LABEL") && text.contains(">>>")) {
        return Kind::WallClockText;
    }
    if text.contains("ROCPROFV3 ") && text.contains("SUMMARY:") {
        return Kind::SummaryText;
    }
    let is_drawn = text.contains(['│', '┃']) || text.contains("| ");
    if is_drawn && (text.contains("Metric_ID") || text.contains("0.1 Top Kernels")) {
        return Kind::AnalysisText;
    }
    match text.lines().next() {
        Some(line) if line.contains(',') => Kind::Csv,
        _ => Kind::OtherText,
    }
}
