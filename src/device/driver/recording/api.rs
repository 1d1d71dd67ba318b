//! [`DriverApi`] of the recording double.

use std::cell::RefCell;
use std::rc::Rc;

use super::super::api::{
    Address, DeviceMemory, DriverApi, EventHandle, ExecutableHandle, FunctionHandle, GemmHandle,
    GemmOperands, GraphContents, GraphHandle, ModuleHandle, StreamHandle, Workspace,
};
use super::super::compile::CompileRequest;
use super::super::{Argument, DriverError, GemmSpec, KernelAttributes, Launch, Properties};
use super::state::{Capture, Event, Gemm, Operation, State, refusal};

type Result<T> = std::result::Result<T, DriverError>;

pub(super) struct RecordingApi {
    pub state: Rc<RefCell<State>>,
    pub properties: Properties,
}

/// Far from anything a small number could be taken for.
const FIRST_ADDRESS: u64 = 0x7f00_0000_0000;

impl RecordingApi {
    fn enter(&self, call: &'static str) -> Result<std::cell::RefMut<'_, State>> {
        let mut state = self.state.borrow_mut();
        state.enter(call)?;
        Ok(state)
    }
}

impl DriverApi for RecordingApi {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn memory(&self) -> Result<DeviceMemory> {
        let state = self.enter("memory")?;
        Ok(DeviceMemory {
            free: self.properties.memory - state.memory.total() as u64,
            total: self.properties.memory,
        })
    }

    fn compiler(&self) -> Result<String> {
        Ok("compiler 1".into())
    }

    fn compile(&self, request: &CompileRequest) -> Result<Vec<u8>> {
        self.enter("compile")?;
        if request.text.contains("syntax error") {
            return Err(DriverError::Compile {
                name: request.name.clone(),
                arch: request.arch.clone(),
                log: format!("{}(1): error: a syntax error", request.name),
            });
        }
        Ok(request.text.clone().into_bytes())
    }

    fn allocate(&self, bytes: usize) -> Result<Address> {
        let mut state = self.enter("allocate")?;
        state.forbid_in_capture("allocate")?;
        if (state.memory.total() + bytes) as u64 > self.properties.memory {
            return Err(refusal("allocate", "CUDA_ERROR_OUT_OF_MEMORY"));
        }
        let address = FIRST_ADDRESS + ((state.handle() as u64) << 32);
        state.memory.insert(address, bytes);
        Ok(Address(address))
    }

