use super::emulation;
use super::kernels::source;
use super::*;
use crate::device::driver::recording::Recording;
use crate::model::ModelConfig;
use crate::model::ultra::tests::{batch, difference, fresh_seed, weights};
use crate::model::ultra::{HostExecutor, Spread, Trainer, Wait, oracle, replays};

const PRECISIONS: [MatrixPrecision; 3] = [
    MatrixPrecision::F32,
    MatrixPrecision::Tf32,
    MatrixPrecision::Bf16,
];

fn config(
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

/// Whole vectors and several tiles; single elements and one key; heads that share a key in threes.
fn shapes() -> [ModelConfig; 3] {
    [
        config([40, 32, 1, 2, 1, 48, 130, 1]),
        config([11, 12, 2, 6, 3, 10, 7, 3]),
        config([5, 18, 1, 3, 1, 6, 1, 2]),
    ]
}

fn hyperparameters() -> Hyperparameters {
    Hyperparameters::new(3e-4, 0.01)
}

const PARALLEL: Spread = Spread {
    lanes: 3,
    update_early: true,
    layers_together: 2,
};

struct Setup {
    trainer: Trainer,
    recording: Recording,
}

fn setup(
    config: &ModelConfig,
    precision: MatrixPrecision,
    capture: bool,
    spread: Spread,
    seed: u64,
) -> Setup {
    let (double, _) = Recording::open();
    let tuning = Tuning::default();
    let blocks = shape::attention_blocks(config, precision, double.properties(), &tuning).unwrap();
    let teams = shape::norm_teams(config, double.properties());
    let compiled = |block| source(config, precision, block, teams, false);
    let (driver, recording) =
        emulation::open(&compiled(blocks.forward), &compiled(blocks.backward));
    let options = DeviceOptions {
        precision,
        capture,
        // Algorithms are tried in the step where it is captured; the results must not notice.
        selection: Selection::Measured { candidates: 3 },
        tuning,
    };
    let schedule = Schedule::new(config, spread);
    let executor = DeviceExecutor::new(driver, schedule, hyperparameters(), options).unwrap();
    let trainer = Trainer::new(Box::new(executor), &weights(config, seed, 5.0), spread).unwrap();
    Setup { trainer, recording }
}

fn tolerance(precision: MatrixPrecision) -> f64 {
    match precision {
        MatrixPrecision::F32 => 1e-4,
        MatrixPrecision::Tf32 => 1e-2,
        MatrixPrecision::Bf16 => 5e-2,
    }
}

#[test]
fn device_gradients_are_those_of_the_oracle() {
    for config in shapes() {
        let seed = fresh_seed();
        let (tokens, targets) = batch(&config, seed);
        let values = Schedule::new(&config, Spread::SERIAL)
            .layout
            .place(&weights(&config, seed, 5.0));
        let answer = oracle::solve(&config, &values, &tokens, &targets);
        for precision in PRECISIONS {
            // The long sequence in one precision: the emulation is slow.
            if precision != MatrixPrecision::Bf16 && config.sequence_length > 100 {
                continue;
            }
            let Setup {
                mut trainer,
                recording,
            } = setup(&config, precision, true, Spread::SERIAL, seed);
            let (loss, gradients) = trainer.gradients(&tokens, &targets).unwrap();
            let limit = tolerance(precision);
            let error = difference(&[loss], &[answer.loss]);
            assert!(
                error < limit,
                "{config:?} seed {seed} {precision}: loss {loss} off by {error}"
            );
            let layout = trainer.schedule().layout.clone();
            for (name, gradient) in &gradients {
                let parameter = layout.parameters.iter().find(|p| p.name == *name).unwrap();
                let error = difference(gradient, &answer.gradients[parameter.range()]);
                assert!(
                    error < limit,
                    "{config:?} seed {seed} {precision} {name}: {error}"
                );
            }
            drop(trainer);
            recording.assert_clean();
        }
    }
}

#[test]
fn a_replayed_graph_is_the_uncaptured_schedule_bit_for_bit_and_both_stay_with_the_host() {
    const STEPS: usize = 4;
    let config = config([40, 32, 2, 2, 1, 48, 20, 1]);
    let (tokens, targets) = batch(&config, 5);
    let precision = MatrixPrecision::Bf16;
    let run = |capture: bool, spread: Spread| {
        let Setup {
            mut trainer,
            recording,
        } = setup(&config, precision, capture, spread, 5);
        for _ in 0..STEPS {
            let step = trainer.step(&tokens, &targets, Wait::Never).unwrap();
            assert_eq!(step.launches.captured > 0, capture);
            assert!(!capture || step.launches.host == 1, "{:?}", step.launches);
        }
        assert_eq!(trainer.captured().is_ok(), capture);
        let results = (
            trainer.last_losses(STEPS).unwrap(),
            trainer.weights().unwrap(),
        );
        drop(trainer);
        recording.assert_clean();
        results
    };
    let plain = run(false, Spread::SERIAL);
    assert_eq!(plain, run(true, Spread::SERIAL));
    assert_eq!(plain, run(true, PARALLEL));

    let schedule = Schedule::new(&config, Spread::SERIAL);
    let host = HostExecutor::new(schedule, hyperparameters());
    let mut host = Trainer::new(Box::new(host), &weights(&config, 5, 5.0), Spread::SERIAL).unwrap();
    for loss in &plain.0 {
        let expected = host
            .step(&tokens, &targets, Wait::Step)
            .unwrap()
            .loss
            .unwrap();
        let error = difference(&[*loss], &[f64::from(expected)]);
        assert!(
            error < tolerance(precision) / 5.0,
            "{precision}: {loss} and {expected}"
        );
    }
}

/// A weight's gradient may lean on the wait of an update in front of it in its lane.
#[test]
fn gradients_without_updates_wait_as_often_as_a_step_does() {
    let config = config([11, 12, 2, 2, 1, 10, 5, 1]);
    let (tokens, targets) = batch(&config, 5);
    for layers_together in [1, 2] {
        let spread = Spread {
            lanes: 2,
            update_early: true,
            layers_together,
        };
        let Setup {
            mut trainer,
            recording,
        } = setup(&config, MatrixPrecision::F32, false, spread, 5);
        trainer.step(&tokens, &targets, Wait::Step).unwrap();
        let before = recording.count("wait");
        trainer.step(&tokens, &targets, Wait::Step).unwrap();
        let of_step = recording.count("wait") - before;
        trainer.gradients(&tokens, &targets).unwrap();
        assert!(of_step > 2);
        assert_eq!(recording.count("wait") - before - of_step, of_step);
    }
}

#[test]
fn replays_are_compared_step_by_step_and_a_difference_is_found() {
    let config = config([11, 12, 1, 2, 1, 10, 5, 1]);
    let (tokens, targets) = batch(&config, 5);
    let batch = (&tokens[..], &targets[..]);
    let trainer = |capture: bool, spread: Spread| {
        setup(&config, MatrixPrecision::F32, capture, spread, 5).trainer
    };
    let mut replayed = trainer(true, PARALLEL);
    let mut launched = trainer(false, Spread::SERIAL);
    let mut seen = 0;
    let equal = replays(&mut replayed, &mut launched, batch, 6, &mut |done| {
        seen = done
    })
    .unwrap();
    assert!(equal.identical && equal.first_difference.is_none());
    assert_eq!((equal.steps, seen), (6, 6));

    replayed.step(&tokens, &targets, Wait::Step).unwrap();
    let ahead = replays(&mut replayed, &mut launched, batch, 3, &mut |_| {}).unwrap();
    assert!(!ahead.identical);
    assert_eq!(ahead.first_difference, Some(1));

    let refused = replays(&mut launched, &mut replayed, batch, 1, &mut |_| {}).unwrap_err();
    assert!(refused.to_string().contains("not replayed"), "{refused}");
}

#[test]
fn another_shape_is_captured_again_without_a_leak() {
    let config = shapes()[1];
    let Setup {
        mut trainer,
        recording,
    } = setup(&config, MatrixPrecision::F32, true, PARALLEL, 5);
    let (tokens, targets) = batch(&config, 5);
    trainer.step(&tokens, &targets, Wait::Step).unwrap();
    let (weights, memory) = (trainer.weights().unwrap(), trainer.memory().unwrap().now);
    for _ in 0..3 {
        // The emulated kernels know one sequence length; the batch may change.
        trainer.reshape(1, config.sequence_length).unwrap();
        assert_eq!(trainer.weights().unwrap(), weights);
        assert!(trainer.captured().is_err());
        trainer
            .reshape(config.batch_size, config.sequence_length)
            .unwrap();
        assert_eq!(trainer.memory().unwrap().now, memory);
    }
    let step = trainer.step(&tokens, &targets, Wait::Step).unwrap();
    assert!(step.loss.unwrap().is_finite() && step.launches.captured > 0);
    drop(trainer);
    recording.assert_clean();
}

#[test]
fn a_failed_capture_falls_back_and_says_why() {
    let config = shapes()[1];
    let Setup {
        mut trainer,
        recording,
    } = setup(&config, MatrixPrecision::F32, true, PARALLEL, 5);
    recording.fail("end_capture", 0, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED");
    let (tokens, targets) = batch(&config, 5);
    let step = trainer.step(&tokens, &targets, Wait::Step).unwrap();
    assert!(step.loss.unwrap().is_finite());
    assert_eq!(step.launches.captured, 0);
    assert!(step.launches.host > 40, "{:?}", step.launches);
    assert!(
        trainer
            .captured()
            .unwrap_err()
            .contains("CAPTURE_INVALIDATED")
    );
    drop(trainer);
    recording.assert_clean();
}

#[test]
fn a_block_in_one_launch_is_the_block() {
    let config = config([30, 32, 2, 2, 1, 48, 40, 1]);
    for precision in [MatrixPrecision::Bf16, MatrixPrecision::Tf32] {
        let (double, _) = Recording::open();
        let tuning = Tuning::default();
        let blocks =
            shape::attention_blocks(&config, precision, double.properties(), &tuning).unwrap();
        let teams = shape::norm_teams(&config, double.properties());
        let compiled = |block| {
            let source = source(&config, precision, block, teams, false);
            kernels::block_source(source).define("WITH_BLOCK", 1)
        };
        let (driver, recording) =
            emulation::open(&compiled(blocks.forward), &compiled(blocks.backward));
        let (tokens, targets) = batch(&config, 5);
        let weights = weights(&config, 5, 5.0);
        let both =
            single_block(&driver, &config, &weights, precision, (&tokens, &targets)).unwrap();
        assert!(
            both.difference < tolerance(precision),
            "{precision} {both:?}"
        );
        assert_eq!(both.graph_launches, 8);
        assert!(both.recomputed_flops > 0.0 && both.weight_bytes_read > both.weight_bytes);
        drop(driver);
        recording.assert_clean();
    }
}
