//! Sentences that both interfaces of the tutor use.

use std::fmt::Write;

use itertools::Itertools as _;

use tinyllama_base::{duration, milliseconds, or_not_reported};
use tinyllama_contract::{Body, Event};
use tinyllama_lesson::{Course, Lesson, Quantity, Runs, Term, exact, recorded};
use tinyllama_runs::event_text;
use tinyllama_runs::recording::label;
use tinyllama_session::progress::progress;
use tinyllama_session::{LessonProgress, SessionState, StepProgress};

/// Formats the minutes of a lesson, such as `3 min of 9`.
pub fn minutes(progress: &LessonProgress, lesson: &Lesson, state: &SessionState) -> String {
    let planned = planned_minutes(lesson, state);
    format!("{} of {planned} min", whole_minutes(progress.minutes))
}

/// Planned minutes of a lesson on the learner's path.
pub fn planned_minutes(lesson: &Lesson, state: &SessionState) -> String {
    whole_minutes(lesson.minutes_on(state.path.as_ref()))
}

/// Formats whole minutes. Adding zero avoids `-0` for an empty sum.
pub fn whole_minutes(minutes: f64) -> String {
    format!("{:.0}", minutes.max(0.0) + 0.0)
}

/// Formats the prediction and the measured value; `None` without a prediction.
pub fn guess(quantity: &Quantity, step: Option<&StepProgress>, runs: &dyn Runs) -> Option<String> {
    let guess = step?.prediction?;
    let unit = quantity.unit();
    let mut text = format!("You guessed {}.", unit.show(guess));
    match exact(quantity, runs) {
        Ok(measured) => {
            let place = recorded(quantity, runs);
            let place = place.map_or("here".into(), |origin| format!("({})", label(origin)));
            let _ = write!(text, " Measured {place}: {}", unit.show(measured));
            if guess > 0.0 && measured > 0.0 {
                let factor = (measured / guess).max(guess / measured);
                let _ = match factor {
                    factor if factor < 1.05 => write!(text, ", as good as exact"),
                    factor => write!(text, ", a factor of {factor:.1} away"),
                };
            }
            text.push('.');
        }
        Err(_) => {
            let is_missing = |term: &&Term| runs.measurements(&term.run).is_empty();
            let missing: Vec<_> = quantity.terms().filter(is_missing).collect();
            let titles = missing.iter().map(|term| format!("\"{}\"", term.title));
            let titles: Vec<_> = titles.unique().collect();
            let missing = titles.len();
            let titles = titles.join(" and ");
            let _ = match missing {
                // The runs are there, but of other machines or without the figure.
                0 => write!(text, " The runs so far do not show it."),
                1 => write!(text, " The run {titles} will show it."),
                _ => write!(text, " The runs {titles} will show it."),
            };
        }
    }
    Some(text)
}

/// Warns about a run without output for `seconds`. `stopping` names what ends the run.
pub fn silence(seconds: f64, stopping: &str) -> String {
    format!(
        "The run has reported nothing for {}. It may be compiling or in a slow step; a GPU that \
         hangs never answers (check with `tinyllama-tutor doctor` and `dmesg` in another terminal). \
         {stopping} ends it within seconds, and what it reported is kept.",
        duration(seconds)
    )
}

/// Returns the titles of the lessons that a locked lesson needs.
pub fn requires(course: &Course, missing: &[String]) -> String {
    let titles = missing.iter().map(|id| match course.lesson(id) {
        Some(lesson) => &lesson.title,
        None => id,
    });
    format!("opens after: {}", itertools::join(titles, ", "))
}

/// Says what comes before a locked lesson, and that `again` opens it anyway.
pub fn locked(course: &Course, lesson: &Lesson, missing: &[String], again: &str) -> String {
    let needs = requires(course, missing);
    let title = &lesson.title;
    format!("{again} opens it anyway, and your report says so. \"{title}\" {needs}.")
}

/// Minutes spent and planned, and lessons finished, for the learner's path or all of a course.
pub fn course_progress(course: &Course, state: &SessionState) -> (f64, u32, usize, usize) {
    let lessons = course.lessons().filter(|lesson| state.is_on_path(lesson));
    let lessons: Vec<_> = lessons.collect();
    let done: Vec<LessonProgress> = lessons
        .iter()
        .map(|lesson| progress(state, lesson))
        .collect();
    (
        done.iter().map(|lesson| lesson.minutes).sum(),
        match &state.path {
            Some(path) => path.minutes,
            None => lessons.iter().map(|lesson| lesson.minutes).sum(),
        },
        done.iter().filter(|lesson| lesson.is_finished()).count(),
        lessons.len(),
    )
}

/// Reads a number in the ways people type it: `1 000`, `1e3`, `2,5`.
pub fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let point = match (text.contains('.'), text.matches(',').count()) {
        (false, 1) => text.replace(',', "."),
        _ => text.to_owned(),
    };
    let whole = point.split(['.', 'e', 'E']).next().unwrap_or_default();
    let is_separator = |c: char| c == ',' || c.is_whitespace();
    // Only thousands are set apart: `1 2` is no number.
    let mut thousands = whole.split(is_separator).skip(1);
    if !thousands.all(|group| group.len() == 3) {
        return None;
    }
    let whole = whole.replace(is_separator, "") + &point[whole.len()..];
    whole.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Reads a number like [`number`], or explains the fault of the text.
pub fn figure(text: &str) -> Result<f64, String> {
    number(text).ok_or_else(|| format!("`{text}` is not a number; write one like 12.5 or 1e3"))
}

/// Formats an event as text; `None` for tables of kernels and parts, and for errors.
pub fn event(event: &Event) -> Option<String> {
    Some(match &event.body {
        Body::Hello(hello) => format!("{} on {} ({})", hello.target, hello.device, hello.backend),
        Body::Phase(phase) => phase.message.clone(),
        Body::Step(step) => format!(
            "step {} of {}: loss {:.3}, {}",
            step.n,
            step.of,
            step.loss,
            milliseconds(step.total_ms)
        ),
        Body::Summary(summary) => {
            let median = summary.total_ms.map(|spread| milliseconds(spread.median));
            let median = or_not_reported(median);
            let loss = match (summary.first_loss, summary.final_loss) {
                (Some(first), Some(last)) => format!("loss {first:.3} to {last:.3}"),
                _ => "loss not reported".into(),
            };
            format!("{} steps, median {median}, {loss}", summary.measured_steps)
        }
        body => return event_text::remark(body),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_type_them_and_nothing_else_is_one() {
        for (text, value) in [
            ("6.9", 6.9),
            (" 2,5 ", 2.5),
            ("1 000", 1000.0),
            ("1,000.5", 1000.5),
            ("1e3", 1000.0),
            ("-4", -4.0),
        ] {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for text in [
            "", "nan", "inf", "about 5", "1.2.3", "1 2", "1,2,3", "1.5 0",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
