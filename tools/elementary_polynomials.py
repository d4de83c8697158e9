"""Prints the polynomials of src/device/cpu/math/vmath.h: minimax on their interval by the Remez exchange
in 60 digits, with the error that remains after the coefficients are rounded to the working precision; and the
cells of power's logarithm.

usage: elementary_polynomials.py [NAME...]      needs mpmath; not part of the build
"""

import sys

from mpmath import (
    asin,
    atan,
    atanh,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    expm1,
    ln,
    lu_solve,
    matrix,
    mp,
    mpf,
    pi,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)

mp.dps = 60
HALF_LN2 = ln(2) / 2
QUARTER = pi / 4 + mpf("1e-4")
SQRT_HALF_S = (sqrt(2) - 1) / (sqrt(2) + 1)


def sine(z):
    """sin(r) = r + r z S(z), z = r^2."""
    return (sin(sqrt(z)) / sqrt(z) - 1) / z


def sine_weight(z):
    """Makes the error relative to the sine."""
    return z / (sin(sqrt(z)) / sqrt(z))


def cosine(z):
    """cos(r) = 1 - z / 2 + z^2 C(z)."""
    return (cos(sqrt(z)) - 1 + z / 2) / z**2


def odd(f):
    """f(x) = x + x z P(z), z = x^2: P, and the weight that makes the error relative to f."""
    return (
        lambda z: (f(sqrt(z)) / sqrt(z) - 1) / z,
        lambda z: z / (f(sqrt(z)) / sqrt(z)),
    )


def odd_case(f, reach, degree, bits):
    function, weight = odd(f)
    return function, mpf("1e-10"), mpf(reach) ** 2, degree, weight, bits


def log2_tail(z):
    """log2((1 + s) / (1 - s)) = s (C0 + C1 z + z^2 Q(z)), C0 = 2 / ln2, C1 = C0 / 3."""
    return (atanh(sqrt(z)) / sqrt(z) - 1 - z / 3) / z**2 * 2 / ln(2)


def log_cube(r):
    """ln(1 + r) = r - r^2 / 2 + r^3 Q(r)."""
    return (ln(1 + r) - r + r * r / 2) / r**3


CELL_REACH = mpf("0.0342138671875")


