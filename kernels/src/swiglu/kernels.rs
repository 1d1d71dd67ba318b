//! The kernels, which run on the device.

use cubecl::{ir::ElemType, prelude::*};

/// Each unit handles a vector. `gate` and `up` name one buffer, whose rows have `vectors` vectors of gate, then as many of up.
#[cube(launch_unchecked)]
pub fn swiglu_forward<F: Float, N: Size>(
    gate: &[Vector<F, N>],
    up: &[Vector<F, N>],
    y: &mut [Vector<F, N>],
    count: u32,
    #[comptime] vectors: usize,
    #[define(F)] _dtype: ElemType,
) {
    let unit = ABSOLUTE_POS;
    if unit >= count as usize {
        terminate!();
    }
    let at = unit / vectors * comptime!(2 * vectors) + unit % vectors;
    let g = Vector::<f32, N>::cast_from(gate[at]);
    let u = Vector::<f32, N>::cast_from(up[at + vectors]);
    y[unit] = Vector::cast_from(g * vector_sigmoid::<N>(g) * u);
}

/// As [`swiglu_forward`]; the gradients have the layout of gate and up.
#[cube(launch_unchecked)]
pub fn swiglu_backward<F: Float, N: Size>(
    gate: &[Vector<F, N>],
    up: &[Vector<F, N>],
    y_gradient: &[Vector<F, N>],
    gate_gradient: &mut [Vector<F, N>],
    up_gradient: &mut [Vector<F, N>],
    count: u32,
    #[comptime] vectors: usize,
    #[comptime] stride: usize,
    #[comptime] shift: usize,
    #[define(F)] _dtype: ElemType,
) {
    let unit = ABSOLUTE_POS;
    if unit >= count as usize {
        terminate!();
    }
    let at = unit / vectors * stride + unit % vectors;
    let g = Vector::<f32, N>::cast_from(gate[at]);
    let u = Vector::<f32, N>::cast_from(up[at + shift]);
    let dy = Vector::<f32, N>::cast_from(y_gradient[unit]);
    let one = Vector::<f32, N>::new(1.0f32);
    let s = vector_sigmoid::<N>(g);
    gate_gradient[at] = Vector::cast_from(dy * u * s * (one + g * (one - s)));
    up_gradient[at + shift] = Vector::cast_from(dy * g * s);
}

#[cube]
fn vector_sigmoid<N: Size>(z: Vector<f32, N>) -> Vector<f32, N> {
    let one = Vector::<f32, N>::new(1.0f32);
    one / (one + (-z).exp())
}
