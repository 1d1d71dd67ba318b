#include "loaded.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "mathematics.h"

namespace stand_in {
namespace {

constexpr uint64_t PAGE = 4096;
// Limit of a module's size: a kernel's code and tables are far smaller.
constexpr uint64_t MOST_BYTES = uint64_t{64} << 20;

template <class T>
std::vector<T> table(const std::string &file, uint64_t offset, uint64_t bytes) {
    if (offset > file.size() || bytes > file.size() - offset) return {};
    std::vector<T> result(bytes / sizeof(T));
    memcpy(result.data(), file.data() + offset, result.size() * sizeof(T));
    return result;
}

Elf64_Ehdr header_of(const std::string &file) {
    Elf64_Ehdr header = {};
    if (file.size() >= sizeof header) memcpy(&header, file.data(), sizeof header);
    const bool known = memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_type == ET_DYN &&
                       header.e_machine == EM_X86_64 && header.e_phentsize == sizeof(Elf64_Phdr) && header.e_shentsize == sizeof(Elf64_Shdr);
    return known ? header : Elf64_Ehdr{};
}

std::vector<Elf64_Phdr> segments_of(const std::string &file) {
    const Elf64_Ehdr header = header_of(file);
    return table<Elf64_Phdr>(file, header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
}

std::vector<Elf64_Shdr> sections_of(const std::string &file) {
    const Elf64_Ehdr header = header_of(file);
    return table<Elf64_Shdr>(file, header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
}

struct Symbols {
    std::vector<Elf64_Sym> all;
    std::string names;

    const char *name(const Elf64_Sym &symbol) const { return symbol.st_name < names.size() ? names.c_str() + symbol.st_name : ""; }
};

Symbols symbols_of(const std::string &file) {
    const auto sections = sections_of(file);
    for (const Elf64_Shdr &section : sections) {
        if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
        const Elf64_Shdr &names = sections[section.sh_link];
        const auto text = table<char>(file, names.sh_offset, names.sh_size);
        return {table<Elf64_Sym>(file, section.sh_offset, section.sh_size), std::string(text.begin(), text.end())};
    }
    return {};
}

void *mathematics(const char *name) {
    for (const char *known : MATHEMATICS) {
        if (strcmp(known, name) == 0) return dlsym(RTLD_DEFAULT, name);
    }
    return nullptr;
}

}  // namespace

std::string LoadedModule::load(const std::string &file) {
    file_ = &file;
    std::string wrong = place(file);
    if (wrong.empty()) wrong = relocate(file);
    if (!wrong.empty()) return wrong;
    for (const Elf64_Phdr &segment : segments_of(file)) {
        if (segment.p_type != PT_LOAD) continue;
        const uint64_t first = segment.p_vaddr / PAGE * PAGE;
        const int protection = (segment.p_flags & PF_R ? PROT_READ : 0) | (segment.p_flags & PF_W ? PROT_WRITE : 0) | (segment.p_flags & PF_X ? PROT_EXEC : 0);
        if ((protection & PROT_WRITE) && (protection & PROT_EXEC)) return "has memory that is both written and executed";
        if (mprotect(base_ + first, segment.p_vaddr - first + segment.p_memsz, protection) != 0) return "cannot be protected";
    }
    return "";
}

std::string LoadedModule::place(const std::string &file) {
    uint64_t end = 0;
    const auto segments = segments_of(file);
    for (const Elf64_Phdr &segment : segments) {
        if (segment.p_type == PT_TLS) return "has variables of a thread";
        if (segment.p_type != PT_LOAD) continue;
        // If pages overlapped, the later segment would set their protection.
        if (segment.p_vaddr / PAGE * PAGE < end || segment.p_vaddr > MOST_BYTES || segment.p_memsz > MOST_BYTES || segment.p_filesz > segment.p_memsz ||
            segment.p_offset > file.size() || segment.p_filesz > file.size() - segment.p_offset) {
            return "has segments that do not fit";
        }
        end = (segment.p_vaddr + segment.p_memsz + PAGE - 1) / PAGE * PAGE;
    }
    if (end == 0) return "is no module";
    void *memory = mmap(nullptr, end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return "finds no memory";
    base_ = static_cast<char *>(memory);
    bytes_ = end;
    for (const Elf64_Phdr &segment : segments) {
        if (segment.p_type == PT_LOAD) memcpy(base_ + segment.p_vaddr, file.data() + segment.p_offset, segment.p_filesz);
    }
    return "";
}

std::string LoadedModule::relocate(const std::string &file) {
    const Symbols symbols = symbols_of(file);
    for (const Elf64_Shdr &section : sections_of(file)) {
        if (!(section.sh_flags & SHF_ALLOC)) continue;
        if (section.sh_type == SHT_REL || section.sh_type == SHT_RELR) return "has relocations of a form that is not known";
        if (section.sh_type != SHT_RELA) continue;
        for (const Elf64_Rela &entry : table<Elf64_Rela>(file, section.sh_offset, section.sh_size)) {
            if (!inside(entry.r_offset, sizeof(uint64_t))) return "has a relocation outside of it";
            uint64_t value = base() + static_cast<uint64_t>(entry.r_addend);
            const uint32_t kind = ELF64_R_TYPE(entry.r_info);
            if (kind == R_X86_64_GLOB_DAT || kind == R_X86_64_JUMP_SLOT || kind == R_X86_64_64) {
                if (ELF64_R_SYM(entry.r_info) >= symbols.all.size()) return "has a relocation of no symbol";
                const Elf64_Sym &symbol = symbols.all[ELF64_R_SYM(entry.r_info)];
                const auto type = ELF64_ST_TYPE(symbol.st_info);
                if (type == STT_GNU_IFUNC || type == STT_TLS) return std::string("has a symbol of another kind, ") + symbols.name(symbol);
                value = symbol.st_shndx == SHN_UNDEF ? reinterpret_cast<uint64_t>(mathematics(symbols.name(symbol))) : base() + symbol.st_value;
                if (symbol.st_shndx == SHN_UNDEF && !value) return std::string("calls `") + symbols.name(symbol) + "`, which a kernel does not have";
                value += static_cast<uint64_t>(entry.r_addend);
            } else if (kind != R_X86_64_RELATIVE) {
                return "has a relocation of kind " + std::to_string(kind);
            }
            memcpy(base_ + entry.r_offset, &value, sizeof value);
        }
    }
    return "";
}

const void *LoadedModule::symbol(const char *name) const {
    const Symbols symbols = symbols_of(*file_);
    for (const Elf64_Sym &symbol : symbols.all) {
        if (symbol.st_shndx != SHN_UNDEF && inside(symbol.st_value, symbol.st_size) && strcmp(symbols.name(symbol), name) == 0) return base_ + symbol.st_value;
    }
    return nullptr;
}

}  // namespace stand_in
