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
sysroot=/usr/aarch64-linux-gnu

need=()
command -v aarch64-linux-gnu-gcc >/dev/null || need+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
command -v aarch64-linux-gnu-g++ >/dev/null || need+=(g++-aarch64-linux-gnu)
command -v qemu-aarch64-static >/dev/null || need+=(qemu-user-static)
if [ ${#need[@]} -gt 0 ]; then
    sudo=""
    [ "$(id -u)" = 0 ] || sudo=sudo
    echo "aarch64: installing ${need[*]}"
    $sudo apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${need[@]}" >/dev/null
fi

# ---- OpenBLAS of that machine, of the version that this environment has
blas=$tree/openblas/scipy_openblas32/lib/libscipy_openblas.so
if [ ! -f "$blas" ]; then
    version=$("$python" -c 'import importlib.metadata as m; print(m.version("scipy-openblas32"))')
    "$python" -m pip install -q --no-deps --only-binary :all: --target "$tree/openblas" --python-version 3.11 \
        --platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 "scipy-openblas32==$version"
fi

# ---- zlib of that machine, from Debian's packages of the system's release, which are unpacked here
zlib=$PWD/$tree/zlib
if [ ! -f "$zlib/usr/include/zlib.h" ]; then
    mkdir -p "$zlib/lists/partial"
    apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State::lists="$zlib/lists"
        -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User="$(id -un)")
    "${apt[@]}" update
    (cd "$zlib" && "${apt[@]}" download zlib1g zlib1g-dev && for package in *.deb; do dpkg -x "$package" .; done && rm -r ./*.deb lists)
fi
libz=$(compgen -G "$zlib/*/aarch64-linux-gnu/libz.so.1" || compgen -G "$zlib/usr/lib/aarch64-linux-gnu/libz.so.1")

.venv/bin/cmake -B "$tree" -G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
    -DCMAKE_CROSSCOMPILING_EMULATOR="$(command -v qemu-aarch64-static);-L;$sysroot" -DASNUMPY_OPENBLAS="$PWD/$blas" \
    -DZLIB_INCLUDE_DIR="$zlib/usr/include" -DZLIB_LIBRARY="$libz" \
    -DASNUMPY_TESTS=ON -DASNUMPY_PYTHON=OFF -DASNUMPY_WERROR=ON -DPython3_EXECUTABLE="$python" \
    -DCMAKE_MAKE_PROGRAM="$PWD/.venv/bin/ninja" >/dev/null
.venv/bin/ninja -C "$tree" --quiet
QEMU_CPU=${QEMU_CPU:-neoverse-n1} QEMU_LD_PREFIX=$sysroot .venv/bin/ctest --test-dir "$tree" -j "$(nproc)" --timeout 600 \
    -E "avx|test_source|abi_operators|abi_home|abi_programs|abi_sharing|abi_hccl|capi_" "$@"
