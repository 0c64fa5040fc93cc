"""Write the files of golden/, and the text in docs/guide/gpu.md, anew: `python tests/emit/update_golden.py`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from golden_kernels import GOLDEN, PAGE, golden_texts, shown_in_docs  # noqa: E402

if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, text in golden_texts().items():
        (GOLDEN / name).write_text(text)
        print(GOLDEN / name)
    page = PAGE.read_text()
    before, rest = page.split("```cuda\n")
    after = rest[rest.index("\n```") :]
    PAGE.write_text(before + "```cuda\n" + shown_in_docs((GOLDEN / "mpm.cu").read_text()) + after)
    print(PAGE)
