#include "execute.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "fibers.h"
#include "order.h"

namespace stand_in {
namespace {

enum class State : uint8_t { Ready, AtBarrier, AtMeeting, Ended };

struct Thread {
    Fiber fiber;
    Lane lane;
    State state;
    // The place at which the lane waits, and its operation.
    const void *place;
    WaveOperation operation;
    uint64_t value;
    uint32_t argument;
    // The results of the meeting.
    uint64_t result;
    uint64_t active;
    // Number of its wave's meetings so far, which order its memory accesses.
    uint8_t step;
};

// A shuffle from a lane that takes no part has no defined result. This value makes it visible.
constexpr uint64_t NO_VALUE = 0xfff8dead7fc0deadull;

// The running block, with everything that a callback of the running lane needs. Blocks run one at a time.
class Block {
   public:
    std::string run(const Module &module, const Kernel &kernel, void **arguments, const LaunchSize &size, uint32_t wave_size,
                    DeviceMemory &memory);

    void barrier(const void *place) { wait(State::AtBarrier, place); }
    uint64_t meet(const void *place, WaveOperation operation, uint64_t value, uint32_t argument, uint64_t *active);
    void access(const void *address, size_t bytes, Access access, const void *place);
    // Ends the launch. The running lane calls it and does not continue.
    void fail(std::string reason);

   private:
    void wait(State state, const void *place);
    bool run_lanes(uint32_t threads);
    bool settle(uint32_t threads);
    void settle_wave(Thread *wave, uint32_t lanes);
    void carry_out(Thread *wave, uint32_t lanes, uint64_t active);
    void resolve(Thread *wave, uint32_t lanes, const void *place);
    static void lane_body();

