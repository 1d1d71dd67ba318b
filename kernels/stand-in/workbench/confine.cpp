#include "confine.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <vector>

namespace stand_in {
namespace {

// A filter of system calls: a call that is not allowed ends the process with SIGSYS.
class Filter {
   public:
    Filter() {
        // The numbers mean other calls in 32-bit code.
        load(offsetof(seccomp_data, arch));
        add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
        add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
        load(offsetof(seccomp_data, nr));
    }
    void allow(std::initializer_list<uint32_t> calls) {
        for (const uint32_t call : calls) {
            add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
            add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
        }
    }
    // Allows the call if the argument of that index equals `value`.
    void allow_with(uint32_t call, uint32_t argument, uint32_t value) {
        test(call, argument, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    }
    // Allows the call if the argument of that index has none of `bits`.
    void allow_without(uint32_t call, uint32_t argument, uint32_t bits) {
        test(call, argument, BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0));
    }
    bool install() {
        add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
        const sock_fprog program = {static_cast<unsigned short>(code_.size()), code_.data()};
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
    }

   private:
    void add(sock_filter instruction) { code_.push_back(instruction); }
    void load(size_t offset) { add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset))); }
    void test(uint32_t call, uint32_t argument, sock_filter condition) {
        add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4));
        load(offsetof(seccomp_data, args) + argument * sizeof(uint64_t));
        add(condition);
        add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
        add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    }

    std::vector<sock_filter> code_;
};

// Allows memory, the output, and the exit.
void allow_what_computing_needs(Filter *filter) {
    filter->allow({SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_rt_sigreturn, SYS_exit, SYS_exit_group});
    filter->allow_with(SYS_write, 0, STDOUT_FILENO);
    filter->allow_without(SYS_mmap, 2, PROT_EXEC);
}

// Uses Landlock if the kernel has it: then no file can be opened even if the filter could be bypassed. The numbers are
// those of linux/landlock.h, which older systems lack.
void close_the_file_system() {
    constexpr long CREATE_RULESET = 444, RESTRICT_SELF = 446;
    const long version = syscall(CREATE_RULESET, nullptr, 0, 1);
    if (version < 1) return;
    const uint64_t actions = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
    struct {
        uint64_t files, network, scopes;
    } const handled = {(uint64_t{1} << actions) - 1, version >= 4 ? 3u : 0u, version >= 6 ? 3u : 0u};
    const long rules = syscall(CREATE_RULESET, &handled, version >= 6 ? 24 : version >= 4 ? 16 : 8, 0);
    if (rules < 0) return;
    syscall(RESTRICT_SELF, rules, 0);
    close(static_cast<int>(rules));
}

// Returns the bytes of this process's address space; 0 if unknown.
uint64_t address_space() {
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    unsigned long pages = 0;
    const int read = fscanf(file, "%lu", &pages);
    fclose(file);
    return read == 1 ? uint64_t{pages} * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

bool limit(int resource, uint64_t most) {
    const rlimit value = {most, most};
    return setrlimit(static_cast<__rlimit_resource>(resource), &value) == 0;
}

}  // namespace

bool confine(uint64_t bytes, uint64_t seconds) {
    const uint64_t used = address_space();
    // Closes all files that the tutor's other threads had open, and ends this process with the tutor.
    syscall(SYS_close_range, 3u, ~0u, 0u);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0);
    if (used == 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    close_the_file_system();
    bool held = limit(RLIMIT_AS, used + bytes) && limit(RLIMIT_CPU, seconds + 2);
    for (const int resource : {RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_CORE}) held = limit(resource, 0) && held;
    Filter filter;
    allow_what_computing_needs(&filter);
    // Needed for the module's own code, and for `forbid_new_code`.
    filter.allow({SYS_mprotect});
    filter.allow_with(SYS_seccomp, 0, SECCOMP_SET_MODE_FILTER);
    return held && filter.install();
}

bool forbid_new_code() {
    Filter filter;
    allow_what_computing_needs(&filter);
    filter.allow_without(SYS_mprotect, 2, PROT_EXEC);
    return filter.install();
}

}  // namespace stand_in
