use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tinyllama_kernel_catalog::{KERNELS, Role};

use super::*;
use crate::device::{Backend, BackendChoice, DeviceError, Tuning};
use crate::model::{SideWork, Weights};
use crate::train::event::{Body, Event, Summary};
use crate::train::{
    Data, EventSink, Gemm, Reporter, StopSignal, Tally, TrainingEnd, train, tuning_ahead,
};
use tinyllama_contract::flags::{RunSpec, Switch};

#[derive(Clone, Default)]
struct Collected(Arc<Mutex<Vec<Event>>>);

impl EventSink for Collected {
    fn event(&mut self, event: &Event) -> std::io::Result<()> {
        self.0.lock().unwrap().push(event.clone());
        Ok(())
    }
}

pub fn options_of(target: Target) -> TrainingOptions {
    let flags = "--hidden=32 --layers=2 --ffn=48 --heads=4 --kv-heads=2 --seq-len=8 --batch-size=2 --vocab=61 \
                 --backend=cpu --num-steps=6 --warmup=1 --learning-rate=1e-2 --matmul-precision=f32 --deterministic";
    let spec = RunSpec::parse(target.name, flags.split_whitespace()).unwrap();
    let mut options = spec.flags.training.options_of_any(target).unwrap();
    options.report.flops = true;
    options
}

#[test]
fn a_refusal_names_what_a_graph_cannot_contain() {
    let refusal = |target: Target, change: fn(&mut TrainingOptions)| {
        let mut options = options_of(target);
        options.flags.switches.graph = Switch::On;
        change(&mut options);
        let weights = Weights::small(&options.config, 1);
        let device = open(&options).unwrap();
        device.engine(&options, &weights).err().unwrap()
    };
    for error in [
        refusal(v1::TARGET, |_| {}),
        refusal(v4::TARGET, |options| {
            options.flags.switches.gemm = Gemm::Cubek;
        }),
    ] {
        let backend = Backend::Cpu;
        let error = error.downcast::<DeviceError>().unwrap();
        assert_eq!(error, DeviceError::NoGraphs { backend });
    }
    let reads = refusal(v3::TARGET, |options| {
        options.recipe.side_work = SideWork::ReadGradients;
    });
    insta::assert_snapshot!(reads, @"--graph on: v3 does more than train within each step, which a graph cannot contain");
}

#[test]
fn what_a_case_does_besides_training_changes_no_loss() {
    let losses_of = |target| losses(&run(&options_of(target)).1);
    let expected = losses_of(v3::TARGET);
    for case in [case1::TARGET, case3::TARGET, case4::TARGET] {
        assert_eq!(losses_of(case), expected, "{case}");
    }
}

#[test]
fn tuning_is_the_one_asked_for_or_fits_the_backend() {
    let tried = |backend, tuning| {
        let mut options = options_of(v1::TARGET);
        options.flags.on.backend = backend;
        options.flags.switches.tuning = tuning;
        tuning_ahead(&options)
    };
    assert_eq!(tried(BackendChoice::Cuda, None), Tuning::Rules);
    assert_eq!(tried(BackendChoice::Vulkan, None), Tuning::Rules);
    assert_eq!(tried(BackendChoice::Rocm, None), Tuning::Full);
    let auto = match cfg!(feature = "rocm") {
        true => Tuning::Full,
        false => Tuning::Rules,
    };
    assert_eq!(tried(BackendChoice::Auto, None), auto);
    for tuning in [Tuning::Full, Tuning::Minimal, Tuning::Rules, Tuning::Off] {
        assert_eq!(tried(BackendChoice::Cuda, Some(tuning)), tuning);
        assert_eq!(tried(BackendChoice::Rocm, Some(tuning)), tuning);
    }
}

fn run(options: &TrainingOptions) -> (TrainingEnd, Vec<Event>) {
    let device = open(options).unwrap();
    let weights = Weights::new(
        &options.config,
        options.flags.seed,
        options.recipe.initialisation,
    );
    let data = Data::synthetic(&options.config, options.flags.seed);
    let collected = Collected::default();
    let stop = StopSignal::default();
    let tally = Tally::new(options.config, options.recipe.tensors(&options.config));
    let reporter = Reporter::new(Box::new(collected.clone()), tally, stop.clone());
    let end = train(options, device.as_ref(), &weights, data, &reporter, &stop).unwrap();
    reporter.finish(end == TrainingEnd::Complete);
    let events = collected.0.lock().unwrap().clone();
    (end, events)
}

