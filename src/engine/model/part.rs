//! Tracks which part of the model the program computes, so that device work can be attributed to it.
//!
//! Launches are observed inside the launch path, which knows nothing of the model. So the model announces its parts:
//! [`enter`] pushes a part, dropping the guard pops it. A process runs one training loop, so one stack is enough.

use std::sync::Mutex;

use tinyllama_contract::model::Part;

use crate::device::ranges::{self, ProfilerRange};

type PartListener = Box<dyn Fn(Part) + Send>;

struct Scopes {
    stack: Vec<Part>,
    listener: Option<PartListener>,
}

static SCOPES: Mutex<Scopes> = Mutex::new(Scopes {
    stack: Vec::new(),
    listener: None,
});

fn with_scopes<T>(f: impl FnOnce(&mut Scopes) -> T) -> T {
    // A panic elsewhere must not hide the part in which it happened.
    f(&mut SCOPES
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// Leaves the part when dropped.
#[must_use = "the part is left as soon as the guard is dropped"]
pub struct PartGuard(#[allow(dead_code, reason = "ends when dropped")] ProfilerRange);

/// Enters `part` until the guard is dropped.
pub fn enter(part: Part) -> PartGuard {
    with_scopes(|scopes| {
        scopes.stack.push(part);
        scopes.notify();
    });
    PartGuard(ranges::range(|| part.to_string()))
}

impl Drop for PartGuard {
    fn drop(&mut self) {
        with_scopes(|scopes| {
            scopes.stack.pop();
            scopes.notify();
        });
    }
}

impl Scopes {
    fn current(&self) -> Part {
        self.stack.last().copied().unwrap_or(Part::Other)
    }

    fn notify(&self) {
        if let Some(listener) = &self.listener {
            listener(self.current());
        }
    }
}

/// Returns the part that the program computes now.
pub fn current() -> Part {
    with_scopes(|scopes| scopes.current())
}

/// Calls `listener` with the current part on every change, until the guard is dropped.
///
/// The listener runs while the stack is locked, so it must not enter a part.
pub fn listen(listener: impl Fn(Part) + Send + 'static) -> ListenerGuard {
    with_scopes(|scopes| scopes.listener = Some(Box::new(listener)));
    ListenerGuard(())
}

/// Stops listening when dropped.
#[must_use = "listening stops as soon as the guard is dropped"]
pub struct ListenerGuard(());

impl Drop for ListenerGuard {
    fn drop(&mut self) {
        with_scopes(|scopes| scopes.listener = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn parts_nest_and_the_outer_one_comes_back() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        let listening = listen(move |part| sink.lock().unwrap().push(part));
        {
            let _outer = enter(Part::Backward);
            let _inner = enter(Part::Attention(3));
        }
        drop(listening);
        drop(enter(Part::Loss));
        assert_eq!(
            *seen.lock().unwrap(),
            [
                Part::Backward,
                Part::Attention(3),
                Part::Backward,
                Part::Other
            ]
        );
    }
}
