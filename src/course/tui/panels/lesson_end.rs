//! The page at a lesson's end: what the learner learnt, how long it took, how far off the guesses were, and
//! what comes next.

use crate::lesson::Lesson;
use crate::session::StepStatus;
use crate::session::progress::progress;
use crate::tui::{Model, PageText, TextPage};
use crate::tutor::say;
use tinyllama_base::plural;

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
    let minutes = say::minutes(&of_lesson, lesson.minutes);
    text += &format!(
        "\n{minutes}. {} (runs and answers), {}.\n",
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
                next.title, next.minutes
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
