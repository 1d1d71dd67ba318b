// Settings of the simulated machine, from environment variables.
//
// HIP_STAND_IN_ARCH     gfx90a (default), gfx908, gfx942, gfx950, gfx1030, gfx1100 or gfx1201: name and wave size of the
//                       device
// HIP_STAND_IN_DEVICES  number of devices; 1
// HIP_STAND_IN_VERSION  version of the runtime, major.minor.patch; 6.4.0
// HIP_STAND_IN_MEMORY   memory of the device in MiB; 128
// HIP_STAND_IN_UNITS    compute units of the device; 104, or 48 if waves have 32 lanes
// HIP_STAND_IN_L2       its last cache in KiB, 0: not reported; 8192
// HIP_STAND_IN_CLOCK    ms of every piece of work by the events' clock; without it the host's clock counts
// HIP_STAND_IN_RECORD   a file that gets one JSON object for each call, and a summary at the end
// HIP_STAND_IN_FAIL     calls that fail, `CALL#NTH=CODE` separated by commas. NTH counts from 1; without it every call
//                       fails. `!` after CODE loses the device: every later call also fails. `hipMalloc#3=2`: out of
//                       memory at the third allocation. `hipModuleLaunchKernel#5=719!`: a launch that kills the device.
//                       `hang` in place of CODE: the call never returns. `hang!`: no later call returns either, and the
//                       process ends only by SIGKILL.
// HIP_STAND_IN_PLANT    a mistake in every kernel, to check that it is found: barrier (all are removed), shuffle (every
//                       exchange is with lane 1), blocks (every block has index 0), matrix-lanes and matrix-blocks (in a
//                       matrix instruction's result, neighbouring lanes, or halves of 32 lanes, are exchanged)
// HIP_STAND_IN_SUM      off: librccl.so leaves every rank its own values, to check that a missing sum is found; on
// HIP_STAND_IN_LT       empty: libhipblaslt.so loads and has no kernels for the device; on
// HIP_STAND_IN_CXX      the compiler of kernels; clang++-19, or clang++
// HIP_STAND_IN_CACHE    a folder that keeps compiled kernels; without it none are kept
// HIP_STAND_IN_CHECK    full (default): accesses are checked for bounds and order; none: they are not, which is faster
#pragma once

#include <cstdlib>
#include <string>

namespace stand_in {

inline std::string setting(const char *name, const char *otherwise) {
    const char *value = std::getenv(name);
    return value && *value ? value : otherwise;
}

inline std::string architecture() { return setting("HIP_STAND_IN_ARCH", "gfx90a"); }

// CDNA (gfx9) runs 64 lanes together, RDNA 32.
inline unsigned wave_size() { return architecture().rfind("gfx9", 0) == 0 ? 64 : 32; }

}  // namespace stand_in
