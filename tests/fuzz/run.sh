#!/usr/bin/env bash
# The fuzzers on one core each, for a number of seconds: fused programs in C on every instruction
# set that this processor has; beside them statements in Python in every mode, and for a thirtieth
# of the time each calls with options and products, those on one thread, two and seven.
# Failures are made small, printed, and written to build/fuzz.
#   tests/fuzz/run.sh SECONDS SEED [PROGRAMS]
# PROGRAMS: so many fused programs for each instruction set at most, and a fifteenth as many of statements.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=$1 seed=$2 programs=${3:-1000000000}
mkdir -p build/fuzz
(
    failed=0
    .venv/bin/python tests/fuzz/statements.py --seconds $((seconds - seconds / 15)) --programs $((programs / 15)) \
        --seed "$seed" --out build/fuzz || failed=1
    .venv/bin/python -W ignore tests/fuzz/calls.py --seconds $((seconds / 30)) --seed "$seed" || failed=1
    for threads in 1 2 7; do
        ASNUMPY_NUM_THREADS=$threads .venv/bin/python -W ignore tests/fuzz/products.py --seconds $((seconds / 90)) \
            --seed $((seed + threads * 1000000)) || failed=1
    done
    exit $failed
) &
python=$!
failed=0
for isa in avx512 avx2 baseline; do
    echo "fused programs, at most $isa"
    ASNUMPY_ISA=$isa build/dev/tests/fuzz/fuzz_program --seconds $((seconds / 3)) --cases "$programs" --seed "$seed" --out build/fuzz || failed=1
done
wait $python || failed=1
exit $failed
