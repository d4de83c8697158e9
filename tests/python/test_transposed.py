"""What reads transposed views of recorded arrays, and reductions along the first axis of what is computed. NumPy is the
oracle."""

import asnumpy as np
import numpy
import pytest
from conftest import SINGLE_OPERATORS
from hypothesis import assume, given, settings
from hypothesis import strategies as st


def close(got, want):
    got = numpy.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    size = float(numpy.abs(want).max(initial=1)) if want.dtype.kind == "f" else 0
    eps = numpy.finfo(want.dtype).eps if want.dtype.kind == "f" else 0
    numpy.testing.assert_allclose(got, want, rtol=200 * eps, atol=200 * eps * size)


@pytest.mark.skipif(SINGLE_OPERATORS, reason="every operation is a program of its own")
@pytest.mark.parametrize("text", ["(x - 1).T.max(axis=0)", "(x * 2).T + 1", "(x * 2).T.sum(axis=1, keepdims=True)",
                                  "(c * 2).transpose(2, 0, 1) - c.transpose(2, 0, 1)"])  # fmt: skip
def test_readers_share_the_program(text):
    x, c = np.random.rand(80, 70), np.random.rand(20, 30, 40)
    np.synchronize()
    recorded = eval(text, {"x": x, "c": c})
    assert np.explain(recorded).count("program ") == 1


@pytest.mark.skipif(SINGLE_OPERATORS, reason="every operation is a program of its own")
@pytest.mark.parametrize(
    "text", ["np.add((x * 3).T, y * 2, out=o.T)", "np.add((s * 2)[:70, :80], (x * 3).T, out=o.T)"]
)
def test_which_operand_is_followed(text):
    """One that is read in order, else one that is turned; a part of an array is neither."""
    host = {
        "x": numpy.random.rand(80, 70),
        "y": numpy.random.rand(70, 80),
        "s": numpy.random.rand(90, 90),
    }
    names = {name: np.array(values) for name, values in host.items()}
    names["o"], host["o"] = np.zeros((80, 70)), numpy.zeros((80, 70))
    np.synchronize()
    recorded = eval(text, {"np": np, **names})
    shape = "(70,80)" if "y" in text else "(80,70)"
    assert f"program 2: 2 operations over {shape}" in np.explain(recorded)
    close(recorded, eval(text, {"np": numpy, **host}))


ENDS = ["t + 1", "t.sum(0)", "t.sum(-1)", "t.max(0) - t.min(-1).sum()", "t.sum((0, -1))", "(t * t).mean(0, keepdims=True)",
        "t + u", "(t + u.T) * 2", "t @ t[0]", "t[1:] - t[:-1]", "t.std(0)", "np.where(t > u, t, 0).sum(0)"]  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.sampled_from([(70, 90), (3, 2000), (2000, 3), (1, 3000), (64, 64)]), st.sampled_from(ENDS),
       st.sampled_from(["f4", "f8", "i4"]), st.booleans(), st.booleans(), st.integers(0, 10**6))  # fmt: skip
def test_matrices(shape, end, dtype, turned, in_place, seed):
    rng = numpy.random.default_rng(seed)
    a = (rng.random(shape) * 9).astype(dtype)
    b = (rng.random(shape) * 9).astype(dtype)

    def program(xp):
        x, y = xp.array(a), xp.array(b)
        t = (x.T * 2 + y.T).T if turned else x * 2 + y
        t, u = t.T, y.T * 3
        if in_place:
            u += t
            t -= u.T[: t.shape[1]].T
        return [eval(end, {"t": t, "u": u, "np": xp}), t, u]

    assume(shape[0] == shape[1] or "u.T" not in end)
    for got, want in zip(program(np), program(numpy), strict=True):
        close(got, numpy.asarray(want))


@settings(max_examples=60, deadline=None)
@given(
    st.permutations(range(3)), st.permutations(range(3)), st.integers(0, 2), st.integers(0, 10**6)
)
def test_three_axes(first, second, axis, seed):
    rng = numpy.random.default_rng(seed)
    a = rng.random((11, 13, 17))

    def program(xp):
        x = xp.array(a)
        t = (x.transpose(first) * 2 - 1).transpose(second)
        return [t + 1, t.sum(axis), (t * t).max(axis), (t + t).transpose(first).sum((0, 2)), t]

    for got, want in zip(program(np), program(numpy), strict=True):
        close(got, want)


COMPUTED = ["np.exp(x)", "x * y", "np.sqrt(x) + y", "x > y", "np.log(x) * 2", "(x - y) ** 2", "np.abs(x)", "np.where(x > 1, x, y)",
            "x * w", "np.sin(x * 1e6)"]  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(st.integers(1, 30), st.integers(1, 1300), st.sampled_from(COMPUTED), st.sampled_from(["sum", "max", "min", "prod", "any"]),
       st.sampled_from(["f4", "f8"]), st.sampled_from([0, 0, 3]), st.integers(0, 10**6))  # fmt: skip
def test_first_axis_of_computed(rows, columns, text, reduction, dtype, odd, seed):
    """Rows are computed several at a time; odd elements (beyond a function's range, infinite, NaN) one row at a time."""
    rng = numpy.random.default_rng(seed)
    a, b = (rng.random((rows, columns)).astype(dtype) + 0.5 for _ in range(2))
    w = rng.random((rows, 1)).astype(dtype) + 0.5
    for value in [numpy.inf, numpy.nan, 3e38, -1.0, 0.0][: 5 if odd else 0]:
        for x in (a, b):
            x[rng.integers(rows), rng.integers(columns)] = value

    def program(xp):
        names = {"x": xp.array(a), "y": xp.array(b), "w": xp.array(w), "np": xp}
        return getattr(eval(text, names), reduction)(axis=0)

    with numpy.errstate(all="ignore"), np.errstate(all="ignore"):
        got, want = numpy.asarray(program(np)), program(numpy)
    finite = numpy.isfinite(want) if want.dtype.kind == "f" else numpy.ones(want.shape, bool)
    numpy.testing.assert_array_equal(got[~finite], want[~finite])
    eps = 0 if want.dtype.kind != "f" else (4 + rows) * 4 * float(numpy.finfo(want.dtype).eps)
    size = (
        numpy.abs(want[finite]).max(initial=0)
        if reduction in ("sum", "prod") and text == "np.sin(x * 1e6)"
        else 0
    )
    numpy.testing.assert_allclose(got[finite], want[finite], rtol=eps, atol=size * eps)


@pytest.mark.skipif(SINGLE_OPERATORS, reason="single operators report no exceptions")
@pytest.mark.parametrize("reduction", ["sum", "max"])
def test_conditions_are_the_programs(reduction):
    x = numpy.full((9, 700), 1.5)
    x[5, 600] = -1.0
    a = np.array(x)
    with pytest.warns(RuntimeWarning, match="invalid value"):
        got = getattr(np.sqrt(a) * 2, reduction)(axis=0)
        got = numpy.asarray(got)
    assert numpy.isnan(got[600]) and not numpy.isnan(got[:600]).any()
