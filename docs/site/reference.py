"""Writes the API reference: a page for each public name, and pages that group them.

What is public is asked of the package (`inventory`), how top-level names are grouped stands in
topics.txt, and `missing` names what is in neither, for tests/python/test_site.py. Signatures are
those that help() prints, texts are the docstrings, read as numpydoc's sections. A docstring is
plain text for help(), so that what reStructuredText would take for markup is escaped; code spans,
lists, indented blocks and examples are kept.

A name that is NumPy's own object, or of another library, has a line in its table with a link to
NumPy's page instead of a page here; so has another name of the same object.
"""

import dataclasses
import importlib
import inspect
import pathlib
import re
import sys
import textwrap
import warnings

import asnumpy

with warnings.catch_warnings():
    warnings.simplefilter("ignore", PendingDeprecationWarning)  # which it says of itself
    import numpy.matlib

HERE = pathlib.Path(__file__).resolve().parent
NUMPY = "https://numpy.org/doc/stable/reference"
# Modules with a page of their own: name and what it has, in the order of the index.
MODULES = {
    "linalg": "Linear algebra",
    "fft": "Discrete Fourier transforms",
    "random": "Random numbers",
    "sparse": "Sparse arrays",
    "sparse.linalg": "Solvers of sparse systems",
    "polynomial": "Polynomials",
    "polynomial.polynomial": "Power series",
    "polynomial.chebyshev": "Chebyshev series",
    "polynomial.hermite": "Hermite series, physicists'",
    "polynomial.hermite_e": "Hermite series, probabilists'",
    "polynomial.laguerre": "Laguerre series",
    "polynomial.legendre": "Legendre series",
    "polynomial.polyutils": "Utilities for polynomials",
    "emath": "Functions that leave the reals",
    "lib": "Utilities",
    "lib.array_utils": "Utilities for arrays",
    "lib.mixins": "Operators for classes of your own",
    "lib.npyio": "Files of arrays",
    "lib.stride_tricks": "Windows and strides",
    "testing": "Comparisons for tests",
    "typing": "Types for annotations",
    "random.bit_generator": "Base classes of random streams",
    "memory": "Memory",
    "ops": "Operators",
    "balance": "Work dealt out to cores",
    "debug": "Synchronisations and departures",
    "monitor": "Metrics of a running process",
    "nn": "Caches of language models",
    "precision": "Products in narrower dtypes",
    "auto": "No change to the source",
    "acl": "CANN's interface",
    "doctor": "What this machine has",
    "version": "Versions",
}
# Modules that are another name of one above.
SAME_MODULES = {"random.mtrand": "random", "lib.scimath": "emath"}
# Where NumPy's documentation has what a module of ours takes over: not every name has a page there.
NUMPYS_OF = {
    "index_exp": "generated/numpy.s_.html",
    "test": "routines.testing.html",
    "testing": "routines.testing.html",
    "typing": "typing.html",
    "lib": "routines.lib.html",
    "random.bit_generator": "random/bit_generators/index.html",
}
# NumPy's own modules, and where its documentation has them.
PAGES_OF_NUMPY = {
    "char": "routines.char.html",
    "ctypeslib": "routines.ctypeslib.html",
    "dtypes": "routines.dtypes.html",
    "exceptions": "routines.exceptions.html",
    "f2py": "../f2py/index.html",
    "ma": "routines.ma.html",
    "matlib": "routines.matlib.html",
    "rec": "routines.rec.html",
    "strings": "routines.strings.html",
}


@dataclasses.dataclass(frozen=True)
class Entry:
    """A public name: the module it is in, its object, and what stands for it."""

    module: str  # "" for asnumpy itself
    name: str
    value: object
    link: str = ""  # of NumPy's page, where the object is NumPy's
    same: str = ""  # the full name of the entry that is the same object

    @property
    def full(self):
        return ".".join(filter(None, ["asnumpy", self.module, self.name]))


def module_of(name):
    return importlib.import_module(".".join(filter(None, ["asnumpy", name])))


def names_of(module):
    """Public names, without those of modules. `__all__` says so where it says enough."""
    if module is asnumpy:
        names = {n for n in dir(asnumpy) if not n.startswith("_")} | {"bfloat16"}
    else:
        names = set(module.__all__)
        if module.__name__ == "asnumpy.ops":  # its operators are attributes on demand
            names |= {n for n in dir(module) if not n.startswith("_")}
    return sorted(n for n in names if not is_module(getattr(module, n)))


