#include "launch.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

#ifndef _WIN32
#include <pthread.h>
#endif

#include "adstack_host.hpp"
#include "fpmode.hpp"
#include "pool.hpp"

namespace qd {
namespace {

// Guards the text of every launch; printing is rare. Renewed in a forked child, where its holder may not exist.
std::mutex *text_mutex = new std::mutex;

#ifndef _WIN32
[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, [] { text_mutex = new std::mutex; });
#endif

void emit(Launch *launch, const char *text, size_t length) {
    std::lock_guard<std::mutex> lock(*text_mutex);
    launch->printed = true;
    if (launch->capture) {
        launch->text.append(text, length);
    } else {
        std::fwrite(text, 1, length, stdout);
    }
}

extern "C" void qd_print(qd_runtime *rt, const char *format, ...) {
    char small[512];
    va_list values;
    va_start(values, format);
    int length = std::vsnprintf(small, sizeof small, format, values);
    va_end(values);
    if (length < 0) return;
    Launch *launch = reinterpret_cast<Launch *>(rt);
    if (static_cast<size_t>(length) < sizeof small) {
        emit(launch, small, static_cast<size_t>(length));
        return;
    }
    std::vector<char> large(static_cast<size_t>(length) + 1);
    va_start(values, format);
    std::vsnprintf(large.data(), large.size(), format, values);
    va_end(values);
    emit(launch, large.data(), static_cast<size_t>(length));
}

}  // namespace

void Launch::prepare(int32_t threads, uint64_t seed, uint64_t ordinal, bool capture_print) {
    rt.abi = QD_ABI;
    rt.threads = threads;
    rt.seed = seed;
    rt.launch = ordinal;
    rt.error.flag = 0;
    rt.error.site = 0;
    rt.error.count = 0;
    rt.error.worker = 0;
    rt.error.kinds = 0;
    rt.parallel = qd_parallel;
    rt.print = qd_print;
    rt.stacks = qd_stacks;
    capture = capture_print;
    printed = false;
}

void run(qd_kernel_fn fn, Launch *launch, void *args) {
    {
        FlushDenormals flushed;
        fn(&launch->rt, args);
    }
    if (launch->adstack) give_back(std::exchange(launch->adstack, nullptr));
    if (launch->printed && !launch->capture) std::fflush(stdout);
}

}  // namespace qd
