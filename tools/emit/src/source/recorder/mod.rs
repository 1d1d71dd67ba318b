//! A device that compiles launched kernels to C++ and records the launches instead of running them.

mod server;

use std::collections::HashMap;
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU16, Ordering},
};

use cubecl::{prelude::*, server::Handle};
use cubecl_core::{device::DeviceId, environment::stream::StreamId};
use cubecl_runtime::memory_management::ManagedMemoryId;
use tinyllama_kernels::KernelError;

#[cfg(feature = "rocm")]
use super::CodeObject;
use super::{SourceArgument, SourceError, SourceLaunch, Target};
use server::RecordingServer;

/// Device type of recorders in cubecl's registry; no runtime uses it.
const DEVICE_TYPE: u16 = 0x7EC0;

/// Compiles the launches that `launches` makes on the client of [`Offline`] for `target`, in order.
///
/// # Errors
/// Errors of the launch functions, and kernels that have no C++ for this architecture.
pub fn record(
    target: &Target,
    launches: impl FnOnce(&Offline) -> Result<(), KernelError>,
) -> Result<Vec<SourceLaunch>, SourceError> {
    let device = Offline::open(target)?;
    device
        .tape(false, launches)?
        .into_iter()
        .map(|launch| device.finish(launch?))
        .collect()
}

/// Returns the code objects of the launches that `launches` makes on the client of [`Offline`] for an AMD `target`, in
/// order.
///
/// # Errors
/// As for [`record`], and kernels that cannot be lowered.
#[cfg(feature = "rocm")]
pub fn record_code_objects(
    target: &Target,
    launches: impl FnOnce(&Offline) -> Result<(), KernelError>,
) -> Result<Vec<CodeObject>, SourceError> {
    let device = Offline::open(target)?;
    device
        .tape(true, launches)?
        .into_iter()
        .filter_map(|launch| launch.map(|launch| launch.code_object).transpose())
        .collect()
}

/// A nonexistent device of a [`Target`], and names for its buffers.
pub struct Offline {
    client: Client,
    recorder: Arc<Recorder>,
    target: Target,
    names: Mutex<HashMap<ManagedMemoryId, String>>,
}

impl Offline {
    /// Returns the client on which to launch.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Creates a buffer of `bytes`. Arguments of launches refer to it by `name`.
    pub fn buffer(&self, name: &str, bytes: usize) -> Handle {
        let service = self.client.service_id();
        let handle = Handle::new(service, StreamId::current(), bytes as u64);
        let id = handle.clone().binding().memory.id();
        lock(&self.names).insert(id, name.to_string());
        handle
    }

    /// Opens the device of this target. A process has one per target, because cubecl keeps everything that it registers.
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

    /// Returns the launches that `launches` records, with code objects if `lowered`.
    fn tape(
        &self,
        lowered: bool,
        launches: impl FnOnce(&Offline) -> Result<(), KernelError>,
    ) -> Result<Vec<Result<UnnamedLaunch, SourceError>>, SourceError> {
        // Each device records one at a time, because launches from any thread reach its tape.
        let _alone = lock(&self.recorder.recording);
        self.recorder.lowered.store(lowered, Ordering::Relaxed);
        lock(&self.recorder.tape).clear();
        let launched = launches(self);
        // After an error, too: a launch that is still on its way would reach the next tape.
        let _ = self.client.flush();
        let tape = lock(&self.recorder.tape).drain(..).collect();
        launched.map(|()| tape).map_err(SourceError::from)
    }

