//! Tests V4 on the stand-in for HIP, which executes the kernels' own source and checks every access.

mod matrix;

use super::shape::MatrixCores;
use super::*;
use crate::device::driver::tests::stand_in::{StandIn, on};
use crate::device::driver::{
    CompileRequest, LaunchSettings, Properties, RuntimeCompiler, SourceCode, Vendor,
};
use crate::model::{ModelConfig, Preset};
use crate::targets::v4::schedule::LOSS_RING;
use crate::targets::v4::tests::{batch, config, fresh_seed, oracle, weights};
use crate::targets::v4::{Concurrency, HostExecutor, ScheduleTrainer};
use crate::train::{Synchronize, adamw};
use tinyllama_base::statistics::relative_difference as difference;

const PRECISIONS: [GemmPrecision; 3] =
    [GemmPrecision::F32, GemmPrecision::Tf32, GemmPrecision::Bf16];

/// Three models: whole vectors and several tiles; single elements and one key; three heads per key head.
fn shapes() -> [ModelConfig; 3] {
    [
        config([40, 32, 1, 2, 1, 48, 130, 1]),
        config([11, 12, 2, 6, 3, 10, 7, 3]),
        config([5, 18, 1, 3, 1, 6, 1, 2]),
    ]
}

/// A model with heads of several squares, the last not full, and queries in two tiles.
fn wide() -> ModelConfig {
    config([13, 80, 1, 2, 1, 16, 70, 1])
}

fn hyperparameters() -> Hyperparameters {
    adamw(3e-4, 0.01)
}

const PARALLEL: Concurrency = Concurrency {
    lanes: 3,
    update_early: true,
    layers_together: 2,
};

fn trainer(
    stand_in: &StandIn,
    config: &ModelConfig,
    precision: GemmPrecision,
    capture: bool,
    concurrency: Concurrency,
    seed: u64,
) -> ScheduleTrainer {
    // Algorithms are tried in the step that is captured. The results must not change.
    let selection = AlgorithmSelection::Measured { candidates: 3 };
    let options = DeviceOptions {
        precision,
        capture,
        selection,
    };
    trainer_with(stand_in, config, options, concurrency, seed)
}

fn trainer_with(
    stand_in: &StandIn,
    config: &ModelConfig,
    options: DeviceOptions,
    concurrency: Concurrency,
    seed: u64,
) -> ScheduleTrainer {
    let schedule = Schedule::new(config, concurrency);
    let driver = stand_in.open();
    let executor = DeviceExecutor::new(driver, schedule, hyperparameters(), options).unwrap();
    ScheduleTrainer::new(Box::new(executor), &weights(config, seed, 5.0)).unwrap()
}

fn tolerance(precision: GemmPrecision) -> f64 {
    match precision {
        GemmPrecision::F32 => 1e-4,
        GemmPrecision::Tf32 => 1e-2,
        GemmPrecision::Bf16 => 5e-2,
    }
}

/// Gives the stand-in enough memory for several V4 at once.
const STAND_IN_MEMORY: (&str, &str) = ("HIP_STAND_IN_MEMORY", "512");

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// With bf16 operands the values in the model are rounded to three digits. If the terms of a small tensor cancel, their
/// error stays and can reach a tenth of the remaining sum. Such a tensor is therefore compared with gradients of the
/// usual size. A wrong index or a missing term causes a far larger difference.
fn gradients_are_right(stand_in: &StandIn, config: &ModelConfig, precisions: &[GemmPrecision]) {
    for &precision in precisions {
        if let Err(wrong) = gradients(stand_in, config, precision) {
            panic!("{config:?} {precision} {wrong}");
        }
    }
}

