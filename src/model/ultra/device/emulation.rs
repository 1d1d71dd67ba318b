//! The kernels' own source, compiled for the CPU and run under the recording driver: arguments, shapes, barriers and
//! arithmetic are tested on a machine without a GPU. What is not: the matrix instructions themselves (their operands are,
//! against the layout in the PTX manual), the real libraries, and real concurrency.

use std::ffi::{CString, c_char, c_int, c_void};
use std::io::Write;
use std::process::Command;
use std::rc::Rc;

use libloading::{Library, Symbol};

use crate::device::driver::recording::{HostMemory, Recording};
use crate::device::driver::{Driver, Launch, Source};

const KERNELS: [&str; 14] = [
    "lookup_normalize",
    "normalize",
    "normalize_backward",
    "norm_gradients",
    "swiglu",
    "swiglu_backward",
    "cross_entropy",
    "loss",
    "embedding_gradient",
    "adamw_factors",
    "adamw",
    "attention",
    "attention_backward",
    "block_forward",
];

type EmulatedLaunch = unsafe extern "C" fn(
    kernel: *const c_char,
    sizes: *const u32,
    shared: usize,
    arguments: *mut *mut c_void,
    count: c_int,
) -> c_int;

/// A driver whose kernels are those of `source`, but for the attention's backward pass; executed here.
pub fn open(source: &Source, backward: &Source) -> (Driver, Recording) {
    let library = Rc::new(compile(source));
    let backward_library = match source == backward {
        true => Rc::clone(&library),
        false => Rc::new(compile(backward)),
    };
    let (driver, recording) = Recording::open();
    for name in KERNELS {
        let library = match name {
            "attention_backward" => Rc::clone(&backward_library),
            _ => Rc::clone(&library),
        };
        recording.define_kernel(name, move |memory, launch, arguments| {
            run(&library, name, memory, launch, arguments);
        });
    }
    (driver, recording)
}

fn compile(source: &Source) -> Library {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernels.cpp");
    let mut file = std::fs::File::create(&path).unwrap();
    for text in [
        include_str!("../kernels/emulated.h"),
        &source.text,
        include_str!("../kernels/emulated_entries.h"),
    ] {
        file.write_all(text.as_bytes()).unwrap();
    }
    let library = folder.path().join("kernels.so");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let mut command = Command::new(&compiler);
    command.args([
        // Checked jumps take those between fibers for an attack.
        "-U_FORTIFY_SOURCE",
        "-std=c++17",
        "-O1",
        "-fPIC",
        "-shared",
        "-w",
        "-DTUTOR_EMULATED=1",
    ]);
    for (name, value) in &source.defines {
        command.arg(format!("-D{name}={value}"));
    }
    let output = command.arg(&path).arg("-o").arg(&library).output();
    let output = output.unwrap_or_else(|error| panic!("{compiler} cannot be run: {error}"));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // SAFETY: just compiled; it has no initialisers beyond those of its own statics.
    unsafe { Library::new(&library).unwrap() }
}

fn run(library: &Library, name: &str, memory: &mut HostMemory, launch: &Launch, arguments: &[u64]) {
    // An argument that is an address of the recording driver becomes one of this process.
    let mut values: Vec<u64> = arguments
        .iter()
        .map(|value| match memory.bytes(*value, 1) {
            Some(place) => place.as_mut_ptr() as u64,
            None => *value,
        })
        .collect();
    let mut pointers: Vec<*mut c_void> = values
        .iter_mut()
        .map(|value| std::ptr::from_mut(value).cast())
        .collect();
    let sizes: Vec<u32> = launch.grid.into_iter().chain(launch.block).collect();
    let name = CString::new(name).unwrap();
    let count = c_int::try_from(pointers.len()).unwrap();
    // SAFETY: the library checks the number of arguments; buffers are as long as the schedule says.
    let status = unsafe {
        let emulated: Symbol<'_, EmulatedLaunch> = library.get(b"emulated_launch").unwrap();
        emulated(
            name.as_ptr(),
            sizes.as_ptr(),
            launch.shared_bytes as usize,
            pointers.as_mut_ptr(),
            count,
        )
    };
    assert_eq!(status, 0, "{name:?} with {count} arguments");
}
