//! Complete flows of a learner, by messages, with a real session.

mod lessons;
mod lists;
mod reading;
mod runs;

use std::sync::Arc;

use crossterm::event::Event;
use ratatui::prelude::{Buffer, Rect};

use crate::tui::FocusedScreen;
use crate::tui::model::message::{Effect, HandOver, Message, ProfileMessage, RunId};
use crate::tui::model::overlay::Overlay;
use crate::tui::model::run::RunPhase;
use crate::tui::panels::report::ReportPanel;
use crate::tui::panels::roofline::RooflinePanel;
use crate::tui::script::{STREAM, Script};
use crate::tui::sheet::text;
use crate::tui::view::draw;
use tinyllama_base::roofline::Roofline;
use tinyllama_lesson::{Course, CourseSource};
use tinyllama_session::event::{RunExit, StepRef};
use tinyllama_session::state::StepStatus;
use tinyllama_tutor_core::RunEnding;

fn status(script: &Script, step: &str) -> StepStatus {
    script
        .handler
        .session
        .state()
        .step("first", step)
        .map(|progress| progress.status.clone())
        .unwrap_or_default()
}

fn is_stopped(script: &Script, run: RunId) -> bool {
    let mut effects = script.handler.effects.iter();
    effects.any(|effect| matches!(effect, Effect::StopRun(id) if *id == run))
}

/// The step's text as one line, without its wrapping.
fn unwrapped(script: &Script) -> String {
    let text = script.text();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The content of a terminal with another size than the default.
fn drawn(script: &mut Script, columns: u16, rows: u16) -> String {
    script.event(Event::Resize(columns, rows));
    let area = Rect::new(0, 0, columns, rows);
    let mut buffer = Buffer::empty(area);
    draw(&script.model, area, &mut buffer);
    text(&buffer)
}

/// Opens the first lesson at its first step.
fn in_the_first_lesson() -> Script {
    let mut script = Script::in_new_folder();
    script.keys("enter enter");
    assert_eq!(script.step(), "text");
    script
}

#[test]
fn a_learner_guesses_runs_passes_and_comes_back_to_the_same_step() {
    let mut script = in_the_first_lesson();
    script.keys("n enter");
    script.type_text("25");
    script.keys("enter");
    assert_eq!(status(&script, "guess"), StepStatus::Done);
    assert!(
        script.text().contains("You guessed 25"),
        "{}",
        script.text()
    );

    script.keys("enter enter");
    let id = script.started().expect("the run is started");
    assert!(
        script
            .model
            .step
            .as_ref()
            .is_some_and(|view| view.panel_open)
    );
    assert_eq!(status(&script, "baseline"), StepStatus::Open);
    script.finish(id);
    assert_eq!(status(&script, "baseline"), StepStatus::Done);
    let text = script.text();
    assert!(text.contains("✓ passed  learns"), "{text}");
    insta::assert_snapshot!(text);

    script.keys("enter");
    assert_eq!(script.step(), "results");
    let shown = unwrapped(&script);
    assert!(shown.contains("24.25 ms"), "{shown}");
    let script = script.reopened();
    assert_eq!(
        (script.step(), script.model.screen),
        ("results", FocusedScreen::Step)
    );
}

#[test]
fn a_meaningless_key_says_so_and_a_break_is_not_counted_as_work() {
    let mut script = in_the_first_lesson();
    let position = script.step().to_owned();
    script.keys("Z");
    assert_eq!(script.step(), position);
    insta::assert_snapshot!(script.model.notice.as_ref().unwrap().text, @"Nothing is on Z here; ? lists the keys.");
    script.keys("home");
    script.keys("up");
    assert!(!script.changed, "there is nothing above the first line");

    script.started -= std::time::Duration::from_secs(3600);
    script.keys("n");
    let seconds = script
        .handler
        .session
        .state()
        .step("first", "text")
        .unwrap()
        .seconds;
    // Two minutes of the hour, and the time of the keys before.
    assert!((120.0..600.0).contains(&seconds), "{seconds}");
}

#[test]
fn quitting_asks_only_while_a_run_is_going() {
    let mut script = in_the_first_lesson();
    script.keys("n n enter");
    let id = script.started().unwrap();
    script.begin_run(id);
    script.keys("q");
    assert!(!script.model.quitting);
    script.keys("esc q y");
    assert!(script.model.quitting);

    let mut script = in_the_first_lesson();
    script.keys("q");
    assert!(script.model.quitting);
}

#[test]
fn the_palette_finds_lessons_pages_and_commands_by_a_few_letters() {
    let mut script = in_the_first_lesson();
    script.keys(":");
    script.type_text("gloss");
    script.keys("enter");
    assert!(
        matches!(&script.model.overlay, Some(Overlay::Panel(page)) if page.title() == "Glossary")
    );
    script.keys("esc :");
    script.type_text("next step");
    script.keys("enter");
    assert_eq!(script.step(), "guess");
    script.keys(":");
    script.type_text("first less");
    script.keys("enter");
    assert_eq!(
        script.step(),
        "guess",
        "a lesson opens at its first unfinished step"
    );
}

#[test]
fn report_and_roofline_open_over_whatever_is_on_the_screen() {
    let mut script = in_the_first_lesson();
    script.keys("R");
    let collecting = script.worked().expect("work");
    assert_eq!(script.notice(), collecting);
    let report = ReportPanel::new("# A report".into(), "report".into());
    script.send(Message::Opened(Ok(Box::new(report))));
    assert!(matches!(script.model.overlay, Some(Overlay::Panel(_))));
    assert_eq!(script.notice(), "");
    script.keys("enter");
    let writing = script.worked().expect("work");
    let wrote = "Wrote report.md to report";
    script.send(Message::WorkDone(Ok(wrote.into())));
    assert_eq!(script.notice(), wrote);
    script.keys("esc");
    assert!(script.model.overlay.is_none());

    script.keys("n n enter");
    let id = script.started().unwrap();
    script.finish(id);
    script.keys("F");
    let placing = script.worked().expect("work");
    insta::assert_snapshot!([collecting, writing, placing].join("\n"));
    let problem = "No run has counted its work yet.";
    script.send(Message::Opened(Err(problem.into())));
    assert!(script.model.overlay.is_none());
    assert_eq!(script.notice(), problem);
    let roofline = RooflinePanel::new(Roofline::default());
    script.send(Message::Opened(Ok(Box::new(roofline))));
    script.keys("enter");
    assert!(
        matches!(script.model.overlay, Some(Overlay::Panel(_))),
        "nothing to write here"
    );
    assert_eq!(script.worked(), None);

    // A panel that is written again stays closed if the learner has closed it.
    script.keys("esc");
    let written_again = ReportPanel::new("# A report".into(), "report".into());
    script.send(Message::Renewed(Ok(Box::new(written_again))));
    assert!(script.model.overlay.is_none());
}

/// A learner need not know the path of the course's samples.
#[test]
fn enter_imports_the_sample_of_a_profile_step_without_its_tool() {
    let mut script = Script::with_course(Course::load(&CourseSource::BuiltIn).unwrap());
    let state = Arc::make_mut(&mut script.model.state);
    state
        .unlocked
        .insert("first-profile".into(), "Teacher".into());
    let course = Arc::clone(&script.model.course);
    let lesson = course.lesson("first-profile").unwrap();
    let step = lesson.steps.iter().find(|it| it.golden.import.is_some());
    let at = StepRef::new("first-profile", &step.expect("a sample").id);
    script.open(at.clone());
    script.send(Message::Profile(
        at,
        ProfileMessage::Prepared(Err("not here".into())),
    ));
    script.keys("enter");
    insta::assert_snapshot!(script.worked().expect("an import"));
}

#[test]
fn a_profile_is_still_there_when_the_learner_comes_back_to_its_step() {
    let mut script = Script::in_new_folder();
    let state = Arc::make_mut(&mut script.model.state);
    state.unlocked.insert("second".into(), "Teacher".into());
    let at = StepRef::new("second", "profiler");
    script.open(at.clone());
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../lessons/profiles/jacobi_kernel_stats.csv"
    );
    let import = tinyllama_profile::read::import(fixture.as_ref()).expect("a profile");
    let imported = Ok((Box::new(import), Default::default()));
    script.send(Message::Profile(
        at.clone(),
        ProfileMessage::Imported(imported),
    ));
    assert!(
        script.look().contains("JacobiIterationKernel"),
        "{}",
        script.look()
    );
    // No profiler ran here.
    let commands: Vec<_> = script
        .model
        .state
        .runs
        .values()
        .map(|run| run.command.clone())
        .collect();
    assert!(
        matches!(&commands[..], [command] if command[..2] == ["profile", "import"]),
        "{commands:?}"
    );
    script.open(StepRef::new("first", "text"));
    script.open(at);
    assert!(
        !script.look().contains("JacobiIterationKernel"),
        "the text comes first"
    );
    assert!(bar(&mut script).contains("v figures"), "{}", script.look());
    script.keys("v");
    assert!(
        script.look().contains("JacobiIterationKernel"),
        "{}",
        script.look()
    );
}

