"""The mode of `python -m asnumpy` in processes that a program starts: multiprocessing's children, pytest's workers."""

import pytest
from auto_programs import checked, make_place, run, script

place = pytest.fixture(scope="module")(make_place)


CHILDREN = """
import multiprocessing as mp
import numpy as np

def where(x):
    import asnumpy
    return type(np.zeros(1)) is asnumpy.ndarray, type(x).__module__, float(np.sum(x))

if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        with mp.get_context(method).Pool(1) as pool:
            print(pool.map(where, [np.ones(3)]))
"""


def test_children_have_the_mode(place):
    name = script(place, "children.py", CHILDREN)
    assert checked(run(place, name)) == "[(True, 'numpy', 3.0)]\n" * 3


SERVED = """
import multiprocessing as mp
import multiprocessing.spawn

sent = mp.spawn.get_preparation_data
seen = []

def ensure_running():          # a program's own function of that name
    return mp.spawn.get_preparation_data("own")

def around(name):              # as coverage.py has one
    data = sent(name)
    seen.append("init_main_from_path" in data)
    return data

if __name__ == "__main__":
    assert "init_main_from_path" in ensure_running()
    mp.spawn.get_preparation_data = around
    with mp.get_context("forkserver").Pool(1) as pool:
        assert pool.map(abs, [-1]) == [1]
    print(seen)  # what the child is sent, then what the server is
"""


def test_only_the_fork_server_does_not_import_the_program(place):
    name = script(place, "served.py", SERVED)
    assert checked(run(place, name)) == "[True, False]\n"


SENT = """
import pickle, sys
import cloudpickle, somelib, numpy as np

def f(x):
    return somelib.given(x), type(np.zeros(1)).__module__, somelib.pair(2)[0].sum()

assert f(np.ones(2)) == ([True], "numpy", 1)
sys.stdout.buffer.write(cloudpickle.dumps(f))
"""


def test_functions_that_are_sent_work_without_the_mode(place):
    pytest.importorskip("cloudpickle")
    name = script(place, "sent.py", SENT)
    there = "import pickle, sys, numpy; print(pickle.load(open('sent.bin', 'rb'))(numpy.ones(2)))"
    run(place, "-c", f"""
import subprocess, sys
with open("sent.bin", "wb") as file:
    subprocess.run([sys.executable, "-m", "asnumpy", {name!r}], stdout=file, check=True)
""", plain=True)  # fmt: skip
    assert checked(run(place, "-c", there, plain=True)) == "([True], 'numpy', np.int64(1))\n"


TESTS = """
import numpy as np, asnumpy, somelib, pytest

@pytest.fixture
def a():
    return np.arange(3)

@pytest.mark.parametrize("x", [np.ones(2), np.zeros(3)])
def test_one(a, x, tmp_path):
    assert type(a) is asnumpy.ndarray and type(x) is asnumpy.ndarray
    assert somelib.given(a) == [True]

def test_two(a):
    assert somelib.same(a.sum(), 4)

def test_three():
    with pytest.raises(ValueError, match="in the library"):
        somelib.fail(np.ones(2))
    np.testing.assert_array_equal(np.arange(3), [0, 1, 2])
"""


@pytest.mark.parametrize("processes", ["0", "2"])
def test_pytest(place, processes):
    script(place, "test_some.py", TESTS)
    done = run(
        place, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", processes, "test_some.py"
    )
    assert "1 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    assert "where False = <function same" in done.stdout and "__asnumpy" not in done.stdout
