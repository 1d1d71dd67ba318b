//! Streams, events, and the work that is put into a stream.

use std::cell::RefCell;
use std::ffi::{c_uint, c_void};
use std::rc::Rc;

use super::capture::{Capture, HandleKind, Renewable};
use super::handle::{DriverState, WorkKind};
use super::interface::{EACH_REPLAY, Opaque, WITHOUT_TIMING};
use super::matrices::StreamState;
use super::memory::{Plain, bytes_of, bytes_of_mut};
use super::{
    DeviceBuffer, DeviceKernel, Driver, DriverError, LaunchArgument, LaunchSettings, Pinned,
    Result, Slice,
};

/// A queue of work. Its work runs in order, and concurrently with other streams.
///
/// It owns the scratch memory of the matrix library, because two multiplications at the same time must not share it.
/// Dropping it waits for its work.
pub struct Stream {
    pub(super) handle: Rc<Renewable>,
    workspace: Option<DeviceBuffer>,
    /// The matrix library's state for this stream, if it keeps one.
    pub(super) matrices: Option<StreamState>,
    /// The last capture in which it took part. A stream joins a capture by waiting for one of its events.
    pub(super) capture: RefCell<Option<Rc<Capture>>>,
    pub(super) shared: Rc<DriverState>,
}

/// A point in a stream, for measuring times or for making one stream wait for another.
pub struct Event {
    handle: Rc<Renewable>,
    /// The capture in which it was recorded.
    capture: RefCell<Option<Rc<Capture>>>,
    shared: Rc<DriverState>,
}

impl Driver {
    /// Opens a stream with `workspace` bytes for the matrix library. 32 MiB serve it best on large devices; 0 is for a
    /// stream without multiplications.
    pub fn stream(&self, workspace: usize) -> Result<Stream> {
        self.stream_of(HandleKind::Stream, workspace)
    }

    /// Opens a stream whose kernels start before waiting kernels of other streams.
    pub fn urgent_stream(&self) -> Result<Stream> {
        self.stream_of(HandleKind::UrgentStream, 0)
    }

    fn stream_of(&self, kind: HandleKind, workspace: usize) -> Result<Stream> {
        let mut stream = Stream {
            handle: Renewable::create(kind, &self.shared)?,
            workspace: None,
            matrices: None,
            capture: RefCell::default(),
            shared: Rc::clone(&self.shared),
        };
        // From here on, dropping the stream frees it, also if the allocation fails.
        if workspace > 0 {
            stream.workspace = Some(self.allocate(workspace)?);
        }
        // Without a library the stream still serves everything else. Planning a product in it then reports the missing library.
        if stream.workspace.is_some()
            && let Ok(matrices) = self.shared.matrices()
        {
            stream.matrices = matrices.stream_state()?;
        }
        Ok(stream)
    }

    /// Creates an event whose time can be read.
    pub fn timed_event(&self) -> Result<Event> {
        self.event(0)
    }

    /// Creates an event that only orders streams, which costs less.
    pub fn ordering_event(&self) -> Result<Event> {
        self.event(WITHOUT_TIMING)
    }

    fn event(&self, flags: c_uint) -> Result<Event> {
        Ok(Event {
            handle: Renewable::create(HandleKind::Event(flags), &self.shared)?,
            capture: RefCell::default(),
            shared: Rc::clone(&self.shared),
        })
    }
}

impl Stream {
    /// Waits until all work in the stream is done.
    ///
    /// # Errors
    /// Also the failure of any earlier kernel, which drivers report late.
    pub fn synchronize(&self) -> Result<()> {
        self.refuse_while_capturing("waiting for a stream")?;
        // SAFETY: `self` owns the handle.
        unsafe { self.shared.calls.synchronize(self.handle()) }
    }

