"""Version of the package."""

# The public part is the release whose language and names this is compatible with; the label tells the two apart.
DISTRIBUTION = "1.3.3+native"
__version_str__ = DISTRIBUTION.partition("+")[0]
__version__ = tuple(map(int, __version_str__.split(".")))
