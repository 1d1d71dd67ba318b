// Devices, versions, and names of errors.

#include <cstdio>
#include <cstring>

#include "execute.h"
#include "hip.h"
#include "objects.h"
#include "settings.h"
#include "trace.h"

using namespace stand_in;

namespace {

int devices() { return atoi(setting("HIP_STAND_IN_DEVICES", "1").c_str()); }

// Returns the units of the smallest device of the kind, from which block sizes are chosen.
int compute_units() { return atoi(setting("HIP_STAND_IN_UNITS", wave_size() == 64 ? "104" : "48").c_str()); }

// Returns the name in the form of gcnArchName: CDNA devices also name their target features.
std::string arch_name() { return architecture() + (wave_size() == 64 ? ":sramecc+:xnack-" : ""); }

constexpr char NAME[] = "CPU stand-in for an AMD GPU (no hardware)";

// hipDeviceAttribute_t.
enum Attribute {
    ClockRate = 5,
    CooperativeLaunch = 10,
    L2CacheSize = 19,
    MaxThreadsPerBlock = 56,
    MaxThreadsPerMultiProcessor = 57,
    MultiprocessorCount = 63,
    MaxRegistersPerBlock = 71,
    MaxSharedMemoryPerBlock = 74,
    SharedMemPerBlockOptin = 75,
    WarpSize = 87,
    MaxSharedMemoryPerMultiprocessor = 10002,
};

}  // namespace

extern "C" {

hipError_t hipInit(unsigned) {
    if (int status = enter("hipInit")) return status;
    return leave("hipInit", devices() > 0 ? hipSuccess : hipErrorNoDevice);
}

hipError_t hipGetDeviceCount(int *count) {
    if (int status = enter("hipGetDeviceCount")) return status;
    *count = devices();
    return leave("hipGetDeviceCount", devices() > 0 ? hipSuccess : hipErrorNoDevice);
}

hipError_t hipDeviceGet(int *device, int ordinal) {
    if (int status = enter("hipDeviceGet")) return status;
    *device = ordinal;
    return leave("hipDeviceGet", ordinal >= 0 && ordinal < devices() ? hipSuccess : hipErrorInvalidDevice);
}

hipError_t hipSetDevice(int device) {
    if (int status = enter("hipSetDevice")) return status;
    return leave("hipSetDevice", device >= 0 && device < devices() ? hipSuccess : hipErrorInvalidDevice);
}

hipError_t hipSetDeviceFlags(unsigned) {
    if (int status = enter("hipSetDeviceFlags")) return status;
    return leave("hipSetDeviceFlags", hipSuccess);
}

hipError_t hipDeviceGetName(char *name, int length, int) {
    if (int status = enter("hipDeviceGetName")) return status;
    snprintf(name, static_cast<size_t>(length), "%s", NAME);
    return leave("hipDeviceGetName", hipSuccess);
}

hipError_t hipDeviceTotalMem(size_t *bytes, int) {
    if (int status = enter("hipDeviceTotalMem")) return status;
    *bytes = DeviceMemory::capacity();
    return leave("hipDeviceTotalMem", hipSuccess);
}

hipError_t hipDeviceGetAttribute(int *value, int attribute, int device) {
    if (int status = enter("hipDeviceGetAttribute")) return status;
    const bool known = [&] {
        switch (attribute) {
            case WarpSize: *value = static_cast<int>(wave_size()); return true;
            case MultiprocessorCount: *value = compute_units(); return true;
            case MaxThreadsPerBlock: *value = MOST_THREADS; return true;
            case MaxThreadsPerMultiProcessor: *value = 2048; return true;
            case MaxRegistersPerBlock: *value = 65536; return true;
            case MaxSharedMemoryPerBlock:
            case SharedMemPerBlockOptin:
            case MaxSharedMemoryPerMultiprocessor: *value = LOCAL_MEMORY; return true;
            case L2CacheSize: *value = atoi(setting("HIP_STAND_IN_L2", "8192").c_str()) << 10; return true;
            case ClockRate: *value = 1700000; return true;
            case CooperativeLaunch: *value = 0; return true;
            default: return false;
        }
    }();
    const bool there = device >= 0 && device < devices();
    return leave("hipDeviceGetAttribute", !there ? hipErrorInvalidDevice : known ? hipSuccess : hipErrorInvalidValue,
                 {{"attribute", std::to_string(attribute)}});
}

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *properties, int device) {
    if (int status = enter("hipGetDevicePropertiesR0600")) return status;
    if (device < 0 || device >= devices()) return leave("hipGetDevicePropertiesR0600", hipErrorInvalidDevice);
    hipDeviceProp_tR0600 filled = {};
    snprintf(filled.name, sizeof filled.name, "%s", NAME);
    snprintf(filled.gcnArchName, sizeof filled.gcnArchName, "%s", arch_name().c_str());
    filled.totalGlobalMem = DeviceMemory::capacity();
    filled.sharedMemPerBlock = LOCAL_MEMORY;
    filled.regsPerBlock = 65536;
    filled.warpSize = static_cast<int>(wave_size());
    filled.maxThreadsPerBlock = MOST_THREADS;
    for (int &size : filled.maxThreadsDim) size = MOST_THREADS;
    filled.maxGridSize[0] = 0x7fffffff;
    filled.maxGridSize[1] = filled.maxGridSize[2] = 65536;
    filled.clockRate = 1700000;
    filled.major = 9;
    filled.textureAlignment = 256;
    filled.multiProcessorCount = compute_units();
    *properties = filled;
    return leave("hipGetDevicePropertiesR0600", hipSuccess);
}

