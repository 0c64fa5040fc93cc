# Devices: memory that the host cannot touch, code that runs there, streams and events.

cdef extern from "device_launch.hpp" namespace "qd" nogil:
    cdef cppclass Crossing:
        void *event
    void *current_stream  # where launches and copies of this thread go, null for the default stream

cdef dict _attributes = {
    "multiprocessors": QD_MULTIPROCESSORS,
    "max_threads_per_block": QD_MAX_THREADS_PER_BLOCK,
    "max_shared_bytes": QD_MAX_SHARED_BYTES,
    "compute_capability": QD_COMPUTE_CAPABILITY,
    "clock_khz": QD_CLOCK_KHZ,
    "argument_bytes": QD_ARGUMENT_BYTES,
}
# Kept for ever: C reads them.
cdef dict _arch_names = {"hip": b"amdgpu", "opencl": b"opencl", "metal": b"metal", "vulkan": b"vulkan"}
cdef int _forks = 0  # devices of the parent process are out of reach in a forked child
cdef dict _first_used = {}  # vendor: `_forks` when its driver was first used


def device_count(str vendor, /):
    """Devices of a vendor ("cuda" or "hip") that this process can see; 0 without a driver."""
    cdef const char *why = b""
    cdef int32_t found = 0
    cdef int status
    cdef NativeDevice *api
    name = vendor.encode()
    cdef const char *wanted = name
    with nogil:
        api = find_driver(wanted, 0, &why)
        status = api.count(&found) if api != NULL else 1
        del api
    return found if status == 0 else 0


