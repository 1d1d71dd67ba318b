//! Where a tutor starts that is told to.

use crate::TutorError;
use tinyllama_lesson::{Course, Lesson};
use tinyllama_session::{Access, Session, StepRef, access, unfinished};

/// Goes to the first unfinished step of a lesson, or of a session's first lesson. A locked lesson is opened anyway.
///
/// # Errors
/// If the course has no such lesson, or the session cannot be written.
pub fn start_at(session: &mut Session, course: &Course, name: &str) -> Result<(), TutorError> {
    let lesson = find(course, name)?;
    if access(course, session.state(), lesson) != Access::Open {
        session.open_early(&lesson.id)?;
    }
    let first = lesson.steps.first();
    let first = first.map(|step| StepRef::new(&lesson.id, &step.id));
    let at = unfinished(session.state(), lesson).or(first);
    if let Some(step) = at.and_then(|at| lesson.step(&at.step)) {
        session.turn_to(lesson, step)?;
    }
    Ok(())
}

fn find<'a>(course: &'a Course, name: &str) -> Result<&'a Lesson, TutorError> {
    let of_session = || course.lesson(course.session(name)?.lessons.first()?);
    course.lesson(name).or_else(of_session).ok_or_else(|| {
        let sessions = itertools::join(course.sessions.iter().map(|session| &session.id), ", ");
        TutorError::Usage(format!(
            "there is no lesson and no session `{name}`; the sessions are {sessions}, and `tinyllama-tutor lessons list` \
             names the lessons"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_lesson::CourseSource;
    use tinyllama_session::SessionLocation;

    #[test]
    fn a_tutor_starts_at_a_locked_lesson_and_keeps_that_it_was_opened_early() {
        let folder = tempfile::tempdir().unwrap();
        let course = Course::load(&CourseSource::BuiltIn).unwrap();
        let place = SessionLocation::new(folder.path(), "ada");
        let mut session = Session::open(place).unwrap();
        let first = &course.sessions[3].lessons[0];
        start_at(&mut session, &course, &course.sessions[3].id).unwrap();
        let state = session.state();
        assert_eq!(state.position.as_ref().map(|at| &at.lesson), Some(first));
        assert!(state.opened_early.contains(first));
        start_at(&mut session, &course, &course.sessions[0].lessons[0]).unwrap();
        assert_eq!(
            session.state().opened_early.len(),
            1,
            "the first lesson is open"
        );
        let error = start_at(&mut session, &course, "nowhere").unwrap_err();
        assert!(
            error.to_string().contains("nowhere") && error.is_usage(),
            "{error}"
        );
    }
}
