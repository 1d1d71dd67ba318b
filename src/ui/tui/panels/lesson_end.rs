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
    let mut text = format!("# {} is done\n\n{goes_on}You can now\n\n", lesson.title);
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
    use super::*;
    use crate::tui::script::Script;
    use tinyllama_lesson::Verdict;
    use tinyllama_session::event::AnswerGiven;
    use tinyllama_session::{SessionEvent, StepRef};

    #[test]
    fn attempts_are_the_runs_answers_suspects_and_checked_kernels_of_the_lesson_and_nothing_else() {
        let mut script = Script::in_new_folder();
        let at = || StepRef::new("kinds", "command");
        let started = |run: &str, at| SessionEvent::RunStarted {
            run: run.into(),
            at,
            target: "v1".into(),
            command: Vec::new(),
            host: "here".into(),
        };
        let checked = |at| SessionEvent::KernelChecked {
            at,
            exercise: "elementwise".into(),
            passed: false,
            findings: Vec::new(),
            sha256: String::new(),
            text: None,
        };
        let given = |correct| AnswerGiven {
            answer: 1.0,
            correct,
        };
        let answered = |at, correct| SessionEvent::Answered {
            at,
            given: given(correct),
        };
        let suspect = || "attention".to_owned();
        let hint = || SessionEvent::HintShown { at: at(), hint: 1 };
        let verdict = Verdict::Passed;
        let (check, value) = ("learns".into(), None);
        for (event, attempts, hints) in [
            (started("20260101-1", Some(at())), 1, 0),
            (answered(at(), false), 2, 0),
            (answered(at(), true), 3, 0),
            (
                SessionEvent::Suspected {
                    at: at(),
                    suspect: suspect(),
                },
                4,
                0,
            ),
            (checked(Some(at())), 5, 0),
            // Neither of these is an attempt.
            (
                SessionEvent::Predicted {
                    at: at(),
                    value: 2.0,
                },
                5,
                0,
            ),
            (
                SessionEvent::Recalled {
                    at: at(),
                    given: given(false),
                },
                5,
                0,
            ),
            (
                SessionEvent::Checked {
                    at: at(),
                    check,
                    verdict,
                    value,
                },
                5,
                0,
            ),
            (
                SessionEvent::Reflected {
                    at: at(),
                    text: "a lot".into(),
                },
                5,
                0,
            ),
            (hint(), 5, 1),
            (hint(), 5, 1),
            // These belong to no lesson, or to another one.
            (started("20260101-2", None), 5, 1),
            (checked(None), 5, 1),
            (answered(StepRef::new("first", "question"), true), 5, 1),
        ] {
            let name = format!("{event:?}");
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
