#!/bin/sh
# check_wheel.sh WHEEL TESTS...: installs the wheel in a new environment outside of the repository and runs the fast ones
# of these tests there.
# The tests are copied, so that nothing is imported from the source tree. PYTHON: the interpreter, python3 when unset.
set -eu
[ $# -ge 2 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
wheel=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
tests=$(cd "$(dirname "$0")/.." && pwd)
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset PYTHONPATH

cp -r "$tests" "$folder/tests"
rm -r "$folder/tests/project" "$folder/tests/manual"   # about the source tree, not the package
cp -r "$tests/../docs" "$folder/docs"
cp "$tests/../pyproject.toml" "$folder"   # the settings of pytest
"${PYTHON:-python3}" -m venv "$folder/env"
"$folder/env/bin/python" -m pip install --quiet "$wheel" hypothesis nvidia-cuda-nvrtc pillow 'pytest>=8' pytest-xdist
cd "$folder"
"$folder/env/bin/quadrants" --version
"$folder/env/bin/python" "$tests/project/wheel_kernel.py"
PATH="$folder/env/bin:$PATH" python -m pytest -n 2 --dist loadfile -q -m "not slow" "$@"
