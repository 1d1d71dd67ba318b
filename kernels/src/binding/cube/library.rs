//! What burn's own kernel library offers and burn does not hand out: its attention with a backward pass, and a matrix product
//! that is not tuned.
//!
//! cubek-attention 0.3.1, as burn 0.22.1 calls it, has a forward pass only, and autodiff goes through the tape of the
//! materialised formula. The library's backward (`backward/launch`) is three kernels beside a prepass, one unit a row,
//! for contiguous f32 tensors with as many key as query heads; it reads a log-sum-exp that no forward kernel of the
//! library writes.

use burn::backend::ops::AttentionModuleOptions;
use burn::tensor::DType;
use burn_cubecl::kernel::attention::{AttentionStrategy, attention as run_attention};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::kernel::matmul::utils::init_matmul_output;
use burn_cubecl::tensor::CubeTensor;
use cubecl::ir::{ElemType, UIntKind};
use cubek::attention::backward::{BackwardConfig, flash_attention_backward};
use cubek::attention::forward::definition::AttentionGlobalTypes;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems};
use cubek::matmul::{launch::launch_ref, multi_level, strategy::Strategy};
use cubek::std::InputBinding;

use super::super::LibraryChoice;
use super::{check, element, empty};
use crate::flash_attention::{self, FlashAttentionBlock, HeadView, LogSumExp};
use crate::launch::F32;

/// See [`super::super::LlamaOps::llama_library_attention`].
pub(super) fn attention(
    query: CubeTensor,
    key: CubeTensor,
    value: CubeTensor,
    choice: LibraryChoice,
) -> (CubeTensor, CubeTensor, CubeTensor, CubeTensor, CubeTensor) {
    let [query, key, value] = [query, key, value].map(into_contiguous);
    let options = AttentionModuleOptions {
        is_causal: true,
        ..Default::default()
    };
    let strategy = match choice {
        LibraryChoice::Tuned => AttentionStrategy::default(),
        LibraryChoice::Plain => AttentionStrategy::FlashUnit,
    };
    let output = run_attention(
        query.clone(),
        key.clone(),
        value.clone(),
        None,
        None,
        options,
        strategy,
    )
    .unwrap_or_else(|error| panic!("the library's attention refuses these sizes: {error}"));
    let log_sum_exp = log_sum_exp(&query, &key);
    (output, log_sum_exp, query, key, value)
}

fn log_sum_exp(query: &CubeTensor, key: &CubeTensor) -> CubeTensor {
    let [batch, heads, sequence, head_dim] = query.meta.shape().dims();
    let shape = flash_attention::Shape::new(batch, sequence, heads, heads, head_dim);
    let result = empty(query, [batch, heads, sequence], DType::F32);
    let view = |tensor: &CubeTensor| {
        HeadView::heads_first(tensor.handle.clone(), sequence, heads, head_dim)
    };
    let tensors = LogSumExp {
        query: &view(query),
        key: &view(key),
        log_sum_exp: &result.handle,
    };
    let block = FlashAttentionBlock::for_device(&query.client, shape);
    check(flash_attention::log_sum_exp(
        &query.client,
        tensors,
        shape,
        element(query.dtype),
        &block,
    ));
    result
}

/// See [`super::super::LlamaOps::llama_library_attention_gradient`].
pub(super) fn attention_gradient(
    query: CubeTensor,
    key: CubeTensor,
    value: CubeTensor,
    output: CubeTensor,
    log_sum_exp: CubeTensor,
    gradient: CubeTensor,
) -> (CubeTensor, CubeTensor, CubeTensor) {
    let [query, key, value] = [query, key, value].map(into_contiguous);
    let [output, log_sum_exp, gradient] = [output, log_sum_exp, gradient].map(into_contiguous);
    for tensor in [&query, &key, &value, &output, &gradient] {
        assert!(
            tensor.dtype == DType::F32,
            "the library's attention has a backward pass for f32 only, not for {:?}",
            tensor.dtype
        );
    }
    let shape: [usize; 4] = query.meta.shape().dims();
    let results = [(); 3].map(|()| empty(&query, shape, DType::F32));
    let [query_gradient, key_gradient, value_gradient] =
        results.each_ref().map(|result| result.clone().binding());
    let config = BackwardConfig {
        causal: true,
        ..BackwardConfig::from_head_dim(shape[3])
    };
    let types = AttentionGlobalTypes::from_single_float_dtype(F32, ElemType::UInt(UIntKind::U8));
    let client = query.client.clone();
    flash_attention_backward(
        &client,
        query.binding(),
        key.binding(),
        value.binding(),
        output.binding(),
        log_sum_exp.binding(),
        gradient.binding(),
        query_gradient,
        key_gradient,
        value_gradient,
        &types,
        config,
    )
    .unwrap_or_else(|error| panic!("the library's attention backward failed: {error}"));
    let [query, key, value] = results;
    (query, key, value)
}

/// See [`super::super::LlamaOps::llama_plain_product`].
pub(super) fn plain_product(lhs: CubeTensor, rhs: CubeTensor) -> CubeTensor {
    let output = init_matmul_output(&lhs, &rhs, lhs.dtype);
    let dtype = element(lhs.dtype);
    let mut dtypes = MatmulElems::from_globals(&MatmulGlobalElems {
        lhs: dtype,
        rhs: dtype,
        out: dtype,
    });
    let client = lhs.client.clone();
    launch_ref(
        &Strategy::MultiLevel(multi_level::Strategy::Naive),
        &client,
        InputBinding::new(lhs.binding(), dtype),
        InputBinding::new(rhs.binding(), dtype),
        output.clone().binding(),
        &mut dtypes,
    )
    .unwrap_or_else(|error| panic!("the library's plain matrix product failed: {error:?}"));
    output
}
