//! A session with a record of every kind, as the tutor writes it.

use super::*;
use class::play;
use sha2::{Digest, Sha256};
use tinyllama_lesson::CaseMove;
use tinyllama_runs::FinishedRun;
use tinyllama_session::{InstructorOrder, OrderAction, SolvedRun};

/// The text of a kernel that passes.
pub const GOOD: &str = "a good kernel";

pub fn at(step: &str) -> StepRef {
    let (lesson, step) = step.split_once('/').unwrap();
    StepRef::new(lesson, step)
}

pub fn full(class: &Path) -> SessionLocation {
    let course = course();
    let place = walk(place(class, "ada"), course, 4, 11);
    let mut session = Session::open(place.clone()).unwrap();
    runs(&mut session);
    kernels(&mut session);
    recalled(&mut session);
    session.take_path(course.path("short").unwrap()).unwrap();
    orders(&mut session);
    investigate(&mut session);
    reflect(&mut session);
    session.skip(at("memory/four-copies"), "no time").unwrap();
    let text = "a note".to_string();
    session.record(SessionEvent::Note { text }).unwrap();
    drop(session);
    // A run that was going on when the tutor died, and what the next one writes.
    let mut session = Session::open(place.clone()).unwrap();
    let command = MadeUp::new("v1", 20.0).command();
    session.start_run("890000-v1", None, "v1", command).unwrap();
    drop(session);
    let mut session = Session::open(place.clone()).unwrap();
    session
        .record_opening(&course.title, &course.version)
        .unwrap();
    drop(session);
    let profiles = place.runs().join("700001-stage1/profiles/one");
    fs::create_dir_all(&profiles).unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rocprofv3");
    fs::copy(
        fixtures.join("kernel_trace.csv"),
        profiles.join("kernel_trace.csv"),
    )
    .unwrap();
    place
}

fn runs(session: &mut Session) {
    for (number, target) in (0_u8..).zip(["v1", "stage1", "stage2", "v2"]) {
        let run = MadeUp {
            device: "NVIDIA H200".into(),
            noise: 0.5,
            with_gradient: 30,
            ..MadeUp::new(target, 20.0 - f64::from(number))
        };
        let id = format!("70000{number}-{target}");
        make_up(session, &id, None, &run, number.into());
    }
    play(session, "750000-v1", None, "v1-again");
    killed(session, "760000-v1", true);
    killed(session, "770000-v1", false);
    // A run with timed kernels.
    let run = MadeUp::new("v1", 20.0);
    let mut events = run.events(&mut ChaCha8Rng::seed_from_u64(9));
    let kernels = json!({"t": events.last().unwrap().t, "event": "kernels", "steps": 1, "launches_per_step": 2.0,
        "device_ms_per_step": 1.5, "span_ms_per_step": 2.5, "kernels": [{"name": "gemm", "part": "attention",
        "launches_per_step": 2.0, "device_ms_per_step": 1.5, "fused_operations": 3.0, "flops_per_step": 1e9,
        "bytes_per_step": 1e6}]});
    events.push(serde_json::from_value(kernels).unwrap());
    write_stream(session, "800000-v1", &events);
    session
        .start_run("800000-v1", None, "v1", run.command())
        .unwrap();
    session.run_ended("800000-v1", RunExit::SUCCESS).unwrap();
}

/// Records a kernel that failed its check, passed it, and was timed.
fn kernels(session: &mut Session) {
    let exercise = "rmsnorm".to_string();
    let checked = |findings: &[&str], text: Option<&str>| SessionEvent::KernelChecked {
        at: None,
        exercise: exercise.clone(),
        sha256: format!("{:x}", Sha256::digest(text.unwrap_or("a bad kernel"))),
        passed: text.is_some(),
        findings: findings.iter().map(ToString::to_string).collect(),
        text: text.map(str::to_string),
    };
    session.record_kernel(checked(&["race"], None)).unwrap();
    session.record_kernel(checked(&[], Some(GOOD))).unwrap();
    let timed = KernelTime {
        device: "NVIDIA H100".into(),
        milliseconds: 0.25,
        gigabytes_per_s: 2000.0,
        gigaflops_per_s: 1000.0,
    };
    let (exercise, sha256) = (exercise.clone(), "ab".repeat(32));
    let timed = SessionEvent::KernelTimed {
        exercise,
        sha256,
        timed,
    };
    session.record_kernel(timed).unwrap();
}

fn recalled(session: &mut Session) {
    let course = course();
    let answered = |lesson: &str, step: &str| {
        let progress = session.state().step(lesson, step);
        progress.is_some_and(|it| !it.answers.is_empty())
    };
    let mut asked = course.steps().filter_map(|(lesson, step)| {
        let solution = step.asked_again().as_quiz()?.solution()?;
        let is_asked = answered(&lesson.id, &step.id) && step.as_quiz()?.asked_step().is_none();
        is_asked.then(|| (StepRef::new(&lesson.id, &step.id), step, solution))
    });
    let (at, step, solution) = asked.next().unwrap();
    drop(asked);
    session.recall(at, course, step, solution).unwrap().unwrap();
}

