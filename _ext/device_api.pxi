# Declarations of the drivers of devices.

cdef extern from "qd_device.h" nogil:
    ctypedef struct qd_device_api:
        pass

    enum:
        QD_MULTIPROCESSORS
        QD_MAX_THREADS_PER_BLOCK
        QD_MAX_SHARED_BYTES
        QD_COMPUTE_CAPABILITY
        QD_CLOCK_KHZ
        QD_ARGUMENT_BYTES

cdef extern from "device.hpp" namespace "qd" nogil:
    cdef cppclass NativeDevice "qd::Device":
        NativeDevice(const qd_device_api *table, void *self)
        int address_of_host(uint64_t *address, const void *host)
        int count(int32_t *devices)
        int open()
        int attribute(int64_t *value, int32_t which)
        int device_name(char *text, size_t size)
        int load(void **module, const void *image)
        int function(void **function, void *module, const char *name)
        int unload(void *module)
        int allow_shared(void *function, uint32_t bytes)
        int residency(int32_t *blocks, void *function, uint32_t block, uint32_t shared_bytes)
        int allocate(uint64_t *address, size_t bytes)
        int release(uint64_t address)
        int allocate_host(void **address, size_t bytes)
        int release_host(void *address)
        int to_device(uint64_t target, const void *source, size_t bytes, void *stream)
        int to_host(void *target, uint64_t source, size_t bytes, void *stream)
        int on_device(uint64_t target, uint64_t source, size_t bytes, void *stream)
        int fill(uint64_t target, uint8_t value, size_t bytes, void *stream)
        int synchronize(void *stream)
        int stream_create(void **stream)
        int stream_destroy(void *stream)
        int event_create(void **event, int32_t timing)
        int event_record(void *event, void *stream)
        int event_wait(void *event, void *stream)
        int event_synchronize(void *event)
        int event_destroy(void *event)
        bint records_streams()
        int is_capturing(int32_t *answer, void *stream)
        bint knows_owners()
        int owner(int32_t *ordinal, uint64_t address)
        const char *describe(int status)
        bint has_graphs()

cdef extern from "driver.hpp" namespace "qd" nogil:
    NativeDevice *find_driver "qd::driver"(const char *vendor, int32_t ordinal, const char **why)

cdef extern from "hosted.hpp" namespace "qd" nogil:
    ctypedef int (*LaunchFunction)(void *, uint32_t, uint32_t, uint32_t, void *, void **) noexcept nogil
    ctypedef const char *(*DescribeFunction)(int) noexcept nogil
    NativeDevice *hosted_device(
        const char *name, LaunchFunction launch, DescribeFunction describe, int64_t shared_bytes, int64_t capability
    )

cdef extern from "memory.hpp" namespace "qd" nogil:
    void count_allocation()
    void count_release()
