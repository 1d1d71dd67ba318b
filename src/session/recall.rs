//! Recall: asks earlier questions again, a few at a time, and as a test at the end of the course.

use sha2::{Digest, Sha256};

use crate::{AnswerGiven, Session, SessionError, SessionEvent, SessionState, StepRef, next};
use tinyllama_lesson::{Course, MarkedAnswer, Quiz, QuizAnswer, Step};

/// Number of questions while steps are left to do.
const FEW: usize = 3;
/// Number of questions of the test, after the last step of the path.
const TEST: usize = 15;

/// Chooses the questions to ask again now. Questions whose last answer was wrong come first, then those asked again least often. The rest of
/// the order is drawn from the session's identity, so that each learner has another.
pub fn questions(course: &Course, state: &SessionState) -> Vec<StepRef> {
    let count = match next(course, state) {
        Some(_) => FEW,
        None => TEST,
    };
    let steps = course.steps().filter(|(_, step)| step.as_quiz().is_some());
    let answered = steps.filter_map(|(lesson, step)| {
        let progress = state.step(&lesson.id, &step.id)?;
        let first = progress.answers.first()?.correct;
        let knew = *progress.recalled.last().unwrap_or(&first);
        let at = StepRef::new(&lesson.id, &step.id);
        let draw = Sha256::digest(format!("{}\n{at}", state.session)).to_vec();
        Some((knew, progress.recalled.len(), draw, at))
    });
    let mut answered: Vec<_> = answered.collect();
    answered.sort_by(|a, b| (a.0, a.1, &a.2).cmp(&(b.0, b.1, &b.2)));
    answered.truncate(count);
    answered.into_iter().map(|(.., at)| at).collect()
}

/// Returns whether earlier questions come before this step, because it is the first one in its session of the course. For
/// `None`, the end of the course: whether the test is still to be taken.
pub fn is_due(course: &Course, state: &SessionState, at: Option<&StepRef>) -> bool {
    let Some(at) = at else {
        let steps = state.lessons.values().flat_map(|steps| steps.values());
        let asked = steps.filter(|step| !step.recalled.is_empty()).count();
        return asked < questions(course, state).len();
    };
    let place = |at: &StepRef| Some(&course.lesson(&at.lesson)?.session);
    let session = place(at).and_then(|id| course.session(id));
    let is_here = state.position.as_ref().and_then(place) == place(at);
    let is_begun = |lesson: &String| state.lessons.contains_key(lesson);
    !is_here && session.is_some_and(|session| !session.lessons.iter().any(is_begun))
}

impl Session {
    /// Marks an answer to a question that is asked again. Returns `None` if it is no answer to this step, or if the right
    /// answer depends on a command that has not run yet.
    pub fn recall(
        &mut self,
        at: StepRef,
        course: &Course,
        step: &Step,
        answer: QuizAnswer,
    ) -> Result<Option<MarkedAnswer>, SessionError> {
        let quiz = step.asked_again().as_quiz();
        let quiz = quiz.map(|quiz| self.answerable(course, quiz));
        let Some(quiz) = quiz.transpose()?.flatten() else {
            return Ok(None);
        };
        let Some(mut marked) = quiz.mark_answer(answer) else {
            return Ok(None);
        };
        if let Quiz::Number(number) = &quiz
            && marked.because.is_empty()
        {
            marked.because = number.because.trim().into();
        }
        let given = AnswerGiven {
            answer: answer.as_number(),
            correct: marked.correct,
        };
        self.record(SessionEvent::Recalled { at, given })?;
        Ok(Some(marked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionLocation;
    use tinyllama_lesson::CourseSource;

    #[test]
    fn missed_questions_come_first_and_the_test_has_fifteen_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let place = SessionLocation::new(folder.path(), "ada");
        let course = Course::load(&CourseSource::BuiltIn).unwrap();
        let mut session = Session::open(place).unwrap();
        assert!(questions(&course, session.state()).is_empty());
        let quizzes = course.steps().filter_map(|(lesson, step)| {
            let quiz = step.as_quiz().filter(|quiz| quiz.asked_step().is_none())?;
            let at = StepRef::new(&lesson.id, &step.id);
            Some((at, step, quiz.solution()?))
        });
        let quizzes: Vec<_> = quizzes.take(20).collect();
        let wrong = QuizAnswer::Number(-1.0);
        let missed = quizzes
            .iter()
            .find(|it| matches!(it.2, QuizAnswer::Number(_)));
        let (missed, step, right) = missed.unwrap();
        session
            .answer(missed.clone(), &course, step, wrong)
            .unwrap();
        for (at, step, right) in &quizzes {
            session.answer(at.clone(), &course, step, *right).unwrap();
        }
        let asked = questions(&course, session.state());
        assert_eq!((asked.len(), &asked[0]), (3, missed));
        let other = step.asked_again();
        assert_ne!(other.text, step.text, "it returns with other figures");
        let marked = session.recall(missed.clone(), &course, step, *right);
        assert!(!marked.unwrap().unwrap().correct, "those of before");
        let right = other.as_quiz().and_then(Quiz::solution).unwrap();
        let marked = session
            .recall(missed.clone(), &course, step, right)
            .unwrap();
        assert!(marked.unwrap().correct);
        let later = questions(&course, session.state());
        assert!(!later.contains(missed), "it was known, and others are next");
        let marked = session
            .recall(missed.clone(), &course, step, wrong)
            .unwrap();
        assert!(!marked.as_ref().unwrap().correct);
        assert!(!marked.unwrap().because.is_empty(), "the reason is told");
        assert_eq!(&questions(&course, session.state())[0], missed);
        for lesson in course.lessons() {
            session.skip_lesson(lesson, "").unwrap();
        }
        assert_eq!(questions(&course, session.state()).len(), 15);
    }
}
