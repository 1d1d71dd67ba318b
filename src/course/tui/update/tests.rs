//! Complete flows of a learner, by messages, with a real session.

use std::sync::Arc;

use crossterm::event::Event;
use ratatui::prelude::{Buffer, Rect};

use crate::lesson::{Course, CourseSource};
use crate::session::event::{RunExit, StepRef};
use crate::session::state::StepStatus;
use crate::tui::FocusedScreen;
use crate::tui::message::{Effect, HandOver, Message, ProfileMessage, RunId};
use crate::tui::model::overlay::Overlay;
use crate::tui::model::run::RunPhase;
use crate::tui::panels::report::ReportPanel;
use crate::tui::panels::roofline::RooflinePanel;
use crate::tui::script::{STREAM, Script};
use crate::tui::sheet::text;
use crate::tui::view::draw;
use crate::tutor::RunEnding;
use tinyllama_base::roofline::Roofline;

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
    assert!(text.contains("not yet (not required here)"), "{text}");

    script.keys("enter");
    assert_eq!(script.step(), "results");
    assert!(
        !script.text().contains("not measured yet"),
        "{}",
        script.text()
    );
    let script = script.reopened();
    assert_eq!(
        (script.step(), script.model.screen),
        ("results", FocusedScreen::Step)
    );
}

#[test]
fn a_wrong_answer_gets_its_reason_and_only_the_right_one_completes() {
    let mut script = in_the_first_lesson();
    script.keys("n n n n enter");
    assert_eq!(script.step(), "question");
    let answers = |script: &Script| {
        script
            .model
            .progress_at(&StepRef::new("first", "question"))
            .answers
            .len()
    };
    assert_eq!(answers(&script), 0, "Enter on nothing answers nothing");
    script.keys("1 enter");
    assert!(script.text().contains("Not so. It says so itself."));
    assert_eq!(status(&script, "question"), StepStatus::Open);
    script.keys("2 enter");
    assert!(script.text().contains("Right. It says so, too."));
    assert_eq!(status(&script, "question"), StepStatus::Done);

    script.keys("enter enter");
    script.type_text("six");
    script.keys("enter");
    let Some(Overlay::Ask(ask)) = &script.model.overlay else {
        panic!("the field stays open");
    };
    assert!(
        ask.problem
            .as_ref()
            .is_some_and(|text| text.contains("not a number"))
    );
    script.keys("backspace backspace backspace 5 enter");
    assert_eq!(status(&script, "number"), StepStatus::Open);
    assert!(
        !script.text().contains("Two and two"),
        "the explanation is shown only after the answer"
    );
    script.keys("enter 6 enter");
    assert_eq!(status(&script, "number"), StepStatus::Done);
    assert!(script.text().contains("Two and two and two."));
}

#[test]
fn another_learner_sees_the_choices_in_another_order() {
    let mut script = in_the_first_lesson();
    Arc::make_mut(&mut script.model.state).identity = "dora".into();
    script.keys("n n n n 1 enter");
    assert!(script.text().contains("Right. It says so, too."));
    assert_eq!(status(&script, "question"), StepStatus::Done);
}

#[test]
fn a_run_that_crashes_shows_its_last_words_and_the_tutor_goes_on() {
    let mut script = in_the_first_lesson();
    script.keys("n n enter");
    let id = script.started().unwrap();
    let run = script.begin_run(id);
    script.send(Message::RunEnded {
        id,
        run: Some(run.clone()),
        ending: RunEnding {
            exit: Some(RunExit::Signal(9)),
            message: "The run was ended by signal 9 (KILL).".into(),
            remedy: Some("Lower --batch-size.".into()),
            stderr: "first line\nlast words".into(),
            stopped: false,
        },
    });
    let text = script.text();
    for phrase in ["signal 9 (KILL)", "Lower --batch-size.", "last words"] {
        assert!(text.contains(phrase), "{phrase} in {text}");
    }
    assert_eq!(status(&script, "baseline"), StepStatus::Open);
    assert_eq!(
        script.handler.session.state().runs[&run].exit,
        Some(RunExit::Signal(9))
    );
    script.keys("enter");
    assert!(script.started().is_some(), "it can be started again");
}

