// Runs a kernel: blocks one after the other, lanes of a block in turns, with meetings where the hardware has them.
#pragma once

#include <string>

#include "../device/abi.h"
#include "memory.h"

namespace stand_in {

struct LaunchSize {
    Dim3 grid;
    Dim3 block;
    uint32_t local_memory_bytes;
};

// Most bytes of local memory per block.
constexpr uint32_t LOCAL_MEMORY = 64 << 10;
constexpr uint32_t MOST_THREADS = 1024;

// A mistake of a kernel that a GPU would not survive, or would turn into wrong results.
struct Finding {
    enum class Kind : uint8_t { OutOfBounds, Clash, Barrier, Shuffle, Index, Other } kind;
    std::string words;
    // Address of the code, and of the other access's code.
    const void *place = nullptr;
    const void *other_place = nullptr;
    // The memory of the access.
    const void *address = nullptr;
    size_t bytes = 0;
    Access access = Access::Read;
    Clash clash = {};
    Dim3 block = {}, thread = {};
    // Barrier: threads that wait, and threads that never arrive. Shuffle: the idle lane. Index: the index, and the
    // source's line.
    int64_t count = 0, missing = 0;
};

// Observes a running kernel.
class Observer {
   public:
    virtual ~Observer() = default;
    // Returns whether the launch continues after the finding.
    virtual bool found(const Finding &finding) = 0;
    virtual void accessed(const void *place, const void *address, size_t bytes, Access access, uint32_t thread) = 0;
    // Returns whether `place` is part of the running module.
    virtual bool in_module(const void *place) const = 0;
    // All lanes of a block have passed a barrier.
    virtual void barrier_passed() {}
    // Called when all lanes of a block have ended.
    virtual void block_ended() = 0;
};

// Runs `kernel` of `module`; returns a description of the error, or an empty string. With an observer, it is also an
// error to read memory that was never written, or to take values from idle lanes.
std::string execute(const Module &module, const Kernel &kernel, void **arguments, const LaunchSize &size, uint32_t wave_size,
                    DeviceMemory &memory, Observer *observer = nullptr);

// The block and thread that run now, for code that reports where it was interrupted.
struct Running {
    Dim3 block, thread;
    const void *place;
};
Running running();
const char *dynamic_local_memory();

}  // namespace stand_in
