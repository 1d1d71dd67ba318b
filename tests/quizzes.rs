//! Tests that learners cannot pass questions without reading them: the order of choices, and the replies to wrong
//! answers.

use tempfile::TempDir;
use tinyllama_course_walk::MOST_BLIND;
use tinyllama_lesson::{Course, CourseSource, Problems, Quiz, QuizAnswer, QuizChoice};
use tinyllama_session::{Session, SessionLocation, StepRef};

const SEEDS: u64 = 1000;

fn course() -> Course {
    Course::load(&CourseSource::BuiltIn).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Every choice question of the course whose answer is the same on all machines.
fn questions(course: &Course) -> Vec<(StepRef, Quiz, Vec<QuizChoice>)> {
    let steps = course
        .lessons()
        .flat_map(|lesson| lesson.steps.iter().map(move |step| (lesson, step)));
    let questions = steps.filter_map(|(lesson, step)| match step.as_quiz() {
        Some(quiz @ Quiz::Choices(choices)) if quiz.asked_step().is_none() => {
            let name = StepRef::parse(&step.id, &lesson.id);
            Some((name, quiz.clone(), choices.clone()))
        }
        _ => None,
    });
    questions.collect()
}

/// A sequence of numbers that depends only on the seed.
fn random(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    *state >> 33
}

/// Answers in a way that uses only the screen and no understanding, and counts the questions passed at first try.
#[test]
fn answers_without_reading_pass_no_more_than_by_chance() {
    let course = course();
    let questions = questions(&course);
    assert!(questions.len() > 25);
    type Strategy = fn(usize, &mut u64) -> usize;
    let strategies: [(&str, Strategy); 3] = [
        ("the first", |_, _| 0),
        ("the last", |count, _| count - 1),
        ("any", |count, state| {
            (random(state) % count as u64) as usize
        }),
    ];
    for (name, choose) in strategies {
        let (mut passed, mut expected, mut variance) = (0.0, 0.0, 0.0);
        for seed in 0..SEEDS {
            let learner = format!("learner {seed}");
            let mut state = seed;
            for (question, quiz, choices) in &questions {
                let order = quiz.order(&learner, question);
                assert_eq!(order, quiz.order(&learner, question), "it is kept");
                let chosen = order[choose(order.len(), &mut state)];
                let marked = quiz.mark_answer(QuizAnswer::Choice(chosen)).unwrap();
                assert!(!marked.because.is_empty(), "{question} tells no reason");
                let chance = 1.0 / choices.len() as f64;
                passed += f64::from(u8::from(marked.correct));
                expected += chance;
                variance += chance * (1.0 - chance);
            }
        }
        // Four standard deviations of a sum of independent questions: one case in thirty thousand by chance.
        let bound = expected + 4.0 * variance.sqrt();
        assert!(passed <= bound, "{name}: {passed} of {expected} by chance");
        assert!(
            passed >= expected - 4.0 * variance.sqrt(),
            "{name}: {passed}"
        );
    }
}

#[test]
fn the_form_of_a_choice_does_not_say_whether_it_is_right() {
    let passed = tinyllama_course_walk::blind_strategies(&course()).unwrap();
    assert!(passed.len() >= 10, "{passed:?}");
    let above = passed.iter().filter(|one| one.share > MOST_BLIND);
    assert_eq!(above.count(), 0, "{passed:?}");
    assert!(passed.is_sorted_by(|a, b| a.share >= b.share));
}

/// A course whose only lesson, `first/one.yaml`, is still to be written.
fn course_of_one_lesson() -> TempDir {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("first")).unwrap();
    let workshop = "format: 1\ntitle: A course\nversion: \"1\"\nsummary: Small.\nsessions:\n  - id: first\n    title: First\n    minutes: 60\n    objectives: [Something]\n    lessons: [one]\n";
    std::fs::write(folder.path().join("workshop.yaml"), workshop).unwrap();
    folder
}

/// Thirty questions that are longest where they are wrong: lint names the strategy that passes all of them.
#[test]
fn lint_refuses_a_course_whose_questions_one_strategy_passes() {
    let folder = course_of_one_lesson();
    let write = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).unwrap();
    let found = |wrong: [&str; 2], questions: usize| {
        let [one, other] = wrong;
        let steps = (0..questions).map(|number| {
            format!("  - id: question-{number}\n    kind: quiz\n    title: Which?\n    text: Which?\n    choices:\n      - {{ text: {one}, because: No. }}\n      - {{ text: {other}, because: No. }}\n      - {{ text: Right., correct: true, because: Yes. }}\n")
        });
        let minutes = 3 * questions / 4;
        let head = format!(
            "id: one\ntitle: One\nminutes: {minutes}\nlevel: beginner\nobjectives: [Something]\nsteps:\n"
        );
        write("first/one.yaml", &(head + &steps.collect::<String>()));
        let source = CourseSource::Folder(folder.path().to_path_buf());
        let course = Course::load(&source).unwrap_or_else(|problems| panic!("{problems}"));
        Problems(tinyllama_course_walk::lint(&course, &source)).to_string()
    };
    let longer = ["A longer one.", "Another one."];
    let problems = found(longer, 30);
    assert_eq!(problems.lines().count(), 1, "{problems}");
    let said = ["workshop.yaml", "the shortest", "100.0 %", "34 %"];
    assert!(
        said.iter().all(|words| problems.contains(words)),
        "{problems}"
    );
    // Fewer questions say nothing, and choices of one length and form leave the dice.
    assert_eq!(found(longer, 29), "");
    assert_eq!(found(["Wrong.", "Empty."], 30), "");
}

