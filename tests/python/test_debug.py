"""asnumpy.debug: on_sync tells of every wait, compare finds the operation that departs."""

import pathlib
import subprocess
import sys
import warnings

import asnumpy as np
import numpy
import pytest
from asnumpy import debug
from conftest import SINGLE_OPERATORS

rng = numpy.random.default_rng(0)
recorded = pytest.mark.skipif(
    SINGLE_OPERATORS, reason="the CPU's fallbacks wait in this run as well"
)


@pytest.fixture(autouse=True)
def ignore_again():
    yield
    debug.on_sync("ignore")


def test_modes():
    assert debug.on_sync("warn") == "ignore"
    assert debug.on_sync("error") == "warn"
    assert debug.on_sync("ignore") == "error"
    with pytest.raises(ValueError, match="mode is 'raise'; it may be 'ignore', 'warn' or 'error'"):
        debug.on_sync("raise")


WAYS = {
    "float(a[3])": "the value of an element is read",
    "a.tolist()": None,
    "numpy.asarray(a)": "the host reaches for the array's memory",
    "bool((a > 0).all())": "the value of an element is read",
    "str(a)": None,
    "np.synchronize()": "synchronize()",
    "a[numpy.argsort(numpy.arange(9))]": None,
}


@recorded
@pytest.mark.parametrize("way", WAYS)
def test_each_way_warns_where_it_is(way):
    space = {"np": np, "numpy": numpy, "a": np.ones(50_000) + 1}
    code = compile("\n\n" + way, "their_program.py", "exec")
    debug.on_sync("warn")
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        exec(code, space)
    met = [w for w in met if w.category is debug.SynchronizationWarning]
    assert len(met) >= 1
    assert (met[0].filename, met[0].lineno) == ("their_program.py", 3)
    assert str(met[0].message).startswith("synchronisation: " + (WAYS[way] or ""))
    counts = debug.sync_counts()
    assert sum(counts.values()) == len(met)
    assert {(file, line) for file, line, _ in counts} == {("their_program.py", 3)}


@recorded
def test_an_error_comes_before_the_wait_and_leaves_the_array():
    a = np.ones(50_000) * 3
    before = np.engine_stats()["programs"]
    debug.on_sync("error")
    with pytest.raises(
        RuntimeError,
        match=r"test_debug\.py:\d+, in test_an_error.*: synchronisation: the value of an element is read",
    ):
        float(a[7])
    with pytest.raises(RuntimeError, match="synchronisation"):
        numpy.asarray(a)
    with pytest.raises(RuntimeError, match=r"synchronize\(\)"):
        np.synchronize()
    assert np.engine_stats()["programs"] == before
    debug.on_sync("ignore")
    assert float(a[7]) == 3.0


@recorded
def test_warnings_that_are_errors_are_theirs():
    a = np.ones(50_000) * 3
    debug.on_sync("warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(debug.SynchronizationWarning, match="the value of an element is read"):
            float(a[7])
    debug.on_sync("ignore")
    assert float(a[7]) == 3.0


@recorded
def test_what_is_computed_is_waited_for_by_nobody():
    a, small = np.ones(50_000) * 3, np.arange(5.0)
    np.synchronize()
    debug.on_sync("error")
    assert float(a[7]) == 3.0
    assert float((small + 1).sum()) == 15.0


@recorded
def test_counts_by_line():
    debug.on_sync("warn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(4):
            float((np.ones(50_000) + i)[0])
        np.ones(50_000).tolist()
    counts = debug.sync_counts()
    assert sorted(counts.values()) == [1, 4]
    assert all(pathlib.Path(file).name == "test_debug.py" for file, _, _ in counts)
    debug.on_sync("ignore")
    debug.on_sync("warn")
    assert debug.sync_counts() == {}


def test_a_callback_may_use_arrays():
    code = (
        "import warnings, asnumpy as np\nfrom asnumpy import debug\n"
        "warnings.showwarning = lambda *a: print(float((np.ones(50_000) + 1).sum()))\n"
        "debug.on_sync('warn')\nfloat((np.ones(50_000) * 2)[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "100000.0" in done.stdout


# ---- compare


def program(a, b):
    x = np.sqrt(a) * 2 + b
    y = np.exp(x).sum(axis=0)
    z = np.concatenate([y, y]) - y.mean()
    m = a @ b.T
    z[0] = 5
    z[1:3] += 1
    s = np.linalg.solve(m + 50 * np.eye(50, dtype=m.dtype), a)
    q, r = np.divmod(np.arange(10), 3)
    order = np.argsort(z, kind="stable")
    return (
        np.where(z > 0, z, -z)[order] @ np.ones(len(z))
        + m.sum()
        + np.fft.rfft(z).real.sum()
        + s.sum()
        + (q + r).sum()
    )


@pytest.mark.parametrize("reference", ["numpy", "float64"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_sound_program_agrees(dtype, reference):
    a, b = rng.random((50, 40)).astype(dtype), rng.random((50, 40)).astype(dtype)
    found = debug.compare(program, a, b, reference=reference)
    assert found and found.departure is None, found
    assert found.operations >= 20
    assert repr(found).startswith(f"<{found.operations} operations agree with {reference}")
    expected = program(np.array(a), np.array(b))
    numpy.testing.assert_allclose(float(found.result), float(expected), rtol=1e-5)


def broken(name, index, by):
    """asnumpy's function with a wrong element."""
    right = getattr(np, name)

    def wrong(*args, **kwargs):
        result = right(*args, **kwargs)
        result[index] = float(result[index]) * (1 + by)
        return result

    return wrong


def test_the_first_operation_that_departs_is_named(monkeypatch):
    monkeypatch.setattr(np, "tanh", broken("tanh", (3, 5), 1e-3))

    def f(x):
        y = np.exp(x) - 1
        z = np.tanh(y)
        return np.log(z)

    x = rng.random((6, 7)).astype("f4")
    found = debug.compare(f, x)
    assert not found
    d = found.departure
    assert (d.operation, d.dtype, d.index) == ("tanh", "float32", (3, 5))
    assert found.operations == 3
    assert d.got == pytest.approx(d.expected * 1.001, rel=1e-5)
    assert 1000 < d.ulp < 20_000 and d.bound == pytest.approx(2.1 + 4)
    assert pathlib.Path(d.line.rsplit(":", 1)[0]).name == "test_debug.py"
    assert repr(found).startswith("<operation 3, tanh (float32) at ") and "index (3, 5) is" in repr(
        found
    )


def test_exact_operations_must_be_equal(monkeypatch):
    monkeypatch.setattr(np, "add", broken("add", (2,), 2.0**-52))
    found = debug.compare(lambda x: np.add(x, 1.0), np.ones(5))
    assert found.departure.index == (2,) and found.departure.bound == 0
    assert "should be equal" in repr(found)


def test_float64_shows_what_numpy_rounds_too():
    x = rng.random(20_000).astype("f2")

    def f(x):
        return np.add.reduce(x, dtype=np.float16)

    near = debug.compare(f, x)
    far = debug.compare(f, x, reference="float64")
    assert near.operations == far.operations == 1
    assert far.worst[0] >= near.worst[0]


def test_what_is_wrong_with_the_call_is_said():
    with pytest.raises(ValueError, match="reference is 'torch'; it may be 'numpy' or 'float64'"):
        debug.compare(np.sin, np.ones(3), reference="torch")
    with pytest.raises(TypeError, match="compare takes a function, got int"):
        debug.compare(3)
    with pytest.raises(ValueError):
        debug.compare(lambda a, b: a + b, np.ones(3), np.ones(4))
