"""include/asnumpy/graph.h: a program captured once gives the same of other arrays; what differs is refused."""

import ctypes
import subprocess

import numpy as np
import pytest
from face import DTYPES, Failure, array, axes, c, extents, many, operands, ufunc


class Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("launches", "programs", "operators", "copies")] + [
        ("temporary_bytes", ctypes.c_int64), ("result_bytes", ctypes.c_int64)]  # fmt: skip


def handles(arrays):
    return (ctypes.c_void_p * max(1, len(arrays)))(*[a.handle for a in arrays])


def capture(function, *args):
    """(graph, the results of the capture itself)"""
    views = many("capture_begin", len(args), handles(args), count=len(args))
    try:
        results = function(*views)
    except BaseException:
        c.capture_abort()
        raise
    graph = ctypes.c_void_p()
    c.capture_end(len(results), handles(results), ctypes.byref(graph))
    return graph, results


def run(graph, args, count):
    return many("graph_run", graph, len(args), handles(args), count, count=count)


def explain(graph):
    text = ctypes.c_void_p()
    c.graph_explain(graph, ctypes.byref(text))
    said = ctypes.string_at(text).decode()
    c.free_text(text)
    return said


def program(x, y):
    z = ufunc("add", ufunc("multiply", x, y), x)
    return [z, c.sum(z, 1, axes(0), 0), c.matmul(c.transpose(z, None), z)]


def expected(x, y):
    z = x * y + x
    return [z, z.sum(0), z.T @ z]


def test_runs_draw_anew():
    """The program's generator goes on, and lives as long as the graph does."""
    theirs, one, x = np.random.default_rng(5), extents(4), np.arange(4.0)
    kept = [c.rng_new("PCG64", 5)]

    def noisy(x):
        noise = c.rng_normal(kept[0], 2.0, 3.0, 1, one)
        return [ufunc("add", x, noise), c.rng_permutation(kept[0], 6)]

    graph, first = capture(noisy, array(x))
    mine = c.rng_random(kept[0], DTYPES["float64"], 1, one).numpy()
    kept.clear()
    for got in (first, run(graph, [array(x)], 2), run(graph, [array(x)], 2)):
        np.testing.assert_array_equal(got[0].numpy(), x + theirs.normal(2, 3, 4))
        np.testing.assert_array_equal(got[1].numpy(), theirs.permutation(6))
        if got is first:
            np.testing.assert_array_equal(mine, theirs.random(4))
    assert "host" in explain(graph)
    c.graph_release(graph)


@pytest.mark.parametrize("n", [4, 400])
def test_runs_are_the_program(n):
    rng = np.random.default_rng(3)

    def make():
        return rng.random((n, 5)), rng.random((n, 5))

    x, y = make()
    graph, first = capture(program, array(x), array(y))
    for got, want in zip(first, expected(x, y), strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)
    for _ in range(3):
        x, y = make()
        for got, want in zip(run(graph, [array(x), array(y)], 3), expected(x, y), strict=True):
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)
    counts = Counts()
    c.graph_count(graph, ctypes.byref(counts))
    assert counts.launches == counts.programs + counts.operators + counts.copies >= 2
    assert counts.result_bytes == 8 * (5 * n + 5 + 25)
    assert "argument 0" in explain(graph) and "result 2" in explain(graph)
    c.graph_release(graph)
    c.graph_release(None)


def test_writes_and_views():
    def update(x):
        c.ufunc_into("add", 2, operands(x, 1.5), 1, handles([x]), None)
        return [c.transpose(x, None)]

    graph, _ = capture(update, array(np.zeros((2, 3))))
    a = array(np.arange(6.0).reshape(2, 3))
    (view,) = run(graph, [a], 1)
    assert (a.numpy() == np.arange(6.0).reshape(2, 3) + 1.5).all()
    assert (view.numpy() == a.numpy().T).all()
    run(graph, [a], 1)
    assert (view.numpy() == np.arange(6.0).reshape(2, 3).T + 3).all()  # it shows the argument
    c.graph_release(graph)


