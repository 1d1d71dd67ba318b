// The interface between a compiled kernel and the stand-in library. Both include this file. A kernel has no other way
// to reach the library, so it does not matter how the library was loaded.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace stand_in {

struct Dim3 {
    uint32_t x, y, z;
};

// One lane, as its kernel sees it.
struct Lane {
    Dim3 thread;
    // Index in the wave.
    uint32_t lane;
    // Its stack, which no other lane may access.
    const char *stack;
    const char *stack_end;
};

// The launch to which all lanes belong.
struct Grid {
    Dim3 block;
    Dim3 block_size;
    Dim3 grid_size;
    uint32_t wave_size;
    char *local_memory;
};

enum class Access : uint32_t { Read, Write, Atomic };

// Operations that lanes of a wave do together. A lane waits for all lanes of its wave that can reach the same place.
enum class WaveOperation : uint32_t { Shuffle, Ballot, Barrier, Together };

// A lane's input to an instruction that all lanes of a wave execute together.
struct Together {
    // Called once, with the inputs of all lanes of the wave; returns a message about an error in them, or null.
    const char *(*carry_out)(Together *const *lanes);
};

struct Runtime {
    // Waits for the whole block.
    void (*barrier)(const void *place);
    // Shuffle: returns the value of lane `argument`, or poison if that lane takes no part. Ballot: returns a bit for
    // each lane whose value is not zero; `active` gets the lanes that take part. Together: the value is the address of
    // the lane's input.
    uint64_t (*wave)(const void *place, WaveOperation operation, uint64_t value, uint32_t argument, uint64_t *active);
    // Called before every access to memory other than the lane's own stack. `place` is the address of the code.
    void (*access)(const void *address, size_t bytes, Access access, const void *place);
    void (*fail)(const char *message);
};

// One kernel of a module.
struct Kernel {
    const char *name;
    // Calls the kernel with arguments as hipModuleLaunchKernel takes them.
    void (*call)(void **arguments);
    const uint32_t *argument_bytes;
    uint32_t arguments;
};

// A compiled module exports this as `hip_stand_in_module`.
struct Module {
    uint32_t version;
    const Runtime **runtime;
    Lane **lane;
    Grid *grid;
    const Kernel *kernels;
    uint32_t kernel_count;
    // Local memory whose size is known when the module is compiled; null if there is none.
    char *static_local_memory;
    char *static_local_memory_end;
};

// Changes with every incompatible change above, so that a cached module of another version is compiled again.
constexpr uint32_t ABI_VERSION = 7;

}  // namespace stand_in
