# How the tasks of one kernel are launched on a device.

cdef extern from "<memory>" namespace "std" nogil:
    cdef cppclass unique_ptr[T]:
        T *get()
        void reset(T *)

cdef extern from "launch_graph.hpp" namespace "qd" nogil:
    cdef cppclass LaunchGraphs:
        void use(int32_t after, void *condition)

    cdef struct GraphCounts:
        int64_t alive
        int64_t builds
        int64_t last_tasks
        bint last_was_built

    GraphCounts graphs_now "qd::graph_counts"()

cdef extern from "device_launch.hpp" namespace "qd" nogil:
    cdef cppclass DeviceTask:
        void *function
        uint32_t block
        uint32_t shared_bytes
        uint32_t most_blocks
        bint local
        bint counted
        vector[CountStep] count
        cpp_name name

    cdef enum class RegionKind(int32_t):
        loop
        checkpoint
        branch
        other

    cdef struct DeviceRegion:
        RegionKind kind
        int32_t parent
        size_t begin
        size_t end
        int64_t flag_offset
        bint random
        int64_t ended_offset
        int64_t again_offset

    cdef cppclass DeviceKernel:
        DeviceKernel() except +
        const NativeDevice *api
        vector[DeviceTask] tasks
        vector[DeviceRegion] regions
        size_t block_bytes
        bint block_in_memory
        size_t prefix_bytes
        int64_t error_offset
        bint polled
        int64_t seed_offset
        bint waits
        int64_t ring_offset
        PrintRing *ring
        vector[PrintedLine] lines
        bint early
        bint timed
        unique_ptr[AdstackPlan] adstack
        LaunchGraphs graphs

    cdef struct StreamMemory:
        uint64_t frame
        uint64_t block
        void *landing

    cdef struct DeviceRun:
        void *stream
        StreamMemory memory
        char *block
        char *prefix
        double *times
        int32_t *status
        int failed
        bint polled
        bint hit
        AdstackRun *adstack
        string *text
        const char *name
        void **others
        int other_count
        Crossing *crossing

    int run_on_device "qd::run"(DeviceKernel *kernel, DeviceRun *launch)
    int64_t iterations_of "qd::iterations"(const DeviceTask &task, const char *block)
    size_t landing_bytes(const DeviceKernel &kernel)


