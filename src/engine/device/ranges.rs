//! Ranges for profilers: AMD's ROCTx or NVIDIA's NVTX, depending on the installed library. Without one, ranges have no
//! effect.
//!
//! A range covers the host: the work that it issued between start and end. For AMD's profilers, the ranges of the
//! counted steps also limit the recording if the user asks for selected regions only.

use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::OnceLock;

use libloading::Library;

use super::driver::{Vendor, candidates};
use tinyllama_contract::ranges::COUNTED;

/// The library's functions. The library is never closed.
#[derive(Clone, Copy)]
struct MarkerFunctions {
    push: unsafe extern "C" fn(*const c_char) -> c_int,
    pop: unsafe extern "C" fn() -> c_int,
    /// For one thread, or for all with 0. Only newer AMD libraries have these functions.
    resume: Option<unsafe extern "C" fn(u64) -> c_int>,
    pause: Option<unsafe extern "C" fn(u64) -> c_int>,
}

/// A vendor, its library's names, and the names of the functions that begin and end a range.
pub(super) type MarkerLibrary = (Vendor, &'static [&'static str], [&'static CStr; 2]);

/// The first library found for a vendor counts. rocprofv3 reads AMD's first one, older profilers the second. NVTX 3 is
/// a header without a library. NVIDIA's profilers therefore see ranges only with an earlier library, such as CUDA 12
/// and before install.
pub(super) const LIBRARIES: [MarkerLibrary; 3] = [
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

fn marks() -> Option<MarkerFunctions> {
    static MARKS: OnceLock<Option<MarkerFunctions>> = OnceLock::new();
    *MARKS.get_or_init(|| LIBRARIES.iter().find_map(load))
}

fn load((vendor, names, [push, pop]): &MarkerLibrary) -> Option<MarkerFunctions> {
    let mut found = candidates(*vendor, names).into_iter();
    // SAFETY: this is the vendor's own library, which only notifies a profiler.
    let library = found.find_map(|path| unsafe { Library::new(path) }.ok())?;
    // SAFETY: the signatures are those of roctx.h and nvToolsExt.h; library and functions stay loaded.
    let marks = unsafe {
        MarkerFunctions {
            push: *library.get(push.to_bytes()).ok()?,
            pop: *library.get(pop.to_bytes()).ok()?,
            resume: library.get(b"roctxProfilerResume").ok().map(|found| *found),
            pause: library.get(b"roctxProfilerPause").ok().map(|found| *found),
        }
    };
    std::mem::forget(library);
    Some(marks)
}

/// A range that ends when the guard is dropped, on the same thread.
#[must_use = "the range ends as soon as the guard is dropped"]
pub struct ProfilerRange(Option<MarkerFunctions>);

/// Begins a range. It calls `name` only if a profiler may read it.
pub fn range(name: impl FnOnce() -> String) -> ProfilerRange {
    let marks = marks();
    if let Some(marks) = marks
        && let Ok(name) = CString::new(name())
    {
        // SAFETY: the string ends in a zero, and the library copies it.
        unsafe { (marks.push)(name.as_ptr()) };
        return ProfilerRange(Some(marks));
    }
    ProfilerRange(None)
}

impl Drop for ProfilerRange {
    fn drop(&mut self) {
        if let Some(marks) = self.0 {
            // SAFETY: this guard began the range that is ended.
            unsafe { (marks.pop)() };
        }
    }
}

/// A region that a profiler records if it is limited to selected regions. It ends when the guard is dropped.
#[must_use = "the region ends as soon as the guard is dropped"]
pub struct ProfilerRegion {
    range: ProfilerRange,
}

/// Begins the region of the counted steps.
pub fn begin_counted_region() -> ProfilerRegion {
    if let Some(resume) = marks().and_then(|marks| marks.resume) {
        // SAFETY: 0 stands for every thread.
        unsafe { resume(0) };
    }
    ProfilerRegion {
        range: range(|| COUNTED.to_owned()),
    }
}

impl Drop for ProfilerRegion {
    fn drop(&mut self) {
        // Ends the range while the profiler still records, so that the range is complete.
        self.range = ProfilerRange(None);
        if let Some(pause) = marks().and_then(|marks| marks.pause) {
            // SAFETY: 0 stands for every thread.
            unsafe { pause(0) };
        }
    }
}
