//! The driver's public handle, and its counts of work and memory.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::c_int;
use std::rc::Rc;

use super::cache::ModuleCache;
use super::calls::Calls;
use super::matrices::MatrixLibrary;
use super::rtc::RuntimeCompiler;
use super::{DriverError, Properties, Result, Vendor};

/// A device opened through its vendor's driver. Clones are the same device.
///
/// It belongs to the thread that opened it, as do all handles made from it, because the drivers keep the current device
/// per thread.
#[derive(Clone)]
pub struct Driver {
    pub(super) shared: Rc<DriverState>,
}

pub(super) struct DriverState {
    /// The driver's companion libraries, loaded at first use.
    compiler: OnceCell<Result<RuntimeCompiler>>,
    matrices: OnceCell<Result<MatrixLibrary>>,
    pub calls: Calls,
    device: c_int,
    pub properties: Properties,
    pub cache: Option<ModuleCache>,
    pub accounts: Accounts,
    /// Failures while handles were freed, which `Drop` cannot return.
    failures: RefCell<Vec<DriverError>>,
}

/// Running sums, in cells because everything is on one thread.
#[derive(Default)]
pub(super) struct Accounts {
    memory: Cell<DriverMemory>,
    work: Cell<WorkCounts>,
}

/// Work handed to the driver since the device was opened.
///
/// Work captured into a graph counts once, as `captured`, and not as launched. Each replay of the graph counts in
/// `graphs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkCounts {
    /// Our own kernels launched from the host.
    pub kernels: u64,
    /// Calls of the matrix library. One call may launch several kernels; [`GemmPlan::contents`] has their number.
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
    /// Returns the number of calls from the host that put work on the device.
    pub fn host_launches(&self) -> u64 {
        self.kernels + self.gemms + self.transfers + self.graphs
    }
}

/// Memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriverMemory {
    /// Device memory that this driver holds now.
    pub allocated: usize,
    /// The most device memory that it has held at once.
    pub peak: usize,
    /// Page-locked host memory that it holds now.
    pub pinned: usize,
}

#[derive(Clone, Copy)]
pub(super) enum WorkKind {
    Kernel,
    Gemm,
    Transfer,
    Graph,
}

/// Free and total memory of the device in bytes, counting every process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    pub free: u64,
    pub total: u64,
}

impl Driver {
    /// Opens device `index` and makes it this thread's current one. `cache` keeps compiled modules between processes.
    ///
    /// # Errors
    /// Fails if the driver, the device or a function of the driver is missing.
    pub fn open(vendor: Vendor, index: usize, cache: Option<ModuleCache>) -> Result<Self> {
        let calls = Calls::load(vendor)?;
        let device = calls.device(index)?;
        let properties = Properties::query(&calls, device)?;
        calls.make_current(device)?;
        Ok(Driver {
            shared: Rc::new(DriverState {
                compiler: OnceCell::new(),
                matrices: OnceCell::new(),
                calls,
                device,
                properties,
                cache,
                accounts: Accounts::default(),
                failures: RefCell::default(),
            }),
        })
    }

    pub fn properties(&self) -> &Properties {
        &self.shared.properties
    }

    /// Returns free and total memory of the device, counting every process and every library.
    pub fn device_memory(&self) -> Result<DeviceMemory> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers to the results are valid for writing.
        unsafe { self.shared.calls.memory(&mut free, &mut total)? };
        Ok(DeviceMemory {
            free: free as u64,
            total: total as u64,
        })
    }

    /// Returns the memory of this driver's own buffers. It excludes code, graphs and the libraries' memory.
    pub fn memory_use(&self) -> DriverMemory {
        self.shared.accounts.memory.get()
    }

    /// Restarts the peak from the memory that is held now.
    pub fn forget_peak(&self) {
        self.shared.accounts.change(|memory| memory.peak = 0);
    }

    pub fn work(&self) -> WorkCounts {
        self.shared.accounts.work.get()
    }

    /// Returns why compiled modules are not kept for the next process; `None` if they are.
    pub fn cache_error(&self) -> Option<&String> {
        self.shared.cache.as_ref()?.error()
    }

    /// Returns and clears the failures that occurred while handles were freed. Empty on a healthy device.
    pub fn take_failures(&self) -> Vec<DriverError> {
        self.shared.failures.take()
    }
}

impl DriverState {
    /// Returns the compiler that belongs to the driver.
    pub fn compiler(&self) -> Result<&RuntimeCompiler> {
        self.compiler
            .get_or_init(|| RuntimeCompiler::load(&self.properties))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Returns the matrix library that belongs to the driver.
    pub fn matrices(&self) -> Result<&MatrixLibrary> {
        self.matrices
            .get_or_init(|| MatrixLibrary::load(&self.properties))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Stores a failure that no caller can receive.
    pub fn note(&self, result: Result<()>) {
        if let Err(error) = result {
            self.failures.borrow_mut().push(error);
        }
    }
}

impl Drop for DriverState {
    fn drop(&mut self) {
        // A matrix library's state still uses the device, so it is dropped first.
        drop(self.matrices.take());
        self.calls.leave(self.device);
    }
}

impl Accounts {
    /// Counts memory that was taken or given back. The peak is at least what is held now.
    pub fn change(&self, count: impl FnOnce(&mut DriverMemory)) {
        let mut memory = self.memory.get();
        count(&mut memory);
        memory.peak = memory.peak.max(memory.allocated);
        self.memory.set(memory);
    }

    pub fn count(&self, work: WorkKind, capturing: bool) {
        let mut counts = self.work.get();
        match work {
            _ if capturing => counts.captured += 1,
            WorkKind::Kernel => counts.kernels += 1,
            WorkKind::Gemm => counts.gemms += 1,
            WorkKind::Transfer => counts.transfers += 1,
            WorkKind::Graph => counts.graphs += 1,
        }
        self.work.set(counts);
    }
}
