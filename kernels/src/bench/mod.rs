//! Every kernel alone, with cold caches, against what this device can do at most.
//!
//! A kernel's floor is the longer of two times: its bytes over the bandwidth and its operations over the rate that two
//! plain kernels reach here ([`Ceilings`]). Between two launches a copy of more memory than any cache holds runs, so that
//! no launch finds its input where the one before left it.

pub(crate) mod ceilings;

pub use ceilings::{COPIED_BYTES, Ceilings};

use cubecl::future::block_on;
use cubecl::{ir::ElemType, prelude::Client, server::Handle};

use crate::kernel::{Content, Room};
use crate::launch::F32;
use crate::{Cost, KERNELS, KernelError, Sizes};
use ceilings::Flush;

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

/// Room for zeros on a device. What is in the buffers does not matter for the time.
struct Zeros<'a>(&'a Client);

impl Room for Zeros<'_> {
    fn client(&self) -> &Client {
        self.0
    }

    fn buffer(&mut self, _: &str, elements: usize, dtype: ElemType, _: Content<'_>) -> Handle {
        self.0.create_from_slice(&vec![0; elements * dtype.size()])
    }
}

/// Times every kernel `repeats` times in f32, with the device's block sizes or those chosen.
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
    for kernel in KERNELS {
        let launch = (kernel.sample)(&mut Zeros(client), sizes, F32, None);
        for (pass, _) in kernel.of_step(sizes) {
            let seconds = samples(repeats, || {
                flush.run(client)?;
                device_seconds(client, kernel.name, || launch(pass.name))
            })?;
            timed.push(Timed {
                kernel: kernel.name,
                pass: pass.name,
                cost: (pass.cost)(sizes),
                seconds: median(seconds),
            });
        }
    }
    Ok((ceilings, timed))
}

/// What is measured `repeats` times, after a first time that compiles.
fn samples(
    repeats: usize,
    mut measure: impl FnMut() -> Result<f64, KernelError>,
) -> Result<Vec<f64>, KernelError> {
    measure()?;
    (0..repeats).map(|_| measure()).collect()
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Seconds the device needs for what `launch` issues.
fn device_seconds(
    client: &Client,
    kernel: &'static str,
    launch: impl FnOnce() -> Result<(), KernelError>,
) -> Result<f64, KernelError> {
    let failed = |reason: String| KernelError::Device(kernel, reason);
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
