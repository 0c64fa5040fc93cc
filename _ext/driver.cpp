#include "driver.hpp"

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "driver_cuda.hpp"
#include "driver_cuda_graphs.hpp"
#include "driver_entries.hpp"

// The driver interfaces of the two vendors have the same functions with the same parameters under different names. Where
// they differ (contexts, attributes), there are two versions below.

namespace qd {
namespace {

template <class Vendor>
Entries entries;

// ---------------------------------------------------------------- one vendor

// One device of a vendor. Lives as long as the process: its context is that of other libraries of the process too.
template <class Vendor>
struct Driver {
    static constexpr Entries &call = entries<Vendor>;
    const int32_t ordinal;
    typename Vendor::Place place{};

    static Driver &of(void *self) { return *static_cast<Driver *>(self); }

    // With the device's context current on this thread. Programs with several devices switch between calls, so every
    // entry looks.
    template <class Function>
    static Status there(void *self, Function function) {
        typename Vendor::Guard here(of(self).place);
        return here.status ? here.status : function();
    }

    static Status count(void *, int32_t *devices) {
        *devices = 0;
        Status status = call.init(0);
        return status ? status : call.device_count(devices);
    }

    static Status open(void *self) {
        auto &place = of(self).place;
        Status status = call.init(0);
        if (status == 0) status = call.device_get(&place.device, of(self).ordinal);
        if (status == 0) status = Vendor::open(place);
        if constexpr (Vendor::is_cuda) {
            int64_t capability = 0;
            if (status == 0) status = attribute(self, &capability, QD_COMPUTE_CAPABILITY);
            place.overlaps = capability >= 90 && Vendor::launch_with;
        }
        return status;
    }

    static Status attribute(void *self, int64_t *value, int32_t which) {
        return Vendor::attribute(call, of(self).place.device, value, which);
    }

    static Status device_name(void *self, char *text, size_t size) {
        return call.device_name(text, static_cast<int>(size), of(self).place.device);
    }

    static Status load(void *self, void **module, const void *image) {
        return there(self, [=] { return call.module_load(module, image); });
    }

    static Status function(void *self, void **found, void *module, const char *name) {
        return there(self, [=] { return call.module_function(found, module, name); });
    }

    static Status unload(void *self, void *module) { return there(self, [=] { return call.module_unload(module); }); }

    static Status allow_shared(void *self, void *function, uint32_t bytes) {
        return there(self, [=] { return call.function_attribute(function, 8, static_cast<int>(bytes)); });
    }

    static Status residency(void *self, int32_t *blocks, void *function, uint32_t block, uint32_t shared_bytes) {
        return there(self, [=] { return call.residency(blocks, function, static_cast<int>(block), shared_bytes); });
    }

    static Status launch(void *self, void *function, uint32_t grid, uint32_t block, uint32_t shared_bytes, void *stream,
                         void **params) {
        return there(self, [=] {
            return call.launch(function, grid, 1, 1, block, 1, 1, shared_bytes, stream, params, nullptr);
        });
    }

    static Status launch_early(void *self, void *function, uint32_t grid, uint32_t block, uint32_t shared_bytes,
                               void *stream, void **params) {
        if constexpr (Vendor::is_cuda) {
            if (of(self).place.overlaps) {
                return there(self, [=] {
                    LaunchConfig config = {{grid, 1, 1}, {block, 1, 1}, shared_bytes, stream, &overlapping, 1};
                    return Vendor::launch_with(&config, function, params, nullptr);
                });
            }
        }
        return launch(self, function, grid, block, shared_bytes, stream, params);
    }

    static Status allocate(void *self, uint64_t *address, size_t bytes) {
        *address = 0;
        return there(self, [=] { return call.allocate(address, bytes); });
    }

    static Status release(void *self, uint64_t address) { return there(self, [=] { return call.release(address); }); }

    static Status allocate_host(void *self, void **address, size_t bytes) {
        *address = nullptr;
        return there(self, [=] { return call.allocate_host(address, bytes, 0); });
    }

    static Status release_host(void *self, void *address) {
        return there(self, [=] { return call.release_host(address); });
    }

