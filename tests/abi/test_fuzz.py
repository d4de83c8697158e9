"""Every operator with arbitrary arguments: success, or a code and a sentence; never a crash, never a write
outside the outputs (run it under a sanitizer with ASNUMPY_LIB and LD_PRELOAD for the latter).
"""

import os
import sys

import numpy as np
import pytest
from aclnn import ACL, ROOT, AclError, Int4, run

sys.path.insert(0, str(ROOT / "tools"))
import gen_opapi  # noqa: E402

OPERATORS = gen_opapi.operators()
ROUNDS = int(os.environ.get("ASNUMPY_FUZZ_ROUNDS", "40"))
DTYPES = list(ACL)
SIZES = [0, 1, 1, 2, 3, 4]


class Source:
    """Random arguments; a few shapes recur, so that calls often fit."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.shapes = [self.shape() for _ in range(2)]
        self.dtypes = [self.rng.choice(DTYPES) for _ in range(2)]

    def shape(self):
        return tuple(self.rng.choice(SIZES, self.rng.integers(0, 4)))

    def pick(self, known, fresh, chance=0.85):
        return known[self.rng.integers(len(known))] if self.rng.random() < chance else fresh()

    def tensor(self):
        shape = tuple(self.pick(self.shapes, self.shape))
        dtype = self.pick(self.dtypes, lambda: self.rng.choice(DTYPES))
        a = self.rng.integers(-3, 5, shape).astype(dtype)
        how = self.rng.integers(5)
        if how == 0:
            a = a.T
        elif how == 1 and a.ndim:
            a = a[::-1]
        elif how == 2 and a.ndim:
            a = np.repeat(a, 2, -1)[..., ::2]
        return a

    def int4(self):
        a = self.tensor().real
        return Int4(a.astype(int), self.rng.permutation(a.ndim).tolist())

    def argument(self, param):
        if self.rng.random() < 0.02 and param.kind not in "if":
            return None
        kind = param.kind
        if kind in "TROLMU":
            int4 = param.int4 and self.rng.random() < 0.5
            one = self.int4 if int4 else self.tensor
            return one() if kind in "TRO" else [one() for _ in range(self.rng.integers(0, 4))]
        if kind in "SK":
            some = [0, 1, 2, -1, 0.5, True, 1j, np.nan, np.inf, 2**40]
            given = self.rng.choice(some, 1 if kind == "S" else self.rng.integers(0, 4))
            return given[0].item() if kind == "S" else [x.item() for x in given]
        if kind == "I":
            return [int(x) for x in self.rng.integers(-3, 4, self.rng.integers(0, 4))]
        if kind == "B":
            return [bool(x) for x in self.rng.integers(0, 2, self.rng.choice([3, 3, 3, 2, 0]))]
        if kind == "s":
            return str(
                self.rng.choice(
                    [
                        "none",
                        "tanh",
                        "mean",
                        "NCHW",
                        "bilinear",
                        "",
                        "round",
                        "pertoken",
                        "pertensor",
                    ]
                )
            )
        if kind == "f":
            return float(self.rng.choice([0, 1, -1, 0.5, np.nan, np.inf]))
        if "aclDataType" in param.text:
            return self.pick(self.dtypes, lambda: self.rng.choice(DTYPES))
        if "uint64_t" in param.text:
            return int(self.rng.integers(0, 5))
        return (
            int(self.rng.integers(-3, 5))
            if "bool" not in param.text
            else bool(self.rng.integers(2))
        )


@pytest.mark.parametrize("name", OPERATORS)
def test_any_arguments(name):
    op = OPERATORS[name]
    for k in range(ROUNDS):
        source = Source([k, sum(name.encode())])
        args = [source.argument(p) for p in op.params]
        try:
            run(name.removeprefix("aclnn"), *args)
        except AclError as error:
            assert error.code >= 100000 and len(error.message) > 12, (error, args)
            if "0-d" not in error.message and name not in error.message:
                raise AssertionError(f"{error} does not name {name}") from error