#[test]
fn stopping_asks_once_and_a_second_run_waits_for_the_first() {
    let mut script = in_the_first_lesson();
    script.keys("n n enter");
    let first = script.started().unwrap();
    let run = script.begin_run(first);
    script.keys("v f enter");
    assert_eq!(
        script.started(),
        None,
        "two runs at once would disturb each other"
    );
    assert_eq!(script.model.queued(), 1);

    script.keys("x");
    assert_eq!(
        script.model.queued(),
        0,
        "a run that only waits is taken out unasked"
    );
    script.keys("f enter x");
    assert_eq!(script.model.queued(), 0);

    script.keys("x");
    assert!(matches!(script.model.overlay, Some(Overlay::Confirm(_))));
    script.keys("n");
    assert!(!is_stopped(&script, first), "no is no");
    script.keys("x y");
    assert!(is_stopped(&script, first));
    script.keys("f enter");
    let ending = RunEnding {
        exit: Some(RunExit::Status(143)),
        message: "The run was stopped.".into(),
        remedy: None,
        ..RunEnding::default()
    };
    script.send(Message::RunEnded {
        id: first,
        run: Some(run),
        ending,
    });
    let second = script.started().expect("the one that waited is started");
    assert_ne!(first, second);
    assert!(
        script
            .model
            .running()
            .is_some_and(|run| run.phase == RunPhase::Running)
    );
}

#[test]
fn changed_flags_go_to_the_next_run_and_stay() {
    let mut script = in_the_first_lesson();
    script.keys("n n f");
    script.type_text(" --seed 'seven 7'");
    script.keys("enter");
    let Some(Effect::StartRun { flags, .. }) = script
        .handler
        .effects
        .iter()
        .find(|effect| matches!(effect, Effect::StartRun { .. }))
    else {
        panic!("no run was started");
    };
    let last: Vec<&str> = flags.iter().rev().take(2).map(String::as_str).collect();
    assert_eq!(last, ["seven 7", "--seed"]);
    script.keys("v f");
    let Some(Overlay::Ask(ask)) = &script.model.overlay else {
        panic!("no form");
    };
    assert!(ask.text().ends_with("--seed 'seven 7'"), "{}", ask.text());
}

#[test]
fn a_locked_lesson_says_what_it_needs_and_skipping_everything_opens_it() {
    let mut script = Script::in_new_folder();
    script.keys("end up up up enter enter");
    assert_eq!(script.step(), "");
    assert!(
        script.notice().contains("The first lesson"),
        "{}",
        script.notice()
    );

    let mut script = in_the_first_lesson();
    script.keys("s");
    assert!(
        script.notice().contains("is done"),
        "what is done cannot be skipped: {}",
        script.notice()
    );
    while script.step() != "again" {
        let here = script.step().to_string();
        if status(&script, &here) == StepStatus::Open {
            script.keys("s");
            script.type_text("no time");
            script.keys("enter");
            assert_eq!(
                status(&script, &here),
                StepStatus::Skipped("no time".into())
            );
        } else {
            script.keys("n");
        }
        assert_ne!(script.step(), here, "{}", script.notice());
    }
    assert_eq!(script.step(), "again", "{}", script.notice());
}

#[test]
fn hints_come_one_by_one_and_reflections_are_kept_when_the_field_is_left() {
    let mut script = in_the_first_lesson();
    script.keys("n n h");
    assert!(script.text().contains("Hint 1 of 2"));
    assert!(!script.text().contains("Another hint."));
    script.keys("h h");
    assert!(script.text().contains("Hint 2 of 2"));
    assert_eq!(script.notice(), "There are no more hints for now.");

    script.keys("n n n n");
    assert_eq!(script.step(), "thoughts");
    script.keys("enter");
    script.type_text("quite a lot");
    script.keys("enter");
    script.type_text("q");
    script.keys("esc");
    assert!(
        script.text().contains("quite a lot\n  q"),
        "{}",
        script.text()
    );
    assert_eq!(status(&script, "thoughts"), StepStatus::Done);
    script.keys("e");
    let handed = script.handler.handed_over.last();
    assert!(matches!(handed, Some(HandOver::Write { text, .. }) if text == "quite a lot\nq"));
}

