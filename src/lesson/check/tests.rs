use std::collections::HashMap;

use super::*;
use tinyllama_contract::event::{Body, Event};
use tinyllama_runs::Metric;
use tinyllama_runs::recording::Library;

struct Fixed(HashMap<StepRef, Vec<Measurements>>);

impl Runs for Fixed {
    fn measurements(&self, name: &StepRef) -> Vec<&Measurements> {
        self.0.get(name).into_iter().flatten().collect()
    }
}

/// A run with the given step times that ends in a loss of `loss`.
fn run(times: impl Iterator<Item = f64>, loss: f64) -> Measurements {
    let step = |(n, ms): (usize, f64)| {
        format!(
            r#"{{"t":0,"event":"step","n":{n},"of":9,"measured":true,"loss":7.0,"total_ms":{ms},"forward_ms":null,"backward_ms":null,"optimizer_ms":null,"synchronized":true,"launches":null,"bytes_in_use":null,"bytes_reserved":null,"samples_per_s":1.0}}"#
        )
    };
    let summary = format!(
        r#"{{"t":1,"event":"summary","complete":true,"steps":1,"measured_steps":1,"samples":1,"samples_per_s":1.0,"tokens_per_s":1.0,"total_ms":null,"forward_ms":null,"backward_ms":null,"optimizer_ms":null,"synchronized":true,"first_step_ms":null,"launches_per_step":null,"peak_bytes_in_use":null,"peak_bytes_reserved":null,"first_loss":7.0,"final_loss":{loss},"parameters":1,"parameter_tensors":74,"parameters_with_gradient":74,"repeatability":null}}"#
    );
    let lines = times.enumerate().map(step).chain([summary]);
    let events: Vec<Event> = lines
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect();
    Measurements::collect(&events)
}

/// Forty steps around `ms` that differ by `spread`, as a share.
fn noisy(ms: f64, spread: f64) -> Measurements {
    // A permutation of 0 to 39 without visible order.
    run(
        (0..40).map(|i| ms * (1.0 + spread * (f64::from((i * 17 + 5) % 40) / 39.0 - 0.5))),
        6.0,
    )
}

fn runs(named: Vec<(&str, Measurements)>) -> Fixed {
    Fixed(
        named
            .into_iter()
            .map(|(step, run)| (StepRef::parse(step, "here"), vec![run]))
            .collect(),
    )
}

fn check(measure: &str, at_least: Option<f64>, at_most: Option<f64>) -> Check {
    let document = CheckDocument {
        id: "it".into(),
        at_least,
        at_most,
        passed: "It holds.".into(),
        not_yet: "It does not hold.".into(),
        ..CheckDocument::default()
    };
    Check::from_document(Quantity::parse(measure, "here").unwrap(), &document)
}

/// A run that starts at a loss of `first` and halves it in each of `steps` steps; its summary says 100.
fn learning(first: f64, steps: i32) -> Measurements {
    let step = |n: i32| {
        let loss = first / 2f64.powi(n);
        format!(
            r#"{{"t":0,"event":"step","n":{n},"of":9,"measured":true,"loss":{loss},"total_ms":1.0,"forward_ms":null,"backward_ms":null,"optimizer_ms":null,"synchronized":true,"launches":null,"bytes_in_use":null,"bytes_reserved":null,"samples_per_s":1.0}}"#
        )
    };
    let summary = r#"{"t":1,"event":"summary","complete":true,"steps":1,"measured_steps":1,"samples":1,"samples_per_s":1.0,"tokens_per_s":1.0,"total_ms":null,"forward_ms":null,"backward_ms":null,"optimizer_ms":null,"synchronized":true,"first_step_ms":null,"launches_per_step":null,"peak_bytes_in_use":null,"peak_bytes_reserved":null,"first_loss":7.0,"final_loss":100,"parameters":1,"parameter_tensors":74,"parameters_with_gradient":74,"repeatability":null}"#;
    let lines = (1..=steps).map(step).chain([summary.to_owned()]);
    let events: Vec<Event> = lines
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect();
    Measurements::collect(&events)
}

