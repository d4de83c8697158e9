"""Solvers and decompositions; SciPy calls the same LAPACK with its own front. Signs of vectors are free, so those are not compared."""

from rows import Row, normal, spec

BAR, BATCHED = (1.0, 1.0), (3.0, 3.0)
SIZES = (4, 32, 128, 512)
PAUSE = 0.1


def calls(n):
    """label -> (code, compare results, flops)."""
    return {
        "solve": ("np.linalg.solve(a, v)", True, 2 * n**3 // 3),
        "inv": ("np.linalg.inv(a)", True, 2 * n**3),
        "det": ("np.linalg.det(a)", True, 2 * n**3 // 3),
        "cholesky": ("np.linalg.cholesky(s)", True, n**3 // 3),
        "qr": ("np.linalg.qr(a)", False, 4 * n**3 // 3),
        "svd": ("np.linalg.svd(a)", False, 0),
        "svd, values only": ("np.linalg.svd(a, compute_uv=False)", False, 0),
        "eigh": ("np.linalg.eigh(s)", False, 0),
        "eig": ("np.linalg.eig(a)", False, 0),
        "lstsq": ("np.linalg.lstsq(a, v)[0]", True, 0),
        "norm": ("np.linalg.norm(a)", True, 0),
        "matrix_power 5": ("np.linalg.matrix_power(a, 5)", False, 6 * n**3),
    }


SCIPY = {
    "solve": "sp.linalg.solve(a, v)",
    "inv": "sp.linalg.inv(a)",
    "cholesky": "sp.linalg.cholesky(s, lower=True)",
    "qr": "sp.linalg.qr(a)",
    "svd": "sp.linalg.svd(a)",
    "eigh": "sp.linalg.eigh(s)",
}


def rows():
    result = []
    for n in SIZES:
        for name, (code, check, flops) in calls(n).items():
            if n > 128 and name in ("eig",):
                continue  # seconds a call
            peers = {"numexpr": "", "torch": code, "jax": code}
            if name in SCIPY:
                peers["scipy"] = SCIPY[name]
            if name == "svd, values only":
                peers["torch"] = "torch.linalg.svdvals(a)"
            result.append(Row("linalg", f"{name}, {n}", code, conditioned(n), bar=BAR, check=check, flops=flops,
                              peers=peers, pause=PAUSE, quick=n in (4, 128) and name in ("solve", "inv", "cholesky", "svd")))  # fmt: skip
    for count, n in ((10_000, 3), (1000, 16)):
        for name in ("solve", "inv", "det", "cholesky", "eigh"):
            code, check, _ = calls(n)[name]
            code = code.replace("solve(a, v)", "solve(a, v[..., None])")
            result.append(Row("linalg", f"batched {name}, ({count}, {n}, {n})", code, conditioned(n, count), bar=BATCHED,
                              check=check, peers={"numexpr": ""}, pause=PAUSE, quick=n == 3 and name in ("solve", "inv")))  # fmt: skip
    return result


def conditioned(n, count=None):
    """a: normal values with n added on the diagonal; s: a product of one with its transpose, likewise; v."""
    shape = (n, n) if count is None else (count, n, n)
    return {"a": spec("diagonal", shape), "s": spec("definite", shape), "v": normal(shape[:-1])}
