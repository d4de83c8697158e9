"""The functions of the namespace against NumPy: one table of expressions over a few arrays."""

import operator

import asnumpy
import numpy as np
import pytest
from function_expressions import EXPRESSIONS, VALUES
from hypothesis import given
from hypothesis import strategies as st
from oracle import same


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text):
    names = [n for n in VALUES if n in text]

    def run(np_, *arrays):
        return eval(text, {"np": np_, **dict(zip(names, arrays, strict=True))})

    same(run, *[VALUES[n].copy() for n in names], ulp=16, where=text)


STATEMENTS = {
    "put": "np.put(a, [0, 5], [9, 8])",
    "put_mode": "np.put(a, [0, 99], 7, mode='clip')",
    "putmask": "np.putmask(a, a > 0, [1, 2])",
    "place": "np.place(a, a > 0, [7, 8, 9])",
    "copyto": "np.copyto(a, b, where=a > 0)",
    "copyto_scalar": "np.copyto(a, 3)",
    "copyto_casting": "np.copyto(k, v[:1], casting='unsafe')",
    "copyto_refused": "np.copyto(k, 2.5)",
    "fill_diagonal": "np.fill_diagonal(a, 5)",
    "put_along_axis": "np.put_along_axis(a, np.array([[0], [1], [2]]), 9, axis=1)",
    "itemset": "a[1, 2] = 7",
    "resize": "a.resize((2, 3), refcheck=False)",
    "sort": "a.sort(axis=0)",
    "shape": "a.shape = (4, 3)",
    "real": "z.real = 5",
    "imag": "z.imag[...] = [1, 2, 3, 4]",
    "flat": "a.flat = [1, 2]",
    "add_at": "np.add.at(v, [0, 0, 1], 1)",
    "fill": "a.fill(2)",
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_statement(name):
    names = [n for n in VALUES if n in STATEMENTS[name].replace("np.", "")]

    def run(np_, *arrays):
        scope = {"np": np_, **dict(zip(names, arrays, strict=True))}
        exec(STATEMENTS[name], scope)
        return [scope[n] for n in names]

    same(run, *[VALUES[n].copy() for n in names], where=name)


def test_invalid_tolerances_warn():
    for np_ in (asnumpy, np):
        with pytest.warns(
            RuntimeWarning, match="One of rtol or atol is not valid, atol: inf, rtol: 1"
        ):
            np_.isclose(np_.arange(3.0), 1, atol=np.inf, rtol=1)


@given(st.data())
def test_pieces_that_do_not_fit(data):
    """NumPy's words for arrays that cannot be joined, or its result; an extent of one is no wildcard."""
    first = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    shapes = [first]
    for _ in range(data.draw(st.integers(1, 3))):
        shape = list(first)
        shape[data.draw(st.integers(0, len(shape) - 1))] = data.draw(st.integers(0, 3))
        shapes.append(shape[1:] if data.draw(st.integers(0, 9)) == 0 else shape)
    axis = data.draw(st.integers(0, len(first) - 1))
    told = []
    for np_ in (np, asnumpy):
        pieces = [np_.arange(float(np.prod(s))).reshape(s) for s in shapes]
        try:
            told.append(np.asarray(np_.concatenate(pieces, axis)).tolist())
        except ValueError as error:
            told.append((type(error).__name__, str(error)))
    assert told[1] == told[0], shapes


def test_sequence_concatenation_is_refused():
    with pytest.raises(TypeError):
        operator.concat(asnumpy.zeros(2), asnumpy.zeros(2))


def test_subclasses_are_kept():
    class Own(asnumpy.ndarray):
        pass

    a = asnumpy.eye(3).view(Own)
    for made in (
        asnumpy.median(a, axis=0), asnumpy.nansum(a), asnumpy.insert(a, 0, 1), asnumpy.delete(a, 0),
        asnumpy.percentile(a, 50, axis=0), asnumpy.unique(a, return_counts=True)[0],
        asnumpy.broadcast_to(a, (2, 3, 3), subok=True),
    ):  # fmt: skip
        assert type(made) is Own
    assert type(asnumpy.broadcast_to(a, (2, 3, 3))) is asnumpy.ndarray


def test_names_are_complete():
    tier_one = "abs all allclose amax any arange array asarray concatenate diag exp eye full hstack"
    assert all(hasattr(asnumpy, n) for n in tier_one.split())
    assert set(dir(asnumpy)) >= set(asnumpy.__all__)
