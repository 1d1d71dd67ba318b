//! Holding the device executor against the host's, and timing it: for a machine with a GPU.

use std::time::Instant;

use anyhow::{Result, bail};

use super::operation::{Operation, Product};
use super::{
    DeviceExecutor, DeviceOptions, HostExecutor, Hyperparameters, MatrixPrecision, NamedValues,
    NodeTime, Schedule, Spread, Trainer, Tuning, Wait, single_block,
};
use crate::device::driver::{Driver, Selection};
use crate::model::{ModelConfig, Preset, Weights};
use crate::train::{Batch, Data};

const SEED: u64 = 42;
const PRECISIONS: [MatrixPrecision; 3] = [
    MatrixPrecision::F32,
    MatrixPrecision::Tf32,
    MatrixPrecision::Bf16,
];
/// Algorithms of the matrix library that are tried for each product.
const CANDIDATES: usize = 8;

/// Shapes that tiles, vectors and alignments do not divide.
fn awkward() -> Vec<(String, ModelConfig)> {
    [
        [11, 12, 2, 6, 3, 10, 7, 3],
        [29, 24, 1, 4, 4, 31, 129, 1],
        [64, 48, 2, 6, 3, 64, 1, 2],
        [1000, 256, 2, 4, 4, 512, 129, 3],
        [1000, 384, 1, 3, 1, 768, 200, 2],
    ]
    .into_iter()
    .map(
        |[
            vocabulary,
            hidden,
            layers,
            heads,
            kv_heads,
            ffn,
            sequence_length,
            batch_size,
        ]| {
            let config = ModelConfig {
                vocabulary,
                hidden,
                layers,
                heads,
                kv_heads,
                ffn,
                sequence_length,
                batch_size,
            };
            let name = format!("d{hidden} h{heads}/{kv_heads} s{sequence_length} b{batch_size}");
            (name, config)
        },
    )
    .collect()
}

fn device(
    driver: &Driver,
    config: &ModelConfig,
    precision: MatrixPrecision,
    capture: bool,
    spread: Spread,
    tuning: Tuning,
) -> Result<Trainer> {
    let options = DeviceOptions {
        precision,
        capture,
        selection: Selection::Measured {
            candidates: CANDIDATES,
        },
        tuning,
    };
    let schedule = Schedule::new(config, spread);
    let executor = DeviceExecutor::new(driver.clone(), schedule, hyperparameters(), options)?;
    Trainer::new(Box::new(executor), &Weights::small(config, SEED), spread)
}

fn host(config: &ModelConfig) -> Result<Trainer> {
    let schedule = Schedule::new(config, Spread::SERIAL);
    let executor = HostExecutor::new(schedule, hyperparameters());
    let weights = Weights::small(config, SEED);
    Trainer::new(Box::new(executor), &weights, Spread::SERIAL)
}

fn hyperparameters() -> Hyperparameters {
    Hyperparameters::new(3e-4, 0.01)
}

fn batch(config: &ModelConfig) -> Batch {
    Data::synthetic(config, SEED).next_batch()
}

/// ‖a-b‖/‖b‖; infinite where a value is not finite.
fn difference(a: &[f32], b: &[f32]) -> f64 {
    let square = |x: f64| x * x;
    let pairs = || a.iter().zip(b).map(|(a, b)| (f64::from(*a), f64::from(*b)));
    let error: f64 = pairs().map(|(a, b)| square(a - b)).sum();
    let norm: f64 = pairs().map(|(_, b)| square(b)).sum();
    if a.len() == b.len() && error.is_finite() && norm.is_finite() {
        (error / norm.max(1e-300)).sqrt()
    } else {
        f64::INFINITY
    }
}

