//! Knowing which part of the model a launch belongs to.
//!
//! With fusion, an operation is recorded on the training thread and carried out later on the fusion server's thread,
//! many operations in one kernel. The server handles calls in order, so the current part is announced to it between
//! operations; each operation's outputs are noted with the part they were registered under, and a block of operations
//! belongs to the part most of them came from.

use std::collections::HashMap;
use std::sync::Arc;

use burn::backend::fusion::observer::{BlockOperations, FusionObservation, FusionObserver};
use burn::backend::ir::{OperationIr, TensorId};
use burn::tensor::Device;
use parking_lot::Mutex;

use crate::model::Part;
use crate::model::part::{self, ListenerGuard};

/// Where the server stands.
struct State {
    /// Part of the operations being registered.
    part: Part,
    /// Part each tensor's producing operation was registered under.
    producers: HashMap<TensorId, Part>,
    /// The block being carried out: its part and how many operations it covers.
    block: Option<(Part, usize)>,
}

struct Shared(Mutex<State>);

impl FusionObserver for Shared {
    fn registered(&self, operation: &OperationIr) {
        let mut state = self.0.lock();
        let part = state.part;
        for output in operation.outputs() {
            state.producers.insert(output.id, part);
        }
    }

    fn block_starts(&self, block: BlockOperations<'_>) {
        let mut state = self.0.lock();
        let mut votes: Vec<(Part, usize)> = Vec::new();
        let mut operations = 0;
        for operation in block.iter() {
            let Some(part) = operation
                .outputs()
                .next()
                .and_then(|output| state.producers.get(&output.id))
            else {
                continue;
            };
            operations += 1;
            match votes.iter_mut().find(|(voted, _)| voted == part) {
                Some((_, count)) => *count += 1,
                None => votes.push((*part, 1)),
            }
        }
        state.block = votes
            .into_iter()
            .max_by_key(|(_, count)| *count)
            .map(|(part, _)| (part, operations));
    }

    fn block_ran(&self) {
        self.0.lock().block = None;
    }
}

/// Follows the model's parts until dropped.
pub struct Attribution {
    shared: Arc<Shared>,
    _listener: ListenerGuard,
    _observation: FusionObservation,
}

impl Attribution {
    /// `device` must be idle: see [`FusionObservation`] on what lags.
    pub fn start(device: &Device) -> Self {
        let shared = Arc::new(Shared(Mutex::new(State {
            part: Part::Other,
            producers: HashMap::new(),
            block: None,
        })));
        let announced = shared.clone();
        let server = FusionServer::of(device);
        Attribution {
            _listener: part::listen(move |part| {
                let shared = announced.clone();
                server.in_order(move || shared.0.lock().part = part);
            }),
            _observation: FusionObservation::new(shared.clone()),
            shared,
        }
    }

    /// A function for launch observers: the part that is launching, and the operations fused into the launch.
    pub fn asker(&self) -> impl Fn() -> (Part, Option<usize>) + Send + Sync + 'static {
        let shared = self.shared.clone();
        move || {
            let state = shared.0.lock();
            match state.block {
                Some((part, operations)) => (part, Some(operations)),
                None => (state.part, None),
            }
        }
    }
}

#[cfg(any(feature = "vulkan", feature = "rocm", feature = "cuda"))]
use cube::FusionServer;
#[cfg(not(any(feature = "vulkan", feature = "rocm", feature = "cuda")))]
use host::FusionServer;

#[cfg(any(feature = "vulkan", feature = "rocm", feature = "cuda"))]
mod cube {
    use burn::backend::fusion::{Client, Fusion, FusionBackend, get_client};
    use burn::backend::{Cube, DispatchDevice};
    use burn::tensor::Device;

    /// The thread that carries operations out, or this one where nothing is queued.
    pub enum FusionServer {
        Queue(CubeClient),
        Direct,
    }

    type CubeClient = <Cube as InnerOf>::Client;

    /// Names the client of a fused backend without naming the backend inside, which burn does not export.
    pub trait InnerOf {
        type Client;
        type Device;
        fn client(device: &Self::Device) -> Self::Client;
    }

    impl<B: FusionBackend> InnerOf for Fusion<B> {
        type Client = Client<B::FusionRuntime>;
        type Device = burn::backend::tensor::Device<B>;
        fn client(device: &Self::Device) -> Self::Client {
            get_client::<B>(device)
        }
    }

    impl FusionServer {
        pub fn of(device: &Device) -> Self {
            match device.clone().inner().as_dispatch() {
                DispatchDevice::Cube(device) => FusionServer::Queue(Cube::client(device)),
                _ => FusionServer::Direct,
            }
        }

        /// Runs `task` after everything submitted so far, without forcing queued operations to run.
        pub fn in_order(&self, task: impl FnOnce() + Send) {
            match self {
                // A server that is gone fails the step itself, with a better message than one from here.
                FusionServer::Queue(client) => drop(client.run(task)),
                FusionServer::Direct => task(),
            }
        }
    }
}

#[cfg(not(any(feature = "vulkan", feature = "rocm", feature = "cuda")))]
mod host {
    use burn::tensor::Device;

    /// Nothing is queued in a build without GPU backends.
    pub struct FusionServer;

    impl FusionServer {
        pub fn of(_device: &Device) -> Self {
            FusionServer
        }

        pub fn in_order(&self, task: impl FnOnce()) {
            task();
        }
    }
}