#[test]
fn what_means_nothing_draws_nothing_and_a_break_is_not_counted_as_work() {
    let mut script = in_the_first_lesson();
    script.keys("z");
    assert!(!script.changed, "an unknown key changes nothing");
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
        matches!(&script.model.overlay, Some(Overlay::Panel(page)) if page.title() == "glossary")
    );
    script.keys("esc :");
    script.type_text("nextstep");
    script.keys("enter");
    assert_eq!(script.step(), "guess");
    script.keys(":");
    script.type_text("firstless");
    script.keys("enter");
    assert_eq!(
        script.step(),
        "guess",
        "a lesson opens at its first unfinished step"
    );
}

#[test]
fn a_search_finds_its_word_and_says_when_there_is_none() {
    let mut script = in_the_first_lesson();
    script.event(Event::Resize(60, 20));
    script.keys("/");
    script.type_text("LOSS");
    script.keys("enter");
    assert!(
        script.notice().starts_with("line 1 of 1"),
        "{}",
        script.notice()
    );
    let step = script.step().to_owned();
    script.keys("n");
    assert!(script.notice().starts_with("line 1 of 1"), "the next match");
    script.keys("N");
    assert_eq!(
        script.step(),
        step,
        "n and N mean matches while a search is on"
    );
    // The field begins empty.
    script.keys("/");
    script.type_text("absent");
    script.keys("enter");
    assert!(
        script.notice().contains("\"absent\" is not in this step"),
        "{}",
        script.notice()
    );
    script.keys("esc");
    assert_eq!(
        script.model.screen,
        FocusedScreen::Step,
        "esc ends the search"
    );
    script.keys("n");
    assert_ne!(script.step(), step, "then n is the next step again");
}

#[test]
fn what_is_under_the_cursor_is_copied_and_said() {
    let mut script = in_the_first_lesson();
    script.keys("n enter 9 enter n y");
    let notice = script.notice().to_owned();
    assert!(notice.contains("Copied the run's command"), "{notice}");
    script.keys("enter");
    let id = script.started().expect("a run");
    script.finish(id);
    // There are two texts to copy, the command and the id, so the learner has to choose.
    script.keys("esc y");
    let Some(Overlay::Palette(_)) = &script.model.overlay else {
        panic!("no choice: {}", script.look());
    };
    script.keys("down enter");
    assert!(
        script.notice().contains("the run's id"),
        "{}",
        script.notice()
    );
}

#[test]
fn a_recording_stands_in_for_a_run_and_says_so_wherever_its_figures_show() {
    let mut script = in_the_first_lesson();
    script.keys("n");
    script.keys("enter 9 enter n");
    let offer = "r plays v1 tiny";
    assert!(
        !unwrapped(&script).contains(offer),
        "with a GPU none is offered"
    );
    script.model.may_have_gpu = false;
    assert!(unwrapped(&script).contains(offer), "{}", unwrapped(&script));

    script.keys("r");
    let (id, recording) = script.played().expect("it is played");
    assert_eq!(recording, "v1");
    script.keys("+ + +");
    let speeds = script
        .handler
        .effects
        .iter()
        .filter(|effect| matches!(effect, Effect::SetSpeed(..)));
    assert_eq!(speeds.count(), 3);
    script.keys("+");
    assert!(!script.changed, "there is nothing faster than the end");
    script.finish(id);
    let label = "recording: a machine of the tests, 21 November 2026";
    let run = script.handler.session.state().runs.values().next().unwrap();
    assert_eq!(
        run.recording.as_deref(),
        Some("a machine of the tests, 21 November 2026")
    );
    assert_eq!(status(&script, "baseline"), StepStatus::Done);
    // The label occurs in the offer, the run before, and both verdicts.
    assert_eq!(
        unwrapped(&script).matches(label).count(),
        4,
        "{}",
        unwrapped(&script)
    );
    script.keys("n");
    assert_eq!(script.step(), "results");
    // A table's cells wrap, each in its column.
    assert!(
        unwrapped(&script).contains("24.25 ms (r)"),
        "{}",
        unwrapped(&script)
    );
    script.keys("p p");
    assert!(
        unwrapped(&script).contains(&format!("Measured ({label})")),
        "{}",
        unwrapped(&script)
    );

    // A run of this machine takes its place and is not called a recording.
    script.keys("n f enter");
    let id = script.started().expect("a run of this machine");
    script.finish(id);
    script.keys("n");
    assert!(
        !unwrapped(&script).contains("recording"),
        "{}",
        unwrapped(&script)
    );
}

