//! Times V4's matrix products by its library and by burn, in one process and in turns.

use std::time::Instant;

use anyhow::{Context as _, Result};
use burn::tensor::{Tensor, TensorData};
use serde::Serialize;
use tinyllama_kernels::binding::product as multiply;

use super::device::{specification, to_bf16};
use super::operation::MatrixProduct;
use super::platform::{CANDIDATES, Platform};
use super::{Concurrency, Schedule, host};
use crate::device::OpenDevice;
use crate::device::driver::{
    AlgorithmSelection, DeviceBuffer, Driver, GemmOperands, GemmPrecision,
};
use crate::train::{TrainingOptions, float_dtype, library_on};

/// Products per measurement: started one after the other, with one wait at the end.
const IN_A_ROW: usize = 20;

/// Measurements of each way, in turns; the shortest counts.
const ROUNDS: usize = 5;

/// Bytes of scratch memory for the vendor's library.
const WORKSPACE: usize = 32 << 20;

/// The shape of a matrix product.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProductTimes {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a_transposed: bool,
    pub b_transposed: bool,
    /// Number per step.
    pub count: usize,
    pub flops: f64,
    /// Microseconds with V4's library, replayed from a graph; null on a CPU, which has no graphs.
    pub captured_us: Option<f64>,
    /// Microseconds with V4's library, each product started from the host.
    pub launched_us: f64,
    /// Microseconds of burn's product, each started from the host. The first ones, which compile it, do not count.
    pub burn_us: f64,
}

/// All shapes of a step.
#[derive(Clone, Debug, Serialize)]
pub struct ProductTable {
    pub device: String,
    /// The library that V4 uses here.
    pub library: String,
    /// Type to which its operands are rounded. burn's tuned product may choose another for f32.
    pub precision: String,
    pub products: Vec<ProductTimes>,
}

/// Times every product of V4's schedule both ways.
///
/// # Errors
/// Errors of the device.
pub fn compare(
    options: &TrainingOptions,
    ours: &Platform,
    burn: &OpenDevice,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<ProductTable> {
    let kinds = Schedule::new(&options.config, Concurrency::NONE).products();
    let library = match ours.driver_if_any() {
        Some(driver) => driver.gemm_library()?,
        None => "the gemm crate".into(),
    };
    let mut products = Vec::new();
    for (index, (product, count)) in kinds.iter().enumerate() {
        progress(index + 1, kinds.len());
        products.push(time(product, *count, options, ours, burn)?);
    }
    Ok(ProductTable {
        device: ours.facts.device.clone(),
        library,
        precision: match ours.driver_if_any() {
            Some(_) => ours.precision(options)?.to_string(),
            None => "f32".into(),
        },
        products,
    })
}

fn time(
    product: &MatrixProduct,
    count: usize,
    options: &TrainingOptions,
    ours: &Platform,
    burn: &OpenDevice,
) -> Result<ProductTimes> {
    let mut by_burn = by_burn(product, options, burn)?;
    // These runs compile, and tune if that was requested.
    by_burn()?;
    by_burn()?;
    let (mut by_library, captured_us) = match ours.driver_if_any() {
        Some(driver) => by_vendor(product, ours.precision(options)?, driver)?,
        None => (on_host(product), None),
    };
    by_library()?;
    let (mut launched_us, mut burn_us) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        launched_us = launched_us.min(microseconds(&mut by_library)?);
        burn_us = burn_us.min(microseconds(&mut by_burn)?);
    }
    Ok(ProductTimes {
        m: product.m,
        n: product.n,
        k: product.k,
        a_transposed: product.a_transposed,
        b_transposed: product.b_transposed,
        count,
        flops: product.flops(),
        captured_us,
        launched_us,
        burn_us,
    })
}

/// Does a product [`IN_A_ROW`] times and waits for all.
type ProductRun = Box<dyn FnMut() -> Result<()>>;

/// Returns the microseconds of one product.
fn microseconds(work: &mut ProductRun) -> Result<f64> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed().as_secs_f64() * 1e6 / IN_A_ROW as f64)
}

