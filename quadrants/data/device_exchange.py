"""The protocols by which packages hand each other arrays on a device: DLPack and the CUDA array interface."""

from __future__ import annotations

from quadrants.data import dlpack, memory

_CUDA = 2


class DeviceExchange:
    """Mixin of containers. Its attributes exist only where the data is one strided array that others can address:
    elsewhere they raise `AttributeError`, so that `hasattr` says what a container offers. See `NumpyExchange` for what
    the container supplies.
    """

    def _shared(self, name: str, kinds: tuple | None = None):
        """The live array and its DLPack device."""
        self._check_usable()
        home = memory.dlpack_device() if memory.is_device(self._memory()) else None
        if home is None or (kinds and home[0] not in kinds):
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r} on this arch: to_numpy() and to_torch() give copies"
            )
        array = self._strided()
        if array is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}: its storage is no strided array")
        return array, home

    @property
    def __cuda_array_interface__(self) -> dict:
        """Version 3 of the interface, on CUDA alone. Consumers wait for the stream it names."""
        array, _ = self._shared("__cuda_array_interface__", (_CUDA,))
        self._expose()
        return {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.pointer, False),
            "strides": array.strides,
            "stream": memory.stream(),
            "version": 3,
        }

    @property
    def __dlpack_device__(self):
        """A function that gives DLPack's (device type, number)."""
        _, home = self._shared("__dlpack_device__")
        return lambda: home

    @property
    def __dlpack__(self):
        """A function that gives a capsule which shares memory, by the DLPack protocol."""
        array, home = self._shared("__dlpack__")
        return lambda **request: _capsule(self, array, home, **request)


def _capsule(container, array, home: tuple, stream=None, max_version=None, dl_device=None, copy=None):
    if copy:
        raise BufferError("containers do not copy for DLPack; copy what the capsule gives")
    if dl_device is not None and tuple(dl_device) != home:
        raise BufferError(f"the data is on DLPack device {home}, not {tuple(dl_device)}")
    container._expose()
    if stream != -1:
        # Consumers may begin on any stream once they have the capsule; -1 says that they take care themselves.
        memory.synchronize()
    return dlpack.capsule(array, max_version is not None and max_version[0] >= 1)
