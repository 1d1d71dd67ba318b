//! Tests the built-in course and a learner's actions in it. (The crate `tools/course-walk` walks through it with correct
//! answers.)

use std::collections::BTreeMap;
use std::fs;

use tempfile::TempDir;
use tinyllama_contract::targets::Target;
use tinyllama_lesson::{
    Course, CourseSource, Lesson, Quiz, QuizAnswer, Step, Verdict, live, schema,
};
use tinyllama_profile::ProfileTask;
use tinyllama_runs::recording::{Library, RecordingSource as Recorded};
use tinyllama_session::progress::{self, Access};
use tinyllama_session::{RunExit, Session, SessionLocation, StepRef, StepStatus};

fn course() -> Course {
    Course::load(&CourseSource::BuiltIn).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The events of a successful run of the course: forty steps of `ms`.
fn stream(ms: f64, flops: f64) -> String {
    let mut lines: Vec<String> = (0..40)
        .map(|n| {
            let ms = ms * (1.0 + 0.02 * (f64::from((n * 17 + 5) % 40) / 39.0 - 0.5));
            format!(
                r#"{{"t":0,"event":"step","n":{n},"of":40,"measured":true,"loss":6.0,"total_ms":{ms},"forward_ms":{},"backward_ms":{},"optimizer_ms":1.0,"synchronized":true,"launches":null,"bytes_in_use":null,"bytes_reserved":null,"samples_per_s":1.0}}"#,
                ms * 0.3,
                ms * 0.6
            )
        })
        .collect();
    lines.push(format!(
        r#"{{"t":1,"event":"parts","source":"counted","parts":[],"flops_per_step":{flops},"bytes_per_step":1e9,"achieved_flops_per_s":null}}"#
    ));
    lines.push(
        r#"{"t":1,"event":"summary","complete":true,"steps":43,"measured_steps":40,"samples":320,"samples_per_s":80.0,"tokens_per_s":1e4,"total_ms":null,"forward_ms":null,"backward_ms":null,"optimizer_ms":null,"synchronized":true,"first_step_ms":200.0,"launches_per_step":null,"peak_bytes_in_use":null,"peak_bytes_reserved":null,"first_loss":6.95,"final_loss":5.2,"parameters":2617600,"parameter_tensors":38,"parameters_with_gradient":38,"repeatability":{"repeats":2,"identical":true,"loss_difference":0.0,"gradient_difference":0.0,"differing_parameter":null}}"#
            .to_string(),
    );
    lines.join("\n")
}

/// A learner in the built-in course.
struct Learner {
    _folder: TempDir,
    session: Session,
    runs: usize,
}

impl Learner {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let place = SessionLocation::new(folder.path(), "ada");
        Self {
            session: Session::open(place).unwrap(),
            _folder: folder,
            runs: 0,
        }
    }

    fn run(&mut self, lesson: &Lesson, step: &Step, flags: &[String], exit: RunExit) {
        self.runs += 1;
        let name = format!("run-{}", self.runs);
        let folder = self.session.location.runs().join(&name);
        fs::create_dir(&folder).unwrap();
        let batch = if flags.iter().any(|flag| flag == "--batch-size") {
            2.0
        } else {
            1.0
        };
        let length = if flags.iter().any(|flag| flag == "--seq-len") {
            2.0
        } else {
            1.0
        };
        fs::write(
            folder.join("events.jsonl"),
            stream(100.0 * batch * length, 1.8e10 * batch),
        )
        .unwrap();
        let at = StepRef::new(&lesson.id, &step.id);
        self.session
            .start_run(&name, Some(at), "v1", flags.to_vec())
            .unwrap();
        self.session
            .finish_run(&name, exit, BTreeMap::new())
            .unwrap();
    }
}

#[test]
fn lessons_open_when_what_they_require_is_done_or_an_instructor_says_so() {
    let course = course();
    let mut learner = Learner::new();
    let (first, second) = (
        course.lesson("welcome").unwrap(),
        course.lesson("first-baseline").unwrap(),
    );
    let access = |learner: &Learner| progress::access(&course, learner.session.state(), second);
    assert_eq!(access(&learner), Access::Locked(vec!["welcome".into()]));
    for step in &first.steps {
        learner
            .session
            .skip(StepRef::new(&first.id, &step.id), "seen before")
            .unwrap();
    }
    assert_eq!(access(&learner), Access::Open);
    assert_eq!(
        progress::progress(learner.session.state(), first).skipped,
        first.steps.len()
    );

    let mut other = Learner::new();
    let unlock = tinyllama_session::SessionEvent::Unlocked {
        lesson: second.id.clone(),
        others: Vec::new(),
        by: "teacher".into(),
    };
    other.session.record(unlock).unwrap();
    assert_eq!(access(&other), Access::Open);
}

