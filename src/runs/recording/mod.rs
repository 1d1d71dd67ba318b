//! Event streams of real runs. They are played on machines that cannot make such a run.
//!
//! A folder of recordings has an `INDEX.yaml`, a list of entries, and for each entry `ID.jsonl.gz`: the stream as the run
//! printed it. Code that shows a figure of a recording labels it with [`label`].

pub mod documents;
mod error;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;

use flate2::read::GzDecoder;
use include_dir::{Dir, include_dir};
use parking_lot::Mutex;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use time::Date;
use time::format_description::StaticFormatDescription;
use time::macros::format_description;

pub use self::error::RecordingError;
use crate::{FinishedRun, Line, Tape, read_line};
use tinyllama_base::untrusted;
use tinyllama_contract::flags::{Flag, parse_flags};
use tinyllama_contract::targets::Target;

static BUILT_IN: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../assets/recordings");

const INDEX: &str = "INDEX.yaml";

/// Recordings for learners are smaller. A stream that unpacks to more is refused.
const MOST_BYTES: u64 = 32 << 20;

/// Each line takes memory in addition to its text.
const MOST_LINES: usize = 1 << 20;

/// Flags that change a run's length, machine or output, but not what it computes.
const CIRCUMSTANCES: [&str; 12] = [
    "--config",
    "--num-steps",
    "--warmup",
    "--profile-steps",
    "--backend",
    "--sample",
    "--repeatability",
    "--trace",
    "--flops",
    "--events",
    "--json",
    "--diagnose",
];

/// One recorded run, as the index describes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Recording {
    #[serde(deserialize_with = "plain")]
    pub id: String,
    /// As on the command line.
    pub target: Target,
    /// Name of the model's configuration.
    pub config: String,
    /// The device, as people call it.
    pub machine: String,
    #[serde(default)]
    pub driver: Option<String>,
    #[serde(deserialize_with = "date")]
    pub date: Date,
    /// Version of the program that ran.
    pub version: String,
    /// The command line from `run` on.
    pub command: String,
    /// A fact that a reader of its figures should know, such as a fault of the program at that time.
    #[serde(default)]
    pub remark: Option<String>,
}

/// Origin of the recordings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RecordingSource {
    /// The recordings inside the program.
    #[default]
    BuiltIn,
    Folder(PathBuf),
}

/// All recordings of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Library {
    source: RecordingSource,
    /// In the order of the index.
    pub recordings: Vec<Recording>,
}

/// `recording: NVIDIA H200, 21 November 2026`, for a run whose origin is known.
pub fn label(origin: &str) -> String {
    format!("recording: {origin}")
}

impl Recording {
    /// `NVIDIA H200, 21 November 2026`. A session notes it for a played run.
    pub fn origin(&self) -> String {
        origin(&self.machine, self.date)
    }

    pub fn label(&self) -> String {
        label(&self.origin())
    }

    fn flags(&self) -> Vec<Flag> {
        let args = shlex::split(&self.command).unwrap_or_default();
        parse_flags(args.iter().skip_while(|word| !word.starts_with('-')))
    }

    fn switches(&self) -> Vec<String> {
        switches(&self.flags())
    }
}

impl RecordingSource {
    /// Takes `folder` if there is one, otherwise the built-in recordings.
    pub fn new(folder: Option<PathBuf>) -> Self {
        folder.map_or(RecordingSource::BuiltIn, RecordingSource::Folder)
    }

    fn place(&self, file: &str) -> String {
        match self {
            RecordingSource::BuiltIn => format!("assets/recordings/{file}"),
            RecordingSource::Folder(folder) => folder.join(file).display().to_string(),
        }
    }

    fn read(&self, file: &str) -> Result<Vec<u8>, RecordingError> {
        let failed = |source| RecordingError::Read {
            place: self.place(file),
            source,
        };
        match self {
            RecordingSource::Folder(folder) => {
                untrusted::read(&folder.join(file), untrusted::MOST_BYTES).map_err(failed)
            }
            RecordingSource::BuiltIn => BUILT_IN
                .get_file(file)
                .map(|file| file.contents().to_vec())
                .ok_or_else(|| failed(std::io::ErrorKind::NotFound.into())),
        }
    }
}

impl Library {
    /// Reads the index.
    ///
    /// # Errors
    /// Fails if it is missing or cannot be understood.
    pub fn load(source: RecordingSource) -> Result<Self, RecordingError> {
        let wrong = |problem: String| RecordingError::Index {
            place: source.place(INDEX),
            problem,
        };
        let bytes = source.read(INDEX)?;
        let recordings: Vec<Recording> =
            serde_yaml::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        let mut known = BTreeSet::new();
        let double = recordings
            .iter()
            .find(|recording| !known.insert(&recording.id));
        if let Some(Recording { id, .. }) = double {
            return Err(wrong(format!("there are two recordings `{id}`")));
        }
        Ok(Self { source, recordings })
    }

    /// Finds the recording with this id.
    ///
    /// # Errors
    /// Fails if there is no such recording.
    pub fn find(&self, id: &str) -> Result<&Recording, RecordingError> {
        let all = self.recordings.iter();
        let found = all.clone().find(|recording| recording.id == id);
        found.ok_or_else(|| RecordingError::Unknown {
            id: id.into(),
            known: all.map(|recording| recording.id.clone()).collect(),
        })
    }

