"""Constants of the JIT's pieces (tools/cut_pieces.py): where an instruction reads one, what it is, and how
it may take it from a register instead.

With AVX2 the compiler loads a constant into a register of its own before each use. Such loads are half of
a long program's instructions, and every one holds a register of the processor's until its reader is done:
too few iterations then are under way at once to hide their latency. Here the reader names the constant in
memory itself (the JIT writes it there in every lane), and what nobody reads any more is dropped.
Standard library only.
"""

import dataclasses
import re


def vector_number(operand):
    m = re.fullmatch(r"%([xyz])mm(\d+)(\{.*\})?", operand)
    return int(m[2]) if m else None


def vector_bytes(operand):
    return {"x": 16, "y": 32, "z": 64}[re.match(r"%([xyz])mm", operand)[1]]


# ---- in assembly text


class Numbers:
    """Constants that take the place of immediates; their labels, and the lines that define them."""

    def __init__(self):
        self.labels = {}

    def label(self, value, size):
        return self.labels.setdefault(
            (value % 2 ** (8 * size), size), f".Lnumber{len(self.labels)}"
        )

    def lines(self):
        for (value, size), label in self.labels.items():
            yield f'\t.section .rodata.cst{size},"aM",@progbits,{size}'
            yield f"{label}:"
            yield f"\t{'.long' if size == 4 else '.quad'} {value}"
        yield ""


def load_immediates(lines):
    """Numbers that go to vectors by way of a general register come from memory instead: the JIT keeps
    such constants in registers where it can."""
    known, held, numbers = {}, {}, Numbers()  # by general register; by vector register, AVX2's way
    for i, line in enumerate(lines):
        broadcast = re.match(r"\tvpbroadcast([bwdq])\t%(\w+), (%[xyz]mm\d+.*)", line)
        if re.match(r"\w+:", line):
            known, held = {}, {}
        elif m := re.match(r"\tmov(?:l|q|absq)\t\$(-?\w+), %[er](\wx)$", line):
            known[m[2]] = int(m[1], 0)
            continue
        elif broadcast and broadcast[1] in "dq" and broadcast[2][1:] in known:
            label = numbers.label(known[broadcast[2][1:]], 4 if broadcast[1] == "d" else 8)
            lines[i] = f"\tvpbroadcast{broadcast[1]}\t{label}(%rip), {broadcast[3]}"
        elif broadcast and broadcast[2] in held:
            lines[i] = spread_number(broadcast, held[broadcast[2]], numbers)
        elif m := re.search(r"%[er](\wx)$", line):
            known.pop(m[1], None)
        if m := re.search(r"%[xyz]mm(\d+)$", line):
            held.pop(f"xmm{m[1]}", None)
        if (m := re.match(r"\tvmov[dq]\t%[er](\wx), %(xmm\d+)$", line)) and m[1] in known:
            held[m[2]] = known[m[1]]
    lines += numbers.lines()


def spread_number(broadcast, value, numbers):
    """vpbroadcast of a number in a vector register, as a load of it."""
    times = {"b": 0x01010101, "w": 0x00010001, "d": 1, "q": 1}[broadcast[1]]
    bits = {"b": 8, "w": 16, "d": 32, "q": 64}[broadcast[1]]
    wide = "q" if broadcast[1] == "q" else "d"
    label = numbers.label(value % 2**bits * times, 8 if wide == "q" else 4)
    return f"\tvpbroadcast{wide}\t{label}(%rip), {broadcast[3]}"


# ---- in instructions


@dataclasses.dataclass
class Constant:
    place: int  # of the displacement in the instruction
    tail: int  # bytes of the instruction after it
    data: bytes
    kind: str
    spread: int


