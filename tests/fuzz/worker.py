"""A process that draws and checks programs: it may die of them, so it says what it begins. JSON, one object a line.

Requests: {"seeds": [first, count], "size": n or null, "off": [...]} or {"text": .., "options": {..}}.
Answers: {"begin": seed}, then {"seed": seed, "kind": .., "sign": .., "detail": ..}; {"done": true} behind a request.
"""

from __future__ import annotations

import faulthandler
import importlib
import io
import json
import os
import sys
import traceback


def serve(arch_name: str, subject: str) -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what programs print past Python is no answer
    faulthandler.enable()
    sys.stdout = io.StringIO()  # before quadrants is imported: kernels print into what replaces it
    from . import execute

    execute.quiet()
    arch = execute.Arch(arch_name)
    subject_module = importlib.import_module(f"{__package__}.{subject}")
    for line in sys.stdin:
        request = json.loads(line)
        for answer in answered(request, arch, subject_module):
            answers.write(json.dumps(answer) + "\n")
        answers.write('{"done": true}\n')


def answered(request: dict, arch, subject):
    if "text" in request:
        yield subject.check(request["text"], request["options"], arch).plain()
        return
    first, count = request["seeds"]
    for seed in range(first, first + count):
        yield {"begin": seed}
        yield {"seed": seed, **outcome(subject, seed, request, arch)}


def outcome(subject, seed: int, request: dict, arch) -> dict:
    try:
        return subject.check_seed(seed, request.get("size"), request["off"], arch).plain()
    except Exception as error:  # of the grammar or the model
        return {"kind": "broken", "sign": f"{type(error).__name__}: {error}", "detail": traceback.format_exc()}


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])
