//! The driver as its users hold it, and its accounts.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::c_int;
use std::rc::Rc;

use super::cache::ModuleCache;
use super::calls::Calls;
use super::matrices::MatrixLibrary;
use super::rtc::Compiler;
use super::{DriverError, Properties, Result, Vendor};

/// A device opened through its own driver. Clones are the same device.
///
/// It belongs to the thread that opened it, as do all handles made from it: the drivers keep the current device per
/// thread.
#[derive(Clone)]
pub struct Driver {
    pub(super) shared: Rc<Shared>,
}

pub(super) struct Shared {
    /// Libraries that go with the driver, loaded when first needed.
    compiler: OnceCell<Result<Compiler>>,
    matrices: OnceCell<Result<MatrixLibrary>>,
    pub calls: Calls,
    device: c_int,
    pub properties: Properties,
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

/// Free and total memory of the device in bytes, every process counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    pub free: u64,
    pub total: u64,
}

impl Driver {
    /// Opens device `index` and makes it this thread's current one. `cache` keeps compiled modules between processes.
    pub fn open(vendor: Vendor, index: usize, cache: Option<ModuleCache>) -> Result<Self> {
        let calls = Calls::load(vendor)?;
        let device = calls.device(index)?;
        let properties = Properties::of(&calls, device)?;
        calls.enter(device)?;
        Ok(Driver {
            shared: Rc::new(Shared {
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

    /// Free and total memory of the device, every process and every library counted.
    pub fn device_memory(&self) -> Result<DeviceMemory> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: places for the answers.
        unsafe { self.shared.calls.memory(&mut free, &mut total)? };
        Ok(DeviceMemory {
            free: free as u64,
            total: total as u64,
        })
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

    /// Lets the peak begin anew from what is held now.
    pub fn forget_peak(&self) {
        let accounts = &self.shared.accounts;
        accounts.peak.set(accounts.allocated.get());
    }

    pub fn work(&self) -> WorkCounts {
        self.shared.accounts.work.get()
    }

    /// Why compiled modules are not kept for the next process; `None` where they are.
    pub fn not_kept(&self) -> Option<&String> {
        self.shared.cache.as_ref()?.trouble()
    }

    /// What failed while handles were given back, and forgets it. Empty on a healthy device.
    pub fn take_failures(&self) -> Vec<DriverError> {
        self.shared.failures.take()
    }
}

impl Shared {
    /// The compiler that goes with the driver.
    pub fn compiler(&self) -> Result<&Compiler> {
        self.compiler
            .get_or_init(|| Compiler::load(&self.properties))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The matrix library that goes with the driver.
    pub fn matrices(&self) -> Result<&MatrixLibrary> {
        self.matrices
            .get_or_init(|| MatrixLibrary::load(&self.properties))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Notes a failure that nobody is there to receive.
    pub fn note(&self, result: Result<()>) {
        if let Err(error) = result {
            self.failures.borrow_mut().push(error);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A library's state still uses the device.
        drop(self.matrices.take());
        self.calls.leave(self.device);
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
