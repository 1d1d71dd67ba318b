//! cubecl's other way to AMD GPUs: LLVM in this process makes a code object. This program's usual way passes C++ to hiprtc.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cubecl::hip::compiler::HipBackend;
use cubecl::hip::{HipCompilationOptions, HipCompiler, HipRepresentation};
use cubecl::{Compiler, ir::amd::GfxArch, prelude::KernelDefinition};

use super::Target;
use super::error::compilation_message;

/// A kernel as an ELF image that AMD's driver can load.
#[derive(Clone, Debug)]
pub struct CodeObject {
    /// The kernel function's name in `tinyllama-kernels`, such as `rmsnorm_forward`.
    pub kernel: String,
    /// Its symbol in the image.
    pub entry: String,
    pub image: Vec<u8>,
    /// Bytes of local memory that a launch has to request.
    pub shared_memory_bytes: usize,
}

/// Lowers a kernel for an AMD architecture.
pub(super) fn lower(
    definition: KernelDefinition,
    kernel: String,
    architecture: &str,
    target: &Target,
) -> Result<CodeObject, String> {
    let options = HipCompilationOptions {
        cpp: target.compilation_options(),
        arch: Some(GfxArch::parse(architecture)),
    };
    // The lowering may report an unsupported operation by a panic.
    let lowered = catch_unwind(AssertUnwindSafe(|| {
        HipCompiler::new(HipBackend::Llvm).compile(definition, &options)
    }));
    match lowered {
        Ok(Ok(HipRepresentation::Llvm(module))) => Ok(CodeObject {
            kernel,
            entry: module.entrypoint,
            image: module.code_object.to_vec(),
            shared_memory_bytes: module.shared_memory_size,
        }),
        Ok(Ok(HipRepresentation::Cpp(_))) => Err("it became C++".into()),
        Ok(Err(error)) => Err(compilation_message(error)),
        Err(_) => Err("the lowering to LLVM panicked".into()),
    }
}
