#!/bin/bash
# llama.cpp's CANN backend, as its authors wrote it, on the installed package's home of CANN:
#
#     tests/llama/run.sh [FOLDER]     builds in FOLDER (build/llama), or goes on with what is there
#
# llama.cpp comes in the source archive of llama-cpp-python (MIT; PyPI). Its test-backend-ops compares
# each operator with ggml's CPU backend: 98 % of the cases that the backend says it supports must pass, but
# for those in which it asks an operator for a dtype that CANN does not document (tensors of blocks of ggml's,
# whose dtype is undefined); these are counted apart.
# Models of random weights must generate the same tokens as on the CPU backend; tokens a second of both
# are printed.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD
export PATH=$here/.venv/bin:$PATH
work=${1:-build/llama}
mkdir -p "$work"
cd "$work"
if [ ! -d source ]; then
    pip download --quiet --no-binary :all: --no-deps --no-build-isolation 'llama-cpp-python>=0.3.36,<0.4'
    mkdir source.part
    tar xf llama_cpp_python-*.tar.gz -C source.part --strip-components 3 --wildcards '*/vendor/llama.cpp'
    mv source.part source
fi
home=$(python -m asnumpy.acl --home)
cmake -S source -B made -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_CANN=ON -DSOC_TYPE=Ascend910B3 \
    -DCANN_INSTALL_DIR="$home" -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_TESTS=ON \
    -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF > cmake.txt
ninja -C made llama test-backend-ops > ninja.txt || { tail -50 ninja.txt; exit 1; }
cc -O2 -std=c11 -D_GNU_SOURCE -I source/include -I source/ggml/include "$here/tests/llama/generate.c" -o generate \
    -L made/bin -lllama -lggml -lggml-base -Wl,-rpath,"$PWD/made/bin"
export LD_LIBRARY_PATH=$home/lib64:$PWD/made/bin

# Operator by operator, since the backend ends the process at CANN's first refusal. The case that did (the
# first one it supports that has no result), or that crashed, has failed, and the others go on without it.
plain() { sed 's/\x1b\[[0-9;]*m//g; s/^ *//'; }
test_operator() {
    local name=$1 others='' ended verdict
    made/bin/test-backend-ops support -b CANN0 -o "$name" 2> /dev/null | plain | sed -n 's/: SUPPORTED$//p' > cases.txt
    until GGML_NO_BACKTRACE=1 stdbuf -oL made/bin/test-backend-ops test -b CANN0 -o "$name" -p "^(?!($others\$))" \
        2> errors.txt | plain > results.txt; do
        [ $? -ge 128 ] || return 0 # by no signal: results that differ, which are counted below
        ended=$(sed -n 's/: \(OK\|FAIL\)$//p' results.txt | sed 's/.*\] .*   //' |
            grep -vxFf - cases.txt | sed -n 1p) || true
        [ -n "$ended" ] || return 1
        echo "$ended: $(grep -m1 'CANN error:' errors.txt || tail -n 1 errors.txt)" >> ends.txt
        grep -q 'which no operator computes with' errors.txt && verdict=REFUSED || verdict=FAIL
        echo "$ended: $verdict" >> operators.txt
        grep -vxF "$ended" cases.txt > left.txt || true
        mv left.txt cases.txt
        ended=${ended#*(}
        others+=${others:+|}$(sed 's/[][(){}.*^$+?|\\]/\\&/g' <<< "${ended%)}")
    done
}
made/bin/test-backend-ops --list-ops 2> /dev/null | sed -n 's/^  *\([A-Z0-9_]*\)$/\1/p' > names.txt
: > operators.txt
: > ends.txt
while read -r name; do
    test_operator "$name"
    cat results.txt >> operators.txt
done < names.txt
good=$(grep -c '): OK$' operators.txt) bad=$(grep -c '): FAIL$' operators.txt) || true
refused=$(grep -c '): REFUSED$' operators.txt) || true
grep '): \(FAIL\|REFUSED\)$' operators.txt | sed 's/.*\] .*   //; s/(.*: / /' | sort | uniq -c || true
echo "test-backend-ops: $good of $((good + bad)) cases passed; $refused more have a dtype that CANN's operator has not"
[ "$((good * 100))" -ge "$(((good + bad) * 98))" ]

for kind in f16 q8_0 q4_0; do
    PYTHONPATH=source/gguf-py python "$here/tests/llama/random_gguf.py" "$kind.gguf" "$kind"
    ./generate "$kind.gguf" 0 64 64 > cpu.txt
    ./generate "$kind.gguf" 99 64 64 > cann.txt
    echo "$kind: tokens a second, prompt and generation: CPU backend $(tail -n 1 cpu.txt), CANN $(tail -n 1 cann.txt)"
done
# Of weights in blocks of 8 or 4 bits the CPU backend rounds the activations too, and CANN's does not: their
# tokens part after some.
./generate f16.gguf 0 64 64 | head -n 1 > cpu.txt
./generate f16.gguf 99 64 64 | head -n 1 > cann.txt
cmp cpu.txt cann.txt
