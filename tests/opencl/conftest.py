from opencl_device import opencl  # noqa: F401
