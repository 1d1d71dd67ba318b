// Streams, events, captures and graphs. Work runs when it is submitted, so a stream is always empty after a call.

#include <algorithm>
#include <chrono>

#include "hip.h"
#include "objects.h"
#include "settings.h"
#include "trace.h"

namespace stand_in {

World &world() {
    // It is never destroyed, because a library may be called while the process ends.
    static World &world = *[] {
        auto *made = new World;
        count_left_over([] {
            World &w = stand_in::world();
            return "\"allocations\":" + number(w.memory.allocations()) + ",\"bytes\":" + number(w.memory.in_use()) +
                   ",\"pinned\":" + number(w.pinned.size()) + ",\"streams\":" + number(w.streams.size()) +
                   ",\"events\":" + number(w.events.size()) + ",\"modules\":" + number(w.modules.size()) +
                   ",\"graphs\":" + number(w.graphs.size()) + ",\"executables\":" + number(w.executables.size());
        });
        return made;
    }();
    return world;
}

Stream *stream_of(void *handle) { return handle ? world().streams.find(handle) : &world().default_stream; }

namespace {

// The default stream and blocking ones wait for each other.
void join_default_stream(Stream *stream) {
    Stream *standard = &world().default_stream;
    if (stream->blocking) stream->clock.join(standard->clock);
    if (stream != standard) return;
    world().streams.each([&](Stream &other) {
        if (other.blocking) standard->clock.join(other.clock);
    });
}

// Returns the events' time in ms.
double now() {
    static const double each = atof(setting("HIP_STAND_IN_CLOCK", "0").c_str());
    if (each > 0) return each * static_cast<double>(world().executed);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void waited(const Clock &clock) {
    order().waited(clock);
    world().streams.each([](Stream &stream) { order().shorten(&stream.clock); });
    order().shorten(&world().default_stream.clock);
}

}  // namespace

void wait_for_all() {
    Clock all = world().default_stream.clock;
    world().streams.each([&](Stream &stream) { all.join(stream.clock); });
    waited(all);
}

int touch(const char *what, const void *address, size_t bytes, Access access) {
    const std::string clash = world().memory.touch(address, bytes, access);
    if (clash.empty()) return hipSuccess;
    complain(std::string(what) + " " + clash);
    lose_device(hipErrorLaunchFailure);
    return hipErrorLaunchFailure;
}

int submit(void *handle, NodeKind kind, std::string shape, std::function<int()> run) {
    Stream *stream = stream_of(handle);
    if (!stream) return hipErrorInvalidHandle;
    if (!stream->capture) {
        join_default_stream(stream);
        const uint32_t index = ++stream->clock.seen[stream->lane];
        order().begin({std::move(shape), stream->lane, index, stream->clock});
        world().executed++;
        return run();
    }
    if (stream->capture->invalid) return hipErrorStreamCaptureInvalidated;
    auto &nodes = stream->capture->graph.nodes;
    const uint32_t index = static_cast<uint32_t>(nodes.size()) + 1;
    stream->capture_clock.seen[stream->capture_lane] = index;
    nodes.push_back(std::make_shared<Node>(
        Node{kind, std::move(shape), std::move(run), stream->capture_lane, index, stream->capture_clock}));
    return hipSuccess;
}

int refuse_while_capturing(Stream *stream) {
    if (!stream || !stream->capture) return hipSuccess;
    stream->capture->invalid = true;
    return hipErrorStreamCaptureUnsupported;
}

}  // namespace stand_in

using namespace stand_in;

#define STAND_IN_ENTER(call)                                              \
    const std::lock_guard<std::recursive_mutex> guard(world().lock);      \
    if (int status = enter(call)) return status;

extern "C" {

hipError_t hipStreamCreateWithFlags(void **stream, unsigned flags) {
    STAND_IN_ENTER("hipStreamCreateWithFlags")
    Stream *made = world().streams.make();
    // hipStreamNonBlocking is 1.
    made->blocking = (flags & 1) == 0;
    *stream = made;
    return leave("hipStreamCreateWithFlags", hipSuccess);
}

hipError_t hipStreamCreateWithPriority(void **stream, unsigned flags, int) {
    STAND_IN_ENTER("hipStreamCreateWithPriority")
    Stream *made = world().streams.make();
    made->blocking = (flags & 1) == 0;
    *stream = made;
    return leave("hipStreamCreateWithPriority", hipSuccess);
}

hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
    STAND_IN_ENTER("hipDeviceGetStreamPriorityRange")
    *least = 1;
    *greatest = -1;
    return leave("hipDeviceGetStreamPriorityRange", hipSuccess);
}

hipError_t hipStreamDestroy(void *stream) {
    STAND_IN_ENTER("hipStreamDestroy")
    return leave("hipStreamDestroy", world().streams.destroy(stream) ? hipSuccess : hipErrorInvalidHandle);
}

hipError_t hipStreamSynchronize(void *handle) {
    STAND_IN_ENTER("hipStreamSynchronize")
    Stream *stream = stream_of(handle);
    if (!stream) return leave("hipStreamSynchronize", hipErrorInvalidHandle);
    if (int status = refuse_while_capturing(stream)) return leave("hipStreamSynchronize", status);
    join_default_stream(stream);
    waited(stream->clock);
    return leave("hipStreamSynchronize", hipSuccess);
}

hipError_t hipDeviceSynchronize() {
    STAND_IN_ENTER("hipDeviceSynchronize")
    wait_for_all();
    return leave("hipDeviceSynchronize", hipSuccess);
}

hipError_t hipEventCreateWithFlags(void **event, unsigned flags) {
    STAND_IN_ENTER("hipEventCreateWithFlags")
    Event *made = world().events.make();
    made->timed = (flags & 2) == 0;
    *event = made;
    return leave("hipEventCreateWithFlags", hipSuccess);
}

hipError_t hipEventDestroy(void *event) {
    STAND_IN_ENTER("hipEventDestroy")
    return leave("hipEventDestroy", world().events.destroy(event) ? hipSuccess : hipErrorInvalidHandle);
}

hipError_t hipEventRecord(void *handle, void *stream_handle) {
    STAND_IN_ENTER("hipEventRecord")
    Event *event = world().events.find(handle);
    Stream *stream = stream_of(stream_handle);
    if (!event || !stream) return leave("hipEventRecord", hipErrorInvalidHandle);
    event->recorded = true;
    event->at = now();
    event->capture = stream->capture;
    event->stream = stream_handle;
    if (!stream->capture) join_default_stream(stream);
    event->clock = stream->capture ? stream->capture_clock : stream->clock;
    return leave("hipEventRecord", hipSuccess);
}

hipError_t hipEventRecordWithFlags(void *handle, void *stream_handle, unsigned flags) {
    // hipEventRecordExternal is 1.
    if ((flags & 1) == 0) return hipEventRecord(handle, stream_handle);
    STAND_IN_ENTER("hipEventRecordWithFlags")
    Stream *stream = stream_of(stream_handle);
    if (!world().events.find(handle) || !stream) return leave("hipEventRecordWithFlags", hipErrorInvalidHandle);
    if (!stream->capture) return leave("hipEventRecordWithFlags", hipErrorInvalidValue);
    const int status = submit(stream_handle, NodeKind::EventRecord, "event", [handle] {
        Event *event = world().events.find(handle);
        if (!event) return static_cast<int>(hipErrorInvalidHandle);
        event->capture.reset();
        event->recorded = true;
        event->at = now();
        return static_cast<int>(hipSuccess);
    });
    return leave("hipEventRecordWithFlags", status);
}

hipError_t hipEventSynchronize(void *handle) {
    STAND_IN_ENTER("hipEventSynchronize")
    Event *event = world().events.find(handle);
    if (!event) return leave("hipEventSynchronize", hipErrorInvalidHandle);
    if (event->capture) return leave("hipEventSynchronize", hipErrorCapturedEvent);
    waited(event->clock);
    return leave("hipEventSynchronize", hipSuccess);
}

hipError_t hipEventElapsedTime(float *milliseconds, void *from, void *to) {
    STAND_IN_ENTER("hipEventElapsedTime")
    Event *first = world().events.find(from), *last = world().events.find(to);
    const bool usable = first && last && first->timed && last->timed && first->recorded && last->recorded;
    if (!usable) return leave("hipEventElapsedTime", hipErrorInvalidHandle);
    *milliseconds = static_cast<float>(last->at - first->at);
    return leave("hipEventElapsedTime", hipSuccess);
}

hipError_t hipStreamWaitEvent(void *stream_handle, void *event_handle, unsigned) {
    STAND_IN_ENTER("hipStreamWaitEvent")
    Stream *stream = stream_of(stream_handle);
    Event *event = world().events.find(event_handle);
    if (!stream || !event) return leave("hipStreamWaitEvent", hipErrorInvalidHandle);
    int status = hipSuccess;
    if (event->capture && !event->capture->invalid) {
        if (!stream->capture) {
            // The stream takes part in the capture from here on, until a stream of the capture waits for it.
            stream->capture = event->capture;
            stream->capture_lane = stream->capture->graph.lanes++;
            stream->capture_clock = event->clock;
            event->capture->joined.insert(stream_handle);
        } else if (stream->capture != event->capture) {
            status = hipErrorStreamCaptureMerge;
        } else {
            event->capture->joined.erase(event->stream);
            stream->capture_clock.join(event->clock);
        }
    } else if (event->capture) {
        status = hipErrorStreamCaptureInvalidated;
    } else if (stream->capture && event->recorded) {
        status = hipErrorStreamCaptureIsolation;
    } else if (event->recorded) {
        stream->clock.join(event->clock);
    }
    return leave("hipStreamWaitEvent", status);
}

hipError_t hipStreamBeginCapture(void *handle, int) {
    STAND_IN_ENTER("hipStreamBeginCapture")
    Stream *stream = handle ? stream_of(handle) : nullptr;
    if (!stream) return leave("hipStreamBeginCapture", hipErrorStreamCaptureUnsupported);
    if (stream->capture) return leave("hipStreamBeginCapture", hipErrorStreamCaptureUnmatched);
    stream->capture = std::make_shared<Capture>();
    stream->capture->origin = handle;
    stream->capture_lane = 0;
    stream->capture_clock = {};
    return leave("hipStreamBeginCapture", hipSuccess);
}

hipError_t hipStreamEndCapture(void *handle, void **graph) {
    const std::lock_guard<std::recursive_mutex> guard(world().lock);
    const int injected = enter("hipStreamEndCapture");
    *graph = nullptr;
    Stream *stream = handle ? stream_of(handle) : nullptr;
    const std::shared_ptr<Capture> capture = stream ? stream->capture : nullptr;
    const bool unjoined = capture && !capture->joined.empty();
    const bool begun_here = capture && capture->origin == handle;
    const int failed = injected ? injected
        : !begun_here           ? hipErrorStreamCaptureUnmatched
        : capture->invalid      ? hipErrorStreamCaptureInvalidated
        : unjoined              ? hipErrorStreamCaptureUnjoined
                                : hipSuccess;
    if (failed) {
        // As in HIP 6.4: a failed capture never ends, and its streams answer with errors until they are destroyed.
        if (begun_here) capture->invalid = true;
        return injected ? injected : leave("hipStreamEndCapture", failed);
    }
    world().streams.each([&](Stream &other) {
        if (other.capture == capture) other.capture.reset();
    });
    Graph *made = world().graphs.make();
    made->nodes = std::move(capture->graph.nodes);
    made->lanes = capture->graph.lanes;
    *graph = made;
    return leave("hipStreamEndCapture", hipSuccess, {{"nodes", number(made->nodes.size())}});
}

hipError_t hipStreamIsCapturing(void *handle, int *state) {
    STAND_IN_ENTER("hipStreamIsCapturing")
    Stream *stream = stream_of(handle);
    if (!stream) return leave("hipStreamIsCapturing", hipErrorInvalidHandle);
    *state = !stream->capture ? 0 : stream->capture->invalid ? 2 : 1;
    return leave("hipStreamIsCapturing", hipSuccess);
}

hipError_t hipGraphGetNodes(void *handle, void **nodes, size_t *count) {
    STAND_IN_ENTER("hipGraphGetNodes")
    Graph *graph = world().graphs.find(handle);
    if (!graph) return leave("hipGraphGetNodes", hipErrorInvalidHandle);
    if (!nodes) {
        *count = graph->nodes.size();
        return leave("hipGraphGetNodes", hipSuccess);
    }
    *count = std::min(*count, graph->nodes.size());
    for (size_t i = 0; i < *count; i++) nodes[i] = graph->nodes[i].get();
    return leave("hipGraphGetNodes", hipSuccess);
}

hipError_t hipGraphNodeGetType(void *node, int *type) {
    STAND_IN_ENTER("hipGraphNodeGetType")
    if (!node) return leave("hipGraphNodeGetType", hipErrorInvalidValue);
    *type = static_cast<int>(static_cast<Node *>(node)->kind);
    return leave("hipGraphNodeGetType", hipSuccess);
}

static hipError_t instantiate(const char *call, void **executable, void *handle) {
    Graph *graph = world().graphs.find(handle);
    if (!graph) return leave(call, hipErrorInvalidHandle);
    Executable *made = world().executables.make();
    made->nodes = graph->nodes;
    made->lanes = graph->lanes;
    *executable = made;
    return leave(call, hipSuccess, {{"nodes", number(made->nodes.size())}});
}

hipError_t hipGraphInstantiate(void **executable, void *graph, void **, char *, size_t) {
    STAND_IN_ENTER("hipGraphInstantiate")
    return instantiate("hipGraphInstantiate", executable, graph);
}

hipError_t hipGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) {
    STAND_IN_ENTER("hipGraphInstantiateWithFlags")
    return instantiate("hipGraphInstantiateWithFlags", executable, graph);
}