/// Returns an error that names the tensors which differ by too much.
fn gradients(
    stand_in: &StandIn,
    config: &ModelConfig,
    precision: GemmPrecision,
) -> Result<(), String> {
    let seed = fresh_seed();
    let (tokens, targets) = batch(config, seed);
    let values = Schedule::new(config, Concurrency::NONE)
        .layout
        .place(&weights(config, seed, 5.0));
    let answer = oracle::solve(config, &values, &tokens, &targets);
    let mut trainer = trainer(stand_in, config, precision, true, Concurrency::NONE, seed);
    let (loss, gradients) = trainer.gradients(&tokens, &targets).unwrap();
    let limit = tolerance(precision);
    let error = difference(&[loss], &[answer.loss]);
    if error.is_nan() || error >= limit {
        return Err(format!("seed {seed}: loss {loss} off by {error}"));
    }
    let all = norm(&answer.gradients) / (answer.gradients.len() as f64).sqrt();
    let (limit, usual) = match precision {
        GemmPrecision::Bf16 => (0.1, all),
        GemmPrecision::F32 | GemmPrecision::Tf32 => (limit, 0.0),
    };
    let layout = trainer.schedule().layout.clone();
    for (name, gradient) in &gradients {
        let parameter = layout.parameters.iter().find(|p| p.name == *name).unwrap();
        let right = &answer.gradients[parameter.range()];
        let least = usual * (right.len() as f64).sqrt();
        let error = difference(gradient, right) * norm(right) / norm(right).max(least);
        if error.is_nan() || error >= limit {
            return Err(format!("seed {seed} {name}: {error}"));
        }
    }
    Ok(())
}

#[test]
fn device_gradients_are_those_of_the_oracle() {
    // Waves of 64, on the only GPU with tf32.
    on("gfx942", &[STAND_IN_MEMORY], |stand_in| {
        let [long, awkward, tiny] = shapes();
        // The long sequence runs in one precision, because the stand-in is slow.
        gradients_are_right(stand_in, &long, &[GemmPrecision::Bf16]);
        gradients_are_right(stand_in, &wide(), &[GemmPrecision::Tf32]);
        gradients_are_right(stand_in, &awkward, &PRECISIONS);
        gradients_are_right(stand_in, &tiny, &PRECISIONS);
    });
    // Waves of 64 with f32 matrix cores.
    on("gfx90a", &[STAND_IN_MEMORY], |stand_in| {
        let [_, awkward, _] = shapes();
        gradients_are_right(stand_in, &wide(), &[GemmPrecision::F32]);
        gradients_are_right(
            stand_in,
            &awkward,
            &[GemmPrecision::F32, GemmPrecision::Bf16],
        );
    });
    // The instructions of gfx942 without tf32.
    on("gfx950", &[STAND_IN_MEMORY], |stand_in| {
        let [_, awkward, _] = shapes();
        gradients_are_right(
            stand_in,
            &awkward,
            &[GemmPrecision::F32, GemmPrecision::Bf16],
        );
    });
    on("gfx908", &[STAND_IN_MEMORY], |stand_in| {
        let [_, _, tiny] = shapes();
        gradients_are_right(stand_in, &tiny, &[GemmPrecision::F32]);
    });
    on("gfx1201", &[STAND_IN_MEMORY], |stand_in| {
        gradients_are_right(stand_in, &wide(), &[GemmPrecision::Bf16]);
    });
    // Waves of 32.
    on("gfx1100", &[STAND_IN_MEMORY], |stand_in| {
        let [_, awkward, _] = shapes();
        let precisions = [GemmPrecision::F32, GemmPrecision::Bf16];
        gradients_are_right(stand_in, &wide(), &[GemmPrecision::Bf16]);
        gradients_are_right(stand_in, &awkward, &precisions);
    });
}

/// Returns an NVIDIA GPU with as much shared memory per block as Hopper has.
fn nvidia(architecture: &str) -> Properties {
    Properties {
        vendor: Vendor::Nvidia,
        driver_major: 13,
        shared_per_block_most: 227 << 10,
        overlapping: architecture == "sm_90",
        ..Properties::offline(architecture, 32, 132)
    }
}

