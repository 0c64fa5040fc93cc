"""Enumerations."""

from quadrants.lang.device_enums import DeviceCapability, Format
from quadrants.lang.enums import AutodiffMode, BoundaryMode, Layout, SNodeGradType

__all__ = ["AutodiffMode", "BoundaryMode", "DeviceCapability", "Format", "Layout", "SNodeGradType"]