    /// Recordings of `target`.
    pub fn of_target(&self, target: &str) -> impl Iterator<Item = &Recording> {
        let target = target.parse::<Target>().ok();
        self.recordings
            .iter()
            .filter(move |recording| Some(recording.target) == target)
    }

    /// Finds the recording of a run with these flags: the same target with the same switches. Among several it prefers the
    /// same configuration, then one through Vulkan exactly if the flags ask for Vulkan, then the newest.
    pub fn of_run(&self, target: &str, flags: &[String]) -> Option<&Recording> {
        let flags = parse_flags(flags);
        let wanted = switches(&flags);
        let config = flags.iter().find(|flag| flag.name() == "--config");
        let config = config.and_then(Flag::value).unwrap_or("tiny");
        self.of_target(target)
            .filter(|recording| recording.switches() == wanted)
            .max_by_key(|recording| {
                let alike = through_vulkan(&recording.flags()) == through_vulkan(&flags);
                (recording.config == config, alike, recording.date)
            })
    }

    /// Returns the figures of a built-in recording, or `None` if there is no recording with this id.
    pub fn built_in(id: &str) -> Option<(Arc<FinishedRun>, String)> {
        static HEARD: Mutex<BTreeMap<String, (Arc<FinishedRun>, String)>> =
            Mutex::new(BTreeMap::new());
        let mut heard = HEARD.lock();
        if !heard.contains_key(id) {
            let library = Library::load(RecordingSource::BuiltIn).ok()?;
            let recording = library.find(id).ok()?;
            let tape = library.tape(recording).ok()?;
            let mut run = FinishedRun::default();
            for (_, line) in &tape.lines {
                if let Line::Event(event) = read_line(line) {
                    run.on_event(&event);
                }
            }
            heard.insert(id.into(), (Arc::new(run), recording.origin()));
        }
        heard.get(id).cloned()
    }

    /// Reads the stream of a recording, ready to play. A remark follows the first line as a note about the recording.
    ///
    /// # Errors
    /// Fails if the file is missing, is not gzip, or is too large.
    pub fn tape(&self, recording: &Recording) -> Result<Tape, RecordingError> {
        let file = format!("{}.jsonl.gz", recording.id);
        let place = || self.source.place(&file);
        let packed = self.source.read(&file)?;
        let failed = |source: io::Error| match source.kind() {
            ErrorKind::FileTooLarge => RecordingError::TooLarge {
                place: place(),
                most: MOST_BYTES >> 20,
            },
            _ => RecordingError::Read {
                place: place(),
                source,
            },
        };
        let bytes =
            untrusted::read_from(GzDecoder::new(&packed[..]), MOST_BYTES).map_err(failed)?;
        let not_text = |error| io::Error::new(ErrorKind::InvalidData, error);
        let text = String::from_utf8(bytes).map_err(|error| failed(not_text(error)))?;
        let mut lines = Vec::new();
        let mut t = 0.0_f64;
        for line in text.lines() {
            if lines.len() == MOST_LINES {
                return Err(failed(ErrorKind::FileTooLarge.into()));
            }
            // A line that is not an event gets the time of the line before it.
            if let Line::Event(event) = read_line(line)
                && event.t.is_finite()
            {
                t = t.max(event.t);
            }
            lines.push((t, line.to_owned()));
        }
        if let Some(remark) = &recording.remark {
            let message = format!("about this recording: {remark}");
            // Times never decrease.
            let t = lines.first().map_or(0.0, |(t, _)| *t);
            let note = json!({ "t": t, "event": "note", "message": message });
            lines.insert(1.min(lines.len()), (t, note.to_string()));
        }
        let command = ["tinyllama-tutor", "recordings", "play", &recording.id];
        Ok(Tape {
            command: command.map(str::to_owned).to_vec(),
            lines,
        })
    }
}

fn origin(machine: &str, date: Date) -> String {
    format!("{machine}, {} {} {}", date.day(), date.month(), date.year())
}

fn date<'de, D: Deserializer<'de>>(from: D) -> Result<Date, D::Error> {
    const DATE: StaticFormatDescription = format_description!("[year]-[month]-[day]");
    let text = String::deserialize(from)?;
    let unknown = |_| D::Error::custom(format!("`{text}` is not a date like 2026-11-21"));
    Date::parse(&text, DATE).map_err(unknown)
}

/// Reads an id. It is also a file name, so only plain characters are allowed.
fn plain<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let id = String::deserialize(from)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match !id.is_empty() && id.chars().all(plain) {
        true => Ok(id),
        false => Err(D::Error::custom(
            "an id has letters, digits, `-`, `_` and `.`",
        )),
    }
}

fn through_vulkan(flags: &[Flag]) -> bool {
    let mut backends = flags.iter().filter(|flag| flag.name() == "--backend");
    backends.any(|flag| flag.value() == Some("vulkan"))
}

/// Flags that change what a run computes, each with its value, sorted.
fn switches(flags: &[Flag]) -> Vec<String> {
    let changes = |flag: &&Flag| !CIRCUMSTANCES.contains(&flag.name());
    let changes = flags.iter().filter(changes);
    let mut switches: Vec<String> = changes
        .map(|flag| format!("{} {}", flag.name(), flag.value().unwrap_or_default()))
        .collect();
    switches.sort();
    switches
}

#[cfg(test)]
mod tests;
