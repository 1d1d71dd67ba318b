//! Runs and recordings: failures, stops, flags, verdicts.

use super::*;
use tinyllama_runs::recording::{Library, RecordingSource};
use tinyllama_session::SessionEvent;

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
    let cpu = "No GPU was found on this machine: the CPU would do the work.";
    assert!(unwrapped(&script).contains(cpu), "{}", unwrapped(&script));

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
    let machine = "a machine of the tests, 21 November 2026";
    let label = format!("recording: {machine}");
    let run = script.handler.session.state().runs.values().next().unwrap();
    assert_eq!(run.recording.as_deref(), Some(machine));
    assert_eq!(status(&script, "baseline"), StepStatus::Done);
    // The label occurs in the offer, the run before, and both verdicts.
    assert_eq!(
        unwrapped(&script).matches(&label).count(),
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
    insta::assert_snapshot!(script.notice());
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
fn verdicts_are_shown_again_after_a_restart() {
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
fn a_shown_measurement_does_not_change_later() {
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
    let compared = |script: &Script| {
        let at = StepRef::new("first", "baseline");
        script.model.run_at(&at).unwrap().view.state.to_before
    };
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
        assert_eq!(compared(&script), None, "{flags}");
    }
    script.keys("a");
    let id = script.started().expect("the same again");
    script.finish_with(id, &stream_of(30.0));
    assert_eq!(compared(&script).map(|interval| interval.value), Some(1.0));
    let screen = script.look();
    for phrase in ["1.00× the step", "(0.9", "cannot decide"] {
        assert!(screen.contains(phrase), "{phrase}: {screen}");
    }
}

#[test]
fn every_command_of_a_visit_is_listed_with_its_end_and_can_run_again() {
    let mut script = in_the_first_lesson();
    script.keys("@");
    let notice = script.notice().to_owned();
    assert!(notice.contains("No command"), "{notice}");
    script.keys("n enter 9 enter n enter");
    let id = script.started().expect("a run");
    script.keys("D @");
    let look = script.look();
    let lines = [
        "tinyllama-tutor doctor",
        "tinyllama-tutor run v1",
        "running for",
    ];
    assert!(lines.iter().all(|line| look.contains(line)), "{look}");
    script.keys("esc");
    script.finish(id);
    script.keys("@");
    script.type_text("v1");
    let look = script.look();
    assert!(look.contains("ok in") && !look.contains("doctor"), "{look}");
    script.keys("enter enter");
    let notice = script.notice().to_owned();
    assert!(notice.contains(": tinyllama-tutor run v1"), "{notice}");
    script.keys("@");
    script.type_text("v1");
    script.keys("enter down enter");
    let again = script.started();
    assert!(again.is_some_and(|again| again > id), "{}", script.look());
    script.keys("@ space space enter");
    let notice = script.notice().to_owned();
    assert!(notice.contains("Copied 2 texts"), "{notice}");
    let both =
        notice.contains(": tinyllama-tutor run v1 ") && notice.ends_with(" tinyllama-tutor doctor");
    assert!(both, "{notice}");
    script.keys("!");
    script.send(Message::Back("exit status: 3".into()));
    let commands = &script.model.commands;
    assert_eq!(commands.len(), 4);
    let ended = commands[3].ended.as_ref().map(|(_, how)| how.as_str());
    assert_eq!(
        (commands[3].line.as_str(), ended),
        ("$SHELL", Some("exit status: 3"))
    );
    assert_eq!(commands[0].line, commands[2].line);
}

#[test]
fn a_run_on_several_gpus_is_not_said_to_be_work_for_the_cpu() {
    let course = Course::load(&CourseSource::BuiltIn).expect("the course");
    let mut script = Script::with_course(course);
    script.model.clear_overlays();
    let library = Library::load(RecordingSource::BuiltIn).expect("the recordings");
    script.model.recordings = Arc::new(library);
    script.model.may_have_gpu = false;
    let unlocked = SessionEvent::Unlocked {
        lesson: "one-gpu-to-two".into(),
        others: Vec::new(),
        by: "grace".into(),
    };
    script.handler.session.record(unlocked).expect("a record");
    script.model.state = script.handler.session.state().clone().into();
    for (step, offer) in [
        (
            "one",
            "on this machine: the CPU would do the work. r plays v4 small instead",
        ),
        (
            "divided",
            "on this machine, and this run needs several. r plays v4 small instead",
        ),
    ] {
        script.open(StepRef::new("one-gpu-to-two", step));
        assert!(unwrapped(&script).contains(offer), "{}", script.text());
    }
    script.keys("A");
    let offer = "You chose recordings: enter plays v4 small";
    assert!(unwrapped(&script).contains(offer), "{}", script.text());
    script.keys("G enter");
    assert!(script.played().is_some(), "{}", script.text());
}