hipError_t hipGraphUpload(void *executable, void *) {
    STAND_IN_ENTER("hipGraphUpload")
    return leave("hipGraphUpload", world().executables.find(executable) ? hipSuccess : hipErrorInvalidHandle);
}

hipError_t hipGraphLaunch(void *handle, void *stream) {
    STAND_IN_ENTER("hipGraphLaunch")
    Executable *executable = world().executables.find(handle);
    Stream *on = stream_of(stream);
    if (!executable || !on) return leave("hipGraphLaunch", hipErrorInvalidHandle);
    if (on->capture) return leave("hipGraphLaunch", refuse_while_capturing(on));
    join_default_stream(on);
    const uint32_t first = order().new_lanes(executable->lanes);
    const Clock before = on->clock;
    size_t kernels = 0;
    for (auto &node : executable->nodes) {
        kernels += node->kind == NodeKind::Kernel;
        Clock clock = before;
        for (auto &[lane, index] : node->clock.seen) clock.seen[first + lane] = index;
        on->clock.join(clock);
        order().begin({node->shape, first + node->lane, node->index, std::move(clock)});
        world().executed++;
        if (int status = node->run()) return leave("hipGraphLaunch", status);
    }
    return leave("hipGraphLaunch", hipSuccess, {{"nodes", number(executable->nodes.size())}, {"kernels", number(kernels)}});
}