def test_refusals():
    x, y = array(np.ones((3, 4))), array(np.ones((3, 4)))
    graph, _ = capture(lambda x, y: [ufunc("add", x, y)], x, y)
    for kind, message, args, count in [
        (
            "TypeError",
            "argument 1 has dtype float32, the captured one float64",
            [x, array(np.ones((3, 4), "f4"))],
            1,
        ),
        (
            "ValueError",
            r"argument 0 has shape \(4,3\), the captured one \(3,4\)",
            [array(np.ones((4, 3))), y],
            1,
        ),
        (
            "ValueError",
            r"argument 1 has strides \(8,24\)",
            [x, c.transpose(array(np.ones((4, 3))), None)],
            1,
        ),
        ("ValueError", "arguments 0 and 1 do not share memory as", [x, x], 1),
        ("ValueError", "1 arguments and 1 results; it was captured with 2 and 1", [x], 1),
        ("ValueError", "2 arguments and 2 results", [x, y], 2),
    ]:
        with pytest.raises(Failure, match=message) as failure:
            run(graph, args, count)
        assert failure.value.kind == kind
    c.graph_release(graph)
    for call, message in [
        (
            lambda: capture(lambda v: [ufunc("add", v, x)], x),
            "an array that is no argument of the capture shares",
        ),
        (
            lambda: capture(
                lambda v: [v][c.get_double(v, extents(1, 1), ctypes.byref(ctypes.c_double())) :], x
            ),
            "the value of an element is read",
        ),
        (
            lambda: capture(lambda v: capture(lambda w: [w], v)[1], x),
            "a capture is open on this thread",
        ),
        (lambda: c.capture_end(0, None, ctypes.byref(ctypes.c_void_p())), "no capture is open"),
        (lambda: many("capture_begin", -1, None, count=0), "there are -1 args"),
    ]:
        with pytest.raises(Failure, match=message):
            call()
    c.capture_abort()
    assert (ufunc("add", x, y).numpy() == 2).all()


def test_constants_are_memory():
    scale = array(np.full(3, 2.0))
    graph, _ = capture(lambda x: [ufunc("multiply", x, scale)], array(np.ones(3)))
    c.ufunc_into("add", 2, operands(scale, 1.0), 1, handles([scale]), None)
    (got,) = run(graph, [array(np.arange(3.0))], 1)
    assert got.numpy().tolist() == [0, 3, 6]
    with pytest.raises(Failure, match="shares memory with an array that was none"):
        run(graph, [scale], 1)
    c.graph_release(graph)


FLAGS = ["-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared"]


def source(graph):
    text = ctypes.c_void_p()
    c.graph_source(graph, ctypes.byref(text))
    said = ctypes.string_at(text).decode() if text else None
    c.free_text(text)
    return said


def table(text, folder, name):
    (folder / f"{name}.c").write_text(text)
    library = folder / f"{name}.so"
    subprocess.run(["cc", *FLAGS, folder / f"{name}.c", "-o", library, "-lm"], check=True)
    return ctypes.addressof(ctypes.c_char.in_dll(ctypes.CDLL(library), "asnumpy_native"))


def test_compiled_steps(tmp_path):
    rng = np.random.default_rng(4)
    x, y = rng.random((6, 7)), rng.random((6, 7))
    graph, _ = capture(lambda x, y: [ufunc("add", ufunc("multiply", x, y), x)], array(x), array(y))
    text = source(graph)
    c.graph_attach(graph, table(text, tmp_path, "steps"))
    assert "compiled" in explain(graph)
    for _ in range(3):
        x, y = rng.random((6, 7)), rng.random((6, 7))
        (z,) = run(graph, [array(x), array(y)], 1)
        assert z.numpy().tobytes() == (x * y + x).tobytes()
    assert source(graph) == text

    other, _ = capture(lambda x, y: [ufunc("multiply", x, y)], array(x), array(y))
    with pytest.raises(Failure, match="another capture's text"):
        c.graph_attach(other, table(text, tmp_path, "again"))
    with pytest.raises(Failure, match="table"):
        c.graph_attach(other, None)
    c.graph_release(other)
    c.graph_release(graph)


def test_no_program_has_no_text():
    graph, _ = capture(lambda x: [c.matmul(x, x)], array(np.ones((3, 3))))
    assert source(graph) is None
    c.graph_release(graph)
