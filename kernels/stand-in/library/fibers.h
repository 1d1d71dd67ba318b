// One fibre per lane: a stack and a place to go on from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stand_in {

// Switched to and from by the scheduler alone, on one thread.
class Fiber {
   public:
    // Prepares `body` to run on `stack`; nothing of an earlier run is kept.
    void prepare(char *stack, size_t bytes, void (*body)());
    // Runs it until it yields or ends.
    void resume();
    // Back to whoever resumed the running fibre.
    static void yield();

   private:
    void *stack_pointer_ = nullptr;
};

// Stacks with a guard page below each, kept for later launches.
class Stacks {
   public:
    static constexpr size_t BYTES = 128 << 10;
    // The lowest address of stack `index`.
    char *at(size_t index);

   private:
    std::vector<char *> stacks_;
};

}  // namespace stand_in