def constant_bytes(ins, section, data, at):
    size = int(section[len(".rodata.cst") :]) if section.startswith(".rodata.cst") else 0
    if not size:
        widths = [vector_bytes(o) for o in ins.operands if vector_number(o) is not None]
        size = max(widths, default=64)
    code = ins.code
    if is_broadcast(ins):  # one element, whatever the section holds
        size = 4 if ins.name.endswith(("ss", "d")) and ins.name != "vbroadcastsd" else 8
    elif code[0] == 0x62 and code[3] & 0x10:
        size = 8 if code[2] & 0x80 else 4
    return bytes(data[at : at + size])


def register_form(ins, data, at):
    """How an instruction takes its constant from a register instead: (kind, whether the register holds
    the constant in every lane). ASN_CONSTANT_FIXED: it does not."""
    code, evex = ins.code, ins.code[0] == 0x62
    if at == (6 if evex else 5) and code[0] in (0x62, 0xC4) and is_broadcast(ins):
        return "ASN_CONSTANT_LOADED", 1
    if not evex or at != 6:
        return "ASN_CONSTANT_FIXED", 0
    if code[3] & 0x10:
        return "ASN_CONSTANT_OPERAND", 1
    narrow = re.match(r"vpmov|vcvt|vinsert|vbroadcast|vpbroadcast|vmov[dq]$|vmovs", ins.name)
    whole = len(data) == {0: 16, 1: 32, 2: 64}[code[3] >> 5 & 3]
    return ("ASN_CONSTANT_OPERAND", 0) if whole and not narrow else ("ASN_CONSTANT_FIXED", 0)


def is_broadcast(ins):
    return bool(re.match(r"vbroadcasts[sd]$|vpbroadcast[dq]$", ins.name))


def find_constant(ins, relocations):
    """The Constant that a decoded instruction reads, or None."""
    for at, (section, data, offset) in relocations.items():
        if ins.at <= at < ins.at + ins.size:
            tail = ins.at + ins.size - at - 4
            place = len(ins.code) - tail - 4
            value = constant_bytes(ins, section, data, offset + 4 + tail)
            return Constant(place, tail, value, *register_form(ins, value, place))
    return None


# ---- AVX2: constants as operands

# Two-operand instructions that read a whole vector of memory; those whose operands may be exchanged.
EITHER_WAY = r"v(add|mul|and|or|xor)p[sd]$|vp(and|or|xor|add[bwdq]|cmpeq[bwdq]|mull[wd]|muludq|(min|max)[us][bwd])$"
ONE_WAY = (
    r"v(sub|div|min|max|andn)p[sd]$|vp(andn|sub[bwdq]|cmpgt[bwdq]|shufb)$|vcmp\w*p[sd]$|vp?blendv"
)
UNARY = r"vsqrtp[sd]$|vroundp[sd]$|vpabs[bwd]$"
FUSED = r"vfn?m(add|sub)(132|213|231)p[sd]$"
# Comparisons' numbers when the operands are exchanged: less and greater.
MIRRORED = {1: 14, 2: 13, 5: 10, 6: 9, 17: 30, 18: 29, 21: 26, 22: 25, 0: 0, 3: 3, 4: 4, 7: 7}
MIRRORED |= {b: a for a, b in MIRRORED.items()}


def exchange(ins, used, constant):
    """The instruction with its two sources exchanged; False where that is something else, as it is in
    arithmetic with a NaN: of two the first is the result."""
    code = ins.code
    if is_nan(constant.data) and (re.match(FUSED, ins.name) or re.match(r"v(add|mul)p", ins.name)):
        return False
    # 132: reg * rm + vvvv, 213: vvvv * reg + rm, 231: vvvv * rm + reg
    if re.match(FUSED, ins.name):
        form = code[3] >> 4
        code[3] = code[3] & 0x0F | {0x9: 0xA, 0xA: 0x9, 0xB: 0xB}[form] << 4
        ins.name = re.sub("132|213", lambda m: {"132": "213", "213": "132"}[m[0]], ins.name)
    elif re.match(r"vcmp", ins.name) and code[-1] in MIRRORED:
        code[-1] = MIRRORED[code[-1]]
    elif not re.match(EITHER_WAY, ins.name):
        return False
    other = {"VEX_RM": "VEX_VVVV", "VEX_VVVV": "VEX_RM"}
    used[:] = [(other.get(field, field), value) for field, value in used]
    return True


