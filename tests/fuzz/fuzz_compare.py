"""A program of the statement fuzzer under AsNumpy, in several ways, against NumPy and itself.

Two oracles, since a last bit's difference in a function may grow without bound over forty
statements:

- *step by step*: every statement runs at once, and NumPy runs it on the very values that it
  found; results agree to what one operation may round.
- *as it is*: the whole program recorded, then looked at, three times over (described, then
  prepared, then by plans that are known: the same bits); and, where nothing asks for a value on
  the way, traced once and replayed. These agree with step by step bit for bit, but for rough
  variables (fuzz_programs.py).
"""

import hashlib
import re

import fuzz_inputs as inputs
import numpy
from fuzz_maker import root


class Mismatch(AssertionError):
    pass


def host(a):
    return a.to_numpy() if hasattr(a, "to_numpy") else numpy.asarray(a)


class Oracle:
    """NumPy, but for what it makes of float16 and of long sums.

    Its sort for AVX-512 leaves some arrays unsorted (NumPy 2.4; numpy.unique of 5461 whole numbers
    gave -3, -2, -1, -2, -1): sorts go through float32. Where the axis is not the last it adds one
    after the other, in the dtype (3971 rows of float16: 1181 for 1308.6; 131071 of float32:
    108798.02 for 108821.48): sums and means go through float64.
    """

    def __getattr__(self, name):
        return getattr(numpy, name)

    def sort(self, a, axis=-1, kind=None):
        half = a.dtype == "f2"
        return numpy.sort(a.astype("f4") if half else a, axis=axis, kind=kind).astype(a.dtype)

    def sum(self, a, **options):
        return self.widely(numpy.sum, a, options)

    def mean(self, a, **options):
        return self.widely(numpy.mean, a, options)

    def widely(self, function, a, options):
        if a.dtype not in ("f2", "f4"):
            return function(a, **options)
        wide = function(a.astype("f8"), **options).astype(a.dtype)
        result = function(a, **options)
        if not isinstance(result, numpy.ndarray):
            return wide
        result[...] = wide  # in the order of memory that NumPy gives it
        return result


def environment(np):
    return {"np": Oracle() if np is numpy else np, "make": inputs.make}


def variables(line):
    return set(re.findall(r"\bv\d+\b", line))


def real_parts(x):
    """Complex numbers as pairs of real ones."""
    x = numpy.ascontiguousarray(x)
    return x.view(x.real.dtype) if x.dtype.kind == "c" else x


def epsilon(dtype):
    return float(numpy.finfo(dtype).eps)


def same_kind(a, b, what):
    if a.dtype != b.dtype or a.shape != b.shape:
        raise Mismatch(f"{what}: {a.dtype}{a.shape}, not {b.dtype}{b.shape}")


def show(a, b, bad, what):
    at = tuple(int(k[0]) for k in numpy.nonzero(numpy.atleast_1d(bad)))
    x, y = numpy.atleast_1d(a)[at], numpy.atleast_1d(b)[at]
    raise Mismatch(f"{what}: {int(bad.sum())} of {a.size} differ, at {at}: {x!r}, not {y!r}")


def equal_bits(a, b, what):
    """Every bit, but any NaN is any other."""
    same_kind(a, b, what)
    if a.dtype.kind not in "fc":
        bad = a != b
    else:
        x, y = real_parts(a), real_parts(b)
        bad = ~((x == y) & (numpy.signbit(x) == numpy.signbit(y)) | (x != x) & (y != y))
        a, b = x, y
    if bad.any():
        show(a, b, numpy.asarray(bad), what)


def scale_of(values, kinds="fc"):
    """The largest finite magnitude of all of these kinds."""
    most = 1.0
    for v in values:
        if v.dtype.kind in kinds and v.size:
            with numpy.errstate(all="ignore"):
                x = numpy.abs(v.astype("c16" if v.dtype.kind == "c" else "f8"))
                most = max(most, float(numpy.max(x, initial=0, where=numpy.isfinite(x))))
    return most


def close(a, b, what, relative, absolute=0.0):
    """Within a part of the value, or of the largest that went into it. Below the smallest normal
    number the places have one size."""
    same_kind(a, b, what)
    if a.dtype.kind not in "fc":
        if (a != b).any():
            show(a, b, a != b, what)
        return
    with numpy.errstate(all="ignore"):
        wide = "c16" if a.dtype.kind == "c" else "f8"
        x, y = a.astype(wide), b.astype(wide)
        size = numpy.maximum(abs(y), float(numpy.finfo(a.dtype).smallest_normal))
        bad = ~((x == y) | (x != x) & (y != y) | (abs(x - y) <= relative * size + absolute))
        if absolute > float(numpy.finfo(a.dtype).max) * 1e-4:  # sums may overflow on the way
            bad &= numpy.isfinite(x) & numpy.isfinite(y)
        if a.dtype.kind == "c":  # infinite parts of products are nobody's
            bad &= numpy.isfinite(x) & numpy.isfinite(y)
    if bad.any():
        show(a, b, numpy.asarray(bad), what)


def tolerance(dtype):
    """What one operation may round, as a part of the result."""
    if dtype.kind not in "fc":
        return 0
    return 8 * epsilon(dtype)


ROUGH = re.compile(
    r"np\.(sum|mean|prod|var|cumsum|matmul|dot|inner|tensordot|einsum|trace|add\.reduceat)\("
)
SQUARES = re.compile(r"np\.(var|matmul|dot|inner|tensordot|einsum)\(")


