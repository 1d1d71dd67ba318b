//! The learner's progress, computed from the events alone.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{AnswerGiven, KernelTime, Record, RunExit, Scope, SessionEvent, StepRef, check_name};
use tinyllama_lesson::path::PROOF;
use tinyllama_lesson::{LearningPath, Verdict};

/// The result of all events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionState {
    pub learner: String,
    /// Identifies the session by its learner, machine and start time.
    #[serde(default)]
    pub identity: String,
    /// The session's unique name, given at its start.
    #[serde(default)]
    pub session: String,
    /// Title and version of the course last opened.
    pub course: Option<(String, String)>,
    /// The learner's last position.
    pub position: Option<StepRef>,
    /// Progress by lesson, then by step.
    pub lessons: BTreeMap<String, BTreeMap<String, StepProgress>>,
    /// Lessons that an instructor opened, with the instructor's name.
    pub unlocked: BTreeMap<String, String>,
    /// Lessons that the learner opened before those that they require.
    #[serde(default)]
    pub opened_early: BTreeSet<String>,
    /// Runs by id.
    pub runs: BTreeMap<String, RunEntry>,
    pub backups: BTreeMap<String, Backup>,
    pub messages: Vec<InstructorMessage>,
    /// What instructors changed, oldest first, with the time.
    #[serde(default)]
    pub changes: Vec<(String, SessionEvent)>,
    /// Attempts at kernels, oldest first.
    #[serde(default)]
    pub kernels: Vec<KernelAttempt>,
    /// The lesson to which the class is pinned.
    #[serde(default)]
    pub pinned: Option<String>,
    /// The learner's path; `None` for the whole course.
    #[serde(default)]
    pub path: Option<LearningPath>,
    /// True if the learner once took the path whose steps prove sessions.
    #[serde(default)]
    pub proves_sessions: bool,
    /// Id of the path that an instructor chose last.
    #[serde(default)]
    pub class_path: Option<String>,
    /// Orders of instructors that were taken.
    #[serde(default)]
    pub orders: BTreeSet<String>,
    pub notes: Vec<String>,
    /// Number of events that this program does not know.
    pub unknown_events: u64,
    /// Number and time of the last record.
    pub records: u64,
    pub last_time: String,
    /// Time of the last record that the learner caused.
    #[serde(default)]
    pub last_active: String,
}

/// A learner's progress at one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepProgress {
    pub status: StepStatus,
    pub seconds: f64,
    /// Runs started and answers given.
    pub attempts: u32,
    /// Numbers of the hints shown, from 1.
    pub hints: BTreeSet<u32>,
    pub prediction: Option<f64>,
    pub answers: Vec<AnswerGiven>,
    /// One entry for each time the question was asked again: true if the answer was right.
    #[serde(default)]
    pub recalled: Vec<bool>,
    pub reflection: Option<String>,
    /// Suspicions of an investigation, oldest first.
    #[serde(default)]
    pub suspicions: Vec<Suspicion>,
    /// Last verdict of each check.
    pub checks: BTreeMap<String, CheckResult>,
    /// Runs of the step, oldest first.
    pub runs: Vec<String>,
    /// The instructor who did the step for the learner.
    #[serde(default)]
    pub solved_by: Option<String>,
    /// The learner's kernel passed its check here.
    #[serde(default)]
    pub kernel_passed: bool,
}

