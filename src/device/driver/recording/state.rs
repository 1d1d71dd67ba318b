//! The memory, the handles and the clock of the recording double.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::super::api::{Address, GemmOperands};
use super::super::gemm::{OutputType, Precision};
use super::super::{DriverError, GemmSpec, Launch, Vendor};
use super::HostKernel;
use crate::device::driver::reference;

type Result<T> = std::result::Result<T, DriverError>;

/// Says of a product whether the library refuses it.
pub(super) type GemmFilter = Rc<dyn Fn(&GemmSpec) -> bool>;

/// Device memory, on the host.
#[derive(Default)]
pub struct HostMemory {
    buffers: BTreeMap<u64, Vec<u8>>,
}

impl HostMemory {
    pub(super) fn insert(&mut self, address: u64, bytes: usize) {
        // Not zero, because a device's memory is not either.
        self.buffers.insert(address, vec![0xa5; bytes]);
    }

    pub(super) fn remove(&mut self, address: u64) -> Option<usize> {
        self.buffers.remove(&address).map(|bytes| bytes.len())
    }

    pub(super) fn total(&self) -> usize {
        self.buffers.values().map(Vec::len).sum()
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = u64> {
        self.buffers.keys().copied()
    }

    /// The buffer an address lies in.
    pub(super) fn buffer_of(&self, address: u64) -> Option<u64> {
        let (base, bytes) = self.buffers.range(..=address).next_back()?;
        (address < base + bytes.len() as u64).then_some(*base)
    }

    /// `count` bytes from `address` on; `None` where they are not all in one buffer.
    pub fn bytes(&mut self, address: u64, count: usize) -> Option<&mut [u8]> {
        let base = self.buffer_of(address)?;
        let offset = usize::try_from(address - base).ok()?;
        self.buffers
            .get_mut(&base)?
            .get_mut(offset..offset.checked_add(count)?)
    }

    pub fn floats(&mut self, address: u64, count: usize) -> Option<Vec<f32>> {
        let bytes = self.bytes(address, count * 4)?;
        let number = |bytes: &[u8]| f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Some(bytes.chunks_exact(4).map(number).collect())
    }

    pub fn set_floats(&mut self, address: u64, numbers: &[f32]) -> Option<()> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_ne_bytes()).collect();
        self.bytes(address, bytes.len())?.copy_from_slice(&bytes);
        Some(())
    }

    fn halves(&mut self, address: u64, count: usize) -> Option<Vec<f32>> {
        let bytes = self.bytes(address, count * 2)?;
        let number = |bytes: &[u8]| reference::from_bf16(u16::from_ne_bytes([bytes[0], bytes[1]]));
        Some(bytes.chunks_exact(2).map(number).collect())
    }

    fn set_halves(&mut self, address: u64, numbers: &[f32]) -> Option<()> {
        let bytes: Vec<u8> = numbers
            .iter()
            .flat_map(|n| reference::to_bf16(*n).to_ne_bytes())
            .collect();
        self.bytes(address, bytes.len())?.copy_from_slice(&bytes);
        Some(())
    }

    /// A product as the library computes it.
    pub(super) fn multiply(&mut self, spec: &GemmSpec, operands: &GemmOperands) -> Option<()> {
        let [a, b, d] = spec.bytes();
        let input = spec.precision.element_bytes();
        let output = spec.output.element_bytes();
        let read = |memory: &mut Self, address: Address, bytes: usize, half: bool| {
            if half {
                memory.halves(address.0, bytes / 2)
            } else {
                memory.floats(address.0, bytes / 4)
            }
        };
        let mut a = read(self, operands.a, a, input == 2)?;
        let mut b = read(self, operands.b, b, input == 2)?;
        let c = read(self, operands.c, d, output == 2)?;
        if spec.precision == Precision::Tf32 {
            for number in a.iter_mut().chain(&mut b) {
                *number = reference::to_tf32(*number);
            }
        }
        let product = reference::multiply(spec, operands.alpha, &a, &b, operands.beta, &c)?;
        let product: Vec<f32> = product.into_iter().map(|number| number as f32).collect();
        match spec.output {
            OutputType::F32 => self.set_floats(operands.d.0, &product),
            OutputType::Bf16 => self.set_halves(operands.d.0, &product),
        }
    }
}

