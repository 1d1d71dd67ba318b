// Limits a process before it runs a kernel.
#pragma once

#include <cstdint>

namespace stand_in {

// Call it before a byte of the module is placed. Afterwards the process can use no files but the standard streams, no
// network and no children. It gets at most `bytes` more memory, and `seconds` of computing. Returns false if this
// system cannot enforce that.
bool confine(uint64_t bytes, uint64_t seconds);

// Call it after the module is placed and before it runs: no memory can become code any more.
bool forbid_new_code();

}  // namespace stand_in
