//! Allocates buffers for given sizes and launches every pass on them.

use tinyllama_kernel_catalog::flash_attention::{AttentionShape, KERNEL};

use super::block::FlashAttentionBlock;
use super::check;
use super::launch::{backward, forward};
use super::view::HeadView;
use crate::launch::F32;
use crate::workload::KernelCode;

/// Queries, keys and values are columns of one projection, as in the model.
pub(crate) const CODE: KernelCode = KernelCode {
    kernel: &KERNEL,
    workload: |source, sizes, dtype, tile| {
        let client = source.client().clone();
        let shape = AttentionShape::from_sizes(sizes);
        let block = FlashAttentionBlock::new(&client, shape, tile);
        let all = shape.tokens() * shape.width();
        let [query, key, value] = HeadView::fused(&source.input("qkv", all, dtype), shape);
        let gradient = source.output("qkv_gradient", all, dtype);
        let [query_gradient, key_gradient, value_gradient] = HeadView::fused(&gradient, shape);
        let [output, output_gradient] = ["output", "output_gradient"].map(|name| {
            let handle = source.input(name, shape.query_elements(), dtype);
            HeadView::rows_first(&handle, shape, shape.heads)
        });
        let [sums, delta] =
            ["log_sum_exp", "delta"].map(|name| source.output(name, shape.statistics(), F32));
        Box::new(move |pass| match pass {
            "forward" => {
                let views = [&query, &key, &value, &output];
                forward(&client, views, &sums, shape, dtype, &block)
            }
            _ => {
                let upstream = &output_gradient;
                let [dq, dk, dv] = [&query_gradient, &key_gradient, &value_gradient];
                let views = [&query, &key, &value, &output, upstream, dq, dk, dv];
                let statistics = [&sums, &delta];
                backward(&client, views, statistics, shape, dtype, &block)
            }
        })
    },
    check: check::check,
};