/// Work in a stream.
#[derive(Clone)]
pub(super) enum Operation {
    /// From host memory at an address.
    Upload {
        to: u64,
        from: usize,
        bytes: usize,
    },
    /// To host memory at an address.
    Download {
        to: usize,
        from: u64,
        bytes: usize,
    },
    Copy {
        to: u64,
        from: u64,
        bytes: usize,
    },
    Fill {
        to: u64,
        pattern: Vec<u8>,
        count: usize,
    },
    Launch {
        function: usize,
        launch: Launch,
        arguments: Vec<u64>,
    },
    Gemm {
        gemm: usize,
        operands: GemmOperands,
    },
}

pub(super) struct Gemm {
    pub spec: GemmSpec,
    pub cost: f32,
}

/// A capture in progress.
pub(super) struct Capture {
    pub origin: usize,
    pub operations: Vec<Operation>,
    /// Streams that belong to it, with the number of things they have done in it.
    pub streams: BTreeMap<usize, usize>,
    /// Streams whose work nothing has waited for yet.
    pub unjoined: BTreeSet<usize>,
    pub broken: bool,
}

#[derive(Default)]
pub(super) struct Event {
    pub time: Option<f32>,
    /// The stream it was recorded in during a capture, and how far that was.
    pub captured: Option<(usize, usize)>,
}

pub(super) struct State {
    pub memory: HostMemory,
    pub calls: Vec<String>,
    pub problems: Vec<String>,
    pub failures: BTreeMap<&'static str, (usize, &'static str)>,
    pub kernels: BTreeMap<String, HostKernel>,
    pub gemm_costs: Vec<f32>,
    pub unsupported: Option<GemmFilter>,
    pub next: usize,
    pub clock: f32,
    pub pinned: BTreeMap<usize, usize>,
    pub streams: BTreeSet<usize>,
    pub events: BTreeMap<usize, Event>,
    /// Module to its code.
    pub modules: BTreeMap<usize, String>,
    /// Function to its module and name.
    pub functions: BTreeMap<usize, (usize, String)>,
    pub graphs: BTreeMap<usize, Vec<Operation>>,
    pub executables: BTreeMap<usize, Vec<Operation>>,
    pub gemms: BTreeMap<usize, Gemm>,
    pub capture: Option<Capture>,
}

impl State {
    pub fn new() -> Self {
        State {
            memory: HostMemory::default(),
            calls: vec![],
            problems: vec![],
            failures: BTreeMap::new(),
            kernels: BTreeMap::new(),
            gemm_costs: vec![1.0],
            unsupported: None,
            next: 1,
            clock: 0.0,
            pinned: BTreeMap::new(),
            streams: BTreeSet::new(),
            events: BTreeMap::new(),
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            graphs: BTreeMap::new(),
            executables: BTreeMap::new(),
            gemms: BTreeMap::new(),
            capture: None,
        }
    }

