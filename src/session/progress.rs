//! Applies the course's rules to a learner's state: which lessons are open, what is done, and what comes next.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{SessionState, Standing, StepProgress, StepRef, StepStatus};
use tinyllama_lesson::kinds::StepKind;
use tinyllama_lesson::path::PROOF;
use tinyllama_lesson::{Course, Lesson, Step, Verdict};

/// True if a lesson can be begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    Open,
    /// Lessons that have to be finished first.
    Locked(Vec<String>),
}

/// The progress of a lesson.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LessonProgress {
    /// Steps done or skipped.
    pub finished: usize,
    pub count: usize,
    pub skipped: usize,
    pub minutes: f64,
    pub attempts: u32,
    pub hints: usize,
}

impl LessonProgress {
    /// The sum over the steps that were begun; `of` is the number of all steps.
    pub fn count<'a>(steps: impl Iterator<Item = &'a StepProgress> + Clone, count: usize) -> Self {
        let done = steps.clone().filter(|step| step.status == StepStatus::Done);
        let skipped = |step: &&StepProgress| matches!(step.status, StepStatus::Skipped(_));
        let skipped = steps.clone().filter(skipped).count();
        LessonProgress {
            finished: done.count() + skipped,
            count,
            skipped,
            minutes: steps.clone().map(|step| step.seconds).sum::<f64>() / 60.0,
            attempts: steps.clone().map(|step| step.attempts).sum(),
            hints: steps.map(|step| step.hints.len()).sum(),
        }
    }

    pub fn is_finished(&self) -> bool {
        self.finished == self.count
    }
}

/// The learner's path, and how many of its steps are done or skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathProgress {
    pub id: String,
    pub title: String,
    /// Planned minutes.
    pub minutes: u32,
    pub steps_finished: usize,
    pub steps: usize,
}

impl PathProgress {
    /// Returns `None` for a learner of the whole course.
    pub fn new(course: &Course, state: &SessionState) -> Option<Self> {
        let path = state.path.as_ref()?;
        let steps = course.steps();
        let steps: Vec<_> = steps
            .filter(|(lesson, step)| path.has_step(&lesson.id, &step.id))
            .collect();
        let finished = |(lesson, step): &&(&Lesson, &Step)| {
            let step = state.step(&lesson.id, &step.id);
            step.is_some_and(|step| step.status != StepStatus::Open)
        };
        Some(Self {
            id: path.id.clone(),
            title: path.title.clone(),
            minutes: path.minutes,
            steps_finished: steps.iter().filter(finished).count(),
            steps: steps.len(),
        })
    }
}

impl fmt::Display for PathProgress {
    /// `12 of 88 steps of the path "In an afternoon"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, steps, .. } = self;
        write!(
            f,
            "{} of {steps} steps of the path \"{title}\"",
            self.steps_finished
        )
    }
}

/// A text such as `10 done` or `10 done, 3 skipped`; `finished` includes the skipped ones.
pub fn done_and_skipped(finished: usize, skipped: usize) -> String {
    let done = finished.saturating_sub(skipped);
    match skipped {
        0 => format!("{done} done"),
        skipped => format!("{done} done, {skipped} skipped"),
    }
}

/// A lesson opens when all its required lessons are finished or their sessions proven, when an instructor opened it or pinned
/// the class to it, or when the learner opened it anyway.
pub fn access(course: &Course, state: &SessionState, lesson: &Lesson) -> Access {
    if state.unlocked.contains_key(&lesson.id)
        || state.opened_early.contains(&lesson.id)
        || state.pinned.as_ref() == Some(&lesson.id)
    {
        return Access::Open;
    }
    let missing: Vec<String> = required(course, state, lesson)
        .into_iter()
        .filter(|required| !progress(state, required).is_finished())
        .filter(|required| !is_proven(course, state, &required.session))
        .map(|required| required.id.clone())
        .collect();
    if missing.is_empty() {
        Access::Open
    } else {
        Access::Locked(missing)
    }
}

/// Returns whether a learner who takes, or took, the path of proofs did every step that proves a session.
fn is_proven(course: &Course, state: &SessionState, session: &str) -> bool {
    let Ok(Some(path)) = course.path(PROOF) else {
        return false;
    };
    if !state.proves_sessions {
        return false;
    }
    let mut asked = course
        .steps()
        .filter(|(lesson, step)| lesson.session == session && path.names_step(&lesson.id, &step.id))
        .peekable();
    let is_done = |(lesson, step): (&Lesson, &Step)| {
        let progress = state.step(&lesson.id, &step.id);
        progress.is_some_and(|progress| progress.status == StepStatus::Done)
    };
    asked.peek().is_some() && asked.all(is_done)
}

