"""SciPy's modules, an optional dependency."""

import importlib


def module(name):
    """A module of SciPy's; ImportError that says what needs it where there is none."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{name} is needed here: asnumpy.sparse.linalg solves with SciPy, and to_scipy makes its "
            "arrays; pip install scipy"
        ) from error
