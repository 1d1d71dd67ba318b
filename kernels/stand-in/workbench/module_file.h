// The file of a compiled module: source lines of addresses in the code, and the arrays in local memory.
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
    // `file` is its content. `source` is the name of the source whose lines count.
    ModuleFile(const std::string &file, const std::string &source);
    // Returns the line of the source for the instruction at `address` of the file; 0 if it comes from another source.
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
