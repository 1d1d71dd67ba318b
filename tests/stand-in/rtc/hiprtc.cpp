// hiprtc, compiling for this machine. The device's keywords come from device/hip.h, and the kernels' names are found in
// the preprocessed text. The result is a shared library that the stand-in's hipModuleLoadData loads.

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "../device/abi.h"
#include "../library/image.h"
#include "../library/settings.h"
#include "../library/trace.h"

#if !defined(STAND_IN_DEVICE_HEADERS)
#error "STAND_IN_DEVICE_HEADERS is the folder of hip.h"
#endif

using namespace stand_in;

namespace {

enum hiprtcResult : int {
    HIPRTC_SUCCESS = 0,
    HIPRTC_ERROR_INVALID_INPUT = 3,
    HIPRTC_ERROR_INVALID_PROGRAM = 4,
    HIPRTC_ERROR_COMPILATION = 6,
    HIPRTC_ERROR_INTERNAL_ERROR = 11,
};

struct Program {
    std::string name;
    std::string source;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string log;
    std::vector<char> code;
};

std::set<Program *> programs;

Program *find(void *handle) {
    auto found = programs.find(static_cast<Program *>(handle));
    return found == programs.end() ? nullptr : *found;
}

// A temporary folder, deleted when dropped.
class Folder {
   public:
    Folder() {
        std::string name = setting("TMPDIR", "/tmp") + "/hip-stand-in-XXXXXX";
        std::vector<char> buffer(name.begin(), name.end());
        buffer.push_back(0);
        if (const char *made = mkdtemp(buffer.data())) path_ = made;
    }
    ~Folder() {
        for (const std::string &file : files_) unlink(file.c_str());
        for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) rmdir(folder->c_str());
        if (!path_.empty()) rmdir(path_.c_str());
    }
    bool ok() const { return !path_.empty(); }
    const std::string &path() const { return path_; }
    std::string file(const std::string &name) {
        for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
            const std::string folder = path_ + "/" + name.substr(0, slash);
            if (mkdir(folder.c_str(), 0700) == 0) folders_.push_back(folder);
        }
        files_.push_back(path_ + "/" + name);
        return files_.back();
    }
    bool write(const std::string &name, const std::string &text) {
        std::ofstream out(file(name), std::ios::binary);
        out << text;
        return static_cast<bool>(out);
    }

   private:
    std::string path_;
    std::vector<std::string> files_, folders_;
};