cdef class Device:
    """A device of a vendor ("cuda" or "hip"): the first that the process can see, or that with another number. Streams
    are driver handles, 0 the default.

    Raises `QuadrantsRuntimeError` saying what is missing when there is no driver or no such device."""
    cdef NativeDevice *api
    cdef readonly str vendor
    cdef readonly int ordinal
    cdef int32_t dlpack_type
    cdef int forks
    cdef Crossing *crossing
    cdef DeviceHeaps *heaps
    cdef PrintRing *ring
    cdef const char *arch_name
    cdef volatile int32_t *notice  # see failures.pxi
    cdef object notice_memory
    cdef list watched
    cdef uint64_t polled_launches
    cdef object __weakref__

    def __cinit__(self, *args):
        self.crossing = new Crossing()
        self.watched = []

    def __dealloc__(self):
        if self.crossing.event != NULL and self.forks == _forks:
            self.api.event_destroy(self.crossing.event)
        del self.crossing
        end_heaps(self.heaps, self.forks == _forks)
        if self.ring != NULL and self.forks == _forks:
            self.ring.close()
        del self.ring
        # Its end waits for what is under way, by threads of the driver that a forked child has not.
        if self.forks == _forks:
            del self.api

    def __init__(self, str vendor, int ordinal=0):
        cdef const char *why = b""
        name = vendor.encode()
        cdef const char *wanted = name
        cdef int32_t seen = 0
        with nogil:
            self.api = find_driver(wanted, ordinal, &why)
        if self.api == NULL:
            raise QuadrantsRuntimeError(f"there is no {vendor} device {ordinal}: {why.decode()}")
        if ordinal > 0 and self.api.count(&seen) == 0 and ordinal >= seen:
            raise QuadrantsRuntimeError(
                f"there is no {vendor} device {ordinal}: this process sees {seen}, and they are numbered from 0"
            )
        self.ordinal = ordinal
        self.start(vendor)

    cdef int start(self, str vendor) except -1:
        cdef int status
        cdef bytes arch = _arch_names.get(vendor, b"cuda")
        self.vendor = vendor
        self.forks = _forks
        self.heaps = new DeviceHeaps(self.api)
        self.arch_name = arch
        self.dlpack_type = rocm_memory if vendor == "hip" else cuda_memory
        with nogil:
            status = self.api.open()
        self.check(status, "opening the device")
        return 0

    cdef int check(self, int status, str what) except -1:
        if status != 0:
            if PyErr_Occurred() != NULL:  # a signal ended the wait
                return -1
            reason = self.api.describe(status).decode(errors="replace")
            raise QuadrantsRuntimeError(f"{self.vendor}: {what} failed: {reason}")
        return 0

    cdef int usable(self) except -1:
        # Drivers do not survive a fork, and say so in ways of their own, or hang.
        if self.forks != _forks:
            raise QuadrantsRuntimeError(
                f"the {self.vendor} device of the parent process cannot be used in a forked one; start it by spawn, or "
                "let the first qd.init() with this arch be one in the child"
            )
        return 0

    cdef int make_notice(self) except -1:
        if self.notice == NULL:
            self.notice_memory = Landing(self, sizeof(int32_t))
            self.notice = <volatile int32_t *> (<Landing> self.notice_memory).data
            self.notice[0] = 0
        return 0

    cdef PrintRing *print_ring(self, size_t nbytes) except NULL:
        # The one that there is, or else one of that size.
        if self.ring == NULL:
            self.ring = new PrintRing(self.api)
        self.check(self.ring.open(nbytes), f"allocating {nbytes} bytes for what kernels print")
        return self.ring

    cdef inline int look(self) except -1:
        # Raises what launches that nobody waited for left.
        # A forked child has no such memory.
        if self.notice == NULL or self.forks != _forks or self.notice[0] == 0:
            return 0
        return raise_failures(self)

    def heap_bytes(self):
        """Bytes of the heaps of stacks, of real numbers and of integers."""
        return self.heaps.bytes(0), self.heaps.bytes(1)

    def free_heaps(self):
        """Free the memory of stacks, once the work that uses it is done; the next launch that needs some takes it
        anew."""
        if self.forks == _forks:
            with nogil:
                self.heaps.free_all()

    def attribute(self, str name, /):
        """A number that describes the device: "multiprocessors", "max_threads_per_block", "max_shared_bytes",
        "compute_capability" (10 * major + minor), "clock_khz", "argument_bytes"."""
        cdef int64_t value = 0
        self.check(self.api.attribute(&value, _attributes[name]), f"asking for {name}")
        return value

    @property
    def name(self):
        """What the vendor calls the device."""
        cdef char[256] text
        self.check(self.api.device_name(text, 256), "asking for the name")
        return text.decode(errors="replace")

    def synchronize(self, stream=0, /):
        """Wait for all work of a stream. Raises what that work did wrong."""
        cdef void *handle = <void *> <size_t> stream
        cdef uint64_t before = self.polled_launches
        cdef int status
        self.usable()
        with nogil:
            status = self.api.synchronize(handle)
        self.check(status, "waiting for earlier work")
        self.look()
        if handle == NULL and self.watched:
            settle(self, before)

    def forget_failures(self):
        """Failures that nobody has looked at yet are never told."""
        settle(self, self.polled_launches)

    def copy(self, target, source, nbytes, stream=0, /):
        """Copy between two addresses of the device, in the order of the stream."""
        self.check(
            self.api.on_device(<uint64_t> target, <uint64_t> source, <size_t> nbytes, <void *> <size_t> stream),
            "a copy",
        )

    def stream_create(self):
        """A stream of its own, independent of the default one. The caller destroys it."""
        cdef void *handle = NULL
        self.check(self.api.stream_create(&handle), "creating a stream")
        return <size_t> handle

    def stream_destroy(self, stream, /):
        """Destroy a stream made by `stream_create`; work already in it still runs."""
        self.check(self.api.stream_destroy(<void *> <size_t> stream), "destroying a stream")

    def event_create(self):
        """A mark that other streams can wait for. The caller destroys it."""
        cdef void *handle = NULL
        self.check(self.api.event_create(&handle, 0), "creating an event")
        return <size_t> handle

    def event_destroy(self, event, /):
        """Destroy an event."""
        self.check(self.api.event_destroy(<void *> <size_t> event), "destroying an event")

    def event_record(self, event, stream=0, /):
        """Put the mark behind all work now in the stream."""
        self.check(self.api.event_record(<void *> <size_t> event, <void *> <size_t> stream), "recording an event")

    def event_wait(self, event, stream=0, /):
        """Have the stream wait, not the caller, until the mark is reached."""
        self.check(self.api.event_wait(<void *> <size_t> event, <void *> <size_t> stream), "waiting for an event")

    def event_synchronize(self, event, /):
        """Wait until the mark is reached."""
        cdef void *handle = <void *> <size_t> event
        cdef int status
        with nogil:
            status = self.api.event_synchronize(handle)
        self.check(status, "waiting for an event")
        self.look()

    def refuse_capture(self, str kernel, /):
        """Raise QuadrantsRuntimeError while torch records a graph: launches of `kernel` would not be part of it."""
        refuse_capture(self, kernel)

    def owner(self, address, /):
        """The number of the device that memory is on; -1 for what all reach, and where nobody knows."""
        cdef int32_t found = -1
        if self.api.knows_owners():
            self.check(self.api.owner(&found, <uint64_t> address), "asking where memory is")
        return found

    def residency(self, function, block, shared_bytes, /):
        """Blocks of that size of a function that a multiprocessor holds at once."""
        cdef int32_t blocks = 0
        self.check(
            self.api.residency(&blocks, <void *> <size_t> function, block, shared_bytes), "asking for the occupancy"
        )
        return blocks

    def allow_shared(self, function, nbytes, /):
        """Let a function use that much dynamic shared memory."""
        self.check(self.api.allow_shared(<void *> <size_t> function, nbytes), "asking for shared memory")

    def load(self, bytes image, /):
        """The code of a binary: a `Module`. Unloaded with its last reference."""
        return Module(self, image)

    def __repr__(self):
        return f"<Device {self.name}>"


