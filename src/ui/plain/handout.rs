//! A lesson as a text to print: with its answers for an instructor, or as slides.

use serde_json::json;

use super::show::{WIDTH, render, width};
use tinyllama_lesson::{Course, CourseSource, Lesson, LessonDocument};
use tinyllama_report::layout;
use tinyllama_tutor_core::slide::{slide_text, without_runs};

/// Prints every step of a lesson with its right answer and reason, its hints, and the input of its golden path.
///
/// # Errors
/// Fails if the lesson's file can no longer be read.
pub fn answers(lesson: &Lesson, source: &CourseSource) -> Result<String, String> {
    let text = source.read(&format!("{}/{}.yaml", lesson.session, lesson.id))?;
    let mut document: LessonDocument = serde_yaml::from_str(&text).map_err(|it| it.to_string())?;
    for (written, step) in document.steps.iter_mut().zip(&lesson.steps) {
        // The hints of a kernel step come from its exercise, not from the file.
        written.hints.clone_from(&step.hints);
    }
    let shown = json!({ "title": lesson.title, "steps": document.steps });
    Ok(without_runs(&layout::render("answers.txt", &shown), lesson))
}

/// Prints each step of a lesson, or of all lessons in a session, as a page below a rule. `None` if no lesson or session has this id.
pub fn slides(course: &Course, id: &str, ascii: bool) -> Option<String> {
    let rule = &if ascii { "=" } else { "═" }.repeat(width(WIDTH));
    let lessons = course
        .lessons()
        .filter(|it| it.id == id || it.session == id);
    let pages = lessons.flat_map(|lesson| {
        let steps = (1..).zip(&lesson.steps);
        steps.map(move |(number, step)| {
            let (title, of) = (&lesson.title, lesson.steps.len());
            let head = format!("{rule}\n{title}, {number} of {of}\n{}\n", step.title);
            let text = render(&slide_text(lesson, step), width(WIDTH), ascii);
            format!("{head}\n{text}\n\n")
        })
    });
    let text: String = pages.collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_lesson::{Quiz, Step};

    fn course() -> Course {
        Course::load(&CourseSource::BuiltIn).unwrap()
    }

    #[test]
    fn every_right_answer_hint_and_golden_flag_is_on_the_page_of_answers() {
        for lesson in course().lessons() {
            let text = answers(lesson, &CourseSource::BuiltIn).unwrap();
            let quizzes = lesson.steps.iter().filter(|step| step.as_quiz().is_some());
            let right = text.matches("- [x] ").count();
            let cases = lesson.steps.iter().filter_map(Step::as_case);
            let readings = cases.clone().flat_map(|case| &case.measurements);
            let readings = readings.filter(|it| !it.choices.is_empty()).count();
            let asked = quizzes.count() + cases.count() + readings;
            assert_eq!(right, asked, "{}", lesson.id);
            assert!(!text.contains("{{"), "{text}");
            for step in &lesson.steps {
                for hint in &step.hints {
                    assert!(text.contains(hint.text.trim()), "{}/{}", lesson.id, step.id);
                }
                if let Some(flags) = &step.golden.flags {
                    assert!(text.contains(&flags.join(" ")), "{}/{}", lesson.id, step.id);
                }
            }
        }
    }

    #[test]
    fn a_slide_holds_the_text_and_no_answer_and_drawings_stay_as_they_are() {
        let course = course();
        let lesson = course.lesson("first-baseline").unwrap();
        assert_eq!(slides(&course, "nowhere", false), None);
        let session = slides(&course, "foundation", false).unwrap();
        let text = slides(&course, "first-baseline", false).unwrap();
        assert!(session.contains(&text));
        let rule = "═".repeat(WIDTH);
        let pages: Vec<&str> = text.split(&rule).skip(1).collect();
        assert_eq!(pages.len(), lesson.steps.len());
        for (page, step) in pages.into_iter().zip(&lesson.steps) {
            assert!(page.contains(&step.title), "{page}");
            let mut is_code = false;
            for line in step.text.lines() {
                is_code ^= line.trim_start().starts_with("```");
                if is_code && !line.contains("```") && !line.contains("{{") {
                    assert!(page.contains(line.trim_end()), "{line}\n{page}");
                }
            }
            let widest = page.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(WIDTH + 2), "{page}");
            if let Some(Quiz::Choices(choices)) = step.as_quiz() {
                let told = |it: &tinyllama_lesson::QuizChoice| page.contains(it.because.trim());
                assert!(!choices.iter().any(told), "{page}");
            }
        }
    }
}
