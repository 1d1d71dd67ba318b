// The objects behind handles. A handle is looked up in a list of living objects before it is used.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../device/abi.h"
#include "memory.h"
#include "order.h"

namespace stand_in {

enum class NodeKind : int { Kernel = 0, Copy = 1, Fill = 2, Empty = 5, EventRecord = 7 };

// One piece of captured work.
struct Node {
    NodeKind kind;
    // The kernel, or the size of a copy: it has to stay the same for an update.
    std::string shape;
    std::function<int()> run;
    // Its place among the branches of the graph.
    uint32_t lane;
    uint32_t index;
    Clock clock;
};

struct Graph {
    std::vector<std::shared_ptr<Node>> nodes;
    uint32_t lanes = 1;
};

struct Executable {
    std::vector<std::shared_ptr<Node>> nodes;
    uint32_t lanes = 1;
};

struct Capture {
    Graph graph;
    void *origin;
    // Streams that joined by waiting for an event, and that no later wait has joined back.
    std::set<void *> joined;
    bool invalid = false;
};

struct Stream {
    uint32_t lane = order().new_lanes(1);
    Clock clock;
    // True if it and the default stream wait for each other.
    bool blocking = false;
    std::shared_ptr<Capture> capture;
    // Its lane and clock within the capture.
    uint32_t capture_lane = 0;
    Clock capture_clock;
};

struct Event {
    bool timed = true;
    bool recorded = false;
    double at = 0;
    // The capture and stream in which it was recorded, if any.
    std::shared_ptr<Capture> capture;
    void *stream = nullptr;
    // The work in the stream before it.
    Clock clock;
};

struct LoadedModule {
    void *library = nullptr;
    const Module *module = nullptr;
};

struct Function {
    const Module *module;
    const Kernel *kernel;
};

// Living objects of one kind.
template <class T>
class Living {
   public:
    T *make() {
        auto object = std::make_unique<T>();
        T *handle = object.get();
        objects_.push_back(std::move(object));
        return handle;
    }
    T *find(const void *handle) const {
        for (auto &object : objects_) {
            if (object.get() == handle) return object.get();
        }
        return nullptr;
    }
    bool destroy(const void *handle) {
        for (auto at = objects_.begin(); at != objects_.end(); ++at) {
            if (at->get() != handle) continue;
            objects_.erase(at);
            return true;
        }
        return false;
    }
    template <class F>
    void each(F visit) {
        for (auto &object : objects_) visit(*object);
    }
    size_t size() const { return objects_.size(); }

   private:
    std::vector<std::unique_ptr<T>> objects_;
};

// The whole state. It has one lock: calls may come from several threads, and kernels run one at a time.
struct World {
    std::recursive_mutex lock;
    DeviceMemory memory;
    Living<Stream> streams;
    Living<Event> events;
    Living<LoadedModule> modules;
    Living<Function> functions;
    Living<Graph> graphs;
    Living<Executable> executables;
    std::set<void *> pinned;
    Stream default_stream;
    // Number of executed pieces of work.
    uint64_t executed = 0;
};

World &world();

// Runs work now, or adds it to the graph that `stream` records.
int submit(void *stream, NodeKind kind, std::string shape, std::function<int()> run);
// Notes an access of work that is no kernel: returns 0, or an error if it clashes with other work.
int touch(const char *what, const void *address, size_t bytes, Access access);
// Makes the host wait for all work.
void wait_for_all();
// Returns the stream of a handle: the default stream for a null handle, null for an unknown handle.
Stream *stream_of(void *handle);
// Returns an error if `stream` records a graph, and invalidates the recording: a call that waits does that in HIP.
int refuse_while_capturing(Stream *stream);

}  // namespace stand_in