def emulated_device(str vendor, launch, describe, shared_bytes, compute_capability, /):
    """A device whose launches are done by native functions at the addresses `launch` and `describe`, on host memory."""
    cdef Device made = Device.__new__(Device)
    name = vendor.encode()
    made.api = hosted_device(
        name, <LaunchFunction> <void *> <size_t> launch, <DescribeFunction> <void *> <size_t> describe, shared_bytes,
        compute_capability,
    )
    made.start(vendor)
    return made


def refuse_fork(str vendor, /):
    """QuadrantsRuntimeError in a process that was forked from one that had used this vendor's driver, whose threads and
    locks are those of that process: they would be waited for without end. Called before anything of the driver is."""
    if _first_used.setdefault(vendor, _forks) != _forks:
        raise QuadrantsRuntimeError(
            f"arch {vendor} cannot be used in this process: it was forked from one that had used it. Start it by "
            "spawn, or let the first qd.init() with this arch be one in the child"
        )


def device_of_table(str vendor, table, context=0, /):
    """A device behind the functions of the `qd_device_api` at the address `table`, which must outlive it. They are
    called with the address `context`."""
    cdef Device made = Device.__new__(Device)
    cdef const qd_device_api *functions = <const qd_device_api *> <size_t> table
    made.api = new NativeDevice(functions, <void *> <size_t> context)
    made.start(vendor)
    return made


@cython.no_gc_clear  # its end needs the device
cdef class Module:
    """Code loaded on a device."""
    cdef Device device
    cdef void *handle

    def __init__(self, Device device not None, bytes image not None):
        cdef const char *data = image
        cdef int status
        self.device = device
        with nogil:
            status = device.api.load(&self.handle, data)
        device.check(status, "loading compiled code")

    def function(self, str name, /):
        """Handle of a kernel of the module."""
        cdef void *found = NULL
        encoded = name.encode()
        self.device.check(self.device.api.function(&found, self.handle, encoded), f"finding function {name}")
        return <size_t> found

    def __dealloc__(self):
        if self.handle != NULL and self.device.forks == _forks:
            self.device.api.unload(self.handle)


