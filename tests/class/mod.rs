//! Generated learners: the real store writes their sessions, and the figures of their runs are invented.

#![allow(dead_code, reason = "every test binary uses its own part of this")]

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tinyllama_contract::model::{Preset, Recipe};
use tinyllama_contract::{
    Body, DataSource, Event, Hello, PartWork, Parts, Step as TrainStep, Summary,
};
use tinyllama_lesson::kinds::Kind;
use tinyllama_lesson::{Course, CourseSource, Lesson, Quiz, QuizAnswer, Step};
use tinyllama_session::{RunExit, Session, SessionLocation, StepRef};

/// The built-in course. A process reads it once, because tests of hand-ins need it hundreds of times.
pub fn course() -> &'static Course {
    static COURSE: LazyLock<Course> =
        LazyLock::new(|| Course::load(&CourseSource::BuiltIn).unwrap());
    &COURSE
}

pub fn place(class: &Path, learner: &str) -> SessionLocation {
    SessionLocation::new(class, learner)
}

/// The content of an invented run.
pub struct MadeUp {
    pub target: &'static str,
    pub device: String,
    pub step_ms: f64,
    /// Relative noise, half of it in each direction.
    pub noise: f64,
    pub steps: usize,
    pub with_gradient: usize,
    pub batch: usize,
    pub fix: Option<&'static str>,
}

impl MadeUp {
    pub fn new(target: &'static str, step_ms: f64) -> Self {
        Self {
            target,
            device: "Imagined GPU".into(),
            step_ms,
            noise: 0.02,
            steps: 30,
            with_gradient: 38,
            batch: 8,
            fix: None,
        }
    }

    pub fn events(&self, random: &mut ChaCha8Rng) -> Vec<Event> {
        let mut config = Preset::Tiny.config();
        config.batch_size = self.batch;
        let hello = Hello {
            stream: 1,
            version: "0.0.0".into(),
            target: self.target.into(),
            recipe: Recipe::BASELINE,
            backend: "imagined".into(),
            device: self.device.clone(),
            arch: Some("gfx000".into()),
            driver: Some("1.2".into()),
            device_memory: Some(1 << 34),
            config,
            seed: 42,
            parameters: config.parameters(),
            parameter_tensors: 38,
            dtype: "f32".into(),
            matmul_precision: "f32".to_string().into(),
            learning_rate: 3e-4,
            weight_decay: 0.01,
            steps: self.steps,
            warmup: 1,
            data: DataSource::Synthetic,
            deterministic: false,
            synchronize: "phases".into(),
            node: None,
            block_sizes: Default::default(),
            ranks: None,
        };
        let mut events = vec![event(Body::Hello(Box::new(hello)))];
        let mut losses = Vec::new();
        for n in 1..=self.steps + 1 {
            let total = self.step_ms * (1.0 + self.noise * (random.random::<f64>() - 0.5));
            let loss = 6.95 - 0.03 * n as f64;
            losses.push(loss);
            events.push(event(Body::Step(TrainStep {
                captured: None,
                n,
                of: self.steps + 1,
                measured: n > 1,
                loss,
                total_ms: total,
                forward_ms: Some(total * 0.3),
                backward_ms: Some(total * 0.6),
                optimizer_ms: Some(total * 0.1),
                synchronized: true,
                launches: Some(700),
                bytes_in_use: Some(1 << 28),
                bytes_reserved: Some(1 << 29),
                samples_per_s: 8e3 / total,
                ranks: vec![],
            })));
        }
        let work = |part: &str, flops: f64, bytes: f64| PartWork {
            part: part.into(),
            flops,
            bytes,
            device_ms: Some(self.step_ms / 4.0),
        };
        let batch = self.batch as f64 / 8.0;
        events.push(event(Body::Parts(Parts {
            source: "counted from shapes".into(),
            parts: vec![
                work("embedding", 0.0, 8e6),
                work("attention", 3e9 * batch, 2e7),
                work("feed forward", 9e9 * batch, 3e7),
                work("norm", 1e7 * batch, 4e7),
            ],
            flops_per_step: 12.01e9 * batch,
            bytes_per_step: 9.8e7,
            achieved_flops_per_s: Some(12.01e12 * batch / self.step_ms),
        })));
        let summary = serde_json::json!({
            "complete": true, "steps": self.steps + 1, "measured_steps": self.steps,
            "samples": 8 * self.steps, "samples_per_s": 8e3 / self.step_ms, "tokens_per_s": 1e6 / self.step_ms,
            "total_ms": null, "forward_ms": null, "backward_ms": null, "optimizer_ms": null,
            "synchronized": true, "first_step_ms": 900.0, "launches_per_step": 700.0,
            "peak_bytes_in_use": 1 << 28, "peak_bytes_reserved": 1 << 29,
            "first_loss": losses.first(), "final_loss": losses.last(), "parameters": config.parameters(),
            "parameter_tensors": 38, "parameters_with_gradient": self.with_gradient,
            "repeatability": {"repeats": 2, "identical": true, "loss_difference": 0.0, "gradient_difference": 0.0, "differing_parameter": null},
        });
        let summary: Summary = serde_json::from_value(summary).unwrap();
        events.push(event(Body::Summary(Box::new(summary))));
        events
    }
}

