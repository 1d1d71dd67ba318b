//! The driver as its users hold it, and its accounts.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::api::DriverApi;
use super::cache::ModuleCache;
use super::{DeviceMemory, DriverError, Properties};

/// A device opened through its own driver. Clones are the same device.
///
/// It belongs to the thread that opened it, as do all handles made from it: the drivers keep the current device per
/// thread.
#[derive(Clone)]
pub struct Driver {
    pub(super) shared: Rc<Shared>,
}

pub(super) struct Shared {
    pub api: Box<dyn DriverApi>,
    pub cache: Option<ModuleCache>,
    pub accounts: Accounts,
    /// Failures while giving handles back, which `Drop` cannot return.
    failures: RefCell<Vec<DriverError>>,
}

/// Running sums, in cells: everything is on one thread.
#[derive(Default)]
pub(super) struct Accounts {
    allocated: Cell<usize>,
    peak: Cell<usize>,
    pinned: Cell<usize>,
    work: Cell<WorkCounts>,
}

/// Work handed to the driver since the device was opened.
///
/// What is captured into a graph is counted as `captured`, once, and not as launched: replaying it is one `graphs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkCounts {
    /// Kernels of our own launched from the host.
    pub kernels: u64,
    /// Calls of the matrix library; one may launch several kernels ([`GemmPlan::contents`] says how many).
    ///
    /// [`GemmPlan::contents`]: super::GemmPlan::contents
    pub gemms: u64,
    /// Copies and fills.
    pub transfers: u64,
    /// Graphs launched.
    pub graphs: u64,
    /// Kernels, multiplications, copies and fills that went into a capture.
    pub captured: u64,
}

impl WorkCounts {
    /// Calls from the host that put work on the device.
    pub fn host_launches(&self) -> u64 {
        self.kernels + self.gemms + self.transfers + self.graphs
    }

    /// What was added since `earlier`.
    pub fn since(&self, earlier: &WorkCounts) -> WorkCounts {
        WorkCounts {
            kernels: self.kernels - earlier.kernels,
            gemms: self.gemms - earlier.gemms,
            transfers: self.transfers - earlier.transfers,
            graphs: self.graphs - earlier.graphs,
            captured: self.captured - earlier.captured,
        }
    }
}

/// Memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    /// Device memory this driver holds now.
    pub allocated: usize,
    /// The most it held at once.
    pub peak: usize,
    /// Page-locked host memory it holds now.
    pub pinned: usize,
}

#[derive(Clone, Copy)]
pub(super) enum Work {
    Kernel,
    Gemm,
    Transfer,
    Graph,
}

impl Driver {
    /// `cache` keeps compiled modules between processes.
    pub(super) fn new(api: Box<dyn DriverApi>, cache: Option<ModuleCache>) -> Self {
        Driver {
            shared: Rc::new(Shared {
                api,
                cache,
                accounts: Accounts::default(),
                failures: RefCell::default(),
            }),
        }
    }

    pub fn properties(&self) -> &Properties {
        self.shared.api.properties()
    }

    /// Free and total memory of the device, every process and every library counted.
    pub fn device_memory(&self) -> Result<DeviceMemory, DriverError> {
        self.shared.api.memory()
    }

    /// What this driver's own buffers take. Code, graphs and the libraries' own memory are not in it.
    pub fn memory_use(&self) -> MemoryUse {
        let accounts = &self.shared.accounts;
        MemoryUse {
            allocated: accounts.allocated.get(),
            peak: accounts.peak.get(),
            pinned: accounts.pinned.get(),
        }
    }

    pub fn work(&self) -> WorkCounts {
        self.shared.accounts.work.get()
    }

    /// What failed while handles were given back, and forgets it. Empty on a healthy device.
    pub fn take_failures(&self) -> Vec<DriverError> {
        self.shared.failures.take()
    }
}

impl Shared {
    /// Notes a failure that nobody is there to receive.
    pub fn note(&self, result: Result<(), DriverError>) {
        if let Err(error) = result {
            self.failures.borrow_mut().push(error);
        }
    }
}

impl Accounts {
    pub fn take_memory(&self, bytes: usize) {
        let now = self.allocated.get() + bytes;
        self.allocated.set(now);
        self.peak.set(self.peak.get().max(now));
    }

    pub fn give_memory(&self, bytes: usize) {
        self.allocated.set(self.allocated.get() - bytes);
    }

    pub fn take_pinned(&self, bytes: usize) {
        self.pinned.set(self.pinned.get() + bytes);
    }

    pub fn give_pinned(&self, bytes: usize) {
        self.pinned.set(self.pinned.get() - bytes);
    }

    pub fn count(&self, work: Work, capturing: bool) {
        let mut counts = self.work.get();
        match work {
            _ if capturing => counts.captured += 1,
            Work::Kernel => counts.kernels += 1,
            Work::Gemm => counts.gemms += 1,
            Work::Transfer => counts.transfers += 1,
            Work::Graph => counts.graphs += 1,
        }
        self.work.set(counts);
    }
}