/// The lessons that a lesson requires. If the lesson is on the learner's path, a required lesson off the path is replaced by
/// the lessons that it requires.
fn required<'a>(course: &'a Course, state: &SessionState, lesson: &Lesson) -> Vec<&'a Lesson> {
    let path = state
        .path
        .as_ref()
        .filter(|path| path.has_lesson(&lesson.id));
    let mut left: Vec<&String> = lesson.requires.iter().rev().collect();
    let mut found: Vec<&Lesson> = Vec::new();
    while let Some(id) = left.pop() {
        match (course.lesson(id), path) {
            (Some(off), Some(path)) if !path.has_lesson(id) => {
                left.extend(off.requires.iter().rev())
            }
            (Some(lesson), _) if !found.iter().any(|it| it.id == lesson.id) => found.push(lesson),
            _ => {}
        }
    }
    found
}

impl SessionState {
    pub fn is_on_path(&self, lesson: &Lesson) -> bool {
        let path = self.path.as_ref();
        path.is_none_or(|path| path.has_lesson(&lesson.id))
    }

    /// Returns true if the lesson cannot be finished without this step.
    pub fn asks(&self, lesson: &Lesson, step: &Step) -> bool {
        let path = self.path.as_ref().filter(|_| self.is_on_path(lesson));
        let is_whole = path.is_none_or(|path| path.has_whole_lesson(&lesson.id));
        let is_named = path.is_some_and(|path| path.names_step(&lesson.id, &step.id));
        is_named || is_whole && !step.optional
    }
}

pub fn progress(state: &SessionState, lesson: &Lesson) -> LessonProgress {
    let steps = lesson.steps.iter();
    let begun = steps
        .clone()
        .filter_map(|step| state.step(&lesson.id, &step.id));
    // An optional step counts only once it is done or skipped.
    let of = steps.filter(|step| state.asks(lesson, step) || is_finished(state, lesson, step));
    LessonProgress::count(begun, of.count())
}

/// The steps of a lesson that are on the learner's path; all of them if the path does not name the lesson.
pub fn steps_on_path<'l>(state: &SessionState, lesson: &'l Lesson) -> Vec<&'l Step> {
    let path = state.path.as_ref();
    let path = path.filter(|path| path.has_lesson(&lesson.id));
    let steps = lesson.steps.iter();
    steps
        .filter(|step| path.is_none_or(|path| path.has_step(&lesson.id, &step.id)))
        .collect()
}

fn is_finished(state: &SessionState, lesson: &Lesson, step: &Step) -> bool {
    let progress = state.step(&lesson.id, &step.id);
    progress.is_some_and(|progress| progress.status != StepStatus::Open)
}

/// Returns whether every required check of a step passed at its last evaluation. A check that only a GPU can pass may be not
/// evaluated.
pub fn checks_passed(step: &Step, progress: &StepProgress) -> bool {
    let of_gpus = |id: &str| {
        step.checks
            .iter()
            .any(|check| check.on_gpu && check.id == id)
    };
    let passed = |id: &str| match progress.checks.get(id).map(|result| result.verdict) {
        Some(Verdict::Passed) => true,
        Some(Verdict::NotEvaluated) => of_gpus(id),
        Some(Verdict::NotYet | Verdict::Inconclusive) | None => false,
    };
    step.checked()
        .filter(|(_, required)| *required)
        .all(|(id, _)| passed(id))
}

/// Returns whether the step's task is done and its required checks have passed.
pub fn is_complete(step: &Step, progress: &StepProgress, state: &SessionState) -> bool {
    is_task_done(step, progress, state) && checks_passed(step, progress)
}

/// Returns whether the learner did what the step asks. The checks do not change the answer.
pub fn is_task_done(step: &Step, progress: &StepProgress, state: &SessionState) -> bool {
    match &step.kind {
        StepKind::Read(_) | StepKind::Compare(_) => true,
        StepKind::Predict(_) => progress.prediction.is_some(),
        StepKind::Run(_) | StepKind::Command(_) => progress.has_run(state),
        StepKind::Investigate(case) => {
            Standing::from_progress(case, progress, state).is_solved(case)
        }
        StepKind::Profile(_) => progress.attempts > 0,
        StepKind::Quiz(_) => progress.answers.iter().any(|answer| answer.correct),
        StepKind::Kernel(_) => progress.kernel_passed,
        StepKind::Reflect(_) => progress.written().is_some(),
    }
}

