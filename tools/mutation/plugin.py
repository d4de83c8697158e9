"""A pytest plugin: what each test runs (with cover.c), and hypothesis without its shrinking.

MUTATION_COVER names the library made of cover.c, MUTATION_OUT the JSON file to write; without them
only hypothesis is told to stop at the first failure it finds.
"""

import contextlib
import ctypes
import json
import os
import time

import hypothesis
import pytest

MOST = 1 << 18
TESTS, NOT_PASSED = [], set()
LIBRARY = os.environ.get("MUTATION_COVER")


def pytest_collection_finish():
    """After conftest.py has chosen its profile: no shrinking, no database."""
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile(
        "mutants", hypothesis.settings.default, phases=phases, database=None
    )
    hypothesis.settings.load_profile("mutants")


if LIBRARY:
    cover = ctypes.CDLL(LIBRARY)
    cover.cover_take.restype = ctypes.c_size_t
    cover.cover_take.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    addresses = (ctypes.c_size_t * MOST)()

    def take():
        return addresses[: cover.cover_take(addresses, MOST)]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(item):
        take()
        began = time.perf_counter()
        yield
        TESTS.append((item.nodeid, time.perf_counter() - began, take()))

    def pytest_runtest_logreport(report):
        if report.outcome != "passed":
            NOT_PASSED.add(report.nodeid)

    def pytest_sessionfinish():
        """Addresses become offsets into the libraries they lie in."""
        spans = []
        with open("/proc/self/maps") as maps:
            for line in maps:
                fields = line.split(maxsplit=5)
                if len(fields) == 6 and ".so" in fields[5]:
                    begin, end = (int(x, 16) for x in fields[0].split("-"))
                    spans.append((begin, end, int(fields[2], 16), fields[5].strip()))
        places = {}
        for pc in {pc for _, _, pcs in TESTS for pc in pcs}:
            with contextlib.suppress(StopIteration):
                begin, _, offset, path = next(s for s in spans if s[0] <= pc < s[1])
                places[pc] = (path, pc - begin + offset)
        tests = [
            (name, seconds, [pc for pc in pcs if pc in places])
            for name, seconds, pcs in TESTS
            if name not in NOT_PASSED
        ]
        with open(os.environ["MUTATION_OUT"], "w") as out:
            json.dump({"places": places, "tests": tests}, out)
