"""Time of the import statement in a fresh interpreter."""

from __future__ import annotations

from . import Work, case


@case("import", "import of the package", kind="import", unit="ms", target=0.5, rounds=5)
def import_package(qd) -> Work:
    """The worker times the import itself; all that is left to do is to see that a usable package arrived."""
    missing = [name for name in ("kernel", "func", "init", "field") if not hasattr(qd, name)]
    return Work(run=lambda n: None, check=lambda: f"missing names {missing}" if missing else None)
