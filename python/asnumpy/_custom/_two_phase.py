"""Two-phase operators of a library's own, declared in asnumpy/op.h: checked arguments, outputs made, both phases called
as CANN's are."""

import ctypes
import re

import numpy as np

from .. import _core
from . import _loops as loops

_VERSION, _MAX_DIMS, _MAX_PARAMETERS = 1, 64, 16
DTYPES = {
    0: "float32", 1: "float16", 2: "int8", 3: "int32", 4: "uint8", 6: "int16", 7: "uint16", 8: "uint32",
    9: "int64", 10: "uint64", 11: "float64", 12: "bool", 16: "complex64", 17: "complex128",
}  # fmt: skip
_CODES = {name: code for code, name in DTYPES.items()}
_ATTRIBUTES = {"int": int, "float": float, "bool": bool, "scalar": None}


class Number(ctypes.Structure):
    """asnp_number."""

    _fields_ = [("kind", ctypes.c_int32), ("integer", ctypes.c_int64),
                ("real", ctypes.c_double), ("imag", ctypes.c_double)]  # fmt: skip

    def python(self):
        if chr(self.kind) in "biu":
            value = self.integer % 2**64 if chr(self.kind) == "u" else self.integer
            return bool(value) if chr(self.kind) == "b" else value
        return complex(self.real, self.imag) if chr(self.kind) == "c" else self.real

    @classmethod
    def of(cls, value):
        if isinstance(value, (bool, int)):
            return cls(ord("b" if isinstance(value, bool) else "i"), value, 0, 0)
        value = complex(value)
        return cls(ord("c" if value.imag else "f"), 0, value.real, value.imag)


class _Array(ctypes.Structure):
    _fields_ = [
        ("dtype", ctypes.c_int32),
        ("num_dims", ctypes.c_int32),
        ("shape", ctypes.c_int64 * _MAX_DIMS),
    ]


class _Op(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("doc", ctypes.c_char_p), ("parameters", ctypes.c_char_p),
                ("first", ctypes.c_void_p), ("second", ctypes.c_void_p), ("infer", ctypes.c_void_p)]  # fmt: skip


class _Table(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_int32),
        ("num_ops", ctypes.c_int32),
        ("ops", ctypes.POINTER(_Op)),
    ]


_INFER = ctypes.PYFUNCTYPE(
    ctypes.c_char_p, ctypes.POINTER(_Array), ctypes.POINTER(Number), ctypes.POINTER(_Array)
)
_PARAMETER = re.compile(r"\s*([A-Za-z_]\w*)\s*(?::\s*(\w+)\s*(?:=\s*([^,\s]+)\s*)?)?$")


def _parse(text, where):
    """The inputs' names, the attributes as (name, type, default or None) and the outputs' names of ``parameters``."""
    before, arrow, after = text.partition("->")
    inputs, attributes, outputs = [], [], []
    for part in before.split(","):
        found = _PARAMETER.match(part)
        if not found or (found[2] and found[2] not in _ATTRIBUTES) or (attributes and not found[2]):
            raise ValueError(
                f"{where}: parameter {part.strip()!r} of {text!r} is neither an input nor, after the inputs, an "
                f"attribute NAME: TYPE of {', '.join(_ATTRIBUTES)}"
            )
        if found[2]:
            attributes.append((found[1], found[2], found[3]))
        else:
            inputs.append(found[1])
    for part in after.split(","):
        found = _PARAMETER.match(part)
        if not arrow or not found or found[2]:
            raise ValueError(f"{where}: {text!r} must end in '-> ' and the names of its outputs")
        outputs.append(found[1])
    names = [*inputs, *(a[0] for a in attributes), *outputs]
    if not inputs or len(names) > _MAX_PARAMETERS or len(set(names)) < len(names):
        raise ValueError(
            f"{where}: {text!r} must have an input and at most {_MAX_PARAMETERS} parameters, each with a name of its own"
        )
    return inputs, attributes, outputs


def _default(text, kind, where):
    if text is None:
        return None
    try:
        return {"true": True, "false": False}[text] if kind == "bool" else _number(kind)(text)
    except (KeyError, ValueError):
        raise ValueError(f"{where}: the default {text!r} is no {kind}") from None


def _number(kind):
    return int if kind == "int" else float


