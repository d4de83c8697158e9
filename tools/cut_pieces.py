"""Cuts the JIT's pieces out of compiled functions (tools/gen_pieces.py) and writes them as C tables.

usage: cut_pieces.py ISA OUTPUT_C COMPILER ASSEMBLY...

A piece is the body of a function of vectors, without its return. Its vector registers are renamed to
slots: the instructions are read in order, every register written is a new value, values whose lifetimes
do not meet share a slot, and where each slot stands in the machine code is written down, so that the
JIT can put any register there. Inputs are never overwritten. Constants become entries of a table that
the JIT copies behind the code of a program. Masks and general registers stay as the compiler chose
them, which is right because a piece needs none of them before or after.

A function that branches, calls or uses the stack is no piece; the table's first comment names them, and
the block interpreter runs what they would have. Two changes are made to the compiler's text: instructions
that exist in both are encoded as EVEX, whose registers are 32; and comparisons become the
quiet ones, as the interpreter drops the flags that they raise. (NumPy's order of complex numbers reports
NaN; it has no pieces.)

Uses the compiler's assembler and objdump; otherwise the standard library only.
"""

import dataclasses
import pathlib
import re
import sys
import tempfile

from decode_pieces import Instruction, Object, assemble, functions
from optable import DTYPES
from piece_constants import (
    find_constant,
    fold_constants,
    inputs_from_memory,
    vector_bytes,
    vector_number,
)
from piece_turns import find_turns, is_unread

QUIET = {1: 17, 2: 18, 5: 21, 6: 22, 9: 25, 10: 26, 13: 29, 14: 30}  # comparison predicates
FREE_GENERAL = {
    "rax", "rcx", "rdx", "rsi", "eax", "ecx", "edx", "esi", "al", "cl", "dl", "sil", "ax", "cx", "dx", "si",
}  # fmt: skip
MOVES = ("vmovapd", "vmovaps", "vmovdqa", "vmovdqa32", "vmovdqa64")
STORES = r"vextract|vpmovu?s?[qdw][dwb]$|vcvtps2ph$"  # encoded with the destination as r/m
READ_ALONE = r"vu?comis[sd]$|vp?testp?[sd]?$"  # the result is in the flags
READ_WRITTEN = ("vfm", "vfnm", "vpermi2", "vpermt2", "vpternlog", "vpdp", "vfixup")


class NotAPieceError(Exception):
    pass


# ---- one instruction


def encoded_fields(ins):
    """[(kind, register)] of the three register fields, in the order reg, vvvv, rm."""
    code = ins.code
    if code[0] == 0xC5:  # the two-byte prefix has no room for all registers
        code[:2] = bytes([0xC4, (code[1] & 0x80) | 0x61, code[1] & 0x7F])
    if code[0] == 0x62:
        p0, p1, p2, modrm = code[1], code[2], code[3], code[5]
        reg = (modrm >> 3 & 7) | (~p0 >> 7 & 1) << 3 | (~p0 >> 4 & 1) << 4
        vvvv = (~p1 >> 3 & 15) | (~p2 >> 3 & 1) << 4
        rm = (modrm & 7) | (~p0 >> 5 & 1) << 3 | (~p0 >> 6 & 1) << 4
        return "EVEX", reg, vvvv, (rm if modrm >> 6 == 3 else None)
    if code[0] == 0xC4:
        b1, b2, modrm = code[1], code[2], code[4]
        reg, vvvv = (modrm >> 3 & 7) | (~b1 >> 7 & 1) << 3, ~b2 >> 3 & 15
        rm = (modrm & 7) | (~b1 >> 5 & 1) << 3
        return "VEX", reg, vvvv, (rm if modrm >> 6 == 3 else None)
    raise NotAPieceError(f"encoding of {ins.text}")


def is_shift_by_number(ins):
    code = ins.code
    opcode, space = (code[4], code[1] & 7) if code[0] == 0x62 else (code[3], code[1] & 31)
    return space == 1 and opcode in (0x71, 0x72, 0x73)


def is_backward_move(ins):
    """A move between registers encoded as a store, which is a byte shorter for a high source."""
    return ins.name in MOVES and ins.code[4 if ins.code[0] == 0x62 else 3] in (0x29, 0x7F)