    pub fn handle(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    /// Records a call, which fails where a test has asked for it.
    pub fn enter(&mut self, call: &'static str) -> Result<()> {
        self.calls.push(call.to_owned());
        match self.failures.get_mut(call) {
            Some((0, name)) => {
                let name = *name;
                self.failures.remove(call);
                Err(refusal(call, name))
            }
            Some((successes, _)) => {
                *successes -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub fn problem(&mut self, call: &'static str, what: String) -> DriverError {
        self.problems.push(format!("{call}: {what}"));
        refusal(call, "CUDA_ERROR_INVALID_HANDLE")
    }

    /// What a capture does not allow breaks it.
    pub fn forbid_in_capture(&mut self, call: &'static str) -> Result<()> {
        match &mut self.capture {
            Some(capture) => {
                capture.broken = true;
                Err(refusal(call, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"))
            }
            None => Ok(()),
        }
    }

    /// Puts an operation into a stream: captured, or executed at once.
    pub fn put(&mut self, call: &'static str, stream: usize, operation: Operation) -> Result<()> {
        if !self.streams.contains(&stream) {
            return Err(self.problem(call, format!("stream {stream} is not alive")));
        }
        if let Some(capture) = &mut self.capture
            && let Some(done) = capture.streams.get_mut(&stream)
        {
            *done += 1;
            if stream != capture.origin {
                capture.unjoined.insert(stream);
            }
            capture.operations.push(operation);
            return Ok(());
        }
        self.execute(call, &operation)
    }

    pub fn execute(&mut self, call: &'static str, operation: &Operation) -> Result<()> {
        self.clock += match operation {
            Operation::Gemm { gemm, .. } => self.gemms.get(gemm).map_or(0.0, |gemm| gemm.cost),
            _ => 1.0,
        };
        match self.execute_on_memory(operation) {
            Some(()) => Ok(()),
            None => {
                self.problem(call, "an address or a handle that is not alive".into());
                Err(refusal(call, "CUDA_ERROR_ILLEGAL_ADDRESS"))
            }
        }
    }

    fn execute_on_memory(&mut self, operation: &Operation) -> Option<()> {
        match operation {
            Operation::Upload { to, from, bytes } => {
                // SAFETY: the safe layer gives host memory that is as long as it says.
                let source = unsafe { std::slice::from_raw_parts(*from as *const u8, *bytes) };
                self.memory.bytes(*to, *bytes)?.copy_from_slice(source);
            }
            Operation::Download { to, from, bytes } => {
                let source = self.memory.bytes(*from, *bytes)?;
                // SAFETY: as above.
                let target = unsafe { std::slice::from_raw_parts_mut(*to as *mut u8, *bytes) };
                target.copy_from_slice(source);
            }
            Operation::Copy { to, from, bytes } => {
                let source = self.memory.bytes(*from, *bytes)?.to_vec();
                self.memory.bytes(*to, *bytes)?.copy_from_slice(&source);
            }
            Operation::Fill { to, pattern, count } => {
                let target = self.memory.bytes(*to, pattern.len() * count)?;
                for place in target.chunks_exact_mut(pattern.len()) {
                    place.copy_from_slice(pattern);
                }
            }
            Operation::Launch {
                function,
                launch,
                arguments,
            } => {
                let (_, name) = self.functions.get(function)?;
                if let Some(kernel) = self.kernels.get(name).cloned() {
                    kernel(&mut self.memory, launch, arguments);
                }
            }
            Operation::Gemm { gemm, operands } => {
                let spec = self.gemms.get(gemm)?.spec;
                self.memory.multiply(&spec, operands)?;
            }
        }
        Some(())
    }

    /// Executes a graph, whose host memory must be pinned and alive.
    pub fn replay(&mut self, call: &'static str, operations: &[Operation]) -> Result<()> {
        for operation in operations {
            if let Operation::Upload {
                from: host, bytes, ..
            }
            | Operation::Download {
                to: host, bytes, ..
            } = operation
            {
                let pinned = self.pinned.range(..=host).next_back();
                if pinned.is_none_or(|(base, size)| host + bytes > base + size) {
                    return Err(
                        self.problem(call, "a copy with host memory that is not pinned".into())
                    );
                }
            }
            self.execute(call, operation)?;
        }
        Ok(())
    }

    /// Whether any graph that can still be launched uses what `uses` finds.
    pub fn executables_use(&self, uses: impl Fn(&State, &Operation) -> bool) -> bool {
        let mut operations = self.executables.values().flatten();
        operations.any(|operation| uses(self, operation))
    }

    pub fn alive(&self) -> Vec<String> {
        let kinds = [
            ("buffer", self.memory.addresses().count()),
            ("pinned buffer", self.pinned.len()),
            ("stream", self.streams.len()),
            ("event", self.events.len()),
            ("module", self.modules.len()),
            ("graph", self.graphs.len()),
            ("executable graph", self.executables.len()),
            ("gemm", self.gemms.len()),
            ("capture", usize::from(self.capture.is_some())),
        ];
        kinds
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect()
    }
}

impl Operation {
    /// Device addresses it names, as far as they can be told from other arguments.
    pub fn addresses(&self) -> Vec<u64> {
        match self {
            Operation::Upload { to, .. } | Operation::Fill { to, .. } => vec![*to],
            Operation::Download { from, .. } => vec![*from],
            Operation::Copy { to, from, .. } => vec![*to, *from],
            Operation::Launch { arguments, .. } => arguments.clone(),
            Operation::Gemm { operands, .. } => [operands.a, operands.b, operands.c, operands.d]
                .map(|place| place.0)
                .into(),
        }
    }
}

pub(super) fn refusal(call: &'static str, name: &str) -> DriverError {
    DriverError::Call {
        vendor: Vendor::Nvidia,
        call,
        code: 1,
        name: name.to_owned(),
        detail: None,
    }
}
