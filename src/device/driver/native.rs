//! CUDA and HIP behind [`DriverApi`].

use std::cell::OnceCell;
use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr;

use super::api::{
    Address, DeviceMemory, DriverApi, EventHandle, ExecutableHandle, FunctionHandle, GemmHandle,
    GemmOperands, GraphContents, GraphHandle, ModuleHandle, StreamHandle, Workspace,
};
use super::calls::{Calls, OwnInterface, call, opaque};
use super::compile::CompileRequest;
use super::gemm::GemmSpec;
use super::interface::{
    CAPTURE_THIS_THREAD, CudaInterface, LaunchAttribute, LaunchConfig, NON_BLOCKING, Opaque,
    PROGRAMMATIC_SERIALIZATION, UPDATE_REFUSED, UpdateResult, WITHOUT_TIMING, function_attribute,
    node_type,
};
use super::matrices::{MatrixLibrary, Product};
use super::module::{Argument, KernelAttributes, Launch, LaunchMode};
use super::probe;
use super::properties::Properties;
use super::rtc::Compiler;
use super::{DriverError, Vendor};

type Result<T> = std::result::Result<T, DriverError>;

/// A device of one vendor's driver, and the libraries that go with it, loaded when first needed.
pub(super) struct Native {
    // Before `calls`: dropping a library's state still uses the device.
    matrices: OnceCell<Result<MatrixLibrary>>,
    compiler: OnceCell<Result<Compiler>>,
    properties: Properties,
    calls: Calls,
}

/// Opens device `index` of `vendor` and makes it this thread's current one.
pub(super) fn open(vendor: Vendor, index: usize) -> Result<Native> {
    let calls = Calls::load(vendor, index)?;
    let properties = probe::properties(&calls)?;
    calls.enter()?;
    Ok(Native {
        matrices: OnceCell::new(),
        compiler: OnceCell::new(),
        properties,
        calls,
    })
}

impl Native {
    fn compiler_loaded(&self) -> Result<&Compiler> {
        self.compiler
            .get_or_init(|| Compiler::load(self.calls.vendor, self.driver_major()))
            .as_ref()
            .map_err(Clone::clone)
    }

    fn matrices_loaded(&self) -> Result<&MatrixLibrary> {
        self.matrices
            .get_or_init(|| MatrixLibrary::load(self.calls.vendor, self.driver_major()))
            .as_ref()
            .map_err(Clone::clone)
    }

    fn driver_major(&self) -> u32 {
        let major = self.properties.driver.split('.').next();
        major.and_then(|major| major.parse().ok()).unwrap_or(0)
    }

