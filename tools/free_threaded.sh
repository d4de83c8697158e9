#!/usr/bin/env bash
# Builds the package for a CPython without a global lock and runs the Python suite there, in an environment of its own
# (build/free-threaded); prints pytest's closing line and exits with its status.
#
# usage: tools/free_threaded.sh PYTHON [PYTEST ARGUMENT ...]    # PYTHON: python3.13t or later, --disable-gil
#
# An interpreter that was configured --with-thread-sanitizer gets a build with the thread sanitizer, and runs what has
# threads in it; races make it fail (CPython's own are left out: Tools/tsan/suppressions_free_threading.txt of its
# source, where TSAN_OPTIONS names it). The kernel's address randomisation is off for it, as CPython asks.
set -euo pipefail
python=$(command -v "$1")
shift
cd "$(dirname "$0")/.."
home=$PWD/build/free-threaded
"$python" -c 'import sysconfig, sys; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED"))' || {
    echo "free_threaded: $python has a global lock" >&2
    exit 1
}
packages=("numpy>=2.4,<2.5" "scipy-openblas32>=0.3.29,<0.4" "hypothesis>=6.100,<6.141" "pytest>=8,<10" ml_dtypes)

# ---- with the sanitizer, under which pip would take half an hour: our own pip fetches for it, and CMake builds
if "$python" -c 'import sysconfig, sys; sys.exit("-fsanitize=thread" not in (sysconfig.get_config_var("CFLAGS") or ""))'; then
    home=$home-tsan
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    platforms=()
    for manylinux in 2_17 2_27 2_28; do platforms+=(--platform "manylinux_${manylinux}_$(uname -m)"); done
    [ -d "$home/site/numpy" ] || .venv/bin/python -m pip install -q --only-binary :all: --target "$home/site" \
        --python-version "$version" --abi "cp${version/./}t" --abi abi3 --abi none "${platforms[@]}" --platform any "${packages[@]}"
    quiet=${TSAN_OPTIONS:-}
    export TSAN_OPTIONS="report_bugs=0" PYTHONPATH=$home/site
    setarch -R .venv/bin/cmake -B "$home/tree" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DASNUMPY_SANITIZE=thread \
        -DPython3_EXECUTABLE="$python" -DCMAKE_MAKE_PROGRAM="$PWD/.venv/bin/ninja" >/dev/null
    setarch -R .venv/bin/ninja -C "$home/tree" --quiet
    .venv/bin/cmake --install "$home/tree" --prefix "$home/site" --component python >/dev/null
    cp -r python/asnumpy/. "$home/site/asnumpy"
    export TSAN_OPTIONS="exitcode=66:history_size=3:$quiet"
    # (the sanitizer ends a process that forks while it has threads, and then starts others)
    [ $# -gt 0 ] || set -- tests/python/test_threads.py tests/python/test_contexts.py tests/python/test_streams.py \
        tests/python/test_batches.py \
        --deselect tests/python/test_streams.py::test_fork_close_and_exit
    exec setarch -R "$python" -m pytest -q -p no:cacheprovider "$@"
fi

packages+=(cmake ninja scikit-build-core pytest-xdist scipy pandas scikit-learn scikit-image pillow xarray array-api-strict
    array-api-compat mpmath tqdm matplotlib prometheus-client mypy)
"$python" -m venv "$home"
"$home/bin/python" -m pip install -q --only-binary :all: "${packages[@]}"
"$home/bin/python" -m pip install -q --no-build-isolation --no-deps -C build-dir="$home/tree" .
[ $# -gt 0 ] || set -- -n auto tests/python
exec "$home/bin/python" -m pytest -q -p no:cacheprovider "$@"
