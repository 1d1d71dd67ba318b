//! Kernel steps: while the step is open, the tutor checks the learner's file after every save.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, SystemTime};

use super::request::request;
use crate::tui::panels::kernel::KernelPanel;
use crate::tui::{
    Area, Ask, BackgroundTask, Effect, Effects, HandOver, Message, Model, OpenStep, Overlay,
    PageText, SessionRequest, TaskContext, TextPage, both_effects,
};
use tinyllama_session::kernel::start_exercise;
use tinyllama_session::{CheckedKernel, StepRef};
use tinyllama_tutor_core::Action;
use tinyllama_workbench::check::CheckProgress;
use tinyllama_workbench::{Exercise, exercise_file};

/// Interval at which the file's modification time is read. Network home folders report it as well.
const LOOK: Duration = Duration::from_millis(300);

/// Opens the kernel's screen and watches its file from now on.
pub fn watch(model: &mut Model, here: &OpenStep) -> Effects {
    let exercise = exercise(model, here)?;
    let found = start_exercise(exercise, &model.workbench);
    let (path, _) = or_warn(model, found)?;
    let view = model.step.as_mut()?;
    if view.panel.is_none() {
        view.panel = Some(Box::new(KernelPanel::new(path.clone())));
    }
    view.panel_open = true;
    if view.watched.is_some() {
        return None;
    }
    let token = Arc::new(());
    view.watched = Some(Arc::clone(&token));
    let (at, held) = (here.at.clone(), Arc::downgrade(&token));
    Some(vec![Effect::Work(BackgroundTask {
        meanwhile: "The kernel is being checked.",
        job: Box::new(move |context| look_after(context, &at, exercise, &path, &held)),
    })])
}

/// Watches the file until the learner leaves the step.
fn look_after(
    context: &TaskContext,
    at: &StepRef,
    exercise: &'static Exercise,
    path: &Path,
    held: &Weak<()>,
) {
    let mut seen: Option<(SystemTime, u64)> = None;
    while held.strong_count() > 0 && !context.sender.is_closed() {
        // An editor may replace the file, and for a moment it is missing.
        let now = std::fs::metadata(path).and_then(|data| Ok((data.modified()?, data.len())));
        if let Ok(now) = now
            && seen != Some(now)
        {
            seen = Some(now);
            context.send(tried_now(context, at, exercise, path));
        }
        thread::sleep(LOOK);
    }
}

fn tried_now(
    context: &TaskContext,
    at: &StepRef,
    exercise: &'static Exercise,
    path: &Path,
) -> Message {
    let tried = CheckedKernel::without_gpu(exercise, path, &mut |progress| {
        context.send(Message::KernelProgress(at.clone(), progress));
    });
    let tried = tried.map(Box::new).map_err(|error| format!("{error:#}"));
    Message::Kernel(at.clone(), tried)
}

/// Opens the editor on the file. Writes the file first if it is missing.
pub fn edit(model: &mut Model, here: &OpenStep) -> Effects {
    let exercise = exercise(model, here)?;
    let watched = watch(model, here);
    let path = model.workbench.join(exercise.file_name());
    both_effects(watched, Some(vec![Effect::HandOver(HandOver::Open(path))]))
}

/// Checks the file now, whether it was saved or not.
pub fn check(model: &mut Model, here: &OpenStep) -> Effects {
    let exercise = exercise(model, here)?;
    let was_watched = model
        .step
        .as_ref()
        .is_some_and(|view| view.watched.is_some());
    let effects = watch(model, here);
    if !was_watched {
        return effects;
    }
    let (at, path) = (here.at.clone(), model.workbench.join(exercise.file_name()));
    Some(vec![Effect::background_work(
        "The kernel is being checked.",
        move |context| tried_now(context, &at, exercise, &path),
    )])
}

/// Shows a solution; the learner's own file stays unchanged.
pub fn solution(model: &mut Model, here: &OpenStep) -> Effects {
    let exercise = exercise(model, here)?;
    let text = or_warn(model, exercise.solution())?;
    model.open(TextPage::new(
        format!("A solution of {}", exercise.name),
        PageText::Markdown(format!("```cpp\n{text}\n```\n")),
    ))
}

/// Restores the original file. The learner's version is kept next to it.
pub fn reset(model: &mut Model, here: &OpenStep) -> Effects {
    let exercise = exercise(model, here)?;
    let kept = start_exercise(exercise, &model.workbench)
        .and_then(|(path, _)| exercise_file::reset(exercise, &path));
    let kept = or_warn(model, kept)?;
    model.notify(format!(
        "It is the starter again; your version was saved as {}.",
        kept.display()
    ))
}

/// Asks for a guess, and then measures times on this machine's GPU, or gives the answer without one.
pub fn bench(model: &mut Model, here: &OpenStep) -> Effects {
    let exercise = exercise(model, here)?;
    // What is measured is the learner's file, which may not have been opened yet.
    let started = start_exercise(exercise, &model.workbench);
    or_warn(model, started)?;
    let ask = Ask::new(
        here.at.clone(),
        "Your guess first; Enter measures, or gives the answer where no GPU is",
        &exercise.question,
        |model, at, _| {
            let course = Arc::clone(&model.course);
            let step = course.step(&at.lesson, &at.step);
            let kernel = step.and_then(|step| step.as_kernel());
            Ok(kernel.and_then(|kernel| measure(model, kernel.exercise)))
        },
    );
    model.push_overlay(Overlay::Ask(ask))
}

fn measure(model: &Model, exercise: &Exercise) -> Effects {
    let path = model.workbench.join(exercise.file_name());
    let argv = ["workbench", "bench", &exercise.name, "--file"].map(str::to_owned);
    let argv = argv.into_iter().chain([path.display().to_string()]);
    Some(vec![Effect::HandOver(HandOver::Command(argv.collect()))])
}

/// The step's exercise. Without one, tells the learner so and returns `None`.
fn exercise(model: &mut Model, here: &OpenStep) -> Option<&'static Exercise> {
    let kernel = here.step.as_kernel();
    if kernel.is_none() {
        model.notify("This step asks for no kernel.");
    }
    kernel.map(|kernel| kernel.exercise)
}

/// The value, or a warning with the error.
fn or_warn<T>(model: &mut Model, done: anyhow::Result<T>) -> Option<T> {
    done.map_err(|error| model.warn(format!("{error:#}"))).ok()
}

/// A check takes its time.
pub fn progress(model: &mut Model, at: &StepRef, progress: CheckProgress) -> Effects {
    model.view_at(at)?;
    model.notify(progress.text())
}

/// A check has ended.
pub fn tried(
    model: &mut Model,
    at: &StepRef,
    tried: Result<Box<CheckedKernel>, String>,
) -> Effects {
    let key = model.keys.shown(Area::Step, Action::Machine);
    let view = model.view_at(at)?;
    let tried = match tried {
        Ok(tried) => tried,
        Err(problem) => {
            let panel = view
                .panel
                .as_ref()
                .map_or(String::new(), |panel| panel.title());
            view.panel = Some(Box::new(KernelPanel::failed(panel.into(), &problem)));
            return model.warn(problem);
        }
    };
    let mut panel = KernelPanel::new(tried.file.path.clone());
    panel.take(&tried, &key);
    let mut findings = tried.checked.findings.iter();
    view.finding = findings.find(|finding| finding.line.is_some()).cloned();
    view.panel = Some(Box::new(panel));
    model.notice = None;
    if tried.checked.passed {
        model.notify("The kernel passed.");
    }
    request(SessionRequest::Tried(at.clone(), tried))
}
