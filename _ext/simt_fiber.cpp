#include "simt_fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#if defined(__APPLE__)
#define QD_SYMBOL "_qd_simt_switch"
#define QD_TYPE(kind)
#elif defined(__arm__) || defined(__aarch64__)
#define QD_SYMBOL "qd_simt_switch"
#define QD_TYPE(kind) ".type qd_simt_switch, %function\n"
#else
#define QD_SYMBOL "qd_simt_switch"
#define QD_TYPE(kind) ".type qd_simt_switch, @function\n"
#endif

#if defined(__x86_64__)

//     stack of a fiber that waits     r15 r14 r13 r12 rbx rbp return
//                                     ^ resume
__asm__(
    ".text\n"
    ".globl " QD_SYMBOL "\n" QD_TYPE(function) QD_SYMBOL ":\n"
    "    pushq %rbp\n"
    "    pushq %rbx\n"
    "    pushq %r12\n"
    "    pushq %r13\n"
    "    pushq %r14\n"
    "    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n"
    "    popq %r14\n"
    "    popq %r13\n"
    "    popq %r12\n"
    "    popq %rbx\n"
    "    popq %rbp\n"
    "    ret\n");

namespace {
// After the return the stack is as a call leaves it: one word below a multiple of 16 bytes.
constexpr size_t first_words = 8, return_word = 6;
}  // namespace

#elif defined(__aarch64__)

//     stack of a fiber that waits     x19 .. x28, x29 (frame), x30 (return), d8 .. d15
//                                     ^ resume
__asm__(
    ".text\n"
    ".globl " QD_SYMBOL "\n" QD_TYPE(function) ".p2align 2\n" QD_SYMBOL ":\n"
    "    sub sp, sp, #160\n"
    "    stp x19, x20, [sp, #0]\n"
    "    stp x21, x22, [sp, #16]\n"
    "    stp x23, x24, [sp, #32]\n"
    "    stp x25, x26, [sp, #48]\n"
    "    stp x27, x28, [sp, #64]\n"
    "    stp x29, x30, [sp, #80]\n"
    "    stp d8, d9, [sp, #96]\n"
    "    stp d10, d11, [sp, #112]\n"
    "    stp d12, d13, [sp, #128]\n"
    "    stp d14, d15, [sp, #144]\n"
    "    mov x9, sp\n"
    "    str x9, [x0]\n"
    "    mov sp, x1\n"
    "    ldp x19, x20, [sp, #0]\n"
    "    ldp x21, x22, [sp, #16]\n"
    "    ldp x23, x24, [sp, #32]\n"
    "    ldp x25, x26, [sp, #48]\n"
    "    ldp x27, x28, [sp, #64]\n"
    "    ldp x29, x30, [sp, #80]\n"
    "    ldp d8, d9, [sp, #96]\n"
    "    ldp d10, d11, [sp, #112]\n"
    "    ldp d12, d13, [sp, #128]\n"
    "    ldp d14, d15, [sp, #144]\n"
    "    add sp, sp, #160\n"
    "    ret\n");

namespace {
constexpr size_t first_words = 20, return_word = 11;
}  // namespace

#else
#error "the SIMT emulator has no switch between stacks for this processor"
#endif

namespace qd::simt {

bool make_stack(Fiber &fiber, std::string &trouble) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t size = stack_bytes + page;
    int kind = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
    kind |= MAP_NORESERVE;
#endif
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, kind, -1, 0);
    // Below the stack is a page that nobody may touch: what overflows must not write into another thread's stack.
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) {
        trouble = std::string("no memory for the stacks of its threads (") + std::strerror(errno) + ")";
        if (memory != MAP_FAILED) munmap(memory, size);
        return false;
    }
    fiber.low = static_cast<char *>(memory) + page;
    fiber.high = static_cast<char *>(memory) + size;
    return true;
}

void prepare(Fiber &fiber, void (*body)()) {
    void **words = reinterpret_cast<void **>(fiber.high) - first_words;
    std::memset(words, 0, first_words * sizeof(void *));
    words[return_word] = reinterpret_cast<void *>(body);
    fiber.resume = words;
}

}  // namespace qd::simt
