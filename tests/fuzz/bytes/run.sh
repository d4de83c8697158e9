#!/usr/bin/env bash
# The harnesses of this folder as libFuzzer targets with the address and undefined-behaviour sanitizers, one after the other.
# They begin with a thousand of the tests' own inputs. What they find lies in build/fuzz (give the file to the target, or to the
# test's program); inputs that reached new code are kept in build/fuzz/corpus. Needs clang.
#   tests/fuzz/bytes/run.sh SECONDS [NAME...]
set -euo pipefail
cd "$(dirname "$0")/../../.."
seconds=$1
shift
[ $# -gt 0 ] || set -- program_bytes file_bytes
clang=$(command -v clang || ls /usr/bin/clang-[0-9][0-9] 2>/dev/null | tail -n 1 || true)
if [ -z "$clang" ]; then
    echo "clang: not installed, libFuzzer is left out (apt-get install clang)"
    exit 0
fi
.venv/bin/cmake -B build/libfuzzer -G Ninja -DCMAKE_C_COMPILER="$clang" -DASNUMPY_TESTS=ON -DASNUMPY_PYTHON=OFF \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DASNUMPY_SANITIZE=address,undefined -DASNUMPY_LIBFUZZER=ON \
    -DPython3_EXECUTABLE="$PWD/.venv/bin/python" -DCMAKE_MAKE_PROGRAM="$PWD/.venv/bin/ninja" >/dev/null
.venv/bin/ninja -C build/libfuzzer --quiet "$@" "${@/%/_libfuzzer}" opapi ascendcl nnopbase
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
for name in "$@"; do
    corpus="build/fuzz/corpus/$name"
    mkdir -p "$corpus"
    FUZZ_CORPUS="$corpus" FUZZ_INPUTS=1000 "build/libfuzzer/tests/fuzz/$name"
    echo "libFuzzer: $name"
    "build/libfuzzer/tests/fuzz/${name}_libfuzzer" -max_total_time="$seconds" -max_len=4096 -timeout=20 -rss_limit_mb=4096 \
        -print_final_stats=1 -verbosity=0 -artifact_prefix="build/fuzz/$name-" "$corpus"
done
