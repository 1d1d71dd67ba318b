//! V4's matrix products by the library it takes and by burn's own, in one process and in turns.

use std::time::Instant;

use anyhow::{Context as _, Result};
use burn::tensor::{FloatDType, Tensor, TensorData};
use serde::Serialize;

use super::device::{CANDIDATES, UltraDevice};
use crate::device::OpenDevice;
use crate::device::driver::{
    Driver, GemmOperands, GemmPlan, GemmSpec, OutputType, Precision, Selection, Stream,
};
use crate::model::ultra::operation::Product;
use crate::model::ultra::{MatrixPrecision, Schedule, Spread, host};
use crate::train::Options;

/// Products of one measurement: started one after the other, waited for once.
const IN_A_ROW: usize = 20;

/// Measurements of each way, in turns; the least counts.
const ROUNDS: usize = 5;

/// Scratch memory of the vendor's library.
const WORKSPACE: usize = 32 << 20;

/// One shape of product.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProductTimes {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a_transposed: bool,
    pub b_transposed: bool,
    /// In a step.
    pub count: usize,
    pub flops: f64,
    /// V4's library, replayed from a graph; null on a CPU, which has none.
    pub captured_us: Option<f64>,
    /// V4's library, each product started from the host.
    pub launched_us: f64,
    /// burn's product, each started from the host; the first ones, which tune it, are not counted.
    pub burn_us: f64,
}

/// All shapes of a step.
#[derive(Clone, Debug, Serialize)]
pub struct ProductTable {
    pub device: String,
    /// What V4 takes here.
    pub library: String,
    /// What its operands are rounded to; burn's tuned product chooses by itself for f32.
    pub precision: String,
    pub products: Vec<ProductTimes>,
}

/// Times every product of V4's schedule both ways.
///
/// # Errors
/// What the device reports.
pub fn compare(
    options: &Options,
    ours: &UltraDevice,
    burn: &OpenDevice,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<ProductTable> {
    let kinds = Schedule::new(&options.config, Spread::SERIAL).products();
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
        device: ours.facts.name.clone(),
        library,
        precision: match ours.driver_if_any() {
            Some(_) => ours.precision(options)?.to_string(),
            None => "f32".into(),
        },
        products,
    })
}

fn time(
    product: &Product,
    count: usize,
    options: &Options,
    ours: &UltraDevice,
    burn: &OpenDevice,
) -> Result<ProductTimes> {
    let by_burn = ByBurn::new(product, options.operand_dtype, burn)?;
    // Compiles and tunes.
    by_burn.run()?;
    by_burn.run()?;
    let by_library = match ours.driver_if_any() {
        Some(driver) => ByLibrary::Vendor(Vendor::new(product, ours.precision(options)?, driver)?),
        None => ByLibrary::Host(Host::new(product)),
    };
    let mut by_library = by_library;
    by_library.run()?;
    let (mut launched, mut cubek) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        launched = launched.min(microseconds(|| by_library.run())?);
        cubek = cubek.min(microseconds(|| by_burn.run())?);
    }
    let number = |value: usize| value as f64;
    Ok(ProductTimes {
        m: product.m,
        n: product.n,
        k: product.k,
        a_transposed: product.a_transposed,
        b_transposed: product.b_transposed,
        count,
        flops: 2.0 * number(product.m) * number(product.n) * number(product.k),
        captured_us: match &by_library {
            ByLibrary::Vendor(vendor) => vendor.plan.measured_microseconds().map(f64::from),
            ByLibrary::Host(_) => None,
        },
        launched_us: launched,
        burn_us: cubek,
    })
}

/// Of one of [`IN_A_ROW`] products.
fn microseconds(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed().as_secs_f64() * 1e6 / IN_A_ROW as f64)
}

/// Rows and columns as an operand lies in memory.
fn stored(rows: usize, columns: usize, transposed: bool) -> [usize; 2] {
    if transposed {
        [columns, rows]
    } else {
        [rows, columns]
    }
}

/// Numbers between -1 and 1 that no two neighbours share: products of zeros are faster than others.
fn values(count: usize) -> Vec<f32> {
    (0..count)
        .map(|index| (index * 7919 % 2003) as f32 / 1001.0 - 1.0)
        .collect()
}

struct ByBurn {
    a: Tensor<2>,
    b: Tensor<2>,
    device: burn::tensor::Device,
}

