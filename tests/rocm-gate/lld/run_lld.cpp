// Implements lld::elf::link with the program ld.lld, because the wheels have no LLD library. CUBECL_LD_LLD may name the program;
// otherwise it takes the first one found.
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <vector>

#include "lld/Common/Driver.h"

LLD_HAS_DRIVER(elf)

extern char **environ;

bool lld::elf::link(llvm::ArrayRef<const char *> args, llvm::raw_ostream &, llvm::raw_ostream &err, bool, bool) {
    std::vector<char *> words;
    for (const char *word : args) words.push_back(const_cast<char *>(word));
    words.push_back(nullptr);
    for (const char *program : {static_cast<const char *>(getenv("CUBECL_LD_LLD")), "ld.lld", "ld.lld-19"}) {
        pid_t child;
        int status;
        if (!program || posix_spawnp(&child, program, nullptr, nullptr, words.data(), environ) != 0) continue;
        if (waitpid(child, &status, 0) != child) return false;
        // 127: the program does not exist.
        if (WIFEXITED(status) && WEXITSTATUS(status) == 127) continue;
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    err << "ld.lld was not found; CUBECL_LD_LLD can name it\n";
    return false;
}
