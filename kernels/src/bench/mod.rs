//! Every kernel alone, with cold caches, against what this device can do at most.
//!
//! A kernel's floor is the longer of two times: its bytes over the bandwidth and its operations over the rate that two
//! plain kernels reach here ([`Ceilings`]). Between two launches a copy of more memory than any cache holds runs, so that
//! no launch finds its input where the one before left it.

mod cases;
mod ceilings;

pub use ceilings::Ceilings;

use cubecl::future::block_on;
use cubecl::prelude::Client;

use crate::{Cost, KernelError};
use cases::Case;
use ceilings::Flush;

/// Sizes of a model's step.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub batch: usize,
    pub sequence: usize,
    pub heads: usize,
    pub key_heads: usize,
    pub head_dim: usize,
    pub ffn: usize,
    pub vocabulary: usize,
    /// Numbers the optimizer updates.
    pub parameters: usize,
}

/// A kernel's pass, timed.
#[derive(Clone, Debug)]
pub struct Timed {
    pub kernel: &'static str,
    pub pass: &'static str,
    pub cost: Cost,
    /// Median of the repeats, on the device's clock.
    pub seconds: f64,
}

impl Timed {
    /// The least time the ceilings allow, in seconds.
    pub fn floor(&self, ceilings: &Ceilings) -> f64 {
        let moving = self.cost.bytes() as f64 / ceilings.bytes_per_s;
        let computing = self.cost.flops as f64 / ceilings.flops_per_s;
        moving.max(computing)
    }
}

/// Times every kernel `repeats` times, with the device's block sizes or those chosen.
///
/// # Errors
/// Launches that are refused, and devices without time stamps.
pub fn run(
    client: &Client,
    sizes: &Sizes,
    repeats: usize,
) -> Result<(Ceilings, Vec<Timed>), KernelError> {
    let flush = Flush::new(client);
    let ceilings = ceilings::measure(client, &flush, repeats)?;
    let mut timed = Vec::new();
    for case in cases::all(client, sizes) {
        timed.push(time(client, &case, &flush, repeats)?);
    }
    Ok((ceilings, timed))
}

fn time(client: &Client, case: &Case, flush: &Flush, repeats: usize) -> Result<Timed, KernelError> {
    let mut seconds = Vec::with_capacity(repeats);
    // The first launch compiles.
    for repeat in 0..=repeats {
        flush.run(client);
        let duration = device_seconds(client, case.kernel, || (case.launch)(client))?;
        if repeat > 0 {
            seconds.push(duration);
        }
    }
    Ok(Timed {
        kernel: case.kernel,
        pass: case.pass,
        cost: case.cost,
        seconds: median(seconds),
    })
}

/// Seconds the device needs for what `launch` issues.
fn device_seconds(
    client: &Client,
    kernel: &'static str,
    launch: impl FnOnce() -> Result<(), KernelError>,
) -> Result<f64, KernelError> {
    let failed = |reason: String| KernelError::Device { kernel, reason };
    let window = client
        .profile_start()
        .map_err(|error| failed(format!("{error:?}")))?;
    if let Err(error) = launch() {
        client.profile_abandon(window);
        return Err(error);
    }
    let duration = client
        .profile_end(window)
        .map_err(|error| failed(format!("{error:?}")))?;
    let ticks = block_on(duration.resolve())
        .ok_or_else(|| failed("the device gave no time stamps".into()))?;
    Ok(ticks.duration().as_secs_f64())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
