#include "fibers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#if !defined(__x86_64__)
#error "the stand-in switches between lanes with x86-64 instructions"
#endif

namespace stand_in {
namespace {
// Where to return when the running fibre yields.
void *scheduler_stack_pointer = nullptr;
void **running_stack_pointer = nullptr;
}  // namespace

// Saves the registers that the System V ABI preserves, and continues on another stack. ucontext would do the same with
// two system calls for each of millions of switches.
extern "C" void hip_stand_in_switch(void **save, void *load);
asm(R"(
.text
.globl hip_stand_in_switch
.hidden hip_stand_in_switch
.type hip_stand_in_switch, @function
hip_stand_in_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size hip_stand_in_switch, .-hip_stand_in_switch
)");

void Fiber::prepare(char *stack, size_t bytes, void (*body)()) {
    auto top = reinterpret_cast<uintptr_t>(stack + bytes) & ~uintptr_t{15};
    auto words = reinterpret_cast<uintptr_t *>(top);
    // An unused return address keeps the alignment that a called function expects; six registers go below it.
    *--words = 0;
    *--words = reinterpret_cast<uintptr_t>(body);
    for (int i = 0; i < 6; i++) *--words = 0;
    stack_pointer_ = words;
}

void Fiber::resume() {
    running_stack_pointer = &stack_pointer_;
    hip_stand_in_switch(&scheduler_stack_pointer, stack_pointer_);
}

void Fiber::yield() { hip_stand_in_switch(running_stack_pointer, scheduler_stack_pointer); }

char *Stacks::at(size_t index) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    while (stacks_.size() <= index) {
        void *memory = mmap(nullptr, BYTES + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) {
            perror("hip-stand-in: a lane's stack");
            abort();
        }
        stacks_.push_back(static_cast<char *>(memory) + page);
    }
    return stacks_[index];
}

}  // namespace stand_in
