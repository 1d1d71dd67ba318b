//! The server behind the client: implements cubecl's interface of a device without one.

use std::sync::Arc;
#[cfg(feature = "rocm")]
use std::sync::atomic::Ordering;

use cubecl::{
    Compiler, define_kernel,
    future::DynFut,
    ir::TargetProperties,
    prelude::*,
    server::{
        BufferBinding, CopyDescriptor, Handle, IoError, KernelArguments, KernelResource,
        MemoryLayout, MemoryLayoutDescriptor, MemoryLayoutPolicy, ProfileError, ProfilingToken,
        Server, ServerCommunication, ServerError, ServerStorage, ServerUtilities,
    },
};
use cubecl_core::{
    bytes::Bytes,
    device::{DeviceId, DeviceService, ServerUtilitiesHandle, ServiceId},
    environment::{backtrace::BackTrace, stream::StreamId},
    profile::ProfileDuration,
    zspace::Strides,
};
use cubecl_cpp::{
    shared::{CompilationOptions, CppCompiler},
    target::{Cuda, Hip},
};
use cubecl_runtime::{
    dry_run::LaunchMode,
    logging::ServerLogger,
    memory_management::{ManagedMemoryHandle, MemoryAllocationMode, StreamMemoryReport},
    storage::{ComputeStorage, ManagedResource, StorageHandle, StorageId},
};

#[cfg(feature = "rocm")]
use super::super::code_object::{CodeObject, lower};
use super::super::error::compilation_message;
use super::super::target::Arch;
use super::super::{InfoPassing, SourceError, Target};
use super::{Recorder, UnnamedLaunch, lock};

/// Buffers have the alignment of real ones, in bytes.
const ALIGNMENT: u64 = 256;

/// The server behind the client.
#[derive(Debug)]
pub(super) struct RecordingServer {
    target: Target,
    options: CompilationOptions,
    recorder: Arc<Recorder>,
    logger: Arc<ServerLogger>,
    utilities: Arc<ServerUtilities>,
}

impl RecordingServer {
    pub fn new(id: DeviceId, target: &Target, recorder: Arc<Recorder>) -> RecordingServer {
        let logger = Arc::new(ServerLogger::default());
        let (utilities, _captures) = ServerUtilities::init(
            ServiceId::of::<RecordingServer>(id),
            "source",
            target.device_properties(),
            TargetProperties::default(),
            logger.clone(),
            Contiguous,
        );
        RecordingServer {
            target: target.clone(),
            options: target.compilation_options(),
            recorder,
            logger,
            utilities: Arc::new(utilities),
        }
    }

    fn compile(
        &self,
        kernel: &dyn CubeKernel,
        count: &CubeCount,
        arguments: KernelArguments,
    ) -> Result<UnnamedLaunch, String> {
        let CubeCount::Static(x, y, z) = count else {
            return Err("its grid is only known on the device".to_string());
        };
        let definition = define_kernel(kernel).map_err(compilation_message)?;
        let entry = definition.settings.kernel_name.clone();
        let dim = definition.settings.cube_dim;
        let compiled = match &self.target.architecture {
            Arch::Hip(_) => CppCompiler::<Hip>::default().compile(definition, &self.options),
            Arch::Cuda(_) => CppCompiler::<Cuda>::default().compile(definition, &self.options),
        }
        .map_err(compilation_message)?;
        #[cfg(feature = "rocm")]
        let code_object = self.lower(kernel)?;
        let info = arguments.info;
        if self.target.info_passing() == InfoPassing::Value
            && info.dynamic_metadata_offset < info.data.len()
        {
            return Err("it takes shapes of variable length".to_string());
        }
        let buffers = arguments
            .resources
            .iter()
            .map(|resource| match resource {
                KernelResource::Buffer(binding) => {
                    Ok((binding.memory.id(), binding.offset_start.unwrap_or(0)))
                }
                KernelResource::TensorMap(_) => Err("it takes a tensor map".to_string()),
            })
            .collect::<Result<_, _>>()?;
        Ok(UnnamedLaunch {
            kernel: short_name(kernel.name()),
            entry,
            cube_count: [*x, *y, *z],
            cube_dim: [dim.x, dim.y, dim.z],
            shared_memory_bytes: compiled.shared_memory_size,
            source: compiled.source,
            buffers,
            info: info.data,
            #[cfg(feature = "rocm")]
            code_object,
        })
    }

