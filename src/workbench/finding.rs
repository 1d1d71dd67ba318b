//! Faults of a kernel, in the words that learners and tests read.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
        Capture = "capture fails",
        Overlap = "nothing overlaps",
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
            line: line.filter(|line| *line > 0),
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
        let same = self.kind == other.kind && self.line == other.line;
        same && self.other_line == other.other_line
    }
}

/// Reads a finding from a message of the stand-in. Returns `None` for other messages.
pub fn of_stand_in(said: &Value) -> Option<KernelFinding> {
    let text = |name: &str| said[name].as_str().unwrap_or_default();
    let number = |name: &str| said[name].as_i64().unwrap_or_default();
    let line = |name: &str| u32::try_from(number(name)).ok().filter(|line| *line > 0);
    let who = format!(
        "thread {} of block {}",
        place(&said["thread"]),
        place(&said["block"])
    );
    let (verb, element) = (verb(text("access")), element(said));
    let (kind, message) = match text("kind") {
        "out-of-bounds" => (
            FindingKind::OutOfBounds,
            match said["array"].is_string() {
                true => format!("{who} {verb} {element} of {} elements", number("size") / 4),
                false => format!("{who} {verb} memory that belongs to no array"),
            },
        ),
        "index" => (
            FindingKind::OutOfBounds,
            format!("{who} uses {}", text("words").replace('\'', "")),
        ),
        "race" => {
            let did = if said["other_wrote"] == true {
                "writes"
            } else {
                "reads"
            };
            let other = match said["other_block"] == true {
                true => format!("thread {} of another block", number("other_thread")),
                false => format!("thread {} of the same block", number("other_thread")),
            };
            let where_to =
                line("other_line").map_or(String::new(), |line| format!(" in line {line}"));
            let between = match said["local"] == true {
                true => "no barrier between them orders the two",
                false => "nothing orders the two",
            };
            (
                FindingKind::Race,
                format!("{who} {verb} {element}, which {other} {did}{where_to}: {between}"),
            )
        }
        "unwritten" => (
            FindingKind::Unwritten,
            format!("{who} {verb} {element}, which was never written"),
        ),
        "barrier" => (
            FindingKind::Barrier,
            match line("other_line") {
                Some(other) => format!(
                    "threads of block {} wait at different barriers: in line {} and in line {other}",
                    place(&said["block"]),
                    number("line")
                ),
                None => format!(
                    "{} threads wait at the barrier of line {}, which {} threads never reach: {who} is one",
                    number("count"),
                    number("line"),
                    number("missing")
                ),
            },
        ),
        "shuffle" => (
            FindingKind::Shuffle,
            format!(
                "{who} takes the value of lane {}, which does not take part",
                number("count")
            ),
        ),
        "division" => (
            FindingKind::Crash,
            format!("{who} divides an integer by zero"),
        ),
        "endless" => (
            FindingKind::Endless,
            format!("the kernel {}; {who} was here", text("words")),
        ),
        "crash" => (FindingKind::Crash, format!("{who} {}", text("words"))),
        "too-much-lds" => (
            FindingKind::Crash,
            format!(
                "a workgroup has {} bytes of local memory (LDS), and the kernel asks for {}",
                number("missing"),
                number("count")
            ),
        ),
        "machine" => (FindingKind::Crash, text("words").to_owned()),
        _ => return None,
    };
    let mut finding = KernelFinding::new(kind, line("line"), message);
    finding.other_line = line("other_line");
    let three = |name: &str| serde_json::from_value::<[u32; 3]>(said[name].clone()).ok();
    let index = u64::try_from(number("offset")).ok().map(|at| at / 4);
    let array = said["array"].as_str().map(str::to_owned);
    finding.access = Box::new(KernelAccess {
        thread: three("block").zip(three("thread")).map(Into::into),
        element: array.zip(index),
    });
    Some(finding)
}

pub(super) fn verb(access: &str) -> &'static str {
    match access {
        "write" => "writes",
        "update" => "updates",
        _ => "reads",
    }
}

/// Formats `(64, 0, 0)`, or `64` if the other two are 0.
fn place(three: &Value) -> String {
    let at = |i: usize| three[i].as_u64().unwrap_or_default();
    match (at(1), at(2)) {
        (0, 0) => at(0).to_string(),
        (y, 0) => format!("({}, {y})", at(0)),
        (y, z) => format!("({}, {y}, {z})", at(0)),
    }
}

/// Formats `x[300]`, or `x[300..303]` for a wide access. All arrays of exercises have elements of four bytes.
fn element(said: &Value) -> String {
    let name = match said["array"].as_str() {
        Some("") => "local memory",
        Some(name) => name,
        None => return "memory".into(),
    };
    let first = said["offset"].as_i64().unwrap_or_default().div_euclid(4);
    let count = said["bytes"].as_i64().unwrap_or(4) / 4;
    match count {
        0 | 1 => format!("{name}[{first}]"),
        _ => format!("{name}[{first}..{}]", first + count - 1),
    }
}
