//! Output of commands on another machine: `assets/analysis` has one JSON document for each entry of its index.

use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use serde::Deserialize;
use serde_json::Value;
use time::Date;

use crate::Tape;

static BUILT_IN: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../assets/analysis");

/// A document and its origin.
#[derive(Debug, Deserialize)]
pub struct RecordedDocument {
    pub id: String,
    /// The command line after the program's name.
    pub command: String,
    pub machine: String,
    #[serde(deserialize_with = "super::date")]
    date: Date,
    #[serde(skip)]
    pub value: Value,
}

static DOCUMENTS: LazyLock<Vec<RecordedDocument>> = LazyLock::new(|| {
    // The files are part of this program, and a test reads every one of them.
    let text = |name: &str| BUILT_IN.get_file(name)?.contents_utf8();
    let index = text("INDEX.yaml").unwrap_or_default();
    let mut documents: Vec<RecordedDocument> = serde_yaml::from_str(index).unwrap_or_default();
    for document in &mut documents {
        let file = text(&format!("{}.json", document.id)).unwrap_or_default();
        document.value = serde_json::from_str(file).unwrap_or_default();
    }
    documents
});

/// All documents in this program.
pub fn all() -> &'static [RecordedDocument] {
    &DOCUMENTS
}

/// Finds the document with this id.
pub fn find(id: &str) -> Option<&'static RecordedDocument> {
    all().iter().find(|document| document.id == id)
}

impl RecordedDocument {
    /// `NVIDIA H200, 21 November 2026`, in the form that recordings use.
    pub fn origin(&self) -> String {
        super::origin(&self.machine, self.date)
    }

    /// Returns the document as a tape that plays like the output of a command.
    pub fn tape(&self) -> Tape {
        let command = ["tinyllama-tutor", "recordings", "play", &self.id];
        Tape {
            command: command.map(str::to_owned).to_vec(),
            lines: vec![(0.0, self.value.to_string())],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_of_the_index_can_be_read_and_none_is_left_out() {
        let files = BUILT_IN.files().map(|file| file.path());
        let json = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
        assert_eq!(DOCUMENTS.len(), json.count());
        for document in DOCUMENTS.iter() {
            assert!(!document.value.is_null(), "{}", document.id);
            let origin = match document.id.as_str() {
                "graphs" => "NVIDIA H100, 26 November 2026",
                "machine" => "the emulator of gfx942, 28 November 2026",
                id if id.starts_with("pytorch-") => "two cores of an Intel Xeon, 26 November 2026",
                _ => "NVIDIA H200, 24 November 2026",
            };
            assert_eq!(document.origin(), origin);
        }
    }
}