def is_module(value):
    """Whether a value is a module and nothing else: `asnumpy.profile`, once imported, is also called."""
    return inspect.ismodule(value) and not callable(value)


def numpys(module, name, value):
    """The address of NumPy's page, where the object is NumPy's own or another library's."""
    try:
        theirs = getattr(importlib.import_module(".".join(filter(None, ["numpy", module]))), name)
    except (ImportError, AttributeError):
        theirs = None
    if isinstance(value, type) and issubclass(value, numpy.generic):
        return f"{NUMPY}/arrays.scalars.html"
    if isinstance(value, float | type(None) | numpy.bool):
        return f"{NUMPY}/constants.html"
    if theirs is not value or module == "version":  # True is True
        return ""
    if page := NUMPYS_OF.get(module or name):
        return f"{NUMPY}/{page}"
    if isinstance(value, bool | dict | tuple):
        return f"{NUMPY}/arrays.dtypes.html"
    return f"{NUMPY}/generated/numpy.{'.'.join(filter(None, [module, name]))}.html"


def inventory():
    """{full name: Entry} of every public name of the package."""
    found, first = {}, {}
    for module in ["", *MODULES]:
        there = module_of(module)
        for name in sorted(names_of(there), key=lambda n: (own_name(there, n) != n, n)):
            value = getattr(there, name)
            entry = Entry(module, name, value, numpys(module, name, value))
            if not entry.link:
                same = first.setdefault(id(value), entry.full) if is_named(value) else entry.full
                entry = dataclasses.replace(entry, same="" if same == entry.full else same)
            found[entry.full] = entry
    return found


def is_named(value):
    """Whether two names of the object are one thing: constants that are equal by chance are not."""
    return callable(value) or inspect.isclass(value)


def own_name(module, name):
    return getattr(getattr(module, name), "__name__", name)


# Names that NumPy dropped, and asnumpy has beside its older versions alone.
DROPPED = {"row_stack"}


def topics(text=None):
    """[(slug, title, introduction, [(title, [names])])] of topics.txt."""
    gone = {n for n in DROPPED if not hasattr(asnumpy, n)}
    parts = re.split(r"^== ", text or (HERE / "topics.txt").read_text(), flags=re.M)[1:]
    found = []
    for part in parts:
        head, *tables = re.split(r"^-- ", part, flags=re.M)
        first, _, introduction = head.partition("\n")
        slug, _, title = first.partition(" ")
        tables = [(t.partition("\n")[0], t.partition("\n")[2].split()) for t in tables]
        tables = [(t, [n for n in names if n not in gone]) for t, names in tables]
        found.append((slug, title, introduction.strip(), tables))
    return found


def submodules():
    """{name: module} of the modules that the package names, at its first level and below."""
    first = {n: getattr(asnumpy, n) for n in dir(asnumpy) if not n.startswith("_")}
    found = {n: m for n, m in first.items() if is_module(m)}
    for above, module in list(found.items()):
        if ours(module) and above != "emath":  # which is lib.scimath
            inside = {f"{above}.{n}": getattr(module, n) for n in module.__all__}
            found |= {n: m for n, m in inside.items() if is_module(m)}
    return found


def ours(module):
    return module.__name__.partition(".")[0] == "asnumpy"


def missing():
    """What has no place in the reference, and what has a place but is no name: both sorted."""
    grouped = [n for *_, tables in topics() for _, names in tables for n in names]
    there = names_of(asnumpy)
    places = {*MODULES, *SAME_MODULES}
    lost = [n for n, module in submodules().items() if ours(module) and n not in places]
    twice = {n for n in grouped if grouped.count(n) > 1}
    return sorted({*there} - {*grouped}) + sorted(lost), sorted(({*grouped} - {*there}) | twice)


# ---------------------------------------------------------------- texts


