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
use crate::model::ultra::buffers::{Element, Handle};
use crate::model::ultra::operation::{Operation, Product};
use crate::model::ultra::schedule::Schedule;

/// An algorithm for each product of a schedule; equal products share one.
pub struct Products {
    plans: Vec<Option<Plan>>,
}

/// How the products of a node are computed.
enum Plan {
    /// One call each.
    Single(Rc<GemmPlan>),
    /// One call for all of them.
    Batched(Rc<GemmPlan>),
}

/// Chooses each algorithm once.
struct Chooser<'a> {
    driver: &'a Driver,
    stream: &'a Stream,
    options: &'a DeviceOptions,
    known: HashMap<GemmSpec, Rc<GemmPlan>>,
}

impl Chooser<'_> {
    fn plan(&mut self, spec: GemmSpec) -> Result<Rc<GemmPlan>, DriverError> {
        if let Some(plan) = self.known.get(&spec) {
            return Ok(Rc::clone(plan));
        }
        let plan = self
            .driver
            .plan_gemm(self.stream, spec, self.options.selection)?;
        let plan = Rc::new(plan);
        self.known.insert(spec, Rc::clone(&plan));
        Ok(plan)
    }
}

impl Products {
    /// Chooses the algorithms. Products of all lanes have the same workspace as `stream`.
    pub fn new(
        driver: &Driver,
        stream: &Stream,
        schedule: &Schedule,
        places: &Places<'_>,
        options: &DeviceOptions,
    ) -> Result<Self, DriverError> {
        let mut chooser = Chooser {
            driver,
            stream,
            options,
            known: HashMap::new(),
        };
        let mut plan = |products: &[Product]| -> Result<Option<Plan>, DriverError> {
            let Some(first) = products.first() else {
                return Ok(None);
            };
            let spec = specification(first, schedule, options.precision);
            if let Some(batched) = batched(spec, products, places)?
                && let Ok(plan) = chooser.plan(batched)
            {
                return Ok(Some(Plan::Batched(plan)));
            }
            Ok(Some(Plan::Single(chooser.plan(spec)?)))
        };
        let plans = schedule.nodes.iter().map(|node| match &node.operation {
            Operation::Product(product) => plan(std::slice::from_ref(product)),
            Operation::WeightGradients(products) => plan(products),
            _ => Ok(None),
        });
        Ok(Products {
            plans: plans.collect::<Result<_, _>>()?,
        })
    }

    /// Puts the products of node `index` into `stream`.
    pub fn run(
        &self,
        index: usize,
        products: &[Product],
        places: &Places<'_>,
        stream: &Stream,
    ) -> Result<(), DriverError> {
        let (plan, count) = match self.plans.get(index) {
            Some(Some(Plan::Single(plan))) => (plan, products.len()),
            Some(Some(Plan::Batched(plan))) => (plan, 1),
            _ => return Err(DriverError::Invalid(format!("no plan for node {index}"))),
        };
        for product in &products[..count] {
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
            // multiples of 128 bytes, and a batch is made of the places that `batched` has seen.
            unsafe { plan.run(stream, &operands)? };
        }
        Ok(())
    }
}

/// All of `products` as one call, where there are several and their matrices lie at equal distances.
fn batched(
    spec: GemmSpec,
    products: &[Product],
    places: &Places<'_>,
) -> Result<Option<GemmSpec>, DriverError> {
    if products.len() < 2 || products.iter().any(|product| product.addend.is_some()) {
        return Ok(None);
    }
    let distance = |handle: &dyn Fn(&Product) -> Handle, size: usize| -> Result<_, DriverError> {
        let addresses = products
            .iter()
            .map(|product| Ok(places.operand(handle(product))?.address().0))
            .collect::<Result<Vec<u64>, DriverError>>()?;
        let step = addresses[1].checked_sub(addresses[0]);
        let equal = addresses
            .windows(2)
            .all(|pair| pair[1].checked_sub(pair[0]) == step);
        let elements = step
            .and_then(|step| usize::try_from(step).ok())
            .filter(|step| equal && *step > 0 && step.is_multiple_of(size))
            .map(|step| step / size);
        Ok(elements)
    };
    let input = spec.precision.element_bytes();
    let output = spec.output.element_bytes();
    let distances = (
        distance(&|product| product.a, input)?,
        distance(&|product| product.b, input)?,
        distance(&|product| product.out, output)?,
    );
    Ok(match distances {
        (Some(a), Some(b), Some(d)) => Some(spec.batched(products.len(), a, b, d)),
        _ => None,
    })
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
