#!/usr/bin/env bash
# Builds the C and ABI tests with the address, undefined-behaviour and thread sanitizers and runs them; then once with clang.
set -euo pipefail
cd "$(dirname "$0")/.."
for kind in address,undefined thread; do
    dir="build/san-${kind%%,*}"
    .venv/bin/cmake -B "$dir" -G Ninja -DASNUMPY_TESTS=ON -DASNUMPY_PYTHON=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DASNUMPY_SANITIZE="$kind" -DPython3_EXECUTABLE="$PWD/.venv/bin/python" \
        -DCMAKE_MAKE_PROGRAM="$PWD/.venv/bin/ninja" >/dev/null
    .venv/bin/ninja -C "$dir" --quiet
    echo "sanitizer: $kind"
    .venv/bin/ctest --test-dir "$dir" --output-on-failure
done
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
