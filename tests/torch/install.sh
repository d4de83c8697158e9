#!/usr/bin/env bash
# torch_npu, as others built it, and transformers, which examples use, into a folder of its own beside .venv: PyTorch finds torch_npu by
# that folder's presence on PYTHONPATH, so that nothing else here loads it. usage: install.sh PYTHON FOLDER
#
# torch may be the build for CPUs or, which PyPI has for x86-64, the one for CUDA (asnumpy.acl preloads what that needs). On
# x86-64 all tests passed with Python 3.11 and the one, 3.12 and 3.13 and the other; with 3.10 and the other those marked smoke did.
#
# It fails where the wheels cannot be had. Only where nobody made any (other processors, other Pythons than 3.10 to 3.13) or where this
# was never tried (aarch64, if pip fails there) does it write the reason to FOLDER/.skipped, which the tests print, and end well.
set -euo pipefail
python=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"

skip() {
    echo "install.sh: PyTorch for Ascend is not tested here: $1" | tee "$folder/.skipped" >&2
    touch "$folder/.ready"
    exit 0
}

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') machine=$(uname -m)
case $version in
3.10 | 3.11 | 3.12 | 3.13) ;;
*) skip "torch-npu 2.13.0 has no wheel for Python $version" ;;
esac
case $machine in
x86_64 | aarch64) ;;
*) skip "torch-npu 2.13.0 has no wheel for $machine" ;;
esac

fetch() { "$python" -m pip install --quiet --no-deps --target "$folder" "$@"; }
# What transformers needs and the environment has (numpy, tqdm, ...) is not installed a second time.
missing() {
    "$python" -m pip install --quiet --dry-run --report - "transformers>=5.20,<6" |
        "$python" -c 'import json, sys
for item in json.load(sys.stdin)["install"]: print(item["metadata"]["name"] + "==" + item["metadata"]["version"])'
}
all() { fetch "torch-npu==2.13.0" "pyyaml>=6,<7" "expecttest>=0.2,<1" && missing >"$folder/.missing" && fetch -r "$folder/.missing"; }
if ! all; then
    [ "$machine" = x86_64 ] || skip "pip did not install torch-npu 2.13.0 and transformers on $machine"
    echo "install.sh: pip could not install torch-npu 2.13.0 and transformers into $folder; without them PyTorch for Ascend is not tested" >&2
    exit 1
fi
touch "$folder/.ready"
