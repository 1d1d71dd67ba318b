use cubecl::CompilationError;
use thiserror::Error;
use tinyllama_kernels::KernelError;

/// The reason why there is no source.
#[derive(Debug, Error)]
pub enum SourceError {
    #[error(
        "the code generator does not know the architecture `{0}`; examples are gfx90a, gfx942, gfx1100 and sm_90"
    )]
    UnknownArchitecture(String),
    #[error("the device that records launches could not be set up: {0}")]
    Recorder(String),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error("cannot generate code for `{kernel}`: {reason}")]
    Compilation { kernel: String, reason: String },
}

/// Returns a compilation error without its stack trace.
pub(super) fn compilation_message(error: CompilationError) -> String {
    match error {
        CompilationError::Validation { reason, .. } | CompilationError::Generic { reason, .. } => {
            reason
        }
        CompilationError::ExpansionPanicked { message, .. } => message,
        other => other.to_string(),
    }
}
