// Reads ELF's symbol table and DWARF 4's line program, as -gdwarf-4 -gline-tables-only writes them.
#include "module_file.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace stand_in {
namespace {

constexpr uint32_t END = UINT32_MAX;

struct Reader {
    const char *at, *end;

    template <class T>
    T take() {
        T value = {};
        if (static_cast<size_t>(end - at) < sizeof value) {
            at = end;
            return value;
        }
        memcpy(&value, at, sizeof value);
        at += sizeof value;
        return value;
    }
    uint64_t unsigned_leb() {
        uint64_t value = 0;
        for (int shift = 0; at < end; shift += 7) {
            const auto byte = static_cast<unsigned char>(*at++);
            if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
            if (!(byte & 0x80)) break;
        }
        return value;
    }
    int64_t signed_leb() {
        int64_t value = 0;
        int shift = 0;
        unsigned char byte = 0x80;
        while (at < end && (byte & 0x80)) {
            byte = static_cast<unsigned char>(*at++);
            if (shift < 64) value |= static_cast<int64_t>(uint64_t{byte & 0x7fu} << shift);
            shift += 7;
        }
        if (shift < 64 && (byte & 0x40)) value |= -(int64_t{1} << shift);
        return value;
    }
    std::string text() {
        const char *stop = std::find(at, end, '\0');
        std::string value(at, stop);
        at = stop < end ? stop + 1 : end;
        return value;
    }
};

// Returns the name of a variable in a function: the last part of its C++ name.
std::string plain_name(const char *symbol) {
    int status = 0;
    char *demangled = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
    std::string name = status == 0 && demangled ? demangled : symbol;
    free(demangled);
    const size_t colon = name.rfind("::");
    return colon == std::string::npos ? name : name.substr(colon + 2);
}

}  // namespace

ModuleFile::ModuleFile(const std::string &file, const std::string &source) {
    if (file.size() < sizeof(Elf64_Ehdr)) return;
    Elf64_Ehdr header;
    memcpy(&header, file.data(), sizeof header);
    const uint64_t headers_end = header.e_shoff + uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
    if (headers_end > file.size() || header.e_shstrndx >= header.e_shnum) return;
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    memcpy(sections.data(), file.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
    auto inside = [&](const Elf64_Shdr &section) { return section.sh_offset <= file.size() && section.sh_size <= file.size() - section.sh_offset; };
    auto name = [&](const Elf64_Shdr &table, uint32_t offset) {
        return inside(table) && offset < table.sh_size ? file.c_str() + table.sh_offset + offset : "";
    };
    const Elf64_Shdr &names = sections[header.e_shstrndx];
    size_t local = sections.size();
    for (size_t i = 0; i < sections.size(); i++) {
        if (strcmp(name(names, sections[i].sh_name), "hip_local_memory") == 0) local = i;
    }
    for (const Elf64_Shdr &section : sections) {
        if (!inside(section)) continue;
        const char *start = file.data() + section.sh_offset;
        if (strcmp(name(names, section.sh_name), ".debug_line") == 0) read_lines(start, start + section.sh_size, source);
        if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
        for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            memcpy(&symbol, start + at, sizeof symbol);
            if (symbol.st_shndx != local || symbol.st_size == 0) continue;
            arrays_.push_back({symbol.st_value, symbol.st_size, plain_name(name(sections[section.sh_link], symbol.st_name))});
        }
    }
    std::sort(arrays_.begin(), arrays_.end(), [](auto &a, auto &b) { return a.address < b.address; });
    // If one stretch of code ends where another begins, the beginning counts.
    std::stable_sort(rows_.begin(), rows_.end(), [](auto &a, auto &b) {
        return a.address != b.address ? a.address < b.address : a.line == END && b.line != END;
    });
}

void ModuleFile::read_lines(const char *at, const char *end, const std::string &source) {
    while (end - at > 16) {
        Reader reader = {at, end};
        const uint32_t length = reader.take<uint32_t>();
        if (length > static_cast<size_t>(end - reader.at)) return;
        reader.end = at = reader.at + length;
        if (reader.take<uint16_t>() != 4) continue;
        const uint32_t header_length = reader.take<uint32_t>();
        if (header_length > static_cast<size_t>(reader.end - reader.at)) return;
        const char *program = reader.at + header_length;
        const auto instruction = reader.take<uint8_t>();
        reader.take<uint8_t>();  // operations per instruction
        reader.take<uint8_t>();  // whether rows begin as statements
        const auto line_base = reader.take<int8_t>();
        const auto line_range = std::max<uint8_t>(1, reader.take<uint8_t>());
        const auto opcode_base = reader.take<uint8_t>();
        std::vector<uint8_t> operands(opcode_base);
        for (int i = 1; i < opcode_base; i++) operands[static_cast<size_t>(i)] = reader.take<uint8_t>();
        while (reader.at < program && !reader.text().empty()) {
        }
        std::vector<bool> ours = {false};
        while (reader.at < program) {
            const std::string file = reader.text();
            if (file.empty()) break;
            for (int i = 0; i < 3; i++) reader.unsigned_leb();
            const size_t slash = file.rfind('/');
            ours.push_back((slash == std::string::npos ? file : file.substr(slash + 1)) == source);
        }
        reader.at = program;
        uint64_t address = 0, file = 1;
        int64_t line = 1;
        auto row = [&] { rows_.push_back({address, file < ours.size() && ours[file] ? static_cast<uint32_t>(line) : 0}); };
        while (reader.at < reader.end) {
            const auto opcode = reader.take<uint8_t>();
            if (opcode >= opcode_base) {
                address += uint64_t{instruction} * ((opcode - opcode_base) / line_range);
                line += line_base + (opcode - opcode_base) % line_range;
                row();
                continue;
            }
            switch (opcode) {
                case 0: {
                    const uint64_t bytes = reader.unsigned_leb();
                    const char *next = reader.at + std::min<uint64_t>(bytes, static_cast<uint64_t>(reader.end - reader.at));
                    const auto extended = reader.take<uint8_t>();
                    if (extended == 1) {
                        rows_.push_back({address, END});
                        address = 0;
                        file = 1;
                        line = 1;
                    } else if (extended == 2) {
                        address = reader.take<uint64_t>();
                    }
                    reader.at = next;
                    break;
                }
                case 1: row(); break;
                case 2: address += instruction * reader.unsigned_leb(); break;
                case 3: line += reader.signed_leb(); break;
                case 4: file = reader.unsigned_leb(); break;
                case 8: address += uint64_t{instruction} * ((255u - opcode_base) / line_range); break;
                case 9: address += reader.take<uint16_t>(); break;
                default:
                    for (int i = 0; i < operands[opcode]; i++) reader.unsigned_leb();
            }
        }
    }
}

uint32_t ModuleFile::line(uint64_t address) const {
    auto after = std::upper_bound(rows_.begin(), rows_.end(), address, [](uint64_t a, const Row &row) { return a < row.address; });
    if (after == rows_.begin() || std::prev(after)->line == END) return 0;
    return std::prev(after)->line;
}

}  // namespace stand_in
