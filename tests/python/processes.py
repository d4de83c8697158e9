"""Programs in processes of their own, for tests of what a whole process holds."""

import os
import subprocess
import sys


def fresh(code, more=None):
    """What the code prints in a process of its own, with more in its environment."""
    environment = {**os.environ, **(more or {})}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