    fn finish(&self, recorded: UnnamedLaunch) -> Result<SourceLaunch, SourceError> {
        let names = lock(&self.names);
        let mut arguments: Vec<SourceArgument> = recorded
            .buffers
            .iter()
            .enumerate()
            .map(|(position, (id, offset))| SourceArgument::Buffer {
                name: names
                    .get(id)
                    .cloned()
                    .unwrap_or_else(|| format!("buffer {position}")),
                offset: *offset,
            })
            .collect();
        if !recorded.info.is_empty() {
            arguments.push(SourceArgument::Info {
                words: recorded.info,
                by: self.target.info_passing(),
            });
        }
        Ok(SourceLaunch {
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

/// Recorded launches of a server, and the lock for recording.
#[derive(Debug, Default)]
struct Recorder {
    recording: Mutex<()>,
    tape: Mutex<Vec<Result<UnnamedLaunch, SourceError>>>,
    /// True if kernels also become code objects, which needs a build with LLVM.
    lowered: AtomicBool,
}

/// A launch whose buffers have no names yet.
#[derive(Debug)]
struct UnnamedLaunch {
    kernel: String,
    entry: String,
    source: String,
    cube_count: [u32; 3],
    cube_dim: [u32; 3],
    shared_memory_bytes: usize,
    buffers: Vec<(ManagedMemoryId, u64)>,
    info: Vec<u64>,
    #[cfg(feature = "rocm")]
    code_object: Option<CodeObject>,
}

/// A panic while a lock was held leaves no half-finished state here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use cubecl::ir::{ElemType, FloatKind};
    use tinyllama_kernel_catalog::StepSizes;
    use tinyllama_kernels::{BufferContent, BufferSource, CODE};

    use super::*;
    use crate::source::InfoPassing;

    const SIZES: StepSizes = StepSizes {
        batch: 1,
        sequence: 3,
        hidden: 64,
        layers: 1,
        heads: 1,
        key_heads: 1,
        ffn: 64,
        vocabulary: 64,
    };

    /// Hands out buffers whose first `unused` bytes, or whose last `missing` bytes, are left out.
    struct Cut<'a> {
        device: &'a Offline,
        unused: usize,
        missing: usize,
    }

    impl BufferSource for Cut<'_> {
        fn client(&self) -> &Client {
            self.device.client()
        }

        fn buffer(
            &mut self,
            name: &str,
            elements: usize,
            dtype: ElemType,
            _: BufferContent<'_>,
        ) -> Handle {
            let bytes = self.unused + elements * dtype.size() - self.missing;
            let whole = self.device.buffer(name, bytes);
            whole.offset_start(self.unused as u64)
        }
    }

    fn swiglu(
        target: &str,
        unused: usize,
        missing: usize,
    ) -> Result<Vec<SourceLaunch>, SourceError> {
        record(&Target::parse(target)?, |device| {
            let mut buffers = Cut {
                device,
                unused,
                missing,
            };
            let code = CODE.iter().find(|code| code.kernel.name == "swiglu");
            let dtype = ElemType::Float(FloatKind::F32);
            let launch = (code.unwrap().workload)(&mut buffers, &SIZES, dtype, None);
            launch("forward")
        })
    }

    /// A buffer bound for two parameters is one argument, offsets are kept, and the scalars come last.
    #[test]
    fn arguments_are_those_a_driver_passes() {
        let launches = swiglu("gfx90a", 64, 0).unwrap();
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
            SourceArgument::Buffer {
                name: "gate_up".into(),
                offset: 64
            }
        );
        assert_eq!(
            *y,
            SourceArgument::Buffer {
                name: "y".into(),
                offset: 64
            }
        );
        let SourceArgument::Info {
            words,
            by: InfoPassing::Pointer,
        } = info
        else {
            panic!("{info:?}");
        };
        // The number of vectors: 3 rows of 64 elements in vectors of four.
        assert_eq!(words[0] as u32, 48);
        let parameters = launch.source.split(&launch.entry).nth(1).unwrap();
        let parameters = &parameters[..parameters.find('{').unwrap()];
        assert_eq!(parameters.matches(',').count(), 2, "{parameters}");
    }

    #[test]
    fn a_refused_launch_leaves_nothing_behind() {
        let error = swiglu("gfx90a", 0, 4).unwrap_err();
        assert!(
            matches!(
                error,
                SourceError::Kernel(KernelError::BufferTooSmall { .. })
            ),
            "{error}"
        );
        assert_eq!(swiglu("gfx90a", 0, 0).unwrap().len(), 1);
    }

    /// Launches reach the tape from another thread, so those before an error are waited for.
    #[test]
    fn launches_before_an_error_are_not_on_the_next_tape() {
        let target = Target::hip("gfx1200").unwrap();
        let code = CODE.iter().find(|code| code.kernel.name == "swiglu");
        let workload = code.unwrap().workload;
        let dtype = ElemType::Float(FloatKind::F32);
        for round in 0..50 {
            let error = record(&target, |mut device| {
                let launch = workload(&mut device, &SIZES, dtype, None);
                launch("forward")?;
                launch("backward")?;
                Err(KernelError::Shape("swiglu", "after two launches".into()))
            });
            assert!(error.is_err());
            let next = record(&target, |_| Ok(())).unwrap();
            assert!(next.is_empty(), "round {round}: {}", next[0].kernel);
        }
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
