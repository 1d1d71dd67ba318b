//! The activation of SwiGLU: `y = silu(gate) · up`, with `silu(z) = z · sigmoid(z)` (Shazeer, 2020).
//!
//! `gate` and `up` come from matrix products, best from one product with both weights side by side, whose rows are then
//! a gate half and an up half: the *packed* form. Reading both, multiplying and writing once moves 3 · rows · hidden
//! elements; written as separate operations the sigmoid and the product each go through memory again.
//!
//! Backward: `d_up = dy · silu(gate)`, `d_gate = dy · up · σ · (1 + gate · (1 - σ))`. σ is computed again from gate, because an
//! exponential is cheaper than the bytes of keeping it. Gradients may overwrite gate and up.

mod binding;
mod check;
mod kernels;
mod launch;
mod reference;

pub(crate) use binding::activation_gradients;
pub use binding::{swiglu, swiglu_gradient};
pub(crate) use launch::{backward, forward};
pub use reference::{reference_backward, reference_forward};

use cubecl::{ir::ElemType, server::Handle};

use crate::kernel::{Budget, Kernel, Role, Room, Sample, UNITS_PER_CUBE};
use crate::launch::CubeBlock;

const NAME: &str = "swiglu";

pub const KERNEL: Kernel = Kernel {
    name: NAME,
    summary: "silu(gate) · up, element by element",
    launches: "1 forward, 1 backward",
    role: Role::Activation,
    shape: "rows of hidden features, s bytes an element",
    passes: passes!(|sizes| { rows = sizes.tokens(), hidden = sizes.ffn, s = 4 } =>
        // Negation, exponential, sum, quotient, two products.
        ("forward", runs: sizes.layers, reads: 2 * rows * hidden * s, writes: rows * hidden * s, flops: 6 * rows * hidden),
        // Four for the sigmoid, six for d_gate, two for d_up.
        ("backward", runs: sizes.layers, reads: 3 * rows * hidden * s, writes: 2 * rows * hidden * s, flops: 12 * rows * hidden),
    ),
    block_size: Some(UNITS_PER_CUBE),
    block: CubeBlock::FIELDS,
    budgets: &[
        Budget::new("swiglu_forward", 72, 0),
        Budget::new("swiglu_backward", 80, 0),
    ],
    sample: |room, sizes, dtype, chosen| {
        let shape = Shape {
            rows: sizes.tokens(),
            hidden: sizes.ffn,
        };
        let place = Place {
            packed: true,
            in_place: false,
        };
        sample(room, shape, dtype, place, chosen)
    },
    check: check::check,
};

/// `rows` tokens of `hidden` features after the activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    pub rows: usize,
    pub hidden: usize,
}

/// Where a sample has gate and up, and their gradients.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Side by side in one buffer.
    packed: bool,
    /// Gradients over gate and up.
    in_place: bool,
}

/// Both passes on buffers of `room`.
fn sample(
    room: &mut dyn Room,
    shape: Shape,
    dtype: ElemType,
    place: Place,
    chosen: Option<usize>,
) -> Sample {
    let client = room.client().clone();
    let block = CubeBlock::new(NAME, &client, chosen);
    let elements = shape.rows * shape.hidden;
    let (names, each) = match place.packed {
        true => (&["gate_up"][..], 2 * elements),
        false => (&["gate", "up"][..], elements),
    };
    let gate_up: Vec<Handle> = names
        .iter()
        .map(|name| room.input(name, each, dtype))
        .collect();
    let mut outputs = |name| room.output(&format!("{name}_gradient"), each, dtype);
    let gradient: Option<Vec<Handle>> =
        (!place.in_place).then(|| names.iter().map(&mut outputs).collect());
    let (y_gradient, y) = (
        room.input("y_gradient", elements, dtype),
        room.output("y", elements, dtype),
    );
    Box::new(move |pass| match pass {
        "forward" => forward(&client, &gate_up, &y, shape, dtype, &block),
        _ => {
            let gradient = gradient.as_deref();
            backward(
                &client,
                &gate_up,
                &y_gradient,
                gradient,
                shape,
                dtype,
                &block,
            )
        }
    })
}
