//! Every kernel's passes on buffers of a model's sizes. What is in the buffers does not matter for the time.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::Sizes;
use crate::flash_attention::{self, FlashAttentionBlock, HeadView};
use crate::launch::F32;
use crate::{Cost, KernelError, adamw, add_rmsnorm, cross_entropy, rmsnorm, rope, swiglu};

type Launch = Box<dyn Fn(&Client) -> Result<(), KernelError>>;

/// One pass of one kernel, ready to be launched.
pub(super) struct Case {
    pub kernel: &'static str,
    pub pass: &'static str,
    pub cost: Cost,
    pub launch: Launch,
}

const EPSILON: f32 = 1e-6;

pub(super) fn all(client: &Client, sizes: &Sizes) -> Vec<Case> {
    let mut cases = norms(client, sizes);
    cases.push(rotary(client, sizes));
    cases.extend(attention(client, sizes));
    cases.extend(activation(client, sizes));
    cases.push(loss(client, sizes));
    cases.push(optimizer(client, sizes));
    cases
}

/// Room for `elements` zeros.
fn zeros(client: &Client, elements: usize) -> Handle {
    client.create_from_slice(&vec![0; elements * size_of::<f32>()])
}

fn norms(client: &Client, sizes: &Sizes) -> Vec<Case> {
    let shape = rmsnorm::Shape {
        rows: sizes.batch * sizes.sequence,
        width: sizes.heads * sizes.head_dim,
    };
    let dtypes = rmsnorm::Dtypes {
        activation: F32,
        weight: F32,
    };
    let block = rmsnorm::RmsNormBlock::for_device(client, shape);
    let room = || zeros(client, shape.rows * shape.width);
    let (x, y, residual, gradient) = (room(), room(), room(), room());
    let (weight, weight_gradient) = (zeros(client, shape.width), zeros(client, shape.width));
    let workspace = client.empty(rmsnorm::workspace_bytes(shape, &block));
    let buffers = (x.clone(), weight.clone(), y.clone());
    let forward: Launch = Box::new(move |client| {
        let (x, weight, y) = &buffers;
        let buffers = rmsnorm::Forward { x, weight, y };
        rmsnorm::forward(client, buffers, shape, EPSILON, dtypes, &block)
    });
    let buffers = (x.clone(), residual, weight.clone(), y.clone());
    let added: Launch = Box::new(move |client| {
        let (x, residual, weight, y) = &buffers;
        let buffers = add_rmsnorm::Forward {
            x,
            residual,
            weight,
            sum: None,
            y,
        };
        add_rmsnorm::forward(client, buffers, shape, EPSILON, dtypes, &block)
    });
    let backward: Launch = Box::new(move |client| {
        let buffers = rmsnorm::Backward {
            x: &x,
            weight: &weight,
            y_gradient: &y,
            passed: None,
            x_gradient: &gradient,
            weight_gradient: &weight_gradient,
            workspace: &workspace,
        };
        rmsnorm::backward(client, buffers, shape, EPSILON, dtypes, &block)
    });
    vec![
        case(
            "rmsnorm",
            "forward",
            rmsnorm::forward_cost(shape, dtypes),
            forward,
        ),
        case(
            "rmsnorm",
            "backward",
            rmsnorm::backward_cost(shape, dtypes),
            backward,
        ),
        case(
            "add_rmsnorm",
            "forward",
            add_rmsnorm::forward_cost(shape, dtypes),
            added,
        ),
    ]
}

fn case(kernel: &'static str, pass: &'static str, cost: Cost, launch: Launch) -> Case {
    Case {
        kernel,
        pass,
        cost,
        launch,
    }
}

fn rotary(client: &Client, sizes: &Sizes) -> Case {
    let shape = rope::Shape {
        batch: sizes.batch,
        seq: sizes.sequence,
        heads: sizes.heads + 2 * sizes.key_heads,
        turned: sizes.heads + sizes.key_heads,
        head_dim: sizes.head_dim,
        layout: rope::Layout::TokenMajor,
    };
    let x = zeros(
        client,
        sizes.batch * sizes.sequence * shape.heads * sizes.head_dim,
    );
    let table = zeros(client, sizes.sequence * sizes.head_dim);
    let block = rope::RopeBlock::for_device(client);
    let launch: Launch = Box::new(move |client| {
        let buffers = rope::Buffers {
            x: &x,
            table: &table,
            y: None,
        };
        rope::turn(client, buffers, shape, false, F32, &block)
    });
    case("rope", "each way", rope::cost(shape, F32), launch)
}