/// The first unfinished step of the lesson to which the class is pinned, else of the first open lesson. `None` if
/// everything open is finished.
pub fn next(course: &Course, state: &SessionState) -> Option<StepRef> {
    let pinned = state.pinned.iter().filter_map(|id| course.lesson(id));
    pinned
        .chain(course.lessons().filter(|lesson| state.is_on_path(lesson)))
        .filter(|lesson| access(course, state, lesson) == Access::Open)
        .find_map(|lesson| unfinished(state, lesson))
}

/// The first unfinished step of a lesson.
pub fn unfinished(state: &SessionState, lesson: &Lesson) -> Option<StepRef> {
    let steps = lesson.steps.iter();
    let mut steps = steps
        .filter(|step| state.asks(lesson, step))
        .map(|step| StepRef::new(&lesson.id, &step.id));
    steps.find(|at| state.progress(at).status == StepStatus::Open)
}

/// The step `by` positions after this one in its lesson.
pub fn neighbour(course: &Course, at: &StepRef, by: isize) -> Option<StepRef> {
    let lesson = course.lesson(&at.lesson)?;
    let location = lesson.steps.iter().position(|step| step.id == at.step)?;
    let step = lesson.steps.get(location.checked_add_signed(by)?)?;
    Some(StepRef::new(&lesson.id, &step.id))
}