#[test]
fn recordings_of_the_same_target_are_in_the_palette_and_no_step_plays_another_ones() {
    let mut script = in_the_first_lesson();
    script.keys("r");
    assert!(
        script.notice().contains("at a step that starts a run"),
        "{}",
        script.notice()
    );
    script.keys(":");
    script.type_text("play v1");
    script.keys("enter");
    assert_eq!(script.played(), None, "there is no run at this step");
    assert!(
        matches!(script.model.overlay, Some(Overlay::Palette(_))),
        "its letters can be changed"
    );
    script.keys("esc n n :");
    script.type_text("play v1: v1");
    script.keys("enter");
    let (id, _) = script.played().expect("it is played");
    script.begin_run(id);
    script.keys("x y");
    assert!(is_stopped(&script, id));
}

#[test]
fn report_and_roofline_open_over_whatever_is_on_the_screen() {
    let mut script = in_the_first_lesson();
    script.keys("R");
    assert_eq!(script.worked(), Some("Collecting your report…"));
    assert_eq!(script.notice(), "Collecting your report…");
    let report = ReportPanel::new("# A report".into(), "report".into());
    script.send(Message::Opened(Ok(Box::new(report))));
    assert!(matches!(script.model.overlay, Some(Overlay::Panel(_))));
    assert_eq!(script.notice(), "");
    script.keys("enter");
    assert_eq!(script.worked(), Some("Writing your report…"));
    script.send(Message::WorkDone(Ok("Wrote report.md to report".into())));
    assert_eq!(script.notice(), "Wrote report.md to report");
    script.keys("esc");
    assert!(script.model.overlay.is_none());

    script.keys("n n enter");
    let id = script.started().unwrap();
    script.finish(id);
    script.keys("F");
    let placing = "Placing the run under the device's ceilings…";
    assert_eq!(script.worked(), Some(placing));
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
}

/// The first text of the course on a screen that is too small for it.
fn at_a_long_text() -> Script {
    let course = Course::load(&CourseSource::BuiltIn).unwrap();
    let mut script = Script::with_course(course);
    script.event(Event::Resize(60, 20));
    script.open(StepRef::new("welcome", "the-model"));
    script
}

fn is_read(script: &Script) -> bool {
    let state = script.handler.session.state();
    let step = state.step("welcome", "the-model");
    step.is_some_and(|step| step.status == StepStatus::Done)
}

#[test]
fn space_pages_first_and_a_text_is_done_only_once_its_end_was_seen() {
    let mut script = at_a_long_text();
    assert!(!is_read(&script), "most of it was not on the screen");
    let mut pages = 0;
    while !is_read(&script) {
        script.keys("space");
        assert_eq!(script.step(), "the-model", "it pages before it goes on");
        pages += 1;
        assert!(pages < 20);
    }
    assert!(pages >= 1, "{pages}");
    script.keys("space");
    assert_eq!(script.step(), "which-part-changes");
    script.keys("space space space space");
    assert_eq!(
        script.step(),
        "which-part-changes",
        "a question waits for its answer"
    );
    assert!(script.notice().contains("answer"), "{}", script.notice());
}

#[test]
fn links_open_pages_that_can_be_searched_and_lead_back_and_words_are_explained() {
    let mut script = at_a_long_text();
    script.keys("L");
    assert!(script.look().contains("Glossary"), "{}", script.look());
    script.keys("/");
    script.type_text("warp");
    script.keys("enter");
    assert!(
        script.notice().starts_with("line 1 of"),
        "{}",
        script.notice()
    );
    assert!(script.look().contains("warp"), "{}", script.look());
    script.keys("/ esc ? esc");
    assert!(
        script.look().contains("glossary"),
        "the page is still there: {}",
        script.look()
    );
    script.keys("esc");
    assert!(script.look().contains("A small model that is real"));

    script.keys("w");
    let Some(Overlay::Palette(_)) = &script.model.overlay else {
        panic!("no words: {}", script.look());
    };
    script.type_text("gradient");
    script.keys("enter");
    assert!(script.look().contains("gradient."), "{}", script.look());
    script.keys("esc");
    assert!(script.model.overlay.is_none());
}