/// Returns rows and columns of an operand in memory.
fn stored(rows: usize, columns: usize, transposed: bool) -> [usize; 2] {
    if transposed {
        [columns, rows]
    } else {
        [rows, columns]
    }
}

/// Returns numbers between -1 and 1 of which no two neighbours are equal: products of zeros are faster than others.
fn values(count: usize) -> Vec<f32> {
    (0..count)
        .map(|index| (index * 7919 % 2003) as f32 / 1001.0 - 1.0)
        .collect()
}

/// Prepares the kernel that versions 1 to 3 use for the product.
fn by_burn(
    product: &MatrixProduct,
    options: &TrainingOptions,
    open: &OpenDevice,
) -> Result<ProductRun> {
    let (device, dtype) = (open.device.clone(), float_dtype(options.operand_dtype()));
    let library = library_on(options, open.backend);
    let operand = |rows, columns, transposed| {
        let shape = stored(rows, columns, transposed);
        let data = TensorData::new(values(rows * columns), shape);
        let tensor = Tensor::<2>::from_data(data, &device).cast(dtype);
        match transposed {
            true => tensor.transpose(),
            false => tensor,
        }
    };
    let a = operand(product.m, product.k, product.a_transposed);
    let b = operand(product.k, product.n, product.b_transposed);
    device.sync()?;
    Ok(Box::new(move || {
        // Results are kept until the end, because burn need not compute a result that has no reader.
        let products = (0..IN_A_ROW).map(|_| multiply(a.clone(), b.clone(), library));
        let results: Vec<Tensor<2>> = products.collect();
        device.sync()?;
        drop(results);
        Ok(())
    }))
}

/// Prepares the vendor's product. Also returns the microseconds of one product that is replayed from a graph.
fn by_vendor(
    product: &MatrixProduct,
    precision: GemmPrecision,
    driver: &Driver,
) -> Result<(ProductRun, Option<f64>)> {
    // This product adds nothing, like burn's.
    let alone = MatrixProduct {
        addend: None,
        ..*product
    };
    let spec = specification(&alone, precision, precision.stored());
    let stream = driver.stream(WORKSPACE)?;
    let candidates = AlgorithmSelection::Measured {
        candidates: CANDIDATES,
    };
    let plan = driver
        .plan_gemm(&stream, spec, candidates)
        .context("the vendor's library has no algorithm")?;
    let captured = plan.measured_microseconds.map(f64::from);
    let [a, b, d] = spec.bytes();
    let size = precision.element_bytes();
    let fill = |bytes: usize| -> Result<_> {
        let buffer = driver.allocate(bytes)?;
        let numbers = values(bytes / size);
        if size == 2 {
            let halves: Vec<u16> = numbers.iter().map(|value| to_bf16(*value)).collect();
            stream.upload(buffer.as_slice(), &halves)?;
        } else {
            stream.upload(buffer.as_slice(), &numbers)?;
        }
        Ok(buffer)
    };
    let memory = [fill(a)?, fill(b)?, driver.allocate(d)?];
    let [a, b, d] = memory.each_ref().map(DeviceBuffer::address);
    let operands = GemmOperands::product(a, b, d);
    // The stream is dropped first, because it waits for the work that uses the rest.
    let kept = (stream, plan, memory);
    let run = move || {
        let (stream, plan, _memory) = &kept;
        for _ in 0..IN_A_ROW {
            // SAFETY: the operands are buffers of the specification's sizes, and live as long as the stream.
            unsafe { plan.run(stream, &operands)? };
        }
        Ok(stream.synchronize()?)
    };
    Ok((Box::new(run), captured))
}

fn on_host(product: &MatrixProduct) -> ProductRun {
    let product = MatrixProduct {
        addend: None,
        ..*product
    };
    let (a, b) = (values(product.m * product.k), values(product.k * product.n));
    let mut out = vec![0.0; product.m * product.n];
    Box::new(move || {
        for _ in 0..IN_A_ROW {
            host::product(&product, &a, &b, &mut out);
        }
        Ok(())
    })
}
