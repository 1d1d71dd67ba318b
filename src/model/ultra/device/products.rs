//! Matrix products by the vendor's library.

use std::collections::HashMap;
use std::rc::Rc;

use anyhow::Result;

use super::DeviceOptions;
use super::arena::Places;
use super::shape::MatrixPrecision;
use crate::device::driver::{
    Driver, DriverError, GemmOperands, GemmPlan, GemmSpec, OutputType, Precision, Stream,
};
use crate::model::ultra::buffers::Element;
use crate::model::ultra::operation::{Operation, Product};
use crate::model::ultra::schedule::Schedule;

/// An algorithm for each product of a schedule; equal products share one.
pub struct Products {
    plans: Vec<Option<Rc<GemmPlan>>>,
}

impl Products {
    /// Chooses the algorithms. Products of all lanes have the same workspace as `stream`.
    pub fn new(
        driver: &Driver,
        stream: &Stream,
        schedule: &Schedule,
        options: &DeviceOptions,
    ) -> Result<Self, DriverError> {
        let mut known: HashMap<GemmSpec, Rc<GemmPlan>> = HashMap::new();
        let mut plans = Vec::with_capacity(schedule.nodes.len());
        for node in &schedule.nodes {
            let Operation::Product(product) = &node.operation else {
                plans.push(None);
                continue;
            };
            let spec = specification(product, schedule, options.precision);
            let plan = match known.get(&spec) {
                Some(plan) => Rc::clone(plan),
                None => {
                    let plan = Rc::new(driver.plan_gemm(stream, spec, options.selection)?);
                    known.insert(spec, Rc::clone(&plan));
                    plan
                }
            };
            plans.push(Some(plan));
        }
        Ok(Products { plans })
    }

    /// Puts the product of node `index` into `stream`.
    pub fn run(
        &self,
        index: usize,
        product: &Product,
        places: &Places<'_>,
        stream: &Stream,
    ) -> Result<(), DriverError> {
        let Some(Some(plan)) = self.plans.get(index) else {
            return Err(DriverError::Invalid(format!("no plan for node {index}")));
        };
        let out = places.value(product.out)?.address();
        let operands = GemmOperands {
            alpha: 1.0,
            a: places.operand(product.a)?.address(),
            b: places.operand(product.b)?.address(),
            beta: if product.addend.is_some() { 1.0 } else { 0.0 },
            c: match product.addend {
                Some(addend) => places.value(addend)?.address(),
                None => out,
            },
            d: out,
        };
        // SAFETY: the schedule's shapes are those of its buffers, which live as long as the executor; they start at
        // multiples of 128 bytes.
        unsafe { plan.run(stream, &operands) }
    }
}

fn specification(product: &Product, schedule: &Schedule, precision: MatrixPrecision) -> GemmSpec {
    let (precision, output) = match precision {
        MatrixPrecision::F32 => (Precision::F32, OutputType::F32),
        MatrixPrecision::Tf32 => (Precision::Tf32, OutputType::F32),
        MatrixPrecision::Bf16 => match schedule.buffers.element(product.out) {
            Element::Operand => (Precision::Bf16, OutputType::Bf16),
            Element::F32 | Element::I32 => (Precision::Bf16, OutputType::F32),
        },
    };
    let mut spec = GemmSpec::new(product.m, product.n, product.k, precision).with_output(output);
    if product.a_transposed {
        spec = spec.transpose_a();
    }
    if product.b_transposed {
        spec = spec.transpose_b();
    }
    spec
}
