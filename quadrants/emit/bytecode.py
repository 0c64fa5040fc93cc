"""Compiled templates on disk: to parse them again takes ten times as long as all the rest of a first rendering.

Built-in templates keep theirs in `__pycache__` beside the source, as Python's own modules do; templates of users, and
all where that folder cannot be written, in the folder of compiled kernels.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile

import jinja2
import jinja2.compiler
from jinja2.bccache import Bucket

from quadrants.config import default_cache_path

# To be raised when an option of the environment changes what templates compile to.
FORMAT = 1


class TemplateBytecode(jinja2.BytecodeCache):
    """A file a template; it counts only for the same text, the same Jinja2 and the same Python.

    root: folder of the built-in templates.
    """

    def __init__(self, root: str):
        self._root = os.path.join(os.path.realpath(root), "")
        compiler = os.stat(jinja2.compiler.__file__)
        self._made_by = f"{FORMAT} {compiler.st_size} {compiler.st_mtime_ns}\n".encode()

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """The path of the template, for templates that are files."""
        return os.path.realpath(filename) if filename else name

    def get_source_checksum(self, source: str) -> str:
        """Covers the text and the compiler."""
        return hashlib.sha1(self._made_by + source.encode(), usedforsecurity=False).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        for path in filter(None, self._places(bucket.key)):
            try:
                with open(path, "rb") as file:
                    bucket.load_bytecode(file)
            except (OSError, EOFError, ValueError, TypeError):
                bucket.reset()  # missing or damaged: it is compiled and written again
            if bucket.code is not None:
                return

    def dump_bytecode(self, bucket: Bucket) -> None:
        beside, elsewhere = self._places(bucket.key)
        if sys.dont_write_bytecode or not beside or not _write(beside, bucket.bytecode_to_string()):
            _write(elsewhere, bucket.bytecode_to_string())

    def _places(self, source: str) -> tuple[str, str]:
        """The file beside a built-in template (else ""), and the one among the compiled kernels."""
        beside, tag = "", sys.implementation.cache_tag
        if tag and source.startswith(self._root):
            beside = importlib.util.cache_from_source(f"{source}.py").removesuffix(".pyc") + ".jinja"
        name = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()[:16]
        return beside, os.path.join(default_cache_path(), "templates", f"{name}.{tag}.jinja")


def _write(path: str, content: bytes) -> bool:
    """Put the whole file there or nothing; False where the place cannot be written."""
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=folder)
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(scratch, path)
    except OSError:
        os.unlink(scratch)
        return False
    return True
