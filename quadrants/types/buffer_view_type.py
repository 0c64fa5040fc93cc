"""Annotation of BufferView parameters."""

from quadrants.lang.annotations import BufferViewType

__all__ = ["BufferViewType"]
