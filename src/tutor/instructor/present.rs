//! A step for a projector: its text, and the answers of the class as bars.

use std::collections::BTreeMap;

use itertools::Itertools;

use super::{Class, ClassError};
use crate::slide::slide_text;
use tinyllama_base::plural;
use tinyllama_lesson::{Course, Lesson, Quiz, Step};
use tinyllama_session::{StepProgress, StepRef, StepStatus};

/// Columns of the longest bar.
const LONGEST: usize = 40;

/// The step that is `steps` further in the course, or the last one in this direction.
pub fn neighbour(course: &Course, at: &StepRef, steps: isize) -> StepRef {
    let all: Vec<_> = course.steps().collect();
    let is_here = |(lesson, step): &(&Lesson, &Step)| lesson.id == at.lesson && step.id == at.step;
    let here = all.iter().position(is_here).unwrap_or(0);
    let there = here.saturating_add_signed(steps).min(all.len() - 1);
    StepRef::new(&all[there].0.id, &all[there].1.id)
}

/// The step in Markdown, with what the class has answered so far.
///
/// # Errors
/// Fails if the class folder may not be read.
pub fn page(
    lesson: &Lesson,
    step: &Step,
    class: &mut Class,
    block: &str,
) -> Result<String, ClassError> {
    let learners = class.learners()?;
    let sessions = learners
        .iter()
        .filter_map(|learner| learner.state.as_ref().ok());
    let of_step: Vec<_> = sessions
        .map(|(state, _)| state.progress(&StepRef::new(&lesson.id, &step.id)))
        .collect();
    let text = slide_text(lesson, step);
    Ok(format!("{text}\n\n{}", bars(step, &of_step, block)))
}

/// One bar of `block`s for each first answer or guess, or for what became of a step of another kind. The right answer is not shown.
fn bars(step: &Step, class: &[StepProgress], block: &str) -> String {
    let first = |it: &StepProgress| Some(it.answers.first()?.answer).or(it.prediction);
    let given: Vec<f64> = class.iter().filter_map(first).collect();
    let (rows, what): (Vec<(String, usize)>, _) = match step.as_quiz() {
        Some(Quiz::Choices(choices)) => {
            let count = |index: usize| given.iter().filter(|it| **it == index as f64).count();
            let letters = ('a'..).zip(0..choices.len());
            let rows = letters.map(|(letter, index)| (format!("{letter})"), count(index)));
            (rows.collect(), "first answers")
        }
        _ if step.as_quiz().is_some() || step.as_predict().is_some() => {
            let sorted = given.iter().sorted_by(|a, b| a.total_cmp(b));
            let rows = sorted
                .map(|number| format!("{number:.6}"))
                .dedup_with_count();
            let short = |text: String| text.trim_end_matches('0').trim_end_matches('.').to_owned();
            (
                rows.map(|(count, text)| (short(text), count)).collect(),
                "first numbers",
            )
        }
        _ => {
            let status = class.iter().map(|it| match &it.status {
                StepStatus::Done => "done",
                StepStatus::Skipped(_) => "skipped",
                StepStatus::Open => "open",
            });
            let counts: BTreeMap<&str, usize> = status.counts().into_iter().collect();
            (
                counts
                    .into_iter()
                    .map(|(name, count)| (name.into(), count))
                    .collect(),
                "progress",
            )
        }
    };
    let widest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let most = rows
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(0)
        .max(1);
    let total: usize = rows.iter().map(|(_, count)| count).sum();
    let rows = rows.iter().map(|(name, count)| {
        let bar = block.repeat((count * LONGEST).div_ceil(most));
        format!("{name:<widest$}  {bar:<LONGEST$}  {count}")
    });
    format!(
        "**The class**: {what} of {total} of {}.\n\n```text\n{}\n```\n",
        plural(class.len(), "learner"),
        rows.format("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_lesson::{CourseSource, QuizAnswer};
    use tinyllama_session::{Session, SessionLocation};

    #[test]
    fn a_step_is_shown_with_the_first_answers_of_the_class_and_no_reason() {
        let course = Course::load(&CourseSource::BuiltIn).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let lesson = course.lesson("welcome").unwrap();
        let [question, doctor] =
            ["which-part-changes", "doctor"].map(|id| lesson.step(id).unwrap());
        for (learner, answers) in [
            ("ada", &[0, 1][..]),
            ("bob", &[1]),
            ("eve", &[1]),
            ("max", &[]),
        ] {
            let location = SessionLocation::new(folder.path(), learner);
            let mut session = Session::open(location).unwrap();
            for index in answers {
                let at = StepRef::new("welcome", &question.id);
                session
                    .answer(at, &course, question, QuizAnswer::Choice(*index))
                    .unwrap();
            }
        }
        let mut class = Class::open(folder.path()).unwrap();
        let shown = page(lesson, question, &mut class, "#").unwrap();
        let counted = shown.lines().find(|line| line.contains("3 of 4")).unwrap();
        insta::assert_snapshot!(counted, @"**The class**: first answers of 3 of 4 learners.");
        for (letter, length, count) in [("a)", LONGEST / 2, 1), ("b)", LONGEST, 2), ("c)", 0, 0)] {
            let row = format!("{letter}  {:<LONGEST$}  {count}", "#".repeat(length));
            assert!(shown.contains(&row), "{row}\n{shown}");
        }
        let Some(Quiz::Choices(choices)) = question.as_quiz() else {
            panic!("a choice")
        };
        assert!(
            choices.iter().all(
                |choice| shown.contains(&choice.text) && !shown.contains(choice.because.trim())
            )
        );
        let others = page(lesson, doctor, &mut class, "#").unwrap();
        assert!(
            others.contains("open") && others.contains("progress of 4 of 4 learners"),
            "{others}"
        );

        let at = StepRef::new("welcome", "doctor");
        assert_eq!(neighbour(&course, &at, -1).step, "which-part-changes");
        assert_eq!(neighbour(&course, &at, 3).lesson, "first-baseline");
        assert_eq!(neighbour(&course, &at, -9).step, "the-model");
    }
}