pub fn order(session: &mut Session, name: &str, action: OrderAction) {
    let order = InstructorOrder::new("Ann", action);
    session.apply_order(name, &order).unwrap();
}

fn orders(session: &mut Session) {
    let text = "Well done.".to_string();
    order(session, "o-1", OrderAction::Message { text });
    let lesson = "five-stages".to_string();
    order(
        session,
        "o-2",
        OrderAction::Unlock {
            lesson,
            others: Vec::new(),
        },
    );
    let scope = Scope::Step(at("welcome/the-model"));
    let workbench = Vec::new();
    order(session, "o-3", OrderAction::Reset { scope, workbench });
    let backup = "reset-1".to_string();
    order(session, "o-4", OrderAction::Restore { backup });
    // A question, and a run with the stream that the instructor made.
    let course = course();
    let quizzes = course.steps().filter(|(lesson, step)| {
        lesson.id == "five-stages" && step.as_quiz().is_some_and(|it| it.solution().is_some())
    });
    let others = course
        .steps()
        .skip(60)
        .filter(|(_, step)| step.as_quiz().is_some_and(|it| it.asked_step().is_none()));
    let (lesson, step) = quizzes.chain(others).next().unwrap();
    let solved = StepRef::new(&lesson.id, &step.id);
    let given = AnswerGiven {
        answer: step.as_quiz().unwrap().solution().unwrap().as_number(),
        correct: true,
    };
    let answered = SessionEvent::Answered {
        at: solved.clone(),
        given,
    };
    let solve = OrderAction::Solve {
        at: solved,
        events: vec![answered],
        run: None,
    };
    order(session, "o-5", solve);
    let run = MadeUp::new("v1", 20.0);
    write_stream(
        session,
        "880000-v1",
        &run.events(&mut ChaCha8Rng::seed_from_u64(3)),
    );
    let made = FinishedRun::read(&session.location.runs().join("880000-v1")).unwrap();
    let stream = fs::read_to_string(made.path.join("events.jsonl")).unwrap();
    let solved = course.steps().find(|(lesson, step)| {
        let is_v1 = step.target.as_deref() == Some("v1") && step.as_run().is_some();
        is_v1 && session.state().step(&lesson.id, &step.id).is_none()
    });
    let (lesson, step) = solved.unwrap();
    let solved = StepRef::new(&lesson.id, &step.id);
    let id = "880000-v1".to_string();
    let events = vec![
        SessionEvent::RunStarted {
            run: id.clone(),
            at: Some(solved.clone()),
            target: "v1".into(),
            command: run.command(),
            host: "elsewhere".into(),
        },
        SessionEvent::RunFinished {
            run: id.clone(),
            exit: RunExit::SUCCESS,
            values: made.figures(),
        },
        SessionEvent::Sealed {
            run: id.clone(),
            sha256: made.sha256.clone(),
        },
    ];
    let run = Some(SolvedRun { id, stream });
    order(
        session,
        "o-6",
        OrderAction::Solve {
            at: solved,
            events,
            run,
        },
    );
}

fn reflect(session: &mut Session) {
    let asked = course()
        .steps()
        .find(|(_, step)| step.as_reflect().is_some());
    let (lesson, step) = asked.unwrap();
    let id = lesson.id.clone();
    order(
        session,
        "o-7",
        OrderAction::Unlock {
            lesson: id,
            others: Vec::new(),
        },
    );
    session.enter(lesson, step).unwrap();
    let at = StepRef::new(&lesson.id, &step.id);
    session.reflect(at, "Memory limits it.").unwrap();
}

/// Takes a measurement of a case, names a suspect, and runs its fix.
fn investigate(session: &mut Session) {
    let course = course();
    let at = at("five-stages/stage1");
    let (lesson, step) = course.find_step(&at).unwrap();
    let case = step.as_case().unwrap();
    session.enter(lesson, step).unwrap();
    let convicting = case.measurements.iter().position(|it| it.convicts).unwrap();
    let guilty = case.guilty().unwrap().id.clone();
    let moves = [
        CaseMove::Measure(convicting),
        CaseMove::Fix(case.suspect(&guilty).unwrap()),
    ];
    for (number, case_move) in (0_u8..).zip(moves) {
        let run = MadeUp {
            flags: case.flags_of(case_move).unwrap(),
            ..MadeUp::new("stage1", 20.0)
        };
        make_up(
            session,
            &format!("71000{number}-stage1"),
            Some(at.clone()),
            &run,
            5,
        );
        session.check(course, lesson, step).unwrap();
        if number == 0 {
            session.suspect(at.clone(), step, &guilty).unwrap();
        }
    }
}
