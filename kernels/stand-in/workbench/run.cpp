// Runs the kernels of a module. A job comes on the standard input. Findings go to the standard output, one JSON object
// per line, followed by the buffers that the kernel wrote. The process has no files, network or children, because the
// kernel is unreviewed code. It is confined before a byte of the module is placed in memory.
//
//     job SOURCE WAVE SECONDS PICTURES SECRET     SECRET: comes back with the end, so that a kernel cannot fake it
//     buffer NAME BYTES GIVEN WANTED      one per buffer; GIVEN: its bytes follow, WANTED: its bytes come back
//     launch ENTRY GX GY GZ BX BY BZ LOCAL ARGUMENTS
//     b BUFFER  or  w BITS                one per argument; w is 4 bytes that are no buffer
//     data                                followed by the bytes of all given buffers

#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <new>
#include <sstream>

#include "../library/execute.h"
#include "../library/order.h"
#include "confine.h"
#include "loaded.h"
#include "module_file.h"
#include "pictures.h"

using namespace stand_in;

namespace {

constexpr size_t MOST_FINDINGS = 24;
constexpr size_t MOST_EARLY = 1 << 16;
constexpr uint64_t PICTURED_BLOCKS = 16;
// Distance between buffers, so that an index that is wrong by a million still shows which array was meant.
constexpr size_t GAP = size_t{64} << 20;
// Most memory of a run in addition to its buffers: stacks of 1024 lanes, the module, the pictures.
constexpr uint64_t MOST_MEMORY = uint64_t{1} << 30;

struct Buffer {
    std::string name;
    size_t bytes = 0;
    bool given = false, wanted = false;
    char *memory = nullptr;
};

struct Argument {
    bool buffer = false;
    uint32_t value = 0;
};

struct Launch {
    std::string entry;
    LaunchSize size = {};
    std::vector<Argument> arguments;
};

void write_all(const char *at, size_t bytes) {
    while (bytes > 0) {
        const ssize_t written = write(STDOUT_FILENO, at, bytes);
        if (written <= 0) _exit(1);
        at += written;
        bytes -= static_cast<size_t>(written);
    }
}

std::string quoted(const std::string &text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return result + "\"";
}

std::string three(const Dim3 &d) { return "[" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + "]"; }

const char *word(Access access) { return access == Access::Read ? "read" : access == Access::Write ? "write" : "update"; }

class Job final : public Observer {
   public:
    bool read(const std::string &module, const std::string &text);
    int run();
    // Reports that a signal ended the kernel.
    [[noreturn]] void interrupted(const char *kind, const std::string &words, const void *place);
    // Reports that no memory is left.
    [[noreturn]] void exhausted();

    bool found(const Finding &finding) override;
    void accessed(const void *place, const void *address, size_t bytes, Access access, uint32_t thread) override;
    void block_ended() override;
    void barrier_passed() override { barriers_++; }
    bool in_module(const void *place) const override { return loaded_.holds(place); }

   private:
    void fail(const std::string &words) { say("{\"kind\":\"machine\",\"words\":" + quoted(words) + "}"); }
    void say(const std::string &line) { write_all((line + "\n").data(), line.size() + 1); }
    bool load();
    bool launch(const Launch &launch);
    bool tell(const Finding &finding);
    void tell_early(bool local_only);
    uint32_t line(const void *place) const;
    // Returns the array in which `address` lies, or which it narrowly misses, as fields of a JSON object.
    std::string array(const void *address) const;
    bool local(const void *address) const;
    void tell_pictures();
    void give_back();

