// A module in memory. The system's loader would run constructors and bind any name of the C library. This one runs
// nothing and binds only mathematics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace stand_in {

class LoadedModule {
   public:
    // Places the module with the content `file`; returns a description of what is wrong with it, or an empty string.
    std::string load(const std::string &file);
    // Returns the address of `name` in the module, or null.
    const void *symbol(const char *name) const;
    bool holds(const void *place) const {
        const auto at = static_cast<const char *>(place);
        return at >= base_ && at < base_ + bytes_;
    }
    uintptr_t base() const { return reinterpret_cast<uintptr_t>(base_); }

   private:
    std::string place(const std::string &file);
    std::string relocate(const std::string &file);
    // Returns whether `bytes` at `offset` lie in the module.
    bool inside(uint64_t offset, uint64_t bytes) const { return offset <= bytes_ && bytes <= bytes_ - offset; }

    char *base_ = nullptr;
    size_t bytes_ = 0;
    const std::string *file_ = nullptr;
};

}  // namespace stand_in