    /// Returns the kernel's code object if it is requested and the target is an AMD one.
    #[cfg(feature = "rocm")]
    fn lower(&self, kernel: &dyn CubeKernel) -> Result<Option<CodeObject>, String> {
        let wanted = self.recorder.lowered.load(Ordering::Relaxed);
        match &self.target.architecture {
            Arch::Hip(name) if wanted => {
                let definition = define_kernel(kernel).map_err(compilation_message)?;
                lower(definition, short_name(kernel.name()), name, &self.target).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Extracts `rmsnorm_forward` from `tinyllama_kernels::rmsnorm::kernels::rmsnorm_forward::RmsnormForward<…>`.
fn short_name(type_name: &str) -> String {
    let path = type_name.split('<').next().unwrap_or(type_name);
    let mut parts = path.rsplit("::");
    let last = parts.next().unwrap_or(path);
    parts.next().unwrap_or(last).to_string()
}

impl DeviceService for RecordingServer {
    fn init(id: DeviceId) -> RecordingServer {
        // This runs only if a client is loaded by its id instead of by `Offline::open`. The architecture is then
        // unknown, and the smallest common one serves.
        let target = Target::cuda(70).unwrap_or_else(|error| panic!("{error}"));
        RecordingServer::new(id, &target, Arc::default())
    }

    fn utilities(&self) -> ServerUtilitiesHandle {
        self.utilities.clone() as ServerUtilitiesHandle
    }
}

impl ServerCommunication for RecordingServer {}

impl Server for RecordingServer {
    fn initialize_memory(
        &mut self,
        _memory: ManagedMemoryHandle,
        _size: u64,
        _stream: StreamId,
    ) -> Result<(), ServerError> {
        Ok(())
    }

    fn logger(&self) -> Arc<ServerLogger> {
        self.logger.clone()
    }

    fn utilities(&self) -> Arc<ServerUtilities> {
        self.utilities.clone()
    }

    fn read(
        &mut self,
        _descriptors: Vec<CopyDescriptor>,
        _stream: StreamId,
    ) -> DynFut<Result<Vec<Bytes>, ServerError>> {
        Box::pin(std::future::ready(Err(no_memory().into())))
    }

    fn write(&mut self, _descriptors: Vec<(CopyDescriptor, Bytes)>, _stream: StreamId) {}

    fn sync(
        &mut self,
        _handles: Vec<BufferBinding>,
        _stream: StreamId,
    ) -> DynFut<Result<(), ServerError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn check(
        &mut self,
        _handles: Vec<BufferBinding>,
        _stream: StreamId,
    ) -> Result<(), ServerError> {
        Ok(())
    }

    unsafe fn launch(
        &mut self,
        kernel: Box<dyn CubeKernel>,
        count: CubeCount,
        arguments: KernelArguments,
        _stream: StreamId,
        _mode: LaunchMode,
    ) {
        let launch = self
            .compile(kernel.as_ref(), &count, arguments)
            .map_err(|reason| SourceError::Compilation {
                kernel: short_name(kernel.name()),
                reason,
            });
        lock(&self.recorder.tape).push(launch);
    }

    fn flush(&mut self, _stream: StreamId) -> Result<(), ServerError> {
        Ok(())
    }

    fn memory_report(&mut self, _stream: StreamId) -> Option<StreamMemoryReport> {
        None
    }

    fn memory_cleanup(&mut self, _stream: StreamId) -> Result<(), ServerError> {
        Ok(())
    }

    fn start_profile(&mut self, _stream: StreamId) -> Result<ProfilingToken, ServerError> {
        Err(ServerError::Generic {
            reason: "a device that does not exist cannot be timed".to_string(),
            backtrace: BackTrace::capture(),
        })
    }

    fn end_profile(
        &mut self,
        _stream: StreamId,
        _token: ProfilingToken,
    ) -> Result<ProfileDuration, ProfileError> {
        Err(ProfileError::NotRegistered {
            backtrace: BackTrace::capture(),
        })
    }

    fn allocation_mode(&mut self, _mode: MemoryAllocationMode, _stream: StreamId) {}
}

impl ServerStorage for RecordingServer {
    type Storage = NoStorage;

    fn get_resource(
        &mut self,
        _binding: BufferBinding,
        _stream: StreamId,
    ) -> Result<ManagedResource<()>, ServerError> {
        Err(no_memory().into())
    }
}

/// The storage of a device without memory.
pub(super) struct NoStorage;

impl ComputeStorage for NoStorage {
    type Resource = ();

    fn alignment(&self) -> usize {
        ALIGNMENT as usize
    }

    fn get(&mut self, _handle: &StorageHandle) -> Result<(), IoError> {
        Err(no_memory())
    }

    fn alloc(&mut self, _size: u64) -> Result<StorageHandle, IoError> {
        Err(no_memory())
    }

    fn dealloc(&mut self, _id: StorageId) {}

    fn flush(&mut self) {}

    fn bytes_allocated(&self) -> u64 {
        0
    }
}

fn no_memory() -> IoError {
    IoError::UnsupportedIoOperation {
        backtrace: BackTrace::capture(),
    }
}

/// Places buffers one after the other, each aligned.
struct Contiguous;

impl MemoryLayoutPolicy for Contiguous {
    fn apply(
        &self,
        service: ServiceId,
        stream: StreamId,
        descriptors: &[MemoryLayoutDescriptor],
    ) -> (Handle, Vec<MemoryLayout>) {
        let size = |descriptor: &MemoryLayoutDescriptor| {
            (descriptor.shape.iter().product::<usize>() * descriptor.elem_size) as u64
        };
        let total = descriptors
            .iter()
            .map(|descriptor| size(descriptor).next_multiple_of(ALIGNMENT))
            .sum();
        let base = Handle::new(service, stream, total);
        let mut start = 0;
        let layouts = descriptors
            .iter()
            .map(|descriptor| {
                let end = start + size(descriptor);
                let handle = base.clone().offset_start(start).offset_end(total - end);
                start = end.next_multiple_of(ALIGNMENT);
                MemoryLayout::new(handle, row_major(&descriptor.shape))
            })
            .collect();
        (base, layouts)
    }
}

fn row_major(shape: &[usize]) -> Strides {
    let mut strides = vec![1; shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim] * shape[dim];
    }
    strides.into_iter().collect()
}
