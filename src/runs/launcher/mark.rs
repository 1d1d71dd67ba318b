//! Marks: lines of the launcher's two ends among the lines of the run.

use serde::{Deserialize, Serialize};

const BEFORE: &str = r#"{"tinyllama_launch":"#;

/// A message of the far end about the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StreamMark {
    /// The first line.
    Begins { node: String },
    /// The last line, with the run's status in a shell's numbering.
    Ends { status: i32 },
    /// The last line if the far end found no run any more and no status.
    Lost,
}

#[derive(Serialize, Deserialize)]
struct StreamMarkLine {
    tinyllama_launch: StreamMark,
}

impl StreamMark {
    pub(super) fn line(self) -> String {
        let marked = StreamMarkLine {
            tinyllama_launch: self,
        };
        // A name and a number always serialize.
        let text = serde_json::to_string(&marked).unwrap_or_default();
        format!("{text}\n")
    }

    /// Returns `None` if the line belongs to the run itself.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        line.starts_with(BEFORE.as_bytes())
            .then(|| serde_json::from_slice::<StreamMarkLine>(line).ok())?
            .map(|marked| marked.tinyllama_launch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_read_back_and_lines_of_a_run_are_none() {
        for mark in [
            StreamMark::Begins {
                node: "n 1\"".into(),
            },
            StreamMark::Ends { status: 143 },
            StreamMark::Lost,
        ] {
            assert_eq!(StreamMark::read(mark.clone().line().as_bytes()), Some(mark));
        }
        assert_eq!(
            StreamMark::read(br#"{"t":1.0,"event":"note","message":""}"#),
            None
        );
    }
}