def signature(value):
    """What help() shows in the brackets, or "" where there are none."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        found = None
    return "" if found is None else str(found)


def spans(text):
    """Plain text with its code spans as reStructuredText."""
    pieces = re.split(r"(``[^`]+``|`[^`\n]+`)", text)
    for i, piece in enumerate(pieces):
        if i % 2:
            inside = piece.strip("`")
            pieces[i] = f"``{inside}``" if inside.strip() == inside else escaped(piece)
        else:
            pieces[i] = escaped(piece)
    # a literal ends where a blank, an end or punctuation follows
    joined = ""
    for i, piece in enumerate(pieces):
        if i % 2 and joined and re.search(r"[\w.)\]}*]$", joined):
            joined += "\\ "
        if i % 2 == 0 and joined and re.match(r"[\w(\[{\\]", piece):
            joined += "\\ "
        joined += piece
    return joined


def escaped(text):
    return re.sub(r"([\\*_|`])", r"\\\1", text)


ITEM = re.compile(r"(?:[-*]|\d+\.) ")


def prose(text):
    """Blocks of a docstring as reStructuredText."""
    out = []
    for block in re.split(r"\n\s*\n", textwrap.dedent(text).strip("\n")):
        lines = block.splitlines()
        if not lines:
            continue
        if lines[0].lstrip().startswith(">>> "):
            out.append(literal(block, "pycon"))
        elif ITEM.match(lines[0]):
            out.append("\n".join(listed(lines)))
        elif all(line.startswith("  ") for line in lines):
            out.append(literal(block, "python" if looks_like_code(block) else "text"))
        else:
            head = [x for x in lines if not x.startswith("    ")]
            if (
                0 < len(head) < len(lines) and lines[: len(head)] == head
            ):  # text, then what it shows
                out.append(spans(" ".join(line.strip() for line in head)))
                out.append(literal("\n".join(lines[len(head) :]), "text"))
            else:
                out.append(spans("\n".join(line.strip() for line in lines)))
    return "\n\n".join(out) + "\n"


def looks_like_code(block):
    try:
        compile(textwrap.dedent(block), "block", "exec")
    except SyntaxError:
        return False
    return True


def listed(lines):
    """A list: items begin with a mark, their other lines are indented."""
    for line in lines:
        mark = ITEM.match(line)
        rest = line[mark.end() :] if mark else line
        yield (mark[0] + spans(rest)) if mark else "  " + spans(rest.strip())


def literal(block, language):
    return (
        f".. code-block:: {language}\n\n{textwrap.indent(textwrap.dedent(block).rstrip(), '   ')}"
    )


SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n(-{3,})$", re.M)


def rendered(text):
    """A docstring as reStructuredText: what it says, then numpydoc's sections."""
    parts = SECTION.split(text)
    out = [prose(parts[0])] if parts[0].strip() else []
    for title, body in zip(parts[1::3], parts[3::3], strict=True):
        out.append(f".. rubric:: {title}\n")
        if title in FIELDS:
            out.append(fields(body))
        else:
            out.append(prose(body))
    return "\n".join(out)


FIELDS = {"Parameters", "Returns", "Yields", "Raises", "Warns", "Attributes", "Other Parameters",
          "Methods", "Receives"}  # fmt: skip


def fields(body):
    """`name : type` lines with an indented text below each, as a definition list."""
    out, rows = [], []
    for line in textwrap.dedent(body).strip("\n").splitlines():
        if line and not line[0].isspace():
            rows.append((line, []))
        elif rows:
            rows[-1][1].append(line)
    for head, lines in rows:
        name, colon, kind = head.partition(" : ")
        named = f"**{escaped(name)}** : {spans(kind)}" if colon else f"**{escaped(head)}**"
        text = prose("\n".join(lines)) if lines else ""
        out.append(named + "\n" + textwrap.indent(text or "..\n", "   "))
    return "\n".join(out)


def text_of(value, name):
    """The docstring, without the line of the signature that ufuncs begin with; a constant's value.

    A function that runs NumPy's on the host may carry NumPy's text, which is not ours to print.
    """
    if is_constant(value):
        return f"`{value!r}`" if "\n" not in repr(value) else ""
    text = inspect.getdoc(value) or ""
    theirs = text_of_numpy(value, name)
    if theirs and text == inspect.getdoc(theirs):
        where = value.__module__.replace("asnumpy", "numpy", 1)
        return f"What `{where}.{name}` does, for AsNumpy's arrays."
    first, _, rest = text.partition("\n")
    return rest.lstrip("\n") if first.startswith(f"{name}(") else text