@cython.no_gc_clear  # its end needs the device
cdef class DeviceBuffer:
    """`nbytes` zeroed bytes of device memory at `ptr`, freed with the last reference, from any thread.

    owner: an object that the memory belongs to (and then `ptr` is its address), for memory out of a pool; None takes it
    from the driver. clear=False leaves what was there. Raises `QuadrantsRuntimeError` if there is not that much
    memory."""
    cdef readonly Device device
    cdef readonly Py_ssize_t nbytes
    cdef readonly object owner
    cdef uint64_t data
    cdef bint taken
    cdef object __weakref__

    def __init__(self, Device device not None, nbytes, ptr=0, owner=None, *, clear=True):
        cdef int status
        if nbytes < 0:
            raise ValueError(f"a buffer cannot have {nbytes} bytes")
        device.usable()
        self.device = device
        self.nbytes = nbytes
        self.owner = owner
        if owner is not None:
            self.data = ptr
        else:
            with nogil:
                status = self.device.api.allocate(&self.data, self.nbytes if self.nbytes > 0 else 1)
            if status != 0:
                raise QuadrantsRuntimeError(
                    f"cannot allocate {nbytes} bytes of {device.vendor} device memory: "
                    f"{device.api.describe(status).decode(errors='replace')}; use smaller fields or free some that are "
                    "not needed"
                )
            self.taken = True
        count_allocation()
        if clear and self.nbytes > 0:
            # Waited for: streams other than the default one are not ordered with it.
            with nogil:
                status = device.api.fill(self.data, 0, self.nbytes, NULL)
                if status == 0:
                    status = device.api.synchronize(NULL)
            device.check(status, "clearing memory")

    def __dealloc__(self):
        if self.data == 0:
            return
        count_release()
        if self.taken and self.device.forks == _forks:
            with nogil:
                self.device.api.release(self.data)

    @property
    def ptr(self):
        """Address on the device."""
        return self.data

    def __len__(self):
        return self.nbytes

    def __repr__(self):
        return f"<DeviceBuffer of {self.nbytes} bytes at {self.data:#x}>"

    cdef int check_range(self, Py_ssize_t offset, Py_ssize_t count) except -1:
        if offset < 0 or count < 0 or offset > self.nbytes - count:
            raise ValueError(f"bytes {offset} to {offset + count} are outside a buffer of {self.nbytes} bytes")
        self.device.usable()
        return 0

    def fetch(self, Py_ssize_t offset, Py_ssize_t nbytes, /):
        """A copy of that part as a NumPy array of bytes, after all work before it on this thread's stream."""
        import numpy

        cdef unsigned char[::1] target
        cdef char *data
        cdef void *stream = current_stream
        cdef int status
        self.check_range(offset, nbytes)
        out = numpy.empty(nbytes, numpy.uint8)
        if nbytes == 0:
            return out
        refuse_copy(self.device, stream)
        target = out
        data = <char *> &target[0]
        with nogil:
            status = self.device.api.to_host(data, self.data + <uint64_t> offset, nbytes, stream)
        self.device.check(status, "reading device memory")
        self.device.look()
        return out

    def store(self, Py_ssize_t offset, source, /):
        """Copy a contiguous buffer to that place, in the order of this thread's stream; it may be reused at once."""
        cdef Py_buffer view
        cdef void *stream = current_stream
        cdef int status
        PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)
        try:
            self.check_range(offset, view.len)
            if view.len == 0:
                return
            refuse_copy(self.device, stream)
            with nogil:
                status = self.device.api.to_device(self.data + <uint64_t> offset, view.buf, view.len, stream)
            self.device.check(status, "writing device memory")
        finally:
            PyBuffer_Release(&view)

    def fill(self, int value, Py_ssize_t offset=0, nbytes=None, /):
        """Set every byte of a part (all of it unless told) to `value`, in the order of this thread's stream."""
        cdef Py_ssize_t count = self.nbytes - offset if nbytes is None else nbytes
        self.check_range(offset, count)
        if count > 0:
            self.device.check(
                self.device.api.fill(self.data + <uint64_t> offset, <uint8_t> value, count, current_stream),
                "filling memory",
            )


@cython.final
@cython.no_gc_clear  # its end needs the device
cdef class Landing:
    # Host memory that the device writes by itself.
    cdef Device device
    cdef void *data

    def __init__(self, Device device not None, nbytes):
        self.device = device
        device.check(device.api.allocate_host(&self.data, nbytes), f"allocating {nbytes} bytes of page-locked memory")

    def __dealloc__(self):
        if self.data != NULL and self.device.forks == _forks:
            self.device.api.release_host(self.data)


cdef class StreamBase:
    """What a launch takes for `qd_stream`. A subclass has `_launch_handle()`, the driver's handle."""
    cdef object __weakref__


def set_stream(stream, /):
    """Launches and copies of this thread go to that stream (a driver handle, 0 the default one). Returns the one
    before."""
    global current_stream
    cdef void *before = current_stream
    current_stream = <void *> <size_t> stream
    return <size_t> before


def get_stream():
    """Driver handle of the stream that launches and copies of this thread go to."""
    return <size_t> current_stream
