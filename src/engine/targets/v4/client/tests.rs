use super::*;
use crate::model::ModelConfig;
use crate::targets::v4::executor::StepSpan;
use crate::targets::v4::schedule::LOSS_RING;
use crate::targets::v4::schedule::StepPhase;
use crate::targets::v4::tests::{batch, fresh_seed, oracle, weights};
use crate::targets::v4::trainer::NamedValues;
use crate::targets::v4::{Concurrency, HostExecutor, ScheduleTrainer};
use crate::train::{Synchronize, adamw};
use tinyllama_base::statistics::relative_difference as difference;

const EARLY: Concurrency = Concurrency {
    lanes: 3,
    update_early: true,
    layers_together: 2,
};

/// A model of two layers, with six query heads for three key heads.
fn config(sequence_length: usize, batch_size: usize) -> ModelConfig {
    ModelConfig {
        vocabulary: 11,
        hidden: 12,
        layers: 2,
        heads: 6,
        kv_heads: 3,
        ffn: 10,
        sequence_length,
        batch_size,
    }
}

const SHAPES: [(usize, usize); 5] = [(1, 1), (1, 3), (7, 3), (33, 1), (33, 3)];

fn executor(
    config: &ModelConfig,
    concurrency: Concurrency,
    options: ClientOptions,
) -> ClientExecutor {
    ClientExecutor::new(
        Device::flex(),
        Schedule::new(config, concurrency),
        adamw(3e-3, 0.01),
        options,
    )
}

const F32: ClientOptions = ClientOptions {
    operands: FloatDType::F32,
    library: LibraryKernels::Tuned,
    graph: false,
};