hipError_t hipGraphExecUpdate(void *handle, void *graph_handle, void **error_node, int *result) {
    STAND_IN_ENTER("hipGraphExecUpdate")
    Executable *executable = world().executables.find(handle);
    Graph *graph = world().graphs.find(graph_handle);
    if (!executable || !graph) return leave("hipGraphExecUpdate", hipErrorInvalidHandle);
    bool same = executable->nodes.size() == graph->nodes.size();
    for (size_t i = 0; same && i < graph->nodes.size(); i++) {
        same = executable->nodes[i]->kind == graph->nodes[i]->kind && executable->nodes[i]->shape == graph->nodes[i]->shape;
    }
    if (error_node) *error_node = nullptr;
    // hipGraphExecUpdateErrorTopologyChanged.
    if (result) *result = same ? 0 : 2;
    if (same) executable->nodes = graph->nodes;
    if (same) executable->lanes = graph->lanes;
    return leave("hipGraphExecUpdate", same ? hipSuccess : hipErrorGraphExecUpdateFailure);
}

hipError_t hipGraphDestroy(void *graph) {
    STAND_IN_ENTER("hipGraphDestroy")
    return leave("hipGraphDestroy", world().graphs.destroy(graph) ? hipSuccess : hipErrorInvalidHandle);
}

