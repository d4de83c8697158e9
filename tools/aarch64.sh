#!/usr/bin/env bash
# Builds both libraries for aarch64, the processors of most Ascend servers, with Debian's cross compiler, and runs the C tests there in
# qemu's user mode; prints ctest's closing lines and exits with its status. Nothing of it is installed into the environment.
#
# usage: tools/aarch64.sh [CTEST ARGUMENT ...]      # after `make setup`; build/aarch64 is the tree
#
# Left out: what needs a Python of that machine (operators and the C binding against NumPy), what starts its own program again as
# another process, which is no program of this machine (abi_sharing, abi_hccl), and test_source, which calls the machine's own compiler
# with -march=native. QEMU_CPU: the processor (neoverse-n1; on qemu 7.2's `max` OpenBLAS takes code for matrix instructions that
# gives wrong products).
set -euo pipefail
cd "$(dirname "$0")/.."
python=$PWD/.venv/bin/python
tree=build/aarch64
. tools/aarch64_parts.sh
aarch64_compilers

# ---- OpenBLAS, of the version that this environment has, and zlib of that machine
blas=$tree/openblas/scipy_openblas32/lib/libscipy_openblas.so
if [ ! -f "$blas" ]; then
    version=$("$python" -c 'import importlib.metadata as m; print(m.version("scipy-openblas32"))')
    aarch64_pip "$python" "$tree/openblas" --no-deps "scipy-openblas32==$version"
fi
zlib=$PWD/$tree/zlib
[ -f "$zlib/usr/include/zlib.h" ] || aarch64_debian "$zlib" zlib1g zlib1g-dev
libz=$(aarch64_zlib "$zlib")

.venv/bin/cmake -B "$tree" -G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
    -DCMAKE_CROSSCOMPILING_EMULATOR="$(command -v qemu-aarch64-static);-L;$sysroot" -DASNUMPY_OPENBLAS="$PWD/$blas" \
    -DZLIB_INCLUDE_DIR="$zlib/usr/include" -DZLIB_LIBRARY="$libz" \
    -DASNUMPY_TESTS=ON -DASNUMPY_PYTHON=OFF -DASNUMPY_WERROR=ON -DPython3_EXECUTABLE="$python" \
    -DCMAKE_MAKE_PROGRAM="$PWD/.venv/bin/ninja" >/dev/null
.venv/bin/ninja -C "$tree" --quiet
QEMU_CPU=${QEMU_CPU:-neoverse-n1} QEMU_LD_PREFIX=$sysroot .venv/bin/ctest --test-dir "$tree" -j "$(nproc)" --timeout 600 \
    -E "avx|test_source|abi_operators|abi_home|abi_programs|abi_sharing|abi_hccl|capi_" "$@"