hipError_t hipDeviceGetPCIBusId(char *name, int length, int) {
    if (int status = enter("hipDeviceGetPCIBusId")) return status;
    snprintf(name, static_cast<size_t>(length), "0000:03:00.0");
    return leave("hipDeviceGetPCIBusId", hipSuccess);
}

hipError_t hipRuntimeGetVersion(int *version) {
    if (int status = enter("hipRuntimeGetVersion")) return status;
    int major = 0, minor = 0, patch = 0;
    sscanf(setting("HIP_STAND_IN_VERSION", "6.4.0").c_str(), "%d.%d.%d", &major, &minor, &patch);
    *version = major * 10000000 + minor * 100000 + patch;
    return leave("hipRuntimeGetVersion", hipSuccess);
}

hipError_t hipDriverGetVersion(int *version) { return hipRuntimeGetVersion(version); }

// This needs no `enter`: asking for the name of an error is no work of the device.
const char *hipGetErrorName(hipError_t error) {
    switch (error) {
        case hipSuccess: return "hipSuccess";
        case hipErrorInvalidValue: return "hipErrorInvalidValue";
        case hipErrorOutOfMemory: return "hipErrorOutOfMemory";
        case hipErrorInsufficientDriver: return "hipErrorInsufficientDriver";
        case hipErrorNoDevice: return "hipErrorNoDevice";
        case hipErrorInvalidDevice: return "hipErrorInvalidDevice";
        case hipErrorInvalidImage: return "hipErrorInvalidImage";
        case hipErrorNoBinaryForGpu: return "hipErrorNoBinaryForGpu";
        case hipErrorInvalidHandle: return "hipErrorInvalidHandle";
        case hipErrorNotFound: return "hipErrorNotFound";
        case hipErrorNotReady: return "hipErrorNotReady";
        case hipErrorIllegalAddress: return "hipErrorIllegalAddress";
        case hipErrorLaunchOutOfResources: return "hipErrorLaunchOutOfResources";
        case hipErrorLaunchFailure: return "hipErrorLaunchFailure";
        case hipErrorNotSupported: return "hipErrorNotSupported";
        case hipErrorStreamCaptureUnsupported: return "hipErrorStreamCaptureUnsupported";
        case hipErrorStreamCaptureInvalidated: return "hipErrorStreamCaptureInvalidated";
        case hipErrorStreamCaptureMerge: return "hipErrorStreamCaptureMerge";
        case hipErrorStreamCaptureUnmatched: return "hipErrorStreamCaptureUnmatched";
        case hipErrorStreamCaptureUnjoined: return "hipErrorStreamCaptureUnjoined";
        case hipErrorStreamCaptureIsolation: return "hipErrorStreamCaptureIsolation";
        case hipErrorCapturedEvent: return "hipErrorCapturedEvent";
        case hipErrorGraphExecUpdateFailure: return "hipErrorGraphExecUpdateFailure";
        default: return "hipErrorUnknown";
    }
}

const char *hipGetErrorString(hipError_t error) { return hipGetErrorName(error); }

}  // extern "C"
