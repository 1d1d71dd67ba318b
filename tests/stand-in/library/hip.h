// The part of HIP's interface that the stand-in provides, with HIP's own names and numbers (hip_runtime_api.h of ROCm 6).
#pragma once

#include <cstddef>
#include <cstdint>

using hipError_t = int;

enum : hipError_t {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorOutOfMemory = 2,
    hipErrorInsufficientDriver = 35,
    hipErrorNoDevice = 100,
    hipErrorInvalidDevice = 101,
    hipErrorInvalidImage = 200,
    hipErrorNoBinaryForGpu = 209,
    hipErrorInvalidHandle = 400,
    hipErrorNotFound = 500,
    hipErrorNotReady = 600,
    hipErrorIllegalAddress = 700,
    hipErrorLaunchOutOfResources = 701,
    hipErrorLaunchFailure = 719,
    hipErrorNotSupported = 801,
    hipErrorStreamCaptureUnsupported = 900,
    hipErrorStreamCaptureInvalidated = 901,
    hipErrorStreamCaptureMerge = 902,
    hipErrorStreamCaptureUnmatched = 903,
    hipErrorStreamCaptureUnjoined = 904,
    hipErrorStreamCaptureIsolation = 905,
    hipErrorStreamCaptureImplicit = 906,
    hipErrorCapturedEvent = 907,
    hipErrorStreamCaptureWrongThread = 908,
    hipErrorGraphExecUpdateFailure = 910,
};

// hipDeviceProp_tR0600. Only its beginning and the architecture's name are filled in.
struct hipDeviceProp_tR0600 {
    char name[256];
    char uuid[16];
    char luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate;
    size_t totalConstMem;
    int major;
    int minor;
    size_t textureAlignment;
    size_t texturePitchAlignment;
    int deviceOverlap;
    int multiProcessorCount;
    int kernelExecTimeoutEnabled;
    int integrated;
    char rest[760];
    char gcnArchName[256];
    char end[56];
};
// Offsets of AMD's header as a C compiler gives them on x86-64.
static_assert(offsetof(hipDeviceProp_tR0600, multiProcessorCount) == 388, "hipDeviceProp_tR0600");
static_assert(offsetof(hipDeviceProp_tR0600, gcnArchName) == 1160, "hipDeviceProp_tR0600");
static_assert(sizeof(hipDeviceProp_tR0600) == 1472, "hipDeviceProp_tR0600");