#[test]
fn a_run_that_failed_completes_nothing() {
    let course = course();
    let lesson = course.lesson("welcome").unwrap();
    let step = lesson.step("first-contact").unwrap();
    let mut learner = Learner::new();
    learner.run(lesson, step, &[], RunExit::Signal(9));
    let outcomes = learner.session.check(&course, lesson, step).unwrap();
    assert_ne!(outcomes[0].verdict, Verdict::Passed);
    assert!(!progress::is_complete(
        step,
        learner
            .session
            .state()
            .step("welcome", "first-contact")
            .unwrap(),
        learner.session.state()
    ));
}

#[test]
fn a_run_that_misses_a_required_check_leaves_the_step_open() {
    let course = course();
    let lesson = course.lesson("bottleneck").unwrap();
    let step = lesson.step("twice-the-work").unwrap();
    let mut learner = Learner::new();
    learner.run(
        lesson,
        lesson.step("work").unwrap(),
        &[],
        RunExit::Status(0),
    );
    let status = |learner: &Learner| {
        learner
            .session
            .state()
            .step(&lesson.id, &step.id)
            .unwrap()
            .status
            .clone()
    };
    learner.run(lesson, step, &[], RunExit::Status(0));
    let outcomes = learner.session.check(&course, lesson, step).unwrap();
    assert_eq!(
        (outcomes[0].verdict, status(&learner)),
        (Verdict::NotYet, StepStatus::Open)
    );
    learner.run(
        lesson,
        step,
        step.golden.flags.as_ref().unwrap(),
        RunExit::Status(0),
    );
    let outcomes = learner.session.check(&course, lesson, step).unwrap();
    assert_eq!(
        (outcomes[0].verdict, status(&learner)),
        (Verdict::Passed, StepStatus::Done)
    );
}

#[test]
fn hints_come_one_after_the_other_and_some_only_after_a_failed_check() {
    let course = course();
    let lesson = course.lesson("first-baseline").unwrap();
    let step = lesson.step("baseline").unwrap();
    let at = StepRef::new(&lesson.id, &step.id);
    let mut learner = Learner::new();
    let first = learner
        .session
        .next_hint(at.clone(), step)
        .unwrap()
        .unwrap();
    assert_eq!((first.number, first.of), (1, 1));
    assert_eq!(learner.session.next_hint(at.clone(), step).unwrap(), None);
    learner.session.check(&course, lesson, step).unwrap();
    let second = learner.session.next_hint(at, step).unwrap().unwrap();
    assert_eq!((second.number, second.of), (2, 2));
    assert_ne!(first.text, second.text);
}

#[test]
fn a_wrong_answer_leaves_the_question_open_and_a_guess_is_kept_as_first_made() {
    let course = course();
    let lesson = course.lesson("first-baseline").unwrap();
    let quiz = lesson.step("two-figures").unwrap();
    let Some(Quiz::Choices(choices)) = quiz.as_quiz() else {
        panic!("{quiz:?}")
    };
    let wrong = choices.iter().position(|choice| !choice.correct).unwrap();
    let at = StepRef::new(&lesson.id, &quiz.id);
    let mut learner = Learner::new();
    let marked = learner
        .session
        .answer(at.clone(), &course, quiz, QuizAnswer::Choice(wrong))
        .unwrap()
        .unwrap();
    assert!(!marked.correct && !marked.because.is_empty());
    assert_eq!(
        learner
            .session
            .answer(at, &course, quiz, QuizAnswer::Choice(99))
            .unwrap(),
        None
    );
    let state = learner.session.state().step(&lesson.id, &quiz.id).unwrap();
    assert!(!progress::is_complete(quiz, state, learner.session.state()));

    let guess = StepRef::new(&lesson.id, "guess-time");
    learner.session.predict(guess.clone(), 5.0).unwrap();
    learner.session.predict(guess, 50.0).unwrap();
    assert_eq!(
        learner
            .session
            .state()
            .step(&lesson.id, "guess-time")
            .unwrap()
            .prediction,
        Some(5.0)
    );
}

