//! A device that compiles what is launched on it to C++ and keeps the launch instead of running it.

use std::collections::HashMap;
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU16, Ordering},
};

use cubecl::{
    CompilationError, Compiler, define_kernel,
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
    memory_management::{
        ManagedMemoryHandle, ManagedMemoryId, MemoryAllocationMode, StreamMemoryReport,
    },
    storage::{ComputeStorage, ManagedResource, StorageHandle, StorageId},
};

use super::target::Arch;
use super::{Argument, InfoPassing, Launch, SourceError, Target};
use crate::KernelError;

/// Device type of recorders in cubecl's registry; no runtime uses it.
const DEVICE_TYPE: u16 = 0x7EC0;

/// Buffers start where real ones do.
const ALIGNMENT: u64 = 256;

/// Compiles what `launches` launches on the client of [`Offline`] for `target`, in order.
///
/// # Errors
/// What the launch functions refuse, and kernels that have no C++ for this architecture.
pub fn record(
    target: &Target,
    launches: impl FnOnce(&Offline) -> Result<(), KernelError>,
) -> Result<Vec<Launch>, SourceError> {
    let device = Offline::open(target)?;
    // One recording at a time on each device: launches reach its tape from any thread.
    let _alone = lock(&device.recorder.recording);
    lock(&device.recorder.tape).clear();
    launches(&device)?;
    let _ = device.client.flush();
    lock(&device.recorder.tape)
        .drain(..)
        .map(|launch| device.finish(launch?))
        .collect()
}

/// A device of a [`Target`] that does not exist, and names for its buffers.
pub struct Offline {
    client: Client,
    recorder: Arc<Recorder>,
    target: Target,
    names: Mutex<HashMap<ManagedMemoryId, String>>,
}

impl Offline {
    /// The client to launch on.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// A buffer of `bytes`, that arguments of launches are called by.
    pub fn buffer(&self, name: &str, bytes: usize) -> Handle {
        let service = self.client.service_id();
        let handle = Handle::new(service, StreamId::current(), bytes as u64);
        let id = handle.clone().binding().memory.id();
        lock(&self.names).insert(id, name.to_string());
        handle
    }

    /// The device of this target: one a process, because cubecl keeps what it registers.
    fn open(target: &Target) -> Result<Offline, SourceError> {
        static OPEN: Mutex<Vec<(Target, Client, Arc<Recorder>)>> = Mutex::new(Vec::new());
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let mut open = lock(&OPEN);
        let known = open.iter().find(|(known, ..)| known == target);
        let (client, recorder) = match known {
            Some((_, client, recorder)) => (client.clone(), recorder.clone()),
            None => {
                let recorder = Arc::new(Recorder::default());
                let id = DeviceId::new(DEVICE_TYPE, NEXT.fetch_add(1, Ordering::Relaxed));
                let server = RecordingServer::new(id, target, recorder.clone());
                let client = Client::try_init(id, server)
                    .map_err(|error| SourceError::Recorder(format!("{error:?}")))?;
                open.push((target.clone(), client.clone(), recorder.clone()));
                (client, recorder)
            }
        };
        Ok(Offline {
            client,
            recorder,
            target: target.clone(),
            names: Mutex::default(),
        })
    }

    fn finish(&self, recorded: Recorded) -> Result<Launch, SourceError> {
        let names = lock(&self.names);
        let mut arguments: Vec<Argument> = recorded
            .buffers
            .iter()
            .enumerate()
            .map(|(position, (id, offset))| Argument::Buffer {
                name: names
                    .get(id)
                    .cloned()
                    .unwrap_or_else(|| format!("buffer {position}")),
                offset: *offset,
            })
            .collect();
        if !recorded.info.is_empty() {
            arguments.push(Argument::Info {
                words: recorded.info,
                by: self.target.info_passing(),
            });
        }
        Ok(Launch {
            kernel: recorded.kernel,
            entry: recorded.entry,
            source: recorded.source,
            cube_count: recorded.cube_count,
            cube_dim: recorded.cube_dim,
            shared_memory_bytes: recorded.shared_memory_bytes,
            arguments,
        })
    }
}

/// What a server records, and who may record.
#[derive(Debug, Default)]
struct Recorder {
    recording: Mutex<()>,
    tape: Mutex<Vec<Result<Recorded, SourceError>>>,
}

/// A launch with its buffers not yet named.
#[derive(Debug)]
struct Recorded {
    kernel: String,
    entry: String,
    source: String,
    cube_count: [u32; 3],
    cube_dim: [u32; 3],
    shared_memory_bytes: usize,
    buffers: Vec<(ManagedMemoryId, u64)>,
    info: Vec<u64>,
}

/// A panic while a lock was held leaves nothing half done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The server behind the client.
#[derive(Debug)]
struct RecordingServer {
    target: Target,
    options: CompilationOptions,
    recorder: Arc<Recorder>,
    logger: Arc<ServerLogger>,
    utilities: Arc<ServerUtilities>,
}

