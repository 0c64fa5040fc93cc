"""Write the files of golden/ anew: `python tests/emit/update_golden.py` from the root of the repository."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from golden_kernels import GOLDEN, golden_texts  # noqa: E402

if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, text in golden_texts().items():
        (GOLDEN / name).write_text(text)
        print(GOLDEN / name)
