// Allocations, copies and fills.

#include <cstdlib>
#include <cstring>

#include "hip.h"
#include "objects.h"
#include "trace.h"

using namespace stand_in;

namespace {

enum Kind { HostToHost = 0, HostToDevice = 1, DeviceToHost = 2, DeviceToDevice = 3, Default = 4 };

// Returns whether the range lies in one allocation. Reports it if not, because on a GPU this is a fault.
bool inside(const char *call, const void *address, size_t bytes) {
    if (bytes == 0 || world().memory.find(address, bytes)) return true;
    complain(std::string(call) + ": " + number(bytes) + " bytes " + world().memory.describe(address));
    return false;
}

hipError_t copy(const char *call, void *to, const void *from, size_t bytes, bool to_device, bool from_device, void *stream) {
    if ((to_device && !inside(call, to, bytes)) || (from_device && !inside(call, from, bytes))) {
        return leave(call, hipErrorInvalidValue, {{"bytes", number(bytes)}});
    }
    const int status = submit(stream, NodeKind::Copy, "a copy of " + number(bytes) + " bytes", [=] {
        if (int clash = from_device ? touch(call, from, bytes, Access::Read) : 0) return clash;
        if (int clash = to_device ? touch(call, to, bytes, Access::Write) : 0) return clash;
        memmove(to, from, bytes);
        return static_cast<int>(hipSuccess);
    });
    return leave(call, status, {{"bytes", number(bytes)}});
}

hipError_t fill(const char *call, void *to, uint32_t value, size_t count, size_t size, void *stream) {
    if (!inside(call, to, count * size)) return leave(call, hipErrorInvalidValue);
    const int status = submit(stream, NodeKind::Fill, "a fill of " + number(count * size) + " bytes", [=] {
        if (int clash = touch(call, to, count * size, Access::Write)) return clash;
        for (size_t i = 0; i < count; i++) memcpy(static_cast<char *>(to) + i * size, &value, size);
        return static_cast<int>(hipSuccess);
    });
    return leave(call, status, {{"bytes", number(count * size)}});
}

hipError_t allocate(const char *call, void **address, size_t bytes) {
    *address = world().memory.allocate(bytes);
    return leave(call, *address ? hipSuccess : hipErrorOutOfMemory, {{"bytes", number(bytes)}});
}

hipError_t release(const char *call, void *address) {
    // HIP waits here as well.
    wait_for_all();
    if (!address || world().memory.release(address)) return leave(call, hipSuccess);
    complain(std::string(call) + ": an address that was not allocated, or was freed before");
    return leave(call, hipErrorInvalidValue);
}

}  // namespace

#define STAND_IN_ENTER(call)                                              \
    const std::lock_guard<std::recursive_mutex> guard(world().lock);      \
    if (int status = enter(call)) return status;

