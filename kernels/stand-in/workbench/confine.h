// What a process may still do once a kernel is near it.
#pragma once

#include <cstdint>

namespace stand_in {

// Before a byte of the module is placed: no files but the standard streams, no network, no children, no more memory than
// `bytes` beyond what there is, no more than `seconds` of computing. False where this system cannot.
bool confine(uint64_t bytes, uint64_t seconds);

// After the module is placed and before it runs: no memory becomes code any more.
bool forbid_new_code();

}  // namespace stand_in
