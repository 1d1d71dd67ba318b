//! Streams, events, and everything that is put into a stream.

use std::cell::Cell;
use std::rc::Rc;

use super::api::{Address, EventHandle, StreamHandle, Workspace};
use super::handle::{Shared, Work};
use super::memory::{Plain, bytes_of, bytes_of_mut};
use super::module::named;
use super::{Argument, Buffer, Driver, DriverError, Kernel, Launch, Pinned, Slice};

type Result<T> = std::result::Result<T, DriverError>;

/// A queue of work: what is put into it runs in order, and beside other streams.
///
/// It owns the scratch memory of the matrix library, because two multiplications at once must not share any.
/// Dropping it waits for its work.
pub struct Stream {
    handle: StreamHandle,
    workspace: Option<Buffer>,
    /// Whether work is captured instead of executed. A stream joins a capture by waiting for an event of one.
    capturing: Rc<Cell<bool>>,
    joined: std::cell::RefCell<Option<Rc<Cell<bool>>>>,
    pub(super) shared: Rc<Shared>,
}

/// A point in a stream: to measure between, or to make one stream wait for another.
pub struct Event {
    handle: EventHandle,
    /// The capture it was recorded in.
    capture: std::cell::RefCell<Option<Rc<Cell<bool>>>>,
    shared: Rc<Shared>,
}

impl Driver {
    /// Opens a stream with `workspace` bytes for the matrix library (32 MiB serve it best on large devices; 0 for a
    /// stream without multiplications).
    pub fn stream(&self, workspace: usize) -> Result<Stream> {
        let workspace = match workspace {
            0 => None,
            bytes => Some(self.allocate(bytes)?),
        };
        Ok(Stream {
            handle: self.shared.api.create_stream(workspace.is_some())?,
            workspace,
            capturing: Rc::default(),
            joined: Default::default(),
            shared: Rc::clone(&self.shared),
        })
    }

    /// An event whose time can be read.
    pub fn timed_event(&self) -> Result<Event> {
        self.event(true)
    }

    /// An event that only orders streams, which costs less.
    pub fn ordering_event(&self) -> Result<Event> {
        self.event(false)
    }

    fn event(&self, timed: bool) -> Result<Event> {
        Ok(Event {
            handle: self.shared.api.create_event(timed)?,
            capture: Default::default(),
            shared: Rc::clone(&self.shared),
        })
    }
}

impl Stream {
    /// Waits until everything put into the stream is done.
    ///
    /// # Errors
    /// Also the failure of any earlier kernel, which drivers report late.
    pub fn synchronize(&self) -> Result<()> {
        self.refuse_while_capturing("waiting for a stream")?;
        // SAFETY: the handle is ours.
        unsafe { self.shared.api.synchronize(self.handle) }
    }

