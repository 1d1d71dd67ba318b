//! An investigation: a program with a mistake, its suspects, and the measurements that a learner can take.

pub use super::document::Suspect;
use crate::{CommandCheck, QuizChoice, refused_flag};
use tinyllama_contract::flags::merged;

/// A case of the debugging scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub target: String,
    /// Flags of all its runs.
    pub flags: Vec<String>,
    pub suspects: Vec<Suspect>,
    pub measurements: Vec<Measurement>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    pub id: String,
    pub text: String,
    /// Additional flags to those of the case.
    pub flags: Vec<String>,
    pub recording: Option<String>,
    /// What the measurement showed.
    pub shows: String,
    /// Answers to the question about it. The reason of the right one is how to read the measurement.
    pub choices: Vec<QuizChoice>,
    /// True if it is needed to tell the guilty suspect from the others.
    pub convicts: bool,
}

/// A learner's next action in a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseMove {
    /// Index of the measurement.
    Measure(usize),
    /// Index of the suspect.
    Suspect(usize),
    /// Runs with the fix of the suspect with this index.
    Fix(usize),
}

/// The number of an answer is that of its measurement times this, plus that of its choice.
pub const ANSWERS: usize = 100;

pub const FIX: &str = "--fix";

impl Case {
    /// Problems that make the case unsolvable, each with its key. `commands` says whether `run` takes the
    /// flags of an action.
    pub(super) fn problems(&self, commands: CommandCheck) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let guilty = self
            .suspects
            .iter()
            .filter(|suspect| suspect.guilty)
            .count();
        if guilty != 1 || self.suspects.len() < 2 {
            let message =
                format!("a case needs at least two suspects and exactly one guilty, not {guilty}");
            problems.push(("suspects", message));
        }
        if !self
            .measurements
            .iter()
            .any(|measurement| measurement.convicts)
        {
            let message = "no measurement tells the guilty one from the others: mark one with `convicts: true`";
            problems.push(("measurements", message.into()));
        }
        let blank = |text: &str| text.trim().is_empty();
        if self.suspects.iter().any(|suspect| blank(&suspect.because)) {
            problems.push((
                "suspects",
                "every suspect must say what its fix showed".into(),
            ));
        }
        if self
            .measurements
            .iter()
            .any(|measurement| blank(&measurement.shows))
        {
            problems.push((
                "measurements",
                "every measurement must say where to look".into(),
            ));
        }
        let suspects = (0..self.suspects.len()).map(|index| ("suspects", CaseMove::Fix(index)));
        let measured = 0..self.measurements.len();
        let measured = measured.map(|index| ("measurements", CaseMove::Measure(index)));
        for (key, case_move) in suspects.chain(measured) {
            let flags = self.flags_of(case_move).unwrap_or_default();
            if let Some(message) = refused_flag(&flags) {
                problems.push((key, message));
            } else if let Err(message) = commands(&self.target, &flags) {
                problems.push((key, format!("the run command refuses this: {message}")));
            }
        }
        problems
    }

    pub fn suspect(&self, id: &str) -> Option<usize> {
        self.suspects.iter().position(|suspect| suspect.id == id)
    }

    pub fn guilty(&self) -> Option<&Suspect> {
        self.suspects.iter().find(|suspect| suspect.guilty)
    }

    /// The choice with this number among all answers of the case.
    pub fn answer(&self, number: usize) -> Option<&QuizChoice> {
        let measurement = self.measurements.get(number / ANSWERS)?;
        measurement.choices.get(number % ANSWERS)
    }

    /// The flags of an action's run; `None` if the action runs nothing.
    pub fn flags_of(&self, case_move: CaseMove) -> Option<Vec<String>> {
        let more = match case_move {
            CaseMove::Measure(index) => self.measurements.get(index)?.flags.clone(),
            CaseMove::Fix(index) => vec![FIX.to_string(), self.suspects.get(index)?.fix.clone()],
            CaseMove::Suspect(_) => return None,
        };
        // If both give a flag, the value of the action wins.
        Some(merged([&self.flags[..], &more].concat()))
    }

    /// The recorded run of an action.
    pub fn recording_of(&self, case_move: CaseMove) -> Option<&str> {
        match case_move {
            CaseMove::Measure(index) => self.measurements.get(index)?.recording.as_deref(),
            CaseMove::Fix(index) => self.suspects.get(index)?.recording.as_deref(),
            CaseMove::Suspect(_) => None,
        }
    }

    /// The action that made the run with this command line.
    pub fn move_of(&self, command: &[String]) -> Option<CaseMove> {
        if let [.., play, id] = command
            && play == "play"
        {
            let case_moves = (0..self.measurements.len()).map(CaseMove::Measure);
            let fixes = (0..self.suspects.len()).map(CaseMove::Fix);
            let mut case_moves = case_moves.chain(fixes);
            return case_moves.find(|case_move| self.recording_of(*case_move) == Some(id));
        }
        if let Some(fix) = fix_of(command) {
            let fixed = self.suspects.iter().position(|suspect| suspect.fix == fix);
            return fixed.map(CaseMove::Fix);
        }
        // Takes the measurement whose flags are all present; if several match, the one with the most flags.
        let has =
            |measurement: &Measurement| measurement.flags.iter().all(|flag| command.contains(flag));
        let matching = self.measurements.iter().enumerate();
        let matching = matching.filter(|(_, measurement)| has(measurement));
        let best = matching
            .max_by_key(|(index, measurement)| (measurement.flags.len(), usize::MAX - index));
        best.map(|(index, _)| CaseMove::Measure(index))
    }
}

/// The fix that a command line applies.
pub fn fix_of(command: &[String]) -> Option<&str> {
    let place = command.iter().position(|word| word == FIX)?;
    command.get(place + 1).map(String::as_str)
}
