//! Generated learners: the real store writes their sessions, and the figures of their runs are invented.

#![allow(dead_code, reason = "every test binary uses its own part of this")]

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use tinyllama_contract::event::Spread;
use tinyllama_contract::flags::RunSpec;
use tinyllama_contract::{
    Body, DataSource, Event, Hello, PartWork, Parts, Step as TrainStep, Summary,
};
use tinyllama_lesson::kinds::Kind;
use tinyllama_lesson::{Course, CourseSource, Lesson, Quiz, QuizAnswer, Step};
use tinyllama_runs::recording::{Library, RecordingSource};
use tinyllama_session::{RunExit, Session, SessionLocation, StepRef, StepStatus};

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
    /// Flags in place of those that say the same as the other fields.
    pub flags: Vec<String>,
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
            flags: Vec::new(),
        }
    }

    /// The command line that makes such a run.
    pub fn command(&self) -> Vec<String> {
        let run = ["tinyllama-tutor", "run", self.target, "--events"].map(str::to_string);
        run.into_iter().chain(self.flags()).collect()
    }

    fn flags(&self) -> Vec<String> {
        if !self.flags.is_empty() {
            return self.flags.clone();
        }
        let data = ["--data", "a text.txt"].map(str::to_string);
        let [steps, batch] = [("num-steps", self.steps), ("batch-size", self.batch)]
            .map(|(name, value)| format!("--{name}={value}"));
        let fix = self
            .fix
            .into_iter()
            .flat_map(|fix| ["--fix", fix].map(str::to_string));
        data.into_iter()
            .chain([steps, batch, "--warmup=1".into()])
            .chain(fix)
            .collect()
    }

    pub fn events(&self, random: &mut ChaCha8Rng) -> Vec<Event> {
        let spec = RunSpec::parse(self.target, self.flags()).unwrap();
        let options = spec.flags.options(spec.target).unwrap();
        let (config, flags) = (options.config, &options.flags);
        let (steps, warmup) = (flags.num_steps, flags.warmup);
        let hello = Hello {
            stream: 1,
            version: "0.0.0".into(),
            target: self.target.into(),
            recipe: options.recipe,
            backend: "imagined".into(),
            device: self.device.clone(),
            arch: Some("gfx000".into()),
            driver: Some("1.2".into()),
            device_memory: Some(1 << 34),
            config,
            seed: flags.seed,
            parameters: config.parameters(),
            parameter_tensors: 38,
            dtype: "f32".into(),
            matmul_precision: "f32".to_string().into(),
            learning_rate: flags.learning_rate,
            weight_decay: 0.01,
            steps,
            warmup,
            data: DataSource::Synthetic,
            deterministic: false,
            synchronize: "phases".into(),
            node: None,
            block_sizes: Default::default(),
            ranks: None,
        };
        let of = warmup + steps;
        let mut time = 1.0;
        let mut events = vec![event(time, Body::Hello(Box::new(hello)))];
        let (mut losses, mut totals) = (Vec::new(), Vec::new());
        for n in 1..=of {
            let total = self.step_ms * (1.0 + self.noise * (random.random::<f64>() - 0.5));
            let loss = 6.95 - 0.03 * n as f64;
            losses.push(loss);
            totals.push(total);
            time += total / 1e3;
            events.push(event(
                time,
                Body::Step(TrainStep {
                    captured: None,
                    n,
                    of,
                    measured: n > warmup,
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
                }),
            ));
        }
        let work = |part: &str, flops: f64, bytes: f64| PartWork {
            part: part.into(),
            flops,
            bytes,
            device_ms: Some(self.step_ms / 4.0),
        };
        let batch = self.batch as f64 / 8.0;
        events.push(event(
            time,
            Body::Parts(Parts {
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
            }),
        ));
        let measured = &totals[warmup..];
        let part = |share: f64| {
            let values: Vec<f64> = measured.iter().map(|total| total * share).collect();
            json!(Spread::from_values(&values))
        };
        let samples = (config.batch_size * steps) as f64;
        let seconds = measured.iter().sum::<f64>() / 1e3;
        let summary = json!({
            "complete": true, "steps": of, "measured_steps": steps,
            "samples": samples as u64, "samples_per_s": samples / seconds, "tokens_per_s": 1e6 / self.step_ms,
            "total_ms": part(1.0), "forward_ms": part(0.3), "backward_ms": part(0.6), "optimizer_ms": part(0.1),
            "synchronized": true, "first_step_ms": totals[0], "launches_per_step": 700.0,
            "peak_bytes_in_use": 1 << 28, "peak_bytes_reserved": 1 << 29,
            "first_loss": losses.first(), "final_loss": losses.last(), "parameters": config.parameters(),
            "parameter_tensors": 38, "parameters_with_gradient": self.with_gradient,
            "repeatability": {"repeats": 2, "identical": true, "loss_difference": 0.0, "gradient_difference": 0.0, "differing_parameter": null},
        });
        let summary: Summary = serde_json::from_value(summary).unwrap();
        events.push(event(time, Body::Summary(Box::new(summary))));
        events
    }
}

fn event(t: f64, body: Body) -> Event {
    Event { t, body }
}

/// Writes the stream of a run.
pub fn write_stream(session: &Session, id: &str, events: &[Event]) {
    let folder = session.location.runs().join(id);
    fs::create_dir_all(&folder).unwrap();
    let lines = events.iter().map(|event| json!(event).to_string() + "\n");
    fs::write(folder.join("events.jsonl"), lines.collect::<String>()).unwrap();
}

/// Writes a run as the tutor does: first its files, then the records of its start and end.
pub fn make_up(session: &mut Session, id: &str, at: Option<StepRef>, run: &MadeUp, seed: u64) {
    let events = run.events(&mut ChaCha8Rng::seed_from_u64(seed));
    write_stream(session, id, &events);
    session
        .start_run(id, at, run.target, run.command())
        .unwrap();
    session.run_ended(id, RunExit::SUCCESS).unwrap();
}

/// Plays a recording as the tutor does.
pub fn play(session: &mut Session, id: &str, at: Option<StepRef>, recording: &str) {
    let library = Library::load(RecordingSource::BuiltIn).unwrap();
    let recorded = library.find(recording).unwrap();
    let tape = library.tape(recorded).unwrap();
    let folder = session.location.runs().join(id);
    fs::create_dir_all(&folder).unwrap();
    let lines = tape.lines.iter().map(|(_, line)| format!("{line}\n"));
    fs::write(folder.join("events.jsonl"), lines.collect::<String>()).unwrap();
    let target = recorded.target.name;
    session.start_run(id, at, target, tape.command).unwrap();
    session.mark_recording(id, &recorded.origin()).unwrap();
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
        Kind::Compare => drop(session.check(course, lesson, step).unwrap()),
        _ => {}
    }
    let at = StepRef::new(&lesson.id, &step.id);
    if session.state().progress(&at).status == StepStatus::Open {
        // The tutor opens no lesson before the ones that it requires are finished.
        session.skip(at, "not on this machine").unwrap();
    }
}