    unsafe fn free(&self, address: Address) -> Result<()> {
        let mut state = self.enter("free")?;
        let used = state.executables_use(|state, operation| {
            let mut addresses = operation.addresses().into_iter();
            addresses.any(|used| state.memory.buffer_of(used) == Some(address.0))
        });
        if used {
            return Err(state.problem("free", "a buffer that a graph uses".into()));
        }
        match state.memory.remove(address.0) {
            Some(_) => Ok(()),
            None => Err(state.problem("free", "a buffer that is not alive".into())),
        }
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8> {
        let mut state = self.enter("allocate_pinned")?;
        state.forbid_in_capture("allocate_pinned")?;
        // As words, so that numbers in it are aligned.
        let words = vec![0_u64; bytes.div_ceil(8)].into_boxed_slice();
        let pointer = Box::into_raw(words).cast::<u8>();
        state.pinned.insert(pointer as usize, bytes);
        Ok(pointer)
    }

    unsafe fn free_pinned(&self, pointer: *mut u8) -> Result<()> {
        let mut state = self.enter("free_pinned")?;
        let Some(bytes) = state.pinned.remove(&(pointer as usize)) else {
            return Err(state.problem("free_pinned", "memory that is not alive".into()));
        };
        let range = pointer as usize..pointer as usize + bytes;
        let used = state.executables_use(|_, operation| {
            matches!(operation, Operation::Upload { from: host, .. } | Operation::Download { to: host, .. }
                if range.contains(host))
        });
        if used {
            state.problem("free_pinned", "memory that a graph uses".into());
        }
        // SAFETY: made in `allocate_pinned` from as many words, and freed only here.
        unsafe {
            let words =
                std::ptr::slice_from_raw_parts_mut(pointer.cast::<u64>(), bytes.div_ceil(8));
            drop(Box::from_raw(words));
        }
        Ok(())
    }

    unsafe fn copy_to_device(
        &self,
        to: Address,
        from: *const u8,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        let operation = Operation::Upload {
            to: to.0,
            from: from as usize,
            bytes,
        };
        self.enter("copy_to_device")?
            .put("copy_to_device", stream.0, operation)
    }

    unsafe fn copy_to_host(
        &self,
        to: *mut u8,
        from: Address,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        let operation = Operation::Download {
            to: to as usize,
            from: from.0,
            bytes,
        };
        self.enter("copy_to_host")?
            .put("copy_to_host", stream.0, operation)
    }

    unsafe fn copy_on_device(
        &self,
        to: Address,
        from: Address,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        let operation = Operation::Copy {
            to: to.0,
            from: from.0,
            bytes,
        };
        self.enter("copy_on_device")?
            .put("copy_on_device", stream.0, operation)
    }

    unsafe fn fill_bytes(
        &self,
        to: Address,
        value: u8,
        count: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        let operation = Operation::Fill {
            to: to.0,
            pattern: vec![value],
            count,
        };
        self.enter("fill_bytes")?
            .put("fill_bytes", stream.0, operation)
    }

    unsafe fn fill_words(
        &self,
        to: Address,
        value: u32,
        count: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        let operation = Operation::Fill {
            to: to.0,
            pattern: value.to_ne_bytes().into(),
            count,
        };
        self.enter("fill_words")?
            .put("fill_words", stream.0, operation)
    }

    fn create_stream(&self, _multiplies: bool) -> Result<StreamHandle> {
        let mut state = self.enter("create_stream")?;
        let handle = state.handle();
        state.streams.insert(handle);
        Ok(StreamHandle(handle))
    }

    unsafe fn destroy_stream(&self, stream: StreamHandle) -> Result<()> {
        let mut state = self.enter("destroy_stream")?;
        if state
            .capture
            .as_ref()
            .is_some_and(|capture| capture.streams.contains_key(&stream.0))
        {
            state.problem("destroy_stream", "a stream that is being captured".into());
        }
        match state.streams.remove(&stream.0) {
            true => Ok(()),
            false => Err(state.problem("destroy_stream", "a stream that is not alive".into())),
        }
    }

    unsafe fn synchronize(&self, stream: StreamHandle) -> Result<()> {
        let mut state = self.enter("synchronize")?;
        if let Some(capture) = &mut state.capture
            && capture.streams.contains_key(&stream.0)
        {
            capture.broken = true;
            return Err(refusal(
                "synchronize",
                "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
            ));
        }
        Ok(())
    }

    unsafe fn wait(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        let mut state = self.enter("wait")?;
        let Some(recorded) = state.events.get(&event.0).map(|event| event.captured) else {
            return Err(state.problem("wait", "an event that is not alive".into()));
        };
        if let (Some(capture), Some((source, done))) = (&mut state.capture, recorded) {
            if capture.streams.get(&source) == Some(&done) {
                capture.unjoined.remove(&source);
            }
            capture.streams.entry(stream.0).or_insert(0);
            if stream.0 != capture.origin {
                capture.unjoined.insert(stream.0);
            }
        }
        Ok(())
    }

    fn create_event(&self, _timed: bool) -> Result<EventHandle> {
        let mut state = self.enter("create_event")?;
        let handle = state.handle();
        state.events.insert(handle, Event::default());
        Ok(EventHandle(handle))
    }

    unsafe fn destroy_event(&self, event: EventHandle) -> Result<()> {
        let mut state = self.enter("destroy_event")?;
        match state.events.remove(&event.0) {
            Some(_) => Ok(()),
            None => Err(state.problem("destroy_event", "an event that is not alive".into())),
        }
    }

    unsafe fn record(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        let mut state = self.enter("record")?;
        let done = state
            .capture
            .as_ref()
            .and_then(|capture| capture.streams.get(&stream.0).copied());
        let recorded = Event {
            time: done.is_none().then_some(state.clock),
            captured: done.map(|done| (stream.0, done)),
        };
        match state.events.insert(event.0, recorded) {
            Some(_) => Ok(()),
            None => Err(state.problem("record", "an event that is not alive".into())),
        }
    }

    unsafe fn synchronize_event(&self, _event: EventHandle) -> Result<()> {
        self.enter("synchronize_event").map(|_| ())
    }

    unsafe fn elapsed(&self, from: EventHandle, to: EventHandle) -> Result<f32> {
        let mut state = self.enter("elapsed")?;
        let time = |handle: &EventHandle| state.events.get(&handle.0).and_then(|event| event.time);
        match (time(&from), time(&to)) {
            (Some(from), Some(to)) => Ok(to - from),
            _ => Err(state.problem("elapsed", "an event that was not recorded".into())),
        }
    }

    fn load_module(&self, code: &[u8]) -> Result<ModuleHandle> {
        let mut state = self.enter("load_module")?;
        let handle = state.handle();
        let text = String::from_utf8_lossy(code).into_owned();
        state.modules.insert(handle, text);
        Ok(ModuleHandle(handle))
    }

    unsafe fn unload_module(&self, module: ModuleHandle) -> Result<()> {
        let mut state = self.enter("unload_module")?;
        let used = state.executables_use(|state, operation| {
            matches!(operation, Operation::Launch { function, .. }
                if state.functions.get(function).is_some_and(|(of, _)| *of == module.0))
        });
        if used {
            state.problem("unload_module", "a module that a graph uses".into());
        }
        state.functions.retain(|_, (of, _)| *of != module.0);
        match state.modules.remove(&module.0) {
            Some(_) => Ok(()),
            None => Err(state.problem("unload_module", "a module that is not alive".into())),
        }
    }

    unsafe fn function(&self, module: ModuleHandle, name: &str) -> Result<FunctionHandle> {
        let mut state = self.enter("function")?;
        match state.modules.get(&module.0) {
            Some(text) if text.contains(name) => {}
            Some(_) => return Err(refusal("function", "CUDA_ERROR_NOT_FOUND")),
            None => return Err(state.problem("function", "a module that is not alive".into())),
        }
        let handle = state.handle();
        state.functions.insert(handle, (module.0, name.to_owned()));
        Ok(FunctionHandle(handle))
    }

    unsafe fn attributes(&self, _function: FunctionHandle) -> Result<KernelAttributes> {
        self.enter("attributes")?;
        Ok(KernelAttributes {
            registers: 32,
            spilled_bytes: 0,
            static_shared_bytes: 0,
            max_threads: 1024,
        })
    }

    unsafe fn allow_shared(&self, _function: FunctionHandle, _bytes: usize) -> Result<()> {
        self.enter("allow_shared").map(|_| ())
    }

    unsafe fn occupancy(&self, _: FunctionHandle, threads: u32, _: usize) -> Result<u32> {
        self.enter("occupancy")?;
        Ok(self.properties.max_threads_per_unit / threads.max(1))
    }

    unsafe fn launch(
        &self,
        function: FunctionHandle,
        launch: &Launch,
        stream: StreamHandle,
        arguments: &[Argument<'_>],
    ) -> Result<()> {
        let words = |bytes: &[u8]| -> Vec<u64> {
            let word = |chunk: &[u8]| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_ne_bytes(word)
            };
            bytes.chunks(8).map(word).collect()
        };
        let values = arguments.iter().flat_map(|argument| match argument {
            Argument::Value(value) => vec![*value],
            Argument::Structure(bytes) => words(bytes),
        });
        let operation = Operation::Launch {
            function: function.0,
            launch: *launch,
            arguments: values.collect(),
        };
        self.enter("launch")?.put("launch", stream.0, operation)
    }

    unsafe fn begin_capture(&self, stream: StreamHandle) -> Result<()> {
        let mut state = self.enter("begin_capture")?;
        if state.capture.is_some() {
            return Err(state.problem("begin_capture", "a capture within a capture".into()));
        }
        state.capture = Some(Capture {
            origin: stream.0,
            operations: vec![],
            streams: [(stream.0, 0)].into(),
            unjoined: [].into(),
            broken: false,
        });
        Ok(())
    }

    unsafe fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle> {
        let mut state = self.state.borrow_mut();
        let entered = state.enter("end_capture");
        // Over in any case, as with the real ones.
        let capture = state.capture.take();
        entered?;
        match capture {
            Some(capture) if capture.origin == stream.0 => {
                if capture.broken {
                    return Err(refusal(
                        "end_capture",
                        "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
                    ));
                }
                if !capture.unjoined.is_empty() {
                    return Err(refusal("end_capture", "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"));
                }
                let handle = state.handle();
                state.graphs.insert(handle, capture.operations);
                Ok(GraphHandle(handle))
            }
            _ => Err(state.problem("end_capture", "a stream that is not being captured".into())),
        }
    }

    unsafe fn contents(&self, graph: GraphHandle) -> Result<GraphContents> {
        let mut state = self.enter("contents")?;
        let Some(operations) = state.graphs.get(&graph.0) else {
            return Err(state.problem("contents", "a graph that is not alive".into()));
        };
        let is_kernel = |operation: &&Operation| {
            matches!(operation, Operation::Launch { .. } | Operation::Gemm { .. })
        };
        let kernels = operations.iter().filter(is_kernel).count();
        Ok(GraphContents {
            kernels,
            transfers: operations.len() - kernels,
            other: 0,
        })
    }

    unsafe fn instantiate(&self, graph: GraphHandle) -> Result<ExecutableHandle> {
        let mut state = self.enter("instantiate")?;
        let Some(operations) = state.graphs.get(&graph.0).cloned() else {
            return Err(state.problem("instantiate", "a graph that is not alive".into()));
        };
        let handle = state.handle();
        state.executables.insert(handle, operations);
        Ok(ExecutableHandle(handle))
    }

    unsafe fn update(&self, executable: ExecutableHandle, graph: GraphHandle) -> Result<bool> {
        let mut state = self.enter("update")?;
        let Some(new) = state.graphs.get(&graph.0).cloned() else {
            return Err(state.problem("update", "a graph that is not alive".into()));
        };
        let Some(old) = state.executables.get_mut(&executable.0) else {
            return Err(state.problem("update", "a graph that is not alive".into()));
        };
        let same = old.len() == new.len()
            && old
                .iter()
                .zip(&new)
                .all(|(old, new)| std::mem::discriminant(old) == std::mem::discriminant(new));
        if same {
            *old = new;
        }
        Ok(same)
    }

    unsafe fn launch_graph(
        &self,
        executable: ExecutableHandle,
        _stream: StreamHandle,
    ) -> Result<()> {
        let mut state = self.enter("launch_graph")?;
        let Some(operations) = state.executables.get(&executable.0).cloned() else {
            return Err(state.problem("launch_graph", "a graph that is not alive".into()));
        };
        state.replay("launch_graph", &operations)
    }

    unsafe fn destroy_graph(&self, graph: GraphHandle) -> Result<()> {
        let mut state = self.enter("destroy_graph")?;
        match state.graphs.remove(&graph.0) {
            Some(_) => Ok(()),
            None => Err(state.problem("destroy_graph", "a graph that is not alive".into())),
        }
    }

    unsafe fn destroy_executable(&self, executable: ExecutableHandle) -> Result<()> {
        let mut state = self.enter("destroy_executable")?;
        match state.executables.remove(&executable.0) {
            Some(_) => Ok(()),
            None => Err(state.problem("destroy_executable", "a graph that is not alive".into())),
        }
    }

    fn gemm_library(&self) -> Result<String> {
        self.enter("gemm_library")?;
        Ok("host BLAS 1.0".into())
    }

    fn gemm_candidates(
        &self,
        spec: &GemmSpec,
        _workspace: usize,
        limit: usize,
    ) -> Result<Vec<GemmHandle>> {
        let mut state = self.enter("gemm_candidates")?;
        if state
            .unsupported
            .as_ref()
            .is_some_and(|unsupported| unsupported(spec))
        {
            return Ok(vec![]);
        }
        let costs: Vec<f32> = state.gemm_costs.iter().copied().take(limit).collect();
        Ok(costs
            .into_iter()
            .map(|cost| {
                let handle = state.handle();
                state.gemms.insert(handle, Gemm { spec: *spec, cost });
                GemmHandle(handle)
            })
            .collect())
    }

    unsafe fn gemm(
        &self,
        gemm: GemmHandle,
        operands: &GemmOperands,
        _workspace: Workspace,
        stream: StreamHandle,
    ) -> Result<()> {
        let operation = Operation::Gemm {
            gemm: gemm.0,
            operands: *operands,
        };
        self.enter("gemm")?.put("gemm", stream.0, operation)
    }

    unsafe fn destroy_gemm(&self, gemm: GemmHandle) -> Result<()> {
        let mut state = self.enter("destroy_gemm")?;
        let used = state.executables_use(|_, operation| {
            matches!(operation, Operation::Gemm { gemm: used, .. } if *used == gemm.0)
        });
        if used {
            state.problem("destroy_gemm", "a gemm that a graph uses".into());
        }
        match state.gemms.remove(&gemm.0) {
            Some(_) => Ok(()),
            None => Err(state.problem("destroy_gemm", "a gemm that is not alive".into())),
        }
    }
}
