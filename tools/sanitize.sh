#!/usr/bin/env bash
# Builds the C and ABI tests with the address, undefined-behaviour and thread sanitizers and runs them, the generated programs
# of tests/abi and the fuzzers' fixed inputs among them; arbitrary arguments of the operators under the address sanitizer; then once
# with clang. (tests/fuzz/bytes/run.sh: arbitrary bytes with libFuzzer.)
# The programs repeat calls that `make ctest` recorded; ASNUMPY_CASES names another recording.
set -euo pipefail
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 # else it reports, and the test passes
cd "$(dirname "$0")/.."
cases=${ASNUMPY_CASES:-$PWD/build/dev/programs/cases}
if [ ! -e "$cases/cases.json" ]; then
    echo "no recorded calls in $cases: run 'make ctest' first" >&2
    exit 1
fi
for kind in address,undefined thread; do
    dir="build/san-${kind%%,*}"
    .venv/bin/cmake -B "$dir" -G Ninja -DASNUMPY_TESTS=ON -DASNUMPY_PYTHON=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DASNUMPY_SANITIZE="$kind" -DASNUMPY_CASES="$cases" -DPython3_EXECUTABLE="$PWD/.venv/bin/python" \
        -DCMAKE_MAKE_PROGRAM="$PWD/.venv/bin/ninja" >/dev/null
    .venv/bin/ninja -C "$dir" --quiet
    echo "sanitizer: $kind"
    .venv/bin/ctest --test-dir "$dir" --output-on-failure
done
echo "sanitizer: address,undefined, arbitrary arguments of every operator"
LD_PRELOAD="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
    ASNUMPY_LIB="$PWD/build/san-address/lib" .venv/bin/python -m pytest -q -p no:cacheprovider tests/abi/test_fuzz.py
clang=$(command -v clang || ls /usr/bin/clang-[0-9][0-9] 2>/dev/null | tail -n 1 || true)
if [ -z "$clang" ]; then
    echo "clang: not installed, that build is left out (apt-get install clang)"
    exit 0
fi
.venv/bin/cmake -B build/clang -G Ninja -DCMAKE_C_COMPILER="$clang" -DASNUMPY_TESTS=ON -DASNUMPY_PYTHON=OFF \
    -DASNUMPY_WERROR=ON -DPython3_EXECUTABLE="$PWD/.venv/bin/python" \
    -DCMAKE_MAKE_PROGRAM="$PWD/.venv/bin/ninja" >/dev/null
.venv/bin/ninja -C build/clang --quiet
echo "clang: $clang"
.venv/bin/ctest --test-dir build/clang --output-on-failure
