// One fibre per lane: a stack, and the place at which it continues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stand_in {

// Only the scheduler switches to and from it, on one thread.
class Fiber {
   public:
    // Prepares `body` to run on `stack`; discards an earlier run.
    void prepare(char *stack, size_t bytes, void (*body)());
    // Runs it until it yields or ends.
    void resume();
    // Returns to the caller of `resume`.
    static void yield();

   private:
    void *stack_pointer_ = nullptr;
};

// Stacks with a guard page below each. They are kept for later launches.
class Stacks {
   public:
    static constexpr size_t BYTES = 128 << 10;
    // Returns the lowest address of stack `index`.
    char *at(size_t index);

   private:
    std::vector<char *> stacks_;
};

}  // namespace stand_in