/// Runs the parts named in `wanted`: `correct`, `time`, `kernels`, `block`; all where none is.
///
/// # Errors
/// What the device reports, or that something is wrong.
pub fn run(driver: &Driver, wanted: &[String]) -> Result<()> {
    let properties = driver.properties();
    println!("{properties:?}");
    println!("matrix library: {:?}", driver.gemm_library());
    let asked = |part: &str| wanted.is_empty() || wanted.iter().any(|name| name == part);
    let mut wrong = 0;
    if asked("correct") {
        wrong += correct(driver);
    }
    if asked("time") {
        time(driver);
    }
    if asked("kernels") {
        for preset in [Preset::Small, Preset::Tiny] {
            for precision in [MatrixPrecision::Bf16, MatrixPrecision::Tf32] {
                if let Err(error) = kernels(driver, preset, precision) {
                    println!("kernels of {preset:?} {precision}: {error:#}");
                }
            }
        }
    }
    if asked("block") {
        for (preset, precision) in [
            (Preset::Small, MatrixPrecision::Bf16),
            (Preset::Tiny, MatrixPrecision::Bf16),
            (Preset::Tiny, MatrixPrecision::Tf32),
        ] {
            let config = preset.config();
            let batch = batch(&config);
            let weights = Weights::small(&config, SEED);
            let tokens = (&batch.tokens[..], &batch.targets[..]);
            match single_block(driver, &config, &weights, precision, tokens) {
                Ok(both) => {
                    let ok = both.difference <= tolerance(precision);
                    println!("block {preset:?} {precision} {}: {both:?}", word(ok));
                    wrong += usize::from(!ok);
                }
                Err(error) => {
                    println!("block {preset:?} {precision}: ERROR {error:#}");
                    wrong += 1;
                }
            }
        }
    }
    for failure in driver.take_failures() {
        println!("while giving back: {failure}");
        wrong += 1;
    }
    println!("memory held at the end: {:?}", driver.memory_use());
    if wrong > 0 {
        bail!("{wrong} checks failed");
    }
    Ok(())
}

fn correct(driver: &Driver) -> usize {
    let mut wrong = 0;
    let mut shapes = awkward();
    shapes.push(("tiny".into(), Preset::Tiny.config()));
    shapes.push(("small".into(), Preset::Small.config()));
    for (name, config) in &shapes {
        let expected = host(config).and_then(|mut trainer| {
            let batch = batch(config);
            trainer.gradients(&batch.tokens, &batch.targets)
        });
        for precision in PRECISIONS {
            let result = expected
                .as_ref()
                .map_err(|error| anyhow::anyhow!("{error}"))
                .and_then(|expected| gradients(driver, config, precision, expected));
            match result {
                Ok((ok, text)) => {
                    println!("gradients {name:<18} {precision:<5} {} {text}", word(ok));
                    wrong += usize::from(!ok);
                }
                Err(error) => {
                    println!("gradients {name:<18} {precision:<5} ERROR {error:#}");
                    wrong += 1;
                }
            }
        }
    }
    for precision in PRECISIONS {
        for (what, check) in [
            (
                "ten steps with the host's",
                ten_steps as fn(&Driver, MatrixPrecision) -> Result<(bool, String)>,
            ),
            ("graph is the schedule bit for bit", replay),
            ("other shapes without a leak", reshape),
        ] {
            match check(driver, precision) {
                Ok((ok, text)) => {
                    println!("{what} {precision}: {} {text}", word(ok));
                    wrong += usize::from(!ok);
                }
                Err(error) => {
                    println!("{what} {precision}: ERROR {error:#}");
                    wrong += 1;
                }
            }
        }
    }
    wrong
}

fn word(ok: bool) -> &'static str {
    if ok { "ok" } else { "WRONG" }
}

fn tolerance(precision: MatrixPrecision) -> f64 {
    match precision {
        MatrixPrecision::F32 => 1e-4,
        MatrixPrecision::Tf32 => 1e-2,
        MatrixPrecision::Bf16 => 5e-2,
    }
}

