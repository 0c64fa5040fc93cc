// One launch: the run-time record a kernel sees, and what the core keeps beside it.
#pragma once

#include <Python.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "qd_abi.h"

namespace qd {

struct HostHeaps;

struct Launch {
    qd_runtime rt;  // first: kernels get a pointer to it, `print` casts it back
    bool capture = false;  // collect printed text instead of writing it to C stdout
    bool printed = false;
    std::string text;
    const char *name = "";  // of the kernel
    HostHeaps *adstack = nullptr;  // while it runs, if it has asked for stacks

    void prepare(int32_t threads, uint64_t seed, uint64_t ordinal, bool capture_print);
};

// Runs a kernel with subnormals flushed, then flushes what it printed to C stdout. Needs no GIL.
void run(qd_kernel_fn fn, Launch *launch, void *args);

constexpr int max_dims = 16;

// What a launch needs to know of an array of another package.
struct External {
    int32_t source;
    int32_t ndim;
    void *data;
    int32_t device_type;  // DLPack's number for where the memory is
    int32_t device_id;
    PyObject *producer;  // what describes its package, borrowed; null for NumPy
    int64_t shape[max_dims];
};

// An array that starts with room on the stack. Elements are plain data.
template <class T, int Inline>
class StackArray {
  public:
    StackArray() : data(inline_), capacity_(Inline) {}
    StackArray(const StackArray &) = delete;
    StackArray &operator=(const StackArray &) = delete;
    ~StackArray() {
        if (data != inline_) std::free(data);
    }

    // False, with no Python error set, when memory is out.
    bool reserve(int wanted) {
        if (wanted <= capacity_) return true;
        int capacity = wanted > 2 * capacity_ ? wanted : 2 * capacity_;
        T *larger = static_cast<T *>(std::malloc(sizeof(T) * capacity));
        if (!larger) return false;
        for (int i = 0; i < count; ++i) larger[i] = data[i];
        if (data != inline_) std::free(data);
        data = larger;
        capacity_ = capacity;
        return true;
    }

    T *data;
    int count = 0;

  private:
    int capacity_;
    T inline_[Inline];
};

// Everything a call holds until it ends, however it ends. Small calls allocate nothing.
class Frame {
  public:
    Frame() = default;
    Frame(const Frame &) = delete;
    Frame &operator=(const Frame &) = delete;
    ~Frame() {
        release_members();
        while (held_.count > 0) Py_DECREF(held_.data[--held_.count]);
        std::free(big_block_);
    }

    void release_members() {
        while (members.count > 0) Py_DECREF(members.data[--members.count]);
    }

    // Keeps an object that nothing else might until the call ends. False when memory is out.
    bool hold(PyObject *object) {
        if (!held_.reserve(held_.count + 1)) return false;
        Py_INCREF(object);
        held_.data[held_.count++] = object;
        return true;
    }

    // Memory for the argument block, or null. Once a call.
    void *block(size_t bytes) {
        if (bytes <= sizeof block_) return block_;
        big_block_ = std::malloc(bytes);
        return big_block_;
    }

    // The array found for that source, or null. Sources are asked for in about the order they were added.
    External *external(int32_t source) {
        for (int tries = externals.count; tries > 0; --tries) {
            if (cursor_ >= externals.count) cursor_ = 0;
            External *found = &externals.data[cursor_++];
            if (found->source == source) return found;
        }
        return nullptr;
    }

    // Notes a stream that the launch has to be in order with. False when memory is out.
    bool meets(void *stream) {
        for (int at = 0; at < streams.count; ++at) {
            if (streams.data[at] == stream) return true;
        }
        if (!streams.reserve(streams.count + 1)) return false;
        streams.data[streams.count++] = stream;
        return true;
    }

    Launch launch;
    PyObject *resume = nullptr;  // label of the checkpoint to begin at, borrowed; null: from the start
    StackArray<int64_t, 64> tokens;
    StackArray<PyObject *, 192> members;  // owned references
    StackArray<External, 8> externals;
    StackArray<void *, 4> streams;
    PyObject *asked = nullptr;  // the producer whose stream was noted last

  private:
    StackArray<PyObject *, 8> held_;  // owned references
    int cursor_ = 0;
    void *big_block_ = nullptr;
    alignas(64) char block_[4096];
};

}  // namespace qd
