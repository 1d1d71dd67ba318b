// The part of RCCL that sums over processes of one machine. Ranks share memory, which the unique id names.

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <vector>

#include "../library/settings.h"
#include "../library/trace.h"
#include "product.h"

using namespace stand_in;
using namespace stand_in_blas;

namespace {

enum : int { Success = 0, UnhandledCudaError = 1, SystemError = 2, InvalidArgument = 4, RemoteError = 6 };
enum : int { TYPE_F32 = 7, TYPE_BF16 = 9 };
enum : int { MOST_RANKS = 16 };

struct UniqueId {
    char name[128];
};

// Number of values that the ranks exchange at once.
constexpr size_t CHUNK = 1 << 16;

struct Shared {
    std::atomic<int> arrived;
    std::atomic<int> round;
    std::atomic<int> joined;
    std::atomic<int> process[MOST_RANKS];
    float values[MOST_RANKS][CHUNK];
};

struct Communicator {
    Shared *shared;
    int rank, ranks;
    int late = Success;

    // Waits for all ranks; returns false if one of them is gone.
    bool meet() {
        const int round = shared->round.load();
        if (shared->arrived.fetch_add(1) + 1 == ranks) {
            shared->arrived.store(0);
            shared->round.fetch_add(1);
            return true;
        }
        for (int waited = 0; shared->round.load() == round; waited++) {
            usleep(waited < 100 ? 0 : 200);
            for (int other = 0; waited % 256 == 255 && other < ranks; other++) {
                const int process = shared->process[other].load();
                if (process && kill(process, 0) != 0) return false;
            }
        }
        return true;
    }

    // Writes the elements [begin, end) of the sum of all ranks' arrays to `to`, from its start.
    int sum(const Matrix &from, const Matrix &to, size_t count, size_t begin, size_t end) {
        // HIP_STAND_IN_SUM=off: every rank keeps its own values.
        static const bool planted = setting("HIP_STAND_IN_SUM", "on") == "off";
        for (size_t first = 0; first < count; first += CHUNK) {
            const size_t length = count - first < CHUNK ? count - first : CHUNK;
            for (size_t i = 0; i < length; i++) shared->values[rank][i] = from.get(static_cast<int64_t>(first + i), 0, 0);
            if (!meet()) return late = RemoteError;
            for (size_t i = 0; i < length && !planted; i++) {
                if (first + i < begin || first + i >= end) continue;
                // Adds in the order of ranks, so that all get the same bits.
                double sum = 0;
                for (int other = 0; other < ranks; other++) sum += static_cast<double>(shared->values[other][i]);
                to.set(static_cast<int64_t>(first + i - begin), 0, 0, sum);
            }
            if (!meet()) return late = RemoteError;
        }
        return Success;
    }

    // Writes the arrays of all ranks, each of `count` elements, to `to`, one after the other.
    int gather(const Matrix &from, const Matrix &to, size_t count) {
        for (size_t first = 0; first < count; first += CHUNK) {
            const size_t length = count - first < CHUNK ? count - first : CHUNK;
            for (size_t i = 0; i < length; i++) shared->values[rank][i] = from.get(static_cast<int64_t>(first + i), 0, 0);
            if (!meet()) return late = RemoteError;
            for (int other = 0; other < ranks; other++)
                for (size_t i = 0; i < length; i++)
                    to.set(static_cast<int64_t>(other * count + first + i), 0, 0, shared->values[other][i]);
            if (!meet()) return late = RemoteError;
        }
        return Success;
    }
};

}  // namespace

extern "C" {

int ncclGetVersion(int *version) {
    *version = 22203;
    return Success;
}

int ncclGetUniqueId(UniqueId *id) {
    if (int status = enter("ncclGetUniqueId")) return status;
    static int drawn = 0;
    snprintf(id->name, sizeof id->name, "/hip-stand-in-%d-%d", getpid(), drawn++);
    return leave("ncclGetUniqueId", Success);
}

int ncclCommInitRank(void **handle, int ranks, UniqueId id, int rank) {
    if (int status = enter("ncclCommInitRank")) return status;
    if (ranks < 1 || ranks > MOST_RANKS || rank < 0 || rank >= ranks) return leave("ncclCommInitRank", InvalidArgument);
    const int file = shm_open(id.name, O_RDWR | O_CREAT, 0600);
    // A new file is filled with zeros, whichever rank creates it.
    if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) return leave("ncclCommInitRank", SystemError);
    void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) return leave("ncclCommInitRank", SystemError);
    auto *made = new Communicator{static_cast<Shared *>(memory), rank, ranks};
    made->shared->process[rank].store(getpid());
    made->shared->joined.fetch_add(1);
    while (made->shared->joined.load() < ranks) usleep(200);
    // All ranks have opened it, so its name is no longer needed.
    if (made->meet() && rank == 0) shm_unlink(id.name);
    *handle = made;
    return leave("ncclCommInitRank", Success);
}

