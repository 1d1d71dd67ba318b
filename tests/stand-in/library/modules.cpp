// Modules and launches. The stand-in's own hiprtc makes the images: a shared library of this machine behind a mark.

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "execute.h"
#include "hip.h"
#include "image.h"
#include "objects.h"
#include "settings.h"
#include "trace.h"

using namespace stand_in;

namespace {

// Loads a library from memory. Each gets another name, because the loader takes an equal name for the same library.
void *open_library(const char *bytes, size_t size) {
    static unsigned long count = 0;
    const std::string path = setting("TMPDIR", "/tmp") + "/hip-stand-in-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".so";
    FILE *file = fopen(path.c_str(), "wx");
    if (!file) return nullptr;
    const bool written = fwrite(bytes, 1, size, file) == size;
    const bool closed = fclose(file) == 0;
    void *library = written && closed ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!library) complain(std::string("a kernel's module: ") + (written && closed ? dlerror() : "no room for its file"));
    unlink(path.c_str());
    return library;
}

// Arguments are read when a launch is submitted, as by a driver; a graph repeats them.
struct Packed {
    std::vector<std::vector<char>> values;
    explicit Packed(const Kernel &kernel, void **arguments) {
        for (uint32_t i = 0; i < kernel.arguments; i++) {
            auto from = static_cast<const char *>(arguments[i]);
            values.emplace_back(from, from + kernel.argument_bytes[i]);
        }
    }
};

hipError_t launch(const char *call, void *handle, Dim3 grid, Dim3 block, unsigned local_bytes, void *stream, void **arguments,
                  void **extra) {
    Function *function = world().functions.find(handle);
    if (!function) return leave(call, hipErrorInvalidHandle);
    if (extra || (!arguments && function->kernel->arguments > 0)) return leave(call, hipErrorInvalidValue);
    const uint64_t threads = uint64_t{block.x} * block.y * block.z, blocks = uint64_t{grid.x} * grid.y * grid.z;
    if (threads == 0 || blocks == 0) return leave(call, hipErrorInvalidValue);
    const Module &module = *function->module;
    const auto static_bytes = module.static_local_memory ? module.static_local_memory_end - module.static_local_memory : 0;
    if (threads > MOST_THREADS || local_bytes + static_cast<uint64_t>(static_bytes) > LOCAL_MEMORY) {
        return leave(call, hipErrorLaunchOutOfResources, {{"threads", number(threads)}, {"lds", number(local_bytes)}});
    }
    const std::string name = function->kernel->name;
    const LaunchSize size = {grid, block, local_bytes};
    auto packed = std::make_shared<Packed>(*function->kernel, arguments);
    const Kernel *kernel = function->kernel;
    const int status = submit(stream, NodeKind::Kernel, name, [=, &module] {
        std::vector<void *> values;
        for (auto &value : packed->values) values.push_back(value.data());
        const std::string failure = execute(module, *kernel, values.data(), size, wave_size(), world().memory);
        if (failure.empty()) return hipSuccess;
        complain(failure);
        // As after a fault on a GPU, every later call fails.
        lose_device(hipErrorLaunchFailure);
        return hipErrorLaunchFailure;
    });
    return leave(call, status,
                 {{"kernel", quoted(name)}, {"blocks", number(blocks)}, {"threads", number(threads)}, {"lds", number(local_bytes)}});
}

}  // namespace

#define STAND_IN_ENTER(call)                                              \
    const std::lock_guard<std::recursive_mutex> guard(world().lock);      \
    if (int status = enter(call)) return status;

extern "C" {

hipError_t hipModuleLoadData(void **module, const void *data) {
    STAND_IN_ENTER("hipModuleLoadData")
    const auto header = static_cast<const ImageHeader *>(data);
    if (memcmp(header->mark, IMAGE_MARK, sizeof header->mark) != 0) {
        complain("hipModuleLoadData: the image was not compiled by the stand-in's hiprtc, and nothing else runs here");
        return leave("hipModuleLoadData", hipErrorInvalidImage);
    }
    if (strncmp(header->architecture, architecture().c_str(), sizeof header->architecture) != 0) {
        complain(std::string("hipModuleLoadData: an image for ") + header->architecture + " on a device that is " + architecture());
        return leave("hipModuleLoadData", hipErrorNoBinaryForGpu);
    }
    void *library = open_library(static_cast<const char *>(data) + sizeof(ImageHeader), header->bytes);
    auto *contents = library ? static_cast<const Module *>(dlsym(library, "hip_stand_in_module")) : nullptr;
    if (!contents || contents->version != ABI_VERSION) return leave("hipModuleLoadData", hipErrorInvalidImage);
    LoadedModule *loaded = world().modules.make();
    loaded->library = library;
    loaded->module = contents;
    *module = loaded;
    return leave("hipModuleLoadData", hipSuccess, {{"kernels", number(contents->kernel_count)}});
}

hipError_t hipModuleUnload(void *module) {
    STAND_IN_ENTER("hipModuleUnload")
    // The library stays in the process, because a graph may still hold launches of it.
    return leave("hipModuleUnload", world().modules.destroy(module) ? hipSuccess : hipErrorInvalidHandle);
}

hipError_t hipModuleGetFunction(void **function, void *module, const char *name) {
    STAND_IN_ENTER("hipModuleGetFunction")
    LoadedModule *loaded = world().modules.find(module);
    if (!loaded) return leave("hipModuleGetFunction", hipErrorInvalidHandle);
    for (uint32_t i = 0; i < loaded->module->kernel_count; i++) {
        const Kernel &kernel = loaded->module->kernels[i];
        if (strcmp(kernel.name, name) != 0) continue;
        Function *made = world().functions.make();
        made->module = loaded->module;
        made->kernel = &kernel;
        *function = made;
        return leave("hipModuleGetFunction", hipSuccess, {{"kernel", quoted(name)}});
    }
    return leave("hipModuleGetFunction", hipErrorNotFound, {{"kernel", quoted(name)}});
}

hipError_t hipFuncGetAttribute(int *value, int attribute, void *handle) {
    STAND_IN_ENTER("hipFuncGetAttribute")
    Function *function = world().functions.find(handle);
    if (!function) return leave("hipFuncGetAttribute", hipErrorInvalidHandle);
    const Module &module = *function->module;
    switch (attribute) {
        case 0: *value = MOST_THREADS; break;
        case 1: *value = module.static_local_memory ? static_cast<int>(module.static_local_memory_end - module.static_local_memory) : 0; break;
        // Registers and private memory belong to GPU code, of which there is none.
        default: *value = 0;
    }
    return leave("hipFuncGetAttribute", hipSuccess);
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t) {
    STAND_IN_ENTER("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor")
    if (!world().functions.find(function) || threads <= 0) {
        return leave("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", hipErrorInvalidValue);
    }
    *blocks = 1;
    return leave("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", hipSuccess);
}

hipError_t hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                 unsigned local_bytes, void *stream, void **arguments, void **extra) {
    STAND_IN_ENTER("hipModuleLaunchKernel")
    return launch("hipModuleLaunchKernel", function, {gx, gy, gz}, {bx, by, bz}, local_bytes, stream, arguments, extra);
}

// Blocks run one after the other, so a block that waits for another would never end.
hipError_t hipModuleLaunchCooperativeKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                                            void **) {
    STAND_IN_ENTER("hipModuleLaunchCooperativeKernel")
    return leave("hipModuleLaunchCooperativeKernel", hipErrorNotSupported);
}

}  // extern "C"