hipError_t hipGraphExecDestroy(void *executable) {
    STAND_IN_ENTER("hipGraphExecDestroy")
    return leave("hipGraphExecDestroy", world().executables.destroy(executable) ? hipSuccess : hipErrorInvalidHandle);
}

}  // extern "C"

// For the stand-in's other libraries: submits work in a stream that is no kernel of a module. Returns an error of HIP.
extern "C" int hip_stand_in_submit(void *stream, const char *shape, int (*run)(void *), void *data, void (*release)(void *)) {
    const std::lock_guard<std::recursive_mutex> guard(world().lock);
    const std::shared_ptr<void> owned(data, release);
    return submit(stream, NodeKind::Kernel, shape, [=] { return run(owned.get()); });
}

// Notes memory that running work of another library reads or writes: returns 0, or an error of HIP.
extern "C" int hip_stand_in_touch(const char *what, const void *address, size_t bytes, int writes) {
    const std::lock_guard<std::recursive_mutex> guard(world().lock);
    return touch(what, address, bytes, writes ? Access::Write : Access::Read);
}

// Returns whether all `bytes` at `address` are in one allocation.
extern "C" int hip_stand_in_inside(const void *address, size_t bytes) {
    const std::lock_guard<std::recursive_mutex> guard(world().lock);
    return bytes == 0 || world().memory.find(address, bytes) != nullptr;
}
