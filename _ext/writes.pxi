# Whether data changed since something was computed from it. Only integers are watched: lengths of loops come from them.

cdef int _dependants = 0       # results that depend on data; while there are none, no launch counts its writes
cdef uint64_t _all_writes = 0  # how often everything counted as written


@cython.final
cdef class Writes:
    """Counts the writes of the data of one container, while a result depends on it.

    A result keeps a reference to this object, not an address: one of other data can never be taken for it."""
    cdef uint64_t count
    cdef int dependants
    cdef bint exposed

    def advance(self, /):
        """The host wrote the data."""
        if self.dependants:
            self.count += 1

    def expose(self, /):
        """From now on the data can be written without a word, through a view: it always counts as changed."""
        self.exposed = True

    @property
    def watched(self):
        """Whether a result depends on the data now."""
        return self.dependants > 0


cdef inline Writes writes_of(PyObject *value):
    # Of an argument or member that may be an array, a view or a wrapper of one; None if nobody counts.
    if not is_array(value):
        value = unwrapped(value)
    if is_array(value):
        return (<ArrayBase> value)._writes
    if is_instance(value, <PyObject *> ViewBase):
        return (<ViewBase> value).arr._writes
    return None


def everything_written():
    """All data counts as changed."""
    global _all_writes
    _all_writes += 1


def dependants():
    """How many results depend on data now."""
    return _dependants


@cython.final
@cython.no_gc  # no cycle goes through it, and its end needs what it refers to
cdef class Snapshot:
    """What a result came from: the data of some `Writes` as it is when this is made. While this lives, they count."""
    cdef tuple sources
    cdef uint64_t *seen
    cdef uint64_t all_writes

    def __cinit__(self, sources, /):
        cdef Py_ssize_t at
        cdef Writes source
        global _dependants
        self.sources = tuple([<Writes?> one for one in sources])
        self.seen = <uint64_t *> calloc(len(self.sources) or 1, sizeof(uint64_t))
        if self.seen == NULL:
            raise MemoryError()
        self.all_writes = _all_writes
        _dependants += 1
        for at in range(len(self.sources)):
            source = <Writes> self.sources[at]
            source.dependants += 1
            self.seen[at] = source.count

    def __dealloc__(self):
        global _dependants
        if self.seen == NULL:
            return
        free(self.seen)
        _dependants -= 1
        for source in self.sources:
            (<Writes> source).dependants -= 1

    cdef bint current(self) noexcept:
        cdef Py_ssize_t at
        cdef Writes source
        if self.all_writes != _all_writes:
            return False
        for at in range(len(self.sources)):
            source = <Writes> self.sources[at]
            if source.exposed or source.count != self.seen[at]:
                return False
        return True

    @property
    def holds(self):
        """Whether nothing was written since."""
        return self.current()
