"""pytest's plugin of `python -m asnumpy -m pytest`: the mode, in each of its processes."""

from _pytest.assertion import rewrite

from . import install
from ._workers import options_of_environment, record, stage_tests

stage_tests(rewrite, install(**options_of_environment()))
_recorder = record()  # a worker's: the first process has its own


def pytest_sessionfinish():
    """Before the worker tells that it has finished: the first process ends soon after that."""
    if _recorder is not None:
        _recorder.leave()
