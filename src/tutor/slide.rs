//! A step as a slide, on paper or for a projector.

use tinyllama_lesson::{Lesson, Quiz, Step, live};
use tinyllama_session::MeasuredRuns;

/// Fills in the figures of a lesson's text for a reader who has made no runs.
pub fn without_runs(text: &str, lesson: &Lesson) -> String {
    let runs = MeasuredRuns::default();
    live::fill(text, lesson, &runs)
}

/// A step's text in Markdown, with the choices of a question and the command it starts.
pub fn slide_text(lesson: &Lesson, step: &Step) -> String {
    let mut text = without_runs(&step.text, lesson);
    if let Some(Quiz::Choices(choices)) = step.as_quiz() {
        let choices = ('a'..).zip(choices);
        text.extend(choices.map(|(letter, choice)| format!("\n{letter}) {}\n", choice.text)));
    }
    if let Some(job) = step.job() {
        text += &format!("\n```text\n{}\n```\n", job.line(&step.flags));
    }
    text
}