    /// Puts a kernel into the stream.
    ///
    /// # Safety
    /// `arguments` are those the kernel declares, in number, size and order, and point to memory large enough for it that
    /// stays until the stream has passed (or, captured, while the graph is used).
    pub unsafe fn launch(
        &self,
        kernel: &Kernel,
        launch: &Launch,
        arguments: &[Argument<'_>],
    ) -> Result<()> {
        let attributes = kernel.attributes();
        if launch.threads() > u64::from(attributes.max_threads) || launch.threads() == 0 {
            return Err(DriverError::Invalid(format!(
                "kernel {} with {} threads a block; it can have 1 to {}",
                kernel.name(),
                launch.threads(),
                attributes.max_threads
            )));
        }
        // SAFETY: the kernel's module lives while it does; the arguments are the caller's promise.
        unsafe {
            self.shared
                .api
                .launch(kernel.function(), launch, self.handle, arguments)
        }
        .map_err(|error| named(error, &format!("kernel {}, {launch:?}", kernel.name())))?;
        self.count(Work::Kernel);
        Ok(())
    }

    /// Copies `numbers` to the start of `to` and waits for it. Not while capturing.
    pub fn upload<T: Plain>(&self, to: Slice, numbers: &[T]) -> Result<()> {
        self.refuse_while_capturing("copying from pageable memory")?;
        let bytes = bytes_of(numbers);
        let to = to.slice(0, bytes.len())?;
        // SAFETY: both ranges are as long as said, and we wait before `numbers` can go.
        unsafe {
            self.shared.api.copy_to_device(
                to.address(),
                bytes.as_ptr(),
                bytes.len(),
                self.handle,
            )?;
        }
        self.count(Work::Transfer);
        self.synchronize()
    }

    /// Copies the first `count` numbers of `from` and waits for them. Not while capturing.
    pub fn download<T: Plain>(&self, from: Slice, count: usize) -> Result<Vec<T>> {
        self.refuse_while_capturing("copying to pageable memory")?;
        let from = from.slice(0, count.saturating_mul(size_of::<T>()))?;
        let mut numbers = vec![T::default(); count];
        let bytes = bytes_of_mut(&mut numbers);
        // SAFETY: both ranges are as long as said, and we wait before `numbers` is used.
        unsafe {
            self.shared.api.copy_to_host(
                bytes.as_mut_ptr(),
                from.address(),
                bytes.len(),
                self.handle,
            )?;
        }
        self.count(Work::Transfer);
        self.synchronize()?;
        Ok(numbers)
    }

    /// Copies all of `from` to the start of `to`, when the stream gets there.
    ///
    /// # Safety
    /// `from` stays until the stream has passed (or, captured, while the graph is used); so does what `to` belongs to.
    pub unsafe fn upload_pinned<T: Plain>(&self, to: Slice, from: &Pinned<T>) -> Result<()> {
        let to = to.slice(0, from.bytes())?;
        // SAFETY: both ranges are as long as said; their lives are the caller's promise.
        unsafe {
            self.shared.api.copy_to_device(
                to.address(),
                from.pointer(),
                to.bytes(),
                self.handle,
            )?;
        }
        self.count(Work::Transfer);
        Ok(())
    }

    /// Fills `to` from the start of `from`, when the stream gets there.
    ///
    /// # Safety
    /// As for [`upload_pinned`](Self::upload_pinned).
    pub unsafe fn download_pinned<T: Plain>(&self, to: &Pinned<T>, from: Slice) -> Result<()> {
        let from = from.slice(0, to.bytes())?;
        // SAFETY: both ranges are as long as said; their lives are the caller's promise.
        unsafe {
            self.shared.api.copy_to_host(
                to.pointer(),
                from.address(),
                from.bytes(),
                self.handle,
            )?;
        }
        self.count(Work::Transfer);
        Ok(())
    }

    /// Copies `from` to the start of `to` on the device.
    ///
    /// # Safety
    /// Both stay until the stream has passed (or, captured, while the graph is used) and do not overlap.
    pub unsafe fn copy(&self, to: Slice, from: Slice) -> Result<()> {
        let to = to.slice(0, from.bytes())?;
        // SAFETY: both ranges are as long as said; the rest is the caller's promise.
        unsafe {
            self.shared.api.copy_on_device(
                to.address(),
                from.address(),
                from.bytes(),
                self.handle,
            )?;
        }
        self.count(Work::Transfer);
        Ok(())
    }

    /// Sets every byte of `to` to zero.
    ///
    /// # Safety
    /// `to` stays until the stream has passed (or, captured, while the graph is used).
    pub unsafe fn clear(&self, to: Slice) -> Result<()> {
        // SAFETY: the range is as long as said; its life is the caller's promise.
        unsafe {
            self.shared
                .api
                .fill_bytes(to.address(), 0, to.bytes(), self.handle)?;
        }
        self.count(Work::Transfer);
        Ok(())
    }

    /// Sets every 4-byte word of `to` to the bits of `value`.
    ///
    /// # Safety
    /// As for [`clear`](Self::clear).
    pub unsafe fn fill(&self, to: Slice, value: f32) -> Result<()> {
        if !to.bytes().is_multiple_of(4) {
            return Err(DriverError::Invalid(format!(
                "{} bytes filled with words",
                to.bytes()
            )));
        }
        // SAFETY: as for `clear`.
        unsafe {
            self.shared.api.fill_words(
                to.address(),
                value.to_bits(),
                to.bytes() / 4,
                self.handle,
            )?;
        }
        self.count(Work::Transfer);
        Ok(())
    }

    /// Marks this point of the stream.
    pub fn record(&self, event: &Event) -> Result<()> {
        // SAFETY: both handles are ours.
        unsafe { self.shared.api.record(event.handle, self.handle)? };
        event.capture.replace(self.capture_token());
        Ok(())
    }

    /// Lets everything put into this stream from now on wait for `event`. In a capture this forks and joins branches.
    pub fn wait(&self, event: &Event) -> Result<()> {
        // SAFETY: both handles are ours.
        unsafe { self.shared.api.wait(self.handle, event.handle)? };
        if !self.capturing.get()
            && let Some(capture) = event.capture.borrow().as_ref()
        {
            self.joined.replace(Some(Rc::clone(capture)));
        }
        Ok(())
    }

    /// Whether work put into the stream is captured and not executed.
    pub fn is_capturing(&self) -> bool {
        self.capture_token().is_some()
    }

    /// The flag of the running capture this stream is part of.
    fn capture_token(&self) -> Option<Rc<Cell<bool>>> {
        let own = self.capturing.get().then(|| Rc::clone(&self.capturing));
        own.or_else(|| self.joined.borrow().clone().filter(|capture| capture.get()))
    }

    /// Bytes the matrix library may use in this stream.
    pub fn workspace_bytes(&self) -> usize {
        self.workspace.as_ref().map_or(0, Buffer::bytes)
    }

    pub(super) fn workspace(&self) -> Workspace {
        match &self.workspace {
            Some(buffer) => Workspace {
                address: buffer.address(),
                bytes: buffer.bytes(),
            },
            None => Workspace {
                address: Address(0),
                bytes: 0,
            },
        }
    }

    pub(super) fn handle(&self) -> StreamHandle {
        self.handle
    }

    pub(super) fn capturing(&self) -> &Cell<bool> {
        &self.capturing
    }

    pub(super) fn count(&self, work: Work) {
        self.shared.accounts.count(work, self.is_capturing());
    }

    pub(super) fn refuse_while_capturing(&self, what: &str) -> Result<()> {
        if self.is_capturing() {
            return Err(DriverError::Invalid(format!(
                "{what} cannot be captured into a graph"
            )));
        }
        Ok(())
    }
}

impl Event {
    /// Waits until the stream has reached this point.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the handle is ours.
        unsafe { self.shared.api.synchronize_event(self.handle) }
    }

    /// Milliseconds from `earlier` to this event; both timed, recorded and reached.
    pub fn milliseconds_since(&self, earlier: &Event) -> Result<f32> {
        // SAFETY: both handles are ours.
        unsafe { self.shared.api.elapsed(earlier.handle, self.handle) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created by this driver and destroyed only here.
        let destroyed = unsafe { self.shared.api.destroy_event(self.handle) };
        self.shared.note(destroyed);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // The buffers its work uses may be dropped next, the workspace is.
        // SAFETY: created by this driver and destroyed only here.
        unsafe {
            self.shared.note(self.shared.api.synchronize(self.handle));
            self.shared
                .note(self.shared.api.destroy_stream(self.handle));
        }
    }
}
