pub mod oracle;

use super::*;
use crate::model::{ModelConfig, Weights};
use crate::train::adamw;
use tinyllama_base::statistics::relative_difference as difference;
use tinyllama_contract::Synchronize;

/// The model of these sizes, in the order of its fields.
pub fn config(
    [
        vocabulary,
        hidden,
        layers,
        heads,
        kv_heads,
        ffn,
        sequence_length,
        batch_size,
    ]: [usize; 8],
) -> ModelConfig {
    ModelConfig {
        vocabulary,
        hidden,
        layers,
        heads,
        kv_heads,
        ffn,
        sequence_length,
        batch_size,
    }
}

/// Shapes that are not multiples of tiles and groups.
fn awkward() -> Vec<ModelConfig> {
    vec![
        config([11, 12, 2, 6, 3, 10, 7, 3]),
        config([29, 24, 1, 4, 4, 31, 129, 1]),
        config([5, 8, 3, 2, 1, 6, 1, 2]),
        config([64, 32, 2, 4, 2, 64, 16, 2]),
    ]
}

/// Returns initial weights times `factor`. With 15, every part of the model affects every gradient.
pub fn weights(config: &ModelConfig, seed: u64, factor: f32) -> Weights {
    let mut weights = Weights::small(config, seed);
    let blocks = weights.blocks.iter_mut().flat_map(|block| {
        let matrices = block.qkv.iter_mut().chain(&mut block.gate_up);
        matrices.chain([&mut block.output, &mut block.down])
    });
    for matrix in blocks.chain([&mut weights.embedding]) {
        for value in &mut matrix.values {
            *value *= factor;
        }
    }
    weights
}

pub fn batch(config: &ModelConfig, seed: u64) -> (Vec<i32>, Vec<i32>) {
    let data = crate::train::Data::synthetic(config, seed).next_batch();
    (data.tokens, data.targets)
}

pub fn fresh_seed() -> u64 {
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    clock.map_or(1, |elapsed| u64::from(elapsed.subsec_nanos()))
}

fn host(config: &ModelConfig, weights: &Weights, concurrency: Concurrency) -> ScheduleTrainer {
    let executor = HostExecutor::new(Schedule::new(config, concurrency), adamw(3e-4, 0.01));
    ScheduleTrainer::new(Box::new(executor), weights).unwrap()
}

#[test]
fn host_gradients_are_those_of_the_oracle() {
    for config in awkward() {
        let seed = fresh_seed();
        let weights = weights(&config, seed, 15.0);
        let (tokens, targets) = batch(&config, seed);
        let values = Schedule::new(&config, Concurrency::NONE)
            .layout
            .place(&weights);
        let answer = oracle::solve(&config, &values, &tokens, &targets);
        for lanes in [1, 3] {
            let concurrency = Concurrency {
                lanes,
                update_early: lanes > 1,
                layers_together: lanes - 1,
            };
            let mut trainer = host(&config, &weights, concurrency);
            let (loss, gradients) = trainer.gradients(&tokens, &targets).unwrap();
            assert!(
                difference(&[loss], &[answer.loss]) < 1e-5,
                "{config:?} seed {seed}: {loss}"
            );
            let logits = trainer.logits(&tokens[..config.sequence_length]).unwrap();
            let expected = &answer.logits[..logits.len()];
            assert!(
                difference(&logits, expected) < 1e-4,
                "{config:?} seed {seed}"
            );
            let layout = &trainer.schedule().layout;
            assert_eq!(gradients.len(), layout.parameters.len());
            for (name, gradient) in &gradients {
                let parameter = layout.parameters.iter().find(|p| p.name == *name).unwrap();
                let error = difference(gradient, &answer.gradients[parameter.range()]);
                assert!(error < 1e-4, "{config:?} seed {seed} {name}: {error}");
            }
        }
    }
}

#[test]
fn ten_steps_stay_with_updates_by_the_oracle() {
    let config = awkward()[0];
    let weights = weights(&config, 7, 15.0);
    let (tokens, targets) = batch(&config, 7);
    let mut values = Schedule::new(&config, Concurrency::NONE)
        .layout
        .place(&weights);
    let zeros = || vec![0.0f64; values.len()];
    let (mut first, mut second) = (zeros(), zeros());
    let hyper = adamw(3e-4, 0.01);
    let mut trainer = host(&config, &weights, Concurrency::NONE);
    for step in 1..=10 {
        let answer = oracle::solve(&config, &values, &tokens, &targets);
        let mut wide: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
        tinyllama_kernel_catalog::adamw::reference(
            &mut wide,
            &mut first,
            &mut second,
            &answer.gradients,
            &hyper,
            step,
        );
        values = wide.iter().map(|value| *value as f32).collect();
        trainer
            .step(&tokens, &targets, Synchronize::Phases)
            .unwrap();
        let loss = trainer.last_loss().unwrap();
        assert!(
            difference(&[loss], &[answer.loss]) < 1e-5,
            "step {step}: {loss}"
        );
    }
    // The model learns: ten steps on a repeated batch lower the loss.
    let losses = trainer.executor.last_losses(10).unwrap();
    assert_eq!(losses.len(), 10);
    assert!(losses[9] < losses[0], "{losses:?}");
}

#[test]
fn batches_that_do_not_fit_are_refused() {
    let config = awkward()[3];
    let mut trainer = host(&config, &weights(&config, 3, 15.0), Concurrency::NONE);
    let (mut tokens, targets) = batch(&config, 3);
    tokens[5] = 64;
    let error = trainer
        .step(&tokens, &targets, Synchronize::Step)
        .unwrap_err();
    let expected = "token 64 at position 5 of the batch: the vocabulary has 64";
    assert_eq!(error.to_string(), expected);
    tokens[5] = -1;
    assert!(trainer.step(&tokens, &targets, Synchronize::Step).is_err());
    assert!(trainer.logits(&[1; 17]).is_err());
}