extern "C" {

hipError_t hipMemGetInfo(size_t *free, size_t *total) {
    STAND_IN_ENTER("hipMemGetInfo")
    *total = DeviceMemory::capacity();
    *free = DeviceMemory::capacity() - world().memory.in_use();
    return leave("hipMemGetInfo", hipSuccess);
}

hipError_t hipMalloc(void **address, size_t bytes) {
    STAND_IN_ENTER("hipMalloc")
    return allocate("hipMalloc", address, bytes);
}

hipError_t hipMallocAsync(void **address, size_t bytes, void *) {
    STAND_IN_ENTER("hipMallocAsync")
    return allocate("hipMallocAsync", address, bytes);
}

hipError_t hipFree(void *address) {
    STAND_IN_ENTER("hipFree")
    return release("hipFree", address);
}

hipError_t hipFreeAsync(void *address, void *) {
    STAND_IN_ENTER("hipFreeAsync")
    return release("hipFreeAsync", address);
}

hipError_t hipHostMalloc(void **address, size_t bytes, unsigned) {
    STAND_IN_ENTER("hipHostMalloc")
    *address = aligned_alloc(256, (bytes / 256 + 1) * 256);
    if (*address) world().pinned.insert(*address);
    return leave("hipHostMalloc", *address ? hipSuccess : hipErrorOutOfMemory, {{"bytes", number(bytes)}});
}

static hipError_t free_host(const char *call, void *address) {
    if (address && world().pinned.erase(address) == 0) return leave(call, hipErrorInvalidValue);
    free(address);
    return leave(call, hipSuccess);
}

hipError_t hipHostFree(void *address) {
    STAND_IN_ENTER("hipHostFree")
    return free_host("hipHostFree", address);
}

hipError_t hipFreeHost(void *address) {
    STAND_IN_ENTER("hipFreeHost")
    return free_host("hipFreeHost", address);
}

hipError_t hipMemcpyHtoDAsync(void *to, const void *from, size_t bytes, void *stream) {
    STAND_IN_ENTER("hipMemcpyHtoDAsync")
    return copy("hipMemcpyHtoDAsync", to, from, bytes, true, false, stream);
}

hipError_t hipMemcpyDtoHAsync(void *to, void *from, size_t bytes, void *stream) {
    STAND_IN_ENTER("hipMemcpyDtoHAsync")
    return copy("hipMemcpyDtoHAsync", to, from, bytes, false, true, stream);
}

hipError_t hipMemcpyDtoDAsync(void *to, void *from, size_t bytes, void *stream) {
    STAND_IN_ENTER("hipMemcpyDtoDAsync")
    return copy("hipMemcpyDtoDAsync", to, from, bytes, true, true, stream);
}

hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
    STAND_IN_ENTER("hipMemcpyAsync")
    const bool to_device = kind == HostToDevice || kind == DeviceToDevice;
    const bool from_device = kind == DeviceToHost || kind == DeviceToDevice;
    return copy("hipMemcpyAsync", to, from, bytes, to_device, from_device, stream);
}

hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind,
                            void *stream) {
    const char *call = "hipMemcpy2DAsync";
    STAND_IN_ENTER(call)
    if (width > to_pitch || width > from_pitch) return leave(call, hipErrorInvalidValue);
    const bool to_device = kind == HostToDevice || kind == DeviceToDevice;
    const bool from_device = kind == DeviceToHost || kind == DeviceToDevice;
    const size_t rows = height ? height - 1 : 0;
    if ((to_device && !inside(call, to, rows * to_pitch + width)) || (from_device && !inside(call, from, rows * from_pitch + width))) {
        return leave(call, hipErrorInvalidValue);
    }
    const int status = submit(stream, NodeKind::Copy, number(width) + "x" + number(height), [=] {
        for (size_t row = 0; row < height; row++) {
            const char *row_from = static_cast<const char *>(from) + row * from_pitch, *row_to = static_cast<char *>(to) + row * to_pitch;
            if (int clash = from_device ? touch(call, row_from, width, Access::Read) : 0) return clash;
            if (int clash = to_device ? touch(call, row_to, width, Access::Write) : 0) return clash;
            memmove(static_cast<char *>(to) + row * to_pitch, static_cast<const char *>(from) + row * from_pitch, width);
        }
        return static_cast<int>(hipSuccess);
    });
    return leave(call, status, {{"bytes", number(width * height)}});
}

hipError_t hipMemsetAsync(void *to, int value, size_t bytes, void *stream) {
    STAND_IN_ENTER("hipMemsetAsync")
    return fill("hipMemsetAsync", to, static_cast<uint32_t>(value & 0xff), bytes, 1, stream);
}

hipError_t hipMemsetD8Async(void *to, unsigned char value, size_t count, void *stream) {
    STAND_IN_ENTER("hipMemsetD8Async")
    return fill("hipMemsetD8Async", to, value, count, 1, stream);
}

hipError_t hipMemsetD32Async(void *to, int value, size_t count, void *stream) {
    STAND_IN_ENTER("hipMemsetD32Async")
    return fill("hipMemsetD32Async", to, static_cast<uint32_t>(value), count, 4, stream);
}

}  // extern "C"
