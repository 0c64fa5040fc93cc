"""What the compiler shows of its work on request: IR after each step, generated source.

`print_ir` and `print_preprocessed_ir` print to the log; `QD_DUMP_IR=1` writes files into `debug_dump_path`;
`print_kernel_llvm_ir` (the lowest text there is: the generated source) writes numbered files into the current folder.
`QD_VERIFY_IR=1`, and debug mode, check the IR after each step.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from quadrants import _logging

if TYPE_CHECKING:
    from quadrants.ir.nodes import Module

_serial = itertools.count()


class Observer:
    """Called after the frontend and after each pass of one compilation, and with the rendered text."""

    def __init__(self, name: str, options: dict):
        self.stem = f"{name}_c{next(_serial)}"
        self.step = itertools.count()
        self.echo = options.get("print_ir")
        self.echo_first = options.get("print_preprocessed_ir")
        self.folder = options.get("debug_dump_path") if os.environ.get("QD_DUMP_IR", "") not in ("", "0") else None
        self.source_here = options.get("print_kernel_llvm_ir") or options.get("print_kernel_llvm_ir_optimized")
        self.verify = options.get("debug") or os.environ.get("QD_VERIFY_IR", "") not in ("", "0")

    @property
    def shows(self) -> bool:
        """Whether it has anything to show: then a kernel is translated though its code is at hand."""
        return bool(self.echo or self.echo_first or self.folder or self.source_here)

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

    def source(self, text: str, suffix: str) -> None:
        if self.folder:
            self._write(Path(self.folder), f"{self.stem}_{next(self.step)}_source.{suffix}", text)
        if self.source_here:
            name = f"{self.stem}_{next(_serial):04d}.{suffix}"
            self._write(Path.cwd(), name, text)
            _logging.info(f"generated source of {self.stem} written to {name}")

    def _write(self, folder: Path, name: str, text: str) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        except OSError as error:
            _logging.warn(f"cannot write the dump {folder / name}: {error}")
            self.folder = None
