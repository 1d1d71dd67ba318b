//! The functions called in CUDA's and HIP's driver libraries. Signatures are from `cuda.h` 13.5 and from
//! `hip_runtime_api.h` of ROCm 6.2 to 7.14. They differ only in names: every handle and every device address is a
//! pointer, and both return a status.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::Vendor;
use super::loader::interface;

/// A stream, event, module, function, graph, … in the driver's representation.
pub(super) type Opaque = *mut c_void;

interface! {
    /// The functions that both drivers have.
    DriverInterface {
        initialise(c_uint) = "cuInit" | "hipInit";
        device_count(*mut c_int) = "cuDeviceGetCount" | "hipGetDeviceCount";
        device(*mut c_int, c_int) = "cuDeviceGet" | "hipDeviceGet";
        device_name(*mut c_char, c_int, c_int) = "cuDeviceGetName" | "hipDeviceGetName";
        device_memory(*mut usize, c_int) = "cuDeviceTotalMem_v2" | "hipDeviceTotalMem";
        device_attribute(*mut c_int, c_int, c_int) = "cuDeviceGetAttribute" | "hipDeviceGetAttribute";
        version(*mut c_int) = "cuDriverGetVersion" | "hipRuntimeGetVersion";
        memory(*mut usize, *mut usize) = "cuMemGetInfo_v2" | "hipMemGetInfo";

        allocate(*mut u64, usize) = "cuMemAlloc_v2" | "hipMalloc";
        free(u64) = "cuMemFree_v2" | "hipFree";
        allocate_pinned(*mut Opaque, usize, c_uint) = "cuMemHostAlloc" | "hipHostMalloc";
        free_pinned(Opaque) = "cuMemFreeHost" | "hipHostFree";
        copy_to_device(u64, *const c_void, usize, Opaque) = "cuMemcpyHtoDAsync_v2" | "hipMemcpyHtoDAsync";
        copy_to_host(*mut c_void, u64, usize, Opaque) = "cuMemcpyDtoHAsync_v2" | "hipMemcpyDtoHAsync";
        copy_on_device(u64, u64, usize, Opaque) = "cuMemcpyDtoDAsync_v2" | "hipMemcpyDtoDAsync";
        fill_bytes(u64, u8, usize, Opaque) = "cuMemsetD8Async" | "hipMemsetD8Async";

        create_stream(*mut Opaque, c_uint) = "cuStreamCreate" | "hipStreamCreateWithFlags";
        create_urgent_stream(*mut Opaque, c_uint, c_int)
            = "cuStreamCreateWithPriority" | "hipStreamCreateWithPriority";
        destroy_stream(Opaque) = "cuStreamDestroy_v2" | "hipStreamDestroy";
        synchronize(Opaque) = "cuStreamSynchronize" | "hipStreamSynchronize";
        wait(Opaque, Opaque, c_uint) = "cuStreamWaitEvent" | "hipStreamWaitEvent";

        create_event(*mut Opaque, c_uint) = "cuEventCreate" | "hipEventCreateWithFlags";
        destroy_event(Opaque) = "cuEventDestroy_v2" | "hipEventDestroy";
        record(Opaque, Opaque) = "cuEventRecord" | "hipEventRecord";
        synchronize_event(Opaque) = "cuEventSynchronize" | "hipEventSynchronize";
        elapsed(*mut f32, Opaque, Opaque) = "cuEventElapsedTime" | "hipEventElapsedTime";

        load_module(*mut Opaque, *const c_void) = "cuModuleLoadData" | "hipModuleLoadData";
        unload_module(Opaque) = "cuModuleUnload" | "hipModuleUnload";
        function(*mut Opaque, Opaque, *const c_char) = "cuModuleGetFunction" | "hipModuleGetFunction";
        function_attribute(*mut c_int, c_int, Opaque) = "cuFuncGetAttribute" | "hipFuncGetAttribute";
        launch(Opaque, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Opaque, *mut Opaque, *mut Opaque)
            = "cuLaunchKernel" | "hipModuleLaunchKernel";

        begin_capture(Opaque, c_int) = "cuStreamBeginCapture_v2" | "hipStreamBeginCapture";
        end_capture(Opaque, *mut Opaque) = "cuStreamEndCapture" | "hipStreamEndCapture";
        graph_nodes(Opaque, *mut Opaque, *mut usize) = "cuGraphGetNodes" | "hipGraphGetNodes";
        node_type(Opaque, *mut c_int) = "cuGraphNodeGetType" | "hipGraphNodeGetType";
        instantiate(*mut Opaque, Opaque, u64) = "cuGraphInstantiateWithFlags" | "hipGraphInstantiateWithFlags";
        launch_graph(Opaque, Opaque) = "cuGraphLaunch" | "hipGraphLaunch";
        destroy_graph(Opaque) = "cuGraphDestroy" | "hipGraphDestroy";
        destroy_executable(Opaque) = "cuGraphExecDestroy" | "hipGraphExecDestroy";
    }
}