impl StepProgress {
    /// Applies an event that happened at this step.
    fn apply(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::TimeSpent { seconds, .. } => self.seconds += seconds,
            SessionEvent::Predicted { value, .. } => self.prediction = Some(*value),
            SessionEvent::Checked {
                check,
                verdict,
                value,
                ..
            } => {
                let result = self.checks.entry(check.clone()).or_default();
                result.verdict = *verdict;
                result.value = *value;
                result.missed += u32::from(*verdict == Verdict::NotYet);
            }
            SessionEvent::Answered { given, .. } => {
                self.attempts += 1;
                self.answers.push(given.clone());
            }
            SessionEvent::Recalled { given, .. } => self.recalled.push(given.correct),
            SessionEvent::Suspected { suspect, .. } => {
                self.attempts += 1;
                self.suspicions.push(Suspicion {
                    suspect: suspect.clone(),
                    after_runs: self.runs.len(),
                });
            }
            SessionEvent::HintShown { hint, .. } => drop(self.hints.insert(*hint)),
            SessionEvent::Reflected { text, .. } => self.reflection = Some(text.clone()),
            SessionEvent::StepDone { .. } => self.status = StepStatus::Done,
            SessionEvent::StepSkipped { note, .. } => {
                self.status = StepStatus::Skipped(note.clone());
            }
            SessionEvent::Solved { by, .. } => {
                self.status = StepStatus::Done;
                self.solved_by = Some(by.clone());
            }
            _ => {}
        }
    }

    /// Returns whether a run of the step succeeded.
    pub fn has_run(&self, state: &SessionState) -> bool {
        let mut runs = self.runs.iter().filter_map(|id| state.runs.get(id));
        runs.any(|run| run.exit == Some(RunExit::SUCCESS))
    }

    /// Returns the text that the learner wrote.
    pub fn written(&self) -> Option<&str> {
        self.reflection.as_deref().filter(|text| !text.is_empty())
    }
}

/// One attempt at a kernel of the workbench.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelAttempt {
    pub exercise: String,
    pub time: String,
    /// Hash of the file at that time.
    pub sha256: String,
    #[serde(flatten)]
    pub did: KernelAttemptResult,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelAttemptResult {
    Checked {
        passed: bool,
        /// Kinds of the findings.
        findings: Vec<String>,
    },
    Timed(KernelTime),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    #[default]
    Open,
    Done,
    /// Skipped, with the learner's reason.
    Skipped(String),
}

/// A suspect that the learner named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspicion {
    pub suspect: String,
    /// Number of runs made before the learner named it.
    pub after_runs: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    pub verdict: Verdict,
    pub value: Option<f64>,
    /// How often the verdict was `not yet`.
    #[serde(default)]
    pub missed: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunEntry {
    /// How many runs the session had before. Runs are ordered by it, because a clock may be set back.
    #[serde(default)]
    pub number: usize,
    pub target: String,
    pub command: Vec<String>,
    pub host: String,
    pub at: Option<StepRef>,
    pub started: String,
    /// `None` while it runs.
    pub exit: Option<RunExit>,
    /// Figures by metric name; what was not reported is absent.
    pub values: BTreeMap<String, f64>,
    /// The machine on which it was recorded; `None` for a run of this machine.
    #[serde(default)]
    pub recording: Option<String>,
    /// SHA-256 of its event stream when it ended.
    #[serde(default)]
    pub sha256: Option<String>,
}

impl RunEntry {
    /// Returns whether it succeeded but has no seal of its event stream. The tutor itself never leaves such a run.
    pub fn is_unsealed(&self) -> bool {
        self.exit == Some(RunExit::SUCCESS) && self.sha256.is_none()
    }

    /// Returns the flags that it was started with.
    pub fn flags(&self) -> impl Iterator<Item = &String> {
        let args = self.command.iter();
        args.skip_while(|word| *word != "--events").skip(1)
    }
}

/// The progress that a reset removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backup {
    pub scope: Scope,
    pub by: String,
    pub time: String,
    pub removed: BTreeMap<String, BTreeMap<String, StepProgress>>,
    pub restored: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructorMessage {
    pub from: String,
    pub text: String,
    pub time: String,
}

