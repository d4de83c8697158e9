"""What a mutant changes: candidates in the text of one C file.

Works on text whose comments, strings, characters and preprocessor lines are blanked, which leaves
every offset where it is; only what lies in a function's body is changed, outside static tables,
asserts, enums and the extents of arrays. clang-format's spacing tells binary from unary operators.
"""

import bisect
import dataclasses
import re

HIDDEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*",
    re.S | re.M,
)
FLIPS = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",),
    "!=": ("==",), "&&": ("||",), "||": ("&&",), "+": ("-",), "-": ("+",), "+=": ("-=",),
    "-=": ("+=",), "&": ("|",), "|": ("&",), "&=": ("|=",), "|=": ("&=",),
}  # fmt: skip
BINARY = re.compile(
    r"(?<=[\w)\]]) (<=|>=|==|!=|&&|\|\||\+=|-=|&=|\|=|<|>|\+|-|&|\|) (?=\S)|"
    r"(?<=[\w)\]]) (&&|\|\||\+|-|&|\|)\n"
)
NUMBER = re.compile(r"(?<![\w.])(\d+)(?![\w.])")
CONDITION = re.compile(r"\b(if|while) \(")
STATEMENT = re.compile(
    r"(?:\*?\w+(?:(?:->|\.)\w+|\[[^;=]*?\])* (?:[-+*/%|&^]|<<|>>)?= |\w+(?:(?:->|\.)\w+)*\(|"
    r"\w+(?:(?:->|\.)\w+|\[[^;=]*?\])*(?:\+\+|--);)"
)
NOT_CALLS = re.compile(
    r"(?:if|while|for|switch|return|sizeof|assert|_Static_assert|static_assert)\b"
)
HEADER = re.compile(r"([^;{}]*)\)\s*$")
SKIPPED_LINE = re.compile(r"\b(?:assert|_Static_assert|static_assert|enum|case|static const)\b")
# What declares an array, up to the bracket of its first extent: a type, and names with commas between.
DECLARED = re.compile(r"\s*(?:_Alignas\(\w+\) )?(?!return\b|else\b|goto\b|sizeof\b)(?:\w+ )+\**\w+")
DECLARATOR = re.compile(r"\s*\**\w+")
RETURNED = (
    (re.compile(r"\bbool \w+\("), ("return false;", "return true;")),
    (re.compile(r"\bvoid \w+\("), ("return;",)),
    (re.compile(r"\b(?:int|int64_t|size_t|asn_status|uint64_t|double) \w+\("), ("return 0;",)),
)


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change: text[begin:end] becomes `new`."""

    file: str
    line: int
    operator: str
    begin: int
    end: int
    new: str

    def apply(self, text):
        return text[: self.begin] + self.new + text[self.end :]

    def texts(self, text):
        """The changed lines, before and after, each as one stripped line."""
        first = text.rfind("\n", 0, self.begin) + 1
        last = text.find("\n", self.end)
        before, after = (
            text[first:last],
            text[first : self.begin] + self.new + text[self.end : last],
        )
        return " ".join(before.split()), " ".join(after.split()) or "(nothing)"


def blanked(text):
    return HIDDEN.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def closing(code, at):
    """The index of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0:
            return i
    raise ValueError("unbalanced brackets")


def bodies(code):
    """(header, begin, end) of each function's body."""
    at = 0
    while (at := code.find("{", at)) >= 0:
        end = closing(code, at)
        header = HEADER.search(code[max(0, at - 600) : at])
        if header:
            yield header.group(1), at + 1, end
        at = end + 1


def tables(code, begin, end):
    """Spans of static tables and enums in a body."""
    for m in re.finditer(r"\bstatic const\b[^;{]*\{|\benum \{", code[begin:end]):
        at = begin + m.end() - 1
        yield begin + m.start(), closing(code, at)


def pieces(text):
    """The parts of a text between commas that no bracket encloses."""
    depth = last = 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            yield text[last:i]
            last = i + 1
    yield text[last:]