    std::string module_text_, source_, secret_;
    uint32_t wave_size_ = 64;
    bool pictured_ = false;
    std::vector<Buffer> buffers_;
    std::vector<Launch> launches_;
    std::unique_ptr<ModuleFile> file_;
    LoadedModule loaded_;
    const Module *module_ = nullptr;
    DeviceMemory memory_;
    std::unique_ptr<Pictures> pictures_;
    uint64_t block_ = 0, stride_ = 1;
    // Of the block that runs, and of the block with most.
    uint64_t barriers_ = 0, most_barriers_ = 0;
    uint32_t local_bytes_ = 0;
    std::set<std::tuple<Finding::Kind, const void *, const void *, Clash::Kind>> seen_;
    // Reads of memory that no lane has written yet, by address. Lanes run one after the other here: if another lane
    // writes it before they meet, it is a race.
    std::map<const void *, Finding> early_;
};

Job job;
uint64_t seconds = 5;

bool Job::read(const std::string &module, const std::string &text) {
    std::ifstream file(module, std::ios::binary);
    module_text_.assign(std::istreambuf_iterator<char>(file), {});
    if (!file) return false;
    std::istringstream in(text);
    std::string line;
    while (std::getline(in, line)) {
        std::istringstream words(line);
        std::string kind;
        words >> kind;
        if (kind == "job") {
            words >> source_ >> wave_size_ >> seconds >> pictured_ >> secret_;
        } else if (kind == "buffer") {
            Buffer buffer;
            words >> buffer.name >> buffer.bytes >> buffer.given >> buffer.wanted;
            buffers_.push_back(buffer);
        } else if (kind == "launch") {
            Launch launch;
            LaunchSize &size = launch.size;
            words >> launch.entry >> size.grid.x >> size.grid.y >> size.grid.z >> size.block.x >> size.block.y >> size.block.z >>
                size.local_memory_bytes;
            launches_.push_back(launch);
        } else if ((kind == "b" || kind == "w") && !launches_.empty()) {
            Argument argument = {kind == "b", 0};
            words >> argument.value;
            launches_.back().arguments.push_back(argument);
        } else if (kind == "data") {
            break;
        } else {
            return false;
        }
        if (!words) return false;
    }
    size_t at = in.eof() ? text.size() : static_cast<size_t>(in.tellg());
    for (Buffer &buffer : buffers_) {
        void *room = mmap(nullptr, buffer.bytes + 2 * GAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED) return false;
        buffer.memory = static_cast<char *>(room) + GAP;
        memset(buffer.memory, POISON, buffer.bytes);
        memory_.adopt(buffer.memory, buffer.bytes);
        if (!buffer.given) continue;
        if (buffer.bytes > text.size() - at) return false;
        memcpy(buffer.memory, text.data() + at, buffer.bytes);
        at += buffer.bytes;
        memory_.touch(buffer.memory, buffer.bytes, Access::Write);
    }
    return true;
}

bool Job::load() {
    file_ = std::make_unique<ModuleFile>(module_text_, source_);
    const std::string wrong = loaded_.load(module_text_);
    module_ = wrong.empty() ? static_cast<const Module *>(loaded_.symbol("hip_stand_in_module")) : nullptr;
    if (module_ && module_->version == ABI_VERSION) return true;
    fail("the compiled file " + (wrong.empty() ? "is no module of this stand-in" : wrong));
    return false;
}

void on_signal(int signal, siginfo_t *, void *context) {
    const auto *registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
    const void *place = reinterpret_cast<const void *>(registers[REG_RIP] + 1);
    if (!job.in_module(place)) place = running().place;
    switch (signal) {
        case SIGPROF: job.interrupted("endless", "did not end within " + std::to_string(seconds) + " s of computing", place);
        case SIGFPE: job.interrupted("crash", "divides an integer by zero", place);
        case SIGSEGV: job.interrupted("crash", "runs out of its stack, or reaches memory that is not there", place);
        default: job.interrupted("crash", std::string("is ended by ") + strsignal(signal), place);
    }
}

void handle_signals() {
    static char stack[64 << 10];
    const stack_t alternate = {stack, 0, sizeof stack};
    sigaltstack(&alternate, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (const int signal : {SIGPROF, SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT}) sigaction(signal, &action, nullptr);
    const itimerval limit = {{0, 0}, {static_cast<time_t>(seconds), 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);
    // The alarm covers cases in which that limit does not help.
    alarm(static_cast<unsigned>(seconds) * 20 + 30);
}

int Job::run() {
    handle_signals();
    std::set_new_handler([] { job.exhausted(); });
    if (!confine(MOST_MEMORY, seconds)) {
        fail("this system cannot confine a process (seccomp and resource limits), so no kernel is run: ask who looks after it");
        return 1;
    }
    if (!load()) return 1;
    if (!forbid_new_code()) return 1;
    bool whole = true;
    for (const Launch &one : launches_) {
        whole = whole && launch(one);
    }
    tell_pictures();
    if (whole) give_back();
    return 0;
}

bool Job::launch(const Launch &launch) {
    const Kernel *kernel = nullptr;
    for (uint32_t i = 0; i < module_->kernel_count; i++) {
        if (launch.entry == module_->kernels[i].name) kernel = &module_->kernels[i];
    }
    if (!kernel || kernel->arguments != launch.arguments.size()) {
        fail("no kernel " + launch.entry + " that takes these arguments");
        return false;
    }
    const auto fixed = module_->static_local_memory ? static_cast<uint64_t>(module_->static_local_memory_end - module_->static_local_memory) : 0;
    if (fixed + launch.size.local_memory_bytes > LOCAL_MEMORY) {
        say("{\"kind\":\"too-much-lds\",\"count\":" + std::to_string(fixed + launch.size.local_memory_bytes) +
            ",\"missing\":" + std::to_string(LOCAL_MEMORY) + "}");
        return false;
    }
    local_bytes_ = launch.size.local_memory_bytes;
    std::vector<char *> addresses(launch.arguments.size());
    std::vector<uint32_t> values(launch.arguments.size());
    std::vector<void *> arguments;
    for (size_t i = 0; i < launch.arguments.size(); i++) {
        const Argument &argument = launch.arguments[i];
        if (argument.buffer && argument.value >= buffers_.size()) return false;
        if (argument.buffer) addresses[i] = buffers_[argument.value].memory;
        values[i] = argument.value;
        arguments.push_back(argument.buffer ? static_cast<void *>(&addresses[i]) : &values[i]);
    }
    const Dim3 &grid = launch.size.grid;
    block_ = 0;
    stride_ = std::max<uint64_t>(1, uint64_t{grid.x} * grid.y * grid.z / PICTURED_BLOCKS);
    if (pictured_ && !pictures_) pictures_ = std::make_unique<Pictures>(wave_size_);
    const bool whole = execute(*module_, *kernel, arguments.data(), launch.size, wave_size_, memory_, this).empty();
    tell_early(false);
    return whole;
}

// A place is the address to which a call returns, so the call is before it.
uint32_t Job::line(const void *place) const { return place ? file_->line(reinterpret_cast<uintptr_t>(place) - loaded_.base() - 1) : 0; }

bool Job::local(const void *address) const {
    const auto at = static_cast<const char *>(address);
    const char *dynamic = dynamic_local_memory();
    return (at >= module_->static_local_memory && at < module_->static_local_memory_end) || (at >= dynamic && at < dynamic + LOCAL_MEMORY);
}

std::string Job::array(const void *address) const {
    auto fields = [&](const std::string &name, intptr_t offset, uint64_t bytes, bool shared) {
        return "\"array\":" + quoted(name) + ",\"offset\":" + std::to_string(offset) + ",\"size\":" + std::to_string(bytes) +
               ",\"local\":" + (shared ? "true" : "false");
    };
    const auto at = reinterpret_cast<intptr_t>(address);
    const auto dynamic = reinterpret_cast<intptr_t>(dynamic_local_memory());
    if (at >= dynamic && at < dynamic + static_cast<intptr_t>(LOCAL_MEMORY)) return fields("", at - dynamic, local_bytes_, true);
    // Finds the last array that begins at or before the address, if it is near local memory.
    const LocalArray *before = nullptr;
    for (const LocalArray &one : file_->arrays()) {
        if (static_cast<intptr_t>(one.address + loaded_.base()) <= at) before = &one;
    }
    const auto local_end = reinterpret_cast<intptr_t>(module_->static_local_memory_end);
    if (before && at < local_end + (1 << 20)) return fields(before->name, at - static_cast<intptr_t>(before->address + loaded_.base()), before->bytes, true);
    for (const Buffer &buffer : buffers_) {
        const intptr_t offset = at - reinterpret_cast<intptr_t>(buffer.memory);
        if (offset >= -static_cast<intptr_t>(GAP) && offset < static_cast<intptr_t>(buffer.bytes + GAP)) return fields(buffer.name, offset, buffer.bytes, false);
    }
    return "\"array\":null";
}

bool Job::found(const Finding &finding) {
    if (finding.clash.kind == Clash::Kind::Race) early_.erase(finding.address);
    if (finding.clash.kind != Clash::Kind::Unwritten) return tell(finding);
    if (early_.size() < MOST_EARLY) early_.emplace(finding.address, finding);
    return true;
}

void Job::tell_early(bool local_only) {
    for (auto at = early_.begin(); at != early_.end();) {
        if (local_only && !local(at->first)) {
            ++at;
            continue;
        }
        tell(at->second);
        at = early_.erase(at);
    }
}

bool Job::tell(const Finding &finding) {
    const bool ends = finding.kind == Finding::Kind::OutOfBounds || finding.kind == Finding::Kind::Index;
    if (seen_.size() >= MOST_FINDINGS || !seen_.insert({finding.kind, finding.place, finding.other_place, finding.clash.kind}).second) return !ends;
    const Clash &clash = finding.clash;
    const char *kind = "crash";
    switch (finding.kind) {
        case Finding::Kind::OutOfBounds: kind = "out-of-bounds"; break;
        case Finding::Kind::Clash: kind = clash.kind == Clash::Kind::Unwritten ? "unwritten" : "race"; break;
        case Finding::Kind::Barrier: kind = "barrier"; break;
        case Finding::Kind::Shuffle: kind = "shuffle"; break;
        // Division has the same check, and no array.
        case Finding::Kind::Index: kind = finding.words.back() == ' ' ? "division" : "index"; break;
        case Finding::Kind::Other: break;
    }
    std::string text = "{\"kind\":" + quoted(kind) + ",\"words\":" + quoted(finding.words) +
                       ",\"line\":" + std::to_string(finding.kind == Finding::Kind::Index ? static_cast<uint32_t>(finding.missing) : line(finding.place)) +
                       ",\"other_line\":" + std::to_string(line(finding.other_place)) + ",\"block\":" + three(finding.block) +
                       ",\"thread\":" + three(finding.thread) + ",\"count\":" + std::to_string(finding.count) +
                       ",\"missing\":" + std::to_string(finding.missing) + ",\"access\":" + quoted(word(finding.access)) +
                       ",\"bytes\":" + std::to_string(finding.bytes);
    if (clash) {
        text += ",\"other_thread\":" + std::to_string(clash.thread) + ",\"other_block\":" + (clash.other_block ? "true" : "false") +
                ",\"other_wrote\":" + (clash.written ? "true" : "false");
    }
    if (finding.address) text += "," + array(finding.address);
    say(text + "}");
    return !ends;
}

void Job::interrupted(const char *kind, const std::string &words, const void *place) {
    const Running now = running();
    say("{\"kind\":" + quoted(kind) + ",\"words\":" + quoted(words) + ",\"line\":" + std::to_string(line(place)) +
        ",\"block\":" + three(now.block) + ",\"thread\":" + three(now.thread) + "}");
    _exit(0);
}

void Job::exhausted() {
    fail("the kernel took more than " + std::to_string(MOST_MEMORY >> 20) + " MiB of memory, and was ended");
    _exit(0);
}

void Job::accessed(const void *place, const void *address, size_t bytes, Access access, uint32_t thread) {
    if (!pictures_ || block_ % stride_ != 0) return;
    pictures_->note(place, reinterpret_cast<uint64_t>(address), bytes, access, local(address), thread);
}

void Job::block_ended() {
    if (pictures_ && block_ % stride_ == 0) pictures_->block_ended();
    tell_early(true);
    most_barriers_ = std::max(most_barriers_, barriers_);
    barriers_ = 0;
    block_++;
}

void Job::tell_pictures() {
    if (!pictures_) return;
    say("{\"kind\":\"barriers\",\"count\":" + std::to_string(most_barriers_) + "}");
    for (auto &[place, picture] : pictures_->all()) {
        std::string lanes;
        uint64_t first = 0;
        for (const uint64_t address : picture.lanes) {
            if (address && (!first || address < first)) first = address;
        }
        for (const uint64_t address : picture.lanes) lanes += (lanes.empty() ? "" : ",") + (address ? std::to_string(address - first) : "null");
        auto field = [](const char *name, uint64_t value) { return std::string(",\"") + name + "\":" + std::to_string(value); };
        say("{\"kind\":\"picture\"" + field("line", line(place)) + ",\"access\":" + quoted(word(picture.access)) +
            field("width", picture.width) + field("requests", picture.requests) + field("lines", picture.lines) +
            field("fewest", picture.fewest) + field("sectors", picture.sectors) + field("groups", picture.groups) +
            field("passes", picture.passes) + field("degree", picture.degree) + "," + array(reinterpret_cast<const void *>(first)) +
            ",\"first\":" + std::to_string(first % LINE) + ",\"lanes\":[" + lanes + "]}");
    }
}

// Writes the bytes of the wanted buffers, and for every four of them the line that wrote them last, 0 if none did.
void Job::give_back() {
    say("{\"kind\":\"end\",\"secret\":" + quoted(secret_) + "}");
    for (const Buffer &buffer : buffers_) {
        if (!buffer.wanted) continue;
        write_all(buffer.memory, buffer.bytes);
        std::vector<uint32_t> lines(buffer.bytes / 4);
        std::map<uint32_t, uint32_t> known;
        const Shadowed *shadowed = memory_.find(buffer.memory, buffer.bytes);
        for (size_t i = 0; shadowed && i < lines.size(); i++) {
            const Shadow *shadow = shadowed->shadow(i * 4);
            if (!shadow || !shadow->writer_place) continue;
            auto [at, is_new] = known.try_emplace(shadow->writer_place, 0);
            const auto base = reinterpret_cast<uintptr_t>(module_);
            const auto distance = static_cast<int32_t>(shadow->writer_place - static_cast<uint32_t>(base));
            if (is_new) at->second = line(reinterpret_cast<const void *>(base + static_cast<uintptr_t>(static_cast<intptr_t>(distance))));
            lines[i] = at->second;
        }
        write_all(reinterpret_cast<const char *>(lines.data()), lines.size() * 4);
    }
}

}  // namespace

int main(int count, char **arguments) {
    std::ios::sync_with_stdio(false);
    const std::string text((std::istreambuf_iterator<char>(std::cin)), {});
    if (count != 2 || !job.read(arguments[1], text)) {
        std::cerr << "a job that cannot be read\n";
        return 2;
    }
    return job.run();
}