impl ByBurn {
    fn new(product: &Product, dtype: FloatDType, open: &OpenDevice) -> Result<Self> {
        let device = open.device.clone();
        let operand = |rows, columns, transposed| {
            let shape = stored(rows, columns, transposed);
            let data = TensorData::new(values(rows * columns), shape);
            let tensor = Tensor::<2>::from_data(data, &device).cast(dtype);
            if transposed {
                tensor.transpose()
            } else {
                tensor
            }
        };
        let a = operand(product.m, product.k, product.a_transposed);
        let b = operand(product.k, product.n, product.b_transposed);
        device.sync()?;
        Ok(ByBurn { a, b, device })
    }

    fn run(&self) -> Result<()> {
        // Kept until the end: what nobody could read need not be computed.
        let results: Vec<Tensor<2>> = (0..IN_A_ROW)
            .map(|_| self.a.clone().matmul(self.b.clone()))
            .collect();
        self.device.sync()?;
        drop(results);
        Ok(())
    }
}

enum ByLibrary {
    Vendor(Vendor),
    Host(Host),
}

impl ByLibrary {
    fn run(&mut self) -> Result<()> {
        match self {
            ByLibrary::Vendor(vendor) => vendor.run(),
            ByLibrary::Host(host) => {
                host.run();
                Ok(())
            }
        }
    }
}

struct Vendor {
    // Dropped first: it waits for what uses the rest.
    stream: Stream,
    plan: GemmPlan,
    operands: GemmOperands,
    _memory: [crate::device::driver::Buffer; 3],
}

impl Vendor {
    fn new(product: &Product, precision: MatrixPrecision, driver: &Driver) -> Result<Self> {
        let (precision, output) = match precision {
            MatrixPrecision::F32 => (Precision::F32, OutputType::F32),
            MatrixPrecision::Tf32 => (Precision::Tf32, OutputType::F32),
            MatrixPrecision::Bf16 => (Precision::Bf16, OutputType::Bf16),
        };
        let mut spec =
            GemmSpec::new(product.m, product.n, product.k, precision).with_output(output);
        if product.a_transposed {
            spec = spec.transpose_a();
        }
        if product.b_transposed {
            spec = spec.transpose_b();
        }
        let stream = driver.stream(WORKSPACE)?;
        let candidates = Selection::Measured {
            candidates: CANDIDATES,
        };
        let plan = driver
            .plan_gemm(&stream, spec, candidates)
            .context("the vendor's library has no algorithm")?;
        let [a, b, d] = spec.bytes();
        let fill = |bytes: usize, size: usize| -> Result<_> {
            let buffer = driver.allocate(bytes)?;
            let numbers = values(bytes / size);
            if size == 2 {
                let upper = |value: &f32| (value.to_bits() >> 16) as u16;
                let halves: Vec<u16> = numbers.iter().map(upper).collect();
                stream.upload(buffer.whole(), &halves)?;
            } else {
                stream.upload(buffer.whole(), &numbers)?;
            }
            Ok(buffer)
        };
        let size = if precision == Precision::Bf16 { 2 } else { 4 };
        let memory = [fill(a, size)?, fill(b, size)?, driver.allocate(d)?];
        let operands = GemmOperands {
            alpha: 1.0,
            a: memory[0].address(),
            b: memory[1].address(),
            beta: 0.0,
            c: memory[2].address(),
            d: memory[2].address(),
        };
        Ok(Vendor {
            stream,
            plan,
            operands,
            _memory: memory,
        })
    }

    fn run(&self) -> Result<()> {
        for _ in 0..IN_A_ROW {
            // SAFETY: the operands are buffers of the specification's sizes, and live as long as the stream.
            unsafe { self.plan.run(&self.stream, &self.operands)? };
        }
        self.stream.synchronize()?;
        Ok(())
    }
}

struct Host {
    product: Product,
    a: Vec<f32>,
    b: Vec<f32>,
    out: Vec<f32>,
}

impl Host {
    fn new(product: &Product) -> Self {
        Host {
            product: Product {
                addend: None,
                ..*product
            },
            a: values(product.m * product.k),
            b: values(product.k * product.n),
            out: vec![0.0; product.m * product.n],
        }
    }

    fn run(&mut self) {
        for _ in 0..IN_A_ROW {
            host::product(&self.product, &self.a, &self.b, &mut self.out);
        }
    }
}