    std::vector<Thread> threads_;
    Stacks stacks_;
    alignas(256) char local_memory_[LOCAL_MEMORY];
    std::unique_ptr<Shadowed> local_shadow_;
    std::unique_ptr<Shadowed> static_shadow_;
    Thread *running_ = nullptr;
    const Module *module_ = nullptr;
    const Kernel *kernel_ = nullptr;
    void **arguments_ = nullptr;
    DeviceMemory *memory_ = nullptr;
    uint32_t wave_size_ = 0;
    uint32_t local_bytes_ = 0;
    uint32_t epoch_ = 0, block_epoch_ = 0, launch_epoch_ = 0;
    std::string failure_;
};

Block block;

bool same_library(const void *a, const void *b) {
    Dl_info of_a, of_b;
    return dladdr(a, &of_a) != 0 && dladdr(b, &of_b) != 0 && of_a.dli_fbase == of_b.dli_fbase;
}

const Runtime RUNTIME = {
    [](const void *place) { block.barrier(place); },
    [](const void *place, WaveOperation operation, uint64_t value, uint32_t argument, uint64_t *active) {
        return block.meet(place, operation, value, argument, active);
    },
    [](const void *address, size_t bytes, Access access, const void *place) { block.access(address, bytes, access, place); },
    [](const char *message) { block.fail(message); },
};

void Block::lane_body() {
    block.kernel_->call(block.arguments_);
    block.running_->state = State::Ended;
    Fiber::yield();
}

void Block::wait(State state, const void *place) {
    running_->state = state;
    running_->place = place;
    Fiber::yield();
}

uint64_t Block::meet(const void *place, WaveOperation operation, uint64_t value, uint32_t argument, uint64_t *active) {
    Thread &self = *running_;
    self.operation = operation;
    self.value = value;
    self.argument = argument;
    wait(State::AtMeeting, place);
    if (active) *active = self.active;
    return self.result;
}

void Block::fail(std::string reason) {
    if (failure_.empty()) {
        const Dim3 &at = module_->grid->block;
        const Dim3 &thread = running_->lane.thread;
        auto three = [](const Dim3 &d) {
            return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
        };
        failure_ = std::string(kernel_->name) + ", block " + three(at) + ", thread " + three(thread) + ": " + reason;
    }
    running_->state = State::Ended;
    Fiber::yield();
}

void Block::access(const void *address, size_t bytes, Access access, const void *code) {
    const auto place = static_cast<const char *>(address);
    const Moment now = {epoch_,
                        block_epoch_,
                        launch_epoch_,
                        static_cast<uint16_t>(running_ - threads_.data()),
                        static_cast<uint16_t>(wave_size_),
                        running_->step,
                        static_cast<uint32_t>(reinterpret_cast<uintptr_t>(code))};
    std::string words;
    if (place >= local_memory_ && place < local_memory_ + LOCAL_MEMORY) {
        if (place + bytes > local_memory_ + local_bytes_) {
            words = "reaches byte " + std::to_string(place + bytes - local_memory_) + " of " + std::to_string(local_bytes_) +
                    " of local memory";
        } else {
            words = local_shadow_->touch(address, bytes, access, now, true).words();
        }
    } else if (static_shadow_ && static_shadow_->holds(address, bytes)) {
        words = static_shadow_->touch(address, bytes, access, now, true).words();
    } else if (Shadowed *allocation = memory_->find(address, bytes)) {
        const Clash clash = allocation->touch(address, bytes, access, now, false);
        if (clash) words = clash.words() + " of an allocation of " + std::to_string(allocation->bytes());
    } else if (access != Access::Read || !same_library(address, module_)) {
        // Constants of the module are the only other memory that a kernel has.
        words = std::string(access == Access::Read ? "reads " : "writes ") + std::to_string(bytes) + " bytes " +
                memory_->describe(address);
    }
    if (!words.empty()) fail(words);
}

bool Block::run_lanes(uint32_t threads) {
    for (uint32_t i = 0; i < threads; i++) {
        Thread &thread = threads_[i];
        if (thread.state != State::Ready) continue;
        running_ = &thread;
        *module_->lane = &thread.lane;
        thread.fiber.resume();
        if (!failure_.empty()) return false;
    }
    return true;
}

// Lets waiting lanes continue. Returns false if none can.
bool Block::settle(uint32_t threads) {
    uint32_t at_barrier = 0, ended = 0;
    bool met = false;
    for (uint32_t first = 0; first < threads; first += wave_size_) {
        const uint32_t lanes = std::min(wave_size_, threads - first);
        Thread *wave = &threads_[first];
        for (uint32_t i = 0; i < lanes; i++) {
            met |= wave[i].state == State::AtMeeting;
            at_barrier += wave[i].state == State::AtBarrier;
            ended += wave[i].state == State::Ended;
        }
        settle_wave(wave, lanes);
        if (!failure_.empty()) return false;
    }
    if (met) return true;
    if (at_barrier == 0) return false;
    // All remaining lanes wait for the block.
    const Thread *first = nullptr;
    for (uint32_t i = 0; i < threads; i++) {
        Thread &thread = threads_[i];
        if (thread.state != State::AtBarrier) continue;
        if (!first) first = &thread;
        if (thread.place != first->place) {
            failure_ = std::string(kernel_->name) + ": threads of one block wait at different barriers";
            return false;
        }
    }
    if (ended > 0) {
        failure_ = std::string(kernel_->name) + ": " + std::to_string(at_barrier) + " threads wait at a barrier that " +
                   std::to_string(ended) + " never reach";
        return false;
    }
    epoch_ = order().next_epoch();
    for (uint32_t i = 0; i < threads; i++) {
        threads_[i].state = State::Ready;
        threads_[i].step = 0;
    }
    return true;
}

// Every group of lanes that waits at one place meets.
void Block::settle_wave(Thread *wave, uint32_t lanes) {
    for (;;) {
        const void *place = nullptr;
        for (uint32_t i = 0; i < lanes; i++) {
            const Thread &thread = wave[i];
            if (thread.state == State::AtMeeting && (!place || thread.place < place)) place = thread.place;
        }
        if (!place || !failure_.empty()) return;
        resolve(wave, lanes, place);
    }
}

// Executes an instruction of the whole wave: lanes that take no part would supply whatever is in their registers.
void Block::carry_out(Thread *wave, uint32_t lanes, uint64_t active) {
    std::vector<Together *> brought;
    const char *wrong = nullptr;
    if (lanes < wave_size_ || static_cast<uint32_t>(__builtin_popcountll(active)) < lanes) {
        wrong = "has a matrix instruction that some lanes of the wave take no part in";
    } else {
        for (uint32_t i = 0; i < lanes; i++) brought.push_back(reinterpret_cast<Together *>(wave[i].value));
        wrong = brought[0]->carry_out(brought.data());
    }
    if (wrong) failure_ = std::string(kernel_->name) + " " + wrong;
}

void Block::resolve(Thread *wave, uint32_t lanes, const void *place) {
    auto here = [&](uint32_t lane) { return lane < lanes && wave[lane].state == State::AtMeeting && wave[lane].place == place; };
    uint64_t active = 0, votes = 0;
    for (uint32_t i = 0; i < lanes; i++) {
        if (!here(i)) continue;
        active |= uint64_t{1} << i;
        if (wave[i].value) votes |= uint64_t{1} << i;
    }
    // Lanes that meet at one place do the same operation.
    const Thread &first = wave[__builtin_ctzll(active)];
    if (first.operation == WaveOperation::Together) carry_out(wave, lanes, active);
    for (uint32_t i = 0; i < lanes; i++) {
        if (!here(i)) continue;
        Thread &thread = wave[i];
        thread.active = active;
        switch (thread.operation) {
            case WaveOperation::Shuffle:
                thread.result = here(thread.argument) ? wave[thread.argument].value : NO_VALUE;
                break;
            case WaveOperation::Ballot: thread.result = votes; break;
            case WaveOperation::Together: break;
            case WaveOperation::Barrier:
                thread.result = 0;
                thread.step++;
                break;
        }
    }
    for (uint32_t i = 0; i < lanes; i++) {
        if ((active >> i) & 1) wave[i].state = State::Ready;
    }
}

std::string Block::run(const Module &module, const Kernel &kernel, void **arguments, const LaunchSize &size, uint32_t wave_size,
                       DeviceMemory &memory) {
    module_ = &module;
    kernel_ = &kernel;
    arguments_ = arguments;
    memory_ = &memory;
    wave_size_ = wave_size;
    local_bytes_ = size.local_memory_bytes;
    failure_.clear();
    if (!local_shadow_) local_shadow_ = std::make_unique<Shadowed>(local_memory_, LOCAL_MEMORY);
    static_shadow_.reset();
    if (module.static_local_memory) {
        const auto bytes = static_cast<size_t>(module.static_local_memory_end - module.static_local_memory);
        static_shadow_ = std::make_unique<Shadowed>(module.static_local_memory, bytes);
    }
    *module.runtime = &RUNTIME;
    Grid &grid = *module.grid;
    grid = {{}, size.block, size.grid, wave_size, local_memory_};
    const uint32_t threads = size.block.x * size.block.y * size.block.z;
    threads_.resize(std::max<size_t>(threads_.size(), threads));
    launch_epoch_ = order().epoch() + 1;
    for (uint32_t z = 0; z < size.grid.z; z++)
        for (uint32_t y = 0; y < size.grid.y; y++)
            for (uint32_t x = 0; x < size.grid.x; x++) {
                grid.block = {x, y, z};
                block_epoch_ = epoch_ = order().next_epoch();
                memset(local_memory_, POISON, local_bytes_);
                if (static_shadow_) memset(static_shadow_->start(), POISON, static_shadow_->bytes());
                for (uint32_t i = 0; i < threads; i++) {
                    Thread &thread = threads_[i];
                    char *stack = stacks_.at(i);
                    thread.state = State::Ready;
                    thread.step = 0;
                    thread.lane.thread = {i % size.block.x, i / size.block.x % size.block.y, i / size.block.x / size.block.y};
                    thread.lane.lane = i % wave_size;
                    thread.lane.stack = stack;
                    thread.lane.stack_end = stack + Stacks::BYTES;
                    thread.fiber.prepare(stack, Stacks::BYTES, lane_body);
                }
                while (run_lanes(threads) && settle(threads)) {
                }
                if (!failure_.empty()) return failure_;
            }
    return {};
}

}  // namespace

std::string execute(const Module &module, const Kernel &kernel, void **arguments, const LaunchSize &size, uint32_t wave_size,
                    DeviceMemory &memory) {
    return block.run(module, kernel, arguments, size, wave_size, memory);
}

}  // namespace stand_in
