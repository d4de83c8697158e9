#!/usr/bin/env bash
# Brings what a fresh Debian/Ubuntu machine lacks: a compiler, zlib, Python with venv, ccache, cppcheck, valgrind (apt-get, as root or through sudo), and a
# .venv with the build and test tools, pinned by range. Arguments are further programs, by the names of their packages. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."

need=()
command -v gcc >/dev/null || need+=(gcc libc6-dev)
command -v g++ >/dev/null || need+=(g++)
echo '#include <zlib.h>' | gcc -E - >/dev/null 2>&1 || need+=(zlib1g-dev)
command -v pkg-config >/dev/null || need+=(pkg-config)
command -v make >/dev/null || need+=(make)
command -v git >/dev/null || need+=(git)
command -v ccache >/dev/null || need+=(ccache)
command -v cppcheck >/dev/null || need+=(cppcheck)
command -v valgrind >/dev/null || need+=(valgrind)
command -v python3 >/dev/null || need+=(python3)
python3 -c 'import venv, ensurepip' 2>/dev/null || need+=(python3-venv)
python3 - <<'EOF' 2>/dev/null || need+=(python3-dev)
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))
EOF
for program in "$@"; do command -v "$program" >/dev/null || need+=("$program"); done

if [ ${#need[@]} -gt 0 ]; then
    echo "bootstrap: installing ${need[*]}"
    sudo=""
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || { echo "bootstrap: needs root or sudo to install ${need[*]}" >&2; exit 1; }
        sudo="sudo"
    fi
    export DEBIAN_FRONTEND=noninteractive
    $sudo apt-get update -qq
    $sudo apt-get install -y -qq --no-install-recommends "${need[@]}"
fi

[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/python -m pip install --quiet --upgrade 'pip>=24'
.venv/bin/python -m pip install --quiet --group dev
# The distribution's name until asnumpy-ascend: its record would claim the same files.
.venv/bin/python -m pip uninstall --quiet --yes asnumpy 2>/dev/null
# PyTorch is the oracle of the operators' tests; the second index has it without CUDA. Where that cannot be reached it is not asked twice.
.venv/bin/python -m pip install --quiet --retries 0 --extra-index-url https://download.pytorch.org/whl/cpu --group oracle
