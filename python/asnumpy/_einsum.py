"""einsum: sums of products by subscripts.

Subscripts without surprises have a plan that is made once (_einsum_plans.py). In general: two operands at a time, in the order of a greedy search (or the given one): each pair becomes one
batched matrix product by transposing its kept, summed and shared subscripts into three groups.
What a single operand needs (diagonals, sums, transposes) are views and reductions.
"""

import itertools
import math
import operator

import numpy as _np

from . import _core
from ._array_methods import number
from ._core import asanyarray
from ._einsum_plans import LETTERS as _LETTERS
from ._einsum_plans import chain_plan, one_plan, pair_plan


def _sublist(subs):
    text = ""
    for s in subs:
        if s is Ellipsis:
            text += "..."
        else:
            try:
                number = operator.index(s)
            except TypeError as error:
                raise TypeError(
                    "For this input type lists must contain either int or Ellipsis"
                ) from error
            if not 0 <= number < len(_LETTERS):
                raise ValueError("subscript is not within the valid range [0, 52)")
            text += _LETTERS[number]
    return text


def _parse(operands):
    """(input subscripts, output subscripts, arrays), ellipses replaced by letters."""
    if not operands:
        raise ValueError("No input operands")
    if isinstance(operands[0], str):
        text = operands[0].replace(" ", "")
        arrays = [asanyarray(x) for x in operands[1:]]
        for c in text:
            if c not in ".,->" and c not in _LETTERS:
                raise ValueError(f"Character {c} is not a valid symbol.")
    else:
        items = list(operands)
        out = items.pop() if len(items) % 2 else None
        arrays = [asanyarray(x) for x in items[::2]]
        text = ",".join(_sublist(s) for s in items[1::2])
        if out is not None:
            text += "->" + _sublist(out)
    if ("-" in text or ">" in text) and (text.count("->") != 1 or text.count("-") > 1):
        raise ValueError("Subscripts can only contain one '->'.")
    inputs, arrow, output = text.partition("->")
    inputs = inputs.split(",")
    if len(inputs) != len(arrays):
        raise ValueError("Number of einsum subscripts must be equal to the number of operands.")
    return _expand_ellipses(inputs, output if arrow else None, arrays)


def _expand_ellipses(inputs, output, arrays):
    used = set("".join(inputs)) | set(output or "")
    free = [c for c in _LETTERS if c not in used]
    longest, result = 0, []
    for subs, a in zip(inputs, arrays, strict=True):
        if "." in subs:
            if subs.count(".") != 3 or subs.count("...") != 1:
                raise ValueError("Invalid Ellipses.")
            extra = a.ndim - (len(subs) - 3)
            if extra < 0:
                raise ValueError("Ellipses lengths do not match.")
            longest = max(longest, extra)
        result.append(subs)
    broadcast = "".join(free[:longest])
    for i, (subs, a) in enumerate(zip(result, arrays, strict=True)):
        if "..." in subs:
            extra = a.ndim - (len(subs) - 3)
            result[i] = subs.replace("...", broadcast[longest - extra :])
        if len(result[i]) != a.ndim:
            raise ValueError(
                f"einstein sum subscripts string contains {'too many' if len(result[i]) > a.ndim else 'too few'} "  # noqa: E501
                f"subscripts for operand {i}"
            )
    if output is None:
        every = "".join(result)
        output = broadcast + "".join(
            sorted(c for c in set(every) if every.count(c) == 1 and c not in broadcast)
        )
    else:
        if broadcast and "..." not in output:
            raise ValueError(
                "output has more dimensions than subscripts given in einstein sum, but no '...' ellipsis provided to broadcast the "
                "extra dimensions."
            )
        output = output.replace("...", broadcast)
    for c in output:
        if output.count(c) != 1:
            raise ValueError(f"Output character {c} appeared more than once in the output.")
        if c not in "".join(result):
            raise ValueError(f"Output character {c} did not appear in the input")
    return result, output, arrays, broadcast


def _extents(inputs, arrays, broadcast):
    extents = {}
    for i, (subs, a) in enumerate(zip(inputs, arrays, strict=True)):
        for c, n in zip(subs, a.shape, strict=True):
            old = extents.get(c, 1)
            if old != n and 1 not in (old, n):
                raise ValueError(
                    f"Size of label '{c}' for operand {i} ({old}) does not match previous terms "
                    f"({n})."
                )
            extents[c] = max(old, n) if n and old else (n if old == 1 else old if n == 1 else 0)
    return extents