    static Status to_device(void *self, uint64_t target, const void *source, size_t bytes, void *stream) {
        return there(self, [=] { return call.to_device(target, source, bytes, stream); });
    }

    static Status to_host(void *self, void *target, uint64_t source, size_t bytes, void *stream) {
        return there(self, [=] {
            Status status = call.to_host(target, source, bytes, stream);
            return status ? status : call.stream_synchronize(stream);
        });
    }

    static Status on_device(void *self, uint64_t target, uint64_t source, size_t bytes, void *stream) {
        return there(self, [=] { return call.on_device(target, source, bytes, stream); });
    }

    static Status fill(void *self, uint64_t target, uint8_t value, size_t bytes, void *stream) {
        return there(self, [=] { return call.fill(target, value, bytes, stream); });
    }

    static Status synchronize(void *self, void *stream) {
        return there(self, [=] { return call.stream_synchronize(stream); });
    }

    static Status stream_create(void *self, void **stream) {
        return there(self, [=] { return call.stream_create(stream, non_blocking); });
    }

    static Status stream_destroy(void *self, void *stream) {
        return there(self, [=] { return call.stream_destroy(stream); });
    }

    static Status event_create(void *self, void **event, int32_t timing) {
        return there(self, [=] { return call.event_create(event, timing ? 0 : without_timing); });
    }

    static Status event_record(void *self, void *event, void *stream) {
        return there(self, [=] { return call.event_record(event, stream); });
    }

    static Status event_wait(void *self, void *event, void *stream) {
        return there(self, [=] { return call.event_wait(stream, event, 0); });
    }

    static Status event_synchronize(void *self, void *event) {
        return there(self, [=] { return call.event_synchronize(event); });
    }

    static Status event_milliseconds(void *self, float *between, void *begin, void *end) {
        return there(self, [=] { return call.event_elapsed(between, begin, end); });
    }

    static Status event_destroy(void *self, void *event) {
        return there(self, [=] { return call.event_destroy(event); });
    }

    static Status is_capturing(void *self, int32_t *answer, void *stream) {
        return there(self, [=] { return Vendor::capturing(answer, stream); });
    }

    static Status owner(void *self, int32_t *number, uint64_t address) {
        return there(self, [=] { return Vendor::owner(number, address); });
    }

    static const char *describe(void *, int status) { return Vendor::describe(status); }

    // Graphs of HIP have no loops and were never tried: tasks are launched one by one there.
    static const qd_graph_api *graphs(void *) {
        if constexpr (Vendor::is_cuda) return CudaGraphs<Driver>::known() ? &CudaGraphs<Driver>::api : nullptr;
        return nullptr;
    }

    static constexpr qd_device_api api = {
        Vendor::name, count, open, attribute, device_name, load, function, unload, allow_shared, residency, launch,
        launch_early, allocate, release, allocate_host, release_host, to_device, to_host, on_device, fill, synchronize,
        stream_create, stream_destroy, event_create, event_record, event_wait, event_synchronize, event_milliseconds,
        event_destroy, is_capturing, owner, describe, nullptr, graphs,
    };
};

// The functions of the driver, once a process. False where something is missing, which `missing` then says.
template <class Vendor>
bool found(char *missing, size_t size) {
    void *library = open_library(Vendor::libraries);
    if (!library) {
        std::snprintf(missing, size, "the driver library %s is not installed", Vendor::libraries[0]);
        return false;
    }
    for (const Symbol &s : symbols) {
        const char *name = Vendor::is_cuda ? s.cuda : s.hip;
        void *address = symbol(library, name);
        if (!address) {
            std::snprintf(missing, size, "%s has no function %s; it is too old", Vendor::libraries[0], name);
            return false;
        }
        std::memcpy(reinterpret_cast<char *>(&entries<Vendor>) + s.offset, &address, sizeof address);
    }
    if (!Vendor::find(library)) {
        std::snprintf(missing, size, "%s is too old", Vendor::libraries[0]);
        return false;
    }
    return true;
}

template <class Vendor>
Device *find(int32_t ordinal, const char **why) {
    static std::mutex gate;
    static bool ready = false;
    static char missing[160];
    static std::map<int32_t, Driver<Vendor> *> opened;
    std::lock_guard<std::mutex> lock(gate);
    *why = missing;
    if (ordinal < 0) {
        std::snprintf(missing, sizeof missing, "devices are numbered from 0");
        return nullptr;
    }
    if (!ready) ready = found<Vendor>(missing, sizeof missing);
    if (!ready) return nullptr;
    Driver<Vendor> *&self = opened[ordinal];
    if (!self) self = new Driver<Vendor>{ordinal};
    return new Device(&Driver<Vendor>::api, self);
}

// ---------------------------------------------------------------- AMD

struct Hip {
    static constexpr const char *name = "hip";
    static constexpr bool is_cuda = false;
#ifdef _WIN32
    static constexpr const char *libraries[] = {"amdhip64.dll", nullptr};
#else
    static constexpr const char *libraries[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
                                                "libamdhip64.so.5", nullptr};
#endif
    static Status (*get_device)(int *);
    static Status (*set_device)(int);
    static const char *(*error_name)(int);
    static const char *(*error_text)(int);
    static Status (*is_capturing)(Handle, int *);  // null in old versions