class TwoPhaseOperator:
    """An operator of a library's own with two phases: checked and planned at the call, run on the stream.

    Attributes
    ----------
    parameters : str
        As the library declares them: inputs, attributes, ``->``, outputs.
    """

    __module__ = "asnumpy"

    def __init__(self, name, doc, parameters, phases, infer, owner, where):
        self.__name__ = self.__qualname__ = name
        self.parameters = parameters
        self.__doc__ = f"{doc or f'The operator {name}.'}\n\n{parameters}"
        self._inputs, attributes, self._outputs = _parse(parameters, f"{where}: {name}")
        self._attributes = [(n, k, _default(d, k, f"{where}: {name}")) for n, k, d in attributes]
        self._phases, self._infer = phases, _INFER(infer) if infer else None
        self._owner = owner  # keeps the code loaded

    def __repr__(self):
        return f"<asnumpy two-phase operator {self.__name__!r}>"

    def _values(self, given, named):
        """The attributes' values."""
        name, values = self.__name__, []
        if len(given) > len(self._attributes):
            raise TypeError(
                f"{name}: takes {len(self._inputs) + len(self._attributes)} arguments ({self.parameters}), "
                f"got {len(self._inputs) + len(given)}"
            )
        for k, (attribute, kind, default) in enumerate(self._attributes):
            if k < len(given) and attribute in named:
                raise TypeError(f"{name}: {attribute} is given twice")
            value = given[k] if k < len(given) else named.pop(attribute, default)
            if value is None:
                raise TypeError(f"{name}: {attribute} ({kind}) is missing")
            values.append(self._value(attribute, kind, value))
        if named:
            raise TypeError(
                f"{name}: has no attribute {next(iter(named))!r}; it has {self.parameters}"
            )
        return values

    def _value(self, attribute, kind, value):
        whole = isinstance(value, (int, np.integer, np.bool_))
        fits = {
            "int": whole and not isinstance(value, (bool, np.bool_)),
            "float": whole or isinstance(value, (float, np.floating)),
            "bool": isinstance(value, (bool, np.bool_)),
            "scalar": whole or isinstance(value, (float, complex, np.inexact)),
        }[kind]
        if not fits:
            raise TypeError(
                f"{self.__name__}: {attribute} is a {type(value).__name__}; it must be of type {kind}"
            )
        return value if kind == "scalar" else _ATTRIBUTES[kind](value)

    def _layouts(self, inputs, values):
        """Shapes and dtypes of the outputs."""
        if self._infer is None:
            return [(inputs[0].shape, inputs[0].dtype)] * len(self._outputs)
        told = (_Array * len(inputs))()
        for layout, (n, x) in zip(told, zip(self._inputs, inputs, strict=True), strict=True):
            if x.dtype.name not in _CODES:
                raise TypeError(
                    f"{self.__name__}: {n} has dtype {x.dtype}, which operators do not have"
                )
            layout.dtype, layout.num_dims = _CODES[x.dtype.name], x.ndim
            layout.shape[: x.ndim] = x.shape
        numbers = (Number * max(len(values), 1))(
            *(
                Number.of(v if isinstance(v, (bool, int, float, complex)) else v.item())
                for v in values
            )
        )
        made = (_Array * len(self._outputs))()
        wrong = self._infer(told, numbers, made)
        if wrong is not None:
            raise ValueError(f"{self.__name__}: {wrong.decode()}")
        for n, layout in zip(self._outputs, made, strict=True):
            if layout.dtype not in DTYPES or not 0 <= layout.num_dims <= _MAX_DIMS:
                raise RuntimeError(
                    f"{self.__name__}: its library says that {n} has dtype {layout.dtype} and {layout.num_dims} dimensions"
                )
        return [
            (tuple(layout.shape[: layout.num_dims]), np.dtype(DTYPES[layout.dtype]))
            for layout in made
        ]

    def __call__(self, *args, out=None, **attributes):
        """The operator on arrays.

        Parameters
        ----------
        *args : array_like and numbers
            The inputs, and perhaps the attributes.
        out : ndarray or tuple of ndarray, optional
            Of the outputs' shapes and dtypes.
        **attributes : number, optional
            By name.

        Returns
        -------
        ndarray, or a tuple of them

        Raises
        ------
        TypeError, ValueError
            The arguments' number, types or shapes.
        RuntimeError
            A phase refused or failed: its code and the message of CANN's interface.
        """
        name, count = self.__name__, len(self._inputs)
        if len(args) < count:
            raise TypeError(f"{name}: takes {count} inputs ({self.parameters}), got {len(args)}")
        inputs = [loops.as_array(x) for x in args[:count]]
        values = self._values(args[count:], attributes)
        layouts = self._layouts(inputs, values)
        outputs = (
            [None] * len(layouts)
            if out is None
            else list(out)
            if isinstance(out, (tuple, list))
            else [out]
        )
        if len(outputs) != len(layouts):
            raise TypeError(f"{name}: out= takes the {len(layouts)} outputs, got {len(outputs)}")
        written = []
        for k, (x, (shape, dtype)) in enumerate(zip(outputs, layouts, strict=True)):
            _, array = loops.make_output(x, shape, dtype, name, k, "no")
            written.append(array)
        kinds = [kind for _, kind, _ in self._attributes]
        arguments = [
            inputs[0].dtype.type(v) if kind == "scalar" else v
            for v, kind in zip(values, kinds, strict=True)
        ]
        _core._acl_call(name, self._phases, (*inputs, *arguments), tuple(written))
        return written[0] if len(written) == 1 else tuple(written)


def two_phase_operators(library, where):
    """Those of a library's table of them, if it has one."""
    try:
        table = _Table.in_dll(library, "asnumpy_two_phase")
    except ValueError:
        return []
    if table.version != _VERSION:
        raise ValueError(
            f"{where} has version {table.version} of asnumpy/op.h's two-phase operators; this is version {_VERSION}"
        )
    _core.init()  # the device's libraries, which the library may be linked to
    made = []
    for op in table.ops[: table.num_ops]:
        name = (op.name or b"").decode()
        if not name.isidentifier():
            raise ValueError(f"{where}: {name!r} is no name for an operator")
        if not (op.first and op.second and op.parameters):
            raise ValueError(f"{where}: {name} lacks its parameters or one of its phases")
        phases = op.first, op.second
        made.append(
            TwoPhaseOperator(
                name,
                (op.doc or b"").decode(),
                op.parameters.decode(),
                phases,
                op.infer,
                library,
                where,
            )
        )
    return made