def _diagonals(a, subs, operand):
    """Repeated subscripts of one operand taken as diagonals."""
    for c in dict.fromkeys(subs):
        while subs.count(c) > 1:
            i = subs.index(c)
            j = subs.index(c, i + 1)
            if a.shape[i] != a.shape[j]:
                raise ValueError(
                    f"dimensions in {operand} for collapsing index '{c}' don't match ({a.shape[i]} != {a.shape[j]})"
                )
            a = a.diagonal(axis1=i, axis2=j)
            subs = subs[:i] + subs[i + 1 : j] + subs[j + 1 :] + c
    return a, subs


def _reduce_one(a, subs, keep, dtype):
    """Sums away the subscripts not in keep."""
    axes = tuple(i for i, c in enumerate(subs) if c not in keep)
    if axes:
        a = _core.asarray(a.sum(axis=axes, dtype=dtype))
        subs = "".join(c for c in subs if c in keep)
    return a, subs


def _pair(a, sa, b, sb, keep, dtype):
    """The product of two operands summed over what is not kept."""
    a, sa = _reduce_one(a, sa, set(keep) | set(sb), dtype)
    b, sb = _reduce_one(b, sb, set(keep) | set(sa), dtype)
    # Extents of 1 that broadcast against the other operand cannot be summed in a matrix product.
    for c in set(sa) & set(sb):
        na, nb = a.shape[sa.index(c)], b.shape[sb.index(c)]
        if na != nb and c not in keep:
            if na == 1:
                a, sa = a.squeeze(sa.index(c)), sa.replace(c, "")
                b, sb = _reduce_one(b, sb, set(sb) - {c}, dtype)
            else:
                b, sb = b.squeeze(sb.index(c)), sb.replace(c, "")
                a, sa = _reduce_one(a, sa, set(sa) - {c}, dtype)
    shared = [c for c in sa if c in sb and c in keep]
    summed = [c for c in sa if c in sb and c not in keep]
    left = [c for c in sa if c not in sb]
    right = [c for c in sb if c not in sa]
    if not summed:
        order = shared + left + right
        x = a.transpose([sa.index(c) for c in shared + left]).reshape(
            [a.shape[sa.index(c)] for c in shared + left] + [1] * len(right)
        )
        y = b.transpose([sb.index(c) for c in shared + right]).reshape(
            [b.shape[sb.index(c)] for c in shared]
            + [1] * len(left)
            + [b.shape[sb.index(c)] for c in right]
        )
        return _core.asarray(_core.multiply(x, y)), "".join(order)
    x = a.transpose([sa.index(c) for c in shared + left + summed])
    y = b.transpose([sb.index(c) for c in shared + summed + right])
    n, k = len(shared), len(summed)
    rows, depth = x.shape[n : x.ndim - k], math.prod(x.shape[x.ndim - k :])
    columns = y.shape[n + k :]
    x = x.reshape((*x.shape[:n], math.prod(rows), depth))
    y = y.reshape((*y.shape[:n], depth, math.prod(columns)))
    z = _core.asarray(_core._contract(x, y))
    return z.reshape(z.shape[:n] + rows + columns), "".join(shared + left + right)


def _greedy(inputs, output, extents):
    """The order of contraction: at each step the pair whose result is smallest, then cheapest."""
    path, terms = [], list(map(frozenset, inputs))

    def size(labels):
        return math.prod(extents[c] for c in labels)

    while len(terms) > 1:
        best = None
        for i, j in itertools.combinations(range(len(terms)), 2):
            rest = frozenset(output).union(*(t for k, t in enumerate(terms) if k not in (i, j)))
            both = terms[i] | terms[j]
            result = both & rest
            score = (size(result) - size(terms[i]) - size(terms[j]), size(both))
            if best is None or score < best[0]:
                best = (score, i, j, result)
        _, i, j, result = best
        path.append((i, j))
        terms = [t for k, t in enumerate(terms) if k not in (i, j)] + [result]
    return path