def is_constant(value):
    """Whether the docstring is that of the value's class, and says nothing of the value."""
    told = callable(value) or inspect.isdatadescriptor(value) or " object at 0x" in repr(value)
    return not told and value.__doc__ == type(value).__doc__


def text_of_numpy(value, name):
    """NumPy's function that one of ours runs on the host: the same name in the same module."""
    module = (getattr(value, "__module__", "") or "").replace("asnumpy", "numpy", 1)
    found = sys.modules.get(module)
    return vars(found).get(name) if found else None


def summary(text):
    """The first sentence."""
    first = " ".join(SECTION.split(text)[0].strip().split("\n\n")[0].split())
    cut = re.match(r".+?[.:](?= [A-Z]|$)", first)
    return (cut[0] if cut else first).rstrip(":")


# ---------------------------------------------------------------- pages


def heading(text, mark="="):
    return f"{text}\n{mark * len(text)}\n"


def directive(kind, full, brackets, text, indent=""):
    module, _, name = full.rpartition(".")
    head = f".. py:{kind}:: {full}{brackets}\n"
    return textwrap.indent(f"{head}\n{textwrap.indent(text, '   ')}\n", indent)


def members(cls):
    """[(kind, name, static, value)] of a class, with what it has from other classes of ours."""
    for name in dir(cls):
        if name.startswith("_"):
            continue
        above = next((c for c in cls.__mro__ if name in vars(c)), None)
        if above is None or above is object or not above.__module__.startswith("asnumpy"):
            continue
        static = vars(above)[name]
        value = getattr(static, "__func__", static)
        if isinstance(static, property) or inspect.isdatadescriptor(static):
            yield "attribute", name, static
        elif callable(value):
            yield "method", name, value
        else:
            yield "attribute", name, static


def without_self(brackets):
    return re.sub(r"^\((?:self|cls|\$self)(?:, )?(?:/(?:, )?)?", "(", brackets)


def kind_of(value):
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    if hasattr(value, "__origin__"):  # an alias of typing's
        return "data"
    return "function" if callable(value) else "data"


def page(entry):
    """The page of a name."""
    value, full = entry.value, entry.full
    kind = kind_of(value)
    brackets = signature(value) if kind in ("function", "class") else ""
    body = rendered(text_of(value, entry.name))
    out = [heading(full), directive(kind, full, brackets, body)]
    if inspect.isclass(value):
        rows = list(members(value))
        for title, wanted in (("Attributes", "attribute"), ("Methods", "method")):
            there = [(n, v) for k, n, v in rows if k == wanted]
            if not there:
                continue
            out.append(heading(title, "-"))
            out.append(overview(full, there))
            for name, member in there:
                shown = without_self(signature(member)) if wanted == "method" else ""
                said = rendered(text_of(member, name))
                out.append(directive(wanted, f"{full}.{name}", shown, said))
    return "\n".join(out)


def overview(full, rows):
    """The table of a class's members."""
    lines = [".. list-table::", "   :class: names", "   :widths: auto", ""]
    for name, member in rows:
        lines.append(f"   * - :py:obj:`{name} <{full}.{name}>`")
        lines.append(f"     - {spans(summary(text_of(member, name)))}")
    return "\n".join(lines) + "\n"


def row(entry, shown):
    """The line of a name in the table of its topic, as Markdown."""
    name = f"{entry.module}.{entry.name}" if entry.module and shown else entry.name
    if entry.link:
        library = "NumPy's own" if not is_other(entry.value) else f"`{entry.value.__module__}`'s"
        return f"| `{name}` | {library}: [its page in NumPy's documentation]({entry.link}) |"
    if entry.same:
        return f"| `{name}` | the same as [`{entry.same}`]({entry.same}.rst) |"
    said = summary(text_of(entry.value, entry.name))
    return f"| [`{name}`]({entry.full}.rst) | {cell(said)} |"


def is_other(value):
    """Whether an object is of neither NumPy nor this package."""
    module = getattr(value, "__module__", None) or "numpy"
    return (
        module.partition(".")[0] not in ("numpy", "asnumpy", "builtins", "typing")
        and "numpy" not in module
    )


