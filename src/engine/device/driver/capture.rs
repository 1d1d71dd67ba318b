//! Tracks the streams and events of a capture, and renews their handles after a failed one.
//!
//! HIP ends a capture that failed without freeing its streams: each call on them answers 900 or 901 until the stream is
//! destroyed. So streams and events of a failed capture get new handles.

use std::cell::{Cell, RefCell};
use std::ffi::c_uint;
use std::ptr;
use std::rc::Rc;

use super::Result;
use super::handle::DriverState;
use super::interface::{MOST_URGENT, NON_BLOCKING, Opaque};

/// How a handle is created.
#[derive(Clone, Copy)]
pub(super) enum HandleKind {
    Stream,
    UrgentStream,
    /// With these flags.
    Event(c_uint),
}

/// A stream's or an event's handle, which can be exchanged for a new one.
pub(super) struct Renewable {
    handle: Cell<Opaque>,
    kind: HandleKind,
    shared: Rc<DriverState>,
}

impl Renewable {
    pub fn create(kind: HandleKind, shared: &Rc<DriverState>) -> Result<Rc<Self>> {
        Ok(Rc::new(Renewable {
            handle: Cell::new(kind.create(shared)?),
            kind,
            shared: Rc::clone(shared),
        }))
    }

    pub fn get(&self) -> Opaque {
        self.handle.get()
    }

    /// Destroys the handle and creates a new one of the same kind. If that fails, the old one stays.
    fn renew(&self) {
        match self.kind.create(&self.shared) {
            Ok(new) => self.destroy(self.handle.replace(new)),
            Err(error) => self.shared.note(Err(error)),
        }
    }

    fn destroy(&self, handle: Opaque) {
        let calls = &self.shared.calls;
        // SAFETY: created by this driver, and destroyed only when no other code has the handle any more.
        let destroyed = unsafe {
            match self.kind {
                HandleKind::Stream | HandleKind::UrgentStream => calls.destroy_stream(handle),
                HandleKind::Event(_) => calls.destroy_event(handle),
            }
        };
        self.shared.note(destroyed);
    }
}

impl HandleKind {
    fn create(self, shared: &DriverState) -> Result<Opaque> {
        let (calls, mut handle) = (&shared.calls, ptr::null_mut());
        // SAFETY: the pointer to the handle is valid for writing.
        unsafe {
            match self {
                HandleKind::Stream => calls.create_stream(&mut handle, NON_BLOCKING)?,
                HandleKind::UrgentStream => {
                    calls.create_urgent_stream(&mut handle, NON_BLOCKING, MOST_URGENT)?;
                }
                HandleKind::Event(flags) => calls.create_event(&mut handle, flags)?,
            }
        }
        Ok(handle)
    }
}

impl Drop for Renewable {
    fn drop(&mut self) {
        self.destroy(self.handle.get());
    }
}

/// A capture, with the streams and events that take part in it while it runs.
pub(super) struct Capture {
    running: Cell<bool>,
    /// In the order in which they joined; the captured stream is the first.
    members: RefCell<Vec<Rc<Renewable>>>,
}

impl Capture {
    /// Starts tracking a capture of `stream`.
    pub fn start(stream: &Rc<Renewable>) -> Rc<Self> {
        Rc::new(Capture {
            running: Cell::new(true),
            members: RefCell::new(vec![Rc::clone(stream)]),
        })
    }

    pub fn is_running(&self) -> bool {
        self.running.get()
    }

    /// Adds a stream that joined the capture, or an event that was recorded in it.
    pub fn takes_part(&self, member: &Rc<Renewable>) {
        if self.is_running() {
            self.members.borrow_mut().push(Rc::clone(member));
        }
    }

    /// Ends the capture. After a failure all its streams and events get new handles. Branches come before the stream
    /// that they came from, because that stream knows them.
    pub fn end(&self, failed: bool) {
        self.running.set(false);
        let members = self.members.take();
        if failed {
            members.iter().rev().for_each(|member| member.renew());
        }
    }
}
