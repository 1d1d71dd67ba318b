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

// Runs `kernel` of `module`; returns a description of the error, or an empty string.
std::string execute(const Module &module, const Kernel &kernel, void **arguments, const LaunchSize &size, uint32_t wave_size,
                    DeviceMemory &memory);

}  // namespace stand_in
