from opencl_device import opencl, queue  # noqa: F401