def enlarges_array(code, at):
    """Whether the number at `at` is a declared array's first extent, or multiplies or adds to it: one more makes the
    array larger, which nobody sees."""
    bracket = code.rfind("[", 0, at)
    end = closing(code, bracket) if bracket >= 0 else -1
    if end < at or not re.fullmatch(r"[\w +*]+", code[bracket + 1 : end]):
        return False
    start = max(code.rfind(c, 0, bracket) for c in ";{}")
    first, *others = pieces(code[start + 1 : bracket])
    if not others:
        return bool(DECLARED.fullmatch(first))
    return bool(DECLARED.match(first) and DECLARATOR.fullmatch(others[-1]))


def conditions(code, begin, end):
    for m in CONDITION.finditer(code, begin, end):
        close = closing(code, m.end() - 1)
        inside = code[m.end() : close]
        span = (m.end(), close)
        yield "condition negated", *span, f"!({inside})"
        yield "condition false", *span, "0"
        if m.group(1) == "if":
            yield "condition true", *span, "1"


def statements(code, begin, end):
    for m in re.finditer(r"^[ \t]+(\S)", code[begin:end], re.M):
        at = begin + m.start(1)
        before = code[begin - 1 : begin + m.start()].rstrip()
        if not (before[-1] in ";{}:)" or before.endswith("else")):
            continue
        if not STATEMENT.match(code, at) or NOT_CALLS.match(code, at):
            continue
        stop = code.find(";", at)
        if 0 < stop < end and "{" not in code[at:stop]:
            yield "statement deleted", at, stop + 1, ";"


def in_body(code, begin, end):
    """(operator, begin, end, new) of every change in a body but the whole body's."""
    for m in BINARY.finditer(code, begin, end):
        group = 1 if m.group(1) else 2
        for new in FLIPS[m.group(group)]:
            yield f"{m.group(group)} to {new}", m.start(group), m.end(group), new
    for m in NUMBER.finditer(code, begin, end):
        if enlarges_array(code, m.start()):
            continue
        yield "constant + 1", m.start(), m.end(), str(int(m.group()) + 1)
    for m in re.finditer(r"\breturn (true|false);", code[begin:end]):
        new = "false" if m.group(1) == "true" else "true"
        yield "return exchanged", begin + m.start(1), begin + m.end(1), new
    for m in re.finditer(r"\b(continue|break);", code[begin:end]):
        yield f"{m.group(1)} dropped", begin + m.start(), begin + m.end(), ";"
    yield from conditions(code, begin, end)
    yield from statements(code, begin, end)


def mutants(file, text):
    """Every Mutant of one file, in the order of its lines."""
    code = blanked(text)
    starts = [0] + [m.end() for m in re.finditer("\n", text)]
    found = []

    def add(operator, begin, end, new):
        line = bisect.bisect_right(starts, begin)
        whole = code[starts[line - 1] : starts[line] if line < len(starts) else len(code)]
        if not SKIPPED_LINE.search(whole):
            found.append(Mutant(file, line, operator, begin, end, new))

    for header, begin, end in bodies(code):
        skipped = list(tables(code, begin, end))
        for operator, first, last, new in in_body(code, begin, end):
            inside_switch = re.search(r"\bcase\b[^:]*:", code[code.rfind("\n", 0, last) + 1 : last])
            dropped = operator == "break dropped" and inside_switch
            if not dropped and not any(a <= first < b for a, b in skipped):
                add(operator, first, last, new)
        for pattern, values in RETURNED:
            if pattern.search(header):
                for value in values:
                    add(f"body: {value}", begin, begin, f" {value}")
                break
    return sorted(found, key=lambda m: (m.line, m.begin, m.operator))


def code_lines(text):
    """Lines with code on them: a file's weight in the sample."""
    return sum(1 for line in blanked(text).splitlines() if line.strip(" \t{};"))


def sample(candidates, rng):
    """An endless order of candidates: a line drawn evenly, then one of its changes; each once."""
    lines = {}
    for m in candidates:
        lines.setdefault(m.line, []).append(m)
    while lines:
        line = rng.choice(sorted(lines))
        yield lines[line].pop(rng.randrange(len(lines[line])))
        if not lines[line]:
            del lines[line]
