use super::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tinyllama_contract::model::{Preset, Recipe};
use tinyllama_contract::targets::v3;

fn observation(sequence: usize, batch: usize, time: impl Fn(&Features) -> f64) -> Observation {
    let config = ModelConfig {
        sequence_length: sequence,
        batch_size: batch,
        ..Preset::Small.config()
    };
    let features = Features::from_model(
        &config,
        &Recipe::BASELINE,
        ElementType::F32,
        Some(700.0),
        None,
    );
    Observation {
        config,
        features,
        step_ms: time(&features),
        peak_bytes: Some(1.25 * config.estimated_bytes() as f64),
        runs: 1,
    }
}

/// 5 us a launch on the host, against 40 TFLOP/s and 1.5 TB/s on the device.
fn truth(features: &Features) -> f64 {
    let host: f64 = 700.0 * 0.005;
    host.max(features.flops / 4e10 + features.bytes / 1.5e9)
}

/// The host limits the first three, so one of them may be left out.
fn grid(time: impl Fn(&Features) -> f64) -> Vec<Observation> {
    let sizes = [
        (32, 1),
        (32, 2),
        (64, 1),
        (64, 8),
        (128, 8),
        (256, 8),
        (256, 16),
        (512, 8),
        (1024, 8),
        (1024, 16),
    ];
    sizes
        .map(|(sequence, batch)| observation(sequence, batch, &time))
        .to_vec()
}

#[test]
fn a_host_and_a_device_are_found_and_unseen_sizes_predicted() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let noise: Vec<f64> = (0..10)
        .map(|_| 0.95 + 0.1 * random.random::<f64>())
        .collect();
    let observations: Vec<Observation> = grid(truth)
        .into_iter()
        .zip(noise)
        .map(|(o, noise)| Observation {
            step_ms: o.step_ms * noise,
            ..o
        })
        .collect();
    let model = TimeModel::fitted(&observations).unwrap();
    assert_eq!(model.coefficients.shape.form, Form::Larger, "{model:#?}");
    assert!(
        model.median_error < 0.1 && model.largest_error < 0.2,
        "{model:#?}"
    );
    let unseen = observation(2048, 8, truth);
    let ratio = model.coefficients.step_ms(&unseen.features) / unseen.step_ms;
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
    let ratio = model.peak_bytes(&unseen.config).unwrap() / unseen.peak_bytes.unwrap();
    assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
}

#[test]
fn the_stated_error_is_that_of_configurations_the_model_had_not_seen() {
    // The times depend on no counted figure, so no model may claim to predict them.
    let mut random = ChaCha8Rng::seed_from_u64(12);
    let observations: Vec<Observation> = grid(|_| 1.0)
        .into_iter()
        .map(|o| Observation {
            step_ms: 10_f64.powf(3.0 * random.random::<f64>()),
            ..o
        })
        .collect();
    let model = TimeModel::fitted(&observations).unwrap();
    assert!(model.median_error > 0.3, "{}", model.median_error);
    assert_eq!(model.held_out.len(), 10);
}

#[test]
fn a_configuration_that_is_off_does_not_vouch_for_itself() {
    let mut observations = grid(truth);
    observations[5].step_ms *= 10.0;
    let others: Vec<&Observation> = observations
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != 5)
        .map(|(_, o)| o)
        .collect();
    for shape in TimeModelForm::ALL {
        let model = TimeModel::of_shape(shape, &observations).unwrap();
        let without = Coefficients::fitted(shape, &others).unwrap();
        let predicted = without.step_ms(&observations[5].features);
        assert_eq!(model.held_out[5].predicted_ms, predicted);
        assert_ne!(model.coefficients, without);
    }
}

#[test]
fn repeats_of_a_configuration_do_not_pose_as_held_out() {
    let twice: Vec<Observation> = grid(truth)[..2].iter().cycle().take(8).cloned().collect();
    assert_eq!(merged(&twice).len(), 2);
    assert!(TimeModel::fitted(&twice).is_none());
}

#[test]
fn launches_follow_the_layers() {
    assert_eq!(
        launches(&[(8, 500.0), (8, 520.0), (4, 300.0)], 8),
        Some(510.0)
    );
    let more = launches(&[(8, 500.0), (4, 260.0)], 12).unwrap();
    assert!((more - 740.0).abs() < 1e-6, "{more}");
    assert_eq!(launches(&[(8, 450.0)], 17), Some(900.0));
    assert_eq!(launches(&[], 8), None);
}

#[test]
fn kernels_of_a_graph_and_scores_have_rates_of_their_own() {
    // 2 us a kernel that a graph replays. Scores run at a fifth of the rate of all other work.
    let replayed = |features: &Features| {
        features.captured * 0.002
            + (features.flops - features.score_flops) / 1e11
            + features.score_flops / 2e10
    };
    let observations: Vec<Observation> = grid(|_| 1.0)
        .into_iter()
        .enumerate()
        .map(|(at, observation)| {
            let layers = 4 + 4 * (at % 2);
            let config = ModelConfig {
                layers,
                ..observation.config
            };
            let captured = Some(20.0 * layers as f64);
            let features =
                Features::from_model(&config, &v3::RECIPE, ElementType::F32, Some(0.0), captured);
            Observation {
                config,
                features,
                step_ms: replayed(&features),
                ..observation
            }
        })
        .collect();
    let model = TimeModel::fitted(&observations).unwrap();
    assert_eq!(
        model.coefficients.shape,
        TimeModelForm::new(Form::Sum, true)
    );
    assert!(model.largest_error < 1e-3, "{model:#?}");
    let us = 1e3 * model.coefficients.ms_per_kernel;
    assert!((us - 2.0).abs() < 0.01, "{us}");
}
