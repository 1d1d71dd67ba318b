//! Counts the bytes of this process's heap. On a CPU it holds the tensors, and nothing else reports them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

/// The system's allocator, with a count of the bytes that it has handed out. A program installs it with
/// `#[global_allocator]`.
pub struct CountedHeap;

static IN_USE: AtomicI64 = AtomicI64::new(0);

/// Returns the bytes in use; `None` in a program without [`CountedHeap`].
pub fn heap_in_use() -> Option<u64> {
    let bytes = u64::try_from(IN_USE.load(Ordering::Relaxed)).ok();
    // No program runs without a heap.
    bytes.filter(|bytes| *bytes > 0)
}

fn count(bytes: usize, sign: i64) {
    IN_USE.fetch_add(sign * bytes as i64, Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for CountedHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller promises it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller promises it.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, 1);
        count(layout.size(), -1);
        // SAFETY: the caller promises it.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: the caller promises it.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static HEAP: CountedHeap = CountedHeap;

    #[test]
    fn what_is_allocated_is_in_use_until_it_is_freed() {
        // Other tests run at the same time and use far less.
        const LARGE: usize = 1 << 31;
        let before = heap_in_use().unwrap();
        let mut values = Vec::<u8>::with_capacity(LARGE);
        assert!(heap_in_use().unwrap() > before + LARGE as u64 / 2);
        values.shrink_to(0);
        assert!(heap_in_use().unwrap() < before + LARGE as u64 / 2);
    }
}