std::string read(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

bool run(const std::vector<std::string> &command, const std::string &output, const std::string &log) {
    const pid_t child = fork();
    if (child == 0) {
        if (!freopen(output.c_str(), "w", stdout) || !freopen(log.c_str(), "w", stderr)) _exit(126);
        std::vector<char *> words;
        for (const std::string &word : command) words.push_back(const_cast<char *>(word.c_str()));
        words.push_back(nullptr);
        execvp(words[0], words.data());
        fprintf(stderr, "%s: %s\n", words[0], strerror(errno));
        _exit(127);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string compiler() {
    static const std::string named = [] {
        const std::string chosen = setting("HIP_STAND_IN_CXX", "");
        if (!chosen.empty()) return chosen;
        Folder folder;
        for (const char *candidate : {"clang++-19", "clang++-20", "clang++-21", "clang++-18", "clang++"}) {
            if (run({candidate, "--version"}, folder.file("out"), folder.file("log"))) return std::string(candidate);
        }
        return std::string("clang++");
    }();
    return named;
}

// Returns the functions marked __global__, in order and without repeats.
std::vector<std::string> kernels_in(const std::string &preprocessed) {
    static const std::regex definition(
        R"(__global__\s+(?:__launch_bounds__\s*\([^;{]*?\)\s*)?void\s+(?:__launch_bounds__\s*\([^;{]*?\)\s*)?([A-Za-z_]\w*)\s*\()");
    std::vector<std::string> names;
    std::set<std::string> seen;
    for (std::sregex_iterator at(preprocessed.begin(), preprocessed.end(), definition), end; at != end; ++at) {
        if (seen.insert((*at)[1]).second) names.push_back((*at)[1]);
    }
    return names;
}

// Dynamic local memory is one block whose place the launch knows, so its declaration becomes a pointer to it.
std::string with_dynamic_local_memory(const std::string &source) {
    static const std::regex declaration(
        R"(extern\s+__shared__\s+(?:__align__\s*\(\s*\d+\s*\)\s*|alignas\s*\(\s*\d+\s*\)\s*)?([A-Za-z_][\w:]*(?:\s+[A-Za-z_]\w*)*?)\s+([A-Za-z_]\w*)\s*\[\s*\]\s*;)");
    return std::regex_replace(source, declaration, "$1 * const $2 = reinterpret_cast<$1 *>(STAND_IN_DYNAMIC_LOCAL_MEMORY);");
}

bool checked() { return setting("HIP_STAND_IN_CHECK", "full") != "none"; }

// Returns options that change the text or the language; the others (architecture, optimisation) are for a GPU.
std::vector<std::string> passed_on(int count, const char *const *options) {
    std::vector<std::string> passed;
    for (int i = 0; i < count; i++) {
        const std::string option = options[i];
        for (const char *prefix : {"-D", "-U", "-I", "-std="}) {
            if (option.rfind(prefix, 0) == 0) passed.push_back(option);
        }
    }
    return passed;
}

std::string cache_file(const Program &program, const std::vector<std::string> &options) {
    const std::string folder = setting("HIP_STAND_IN_CACHE", "");
    if (folder.empty()) return {};
    mkdir(folder.c_str(), 0700);
    // The inputs of the result. Nothing guards against equal 64-bit hashes, because this is a cache for tests.
    std::string key = std::to_string(ABI_VERSION) + architecture() + compiler() + (checked() ? "full" : "none") +
                      setting("HIP_STAND_IN_PLANT", "");
    key += read(STAND_IN_DEVICE_HEADERS "/hip.h") + read(STAND_IN_DEVICE_HEADERS "/math.h") + read(STAND_IN_DEVICE_HEADERS "/matrix.h") + program.source;
    for (auto &option : options) key += '\0' + option;
    for (auto &[name, text] : program.headers) key += '\0' + name + '\0' + text;
    char name[32];
    snprintf(name, sizeof name, "/%016zx.so", std::hash<std::string>{}(key));
    return folder + name;
}

// Returns text that is put before a kernel to add a mistake: HIP_STAND_IN_PLANT.
std::string planted_mistake() {
    const std::string mistake = setting("HIP_STAND_IN_PLANT", "");
    if (mistake.empty()) return "";
    if (mistake == "barrier") return "#define __syncthreads() ((void)0)\n";
    if (mistake == "shuffle") return "#define __shfl_xor(value, ...) __shfl(value, 1)\n";
    // device/matrix.h handles these mistakes; it comes before the kernel's text.
    if (mistake == "matrix-lanes" || mistake == "matrix-blocks") return "";
    if (mistake == "blocks") return "#undef blockIdx\n#define blockIdx (stand_in::Dim3{0, 0, 0})\n";
    fprintf(stderr, "hip-stand-in: HIP_STAND_IN_PLANT: `%s` is not barrier, shuffle, blocks, matrix-lanes or matrix-blocks\n", mistake.c_str());
    abort();
}

void make_image(Program &program, const std::string &library) {
    ImageHeader header = {};
    memcpy(header.mark, IMAGE_MARK, sizeof header.mark);
    snprintf(header.architecture, sizeof header.architecture, "%s", architecture().c_str());
    header.bytes = library.size();
    program.code.assign(reinterpret_cast<const char *>(&header), reinterpret_cast<const char *>(&header) + sizeof header);
    program.code.insert(program.code.end(), library.begin(), library.end());
}

hiprtcResult compile(Program &program, const std::vector<std::string> &options) {
    const std::string cached = cache_file(program, options);
    if (!cached.empty()) {
        const std::string library = read(cached);
        if (!library.empty()) {
            make_image(program, library);
            return HIPRTC_SUCCESS;
        }
    }
    Folder folder;
    if (!folder.ok() || !folder.write("kernel.hip", program.source)) {
        program.log = "hip-stand-in: no temporary folder";
        return HIPRTC_ERROR_INTERNAL_ERROR;
    }
    for (auto &[name, text] : program.headers) folder.write(name, text);
    // device/hip.h provides the 16-bit types, so these headers are empty.
    for (const char *header : {"hip/hip_bf16.h", "hip/hip_fp16.h", "hip/hip_runtime.h"}) folder.write(header, "#pragma once\n");

    std::vector<std::string> common = {compiler(), "-x", "c++", "-std=c++17", "-w", "-I" + folder.path()};
    common.insert(common.end(), options.begin(), options.end());
    for (const char *define : {"-D__HIPCC_RTC__", "-D__HIP_DEVICE_COMPILE__=1", "-D__HIP_PLATFORM_AMD__=1", "-D__HIP__=1"}) {
        common.push_back(define);
    }
    const std::string planted = setting("HIP_STAND_IN_PLANT", "");
    if (planted == "matrix-lanes") common.push_back("-DSTAND_IN_EXCHANGED_LANES=1");
    if (planted == "matrix-blocks") common.push_back("-DSTAND_IN_EXCHANGED_LANES=16");
    // Several chips share a family; code may test for either.
    const std::string arch = architecture();
    common.push_back("-D__" + arch + "__=1");
    if (arch.rfind("gfx9", 0) == 0) common.push_back("-D__GFX9__=1");
    if (arch.rfind("gfx11", 0) == 0) common.push_back("-D__GFX11__=1");
    if (arch.rfind("gfx12", 0) == 0) common.push_back("-D__GFX12__=1");

    std::vector<std::string> preprocess = common;
    const std::string preprocessed = folder.file("kernel.i");
    preprocess.insert(preprocess.end(), {"-E", "-P", folder.path() + "/kernel.hip"});
    if (!run(preprocess, preprocessed, folder.file("log"))) {
        program.log = read(folder.path() + "/log");
        return HIPRTC_ERROR_COMPILATION;
    }
    const std::vector<std::string> kernels = kernels_in(read(preprocessed));
    if (kernels.empty()) {
        program.log = "hip-stand-in: the program has no __global__ function";
        return HIPRTC_ERROR_COMPILATION;
    }
    // Kernels have their own typedefs of the standard's integers, which may differ from those of the headers above.
    std::string text = planted_mistake() + "#define uint64_t stand_in_kernel_uint64\n#define int64_t stand_in_kernel_int64\n#line 1 \"" + program.name +
                       "\"\n" + with_dynamic_local_memory(program.source) + "\n#undef uint64_t\n#undef int64_t\nSTAND_IN_MODULE(";
    for (const std::string &kernel : kernels) text += "STAND_IN_KERNEL(" + kernel + ") ";
    text += ")\n";
    folder.write("module.cpp", text);

    std::vector<std::string> build = common;
    const std::string library = folder.file("module.so");
    build.insert(build.end(), {"-O1", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno", "-fno-exceptions", "-fno-optimize-sibling-calls",
                               "-include", STAND_IN_DEVICE_HEADERS "/hip.h"});
    if (checked()) {
        // Every access calls a function of device/hip.h, also a store after a load of the same place. Accesses to
        // lanes' stacks are not checked.
        build.insert(build.end(), {"-fsanitize=kernel-address"});
        for (const char *option : {"-asan-instrumentation-with-call-threshold=0", "-asan-opt=0", "-asan-stack=0",
                                   "-asan-globals=0", "-asan-kernel-mem-intrinsic-prefix=1"}) {
            build.insert(build.end(), {"-mllvm", option});
        }
    }
    build.insert(build.end(), {folder.path() + "/module.cpp", "-o", library});
    const bool built = run(build, folder.file("out"), folder.path() + "/log");
    program.log = read(folder.path() + "/log");
    if (!built) return HIPRTC_ERROR_COMPILATION;
    const std::string bytes = read(library);
    if (!cached.empty()) {
        const std::string part = cached + "." + std::to_string(getpid());
        std::ofstream(part, std::ios::binary) << bytes;
        rename(part.c_str(), cached.c_str());
    }
    make_image(program, bytes);
    return HIPRTC_SUCCESS;
}

}  // namespace

extern "C" {

int hiprtcVersion(int *major, int *minor) {
    if (int status = enter("hiprtcVersion")) return status;
    *major = *minor = 0;
    sscanf(setting("HIP_STAND_IN_VERSION", "6.4.0").c_str(), "%d.%d", major, minor);
    return leave("hiprtcVersion", HIPRTC_SUCCESS);
}

int hiprtcCreateProgram(void **handle, const char *source, const char *name, int headers, const char *const *texts,
                        const char *const *names) {
    if (int status = enter("hiprtcCreateProgram")) return status;
    auto program = new Program;
    program->name = name && *name ? name : "kernel.hip";
    program->source = source;
    for (int i = 0; i < headers; i++) program->headers.emplace_back(names[i], texts[i]);
    programs.insert(program);
    *handle = program;
    return leave("hiprtcCreateProgram", HIPRTC_SUCCESS);
}

int hiprtcDestroyProgram(void **handle) {
    if (int status = enter("hiprtcDestroyProgram")) return status;
    Program *program = handle ? find(*handle) : nullptr;
    if (!program) return leave("hiprtcDestroyProgram", HIPRTC_ERROR_INVALID_PROGRAM);
    programs.erase(program);
    delete program;
    *handle = nullptr;
    return leave("hiprtcDestroyProgram", HIPRTC_SUCCESS);
}

int hiprtcCompileProgram(void *handle, int count, const char *const *options) {
    if (int status = enter("hiprtcCompileProgram")) return status;
    Program *program = find(handle);
    if (!program) return leave("hiprtcCompileProgram", HIPRTC_ERROR_INVALID_PROGRAM);
    return leave("hiprtcCompileProgram", compile(*program, passed_on(count, options)));
}

int hiprtcGetProgramLogSize(void *handle, size_t *bytes) {
    Program *program = find(handle);
    if (!program) return HIPRTC_ERROR_INVALID_PROGRAM;
    *bytes = program->log.size() + 1;
    return HIPRTC_SUCCESS;
}

int hiprtcGetProgramLog(void *handle, char *log) {
    Program *program = find(handle);
    if (!program) return HIPRTC_ERROR_INVALID_PROGRAM;
    memcpy(log, program->log.c_str(), program->log.size() + 1);
    return HIPRTC_SUCCESS;
}

int hiprtcGetCodeSize(void *handle, size_t *bytes) {
    Program *program = find(handle);
    if (!program) return HIPRTC_ERROR_INVALID_PROGRAM;
    *bytes = program->code.size();
    return HIPRTC_SUCCESS;
}

int hiprtcGetCode(void *handle, char *code) {
    if (int status = enter("hiprtcGetCode")) return status;
    Program *program = find(handle);
    if (!program) return leave("hiprtcGetCode", HIPRTC_ERROR_INVALID_PROGRAM);
    memcpy(code, program->code.data(), program->code.size());
    return leave("hiprtcGetCode", HIPRTC_SUCCESS, {{"bytes", number(program->code.size())}});
}

const char *hiprtcGetErrorString(int result) {
    switch (result) {
        case HIPRTC_SUCCESS: return "HIPRTC_SUCCESS";
        case HIPRTC_ERROR_INVALID_INPUT: return "HIPRTC_ERROR_INVALID_INPUT";
        case HIPRTC_ERROR_INVALID_PROGRAM: return "HIPRTC_ERROR_INVALID_PROGRAM";
        case HIPRTC_ERROR_COMPILATION: return "HIPRTC_ERROR_COMPILATION";
        default: return "HIPRTC_ERROR_INTERNAL_ERROR";
    }
}

}  // extern "C"
