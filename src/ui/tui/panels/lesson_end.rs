//! The page at a lesson's end: what the learner learnt, how long it took, how far off the guesses were, and
//! what comes next.

use crate::tui::{Model, PageText, TextPage};
use tinyllama_base::plural;
use tinyllama_lesson::Lesson;
use tinyllama_session::StepStatus;
use tinyllama_session::progress::progress;
use tinyllama_tutor_core::say;

pub fn page(model: &Model, lesson: &Lesson, following: Option<&Lesson>) -> TextPage {
    let text = PageText::Markdown(text(model, lesson, following));
    let page = TextPage::new("The end of a lesson", text);
    match following {
        Some(_) => page.leading_to("go on"),
        None => page,
    }
}

fn text(model: &Model, lesson: &Lesson, following: Option<&Lesson>) -> String {
    let state = &model.state;
    let of_lesson = progress(state, lesson);
    let goes_on = following.map_or(String::new(), |next| {
        format!("Enter goes on to **{}**.\n\n", next.title)
    });
    let mut text = format!("# Done: {}\n\n{goes_on}You can now\n\n", lesson.title);
    for objective in &lesson.objectives {
        text += &format!("- {}\n", lower(objective));
    }
    let minutes = say::minutes(&of_lesson, lesson, state);
    text += &format!(
        "\n{minutes}. {} (runs, answers, suspects named and kernels checked), {}.\n",
        plural(of_lesson.attempts as usize, "attempt"),
        plural(of_lesson.hints, "hint")
    );
    let steps = lesson.steps.iter().map(|step| {
        let progress = state.step(&lesson.id, &step.id);
        (step, progress)
    });
    let guesses = steps.clone().filter_map(|(step, progress)| {
        say::guess(&step.as_predict()?.measure, progress, &*model.measured)
    });
    text += &section("What you guessed", guesses);
    let notes = steps.filter_map(|(step, progress)| {
        let progress = progress?;
        let skipped = match &progress.status {
            StepStatus::Skipped(note) if note.is_empty() => Some("skipped".to_owned()),
            StepStatus::Skipped(note) => Some(format!("skipped: {note}")),
            _ => None,
        };
        let note = skipped.or(progress.written().map(str::to_owned))?;
        Some(format!("*{}*: {note}", step.title))
    });
    text += &section("Your notes", notes);
    match following {
        Some(next) => {
            text += &format!(
                "\n## Next\n\n**{}**, {} minutes. Enter goes on.\n",
                next.title,
                say::planned_minutes(next, state)
            );
        }
        None => text += "\n## Next\n\nThis is all there is for now. R shows your report.\n",
    }
    text
}

/// A list under a heading; an empty text for an empty list.
fn section(title: &str, lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.map(|line| format!("- {line}\n")).collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("\n## {title}\n\n{}", lines.concat()),
    }
}

/// Turns a sentence into the end of another: lower case at the start, no full stop.
fn lower(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut letters = sentence.chars();
    let first = letters.next().map(|c| c.to_lowercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tui::script::Script;
    use tinyllama_session::SessionEvent;

    #[test]
    fn attempts_are_the_runs_answers_suspects_and_checked_kernels_of_the_lesson_and_nothing_else() {
        let mut script = Script::in_new_folder();
        let at = json!({ "lesson": "kinds", "step": "command" });
        let elsewhere = json!({ "lesson": "first", "step": "question" });
        let started = |run: &str, at: Option<&Value>| {
            let (target, command) = ("v1", json!([]));
            json!({ "run_started": {
                "run": run, "at": at, "target": target, "command": command, "host": "here"
            } })
        };
        let checked = |at: Option<&Value>| {
            let (exercise, findings) = ("elementwise", json!([]));
            json!({ "kernel_checked": {
                "at": at, "exercise": exercise, "passed": false, "findings": findings, "sha256": ""
            } })
        };
        let answered = |at: &Value, correct: bool| {
            let answer = json!({ "at": at, "answer": 1.0, "correct": correct });
            json!({ "answered": answer })
        };
        let recalled = json!({ "at": at, "answer": 1.0, "correct": false });
        let verdict = json!({ "at": at, "check": "learns", "verdict": "passed", "value": null });
        let suspected = json!({ "suspected": { "at": at, "suspect": "attention" } });
        let hint = json!({ "hint_shown": { "at": at, "hint": 1 } });
        for (event, attempts, hints) in [
            (started("20260101-1", Some(&at)), 1, 0),
            (answered(&at, false), 2, 0),
            (answered(&at, true), 3, 0),
            (suspected, 4, 0),
            (checked(Some(&at)), 5, 0),
            // None of these is an attempt.
            (json!({ "predicted": { "at": at, "value": 2.0 } }), 5, 0),
            (json!({ "recalled": recalled }), 5, 0),
            (json!({ "checked": verdict }), 5, 0),
            (json!({ "reflected": { "at": at, "text": "a lot" } }), 5, 0),
            (hint.clone(), 5, 1),
            (hint, 5, 1),
            // These belong to no lesson, or to another one.
            (started("20260101-2", None), 5, 1),
            (checked(None), 5, 1),
            (answered(&elsewhere, true), 5, 1),
        ] {
            let name = event.to_string();
            let event: SessionEvent = serde_json::from_value(event).expect("an event");
            script.handler.session.record(event).expect("a record");
            script.model.state = script.handler.session.state().clone().into();
            let lesson = script.model.course.lesson("kinds").expect("a lesson");
            let text = text(&script.model, lesson, None);
            let expected = format!(
                "{} (runs, answers, suspects named and kernels checked), {}.",
                plural(attempts, "attempt"),
                plural(hints, "hint")
            );
            assert!(text.contains(&expected), "{name}: {expected}\n{text}");
        }
    }
}
