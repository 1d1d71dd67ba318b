//! Whole dialogues, from lines of input to lines of output.

use tempfile::TempDir;

use super::dialogue::Dialogue;
use tinyllama_lesson::{Course, CourseSource, Quiz, QuizAnswer};
use tinyllama_runs::recording::RecordingSource;
use tinyllama_runs::{Launcher, Processes};
use tinyllama_session::{Session, SessionLocation, StepRef};
use tinyllama_tutor_core::{SharedSession, TutorOptions};

struct Learner {
    _folder: TempDir,
    course: Course,
    session: SharedSession,
    location: SessionLocation,
}

impl Learner {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = SessionLocation::new(folder.path(), "ada");
        Self {
            course: Course::load(&CourseSource::BuiltIn).unwrap(),
            session: SharedSession::new(Session::open(location.clone()).unwrap()),
            location,
            _folder: folder,
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Session, &Course) -> T) -> T {
        let done = self
            .session
            .with_session(|session| act(session, &self.course));
        done.unwrap()
    }

    /// Skips these lessons and opens the step at `at`.
    fn go_to(&self, skipped: impl Fn(&str) -> bool, at: &StepRef) {
        self.with(|session, course| {
            for lesson in course.lessons().filter(|it| skipped(&it.session)) {
                session.skip_lesson(lesson, "").unwrap();
            }
            let (lesson, step) = course.find_step(at).unwrap();
            session.turn_to(lesson, step).unwrap();
        });
    }

    fn said(&self, input: &str) -> String {
        let options = TutorOptions {
            course: CourseSource::BuiltIn,
            from: None,
            location: self.location.clone(),
            in_class: false,
            launcher: Launcher::local("tinyllama-tutor".into()),
            no_color: true,
            ascii: true,
            mouse: false,
            commands: Vec::new(),
            keys: None,
            recordings: RecordingSource::BuiltIn,
            works: |_| Vec::new(),
        };
        let mut output = Vec::new();
        let dialogue = Dialogue {
            options,
            course: &self.course,
            session: self.session.clone(),
            processes: Processes::default(),
            input: input.as_bytes(),
            output: &mut output,
            at: None,
            tried_lesson: None,
            plays_recordings: false,
        };
        dialogue.run_to_end().unwrap();
        String::from_utf8(output).unwrap()
    }
}

fn in_order(said: &str, words: &[&str]) {
    let mut rest = said;
    for word in words {
        let at = rest.find(word);
        let at = at.unwrap_or_else(|| panic!("no {word:?} where it belongs in:\n{said}"));
        rest = &rest[at + word.len()..];
    }
}

#[test]
fn a_session_begins_with_three_earlier_questions_and_the_course_ends_with_fifteen() {
    let learner = Learner::new();
    let missed = StepRef::new("memory", "compute-bytes");
    let again = learner.with(|session, course| {
        let step = course.step(&missed.lesson, &missed.step).unwrap();
        let wrong = QuizAnswer::Number(-1.0);
        session.answer(missed.clone(), course, step, wrong).unwrap();
        for (lesson, step) in course.steps() {
            let at = StepRef::new(&lesson.id, &step.id);
            let quiz = step.as_quiz().filter(|quiz| quiz.asked_step().is_none());
            if let (Some(right), "foundation") = (quiz.and_then(Quiz::solution), &*lesson.session) {
                session.answer(at, course, step, right).unwrap();
            }
        }
        step.asked_again()
            .as_quiz()
            .and_then(Quiz::solution)
            .unwrap()
    });
    let QuizAnswer::Number(again) = again else {
        panic!("{again:?}");
    };
    let last = StepRef::new("bottleneck", "own-kernel");
    learner.go_to(|session| session == "foundation", &last);
    let said = learner.said(&format!("next\n{again}\n\nstop\nnext\nquit\n"));
    in_order(
        &said,
        &[
            "Question 1 of 3: Where the memory goes",
            "8 million parameters",
            "Right.",
            "Question 2 of 3",
            "Question 3 of 3",
            "Earlier questions: 1 of ",
            "One matrix product instead of three. Step 1 of",
            "Step 2 of",
            "Until next time.",
        ],
    );
    assert_eq!(said.matches("Question 1 of").count(), 1, "{said}");

    learner.with(|session, course| {
        for (lesson, step) in course.steps() {
            let quiz = step.as_quiz().filter(|quiz| quiz.asked_step().is_none());
            if let Some(right) = quiz.and_then(Quiz::solution) {
                let at = StepRef::new(&lesson.id, &step.id);
                session.answer(at, course, step, right).unwrap();
            }
        }
    });
    let last = learner.course.lessons().last().unwrap();
    let last = StepRef::new(&last.id, &last.steps.last().unwrap().id);
    learner.go_to(|_| true, &last);
    let passes = "\n".repeat(15);
    let said = learner.said(&format!("next\n{passes}quit\n"));
    in_order(
        &said,
        &[
            "Everything that is open is done.",
            "Question 1 of 15",
            "Question 15 of 15",
            "No earlier question was answered; they come again.",
            "Until next time.",
        ],
    );
}

#[test]
fn reasons_hints_and_choices_show_no_markup() {
    let learner = Learner::new();
    let at = StepRef::new("same-every-time", "in-pytorch");
    learner.go_to(|_| true, &at);
    let said = learner.said("a\nb\nc\nopen first-baseline\nopen bottleneck\nquit\n");
    let said = said.split_once("lists the commands.").unwrap().1;
    for words in [
        "torch.use_deterministic_algorithms(True), so",
        "torch.backends.cudnn",
    ] {
        assert!(said.contains(words), "{said}");
    }
    let raw = said
        .lines()
        .find(|line| line.contains('`') || line.contains("**"));
    assert_eq!(raw, None, "{said}");
}

#[test]
fn a_profile_without_work_of_a_gpu_says_why_and_does_not_complete_the_step() {
    let learner = Learner::new();
    let at = StepRef::new("first-profile", "hot-kernels");
    learner.go_to(|session| session == "foundation", &at);
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let runs = || learner.with(|session, _| session.state().runs.len());
    let empty = format!("{root}/tests/fixtures/readme_csv/Rocprofv3__OpenMP__README.md_L104.csv");
    let said = learner.said(&format!("import {empty}\nquit\n"));
    in_order(
        &said,
        &[
            "The profiler saw 4 GPUs",
            "--backend rocm",
            "does not complete",
        ],
    );
    assert_eq!(runs(), 0, "{said}");
    let said = learner.said(&format!(
        "import {root}/lessons/profiles/jacobi_kernel_stats.csv\nquit\n"
    ));
    assert!(said.contains("JacobiIterationKernel"), "{said}");
    assert_eq!(runs(), 1, "{said}");
}
