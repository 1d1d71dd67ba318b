//! Says why a file that no format reads is not read.

use super::file_import::ReadRefusal;
use super::formats::refused::RefusedFile;
use super::sample::{FileSample, SampleContent};
use super::table::CsvTable;

/// Reason for a file without content.
pub const EMPTY: &str = "is empty: the profiler was ended before it wrote, or had nothing to write";
const NAME_OUTPUT: &str = "Name the folder or the file that the profiler wrote.";

/// The reason to refuse a file if no format reads it.
pub fn refusal(sample: &FileSample<'_>) -> ReadRefusal {
    if let Some(kind) = RefusedFile::find(sample) {
        return ReadRefusal::PassedOver(kind.reason());
    }
    let form = match &sample.content {
        SampleContent::Empty => return ReadRefusal::PassedOver(EMPTY.to_owned()),
        SampleContent::Binary => "binary",
        SampleContent::Database(_) => "an SQLite database",
        SampleContent::Json { .. } => "JSON",
        SampleContent::Text(_) if sample.is_csv() => match CsvTable::open(sample.path) {
            Ok(_) => "a table (CSV)",
            Err(damage) => return damage.into(),
        },
        SampleContent::Text(_) => "text",
    };
    ReadRefusal::PassedOver(format!(
        "is {form} of no profiler that is known here. {NAME_OUTPUT}"
    ))
}
