//! The kernels that a command line selects.

/// The kernels that the command's other flags select.
pub struct KernelSelection<'a> {
    /// Operations; all if empty.
    pub operations: &'a [&'static str],
    /// `f32`, `bf16` or `f16`; all if not given.
    pub dtype: Option<&'static str>,
    pub json: bool,
}

impl KernelSelection<'_> {
    pub fn takes(&self, operation: &str, dtype: &str) -> bool {
        self.operations.contains(&operation) && self.dtype.is_none_or(|wanted| wanted == dtype)
    }
}
