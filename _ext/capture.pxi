# Launches while another package records its stream for a graph. What is launched then on another stream runs at once
# and is in no replay, so it is refused before anything runs. torch records its own stream of the calling thread; where
# there is no torch in the process this costs one look into the table of modules.

cdef extern from "Python.h":
    PyObject *raw_loaded_modules "PyImport_GetModuleDict"() noexcept

cdef extern from "exchange.hpp" namespace "qd":
    int stream_now(const ExchangeApi *api, int32_t device_type, int32_t device_id, void **out)

cdef enum:
    torch_unknown    # not loaded so far
    torch_exchanges  # its table tells the stream
    torch_answers    # an older one: a function tells whether it records
    torch_elsewhere  # built without devices

cdef int _torch_state = torch_unknown
cdef const ExchangeApi *_torch_api = NULL
cdef object _torch_records = None
cdef object _torch_name = sys.intern("torch")


cdef void forget_torch() noexcept:
    global _torch_state
    _torch_state = torch_unknown


cdef int meet_torch(PyObject *module) except -1:
    global _torch_state, _torch_api, _torch_records
    torch = <object> module
    tensor = getattr(torch, "Tensor", None)
    version = getattr(torch, "version", None)
    cuda = getattr(torch, "cuda", None)
    if tensor is None or version is None or cuda is None:
        return 0  # it is being imported
    if getattr(version, "cuda", None) is None and getattr(version, "hip", None) is None:
        _torch_state = torch_elsewhere
        return 0
    table = getattr(tensor, "__dlpack_c_exchange_api__", None)
    _torch_api = NULL
    if PyCapsule_IsValid(table, "dlpack_exchange_api"):
        _torch_api = known_version(PyCapsule_GetPointer(table, "dlpack_exchange_api"))
    _torch_records = getattr(cuda, "is_current_stream_capturing", None)
    if _torch_api != NULL:
        _torch_state = torch_exchanges
    else:
        _torch_state = torch_answers if _torch_records is not None else torch_elsewhere
    return 0


cdef inline int refuse_capture(Device device, str kernel) except -1:
    # `kernel` is about to be launched.
    cdef PyObject *module
    if not device.api.records_streams():
        return 0
    if _torch_state == torch_unknown:
        module = raw_dict_get(raw_loaded_modules(), <PyObject *> _torch_name)
        if module == NULL:
            return 0
        meet_torch(module)
    if _torch_state == torch_exchanges:
        return refuse_stream_of_torch(device, kernel)
    if _torch_state == torch_answers and _torch_records() and not is_recorded(device, current_stream):
        raise_captured("torch", kernel)
    return 0


cdef int refuse_stream_of_torch(Device device, str kernel) except -1:
    global _torch_state
    cdef void *stream = NULL
    if stream_now(_torch_api, device.dlpack_type, device.ordinal, &stream) != 0:
        # This torch is for the devices of another vendor, where it has no streams.
        clear_exception()
        _torch_state = torch_elsewhere
        return 0
    return refuse_recorded(device, stream, "torch", kernel)


cdef int refuse_recorded(Device device, void *stream, str package, str kernel) except -1:
    # The default stream cannot be recorded. What is launched on the recorded one itself is in its replays.
    if stream != current_stream and is_recorded(device, stream):
        raise_captured(package, kernel)
    return 0


cdef int raise_captured(str package, str kernel) except -1:
    raise QuadrantsRuntimeError(
        f"kernel {kernel} cannot be launched while {package} records a graph (torch.cuda.graph): it would run at once, "
        "and replays of the graph would leave it out; launch it before or after the graph, or on the stream that is "
        "recorded, by qd_stream="
    )


cdef bint is_recorded(Device device, void *stream) except -1:
    # The default stream never is.
    cdef int32_t recorded = 0
    if stream != NULL and stream != <void *> legacy_stream and device.api.records_streams():
        device.check(device.api.is_capturing(&recorded, stream), "asking whether a stream is recorded")
    return recorded != 0


cdef int refuse_copy(Device device, void *stream) except -1:
    # Replays would read or write the memory of the host again, whatever is there then.
    if is_recorded(device, stream):
        raise QuadrantsRuntimeError(
            "what is copied from or to the host cannot be a part of a graph that is recorded: copy it before or after"
        )
    return 0