    /// Puts a kernel into the stream.
    ///
    /// # Safety
    /// `arguments` match the kernel's declaration in number, size and order. They point to memory that is large enough
    /// for the kernel and stays until the stream has passed (or, captured, while the graph is used).
    pub unsafe fn launch(
        &self,
        kernel: &DeviceKernel,
        launch: &LaunchSettings,
        arguments: &[LaunchArgument<'_>],
    ) -> Result<()> {
        let (name, most) = (kernel.name(), kernel.attributes.max_threads);
        let threads = launch.threads();
        if threads > u64::from(most) || threads == 0 {
            return Err(DriverError::Invalid(format!(
                "kernel {name} with {threads} threads a block; it can have 1 to {most}"
            )));
        }
        // SAFETY: the kernel keeps its module loaded; the caller guarantees the arguments.
        let launched = unsafe { kernel.launch(launch, self.handle(), arguments) };
        let launched = launched
            .map_err(|error| error.during(|| format!("kernel {}, {launch:?}", kernel.name())));
        self.count_work(WorkKind::Kernel, launched)
    }

    /// Copies `numbers` to the start of `to` and waits.
    ///
    /// # Errors
    /// [`DriverError::Invalid`] in a capture, or if `to` is too short.
    pub fn upload<T: Plain>(&self, to: Slice, numbers: &[T]) -> Result<()> {
        self.refuse_while_capturing("copying from pageable memory")?;
        let bytes = bytes_of(numbers);
        // SAFETY: the numbers have the given length, and we wait before they can be freed.
        unsafe { self.put(to, bytes.as_ptr().cast(), bytes.len())? };
        self.synchronize()
    }

    /// Copies the first `count` numbers of `from` and waits.
    ///
    /// # Errors
    /// [`DriverError::Invalid`] in a capture, or if `from` is too short.
    pub fn download<T: Plain>(&self, from: Slice, count: usize) -> Result<Vec<T>> {
        self.refuse_while_capturing("copying to pageable memory")?;
        // Checks the range before it allocates memory for the numbers.
        let from = from.slice(0, count.saturating_mul(size_of::<T>()))?;
        let mut numbers = vec![T::default(); count];
        let bytes = bytes_of_mut(&mut numbers);
        // SAFETY: the numbers have the given length, and we wait before they are used.
        unsafe { self.get(bytes.as_mut_ptr().cast(), from, bytes.len())? };
        self.synchronize()?;
        Ok(numbers)
    }

    /// Copies all of `from` to the start of `to`, in the order of the stream.
    ///
    /// # Safety
    /// `from` and the buffer of `to` stay until the stream has passed (or, captured, while the graph is used).
    pub unsafe fn upload_pinned<T: Plain>(&self, to: Slice, from: &Pinned<T>) -> Result<()> {
        // SAFETY: it has the given length; the caller guarantees its lifetime.
        unsafe { self.put(to, from.pointer(), from.bytes()) }
    }

    /// Copies `bytes` bytes from the host to the start of `to`.
    ///
    /// # Safety
    /// The host memory has that many bytes and stays until the stream has passed.
    unsafe fn put(&self, to: Slice, from: *const c_void, bytes: usize) -> Result<()> {
        let to = to.slice(0, bytes)?.address().0;
        let (calls, stream) = (&self.shared.calls, self.handle());
        // SAFETY: the device's range has the given length; the caller guarantees the host's memory.
        let put = unsafe { calls.copy_to_device(to, from, bytes, stream) };
        self.count_work(WorkKind::Transfer, put)
    }

    /// Copies `bytes` bytes from the start of `from` to the host.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    unsafe fn get(&self, to: *mut c_void, from: Slice, bytes: usize) -> Result<()> {
        let from = from.slice(0, bytes)?.address().0;
        let (calls, stream) = (&self.shared.calls, self.handle());
        // SAFETY: as above.
        let got = unsafe { calls.copy_to_host(to, from, bytes, stream) };
        self.count_work(WorkKind::Transfer, got)
    }

    /// Copies `from` to the start of `to` on the device.
    ///
    /// # Safety
    /// Both stay until the stream has passed (or, captured, while the graph is used) and do not overlap.
    pub unsafe fn copy(&self, to: Slice, from: Slice) -> Result<()> {
        let (to, bytes) = (to.slice(0, from.bytes())?.address().0, from.bytes());
        let (calls, stream, from) = (&self.shared.calls, self.handle(), from.address().0);
        // SAFETY: both ranges have the given length; the caller guarantees the rest.
        let copied = unsafe { calls.copy_on_device(to, from, bytes, stream) };
        self.count_work(WorkKind::Transfer, copied)
    }