fn losses(events: &[Event]) -> Vec<f64> {
    events
        .iter()
        .filter_map(|event| match &event.body {
            Body::Step(step) => Some(step.loss),
            _ => None,
        })
        .collect()
}

#[test]
fn a_run_learns_repeats_bit_for_bit_and_ends_with_a_summary() {
    let started = Instant::now();
    let (end, events) = run(&options_of(v1::TARGET));
    assert_eq!(end, TrainingEnd::Complete);
    let first = losses(&events);
    assert_eq!(first.len(), 7);
    assert!((first[0] - 61f64.ln()).abs() < 0.2, "{first:?}");
    assert!(first[6] < first[0] - 0.05, "{first:?}");
    assert_eq!(first, losses(&run(&options_of(v1::TARGET)).1));

    let summary = summary(&events);
    assert!(summary.complete && summary.measured_steps == 6);
    assert_eq!(summary.parameters_with_gradient, Some(20));
    assert!(summary.repeatability.as_ref().is_some_and(|r| r.identical));
    assert_eq!(summary.launches_per_step, None);
    // The model's parameters, moments and gradients.
    let held = 4 * 4 * summary.parameters;
    assert!(summary.peak_bytes_in_use > Some(held), "{summary:?}");
    let parts = summary.forward_ms.unwrap().mean
        + summary.backward_ms.unwrap().mean
        + summary.optimizer_ms.unwrap().mean;
    let total = summary.total_ms.unwrap().mean;
    assert!((parts / total - 1.0).abs() < 0.01, "{parts} of {total}");
    assert!(total < started.elapsed().as_secs_f64() * 1e3);
}

#[test]
fn a_loss_that_is_not_finite_ends_the_run() {
    for target in [v1::TARGET, v4::TARGET] {
        let mut options = options_of(target);
        options.flags.learning_rate = 1e30;
        let (end, events) = run(&options);
        let not_finite = matches!(end, TrainingEnd::NotFinite(n) if n > 1);
        assert!(not_finite, "{target}: {end:?}");
        assert!(!summary(&events).complete);
    }
}

/// Tests the stages of the debugging scenario, each with the mistake that a learner has to find.
#[test]
fn stages_show_their_mistakes_where_the_backend_lets_them() {
    let baseline = run(&options_of(v1::TARGET)).1;
    let expected = losses(&baseline);
    for target in Target::stages() {
        let mut options = options_of(target);
        options.report.diagnose = true;
        options.flags.on.deterministic = false;
        options.flags.on.repeatability = Switch::Off;
        let (_, events) = run(&options);
        let found = losses(&events);
        let summary = summary(&events);
        let outside = events.iter().find_map(|event| match &event.body {
            Body::Activations(activations) => activations.first_outside.clone(),
            _ => None,
        });
        match target.name {
            "stage1" => {
                assert!(found[0] > 2.0 * expected[0], "{found:?}");
                assert_eq!(outside.as_deref(), Some("logits"));
            }
            "stage6" => {
                assert_eq!(summary.parameters_with_gradient, Some(1));
                let fell = |losses: &[f64]| losses[0] - losses[losses.len() - 1];
                assert!(fell(&found) < 0.7 * fell(&expected), "{found:?}");
                assert_eq!(outside, None);
            }
            _ => {
                for (a, b) in found.iter().zip(&expected) {
                    assert!((a - b).abs() < 1e-4 * b, "{target}: {found:?} {expected:?}");
                }
                assert_eq!(
                    summary.parameters_with_gradient,
                    Some(summary.parameter_tensors)
                );
                assert_eq!(outside, None);
            }
        }
        // The host computes, so its clock is right in every stage.
        assert!(summary.synchronized);
        let parts = [
            summary.forward_ms,
            summary.backward_ms,
            summary.optimizer_ms,
        ];
        let parts: f64 = parts.iter().flatten().map(|spread| spread.mean).sum();
        let total = summary.total_ms.unwrap().mean;
        assert!((parts / total - 1.0).abs() < 0.01, "{parts} of {total}");
    }
}

