//! Measures rates of two plain kernels on this device: a copy for bandwidth, a chain of multiply-adds for arithmetic.

use cubecl::{prelude::*, server::Handle};

use super::run::{device_seconds, median, samples};
use super::{COPIED_BYTES, MeasuredRates};
use crate::KernelError;
use crate::launch::{CheckedBuffer, F32, default_units, linear};

const NAME: &str = "ceilings";

/// Numbers that a copy reads, and as many that it writes.
const COPIED: usize = COPIED_BYTES / size_of::<f32>();

/// Units that compute, and chains per unit: independent chains hide each other's latency.
const COMPUTING: usize = 1 << 20;
const CHAINS: usize = 8;
const LINKS: usize = 512;

/// A copy that replaces everything in the caches.
pub(crate) struct Flush {
    from: Handle,
    to: Handle,
}

impl Flush {
    pub(crate) fn new(client: &Client) -> Self {
        Flush {
            from: client.empty(COPIED_BYTES),
            to: client.empty(COPIED_BYTES),
        }
    }

    pub(super) fn run(&self, client: &Client) -> Result<(), KernelError> {
        let vector = 4;
        let (cubes, dim) = linear(client, COPIED / vector, default_units(client));
        let from = CheckedBuffer::new(NAME, "from", &self.from, COPIED, F32)?;
        let to = CheckedBuffer::new(NAME, "to", &self.to, COPIED, F32)?;
        // SAFETY: both buffers hold COPIED floats, and the kernel stops there.
        launch!(client, copy[cubes, dim], vector: [from to], (COPIED / vector) as u32)
    }
}

/// Measures a copy and then multiply-adds in each repeat, in the units of [`MeasuredRates`].
pub(crate) fn rates(
    client: &Client,
    flush: &Flush,
    repeats: usize,
) -> Result<[Vec<f64>; 2], KernelError> {
    let results = client.empty(COMPUTING * size_of::<f32>());
    let compute = || {
        let (cubes, dim) = linear(client, COMPUTING, default_units(client));
        let results = CheckedBuffer::new(NAME, "results", &results, COMPUTING, F32)?;
        // SAFETY: the buffer holds a float for every unit.
        launch!(client, multiply_add[cubes, dim]: [results], COMPUTING as u32, 0.5)
    };
    let copying = samples(repeats, || {
        device_seconds(client, NAME, || flush.run(client))
    })?;
    let computing = samples(repeats, || device_seconds(client, NAME, compute))?;
    let rates = |work: usize, seconds: Vec<f64>| {
        seconds
            .iter()
            .map(|seconds| work as f64 / seconds)
            .collect()
    };
    Ok([
        rates(2 * COPIED_BYTES, copying),
        rates(2 * COMPUTING * CHAINS * LINKS, computing),
    ])
}

pub(super) fn measure(
    client: &Client,
    flush: &Flush,
    repeats: usize,
) -> Result<MeasuredRates, KernelError> {
    let [bytes_per_s, flops_per_s] = rates(client, flush, repeats)?.map(median);
    Ok(MeasuredRates {
        bytes_per_s,
        flops_per_s,
    })
}

#[cube(launch_unchecked)]
fn copy<N: Size>(from: &[Vector<f32, N>], to: &mut [Vector<f32, N>], count: u32) {
    let at = ABSOLUTE_POS;
    if at < count as usize {
        to[at] = from[at];
    }
}

/// Every unit advances `CHAINS` numbers by `LINKS` multiply-adds. The sum is written, so that the compiler keeps every link.
#[cube(launch_unchecked)]
fn multiply_add(results: &mut [f32], count: u32, factor: f32) {
    let unit = ABSOLUTE_POS;
    if unit >= count as usize {
        terminate!();
    }
    let mut chains = Array::<f32>::new(CHAINS);
    #[unroll]
    for chain in 0..CHAINS {
        chains[chain] = unit as f32 + chain as f32;
    }
    for _ in 0..LINKS {
        #[unroll]
        for chain in 0..CHAINS {
            chains[chain] = fma(chains[chain], factor, factor);
        }
    }
    let mut sum = 0.0f32;
    #[unroll]
    for chain in 0..CHAINS {
        sum += chains[chain];
    }
    results[unit] = sum;
}