interface! {
    /// The functions that only CUDA has, or has with another signature.
    CudaInterface {
        retain_context(*mut Opaque, c_int) = "cuDevicePrimaryCtxRetain";
        release_context(c_int) = "cuDevicePrimaryCtxRelease_v2";
        set_context(Opaque) = "cuCtxSetCurrent";
        set_function_attribute(Opaque, c_int, c_int) = "cuFuncSetAttribute";
    }
}

interface! {
    /// Available from CUDA 11.1, and not in every HIP.
    GraphClock {
        record(Opaque, Opaque, c_uint) = "cuEventRecordWithFlags" | "hipEventRecordWithFlags";
    }
}

interface! {
    /// Available from CUDA 12.0, and not in the stand-in for HIP.
    GraphKernels {
        parameters(Opaque, *mut KernelNode) = "cuGraphKernelNodeGetParams_v2" | "hipGraphKernelNodeGetParams";
    }
}

interface! {
    /// Available from CUDA 11.8.
    ExtendedLaunch {
        launch(*const LaunchConfig, Opaque, *mut Opaque, *mut Opaque) = "cuLaunchKernelEx";
    }
}

interface! {
    /// The functions that only HIP has, or has with another signature.
    HipInterface {
        set_device(c_int) = "hipSetDevice";
        device_properties(*mut HipProperties, c_int) = "hipGetDevicePropertiesR0600";
    }
}

/// `CU_STREAM_NON_BLOCKING`: no implicit order with the default stream.
pub(super) const NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_RECORD_EXTERNAL`: a node of the graph that every replay marks again.
pub(super) const EACH_REPLAY: c_uint = 1;
/// More urgent than any stream can be, so drivers take their most urgent level.
pub(super) const MOST_URGENT: c_int = -100;
/// `CU_EVENT_DISABLE_TIMING`.
pub(super) const WITHOUT_TIMING: c_uint = 2;
/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`: other threads may continue to use the driver.
pub(super) const CAPTURE_THIS_THREAD: c_int = 1;

/// `CUfunction_attribute` and `hipFunction_attribute`, which have the same numbers.
pub(super) mod function_attribute {
    use std::ffi::c_int;
    pub const MAX_THREADS: c_int = 0;
    pub const STATIC_SHARED: c_int = 1;
    pub const LOCAL: c_int = 3;
    pub const REGISTERS: c_int = 4;
    /// Can be set, on CUDA only.
    pub const MAX_DYNAMIC_SHARED: c_int = 8;
}

/// `CUgraphNodeType` and `hipGraphNodeType`, which have the same numbers.
pub(super) mod node_type {
    use std::ffi::c_int;
    pub const KERNEL: c_int = 0;
    pub const COPY: c_int = 1;
    pub const FILL: c_int = 2;
}

/// `CUlaunchConfig`.
#[repr(C)]
pub(super) struct LaunchConfig {
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub shared_bytes: c_uint,
    pub stream: Opaque,
    pub attributes: *const LaunchAttribute,
    pub attribute_count: c_uint,
}

/// `CUlaunchAttribute`: its value is a union of 64 bytes, aligned to 8.
#[repr(C)]
pub(super) struct LaunchAttribute {
    pub id: c_int,
    pub padding: c_int,
    pub value: [u64; 8],
}

/// `CUDA_KERNEL_NODE_PARAMS_v2` or `hipKernelNodeParams`, of which only the grid is read. Both are shorter.
#[repr(C, align(8))]
#[derive(Default)]
pub(super) struct KernelNode([c_uint; 32]);

impl KernelNode {
    /// Blocks of the grid, which CUDA's structure has behind the function, and HIP's behind block, function and extra.
    pub fn blocks(&self, vendor: Vendor) -> u64 {
        let first = match vendor {
            Vendor::Nvidia => 2,
            Vendor::Amd => 8,
        };
        let grid = self.0.iter().skip(first).take(3);
        grid.map(|side| u64::from(*side)).product()
    }
}

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`: start before the previous kernel has ended.
pub(super) const PROGRAMMATIC_SERIALIZATION: c_int = 6;

/// `hipDeviceProp_tR0600`, 1472 bytes long. Only the architecture's name is read, at offset 1160.
#[repr(C, align(8))]
pub(super) struct HipProperties {
    pub before: [u8; 1160],
    pub arch: [u8; 256],
    /// Has room for a later version that has grown.
    pub after: [u8; 2680],
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    /// The expected offsets are those of a C compiler on x86-64.
    #[test]
    fn structures_have_the_layout_of_the_headers() {
        assert_eq!(offset_of!(LaunchConfig, stream), 32);
        assert_eq!(offset_of!(LaunchConfig, attributes), 40);
        assert_eq!(size_of::<LaunchConfig>(), 56);
        assert_eq!(size_of::<LaunchAttribute>(), 72);
        let grid = |first: usize| {
            let mut words = [0; 32];
            words[first..first + 3].copy_from_slice(&[5, 3, 2]);
            KernelNode(words)
        };
        // `gridDimX` of CUDA at byte 8, `gridDim` of HIP at byte 32.
        assert_eq!(grid(2).blocks(Vendor::Nvidia), 30);
        assert_eq!(grid(8).blocks(Vendor::Amd), 30);
        assert_eq!(offset_of!(HipProperties, arch), 1160);
        assert!(size_of::<HipProperties>() > 1472);
    }
}
