//! The kernel, and the description of its tensors.

use cubecl::prelude::*;
use tinyllama_kernel_catalog::adamw::FACTORS;

/// [`Factors`](tinyllama_kernel_catalog::adamw::Factors) inside the kernel.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct StepFactors {
    keep_first: f32,
    add_first: f32,
    keep_second: f32,
    add_second: f32,
    /// `lr / (1 - b1^t)`.
    rate: f32,
    /// `1 / (1 - b2^t)`.
    correction: f32,
    /// `lr wd`.
    decay: f32,
    epsilon: f32,
}

/// Returns the factors as a kernel argument.
pub(super) fn factor_argument(factors: [f32; FACTORS]) -> StepFactorsLaunch {
    let [
        keep_first,
        add_first,
        keep_second,
        add_second,
        rate,
        correction,
        decay,
        epsilon,
    ] = factors;
    StepFactorsLaunch::new(
        keep_first,
        add_first,
        keep_second,
        add_second,
        rate,
        correction,
        decay,
        epsilon,
    )
}

/// The cubes that work on a tensor, and the place of its moments; known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    pub first_cube: usize,
    pub cubes: usize,
    pub vectors: usize,
    /// Start of the moments, counted in vectors.
    pub state: usize,
    /// Index of this tensor's copy among the copies.
    pub copy: Option<usize>,
}

/// Each cube takes `units * vectors_per_unit` consecutive vectors of one tensor. At each step its units take
/// neighbouring vectors.
#[cube(launch_unchecked)]
#[allow(
    clippy::needless_range_loop,
    reason = "a sequence of buffers is indexed with a number known at compile time"
)]
pub fn adamw_step<G: Float, C: Float, N: Size>(
    mut parameters: Sequence<Box<[Vector<f32, N>]>>,
    gradients: Sequence<Box<[Vector<G, N>]>>,
    mut copies: Sequence<Box<[Vector<C, N>]>>,
    first_moment: &mut [Vector<f32, N>],
    second_moment: &mut [Vector<f32, N>],
    stored: ComptimeOption<&[f32]>,
    factors: StepFactors,
    #[comptime] segments: Vec<Segment>,
    #[comptime] units: usize,
    #[comptime] vectors_per_unit: usize,
    #[define(G)] _gradient: ElemType,
    #[define(C)] _copy: ElemType,
) {
    let cube = CUBE_POS;
    #[comptime]
    let factors = match stored {
        ComptimeOption::Some(stored) => read_factors(stored),
        ComptimeOption::None => factors,
    };

    let tensors = comptime!(segments.len());
    #[unroll]
    for tensor in 0..tensors {
        let segment = comptime!(segments[tensor]);
        let past = comptime!(segment.first_cube + segment.cubes);
        if cube >= segment.first_cube && cube < past {
            let start = (cube - segment.first_cube) * comptime!(units * vectors_per_unit);
            for step in 0..vectors_per_unit {
                let at = start + step * units + UNIT_POS as usize;
                if at < segment.vectors {
                    let state = segment.state + at;
                    let gradient = Vector::<f32, N>::cast_from(gradients.index(tensor)[at]);
                    let m = first_moment[state] * Vector::new(factors.keep_first)
                        + gradient * Vector::new(factors.add_first);
                    let v = second_moment[state] * Vector::new(factors.keep_second)
                        + gradient * gradient * Vector::new(factors.add_second);
                    let root = (v * Vector::new(factors.correction)).sqrt();
                    let direction = m / (root + Vector::new(factors.epsilon));
                    let old = parameters.index(tensor)[at];
                    let new = old
                        - (old * Vector::new(factors.decay)
                            + direction * Vector::new(factors.rate));
                    first_moment[state] = m;
                    second_moment[state] = v;
                    parameters.index_mut(tensor)[at] = new;
                    if comptime!(segment.copy.is_some()) {
                        let copy = comptime!(segment.copy.unwrap_or(0));
                        copies.index_mut(copy)[at] = Vector::cast_from(new);
                    }
                }
            }
        }
    }
}

#[cube]
fn read_factors(stored: &[f32]) -> StepFactors {
    StepFactors {
        keep_first: stored[0],
        add_first: stored[1],
        keep_second: stored[2],
        add_second: stored[3],
        rate: stored[4],
        correction: stored[5],
        decay: stored[6],
        epsilon: stored[7],
    }
}
