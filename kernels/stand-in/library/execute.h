// Running a kernel: blocks one after the other, lanes of a block in turns, meetings where the hardware has them.
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

// Bytes of local memory a block can have.
constexpr uint32_t LOCAL_MEMORY = 64 << 10;
constexpr uint32_t MOST_THREADS = 1024;

// What a kernel did that a GPU would suffer, or repay with wrong results.
struct Finding {
    enum class Kind : uint8_t { OutOfBounds, Clash, Barrier, Shuffle, Index, Other } kind;
    std::string words;
    // Where in the code, and where the other side is.
    const void *place = nullptr;
    const void *other_place = nullptr;
    // The memory in question.
    const void *address = nullptr;
    size_t bytes = 0;
    Access access = Access::Read;
    Clash clash = {};
    Dim3 block = {}, thread = {};
    // Barrier: threads that wait, and that never come. Shuffle: the idle lane. Index: the index, and the source's line.
    int64_t count = 0, missing = 0;
};

// Who looks on while a kernel runs.
class Observer {
   public:
    virtual ~Observer() = default;
    // Whether the launch goes on after it.
    virtual bool found(const Finding &finding) = 0;
    virtual void accessed(const void *place, const void *address, size_t bytes, Access access, uint32_t thread) = 0;
    // Whether `place` is part of the module that runs.
    virtual bool in_module(const void *place) const = 0;
    // All lanes of a block have ended.
    virtual void block_ended() = 0;
};

// Runs `kernel` of `module`; the answer is what went wrong, or empty. With an observer, memory that nobody wrote may not be
// read, nor values be taken from idle lanes.
std::string execute(const Module &module, const Kernel &kernel, void **arguments, const LaunchSize &size, uint32_t wave_size,
                    DeviceMemory &memory, Observer *observer = nullptr);

// The block and thread that run now, for who has to say where it was interrupted; and the module's local memory.
struct Running {
    Dim3 block, thread;
    const void *place;
};
Running running();
const char *dynamic_local_memory();

}  // namespace stand_in
