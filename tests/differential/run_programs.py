"""Run the programs under packages of your choice and compare, or record what the reference says.

    python run_programs.py show PYTHON [--only p07]                 print the results under the package seen by PYTHON
    python run_programs.py record REFERENCE_PYTHON [--only p07]     write expected/*.json
    python run_programs.py compare REFERENCE_PYTHON [--only p07]    run both packages now and compare
    python run_programs.py corrections                              list where the reference is held to be wrong

Ours is run by this interpreter from the repository root. The reference interpreter is one of an environment where the
reference package is installed, such as .bench-envs/quadrants-1.3.3/bin/python.
"""

from __future__ import annotations

import argparse
import json
import sys

from expectations import EXPECTED, compare, corrected, expectation, module_tolerance
from harness import HERE, load, program_names, run_program

ROOT = str(HERE.parent.parent)


def main() -> int:
    """The command line; 0 if everything ran and agreed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["show", "record", "compare", "corrections"])
    parser.add_argument("python", nargs="?", help="interpreter of the environment that holds the package")
    parser.add_argument("--only", default="", help="programs whose name starts with this")
    arguments = parser.parse_args()
    if arguments.action == "corrections":
        for name in program_names():
            program = load(name)
            for kind in ("CORRECTED", "BEYOND"):
                for key, (_, note) in getattr(program, kind, {}).items():
                    print(f"{name}  {key}  {note}")
        return 0
    if arguments.python is None:
        parser.error(f"{arguments.action} needs the interpreter of the reference's environment")
    failures = 0
    for name in program_names():
        if not name.startswith(arguments.only):
            continue
        try:
            reference = run_program(arguments.python, "quadrants", name, beyond=False)
            if arguments.action == "show":
                print(f"{name}:\n" + "\n".join(f"  {k}: {json.dumps(v)}" for k, v in reference["results"].items()))
                continue
            wanted = corrected(name, reference)
            if arguments.action == "record":
                EXPECTED.mkdir(exist_ok=True)
                expectation(name).write_text(json.dumps(wanted, indent=1) + "\n")
                problems = []
            else:
                ours = run_program(sys.executable, "quadrants", name, beyond=True, extra_path=ROOT)
                problems = compare(ours, wanted, module_tolerance(name))
        except RuntimeError as error:
            problems = [str(error)]
        failures += bool(problems)
        print(f"{name}: {'ok' if not problems else ''}", *problems, sep="\n  " if problems else "")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
