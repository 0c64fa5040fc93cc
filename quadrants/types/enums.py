"""Enumerations."""

from quadrants.lang.enums import AutodiffMode, BoundaryMode, DeviceCapability, Format, Layout, SNodeGradType

__all__ = ["AutodiffMode", "BoundaryMode", "DeviceCapability", "Format", "Layout", "SNodeGradType"]
