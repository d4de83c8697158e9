"""Adapters wait for libraries' imports, and never make one fail."""

import subprocess
import sys

PROGRAM = """
import sys, types, unittest.mock, warnings
sys.modules["cv2"] = unittest.mock.MagicMock(spec=[])  # as tests of others put one there
sys.path.insert(0, sys.argv[1])
import asnumpy
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import einops  # without what its adapter asks for
assert einops.value == 3 and einops.__spec__.loader.__class__.__name__ == "SourceFileLoader"
assert [w.category for w in told] == [RuntimeWarning], told
assert "not known to einops" in str(told[0].message)
"""


def test_a_library_that_cannot_be_adapted(tmp_path):
    (tmp_path / "einops.py").write_text("value = 3\n")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
