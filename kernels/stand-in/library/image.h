// What the stand-in's hiprtc makes and its hipModuleLoadData takes.
#pragma once

#include <cstdint>

namespace stand_in {

constexpr char IMAGE_MARK[8] = {'H', 'I', 'P', 'S', 'T', 'A', 'N', 'D'};

struct ImageHeader {
    char mark[8];
    // The device it was compiled for, without target features.
    char architecture[24];
    // Of the shared library that follows.
    uint64_t bytes;
};

}  // namespace stand_in
