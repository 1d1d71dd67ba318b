//! Allocates buffers for given sizes and launches every pass on them.

use cubecl::server::Handle;
use tinyllama_kernel_catalog::adamw::{FACTORS, KERNEL, lengths, state_elements};

use super::check;
use super::launch::{AdamWParameter, AdamWTypes, FactorSource, choose_block, step};
use crate::launch::F32;
use crate::workload::{BufferContent, KernelCode};

/// All parameters of a model in one launch, with the factors in a buffer. Weights are f32. With a 16-bit type,
/// gradients have that type and a copy is kept.
pub(crate) const CODE: KernelCode = KernelCode {
    kernel: &KERNEL,
    workload: |source, sizes, dtype, chosen| {
        let client = source.client().clone();
        let block = choose_block(&client, chosen);
        let lengths = lengths(sizes);
        let mut make = |what, dtype| -> Vec<Handle> {
            let each = lengths.iter().enumerate();
            each.map(|(index, length)| source.input(&format!("{what} {index}"), *length, dtype))
                .collect()
        };
        let (values, gradients) = (make("value", F32), make("gradient", dtype));
        let copies = (dtype != F32).then(|| make("copy", dtype));
        let state = state_elements(lengths.iter().copied());
        let [first_moment, second_moment] = ["first_moment", "second_moment"]
            .map(|name| source.buffer(name, state, F32, BufferContent::Zeros));
        let factors = source.input("factors", FACTORS, F32);
        Box::new(move |_| {
            let parameters: Vec<AdamWParameter<'_>> = (0..lengths.len())
                .map(|index| AdamWParameter {
                    value: &values[index],
                    gradient: &gradients[index],
                    copy: copies.as_ref().map(|copies| &copies[index]),
                    elements: lengths[index],
                })
                .collect();
            let state = [&first_moment, &second_moment];
            let dtypes = AdamWTypes {
                gradient: dtype,
                copy: dtype,
            };
            let factors = FactorSource::Buffer(&factors);
            step(&client, &parameters, state, factors, dtypes, &block).map(drop)
        })
    },
    check: check::check,
};
