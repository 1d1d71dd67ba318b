// The image format that the stand-in's hiprtc writes and its hipModuleLoadData reads.
#pragma once

#include <cstdint>

namespace stand_in {

constexpr char IMAGE_MARK[8] = {'H', 'I', 'P', 'S', 'T', 'A', 'N', 'D'};

struct ImageHeader {
    char mark[8];
    // The device for which it was compiled, without target features.
    char architecture[24];
    // Size of the shared library that follows.
    uint64_t bytes;
};

}  // namespace stand_in
