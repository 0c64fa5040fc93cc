"""The seal at the end of every cached file. It tells a whole file of the right name from anything else.

    +---------------------------+----------------+--------------------+------------+
    | payload                   | length, 8 bytes| digest, 24 bytes   | "qdcache1" |
    +---------------------------+----------------+--------------------+------------+

It comes last so that a sealed shared object still loads: the dynamic loader never looks behind what the ELF headers
name. The digest covers the key, so that a file under a wrong name does not pass.
"""

from __future__ import annotations

_MAGIC = b"qdcache1"
_DIGEST = 24
SIZE = 8 + _DIGEST + len(_MAGIC)


def seal(key: str, payload: bytes) -> bytes:
    """The content of the file that keeps `payload` under `key`."""
    return b"".join((payload, len(payload).to_bytes(8, "little"), _digest(key, payload), _MAGIC))


def unseal(key: str, content: bytes) -> bytes | None:
    """The payload, or None when the file is damaged, truncated, foreign, or of another key."""
    end = len(content) - SIZE
    if end < 0 or content[-len(_MAGIC) :] != _MAGIC or int.from_bytes(content[end : end + 8], "little") != end:
        return None
    payload = content[:end]
    return payload if content[end + 8 : end + 8 + _DIGEST] == _digest(key, payload) else None


def _digest(key: str, payload: bytes) -> bytes:
    from hashlib import blake2b

    state = blake2b(key.encode(), digest_size=_DIGEST)
    state.update(payload)
    return state.digest()
