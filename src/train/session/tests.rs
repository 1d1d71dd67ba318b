use super::*;
use crate::device::{BackendChoice, open};
use crate::model::{Preset, Target};
use crate::train::event::{Event, Summary};
use crate::train::ultra::{Gemm, MatmulPrecision, UltraOptions};
use crate::train::{EventSink, Tally};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use burn::tensor::FloatDType;

#[derive(Clone, Default)]
struct Collected(Arc<Mutex<Vec<Event>>>);

impl EventSink for Collected {
    fn event(&mut self, event: &Event) -> std::io::Result<()> {
        self.0.lock().unwrap().push(event.clone());
        Ok(())
    }
}

fn options() -> Options {
    options_of(Target::V1)
}

fn options_of(target: Target) -> Options {
    let mut config = Preset::Tiny.config();
    (config.hidden, config.layers, config.ffn) = (32, 2, 48);
    (config.heads, config.kv_heads) = (4, 2);
    (config.sequence_length, config.batch_size, config.vocabulary) = (8, 2, 61);
    Options {
        target,
        recipe: target.recipe(),
        config,
        steps: 6,
        warmup: 1,
        learning_rate: 1e-2,
        weight_decay: 0.01,
        seed: 42,
        operand_dtype: FloatDType::F32,
        synchronize: target.timing().into(),
        profile_steps: 0,
        ultra: UltraOptions {
            capture: true,
            matmul_precision: MatmulPrecision::F32,
            gemm: Gemm::Auto,
            block: None,
        },
        diagnose: false,
        deterministic: true,
        check_repeatability: true,
        sample: 0,
        trace: None,
        count_work: true,
    }
}

fn run(options: &Options) -> (Ending, Vec<Event>) {
    let open = open(BackendChoice::Cpu, None).unwrap();
    let weights = Weights::new(&options.config, options.seed, options.recipe.initialisation);
    let data = Data::synthetic(&options.config, options.seed);
    let collected = Collected::default();
    let stop = StopSignal::default();
    let per_block = 4 + options.recipe.qkv.matrices(3) + options.recipe.gate_up.matrices(2);
    let tally = Tally::new(options.config, 2 + options.config.layers * per_block);
    let reporter = Reporter::new(Box::new(collected.clone()), tally, stop.clone());
    let ending = train(options, &open, &weights, data, &reporter, &stop).unwrap();
    reporter.finish(ending == Ending::Complete);
    let events = collected.0.lock().unwrap().clone();
    (ending, events)
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
    let (ending, events) = run(&options());
    assert_eq!(ending, Ending::Complete);
    let first = losses(&events);
    assert_eq!(first.len(), 7);
    assert!((first[0] - 61f64.ln()).abs() < 0.2, "{first:?}");
    assert!(first[6] < first[0] - 0.05, "{first:?}");
    assert_eq!(first, losses(&run(&options()).1));

    let Some(Body::Summary(summary)) = events.last().map(|event| &event.body) else {
        panic!("the last event is no summary");
    };
    assert!(summary.complete && summary.measured_steps == 6);
    assert_eq!(summary.parameters_with_gradient, Some(20));
    assert!(summary.repeatability.as_ref().is_some_and(|r| r.identical));
    assert_eq!(
        (summary.launches_per_step, summary.peak_bytes_in_use),
        (None, None)
    );
    let parts = summary.forward_ms.unwrap().mean
        + summary.backward_ms.unwrap().mean
        + summary.optimizer_ms.unwrap().mean;
    let total = summary.total_ms.unwrap().mean;
    assert!((parts / total - 1.0).abs() < 0.01, "{parts} of {total}");
    assert!(total < started.elapsed().as_secs_f64() * 1e3);
}

#[test]
fn a_loss_that_is_not_finite_ends_the_run() {
    let mut options = options();
    options.learning_rate = 1e30;
    let (ending, events) = run(&options);
    assert!(
        matches!(ending, Ending::NotFinite(n) if n > 1),
        "{ending:?}"
    );
    let Some(Body::Summary(summary)) = events.last().map(|event| &event.body) else {
        panic!("the last event is no summary");
    };
    assert!(!summary.complete);
}

/// The stages of the debugging scenario, each with what a learner is to find.
#[test]
fn stages_show_their_mistakes_where_the_backend_lets_them() {
    let baseline = run(&options()).1;
    let expected = losses(&baseline);
    for target in Target::STAGES {
        let mut options = options_of(target);
        options.diagnose = true;
        options.check_repeatability = false;
        let (_, events) = run(&options);
        let found = losses(&events);
        let summary = summary(&events);
        let outside = events.iter().find_map(|event| match &event.body {
            Body::Activations(activations) => activations.first_outside.clone(),
            _ => None,
        });
        match target {
            Target::Stage1 => {
                assert!(found[0] > 2.0 * expected[0], "{found:?}");
                assert_eq!(outside.as_deref(), Some("logits"));
            }
            Target::Stage6 => {
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
        // The host computes: its clock is the device's, whatever a stage waits for.
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
        other => panic!("the last event is no summary: {other:?}"),
    }
}