#[test]
fn the_figures_stay_when_a_run_ends_and_enter_goes_on_from_them() {
    let mut script = in_the_first_lesson();
    script.keys("n enter");
    script.type_text("25");
    script.keys("enter enter enter");
    let id = script.started().expect("the run is started");
    script.keys("tab");
    script.finish(id);
    assert!(script.model.has_panel_open(), "the tab that was read stays");
    assert!(script.look().contains("run again"), "{}", script.look());
    script.keys("shift-tab");
    let screen = script.look();
    assert!(screen.contains("You said 25 ms; it was"), "{screen}");
    assert!(screen.contains("passed  learns"), "{screen}");
    script.keys("a");
    let again = script.started().expect("it is run again");
    script.finish(again);
    script.keys("enter");
    assert_eq!(script.step(), "results");
}

#[test]
fn what_the_checks_said_is_there_again_after_a_restart() {
    let mut script = in_the_first_lesson();
    script.keys("n n enter");
    let id = script.started().expect("the run is started");
    script.finish(id);
    let noted = script.handler.session.state().records;
    let script = script.reopened();
    assert_eq!(script.step(), "baseline");
    assert!(
        script.text().contains("passed  learns"),
        "{}",
        script.text()
    );
    let now = script.handler.session.state().records;
    assert!(
        now <= noted + 1,
        "looking records only the current place: {noted}, {now}"
    );
}

#[test]
fn a_long_message_keeps_its_end_at_80_columns() {
    let mut script = in_the_first_lesson();
    let phrase = "Something went wrong in a way that takes many words to say, and only the very last of them tell what to do \
                 about it: take another one.";
    script.send(Message::WorkDone(Err(phrase.into())));
    let screen = script.look().replace('\n', " ");
    let screen: Vec<&str> = screen.split_whitespace().collect();
    assert!(screen.join(" ").contains(phrase), "{}", script.look());
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
    assert_eq!(script.worked(), Some("Reading the sample…"));
}

#[test]
fn ctrl_u_clears_what_was_typed() {
    let mut script = in_the_first_lesson();
    script.keys("n enter 1 2 3 ctrl-u 7 enter");
    assert!(script.text().contains("You guessed 7"), "{}", script.text());
}

