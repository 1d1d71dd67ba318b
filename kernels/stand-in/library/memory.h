// Device memory: host memory that is poisoned when handed out, whose bounds are known, and which remembers who touched
// what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../device/abi.h"

namespace stand_in {

// Who touched a byte last. An epoch is one stretch of one block between two barriers; epochs only ever grow.
struct Shadow {
    uint32_t written_in = 0;
    uint32_t read_in = 0;
    uint16_t writer = 0;
    uint16_t reader = 0;
    // The wave's own barriers up to the access, and whether it was atomic.
    uint8_t writer_step = 0;
    uint8_t reader_step = 0;
    bool atomically = false;
    bool many_readers = false;
    // Where in the code: the lower half of the address.
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

// What an access clashes with; converts to false where it does not.
struct Clash {
    enum class Kind : uint8_t { None, Unwritten, OtherWork, Race } kind = Kind::None;
    Access access = Access::Read;
    // What the other access was.
    bool written = false;
    bool other_block = false;
    uint16_t thread = 0;
    uint32_t place = 0;
    size_t byte = 0;
    const char *work = "";

    explicit operator bool() const { return kind != Kind::None; }
    std::string words() const;
};

// A stretch of memory with a shadow byte for byte.
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
    // Notes an access; the answer is what it clashes with, or empty. In `local` memory, which starts without a value in
    // every block, a read before any write is a clash too; in other memory where `strict`.
    Clash touch(const void *address, size_t bytes, Access access, const Moment &now, bool local, bool strict = false);
    const Shadow *shadow(size_t byte) const { return shadow_ ? shadow_ + byte : nullptr; }

   private:
    char *start_ = nullptr;
    size_t bytes_ = 0;
    Shadow *shadow_ = nullptr;
};

class DeviceMemory {
   public:
    // HIP_STAND_IN_MEMORY. Little by default, because who touched it takes 24 times as much of the host, and because
    // programs measure bandwidth on what they find.
    static size_t capacity();
    // Null where the capacity does not suffice.
    void *allocate(size_t bytes);
    // Memory that somebody else allocated, and frees.
    void adopt(char *memory, size_t bytes) { allocations_.emplace(reinterpret_cast<uintptr_t>(memory), Shadowed(memory, bytes)); }
    // False where `address` was not allocated here.
    bool release(void *address);
    // The allocation that holds all of `bytes` at `address`, or null.
    Shadowed *find(const void *address, size_t bytes);
    // Notes an access of work that is no kernel; the answer is what it clashes with, or empty.
    std::string touch(const void *address, size_t bytes, Access access);
    // Where `address` lies, in words.
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

// What fresh memory holds: a NaN in f32, f16 and bf16.
constexpr unsigned char POISON = 0xff;

}  // namespace stand_in
