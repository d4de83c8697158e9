"""What the array API standard asks a namespace to tell about itself."""

import numpy as _np

from . import _core

_KINDS = {
    "bool": ["bool"],
    "signed integer": ["int8", "int16", "int32", "int64"],
    "unsigned integer": ["uint8", "uint16", "uint32", "uint64"],
    "real floating": ["float32", "float64"],
    "complex floating": ["complex64", "complex128"],
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


class __array_namespace_info__:
    """Capabilities, devices and dtypes of asnumpy (array API 2024.12)."""

    __module__ = "asnumpy"

    def capabilities(self):
        """What the namespace can do beyond the required."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """The device of new arrays."""
        return _core.empty(0).device

    def devices(self):
        """All devices."""
        kind = self.default_device().partition(":")[0]
        names = [f"{kind}:{n}" for n in range(_core.get_device_count())]
        return ["cpu", *names[1:]] if kind == "cpu" else names

    def _check(self, device):
        if device is not None:
            _core._device_number(device)  # which refuses what is no device in use

    def default_dtypes(self, *, device=None):
        """The dtypes that Python numbers give."""
        self._check(device)
        return {
            "real floating": _np.dtype(_np.float64),
            "complex floating": _np.dtype(_np.complex128),
            "integral": _np.dtype(_np.int64),
            "indexing": _np.dtype(_np.int64),
        }

    def dtypes(self, *, device=None, kind=None):
        """The dtypes of a kind, or of a tuple of kinds."""
        self._check(device)
        if kind is None:
            kind = ("bool", "numeric")
        kinds = kind if isinstance(kind, tuple) else (kind,)
        names = []
        for k in kinds:
            if k not in _KINDS:
                raise ValueError(f"unsupported kind: {k!r}")
            names += [n for n in _KINDS[k] if n not in names]
        return {n: _np.dtype(n) for n in names}