/// The next step of the lesson; from a step on the path the next one that is on it, too.
pub fn following(course: &Course, state: &SessionState, at: &StepRef) -> Option<StepRef> {
    let path = state.path.as_ref();
    let path = path.filter(|path| path.has_lesson(&at.lesson));
    // Who left the path goes on step by step.
    let path = path.filter(|path| path.has_step(&at.lesson, &at.step));
    let mut following = neighbour(course, at, 1)?;
    while path.is_some_and(|path| !path.has_step(&following.lesson, &following.step)) {
        following = neighbour(course, &following, 1)?;
    }
    Some(following)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Session, SessionLocation};
    use tinyllama_lesson::{CourseSource, LearningPath};

    fn course() -> Course {
        Course::load(&CourseSource::BuiltIn).unwrap()
    }

    fn on_path(course: &Course, name: &str) -> SessionState {
        SessionState {
            path: course.path(name).unwrap().cloned(),
            ..SessionState::default()
        }
    }

    fn finish(state: &mut SessionState, lesson: &Lesson) {
        let steps = state.lessons.entry(lesson.id.clone()).or_default();
        for step in &lesson.steps {
            steps.entry(step.id.clone()).or_default().status = StepStatus::Done;
        }
    }

    #[test]
    fn the_steps_of_the_proof_open_what_requires_the_session() {
        let course = course();
        let mut state = SessionState {
            proves_sessions: true,
            ..SessionState::default()
        };
        let later = course.lesson("fused-projections").unwrap();
        let path = course.path(PROOF).unwrap().unwrap();
        let asked = course.steps().filter(|(lesson, step)| {
            lesson.session == "foundation" && path.names_step(&lesson.id, &step.id)
        });
        let asked: Vec<_> = asked.collect();
        assert!(asked.iter().any(|(_, step)| step.as_quiz().is_some()));
        assert!(asked.iter().any(|(_, step)| step.as_kernel().is_some()));
        for (lesson, step) in asked {
            assert_ne!(access(&course, &state, later), Access::Open);
            let steps = state.lessons.entry(lesson.id.clone()).or_default();
            steps.entry(step.id.clone()).or_default().status = StepStatus::Done;
        }
        assert_eq!(access(&course, &state, later), Access::Open);
    }

    #[test]
    fn requirements_count_within_the_path() {
        let course = course();
        let mut state = on_path(&course, "short");
        let kernels = course.lesson("what-a-kernel-is").unwrap();
        // It requires a lesson off the path, which requires one with steps on it.
        let Access::Locked(missing) = access(&course, &state, kernels) else {
            panic!("open at once");
        };
        assert_eq!(missing, ["ablation"]);
        for id in &missing {
            finish(&mut state, course.lesson(id).unwrap());
        }
        assert_eq!(access(&course, &state, kernels), Access::Open);
        state.path = None;
        assert_ne!(access(&course, &state, kernels), Access::Open);
    }

    #[test]
    fn the_next_step_is_the_paths() {
        let course = course();
        let mut state = on_path(&course, "short");
        let before = course
            .lessons()
            .take_while(|it| it.id != "precision-and-batch");
        before.for_each(|lesson| finish(&mut state, lesson));
        // The lesson between the two is off the path.
        assert_eq!(next(&course, &state).unwrap().lesson, "what-a-kernel-is");
        state.path = None;
        assert_eq!(next(&course, &state).unwrap().lesson, "precision-and-batch");
    }

    #[test]
    fn a_path_of_single_steps_asks_for_these_alone() {
        let course = course();
        let mut state = on_path(&course, "proof");
        let mut taken = Vec::new();
        while let Some(at) = next(&course, &state) {
            let (lesson, step) = course.find_step(&at).unwrap();
            assert!(!progress(&state, lesson).is_finished());
            let steps = state.lessons.entry(lesson.id.clone()).or_default();
            steps.entry(step.id.clone()).or_default().status = StepStatus::Done;
            taken.push(at.to_string());
        }
        assert_eq!(taken, course.path("proof").unwrap().unwrap().lessons);
        let at = StepRef::new("fused-projections", "rotate");
        let after = following(&course, &state, &at).unwrap();
        assert_eq!(
            after.step, "share-saved",
            "the next step that the path names"
        );
        assert_eq!(following(&course, &state, &after), None);
    }

    #[test]
    fn off_the_path_the_next_step_is_the_next_of_the_lesson() {
        let course = course();
        let state = on_path(&course, "short");
        let next = |step| following(&course, &state, &StepRef::new("memory", step));
        assert_eq!(next("double-sequence"), None, "the last step on the path");
        assert_eq!(next("guess-growth").unwrap().step, "long");
        let lesson = course.lesson("memory").unwrap();
        assert_eq!(steps_on_path(&state, lesson).len(), 4);
        let whole = course.lesson("bottleneck").unwrap();
        assert_eq!(steps_on_path(&state, whole).len(), whole.steps.len());
    }

    #[test]
    fn a_skipped_lesson_keeps_its_reason_and_what_was_done() {
        let folder = tempfile::tempdir().unwrap();
        let location = SessionLocation::new(folder.path(), "ada");
        let course = course();
        let lesson = course.lesson("memory").unwrap();
        let mut session = Session::open(location.clone()).unwrap();
        session.enter(lesson, &lesson.steps[0]).unwrap();
        let path = course.path("short").unwrap();
        session.take_path(path).unwrap();
        session.skip_lesson(lesson, " known ").unwrap();
        drop(session);
        let state = Session::open(location.clone()).unwrap().state().clone();
        assert_eq!(state.path.as_ref(), path, "it is kept");
        let status = |step: &Step| state.progress(&StepRef::new("memory", &step.id)).status;
        assert_eq!(status(&lesson.steps[0]), StepStatus::Done);
        assert_eq!(
            status(&lesson.steps[1]),
            StepStatus::Skipped("known".into())
        );
        assert!(progress(&state, lesson).is_finished());

        let taken = PathProgress::new(&course, &state).unwrap();
        assert_eq!(taken.id, "short");
        assert_eq!(taken.steps_finished, progress(&state, lesson).finished);
        let steps = course.steps();
        let steps = steps.filter(|(lesson, step)| path.unwrap().has_step(&lesson.id, &step.id));
        assert_eq!(taken.steps, steps.count());
    }

    #[test]
    fn a_class_takes_its_path_once_and_its_learners_may_leave_it() {
        use crate::class_file::{self, ClassSettings};
        let folder = tempfile::tempdir().unwrap();
        let location = SessionLocation::new(folder.path(), "ada");
        let course = course();
        let mut session = Session::open(location).unwrap();
        let pin = |path: Option<&LearningPath>| {
            let pin = ClassSettings {
                lesson: None,
                path: path.cloned(),
                by: "Teacher".into(),
            };
            class_file::write(folder.path(), &pin).unwrap();
        };
        let short = course.path("short").unwrap();
        pin(short);
        let notices = session.poll_notices().unwrap();
        assert_eq!(notices.len(), 1);
        assert!(notices[0].to_string().contains(&short.unwrap().title));
        assert_eq!(session.state().path.as_ref(), short);
        session.take_path(None).unwrap();
        assert!(session.poll_notices().unwrap().is_empty());
        assert_eq!(session.state().path, None, "the learner's choice stays");
        pin(course.path("proof").unwrap());
        assert_eq!(session.poll_notices().unwrap().len(), 1);
        pin(None);
        session.poll_notices().unwrap();
        assert_eq!(session.state().path, None);
    }
}