fn gradients(
    driver: &Driver,
    config: &ModelConfig,
    precision: MatrixPrecision,
    expected: &(f32, NamedValues),
) -> Result<(bool, String)> {
    let batch = batch(config);
    let mut trainer = device(
        driver,
        config,
        precision,
        true,
        Spread::SERIAL,
        Tuning::default(),
    )?;
    let (loss, gradients) = trainer.gradients(&batch.tokens, &batch.targets)?;
    let loss_error = difference(&[loss], &[expected.0]);
    let mut worst = (0.0, "-");
    for ((name, gradient), (_, expected)) in gradients.iter().zip(&expected.1) {
        let error = difference(gradient, expected);
        if error >= worst.0 {
            worst = (error, name);
        }
    }
    let limit = tolerance(precision);
    let ok = loss_error <= limit && worst.0 <= limit;
    Ok((
        ok,
        format!(
            "loss {loss} off by {loss_error:.1e}, worst gradient {} {:.1e}",
            worst.1, worst.0
        ),
    ))
}

fn ten_steps(driver: &Driver, precision: MatrixPrecision) -> Result<(bool, String)> {
    let config = Preset::Tiny.config();
    let batch = batch(&config);
    let mut reference = host(&config)?;
    let mut trainer = device(
        driver,
        &config,
        precision,
        true,
        PARALLEL,
        Tuning::default(),
    )?;
    let mut worst = 0.0f64;
    for _ in 0..10 {
        let expected = reference
            .step(&batch.tokens, &batch.targets, Wait::Step)?
            .loss;
        let loss = trainer
            .step(&batch.tokens, &batch.targets, Wait::Step)?
            .loss;
        let (Some(loss), Some(expected)) = (loss, expected) else {
            bail!("a step without a loss");
        };
        worst = worst.max(difference(&[loss], &[expected]));
    }
    let captured = trainer.captured();
    Ok((
        worst <= tolerance(precision) / 5.0 && captured.is_ok(),
        format!("worst {worst:.1e}, captured {captured:?}"),
    ))
}

const PARALLEL: Spread = Spread {
    lanes: 3,
    update_early: true,
    layers_together: 1,
};

fn replay(driver: &Driver, precision: MatrixPrecision) -> Result<(bool, String)> {
    const STEPS: usize = 2000;
    let config = ModelConfig {
        layers: 2,
        ..Preset::Tiny.config()
    };
    let batch = batch(&config);
    let started = Instant::now();
    // Each trainer chooses its own algorithms: the library's favourites are the same every time.
    let run = |capture: bool, spread: Spread| -> Result<_> {
        let options = DeviceOptions {
            precision,
            capture,
            selection: Selection::Heuristic,
            tuning: Tuning::default(),
        };
        let schedule = Schedule::new(&config, spread);
        let executor = DeviceExecutor::new(driver.clone(), schedule, hyperparameters(), options)?;
        let weights = Weights::small(&config, SEED);
        let mut trainer = Trainer::new(Box::new(executor), &weights, spread)?;
        for _ in 0..STEPS {
            trainer.step(&batch.tokens, &batch.targets, Wait::Never)?;
        }
        Ok((trainer.last_losses(200)?, trainer.weights()?))
    };
    let plain = run(false, Spread::SERIAL)?;
    let graph = run(true, Spread::SERIAL)?;
    let parallel = run(true, PARALLEL)?;
    let last = plain.0.last().copied().unwrap_or(f32::NAN);
    let ok = plain == graph && plain == parallel && last.is_finite();
    let text = format!(
        "{STEPS} steps, serial graph {}, lanes {}, last loss {last}, {:.1} s",
        plain == graph,
        plain == parallel,
        started.elapsed().as_secs_f64()
    );
    Ok((ok, text))
}

