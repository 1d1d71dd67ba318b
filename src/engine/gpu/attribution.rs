//! Finds out which part of the model a launch belongs to.
//!
//! With fusion, the training thread records an operation and the fusion server's thread executes it later, many
//! operations in one kernel. The server handles calls in order, so the training thread announces the current part to it
//! between operations. The part under which an operation's outputs were registered is stored. A block of operations
//! belongs to the part from which most of them came.

use std::collections::HashMap;
use std::sync::Arc;

use burn::backend::fusion::observer::{BlockOperations, FusionObservation, FusionObserver};
use burn::backend::fusion::{Client, Fusion, FusionBackend, get_client};
use burn::backend::ir::{OperationIr, TensorId};
use burn::backend::{Cube, DispatchDevice};
use burn::tensor::Device;
use parking_lot::Mutex;

use crate::model::Part;
use crate::model::part::{self, ListenerGuard};

/// State of the fusion server.
struct FusionState {
    /// Part of the operations being registered.
    part: Part,
    /// Part under which each tensor's producing operation was registered.
    producers: HashMap<TensorId, Part>,
    /// The block that is being executed: its part and the number of its operations.
    block: Option<(Part, usize)>,
}

struct SharedState(Mutex<FusionState>);

impl FusionObserver for SharedState {
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

/// Follows the model's parts until it is dropped.
pub struct Attribution {
    shared: Arc<SharedState>,
    _listener: ListenerGuard,
    _observation: FusionObservation,
}

impl Attribution {
    /// `device` must be idle: [`FusionObservation`] explains what arrives late.
    pub fn start(device: &Device) -> Self {
        let shared = Arc::new(SharedState(Mutex::new(FusionState {
            part: Part::Other,
            producers: HashMap::new(),
            block: None,
        })));
        let announced = shared.clone();
        let server = FusionServer::from_device(device);
        Attribution {
            _listener: part::listen(move |part| {
                let shared = announced.clone();
                server.in_order(move || shared.0.lock().part = part);
            }),
            _observation: FusionObservation::new(shared.clone()),
            shared,
        }
    }

    /// Returns a function for launch observers. It gives the part that launches and the number of operations fused into
    /// the launch.
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

/// The thread that executes operations, or this thread if the backend queues nothing.
enum FusionServer {
    Queue(CubeClient),
    Direct,
}

type CubeClient = <Cube as InnerOf>::Client;

/// Names the client of a fused backend without naming the backend inside, which burn does not export.
trait InnerOf {
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
    fn from_device(device: &Device) -> Self {
        match device.clone().inner().as_dispatch() {
            DispatchDevice::Cube(device) => FusionServer::Queue(Cube::client(device)),
            _ => FusionServer::Direct,
        }
    }

    /// Runs `task` after everything submitted so far, without forcing queued operations to run.
    fn in_order(&self, task: impl FnOnce() + Send) {
        match self {
            // If the server is gone, the step itself fails with a better message than this place could give.
            FusionServer::Queue(client) => drop(client.run(task)),
            FusionServer::Direct => task(),
        }
    }
}
