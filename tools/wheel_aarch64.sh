#!/usr/bin/env bash
# Cross-compiles the wheel of Python 3.11 for manylinux_2_28 or older on aarch64 into dist/, with Debian's cross compiler and the stubs of an
# older C library (tools/glibc_stubs.sh), and imports it under qemu in Debian's Python 3.11 of that machine, where some of the Python suite
# runs (SMOKE: files or tests of it, none of which may start Python again). After tools/wheels.sh of a Python 3.11, whose type stubs it
# takes: they are the same everywhere.
#
# usage: tools/wheel_aarch64.sh PYTHON3.11
set -euo pipefail
python=$(command -v "$1")
cd "$(dirname "$0")/.."
home=$PWD/build/wheels there=$PWD/build/wheels/aarch64
. tools/aarch64_parts.sh
aarch64_compilers
mkdir -p "$there"

# ---- of that machine: the C library's stubs, Python, NumPy and OpenBLAS
[ -f "$there/glibc/libc.so" ] || tools/glibc_stubs.sh "$home/tools/bin/python" aarch64 2.28 "$there/glibc"
[ -x "$there/root/usr/bin/python3.11" ] || aarch64_debian "$there/root" python3.11 python3.11-minimal libpython3.11-minimal \
    libpython3.11-stdlib libpython3.11-dev zlib1g zlib1g-dev libexpat1 libffi8 libssl3 libbz2-1.0 liblzma5 libsqlite3-0 libuuid1 \
    libc6 libgcc-s1 libstdc++6
[ -d "$there/site/numpy" ] || aarch64_pip "$python" "$there/site" numpy ml_dtypes pytest 'hypothesis>=6.100,<6.141' scipy-openblas32

# ---- the build: an environment of this machine, which is told that it runs on the other (sysconfig's facts are in a module)
[ -x "$there/venv/bin/python" ] || "$python" -m venv "$there/venv"
"$there/venv/bin/python" -m pip install -q 'scikit-build-core>=0.11,<2' 'cmake>=3.22,<5' ninja numpy
rm -rf "$there/raw" "$there/clone" "$there/facts" "$there/stubs"
mkdir -p "$there/raw" "$there/clone" "$there/facts" "$there/stubs"
git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2>/dev/null | tar -cf - -T - | tar -xf - -C "$there/clone"
cp "$there/root/usr/lib/python3.11/_sysconfigdata__aarch64-linux-gnu.py" "$there/facts"
"$there/venv/bin/python" -m zipfile -e "$(echo "$home/raw/cp311"/*.whl)" "$there/stubs"
headers=$there/root/usr/include
(
    cd "$there/clone"
    export PATH=$there/venv/bin:$PATH
    export CFLAGS="-isystem $headers" LDFLAGS="-L$there/glibc -Wl,-rpath-link,$there/glibc"
    export _PYTHON_HOST_PLATFORM=linux-aarch64 _PYTHON_SYSCONFIGDATA_NAME=_sysconfigdata__aarch64-linux-gnu PYTHONPATH=$there/facts
    export CMAKE_ARGS="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc
        -DPython3_INCLUDE_DIR=$headers/python3.11 -DASNUMPY_NUMPY=$there/site/numpy -DASNUMPY_STUBS=$there/stubs/asnumpy
        -DASNUMPY_OPENBLAS=$there/site/scipy_openblas32/lib/libscipy_openblas.so -DZLIB_INCLUDE_DIR=$headers
        -DZLIB_LIBRARY=$(aarch64_zlib "$there/root")"
    python -c 'import sys, scikit_build_core.build as b; print(b.build_wheel(sys.argv[1]))' "$there/raw"
)
# (auditwheel takes the names of this machine's platforms alone: it is asked for the oldest that fits)
rm -f dist/*_aarch64.whl
PATH=$home/tools/bin:$PATH auditwheel repair --plat auto --only-plat -w dist "$there/raw"/*.whl
wheel=$(echo dist/*-cp311-cp311-manylinux_*_aarch64.whl)
[[ $wheel =~ manylinux_2_(1[0-9]|2[0-8])_aarch64 ]] || { echo "wheel_aarch64: $wheel asks for a later glibc than 2.28" >&2; exit 1; }
PATH=$home/tools/bin:$PATH auditwheel show "$wheel"

# ---- the test: that machine's Python, under qemu
rm -rf "$there/test"
mkdir "$there/test"
"$there/venv/bin/python" -m zipfile -e "$wheel" "$there/test"
cd "$there/clone"
export QEMU_CPU=${QEMU_CPU:-neoverse-n1} PYTHONPATH=$there/test:$there/site PYTHONDONTWRITEBYTECODE=1
that=(qemu-aarch64-static -L "$there/root" "$there/root/usr/bin/python3.11")
"${that[@]}" -m asnumpy.doctor
read -ra smoke <<<"${SMOKE:-tests/python/test_indexing.py tests/python/test_dlpack_in.py tests/python/test_jit_host.py}"
exec "${that[@]}" -m pytest -q -p no:cacheprovider "${smoke[@]}"
