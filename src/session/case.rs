//! The state of an investigation: the measurements, the suspect, and the fixes that ran.

use crate::{SessionState, StepProgress, StepRef};
use tinyllama_base::plural;
use tinyllama_lesson::case::ANSWERS;
use tinyllama_lesson::{Case, CaseMove};

/// A learner's progress in a case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The cost: measurements until the guilty suspect was convicted and fixed. A repeated measurement counts again.
    pub measurements: usize,
    /// Indices of the measurements taken.
    pub taken: Vec<usize>,
    /// Indices of the measurements whose question was answered.
    read: Vec<usize>,
    /// Index of the current suspect.
    pub suspect: Option<usize>,
    /// Indices of the suspects whose fixes ran, oldest first.
    pub fixed: Vec<usize>,
    /// Measurements and fixes with their runs, oldest first.
    shown: Vec<(CaseMove, String)>,
}

/// The result of a measurement or a fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence<'a> {
    /// Text with live values, which were filled in when `run` ended.
    pub text: String,
    /// The newest run with this result.
    pub run: &'a str,
}

impl Standing {
    pub fn from_progress(case: &Case, progress: &StepProgress, state: &SessionState) -> Self {
        let mut standing = Self {
            suspect: progress
                .suspicions
                .last()
                .and_then(|last| case.suspect(&last.suspect)),
            ..Self::default()
        };
        let right = progress.answers.iter().filter(|given| given.correct);
        let right = right.map(|given| given.answer as usize / ANSWERS);
        standing.read = right.collect();
        let runs = progress.runs.iter();
        let runs = runs.filter_map(|id| Some((id, state.runs.get(id)?)));
        for (id, run) in runs.filter(|(_, run)| run.exit.is_some_and(|exit| exit.is_success())) {
            let case_move = case.move_of(&run.command);
            standing
                .shown
                .extend(case_move.map(|case_move| (case_move, id.clone())));
            match case_move {
                Some(CaseMove::Fix(index)) => standing.fixed.push(index),
                Some(CaseMove::Measure(index)) => {
                    standing.measurements += usize::from(!standing.is_closed(case));
                    standing.taken.push(index);
                }
                _ => {}
            }
        }
        standing
    }

    /// Returns whether the learner named the guilty suspect, convicted it by a measurement, and ran its fix.
    pub fn is_solved(&self, case: &Case) -> bool {
        let suspect = self.suspect.and_then(|index| case.suspects.get(index));
        suspect.is_some_and(|suspect| suspect.guilty) && self.is_closed(case)
    }

    /// Returns whether the guilty suspect was convicted and fixed. Later runs cost nothing.
    fn is_closed(&self, case: &Case) -> bool {
        let is_guilty = |index: &usize| case.suspects.get(*index).is_some_and(|it| it.guilty);
        self.is_convicted(case) && self.fixed.iter().any(is_guilty)
    }

    /// Returns whether every measurement was taken that is needed to tell the guilty suspect from the others.
    fn is_convicted(&self, case: &Case) -> bool {
        let mut needed = (0..).zip(&case.measurements).filter(|(_, it)| it.convicts);
        needed.all(|(index, _)| self.taken.contains(&index))
    }

    /// Index of a measurement whose question is not answered.
    pub fn asked(&self, case: &Case) -> Option<usize> {
        let is_open = |index: &usize| {
            let measurement = case.measurements.get(*index);
            measurement.is_some_and(|it| !it.choices.is_empty()) && !self.read.contains(index)
        };
        let asked = self.taken.iter().rev().copied().find(is_open);
        asked.filter(|_| !self.is_solved(case))
    }

