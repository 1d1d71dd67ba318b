#include "trace.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include <unistd.h>

#include "settings.h"

namespace stand_in {
namespace {

struct Failure {
    std::string call;
    unsigned long nth;  // 0: every call
    int status;
    bool hangs;
    bool for_good;
};

std::vector<Failure> planned_failures() {
    std::vector<Failure> failures;
    const std::string text = setting("HIP_STAND_IN_FAIL", "");
    for (size_t start = 0; start < text.size();) {
        size_t end = text.find(',', start);
        if (end == std::string::npos) end = text.size();
        const std::string entry = text.substr(start, end - start);
        start = end + 1;
        const size_t equals = entry.find('=');
        if (equals == std::string::npos) {
            fprintf(stderr, "hip-stand-in: HIP_STAND_IN_FAIL: `%s` is not CALL#NTH=CODE\n", entry.c_str());
            abort();
        }
        const size_t hash = entry.find('#');
        Failure failure;
        failure.call = entry.substr(0, std::min(hash, equals));
        failure.nth = hash < equals ? strtoul(entry.c_str() + hash + 1, nullptr, 10) : 0;
        failure.status = atoi(entry.c_str() + equals + 1);
        failure.hangs = entry.compare(equals + 1, 4, "hang") == 0;
        failure.for_good = entry.back() == '!';
        failures.push_back(failure);
    }
    return failures;
}

class Trace {
   public:
    Trace() : failures_(planned_failures()) {
        const std::string path = setting("HIP_STAND_IN_RECORD", "");
        if (!path.empty()) file_ = fopen(path.c_str(), "a");
        // Writes whole lines, so that the record of a killed process ends with its last call.
        if (file_) setvbuf(file_, nullptr, _IOLBF, 0);
    }

    ~Trace() {
        if (stuck_) hang();
        if (!file_) return;
        std::string calls;
        for (auto &[call, count] : counts_) calls += (calls.empty() ? "" : ",") + quoted(call) + ":" + number(count);
        fprintf(file_, "{\"summary\":{\"calls\":{%s},\"complaints\":%lu%s}}\n", calls.c_str(), complaints_,
                left_over ? ("," + left_over()).c_str() : "");
        fclose(file_);
    }

    int enter(const char *call) {
        std::unique_lock<std::mutex> guard(lock_);
        const unsigned long nth = ++counts_[call];
        bool hangs = stuck_;
        if (lost_ && !hangs) return write(call, lost_, {{"injected", "true"}});
        for (const Failure &failure : failures_) {
            if (failure.call != call || (failure.nth && failure.nth != nth)) continue;
            hangs |= failure.hangs;
            if (failure.for_good) (failure.hangs ? stuck_ : lost_) = failure.hangs ? 1 : failure.status;
            if (!hangs) return write(call, failure.status, {{"injected", "true"}});
        }
        if (!hangs) return 0;
        write(call, -1, {{"injected", "true"}});
        guard.unlock();
        hang();
    }

    int leave(const char *call, int status, std::initializer_list<Detail> details) {
        const std::lock_guard<std::mutex> guard(lock_);
        return write(call, status, details);
    }

    void complain(const std::string &message) {
        const std::lock_guard<std::mutex> guard(lock_);
        complaints_++;
        fprintf(stderr, "hip-stand-in: %s\n", message.c_str());
        if (file_) fprintf(file_, "{\"complaint\":%s}\n", quoted(message).c_str());
    }

    void lose(int status) { lost_ = status; }

    std::string (*left_over)() = nullptr;

   private:
    [[noreturn]] static void hang() {
        for (;;) pause();
    }

    int write(const char *call, int status, std::initializer_list<Detail> details) {
        if (file_) {
            fprintf(file_, "{\"call\":\"%s\",\"status\":%d", call, status);
            for (const Detail &detail : details) fprintf(file_, ",\"%s\":%s", detail.first, detail.second.c_str());
            fputs("}\n", file_);
        }
        return status;
    }

    std::mutex lock_;
    std::vector<Failure> failures_;
    std::map<std::string, unsigned long> counts_;
    unsigned long complaints_ = 0;
    int lost_ = 0;
    int stuck_ = 0;
    FILE *file_ = nullptr;
};

Trace &trace() {
    static Trace trace;
    return trace;
}

}  // namespace

int enter(const char *call) { return trace().enter(call); }
int leave(const char *call, int status, std::initializer_list<Detail> details) { return trace().leave(call, status, details); }
void complain(const std::string &message) { trace().complain(message); }
void lose_device(int status) { trace().lose(status); }
void count_left_over(std::string (*count)()) { trace().left_over = count; }

std::string quoted(const std::string &text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) < 0x20) {
            out += c == '\n' ? "\\n" : " ";
        } else {
            out += c;
        }
    }
    return out + '"';
}

std::string number(unsigned long long value) { return std::to_string(value); }

}  // namespace stand_in
