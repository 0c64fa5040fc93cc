"""Sources that did not compile, kept for whoever reads the error: the last 20 of a folder."""

from __future__ import annotations

import hashlib
import os

from quadrants import folders
from quadrants.folders import Folder
from quadrants.toolchain import names, scratch

MOST = 20


def keep(folder: Folder, text: str, name: str, suffix: str) -> str:
    """Write the source of the kernel `name` and drop the oldest ones. Returns its path. Raises OSError."""
    content = text.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(content, digest_size=4).hexdigest()
    file = f"{names.file_stem(name)}-{digest}{suffix}"
    folder.publish(file, content)
    found = sorted((state.st_mtime_ns, other) for other, state in folder.files(names.is_kept_source) if other != file)
    for _, other in found[: max(0, len(found) + 1 - MOST)]:
        folder.remove(other)
    return os.path.join(folder.path, file)


def keep_outside(text: str, name: str, suffix: str) -> str | None:
    """The same without a cache, in a folder of this user's among the temporary ones; None where there is no room."""
    for parent in scratch.candidates():
        try:
            with folders.open_folder(os.path.join(parent, _folder()), folders.private, create=True) as folder:
                return keep(folder, text, name, suffix)
        except OSError:
            continue
    return None


def clear(folder: Folder) -> None:
    """Remove what `keep` wrote there, leftovers of killed writers too."""
    for name, _ in folder.files(lambda name: names.is_kept_source(name) or folders.is_temporary(name)):
        folder.remove(name)


def _folder() -> str:
    return f"quadrants-failed-{os.geteuid()}" if hasattr(os, "geteuid") else "quadrants-failed"