/// The stand-in compiles only HIP. nvrtc and its assembler check the same sources, and those for warpgroups, with the
/// library and without a GPU.
#[test]
fn nvrtc_takes_the_sources_for_nvidia() {
    let sizes = [
        // The cases: warpgroups backward only, and in both passes. f32 always uses tiles in both.
        config([1000, 512, 1, 8, 4, 2048, 128, 8]),
        config([333, 384, 1, 3, 1, 512, 200, 3]),
        config([11, 12, 1, 6, 3, 10, 7, 3]),
    ];
    for (architecture, precision) in [
        ("sm_80", GemmPrecision::Bf16),
        ("sm_90", GemmPrecision::F32),
        ("sm_90", GemmPrecision::Tf32),
        ("sm_90", GemmPrecision::Bf16),
    ] {
        for config in &sizes {
            let properties = nvidia(architecture);
            let cores = MatrixCores::choose(config, precision, &properties);
            let blocks = shape::attention_blocks(config, precision, &properties, cores).unwrap();
            let teams = shape::norm_teams(config, &properties);
            for block in [blocks.forward, blocks.backward] {
                let overlapping = properties.overlapping;
                let source = kernels::source(config, precision, block, teams, overlapping);
                let request = CompileRequest::new(&source, &properties);
                match RuntimeCompiler::load(&properties).and_then(|loaded| loaded.compile(&request))
                {
                    Ok(code) => assert!(!code.is_empty()),
                    Err(DriverError::Compile { log, .. }) => panic!("{config:?} {log}"),
                    Err(_) if std::env::var_os("NVRTC_REQUIRED").is_none() => return,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
}

#[test]
fn a_replayed_graph_is_the_uncaptured_schedule_bit_for_bit_and_both_stay_with_the_host() {
    on("gfx90a", &[STAND_IN_MEMORY], |stand_in| {
        const STEPS: usize = 4;
        let config = config([40, 32, 2, 2, 1, 48, 20, 1]);
        let (tokens, targets) = batch(&config, 5);
        let precision = GemmPrecision::Bf16;
        let run = |capture: bool, concurrency: Concurrency| {
            let mut trainer = trainer(stand_in, &config, precision, capture, concurrency, 5);
            for _ in 0..STEPS {
                let step = trainer.step(&tokens, &targets, Synchronize::Never).unwrap();
                assert_eq!(step.launches.captured > 0, capture);
                assert!(!capture || step.launches.host == 1, "{:?}", step.launches);
            }
            assert_eq!(trainer.executor.captured().is_ok(), capture);
            (
                trainer.executor.last_losses(STEPS).unwrap(),
                trainer.weights().unwrap(),
            )
        };
        let plain = run(false, Concurrency::NONE);
        assert_eq!(plain, run(true, Concurrency::NONE));
        assert_eq!(plain, run(true, PARALLEL));

        let schedule = Schedule::new(&config, Concurrency::NONE);
        let host = HostExecutor::new(schedule, hyperparameters());
        let mut host = ScheduleTrainer::new(Box::new(host), &weights(&config, 5, 5.0)).unwrap();
        for loss in &plain.0 {
            host.step(&tokens, &targets, Synchronize::Step).unwrap();
            let expected = host.last_loss().unwrap();
            let error = difference(&[*loss], &[f64::from(expected)]);
            assert!(
                error < tolerance(precision) / 5.0,
                "{precision}: {loss} and {expected}"
            );
        }
    });
}

/// In bf16 no array has the matrices in f32. The two halves together must equal AdamW's result for the same gradients,
/// to far more digits than the upper half has.
#[test]
fn an_update_in_halves_loses_no_digit() {
    on("gfx90a", &[STAND_IN_MEMORY], |stand_in| {
        let (config, seed) = (shapes()[1], fresh_seed());
        let (tokens, targets) = batch(&config, seed);
        for concurrency in [Concurrency::NONE, PARALLEL] {
            let precision = GemmPrecision::Bf16;
            let mut trainer = trainer(stand_in, &config, precision, true, concurrency, seed);
            let before = trainer.weights().unwrap();
            let (_, gradients) = trainer.gradients(&tokens, &targets).unwrap();
            trainer.step(&tokens, &targets, Synchronize::Step).unwrap();
            let after = trainer.weights().unwrap();
            let hyper = hyperparameters();
            // After a first step the corrected moments are the gradient and its square.
            let updated = |weight: f32, gradient: f32| {
                let (weight, gradient) = (f64::from(weight), f64::from(gradient));
                let direction = gradient / (gradient.abs() + hyper.epsilon);
                weight - hyper.learning_rate * (hyper.weight_decay * weight + direction)
            };
            for (((name, before), (_, gradient)), (_, after)) in
                before.iter().zip(&gradients).zip(&after)
            {
                let pairs = before.iter().zip(gradient);
                let right: Vec<f64> = pairs.map(|(w, g)| updated(*w, *g)).collect();
                let error = difference(after, &right);
                assert!(error < 1e-6, "seed {seed} {name}: {error}");
            }
        }
    });
}

/// A weight's gradient may rely on the wait of an earlier update in its lane.
#[test]
fn gradients_without_updates_wait_as_often_as_a_step_does() {
    on("gfx90a", &[STAND_IN_MEMORY], |stand_in| {
        let config = config([11, 12, 2, 2, 1, 10, 5, 1]);
        let (tokens, targets) = batch(&config, 5);
        let waits = || stand_in.count("hipStreamWaitEvent");
        for layers_together in [1, 2] {
            let concurrency = Concurrency {
                lanes: 2,
                update_early: true,
                layers_together,
            };
            let mut trainer = trainer(stand_in, &config, GemmPrecision::F32, false, concurrency, 5);
            trainer.step(&tokens, &targets, Synchronize::Step).unwrap();
            let before = waits();
            trainer.step(&tokens, &targets, Synchronize::Step).unwrap();
            let of_step = waits() - before;
            trainer.gradients(&tokens, &targets).unwrap();
            assert!(of_step > 2);
            assert_eq!(waits() - before - of_step, of_step);
        }
    });
}

/// Longer than the ring of losses, so that every slot is written again.
#[test]
fn hundreds_of_replays_are_as_many_launches_bit_for_bit() {
    on("gfx90a", &[STAND_IN_MEMORY], |stand_in| {
        const AT_ONCE: usize = LOSS_RING / 2;
        let config = config([11, 12, 1, 2, 1, 10, 5, 1]);
        let (tokens, targets) = batch(&config, 5);
        let trainer = |capture: bool, concurrency: Concurrency| {
            let options = DeviceOptions {
                precision: GemmPrecision::F32,
                capture,
                // Timing could make two trainers choose different algorithms on a busy machine, and their rounding
                // would differ.
                selection: AlgorithmSelection::Heuristic,
            };
            trainer_with(stand_in, &config, options, concurrency, 5)
        };
        let mut trainers = [trainer(true, PARALLEL), trainer(false, Concurrency::NONE)];
        let held = |trainers: &[ScheduleTrainer; 2]| {
            trainers.each_ref().map(|it| it.executor.memory().in_use)
        };
        let mut held_first = None;
        for _ in 0..3 {
            let losses = trainers.each_mut().map(|trainer| {
                for _ in 0..AT_ONCE {
                    trainer.step(&tokens, &targets, Synchronize::Never).unwrap();
                }
                let losses = trainer.executor.last_losses(AT_ONCE).unwrap();
                losses.into_iter().map(f32::to_bits).collect::<Vec<_>>()
            });
            assert_eq!(losses[0], losses[1]);
            assert!(f32::from_bits(losses[0][AT_ONCE - 1]).is_finite());
            assert_eq!(*held_first.get_or_insert(held(&trainers)), held(&trainers));
        }
        assert!(
            trainers[0].executor.captured().is_ok() && trainers[1].executor.captured().is_err()
        );
        let weights = trainers
            .each_mut()
            .map(|trainer| trainer.weights().unwrap());
        assert_eq!(weights[0], weights[1]);
    });
}

#[test]
fn a_failed_capture_falls_back_and_says_why() {
    // The captures before number 61 time the algorithms to choose from.
    let invalidated = ("HIP_STAND_IN_FAIL", "hipStreamEndCapture#61=901");
    on("gfx90a", &[STAND_IN_MEMORY, invalidated], |stand_in| {
        let config = shapes()[1];
        let mut trainer = trainer(stand_in, &config, GemmPrecision::F32, true, PARALLEL, 5);
        assert_eq!(stand_in.count("hipStreamEndCapture"), 60);
        let (tokens, targets) = batch(&config, 5);
        let step = trainer.step(&tokens, &targets, Synchronize::Step).unwrap();
        assert!(trainer.last_loss().unwrap().is_finite());
        assert_eq!(step.launches.captured, 0);
        assert!(step.launches.host > 40, "{:?}", step.launches);
        let reason = trainer.executor.captured().unwrap_err();
        assert!(
            reason.contains("hipErrorStreamCaptureInvalidated"),
            "{reason}"
        );
    });
}

#[test]
fn a_block_in_one_launch_is_the_block() {
    on("gfx942", &[STAND_IN_MEMORY], |stand_in| {
        let config = config([30, 32, 2, 2, 1, 48, 40, 1]);
        let (tokens, targets) = batch(&config, 5);
        let weights = weights(&config, 5, 5.0);
        for precision in [GemmPrecision::Bf16, GemmPrecision::Tf32] {
            let driver = stand_in.open();
            let both =
                single_block(&driver, &config, &weights, precision, (&tokens, &targets)).unwrap();
            assert!(
                both.difference < tolerance(precision),
                "{precision} {both:?}"
            );
            assert_eq!(both.schedule_launches, 8);
            assert!(both.recomputed_flops > 0.0 && both.weight_bytes_read > both.weight_bytes);
        }
    });
}

/// Replaces `ldmatrix`, following the PTX manual: lane 8i + r names row r of matrix i. Every lane gets word t of row g,
/// or, of the transposed matrix, elements 2t and 2t + 1 of column g.
const LOADS_BY_LANES: &str = "
INLINE void loads_by_lanes(unsigned (&word)[4], const Operand* place, bool turned) {
    const int g = lane_of_thread() / 4, t = lane_of_thread() % 4;
    auto row = [&](int matrix, int r) {
        return reinterpret_cast<const Operand*>(SHUFFLE(reinterpret_cast<unsigned long long>(place), 8 * matrix + r));
    };
    for (int i = 0; i < 4; ++i) {
        if (turned) {
            const Operand *low = row(i, 2 * t), *high = row(i, 2 * t + 1);
            word[i] = bits_in(low[g]) | bits_in(high[g]) << 16;
        } else {
            word[i] = reinterpret_cast<const unsigned*>(row(i, g))[t];
        }
    }
}
#define MATRIX_LOADS loads_by_lanes
";

/// All the ways in which a lane reads its part of a tile.
const LOADS: &str = "
KERNEL loads(const Operand* tile, unsigned* out) {
    unsigned* own = out + lane_of_thread() * 16;
    const A a = load_a<ROW>(tile, 0, STEP), turned = load_a_for_columns<ROW>(tile, 0, STEP);
    B rows[2], columns[2];
    load_b_rows<ROW>(rows, tile, 0, STEP);
    load_b_columns<ROW>(columns, tile, 0, STEP);
    for (int i = 0; i < 4; ++i) {
        own[i] = a.word[i];
        own[4 + i] = turned.word[i];
        own[8 + i] = rows[i / 2].word[i % 2];
        own[12 + i] = columns[i / 2].word[i % 2];
    }
}
";