#[test]
fn texts_show_measured_values_once_there_are_any() {
    let course = course();
    let lesson = course.lesson("first-baseline").unwrap();
    let text = &lesson.step("read-it").unwrap().text;
    let mut learner = Learner::new();
    let shown = |learner: &Learner| {
        let runs = learner.session.measured(&course).unwrap();
        live::fill(text, lesson, &runs)
    };
    let row = |value: &str| format!("| step, median | {value} |");
    let before = shown(&learner);
    assert!(before.contains(&row(live::NOT_MEASURED)), "{before}");
    learner.run(
        lesson,
        lesson.step("baseline").unwrap(),
        &[],
        RunExit::Status(0),
    );
    let after = shown(&learner);
    assert!(after.contains(&row("100 ms")), "{after}");
    let launches = format!("| launches per step | {} |", live::NOT_REPORTED);
    assert!(after.contains(&launches), "{after}");
    assert!(!after.contains("{{"), "{after}");
}

#[test]
fn the_built_in_files_satisfy_the_schema() {
    let source = CourseSource::BuiltIn;
    let lesson = jsonschema::validator_for(schema::lesson().as_value()).unwrap();
    let workshop = jsonschema::validator_for(schema::workshop().as_value()).unwrap();
    let value = |path: &str| {
        serde_yaml::from_str::<serde_json::Value>(&source.read(path).unwrap()).unwrap()
    };
    assert!(workshop.is_valid(&value("workshop.yaml")));
    for session in course().sessions {
        for id in session.lessons {
            let path = format!("{}/{id}.yaml", session.id);
            let errors: Vec<String> = lesson
                .iter_errors(&value(&path))
                .map(|error| error.to_string())
                .collect();
            assert!(errors.is_empty(), "{path}: {errors:?}");
        }
    }
}

#[test]
fn every_session_has_objectives_and_announces_the_time_of_its_lessons() {
    let course = course();
    assert_eq!(course.sessions.len(), 4);
    for session in &course.sessions {
        assert!(!session.objectives.is_empty(), "{}", session.id);
        let lessons = session.lessons.iter().filter_map(|id| course.lesson(id));
        let minutes: u32 = lessons.map(|lesson| lesson.minutes).sum();
        assert_eq!(session.minutes, minutes, "{}", session.id);
    }
}