def cells(count=16):
    """power's: (begin, end, factor c, largest |m c - 1|), equally wide in a float's bits, one around 1. Of the
    factors whose product with m keeps to 53 bits, 1 taken off, the best."""
    width = mpf(1) / (2 * count)  # below 1; twice that above
    made = []
    for j in range(count):
        low = 1 - width / 2 + (j - count // 2 + 1) * width
        high = low + width
        if j == count // 2 - 1:
            made.append((low, 1 + width, mpf(1), width))
            continue
        if j >= count // 2:
            low = 1 + width + (j - count // 2) * 2 * width
            high = low + 2 * width
        ulp = mpf(2) ** (-53 if high <= 1 else -52)
        tried = []
        for i in range(1, 2**9):
            for bits in range(3, 9):
                c = mpf(i) / 2**bits
                most = max(abs(low * c - 1), abs(high * c - 1))
                if i % 2 and most < ulp / 2**bits * mpf(2) ** 53:
                    tried.append((most, c))
        made.append((low, high, min(tried)[1], min(tried)[0]))
    return made


def print_cells(top, bits):
    """Factors, and -ln(c) as a multiple of 2^-top and the rest."""
    factors = [c for _, _, c, _ in cells()]
    high = [mp.floor(-ln(c) * 2**top + mpf("0.5")) / mpf(2) ** top for c in factors]
    for name, row in (("factor", factors), ("high", high),
                      ("low", [-ln(c) - h for c, h in zip(factors, high, strict=True)])):  # fmt: skip
        print(f"power {name}, {bits} bits:", ", ".join(hexadecimal(x, bits) for x in row))
    first = mp.floor(ln(2) * 2**top + mpf("0.5")) / mpf(2) ** top
    scale = mpf(2) ** (1 - bits)
    print(
        "ln2 of power", hexadecimal(first * scale, bits), hexadecimal((ln(2) - first) * scale, bits)
    )


def tanh_cell(number):
    """Begin and end of a cell of float32's tanh: a quarter of an octave of y + 1, which bits 21 to 24 number;
    None: there tanh is 1."""
    z = 1 + mpf((number - 12) % 16 % 4) / 4
    octave = (number - 12) % 16 // 4
    low, high = z * 2**octave - 1, (z + mpf("0.25")) * 2**octave - 1
    return (low, high) if low < 9 else None


def tanh_row(number):
    """Centre c, tanh(c) and the coefficients of (tanh(c + t) - tanh(c)) / t. A centre whose tanh a float32 nearly
    holds, so that nothing is lost there."""
    ends = tanh_cell(number)
    if ends is None:
        return [mpf(0), mpf(1)] + [mpf(0)] * 6
    low, high = ends
    if low == 0:
        c, *_ = remez(lambda t: (tanh(t) / t - 1) / t, mpf(TINY), high, 4, lambda t: t)
        return [mpf(0), mpf(0), mpf(1), *c]
    step = rounded(high, 24) * mpf(2) ** -20
    tried = []
    for k in range(-300, 300):
        c = rounded((low + high) / 2 + k * step, 24)
        tried.append((abs(tanh(c) - rounded(tanh(c), 24)) / tanh(c), c))
    centre = min(tried)[1]
    level = tanh(centre)
    c, *_ = remez(lambda t: (tanh(centre + t) - level) / t, low - centre, high - centre, 5,
                  lambda t: t / tanh(centre + t))  # fmt: skip
    return [centre, level, *c]


def print_tanh_cells():
    for k, row in enumerate(zip(*[tanh_row(n) for n in range(16)], strict=True)):
        name = "centre" if k == 0 else f"c{k - 1}"
        print(f"tanhf {name}:", ", ".join(hexadecimal(x, 24) for x in row))


CBRT_REACH = mpf("-0.1208"), mpf("0.1134")


def root(thirds):
    """(1 - r)^(-thirds / 3) = 1 + r P(r)."""

    def tail(r):
        return ((1 - r) ** (-mpf(thirds) / 3) - 1) / r

    return tail


def error_function(z):
    """erf(x) = x + x P(z), z = x^2."""
    return erf(sqrt(z)) / sqrt(z) - 1


def complement(centre):
    """exp(x^2) erfc(x) (x + centre) of t = (x - centre) / (x + centre)."""

    def f(t):
        x = centre * (1 + t) / (1 - t)
        return exp(x * x) * erfc(x) * (x + centre)

    return f


def complement_case(centre, low, high, degree, bits):
    f = complement(mpf(centre))
    ends = [(mpf(x) - centre) / (mpf(x) + centre) for x in (low, high)]
    return f, *ends, degree, lambda t: 1 / f(t), bits


# name: (function, low, high, degree, weight of the error, bits of a coefficient)
TINY = "1e-14"
CASES = {
    "exp": (lambda r: (expm1(r) - r) / r**2, -HALF_LN2, HALF_LN2, 9, lambda r: r**2, 53),
    "expf": (lambda r: (expm1(r) - r) / r**2, -HALF_LN2, HALF_LN2, 5, lambda r: r**2, 24),
    "exp2": (lambda f: expm1(f * ln(2)) / f, mpf("-0.5"), mpf("0.5"), 10, lambda f: f, 53),
    "exp2f": (lambda f: expm1(f * ln(2)) / f, mpf("-0.5"), mpf("0.5"), 5, lambda f: f, 24),
    "log": (
        lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z, mpf("1e-12"), SQRT_HALF_S**2, 6,
        lambda z: z, 53,
    ),
    "logf": (
        lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z, mpf("1e-12"), SQRT_HALF_S**2, 3,
        lambda z: z, 24,
    ),
    "sin": (sine, mpf("1e-12"), QUARTER**2, 5, lambda z: z, 53),
    "cos": (cosine, mpf("1e-9"), QUARTER**2, 5, lambda z: z**2, 53),
    "sinf": (sine, mpf("1e-12"), QUARTER**2, 2, sine_weight, 24),
    "cosf": (cosine, mpf("1e-9"), QUARTER**2, 2, lambda z: z**2, 24),
    "sinh": odd_case(sinh, HALF_LN2, 4, 53),
    "sinhf": odd_case(sinh, HALF_LN2, 2, 24),
    "cosh": (lambda z: (cosh(sqrt(z)) - 1) / z, mpf("1e-10"), HALF_LN2**2, 5, lambda z: z, 53),
    "coshf": (lambda z: (cosh(sqrt(z)) - 1) / z, mpf("1e-10"), HALF_LN2**2, 2, lambda z: z, 24),
    "atan": odd_case(atan, "0.5", 12, 53),
    "atanf": odd_case(atan, "0.5", 4, 24),
    "asin": odd_case(asin, "0.5", 12, 53),
    "asinf": odd_case(asin, "0.5", 4, 24),
    "atanh": odd_case(atanh, "0.2035", 7, 53),
    "atanhf": odd_case(atanh, "0.2035", 2, 24),
    "tan": odd_case(tan, QUARTER, 13, 53),
    "tanf": odd_case(tan, QUARTER + mpf("0.006"), 5, 24),
    "log1pf": (lambda f: (f - ln(1 + f)) / f**2, sqrt(mpf(1) / 2) - 1, sqrt(2) - 1, 8, lambda f: f, 24),
    "log2": (log2_tail, mpf("1e-8"), SQRT_HALF_S**2, 6, lambda z: z**2, 53),
    "log2f": (log2_tail, mpf("1e-8"), SQRT_HALF_S**2, 2, lambda z: z**2, 24),
    "power": (log_cube, -CELL_REACH, CELL_REACH, 8, lambda r: r**2, 53),
    "powerf": (log_cube, -CELL_REACH, CELL_REACH, 3, lambda r: r**2, 24),
    "cbrt": (root(2), mpf("-4e-5"), mpf("1e-4"), 2, lambda r: r, 53),
    "cbrtf": (root(2), *CBRT_REACH, 5, lambda r: r, 24),
    "erf": (error_function, mpf("1e-12"), mpf(1), 11, lambda z: 1 / (1 + error_function(z)), 53),
    "erff": (error_function, mpf("1e-12"), mpf(1), 6, lambda z: 1 / (1 + error_function(z)), 24),
    "erfc": complement_case(4, "0.5", "26.6", 20, 53),
    "erfcf": complement_case(2, "0", "9.4", 9, 24),
    "cbrt near": (root(1), *CBRT_REACH, 2, lambda r: r, 53),
}  # fmt: skip


def rounded(x, bits):
    mp.prec, keep = bits, mp.prec
    y = +x
    mp.prec = keep
    return y


def poly(c, x):
    y = mpf(0)
    for a in reversed(c):
        y = y * x + a
    return y


def remez(f, low, high, degree, weight, rounds=8):
    """Coefficients, lowest first, whose weighted error swings equally degree + 2 times."""
    n = degree + 2
    at = [(low + high) / 2 - (high - low) / 2 * cos(pi * i / (n - 1)) for i in range(n)]
    at = [x if abs(x) > mpf(TINY) else mpf(TINY) for x in at]
    grid = [low + (high - low) * (1 - cos(pi * i / 600)) / 2 for i in range(601)]
    grid = [x if abs(x) > mpf(TINY) else mpf(TINY) for x in grid]
    values = [f(x) for x in grid]
    for _ in range(rounds):
        rows, right = matrix(n, n), matrix(n, 1)
        for i, x in enumerate(at):
            for j in range(degree + 1):
                rows[i, j] = x**j
            rows[i, degree + 1] = (-1) ** i / abs(weight(x))
            right[i] = f(x)
        c = list(lu_solve(rows, right))[: degree + 1]
        errors = [(poly(c, x) - v) * abs(weight(x)) for x, v in zip(grid, values, strict=True)]
        peaks = []
        for x, e in zip(grid, errors, strict=True):
            if peaks and (e > 0) == (peaks[-1][1] > 0):
                if abs(e) > abs(peaks[-1][1]):
                    peaks[-1] = (x, e)
            else:
                peaks.append((x, e))
        while len(peaks) > n:
            peaks.pop(0 if abs(peaks[0][1]) < abs(peaks[-1][1]) else -1)
        if len(peaks) < n:
            break
        at = [x for x, _ in peaks]
    return c, max(map(abs, errors)), grid, values


def hexadecimal(x, bits):
    y = float(rounded(x, bits))
    assert mpf(y) == rounded(x, bits)
    return y.hex()


def split(value, *bits):
    """value as a sum of constants of so many bits each."""
    parts = []
    for b in bits:
        parts.append(hexadecimal(value, b))
        value -= rounded(value, b)
    return parts


def main():
    for name in sys.argv[1:] or CASES:
        f, low, high, degree, weight, bits = CASES[name]
        c, error, grid, values = remez(f, low, high, degree, weight)
        short = [rounded(a, bits) for a in c]
        left = max(abs((poly(short, x) - v) * weight(x)) for x, v in zip(grid, values, strict=True))
        print(
            f"{name}: error 2^{float(mp.log(error, 2)):.1f}, rounded 2^{float(mp.log(left, 2)):.1f}"
        )
        for i, a in enumerate(c):
            print(f"    c{i} = {hexadecimal(a, bits)}")
    print("ln2", split(ln(2), 41, 53), "float", split(ln(2), 15, 24))
    print(
        "pi/2",
        split(pi / 2, 37, 37, 53),
        "2/pi",
        split(2 / pi, 53),
        "1/ln2",
        split(1 / ln(2), 53, 53),
    )
    print("1/ln2 float", split(1 / ln(2), 24, 24))
    print_cells(42, 53)
    print_cells(16, 24)
    print_tanh_cells()


if __name__ == "__main__":
    main()
