// What the file of a compiled module says: the line of a place in the code, and the arrays in local memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stand_in {

struct LocalArray {
    uint64_t address;
    uint64_t bytes;
    std::string name;
};

class ModuleFile {
   public:
    // `file`: its bytes. `source`: the name that lines count for.
    ModuleFile(const std::string &file, const std::string &source);
    // Line of the source that the instruction at `address` of the file comes from; 0: of no line of it.
    uint32_t line(uint64_t address) const;
    const std::vector<LocalArray> &arrays() const { return arrays_; }

   private:
    struct Row {
        uint64_t address;
        uint32_t line;
    };
    void read_lines(const char *at, const char *end, const std::string &source);
    std::vector<Row> rows_;
    std::vector<LocalArray> arrays_;
};

}  // namespace stand_in
