//! The first page of a new learner: it starts a training run at once, before anything else.

use super::{navigate, runs};
use crate::tui::{Area, Effects, Model, PageText, TextPage, both_effects};
use tinyllama_lesson::Course;
use tinyllama_session::{Access, SessionState, StepRef, access};
use tinyllama_tutor_core::Action;

/// Opens over the outline on a first visit. Does nothing if the course has no run to begin with.
pub fn open(model: &mut Model) -> Effects {
    first_run(&model.course, &model.state)?;
    let mut text = format!(
        "# {}\n\n{}\n\n## Your first minute\n\n**Enter** trains a small model on this machine, now: a few steps to warm up, then \
         five measured ones, and you see time and loss of each as it goes. Nothing has to be prepared. Then the course begins, with what you have just \
         seen.\n\n**Esc** shows all lessons instead. **?** explains the keys wherever you are.",
        model.course.title, model.course.summary
    );
    if !model.course.paths.is_empty() {
        let key = model.keys.shown(Area::Everywhere, Action::Path);
        text += &format!("\n\n## All of it, or a part\n\n**{key}** chooses, now or later:\n\n");
        let paths = model.course.paths_in_text().into_iter();
        text.extend(paths.map(|(name, what)| format!("- **{name}**: {what}\n")));
    }
    model.open(TextPage::new("Welcome", PageText::Markdown(text)).with_keys_of(Area::Welcome))
}

/// The first run of a lesson that is open.
fn first_run(course: &Course, state: &SessionState) -> Option<StepRef> {
    let lessons = course.lessons();
    let mut open = lessons.filter(|lesson| access(course, state, lesson) == Access::Open);
    open.find_map(|lesson| {
        let mut steps = lesson.steps.iter();
        let run = steps.find(|step| step.as_run().is_some())?;
        Some(StepRef::new(&lesson.id, &run.id))
    })
}

/// Opens the first run and starts it.
pub fn begin(model: &mut Model) -> Effects {
    let at = first_run(&model.course, &model.state)?;
    both_effects(navigate::open(model, at.clone()), runs::start(model, at))
}
