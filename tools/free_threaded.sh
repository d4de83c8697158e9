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
export TSAN_OPTIONS=${TSAN_OPTIONS:-}
run=() sanitize="" chosen=(tests/python)
if "$python" -c 'import sysconfig, sys; sys.exit("-fsanitize=thread" not in (sysconfig.get_config_var("CFLAGS") or ""))'; then
    run=(setarch -R) sanitize=thread home=$PWD/build/free-threaded-tsan
    chosen=(tests/python/test_threads.py tests/python/test_contexts.py tests/python/test_streams.py tests/python/test_fork.py)
fi
packages=("numpy>=2.4,<2.5" "scipy-openblas32>=0.3.29,<0.4" "hypothesis>=6.100,<6.150" "pytest>=8,<10" ml_dtypes cmake ninja
    scikit-build-core)
[ "$sanitize" ] || packages+=(pytest-xdist scipy pandas scikit-learn scikit-image pillow xarray array-api-strict array-api-compat
    mpmath tqdm matplotlib prometheus-client mypy)
TSAN_OPTIONS="report_bugs=0" "${run[@]}" "$python" -m venv "$home"
TSAN_OPTIONS="report_bugs=0" "${run[@]}" "$home/bin/python" -m pip install -q --only-binary :all: "${packages[@]}"
TSAN_OPTIONS="report_bugs=0" "${run[@]}" "$home/bin/python" -m pip install -q --no-build-isolation --no-deps \
    -C build-dir="$home/tree" -C cmake.define.ASNUMPY_SANITIZE="$sanitize" .
[ "$sanitize" ] && export TSAN_OPTIONS="exitcode=66:history_size=3:$TSAN_OPTIONS"
[ $# -gt 0 ] && chosen=("$@")
"${run[@]}" "$home/bin/python" -m pytest -q -p no:cacheprovider "${chosen[@]}"
