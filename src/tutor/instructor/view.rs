//! An instructor's view of one learner as plain data, for lists, JSON and the dashboard.

use std::cmp::Reverse;
use std::fmt;

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::stuck::{Sign, signs};
use crate::instructor::{Class, ClassError, Learner};
use tinyllama_base::{plain as printable, plural};
use tinyllama_lesson::Course;
use tinyllama_session::progress::{PathProgress, done_and_skipped, progress};
use tinyllama_session::{Holder, SessionState, StepRef, StepStatus, inbox, lock};

/// One line of the dashboard.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LearnerView {
    pub name: String,
    /// Why the session cannot be read. The figures are zero then.
    pub problem: Option<String>,
    pub position: Option<LearnerPosition>,
    /// UTC time of the last record that the learner caused.
    pub last: Option<String>,
    /// Minutes since then by this machine's clock. Null if the record is from the future.
    pub idle_minutes: Option<f64>,
    /// The tutor that has the session open.
    pub open_in: Option<Holder>,
    /// The run in progress.
    pub running: Option<String>,
    /// Steps done or skipped.
    pub steps_finished: usize,
    pub steps_skipped: usize,
    pub steps: usize,
    /// Null if the learner takes the whole course.
    pub path: Option<PathProgress>,
    /// In the order of the course.
    pub lessons: Vec<LessonView>,
    pub attempts: u32,
    pub hints: usize,
    pub minutes: f64,
    pub signs: Vec<Sign>,
    pub damaged_lines: usize,
    /// Number of orders that the learner's tutor has not taken yet.
    pub orders_waiting: usize,
}

/// A learner's progress in one lesson.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LessonView {
    pub id: String,
    /// Steps done or skipped.
    pub finished: usize,
    pub skipped: usize,
    pub of: usize,
}

