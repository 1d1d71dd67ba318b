//! Matrix products by the vendor's library.

use anyhow::Result;

use super::DeviceOptions;
use super::arena::Places;
use super::shape::MatrixPrecision;
use crate::device::driver::{
    Driver, DriverError, GemmOperands, GemmPlan, GemmSpec, OutputType, Precision, Selection, Stream,
};
use crate::model::ultra::buffers::{Element, Handle};
use crate::model::ultra::operation::{Operation, Product};
use crate::model::ultra::schedule::Schedule;

/// Algorithms of a kind of product that are tried in the step itself.
const ALTERNATIVES: usize = 4;

/// Algorithms for the products of a schedule.
pub struct Products {
    /// Of each node: which of `choices` its products take.
    nodes: Vec<Option<Plan>>,
    choices: Vec<Choice>,
}

/// How the products of a node are computed: by one call each, or by one for all of them.
#[derive(Clone, Copy)]
struct Plan {
    choice: usize,
    batched: bool,
}

/// The algorithms that were tried for one kind of product, the fastest by itself first, and the one in use.
struct Choice {
    spec: GemmSpec,
    plans: Vec<GemmPlan>,
    chosen: usize,
}

impl Products {
    /// Tries algorithms for every kind of product. Those of all lanes have the same workspace as `stream`.
    pub fn new(
        driver: &Driver,
        stream: &Stream,
        schedule: &Schedule,
        places: &Places<'_>,
        options: &DeviceOptions,
    ) -> Result<Self, DriverError> {
        let mut products = Products {
            nodes: Vec::with_capacity(schedule.nodes.len()),
            choices: Vec::new(),
        };
        for node in &schedule.nodes {
            let list = match &node.operation {
                Operation::Product(product) => std::slice::from_ref(product),
                Operation::WeightGradients(products) => products,
                _ => &[],
            };
            let Some(first) = list.first() else {
                products.nodes.push(None);
                continue;
            };
            let spec = specification(first, schedule, options.precision);
            let mut choose = |spec| products.choice(driver, stream, spec, options.selection);
            // A library may not do what lies at such distances; one by one it may.
            let together = match batched(spec, list, places)? {
                Some(spec) => choose(spec).ok(),
                None => None,
            };
            let plan = match together {
                Some(choice) => Plan {
                    choice,
                    batched: true,
                },
                None => Plan {
                    choice: choose(spec)?,
                    batched: false,
                },
            };
            products.nodes.push(Some(plan));
        }
        Ok(products)
    }

    fn choice(
        &mut self,
        driver: &Driver,
        stream: &Stream,
        spec: GemmSpec,
        selection: Selection,
    ) -> Result<usize, DriverError> {
        if let Some(known) = self.choices.iter().position(|choice| choice.spec == spec) {
            return Ok(known);
        }
        let mut plans = driver.rank_gemms(stream, spec, selection)?;
        plans.truncate(ALTERNATIVES);
        self.choices.push(Choice {
            spec,
            plans,
            chosen: 0,
        });
        Ok(self.choices.len() - 1)
    }

    /// How many algorithms each kind of product has to choose from.
    pub fn alternatives(&self) -> Vec<usize> {
        self.choices
            .iter()
            .map(|choice| choice.plans.len())
            .collect()
    }

    /// Which algorithm a kind of product uses.
    pub fn chosen(&self, kind: usize) -> usize {
        self.choices.get(kind).map_or(0, |choice| choice.chosen)
    }

    /// Lets a kind of product use another of its algorithms.
    pub fn choose(&mut self, kind: usize, algorithm: usize) {
        if let Some(choice) = self.choices.get_mut(kind) {
            choice.chosen = algorithm.min(choice.plans.len() - 1);
        }
    }

    /// Puts the products of node `index` into `stream`.
    pub fn run(
        &self,
        index: usize,
        products: &[Product],
        places: &Places<'_>,
        stream: &Stream,
    ) -> Result<(), DriverError> {
        let missing = || DriverError::Invalid(format!("no algorithm for node {index}"));
        let plan = self
            .nodes
            .get(index)
            .copied()
            .flatten()
            .ok_or_else(missing)?;
        let choice = self.choices.get(plan.choice).ok_or_else(missing)?;
        let algorithm = choice.plans.get(choice.chosen).ok_or_else(missing)?;
        let calls = if plan.batched { 1 } else { products.len() };
        for product in products.iter().take(calls) {
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
            unsafe { algorithm.run(stream, &operands)? };
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
