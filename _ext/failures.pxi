# Failures of launches that nobody waits for: those of kernels that can fail only by a stack that is too short.
#
#     the launch      puts its plan on the list of its device
#     a failed thread writes the record of the launch into its frame, as ever, then the notice, a word in host memory
#     later           every launch, and whoever waited for the device, looks at the word: one load
#                     it is set: the frames of all plans on the list are read, and what they say is raised
#                     the default stream was waited for: plans launched before that leave the list
#
# Only launches in the default stream are on the list; those in others wait for their record.

cdef void watch(Device device, Plan plan):
    cdef DeviceProgram program = plan.device
    device.polled_launches += 1
    if program.polled_ordinal == 0:
        device.watched.append(plan)
    program.polled_ordinal = device.polled_launches


cdef void settle(Device device, uint64_t last):
    # Nothing more can come of launches up to that one.
    cdef DeviceProgram program
    watched, device.watched = device.watched, []
    for plan in watched:
        program = (<Plan> plan).device
        if program.polled_ordinal > last:
            device.watched.append(plan)
        else:
            program.polled_ordinal = 0


cdef int raise_failures(Device device) except -1:
    # The word is cleared first: a failure after that sets it again, and is found by the next look at the latest.
    cdef list failures = []
    device.notice[0] = 0
    for plan in list(device.watched):
        try:
            failure = read_failure(device, <Plan> plan)
        except QuadrantsRuntimeError:
            device.notice[0] = 1
            raise
        if failure is not None:
            failures.append(failure)
    if failures:
        raise failures[0] if len(failures) == 1 else type(failures[0])("\n\n".join([str(one) for one in failures]))
    return 0


cdef object read_failure(Device device, Plan plan):
    # What the last launches of that plan left, or None; waits for them. The GIL is held: nobody else reads it too.
    cdef qd_error record
    cdef DeviceProgram program = plan.device
    cdef uint64_t place = program.memory(NULL).frame + <uint64_t> program.kernel.error_offset
    device.check(device.api.to_host(&record, place, sizeof(record), NULL), "reading a failure")
    if record.flag == 0:
        return None
    device.check(device.api.fill(place, 0, sizeof(record.flag), NULL), "clearing a failure")
    if plan.kept is not None:
        plan.kept.clear()
    return plan.failure(&record)