    // One device.
    struct Place {
        int device;
    };

    static bool find(void *library) {
        auto get = [library](auto &entry, const char *symbol_name) {
            void *address = symbol(library, symbol_name);
            std::memcpy(&entry, &address, sizeof address);
            return address != nullptr;
        };
        get(is_capturing, "hipStreamIsCapturing");
        return get(get_device, "hipGetDevice") && get(set_device, "hipSetDevice") &&
               get(error_name, "hipGetErrorName") && get(error_text, "hipGetErrorString");
    }

    static Status open(const Place &place) { return set_device(place.device); }

    struct Guard {
        Status status = 0;
        int before = -1;
        explicit Guard(const Place &place) {
            int now = -1;
            status = get_device(&now);
            if (status == 0 && now != place.device) {
                status = set_device(place.device);
                if (status == 0) before = now;
            }
        }
        ~Guard() {
            if (before >= 0) set_device(before);
        }
        Guard(const Guard &) = delete;
        Guard &operator=(const Guard &) = delete;
    };

    // The numbers of attributes changed between releases of HIP, so only what every chip has is told here; the number
    // of compute units comes from the system (runtime/amdgpu.py).
    static Status attribute(const Entries &, int, int64_t *value, int32_t which) {
        switch (which) {
            case QD_MAX_THREADS_PER_BLOCK: *value = 1024; return 0;
            case QD_MAX_SHARED_BYTES: *value = 65536; return 0;
            case QD_COMPUTE_CAPABILITY: *value = 0; return 0;
            case QD_ARGUMENT_BYTES: *value = 4096; return 0;
            case QD_MULTIPROCESSORS: *value = 0; return 0;
            case QD_CLOCK_KHZ: *value = 0; return 0;
            default: return out_of_range;
        }
    }

    static Status capturing(int32_t *answer, Handle stream) {
        int state = 0;
        Status status = is_capturing ? is_capturing(stream, &state) : 0;
        *answer = state != 0;
        return status;
    }

    // What the runtime says of an address changed between releases of HIP.
    static Status owner(int32_t *ordinal, uint64_t) {
        *ordinal = -1;
        return 0;
    }

    static const char *describe(int status) {
        static thread_local char text[256];
        std::snprintf(text, sizeof text, "%s (%s)", error_text(status), error_name(status));
        return text;
    }
};

Status (*Hip::get_device)(int *);
Status (*Hip::set_device)(int);
const char *(*Hip::error_name)(int);
const char *(*Hip::error_text)(int);
Status (*Hip::is_capturing)(Handle, int *);

}  // namespace

Device *driver(const char *vendor, int32_t ordinal, const char **why) {
    if (std::strcmp(vendor, "cuda") == 0) return find<Cuda>(ordinal, why);
    if (std::strcmp(vendor, "hip") == 0) return find<Hip>(ordinal, why);
    *why = "no such driver";
    return nullptr;
}

}  // namespace qd