fn event(body: Body) -> Event {
    Event { t: 1.0, body }
}

/// Writes a run as the tutor does: first its files, then the records of its start and end.
pub fn make_up(session: &mut Session, id: &str, at: Option<StepRef>, run: &MadeUp, seed: u64) {
    let events = run.events(&mut ChaCha8Rng::seed_from_u64(seed));
    let folder = session.location.runs().join(id);
    fs::create_dir_all(&folder).unwrap();
    let lines: String = events
        .iter()
        .map(|event| serde_json::to_string(event).unwrap() + "\n")
        .collect();
    fs::write(folder.join("events.jsonl"), lines).unwrap();
    let words = ["tinyllama-tutor", "run", run.target, "--data", "a text.txt"];
    let fix = run.fix.into_iter().flat_map(|fix| ["--fix", fix]);
    let command = words.into_iter().chain(fix).map(str::to_string).collect();
    session.start_run(id, at, run.target, command).unwrap();
    session.run_ended(id, RunExit::SUCCESS).unwrap();
}

/// Completes the first `lessons` lessons of the course; `seed` decides the learner's choices.
pub fn walk(place: SessionLocation, course: &Course, lessons: usize, seed: u64) -> SessionLocation {
    let mut session = Session::open(place.clone()).unwrap();
    session
        .record_opening(&course.title, &course.version)
        .unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for lesson in course.lessons().take(lessons) {
        for step in &lesson.steps {
            take(&mut session, course, lesson, step, &mut random);
        }
    }
    place
}

fn take(
    session: &mut Session,
    course: &Course,
    lesson: &Lesson,
    step: &Step,
    random: &mut ChaCha8Rng,
) {
    let at = StepRef::new(&lesson.id, &step.id);
    session.enter(lesson, step).unwrap();
    session
        .spend(at.clone(), random.random_range(20.0..150.0))
        .unwrap();
    match step.kind() {
        Kind::Predict => {
            session.predict(at, random.random_range(5.0..80.0)).unwrap();
        }
        Kind::Quiz => {
            let quiz = step.as_quiz().unwrap();
            if let (Quiz::Choices(choices), true) = (quiz, random.random_bool(0.4)) {
                let wrong = choices.iter().position(|choice| !choice.correct).unwrap();
                session
                    .answer(at.clone(), course, step, QuizAnswer::Choice(wrong))
                    .unwrap();
            }
            let asked = quiz.asked_step().is_some();
            match (quiz, quiz.solution()) {
                // A document lists the correct answers, and trying every choice finds one of them.
                (Quiz::Choices(choices), _) if asked => {
                    for index in 0..choices.len() {
                        let answer = QuizAnswer::Choice(index);
                        let marked = session.answer(at.clone(), course, step, answer);
                        if marked.unwrap().is_some_and(|marked| marked.correct) {
                            break;
                        }
                    }
                }
                (_, Some(answer)) => drop(session.answer(at, course, step, answer).unwrap()),
                _ => {}
            }
        }
        Kind::Run => {
            let id = format!("{:06}-{}", session.state().records, step.id);
            let run = MadeUp::new("v1", random.random_range(18.0..22.0));
            make_up(session, &id, Some(at.clone()), &run, random.random());
            session.check(course, lesson, step).unwrap();
            if random.random_bool(0.3) {
                session.next_hint(at, step).unwrap();
            }
        }
        Kind::Command => {
            let command = step.as_command().unwrap().command;
            let id = format!("{:06}-{}", session.state().records, step.id);
            let root = Path::new(env!("CARGO_MANIFEST_DIR"));
            let document = match &step.recording {
                Some(recording) => format!("assets/analysis/{recording}.json"),
                None => {
                    let name = command.name.split(' ').next().unwrap();
                    format!("tests/fixtures/documents/{name}.json")
                }
            };
            let folder = session.location.runs().join(&id);
            fs::create_dir_all(&folder).unwrap();
            fs::copy(root.join(document), folder.join("events.jsonl")).unwrap();
            let words = vec!["tinyllama-tutor".into(), command.name.into()];
            session
                .start_run(&id, Some(at), command.name, words)
                .unwrap();
            session.run_ended(&id, RunExit::SUCCESS).unwrap();
            session.check(course, lesson, step).unwrap();
        }
        Kind::Reflect => session
            .reflect(
                at,
                "Memory limits it: <b>not</b> arithmetic | I think.\nSecond line.",
            )
            .unwrap(),
        _ => {}
    }
}
