"""What the compiler shows of its work on request: IR after each step, generated source.

`print_ir` and `print_preprocessed_ir` print to the log; `QD_DUMP_IR=1` writes files into `debug_dump_path`;
`print_kernel_llvm_ir` (the lowest text there is: the generated source) writes numbered files into the current folder.
`QD_DUMP_C=1`, `QD_DUMP_CUDA=1` and so on print the source in that language, under a header that counts;
`QD_DUMP_SRC=1` prints it in any, and writes a file for each kernel into `debug_dump_path`.
`QD_VERIFY_IR=1`, and debug mode, check the IR after each step.
"""

from __future__ import annotations

import errno
import itertools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from quadrants import _logging, folders, targets
from quadrants.ir.names import identifier
from quadrants.ir.task_ids import task_ids

if TYPE_CHECKING:
    from quadrants.ir.nodes import Module

_serial = itertools.count()
# What one process writes at most: a program that compiles for days must not fill the disk.
MOST_BYTES = 1 << 30
_left = MOST_BYTES
_told: set[tuple[str, str]] = set()


class Observer:
    """Called after the frontend and after each pass of one compilation, and with the rendered text."""

    def __init__(self, name: str, options: dict):
        self.stem = f"{identifier(name)[:64]}_c{next(_serial)}"
        self.step = itertools.count()
        self.echo = options.get("print_ir")
        self.echo_first = options.get("print_preprocessed_ir")
        self.dumps = options.get("debug_dump_path")
        self.folder = self.dumps if _is_on("QD_DUMP_IR") else None
        self.source_here = options.get("print_kernel_llvm_ir") or options.get("print_kernel_llvm_ir_optimized")
        self.languages = _dumped()
        self.verify = options.get("debug") or _is_on("QD_VERIFY_IR")

    @property
    def shows(self) -> bool:
        """Whether it has anything to show: then a kernel is translated though its code is at hand."""
        return bool(self.echo or self.echo_first or self.folder or self.source_here or self.languages)

    def ir(self, stage: str, module: Module) -> None:
        number = next(self.step)
        if self.verify:
            from quadrants.ir.verify import verify

            verify(module)
        if not (self.echo or self.folder or (self.echo_first and number == 0)):
            return
        from quadrants.ir.printer import print_ir

        text = print_ir(module)
        if self.echo or (self.echo_first and number == 0):
            _logging.info(f"[{self.stem}] IR after {stage}:\n{text}")
        if self.folder:
            self._write(Path(self.folder), f"{self.stem}_{number}_{stage}.ir", text)

    def source(self, text: str, dialect: str, module: Module, mode: str) -> None:
        """Show the rendered text of a kernel; `mode` is that of a derivative, "" of a kernel itself."""
        if self.folder:
            self._write(Path(self.folder), f"{self.stem}_{next(self.step)}_source.{dialect}", text)
        if self.source_here:
            name = f"{self.stem}_{next(_serial):04d}.{dialect}"
            self._write(Path.cwd(), name, text)
            _logging.info(f"generated source of {self.stem} written to {name}")
        target = self.languages.get(dialect)
        if target is not None:
            self._dump(text, target, module, mode)

    def _dump(self, text: str, target: targets.Target, module: Module, mode: str) -> None:
        shown = with_header(text, module, mode)
        framed = f"=== {target.language} for kernel '{module.name}' ===\n{shown}=== END {target.language} ===\n"
        sys.stderr.flush()
        os.write(2, framed.encode())
        if _is_on("QD_DUMP_SRC") and self.dumps:
            name = f"{module.name}{self.stem[self.stem.rindex('_c') :]}.{target.suffix}"
            self._write(Path(self.dumps), name, shown)

    def _write(self, folder: Path, name: str, text: str) -> None:
        """A file that this user alone can read; it may be asked for in the current folder, whoever owns that."""
        global _left
        content = text.encode("utf-8", "surrogatepass")
        rule = folders.anyone if folder == Path.cwd() else folders.known
        try:
            if len(content) > _left:
                raise OSError(errno.EFBIG, f"{MOST_BYTES >> 20} MiB of dumps is the most that a process writes")
            with folders.open_folder(str(folder), rule, create=True) as opened:
                opened.publish(name, content)
            _left -= len(content)
        except OSError as error:
            self.folder = self.dumps = None
            reason = error.strerror or str(error)
            if (str(folder), reason) not in _told:
                _told.add((str(folder), reason))
                _logging.warn(
                    f"cannot write the dump {folder / name}: {reason}. Name a folder of yours with "
                    "qd.init(debug_dump_path=...) or QD_DEBUG_DUMP_PATH."
                )


def with_header(text: str, module: Module, mode: str) -> str:
    """The text under a comment about it: what each task pushes, and the lines and bytes of the whole.

    The comment is in dumps only, so that neither the text nor the key of its binary depends on being looked at.
    """
    # With the statements of the IR, which a warm start has no need of.
    from quadrants.ir.adstack_summary import stacks_of

    tasks = []
    for task, number in zip(module.tasks, task_ids(module.name, text, len(module.tasks))):
        kept = stacks_of(task)
        gate = task.gate.text if task.gate is not None else "none"
        what = f"stacks {kept.reals} F + {kept.integers} I, pushes {kept.pushes}, gate={gate}"
        tasks.append(f"   task {task.name}: {what}, id {number:#010x}")
    text = text if text.endswith("\n") else text + "\n"
    lines = text.count("\n") + 1 + len(tasks)
    size = 0
    while True:
        head = f"/* kernel {module.name}, mode {mode or 'none'}, {lines} lines, {size} bytes"
        shown = "\n".join([head, *tasks]) + " */\n" + text
        if size == len(shown.encode()):
            return shown
        size = len(shown.encode())


def _dumped() -> dict[str, targets.Target]:
    """The targets whose text is dumped, by dialect."""
    if not any(name.startswith("QD_DUMP_") for name in os.environ):
        return {}
    spoken = [target for target in targets.known() if target.dialect]
    return {t.dialect: t for t in spoken if _is_on("QD_DUMP_SRC") or _is_on(f"QD_DUMP_{t.language}")}


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")