    /// Sets every byte of `to` to zero.
    ///
    /// # Safety
    /// `to` stays until the stream has passed (or, captured, while the graph is used).
    pub unsafe fn clear(&self, to: Slice) -> Result<()> {
        let (calls, stream, place) = (&self.shared.calls, self.handle(), to.address().0);
        // SAFETY: the range has the given length; the caller guarantees its lifetime.
        let cleared = unsafe { calls.fill_bytes(place, 0, to.bytes(), stream) };
        self.count_work(WorkKind::Transfer, cleared)
    }

    /// Marks this point of the stream.
    pub fn record(&self, event: &Event) -> Result<()> {
        // SAFETY: both handles belong to this driver.
        unsafe {
            self.shared
                .calls
                .record(event.handle.get(), self.handle())?
        };
        let capture = self.running_capture();
        if let Some(capture) = &capture {
            capture.takes_part(&event.handle);
        }
        event.capture.replace(capture);
        Ok(())
    }

    /// Marks this point of the stream for a timed event. In a capture, each replay marks it again. Returns `false`, and
    /// leaves the event unchanged, if the driver cannot do that.
    pub fn record_timed(&self, event: &Event) -> Result<bool> {
        if !self.is_capturing() {
            self.record(event)?;
            return Ok(true);
        }
        let calls = &self.shared.calls;
        let Some(clock) = &calls.graph_clock else {
            return Ok(false);
        };
        // SAFETY: both handles belong to this driver.
        unsafe { clock.record(event.handle.get(), self.handle(), EACH_REPLAY)? };
        Ok(true)
    }

    /// Lets all later work of this stream wait for `event`. In a capture this forks and joins branches.
    pub fn wait(&self, event: &Event) -> Result<()> {
        // SAFETY: both handles belong to this driver.
        unsafe {
            self.shared
                .calls
                .wait(self.handle(), event.handle.get(), 0)?
        };
        if !self.is_capturing()
            && let Some(capture) = event.capture.borrow().as_ref()
        {
            capture.takes_part(&self.handle);
            self.capture.replace(Some(Rc::clone(capture)));
        }
        Ok(())
    }

    /// Returns whether the stream is capturing instead of executing.
    pub fn is_capturing(&self) -> bool {
        self.running_capture().is_some()
    }

    fn running_capture(&self) -> Option<Rc<Capture>> {
        let capture = self.capture.borrow().clone();
        capture.filter(|capture| capture.is_running())
    }

    pub(super) fn handle(&self) -> Opaque {
        self.handle.get()
    }

    /// Returns address and bytes of the matrix library's scratch memory in this stream.
    pub(super) fn workspace(&self) -> (u64, usize) {
        let workspace = self.workspace.as_ref();
        workspace.map_or((0, 0), |buffer| (buffer.address().0, buffer.bytes()))
    }

    /// Counts `work` if it was handed over.
    pub(super) fn count_work(&self, work: WorkKind, done: Result<()>) -> Result<()> {
        done.inspect(|()| self.shared.accounts.count(work, self.is_capturing()))
    }

    pub(super) fn refuse_while_capturing(&self, what: &str) -> Result<()> {
        if self.is_capturing() {
            let what = format!("{what} cannot be captured into a graph");
            return Err(DriverError::Invalid(what));
        }
        Ok(())
    }
}

impl Event {
    /// Waits until the stream has reached this point.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: `self` owns the handle.
        unsafe { self.shared.calls.synchronize_event(self.handle.get()) }
    }

    /// Returns the milliseconds from `earlier` to this event. Both are timed, recorded and reached.
    pub fn milliseconds_since(&self, earlier: &Event) -> Result<f32> {
        let mut milliseconds = 0.0;
        let (from, to) = (earlier.handle.get(), self.handle.get());
        // SAFETY: the pointer to the result is valid for writing; both handles belong to this driver.
        unsafe { self.shared.calls.elapsed(&mut milliseconds, from, to)? };
        Ok(milliseconds)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // The caller may free the work's buffers next, and this drop frees the workspace.
        // SAFETY: `self` owns the handle, which is destroyed after the matrix library's state.
        let waited = unsafe { self.shared.calls.synchronize(self.handle()) };
        self.shared.note(waited);
        drop(self.matrices.take());
    }
}