fn reshape(driver: &Driver, precision: MatrixPrecision) -> Result<(bool, String)> {
    let config = Preset::Tiny.config();
    let mut trainer = device(
        driver,
        &config,
        precision,
        true,
        PARALLEL,
        Tuning::default(),
    )?;
    let mut held = Vec::new();
    let mut losses = Vec::new();
    for round in 0..6 {
        let (batch_size, sequence_length) = if round % 2 == 0 { (8, 128) } else { (4, 96) };
        trainer.reshape(batch_size, sequence_length)?;
        let config = ModelConfig {
            batch_size,
            sequence_length,
            ..config
        };
        let batch = batch(&config);
        let step = trainer.step(&batch.tokens, &batch.targets, Wait::Step)?;
        losses.extend(step.loss);
        if round % 2 == 0 {
            let free = driver.device_memory()?.free;
            held.push((trainer.memory().map(|memory| memory.now), free));
        }
    }
    let same = held.windows(2).all(|pair| pair[0].0 == pair[1].0);
    // The second round may still fill caches of the libraries.
    let lost = held[1].1.saturating_sub(held[2].1);
    let ok = same && lost < 8 << 20 && losses.iter().all(|loss| loss.is_finite());
    Ok((
        ok,
        format!("losses {losses:?}, device memory lost between rounds {lost}"),
    ))
}

fn time(driver: &Driver) {
    let report = |label: String, result: Result<String>| match result {
        Ok(text) => println!("{label}: {text}"),
        Err(error) => println!("{label}: ERROR {error:#}"),
    };
    let spread = |lanes, update_early, layers_together| Spread {
        lanes,
        update_early,
        layers_together,
    };
    for (preset, precision) in FAST {
        let first = Variant {
            preset,
            precision,
            capture: true,
            candidates: CANDIDATES,
            spread: Spread::SERIAL,
            tuning: Tuning::default(),
        };
        let mut variants = Vec::new();
        for (lanes, early, together) in [
            (1, false, 1),
            (1, false, 64),
            (2, false, 1),
            (2, true, 1),
            (2, false, 64),
            (2, true, 2),
            (3, true, 4),
            (3, true, 64),
        ] {
            let label = format!("{lanes} lanes, early {early}, {together} layers together");
            let spread = spread(lanes, early, together);
            variants.push((label, Variant { spread, ..first }));
        }
        let uncaptured = Variant {
            capture: false,
            ..first
        };
        variants.push(("1 lane, not captured".to_owned(), uncaptured));
        // In turns: clocks and temperature drift.
        for _ in 0..2 {
            for (label, variant) in &variants {
                report(
                    format!("{preset:?} {precision} {label}"),
                    timed(driver, variant),
                );
            }
        }
    }
    for precision in [MatrixPrecision::Bf16, MatrixPrecision::Tf32] {
        let variant = Variant {
            preset: Preset::Medium,
            precision,
            capture: true,
            candidates: CANDIDATES,
            spread: Spread::SERIAL,
            tuning: Tuning::default(),
        };
        report(
            format!("Medium {precision} 1 lane"),
            timed(driver, &variant),
        );
    }
}

const FAST: [(Preset, MatrixPrecision); 4] = [
    (Preset::Small, MatrixPrecision::Bf16),
    (Preset::Tiny, MatrixPrecision::Bf16),
    (Preset::Small, MatrixPrecision::Tf32),
    (Preset::Tiny, MatrixPrecision::Tf32),
];

/// One way to run a step.
#[derive(Clone, Copy)]
struct Variant {
    preset: Preset,
    precision: MatrixPrecision,
    capture: bool,
    candidates: usize,
    spread: Spread,
    tuning: Tuning,
}

