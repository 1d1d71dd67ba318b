//! Recording the operations with their hand-written gradients.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, Backend};

use super::{AttentionSizes, KeyValueLayout, LibraryChoice, LlamaOps};

/// A tensor that no gradient flows through.
fn constant<B: Backend, C: CheckpointStrategy>(
    tensor: FloatTensor<B>,
) -> FloatTensor<Autodiff<B, C>> {
    FloatTensor::<Autodiff<B, C>>::new(tensor)
}

impl<B: LlamaOps, C: CheckpointStrategy> LlamaOps for Autodiff<B, C> {
    fn llama_rms_norm(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        epsilon: f32,
    ) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct RmsNorm;

        impl<B: LlamaOps> Backward<B, 2> for RmsNorm {
            type State = (FloatTensor<B>, FloatTensor<B>, f32);

            fn backward(
                self,
                ops: Ops<Self::State, 2>,
                gradients: &mut Gradients,
                _: &mut Checkpointer,
            ) {
                let (x, weight, epsilon) = ops.state;
                let gradient = gradients.consume::<B>(&ops.node);
                let (x, weight) = B::llama_rms_norm_gradient(x, weight, gradient, epsilon);
                let [x_node, weight_node] = ops.parents;
                if let Some(node) = x_node {
                    gradients.register::<B>(node.id, x);
                }
                if let Some(node) = weight_node {
                    gradients.register::<B>(node.id, weight);
                }
            }
        }

