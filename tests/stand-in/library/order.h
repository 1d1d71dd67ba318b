// The order of work: by its stream, by events, by a host that waited, by the edges of a graph. Work runs here when it
// is submitted, in an order that a GPU need not keep. Comparing clocks finds work without an order.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace stand_in {

// How much of each lane of work is known to be done. A lane is a stream, or one branch of one launch of a graph.
struct Clock {
    std::map<uint32_t, uint32_t> seen;

    void join(const Clock &other) {
        for (auto &[lane, count] : other.seen) {
            uint32_t &mine = seen[lane];
            if (mine < count) mine = count;
        }
    }
    uint32_t of(uint32_t lane) const {
        auto found = seen.find(lane);
        return found == seen.end() ? 0 : found->second;
    }
};

// A kernel, a copy, a fill or a product of matrices.
struct Operation {
    std::string name;
    uint32_t lane;
    uint32_t index;
    // The work before it, including itself.
    Clock clock;
    uint32_t first_epoch = 0;
};

class Order {
   public:
    // An epoch is one stretch of one block between two barriers, or one copy; epochs only grow.
    uint32_t epoch() const { return epoch_; }
    uint32_t next_epoch() { return ++epoch_; }
    uint32_t new_lanes(uint32_t count) {
        const uint32_t first = lanes_;
        lanes_ += count;
        return first;
    }
    // Starts `operation`.
    void begin(Operation operation) {
        operation.first_epoch = epoch_ + 1;
        operations_.push_back(std::move(operation));
        looked_up_ = 0;
    }
    // Notes that the host has waited for all work that `clock` has seen.
    void waited(const Clock &clock) {
        host_.join(clock);
        while (!operations_.empty() && known_to_host(operations_.front())) operations_.pop_front();
        looked_up_ = 0;
    }
    // Removes entries that precede all later work anyway.
    void shorten(Clock *clock) const {
        for (auto at = clock->seen.begin(); at != clock->seen.end();) {
            at = host_.of(at->first) >= at->second ? clock->seen.erase(at) : std::next(at);
        }
    }
    // Returns the earlier work to which `epoch` belongs, if it has no order relative to the running work; otherwise null.
    const Operation *unordered(uint32_t epoch) {
        if (epoch == looked_up_) return answer_;
        looked_up_ = epoch;
        return answer_ = look_up(epoch);
    }

   private:
    bool known_to_host(const Operation &operation) const { return host_.of(operation.lane) >= operation.index; }
    const Operation *look_up(uint32_t epoch) const {
        if (operations_.empty() || epoch < operations_.front().first_epoch) return nullptr;
        const Operation &now = operations_.back();
        size_t low = 0, high = operations_.size();
        while (high - low > 1) {
            const size_t middle = (low + high) / 2;
            (operations_[middle].first_epoch <= epoch ? low : high) = middle;
        }
        const Operation &then = operations_[low];
        if (&then == &now || known_to_host(then) || now.clock.of(then.lane) >= then.index) return nullptr;
        return &then;
    }

    uint32_t epoch_ = 0;
    uint32_t lanes_ = 1;
    Clock host_;
    std::deque<Operation> operations_;
    uint32_t looked_up_ = 0;
    const Operation *answer_ = nullptr;
};

inline Order &order() {
    static Order &order = *new Order;
    return order;
}

}  // namespace stand_in