    /// Says what is missing for a verdict.
    pub fn missing(&self, case: &Case) -> &'static str {
        match self.suspect {
            _ if self.asked(case).is_some() => "Which row is odd? Or is none?",
            None if self.taken.is_empty() => "Take a measurement, then name a suspect.",
            None => "Name a suspect, or measure more.",
            Some(_) if self.is_solved(case) => "Solved.",
            Some(suspect) if !self.fixed.contains(&suspect) => {
                "Run the fix of your suspect, or measure more."
            }
            Some(suspect) if case.suspects.get(suspect).is_some_and(|it| it.guilty) => {
                match self.is_convicted(case) {
                    true => "Run the fix of your suspect.",
                    false => "The fix helped. Which measurement would have convicted it? Take it.",
                }
            }
            Some(_) => "The symptom is still there: name another suspect.",
        }
    }

    /// The results of measurements and fixes so far, in the order of their first runs.
    pub fn evidence<'c>(&'c self, case: &'c Case) -> Vec<Evidence<'c>> {
        let solved = self.is_solved(case);
        let text = |case_move| match case_move {
            CaseMove::Measure(index) => {
                let measurement = case.measurements.get(index)?;
                let read = measurement.choices.iter().find(|choice| choice.correct);
                let read = read.filter(|_| solved || self.read.contains(&index));
                let read = read.map_or(String::new(), |it| format!("\n{}", it.because));
                Some(format!("{}{read}", measurement.shows))
            }
            CaseMove::Fix(index) => Some(case.suspects.get(index)?.because.clone()),
            CaseMove::Suspect(_) => None,
        };
        let is_fix = |(case_move, _): &&(CaseMove, String)| matches!(case_move, CaseMove::Fix(_));
        let (fixes, measurements): (Vec<_>, Vec<_>) = self.shown.iter().partition(is_fix);
        let mut evidence: Vec<Evidence> = Vec::new();
        for (case_move, run) in measurements.into_iter().chain(fixes) {
            let Some(text) = text(*case_move) else {
                continue;
            };
            match evidence.iter_mut().find(|known| known.text == text) {
                Some(known) => known.run = run,
                None => evidence.push(Evidence { text, run }),
            }
        }
        evidence
    }
}