fn summary(events: &[Event]) -> Summary {
    match events.last().map(|event| &event.body) {
        Some(Body::Summary(summary)) => (**summary).clone(),
        other => panic!("the last event is not a summary: {other:?}"),
    }
}

/// The engine that trains on a text's bytes also continues the text.
#[test]
fn every_engine_continues_a_text_and_says_who_got_a_gradient() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    std::fs::write(&path, "so it goes, ".repeat(20)).unwrap();
    for target in [v3::TARGET, v4::TARGET] {
        let mut options = options_of(target);
        options.config.vocabulary = 256;
        options.report.sample = 5;
        options.report.profile_steps = 1;
        let device = open(&options).unwrap();
        let weights = Weights::small(&options.config, 1);
        let mut engine = device.engine(&options, &weights).unwrap();
        let mut data = Data::text(&path, &options.config, 1).unwrap();
        let logits = engine.logits(&[7, 8, 9]).unwrap();
        assert_eq!(logits.len(), 3 * 256, "{target}");
        let before = engine.gradients(&data.next_batch()).unwrap();
        let all = before
            .gradients
            .iter()
            .all(|(_, gradient)| gradient.is_some());
        assert!(all && before.loss.is_finite(), "{target}");
    }
}

/// Returns the settings in which two stages differ. The store of gate and up depends on the activation's kernel, so it
/// is left out.
fn differing(a: Target, b: Target) -> Vec<&'static str> {
    let (x, y) = (a.recipe, b.recipe);
    [
        ("initialisation", x.initialisation != y.initialisation),
        ("key_value", x.key_value != y.key_value),
        ("timing", a.timing != b.timing),
        ("swiglu", x.swiglu != y.swiglu),
        ("backward", x.backward != y.backward),
        ("attention", x.attention != y.attention),
        ("operations", x.operations != y.operations),
        ("qkv", x.qkv != y.qkv),
        ("graph_fusion", x.graph_fusion != y.graph_fusion),
    ]
    .into_iter()
    .filter_map(|(name, differs)| differs.then_some(name))
    .collect()
}

#[test]
fn every_stage_differs_from_the_next_in_one_thing() {
    let stages: Vec<Target> = Target::stages().collect();
    let changed: Vec<Vec<&str>> = stages
        .windows(2)
        .map(|pair| differing(pair[0], pair[1]))
        .collect();
    let each_once: HashSet<&Vec<&str>> = changed.iter().collect();
    let one_each = changed.iter().all(|settings| settings.len() == 1);
    assert!(one_each && each_once.len() == changed.len(), "{changed:?}");
    assert_eq!(stage5::TARGET.recipe, v3::TARGET.recipe);
}

#[test]
fn names_read_back_and_are_listed() {
    for target in ALL {
        assert_eq!(target.name.parse(), Ok(*target));
    }
    assert_eq!("STAGE3".parse(), Ok(stage3::TARGET));
    let unknown = "v9".parse::<Target>().unwrap_err();
    assert!(names().all(|name| unknown.contains(name)), "{unknown}");
    for (first, last) in [
        (Target::versions().next(), Target::versions().last()),
        (Target::stages().next(), Target::stages().last()),
    ] {
        let range = format!("{} to {}", first.unwrap(), last.unwrap());
        assert!(help("One of").contains(&range), "{range}");
    }
}

#[test]
fn a_target_takes_block_sizes_of_what_it_launches() {
    let kernels = |target: Target| target.kernels(&target.recipe);
    assert!(kernels(v1::TARGET).is_empty() && kernels(v4::TARGET).is_empty());
    assert_eq!(kernels(v2::TARGET), ["rope", "flash_attention"]);
    let ours = kernels(v3::TARGET);
    assert!(ours.contains(&"swiglu") && !ours.contains(&"swiglu_naive"));
    let naive: Vec<Target> = launching("swiglu_naive");
    assert_eq!(naive, Target::stages().take(4).collect::<Vec<_>>());
    let mut of_recipes = KERNELS.iter().filter(|kernel| kernel.role != Role::Product);
    assert!(of_recipes.all(|kernel| !launching(kernel.name).is_empty()));
}