#[test]
fn the_first_page_starts_the_first_run_and_a_lesson_ends_with_a_page() {
    let mut script = Script::at_first();
    assert!(
        script.look().contains("Your first minute"),
        "{}",
        script.look()
    );
    script.keys("enter");
    assert_eq!(script.step(), "baseline");
    let id = script.started().expect("the first run");
    script.finish(id);
    script.open(StepRef::new("first", "text"));
    while !script.look().contains("The end of a lesson") {
        match status(&script, script.step()) {
            StepStatus::Open => script.keys("s x enter"),
            _ => script.keys("n"),
        }
    }
    let screen = script.look();
    for phrase in ["You can now", "Your notes", "Next", "The second lesson"] {
        assert!(screen.contains(phrase), "{phrase}: {screen}");
    }
    script.keys("enter");
    assert_eq!(script.step(), "again");
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

#[test]
fn words_of_checks_are_markdown_and_a_bar_names_no_key_twice() {
    let mut script = in_the_first_lesson();
    script.open(StepRef::new("first", "baseline"));
    script.keys("enter");
    let id = script.started().expect("a run");
    script.finish(id);
    let said = unwrapped(&script);
    assert!(said.contains("and nobody minds"), "{said}");
    script.open(StepRef::new("first", "thoughts"));
    let screen = script.look();
    let bar = screen.lines().last().expect("a bar");
    assert_eq!(bar.matches("enter").count(), 1, "{bar}");
    // A word that does not fit moves to the next line as a whole.
    script.keys("enter");
    script.type_text(&"word ".repeat(30));
    let screen = script.look().replace("own words", "");
    assert_eq!(screen.matches("word").count(), 30, "{screen}");
}

#[test]
fn a_kernel_has_hints_a_solution_a_new_beginning_and_a_bench() {
    let mut script = Script::in_new_folder();
    let folder = tempfile::tempdir().expect("a folder");
    script.model.workbench = folder.path().to_path_buf();
    script.open(StepRef::new("kinds", "kernel"));
    let screen = drawn(&mut script, 120, 30);
    for key in ["h hint", "S solution", "N begin anew", "B time it"] {
        assert!(screen.contains(key), "{key}: {screen}");
    }
    script.keys("h");
    assert!(
        unwrapped(&script).contains("Hint 1 of "),
        "{}",
        script.text()
    );
    script.keys("S");
    let solution = drawn(&mut script, 120, 50);
    assert!(solution.contains("out[i] = "), "{solution}");
    script.keys("esc");
    let file = folder.path().join("elementwise.hip");
    std::fs::write(&file, "mine").expect("a file");
    script.keys("N");
    let kept = std::fs::read_to_string(file.with_extension("1.hip"));
    assert_eq!(kept.expect("what was written"), "mine");
    assert!(
        std::fs::read_to_string(&file)
            .expect("a file")
            .contains("scale_add")
    );
    script.keys("B");
    let asked = script.handler.handed_over.last();
    let Some(HandOver::Command(phrase)) = asked else {
        panic!("{asked:?}");
    };
    assert_eq!(phrase[..3], ["workbench", "bench", "elementwise"]);
}

/// The last line of an 80-column terminal.
fn bar(script: &mut Script) -> String {
    let screen = script.look();
    screen.lines().last().unwrap_or_default().to_string()
}

#[test]
fn a_case_offers_nothing_twice_and_a_solved_one_goes_on_with_enter() {
    let mut script = Script::in_new_folder();
    script.open(StepRef::new("kinds", "case"));
    script.keys("2 enter");
    let measured = script.started().expect("a measurement");
    script.finish(measured);
    script.keys("esc");
    assert!(!bar(&mut script).contains("take this measurement"));
    script.keys("3 enter 5 enter");
    let fixed = script.started().expect("the fix");
    script.finish(fixed);
    script.keys("esc");
    let case = StepRef::new("kinds", "case");
    assert_eq!(script.model.progress_at(&case).status, StepStatus::Done);
    assert!(bar(&mut script).contains("enter next step"));
    script.keys("enter");
    assert_eq!(script.started(), None, "no run is made again");
}

#[test]
fn what_a_measurement_showed_stays_what_it_was() {
    let mut script = Script::in_new_folder();
    script.open(StepRef::new("kinds", "case"));
    script.keys("1 enter");
    let plain = script.started().expect("a measurement");
    let other = STREAM.replace("5.742903709411621", "247.5");
    script.finish_with(plain, &other);
    script.keys("esc");
    assert!(
        script.text().contains("The first is 248"),
        "{}",
        script.text()
    );
    script.keys("2 enter");
    let layers = script.started().expect("another measurement");
    script.finish(layers);
    script.keys("esc 3 enter 5 enter");
    let fixed = script.started().expect("the fix");
    script.finish(fixed);
    let text = script.text();
    assert!(text.contains("The first is 248"), "{text}");
    assert!(text.contains("the first loss is 5.74"), "{text}");
    // Making the same measurement again shows it again.
    script.keys("esc 1 enter");
    let again = script.started().expect("the first measurement again");
    script.finish(again);
    let text = script.text();
    assert!(text.contains("The first is 5.74"), "{text}");
}

#[test]
fn enter_reads_on_before_it_goes_on() {
    let mut script = at_a_long_text();
    let mut pages = 0;
    while !is_read(&script) {
        assert!(script.look().contains("enter read on"), "{}", script.look());
        script.keys("enter");
        assert_eq!(script.step(), "the-model", "it pages before it goes on");
        pages += 1;
        assert!(pages < 20);
    }
    assert!(pages >= 1, "{pages}");
    script.keys("enter");
    assert_eq!(script.step(), "which-part-changes");
}

#[test]
fn from_a_lessons_end_enter_leads_from_open_step_to_open_step() {
    let mut script = in_the_first_lesson();
    script.keys("n n n n 2 enter");
    assert_eq!(status(&script, "question"), StepStatus::Done);
    script.open(StepRef::new("first", "thoughts"));
    let mut steps = Vec::new();
    for _ in 0..4 {
        script.keys("n");
        steps.push(script.step().to_string());
    }
    assert_eq!(steps, ["guess", "baseline", "number", "thoughts"]);
    assert!(
        script.notice().contains("4 steps are left open"),
        "{}",
        script.notice()
    );
    for step in ["thoughts", "guess", "baseline"] {
        assert_eq!(script.step(), step);
        script.keys("s x enter");
    }
    assert_eq!(script.step(), "number");
    script.keys("n");
    assert_eq!(script.step(), "number", "there is no other one");
    assert!(
        script.notice().contains("the only open step"),
        "{}",
        script.notice()
    );
}

#[test]
fn a_question_seen_again_shows_what_was_right_and_why() {
    let mut script = in_the_first_lesson();
    script.keys("n n n n 2 enter n enter");
    script.type_text("6");
    script.keys("enter");
    script.open(StepRef::new("first", "question"));
    assert!(
        script.text().contains("Right. It says so, too."),
        "{}",
        script.text()
    );
    script.open(StepRef::new("first", "number"));
    assert!(
        script.text().contains("Two and two and two"),
        "{}",
        script.text()
    );
    let shown = unwrapped(&script);
    assert!(shown.contains("answer 6: right"), "{shown}");
}

/// The script's event stream with steps of `ms` milliseconds.
fn stream_of(ms: f64) -> String {
    let lines = STREAM.lines();
    let lines = lines.flat_map(|line| {
        let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
        let copies = if event["event"] == "step" { 10 } else { 1 };
        let copies = (0..copies).map(move |n| {
            if event["event"] == "step" {
                event["total_ms"] = (ms + f64::from(n * 7 % 10)).into();
            }
            event.to_string()
        });
        copies.collect::<Vec<_>>()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_run_is_held_only_against_the_same_run_and_with_an_interval() {
    let mut script = in_the_first_lesson();
    script.open(StepRef::new("kinds", "case"));
    script.keys("1 enter");
    let other = script.started().expect("a run of another program");
    script.finish_with(other, &stream_of(900.0));
    for flags in ["", "--seed 7", ""] {
        script.open(StepRef::new("first", "baseline"));
        script.keys("f ctrl-u");
        script.type_text(flags);
        script.keys("enter");
        let id = script.started().expect("a run");
        script.finish_with(id, &stream_of(30.0));
        assert!(
            !script.look().contains("of last time"),
            "{flags}: {}",
            script.look()
        );
    }
    script.keys("a");
    let id = script.started().expect("the same again");
    script.finish_with(id, &stream_of(30.0));
    let screen = script.look();
    for phrase in ["1.00× the step of last time", "(0.9", "cannot decide"] {
        assert!(screen.contains(phrase), "{phrase}: {screen}");
    }
}

#[test]
fn a_path_is_chosen_on_the_first_page_and_the_outline_shows_what_is_on_it() {
    let course = Course::load(&CourseSource::BuiltIn).unwrap();
    let mut script = Script::with_course(course);
    assert!(
        drawn(&mut script, 99, 60).contains("proof"),
        "the welcome names the paths"
    );
    script.keys("P p r o o f enter");
    let path = script.model.state.path.clone();
    assert_eq!(path.map(|path| path.id).as_deref(), Some("proof"));
    script.keys("esc");
    let outline = drawn(&mut script, 99, 60);
    let line = |text: &str| outline.lines().find(|line| line.contains(text)).unwrap();
    assert!(
        line("What you will do").contains("not on your path"),
        "{outline}"
    );
    assert!(
        !line("Finding the bottleneck").contains("not on your path"),
        "{outline}"
    );
    assert!(line("Foundation").contains("0 of 2"), "{outline}");
    script.keys("P w h o l e enter");
    assert_eq!(script.model.state.path, None);
}

#[test]
fn a_whole_lesson_is_skipped_with_its_reason_and_the_next_one_follows() {
    let mut script = in_the_first_lesson();
    script.keys("X");
    script.type_text("known");
    script.keys("enter");
    let state = script.handler.session.state();
    let steps = &state.lessons["first"];
    let skipped = StepStatus::Skipped("known".into());
    let count = steps.values().filter(|step| step.status == skipped).count();
    assert!(count > 3, "{steps:?}");
    assert!(steps.values().all(|step| step.status != StepStatus::Open));
    assert_ne!(script.model.step.as_ref().unwrap().at.lesson, "first");
}