/// The learner's suspicions as text, each with the number of runs before it.
pub fn suspicions(case: &Case, state: &SessionState, at: &StepRef) -> Vec<String> {
    let progress = state.progress(at);
    let suspicions = progress.suspicions.iter().map(|suspicion| {
        let suspect = case
            .suspect(&suspicion.suspect)
            .and_then(|index| case.suspects.get(index));
        let text = suspect.map_or(suspicion.suspect.as_str(), |suspect| &suspect.text);
        format!("{text} (after {})", plural(suspicion.after_runs, "run"))
    });
    suspicions.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::event::{Record, RunExit, SessionEvent};
    use tinyllama_lesson::QuizChoice;
    use tinyllama_lesson::case::{Measurement, Suspect};

    fn case() -> Case {
        let suspect = |id: &str, guilty| Suspect {
            id: id.into(),
            text: id.into(),
            fix: id.into(),
            guilty,
            recording: None,
            because: format!("{id} showed"),
        };
        let measurement = |id: &str, flags: &[&str], convicts| Measurement {
            id: id.into(),
            text: id.into(),
            flags: flags.iter().map(ToString::to_string).collect(),
            recording: Some(format!("{id}-recorded")),
            shows: format!("{id} shows"),
            choices: Vec::new(),
            convicts,
        };
        Case {
            target: "stage2".into(),
            flags: vec!["--config".into(), "tiny".into()],
            suspects: vec![suspect("init", false), suspect("layout", true)],
            measurements: vec![
                measurement("plain", &[], false),
                measurement("kernels", &["--profile-steps", "3"], true),
            ],
        }
    }

    /// Progress of a learner after these actions, recorded as a session records them.
    fn standing_after(case_moves: &[&str]) -> Standing {
        let (case, at) = (case(), StepRef::new("stages", "stage2"));
        let mut state = SessionState::default();
        let mut n = 0;
        let mut record = |event| {
            n += 1;
            let time = String::new();
            state.apply(&Record { n, time, event });
        };
        for (index, case_move) in case_moves.iter().enumerate() {
            let (what, which) = case_move.split_once(' ').unwrap();
            let command = match what {
                "suspect" => {
                    let suspect = which.to_string();
                    record(SessionEvent::Suspected {
                        at: at.clone(),
                        suspect,
                    });
                    continue;
                }
                "play" => vec!["recordings".into(), "play".into(), which.to_string()],
                "fix" => case
                    .flags_of(CaseMove::Fix(case.suspect(which).unwrap()))
                    .unwrap(),
                _ => {
                    let index = case.measurements.iter().position(|it| it.id == which);
                    case.flags_of(CaseMove::Measure(index.unwrap())).unwrap()
                }
            };
            let run = format!("run-{index}");
            record(SessionEvent::RunStarted {
                run: run.clone(),
                at: Some(at.clone()),
                target: "stage2".into(),
                command,
                host: String::new(),
            });
            record(SessionEvent::RunFinished {
                run,
                exit: RunExit::SUCCESS,
                values: BTreeMap::new(),
            });
        }
        Standing::from_progress(&case, &state.progress(&at), &state)
    }

    #[test]
    fn a_case_is_solved_by_name_conviction_and_fix_and_by_nothing_less() {
        let case = case();
        let solved = |case_moves: &[&str]| standing_after(case_moves).is_solved(&case);
        assert!(solved(&["measure kernels", "suspect layout", "fix layout"]));
        assert!(solved(&[
            "play kernels-recorded",
            "suspect layout",
            "fix layout"
        ]));
        for case_moves in [
            &["suspect layout", "fix layout"][..],
            &["measure plain", "suspect layout", "fix layout"],
            &["measure kernels", "suspect layout"],
            &["measure kernels", "fix layout"],
            &["measure kernels", "suspect init", "fix init"],
            &[
                "measure kernels",
                "suspect layout",
                "fix layout",
                "suspect init",
            ],
        ] {
            assert!(!solved(case_moves), "{case_moves:?}");
        }
    }

    #[test]
    fn a_measurement_is_read_after_its_question_was_answered() {
        let mut case = case();
        let choice = |text: &str, correct| QuizChoice {
            text: text.into(),
            correct,
            when: None,
            because: format!("because {text}"),
        };
        case.measurements[1].choices = vec![choice("first", false), choice("second", true)];
        let mut standing = standing_after(&["measure kernels"]);
        let shown = |standing: &Standing| standing.evidence(&case)[0].text.clone();
        assert_eq!(shown(&standing), "kernels shows");
        insta::assert_snapshot!(standing.missing(&case), @"Which row is odd? Or is none?");
        assert_eq!(standing.asked(&case), Some(1));
        assert!(case.answer(ANSWERS + 1).unwrap().correct);
        standing.read = vec![1];
        assert_eq!(shown(&standing), "kernels shows\nbecause second");
        assert_eq!(standing.asked(&case), None);
    }

    #[test]
    fn two_measurements_convict_together_or_not_at_all() {
        let mut case = case();
        case.measurements[0].convicts = true;
        let solved = |case_moves: &[&str]| standing_after(case_moves).is_solved(&case);
        let one = ["measure kernels", "suspect layout", "fix layout"];
        assert!(!solved(&one));
        assert!(solved(&[&one[..], &["measure plain"]].concat()));
    }

    #[test]
    fn costs_and_findings_follow_from_the_runs() {
        let case = case();
        let convicted = ["measure kernels", "suspect layout", "fix layout"];
        let more = [&convicted[..], &["measure kernels", "measure plain"]].concat();
        let (solved, curious) = (standing_after(&convicted), standing_after(&more));
        assert_eq!((solved.measurements, curious.measurements), (1, 1));
        assert_eq!(curious.taken, [1, 1, 0]);
        let standing =
            standing_after(&["measure plain", "measure plain", "suspect init", "fix init"]);
        assert_eq!(
            (standing.measurements, &standing.taken[..]),
            (2, &[0, 0][..])
        );
        let evidence = standing.evidence(&case);
        let known: Vec<_> = evidence.iter().map(|it| (&*it.text, it.run)).collect();
        assert_eq!(known, [("plain shows", "run-1"), ("init showed", "run-3")]);
        assert!(standing.missing(&case).contains("still there"));
    }
}