fn attention(client: &Client, sizes: &Sizes) -> [Case; 2] {
    let shape = flash_attention::Shape::new(
        sizes.batch,
        sizes.sequence,
        sizes.heads,
        sizes.key_heads,
        sizes.head_dim,
    );
    let view = |heads: usize| {
        let handle = zeros(
            client,
            sizes.batch * sizes.sequence * heads * sizes.head_dim,
        );
        HeadView::rows_first(handle, sizes.sequence, heads, sizes.head_dim)
    };
    let (heads, key_heads) = (sizes.heads, sizes.key_heads);
    let [query, output, output_gradient, query_gradient] = [(); 4].map(|()| view(heads));
    let [key, value, key_gradient, value_gradient] = [(); 4].map(|()| view(key_heads));
    let [log_sum_exp, delta] = [(); 2].map(|()| zeros(client, shape.statistics()));
    let block = FlashAttentionBlock::for_device(client, shape);
    let kept = (
        query.clone(),
        key.clone(),
        value.clone(),
        output.clone(),
        log_sum_exp.clone(),
    );
    let forward: Launch = Box::new(move |client| {
        let (query, key, value, output, log_sum_exp) = &kept;
        let tensors = flash_attention::Forward {
            query,
            key,
            value,
            output,
            log_sum_exp,
        };
        flash_attention::forward(client, tensors, shape, F32, &block)
    });
    let backward: Launch = Box::new(move |client| {
        let tensors = flash_attention::Backward {
            query: &query,
            key: &key,
            value: &value,
            output: &output,
            output_gradient: &output_gradient,
            log_sum_exp: &log_sum_exp,
            delta: &delta,
            query_gradient: &query_gradient,
            key_gradient: &key_gradient,
            value_gradient: &value_gradient,
        };
        flash_attention::backward(client, tensors, shape, F32, &block)
    });
    [
        case(
            "flash_attention",
            "forward",
            flash_attention::forward_cost(shape, F32),
            forward,
        ),
        case(
            "flash_attention",
            "backward",
            flash_attention::backward_cost(shape, F32),
            backward,
        ),
    ]
}

fn activation(client: &Client, sizes: &Sizes) -> [Case; 2] {
    let shape = swiglu::Shape {
        rows: sizes.batch * sizes.sequence,
        hidden: sizes.ffn,
    };
    let gate_up = zeros(client, 2 * shape.rows * shape.hidden);
    let gradient = zeros(client, 2 * shape.rows * shape.hidden);
    let y = zeros(client, shape.rows * shape.hidden);
    let block = swiglu::SwigluBlock::for_device(client);
    let kept = (gate_up.clone(), y.clone());
    let forward: Launch = Box::new(move |client| {
        let buffers = swiglu::Forward {
            gate_up: swiglu::GateUp::Packed(&kept.0),
            y: &kept.1,
        };
        swiglu::forward(client, buffers, shape, F32, &block)
    });
    let backward: Launch = Box::new(move |client| {
        let buffers = swiglu::Backward {
            gate_up: swiglu::GateUp::Packed(&gate_up),
            y_gradient: &y,
            gradient: Some(swiglu::GateUp::Packed(&gradient)),
        };
        swiglu::backward(client, buffers, shape, F32, &block)
    });
    [
        case(
            "swiglu",
            "forward",
            swiglu::forward_cost(shape, F32),
            forward,
        ),
        case(
            "swiglu",
            "backward",
            swiglu::backward_cost(shape, F32),
            backward,
        ),
    ]
}

fn loss(client: &Client, sizes: &Sizes) -> Case {
    let shape = cross_entropy::Shape {
        rows: sizes.batch * sizes.sequence,
        classes: sizes.vocabulary,
    };
    let dtypes = cross_entropy::Dtypes {
        logits: F32,
        targets: cubecl::ir::ElemType::Int(cubecl::ir::IntKind::I32),
    };
    let logits = zeros(client, shape.rows * shape.classes);
    let gradient = zeros(client, shape.rows * shape.classes);
    let [targets, losses] = [(); 2].map(|()| zeros(client, shape.rows));
    let block = cross_entropy::CrossEntropyBlock::for_device(client, shape);
    let launch: Launch = Box::new(move |client| {
        let buffers = cross_entropy::Fused {
            logits: &logits,
            targets: &targets,
            losses: &losses,
            gradient: Some(&gradient),
        };
        let scale = 1.0 / shape.rows as f32;
        cross_entropy::fused(client, buffers, shape, scale, dtypes, &block)
    });
    case(
        "cross_entropy",
        "both",
        cross_entropy::fused_cost(shape, dtypes),
        launch,
    )
}

fn optimizer(client: &Client, sizes: &Sizes) -> Case {
    let elements = sizes.parameters;
    let dtypes = adamw::Dtypes {
        gradient: F32,
        copy: F32,
    };
    let [value, gradient] = [(); 2].map(|()| zeros(client, elements));
    let moments = [(); 2].map(|()| zeros(client, adamw::state_elements([elements])));
    let block = adamw::AdamwBlock::for_device(client);
    let factors = adamw::Factors::new(
        &adamw::Hyperparameters {
            learning_rate: 3e-4,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.01,
        },
        1,
    );
    let launch: Launch = Box::new(move |client| {
        let parameter = adamw::Parameter {
            value: &value,
            gradient: &gradient,
            copy: None,
            elements,
        };
        let state = adamw::State {
            first_moment: &moments[0],
            second_moment: &moments[1],
        };
        let source = adamw::FactorSource::Values(factors);
        adamw::step(client, &[parameter], state, source, dtypes, &block).map(drop)
    });
    case("adamw", "update", adamw::cost(elements, 0, dtypes), launch)
}
