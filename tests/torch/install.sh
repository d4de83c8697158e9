#!/usr/bin/env bash
# torch_npu, as others built it, into a folder of its own beside .venv: PyTorch finds it by that folder's presence on
# PYTHONPATH, so that nothing else here loads it. usage: install.sh PYTHON FOLDER
set -euo pipefail
python=$1 folder=$2
rm -rf "$folder"
"$python" -m pip install --quiet --no-deps --target "$folder" "torch-npu==2.13.0" "pyyaml>=6,<7" "expecttest>=0.2,<1"
touch "$folder/.ready"