int ncclCommDestroy(void *handle) {
    if (int status = enter("ncclCommDestroy")) return status;
    auto *communicator = static_cast<Communicator *>(handle);
    communicator->shared->process[communicator->rank].store(0);
    munmap(communicator->shared, sizeof(Shared));
    delete communicator;
    return leave("ncclCommDestroy", Success);
}

int ncclCommAbort(void *handle) { return ncclCommDestroy(handle); }

int ncclCommGetAsyncError(void *handle, int *error) {
    *error = static_cast<Communicator *>(handle)->late;
    return Success;
}

int ncclGroupStart() { return Success; }

int ncclGroupEnd() { return Success; }

// Puts an exchange of arrays with `sent` and `received` elements into a stream.
static int exchange(const char *name, const void *from, size_t sent, void *to, size_t received, int type, void *stream,
                    int (*work)(const Matrix &, const Matrix &, size_t, size_t, Communicator *), void *handle) {
    if (int status = enter(name)) return status;
    if (type != TYPE_F32 && type != TYPE_BF16) return leave(name, InvalidArgument);
    auto vector = [&](const void *start) {
        return Matrix{static_cast<char *>(const_cast<void *>(start)), type == TYPE_F32 ? Element::F32 : Element::Bf16, 1, 0};
    };
    const Matrix source = vector(from), target = vector(to);
    const size_t read = sent * source.size(), written = received * target.size();
    if (!hip_stand_in_inside(from, read) || !hip_stand_in_inside(to, written)) return leave(name, InvalidArgument);
    auto *communicator = static_cast<Communicator *>(handle);
    const int status = submit(stream, name, [=] {
        if (int clash = hip_stand_in_touch("an exchange between ranks", from, read, 0)) return clash;
        if (int clash = hip_stand_in_touch("an exchange between ranks", to, written, 1)) return clash;
        // Returns an error of HIP: a failed launch.
        return work(source, target, sent, received, communicator) == Success ? 0 : 719;
    });
    return leave(name, status == hipSuccess ? Success : UnhandledCudaError, {{"count", number(sent)}});
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, void *handle, void *stream) {
    if (operation != 0) return InvalidArgument;
    auto work = [](const Matrix &source, const Matrix &target, size_t sent, size_t, Communicator *group) {
        return group->sum(source, target, sent, 0, sent);
    };
    return exchange("ncclAllReduce", from, count, to, count, type, stream, work, handle);
}

int ncclReduceScatter(const void *from, void *to, size_t count, int type, int operation, void *handle, void *stream) {
    if (operation != 0) return InvalidArgument;
    auto work = [](const Matrix &source, const Matrix &target, size_t sent, size_t received, Communicator *group) {
        return group->sum(source, target, sent, group->rank * received, (group->rank + 1) * received);
    };
    const size_t all = count * static_cast<Communicator *>(handle)->ranks;
    return exchange("ncclReduceScatter", from, all, to, count, type, stream, work, handle);
}

int ncclAllGather(const void *from, void *to, size_t count, int type, void *handle, void *stream) {
    auto work = [](const Matrix &source, const Matrix &target, size_t sent, size_t, Communicator *group) {
        return group->gather(source, target, sent);
    };
    const size_t all = count * static_cast<Communicator *>(handle)->ranks;
    return exchange("ncclAllGather", from, count, to, all, type, stream, work, handle);
}

const char *ncclGetErrorString(int status) {
    switch (status) {
        case Success: return "no error";
        case UnhandledCudaError: return "unhandled cuda error";
        case SystemError: return "unhandled system error";
        case InvalidArgument: return "invalid argument";
        case RemoteError: return "remote process exited or there was a network error";
        default: return "unknown result code";
    }
}

}  // extern "C"
