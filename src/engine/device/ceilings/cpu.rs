//! Measures the ceilings of the CPU: products by the matrix library of V4's host form, and copies on all threads.

use std::hint::black_box;
use std::time::Instant;

use rayon::prelude::*;

use super::{BandwidthCeiling, ComputeCeiling, ComputeUnit, DeviceCeilings, Level, Sampled};
use tinyllama_base::device_facts::DeviceFacts;
use tinyllama_base::units::human_bytes;
use tinyllama_kernels::host::matrix::{View, multiply_on_all_cores};

/// Extent of the measurements.
pub(super) struct CpuEffort {
    pub repeats: usize,
    /// A repeat should take at least half of these seconds.
    pub repeat_seconds: f64,
    /// Largest side of the square matrices.
    pub largest_side: usize,
    /// Bytes of source and of target of a copy from memory. Larger caches raise it.
    pub cold_bytes: usize,
}

pub(super) const FULL: CpuEffort = CpuEffort {
    repeats: 11,
    repeat_seconds: 0.1,
    largest_side: 4096,
    cold_bytes: 256 << 20,
};

/// Assumed size of a core's L2 if the system reports none: all x86-64 and ARM servers have at least this.
const LEAST_L2: usize = 256 << 10;

pub(super) fn measure(
    facts: DeviceFacts,
    effort: &CpuEffort,
    progress: &mut dyn FnMut(&str),
) -> DeviceCeilings {
    let mut measured = DeviceCeilings::new(facts);
    progress("matrix products in f32");
    measured.compute.extend(products(effort));
    progress("copies from memory and within the caches");
    let caches = Caches::of_system();
    measured.bandwidth.extend(cold_copies(effort, &caches));
    measured.bandwidth.extend(warm_copies(effort, &caches));
    measured.notes.push(
        "launches and waiting: there are none on a CPU, where a kernel is a function call".into(),
    );
    measured
}

/// Cache sizes of the first core, in bytes.
struct Caches {
    second: Option<usize>,
    /// The largest cache of any level.
    largest: Option<usize>,
}

impl Caches {
    fn of_system() -> Self {
        let read = |index: usize, what: &str| {
            let folder = "/sys/devices/system/cpu/cpu0/cache";
            std::fs::read_to_string(format!("{folder}/index{index}/{what}")).ok()
        };
        let size = |index| parse_size(read(index, "size")?.trim());
        let level = |index| read(index, "level").is_some_and(|level| level.trim() == "2");
        Caches {
            second: (0..8).filter(|index| level(*index)).find_map(size),
            largest: (0..8).filter_map(size).max(),
        }
    }
}

/// Parses a size as the system writes it: `1024K` or `32M`.
fn parse_size(text: &str) -> Option<usize> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let unit = match unit {
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(unit)
}

/// Returns the seconds per pass of each repeat. First finds out how many passes make a repeat long enough.
pub(super) fn sample(effort: &CpuEffort, mut work: impl FnMut(u32)) -> Vec<f64> {
    let mut timed = |passes: u32| {
        let start = Instant::now();
        work(passes);
        // The clock may not have advanced; no work takes less than a nanosecond.
        start.elapsed().as_secs_f64().max(1e-9)
    };
    let mut passes = 1_u32;
    loop {
        let seconds = timed(passes);
        if seconds >= effort.repeat_seconds / 2.0 || passes > u32::MAX / 2 {
            break;
        }
        let wanted = f64::from(passes) * effort.repeat_seconds / seconds;
        passes = (wanted.ceil() as u32).max(2 * passes);
    }
    (0..effort.repeats)
        .map(|_| timed(passes) / f64::from(passes))
        .collect()
}

fn products(effort: &CpuEffort) -> Option<ComputeCeiling> {
    let mut side = 256.min(effort.largest_side);
    // Takes the largest side that fits into a repeat, because small products do not keep many cores busy.
    while side < effort.largest_side {
        let mut product = SquareProduct::new(side);
        product.run();
        let start = Instant::now();
        product.run();
        // Twice the side takes eight times as long.
        if start.elapsed().as_secs_f64() > effort.repeat_seconds / 8.0 {
            break;
        }
        side *= 2;
    }
    let mut product = SquareProduct::new(side);
    let seconds = sample(effort, |passes| (0..passes).for_each(|_| product.run()));
    let flops = 2.0 * (side as f64).powi(3);
    let rates: Vec<f64> = seconds.iter().map(|seconds| flops / seconds).collect();
    Some(ComputeCeiling {
        dtype: "f32".into(),
        unit: ComputeUnit::Matrix,
        flops_per_s: Sampled::from_repeats(&rates)?,
        how: format!(
            "{side} x {side} x {side} by the gemm crate on {} threads",
            rayon::current_num_threads()
        ),
    })
}

