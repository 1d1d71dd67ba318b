//! Divides a batch among the cores of a CPU.
//!
//! burn's CPU backend runs nearly every operation but the matrix product on one core: sums of two tensors, copies of a
//! part, a scatter. So each core gets some samples of the batch, and runs the model on them operation by operation,
//! forward and backward. The gradients of the shares are averaged, as those of several GPUs are.

use anyhow::{Context as _, Result};
use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Element, Tensor};
use rayon::prelude::*;
use tinyllama_kernels::binding::average;

use super::{DeviceBatch, backward};
use crate::model::{Context, Llama, ModelConfig};

/// Returns into how many equal shares a batch is divided on a CPU: one for each core, if the samples allow it.
pub fn count_on_cpu(config: &ModelConfig) -> usize {
    let most = rayon::current_num_threads().min(config.batch_size);
    let divides = |count: &usize| config.batch_size.is_multiple_of(*count);
    (1..=most).rev().find(divides).unwrap_or(1)
}

/// A forward pass.
pub struct ForwardPass {
    /// The mean loss over all samples of each share, `[1]`.
    losses: Vec<Tensor<1>>,
    /// The parameters of each share, with gradients apart from the others'. Empty if there is a single share.
    replicas: Vec<Llama>,
}

impl ForwardPass {
    /// Computes the losses of the shares of `batch`, each on its own core.
    pub fn new(model: &Llama, context: &Context, batch: &DeviceBatch, shares: usize) -> Self {
        if shares < 2 {
            return ForwardPass {
                losses: vec![batch.loss(model, context)],
                replicas: vec![],
            };
        }
        let device = batch.tokens.device().autodiff();
        // Parameters are shared, and copied only if they are changed while a replica exists.
        let replicas: Vec<Llama> = (0..shares).map(|_| model.clone().fork(&device)).collect();
        let losses = replicas.par_iter().with_max_len(1).enumerate();
        let losses = losses.map(|(share, replica)| {
            let batch = batch.share(share, shares);
            batch.loss(replica, context)
        });
        ForwardPass {
            losses: losses.collect(),
            replicas,
        }
    }

    /// Computes the gradients of the mean loss over the whole batch.
    pub fn backward(&mut self, model: &Llama) -> GradientsParams {
        // They end here: an update writes in place only what has no other owner.
        let replicas = std::mem::take(&mut self.replicas);
        if replicas.is_empty() {
            return backward(model, self.losses[0].clone());
        }
        let shares = replicas.into_par_iter().zip(&self.losses);
        let shares = shares
            .with_max_len(1)
            .map(|(replica, loss)| backward(&replica, loss.clone()));
        let mut averages = Averages {
            shares: shares.collect(),
            averages: GradientsParams::new(),
        };
        model.visit(&mut averages);
        averages.averages
    }

    /// Returns the loss on the device, `[1]`, if there is a single share.
    pub fn single_loss(self) -> Option<Tensor<1>> {
        let [loss] = <[Tensor<1>; 1]>::try_from(self.losses).ok()?;
        Some(loss)
    }

    /// Reads the mean loss over the whole batch; waits for it.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn read_loss<T: Element>(self) -> Result<T> {
        let count = self.losses.len() as f64;
        let losses = self.losses.into_iter();
        let losses = losses.map(|loss| loss.inner().try_into_scalar::<T>());
        let losses: Vec<T> = losses
            .collect::<Result<_, _>>()
            .context("the loss could not be read back")?;
        Ok(match losses.as_slice() {
            [loss] => *loss,
            losses => T::from_elem(losses.iter().map(|loss| loss.to_f64()).sum::<f64>() / count),
        })
    }
}

/// Averages each parameter's gradients over the shares.
struct Averages {
    shares: Vec<GradientsParams>,
    averages: GradientsParams,
}

impl ModuleVisitor for Averages {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let shares = self.shares.iter_mut();
        let gradients: Vec<Tensor<D>> = shares.filter_map(|it| it.remove(param.id)).collect();
        if let Some(average) = average(gradients) {
            self.averages.register(param.id, average);
        }
    }
}
