#!/bin/sh
# Runs a command under a memory checker: tests/checked.sh address,undefined|thread|valgrind COMMAND ...
# The sanitizers need gcc with their libraries, and build the package into build/CHECKER first. Kernels are compiled with
# the same checker, as shared objects, so that their accesses are checked too.
set -e
checker=$1
shift
cd "$(dirname "$0")/.."
out=build/$checker
mkdir -p "$out"
# All memory of Python comes from malloc, where checkers see it, and modules come from the build, not from this folder.
export PYTHONMALLOC=malloc PYTHONSAFEPATH=1 PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
export QD_OFFLINE_CACHE_FILE_PATH="$PWD/$out/kernels" QD_LINK=1

if [ "$checker" = valgrind ]; then
    # valgrind knows no AVX-512. What it takes for uninitialised is the digits of Python's ints, everywhere.
    export QD_CC="gcc -mno-avx512f"
    PYTHONPATH=$PWD exec valgrind --tool=memcheck --error-exitcode=99 --leak-check=no --undef-value-errors=no --num-callers=25 \
        --suppressions=tests/valgrind.supp "$@"
fi

QD_SANITIZE=$checker python setup.py --quiet build --build-base "$out"
PYTHONPATH=$(echo "$PWD/$out"/lib*)
export PYTHONPATH
# Memory that lives as long as the process is no error, and tests ask for more than there is.
export ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:$ASAN_OPTIONS"
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:$UBSAN_OPTIONS"
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp:allocator_may_return_null=1:die_after_fork=0:$TSAN_OPTIONS"
libraries=libstdc++.so
case $checker in
    *address*) libraries="libasan.so $libraries" QD_CC="gcc -fsanitize=address" ;;
    *thread*) libraries="libtsan.so $libraries" QD_CC="gcc -fsanitize=thread" ;;
esac
export QD_CC
LD_PRELOAD=
for library in $libraries; do
    LD_PRELOAD="$LD_PRELOAD $(gcc -print-file-name=$library)"
done
export LD_PRELOAD
case $checker in
    *thread*) exec setarch "$(uname -m)" --addr-no-randomize "$@" ;;  # its shadow memory has a fixed place
    *) exec "$@" ;;
esac