/// Two executors in the same state: burn's client and the host.
fn pair(
    config: &ModelConfig,
    seed: u64,
    concurrency: Concurrency,
    library: LibraryKernels,
) -> [ScheduleTrainer; 2] {
    let weights = weights(config, seed, 15.0);
    let client = executor(config, concurrency, ClientOptions { library, ..F32 });
    let host = HostExecutor::new(Schedule::new(config, concurrency), adamw(3e-3, 0.01));
    let executors: [Box<dyn Executor>; 2] = [Box::new(client), Box::new(host)];
    executors.map(|executor| ScheduleTrainer::new(executor, &weights).unwrap())
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

/// Returns how much each parameter has changed.
fn moved(before: &NamedValues, after: &NamedValues) -> Vec<f32> {
    let flat = |all: &NamedValues| {
        all.iter()
            .flat_map(|(_, v)| v.clone())
            .collect::<Vec<f32>>()
    };
    let pairs = flat(before).into_iter().zip(flat(after));
    pairs.map(|(before, after)| after - before).collect()
}

#[test]
fn losses_and_gradients_are_those_of_the_host_and_of_the_oracle() {
    for (sequence, samples) in SHAPES {
        let config = config(sequence, samples);
        let seed = fresh_seed();
        let (tokens, targets) = batch(&config, seed);
        for (concurrency, library) in [
            (Concurrency::NONE, LibraryKernels::Tuned),
            (EARLY, LibraryKernels::Plain),
        ] {
            let [mut client, mut host] = pair(&config, seed, concurrency, library);
            let layout = client.schedule().layout.clone();
            let values = layout.place(&weights(&config, seed, 15.0));
            let answer = oracle::solve(&config, &values, &tokens, &targets);
            let place = format!("{sequence} x {samples}, seed {seed}");
            let (loss, gradients) = client.gradients(&tokens, &targets).unwrap();
            let (host_loss, host_gradients) = host.gradients(&tokens, &targets).unwrap();
            assert!(
                difference(&[loss], &[answer.loss]) < 1e-5,
                "{place}: {loss}"
            );
            assert!(difference(&[loss], &wide(&[host_loss])) < 1e-5, "{place}");
            assert_eq!(gradients.len(), layout.parameters.len());
            for ((name, gradient), (host_name, host_gradient)) in
                gradients.iter().zip(&host_gradients)
            {
                assert_eq!(name, host_name);
                let parameter = layout.parameters.iter().find(|p| p.name == *name).unwrap();
                let error = difference(gradient, &answer.gradients[parameter.range()]);
                assert!(error < 1e-4, "{place} {name}: {error}");
                let error = difference(gradient, &wide(host_gradient));
                assert!(error < 1e-4, "{place} {name}, the host's: {error}");
            }
            let logits = client.logits(&tokens[..sequence]).unwrap();
            let error = difference(&logits, &answer.logits[..logits.len()]);
            assert!(error < 1e-4, "{place} logits: {error}");
        }
    }
}

#[test]
fn ten_steps_with_updates_are_those_of_the_host() {
    for (sequence, samples) in SHAPES {
        let config = config(sequence, samples);
        let seed = fresh_seed();
        for (concurrency, wait) in [
            (Concurrency::NONE, Synchronize::Step),
            (EARLY, Synchronize::Phases),
        ] {
            let [mut client, mut host] = pair(&config, seed, concurrency, LibraryKernels::Tuned);
            let start = client.weights().unwrap();
            for step in 0..10 {
                let (tokens, targets) = batch(&config, seed + step);
                let ours = client.step(&tokens, &targets, wait).unwrap();
                let timed = ours.times.forward.is_some();
                assert_eq!(timed, wait == Synchronize::Phases);
                host.step(&tokens, &targets, wait).unwrap();
                let [ours, theirs] = [&mut client, &mut host].map(|t| t.last_loss().unwrap());
                let error = difference(&[ours], &wide(&[theirs]));
                assert!(
                    error < 1e-4,
                    "{sequence} x {samples}, seed {seed}, step {step}: {error}"
                );
            }
            let ours = moved(&start, &client.weights().unwrap());
            let theirs = moved(&start, &host.weights().unwrap());
            let error = difference(&ours, &wide(&theirs));
            assert!(error < 1e-2, "{sequence} x {samples}, seed {seed}: {error}");
            assert!(ours.iter().any(|distance| distance.abs() > 1e-3));
            assert_eq!(client.executor.last_losses(10).unwrap().len(), 10);
        }
    }
}

#[test]
fn a_profiled_step_is_a_step_with_a_time_for_every_node() {
    let (config, seed) = (config(7, 3), fresh_seed());
    let (tokens, targets) = batch(&config, seed);
    let [mut profiled, mut host] = pair(&config, seed, Concurrency::NONE, LibraryKernels::Tuned);
    let trace = profiled.profile(&tokens, &targets).unwrap();
    assert_eq!(trace.launches.len(), profiled.schedule().nodes.len());
    let mut places = trace.launches.iter().map(|launch| launch.device.unwrap());
    assert!(places.all(|(start, end)| end > start));
    insta::assert_snapshot!(profiled.executor.captured().unwrap_err(), @"through burn it is launched kernel by kernel, unless --graph on");
    host.step(&tokens, &targets, Synchronize::Step).unwrap();
    let [ours, theirs] = [&mut profiled, &mut host].map(|trainer| {
        trainer.step(&tokens, &targets, Synchronize::Step).unwrap();
        trainer.last_loss().unwrap()
    });
    let error = difference(&[ours], &wide(&[theirs]));
    assert!(error < 1e-4, "seed {seed}: {error}");
}

#[test]
fn operands_in_bf16_round_as_much_as_bf16_does() {
    let (config, seed) = (config(33, 3), fresh_seed());
    let weights = weights(&config, seed, 15.0);
    let (tokens, targets) = batch(&config, seed);
    let options = ClientOptions {
        operands: FloatDType::BF16,
        ..F32
    };
    let client = executor(&config, Concurrency::NONE, options);
    assert_eq!(client.operand_bytes(), 2);
    let mut client = ScheduleTrainer::new(Box::new(client), &weights).unwrap();
    let values = client.schedule().layout.place(&weights);
    let answer = oracle::solve(&config, &values, &tokens, &targets);
    let (loss, _) = client.gradients(&tokens, &targets).unwrap();
    let error = difference(&[loss], &[answer.loss]);
    assert!((1e-7..5e-2).contains(&error), "seed {seed}: {error}");
}

#[test]
fn reading_an_unwritten_buffer_fails_and_losses_are_bounded() {
    let config = config(1, 1);
    let mut client = executor(&config, Concurrency::NONE, F32);
    assert!(client.weights().is_err());
    assert!(client.run(StepSpan::Only(StepPhase::Forward)).is_err());
    assert!(client.set_weights(&[0.0; 3]).is_err());
    let length = client.schedule().layout.length;
    client.set_weights(&vec![0.5; length]).unwrap();
    assert!(client.gradients().is_err());
    client.place(&[3], &[4]).unwrap();
    for _ in 0..LOSS_RING + 2 {
        client.run(StepSpan::Only(StepPhase::Forward)).unwrap();
    }
    let losses = client.last_losses(2 * LOSS_RING).unwrap();
    assert_eq!(losses.len(), LOSS_RING);
    assert!(losses.iter().all(|loss| loss.is_finite()));
}
