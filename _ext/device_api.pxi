# Declarations of the drivers of devices.

cdef extern from "qd_device.h" nogil:
    ctypedef struct qd_device_api:
        const char *name
        int (*count)(int32_t *devices) noexcept nogil
        int (*open)() noexcept nogil
        int (*attribute)(int64_t *value, int32_t which) noexcept nogil
        int (*device_name)(char *text, size_t size) noexcept nogil
        int (*load)(void **module, const void *image) noexcept nogil
        int (*function)(void **function, void *module, const char *name) noexcept nogil
        int (*unload)(void *module) noexcept nogil
        int (*allow_shared)(void *function, uint32_t bytes) noexcept nogil
        int (*residency)(int32_t *blocks, void *function, uint32_t block, uint32_t shared_bytes) noexcept nogil
        int (*allocate)(uint64_t *address, size_t bytes) noexcept nogil
        int (*release)(uint64_t address) noexcept nogil
        int (*allocate_host)(void **address, size_t bytes) noexcept nogil
        int (*release_host)(void *address) noexcept nogil
        int (*to_device)(uint64_t target, const void *source, size_t bytes, void *stream) noexcept nogil
        int (*to_host)(void *target, uint64_t source, size_t bytes, void *stream) noexcept nogil
        int (*on_device)(uint64_t target, uint64_t source, size_t bytes, void *stream) noexcept nogil
        int (*fill)(uint64_t target, uint8_t value, size_t bytes, void *stream) noexcept nogil
        int (*synchronize)(void *stream) noexcept nogil
        int (*stream_create)(void **stream) noexcept nogil
        int (*stream_destroy)(void *stream) noexcept nogil
        int (*event_create)(void **event, int32_t timing) noexcept nogil
        int (*event_record)(void *event, void *stream) noexcept nogil
        int (*event_wait)(void *event, void *stream) noexcept nogil
        int (*event_synchronize)(void *event) noexcept nogil
        int (*event_destroy)(void *event) noexcept nogil
        int (*is_capturing)(int32_t *answer, void *stream) noexcept nogil
        int (*owner)(int32_t *ordinal, uint64_t address) noexcept nogil
        const char *(*describe)(int status) noexcept nogil

    enum:
        QD_MULTIPROCESSORS
        QD_MAX_THREADS_PER_BLOCK
        QD_MAX_SHARED_BYTES
        QD_COMPUTE_CAPABILITY
        QD_CLOCK_KHZ
        QD_ARGUMENT_BYTES

cdef extern from "driver.hpp" namespace "qd" nogil:
    const qd_device_api *find_driver "qd::driver"(const char *vendor, int32_t ordinal, const char **why)

cdef extern from "hosted.hpp" namespace "qd" nogil:
    ctypedef int (*LaunchFunction)(void *, uint32_t, uint32_t, uint32_t, void *, void **) noexcept nogil
    ctypedef const char *(*DescribeFunction)(int) noexcept nogil
    const qd_device_api *hosted_device(
        const char *name, LaunchFunction launch, DescribeFunction describe, int64_t shared_bytes, int64_t capability
    )

cdef extern from "memory.hpp" namespace "qd" nogil:
    void count_allocation()
    void count_release()
