//! Lines between the two ends of a launch, among those of the run.

use serde::{Deserialize, Serialize};

const BEFORE: &str = r#"{"tinyllama_launch":"#;

/// What the far end says of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mark {
    /// Its first line.
    Begins { node: String },
    /// Its last one, with the run's status as shells count it.
    Ends { status: i32 },
    /// The last one of who looked for it: it is gone, and left no status.
    Lost,
}

#[derive(Serialize, Deserialize)]
struct Marked {
    tinyllama_launch: Mark,
}

impl Mark {
    pub(super) fn line(self) -> String {
        let marked = Marked {
            tinyllama_launch: self,
        };
        // A name and a number.
        let text = serde_json::to_string(&marked).unwrap_or_default();
        format!("{text}\n")
    }

    /// None for a line of the run's.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        line.starts_with(BEFORE.as_bytes())
            .then(|| serde_json::from_slice::<Marked>(line).ok())?
            .map(|marked| marked.tinyllama_launch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_read_back_and_lines_of_a_run_are_none() {
        for mark in [
            Mark::Begins {
                node: "n 1\"".into(),
            },
            Mark::Ends { status: 143 },
            Mark::Lost,
        ] {
            assert_eq!(Mark::read(mark.clone().line().as_bytes()), Some(mark));
        }
        assert_eq!(
            Mark::read(br#"{"t":1.0,"event":"note","message":""}"#),
            None
        );
    }
}