    /// Starts a kernel before the one in front has ended.
    unsafe fn launch_overlapping(
        &self,
        function: FunctionHandle,
        launch: &Launch,
        stream: StreamHandle,
        arguments: &mut [Opaque],
    ) -> Result<()> {
        let OwnInterface::Cuda(CudaInterface {
            launch_extended: Some(extended),
            ..
        }) = &self.calls.own
        else {
            return Err(DriverError::Invalid(
                "an overlapping launch on a driver without them".into(),
            ));
        };
        let attribute = LaunchAttribute {
            id: PROGRAMMATIC_SERIALIZATION,
            padding: 0,
            value: [1, 0, 0, 0, 0, 0, 0, 0],
        };
        let config = LaunchConfig {
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared_bytes,
            stream: opaque(stream.0),
            attributes: &attribute,
            attribute_count: 1,
        };
        // SAFETY: the structures live through the call; the rest is the caller's promise.
        let code = unsafe {
            (extended.call)(
                &config,
                opaque(function.0),
                arguments.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        self.calls.check(extended.name, code)
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        drop(self.matrices.take());
        if let OwnInterface::Cuda(cuda) = &self.calls.own {
            // Nobody is left to hear of a failure.
            // SAFETY: retained once in `enter`.
            unsafe { (cuda.release_context.call)(self.calls.device) };
        }
    }
}

impl DriverApi for Native {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn memory(&self) -> Result<DeviceMemory> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: places for the answers.
        unsafe { call!(self.calls, memory(&mut free, &mut total))? };
        Ok(DeviceMemory {
            free: free as u64,
            total: total as u64,
        })
    }

    fn compiler(&self) -> Result<String> {
        self.compiler_loaded()?.version()
    }

    fn compile(&self, request: &CompileRequest) -> Result<Vec<u8>> {
        self.compiler_loaded()?.compile(request)
    }

    fn allocate(&self, bytes: usize) -> Result<Address> {
        let mut address = 0;
        // SAFETY: a place for the address.
        unsafe { call!(self.calls, allocate(&mut address, bytes))? };
        Ok(Address(address))
    }

    unsafe fn free(&self, address: Address) -> Result<()> {
        // SAFETY, here and below: the trait's contract.
        unsafe { call!(self.calls, free(address.0)) }
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8> {
        let mut pointer = ptr::null_mut();
        // SAFETY: a place for the address.
        unsafe { call!(self.calls, allocate_pinned(&mut pointer, bytes, 0))? };
        Ok(pointer.cast())
    }

    unsafe fn free_pinned(&self, pointer: *mut u8) -> Result<()> {
        unsafe { call!(self.calls, free_pinned(pointer.cast())) }
    }

    unsafe fn copy_to_device(
        &self,
        to: Address,
        from: *const u8,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        unsafe {
            call!(
                self.calls,
                copy_to_device(to.0, from.cast(), bytes, opaque(stream.0))
            )
        }
    }

    unsafe fn copy_to_host(
        &self,
        to: *mut u8,
        from: Address,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        unsafe {
            call!(
                self.calls,
                copy_to_host(to.cast(), from.0, bytes, opaque(stream.0))
            )
        }
    }

    unsafe fn copy_on_device(
        &self,
        to: Address,
        from: Address,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        unsafe {
            call!(
                self.calls,
                copy_on_device(to.0, from.0, bytes, opaque(stream.0))
            )
        }
    }

    unsafe fn fill_bytes(
        &self,
        to: Address,
        value: u8,
        count: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        unsafe { call!(self.calls, fill_bytes(to.0, value, count, opaque(stream.0))) }
    }

    unsafe fn fill_words(
        &self,
        to: Address,
        value: u32,
        count: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        unsafe { call!(self.calls, fill_words(to.0, value, count, opaque(stream.0))) }
    }

    fn create_stream(&self, multiplies: bool) -> Result<StreamHandle> {
        let mut handle: Opaque = ptr::null_mut();
        // SAFETY: a place for the handle.
        unsafe { call!(self.calls, create_stream(&mut handle, NON_BLOCKING))? };
        let stream = StreamHandle(handle as usize);
        // Without a library the stream serves for everything else; a gemm planned in it says what is missing.
        if multiplies
            && let Ok(matrices) = self.matrices_loaded()
            && let Err(error) = matrices.add_stream(self.calls.vendor, stream)
        {
            // SAFETY: just created.
            unsafe { self.destroy_stream(stream)? };
            return Err(error);
        }
        Ok(stream)
    }

    unsafe fn destroy_stream(&self, stream: StreamHandle) -> Result<()> {
        if let Some(Ok(matrices)) = self.matrices.get() {
            matrices.remove_stream(stream);
        }
        unsafe { call!(self.calls, destroy_stream(opaque(stream.0))) }
    }

    unsafe fn synchronize(&self, stream: StreamHandle) -> Result<()> {
        unsafe { call!(self.calls, synchronize(opaque(stream.0))) }
    }

    unsafe fn wait(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        unsafe { call!(self.calls, wait(opaque(stream.0), opaque(event.0), 0)) }
    }

    fn create_event(&self, timed: bool) -> Result<EventHandle> {
        let mut handle: Opaque = ptr::null_mut();
        let flags: c_uint = if timed { 0 } else { WITHOUT_TIMING };
        // SAFETY: a place for the handle.
        unsafe { call!(self.calls, create_event(&mut handle, flags))? };
        Ok(EventHandle(handle as usize))
    }

    unsafe fn destroy_event(&self, event: EventHandle) -> Result<()> {
        unsafe { call!(self.calls, destroy_event(opaque(event.0))) }
    }

    unsafe fn record(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        unsafe { call!(self.calls, record(opaque(event.0), opaque(stream.0))) }
    }

    unsafe fn synchronize_event(&self, event: EventHandle) -> Result<()> {
        unsafe { call!(self.calls, synchronize_event(opaque(event.0))) }
    }

    unsafe fn elapsed(&self, from: EventHandle, to: EventHandle) -> Result<f32> {
        let mut milliseconds = 0.0;
        unsafe {
            call!(
                self.calls,
                elapsed(&mut milliseconds, opaque(from.0), opaque(to.0))
            )?;
        }
        Ok(milliseconds)
    }

    fn load_module(&self, code: &[u8]) -> Result<ModuleHandle> {
        let mut handle: Opaque = ptr::null_mut();
        // SAFETY: the driver copies the code, whose length it reads from its header (or, for PTX, its final zero).
        unsafe { call!(self.calls, load_module(&mut handle, code.as_ptr().cast()))? };
        Ok(ModuleHandle(handle as usize))
    }

    unsafe fn unload_module(&self, module: ModuleHandle) -> Result<()> {
        unsafe { call!(self.calls, unload_module(opaque(module.0))) }
    }

    unsafe fn function(&self, module: ModuleHandle, name: &str) -> Result<FunctionHandle> {
        let name = CString::new(name)
            .map_err(|_| DriverError::Invalid("a kernel's name with a zero byte".into()))?;
        let mut handle: Opaque = ptr::null_mut();
        unsafe {
            call!(
                self.calls,
                function(&mut handle, opaque(module.0), name.as_ptr())
            )?;
        }
        Ok(FunctionHandle(handle as usize))
    }

    unsafe fn attributes(&self, function: FunctionHandle) -> Result<KernelAttributes> {
        let read = |attribute| self.calls.function_attribute(function, attribute);
        Ok(KernelAttributes {
            registers: read(function_attribute::REGISTERS)?,
            spilled_bytes: read(function_attribute::LOCAL)? as usize,
            static_shared_bytes: read(function_attribute::STATIC_SHARED)? as usize,
            max_threads: read(function_attribute::MAX_THREADS)?,
        })
    }

    unsafe fn allow_shared(&self, function: FunctionHandle, bytes: usize) -> Result<()> {
        match &self.calls.own {
            OwnInterface::Cuda(cuda) => {
                let set = cuda.set_function_attribute;
                let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
                let code = unsafe {
                    (set.call)(
                        opaque(function.0),
                        function_attribute::MAX_DYNAMIC_SHARED,
                        bytes,
                    )
                };
                self.calls.check(set.name, code)
            }
            // HIP gives what a launch asks for, up to what the device has.
            OwnInterface::Hip(_) => Ok(()),
        }
    }

    unsafe fn occupancy(
        &self,
        function: FunctionHandle,
        threads: u32,
        shared_bytes: usize,
    ) -> Result<u32> {
        let mut blocks = 0;
        let threads = c_int::try_from(threads).unwrap_or(c_int::MAX);
        unsafe {
            call!(
                self.calls,
                occupancy(&mut blocks, opaque(function.0), threads, shared_bytes)
            )?;
        }
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    unsafe fn launch(
        &self,
        function: FunctionHandle,
        launch: &Launch,
        stream: StreamHandle,
        arguments: &[Argument<'_>],
    ) -> Result<()> {
        let mut pointers: Vec<*mut c_void> = arguments.iter().map(Argument::pointer).collect();
        let [gx, gy, gz] = launch.grid;
        let [bx, by, bz] = launch.block;
        let shared = launch.shared_bytes;
        let (function_pointer, stream_pointer) = (opaque(function.0), opaque(stream.0));
        let arguments = pointers.as_mut_ptr();
        unsafe {
            match launch.mode {
                LaunchMode::Overlapping if self.properties.overlapping => {
                    self.launch_overlapping(function, launch, stream, &mut pointers)
                }
                LaunchMode::Ordered | LaunchMode::Overlapping => call!(
                    self.calls,
                    launch(
                        function_pointer,
                        gx,
                        gy,
                        gz,
                        bx,
                        by,
                        bz,
                        shared,
                        stream_pointer,
                        arguments,
                        ptr::null_mut()
                    )
                ),
                LaunchMode::Cooperative => call!(
                    self.calls,
                    launch_cooperative(
                        function_pointer,
                        gx,
                        gy,
                        gz,
                        bx,
                        by,
                        bz,
                        shared,
                        stream_pointer,
                        arguments
                    )
                ),
            }
        }
    }

    unsafe fn begin_capture(&self, stream: StreamHandle) -> Result<()> {
        unsafe {
            call!(
                self.calls,
                begin_capture(opaque(stream.0), CAPTURE_THIS_THREAD)
            )
        }
    }

    unsafe fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle> {
        let mut graph: Opaque = ptr::null_mut();
        unsafe { call!(self.calls, end_capture(opaque(stream.0), &mut graph))? };
        if graph.is_null() {
            return Err(DriverError::Invalid("a capture that gave no graph".into()));
        }
        Ok(GraphHandle(graph as usize))
    }

    unsafe fn contents(&self, graph: GraphHandle) -> Result<GraphContents> {
        let mut contents = GraphContents::default();
        for kind in self.calls.node_types(graph)? {
            match kind {
                node_type::KERNEL => contents.kernels += 1,
                node_type::COPY | node_type::FILL => contents.transfers += 1,
                _ => contents.other += 1,
            }
        }
        Ok(contents)
    }

    unsafe fn instantiate(&self, graph: GraphHandle) -> Result<ExecutableHandle> {
        let mut executable: Opaque = ptr::null_mut();
        unsafe {
            call!(self.calls, instantiate(&mut executable, opaque(graph.0), 0))?;
        }
        Ok(ExecutableHandle(executable as usize))
    }

    unsafe fn update(&self, executable: ExecutableHandle, graph: GraphHandle) -> Result<bool> {
        let (executable, graph) = (opaque(executable.0), opaque(graph.0));
        let (call, code) = unsafe {
            match &self.calls.own {
                OwnInterface::Cuda(cuda) => {
                    let mut result = UpdateResult {
                        result: 0,
                        error_node: ptr::null_mut(),
                        error_from_node: ptr::null_mut(),
                    };
                    let update = cuda.update;
                    (update.name, (update.call)(executable, graph, &mut result))
                }
                OwnInterface::Hip(hip) => {
                    let (mut node, mut result) = (ptr::null_mut(), 0);
                    let update = hip.update;
                    (
                        update.name,
                        (update.call)(executable, graph, &mut node, &mut result),
                    )
                }
            }
        };
        match code {
            UPDATE_REFUSED => Ok(false),
            code => self.calls.check(call, code).map(|()| true),
        }
    }

    unsafe fn launch_graph(
        &self,
        executable: ExecutableHandle,
        stream: StreamHandle,
    ) -> Result<()> {
        unsafe {
            call!(
                self.calls,
                launch_graph(opaque(executable.0), opaque(stream.0))
            )
        }
    }

    unsafe fn destroy_graph(&self, graph: GraphHandle) -> Result<()> {
        unsafe { call!(self.calls, destroy_graph(opaque(graph.0))) }
    }

    unsafe fn destroy_executable(&self, executable: ExecutableHandle) -> Result<()> {
        unsafe { call!(self.calls, destroy_executable(opaque(executable.0))) }
    }

    fn gemm_library(&self) -> Result<String> {
        Ok(self.matrices_loaded()?.name().to_owned())
    }

    fn gemm_candidates(
        &self,
        spec: &GemmSpec,
        workspace: usize,
        limit: usize,
    ) -> Result<Vec<GemmHandle>> {
        let products = self.matrices_loaded()?.candidates(spec, workspace, limit)?;
        Ok(products
            .into_iter()
            .map(|product| GemmHandle(Box::into_raw(Box::new(product)) as usize))
            .collect())
    }

    unsafe fn gemm(
        &self,
        gemm: GemmHandle,
        operands: &GemmOperands,
        workspace: Workspace,
        stream: StreamHandle,
    ) -> Result<()> {
        // SAFETY: made in `gemm_candidates` and not destroyed yet.
        unsafe {
            let product = &*(gemm.0 as *const Product);
            self.matrices_loaded()?
                .multiply(product, operands, workspace, stream)
        }
    }

    unsafe fn destroy_gemm(&self, gemm: GemmHandle) -> Result<()> {
        // SAFETY: made in `gemm_candidates` and destroyed only here.
        drop(unsafe { Box::from_raw(gemm.0 as *mut Product) });
        Ok(())
    }
}
