//! What a GPU driver is asked for: the one trait behind the safe types of this module.
//!
//! [`DriverApi`] has two implementations: `Native`, which calls CUDA or HIP, and the recording
//! double of the tests, which keeps its memory on the host. Nobody outside this module calls it: the types of
//! [`memory`](super::memory), [`stream`](super::stream), [`module`](super::module), [`graph`](super::graph) and
//! [`gemm`](super::gemm) own the handles and give each back exactly once.

use super::DriverError;
use super::compile::CompileRequest;
use super::gemm::GemmSpec;
use super::module::{Argument, KernelAttributes, Launch};
use super::properties::Properties;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub usize);
    )+};
}

handles! {
    /// A queue of work.
    StreamHandle,
    /// A point in a stream.
    EventHandle,
    /// Compiled code loaded on the device.
    ModuleHandle,
    /// One kernel of a module; lives as long as the module.
    FunctionHandle,
    /// Captured work, not yet executable.
    GraphHandle,
    /// A graph that can be launched.
    ExecutableHandle,
    /// One matrix multiplication with its algorithm.
    GemmHandle,
}

/// A place in device memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(pub u64);

impl Address {
    /// The place `bytes` further on.
    pub fn offset(self, bytes: usize) -> Self {
        Address(self.0 + bytes as u64)
    }
}

/// What a graph contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphContents {
    pub kernels: usize,
    /// Copies and fills.
    pub transfers: usize,
    /// Joins, events and everything else that moves no data.
    pub other: usize,
}

impl GraphContents {
    pub fn nodes(&self) -> usize {
        self.kernels + self.transfers + self.other
    }
}

/// Free and total memory of the device in bytes, every process counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    pub free: u64,
    pub total: u64,
}

/// The operands of one multiplication, `d = alpha * op(a) op(b) + beta * c`. `c` may be `d`.
#[derive(Clone, Copy, Debug)]
pub struct GemmOperands {
    pub alpha: f32,
    pub a: Address,
    pub b: Address,
    pub beta: f32,
    pub c: Address,
    pub d: Address,
}

/// Scratch memory a library may write while its work is in a stream.
#[derive(Clone, Copy, Debug)]
pub struct Workspace {
    pub address: Address,
    pub bytes: usize,
}

type Result<T> = std::result::Result<T, DriverError>;

/// The calls of a driver, one to one. Every failure carries the call's and the error's own name.
///
/// # Safety
/// The `unsafe` ones trust their handles and addresses: alive, of this driver, and large enough for what is asked.
/// Memory named by an asynchronous call must stay until the stream has passed it, and, where the call was captured,
/// for as long as the graph is launched.
pub trait DriverApi {
    fn properties(&self) -> &Properties;
    fn memory(&self) -> Result<DeviceMemory>;

    /// Names the compiler and its version: part of the key under which compiled code is cached.
    fn compiler(&self) -> Result<String>;
    /// Compiles source to code that [`load_module`](Self::load_module) takes.
    fn compile(&self, request: &CompileRequest) -> Result<Vec<u8>>;

    fn allocate(&self, bytes: usize) -> Result<Address>;
    unsafe fn free(&self, address: Address) -> Result<()>;
    /// Page-locked host memory, which copies read and write asynchronously.
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8>;
    unsafe fn free_pinned(&self, pointer: *mut u8) -> Result<()>;

    unsafe fn copy_to_device(
        &self,
        to: Address,
        from: *const u8,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()>;
    unsafe fn copy_to_host(
        &self,
        to: *mut u8,
        from: Address,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()>;
    unsafe fn copy_on_device(
        &self,
        to: Address,
        from: Address,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()>;
    unsafe fn fill_bytes(
        &self,
        to: Address,
        value: u8,
        count: usize,
        stream: StreamHandle,
    ) -> Result<()>;
    unsafe fn fill_words(
        &self,
        to: Address,
        value: u32,
        count: usize,
        stream: StreamHandle,
    ) -> Result<()>;

    /// `multiplies` prepares it for the matrix library.
    fn create_stream(&self, multiplies: bool) -> Result<StreamHandle>;
    unsafe fn destroy_stream(&self, stream: StreamHandle) -> Result<()>;
    unsafe fn synchronize(&self, stream: StreamHandle) -> Result<()>;
    /// Work put into `stream` from now on starts after `event`.
    unsafe fn wait(&self, stream: StreamHandle, event: EventHandle) -> Result<()>;

    fn create_event(&self, timed: bool) -> Result<EventHandle>;
    unsafe fn destroy_event(&self, event: EventHandle) -> Result<()>;
    unsafe fn record(&self, event: EventHandle, stream: StreamHandle) -> Result<()>;
    unsafe fn synchronize_event(&self, event: EventHandle) -> Result<()>;
    /// Milliseconds between two timed events that have happened.
    unsafe fn elapsed(&self, from: EventHandle, to: EventHandle) -> Result<f32>;

    fn load_module(&self, code: &[u8]) -> Result<ModuleHandle>;
    unsafe fn unload_module(&self, module: ModuleHandle) -> Result<()>;
    unsafe fn function(&self, module: ModuleHandle, name: &str) -> Result<FunctionHandle>;
    unsafe fn attributes(&self, function: FunctionHandle) -> Result<KernelAttributes>;
    /// Allows launches of `function` with up to `bytes` of dynamic shared memory.
    unsafe fn allow_shared(&self, function: FunctionHandle, bytes: usize) -> Result<()>;
    /// Blocks of `threads` that fit on a compute unit at once.
    unsafe fn occupancy(
        &self,
        function: FunctionHandle,
        threads: u32,
        shared_bytes: usize,
    ) -> Result<u32>;
    unsafe fn launch(
        &self,
        function: FunctionHandle,
        launch: &Launch,
        stream: StreamHandle,
        arguments: &[Argument<'_>],
    ) -> Result<()>;

    unsafe fn begin_capture(&self, stream: StreamHandle) -> Result<()>;
    /// Ends a capture. It is over afterwards even where the captured work was invalid, which is an error.
    unsafe fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle>;
    unsafe fn contents(&self, graph: GraphHandle) -> Result<GraphContents>;
    unsafe fn instantiate(&self, graph: GraphHandle) -> Result<ExecutableHandle>;
    /// Puts the parameters of `graph` into `executable`; `false` where their shapes differ.
    unsafe fn update(&self, executable: ExecutableHandle, graph: GraphHandle) -> Result<bool>;
    unsafe fn launch_graph(&self, executable: ExecutableHandle, stream: StreamHandle)
    -> Result<()>;
    unsafe fn destroy_graph(&self, graph: GraphHandle) -> Result<()>;
    unsafe fn destroy_executable(&self, executable: ExecutableHandle) -> Result<()>;

    /// The vendor's matrix library and version, or why there is none.
    fn gemm_library(&self) -> Result<String>;
    /// Up to `limit` ways to compute `spec` within `workspace` bytes, the library's own favourite first.
    /// Each handle returned is to be destroyed.
    fn gemm_candidates(
        &self,
        spec: &GemmSpec,
        workspace: usize,
        limit: usize,
    ) -> Result<Vec<GemmHandle>>;
    unsafe fn gemm(
        &self,
        gemm: GemmHandle,
        operands: &GemmOperands,
        workspace: Workspace,
        stream: StreamHandle,
    ) -> Result<()>;
    unsafe fn destroy_gemm(&self, gemm: GemmHandle) -> Result<()>;
}
