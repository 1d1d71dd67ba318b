//! What takes part in a capture, and the handles that a failed one spoils.
//!
//! HIP ends a capture that failed without freeing its streams: each call on them answers 900 or 901 until the stream is
//! destroyed. So streams and events of a failed capture get new handles.

use std::cell::{Cell, RefCell};
use std::ffi::c_uint;
use std::ptr;
use std::rc::Rc;

use super::Result;
use super::handle::Shared;
use super::interface::{MOST_URGENT, NON_BLOCKING, Opaque};

/// How the driver is asked for a handle.
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
    shared: Rc<Shared>,
}

impl Renewable {
    pub fn create(kind: HandleKind, shared: &Rc<Shared>) -> Result<Rc<Self>> {
        Ok(Rc::new(Renewable {
            handle: Cell::new(kind.create(shared)?),
            kind,
            shared: Rc::clone(shared),
        }))
    }

    pub fn get(&self) -> Opaque {
        self.handle.get()
    }

    /// Destroys the handle and takes a new one of the same kind. Without a new one the old one stays.
    fn renew(&self) {
        match self.kind.create(&self.shared) {
            Ok(new) => self.destroy(self.handle.replace(new)),
            Err(error) => self.shared.note(Err(error)),
        }
    }

    fn destroy(&self, handle: Opaque) {
        let calls = &self.shared.calls;
        // SAFETY: created by this driver, and destroyed only where nothing has the handle any more.
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
    fn create(self, shared: &Shared) -> Result<Opaque> {
        let (calls, mut handle) = (&shared.calls, ptr::null_mut());
        // SAFETY: a place for the handle.
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

/// A capture, and the streams and events that take part in it while it runs.
pub(super) struct Capture {
    running: Cell<bool>,
    /// In the order in which they came; the stream that is captured is the first.
    members: RefCell<Vec<Rc<Renewable>>>,
}

impl Capture {
    /// A running one, of `stream`.
    pub fn of(stream: &Rc<Renewable>) -> Rc<Self> {
        Rc::new(Capture {
            running: Cell::new(true),
            members: RefCell::new(vec![Rc::clone(stream)]),
        })
    }

    pub fn is_running(&self) -> bool {
        self.running.get()
    }

    /// Notes that a stream joined it, or that an event was recorded in it.
    pub fn takes_part(&self, member: &Rc<Renewable>) {
        if self.is_running() {
            self.members.borrow_mut().push(Rc::clone(member));
        }
    }

    /// It is over. After a failure every stream and event of it gets a new handle: branches before the stream they came from,
    /// which knows them.
    pub fn end(&self, failed: bool) {
        self.running.set(false);
        let members = self.members.take();
        if failed {
            members.iter().rev().for_each(|member| member.renew());
        }
    }
}
