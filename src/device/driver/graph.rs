//! Work captured once and launched as a whole.

use std::rc::Rc;

use super::api::{ExecutableHandle, GraphContents, GraphHandle};
use super::handle::{Shared, Work};
use super::{DriverError, Stream};

type Result<T> = std::result::Result<T, DriverError>;

/// Captured work, ready to be launched.
pub struct Graph {
    executable: ExecutableHandle,
    contents: GraphContents,
    shared: Rc<Shared>,
}

/// What [`Graph::update`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updated {
    /// The graph was the same but for parameters, and has the new ones.
    InPlace,
    /// It differed, and was built anew.
    Rebuilt,
}

/// A captured graph before it is executable. Owns its handle.
struct Captured {
    handle: GraphHandle,
    shared: Rc<Shared>,
}

impl Stream {
    /// Captures everything `work` puts into this stream, and into streams that wait for its events and are joined again,
    /// instead of executing it.
    ///
    /// If `work` or the capture fails, the capture is ended, nothing is left behind, and the stream can be used as before.
    ///
    /// # Safety
    /// Every buffer, pinned buffer, kernel, plan and workspace used in `work` outlives the graph.
    pub unsafe fn capture<E: From<DriverError>>(
        &self,
        work: impl FnOnce() -> std::result::Result<(), E>,
    ) -> std::result::Result<Graph, E> {
        let captured = self.record_graph(work)?;
        Ok(captured.executable()?)
    }

    fn record_graph<E: From<DriverError>>(
        &self,
        work: impl FnOnce() -> std::result::Result<(), E>,
    ) -> std::result::Result<Captured, E> {
        self.refuse_while_capturing("a capture")?;
        // SAFETY: the handle is ours.
        unsafe { self.shared.api.begin_capture(self.handle())? };
        // Ends the capture on every way out, a panic in `work` included.
        let mut recording = Recording {
            stream: self,
            running: true,
        };
        self.capturing().set(true);
        let done = work();
        let captured = recording.end();
        // The reason `work` gives is the better one: ending a broken capture only says that it was broken.
        done?;
        Ok(captured?)
    }
}

struct Recording<'a> {
    stream: &'a Stream,
    running: bool,
}

impl Recording<'_> {
    fn end(&mut self) -> Result<Captured> {
        self.running = false;
        self.stream.capturing().set(false);
        let shared = &self.stream.shared;
        // SAFETY: this stream is being captured.
        let handle = unsafe { shared.api.end_capture(self.stream.handle())? };
        Ok(Captured {
            handle,
            shared: Rc::clone(shared),
        })
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if self.running {
            drop(self.end());
        }
    }
}

impl Captured {
    fn executable(&self) -> Result<Graph> {
        // SAFETY: the graph is ours and alive.
        let contents = unsafe { self.shared.api.contents(self.handle)? };
        // SAFETY: as above.
        let executable = unsafe { self.shared.api.instantiate(self.handle)? };
        Ok(Graph {
            executable,
            contents,
            shared: Rc::clone(&self.shared),
        })
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: captured by this driver and destroyed only here; an executable made from it does not need it.
        let destroyed = unsafe { self.shared.api.destroy_graph(self.handle) };
        self.shared.note(destroyed);
    }
}

impl Graph {
    /// What one launch executes.
    pub fn contents(&self) -> GraphContents {
        self.contents
    }

    /// Puts the graph into `stream`, as one launch.
    ///
    /// # Safety
    /// Everything its work uses is still alive.
    pub unsafe fn launch(&self, stream: &Stream) -> Result<()> {
        stream.refuse_while_capturing("a graph within a graph")?;
        // SAFETY: the handles are ours; what the work uses is the caller's promise.
        unsafe {
            self.shared
                .api
                .launch_graph(self.executable, stream.handle())?;
        }
        self.shared.accounts.count(Work::Graph, false);
        Ok(())
    }

    /// Replaces the captured work by that of `work`. Where only parameters changed (addresses, numbers) that is much
    /// cheaper than a new graph; where more changed a new one is made. If it fails, the graph is as before.
    ///
    /// # Safety
    /// As for [`Stream::capture`]; and the graph is not running.
    pub unsafe fn update<E: From<DriverError>>(
        &mut self,
        stream: &Stream,
        work: impl FnOnce() -> std::result::Result<(), E>,
    ) -> std::result::Result<Updated, E> {
        let captured = stream.record_graph(work)?;
        // SAFETY: both handles are ours and alive.
        if unsafe { self.shared.api.update(self.executable, captured.handle)? } {
            return Ok(Updated::InPlace);
        }
        *self = captured.executable()?;
        Ok(Updated::Rebuilt)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: instantiated by this driver and destroyed only here; drivers wait for a running launch by themselves.
        let destroyed = unsafe { self.shared.api.destroy_executable(self.executable) };
        self.shared.note(destroyed);
    }
}
