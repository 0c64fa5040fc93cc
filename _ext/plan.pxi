# What the launch core keeps of one specialisation of a kernel.

cdef struct Node:
    # One getattr of a member path. The root of a path is a parameter (parent < 0), otherwise an earlier node.
    int32_t parent
    int32_t param
    PyObject *name
    int32_t leaf     # index into the members, or -1 for a node that only leads on
    bint compare
    int64_t token
    Memo memo


cdef class Plan:
    """A compiled kernel and how to call it; see docs/development/contracts.md, section 2.

    entry: address of a `qd_kernel_fn`. args_template: bytes copied into a fresh block at each launch.
    members: `(param_index, path, token)` for objects reached through attributes. pack: `(code, source, offset, extra)`.
    ret: None, `(dtype_name, offset)` or a callable of the block's memoryview.
    sites: callables `(values, worker) -> exception`. keepalive: anything that must outlive the plan.
    parallel_ok=False keeps a launch on the calling thread; a brief one keeps the GIL. Offsets are in bytes.
    status: where there are checkpoints `(offset, labels)`: of 4 bytes with the number of the one to begin at, and 4
    with that of the one that ended the launch, from 1, 0 for none. tasks: how many there are.
    device: None, or the `DeviceProgram` that runs instead of `entry` (then 0); the block has its `tail_bytes` at the
    end. writes: `(sources, objects)`: parameters and members whose integers the kernel may write, and `Writes` of
    fields. kept: None, or the `KeptDepths` of stacks whose depths depend on arrays.
    attributes: `(param_index, path, constant)` of what was read off objects when it was compiled, which no launch looks
        at. constant: the numbers that the code has, None for anything else. reals: `(param_index, path)` of members
        that launches pass as real numbers.
    before: None, or what a launch on a device calls first: it gives `(offset, address)` of memory that moved since.
    reach: DLPack's (type, number) of the memory that the kernel works on; None: no foreign array is there.
    Raises `ValueError` or `TypeError` for a description that does not hold together."""
    cdef qd_kernel_fn entry
    cdef const char *template
    cdef Py_ssize_t block_bytes
    cdef int op_count, node_count, member_count, param_count
    cdef Op *ops
    cdef Node *nodes
    cdef int32_t *leaf_nodes
    cdef int ret_code
    cdef int64_t ret_offset
    cdef bint parallel_ok, brief
    cdef int64_t status_offset
    cdef int task_count
    cdef tuple written_sources, written_fields
    cdef bint writes_watched  # whether there are any of them
    cdef readonly KeptDepths kept
    cdef readonly tuple labels
    cdef int32_t reach_type, reach_id
    cdef readonly DeviceProgram device
    cdef tuple names, packers
    cdef bytes template_bytes
    cdef object ret_reader
    cdef Called called  # what its arguments are called in messages
    cdef readonly list members
    cdef readonly tuple attributes, reals
    cdef object before
    cdef readonly list sites
    cdef readonly object keepalive
    cdef readonly str name
    cdef bytes name_bytes
    cdef const char *encoded_name
    cdef object __weakref__

    def __init__(self, entry, args_template, members=(), pack=(), ret=None, sites=(), keepalive=None, name="kernel",
                 parallel_ok=True, brief=False, DeviceProgram device=None, reach=(host_memory, 0), status=None, tasks=0,
                 writes=((), ()), KeptDepths kept=None, attributes=(), reals=(), before=None):
        if self.template_bytes is not None:
            raise TypeError("a plan cannot be changed once made")
        cdef size_t address = entry
        if address == 0 and device is None:
            raise ValueError(f"plan of {name}: the entry address is 0")
        self.param_count = -1
        self.called = Called("")
        self.entry = <qd_kernel_fn> <void *> address
        self.template_bytes = bytes(args_template)
        self.template = self.template_bytes
        self.block_bytes = len(self.template_bytes)
        self.device = device
        if device is not None and self.block_bytes != <Py_ssize_t> device.kernel.block_bytes + device.tail():
            raise ValueError(f"plan of {name}: {self.block_bytes} bytes are no argument block with its tail")
        self.name = name
        self.name_bytes = name.encode()
        self.encoded_name = self.name_bytes
        self.sites = list(sites)
        self.keepalive = keepalive
        self.parallel_ok, self.brief = parallel_ok, brief
        self.reach_type, self.reach_id = reach if reach is not None else (0, 0)
        self.task_count = tasks
        self.written_sources = tuple([int(source) for source in writes[0]])
        self.written_fields = tuple([<Writes?> counter for counter in writes[1]])
        self.writes_watched = bool(self.written_sources or self.written_fields)
        self.status_offset, self.labels = (-1, ()) if status is None else (status[0], tuple(status[1]))
        if self.status_offset >= 0:
            self.check_room(self.status_offset, 8)
        self.kept = kept
        self.attributes, self.reals = tuple(attributes), tuple(reals)
        self.before = before
        self.build_members(list(members))
        self.build_ops(list(pack))
        self.build_ret(ret)

    cdef int build_members(self, list members) except -1:
        cdef dict known = {}
        cdef list names = []
        cdef int32_t at = -1
        cdef int32_t parent
        cdef Node *node
        self.members = members
        self.member_count = len(members)
        if not members:
            return 0
        self.nodes = <Node *> calloc(sum([len(path) for _, path, _ in members]) or 1, sizeof(Node))
        self.leaf_nodes = <int32_t *> calloc(len(members), sizeof(int32_t))
        if self.nodes == NULL or self.leaf_nodes == NULL:
            raise MemoryError()
        for leaf, (param, path, token) in enumerate(members):
            if not path or param < 0:
                raise ValueError(f"plan of {self.name}: a member needs a parameter and a path, got {(param, path)}")
            parent = -1
            for depth in range(len(path)):
                key = (param, path[: depth + 1])
                if key not in known:
                    node = &self.nodes[self.node_count]
                    name = sys.intern(path[depth])
                    names.append(name)
                    node.parent = parent
                    node.param = param
                    node.name = <PyObject *> name
                    node.leaf = -1
                    known[key] = self.node_count
                    self.node_count += 1
                at = known[key]
                parent = at
            node = &self.nodes[at]
            if node.leaf < 0:
                node.leaf = leaf
            self.leaf_nodes[leaf] = at
            if token != 0:
                node.compare = True
                node.token = token
        self.names = tuple(names)
        return 0

    cdef int build_ops(self, list pack) except -1:
        cdef Op *op
        cdef list packers = []
        self.ops = <Op *> calloc(len(pack) or 1, sizeof(Op))
        if self.ops == NULL:
            raise MemoryError()
        for code, source, offset, extra in pack:
            op = &self.ops[self.op_count]
            op.source = source
            op.offset = offset
            if source < 0:
                raise ValueError(f"plan of {self.name}: negative source {source}")
            if code == "array":
                op.kind = OP_ARRAY
                self.check_room(offset, sizeof(void *))
                given = tuple(extra) if extra is not None else (-1, -1)
                op.shape_offset, op.grad_offset, op.extents = (*given, -1)[:3]
                packer = given[3] if len(given) > 3 else None
                if packer is not None:
                    op.packer = self.packer(packer, packers)
                if op.shape_offset >= 0:
                    self.check_room(op.shape_offset, 0)
                if op.grad_offset >= 0:
                    self.check_room(op.grad_offset, sizeof(void *))
            elif code == "view":
                op.kind = OP_VIEW
                self.check_room(offset, sizeof(void *))
                op.shape_offset, op.start_offset, op.size_offset = extra
                for place in extra:
                    if place >= 0:
                        self.check_room(place, sizeof(int32_t))
            elif code == "call":
                op.kind = OP_CALL
                op.packer = self.packer(extra, packers)
                self.check_room(offset, 0)
            elif code in _scalar_codes:
                op.kind = OP_SCALAR
                op.code = _scalar_codes[code]
                self.check_room(offset, scalar_size(op.code))
            else:
                raise ValueError(f"plan of {self.name}: unknown pack code {code!r}")
            self.op_count += 1
        self.packers = tuple(packers)
        return 0

    cdef PyObject *packer(self, function, list packers) except NULL:
        if not callable(function):
            raise TypeError(f"plan of {self.name}: a call packer must be callable, got {function!r}")
        packers.append(function)
        return <PyObject *> function

    cdef int build_ret(self, ret) except -1:
        self.ret_code = -1
        if ret is None:
            return 0
        if callable(ret):
            self.ret_reader = ret
            return 0
        dtype, offset = ret
        if dtype not in _scalar_codes:
            raise ValueError(f"plan of {self.name}: unknown return type {dtype!r}")
        self.check_room(offset, scalar_size(_scalar_codes[dtype]))
        self.ret_code = _scalar_codes[dtype]
        self.ret_offset = offset
        return 0

    cdef int check_room(self, int64_t offset, int64_t size) except -1:
        if offset < 0 or offset + size > self.block_bytes:
            raise ValueError(
                f"plan of {self.name}: {size} bytes at offset {offset} do not fit in a block of {self.block_bytes}"
            )
        return 0

    def __dealloc__(self):
        cdef int at
        if self.nodes != NULL:
            for at in range(self.node_count):
                forget(&self.nodes[at].memo)
        free(self.nodes)
        free(self.leaf_nodes)
        free(self.ops)

    def __repr__(self):
        return f"<Plan of {self.name}: {self.op_count} packed arguments, {self.member_count} members>"

    cdef place(self, int32_t source):
        # How error messages name the argument: (parameter,), or (parameter, "attribute", ...) of a member.
        if source < self.param_count:
            return (self.called.parameter(source),)
        param, path, _ = self.members[source - self.param_count]
        return (self.called.parameter(param), *path)

    cdef argument(self, int32_t source):
        return QuadrantsRuntimeTypeError.place(self.place(source))

    cdef int adopt(self, int param_count, Called called) except -1:
        # Called by the launcher that stores the plan: only there the parameters are known.
        cdef int at
        self.called = called
        if self.param_count == param_count:
            return 0
        if self.param_count >= 0:
            raise ValueError(f"plan of {self.name} was made for {self.param_count} parameters, not {param_count}")
        for at in range(self.op_count):
            if self.ops[at].source >= param_count + self.member_count:
                raise ValueError(f"plan of {self.name}: there is no source {self.ops[at].source}")
        for at in range(self.node_count):
            if self.nodes[at].param >= param_count:
                raise ValueError(f"plan of {self.name}: there is no parameter {self.nodes[at].param}")
        for source in self.written_sources:
            if not 0 <= source < param_count + self.member_count:
                raise ValueError(f"plan of {self.name}: there is no source {source}")
        if self.kept is not None:
            self.kept.check_sources(param_count + self.member_count, self.name)
        self.param_count = param_count
        return 0

    cdef int match(self, PyObject *const *args, Called called, Frame *frame) except -1:
        # Resolves the members into the frame. 1 if their tokens are those the plan was compiled for, else 0.
        cdef int at
        cdef Node *node
        cdef PyObject *value
        frame.release_members()
        if not frame.members.reserve(self.node_count):
            raise MemoryError()
        for at in range(self.node_count):
            node = &self.nodes[at]
            value = raw_getattr(args[node.param] if node.parent < 0 else frame.members.data[node.parent], node.name)
            if value == NULL:
                if not PyErr_ExceptionMatches(<PyObject *> AttributeError):
                    return -1
                PyErr_Clear()  # another object than the one compiled for: the compiler says what is wrong, if anything
                return 0
            frame.members.data[at] = value
            frame.members.count = at + 1
            if node.compare and node.token != token_of(
                value, KIND_ANY, -1, self.param_count + node.leaf, called, &node.memo, frame
            ):
                return 0
        return 1

    cdef inline PyObject *source_value(self, int32_t source, PyObject *const *args, Frame *frame) noexcept:
        if source < self.param_count:
            return args[source]
        return frame.members.data[self.leaf_nodes[source - self.param_count]]

    cdef list pack(self, PyObject *const *args, char **place, object view, Frame *frame):
        # Returns what packers want to keep until the end of the launch, None if there is nothing. Python code must not
        # see the stack: without a view the block moves when the first packer needs one, and `place` tells where to.
        cdef int at
        cdef Op *op
        cdef PyObject *value
        cdef Buffer memory
        cdef char *block = place[0]
        cdef list kept = None
        memcpy(block, self.template, self.block_bytes)
        for at in range(self.op_count):
            op = &self.ops[at]
            value = self.source_value(op.source, args, frame)
            if op.kind == OP_SCALAR:
                if not store_plain(op.code, block + op.offset, value):
                    pack_scalar(op, value, block + op.offset, self)
                continue
            if op.kind == OP_ARRAY:
                if pack_array(op, value, block, self, frame):
                    continue
            elif op.kind == OP_VIEW:
                pack_view(op, value, block, self, frame)
                continue
            if view is None:
                memory = Buffer(self.block_bytes)
                memcpy(memory.data, block, self.block_bytes)
                block = place[0] = <char *> memory.data
                view = memoryview(memory)
                kept = [memory]
            keep = self.pack_by_call(op, value, view)
            if keep is not None:
                if kept is None:
                    kept = []
                kept.append(keep)
        return kept

    cdef pack_by_call(self, Op *op, PyObject *value, object view):
        try:
            return (<object> op.packer)(<object> value, view, op.offset)
        except Exception as error:
            raise self.called.wrong(error)

    cdef run(self, PyObject *const *args, Frame *frame):
        # Packs, runs with the GIL released, copies back, prints, raises what the kernel reported, reads the result.
        global _running, _launches, _last_tasks
        cdef char *block
        cdef Launch *launch = &frame.launch
        cdef KeptEntry entry = None
        cdef bint known = False
        cdef uint64_t turn
        cdef bint waits
        view = None
        if self.device is not None:
            self.device.device.look()
            refuse_capture(self.device.device, self.name)
            if self.before is not None:
                self.move()
        if self.ret_reader is not None:
            memory = Buffer(self.block_bytes)
            view = memoryview(memory)
            block = <char *> (<Buffer> memory).data
        else:
            block = <char *> frame.block(self.block_bytes)
            if block == NULL:
                raise MemoryError()
        _running += 1
        try:
            kept = self.pack(args, &block, view, frame)
            if frame.resume != NULL:
                self.begin_at(<object> frame.resume, block)
            launch.name = self.encoded_name
            if self.kept is not None:
                entry = self.kept.before(self, args, frame, block, &known)
            _launches += 1
            _last_tasks = self.task_count
            if self.device is not None:
                if turns.python_takes:
                    self.launch_alone(block, frame, known)
                else:
                    self.device.launch(self, block, frame, _seed, _launches, known)
            elif has_turn():
                launch.prepare(pool_threads() if self.parallel_ok else 1, _seed, _launches, _capture_print)
                with nogil:
                    run_kernel(self.entry, launch, block)
            else:
                launch.prepare(pool_threads() if self.parallel_ok else 1, _seed, _launches, _capture_print)
                turn = take_turn()
                waits = must_wait(turn)
                if self.brief and not waits:
                    run_kernel(self.entry, launch, block)
                else:
                    with nogil:
                        if waits:
                            wait_for_turn(turn)
                        run_kernel(self.entry, launch, block)
                end_turn()
            if self.kept is not None:
                self.kept.after(entry, block, launch.rt.error.flag != 0)
        finally:
            if _dependants and self.writes_watched:
                self.count_writes(args, frame)
            _running = max(_running - 1, 0)  # a packer that forks leaves 0 to the child
            if _running == 0 and _graveyard:
                _graveyard.clear()
        if kept is not None or launch.printed or launch.rt.error.flag != 0:
            self.conclude(launch, kept)
        if self.device is not None:
            self.device.device.look()
        if self.ret_code >= 0:
            return load_scalar(self.ret_code, block + self.ret_offset)
        if self.ret_reader is not None:
            return self.ret_reader(view)
        return None

    cdef int launch_alone(self, char *block, Frame *frame, bint known) except -1:
        hold_turn()
        try:
            self.device.launch(self, block, frame, _seed, _launches, known)
        finally:
            release_turn()
        return 0

    cdef int move(self) except -1:
        # Memory that grows has other addresses than the last launch knew.
        cdef uint64_t address
        for offset, found in self.before():
            self.check_room(offset, sizeof(address))
            address = found
            memcpy(<char *> self.template + <Py_ssize_t> offset, &address, sizeof(address))
        return 0

    cdef void count_writes(self, PyObject *const *args, Frame *frame) noexcept:
        # Also behind a launch that failed: what it wrote stays.
        cdef Writes found
        for source in self.written_sources:
            found = writes_of(self.source_value(source, args, frame))
            if found is not None and found.dependants:
                found.count += 1
        for counter in self.written_fields:
            found = <Writes> counter
            if found.dependants:
                found.count += 1

    cdef int begin_at(self, object label, char *block) except -1:
        if label not in self.labels:
            known = ", ".join([str(int(one)) for one in self.labels]) or "none"
            raise QuadrantsRuntimeError(
                f"from_checkpoint={label!r} does not match any qd.checkpoint of kernel {self.name}; its labels: {known}"
            )
        cdef int32_t number = self.labels.index(label) + 1
        memcpy(block + self.status_offset, &number, sizeof(number))
        return 0

    cdef int conclude(self, Launch *launch, list kept) except -1:
        # The writes of a kernel that failed stay, so arrays are copied back and text is shown before it is raised.
        try:
            if kept is not None:
                finish_all(kept)
            if launch.printed and launch.capture and sys.stdout is not None:
                sys.stdout.write(launch.text.data()[: launch.text.size()].decode("utf-8", "replace"))
        finally:
            if launch.rt.error.flag != 0:
                raise self.failure(&launch.rt.error)
        return 0

    cdef failure(self, qd_error *error):
        cdef int at
        cdef int count = min(max(error.count, 0), QD_ERROR_VALUES)
        if error.flag != 2 or not 0 <= error.site < len(self.sites):
            return QuadrantsRuntimeError(f"kernel {self.name} failed and left no valid record of why")
        values = tuple([error_value(error, at) for at in range(count)])
        return self.sites[error.site](values, error.worker)


cdef object error_value(qd_error *error, int at):
    if error.kinds >> at & 1:
        return error.values[at].single if error.kinds >> 31 & 1 else error.values[at].f
    return <uint64_t> error.values[at].i if error.kinds >> (32 + at) & 1 else error.values[at].i


cdef int finish_all(list kept) except -1:
    # Every array is copied back, also behind one that cannot be; the first error is raised.
    error = None
    for keep in kept:
        try:
            finish = getattr(keep, "finish", None)
            if finish is not None:
                finish()
        except BaseException as problem:
            error = error or problem
    if error is not None:
        raise error
    return 0
