// Device memory: host memory that is poisoned when it is allocated. Its bounds are known, and it remembers which thread
// touched which byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../device/abi.h"

namespace stand_in {

// The last accesses to a byte. An epoch is one stretch of one block between two barriers; epochs only grow.
struct Shadow {
    uint32_t written_in = 0;
    uint32_t read_in = 0;
    uint16_t writer = 0;
    uint16_t reader = 0;
    // The number of the wave's own barriers before the access, and whether it was atomic.
    uint8_t writer_step = 0;
    uint8_t reader_step = 0;
    bool atomically = false;
    bool many_readers = false;
    // The code of the access: the lower half of its address.
    uint32_t writer_place = 0;
    uint32_t reader_place = 0;
};

// The moment of an access.
struct Moment {
    uint32_t epoch;
    // First epochs of the running block and of the launch.
    uint32_t block_epoch;
    uint32_t launch_epoch;
    uint16_t thread;
    uint16_t wave_size;
    uint8_t step;
    uint32_t place;
};

// The earlier access with which an access clashes; converts to false if there is none.
struct Clash {
    enum class Kind : uint8_t { None, Unwritten, OtherWork, Race } kind = Kind::None;
    Access access = Access::Read;
    // Whether the other access was a write, and from another block.
    bool written = false;
    bool other_block = false;
    uint16_t thread = 0;
    uint32_t place = 0;
    size_t byte = 0;
    const char *work = "";

    explicit operator bool() const { return kind != Kind::None; }
    std::string words() const;
};

// A range of memory with one shadow per byte.
class Shadowed {
   public:
    Shadowed() = default;
    Shadowed(char *start, size_t bytes);
    ~Shadowed();
    Shadowed(Shadowed &&other) noexcept;
    Shadowed &operator=(Shadowed &&other) noexcept;

    char *start() const { return start_; }
    size_t bytes() const { return bytes_; }
    bool holds(const void *address, size_t bytes) const {
        auto at = static_cast<const char *>(address);
        return at >= start_ && bytes <= bytes_ && at <= start_ + (bytes_ - bytes);
    }
    // Notes an access; returns the access with which it clashes, or an empty result. `local` memory starts without a
    // value in every block, so a read before any write is a clash.
    Clash touch(const void *address, size_t bytes, Access access, const Moment &now, bool local);
    const Shadow *shadow(size_t byte) const { return shadow_ ? shadow_ + byte : nullptr; }

   private:
    char *start_ = nullptr;
    size_t bytes_ = 0;
    Shadow *shadow_ = nullptr;
};

class DeviceMemory {
   public:
    // HIP_STAND_IN_MEMORY. The default is small for two reasons: the shadow takes 24 times as much of the host's
    // memory, and programs measure bandwidth on as much memory as they find.
    static size_t capacity();
    // Returns null if the capacity does not suffice.
    void *allocate(size_t bytes);
    // Adds memory that the caller allocated and frees.
    void adopt(char *memory, size_t bytes) { allocations_.emplace(reinterpret_cast<uintptr_t>(memory), Shadowed(memory, bytes)); }
    // Returns false if `address` was not allocated here.
    bool release(void *address);
    // Returns the allocation that holds all of `bytes` at `address`, or null.
    Shadowed *find(const void *address, size_t bytes);
    // Notes an access of work that is no kernel; returns a description of a clash, or an empty string.
    std::string touch(const void *address, size_t bytes, Access access);
    // Describes where `address` lies.
    std::string describe(const void *address) const;
    template <class F>
    void each(F visit) const {
        for (auto &[start, allocation] : allocations_) visit(allocation);
    }
    size_t in_use() const { return in_use_; }
    size_t allocations() const { return allocations_.size(); }

   private:
    std::map<uintptr_t, Shadowed> allocations_;
    Shadowed *last_ = nullptr;
    size_t in_use_ = 0;
};

// Value of every byte of new memory: a NaN in f32, f16 and bf16.
constexpr unsigned char POISON = 0xff;

}  // namespace stand_in