/// Rounds in turns train for longer than the run they are compared with.
#[test]
fn losses_are_compared_at_the_last_step_that_all_have() {
    struct Asked(Fixed, usize);
    impl Runs for Asked {
        fn measurements(&self, name: &StepRef) -> Vec<&Measurements> {
            self.0.measurements(name)
        }

        fn shortest(&self, _: &StepRef) -> usize {
            self.1
        }
    }
    let ratio = |steps: [i32; 2], shortest: usize| {
        let [a, b] = steps;
        let runs = runs(vec![("a", learning(8.0, a)), ("b", learning(4.0, b))]);
        let check = check("a.final_loss / b.final_loss", Some(0.0), None);
        check.evaluate(&Asked(runs, shortest)).value
    };
    assert_eq!(ratio([4, 4], usize::MAX), Some(1.0), "as the summaries say");
    assert_eq!(ratio([4, 6], usize::MAX), Some(2.0));
    assert_eq!(ratio([6, 6], 3), Some(2.0));
    assert_eq!(ratio([6, 6], 6), Some(1.0));
}

#[test]
fn a_clear_speedup_passes_and_a_clear_slowdown_does_not() {
    let runs = runs(vec![("slow", noisy(30.0, 0.1)), ("fast", noisy(20.0, 0.1))]);
    let faster = check("slow.total_ms / fast.total_ms", Some(1.2), None).evaluate(&runs);
    assert_eq!(faster.verdict, Verdict::Passed);
    assert!((faster.value.unwrap() - 1.5).abs() < 0.01);
    let slower = check("fast.total_ms / slow.total_ms", Some(1.2), None).evaluate(&runs);
    assert_eq!(slower.verdict, Verdict::NotYet);
}

/// Other programs lengthen some steps with all their phases. The step times then say nothing, but their
/// shares still do.
#[test]
fn phases_of_one_run_are_compared_step_by_step() {
    let step = |n: usize| {
        let forward = if n % 5 < 2 { 40.0 } else { 10.0 + n as f64 };
        let backward = forward * (1.5 + 0.01 * (n % 3) as f64);
        let line = format!(
            r#"{{"t":0,"event":"step","n":{n},"of":30,"measured":true,"loss":7.0,"total_ms":{forward},"forward_ms":{forward},"backward_ms":{backward},"optimizer_ms":null,"synchronized":true,"launches":null,"bytes_in_use":null,"bytes_reserved":null,"samples_per_s":1.0}}"#
        );
        serde_json::from_str(&line).unwrap()
    };
    let events: Vec<Event> = (0..30).map(step).collect();
    let runs = runs(vec![("work", Measurements::collect(&events))]);
    let longer = check("work.backward_ms / work.forward_ms", Some(1.4), Some(1.6)).evaluate(&runs);
    assert_eq!(longer.verdict, Verdict::Passed, "{longer:?}");
}

#[test]
fn an_effect_inside_the_spread_is_inconclusive_and_asks_for_more_steps() {
    let runs = runs(vec![("slow", noisy(20.3, 0.6)), ("fast", noisy(20.0, 0.6))]);
    let check = check("slow.total_ms / fast.total_ms", Some(1.0), None);
    let outcome = check.evaluate(&runs);
    let Some(Undecided::Spread {
        further_steps: Some(steps),
    }) = outcome.undecided
    else {
        panic!("{outcome:?}");
    };
    assert!(steps > 40, "{steps}");
    assert!(
        outcome
            .explain(&check)
            .contains(&format!("About {steps} further steps"))
    );
}

#[test]
fn a_figure_that_was_not_reported_or_not_run_is_never_zero() {
    let runs = runs(vec![("cpu", noisy(20.0, 0.1))]);
    let launches = check("cpu.launches_per_step", None, Some(500.0));
    let outcome = launches.evaluate(&runs);
    assert_eq!(outcome.verdict, Verdict::Inconclusive);
    assert_eq!(
        outcome.undecided,
        Some(Undecided::NotReported("launches a step of \"cpu\"".into()))
    );
    assert_eq!(outcome.value, None);
    insta::assert_snapshot!(outcome.explain(&launches));

    let missing = check("gpu.total_ms", None, Some(500.0)).evaluate(&runs);
    assert!(
        matches!(missing.undecided, Some(Undecided::NotRun(_))),
        "{missing:?}"
    );
}