def written(line):
    """The variable that a statement makes or writes to."""
    plain = r"(?:for k in range\(\d+\): )?"
    found = (
        re.search(r"  # to (v\d+)$", line)
        or re.match(rf"{plain}(v\d+)", line)
        or re.search(r"out=(v\d+)", line)
        or re.match(r"np\.(?:add\.at|put|putmask|place|copyto)\((v\d+)", line)
    )
    return found.group(1) if found else None


def step_by_step(np, program):
    """Runs it statement by statement, each checked against NumPy; the final environment."""
    rough = set()  # memory that sums of floats went into
    ours, theirs = environment(np), environment(numpy)
    for line in program.inputs:
        exec(line, ours)
        exec(line, theirs)
    for line in program.statements:
        named = [v for v in variables(line) if v in theirs]
        for v in named:
            value = host(ours[v])
            if root(theirs[v]) in rough:
                if theirs[v].flags.writeable:
                    theirs[v][...] = value
                continue
            part = 0.2 if value.dtype == "f2" else 1e-2  # NumPy sums halves as halves
            close(value, theirs[v], f"{v} before {line!r}", part, part * scale_of([value]))
            if theirs[v].flags.writeable:
                theirs[v][...] = value
        operands = [theirs[v].copy() for v in named]
        exec(line, ours)
        np.synchronize()
        with numpy.errstate(all="ignore"):
            exec(line, theirs)
        for v in variables(line):
            if v not in theirs:
                continue
            dtype = theirs[v].dtype
            relative, absolute = tolerance(dtype), 0.0
            if ROUGH.search(line) and dtype.kind in "fc":
                count = max((x.size for x in operands), default=1)
                relative = 1e-2 if dtype == "f2" else 1e-4 if epsilon(dtype) > 1e-10 else 1e-9
                scale = scale_of(operands, "fciu")  # means of large integers cancel, too
                absolute = min(count, 1 << 14) * epsilon(dtype) * scale
                if SQUARES.search(line):
                    absolute *= scale
            elif dtype.kind == "c":
                absolute = relative * scale_of(operands)
            close(host(ours[v]), theirs[v], f"{line!r}: {v}", relative, absolute)
        target = written(line)
        if target in theirs and (
            ROUGH.search(line) or any(v in theirs and root(theirs[v]) in rough for v in named)
        ):
            rough.add(root(theirs[target]))
    return {v: host(ours[v]).copy() for v in program.names}


def as_it_is(np, program):
    """The whole program, recorded and then looked at. What another one left unread is run before:
    with what sums are fused is a matter of their order."""
    np.synchronize()
    env = environment(np)
    exec(compile(program.text(), "<program>", "exec"), env)
    return {v: host(env[v]).copy() for v in reversed(program.names)}


def replayed(np, program, native):
    """Traced once and replayed; yields the results of each call. native: every other replay runs
    steps that a C compiler made."""
    given = [re.match(r"v\d+", line).group() for line in program.inputs]
    body = "\n    ".join("\n".join(program.statements).split("\n"))
    text = f"def function(np, {', '.join(given)}):\n    {body}\n    return {', '.join(program.names)},\n"
    env = {}
    exec(compile(text, "<traced>", "exec"), env)
    traced = np.jit(lambda *arrays: env["function"](np, *arrays), native=native)
    for k in range(5 if native else 3):
        fresh = environment(np)
        for line in program.inputs:
            exec(line, fresh)
        results = traced(*(fresh[v] for v in given))
        yield {v: host(r).copy() for v, r in zip(program.names, results, strict=True)}
        if native and k == 0:
            traced._compile_last()


def agree(got, expected, program, way):
    most = scale_of(expected.values())  # what cancels in a sum may be no sum itself
    text = program.text()
    part = 0.1 if "'f2'" in text else 1e-3 if "'f4'" in text else 1e-11
    for v in program.names:
        what = f"{way}: {v}"
        if not program.rough[v]:
            equal_bits(got[v], expected[v], what)
            continue
        close(got[v], expected[v], what, part, part * most)


def digest(values, program):
    """Of what must be the same bits in every mode."""
    h = hashlib.blake2b(digest_size=8)
    for v in program.names:
        if not program.rough[v]:
            x = numpy.array(values[v])
            if x.dtype.kind in "fc":
                x = real_parts(x).copy()
                x[x != x] = numpy.nan
            h.update(str((v, x.dtype, x.shape)).encode())
            h.update(x.tobytes())
    return h.hexdigest()


def check_replays(np, program, expected, native):
    try:
        for k, got in enumerate(replayed(np, program, native)):
            agree(got, expected, program, f"call {k} of the traced function")
    except RuntimeError as error:  # a number's value decides what is done next
        if "while the call is traced" not in str(error):
            raise


def check(np, program, traceable, native=False, beside_others=False, callback=None):
    """Raises Mismatch (or what the library raised); the digest of the results. beside_others: in
    one of several threads, so that what is fused, and with it the order of a sum, is a matter of
    time. callback: of the modes, never called; threads with others run nothing
    of each other's."""
    with np.errstate(all="ignore", call=callback), numpy.errstate(all="ignore"):
        results = as_it_is(np, program)
        for turn in ("again, prepared", "again, known"):
            again = as_it_is(np, program)
            if beside_others:
                agree(again, results, program, turn)
                continue
            for v, value in again.items():
                equal_bits(value, results[v], f"{turn}: {v}")
        expected = step_by_step(np, program)
        agree(results, expected, program, "as it is")
        if traceable and program.names:
            check_replays(np, program, expected, native)
    return digest(results, program)