def _path_of(optimize, inputs, output, extents):
    if isinstance(optimize, tuple | list) and optimize and optimize[0] == "einsum_path":
        path = [tuple(p) for p in optimize[1:]]
        left = len(inputs) - sum(len(p) - 1 for p in path)
        if left > 1:
            raise RuntimeError(
                f"Invalid einsum_path is specified: {left} more operands has to be contracted."
            )
        return path
    if optimize in (False, None) or len(inputs) < 3:
        return (
            [(0, 1)] + [(0, len(inputs) - i - 1) for i in range(1, len(inputs) - 1)]
            if (len(inputs) > 1)
            else []
        )
    return _greedy(inputs, output, extents)


def _as_view(view, a):
    """A view of the only operand, writeable where that is: a diagonal's own view is not."""
    if not view.ndim:
        return view[()]
    view = _core.asarray(view)
    if not view.flags.writeable and a.flags.writeable:
        view.flags.writeable = True
    return view


def _one_at_once(text, a):
    plan = one_plan(text, a.ndim)
    if plan is None or (plan[1] and a.dtype == bool):
        return None
    diagonals, axes, order = plan
    view = a
    for i, j in diagonals:
        if view.shape[i] != view.shape[j]:
            return None
        view = view.diagonal(axis1=i, axis2=j)
    if axes:
        view = view.sum(axis=axes, dtype=a.dtype)
    if order:
        view = view.transpose(order)
    if not axes:
        return _as_view(view, a)
    return view.copy() if order else _core.asarray(view) if view.ndim else view[()]


def _pair_at_once(plan, a, b):
    """The product of two arrays of one dtype; None when it is not that simple."""
    perm_a, perm_b, shared, own, summed, perm, as_is = plan
    x = a.transpose(perm_a) if perm_a else a
    y = b.transpose(perm_b) if perm_b else b
    if as_is and a.dtype != bool and x.shape[-1] == y.shape[0]:
        z = _core._contract(x, y)
        return z.transpose(perm).copy() if perm else z
    if type(shared) is tuple:  # the axes of sums of products, element by element
        if x.shape != y.shape or a.dtype.kind not in "iufc" or a.dtype.itemsize == 2:
            return None
        z = _core.multiply(x, y).sum(axis=shared, dtype=a.dtype)
        return z.transpose(perm).copy() if perm else z
    batch, rows, depth = x.shape[:shared], x.shape[shared : shared + own], x.shape[shared + own :]
    columns = y.shape[shared + summed :]
    if y.shape != batch + depth + columns or (a.dtype == bool and summed):
        return None
    if not summed:
        z = _core.asarray(
            _core.multiply(x.reshape(x.shape + (1,) * len(columns)),
                           y.reshape(batch + (1,) * own + columns))
        )  # fmt: skip
    else:
        if own != 1 or summed != 1:
            x = x.reshape((*batch, math.prod(rows), math.prod(depth)))
        if len(columns) != 1 or summed != 1:
            y = y.reshape((*batch, math.prod(depth), math.prod(columns)))
        z = _core.asarray(_core._contract(x, y))
        if own != 1 or len(columns) != 1:
            z = z.reshape(batch + rows + columns)
    if perm:
        z = z.transpose(perm).copy()
    return number(z)


def _at_once(text, *arrays):
    """einsum of arrays of one dtype by a plan that was made before; None: it takes the general way."""
    first = arrays[0]
    for a in arrays:
        if type(a) is not _core.ndarray or a.dtype != first.dtype:
            return None
    if len(arrays) == 1:
        return _one_at_once(text, first)
    if len(arrays) == 2:
        plan = pair_plan(text, first.ndim, arrays[1].ndim)
        return plan and _pair_at_once(plan, *arrays)
    plans = chain_plan(text, tuple(a.ndim for a in arrays))
    if plans is None:
        return None
    made = _pair_at_once(plans[0], first, arrays[1])
    for plan, a in zip(plans[1:], arrays[2:], strict=True):
        if made is None:
            return None
        made = _pair_at_once(plan, a, _core.asarray(made))
    return made


