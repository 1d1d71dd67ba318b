//! The numeric constants in which cuBLASLt and hipBLASLt differ, from `cublasLt.h` 13.10 and `hipblaslt.h`.

use std::ffi::c_int;

/// The constants of one library.
pub(super) struct Numbers {
    pub operation_plain: i32,
    pub operation_transposed: i32,
    pub transpose_a: c_int,
    pub transpose_b: c_int,
    pub batch_count: c_int,
    pub batch_stride: c_int,
    pub compute_f32: c_int,
    pub compute_tf32: c_int,
    /// `MIN_ALIGNMENT_A_BYTES` to `_D_BYTES`; empty if the library has none.
    pub alignments: &'static [c_int],
    /// Bytes of an algorithm, which is the first field of a heuristic result.
    pub algorithm_bytes: usize,
    /// Bytes of a heuristic result.
    pub result_bytes: usize,
    status_prefix: &'static str,
    pub status_names: &'static [(c_int, &'static str)],
}

pub(super) static CUBLAS: Numbers = Numbers {
    operation_plain: 0,
    operation_transposed: 1,
    transpose_a: 3,
    transpose_b: 4,
    batch_count: 5,
    batch_stride: 6,
    compute_f32: 68,
    compute_tf32: 77,
    alignments: &[5, 6, 7, 8],
    algorithm_bytes: 64,
    result_bytes: 96,
    status_prefix: "CUBLAS",
    status_names: CUBLAS_NAMES,
};

pub(super) static HIPBLAS: Numbers = Numbers {
    operation_plain: 111,
    operation_transposed: 112,
    transpose_a: 0,
    transpose_b: 1,
    batch_count: 0,
    batch_stride: 1,
    compute_f32: 2,
    compute_tf32: 6,
    alignments: &[],
    algorithm_bytes: 24,
    result_bytes: 56,
    status_prefix: "HIPBLAS",
    status_names: HIPBLAS_NAMES,
};

impl Numbers {
    /// Returns the library's own name of a status.
    pub fn status_name(&self, status: c_int) -> Option<String> {
        self.status_names
            .iter()
            .find(|(code, _)| *code == status)
            .map(|(_, name)| format!("{}_STATUS_{name}", self.status_prefix))
    }
}

/// `cublasStatus_t`.
const CUBLAS_NAMES: &[(c_int, &str)] = &[
    (1, "NOT_INITIALIZED"),
    (3, "ALLOC_FAILED"),
    (7, "INVALID_VALUE"),
    (8, "ARCH_MISMATCH"),
    (11, "MAPPING_ERROR"),
    (13, "EXECUTION_FAILED"),
    (14, "INTERNAL_ERROR"),
    (15, "NOT_SUPPORTED"),
    (16, "LICENSE_ERROR"),
];

/// `hipblasStatus_t`.
const HIPBLAS_NAMES: &[(c_int, &str)] = &[
    (1, "NOT_INITIALIZED"),
    (2, "ALLOC_FAILED"),
    (3, "INVALID_VALUE"),
    (4, "MAPPING_ERROR"),
    (5, "EXECUTION_FAILED"),
    (6, "INTERNAL_ERROR"),
    (7, "NOT_SUPPORTED"),
    (8, "ARCH_MISMATCH"),
    (9, "HANDLE_IS_NULLPTR"),
    (10, "INVALID_ENUM"),
    (11, "UNKNOWN"),
];