def match_fields(ins):
    """[(field, register, is the destination)] for the vector operands of an instruction, by matching
    the text against the encoding: AT&T order is rm, vvvv, reg."""
    form, reg, vvvv, rm = encoded_fields(ins)
    operands = [o for o in ins.operands if not o.startswith("$")]
    order = ["RM", "VVVV"] if is_shift_by_number(ins) else ["RM", "VVVV", "REG"]
    if re.match(r"vp?blendv", ins.name):  # the mask stands in the last byte
        order = ["IS4", *order]
    if len(operands) == 2 and not is_shift_by_number(ins):
        stores = re.match(STORES, ins.name) or is_backward_move(ins)
        order = ["REG", "RM"] if stores else ["RM", "REG"]
    if len(operands) != len(order):
        raise NotAPieceError(f"operands of {ins.text}")
    numbers = {"RM": rm, "VVVV": vvvv, "REG": reg, "IS4": ins.code[-1] >> 4}
    found = []
    for k, (operand, field) in enumerate(zip(operands, order, strict=True)):
        number = vector_number(operand)
        if number is None:
            continue
        if number != numbers[field]:
            raise NotAPieceError(f"register fields of {ins.text}")
        writes = k == len(operands) - 1 and not re.match(READ_ALONE, ins.name)
        found.append((f"{form}_{field}", number, writes))
    return found


def check_general(ins):
    if ins.name.startswith(("j", "call")):
        raise NotAPieceError(f"branch: {ins.text.split('<')[0]}")
    for register in re.findall(r"%(\w+)", ins.text):
        vector = re.fullmatch(r"[xyz]mm\d+|k[0-6]", register)
        if not vector and register != "rip" and register not in FREE_GENERAL:
            raise NotAPieceError(f"register {register}: {ins.text}")
    if "(" in ins.text and "(%rip)" not in ins.text:
        raise NotAPieceError(f"memory: {ins.text}")


def quieten(ins):
    if re.match(r"vcmp.*p[sd]$", ins.name) and (m := QUIET.get(ins.code[-1])):
        ins.code[-1] = m


# ---- one piece


@dataclasses.dataclass
class Piece:
    name: str
    inputs: int
    code: bytearray = dataclasses.field(default_factory=bytearray)
    fields: list = dataclasses.field(default_factory=list)  # (offset, kind, slot)
    constants: list = dataclasses.field(
        default_factory=list
    )  # (offset of disp32, bytes after it, data, ...)
    slots: int = 0
    result: int = 0  # slot of the result, inputs first
    heirs: list = dataclasses.field(
        default_factory=list
    )  # per input: slot that may take its register
    from_memory: int = 0  # inputs that an instruction could read from memory
    low: int = 0  # slots that need a register below 16
    turns: list = dataclasses.field(
        default_factory=list
    )  # offsets where the same piece of another vector may come in


class Renamer:
    """Values of one function: number, definition, last use (positions are instruction indices)."""

    def __init__(self, inputs, wide):
        self.now = dict(enumerate(range(inputs)))  # register -> value
        self.first, self.last = [-1] * inputs, [-1] * inputs
        self.bytes = [wide] * inputs
        self.inputs = inputs

    def define(self, register, at, size):
        value = len(self.first)
        self.now[register] = value
        self.first.append(at)
        self.last.append(at)
        self.bytes.append(size)
        return value

    def read(self, register, at):
        value = self.now[register]
        self.last[value] = at
        return value

    def measure(self, renamed):
        """Lifetimes, once no instruction goes any more."""
        self.first, self.last = ([None] * len(self.first) for _ in range(2))
        self.first[: self.inputs] = self.last[: self.inputs] = [-1] * self.inputs
        for at, (_, used) in enumerate(renamed):
            for _, value in used:
                if self.first[value] is None:
                    self.first[value] = at
                self.last[value] = at

    def is_shared(self, register):
        value = self.now[register]
        return value < self.inputs or sum(v == value for v in self.now.values()) > 1


def is_idiom(ins, numbers):
    """Writes a constant whatever its operands hold."""
    same = len(set(numbers)) == 1 and len(numbers) == 3
    return same and (
        ins.name.startswith(("vpxor", "vxorp", "vpsub", "vpcmpeq"))
        or ins.name.startswith("vpternlog")
        and ins.operands[0] == "$0xff"
    )


COPY = {"avx512": bytes.fromhex("62f1fd486fc0"), "avx2": bytes.fromhex("c4e17d6fc0")}


