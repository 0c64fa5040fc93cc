"""Version of the package."""

__version__ = (1, 3, 3)
__version_str__ = ".".join(map(str, __version__))
