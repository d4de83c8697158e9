"""Streams and distributions, a million values. The default generator's streams are NumPy's, bit for bit."""

from rows import Row

N = 1_000_000
DEFAULT = "rng = np.random.default_rng(1)"
# The parallel stream against NumPy's default one.
PHILOX = "rng = np.random.default_rng(1) if np.__name__ == 'numpy' else np.random.Generator(np.random.Philox4x32(1))"
CALLS = [  # label, code, bar, torch's spelling, quick
    ("uniform float64", "rng.random({n})", (2.2, 4), "torch.rand({n}, dtype=torch.float64)", True),
    ("uniform float32", "rng.random({n}, dtype=np.float32)", (2.2, 4), "torch.rand({n})", False),
    ("normal float64", "rng.standard_normal({n})", (1.5, 1.5), "torch.randn({n}, dtype=torch.float64)", True),
    ("normal float32", "rng.standard_normal({n}, dtype=np.float32)", (1.5, 1.5), "torch.randn({n})", False),
    ("integers(0, 1000)", "rng.integers(0, 1000, {n})", (2, 2), "torch.randint(0, 1000, ({n},))", True),
    ("exponential", "rng.standard_exponential({n})", (1.0, 1.0), "", False),
    ("gamma(2)", "rng.standard_gamma(2.0, {n})", (1.0, 1.0), "", False),
    ("poisson(5)", "rng.poisson(5.0, {n})", (1.0, 1.0), "", False),
    ("permutation", "rng.permutation({n})", (1.0, 1.0), "torch.randperm({n})", True),
    ("choice", "rng.choice({n}, {n})", (1.0, 1.0), "", False),
    ("shuffle", "rng.permuted(np.arange({n}))", (1.0, 1.0), "", False),
]  # fmt: skip
LEGACY = "rng = np.random.RandomState(1)"
ONE = [  # one number a call
    ("PCG64", DEFAULT, "float64", "random()"), ("PCG64", DEFAULT, "integer", "integers(0, 10)"),
    ("PCG64", DEFAULT, "uniform", "uniform(0.0, 2.0)"), ("PCG64", DEFAULT, "normal", "normal(1.0, 2.0)"),
    ("PCG64", DEFAULT, "exponential", "exponential(2.0)"), ("PCG64", DEFAULT, "gamma", "gamma(2.0)"),
    ("PCG64", DEFAULT, "choice", "choice(10)"), ("RandomState", LEGACY, "float64", "rand()"),
    ("RandomState", LEGACY, "integer", "randint(0, 10)"), ("RandomState", LEGACY, "normal", "normal(1.0, 2.0)"),
]  # fmt: skip


def rows():
    none = {"numexpr": "", "jax": ""}

    def row(label, code, bar, torch, quick, setup=DEFAULT, peers=none, n=N):
        # NumPy and AsNumpy draw the same stream; torch its own, so results are not compared.
        return Row("random", label, code.format(n=n), setup=setup, bar=bar, check=False, quick=quick,
                   peers={**peers, "torch": torch.format(n=n)})  # fmt: skip

    pcg = [row(f"PCG64 {label}, 1e6", *rest) for label, *rest in CALLS]
    philox = [
        row(
            "Philox uniform float64, 1e6 (NumPy: PCG64)",
            CALLS[0][1],
            (3, 6),
            CALLS[0][3],
            True,
            PHILOX,
        ),
        row(
            "Philox normal float64, 1e6 (NumPy: PCG64)",
            CALLS[2][1],
            (4, 8),
            CALLS[2][3],
            False,
            PHILOX,
        ),
    ]
    legacy = [
        row(
            "RandomState uniform, 1e6",
            "rng.random_sample({n})",
            (1.0, 1.0),
            "",
            False,
            LEGACY,
        ),
        row(
            "RandomState normal, 1e6",
            "rng.standard_normal({n})",
            (1.0, 1.0),
            "",
            False,
            LEGACY,
        ),
    ]
    small = [row("PCG64 uniform float64, 10", "rng.random({n})", (1.0, 1.0), CALLS[0][3], False, n=10),
             *(row(f"{label} one {what}", f"rng.{call}", (1.0, 1.0), "", False, make) for label, make, what, call in ONE)]  # fmt: skip
    return pcg + philox + legacy + small