impl LessonView {
    /// Returns whether every step is done or skipped.
    pub fn is_finished(&self) -> bool {
        self.of > 0 && self.finished == self.of
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LearnerPosition {
    pub at: StepRef,
    /// Titles, or ids that the course no longer has.
    pub lesson: String,
    pub step: String,
    /// Number for `Step 3 of 7`. Null if the course does not have the step.
    pub number: Option<usize>,
    pub of: usize,
    pub status: String,
}

impl LearnerView {
    /// Facts that an instructor should know, in one line.
    pub fn remarks(&self, with_damage: bool) -> String {
        let mut remarks: Vec<String> = self.signs.iter().map(|sign| sign.in_words()).collect();
        remarks.extend(self.running.iter().map(|target| format!("runs {target}")));
        remarks.extend(self.problem.clone());
        if with_damage && self.damaged_lines > 0 {
            remarks.push(format!("{} damaged lines", self.damaged_lines));
        }
        if self.orders_waiting > 0 {
            let orders = plural(self.orders_waiting, "order");
            remarks.push(format!("{orders} waiting"));
        }
        if self.open_in.is_some() && self.running.is_none() {
            remarks.push("open".into());
        }
        remarks.join("; ")
    }

    /// Formats the steps done of those that the learner is to do, such as `10/88`.
    pub fn done_of_steps(&self) -> String {
        let (finished, steps) = match &self.path {
            Some(path) => (path.steps_finished, path.steps),
            None => (self.steps_finished, self.steps),
        };
        format!("{}/{steps}", finished.saturating_sub(self.steps_skipped))
    }

    /// Formats `10 done`, or `10 done, 3 skipped`, and the progress on a path.
    pub fn steps_in_words(&self) -> String {
        let done = done_and_skipped(self.steps_finished, self.steps_skipped);
        match &self.path {
            Some(path) => format!("{done}; {}", printable(&path.to_string())),
            None => done,
        }
    }

    /// Formats the time since the learner's last action: `now`, `12 min`, or a dash if it is not known.
    pub fn last_seen(&self) -> String {
        match self.idle_minutes {
            None => "-".into(),
            Some(minutes) if minutes < 1.0 => "now".into(),
            Some(minutes) if minutes < 120.0 => format!("{minutes:.0} min"),
            Some(minutes) if minutes < 2880.0 => format!("{:.0} h", minutes / 60.0),
            Some(minutes) => format!("{:.0} days", minutes / 1440.0),
        }
    }
}

impl fmt::Display for LearnerPosition {
    /// `welcome/doctor (2 of 5)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number.map_or("?".into(), |number| number.to_string());
        write!(
            f,
            "{}/{} ({number} of {})",
            self.at.lesson, self.at.step, self.of
        )
    }
}

/// Returns every learner of the class. Those who need help come first.
///
/// # Errors
/// Fails if the class folder may not be read.
pub fn views(class: &mut Class, course: &Course) -> Result<Vec<LearnerView>, ClassError> {
    let now = OffsetDateTime::now_utc();
    let learners = class.learners()?;
    let mut views: Vec<LearnerView> = learners
        .iter()
        .map(|learner| view(learner, course, now))
        .collect();
    views.sort_by_cached_key(|view| (Reverse(view.signs.len()), view.name.clone()));
    Ok(views)
}

fn view(learner: &Learner, course: &Course, now: OffsetDateTime) -> LearnerView {
    let mut view = LearnerView {
        name: learner.location.learner.clone(),
        open_in: lock::holder(&learner.location.lock()),
        steps: course.lessons().map(|lesson| lesson.steps.len()).sum(),
        orders_waiting: inbox::waiting(&learner.location).map_or(0, |names| names.len()),
        ..LearnerView::default()
    };
    match &learner.state {
        Ok((state, damage)) => {
            view.damaged_lines = damage.len();
            fill(&mut view, state, course, now);
        }
        Err(why) => view.problem = Some(why.clone()),
    }
    view
}

fn fill(view: &mut LearnerView, state: &SessionState, course: &Course, now: OffsetDateTime) {
    for step in state.lessons.values().flat_map(|steps| steps.values()) {
        view.steps_finished += usize::from(step.status != StepStatus::Open);
        view.steps_skipped += usize::from(matches!(step.status, StepStatus::Skipped(_)));
        view.attempts += step.attempts;
        view.hints += step.hints.len();
        view.minutes += step.seconds / 60.0;
    }
    view.path = PathProgress::new(course, state);
    view.lessons = course
        .lessons()
        .map(|lesson| {
            let of_lesson = progress(state, lesson);
            LessonView {
                id: lesson.id.clone(),
                finished: of_lesson.finished,
                skipped: of_lesson.skipped,
                of: of_lesson.count,
            }
        })
        .collect();
    let running = state.runs.values().find(|run| run.exit.is_none());
    view.running = running
        .filter(|_| view.open_in.is_some())
        .map(|run| printable(&run.target));
    view.last = Some(state.last_active.clone());
    view.idle_minutes = minutes_since(&state.last_active, now);
    let Some(at) = &state.position else {
        return;
    };
    view.position = Some(position(at, state, course));
    let busy_or_away = view.running.is_some() || view.open_in.is_none();
    let idle = view.idle_minutes.filter(|_| !busy_or_away);
    let done = state.step(&at.lesson, &at.step);
    if let (Some(step), Some(done)) = (course.step(&at.lesson, &at.step), done) {
        view.signs = signs(step, done, idle);
    }
}

/// Returns `None` for a time in the future: a clock was set back, so the difference is not known.
fn minutes_since(time: &str, now: OffsetDateTime) -> Option<f64> {
    let then = OffsetDateTime::parse(time, &Rfc3339).ok()?;
    let minutes = (now - then).as_seconds_f64() / 60.0;
    (minutes >= -1.0).then_some(minutes.max(0.0))
}

fn position(at: &StepRef, state: &SessionState, course: &Course) -> LearnerPosition {
    let lesson = course.lesson(&at.lesson);
    let index = lesson.and_then(|lesson| lesson.steps.iter().position(|step| step.id == at.step));
    let step = lesson.and_then(|lesson| lesson.steps.get(index?));
    let status = match state.step(&at.lesson, &at.step).map(|step| &step.status) {
        Some(StepStatus::Done) => "done",
        Some(StepStatus::Skipped(_)) => "skipped",
        _ => "open",
    };
    LearnerPosition {
        at: StepRef::new(printable(&at.lesson), printable(&at.step)),
        lesson: printable(lesson.map_or(&at.lesson, |lesson| &lesson.title)),
        step: printable(step.map_or(&at.step, |step| &step.title)),
        number: index.map(|index| index + 1),
        of: lesson.map_or(0, |lesson| lesson.steps.len()),
        status: status.into(),
    }
}
