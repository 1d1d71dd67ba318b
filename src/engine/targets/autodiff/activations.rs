//! Mean and spread of the values that flow through the model, layer by layer. They show where a broken loss comes from.

use anyhow::{Context as _, Result};
use burn::tensor::{Int, Tensor};

use crate::model::{Context, Llama, Part};
use crate::train::event::{Activation, Activations};

/// Limits of the standard deviation that a healthy model shows before its first step. A normalised stream has 1. Much
/// wider logits put all probability on one token, and much smaller values carry no signal.
const NARROWEST: f64 = 1e-4;
const WIDEST: f64 = 5.0;

/// Computes mean and spread of every layer's output in a forward pass.
///
/// # Errors
/// Errors of the device.
pub fn observe(model: &Llama, context: &Context, tokens: Tensor<2, Int>) -> Result<Activations> {
    let mut observed = Vec::new();
    let mut failed = None;
    model.probed_logits(context, tokens, &mut |part, values| {
        if failed.is_some() {
            return;
        }
        let name = match part {
            Part::Norm => "last norm".to_string(),
            Part::Head => "logits".to_string(),
            part => part.to_string(),
        };
        match describe(&name, values.clone().inner()) {
            Ok(activation) => observed.push(activation),
            Err(error) => failed = Some(error),
        }
    });
    if let Some(error) = failed {
        return Err(error).context("reading the activations back failed");
    }
    let first_outside = observed
        .iter()
        .find(|activation| !activation.within_bounds)
        .map(|activation| activation.layer.clone());
    Ok(Activations {
        layers: observed,
        narrowest: NARROWEST,
        widest: WIDEST,
        first_outside,
    })
}

fn describe(layer: &str, values: Tensor<2>) -> Result<Activation> {
    let values: Vec<f64> = values.try_into_data()?.iter::<f64>().collect();
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let deviation = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
    let finite = values.iter().all(|value| value.is_finite());
    let reported = |value: f64| finite.then_some(value);
    Ok(Activation {
        layer: layer.to_string(),
        mean: reported(mean),
        std: reported(deviation),
        min: reported(values.iter().copied().fold(f64::INFINITY, f64::min)),
        max: reported(values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        within_bounds: finite && (NARROWEST..=WIDEST).contains(&deviation),
    })
}
