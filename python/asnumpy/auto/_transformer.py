"""The source of a covered module that imports a library, with its calls staged (_crossing.py says why).

`f(a, b)` becomes `back(stage(f, a, b)())`, `x[k]` `x[key(x, k)]`, `x.y = a` `x.y = key(x, a)`, `x.y` and
`x["y"]` `back(...)`, `x @ y` `back(x @ key(x, y))`, `for i in x` `for i in each(x)`, `return x` `return
result(x)`. What cannot be a library's, by its name or its form, stays as it is.
"""

import ast
import builtins
import copy
import sys

from ._cover import root_of

__all__ = ["NUMPYS_OWN", "STANDARD", "Transformer"]

STANDARD = frozenset(sys.stdlib_module_names)
# Modules whose functions call others with arguments that they were given.
_CALLERS = frozenset(
    ["numpy.testing", "functools", "concurrent.futures", "threading", "multiprocessing"]
)
# Of NumPy's functions, which a library may pass on, those that do not ask arrays what they are.
NUMPYS_OWN = ("numpy.testing", "numpy.ma")  # and what lies in them
_COMPILERS = frozenset(["jit", "njit", "vectorize", "guvectorize", "stencil", "cfunc", "overload"])
_STAGE, _BACK, _EACH = "__asnumpy_stage__", "__asnumpy_back__", "__asnumpy_each__"
_KEY, _HOST, _RESULT = "__asnumpy_key__", "__asnumpy_host__", "__asnumpy_result__"
# Attributes that are no arrays, whoever has them, and names of objects of the user's own classes.
_NO_ARRAYS = frozenset(["shape", "dtype", "ndim", "size"])
_SELF = frozenset(["self", "cls"])
# Builtins that give the items of their arguments on.
_ITERATE = frozenset(["enumerate", "zip", "reversed", "sorted", "list", "tuple", "iter"])