#[test]
fn every_recording_that_a_lesson_names_is_there_whole_and_of_its_target() {
    let library = Library::load(Recorded::BuiltIn).unwrap();
    let course = course();
    let mut named = 0;
    for lesson in course.lessons() {
        for step in &lesson.steps {
            let (Some(id), Some(target), Some(_)) = (&step.recording, &step.target, step.as_run())
            else {
                continue;
            };
            named += 1;
            let recording = library
                .find(id)
                .unwrap_or_else(|error| panic!("{}/{}: {error}", lesson.id, step.id));
            assert_eq!(
                target.parse(),
                Ok::<Target, String>(recording.target),
                "{id}"
            );
            let stream = library.tape(recording).unwrap().lines;
            let last = stream
                .last()
                .map(|(_, line)| line.as_str())
                .unwrap_or_default();
            assert!(
                last.contains(r#""event":"summary","complete":true"#),
                "{id}: {last}"
            );
        }
    }
    assert!(named >= 30, "{named}");
}

/// Else a learner who plays the recordings compares a time of one wait per step with a time of three.
#[test]
fn a_recording_of_a_run_with_one_wait_per_step_waits_once() {
    let library = Library::load(Recorded::BuiltIn).unwrap();
    let course = course();
    let mut once = 0;
    for (lesson, step) in course.steps() {
        let case = step.as_case();
        let measurements = case.iter().flat_map(|case| &case.measurements);
        let measured = measurements.map(|it| (&it.flags, &it.recording));
        for (flags, recording) in measured.chain([(&step.flags, &step.recording)]) {
            let Some(id) = recording else { continue };
            if !flags.join(" ").contains("--sync step") {
                continue;
            }
            let tape = library.tape(library.find(id).unwrap()).unwrap();
            let waits_once = |(_, line): &(f64, String)| line.contains(r#""synchronize":"step""#);
            assert!(
                tape.lines.iter().any(waits_once),
                "{}/{} plays {id}",
                lesson.id,
                step.id
            );
            once += 1;
        }
    }
    assert!(once >= 5, "{once}");
}

/// A check refuses to compare runs of two machines, and then asks the learner to play the recordings of both.
#[test]
fn whoever_plays_all_recordings_gets_a_verdict_of_every_check_between_them() {
    let library = Library::load(Recorded::BuiltIn).unwrap();
    let course = course();
    let machine = |run: &StepRef| {
        let step = course.step(&run.lesson, &run.step)?;
        Some(library.find(step.recording.as_ref()?).ok()?.origin())
    };
    let mut compared = 0;
    for (lesson, step) in course.steps() {
        for check in &step.checks {
            let Some([above, below]) = check.measure.compared() else {
                continue;
            };
            // The first loss is the same on every machine.
            if check.measure.to_string().contains("first_loss") {
                continue;
            }
            if let (Some(above), Some(below)) = (machine(above), machine(below)) {
                assert_eq!(above, below, "{}/{}: {}", lesson.id, step.id, check.id);
                compared += 1;
            }
        }
    }
    assert!(compared >= 20, "{compared}");
}

/// At 80 columns the screen breaks a longer line of code within a word, and takes a line of a paragraph that begins with a
/// minus for a list.
#[test]
fn code_fits_the_screen_and_no_formula_turns_into_a_list() {
    let course = course();
    let pages = course.reference.iter();
    let pages = pages.map(|(name, text)| (name.clone(), text.clone()));
    for (path, text) in course.lessons().flat_map(strings_of).chain(pages) {
        let (mut fence, mut before) = (None, "");
        for line in text.lines() {
            let wide = fence.is_some_and(|kind| kind != "picture") && line.chars().count() > 76;
            assert!(!wide, "{path}: {line}");
            let code = line.trim_start().strip_prefix("```");
            let in_paragraph = !before.is_empty() && !before.trim_start().starts_with("- ");
            let open = before.matches('(').count() > before.matches(')').count();
            let is_list = fence.is_none() && line.trim_start().starts_with("- ");
            assert!(!(is_list && in_paragraph && open), "{path}: {line}");
            if let Some(kind) = code {
                fence = fence.is_none().then_some(kind);
            }
            before = line;
        }
    }
}

#[test]
fn the_roofline_by_counters_asks_for_a_roofline() {
    let course = course();
    let step = course.step("roofline", "by-counters").unwrap();
    assert_eq!(step.as_profile().unwrap().task, ProfileTask::Roofline);
    // The other tools get their default task.
    let tasks = course.lessons().flat_map(|lesson| &lesson.steps);
    let tasks: Vec<&ProfileTask> = tasks
        .filter_map(|step| Some(&step.as_profile()?.task))
        .collect();
    assert!(
        tasks.contains(&&ProfileTask::Hotspots) && tasks.contains(&&ProfileTask::SystemTrace),
        "{tasks:?}"
    );
}

/// Every string of a lesson's file, with the path of its keys.
fn strings(value: &serde_yaml::Value, path: &str, found: &mut Vec<(String, String)>) {
    match value {
        serde_yaml::Value::Mapping(entries) => {
            for (key, value) in entries {
                let key = key.as_str().unwrap_or_default();
                strings(value, &format!("{path}/{key}"), found);
            }
        }
        serde_yaml::Value::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                strings(item, &format!("{path}/{index}"), found);
            }
        }
        serde_yaml::Value::String(text) => found.push((path.into(), text.clone())),
        _ => {}
    }
}

fn strings_of(lesson: &Lesson) -> Vec<(String, String)> {
    let path = format!("{}/{}.yaml", lesson.session, lesson.id);
    let file = CourseSource::BuiltIn.read(&path).unwrap();
    let mut found = Vec::new();
    strings(
        &serde_yaml::from_str(&file).unwrap(),
        &lesson.id,
        &mut found,
    );
    found
}

