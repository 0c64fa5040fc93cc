# What a launch on a device has to know about the stacks of its kernel.

cdef extern from "adstack_launch.hpp" namespace "qd" nogil:
    cdef struct AdstackSlots:
        int32_t kind
        int64_t slot
        int64_t depth
        int64_t depth_offset

    cdef cppclass AdstackDepth:
        int64_t offset
        vector[CountStep] count

    cdef cppclass AdstackSizing:
        size_t begin
        size_t end
        int64_t frame_offset
        int64_t count
        int64_t block_offset

    cdef cppclass AdstackTask:
        vector[AdstackSlots] stacks
        int32_t number
        int64_t gate_task
        int64_t gate_frame
        int64_t gate_rows
        bint counts

    cdef cppclass AdstackPlan:
        AdstackPlan() except +
        vector[AdstackTask] tasks
        vector[AdstackDepth] depths
        vector[AdstackSizing] sizings
        int64_t *heap_offsets
        int64_t begin
        int64_t end
        int32_t heap_site
        int64_t gate_bytes

    cdef struct AdstackRun:
        const char *arch
        const char *name
        DeviceHeaps *heaps
        qd_error *error
        bint known
        int64_t maxima

cdef uint64_t _maxima = 0  # maxima over arrays that devices worked out


def maxima_count():
    """Maxima over arrays that tasks of devices have worked out for the depths of stacks, in this process."""
    return _maxima


cdef void prepare_adstack(AdstackRun *run, Device device, Launch *launch, bint known) noexcept:
    # known: the block has the depths that tasks would find.
    run.arch = device.arch_name
    run.name = launch.name
    run.heaps = device.heaps
    run.error = &launch.rt.error
    run.known = known
    run.maxima = 0


cdef void count_maxima(const AdstackRun *run) noexcept:
    global _maxima
    _maxima += run.maxima


cdef int describe_adstack(AdstackPlan *plan, described, task_stacks, gate_bytes, size_t tasks, Py_ssize_t frame_bytes,
                          Py_ssize_t block_bytes) except -1:
    # described: as `stacks` of DeviceProgram.
    cdef size_t at
    plan.tasks.resize(tasks)
    plan.gate_bytes = gate_bytes
    for at in range(<size_t> heap_kinds):
        plan.heap_offsets[at] = described.heaps[at]
        check_place(described.heaps[at], "the address of a heap", block_bytes, -1)
    plan.begin, plan.end = described.begin, described.end
    plan.heap_site = described.site
    for offset, program in described.depths:
        add_depth(plan, offset, program, block_bytes)
    for sizing in described.sizings:
        add_sizing(plan, sizing, frame_bytes, block_bytes)
    for at, (number, stacks, gate) in enumerate(task_stacks):
        plan.tasks[at].number = number
        if gate:
            add_gate(plan, at, gate, frame_bytes, block_bytes)
        for stack in stacks:
            add_slots(plan, at, stack, block_bytes)
    return 0


cdef int add_depth(AdstackPlan *plan, offset, program, Py_ssize_t block_bytes) except -1:
    cdef AdstackDepth depth
    check_place(offset, "a depth", block_bytes)
    depth.offset = offset
    add_count_steps(&depth.count, program, "of a stack", block_bytes)
    plan.depths.push_back(depth)
    return 0


cdef int add_sizing(AdstackPlan *plan, described, Py_ssize_t frame_bytes, Py_ssize_t block_bytes) except -1:
    cdef AdstackSizing sizing
    begin, end, frame_offset, count, block_offset = described
    if not 0 <= begin < end <= <int64_t> plan.tasks.size() or frame_offset + 8 * count > frame_bytes:
        raise ValueError(f"depths of tasks {begin} to {end} do not fit in a frame of {frame_bytes} bytes")
    check_place(block_offset + 8 * (count - 1), "a depth", block_bytes)
    sizing.begin, sizing.end = begin, end
    sizing.frame_offset, sizing.count, sizing.block_offset = frame_offset, count, block_offset
    plan.sizings.push_back(sizing)
    return 0


cdef int add_gate(AdstackPlan *plan, size_t at, gate, Py_ssize_t frame_bytes, Py_ssize_t block_bytes) except -1:
    task, frame_offset, offset = gate
    if not 0 <= task < <int64_t> plan.tasks.size() or frame_offset + 16 > frame_bytes:
        raise ValueError(f"the gate of task {plan.tasks[at].number} has no task {task} or does not fit in the frame")
    check_place(offset, "a number of rows", block_bytes)
    plan.tasks[at].gate_task, plan.tasks[at].gate_frame, plan.tasks[at].gate_rows = task, frame_offset, offset
    plan.tasks[task].counts = True
    return 0


cdef int add_slots(AdstackPlan *plan, size_t at, described, Py_ssize_t block_bytes) except -1:
    cdef AdstackSlots stack
    kind, slot, known, offset = described
    if not 0 <= kind < heap_kinds or plan.heap_offsets[kind] < 0 or slot < 1:
        raise ValueError(f"a stack of kind {kind} with slots of {slot} bytes has no heap")
    check_place(offset, "a depth", block_bytes, -1 if known >= 0 else 0)
    stack.kind, stack.slot, stack.depth, stack.depth_offset = kind, slot, known, offset
    plan.tasks[at].stacks.push_back(stack)
    return 0


cdef int check_place(offset, str what, Py_ssize_t block_bytes, least=0) except -1:
    if not least <= offset <= block_bytes - 8:
        raise ValueError(f"{what} at offset {offset} is outside a block of {block_bytes} bytes")
    return 0