        let output = B::llama_rms_norm(x.primitive().clone(), weight.primitive().clone(), epsilon);
        match RmsNorm
            .prepare::<C>([x.node(), weight.node()])
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(operation) => {
                let state = (x.into_primitive(), weight.into_primitive(), epsilon);
                operation.finish(state, output)
            }
            OpsKind::UnTracked(operation) => operation.finish(output),
        }
    }

    fn llama_rms_norm_gradient(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        epsilon: f32,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let (x, weight) = B::llama_rms_norm_gradient(
            x.into_primitive(),
            weight.into_primitive(),
            gradient.into_primitive(),
            epsilon,
        );
        (constant::<B, C>(x), constant::<B, C>(weight))
    }

    fn llama_rms_norm_gradient_onto(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        passed: FloatTensor<Self>,
        epsilon: f32,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let (x, weight) = B::llama_rms_norm_gradient_onto(
            x.into_primitive(),
            weight.into_primitive(),
            gradient.into_primitive(),
            passed.into_primitive(),
            epsilon,
        );
        (constant::<B, C>(x), constant::<B, C>(weight))
    }

    fn llama_attention(
        qkv: FloatTensor<Self>,
        table: FloatTensor<Self>,
        sizes: AttentionSizes,
        layout: KeyValueLayout,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        #[derive(Debug)]
        struct Attention;

        #[derive(Clone, Debug)]
        struct Saved<B: Backend> {
            turned: FloatTensor<B>,
            table: FloatTensor<B>,
            output: FloatTensor<B>,
            log_sum_exp: FloatTensor<B>,
            sizes: AttentionSizes,
            layout: KeyValueLayout,
        }

        impl<B: LlamaOps> Backward<B, 1> for Attention {
            type State = Saved<B>;

            fn backward(
                self,
                ops: Ops<Self::State, 1>,
                gradients: &mut Gradients,
                _: &mut Checkpointer,
            ) {
                let saved = ops.state;
                let gradient = gradients.consume::<B>(&ops.node);
                let qkv = B::llama_attention_gradient(
                    saved.turned,
                    saved.table,
                    saved.output,
                    saved.log_sum_exp,
                    gradient,
                    saved.sizes,
                    saved.layout,
                );
                let [node] = ops.parents;
                if let Some(node) = node {
                    gradients.register::<B>(node.id, qkv);
                }
            }
        }

        let node = qkv.node();
        let table = table.into_primitive();
        let (output, turned, log_sum_exp) =
            B::llama_attention(qkv.into_primitive(), table.clone(), sizes, layout);
        let tracked = match Attention.prepare::<C>([node]).compute_bound().stateful() {
            OpsKind::Tracked(operation) => operation.finish(
                Saved {
                    turned: turned.clone(),
                    table,
                    output: output.clone(),
                    log_sum_exp: log_sum_exp.clone(),
                    sizes,
                    layout,
                },
                output,
            ),
            OpsKind::UnTracked(operation) => operation.finish(output),
        };
        (
            tracked,
            constant::<B, C>(turned),
            constant::<B, C>(log_sum_exp),
        )
    }

    fn llama_attention_gradient(
        turned: FloatTensor<Self>,
        table: FloatTensor<Self>,
        output: FloatTensor<Self>,
        log_sum_exp: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sizes: AttentionSizes,
        layout: KeyValueLayout,
    ) -> FloatTensor<Self> {
        constant::<B, C>(B::llama_attention_gradient(
            turned.into_primitive(),
            table.into_primitive(),
            output.into_primitive(),
            log_sum_exp.into_primitive(),
            gradient.into_primitive(),
            sizes,
            layout,
        ))
    }

    fn llama_library_attention(
        query: FloatTensor<Self>,
        key: FloatTensor<Self>,
        value: FloatTensor<Self>,
        choice: LibraryChoice,
    ) -> (
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
    ) {
        #[derive(Debug)]
        struct LibraryAttention;

        #[derive(Clone, Debug)]
        struct Saved<B: Backend> {
            query: FloatTensor<B>,
            key: FloatTensor<B>,
            value: FloatTensor<B>,
            output: FloatTensor<B>,
            log_sum_exp: FloatTensor<B>,
        }

        impl<B: LlamaOps> Backward<B, 3> for LibraryAttention {
            type State = Saved<B>;

            fn backward(
                self,
                ops: Ops<Self::State, 3>,
                gradients: &mut Gradients,
                _: &mut Checkpointer,
            ) {
                let saved = ops.state;
                let gradient = gradients.consume::<B>(&ops.node);
                let (query, key, value) = B::llama_library_attention_gradient(
                    saved.query,
                    saved.key,
                    saved.value,
                    saved.output,
                    saved.log_sum_exp,
                    gradient,
                );
                for (node, value) in ops.parents.into_iter().zip([query, key, value]) {
                    if let Some(node) = node {
                        gradients.register::<B>(node.id, value);
                    }
                }
            }
        }

        let nodes = [query.node(), key.node(), value.node()];
        let (output, log_sum_exp, query, key, value) = B::llama_library_attention(
            query.into_primitive(),
            key.into_primitive(),
            value.into_primitive(),
            choice,
        );
        let tracked = match LibraryAttention
            .prepare::<C>(nodes)
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(operation) => operation.finish(
                Saved {
                    query: query.clone(),
                    key: key.clone(),
                    value: value.clone(),
                    output: output.clone(),
                    log_sum_exp: log_sum_exp.clone(),
                },
                output,
            ),
            OpsKind::UnTracked(operation) => operation.finish(output),
        };
        let [log_sum_exp, query, key, value] =
            [log_sum_exp, query, key, value].map(constant::<B, C>);
        (tracked, log_sum_exp, query, key, value)
    }

    fn llama_library_attention_gradient(
        query: FloatTensor<Self>,
        key: FloatTensor<Self>,
        value: FloatTensor<Self>,
        output: FloatTensor<Self>,
        log_sum_exp: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let (query, key, value) = B::llama_library_attention_gradient(
            query.into_primitive(),
            key.into_primitive(),
            value.into_primitive(),
            output.into_primitive(),
            log_sum_exp.into_primitive(),
            gradient.into_primitive(),
        );
        (
            constant::<B, C>(query),
            constant::<B, C>(key),
            constant::<B, C>(value),
        )
    }

    fn llama_plain_product(lhs: FloatTensor<Self>, rhs: FloatTensor<Self>) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct Product;

        impl<B: LlamaOps> Backward<B, 2> for Product {
            type State = (FloatTensor<B>, FloatTensor<B>);

            fn backward(
                self,
                ops: Ops<Self::State, 2>,
                gradients: &mut Gradients,
                _: &mut Checkpointer,
            ) {
                // C = A B: dA = dC Bᵀ, dB = Aᵀ dC.
                let (lhs, rhs) = ops.state;
                let gradient = gradients.consume::<B>(&ops.node);
                let [lhs_node, rhs_node] = ops.parents;
                if let Some(node) = lhs_node {
                    let lhs = B::llama_plain_product(gradient.clone(), B::float_transpose(rhs));
                    gradients.register::<B>(node.id, lhs);
                }
                if let Some(node) = rhs_node {
                    let rhs = B::llama_plain_product(B::float_transpose(lhs), gradient);
                    gradients.register::<B>(node.id, rhs);
                }
            }
        }

        let nodes = [lhs.node(), rhs.node()];
        let (lhs, rhs) = (lhs.into_primitive(), rhs.into_primitive());
        let output = B::llama_plain_product(lhs.clone(), rhs.clone());
        match Product.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(operation) => operation.finish((lhs, rhs), output),
            OpsKind::UnTracked(operation) => operation.finish(output),
        }
    }

    fn llama_swiglu(gate_up: FloatTensor<Self>) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct Swiglu;

        impl<B: LlamaOps> Backward<B, 1> for Swiglu {
            type State = FloatTensor<B>;

            fn backward(
                self,
                ops: Ops<Self::State, 1>,
                gradients: &mut Gradients,
                _: &mut Checkpointer,
            ) {
                let gradient = gradients.consume::<B>(&ops.node);
                let gate_up = B::llama_swiglu_gradient(ops.state, gradient);
                let [node] = ops.parents;
                if let Some(node) = node {
                    gradients.register::<B>(node.id, gate_up);
                }
            }
        }

        let output = B::llama_swiglu(gate_up.primitive().clone());
        match Swiglu
            .prepare::<C>([gate_up.node()])
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(operation) => operation.finish(gate_up.into_primitive(), output),
            OpsKind::UnTracked(operation) => operation.finish(output),
        }
    }

    fn llama_swiglu_gradient(
        gate_up: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        constant::<B, C>(B::llama_swiglu_gradient(
            gate_up.into_primitive(),
            gradient.into_primitive(),
        ))
    }

    fn llama_swiglu_naive(
        x: FloatTensor<Self>,
        gate_weight: FloatTensor<Self>,
        up_weight: FloatTensor<Self>,
        products: LibraryChoice,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        #[derive(Debug)]
        struct SwigluNaive;

        #[derive(Clone, Debug)]
        struct Saved<B: Backend> {
            x: FloatTensor<B>,
            gate_weight: FloatTensor<B>,
            up_weight: FloatTensor<B>,
            gate: FloatTensor<B>,
            up: FloatTensor<B>,
            products: LibraryChoice,
        }

        impl<B: LlamaOps> Backward<B, 3> for SwigluNaive {
            type State = Saved<B>;

            fn backward(
                self,
                ops: Ops<Self::State, 3>,
                gradients: &mut Gradients,
                _: &mut Checkpointer,
            ) {
                let saved = ops.state;
                let gradient = gradients.consume::<B>(&ops.node);
                let (gate, up) = B::llama_swiglu_naive_gradient(saved.gate, saved.up, gradient);
                // y = silu(x Wg) · (x Wu): dx = dg Wgᵀ + du Wuᵀ, dWg = xᵀ dg, dWu = xᵀ du.
                let transposed = |matrix| B::float_swap_dims(matrix, 0, 1);
                let product = match saved.products {
                    LibraryChoice::Tuned => B::float_matmul,
                    LibraryChoice::Plain => B::llama_plain_product,
                };
                let columns = transposed(saved.x);
                let x = B::float_add(
                    product(gate.clone(), transposed(saved.gate_weight)),
                    product(up.clone(), transposed(saved.up_weight)),
                );
                let gate_weight = product(columns.clone(), gate);
                let up_weight = product(columns, up);
                for (node, value) in ops.parents.into_iter().zip([x, gate_weight, up_weight]) {
                    if let Some(node) = node {
                        gradients.register::<B>(node.id, value);
                    }
                }
            }
        }

        let nodes = [x.node(), gate_weight.node(), up_weight.node()];
        let (x, gate_weight, up_weight) = (
            x.into_primitive(),
            gate_weight.into_primitive(),
            up_weight.into_primitive(),
        );
        let (output, gate, up) =
            B::llama_swiglu_naive(x.clone(), gate_weight.clone(), up_weight.clone(), products);
        let tracked = match SwigluNaive.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(operation) => operation.finish(
                Saved {
                    x,
                    gate_weight,
                    up_weight,
                    gate: gate.clone(),
                    up: up.clone(),
                    products,
                },
                output,
            ),
            OpsKind::UnTracked(operation) => operation.finish(output),
        };
        (tracked, constant::<B, C>(gate), constant::<B, C>(up))
    }

    fn llama_swiglu_naive_gradient(
        gate: FloatTensor<Self>,
        up: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let (gate, up) = B::llama_swiglu_naive_gradient(
            gate.into_primitive(),
            up.into_primitive(),
            gradient.into_primitive(),
        );
        (constant::<B, C>(gate), constant::<B, C>(up))
    }

    fn llama_cross_entropy(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        #[derive(Debug)]
        struct CrossEntropy;

        impl<B: LlamaOps> Backward<B, 1> for CrossEntropy {
            type State = FloatTensor<B>;

            fn backward(
                self,
                ops: Ops<Self::State, 1>,
                gradients: &mut Gradients,
                _: &mut Checkpointer,
            ) {
                // `[1]`; stretched over the logits as `[1, 1]`.
                let upstream = gradients.consume::<B>(&ops.node);
                let upstream = B::float_reshape(upstream, [1, 1].into());
                let logits = B::float_mul(ops.state, upstream);
                let [node] = ops.parents;
                if let Some(node) = node {
                    gradients.register::<B>(node.id, logits);
                }
            }
        }

        let node = logits.node();
        let (loss, gradient) = B::llama_cross_entropy(logits.into_primitive(), targets);
        let tracked = match CrossEntropy.prepare::<C>([node]).compute_bound().stateful() {
            OpsKind::Tracked(operation) => operation.finish(gradient.clone(), loss),
            OpsKind::UnTracked(operation) => operation.finish(loss),
        };
        (tracked, constant::<B, C>(gradient))
    }
}
