//! Ranges that profilers read: ROCTx of AMD's, NVTX of NVIDIA's, in whichever library is installed. Without one nothing happens.
//!
//! Ranges are of the host: what it issued between their start and their end. Those of the counted steps are for AMD's profilers
//! also what they record at all when told to keep to selected regions.

use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::OnceLock;

use libloading::Library;

use super::driver::{Vendor, candidates};
use tinyllama_contract::ranges::COUNTED;

/// The library's functions; it is never closed.
#[derive(Clone, Copy)]
struct Marks {
    push: unsafe extern "C" fn(*const c_char) -> c_int,
    pop: unsafe extern "C" fn() -> c_int,
    /// Of a thread, or of all with 0; only newer libraries of AMD's have them.
    resume: Option<unsafe extern "C" fn(u64) -> c_int>,
    pause: Option<unsafe extern "C" fn(u64) -> c_int>,
}

/// A library's names, and those of its functions to begin and end a range.
pub(super) type Names = (Vendor, &'static [&'static str], [&'static CStr; 2]);

/// The first of a vendor that is found counts. rocprofv3 reads the first of AMD's, older profilers the second. NVTX 3 is a header
/// without a library, so NVIDIA's profilers hear of ranges only where an earlier one is installed, as CUDA 12 and before bring it.
pub(super) const LIBRARIES: [Names; 3] = [
    (
        Vendor::Amd,
        &[
            "librocprofiler-sdk-roctx.so",
            "librocprofiler-sdk-roctx.so.1",
            "librocprofiler-sdk-roctx.so.0",
        ],
        [c"roctxRangePushA", c"roctxRangePop"],
    ),
    (
        Vendor::Amd,
        &["libroctx64.so", "libroctx64.so.4"],
        [c"roctxRangePushA", c"roctxRangePop"],
    ),
    (
        Vendor::Nvidia,
        &["libnvToolsExt.so.1", "libnvToolsExt.so"],
        [c"nvtxRangePushA", c"nvtxRangePop"],
    ),
];

fn marks() -> Option<Marks> {
    static MARKS: OnceLock<Option<Marks>> = OnceLock::new();
    *MARKS.get_or_init(|| LIBRARIES.iter().find_map(load))
}

fn load((vendor, names, [push, pop]): &Names) -> Option<Marks> {
    let mut found = candidates(*vendor, names).into_iter();
    // SAFETY: the vendor's own library, which does nothing but tell a profiler.
    let library = found.find_map(|path| unsafe { Library::new(path) }.ok())?;
    // SAFETY: signatures as in roctx.h and nvToolsExt.h; the library stays loaded, so the functions do.
    let marks = unsafe {
        Marks {
            push: *library.get(push.to_bytes()).ok()?,
            pop: *library.get(pop.to_bytes()).ok()?,
            resume: library.get(b"roctxProfilerResume").ok().map(|found| *found),
            pause: library.get(b"roctxProfilerPause").ok().map(|found| *found),
        }
    };
    std::mem::forget(library);
    Some(marks)
}

/// A range from when it was made to when it is dropped, on the same thread.
#[must_use = "the range ends as soon as the guard is dropped"]
pub struct Range(Option<Marks>);

/// Begins a range; `name` is asked for only where somebody may read it.
pub fn range(name: impl FnOnce() -> String) -> Range {
    let marks = marks();
    if let Some(marks) = marks
        && let Ok(name) = CString::new(name())
    {
        // SAFETY: a string that ends in a zero, which the library copies.
        unsafe { (marks.push)(name.as_ptr()) };
        return Range(Some(marks));
    }
    Range(None)
}

impl Drop for Range {
    fn drop(&mut self) {
        if let Some(marks) = self.0 {
            // SAFETY: there is a range to end, the one that was begun.
            unsafe { (marks.pop)() };
        }
    }
}

/// What a profiler that keeps to selected regions records, until it is dropped.
#[must_use = "the region ends as soon as the guard is dropped"]
pub struct Region {
    range: Range,
}

/// Begins the region of the counted steps.
pub fn counted() -> Region {
    if let Some(resume) = marks().and_then(|marks| marks.resume) {
        // SAFETY: 0 stands for every thread.
        unsafe { resume(0) };
    }
    Region {
        range: range(|| COUNTED.to_owned()),
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // While it still hears, so that the range is whole.
        self.range = Range(None);
        if let Some(pause) = marks().and_then(|marks| marks.pause) {
            // SAFETY: 0 stands for every thread.
            unsafe { pause(0) };
        }
    }
}
