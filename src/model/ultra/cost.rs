//! What a launch must compute and move, counted from shapes.
//!
//! A multiply and an add are two operations; element-wise work is counted with one for each arithmetic operator of its
//! formula. Bytes are every operand once and every result once, caches not considered: the floor of a launch is the larger of
//! operations over the device's rate and bytes over its bandwidth.

use super::buffers::{Element, Handle};
use super::operation::{Operation, Product};
use super::schedule::Schedule;

/// Work of one launch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    pub flops: f64,
    pub bytes: f64,
}

impl Schedule {
    /// Work of node `index`, where an operand of products takes `operand` bytes; nothing for a node that is not there.
    pub fn cost(&self, index: usize, operand: usize) -> Cost {
        self.nodes.get(index).map_or(Cost::default(), |node| Cost {
            flops: self.flops(&node.operation),
            bytes: self.bytes(&node.operation, operand),
        })
    }

    fn flops(&self, operation: &Operation) -> f64 {
        let config = &self.config;
        let number = |value: usize| value as f64;
        let (n, d, f) = (
            number(config.tokens()),
            number(config.hidden),
            number(config.ffn),
        );
        let s = number(config.sequence_length);
        // Pairs of a query and a key it sees, over all heads.
        let pairs = number(config.batch_size * config.heads) * s * (s + 1.0) / 2.0;
        let head_dim = number(config.head_dim());
        let product =
            |product: &Product| 2.0 * number(product.m) * number(product.n) * number(product.k);
        match operation {
            // x², sum, · scale, · weight.
            Operation::Lookup { .. } | Operation::Normalize { .. } => 4.0 * n * d,
            Operation::Product(one) => product(one),
            Operation::WeightGradients(products) => products.iter().map(product).sum(),
            // Two products a pair, five backward; the softmax (4) between them.
            Operation::Attention { .. } => pairs * (4.0 * head_dim + 4.0),
            Operation::AttentionBackward { .. } => pairs * (10.0 * head_dim + 4.0),
            // silu is exp, add, divide, multiply; then the product with up.
            Operation::Activate { .. } => 5.0 * n * f,
            Operation::ActivateBackward { .. } => 11.0 * n * f,
            Operation::CrossEntropy { .. } => 6.0 * n * number(config.vocabulary),
            Operation::NormalizeBackward { .. } => 10.0 * n * d,
            Operation::FinishNorms { gradients, .. } => {
                number(gradients.len() * self.partials()) * d
            }
            Operation::Scatter { .. } => n * d,
            Operation::FinishLoss { .. } => n,
            Operation::Advance { .. } => 0.0,
            Operation::Update { elements, .. } => 14.0 * number(elements.len()),
        }
    }

    fn bytes(&self, operation: &Operation, operand: usize) -> f64 {
        let config = &self.config;
        let rows = (config.tokens() * config.hidden * 4) as f64;
        let size = |handle: &Handle| {
            let bytes = match self.buffers.element(*handle) {
                Element::Operand => operand,
                Element::F32 | Element::I32 => 4,
            };
            (self.buffers.elements(*handle, &self.layout) * bytes) as f64
        };
        let all = |handles: Vec<Handle>| handles.iter().map(size).sum::<f64>();
        match operation {
            // Of the table only the rows of the tokens.
            Operation::Lookup { table, .. } => {
                all(operation.reads()) - size(table) + rows + all(operation.writes())
            }
            Operation::Scatter { table_gradient, .. } => {
                let of_table = (config.tokens() * config.hidden * operand) as f64;
                all(operation.reads()) - size(table_gradient) + 2.0 * of_table
            }
            // Of the partial sums one norm's.
            Operation::NormalizeBackward { partials, .. } => {
                let share = size(partials) / self.layout.norms() as f64;
                all(operation.reads()) + all(operation.writes()) - size(partials) + share
            }
            // Parameter, gradient and two moments are read, all but the gradient written, and the copy.
            Operation::Update { elements, .. } => {
                let copy = if operand < 4 { operand } else { 0 };
                (elements.len() * (24 + operand + copy)) as f64
            }
            // Of the rings one number.
            Operation::FinishLoss { losses, .. } => size(losses) + 4.0,
            _ => all(operation.reads()) + all(operation.writes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::ultra::{Phase, Schedule, Spread};
    use crate::model::{ModelConfig, Preset};

    #[test]
    fn the_step_is_six_operations_a_parameter_and_token_and_the_update_dominates_bytes() {
        let config: ModelConfig = Preset::Small.config();
        let schedule = Schedule::new(&config, Spread::SERIAL);
        let costs: Vec<_> = (0..schedule.nodes.len())
            .map(|index| (schedule.nodes[index].phase, schedule.cost(index, 2)))
            .collect();
        let flops: f64 = costs.iter().map(|(_, cost)| cost.flops).sum();
        let rule = 6.0 * config.tokens() as f64 * config.parameters() as f64;
        assert!((1.0..1.1).contains(&(flops / rule)), "{}", flops / rule);
        let update = costs.iter().filter(|(phase, _)| *phase == Phase::Optimizer);
        let bytes: f64 = update.map(|(_, cost)| cost.bytes).sum();
        let expected = 28.0 * config.parameters() as f64;
        assert!((1.0..1.01).contains(&(bytes / expected)), "{bytes}");
        assert!(costs.iter().all(|(_, cost)| cost.bytes > 0.0));
        assert_eq!(schedule.cost(usize::MAX, 2), super::Cost::default());
    }
}
