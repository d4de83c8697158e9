#!/usr/bin/env bash
# A newcomer's first hour with one Python: copies what git lists here, as a clone has it, into build/newcomer, installs the package
# from the copy with pip into an environment of its own, as the README says, imports it in another folder, and runs a minute of the
# Python suite there. Prints pytest's closing line and exits with its status.
#
# usage: tools/newcomer.sh PYTHON [NUMPY [PYTEST ARGUMENT ...]]
#   NUMPY: a requirement of pip's, for the build and for the tests: 'numpy==2.1.0'; "" leaves pip the choice
#
# WHEEL=FILE installs that wheel instead, with no compiler to be found (PATH is the environment's bin and /bin's few tools).
set -euo pipefail
python=$(command -v "$1") numpy=${2:-numpy}
shift $(($# > 1 ? 2 : 1))
wheel=${WHEEL:+$(realpath "$WHEEL")}
cd "$(dirname "$0")/.."
version=$("$python" -c 'import sys, sysconfig
print("%d.%d" % sys.version_info[:2] + "t" * bool(sysconfig.get_config_var("Py_GIL_DISABLED")))')
home=$PWD/build/newcomer/$version
rm -rf "$home"
mkdir -p "$home/clone" "$home/elsewhere"
git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2>/dev/null | tar -cf - -T - | tar -xf - -C "$home/clone"
"$python" -m venv "$home/venv"

# PIP_CONSTRAINT holds for the isolated build, too.
echo "$numpy" >"$home/constraint.txt"
PIP_CONSTRAINT=$home/constraint.txt "$home/venv/bin/python" -m pip install -q "${wheel:-$home/clone}" \
    pytest 'hypothesis>=6.100,<7'
cd "$home/elsewhere"
if [ -n "$wheel" ]; then
    mkdir "$home/bin"
    for tool in sh env cat ls rm mkdir uname; do ln -s "$(command -v "$tool")" "$home/bin"; done
    export PATH=$home/venv/bin:$home/bin
fi
"$home/venv/bin/python" - <<'END'
import sys
import asnumpy as np
assert "ml_dtypes" not in sys.modules
assert np.__file__.startswith(sys.prefix), np.__file__
a = np.linspace(0, 1, 1_000_001)
print("newcomer: Python", sys.version.split()[0], "NumPy", sys.modules["numpy"].__version__, "asnumpy", np.__version__,
      "pi", float(4 * np.sqrt(1 - a * a).mean()), np.ones(2, np.bfloat16).dtype)
END
cd "$home/clone"
[ $# -gt 0 ] || set -- tests/python/test_{ufuncs,indexing,jit,jit_host,dlpack_in,threads,random,settings}.py
exec "$home/venv/bin/python" -m pytest -q -p no:cacheprovider "$@"
