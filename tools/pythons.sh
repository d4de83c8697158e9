#!/usr/bin/env bash
# The CPythons from 3.10 on that are here, on PATH or pyenv's, one path a line, oldest first; those that are not are named on standard error.
set -euo pipefail
for version in 3.10 3.11 3.12 3.13 3.14; do
    found=""
    for python in "$(command -v "python$version" || true)" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python; do
        # (a shim of pyenv's names another program, or none)
        [ -x "$python" ] || continue
        found=$("$python" -c 'import venv, ensurepip, sys
print(sys.executable if sys.argv[1] == "%d.%d" % sys.version_info[:2] else "")' "$version" 2>/dev/null || true)
        [ -z "$found" ] || break
    done
    if [ -n "$found" ]; then echo "$found"; else echo "pythons: no Python $version with venv here; skipped" >&2; fi
done
