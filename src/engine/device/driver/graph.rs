//! Work captured once and launched as a whole.

use std::ptr;
use std::rc::Rc;

use super::capture::Capture;
use super::handle::{DriverState, WorkKind};
use super::interface::{CAPTURE_THIS_THREAD, KernelNode, Opaque, node_type};
use super::{DriverError, Result, Stream};

/// Captured work that is ready to be launched.
pub struct Graph {
    executable: Opaque,
    /// The work that one launch executes.
    pub contents: GraphContents,
    shared: Rc<DriverState>,
}

/// Number of nodes in a graph, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphContents {
    pub kernels: usize,
    /// Copies and fills.
    pub transfers: usize,
    /// Joins, events and all other nodes that move no data.
    pub other: usize,
    /// Blocks of the kernel that has the most; `None` if the driver does not tell.
    pub most_blocks: Option<u64>,
}

impl GraphContents {
    pub fn nodes(&self) -> usize {
        self.kernels + self.transfers + self.other
    }
}

/// A captured graph before it is executable. Owns its handle.
struct Captured {
    handle: Opaque,
    shared: Rc<DriverState>,
}

impl Stream {
    /// Captures everything that `work` puts into this stream, instead of executing it. Streams that wait for its events
    /// and are joined again belong to the capture.
    ///
    /// If `work` or the capture fails, the capture is ended and nothing stays allocated. If the driver ends it with an
    /// error, this stream and those that joined it get new handles, because HIP never frees the old ones.
    ///
    /// # Safety
    /// Every buffer, pinned buffer, kernel, plan and workspace used in `work` outlives the graph.
    pub unsafe fn capture<E: From<DriverError>>(
        &self,
        work: impl FnOnce() -> std::result::Result<(), E>,
    ) -> std::result::Result<Graph, E> {
        self.refuse_while_capturing("a capture")?;
        let calls = &self.shared.calls;
        // SAFETY: `self` owns the handle.
        unsafe { calls.begin_capture(self.handle(), CAPTURE_THIS_THREAD)? };
        self.capture.replace(Some(Capture::start(&self.handle)));
        // Ends the capture on every way out, including a panic in `work`.
        let mut capture = Capturing {
            stream: self,
            running: true,
        };
        let done = work();
        let captured = capture.end();
        // The error of `work` explains more: ending a broken capture only says that it was broken.
        done?;
        Ok(captured?.executable()?)
    }
}

struct Capturing<'a> {
    stream: &'a Stream,
    running: bool,
}

impl Capturing<'_> {
    fn end(&mut self) -> Result<Captured> {
        self.running = false;
        let (stream, shared) = (self.stream, &self.stream.shared);
        let mut handle: Opaque = ptr::null_mut();
        // SAFETY: this stream is being captured.
        let ended = unsafe { shared.calls.end_capture(stream.handle(), &mut handle) };
        let failed = ended.is_err() || handle.is_null();
        if let Some(capture) = stream.capture.take() {
            capture.end(failed);
        }
        ended?;
        if handle.is_null() {
            return Err(DriverError::Invalid("a capture that gave no graph".into()));
        }
        Ok(Captured {
            handle,
            shared: Rc::clone(shared),
        })
    }
}

impl Drop for Capturing<'_> {
    fn drop(&mut self) {
        if self.running {
            drop(self.end());
        }
    }
}

impl Captured {
    fn executable(&self) -> Result<Graph> {
        let (contents, calls) = (self.contents()?, &self.shared.calls);
        let mut executable: Opaque = ptr::null_mut();
        // SAFETY: we own the graph, and it is alive.
        unsafe { calls.instantiate(&mut executable, self.handle, 0)? };
        Ok(Graph {
            executable,
            contents,
            shared: Rc::clone(&self.shared),
        })
    }

    fn contents(&self) -> Result<GraphContents> {
        let calls = &self.shared.calls;
        let mut count = 0;
        // SAFETY: we own the graph, and it is alive. The first call only asks for the count, the second gets room for
        // that many.
        let nodes = unsafe {
            calls.graph_nodes(self.handle, ptr::null_mut(), &mut count)?;
            let mut nodes: Vec<Opaque> = vec![ptr::null_mut(); count];
            if count > 0 {
                calls.graph_nodes(self.handle, nodes.as_mut_ptr(), &mut count)?;
            }
            nodes.truncate(count);
            nodes
        };
        let mut contents = GraphContents::default();
        for node in nodes {
            let mut kind = -1;
            // SAFETY: the node belongs to the graph, and the pointer to the result is valid for writing.
            unsafe { calls.node_type(node, &mut kind)? };
            match kind {
                node_type::KERNEL => {
                    contents.kernels += 1;
                    contents.most_blocks = contents.most_blocks.max(self.blocks(node));
                }
                node_type::COPY | node_type::FILL => contents.transfers += 1,
                _ => contents.other += 1,
            }
        }
        Ok(contents)
    }

    /// Returns the blocks of a kernel's node.
    fn blocks(&self, node: Opaque) -> Option<u64> {
        let mut kernel = KernelNode::default();
        let reader = self.shared.calls.graph_kernels.as_ref()?;
        // SAFETY: the node belongs to the graph, and the structure has room for either driver's.
        unsafe { reader.parameters(node, &mut kernel) }.ok()?;
        Some(kernel.blocks(self.shared.calls.vendor))
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: captured by this driver and destroyed only here; an executable made from it does not need it.
        let destroyed = unsafe { self.shared.calls.destroy_graph(self.handle) };
        self.shared.note(destroyed);
    }
}

impl Graph {
    /// Puts the graph into `stream` as one launch.
    ///
    /// # Safety
    /// Everything that its work uses is still alive.
    ///
    /// # Errors
    /// [`DriverError::Invalid`] if `stream` is capturing.
    pub unsafe fn launch(&self, stream: &Stream) -> Result<()> {
        stream.refuse_while_capturing("a graph within a graph")?;
        let (calls, handle) = (&self.shared.calls, stream.handle());
        // SAFETY: the handles belong to this driver; the caller guarantees the memory that the work uses.
        let launched = unsafe { calls.launch_graph(self.executable, handle) };
        stream.count_work(WorkKind::Graph, launched)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: instantiated by this driver and destroyed only here; drivers wait for a running launch.
        let destroyed = unsafe { self.shared.calls.destroy_executable(self.executable) };
        self.shared.note(destroyed);
    }
}
