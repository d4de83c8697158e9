"""A function like a ufunc around loops in C."""

import numpy as np

from .. import _core
from . import _loops as loops
from ._elementwise import broadcast_shape
from ._ufunc_methods import LoopMethods


class LoopUfunc(LoopMethods):
    """An operator around compiled loops: broadcasting, casting, ``out=``, ``where=``, ``dtype=``, and a ufunc's methods.

    Attributes
    ----------
    nin, nout, nargs : int
    types : list of str
        The loops' dtypes, as ``"ff->f"``.
    identity : number or None
    """

    __module__ = "asnumpy"

    def __init__(self, name, doc, nin, nout, implementations, identity, owner):
        self.__name__ = self.__qualname__ = name
        self.__doc__ = doc or f"The operator {name}."
        self.nin, self.nout, self.nargs, self.identity = nin, nout, nin + nout, identity
        self._loops = implementations  # (dtypes, address, address of data)
        self._chosen = {}  # by the types of the inputs
        self._opcodes = {}  # of the loops that take part in fused programs, else None
        self._owner = owner  # keeps the code loaded
        self.types = [
            "".join(d.char for d in dtypes[:nin]) + "->" + "".join(d.char for d in dtypes[nin:])
            for dtypes, _, _ in implementations
        ]

    def __repr__(self):
        return f"<asnumpy operator {self.__name__!r}>"

    def _choose(self, inputs, dtype):
        """The loop for inputs, or the one that makes `dtype`."""
        name = self.__name__
        if dtype is not None:
            wished = np.dtype(dtype)
            for loop in self._loops:
                if loop[0][self.nin] == wished:
                    return loop
            raise TypeError(f"{name}: no loop makes {wished}; there are {', '.join(self.types)}")
        strong = [x for x in inputs if not loops.is_number(x)]
        given = [
            x.dtype if not loops.is_number(x) else loops.promoted([*strong, x] if strong else [x])
            for x in inputs
        ]
        for loop in self._loops:
            if all(np.can_cast(g, d, "safe") for g, d in zip(given, loop[0], strict=False)):
                return loop
        raise TypeError(
            f"{name}: no loop takes {', '.join(map(str, given))} safely; there are {', '.join(self.types)}"
        )

    def _choose_again(self, inputs):
        """The same for inputs of the types of an earlier call; numbers alone count by their values."""
        key = tuple(type(x) if loops.is_number(x) else x.dtype for x in inputs)
        if key not in self._chosen:
            loop = self._choose(inputs, None)
            if all(isinstance(x, type) for x in key):
                return loop
            self._chosen[key] = loop
        return self._chosen[key]

    def __call__(self, *args, out=None, where=True, dtype=None, casting="same_kind"):
        """The operator on arrays.

        Parameters
        ----------
        *args : array_like
            The inputs, and perhaps the outputs.
        out : ndarray or tuple of ndarray or None, optional
        where : array_like of bool, optional
            Elsewhere the outputs keep what they have.
        dtype : dtype, optional
            Of the (first) output: the loop that makes it.
        casting : str, optional
            How inputs may be cast to the loop that `dtype` chose, and results to the outputs.

        Returns
        -------
        ndarray, or a tuple of them

        Raises
        ------
        TypeError, ValueError
            The arguments' number, dtypes or shapes.
        """
        inputs, outputs = loops.call_arguments(self.__name__, self.nin, self.nout, args, out)
        loop = self._choose_again(inputs) if dtype is None else self._choose(inputs, dtype)
        results = self._record_or_run(loop, inputs, outputs, where, casting)
        return results[0] if self.nout == 1 else tuple(results)

    def _record_or_run(self, loop, inputs, outputs=(None,), where=True, casting="same_kind"):
        """A call of a loop: the results in a sequence."""
        opcode = self._opcode(loop)
        if opcode is None:
            return self._run_beside(loop, inputs, list(outputs), where, casting)
        return self._record(opcode, loop, inputs, outputs, where, casting)

    def _opcode(self, loop):
        """The operation of fused programs that a loop is; None: it is none."""
        if loop not in self._opcodes:
            dtypes, function, data = loop
            self._opcodes[loop] = _core._own_loop(self.__name__, function, data, dtypes, self.nin)
        return self._opcodes[loop]

    def _record(self, opcode, loop, inputs, outputs, where, casting):
        """A call as an operation among others."""
        name, dtypes = self.__name__, loop[0]
        for k, (x, d) in enumerate(zip(inputs, dtypes, strict=False)):
            loops.check_input(x, d, f"{name}: input {k}", casting)
        mask = None if where is True else _core.asarray(where, dtype=bool)
        if any(x is not None for x in outputs):
            shapes = [() if loops.is_number(x) else x.shape for x in inputs]
            shape = broadcast_shape(shapes + ([] if mask is None else [mask.shape]))
            for k, (x, d) in enumerate(zip(outputs, dtypes[self.nin :], strict=True)):
                if x is not None:
                    loops.make_output(x, shape, d, name, k, casting)
        return _core._call_own_loop(opcode, tuple(inputs), tuple(outputs), mask, casting)

    def _run_beside(self, loop, inputs, outputs, where, casting):
        """A call on the host, between what is recorded before and after it."""
        name, (dtypes, function, data) = self.__name__, loop
        arrays = [
            loops.cast(x, d, f"{name}: input {k}", casting)
            for k, (x, d) in enumerate(zip(inputs, dtypes, strict=False))
        ]
        mask = None if where is True else _core.asarray(where, dtype=bool)
        shape = broadcast_shape([a.shape for a in arrays] + ([] if mask is None else [mask.shape]))
        made = loops.make_outputs(outputs, shape, dtypes[self.nin :], name, casting)
        if mask is None:
            pairs = loops.separate(made, arrays, dtypes[self.nin :])
        else:
            pairs = [(None, _core.empty(shape, d)) for d in dtypes[self.nin :]]
        host = loops.Host(name)
        reads, writes = [host.read(a) for a in arrays], [host.write(a) for _, a in pairs]
        loops.run(function, data, reads, writes, shape)
        host.done()
        results = loops.finish(pairs)
        if mask is not None:
            targets = [array for _, array in made]
            for target, result in zip(targets, results, strict=True):
                _core.copyto(target, result, casting="unsafe", where=mask)
            results = targets
        return results
