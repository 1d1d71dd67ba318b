//! Matrix products by the vendor's library.

use anyhow::Result;

use super::DeviceOptions;
use super::arena::BufferMap;
use crate::device::driver::{
    AlgorithmSelection, Driver, DriverError, GemmOperands, GemmPlan, GemmPrecision, GemmSpec,
    OutputType, Stream,
};
use crate::targets::v4::buffers::{BufferHandle, Element};
use crate::targets::v4::operation::MatrixProduct;
use crate::targets::v4::schedule::Schedule;

/// An algorithm for each product of a schedule; products of equal shape share one.
pub struct Products {
    /// The plan of each node, if it has products.
    nodes: Vec<Option<ProductPlan>>,
    algorithms: Vec<GemmPlan>,
}

/// How the products of a node are computed: with one call each, or with a single call for all.
#[derive(Clone, Copy)]
struct ProductPlan {
    /// Index into [`Products::algorithms`].
    algorithm: usize,
    batched: bool,
}

impl Products {
    /// Chooses the algorithms. Products in all lanes have the same workspace as `stream`.
    pub fn new(
        driver: &Driver,
        stream: &Stream,
        schedule: &Schedule,
        places: &BufferMap<'_>,
        options: &DeviceOptions,
    ) -> Result<Self, DriverError> {
        let mut products = Products {
            nodes: Vec::with_capacity(schedule.nodes.len()),
            algorithms: Vec::new(),
        };
        for node in &schedule.nodes {
            let list = node.operation.products();
            let Some(first) = list.first() else {
                products.nodes.push(None);
                continue;
            };
            let output = match (options.precision, schedule.buffers.element(first.out)) {
                (GemmPrecision::Bf16, Element::Operand) => OutputType::Bf16,
                _ => OutputType::F32,
            };
            let spec = specification(first, options.precision, output);
            let mut choose = |spec| products.choose(driver, stream, spec, options.selection);
            // A library may not support a batch with such distances, but each product alone.
            let together = match batched(spec, list, places)? {
                Some(spec) => choose(spec).ok(),
                None => None,
            };
            let batched = together.is_some();
            let algorithm = together.map_or_else(|| choose(spec), Ok)?;
            products
                .nodes
                .push(Some(ProductPlan { algorithm, batched }));
        }
        Ok(products)
    }

    fn choose(
        &mut self,
        driver: &Driver,
        stream: &Stream,
        spec: GemmSpec,
        selection: AlgorithmSelection,
    ) -> Result<usize, DriverError> {
        let known = self.algorithms.iter().position(|plan| plan.spec == spec);
        if let Some(known) = known {
            return Ok(known);
        }
        self.algorithms
            .push(driver.plan_gemm(stream, spec, selection)?);
        Ok(self.algorithms.len() - 1)
    }

    /// Puts the products of node `index` into `stream`.
    pub fn run(
        &self,
        index: usize,
        products: &[MatrixProduct],
        places: &BufferMap<'_>,
        stream: &Stream,
    ) -> Result<(), DriverError> {
        let missing = || DriverError::Invalid(format!("no algorithm for node {index}"));
        let plan = self.nodes.get(index).copied().flatten();
        let plan = plan.ok_or_else(missing)?;
        let algorithm = self.algorithms.get(plan.algorithm).ok_or_else(missing)?;
        let calls = if plan.batched { 1 } else { products.len() };
        for product in products.iter().take(calls) {
            let [a, b] = [places.operand(product.a)?, places.operand(product.b)?];
            let (a, b) = (a.address(), b.address());
            let mut operands = GemmOperands::product(a, b, places.value(product.out)?.address());
            if let Some(addend) = product.addend {
                (operands.beta, operands.c) = (1.0, places.value(addend)?.address());
            }
            // SAFETY: the schedule's shapes are those of its buffers, which live as long as the executor. They start at
            // multiples of 128 bytes, and `batched` has checked the places of a batch.
            unsafe { algorithm.run(stream, &operands)? };
        }
        Ok(())
    }
}

/// Describes all of `products` as one call, if there are several and their matrices lie at equal distances.
fn batched(
    spec: GemmSpec,
    products: &[MatrixProduct],
    places: &BufferMap<'_>,
) -> Result<Option<GemmSpec>, DriverError> {
    if products.len() < 2 || products.iter().any(|product| product.addend.is_some()) {
        return Ok(None);
    }
    let distance =
        |handle: &dyn Fn(&MatrixProduct) -> BufferHandle, size: usize| -> Result<_, DriverError> {
            let products = products.iter();
            let addresses = products.map(|it| Ok(places.operand(handle(it))?.address().0));
            let addresses = addresses.collect::<Result<Vec<u64>, DriverError>>()?;
            let step = addresses[1].checked_sub(addresses[0]);
            let mut pairs = addresses.windows(2);
            let equal = pairs.all(|pair| pair[1].checked_sub(pair[0]) == step);
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

/// Describes a product to the vendor's library.
pub fn specification(
    product: &MatrixProduct,
    precision: GemmPrecision,
    output: OutputType,
) -> GemmSpec {
    let mut spec = GemmSpec::new(product.m, product.n, product.k, precision)
        .with_output(output)
        .adding(product.addend.is_some());
    if product.a_transposed {
        spec = spec.transpose_a();
    }
    if product.b_transposed {
        spec = spec.transpose_b();
    }
    spec
}
