// The part of lld/Common/Driver.h that cubecl-llvm uses; see run_lld.cpp.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

#define LLD_HAS_DRIVER(name)                                                                                            \
    namespace lld {                                                                                                     \
    namespace name {                                                                                                    \
    bool link(llvm::ArrayRef<const char *> args, llvm::raw_ostream &out, llvm::raw_ostream &err, bool exitEarly,        \
              bool disableOutput);                                                                                      \
    }                                                                                                                   \
    }