class Transformer(ast.NodeTransformer):
    """Writes calls as stages, keys of what may be a library's with `key`, its attributes and named items
    with `back`, loops over it with `each`. Decorators, annotations, calls and attributes of what by its
    name is no library's, and keys that are whole numbers by their form stay."""

    def __init__(self):
        self._counters = set()  # names that loops over ranges set
        self._own = set()  # names of no library's modules, functions, classes
        self._modules = set()  # names of modules
        self._returned = _RESULT  # what is called of what the function returns

    def visit_Module(self, node):
        self._own = _own_names(node)
        self._modules = _modules_of(node)
        for loop in ast.walk(node):
            if isinstance(loop, (ast.For, ast.comprehension)):
                self._counters |= _counters_of(loop)
        self.generic_visit(node)
        body = node.body
        at = 0
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            at = 1
        while at < len(body) and getattr(body[at], "module", None) == "__future__":
            at += 1
        body.insert(at, _import())
        return node

    def visit_Call(self, node):
        node.func = function = self._base(node.func)
        node.args = list(map(self.visit, node.args))
        node.keywords = list(map(self.visit, node.keywords))
        if isinstance(function, ast.Name) and hasattr(builtins, function.id):
            return node
        if _root(function) in self._own:
            return node
        if isinstance(function, ast.Attribute) and _names_pytest(function.value):
            return node
        called = node
        given = [*node.args, *(k.value for k in node.keywords)]
        if not all(isinstance(x, ast.Constant) for x in given):
            called = _call(_call(_STAGE, [function, *node.args], node, node.keywords), [], node)
        return _call(_BACK, [called], node)

    def _base(self, node):
        """What is called, indexed or asked for an attribute: visited, but not given `back` itself."""
        if not isinstance(node, ast.Attribute):
            return self.visit(node)
        node.value = self._base(node.value)
        return node

    def visit_Subscript(self, node):
        node.value = self._base(node.value)
        node.slice = self.visit(node.slice)
        if self._may_be_array(node.slice):
            if _plain(node.value):
                again = copy.deepcopy(node.value)
                _loaded(again)
            else:  # who it is, only its evaluation tells
                again = ast.copy_location(ast.Constant(...), node)
            node.slice = _call(_KEY, [again, node.slice], node.slice)
        elif isinstance(node.ctx, ast.Load) and _is_name(node.slice):
            return _call(_BACK, [node], node)
        return node

    def visit_BinOp(self, node):
        """Of the operators those that arrays seldom have, and a library's objects often (matrices)."""
        staged = isinstance(node.op, (ast.MatMult, ast.Pow)) and not isinstance(
            node.right, ast.Constant
        )
        owner = copy.deepcopy(node.left) if staged and _plain(node.left) else None
        self.generic_visit(node)
        if owner is not None:
            node.right = _call(_KEY, [owner, node.right], node.right)
        return _call(_BACK, [node], node) if staged else node

    def visit_Attribute(self, node):
        node = self._base(node)
        root = _root(node)
        if (
            not isinstance(node.ctx, ast.Load)
            or node.attr in _NO_ARRAYS
            or root in self._own
            or root in self._modules
            or root in _SELF
            or _names_pytest(node.value)
        ):
            return node
        return _call(_BACK, [node], node)

    def visit_For(self, node):
        self.generic_visit(node)
        node.iter = self._each(node.iter)
        return node

    def visit_comprehension(self, node):
        self.generic_visit(node)
        if not node.is_async:
            node.iter = self._each(node.iter)
        return node

    def _each(self, node):
        """What a loop runs over, with its arrays in the user's class."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
            if name in _ITERATE:
                node.args = list(map(self._each, node.args))
                return node
            if hasattr(builtins, name) or name in self._own:
                return node
        if isinstance(node, (ast.Name, ast.Call)):
            return _call(_EACH, [node], node)
        return node

    def visit_Assign(self, node):
        self.generic_visit(node)
        target = node.targets[0]
        held = isinstance(target, (ast.Subscript, ast.Attribute)) and len(node.targets) == 1
        if held and _plain(target.value) and not isinstance(node.value, ast.Constant):
            again = copy.deepcopy(target.value)
            _loaded(again)
            node.value = _call(_KEY, [again, node.value], node.value)
        return node

    def _may_be_array(self, key):
        if isinstance(key, ast.Tuple):
            return any(map(self._may_be_array, key.elts))
        if isinstance(key, ast.BinOp):
            return self._may_be_array(key.left) or self._may_be_array(key.right)
        if isinstance(key, ast.UnaryOp):
            return self._may_be_array(key.operand)
        if isinstance(key, ast.Name):
            return key.id not in self._counters
        return not isinstance(key, (ast.Constant, ast.Slice, ast.Starred, ast.JoinedStr))

    def visit_FunctionDef(self, node):
        if any(map(self._compiles, node.decorator_list)):
            return node
        returns, node.returns = node.returns, None
        # Who asks for __array__ may be NumPy, which takes its own arrays alone.
        kept, self._returned = self._returned, _HOST if node.name == "__array__" else _RESULT
        self.visit_ClassDef(node)
        node.returns, self._returned = returns, kept
        return node

    def visit_Return(self, node):
        self.generic_visit(node)
        if not isinstance(node.value, (type(None), ast.Constant, ast.JoinedStr)):
            node.value = _call(self._returned, [node.value], node.value)
        return node

    def visit_Lambda(self, node):
        self.generic_visit(node)
        if not isinstance(node.body, (ast.Constant, ast.JoinedStr)):
            node.body = _call(_RESULT, [node.body], node.body)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def _compiles(self, decorator):
        """Whether a decorator is one that compiles the function (Numba's), which then stays as it is."""
        while isinstance(decorator, ast.Call):
            decorator = decorator.func
        name = decorator.attr if isinstance(decorator, ast.Attribute) else _root(decorator)
        return name in _COMPILERS and _root(decorator) not in self._own

    def visit_ClassDef(self, node):
        kept, node.decorator_list = node.decorator_list, []
        self.generic_visit(node)
        node.decorator_list = list(map(self._decorator, kept))
        return node

    def _decorator(self, node):
        """A decorator, of whose calls the arguments alone are visited."""
        if isinstance(node, ast.Call):
            node.func = self._decorator(node.func)
            node.args = list(map(self.visit, node.args))
            for keyword in node.keywords:
                keyword.value = self.visit(keyword.value)
        return node

    def visit_arg(self, node):
        return node

    def visit_AnnAssign(self, node):
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_MatchClass(self, node):
        return node

    visit_MatchValue = visit_MatchClass


def _import():
    """The import of what staged source calls."""
    given = {"stage": _STAGE, "back": _BACK, "each": _EACH, "key": _KEY, "host": _HOST,
             "result": _RESULT}  # fmt: skip
    names = [ast.alias(name, alias) for name, alias in given.items()]
    made = ast.ImportFrom("asnumpy.auto._staged", names, 0)
    for node in (made, *names):
        node.lineno = node.end_lineno = 1
        node.col_offset = node.end_col_offset = 0
    return made


def _call(function, arguments, place, keywords=()):
    """A call at the place of a node; of a name or an expression."""
    if isinstance(function, str):
        function = ast.copy_location(ast.Name(function, ast.Load()), place)
    return ast.copy_location(ast.Call(function, arguments, list(keywords)), place)


def _counters_of(loop):
    """Names that a loop over range() or enumerate() counts with."""
    names = loop.iter.func.id if isinstance(loop.iter, ast.Call) and isinstance(
        loop.iter.func, ast.Name) else None  # fmt: skip
    target = loop.target
    if names == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[0]
    known = names in ("range", "enumerate") and isinstance(target, ast.Name)
    return {target.id} if known else set()


def _own_names(module):
    """Names that a module gives to what is no library's, and to nothing else: modules of NumPy and of
    the standard library, what is imported from them, functions of its own without a decorator."""
    found, others = set(), set()
    for node in ast.walk(module):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            within = getattr(node, "module", None)
            relative = getattr(node, "level", 0)
            for alias in node.names:
                root = root_of(alias.name if within is None else within)
                whole = alias.name if within is None else within
                known = not relative and (root in STANDARD or root in ("numpy", "asnumpy"))
                known = known and whole not in _CALLERS and not whole.startswith(NUMPYS_OWN)
                name = alias.asname or (root if within is None else alias.name)
                (found if known else others).add(name)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            plain = node in module.body and type(node) is ast.FunctionDef
            (found if plain and not node.decorator_list else others).add(node.name)
        elif isinstance(node, ast.arg):
            others.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            others.add(node.id)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            others.add(node.name)
    return found - others


def _modules_of(module):
    """Names that import statements alone give, to modules."""
    names, others = set(), set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names.update(alias.asname or root_of(alias.name) for alias in node.names)
        elif isinstance(node, ast.arg):
            others.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            others.add(node.id)
    return names - others


def _is_name(node):
    """Whether a key is a text."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _root(node):
    """The name that an expression of attributes begins with; None: it is another expression."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _plain(node):
    """Whether an expression is a name, or attributes of one: to evaluate it twice changes nothing."""
    root = _root(node)
    return root is not None and not root.startswith("@")


def _loaded(node):
    for part in ast.walk(node):
        if hasattr(part, "ctx"):
            part.ctx = ast.Load()


def _names_pytest(node):
    """Whether an expression is a module that pytest's rewriting of assertions names."""
    return isinstance(node, ast.Name) and node.id.startswith("@")