impl SessionState {
    pub fn from_records<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut state = Self::default();
        for record in records {
            state.apply(record);
        }
        state
    }

    pub fn step(&self, lesson: &str, step: &str) -> Option<&StepProgress> {
        self.lessons.get(lesson)?.get(step)
    }

    /// Returns the progress of one step; the default if nothing has happened there.
    pub fn progress(&self, at: &StepRef) -> StepProgress {
        self.step(&at.lesson, &at.step).cloned().unwrap_or_default()
    }

    pub fn apply(&mut self, record: &Record) {
        self.apply_event(&record.event, &record.time);
        self.records = record.n;
        self.last_time.clone_from(&record.time);
        if !matches!(
            record.event,
            SessionEvent::Ordered { .. }
                | SessionEvent::Pinned { .. }
                | SessionEvent::PathChosen { by: Some(_), .. }
                | SessionEvent::Note { .. }
                | SessionEvent::Unknown
        ) {
            self.last_active.clone_from(&record.time);
        }
    }

    fn apply_event(&mut self, event: &SessionEvent, time: &str) {
        match event {
            SessionEvent::Created {
                learner,
                host,
                session,
                ..
            } => {
                self.learner.clone_from(learner);
                self.session.clone_from(session);
                self.identity = format!("{learner} {host} {time}");
            }
            SessionEvent::Opened {
                course,
                course_version,
                ..
            } => {
                self.course = Some((course.clone(), course_version.clone()));
            }
            SessionEvent::StepEntered { at } => self.position = Some(at.clone()),
            // A negative or unknown time would falsify the sum permanently.
            SessionEvent::TimeSpent { seconds, .. } if !(seconds.is_finite() && *seconds > 0.0) => {
            }
            SessionEvent::RunStarted { .. }
            | SessionEvent::RunFinished { .. }
            | SessionEvent::Recorded { .. }
            | SessionEvent::Sealed { .. } => self.apply_run(event, time),
            SessionEvent::KernelChecked { .. } | SessionEvent::KernelTimed { .. } => {
                self.apply_kernel(event, time)
            }
            SessionEvent::Unlocked { lesson, others, by } => {
                let lessons = std::iter::once(lesson).chain(others);
                self.unlocked
                    .extend(lessons.map(|lesson| (lesson.clone(), by.clone())));
            }
            SessionEvent::OpenedEarly { lesson } => drop(self.opened_early.insert(lesson.clone())),
            SessionEvent::Reset { backup, scope, by } => self.reset(time, backup, scope, by),
            SessionEvent::Restored { backup, .. } => self.restore(backup),
            SessionEvent::Message { from, text } => {
                self.messages.push(InstructorMessage {
                    from: from.clone(),
                    text: text.clone(),
                    time: time.into(),
                });
            }
            SessionEvent::Note { text } => self.notes.push(text.clone()),
            SessionEvent::Pinned { lesson, .. } => {
                self.pinned.clone_from(lesson);
                self.changes.push((time.into(), event.clone()));
            }
            SessionEvent::PathChosen { path, by } => {
                self.path.clone_from(path);
                self.proves_sessions |= path.as_ref().is_some_and(|path| path.id == PROOF);
                if by.is_some() {
                    self.changes.push((time.into(), event.clone()));
                    self.class_path = path.as_ref().map(|path| path.id.clone());
                }
            }
            SessionEvent::Ordered { order, events } => {
                self.orders.insert(order.clone());
                self.apply_order(events, event.ordered(), time);
            }
            SessionEvent::Unknown => self.unknown_events += 1,
            SessionEvent::TimeSpent { at, .. }
            | SessionEvent::Predicted { at, .. }
            | SessionEvent::Checked { at, .. }
            | SessionEvent::Answered { at, .. }
            | SessionEvent::Recalled { at, .. }
            | SessionEvent::Suspected { at, .. }
            | SessionEvent::HintShown { at, .. }
            | SessionEvent::Reflected { at, .. }
            | SessionEvent::StepDone { at }
            | SessionEvent::StepSkipped { at, .. }
            | SessionEvent::Solved { at, .. } => self.progress_mut(at).apply(event),
        }
    }

    /// Applies the events of an instructor's order, which comes to `done`.
    fn apply_order(&mut self, events: &[SessionEvent], done: &SessionEvent, time: &str) {
        for event in events {
            self.apply_event(event, time);
        }
        if !matches!(done, SessionEvent::Message { .. }) && !done.is_of_command_line() {
            self.changes.push((time.into(), done.clone()));
        }
    }

    fn apply_run(&mut self, event: &SessionEvent, time: &str) {
        if let SessionEvent::RunStarted {
            run,
            at,
            target,
            command,
            host,
        } = event
        {
            if let Some(at) = at {
                let step = self.progress_mut(at);
                step.attempts += 1;
                step.runs.push(run.clone());
            }
            let started = RunEntry {
                number: self.runs.len(),
                target: target.clone(),
                command: command.clone(),
                host: host.clone(),
                at: at.clone(),
                started: time.into(),
                ..RunEntry::default()
            };
            // A name that leads out of the folder names no run.
            if check_name(run).is_ok() {
                self.runs.insert(run.clone(), started);
            }
        }
        let (SessionEvent::RunFinished { run, .. }
        | SessionEvent::Recorded { run, .. }
        | SessionEvent::Sealed { run, .. }) = event
        else {
            return;
        };
        let Some(entry) = self.runs.get_mut(run) else {
            return;
        };
        match event {
            SessionEvent::RunFinished { exit, values, .. } => {
                entry.exit = Some(*exit);
                entry.values.clone_from(values);
            }
            SessionEvent::Recorded { machine, .. } => entry.recording = Some(machine.clone()),
            SessionEvent::Sealed { sha256, .. } => entry.sha256 = Some(sha256.clone()),
            _ => {}
        }
    }

    fn apply_kernel(&mut self, event: &SessionEvent, time: &str) {
        let (exercise, sha256, did) = match event {
            SessionEvent::KernelChecked {
                at,
                exercise,
                passed,
                findings,
                sha256,
                ..
            } => {
                if let Some(at) = at {
                    let step = self.progress_mut(at);
                    step.attempts += 1;
                    step.kernel_passed |= passed;
                }
                let did = KernelAttemptResult::Checked {
                    passed: *passed,
                    findings: findings.clone(),
                };
                (exercise, sha256, did)
            }
            SessionEvent::KernelTimed {
                exercise,
                timed,
                sha256,
            } => (exercise, sha256, KernelAttemptResult::Timed(timed.clone())),
            _ => return,
        };
        self.kernels.push(KernelAttempt {
            exercise: exercise.clone(),
            time: time.into(),
            sha256: sha256.clone(),
            did,
        });
    }

    fn progress_mut(&mut self, at: &StepRef) -> &mut StepProgress {
        self.lessons
            .entry(at.lesson.clone())
            .or_default()
            .entry(at.step.clone())
            .or_default()
    }

    fn reset(&mut self, time: &str, backup: &str, scope: &Scope, by: &str) {
        let mut removed: BTreeMap<String, BTreeMap<String, StepProgress>> = BTreeMap::new();
        for (lesson, steps) in &mut self.lessons {
            let (gone, kept) = std::mem::take(steps)
                .into_iter()
                .partition(|(step, _)| scope.covers(lesson, step));
            *steps = kept;
            let gone: BTreeMap<String, StepProgress> = gone;
            if !gone.is_empty() {
                removed.insert(lesson.clone(), gone);
            }
        }
        self.lessons.retain(|_, steps| !steps.is_empty());
        let kept = Backup {
            scope: scope.clone(),
            by: by.to_string(),
            time: time.into(),
            removed,
            restored: false,
        };
        self.backups.insert(backup.to_string(), kept);
    }

    /// Replaces steps that were begun again since the reset by the restored ones.
    fn restore(&mut self, backup: &str) {
        let Some(kept) = self.backups.get_mut(backup) else {
            return;
        };
        kept.restored = true;
        for (lesson, steps) in std::mem::take(&mut kept.removed) {
            self.lessons.entry(lesson).or_default().extend(steps);
        }
    }
}
