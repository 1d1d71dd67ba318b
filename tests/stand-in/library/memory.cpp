#include "memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "order.h"
#include "settings.h"

namespace stand_in {
namespace {
constexpr size_t ALIGNMENT = 256;

const char *name(Access access) {
    switch (access) {
        case Access::Read: return "reads";
        case Access::Write: return "writes";
        case Access::Atomic: return "updates";
    }
    return "touches";
}
}  // namespace

Shadowed::Shadowed(char *start, size_t bytes) : start_(start), bytes_(bytes) {
    // Pages of zeros, which take no memory until they are written.
    void *shadow = mmap(nullptr, bytes * sizeof(Shadow) + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    shadow_ = shadow == MAP_FAILED ? nullptr : static_cast<Shadow *>(shadow);
}

Shadowed::~Shadowed() {
    if (shadow_) munmap(shadow_, bytes_ * sizeof(Shadow) + 1);
}

Shadowed::Shadowed(Shadowed &&other) noexcept
    : start_(other.start_), bytes_(other.bytes_), shadow_(std::exchange(other.shadow_, nullptr)) {}

Shadowed &Shadowed::operator=(Shadowed &&other) noexcept {
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
    std::swap(shadow_, other.shadow_);
    return *this;
}

std::string Clash::words() const {
    const std::string at = std::to_string(byte);
    switch (kind) {
        case Kind::None: return {};
        case Kind::Unwritten: return "reads memory that no thread of its block has written, byte " + at;
        case Kind::OtherWork:
            return std::string(name(access)) + " byte " + at + " that " + work + (written ? " wrote" : " read") + ", which nothing orders before it";
        case Kind::Race:
            return std::string(name(access)) + " byte " + at + " that thread " + std::to_string(thread) + (other_block ? " of another block" : "") +
                   (written ? " wrote" : " read") + " with nothing in between to order them";
    }
    return {};
}

Clash Shadowed::touch(const void *address, size_t bytes, Access access, const Moment &now, bool local) {
    Clash clash;
    if (!shadow_) return clash;
    const size_t first = static_cast<size_t>(static_cast<const char *>(address) - start_);
    // Two accesses in the same stretch between barriers have no order, unless one thread made both or the wave met in
    // between. Blocks of one launch have no order at all.
    auto unordered = [&](uint32_t epoch, uint16_t thread, uint8_t step) {
        if (epoch < now.launch_epoch) return false;
        if (epoch < now.block_epoch) return !local;
        if (epoch != now.epoch || thread == now.thread) return false;
        return thread / now.wave_size != now.thread / now.wave_size || step == now.step;
    };
    // Work that ran earlier here, but need not on a GPU.
    auto other_work = [&](uint32_t epoch) { return !local && epoch && epoch < now.launch_epoch ? order().unordered(epoch) : nullptr; };
    for (size_t at = first; at < first + bytes; at++) {
        Shadow &shadow = shadow_[at];
        // Reports the first clash of an access.
        auto found = [&](Clash::Kind kind, bool written) -> Clash & {
            const uint32_t epoch = written ? shadow.written_in : shadow.read_in;
            return clash = {kind, access, written, epoch < now.block_epoch, written ? shadow.writer : shadow.reader,
                            written ? shadow.writer_place : shadow.reader_place, at, ""};
        };
        if (!clash) {
            const bool both_atomic = access == Access::Atomic && shadow.atomically;
            const bool writes = access != Access::Read;
            if (local && access == Access::Read && shadow.written_in < now.block_epoch) {
                found(Clash::Kind::Unwritten, true);
            } else if (const Operation *wrote = other_work(shadow.written_in)) {
                found(Clash::Kind::OtherWork, true).work = wrote->name.c_str();
            } else if (const Operation *read = writes ? other_work(shadow.read_in) : nullptr) {
                found(Clash::Kind::OtherWork, false).work = read->name.c_str();
            } else if (shadow.written_in && !both_atomic && unordered(shadow.written_in, shadow.writer, shadow.writer_step)) {
                found(Clash::Kind::Race, true);
            } else if (writes && shadow.read_in && unordered(shadow.read_in, shadow.reader, shadow.reader_step)) {
                found(Clash::Kind::Race, false);
            }
        }
        if (access == Access::Read) {
            // Only the first reader other than the next writer matters, so it is kept when there are several.
            const bool same_stretch = shadow.read_in == now.epoch;
            if (!same_stretch || (shadow.reader == now.thread && !shadow.many_readers)) {
                shadow.read_in = now.epoch;
                shadow.reader = now.thread;
                shadow.reader_step = now.step;
                shadow.reader_place = now.place;
                shadow.many_readers = false;
            } else if (shadow.reader != now.thread) {
                shadow.many_readers = true;
            }
        } else {
            shadow.written_in = now.epoch;
            shadow.writer = now.thread;
            shadow.writer_step = now.step;
            shadow.writer_place = now.place;
            shadow.atomically = access == Access::Atomic;
        }
    }
    return clash;
}

std::string DeviceMemory::touch(const void *address, size_t bytes, Access access) {
    static const bool checked = setting("HIP_STAND_IN_CHECK", "full") != "none";
    Shadowed *allocation = checked && bytes > 0 ? find(address, bytes) : nullptr;
    if (!allocation) return {};
    const uint32_t epoch = order().next_epoch();
    return allocation->touch(address, bytes, access, {epoch, epoch, epoch, 0, 1, 0, 0}, false).words();
}

size_t DeviceMemory::capacity() {
    static const size_t mebibytes = strtoul(setting("HIP_STAND_IN_MEMORY", "128").c_str(), nullptr, 10);
    return mebibytes << 20;
}

void *DeviceMemory::allocate(size_t bytes) {
    const size_t room = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    if (in_use_ + room > capacity()) return nullptr;
    auto memory = static_cast<char *>(aligned_alloc(ALIGNMENT, room));
    if (!memory) return nullptr;
    memset(memory, POISON, bytes);
    last_ = nullptr;
    allocations_.emplace(reinterpret_cast<uintptr_t>(memory), Shadowed(memory, bytes));
    in_use_ += bytes;
    return memory;
}

bool DeviceMemory::release(void *address) {
    auto found = allocations_.find(reinterpret_cast<uintptr_t>(address));
    if (found == allocations_.end()) return false;
    in_use_ -= found->second.bytes();
    // Later reads of freed memory get poison.
    memset(address, POISON, found->second.bytes());
    last_ = nullptr;
    allocations_.erase(found);
    free(address);
    return true;
}

Shadowed *DeviceMemory::find(const void *address, size_t bytes) {
    if (last_ && last_->holds(address, bytes)) return last_;
    auto after = allocations_.upper_bound(reinterpret_cast<uintptr_t>(address));
    if (after == allocations_.begin()) return nullptr;
    Shadowed &candidate = std::prev(after)->second;
    if (!candidate.holds(address, bytes)) return nullptr;
    last_ = &candidate;
    return last_;
}

std::string DeviceMemory::describe(const void *address) const {
    const auto place = reinterpret_cast<intptr_t>(address);
    // Finds the allocation that the address misses by the least.
    const Shadowed *nearest = nullptr;
    intptr_t distance = 0;
    for (auto &[start, allocation] : allocations_) {
        const auto first = static_cast<intptr_t>(start), end = first + static_cast<intptr_t>(allocation.bytes());
        const intptr_t away = place < first ? first - place : place >= end ? place - end : 0;
        if (!nearest || away < distance) {
            nearest = &allocation;
            distance = away;
        }
    }
    if (!nearest || distance > (1 << 30)) return "which is no device memory";
    const intptr_t offset = place - reinterpret_cast<intptr_t>(nearest->start());
    return "at byte " + std::to_string(offset) + " of an allocation of " + std::to_string(nearest->bytes());
}

}  // namespace stand_in
