// What a compiled kernel and the stand-in library know of each other. Both include this file; a kernel has no other way to
// reach the library, so that it does not matter how the library was loaded.
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
    // Place in the wave.
    uint32_t lane;
    // Its stack, which no other lane may reach.
    const char *stack;
    const char *stack_end;
};

// The launch all lanes are part of.
struct Grid {
    Dim3 block;
    Dim3 block_size;
    Dim3 grid_size;
    uint32_t wave_size;
    char *local_memory;
};

enum class Access : uint32_t { Read, Write, Atomic };

// What lanes of a wave do together. A lane waits until all lanes of its wave that can reach the same place are there.
enum class WaveOperation : uint32_t { Shuffle, Ballot, Barrier, Together };

// What each lane of a wave brings to an instruction that all of them carry out together.
struct Together {
    // Called once, with what every lane of the wave brought; what is wrong with that, or null.
    const char *(*carry_out)(Together *const *lanes);
};

struct Runtime {
    // Waits for the whole block.
    void (*barrier)(const void *place);
    // Shuffle: the value of lane `argument`, which is poison where that lane takes no part. Ballot: a bit for each lane
    // whose value is not zero; the lanes taking part in `active`. Together: the value is the address of what the lane brings.
    uint64_t (*wave)(const void *place, WaveOperation operation, uint64_t value, uint32_t argument, uint64_t *active);
    // Called before every access to memory other than the lane's own stack, with where in the code it is.
    void (*access)(const void *address, size_t bytes, Access access, const void *place);
    void (*fail)(const char *message);
    // An index outside an array whose size is part of its type, in line `line`.
    void (*index)(uint32_t line, const char *array, int64_t index);
};

// One kernel of a module.
struct Kernel {
    const char *name;
    // Calls the kernel with arguments as hipModuleLaunchKernel takes them.
    void (*call)(void **arguments);
    const uint32_t *argument_bytes;
    uint32_t arguments;
};

// What a compiled module exports as `hip_stand_in_module`.
struct Module {
    uint32_t version;
    const Runtime **runtime;
    Lane **lane;
    Grid *grid;
    const Kernel *kernels;
    uint32_t kernel_count;
    // Local memory with a size known when the module was compiled; null where there is none.
    char *static_local_memory;
    char *static_local_memory_end;
};

// Changes with every incompatible change above: a cached module of another version is compiled again.
constexpr uint32_t ABI_VERSION = 6;

}  // namespace stand_in
