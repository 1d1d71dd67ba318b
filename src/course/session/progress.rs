//! Applies the course's rules to a learner's state: which lessons are open, what is done, and what comes next.

use crate::lesson::{Course, Lesson, Step, Verdict};
use crate::session::{SessionState, StepProgress, StepRef, StepStatus};

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

/// A text such as `10 done` or `10 done, 3 skipped`; `finished` includes the skipped ones.
pub fn done_and_skipped(finished: usize, skipped: usize) -> String {
    let done = finished.saturating_sub(skipped);
    match skipped {
        0 => format!("{done} done"),
        skipped => format!("{done} done, {skipped} skipped"),
    }
}

/// A lesson opens when all its required lessons are finished, or when an instructor opened it or pinned the
/// class to it.
pub fn access(course: &Course, state: &SessionState, lesson: &Lesson) -> Access {
    if state.unlocked.contains_key(&lesson.id) || state.pinned.as_ref() == Some(&lesson.id) {
        return Access::Open;
    }
    let missing: Vec<String> = lesson
        .requires
        .iter()
        .filter(|id| {
            course
                .lesson(id)
                .is_some_and(|required| !progress(state, required).is_finished())
        })
        .cloned()
        .collect();
    if missing.is_empty() {
        Access::Open
    } else {
        Access::Locked(missing)
    }
}

pub fn progress(state: &SessionState, lesson: &Lesson) -> LessonProgress {
    let steps = lesson.steps.iter();
    let begun = steps
        .clone()
        .filter_map(|step| state.step(&lesson.id, &step.id));
    // An optional step counts only once it is done or skipped.
    let of = steps.filter(|step| !step.optional || is_finished(state, lesson, step));
    LessonProgress::count(begun, of.count())
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
        _ => false,
    };
    step.checked()
        .filter(|(_, required)| *required)
        .all(|(id, _)| passed(id))
}

/// Returns whether the step's task is done and its required checks have passed.
pub fn is_complete(step: &Step, progress: &StepProgress, state: &SessionState) -> bool {
    step.behavior().is_done(progress, state) && checks_passed(step, progress)
}

/// The first unfinished step of the lesson to which the class is pinned, else of the first open lesson. `None` if
/// everything open is finished.
pub fn next(course: &Course, state: &SessionState) -> Option<StepRef> {
    let pinned = state.pinned.iter().filter_map(|id| course.lesson(id));
    pinned
        .chain(course.lessons())
        .filter(|lesson| access(course, state, lesson) == Access::Open)
        .find_map(|lesson| unfinished(state, lesson))
}

/// The first unfinished step of a lesson.
pub fn unfinished(state: &SessionState, lesson: &Lesson) -> Option<StepRef> {
    let steps = lesson.steps.iter().filter(|step| !step.optional);
    let mut steps = steps.map(|step| StepRef::new(&lesson.id, &step.id));
    steps.find(|at| state.progress(at).status == StepStatus::Open)
}

/// The step `by` positions after this one in its lesson.
pub fn neighbour(course: &Course, at: &StepRef, by: isize) -> Option<StepRef> {
    let lesson = course.lesson(&at.lesson)?;
    let location = lesson.steps.iter().position(|step| step.id == at.step)?;
    let step = lesson.steps.get(location.checked_add_signed(by)?)?;
    Some(StepRef::new(&lesson.id, &step.id))
}
