// Compares matrix instructions with AMD's matrix instruction calculator, whose tables give the places of elements:
// layouts/INSTRUCTION-A.csv, -B and -D, with one line per lane and one column per register or half of one.
// self_test.cpp includes this file.

struct Instruction {
    const char *name;
    const char *type;
    int size, depth;
    // Elements that a lane holds of an operand and of the result.
    int held, results;
    const char *architectures;
};

const Instruction INSTRUCTIONS[] = {
    {"mfma_f32_16x16x16bf16_1k", "short", 16, 16, 4, 4, "gfx90a gfx942"},
    {"mfma_f32_32x32x8bf16_1k", "short", 32, 8, 4, 16, "gfx90a gfx942"},
    {"mfma_f32_16x16x4f32", "float", 16, 4, 1, 4, "gfx90a gfx942"},
    {"mfma_f32_32x32x2f32", "float", 32, 2, 1, 16, "gfx90a gfx942"},
    {"mfma_f32_16x16x8_xf32", "float", 16, 8, 2, 4, "gfx942"},
    {"wmma_f32_16x16x16_bf16_w32", "short", 16, 16, 16, 8, "gfx1100"},
    {"wmma_f32_16x16x16_f16_w32", "_Float16", 16, 16, 16, 8, "gfx1100"},
    {"wmma_f32_16x16x16_bf16_w32_gfx12", "short", 16, 16, 8, 8, "gfx1201"},
    {"wmma_f32_16x16x16_f16_w32_gfx12", "_Float16", 16, 16, 8, 8, "gfx1201"},
};

// Row and column of every element of every lane.
using Table = std::vector<std::vector<std::pair<int, int>>>;

Table table(const Instruction &instruction, char matrix) {
    std::ifstream file(std::string(STAND_IN_LAYOUTS) + "/" + instruction.name + "-" + matrix + ".csv");
    std::string line, cell;
    std::getline(file, line);
    Table lanes;
    while (std::getline(file, line)) {
        std::istringstream cells(line);
        std::getline(cells, cell, ',');
        expect(std::stoul(cell) == lanes.size(), "lanes in order");
        lanes.emplace_back();
        while (std::getline(cells, cell, ',')) {
            int row, column;
            expect(sscanf(cell.c_str() + 1, "[%d][%d]", &row, &column) == 2 && cell[0] == matrix, cell);
            lanes.back().emplace_back(row, column);
        }
    }
    expect(lanes.size() == wave(), std::string("a table for every lane of ") + instruction.name);
    return lanes;
}

struct Layouts {
    Table a, b, d;
    explicit Layouts(const Instruction &instruction)
        : a(table(instruction, 'A')), b(table(instruction, 'B')), d(table(instruction, 'D')) {}
};

std::string kernel_of(const Instruction &one, const char *condition = "true") {
    const std::string held = std::to_string(one.held), results = std::to_string(one.results);
    const std::string operand = one.held == 1 ? "typedef float V;\n" : std::string("typedef ") + one.type + " V __attribute__((ext_vector_type(" + held + ")));\n";
    return operand + "typedef float R __attribute__((ext_vector_type(" + results + ")));\n" +
           "extern \"C\" __global__ void k(const V *a, const V *b, R *d) {\n  const int i = threadIdx.x;\n  if (" + condition +
           ") d[i] = __builtin_amdgcn_" + one.name + "(a[i], b[i], d[i]" + (one.name[0] == 'm' ? ", 0, 0, 0" : "") + ");\n}\n";
}

template <class T>
T encoded(float value) {
    if constexpr (sizeof(T) == 4) return value;
    else if constexpr (std::is_same_v<T, short>) return static_cast<short>(__builtin_bit_cast(unsigned, value) >> 16);
    else return static_cast<T>(value);
}

// Returns whole numbers below 128, which all types represent and whose sums are exact.
std::vector<float> numbers(size_t count, unsigned seed) {
    std::vector<float> values(count);
    for (float &value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(static_cast<int>(seed >> 16) % 255 - 127);
    }
    return values;
}