/// The course teaches, and one page refutes: a learner has never seen the workshop.
#[test]
fn lessons_argue_with_no_document_that_a_learner_has_never_seen() {
    let course = course();
    for (path, text) in course.lessons().flat_map(strings_of) {
        // A flag of this program has that name, too.
        let text = text.replace("--workshop", "").to_lowercase();
        assert!(!text.contains("workshop"), "{path}: {text}");
    }
    let pitfalls = &course.reference["pitfalls.md"];
    let published = "https://github.com/amd/HPCTrainingExamples";
    assert!(pitfalls.contains(published) && pitfalls.contains("workshop"));
}

/// No figure of the course is from an AMD GPU: a text that shows one from elsewhere names the machine, and one that shows a
/// sample of AMD's profilers says which program it is from.
#[test]
fn figures_from_elsewhere_name_their_device_and_samples_their_program() {
    let course = course();
    let devices = ["H200", "H100", "MI200", "MI300", "MI250", "MI325", "sample"];
    for lesson in course.lessons() {
        for step in &lesson.steps {
            let at = format!("{}/{}", lesson.id, step.id);
            let text = &step.text;
            let elsewhere = ["{{ known:", "{{ recording", "{{ analysis"];
            if elsewhere.iter().any(|mark| text.contains(mark)) {
                let is_named = devices.iter().any(|device| text.contains(device));
                assert!(is_named, "{at} names no device: {text}");
            }
            let import = step.golden.import.as_deref();
            if let Some(sample) = import.filter(|_| step.as_profile().is_some()) {
                let path = format!("lessons/{sample}");
                let says = [path.as_str(), "sample", "AMD's"];
                let missing: Vec<_> = says.iter().filter(|it| !text.contains(**it)).collect();
                assert!(missing.is_empty(), "{at} does not say {missing:?}: {text}");
            }
        }
    }
    let readme = include_str!("../lessons/profiles/README.md");
    for sample in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/lessons/profiles")).unwrap() {
        let name = sample.unwrap().file_name().into_string().unwrap();
        assert!(
            name == "README.md" || readme.contains(&name),
            "{name} has no source"
        );
    }
    let measured = &course.reference["measured.md"];
    assert!(
        measured.contains("AMD GPU"),
        "it says that none was measured"
    );
    // At least one profile is of the kind that learners meet at work: a PyTorch training step.
    let mut imports = course
        .steps()
        .filter_map(|(_, step)| step.golden.import.as_deref());
    assert!(imports.any(|import| import.contains("pytorch")));
}

/// A figure of `assets/figures.yaml` whose source is a page stands on that page. Whole numbers are rounded ones.
#[test]
fn a_figure_that_cites_a_page_is_on_it() {
    let figures: serde_yaml::Value =
        serde_yaml::from_str(include_str!("../assets/figures.yaml")).unwrap();
    let measured = &course().reference["measured.md"];
    let numbers: Vec<&str> = measured
        .split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .map(|number| number.trim_end_matches('.'))
        .collect();
    let mut cited = 0;
    for (id, figure) in figures["figures"].as_mapping().unwrap() {
        let source = figures["sources"][&figure["source"]].as_str().unwrap();
        if source.contains("What was measured") {
            let number = figure["value"].as_str().unwrap().split(' ').next().unwrap();
            if number.contains('.') {
                assert!(numbers.contains(&number), "{id:?}: {figure:?}");
                cited += 1;
            }
        }
    }
    assert!(cited > 25, "{cited}");
}

#[test]
fn every_question_about_a_number_returns_with_another_number() {
    let course = course();
    let mut returning = 0;
    for (lesson, step) in course.steps() {
        let Some(Quiz::Number(number)) = step.as_quiz().filter(|it| it.asked_step().is_none())
        else {
            continue;
        };
        let again = step.asked_again();
        let Some(quiz @ Quiz::Number(other)) = again.as_quiz() else {
            panic!("{again:?}")
        };
        let marked = quiz.mark_answer(QuizAnswer::Number(number.answer));
        let marked = marked.unwrap();
        let at = format!("{}/{}", lesson.id, step.id);
        assert!(!marked.correct, "{at} has the same answer again");
        assert_ne!(again.text, step.text, "{at}");
        assert!(!other.because.trim().is_empty(), "{at} gives no reason");
        returning += 1;
    }
    assert!(returning >= 25, "{returning}");
}
