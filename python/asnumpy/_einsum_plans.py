"""What einsum does for subscripts without surprises, found once for each text: strings and axes only.

Where extents have to be looked at (an axis of 1 that stretches), where an operand has subscripts of its own that are summed
away beside another operand, and for every error there is no plan: the general way (_einsum.py) has them.
"""

import functools

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _subscripts(text, ndims):
    """(inputs, output), ellipses of one length as letters; None: not plain."""
    inputs, arrow, output = text.replace(" ", "").partition("->")
    inputs, dots = inputs.split(","), ""
    if len(inputs) != len(ndims):
        return None
    if "." in text:
        extra = {n + 3 - len(s) for s, n in zip(inputs, ndims, strict=True) if "..." in s}
        free = [c for c in LETTERS if c not in text]
        if len(extra) != 1 or not 0 <= min(extra) <= len(free) or (arrow and "..." not in output):
            return None
        dots = "".join(free[: extra.pop()])
        inputs = [s.replace("...", dots) for s in inputs]
        output = output.replace("...", dots)
    every = "".join(inputs)
    if not arrow:
        output = dots + "".join(sorted(c for c in every if every.count(c) == 1 and c not in dots))
    plain = (
        set(every) <= set(LETTERS)
        and all(len(s) == n for s, n in zip(inputs, ndims, strict=True))
        and len(set(output)) == len(output)
        and set(output) <= set(every)
    )
    return (inputs, output) if plain else None


def _permutation(axes, wanted):
    """Where each of the wanted axes is; None: in its place already."""
    return None if list(axes) == list(wanted) else tuple(axes.index(c) for c in wanted)


@functools.lru_cache(maxsize=256)
def one_plan(text, ndim):
    """For a single operand: pairs of axes of diagonals, taken one after the other, the axes that are summed then, and the order
    of the others (None: as they are). None: there is no plan."""
    found = _subscripts(text, (ndim,))
    if found is None:
        return None
    (subs,), output = found
    diagonals = []
    while len(set(subs)) < len(subs):
        c = next(c for c in subs if subs.count(c) > 1)
        i = subs.index(c)
        j = subs.index(c, i + 1)
        diagonals.append((i, j))
        subs = subs[:i] + subs[i + 1 : j] + subs[j + 1 :] + c
    axes = tuple(i for i, c in enumerate(subs) if c not in output)
    return tuple(diagonals), axes, _permutation([c for c in subs if c in output], output)


def _pair(sa, sb, output):
    """How two operands are multiplied, see pair_plan."""
    if len(set(sa)) != len(sa) or len(set(sb)) != len(sb):
        return None
    shared = [c for c in sa if c in sb and c in output]
    summed = [c for c in sa if c in sb and c not in output]
    left, right = [c for c in sa if c not in sb], [c for c in sb if c not in sa]
    order = shared + left + right
    if set(order) != set(output):
        return None
    if summed and not left and not right and len(sa) > 1:
        axes = tuple(i for i, c in enumerate(sa) if c in summed)
        return None, _permutation(sb, sa), axes, 0, 0, _permutation(shared, output), False
    as_is = not shared and len(summed) == 1 and len(left) < 2 and len(right) < 2
    return (
        _permutation(sa, shared + left + summed), _permutation(sb, shared + summed + right),
        len(shared), len(left), len(summed), _permutation(order, output), as_is,
    )  # fmt: skip


@functools.lru_cache(maxsize=256)
def pair_plan(text, ndim_a, ndim_b):
    """For two operands: their axes in the order shared, own, summed (the second: shared, summed, own), the numbers of shared,
    own and summed axes, the axes of the result (each None: as they are), and whether matmul takes the operands as they are. In
    place of the number of shared axes, a tuple: the products are summed along these axes of the first operand, and the second's
    are in its order. None: there is no plan."""
    found = _subscripts(text, (ndim_a, ndim_b))
    return found and _pair(*found[0], found[1])


@functools.lru_cache(maxsize=256)
def chain_plan(text, ndims):
    """For three operands and more: the plan of the first two, then of each other one with what there is. None: there is none."""
    found = _subscripts(text, ndims)
    if found is None:
        return None
    (before, *rest), output = found
    plans = []
    for k, subs in enumerate(rest):
        keep = set(output).union(*rest[k + 1 :])
        sa, sb = (before, subs) if k == 0 else (subs, before)
        shared = [c for c in sa if c in sb and c in keep]
        before = "".join(shared + [c for c in sa if c not in sb] + [c for c in sb if c not in sa])
        plans.append(_pair(sa, sb, output if k == len(rest) - 1 else before))
        if plans[-1] is None:
            return None
    return tuple(plans)