fn timed(driver: &Driver, variant: &Variant) -> Result<String> {
    let started = Instant::now();
    let preset = variant.preset;
    let config = preset.config();
    let batch = batch(&config);
    let options = DeviceOptions {
        precision: variant.precision,
        capture: variant.capture,
        selection: Selection::Measured {
            candidates: variant.candidates,
        },
        tuning: variant.tuning,
    };
    let schedule = Schedule::new(&config, variant.spread);
    let executor = DeviceExecutor::new(driver.clone(), schedule, hyperparameters(), options)?;
    let weights = Weights::small(&config, SEED);
    let mut trainer = Trainer::new(Box::new(executor), &weights, variant.spread)?;
    for _ in 0..10 {
        trainer.step(&batch.tokens, &batch.targets, Wait::Never)?;
    }
    trainer.wait()?;
    let ready = started.elapsed().as_secs_f64();
    let mut times = Vec::new();
    let mut launches = super::Launches::default();
    for _ in 0..60 {
        let step = trainer.step(&batch.tokens, &batch.targets, Wait::Step)?;
        times.push(step.total);
        launches = step.launches;
    }
    times.sort_by(f64::total_cmp);
    let steps = if preset == Preset::Medium { 50 } else { 300 };
    let started = Instant::now();
    for _ in 0..steps {
        trainer.step(&batch.tokens, &batch.targets, Wait::Never)?;
    }
    trainer.wait()?;
    let pipelined = started.elapsed().as_secs_f64() * 1e3 / f64::from(steps);
    let memory = trainer.memory().map_or(0, |memory| memory.now);
    let captured = trainer.captured().err().filter(|_| variant.capture);
    Ok(format!(
        "median {:.3} ms, pipelined {pipelined:.3} ms, ready in {ready:.1} s, host launches {}, captured {}, {} MiB{}",
        times[times.len() / 2],
        launches.host,
        launches.captured,
        memory >> 20,
        captured
            .map(|why| format!(", NOT CAPTURED: {why}"))
            .unwrap_or_default()
    ))
}

fn kernels(driver: &Driver, preset: Preset, precision: MatrixPrecision) -> Result<()> {
    let config = preset.config();
    let batch = batch(&config);
    let mut trainer = device(
        driver,
        &config,
        precision,
        false,
        Spread::SERIAL,
        Tuning::default(),
    )?;
    let mut rounds: Vec<Vec<NodeTime>> = Vec::new();
    for _ in 0..5 {
        rounds.push(trainer.kernels(&batch.tokens, &batch.targets)?);
    }
    println!(
        "{preset:?} {precision}, one launch after the other, least of {} rounds:",
        rounds.len()
    );
    let schedule = trainer.schedule();
    let operand = precision.operand_bytes();
    let mut groups: Vec<(String, usize, f64, super::Cost)> = Vec::new();
    for (index, node) in schedule.nodes.iter().enumerate() {
        let least = rounds
            .iter()
            .map(|round| round[index].milliseconds)
            .fold(f64::INFINITY, f64::min);
        let label = match &node.operation {
            Operation::Product(product) => product_label(&node.operation, product, 1),
            Operation::WeightGradients(products) => {
                products.first().map_or_else(String::new, |first| {
                    product_label(&node.operation, first, products.len())
                })
            }
            other => other.name().to_owned(),
        };
        let label = format!("{:?} {label}", node.phase);
        let cost = schedule.cost(index, operand);
        match groups.iter_mut().find(|group| group.0 == label) {
            Some(group) => {
                group.1 += 1;
                group.2 += least;
            }
            None => groups.push((label, 1, least, cost)),
        }
    }
    let total: f64 = groups.iter().map(|group| group.2).sum();
    for (label, count, milliseconds, cost) in groups {
        let each = milliseconds * 1e3 / count as f64;
        println!(
            "  {label:<52} {count:>4} x {each:>8.2} us = {:>8.1} us  {:>9.1} MFLOP {:>8.2} MB  {:>6.1} TFLOP/s {:>6.2} TB/s",
            milliseconds * 1e3,
            cost.flops / 1e6,
            cost.bytes / 1e6,
            cost.flops / each / 1e6,
            cost.bytes / each / 1e6,
        );
    }
    println!("  sum {:.1} us", total * 1e3);
    Ok(())
}

fn product_label(operation: &Operation, product: &Product, count: usize) -> String {
    let (m, n, k) = (product.m, product.n, product.k);
    match count {
        1 => format!("{} {m}x{n}x{k}", operation.name()),
        count => format!("{} {count} x {m}x{n}x{k}", operation.name()),
    }
}
