"""Every elementwise operator in every floating dtype and layout against its own expression in float64, and in integers."""

import ast
import warnings

import numpy as np
import pytest
from aclnn import AclError, run
from oracle import BF16, every, laid, near
from test_rows import EXPRESSIONS, INTEGER, RNG, value_of

SHAPE = (3, 5)
FLOATS = [op for op in EXPRESSIONS if not any(word in op.name for word in INTEGER)]
WHOLE = [np.dtype(t) for t in (np.int64, np.int32, np.int16, np.int8, np.uint8, bool)]


def tensor(op, param, dtype):
    if param.name == "condition":
        return RNG.random(SHAPE) < 0.5
    if dtype.kind in "iub":
        low = 1 if "Reciprocal" in op.name else 0  # what 1 // 0 is depends on the dtype's width
        return RNG.integers(low, 2 if dtype.kind == "b" else 9, SHAPE).astype(dtype)
    return (RNG.random(SHAPE) * 0.75 + 0.125).astype(dtype)


def arguments(op, dtype, layout, number):
    """What the operator gets, and what its expression does, in float64 or int64."""
    given, known = [], {}
    for p in op.params:
        if p.kind == "O":
            given.append(None)
            continue
        if p.kind in "TR":
            a = laid(tensor(op, p, dtype), layout)
            given.append(a)
            real = dtype.kind == "f" or dtype == BF16
            known[p.name] = a.astype(
                np.float64 if real else np.int64 if dtype.kind in "iu" else bool
            )
            if p.name == "condition":
                known[p.name] = a.copy()
        else:
            given.append(
                number
                if p.kind == "S"
                else 0.25
                if p.kind == "f"
                else True
                if "bool" in p.text
                else 0
            )
            known[p.name] = given[-1]
    return given, known


def call(op, given, want, dtype, layout):
    """Runs the operator into outputs of `dtype`; returns the result."""
    out = None
    for i, p in enumerate(op.params):
        if p.kind == "O":
            out = given[i] = laid(np.full(want.shape, 1).astype(dtype), layout)
        elif p.kind == "R":
            out = given[i]
    run(op.name[len("aclnn") :], *given)
    return out


@pytest.mark.parametrize("op", FLOATS, ids=lambda op: op.name)
def test_floats(op):
    for dtype, layout in every():
        check_floats(op, dtype, layout)


def check_floats(op, dtype, layout):
    given, known = arguments(op, dtype, layout, 0.75)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = np.asarray(value_of(ast.parse(op.exprs[0], mode="eval").body, known))
    got = call(op, given, want, dtype if want.dtype == np.float64 else want.dtype, layout)
    if want.dtype.kind == "f" and got.dtype.kind not in "iub":
        near(got, want, 4)
    else:
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("op", EXPRESSIONS, ids=lambda op: op.name)
def test_integers(op):
    for dtype in WHOLE:
        check_integers(op, dtype)


def check_integers(op, dtype):
    """Where NumPy has an integer result, and the operator takes the dtype."""
    given, known = arguments(op, dtype, "turned", True if dtype.kind == "b" else 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            want = np.asarray(value_of(ast.parse(op.exprs[0], mode="eval").body, known))
        except TypeError:
            return
    if want.dtype.kind not in "iub":
        return
    try:
        got = call(op, given, want, want.dtype if want.dtype == bool else dtype, "turned")
    except AclError as error:
        assert error.code == 161002, error
        return
    np.testing.assert_array_equal(got, want.astype(got.dtype))


@pytest.mark.parametrize("dtype", [d for d in WHOLE if d.kind != "b"], ids=str)
def test_reciprocals_of_integers(dtype):
    """Of floats where the output is, as PyTorch's; test_integers compares the others."""
    x = np.array([[1, 3, 4, 0]]).astype(dtype)
    out = np.zeros(x.shape, np.float32)
    run("Reciprocal", x, out)
    np.testing.assert_array_equal(out, np.array([[1, np.float32(1) / 3, 0.25, np.inf]], np.float32))
