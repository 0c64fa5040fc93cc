"""Compiled templates: to parse them again takes ten times as long as all the rest of a first rendering.

Those of the package are compiled when it is built, and lie in a folder beside them (`write_compiled`). All others, and
those that were edited since, are kept by the disk cache of the runtime in force; without one, nothing is written.

What is decoded here is code. The cache hands nothing out whose owner, mode and seal do not hold, and the file of the
package is trusted as its modules are; a digest tells whether it is whole.

setup.py loads this file alone, so it imports nothing of the package.
"""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
import sys
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any, Protocol

import jinja2
from jinja2 import compiler, idtracking, lexer, nodes, optimizer, parser
from jinja2.bccache import Bucket

SUFFIX = ".jinja"
COMPILED = "compiled"
# What decides the code of a template besides its text.
OPTIONS: dict[str, Any] = {
    "trim_blocks": True,
    "lstrip_blocks": True,
    "keep_trailing_newline": True,
    "autoescape": False,
}
# To be raised when the meaning of a file changes.
FORMAT = 3
_DIGEST = 32


class Store(Protocol):
    """What of a `DiskCache` is needed here."""

    def get(self, key: str, suffix: str) -> bytes | None: ...

    def put(self, key: str, data: bytes, suffix: str) -> str | None: ...


class TemplateBytecode(jinja2.BytecodeCache):
    """What is found counts only for the same name and text, the same Jinja2 and the same Python.

    root: folder of the built-in templates. store: gives the cache that keeps the others, if there is one.
    """

    def __init__(self, root: str, store: Callable[[], Store | None] = lambda: None):
        self._root = root
        self._store = store

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """Name and file of the template."""
        return f"{name}\0{filename or name}"

    def get_source_checksum(self, source: str) -> str:
        """Covers the text."""
        return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        """Find the code, whichever file of this name and text it was made of."""
        name, _, filename = bucket.key.partition("\0")
        key = _key(name, bucket.checksum)
        content = _compiled(self._root, key)
        store = self._store()
        if content is None and store is not None:
            content = store.get(key, SUFFIX)
        if content is not None:
            bucket.code = _placed(marshal.loads(content), filename)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code, if there is where."""
        store = self._store()
        if store is not None:
            name, _, _ = bucket.key.partition("\0")
            store.put(_key(name, bucket.checksum), marshal.dumps(bucket.code), SUFFIX)


def write_compiled(root: str, folder: str) -> None:
    """Compile every template under `root` into files of `folder`, and nothing else is left there. For the build."""
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(root), **OPTIONS)
    cache, made = TemplateBytecode(root), set()
    os.makedirs(folder, exist_ok=True)
    for name in environment.list_templates(extensions=["j2"]):
        with open(os.path.join(root, name), encoding="utf-8") as file:
            source = file.read()
        key = _key(name, cache.get_source_checksum(source))
        content = marshal.dumps(environment.compile(source, name, name))
        _replace(os.path.join(folder, key + SUFFIX), _digest(key, content) + content)
        made.add(key + SUFFIX)
    for old in os.listdir(folder):
        if old.endswith(SUFFIX) and old not in made:
            os.unlink(os.path.join(folder, old))


def _replace(path: str, content: bytes) -> None:
    """Processes that run meanwhile have the old file or the new one."""
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "wb") as file:
        file.write(content)
    os.replace(temporary, path)


def _compiled(root: str, key: str) -> bytes | None:
    """What the build of the package made; None where it is missing or damaged."""
    try:
        with open(os.path.join(root, COMPILED, key + SUFFIX), "rb") as file:
            content = file.read()
    except OSError:
        return None
    digest, content = content[:_DIGEST], content[_DIGEST:]
    return content if digest == _digest(key, content) else None


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.blake2b(content, key=key.encode(), digest_size=_DIGEST).digest()


def _placed(code: CodeType, filename: str) -> CodeType:
    """The code as that of this file, for tracebacks."""
    consts = tuple(_placed(x, filename) if isinstance(x, CodeType) else x for x in code.co_consts)
    return code.replace(co_filename=filename, co_consts=consts)


def _key(name: str, checksum: str) -> str:
    return hashlib.sha256(f"{_made_by()}\n{checksum}\n{name}".encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(maxsize=1)
def _made_by() -> str:
    """Differs when the code of a template may: the Python and the Jinja2 that make it."""
    parts = [f"template {FORMAT}", repr(sorted(OPTIONS.items())), str(sys.implementation.cache_tag)]
    parts.append(importlib.util.MAGIC_NUMBER.hex())
    for module in (compiler, nodes, parser, lexer, idtracking, optimizer):
        with open(str(module.__file__), "rb") as file:
            parts.append(hashlib.sha256(file.read()).hexdigest())
    return "\n".join(parts)