impl RecordingServer {
    fn new(id: DeviceId, target: &Target, recorder: Arc<Recorder>) -> RecordingServer {
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
    ) -> Result<Recorded, String> {
        let CubeCount::Static(x, y, z) = count else {
            return Err("its grid is only known on the device".to_string());
        };
        let definition = define_kernel(kernel).map_err(message)?;
        let entry = definition.settings.kernel_name.clone();
        let dim = definition.settings.cube_dim;
        let compiled = match self.target.architecture() {
            Arch::Hip(_) => CppCompiler::<Hip>::default().compile(definition, &self.options),
            Arch::Cuda(_) => CppCompiler::<Cuda>::default().compile(definition, &self.options),
        }
        .map_err(message)?;
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
        Ok(Recorded {
            kernel: short_name(kernel.name()),
            entry,
            cube_count: [*x, *y, *z],
            cube_dim: [dim.x, dim.y, dim.z],
            shared_memory_bytes: compiled.shared_memory_size,
            source: compiled.source,
            buffers,
            info: info.data,
        })
    }
}

/// A compilation error without the stack it was made on.
fn message(error: CompilationError) -> String {
    match error {
        CompilationError::Validation { reason, .. } | CompilationError::Generic { reason, .. } => {
            reason
        }
        CompilationError::ExpansionPanicked { message, .. } => message,
        other => other.to_string(),
    }
}

/// `rmsnorm_forward` of `tinyllama_kernels::rmsnorm::kernels::rmsnorm_forward::RmsnormForward<…>`.
fn short_name(type_name: &str) -> String {
    let path = type_name.split('<').next().unwrap_or(type_name);
    let mut parts = path.rsplit("::");
    let last = parts.next().unwrap_or(path);
    parts.next().unwrap_or(last).to_string()
}

impl DeviceService for RecordingServer {
    fn init(id: DeviceId) -> RecordingServer {
        // Reached only where a client is loaded by its id instead of by `Offline::open`; no architecture is known then,
        // and the smallest common one serves.
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
struct NoStorage;

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

/// Buffers one after the other, each aligned.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{launch::F32, swiglu};

    const SHAPE: swiglu::Shape = swiglu::Shape {
        rows: 3,
        hidden: 64,
    };

    fn packed(target: &str, first: usize) -> Result<Vec<Launch>, SourceError> {
        record(&Target::parse(target)?, |device| {
            let whole = device.buffer("gate_up", (first + 2 * 3 * 64) * 4);
            let gate_up = whole.offset_start(first as u64 * 4);
            let y = device.buffer("y", 3 * 64 * 4);
            let block = swiglu::SwigluBlock::for_device(device.client());
            let buffers = swiglu::Forward {
                gate_up: swiglu::GateUp::Packed(&gate_up),
                y: &y,
            };
            swiglu::forward(device.client(), buffers, SHAPE, F32, &block)
        })
    }

    /// A buffer bound for two parameters is one argument, offsets are kept, and the scalars come last.
    #[test]
    fn arguments_are_those_a_driver_passes() {
        let launches = packed("gfx90a", 16).unwrap();
        let [launch] = &launches[..] else {
            panic!("one launch, not {}", launches.len());
        };
        assert_eq!(launch.kernel, "swiglu_forward");
        assert_eq!(
            (launch.cube_count, launch.cube_dim),
            ([1, 1, 1], [256, 1, 1])
        );
        let [gate_up, y, info] = &launch.arguments[..] else {
            panic!("{:?}", launch.arguments);
        };
        assert_eq!(
            *gate_up,
            Argument::Buffer {
                name: "gate_up".into(),
                offset: 64
            }
        );
        assert_eq!(
            *y,
            Argument::Buffer {
                name: "y".into(),
                offset: 0
            }
        );
        let Argument::Info {
            words,
            by: InfoPassing::Pointer,
        } = info
        else {
            panic!("{info:?}");
        };
        // The count of vectors: 3 rows of 64 elements in fours.
        assert_eq!(words[0] as u32, 48);
        let parameters = launch.source.split(&launch.entry).nth(1).unwrap();
        let parameters = &parameters[..parameters.find('{').unwrap()];
        assert_eq!(parameters.matches(',').count(), 2, "{parameters}");
    }

    #[test]
    fn a_refused_launch_leaves_nothing_behind() {
        let target = Target::hip("gfx90a").unwrap();
        let error = record(&target, |device| {
            let small = device.buffer("small", 4);
            let block = swiglu::SwigluBlock::for_device(device.client());
            let buffers = swiglu::Forward {
                gate_up: swiglu::GateUp::Packed(&small),
                y: &small,
            };
            swiglu::forward(device.client(), buffers, SHAPE, F32, &block)
        })
        .unwrap_err();
        assert!(
            matches!(
                error,
                SourceError::Kernel(KernelError::BufferTooSmall { .. })
            ),
            "{error}"
        );
        assert_eq!(packed("gfx90a", 0).unwrap().len(), 1);
    }

    #[test]
    fn memory_of_no_device_cannot_be_read() {
        let target = Target::hip("gfx1100").unwrap();
        record(&target, |device| {
            let handle = device.client().empty(16);
            assert!(device.client().read_one(handle).is_err());
            Ok(())
        })
        .unwrap();
    }
}