// Counts elements of D that differ from plain loops over A and B, with elements placed as in `layouts`.
template <class T>
int wrong_elements(const Instruction &one, const Layouts &layouts) {
    const auto size = static_cast<size_t>(one.size), depth = static_cast<size_t>(one.depth);
    const auto a = numbers(size * depth, 1), b = numbers(depth * size, 2), c = numbers(size * size, 3);
    std::vector<T> of_a, of_b;
    std::vector<float> of_d;
    for (auto &lane : layouts.a) for (auto [row, k] : lane) of_a.push_back(encoded<T>(a[row * depth + k]));
    for (auto &lane : layouts.b) for (auto [k, column] : lane) of_b.push_back(encoded<T>(b[k * size + column]));
    for (auto &lane : layouts.d) for (auto [row, column] : lane) of_d.push_back(c[row * size + column]);
    expect(of_a.size() == wave() * one.held && of_d.size() == wave() * one.results, "as many elements as a lane holds");
    Buffer<T> at_a(of_a), at_b(of_b);
    Buffer<float> at_d(of_d);
    OK(launch(kernel(kernel_of(one).c_str()), 1, wave(), 0, nullptr, at_a.address, at_b.address, at_d.address));
    const auto found = at_d.read();
    std::vector<int> seen(size * size);
    int wrong = 0;
    size_t index = 0;
    for (auto &lane : layouts.d)
        for (auto [row, column] : lane) {
            float sum = c[row * size + column];
            for (size_t k = 0; k < depth; k++) sum += a[row * depth + k] * b[k * size + column];
            seen[row * size + column]++;
            wrong += found[index++] != sum;
        }
    for (int times : seen) expect(times == 1, "every element of D lies in one place");
    return wrong;
}

int wrong_elements_of(const Instruction &one, const Layouts &layouts) {
    if (one.type[0] == 's') return wrong_elements<short>(one, layouts);
    if (one.type[0] == '_') return wrong_elements<_Float16>(one, layouts);
    return wrong_elements<float>(one, layouts);
}

std::vector<Instruction> instructions() {
    std::vector<Instruction> all;
    for (auto &one : INSTRUCTIONS) if (strstr(one.architectures, architecture())) all.push_back(one);
    expect(!all.empty(), "matrix instructions on this architecture");
    return all;
}

void each_element_lies_where_the_table_says() {
    for (auto &one : instructions()) {
        const int wrong = wrong_elements_of(one, Layouts(one));
        expect(wrong == 0, std::to_string(wrong) + " elements of " + one.name + " are where the table has them");
    }
}

// Exchanges two lanes or two registers in each table: the comparison above must notice it.
void an_exchange_in_a_table_is_seen() {
    for (auto &one : instructions()) {
        for (char matrix : {'A', 'B', 'D'})
            for (bool lanes : {true, false}) {
                Layouts layouts(one);
                Table &exchanged = matrix == 'A' ? layouts.a : matrix == 'B' ? layouts.b : layouts.d;
                if (!lanes && exchanged[0].size() == 1) continue;
                // The upper half of a wave of 32 supplies the same operands again.
                const size_t halves = matrix == 'D' || wave() == 64 ? 1 : 2;
                for (size_t half = 0; lanes && half < halves; half++) std::swap(exchanged[5 + 16 * half], exchanged[6 + 16 * half]);
                for (auto &lane : exchanged) if (!lanes) std::swap(lane[0], lane[1]);
                expect(wrong_elements_of(one, layouts) > 0, std::string("an exchange in ") + matrix + " of " + one.name + " is seen");
            }
    }
}

void a_planted_exchange_is_seen() {
    for (auto &one : instructions()) expect(wrong_elements_of(one, Layouts(one)) > 0, std::string(one.name) + " is wrong");
}

void half_a_wave_multiplies() {
    const Instruction one = instructions()[0];
    Buffer<float> operand(std::vector<float>(1024)), d(std::vector<float>(1024));
    expect_failure(launch(kernel(kernel_of(one, "i < 16").c_str()), 1, wave(), 0, nullptr, operand.address, operand.address, d.address));
}

void upper_lanes_bring_something_else() {
    const Instruction one = instructions()[0];
    std::vector<float> different(1024);
    different[16 * 8] = 1.0f;
    Buffer<float> a(different), b(std::vector<float>(1024)), d(std::vector<float>(1024));
    expect_failure(launch(kernel(kernel_of(one).c_str()), 1, 32, 0, nullptr, a.address, b.address, d.address));
}

// f32 keeps every digit; xf32 keeps ten bits of mantissa.
void operands_keep_their_digits() {
    for (auto &one : instructions()) {
        if (one.type[0] != 'f') continue;
        const float tail = 1.0f + 3.0f / 4096.0f;
        std::vector<float> ones(wave() * one.held, 1.0f), tails(wave() * one.held, tail);
        Buffer<float> a(tails), b(ones), d(std::vector<float>(wave() * one.results));
        OK(launch(kernel(kernel_of(one).c_str()), 1, wave(), 0, nullptr, a.address, b.address, d.address));
        const float rounded = strstr(one.name, "xf32") ? 1.0f + 1.0f / 1024.0f : tail;
        expect(d.read()[0] == static_cast<float>(one.depth) * rounded, std::string("digits of ") + one.name);
    }
}