def einsum(*operands, out=None, optimize=False, **kwargs):
    """Sums of products of arrays, described by letters for their axes.

    Parameters
    ----------
    *operands
        The subscripts, "ij,jk->ik": letters for the axes of each array, and of the result; a letter
        that is not in the result is summed over, "..." stands for axes in front. Then the arrays. Or
        each array followed by a list of numbers in place of letters, and a list for the result.
    out : ndarray, optional
        Receives the result.
    optimize : bool, 'greedy', 'optimal' or a path of einsum_path
        Whether, and how, several arrays are put together in pairs; matrix products are then used.
    **kwargs
        dtype, order and casting: as of a ufunc.

    Returns
    -------
    ndarray or scalar
        A view where nothing is computed ("ij->ji", "ii->i").

    Raises
    ------
    ValueError
        Subscripts that do not fit the arrays.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(6).reshape(2, 3)
    >>> np.einsum("ij,kj->ik", a, a)
    array([[ 5, 14],
           [14, 50]])
    >>> np.einsum("ij->j", a)
    array([3, 5, 7])
    """
    few = len(operands) < 4 or optimize is False
    if few and len(operands) > 1 and out is None and not kwargs and type(operands[0]) is str:
        result = _at_once(*operands)
        if result is not None:
            return result
    unknown = set(kwargs) - {"dtype", "order", "casting"}
    if unknown:
        raise TypeError(f"Did not understand the following kwargs: {sorted(unknown)}")
    inputs, output, arrays, broadcast = _parse(operands)
    extents = _extents(inputs, arrays, broadcast)
    dtype = kwargs.get("dtype")
    dtype = _core.result_type(*arrays) if dtype is None else _np.dtype(dtype)
    casting = kwargs.get("casting", "safe")
    order = str(kwargs.get("order", "K")).upper()
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    terms = []
    sums = len(arrays) > 1 or set(inputs[0]) - set(output)
    if not sums and out is None:
        dtype = arrays[0].dtype  # a view
    for i, (a, subs) in enumerate(zip(arrays, inputs, strict=True)):
        if not _core.can_cast(a.dtype, dtype, casting):
            raise TypeError(
                f"Iterator operand could not be cast from {a.dtype!r} to {dtype!r} according to "
                f"the rule '{casting}'"
            )
        operand = f"operand {i}" if sums else "single operand"
        terms.append(_diagonals(a.astype(dtype, copy=False), subs, operand))
    shape = tuple(extents[c] for c in output)
    if sums and 0 in extents.values():  # sums of nothing, whatever the other factors are
        terms = [(_core.zeros(shape, dtype), output)]
    for step in _path_of(optimize, inputs, output, extents) if len(terms) > 1 else ():
        chosen = [terms[i] for i in step]
        terms = [t for i, t in enumerate(terms) if i not in step]
        while len(chosen) > 1:
            (a, sa), (b, sb) = chosen[0], chosen[1]
            keep = set(output).union(*(s for _, s in terms + chosen[2:]))
            chosen = [_pair(a, sa, b, sb, keep, dtype), *chosen[2:]]
        terms.append(chosen[0])
    a, subs = terms[0]
    a, subs = _reduce_one(a, subs, set(output), dtype)
    view = a.transpose([subs.index(c) for c in output])
    if view.shape != shape:
        view = _core.broadcast_to(view, shape)
    if out is not None:
        # With optimize= NumPy writes out by other functions, which cast as they like.
        _core.copyto(out, view, casting=casting if optimize in (False, None) else "unsafe")
        return out
    if len(arrays) == 1 and _core.may_share_memory(view, arrays[0]):
        return _as_view(view, arrays[0])
    if order == "A":
        order = "F" if all(a.flags.fnc for a in arrays) else "C"
    if order in "CF":
        view = _core.asarray(view, order=order)
    return view.copy(order) if not view.flags.writeable else view[()]


def einsum_path(*operands, optimize="greedy", einsum_call=False):
    """The order in which einsum would put arrays together, and a description of it.

    Parameters
    ----------
    *operands
        As of einsum.
    optimize : bool, 'greedy', 'optimal' or (str, int)
        How the order is searched; with a number the largest intermediate array that is allowed.
    einsum_call : bool
        Gives what einsum uses itself.

    Returns
    -------
    path : list
        'einsum_path' and then pairs of positions; results go to the end.
    text : str
        What it costs.

    Raises
    ------
    ValueError
        Subscripts that do not fit the arrays.

    Examples
    --------
    >>> import asnumpy as np
    >>> a, b, c = np.ones((2, 30)), np.ones((30, 40)), np.ones((40, 5))
    >>> np.einsum_path("ij,jk,kl->il", a, b, c)[0]
    ['einsum_path', (1, 2), (0, 1)]
    """
    hosts = [_np.asarray(x) if _core._is_array(x) else x for x in operands]
    return _np.einsum_path(*hosts, optimize=optimize, einsum_call=einsum_call)
