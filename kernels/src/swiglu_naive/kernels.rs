//! The device side.

use cubecl::{ir::ElemType, prelude::*};

/// One unit an output: two dot products and the activation. Gate and up are kept for the backward pass.
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

/// One unit an element of x's gradient.
#[cube(launch_unchecked)]
pub fn swiglu_naive_input_gradient<F: Float>(
    gate_weight: &[F],
    up_weight: &[F],
    gate_gradient: &[F],
    up_gradient: &[F],
    x_gradient: &mut [F],
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
    let row = unit / width;
    let feature = unit % width;
    let mut total = 0.0f32;
    for column in 0..hidden {
        let slope = row * hidden + column;
        let weight = feature * hidden + column;
        total += f32::cast_from(gate_gradient[slope]) * f32::cast_from(gate_weight[weight]);
        total += f32::cast_from(up_gradient[slope]) * f32::cast_from(up_weight[weight]);
    }
    x_gradient[unit] = F::cast_from(total);
}

/// One unit an element of both weights' gradients.
#[cube(launch_unchecked)]
pub fn swiglu_naive_weight_gradient<F: Float>(
    x: &[F],
    gate_gradient: &[F],
    up_gradient: &[F],
    gate_weight_gradient: &mut [F],
    up_weight_gradient: &mut [F],
    count: u32,
    rows: u32,
    width: u32,
    hidden: u32,
    #[define(F)] _dtype: ElemType,
) {
    let unit = ABSOLUTE_POS;
    if unit >= count as usize {
        terminate!();
    }
    let (width, hidden) = (width as usize, hidden as usize);
    let feature = unit / hidden;
    let column = unit % hidden;
    let mut g = 0.0f32;
    let mut u = 0.0f32;
    for row in 0..rows as usize {
        let value = f32::cast_from(x[row * width + feature]);
        g += value * f32::cast_from(gate_gradient[row * hidden + column]);
        u += value * f32::cast_from(up_gradient[row * hidden + column]);
    }
    gate_weight_gradient[unit] = F::cast_from(g);
    up_weight_gradient[unit] = F::cast_from(u);
}