#[test]
fn a_file_without_work_of_a_gpu_says_why_and_does_not_complete_the_step() {
    let mut script = Script::in_new_folder();
    let state = Arc::make_mut(&mut script.model.state);
    state.unlocked.insert("second".into(), "Teacher".into());
    let at = StepRef::new("second", "profiler");
    script.open(at.clone());
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/readme_csv/Rocprofv3__OpenMP__README.md_L104.csv"
    );
    let import = tinyllama_profile::import(fixture.as_ref()).expect("a profile");
    let imported = Ok((Box::new(import), Default::default()));
    script.send(Message::Profile(at, ProfileMessage::Imported(imported)));
    let look = script.look();
    for told in [
        "the step is not done",
        "The profiler saw 4 GPUs",
        "--backend rocm",
    ] {
        assert!(look.contains(told), "{told}: {look}");
    }
    assert!(
        script.model.state.runs.is_empty(),
        "the step counts as done"
    );
    script.keys("esc");
    assert!(
        script.look().contains("The profiler saw 4 GPUs"),
        "{}",
        script.look()
    );
}

#[test]
fn a_palette_without_a_match_stays_and_help_begins_with_where_one_is() {
    let mut script = in_the_first_lesson();
    script.keys(": x q x q enter");
    assert!(matches!(script.model.overlay, Some(Overlay::Palette(_))));
    script.keys("esc");
    assert_eq!(script.model.screen, FocusedScreen::Step);
    for (keys, first, second) in [
        ("?", "At a step", "In the outline"),
        ("esc o ?", "In the outline", "At a step"),
    ] {
        script.keys(keys);
        let help = drawn(&mut script, 100, 150);
        assert!(help.find(first) < help.find(second), "{help}");
        assert!(help.contains(second), "{help}");
    }
}

/// The last line of an 80-column terminal.
fn bar(script: &mut Script) -> String {
    let screen = script.look();
    screen.lines().last().unwrap_or_default().to_string()
}