#[test]
fn a_division_by_zero_is_not_finite_and_passes_nothing() {
    let runs = runs(vec![("run", run((0..40).map(|_| 20.0), 0.0))]);
    let outcome = check("run.first_loss / run.final_loss", Some(1.0), None).evaluate(&runs);
    assert!(
        matches!(outcome.undecided, Some(Undecided::NotFinite(_))),
        "{outcome:?}"
    );
}

#[test]
fn single_numbers_are_compared_exactly() {
    let runs = runs(vec![("run", noisy(20.0, 0.1))]);
    let judge = |measure, least, most| check(measure, least, most).evaluate(&runs).verdict;
    assert_eq!(
        judge(
            "run.parameters_with_gradient / run.parameter_tensors",
            Some(1.0),
            None
        ),
        Verdict::Passed
    );
    assert_eq!(judge("run.final_loss", None, Some(6.0)), Verdict::Passed);
    assert_eq!(judge("run.final_loss", None, Some(5.999)), Verdict::NotYet);
    assert_eq!(
        judge("run.final_loss", Some(5.0), Some(5.5)),
        Verdict::NotYet
    );
}

#[test]
fn too_few_steps_are_no_evidence() {
    let few = || run([20.0, 21.0, 20.5].into_iter(), 6.0);
    let runs = runs(vec![("a", few()), ("b", few())]);
    let outcome = check("a.total_ms / b.total_ms", Some(0.5), None).evaluate(&runs);
    assert!(
        matches!(outcome.undecided, Some(Undecided::TooLittle(_))),
        "{outcome:?}"
    );
}

#[test]
fn three_runs_of_each_side_are_compared_by_run() {
    let side = |ms: [f64; 3]| ms.map(|ms| noisy(ms, 0.01)).to_vec();
    let name = |step| StepRef::parse(step, "here");
    let fixed = Fixed(HashMap::from([
        (name("a"), side([20.0, 22.0, 21.0])),
        (name("b"), side([20.5, 21.5, 20.0])),
    ]));
    let check = check("a.total_ms / b.total_ms", Some(1.0), None);
    let outcome = check.evaluate(&fixed);
    assert_eq!(outcome.interval.unwrap().basis, Basis::Runs);
    assert!(
        matches!(outcome.undecided, Some(Undecided::Spread { .. })),
        "{outcome:?}"
    );
    assert_eq!(
        fixed.measurements(&name("a"))[0]
            .series(Metric::TotalMs)
            .unwrap()
            .values()
            .len(),
        40
    );
}