def read_from_memory(ins, used, value, constant):
    """Makes `ins` read the constant `value` from memory; False where it cannot."""
    known = re.match(f"{EITHER_WAY}|{ONE_WAY}|{FUSED}", ins.name)
    places = [field for field, v in used if v == value]
    if not known or ins.constant or ins.code[0] != 0xC4 or ins.code[4] >> 6 != 3:
        return False
    if len(places) != 1:
        return False
    if places[0] == "VEX_VVVV" and not exchange(ins, used, constant):
        return False
    if not any(field == "VEX_RM" and v == value for field, v in used):
        return False
    used[:] = [(field, v) for field, v in used if v != value]
    tail = len(ins.code) - 5
    ins.code[1] |= 0x60  # no extensions
    ins.code[4] = ins.code[4] & 0x38 | 0x05
    ins.code[5:5] = bytes(4)
    ins.constant = Constant(5, tail, constant.data, "ASN_CONSTANT_OPERAND", 1)
    return True


def inputs_from_memory(renamed, inputs, result):
    """Bit k: the one reader of input k could read it from memory as it stands."""
    bits = 0
    for k in range(inputs):
        readers = [(ins, f) for ins, used in renamed for f, v in used if v == k]
        if len(readers) != 1 or result == k:
            continue
        ins, field = readers[0]
        known = re.match(f"{EITHER_WAY}|{ONE_WAY}|{FUSED}|{UNARY}", ins.name)
        plain = ins.code[0] == 0xC4 and ins.code[4] >> 6 == 3 and not ins.constant
        if known and plain and field == "VEX_RM":
            bits |= 1 << k
    return bits


def is_nan(data):
    sign_off = int.from_bytes(data, "little") & (2 ** (8 * len(data) - 1) - 1)
    return sign_off > (0x7F800000 if len(data) == 4 else 0x7FF0000000000000)


def fold_constants(renamed, result):
    """Lets the readers of a constant that was loaded for them name it in memory, if they are one or two
    and all can."""
    for load, fields in renamed:
        if not is_broadcast(load) or not load.constant:
            continue
        value, size = fields[0][1], vector_bytes(load.operands[-1])
        readers = [
            (ins, used)
            for ins, used in renamed
            if ins is not load and any(v == value for _, v in used)
        ]
        if value == result or not 1 <= len(readers) <= 2:
            continue
        if any(not i.operands or vector_bytes(i.operands[-1]) > size for i, _ in readers):
            continue  # a copy, or a wider vector
        tried = [(dataclasses.replace(i, code=bytearray(i.code)), list(u)) for i, u in readers]
        if all(read_from_memory(i, u, value, load.constant) for i, u in tried):
            for (ins, used), (new, new_used) in zip(readers, tried, strict=True):
                ins.code, ins.name, ins.constant = new.code, new.name, new.constant
                used[:] = new_used
    drop_unread(renamed, result)


def drop_unread(renamed, result):
    """Drops loads of constants and of numbers that nobody reads."""
    k = len(renamed)
    while k:
        k -= 1
        ins, fields = renamed[k]
        after = renamed[k + 1 :]
        from_general = re.match(r"vmov[dq]$", ins.name) and re.match(r"%[er]", ins.operands[0])
        if is_broadcast(ins) and ins.constant or from_general:
            value = fields[0][1]
            dead = value != result and not any(v == value for _, used in after for _, v in used)
        elif m := re.match(r"mov(?:abs)?\s+\$-?\w+,%[er](\wx)$", ins.text.strip()):
            dead = not any(re.search(rf"%[er]?{m[1][0]}[xl]\b", i.text) for i, _ in after)
        else:
            continue
        if dead:
            del renamed[k]
