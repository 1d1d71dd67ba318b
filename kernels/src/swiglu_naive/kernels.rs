//! The kernel, which runs on the device.

use cubecl::{ir::ElemType, prelude::*};

/// Each unit computes one output: two dot products and the activation. Gate and up are stored for the backward pass.
#[cube(launch_unchecked)]
pub fn swiglu_naive_forward<F: Float>(
    x: &[F],
    gate_weight: &[F],
    up_weight: &[F],
    gate: &mut [F],
    up: &mut [F],
    y: &mut [F],
    count: u32,
    width: u32,
    hidden: u32,
    #[define(F)] _dtype: ElemType,
) {
    let unit = ABSOLUTE_POS;
    if unit >= count as usize {
        terminate!();
    }
    let (width, hidden) = (width as usize, hidden as usize);
    let row = unit / hidden;
    let column = unit % hidden;
    let mut g = 0.0f32;
    let mut u = 0.0f32;
    for feature in 0..width {
        let value = f32::cast_from(x[row * width + feature]);
        g += value * f32::cast_from(gate_weight[feature * hidden + column]);
        u += value * f32::cast_from(up_weight[feature * hidden + column]);
    }
    gate[unit] = F::cast_from(g);
    up[unit] = F::cast_from(u);
    y[unit] = F::cast_from(g / (1.0f32 + (-g).exp()) * u);
}
