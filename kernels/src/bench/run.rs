//! Times every kernel.

use cubecl::future::block_on;
use cubecl::{ir::ElemType, prelude::Client, server::Handle};
use tinyllama_kernel_catalog::StepSizes;

use super::ceilings::{self, Flush};
use super::{MeasuredRates, TimedPass};
use crate::launch::F32;
use crate::workload::{BufferContent, BufferSource};
use crate::{CODE, KernelError};

/// Buffers of zeros on a device. The content of buffers does not affect the time.
struct Zeros<'a>(&'a Client);

impl BufferSource for Zeros<'_> {
    fn client(&self) -> &Client {
        self.0
    }

    fn buffer(
        &mut self,
        _: &str,
        elements: usize,
        dtype: ElemType,
        _: BufferContent<'_>,
    ) -> Handle {
        self.0.create_from_slice(&vec![0; elements * dtype.size()])
    }
}

/// Times every kernel `repeats` times in f32, with the device's or the chosen block sizes.
///
/// # Errors
/// Refused launches, and devices without time stamps.
pub fn run(
    client: &Client,
    sizes: &StepSizes,
    repeats: usize,
) -> Result<(MeasuredRates, Vec<TimedPass>), KernelError> {
    let flush = Flush::new(client);
    let ceilings = ceilings::measure(client, &flush, repeats)?;
    let mut timed = Vec::new();
    for code in &CODE {
        let kernel = code.kernel;
        let launch = (code.workload)(&mut Zeros(client), sizes, F32, None);
        for (pass, _) in kernel.step_passes(sizes) {
            let seconds = samples(repeats, || {
                flush.run(client)?;
                device_seconds(client, kernel.name, || launch(pass.name))
            })?;
            timed.push(TimedPass {
                kernel: kernel.name,
                pass: pass.name,
                cost: (pass.cost)(sizes),
                seconds: median(seconds),
            });
        }
    }
    Ok((ceilings, timed))
}

/// Calls `measure` `repeats` times, after a first call that compiles, and returns the measured values.
pub(super) fn samples(
    repeats: usize,
    mut measure: impl FnMut() -> Result<f64, KernelError>,
) -> Result<Vec<f64>, KernelError> {
    measure()?;
    (0..repeats).map(|_| measure()).collect()
}

pub(super) fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns the device's seconds for the work that `launch` issues.
pub(super) fn device_seconds(
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
