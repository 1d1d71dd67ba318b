//! Measures the ceilings of a GPU through Vulkan, which has no vendor's matrix library: burn's products, and two plain kernels.

use anyhow::Result;
use burn::tensor::{FloatDType, Tensor, TensorData};
use tinyllama_kernels::binding::{LibraryChoice, product, rates, rounds_to_tf32};

use super::cpu::{FULL, sample};
use super::{BandwidthCeiling, ComputeCeiling, ComputeUnit, DeviceCeilings, Level, Sampled};
use crate::device::{BackendChoice, CacheSettings, OpenDevice, Tuning, configure_runtime, open};
use tinyllama_base::units::human_bytes;

/// Side of the square matrices: some milliseconds on a large GPU, some tenths of a second on a small one.
const SIDE: usize = 4096;

pub(super) fn measure(
    wanted: Option<&str>,
    progress: &mut dyn FnMut(&str),
) -> Result<DeviceCeilings> {
    configure_runtime(CacheSettings {
        fusion: false,
        tuning: Tuning::Rules,
    });
    let open = open(BackendChoice::Vulkan, wanted)?;
    let mut measured = DeviceCeilings::new(open.facts.clone());
    for (dtype, name) in [(FloatDType::F32, "f32"), (FloatDType::F16, "f16")] {
        if open.device.supports_dtype(dtype) {
            progress(&format!("matrix products in {name}"));
            measured.compute.extend(products(&open, dtype, name)?);
        }
    }
    progress("copies, and multiply-adds outside matrix units");
    if let Some([copies, multiply_adds]) = rates(&open.device, FULL.repeats).transpose()? {
        measured
            .bandwidth
            .extend(Sampled::from_repeats(&copies).map(copy));
        measured
            .compute
            .extend(Sampled::from_repeats(&multiply_adds).map(vector));
    }
    measured.notes.push(
        "launches, waiting and copies within the cache are not measured through Vulkan".into(),
    );
    Ok(measured)
}

fn products(open: &OpenDevice, dtype: FloatDType, name: &str) -> Result<Option<ComputeCeiling>> {
    let device = &open.device;
    // With this scale, repeated products neither grow nor fade. A product of zeros would be faster.
    let size = (3.0 / SIDE as f32).sqrt();
    let factor = |seed: usize| {
        let values = (0..SIDE * SIDE).map(|at| ((at + seed) * 7919 % 2003) as f32 / 1001.0 - 1.0);
        let data = TensorData::new(values.map(|value| value * size).collect(), [SIDE, SIDE]);
        Tensor::<2>::from_data(data, device).cast(dtype)
    };
    let (mut result, by) = (factor(0), factor(1));
    let mut multiply = |passes: u32| {
        for _ in 0..passes {
            result = product(result.clone(), by.clone(), LibraryChoice::Direct);
        }
        device.sync()
    };
    // The first product compiles.
    multiply(1)?;
    let mut failed = None;
    let seconds = sample(&FULL, |passes| {
        failed = multiply(passes).err().or(failed.take())
    });
    if let Some(why) = failed {
        return Err(why.into());
    }
    let flops = 2.0 * (SIDE as f64).powi(3);
    let rates: Vec<f64> = seconds.iter().map(|seconds| flops / seconds).collect();
    let rounds = dtype == FloatDType::F32 && rounds_to_tf32(device);
    Ok(
        Sampled::from_repeats(&rates).map(|flops_per_s| ComputeCeiling {
            dtype: if rounds { "tf32" } else { name }.into(),
            unit: ComputeUnit::Matrix,
            flops_per_s,
            how: format!("{SIDE} x {SIDE} x {SIDE} by burn's library, untuned"),
        }),
    )
}

fn copy(bytes_per_s: Sampled) -> BandwidthCeiling {
    let bytes = tinyllama_kernels::bench::COPIED_BYTES as u64;
    BandwidthCeiling {
        level: Level::Cold,
        bytes_per_s,
        working_set: 2 * bytes,
        how: format!("copy of {} by a kernel", human_bytes(bytes)),
    }
}

fn vector(flops_per_s: Sampled) -> ComputeCeiling {
    ComputeCeiling {
        dtype: "f32".into(),
        unit: ComputeUnit::Vector,
        flops_per_s,
        how: "chains of multiply-adds in registers".into(),
    }
}
