//! Operations and bytes of a launch, counted from shapes.
//!
//! A multiply and an add are two operations. This project's kernels count as their descriptors say. Bytes count every
//! operand once and every result once, without caches. The least time of a launch is the larger of operations over the
//! device's rate and bytes over its bandwidth.

use super::buffers::{BufferHandle, Element};
use super::operation::{Attention, AttentionBackward, MatrixProduct, Operation};
use super::schedule::Schedule;
use crate::model::Part;
use crate::model::work::{Work, kernel_work};
use tinyllama_contract::targets::v4::ring_share;
use tinyllama_kernel_catalog::{adamw, cross_entropy, flash_attention, rmsnorm, rope, swiglu};

impl Schedule {
    /// Returns the work of node `index` if an operand of products takes `operand` bytes; zero for a missing node.
    pub fn work(&self, index: usize, operand: usize) -> Work {
        self.nodes.get(index).map_or(Work::default(), |node| Work {
            flops: self.flops(&node.operation),
            bytes: self.bytes(&node.operation, operand),
        })
    }

    /// Sums the work of each part of a step, in the order in which the parts begin.
    pub fn work_by_part(&self, operand: usize) -> Vec<(Part, Work)> {
        let mut parts: Vec<(Part, Work)> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let (part, work) = (node.counted_part(), self.work(index, operand));
            match parts.iter_mut().find(|(known, _)| *known == part) {
                Some((_, sum)) => *sum = *sum + work,
                None => parts.push((part, work)),
            }
        }
        parts
    }

    fn flops(&self, operation: &Operation) -> f64 {
        let config = &self.config;
        let [n, d] = [config.tokens(), config.hidden].map(|size| size as f64);
        let kernel = |kernel, pass| kernel_work(config, kernel, pass).flops;
        match operation {
            Operation::Lookup(_) | Operation::Normalize(_) => kernel(&rmsnorm::KERNEL, 0),
            Operation::MatrixProduct(_) | Operation::WeightGradients(_) => {
                operation.products().iter().map(MatrixProduct::flops).sum()
            }
            Operation::Attention(_) => {
                kernel(&flash_attention::KERNEL, 0) + kernel(&rope::KERNEL, 0)
            }
            Operation::AttentionBackward(_) => {
                kernel(&flash_attention::KERNEL, 1) + kernel(&rope::KERNEL, 1)
            }
            Operation::Activate(_) => kernel(&swiglu::KERNEL, 0),
            Operation::ActivateBackward(_) => kernel(&swiglu::KERNEL, 1),
            Operation::CrossEntropy(_) => kernel(&cross_entropy::KERNEL, 0),
            Operation::NormalizeBackward(_) => kernel(&rmsnorm::KERNEL, 1),
            Operation::FinishNorms(op) => (op.gradients.len() * self.partials()) as f64 * d,
            Operation::Scatter(_) => n * d,
            Operation::FinishLoss(_) => n,
            Operation::Sum(op) => ring_share(op.ranks) / 2.0 * op.elements() as f64,
            Operation::Gather(_) | Operation::Advance(_) => 0.0,
            Operation::UpdateOperation(op) => {
                let share = op.elements.len() as f64 / config.parameters() as f64;
                share * kernel(&adamw::KERNEL, 0)
            }
        }
    }

    fn bytes(&self, operation: &Operation, operand: usize) -> f64 {
        let config = &self.config;
        let rows = (config.tokens() * config.hidden * 4) as f64;
        let size = |handle: &BufferHandle| {
            let bytes = match self.buffers.element(*handle) {
                Element::Operand => operand,
                Element::F32 | Element::I32 => 4,
            };
            (self.buffers.elements(*handle, &self.layout) * bytes) as f64
        };
        let all = |handles: Vec<BufferHandle>| handles.iter().map(size).sum::<f64>();
        let moved = all(operation.reads()) + all(operation.writes());
        match operation {
            // Only the rows of the tokens are read from the table.
            Operation::Lookup(op) => moved - size(&op.table) + rows,
            Operation::Scatter(op) => {
                let of_table = (config.tokens() * config.hidden * operand) as f64;
                moved - 2.0 * size(&op.table_gradient) + 2.0 * of_table
            }
            // Rotated values are no further operand: in the backward pass they replace the same part of another one.
            Operation::Attention(Attention { rotated, .. })
            | Operation::AttentionBackward(AttentionBackward { rotated, .. }) => {
                moved - size(rotated)
            }
            // Counts one norm's part of the partial sums.
            Operation::NormalizeBackward(op) => {
                let share = size(&op.partials) / self.layout.norms() as f64;
                moved - size(&op.partials) + share
            }
            // Parameter, gradient and two moments are read, and all except the gradient are written. A copy for
            // products is also written, or, for matrices, half of the parameter.
            Operation::UpdateOperation(op) => {
                let matrices = self.layout.matrices();
                let start = op.elements.start.max(matrices.start);
                let in_halves = op.elements.end.min(matrices.end).saturating_sub(start);
                let copied = match operand < 4 {
                    true => (op.elements.len() - in_halves) * operand,
                    false => 0,
                };
                (op.elements.len() * (24 + operand) + copied) as f64
            }
            // Bytes that a GPU sends. It receives the same number at the same time.
            Operation::Sum(op) => {
                // A scattered sum is the first of the ring's two rounds, gathering is the second.
                let rounds = if op.scattered { 0.5 } else { 1.0 };
                rounds * ring_share(op.ranks) * (op.elements() * operand) as f64
            }
            Operation::Gather(op) => ring_share(op.ranks) / 2.0 * (op.elements() * operand) as f64,
            // Counts one number of the ring.
            Operation::FinishLoss(op) => size(&op.losses) + 4.0,
            _ => moved,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{ModelConfig, Preset};
    use crate::targets::v4::{Concurrency, Schedule, StepPhase};

    #[test]
    fn the_step_is_six_operations_a_parameter_and_token_and_the_update_dominates_bytes() {
        let config: ModelConfig = Preset::Small.config();
        let schedule = Schedule::new(&config, Concurrency::NONE);
        let works: Vec<_> = (0..schedule.nodes.len())
            .map(|index| (schedule.nodes[index].phase, schedule.work(index, 2)))
            .collect();
        let flops: f64 = works.iter().map(|(_, work)| work.flops).sum();
        let rule = 6.0 * config.tokens() as f64 * config.parameters() as f64;
        assert!((1.0..1.1).contains(&(flops / rule)), "{}", flops / rule);
        let update = works
            .iter()
            .filter(|(phase, _)| *phase == StepPhase::Optimizer);
        let bytes: f64 = update.map(|(_, work)| work.bytes).sum();
        let expected = 26.0 * config.parameters() as f64;
        assert!((1.0..1.01).contains(&(bytes / expected)), "{bytes}");
        assert!(works.iter().all(|(_, work)| work.bytes > 0.0));
        // What the schedule moves in 16 bits, and in f32.
        for (operand, gigabytes) in [(2, 2.12), (4, 3.25)] {
            let parts = schedule.work_by_part(operand);
            let bytes: f64 = parts.iter().map(|(_, work)| work.bytes).sum();
            assert!((bytes / 1e9 - gigabytes).abs() < 0.005, "{bytes}");
            assert_eq!(parts.len(), 2 * config.layers + 6, "{parts:?}");
        }
        assert_eq!(schedule.work(usize::MAX, 2), super::Work::default());
    }
}