cdef class DeviceProgram:
    """The tasks of one kernel on a device, in order.

    tasks: `(name, function handle, block size, shared bytes, most blocks, count)`; count is a number of iterations, a
    postfix program over the argument block (quadrants/launch/tasks.py says which), or None where only the device
    knows: then `most blocks` are started. A grid is never larger than `most blocks`, unless that is 0.
    block_bytes: of the argument block. frame_bytes: of the frame, of which the host reads the first `prefix_bytes`
    after a launch, behind the argument block; polled: it need not, a failure leaves a notice (failures.pxi).
    `error_offset` and `seed_offset` are -1 where there is no record and no random number. waits: a launch waits for its
    end. ring_offset: where the address of the memory goes that `lines` are printed in, pairs of a format and the kinds
    of its values (print_ring.hpp); -1 where nothing is; ring_bytes: its size where it is made. early: every task waits
    itself for the work before it, first of all. timed: begin and end of the tasks follow behind the prefix, as f64
    seconds.
    local_tasks: numbers of those that only set variables of the kernel. regions: `(kind, begin task, end task, number
    of the region around, offset of the address of the flag in the argument block, draws random numbers, offsets in the
    frame of what tells its tasks that the loop has ended, and that it has not, or -1)`, outer before inner; kind is
    "loop", "checkpoint", "section" or "stream" (neighbours of these have no order among them) or any other. With a
    checkpoint, a launch finds the number of the one to begin at, and leaves that of the one that ended it, in the last
    8 bytes of the tail.
    stacks: None, or an object with the attributes of `quadrants.launch.adstack_plan.StackPlan`; task_stacks: for every
    task (number, stacks, gate), the latter two as in `quadrants.launch.tasks.TaskLaunch`; gate_bytes: heaps of real
    numbers from this size on have rows for the iterations that pass the gate of their task only.
    graph_after: launches on a stream before its tasks are launched as one graph, where the device has such; -1: they
    never are. condition: the function that decides on the device whether a loop of that graph runs again, 0 where the
    host does.
    A kernel that needs no frame has `frame_bytes` 0. Raises `ValueError` for a description that does not hold
    together."""
    cdef readonly Device device
    cdef DeviceKernel *kernel
    cdef readonly Py_ssize_t frame_bytes
    cdef readonly object keepalive
    cdef dict buffers          # (stream, what) -> DeviceBuffer or Landing
    cdef StreamMemory first    # of the stream that `first_stream` names
    cdef void *first_stream
    cdef bint first_known
    cdef bint checkpoints
    cdef uint64_t polled_ordinal  # of the last launch that nobody waited for; 0: none is watched

    def __cinit__(self, *args, **kwargs):
        self.kernel = new DeviceKernel()
        self.buffers = {}

    def __init__(self, Device device not None, tasks, block_bytes, *, frame_bytes=0, prefix_bytes=0, error_offset=-1,
                 polled=False, seed_offset=-1, block_in_memory=False, waits=False, early=False, timed=False,
                 local_tasks=(), regions=(), stacks=None, task_stacks=(), gate_bytes=0, ring_offset=-1, ring_bytes=0,
                 lines=(), graph_after=-1, condition=0, keepalive=None):
        cdef DeviceKernel *kernel = self.kernel
        if kernel.api != NULL:
            raise TypeError("a program cannot be changed once made")
        if prefix_bytes > frame_bytes or (error_offset >= 0 and error_offset + 4 > prefix_bytes):
            raise ValueError(f"the {prefix_bytes} bytes to read do not fit in a frame of {frame_bytes}")
        if seed_offset >= 0 and seed_offset + 16 > block_bytes:
            raise ValueError(f"seed and ordinal at offset {seed_offset} do not fit in a block of {block_bytes} bytes")
        if ring_offset >= 0 and ring_offset + 8 > block_bytes:
            raise ValueError(f"an address at offset {ring_offset} does not fit in a block of {block_bytes} bytes")
        self.device = device
        self.keepalive = keepalive
        self.frame_bytes = frame_bytes
        kernel.api = device.api
        kernel.block_bytes = block_bytes
        kernel.block_in_memory = block_in_memory
        kernel.prefix_bytes = prefix_bytes
        kernel.error_offset = error_offset
        kernel.polled = polled
        if polled:
            if error_offset < 0 or prefix_bytes != error_offset + sizeof(qd_error) + sizeof(uint64_t):
                raise ValueError("only a launch that reads back nothing but its failure record can be polled")
            device.make_notice()
        kernel.seed_offset = seed_offset
        kernel.waits = waits
        kernel.ring_offset = ring_offset
        if ring_offset >= 0:
            kernel.ring = device.print_ring(ring_bytes)
            for format, kinds in lines:
                kernel.lines.push_back(printed_line(format, kinds))
        kernel.early = early
        kernel.timed = timed
        for name, function, block, shared_bytes, most_blocks, count in tasks:
            self.add_task(name, function, block, shared_bytes, most_blocks, count)
        for at in local_tasks:
            kernel.tasks[at].local = True
        for description in regions:
            self.add_region(description)
        if graph_after >= 0 and device.api.has_graphs():
            if stacks is not None or timed or waits:
                raise ValueError("a kernel with stacks, with times or that prints is launched task by task")
            kernel.graphs.use(graph_after, <void *> <size_t> condition)
        if stacks is not None:
            kernel.adstack.reset(new AdstackPlan())
            describe_adstack(kernel.adstack.get(), stacks, task_stacks, gate_bytes, kernel.tasks.size(), frame_bytes,
                             block_bytes)

    cdef add_region(self, tuple description):
        cdef DeviceRegion region
        cdef size_t last = self.kernel.tasks.size()
        kind, begin, end, parent, flag_offset, random, ended_offset, again_offset = description
        region.kind = RegionKind.other
        if kind == "loop":
            region.kind = RegionKind.loop
        elif kind == "checkpoint":
            region.kind = RegionKind.checkpoint
            self.checkpoints = True
        elif kind in ("section", "stream"):
            region.kind = RegionKind.branch
        if not 0 <= begin <= end <= last or not -1 <= parent < <int64_t> self.kernel.regions.size():
            raise ValueError(f"a {kind} cannot have the tasks {begin} to {end} of {last} and the parent {parent}")
        if kind in ("loop", "checkpoint") and not 0 <= flag_offset <= <int64_t> self.kernel.block_bytes - 8:
            raise ValueError(f"the flag of a {kind} is at offset {flag_offset}, outside the argument block")
        region.begin, region.end = begin, end
        for offset in (ended_offset, again_offset):
            if offset >= 0 and offset + 4 > self.frame_bytes:
                raise ValueError(f"what ends a {kind} is at offset {offset} of a frame of {self.frame_bytes} bytes")
        if again_offset >= 0 and begin == end:
            raise ValueError(f"nothing looks at what ends a {kind} without tasks")
        region.parent, region.flag_offset, region.random = parent, flag_offset, random
        region.ended_offset, region.again_offset = ended_offset, again_offset
        self.kernel.regions.push_back(region)

    cdef add_task(self, str name, function, block, shared_bytes, most_blocks, count):
        cdef DeviceTask task
        if function == 0 or block < 1:
            raise ValueError(f"task {name} needs a function and a block size, got {function} and {block}")
        task.function = <void *> <size_t> function
        task.block = block
        task.shared_bytes = shared_bytes
        task.most_blocks = most_blocks
        task.local = False
        task.counted = count is not None
        encoded = name.encode()
        task.name = cpp_name(<const char *> encoded)
        if count is None:
            if most_blocks == 0:
                raise ValueError(f"task {name}: without a count it needs a number of blocks")
            steps = ()
        elif isinstance(count, tuple):
            steps = count
        else:
            steps = (("const", count),)
        if steps:
            add_count_steps(&task.count, steps, f"of task {name}", self.kernel.block_bytes)
        self.kernel.tasks.push_back(task)

    def __dealloc__(self):
        del self.kernel

    cdef Py_ssize_t tail(self) noexcept:
        return (
            self.kernel.prefix_bytes + (16 * self.kernel.tasks.size() if self.kernel.timed else 0)
            + (8 if self.checkpoints else 0)
        )

    @property
    def tail_bytes(self):
        """What a launch needs behind the argument block."""
        return self.tail()

    def grids(self, bytes block, /):
        """Iterations of every task for a packed argument block, None where only the device knows; for tests."""
        cdef size_t at
        if <size_t> len(block) < self.kernel.block_bytes:
            raise ValueError(f"a block of {self.kernel.block_bytes} bytes is needed")
        return [
            iterations_of(self.kernel.tasks[at], block) if self.kernel.tasks[at].counted else None
            for at in range(self.kernel.tasks.size())
        ]

    cdef StreamMemory memory(self, void *stream) except *:
        # Buffers of this stream, made on its first launch.
        cdef StreamMemory found
        if self.first_known and stream == self.first_stream:
            return self.first
        found.frame = self.buffer(stream, "frame", self.frame_bytes) if self.frame_bytes else 0
        found.block = self.buffer(stream, "block", self.kernel.block_bytes) if self.kernel.block_in_memory else 0
        found.landing = NULL
        if self.kernel.prefix_bytes or self.kernel.regions.size() or self.kernel.adstack.get() != NULL:
            landing = self.buffers.get((<size_t> stream, "landing"))
            if landing is None:
                landing = self.kept((<size_t> stream, "landing"), Landing(self.device, landing_bytes(self.kernel[0])))
            found.landing = (<Landing> landing).data
        if not self.first_known:
            self.first, self.first_stream, self.first_known = found, stream, True
        return found

    cdef uint64_t buffer(self, void *stream, str what, Py_ssize_t nbytes) except 0:
        key = (<size_t> stream, what)
        found = self.buffers.get(key)
        if found is None:
            found = self.kept(key, DeviceBuffer(self.device, nbytes))
            if self.kernel.polled and what == "frame":
                self.point_to_notice(stream, (<DeviceBuffer> found).data)
        return (<DeviceBuffer> found).data

    cdef int point_to_notice(self, void *stream, uint64_t frame) except -1:
        # Failures on other streams than the default one are waited for.
        cdef uint64_t notice = 0
        cdef uint64_t place = frame + <uint64_t> self.kernel.error_offset + sizeof(qd_error)
        cdef int status = 0
        if stream == NULL:
            status = self.device.api.address_of_host(&notice, <const void *> self.device.notice)
        if status == 0:
            status = self.device.api.to_device(place, &notice, sizeof(notice), stream)
        return self.device.check(status, "preparing a kernel")

    cdef object kept(self, tuple key, made):
        # Allocating lets other threads run: the first to come back keeps its own, and all use that.
        return self.buffers.setdefault(key, made)

    cdef int refuse_recording(self, Plan plan, Frame *frame, void *stream) except -1:
        # A graph that another package records of this thread's stream has what is launched there, with the arguments of
        # this launch, and no host: what needs one is refused before anything runs.
        if not is_recorded(self.device, stream):
            return 0
        why = self.why_unrecordable()
        if why is None and frame.streams.count:
            why = "arrays of it are used on other streams"
        if why is not None:
            raise QuadrantsRuntimeError(
                f"kernel {plan.name} cannot be a part of a graph that is recorded, as {why}: launch it before or after"
            )
        return 0

    cdef str why_unrecordable(self):
        # What replays would do without the host, or always in the same way.
        cdef DeviceKernel *kernel = self.kernel
        cdef size_t at
        if kernel.seed_offset >= 0:
            return "each replay would draw the same random numbers"
        if kernel.waits or kernel.ring != NULL:
            return "the host prints what it has to say"
        if kernel.prefix_bytes:
            return "the host reads its results or failures"
        if kernel.block_in_memory:
            return f"its arguments have {kernel.block_bytes} bytes, more than a launch carries"
        if kernel.adstack.get() != NULL:
            return "the host finds the sizes of its stacks"
        if kernel.timed:
            return "the profiler times it"
        for at in range(kernel.regions.size()):
            if kernel.regions[at].kind in (RegionKind.loop, RegionKind.checkpoint):
                return "the host looks at what ends its loops"
        return None

    cdef int launch(self, Plan plan, char *block, Frame *frame, uint64_t seed, uint64_t ordinal, bint known) except -1:
        # Starts all tasks; waits only where results, failures or prints are due. known: the block has the depths that
        # tasks would find.
        cdef DeviceRun run
        cdef AdstackRun adstack
        cdef DeviceKernel *kernel = self.kernel
        cdef Launch *launch = &frame.launch
        cdef int status
        cdef uint64_t ring
        self.device.usable()
        if kernel.seed_offset >= 0:
            memcpy(block + kernel.seed_offset, &seed, 8)
            memcpy(block + kernel.seed_offset + 8, &ordinal, 8)
        if kernel.ring_offset >= 0:
            ring = kernel.ring.address()
            memcpy(block + kernel.ring_offset, &ring, 8)
        run.stream = current_stream
        if run.stream != NULL:
            self.refuse_recording(plan, frame, run.stream)
        run.memory = self.memory(run.stream)
        run.block = block
        run.prefix = block + plan.block_bytes - self.tail()
        launch.rt.error.flag = 0
        launch.printed = launch.capture = kernel.waits and _capture_print
        launch.text.clear()
        run.text = &launch.text if launch.capture else NULL
        run.name = launch.name
        run.times = <double *> (run.prefix + kernel.prefix_bytes)
        run.status = <int32_t *> (block + plan.block_bytes - 8) if self.checkpoints else NULL
        run.others = frame.streams.data
        run.other_count = frame.streams.count
        run.crossing = self.device.crossing
        run.adstack = NULL
        if kernel.adstack.get() != NULL:
            prepare_adstack(&adstack, self.device, launch, known)
            run.adstack = &adstack
        run.polled = kernel.polled and run.stream == NULL
        if run.polled:
            watch(self.device, plan)
        with nogil:
            status = run_on_device(kernel, &run)
        if run.adstack != NULL:
            count_maxima(&adstack)
        if status != 0:
            self.device.check(status, "" if PyErr_Occurred() != NULL else self.what_failed(plan, run.failed))
        if run.hit:
            memcpy(&launch.rt.error, run.prefix + kernel.error_offset, sizeof(qd_error))
        return 0

    cdef str what_failed(self, Plan plan, int task):
        if task < 0:
            return f"kernel {plan.name}, or work before it,"
        return f"the launch of task {self.kernel.tasks[task].name.c_str().decode()} of kernel {plan.name}"


def graph_counts():
    """Graphs of this process: how many there are, how many were ever made, and of the last launch on a device the tasks
    that it had in a graph (0: it was none) and whether that graph was there before it."""
    cdef GraphCounts now = graphs_now()
    return now.alive, now.builds, now.last_tasks, now.last_was_built
