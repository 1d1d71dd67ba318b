//! Faults of a kernel, in the words that learners and tests read.

use serde::{Deserialize, Serialize};

use tinyllama_base::named;
use tinyllama_base::untrusted::plain_lines;

named! {
    /// The kind of a mistake.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum FindingKind {
        /// The file is refused or does not compile.
        Compile = "does not compile",
        OutOfBounds = "out of bounds",
        Race = "race",
        Barrier = "barrier not reached by all",
        Unwritten = "read of memory never written",
        Shuffle = "shuffle from an idle lane",
        Nan = "NaN",
        Endless = "endless",
        Wrong = "wrong result",
        Crash = "crash",
        Uncoalesced = "uncoalesced",
        BankConflict = "bank conflict",
        Requests = "too many requests",
        Barriers = "too many barriers",
        Occupancy = "too few wavefronts fit",
    }
}

/// One mistake: its place, and the wave sizes and cases that showed it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelFinding {
    pub kind: FindingKind,
    /// Line in the file, from 1.
    pub line: Option<u32>,
    /// Line of the other side of a race, or of the other barrier.
    pub other_line: Option<u32>,
    pub message: String,
    /// Wave sizes that showed the mistake. Empty if the kernel never ran.
    pub waves: Vec<u32>,
    /// The first case that showed it.
    pub case: Option<String>,
    #[serde(skip)]
    pub access: Box<KernelAccess>,
}

/// The access that was a mistake.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelAccess {
    /// Workgroup and thread, if one thread made the mistake.
    pub thread: Option<[[u32; 3]; 2]>,
    /// The array and the index of the element, counted in words of four bytes.
    pub element: Option<(String, u64)>,
}

impl KernelFinding {
    pub fn new(kind: FindingKind, line: Option<u32>, message: impl Into<String>) -> KernelFinding {
        KernelFinding {
            kind,
            line: line.filter(|line| (1..u32::MAX).contains(line)),
            other_line: None,
            // The message may contain text of the kernel and text that it wrote.
            message: plain_lines(&message.into()),
            waves: vec![],
            case: None,
            access: Box::default(),
        }
    }

    /// Returns whether `other` is the same mistake.
    pub fn is_same_finding(&self, other: &KernelFinding) -> bool {
        let array = |finding: &KernelFinding| {
            let element = finding.access.element.as_ref();
            element.map(|(array, _)| array.clone())
        };
        let same = self.kind == other.kind && self.line == other.line;
        same && self.other_line == other.other_line && array(self) == array(other)
    }
}

pub(super) fn verb(access: &str) -> &'static str {
    match access {
        "write" => "writes",
        "update" => "updates",
        _ => "reads",
    }
}
