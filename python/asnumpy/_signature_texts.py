"""Signatures of the extension's functions, which it keeps as texts."""

import functools
import inspect

import numpy as _np


class _Default:
    """A default value that shows as the text it was written as."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


_CONSTANTS = {"None": None, "True": True, "False": False, "<no value>": _np._NoValue,
              "<class 'float'>": float}  # fmt: skip


def _default(text):
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    try:
        return eval(text, {"__builtins__": {}})  # the extension's own literals
    except Exception:
        return _Default(text)


def _split(text):
    """The parameters of a signature text, split at commas outside brackets and quotes."""
    parts, depth, quote, current = [], 0, "", ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(current.strip())
            current = ""
            continue
        current += c
    parts.append(current.strip())
    return [p for p in parts if p]


@functools.cache
def signature(text):
    """inspect.Signature of a text such as "a, /, axis=None, *, where=<no value>"."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    for part in _split(text):
        if part == "/":
            parameters = [p.replace(kind=inspect.Parameter.POSITIONAL_ONLY) for p in parameters]
        elif part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
        elif part.startswith("**"):
            parameters.append(inspect.Parameter(part[2:], inspect.Parameter.VAR_KEYWORD))
        elif part.startswith("*"):
            parameters.append(inspect.Parameter(part[1:], inspect.Parameter.VAR_POSITIONAL))
            kind = inspect.Parameter.KEYWORD_ONLY
        else:
            name, _, default = part.partition("=")
            default = _default(default) if default else inspect.Parameter.empty
            parameters.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(parameters)