#[test]
fn every_wrong_number_is_told_a_reason_or_a_hint_and_the_third_the_way() {
    let course = course();
    let folder = TempDir::new().unwrap();
    let place = SessionLocation::new(folder.path(), "ada");
    let mut session = Session::open(place).unwrap();
    let mut numbers = 0;
    for lesson in course.lessons() {
        for step in &lesson.steps {
            let Some(Quiz::Number(number)) = step.as_quiz() else {
                continue;
            };
            if number.read.is_some() {
                continue;
            }
            numbers += 1;
            let at = StepRef::new(&lesson.id, &step.id);
            let mut state = numbers;
            for tried in 1..=3 {
                let off = 2.0 + (random(&mut state) % 1000) as f64 / 7.0;
                let wrong = QuizAnswer::Number(number.answer * off + 1.0);
                let marked = session.answer(at.clone(), &course, step, wrong);
                let marked = marked.unwrap().unwrap();
                assert!(!marked.correct, "{}", step.id);
                assert!(!marked.because.trim().is_empty(), "{}: no help", step.id);
                let way = marked.because.contains(number.because.trim());
                assert_eq!(way, tried == 3, "{} after {tried}", step.id);
            }
            for mistake in &number.mistakes {
                let marked = session
                    .answer(at.clone(), &course, step, QuizAnswer::Number(mistake.value))
                    .unwrap()
                    .unwrap();
                assert!(marked.because.contains(mistake.because.trim()));
            }
        }
    }
    assert!(numbers > 15);
}

/// A lesson in which the correct answer is always the longest, and which asks for a number without help.
#[test]
fn lint_refuses_questions_that_give_themselves_away_or_leave_one_alone() {
    let folder = course_of_one_lesson();
    let write = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).unwrap();
    let lesson = |right: &str, hints: &str, text: &str| {
        format!(
            "id: one\ntitle: One\nminutes: 5\nlevel: beginner\nobjectives: [Something]\nsteps:\n  - id: choice\n    kind: quiz\n    title: Which?\n    text: Which one?\n    choices:\n      - {{ text: A wrong answer., because: No. }}\n      - {{ text: {right}, correct: true, because: Yes. }}\n  - id: number\n    kind: quiz\n    title: How many?\n    text: {text}\n    number: {{ answer: 6, because: Two times three. }}\n{hints}"
        )
    };
    let found = || {
        let source = CourseSource::Folder(folder.path().to_path_buf());
        let course = Course::load(&source).unwrap();
        let problems = tinyllama_course_walk::lint(&course, &source);
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    const HINT: &str = "    hints: [{ text: Count them. }]\n";
    write("first/one.yaml", &lesson("A right one.", HINT, "How many?"));
    assert_eq!(found(), Vec::<String>::new());
    let found_in = [
        ("A right answer that goes on and on.", HINT, "How many?"),
        ("A right one.", "", "How many?"),
        ("A right one.", HINT, "It took 42.4 ms. How many?"),
        ("A right one.", HINT, "Please mend it."),
        ("It is 7 ms.", HINT, "How many?"),
        (
            "A right one.",
            "    hints: [{ text: It takes 5 milliseconds. }]\n",
            "How many?",
        ),
    ]
    .map(|(right, hints, text)| {
        write("first/one.yaml", &lesson(right, hints, text));
        let found = found();
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    });
    let here = folder.path().display().to_string();
    insta::assert_snapshot!(found_in.join("\n").replace(&here, "[course]"));
    // Pages are checked, too, except the one that lists measured figures.
    write("first/one.yaml", &lesson("A right one.", HINT, "How many?"));
    std::fs::create_dir(folder.path().join("reference")).unwrap();
    let page = "# A page\n\nThe best of many | a winner.\n\nIt took 3 us, and many a plane.\n";
    for (name, expected) in [
        ("other.md", &["`3 us` is typed", "`many a`", "`plane`"][..]),
        ("measured.md", &["`many a`", "`plane`"]),
    ] {
        write(&format!("reference/{name}"), page);
        let found = found();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        let told = |words: &&str| found.iter().any(|problem| problem.contains(words));
        assert!(expected.iter().all(told), "{found:?}");
        std::fs::remove_file(folder.path().join(format!("reference/{name}"))).unwrap();
    }
}