/// Runs, some of which were recorded on another machine.
struct RecordedElsewhere(Fixed, HashMap<StepRef, &'static str>);

impl Runs for RecordedElsewhere {
    fn measurements(&self, name: &StepRef) -> Vec<&Measurements> {
        self.0.measurements(name)
    }

    fn recorded(&self, name: &StepRef) -> Option<&str> {
        self.1.get(name).copied()
    }
}

#[test]
fn a_recording_is_labelled_and_never_held_against_a_run_made_here() {
    let name = |step: &str| StepRef {
        lesson: "l".into(),
        step: step.into(),
    };
    let runs = || {
        let runs = [("a", noisy(10.0, 0.01)), ("b", noisy(20.0, 0.01))];
        Fixed(runs.map(|(step, run)| (name(step), vec![run])).into())
    };
    let check = Check {
        id: "faster".into(),
        measure: Quantity::parse("b.total_ms / a.total_ms", "l").unwrap(),
        passed: "So it is.".into(),
        not_yet: "It is not.".into(),
        ..check("b.total_ms / a.total_ms", Some(1.5), None)
    };
    let origin = "NVIDIA H200, 21 November 2026";
    let both = RecordedElsewhere(runs(), [(name("a"), origin), (name("b"), origin)].into());
    let outcome = check.evaluate(&both);
    assert_eq!(outcome.verdict, Verdict::Passed);
    let text = outcome.explain(&check);
    assert!(
        text.contains("(recording: NVIDIA H200, 21 November 2026)"),
        "{text}"
    );
    assert!(
        !check
            .evaluate(&runs())
            .explain(&check)
            .contains("recording")
    );

    for mixed in [
        vec![(name("a"), origin)],
        vec![(name("b"), origin)],
        vec![(name("a"), origin), (name("b"), "another, 1 May 2026")],
    ] {
        let outcome = check.evaluate(&RecordedElsewhere(runs(), mixed.into_iter().collect()));
        assert!(
            matches!(&outcome.undecided, Some(Undecided::OtherMachine { .. })),
            "{outcome:?}"
        );
        assert_eq!(outcome.value, None);
    }
}

#[test]
fn the_first_loss_of_two_machines_is_compared_if_both_runs_are_recordings() {
    let name = |step: &str| StepRef::parse(step, "here");
    let recorded = |of: &[(&str, &'static str)], measure: &str| {
        let both = runs(vec![("a", noisy(10.0, 0.01)), ("b", noisy(20.0, 0.01))]);
        let of = of.iter().map(|(step, origin)| (name(step), *origin));
        let outcome = check(measure, Some(0.999), Some(1.001))
            .evaluate(&RecordedElsewhere(both, of.collect()));
        (outcome.verdict, outcome.undecided.is_some())
    };
    let (a, b) = (
        ("a", "NVIDIA H200, 21 November 2026"),
        ("b", "another, 1 May 2026"),
    );
    let loss = "b.first_loss / a.first_loss";
    assert_eq!(recorded(&[a, b], loss), (Verdict::Passed, false));
    // A run that was made here may have another size than a recording.
    for one in [a, b] {
        assert_eq!(recorded(&[one], loss), (Verdict::Inconclusive, true));
    }
    let time = "b.total_ms / a.total_ms";
    assert_eq!(recorded(&[a, b], time), (Verdict::Inconclusive, true));
}

/// The first event of a run on `device`.
fn hello(device: &str) -> Event {
    let config = r#"{"vocabulary":64,"hidden":32,"layers":2,"heads":4,"kv_heads":2,"ffn":64,"sequence_length":16,"batch_size":2}"#;
    let line = format!(
        r#"{{"t":0,"event":"hello","stream":1,"version":"0.1.0","target":"v1","recipe":{{"qkv":"separate","gate_up":"separate","attention":"materialised","operations":"library","swiglu":"library","key_value":"shared","initialisation":"small","backward":"complete","graph_fusion":false}},"backend":"cpu","device":"{device}","arch":"x86_64","driver":null,"device_memory":null,"config":{config},"seed":42,"parameters":1,"parameter_tensors":74,"dtype":"f32","matmul_precision":"f32","learning_rate":0.0003,"weight_decay":0.01,"steps":9,"warmup":3,"data":{{"kind":"synthetic"}},"deterministic":false,"synchronize":"phases"}}"#
    );
    serde_json::from_str(&line).unwrap()
}

#[test]
fn runs_of_different_devices_are_not_compared() {
    let on = |device: &str, ms: f64| {
        let mut run = noisy(ms, 0.02);
        run.add(&hello(device));
        run
    };
    let times = check("fast.total_ms / slow.total_ms", None, Some(0.9));
    let losses = check("fast.final_loss / slow.final_loss", Some(0.99), Some(1.01));
    let own = runs(vec![
        ("fast", on("this one", 10.0)),
        ("slow", on("this one", 20.0)),
    ]);
    let mixed = runs(vec![
        ("fast", on("another", 10.0)),
        ("slow", on("this one", 20.0)),
    ]);
    for check in [times, losses] {
        assert_eq!(check.evaluate(&own).verdict, Verdict::Passed);
        let outcome = check.evaluate(&mixed);
        let Some(Undecided::OtherDevice { above, below }) = &outcome.undecided else {
            panic!("{outcome:?}");
        };
        assert_eq!((above.as_str(), below.as_str()), ("another", "this one"));
        assert!(
            outcome
                .explain(&check)
                .contains(&format!("{above} and {below}"))
        );
    }
}

/// A run with step times of `ms` on a backend.
fn on_backend(backend: &str, ms: f64) -> Measurements {
    let mut run = noisy(ms, 0.01);
    let mut event = hello("It");
    let Body::Hello(hello) = &mut event.body else {
        panic!("no hello")
    };
    hello.backend = backend.into();
    run.add(&event);
    run
}

/// Other programs on a GPU can cause the whole difference between two runs. Near the bound, only rounds decide.
#[test]
fn one_run_each_decides_on_a_shared_gpu_only_what_is_far_from_the_bound() {
    let outcome = |backend: &str, ms: f64, runs_each: usize| {
        let name = |step| StepRef::parse(step, "here");
        let side = |ms: f64| vec![on_backend(backend, ms); runs_each];
        let fixed = Fixed([(name("a"), side(ms)), (name("b"), side(10.0))].into());
        let check = check("a.total_ms / b.total_ms", Some(0.95), Some(1.05));
        let judged = check.evaluate(&fixed);
        let numbers = judged.explain(&check);
        assert!(numbers.contains("Asked for: between 0.95"), "{numbers}");
        (judged.verdict, judged.undecided)
    };
    let one_each = (Verdict::Inconclusive, Some(Undecided::OneRunEach));
    for near in [7.6, 10.0, 11.6, 15.0] {
        assert_eq!(outcome("cuda", near, 1), one_each, "{near}");
        assert_eq!(outcome("cuda", near, 2), one_each, "{near}");
    }
    for far in [6.0, 16.0] {
        assert_eq!(outcome("cuda", far, 1), (Verdict::NotYet, None), "{far}");
    }
    for (backend, runs) in [("cpu", 1), ("cuda", 3)] {
        assert_eq!(outcome(backend, 11.6, runs), (Verdict::NotYet, None));
        assert_eq!(outcome(backend, 10.0, runs), (Verdict::Passed, None));
    }
}

/// A check that only a GPU can pass is evaluated for other runs, but never for a run on a CPU.
#[test]
fn a_check_for_gpus_is_not_evaluated_on_a_cpu() {
    let on = |backend: &str| runs(vec![("goal", on_backend(backend, 20.0))]);
    for most in [10.0, 30.0] {
        let check = Check {
            on_gpu: true,
            ..check("goal.total_ms", None, Some(most))
        };
        let outcome = check.evaluate(&on("cpu"));
        assert_eq!(
            (outcome.verdict, outcome.value),
            (Verdict::NotEvaluated, None)
        );
        insta::assert_snapshot!(outcome.explain(&check));
        let expected = match most > 20.0 {
            true => Verdict::Passed,
            false => Verdict::NotYet,
        };
        assert_eq!(check.evaluate(&on("rocm")).verdict, expected);
        let usual = Check {
            on_gpu: false,
            ..check
        };
        assert_eq!(usual.evaluate(&on("cpu")).verdict, expected);
    }
}

/// A played recording is compared with the recording of an earlier step, although that step was run here. A run of this
/// machine is never replaced in a check of its own step.
#[test]
fn a_recording_takes_the_recording_of_the_earlier_step_as_its_partner() {
    let name = |step: &str| StepRef::parse(step, "here");
    let (fast, origin) = Library::built_in("v2").unwrap();
    let origin: &'static str = origin.leak();
    let here = noisy(1.0, 0.01);
    let mut check = check("slow.total_ms / fast.total_ms", Some(1.1), None);
    let outcome = |check: &Check, recorded: &str| {
        let runs = [("slow", &here), ("fast", &fast.measurements)];
        let runs = Fixed(
            runs.map(|(step, run)| (name(step), vec![run.clone()]))
                .into(),
        );
        check.evaluate(&RecordedElsewhere(runs, [(name(recorded), origin)].into()))
    };
    assert_eq!(outcome(&check, "fast").verdict, Verdict::Inconclusive);
    check
        .measure
        .take_recordings(&|run| (*run == name("slow")).then(|| "v1".into()));
    let with_partner = outcome(&check, "fast");
    assert_eq!(with_partner.verdict, Verdict::Passed, "{with_partner:?}");
    assert_eq!(with_partner.recorded.as_deref(), Some(origin));
    assert_eq!(outcome(&check, "slow").verdict, Verdict::Inconclusive);
    // A recording of another machine does not suit.
    check
        .measure
        .take_recordings(&|run| (*run == name("slow")).then(|| "v4-beside-two".into()));
    assert_eq!(outcome(&check, "fast").verdict, Verdict::Inconclusive);
}