def rename(piece, body, isa):
    """Reads the instructions in order; returns [(Instruction, [(field, value)])] and the values."""
    wide = {"avx512": 64, "avx2": 32}[isa]
    values = Renamer(piece.inputs, wide)
    out = []
    for ins in body:
        check_general(ins)
        if not re.search(r"%[xyz]mm", ins.text):
            out.append((ins, []))
            continue
        quieten(ins)
        at, fields = len(out), match_fields(ins)
        target = next((n for _, n, last in fields if last), None)
        sources = [n for _, n, last in fields if not last]
        if ins.name in MOVES and len(sources) == 1 and target is not None and "{" not in ins.text:
            source = values.now[sources[0]]
            if vector_bytes(ins.operands[1]) >= values.bytes[source]:
                values.now[target] = source
                continue
        idiom = is_idiom(ins, [n for _, n, _ in fields])
        merged = (
            target is not None
            and re.search(r"\{%k\d\}(?!\{z\})", ins.operands[-1])
            and not re.match(r"vp?blendm", ins.name)  # its mask selects
        )
        keeps = target is not None and not idiom and (merged or ins.name.startswith(READ_WRITTEN))
        if keeps and values.is_shared(target):
            old = values.read(target, at)
            form = "EVEX" if isa == "avx512" else "VEX"
            copy = Instruction(-1, bytearray(COPY[isa]), "copy", [], "copy")
            new = values.define(target, at, wide)
            out.append((copy, [(f"{form}_RM", old), (f"{form}_REG", new)]))
            at += 1
        used = []
        for field, number, last in fields:
            if not last and not idiom:
                used.append((field, values.read(number, at)))
        for field, number, last in fields:
            if last and keeps:
                used.append((field, values.read(number, at)))
            elif last:
                used.append((field, values.define(number, at, vector_bytes(ins.operands[-1]))))
        if idiom:
            used += [(field, values.now[target]) for field, _, last in fields if not last]
        out.append((ins, used))
    return out, values


def assign_slots(piece, values, end, in_place=False):
    """Slot per value; inputs keep theirs. `in_place`: the result may take the register of the last input,
    from which the next vector goes on."""
    result = values.now[0]
    values.last[result] = end
    slot = {v: v for v in range(values.inputs)}
    busy_until = []  # of slots after the inputs
    made = [v for v in range(values.inputs, len(values.first)) if values.first[v] is not None]
    for v in made:
        k = next((k for k, end in enumerate(busy_until) if end <= values.first[v]), len(busy_until))
        if k == len(busy_until) or in_place and v == result:
            k = len(busy_until)
            busy_until.append(0)
        busy_until[k] = max(values.last[v], values.first[v] + 1)
        slot[v] = values.inputs + k
    piece.slots = values.inputs + len(busy_until)
    piece.result = slot[result]
    starts = {}
    for v in made:
        starts[slot[v]] = min(starts.get(slot[v], end), values.first[v])
    taken = set()
    order = sorted(starts, key=lambda s: s != piece.result)
    piece.heirs = [255] * values.inputs
    for k in sorted(range(values.inputs), key=lambda k: in_place and -k):
        heir = next((s for s in order if s not in taken and starts[s] >= values.last[k]), 255)
        taken.add(heir)
        piece.heirs[k] = heir
    return slot


def cut(name, body, relocations, isa):
    kind, row, dtype, *_ = name.split("__")
    inputs = 1
    if kind in ("ew", "im", "fit", "pick"):
        more = {"fit": 1, "pick": 2}.get(kind, 0)
        inputs = (complex_arity if "complex" in dtype else arity)[row] + more
    if kind == "fitcast":
        inputs = 2
    if not body or body[-1].name != "ret":
        while body and body[-1].name != "ret":
            body = body[:-1]
    if not body or any(i.name == "ret" for i in body[:-1]):
        raise NotAPieceError("several returns")
    piece = Piece(name, inputs)
    body = body[:-1]
    body = [ins for at, ins in enumerate(body) if not is_unread(body, at)]
    renamed, values = rename(piece, body, isa)
    for ins, _ in renamed:
        ins.constant = find_constant(ins, relocations)
    if isa == "avx2":
        fold_constants(renamed, values.now[0])
    values.measure(renamed)
    if isa == "avx2":
        piece.from_memory = inputs_from_memory(renamed, inputs, values.now[0])
    slot = assign_slots(piece, values, len(renamed), kind == "fit" and isa == "avx2")
    for ins, used in renamed:
        start = len(piece.code)
        for field, value in sorted(used, key=lambda u: u[0] == "VEX_IS4"):  # in order of places
            at = start + len(ins.code) if field == "VEX_IS4" else start
            piece.fields.append((at, field, slot[value]))
            if field.startswith("VEX"):
                piece.low |= 1 << slot[value]
        piece.code += ins.code
        if k := ins.constant:
            piece.constants.append((start + k.place, k.tail, k.data, k.kind, k.spread))
    if isa == "avx512":
        piece.turns = find_turns([ins for ins, _ in renamed])
    return piece


arity, complex_arity = {}, {}


