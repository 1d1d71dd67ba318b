// How the lanes of a wavefront access memory, for every load and store of a kernel: cache lines and sectors touched,
// banks of local memory in conflict, and the lanes' addresses in the worst case.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "../device/abi.h"

namespace stand_in {

constexpr uint64_t LINE = 128, SECTOR = 32, BANKS = 32, BANK_BYTES = 4;

// One load or store of the source, over all observed wavefronts.
struct Picture {
    bool local = false;
    Access access = Access::Read;
    uint32_t width = 0;
    // Wavefronts that executed it; cache lines that they touched; the fewest lines that hold their data; sectors.
    uint64_t requests = 0, lines = 0, fewest = 0, sectors = 0;
    // Groups of lanes that local memory serves at once, the passes that they took, and the most passes of a group.
    uint64_t groups = 0, passes = 0, degree = 0;
    // The worst request: each lane's address, or 0 if the lane took no part.
    std::vector<uint64_t> lanes;
    uint64_t excess = 0;
};

class Pictures {
   public:
    explicit Pictures(uint32_t wave_size) : wave_size_(wave_size) {}

    void note(const void *place, uint64_t address, size_t bytes, Access access, bool local, uint32_t thread) {
        uint32_t &turn = turns_[{place, thread}];
        if (turn >= MOST_TURNS) return;
        entries_.push_back({place, thread / wave_size_, turn++, thread % wave_size_, static_cast<uint32_t>(bytes), address, access, local});
    }

    void block_ended() {
        std::sort(entries_.begin(), entries_.end(), [](const Entry &a, const Entry &b) {
            return std::tie(a.place, a.wave, a.turn, a.lane) < std::tie(b.place, b.wave, b.turn, b.lane);
        });
        for (size_t first = 0; first < entries_.size();) {
            size_t end = first;
            while (end < entries_.size() && entries_[end].place == entries_[first].place && entries_[end].wave == entries_[first].wave &&
                   entries_[end].turn == entries_[first].turn) {
                end++;
            }
            request(first, end);
            first = end;
        }
        entries_.clear();
        turns_.clear();
    }

    const std::map<const void *, Picture> &all() const { return pictures_; }

   private:
    // Most executions of one place by one lane that are kept per block.
    static constexpr uint32_t MOST_TURNS = 64;

    struct Entry {
        const void *place;
        uint32_t wave, turn, lane, bytes;
        uint64_t address;
        Access access;
        bool local;
    };
    struct HashTurn {
        size_t operator()(const std::pair<const void *, uint32_t> &key) const {
            return std::hash<const void *>()(key.first) * 31 + key.second;
        }
    };

    void request(size_t first, size_t end) {
        Picture &picture = pictures_[entries_[first].place];
        picture.local = entries_[first].local;
        picture.access = entries_[first].access;
        picture.width = entries_[first].bytes;
        picture.requests++;
        const uint64_t excess = picture.local ? conflicts(picture, first, end) : lines(picture, first, end);
        if (!picture.lanes.empty() && excess <= picture.excess) return;
        picture.excess = excess;
        picture.lanes.assign(wave_size_, 0);
        for (size_t i = first; i < end; i++) picture.lanes[entries_[i].lane] = entries_[i].address;
    }

    // Counts lines touched above the fewest.
    uint64_t lines(Picture &picture, size_t first, size_t end) {
        std::set<uint64_t> lines, sectors, addresses;
        for (size_t i = first; i < end; i++) {
            const Entry &entry = entries_[i];
            addresses.insert(entry.address);
            for (uint64_t at = entry.address / SECTOR; at <= (entry.address + entry.bytes - 1) / SECTOR; at++) {
                sectors.insert(at);
                lines.insert(at * SECTOR / LINE);
            }
        }
        const uint64_t fewest = (addresses.size() * picture.width + LINE - 1) / LINE;
        picture.lines += lines.size();
        picture.sectors += sectors.size();
        picture.fewest += fewest;
        return lines.size() - std::min<uint64_t>(fewest, lines.size());
    }

    // Counts passes above one, of lanes that are served together: 32 with four bytes each, fewer with wider accesses.
    uint64_t conflicts(Picture &picture, size_t first, size_t end) {
        const uint64_t together = std::max<uint64_t>(1, BANKS * BANK_BYTES / std::max<uint64_t>(picture.width, BANK_BYTES));
        uint64_t most = 0;
        for (size_t i = first; i < end;) {
            const uint64_t group = entries_[i].lane / together;
            std::map<uint64_t, std::set<uint64_t>> words;
            for (; i < end && entries_[i].lane / together == group; i++) {
                for (uint64_t word = entries_[i].address / BANK_BYTES; word * BANK_BYTES < entries_[i].address + entries_[i].bytes; word++) {
                    words[word % BANKS].insert(word);
                }
            }
            uint64_t degree = 1;
            for (auto &[bank, different] : words) degree = std::max<uint64_t>(degree, different.size());
            picture.groups++;
            picture.passes += degree;
            picture.degree = std::max(picture.degree, degree);
            most = std::max(most, degree);
        }
        return most - 1;
    }

    uint32_t wave_size_;
    std::vector<Entry> entries_;
    std::unordered_map<std::pair<const void *, uint32_t>, uint32_t, HashTurn> turns_;
    std::map<const void *, Picture> pictures_;
};

}  // namespace stand_in
