"""The libraries that a row is run with, each in its natural spelling.

A library is here when it imports; the table shows NumPy alone without `make bench-peers`. prepare() turns a
row into a contender: a compiled loop `run(count)` that leaves finished values. A library that lacks an
operation, or spells it so that its result differs from NumPy's, has no entry in that row, and the
JSON says why.

Threads are fixed when a process starts (environment() for the worker's), never changed in it.
"""

import importlib
import itertools
import math

import numpy
from rows import make_inputs

OURS, BASE = "asnumpy", "numpy"
NAMES = [OURS, BASE, "scipy", "numexpr", "torch", "torch.compile", "jax", "numba"]
QUICK = [
    OURS,
    BASE,
    "scipy",
    "numexpr",
    "torch",
    "jax",
]  # those that compile a row in well under a second


def environment(threads):
    """The variables that fix every library's threads before it starts."""
    names = ["ASNUMPY_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
             "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS", "NUMBA_NUM_THREADS", "NPROC", "PJRT_NPROC"]  # fmt: skip
    flags = "--xla_cpu_multi_thread_eigen=false" if threads == 1 else ""
    return {**dict.fromkeys(names, str(threads)), "XLA_FLAGS": flags, "JAX_ENABLE_X64": "1",
            "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}  # fmt: skip


def _block(depth, lines):
    return ["    " * depth + line for line in lines]


class Absent(Exception):
    """A library has no entry in a row; the message says why."""


class Peer:
    """NumPy, and what the others change."""

    module = "numpy"

    def __init__(self, threads):
        self.threads = threads
        self.np = importlib.import_module(self.module)
        self.version = getattr(self.np, "__version__", "")

    def value(self, array):
        """A NumPy input as this library's."""
        return array

    def host(self, result):
        """A result as NumPy's."""
        return numpy.asarray(result)

    finish = ""  # statement after each call that waits for the value `x`
    tools = {}  # what that statement needs

    def names(self):
        """What a row's text sees besides its inputs."""
        return {"np": self.np}

    def text(self, row, name):
        code = row.peers.get(name, row.code)
        if not code:
            raise Absent("no such operation")
        return code

    def prepare(self, row, name, inputs):
        """(run(count), result()) for a row; raises Absent, or whatever the library raises."""
        if row.build:
            return self.called(row.build(name))
        scope = {**self.names(), "repeat": itertools.repeat}
        for key, value in inputs.items():
            scope[key] = self.value(value) if isinstance(value, numpy.ndarray) else value
        code = self.text(row, name)
        if row.setup and name not in row.peers:  # a spelling of its own needs none
            exec(row.setup, scope)
        return self.compiled(code, scope, row)

    def called(self, function):
        """A contender from a plain callable of the row."""

        def run(count):
            for _ in range(count):
                function()

        return run, function

    def compiled(self, code, scope, row):
        """A loop around the text itself: a call of a function around it would cost as much as `a + b`."""
        scope = {**scope, **self.tools}
        names = ", ".join(k for k in scope if k.isidentifier() and not k.startswith("__"))
        body = [code] if row.statement else [f"x = {code}"]
        finish = [self.finish] if self.finish else []
        drop = [] if row.statement else ["x = None"]
        each = body + drop if row.small and not row.statement else body + finish + drop
        last = [f"x = {code}", *finish, "x = None"] if row.small and not row.statement else []
        if row.small and row.statement:
            each, last = body, [line for line in finish if "x" not in line]
        share = [f"nonlocal {names}"] if row.statement else []
        lines = [f"def make({names}):", *_block(1, ["def run(count):"]), *_block(2, share),
                 *_block(2, ["for _ in repeat(None, count):"]), *_block(3, each), *_block(2, last),
                 *_block(1, ["def result():"]), *_block(2, share + body + finish),
                 *_block(2, ["return None" if row.statement else "return x"]),
                 *_block(1, ["return run, result"])]  # fmt: skip
        source = "\n".join(lines) + "\n"
        space = {}
        exec(compile(source, f"<{row.label}>", "exec"), space)
        return space["make"](**{k: scope[k] for k in names.split(", ")})


class AsNumpy(Peer):
    module = "asnumpy"
    finish = "np.synchronize()"

    def value(self, array):
        return self.np.array(array)

    def host(self, result):
        return result.to_numpy() if type(result) is self.np.ndarray else numpy.asarray(result)


class SciPy(Peer):
    """Only rows that name it."""

    module = "scipy"

    def names(self):
        submodules = {
            n: importlib.import_module(f"scipy.{n}") for n in ("fft", "linalg", "special")
        }
        return {"np": numpy, "sp": self.np, **submodules}

    def text(self, row, name):
        if name not in row.peers:
            raise Absent("no spelling of its own")
        return super().text(row, name)


class NumExpr(Peer):
    """The row's text without `np.`, as a numexpr string."""

    module = "numexpr"

    def compiled(self, code, scope, row):
        if row.statement or "[" in code:
            raise Absent("not an expression of numexpr")
        text = row.peers.get("numexpr") or code.replace("np.", "")
        values = {k: v for k, v in scope.items() if isinstance(v, numpy.ndarray | float | int)}
        scope = {
            "evaluate": self.np.evaluate,
            "text": text,
            "values": values,
            "repeat": itertools.repeat,
        }
        return super().compiled("evaluate(text, values)", scope, row)


class Torch(Peer):
    module = "torch"

    def __init__(self, threads):
        super().__init__(threads)
        self.np.set_num_threads(threads)
        self.np.set_grad_enabled(False)

    def names(self):
        return {"np": self.np, "torch": self.np}

    def value(self, array):
        return self.np.from_numpy(array.copy())

    def host(self, result):
        return result.numpy() if isinstance(result, self.np.Tensor) else numpy.asarray(result)


class Jitted(Peer):
    """A compiler: the row's text becomes a function of its inputs, compiled before timing."""

    def compiled(self, code, scope, row):
        if row.statement or row.setup:
            raise Absent("compiles expressions only")
        arrays = {k: v for k, v in scope.items() if k not in ("repeat", *self.names())}
        names = ", ".join(arrays)
        space = self.names()
        exec(f"def f({names}):\n    return {code}\n", space)
        call = self.jit(space["f"])
        call(*arrays.values())
        return super().compiled(
            f"call({names})", {"call": call, "repeat": itertools.repeat, **arrays}, row
        )


class TorchCompile(Jitted, Torch):
    def jit(self, function):
        return self.np.compile(function, dynamic=False)


class Jax(Jitted):
    module = "jax.numpy"
    finish = "wait(x)"

    def __init__(self, threads):
        super().__init__(threads)
        self.jax = importlib.import_module("jax")
        self.version = self.jax.__version__
        self.tools = {"wait": self.jax.block_until_ready}

    def value(self, array):
        return self.np.asarray(array)

    def jit(self, function):
        return self.jax.jit(function)


class Numba(Jitted):
    module = "numba"

    def names(self):
        return {"np": numpy}

    def jit(self, function):
        return self.np.njit(function, parallel=self.threads > 1)


CLASSES = {OURS: AsNumpy, BASE: Peer, "scipy": SciPy, "numexpr": NumExpr, "torch": Torch,
           "torch.compile": TorchCompile, "jax": Jax, "numba": Numba}  # fmt: skip


def find(threads, wanted):
    """The wanted libraries that import, by name, in NAMES' order, and why the others do not."""
    found, missing = {}, {}
    for name in NAMES:
        if name in wanted:
            try:
                found[name] = CLASSES[name](threads)
            except ImportError as error:
                missing[name] = str(error)
    return found, missing


def takes_part(row, name):
    """Whether a library is tried in a row at all."""
    if name in (OURS, BASE):
        return True
    if row.numpy_only or row.build:
        return False
    return row.fused or name not in ("torch.compile", "numba") or name in row.peers


def agrees(got, expected):
    """Whether two results are the same value up to rounding."""
    got, expected = numpy.asarray(got), numpy.asarray(expected)
    if got.shape != expected.shape:
        return False
    if expected.dtype.kind not in "fc":
        return bool((got == expected).all())
    single = expected.dtype.itemsize <= (8 if expected.dtype.kind == "c" else 4)
    finite = numpy.isfinite(expected)
    scale = float(numpy.abs(expected[finite]).max(initial=0.0)) or 1.0
    with numpy.errstate(invalid="ignore"):
        error = numpy.abs(got - expected)[finite].max(initial=0.0)
    bound = (1e-3 if single else 1e-9) * scale
    return not math.isnan(error) and error <= bound


def contenders(row, found, seed=0):
    """name -> (run, result), for the libraries that can do the row; name -> reason for the others."""
    inputs = make_inputs(row, seed)
    ready, absent, expected = {}, {}, None
    for name in sorted(found, key=lambda n: (n != BASE, NAMES.index(n))):
        if not takes_part(row, name):
            continue
        try:
            run, result = found[name].prepare(row, name, inputs)
            value = None if row.timed else result()
            if row.check and not row.statement and not row.build and value is not None:
                value = found[name].host(value)
                if name == BASE:
                    expected = value
                elif expected is not None and not agrees(value, expected):
                    raise Absent("its result differs from NumPy's")
            ready[name] = (run, result)
        except (
            Exception
        ) as error:  # a library may refuse a row in any way it likes: the reason is shown
            absent[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return ready, absent