def cut_all(paths, compiler, isa):
    from optable import rows

    arity.update({r.name: len(r.args) for r in rows()})
    complex_arity.update({r.name: len(r.args) + r.types.count("T") for r in rows()})
    pieces, refused = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            target = assemble(pathlib.Path(path).read_text(), isa, compiler, pathlib.Path(folder))
            relocations = Object(target).relocations(".text")
            for name, body in functions(target).items():
                for ins in body:
                    ins.size = len(ins.code)
                inside = {
                    a: r for a, r in relocations.items() if body[0].at <= a < body[-1].at + 16
                }
                try:
                    pieces.append(cut(name, body, inside, isa))
                except (NotAPieceError, KeyError) as why:
                    refused[name] = why
    return pieces, refused


# ---- the C tables


def lane_name(dtype):
    return (
        f"ASN_LANE_B{dtype[4:]}" if re.fullmatch(r"bool\d+", dtype) else f"ASN_LANE_{DTYPES[dtype]}"
    )


def entry(name, first):
    """Where the index of a piece stands: table and subscripts."""
    kind, *rest = name.split("__")
    count = int(rest[-1]).bit_length() - int(first).bit_length()
    if kind == "cast":
        return f".cast[{lane_name(rest[0])}][{lane_name(rest[1])}][{count}]"
    if kind == "fitcast":
        return f".cast_fit[{lane_name(rest[0])}][{lane_name(rest[1])}][{count}]"
    if kind == "round":
        return f".round[{lane_name(rest[0])}][{count}]"
    return f".{kind}[ASN_OP_{rest[0].upper()}][{lane_name(rest[1])}][{count}]"


def numbers(values):
    lines = (",".join(map(str, values[i : i + 24])) for i in range(0, len(values), 24))
    return ",\n".join(lines)


def listed(values):
    return ",\n".join(values)


def tables(pieces, isa):
    first = {"avx512": 8, "avx2": 4}[isa]
    code, fields, constants, heads, index, turns = bytearray(), [], [], [], [], []
    data, where = bytearray(), {}
    for piece in pieces:
        for _, _, value, _, _ in piece.constants:
            if value not in where:
                align = min(len(value), 64)
                data.extend(bytes(-len(data) % align))
                where[value] = len(data)
                data.extend(value)
    for number, p in enumerate(pieces, 1):
        heirs = ", ".join(str(h) for h in [*p.heirs, *[255] * 6][:6])
        heads.append(
            f"{{{len(code)}, {len(p.code)}, {len(fields)}, {len(p.fields)}, {len(constants)}, {len(p.constants)}, "
            f"{p.inputs}, {p.slots}, {p.result}, {{{heirs}}}, {p.from_memory}, 0x{p.low:x}, "
            f"{len(turns)}, {len(p.turns)}}}"
        )
        turns += p.turns
        code += p.code
        fields += [f"{{{at}, ASN_FIELD_{kind}, {slot}}}" for at, kind, slot in p.fields]
        constants += [
            f"{{{at}, {tail}, {len(value)}, {kind}, {spread}, {where[value]}}}"
            for at, tail, value, kind, spread in p.constants
        ]
        index.append(f"    {entry(p.name, first)} = {number},")
    data.extend(bytes(-len(data) % 64))
    return (
        '/* Generated by tools/cut_pieces.py. */\n#include "device/cpu/jit/jit_pieces.h"\n'
        f"static const uint8_t code[] = {{{numbers(code)}}};\n"
        f"static const asnd_piece_field fields[] = {{{listed(fields)}}};\n"
        f"static const asnd_piece_constant constants[] = {{{listed(constants)}}};\n"
        f"static const uint16_t turns[] = {{{numbers(turns or [0])}}};\n"
        f"static const _Alignas(64) uint8_t data[] = {{{numbers(data)}}};\n"
        f"static const asnd_piece pieces[] = {{{listed(heads)}}};\n"
        f"const asnd_piece_table asn_pieces_{isa} = {{\n"
        f"    .code = code, .fields = fields, .constants = constants, .data = data,\n"
        f"    .pieces = pieces, .turns = turns,\n" + "\n".join(index) + "\n};\n"
    )


def main():
    isa, out, compiler, *paths = sys.argv[1:]
    pieces, refused = cut_all(paths, compiler.split(";"), isa)
    why = "".join(f"/* no piece: {name}: {reason} */\n" for name, reason in sorted(refused.items()))
    pathlib.Path(out).write_text(why + tables(pieces, isa))
    print(f"{isa}: {len(pieces)} pieces; {len(refused)} functions are none")


if __name__ == "__main__":
    main()