/// A square product `d = a b`.
struct SquareProduct {
    side: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    d: Vec<f32>,
}

impl SquareProduct {
    fn new(side: usize) -> Self {
        // Between -1 and 1, without a pattern.
        let numbers = |seed: u32| {
            (0..(side * side) as u32)
                .map(|at| {
                    (at ^ seed).wrapping_mul(0x9e37_79b9).cast_signed() as f32 / i32::MAX as f32
                })
                .collect()
        };
        SquareProduct {
            side,
            a: numbers(1),
            b: numbers(2),
            d: vec![0.0; side * side],
        }
    }

    fn run(&mut self) {
        let side = self.side;
        let [a, b] = [&self.a, &self.b].map(|values| View::rows(values, side));
        multiply_on_all_cores([side; 3], 1.0, a, b, &mut self.d, false);
        black_box(&mut self.d);
    }
}

fn cold_copies(effort: &CpuEffort, caches: &Caches) -> Option<BandwidthCeiling> {
    let threads = rayon::current_num_threads();
    let piece = effort.cold_bytes.max(4 * caches.largest.unwrap_or(0)) / threads;
    let all = human_bytes((piece * threads) as u64);
    let how = format!("copy of {all} on {threads} threads");
    copies(effort, Level::Cold, piece, how)
}

fn warm_copies(effort: &CpuEffort, caches: &Caches) -> Option<BandwidthCeiling> {
    // Source and target together fill half of the cache.
    let piece = caches.second.unwrap_or(LEAST_L2) / 4;
    let (each, threads) = (human_bytes(piece as u64), rayon::current_num_threads());
    let how = format!("copy of {each} again and again on each of {threads} threads, within L2");
    copies(effort, Level::Warm, piece, how)
}

/// Lets each thread copy its own piece.
fn copies(effort: &CpuEffort, level: Level, piece: usize, how: String) -> Option<BandwidthCeiling> {
    let threads = rayon::current_num_threads();
    // The threads create their own pieces, so that the memory lies near a core that uses it. The values are not zero,
    // because the system would not store zeros.
    let mut pieces: Vec<(Vec<u8>, Vec<u8>)> = (0..threads)
        .into_par_iter()
        .with_max_len(1)
        .map(|_| (vec![1; piece], vec![2; piece]))
        .collect();
    let seconds = sample(effort, |passes| {
        pieces
            .par_iter_mut()
            .with_max_len(1)
            .for_each(|(from, to)| {
                for _ in 0..passes {
                    to.copy_from_slice(black_box(from));
                    black_box(&mut *to);
                }
            });
    });
    // Every byte is read and written.
    let working_set = 2 * (piece * threads) as u64;
    let rate = |seconds: &f64| working_set as f64 / seconds;
    let rates: Vec<f64> = seconds.iter().map(rate).collect();
    Some(BandwidthCeiling {
        level,
        bytes_per_s: Sampled::from_repeats(&rates)?,
        working_set,
        how,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_caches_are_read_as_the_system_writes_them() {
        assert_eq!(parse_size("1024K"), Some(1 << 20));
        assert_eq!(parse_size("32M"), Some(32 << 20));
        for other in ["", "K", "12", "1X", "99999999999999999999K", "µ"] {
            assert_eq!(parse_size(other), None, "{other}");
        }
    }

    #[test]
    fn a_product_is_the_one_it_is_counted_as() {
        let mut product = SquareProduct::new(9);
        product.run();
        for row in 0..9 {
            for column in 0..9 {
                let expected: f32 = (0..9)
                    .map(|k| product.a[row * 9 + k] * product.b[k * 9 + column])
                    .sum();
                let found = product.d[row * 9 + column];
                assert!((found - expected).abs() <= 1e-5, "{found} and {expected}");
            }
        }
    }
}
