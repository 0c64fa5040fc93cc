"""Streams and events, under the module name that programs import them from."""

from quadrants.lang._public import names_of

__getattr__ = names_of(__name__, "Event Stream create_event create_stream stream_parallel".split())