def cell(text):
    """Plain text with code spans in a cell of a table, as Markdown."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([*_<\[\]])", r"\\\1", parts[i])
    return "`".join(parts).replace("|", "\\|")


def table(entries, shown=False):
    return "\n".join(["| name | what it is |", "| --- | --- |", *(row(e, shown) for e in entries)])


def topic_pages(found):
    """{file: text} of the pages that group names, and {full name: slug}."""
    pages, places = {}, {}
    for slug, title, introduction, tables in topics():
        out = [f"# {title}\n", introduction + "\n" if introduction else ""]
        for heading_, names in tables:
            entries = [found[f"asnumpy.{n}"] for n in names if f"asnumpy.{n}" in found]
            places |= {e.full: slug for e in entries}
            out += [f"## {heading_}\n", table(entries) + "\n"]
        pages[f"{slug}.md"] = "\n".join(out)
    for module, title in MODULES.items():
        entries = [e for e in found.values() if e.module == module]
        places |= {e.full: module for e in entries}
        out = [f"# {title}: `asnumpy.{module}`\n", module_text(module_of(module)) + "\n"]
        kinds = [("Classes", ("class", "exception")), ("Functions", ("function",)),
                 ("Constants", ("data",))]  # fmt: skip
        for heading_, wanted in kinds:
            some = sorted((e for e in entries if kind_of(e.value) in wanted), key=lambda e: e.name)
            if some:
                out += [f"## {heading_}\n", table(some) + "\n"]
        pages[f"{module}.md"] = "\n".join(out)
    return pages, places


def module_text(module):
    """What a module's docstring says first, as Markdown."""
    text = inspect.getdoc(module) or ""
    first = text.partition("\n\n")[0]
    return cell(" ".join(first.split()))


def index(found):
    """The front page of the reference."""
    own = sum(not (e.link or e.same) for e in found.values())
    out = [
        "# API reference\n",
        f"{len(found)} public names: {own} with a page here, the others second names or NumPy's own"
        " objects. Names, signatures and meanings are NumPy's; a page says what an argument may be,"
        " what comes back, what raises. [Where each name computes](../guide/names.md) and"
        " [what differs](../guide/behaviours.md) are in the guide. All names"
        " and members from A to Z: {ref}`genindex`.\n",
        "## By topic\n",
        "```{toctree}\n:maxdepth: 1\n",
        *(slug for slug, *_ in topics()),
        "```\n",
        "## Modules\n",
        "```{toctree}\n:maxdepth: 1\n",
        *MODULES,
        "modules",
        "```\n",
    ]
    return "\n".join(out)


def other_modules():
    """The page of modules that are NumPy's, and of second names."""
    out = [
        "# NumPy's modules under this name\n",
        "`import asnumpy.ma` gives NumPy's own module: its functions take AsNumpy's arrays, and their"
        " results are on the host ([more](../guide/names.md#numpys-modules)).\n",
        "| module | |",
        "| --- | --- |",
    ]
    for name in sorted(n for n, module in submodules().items() if not ours(module)):
        link = f"{NUMPY}/{PAGES_OF_NUMPY.get(name, 'module_structure.html')}"
        out.append(
            f"| `asnumpy.{name}` | NumPy's own: [its page in NumPy's documentation]({link}) |"
        )
    for name, same in SAME_MODULES.items():
        out.append(f"| `asnumpy.{name}` | another name of [`asnumpy.{same}`]({same}.md) |")
    return "\n".join(out) + "\n"


def write(folder):
    """Writes all pages into a folder, those that changed, and returns {page: topic}."""
    found = inventory()
    pages, places = topic_pages(found)
    pages |= {"index.md": index(found), "modules.md": other_modules()}
    for entry in found.values():
        if not (entry.link or entry.same):
            pages[f"{entry.full}.rst"] = ":orphan:\n\n" + page(entry)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return places


if __name__ == "__main__":
    lost, unknown = missing()
    for name in lost:
        print(f"{name} has no place in {HERE.name}/topics.txt or MODULES")
    for name in unknown:
        print(f"{name} is in topics.txt but is no name of asnumpy, or is there twice")
    if len(sys.argv) > 1:
        write(pathlib.Path(sys.argv[1]))
    sys.exit(bool(lost or unknown))
