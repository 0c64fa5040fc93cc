# Depths of stacks that a launch had to look for in arrays, kept for the next launches of the same plan.
#
#     launch    arguments packed -> recall: are they those of an entry, and is nothing written since?
#                 yes: its depths go into the argument block, and nothing is looked for
#                 no:  begin an entry, run, keep the depths that the launch left in the block

cdef enum:
    most_entries = 4  # calls that take turns with other arrays or numbers


cdef struct Span:
    int64_t offset
    int64_t size


@cython.final
cdef class KeptEntry:
    # What depths came from, and what they are.
    cdef Snapshot snapshot
    cdef char *values    # parts of the argument block
    cdef int64_t *depths

    def __dealloc__(self):
        free(self.values)
        free(self.depths)


@cython.final
cdef class KeptDepths:
    """The depths of one plan.

    places: offsets in the argument block of the depths, each an i64. values: `(offset, bytes)` of numbers in the block
    that they depend on. sources: parameters and members that are arrays whose cells they depend on; fields: `Writes` of
    fields, None for those that nobody counts: then nothing is kept."""
    cdef int place_count, value_count, source_count
    cdef int64_t *places
    cdef Span *values
    cdef int32_t *sources
    cdef size_t value_bytes
    cdef tuple fields
    cdef list entries            # the one that was of use last comes first
    cdef readonly uint64_t hits
    cdef readonly uint64_t misses

    def __cinit__(self, places, values, sources, fields, /):
        self.place_count, self.value_count, self.source_count = len(places), len(values), len(sources)
        self.places = <int64_t *> calloc(self.place_count or 1, sizeof(int64_t))
        self.values = <Span *> calloc(self.value_count or 1, sizeof(Span))
        self.sources = <int32_t *> calloc(self.source_count or 1, sizeof(int32_t))
        if self.places == NULL or self.values == NULL or self.sources == NULL:
            raise MemoryError()
        for at, offset in enumerate(places):
            self.places[at] = offset
        for at, (offset, size) in enumerate(values):
            self.values[at].offset, self.values[at].size = offset, size
            self.value_bytes += size
        for at, source in enumerate(sources):
            self.sources[at] = source
        self.fields = tuple(fields)
        self.entries = []

    def __dealloc__(self):
        free(self.places)
        free(self.values)
        free(self.sources)

    cdef int check_sources(self, int count, str name) except -1:
        cdef int at
        for at in range(self.source_count):
            if not 0 <= self.sources[at] < count:
                raise ValueError(f"plan of {name}: there is no source {self.sources[at]}")
        return 0

    cdef KeptEntry before(self, Plan plan, PyObject *const *args, Frame *frame, char *block, bint *known):
        # known: the depths are in the block. Else this gives what `after` fills, None where nothing may be kept.
        known[0] = self.recall(plan, args, frame, block)
        return None if known[0] else self.begin(plan, args, frame, block)

    cdef int after(self, KeptEntry entry, const char *block, bint failed) except -1:
        if failed:
            self.clear()
        elif entry is not None:
            self.keep(entry, block)
        return 0

    cdef bint recall(self, Plan plan, PyObject *const *args, Frame *frame, char *block):
        # Whether the depths are known; then they are in the block.
        cdef Py_ssize_t at
        cdef int place
        cdef KeptEntry entry
        for at in range(len(self.entries)):
            entry = <KeptEntry> self.entries[at]
            if self.is_of(entry, plan, args, frame, block):
                for place in range(self.place_count):
                    memcpy(block + self.places[place], &entry.depths[place], sizeof(int64_t))
                if at > 0:
                    self.entries.insert(0, self.entries.pop(at))
                self.hits += 1
                return True
        self.misses += 1
        return False

    cdef bint is_of(self, KeptEntry entry, Plan plan, PyObject *const *args, Frame *frame, const char *block):
        cdef int at
        cdef const char *value = entry.values
        for at in range(self.source_count):
            found = writes_of(plan.source_value(self.sources[at], args, frame))
            if <PyObject *> found != <PyObject *> entry.snapshot.sources[at]:
                return False
        for at in range(self.value_count):
            if memcmp(value, block + self.values[at].offset, self.values[at].size) != 0:
                return False
            value += self.values[at].size
        return entry.snapshot.current()

    cdef KeptEntry begin(self, Plan plan, PyObject *const *args, Frame *frame, const char *block):
        # An entry for the launch that is about to run; None where the depths come from what anybody may change.
        cdef int at
        cdef Writes source
        cdef KeptEntry entry
        cdef char *value
        cdef list sources = []
        for at in range(self.source_count):
            source = writes_of(plan.source_value(self.sources[at], args, frame))
            sources.append(source)
        sources.extend(self.fields)
        for source in sources:
            if source is None or source.exposed:
                return None
        entry = KeptEntry.__new__(KeptEntry)
        entry.values = value = <char *> calloc(self.value_bytes or 1, 1)
        entry.depths = <int64_t *> calloc(self.place_count or 1, sizeof(int64_t))
        if entry.values == NULL or entry.depths == NULL:
            raise MemoryError()
        for at in range(self.value_count):
            memcpy(value, block + self.values[at].offset, self.values[at].size)
            value += self.values[at].size
        entry.snapshot = Snapshot(sources)
        return entry

    cdef int keep(self, KeptEntry entry, const char *block) except -1:
        cdef int at
        for at in range(self.place_count):
            memcpy(&entry.depths[at], block + self.places[at], sizeof(int64_t))
        # One that was written since is of no use to anybody.
        self.entries = [entry, *[old for old in self.entries if (<KeptEntry> old).snapshot.current()]][:most_entries]
        return 0

    def clear(self):
        """Forget everything."""
        self.entries = []

    def __len__(self):
        return len(self.entries)
