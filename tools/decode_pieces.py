"""The JIT's pieces (tools/cut_pieces.py) from the compiler's assembly to decoded instructions, their constants and relocations.

Uses the compiler's assembler and objdump; otherwise the standard library only.
"""

import dataclasses
import re
import struct
import subprocess

from piece_constants import load_immediates

EVEX_NAMES = {
    "vpxor": "vpxorq", "vpand": "vpandq", "vpandn": "vpandnq", "vpor": "vporq", "vmovdqa": "vmovdqa64",
    "vmovdqu": "vmovdqu64", "vextracti128": "vextracti32x4", "vinserti128": "vinserti32x4",
    "vextractf128": "vextractf32x4", "vinsertf128": "vinsertf32x4", "vroundpd": "vrndscalepd",
    "vroundps": "vrndscaleps", "vbroadcasti128": "vbroadcasti32x4", "vbroadcastf128": "vbroadcastf32x4",
}  # fmt: skip


def assemble(text, isa, compiler, folder):
    """Assembles `text`, for AVX-512 with every vector instruction in EVEX form that has one; the object's
    path."""
    lines = text.split("\n")
    load_immediates(lines)
    plain = {}
    for i, line in enumerate(lines if isa == "avx512" else []):
        m = re.match(r"\t(v\w+)\t(.*)", line)
        if m and re.search(r"%[xyz]mm", line):
            plain[i] = line
            lines[i] = f"\t{{evex}} {EVEX_NAMES.get(m[1], m[1])}\t{m[2]}"
    source, target = folder / "pieces.s", folder / "pieces.o"
    for _ in range(3):
        source.write_text("\n".join(lines))
        done = subprocess.run(
            [*compiler, "-c", source, "-o", target], capture_output=True, text=True
        )
        wrong = [int(n) - 1 for n in re.findall(r"\.s:(\d+):(?:\d+:)? [Ee]rror", done.stderr)]
        if not wrong:
            break
        for i in wrong:
            lines[i] = plain[i]
    if done.returncode:
        raise SystemExit(done.stderr)
    return target


class Object:
    """Sections, local symbols and relocations of an ELF64 object."""

    def __init__(self, path):
        self.data = path.read_bytes()
        table, count, names = (
            struct.unpack_from("<Q", self.data, 40)[0],
            *struct.unpack_from("<HH", self.data, 60),
        )
        self.heads = [
            struct.unpack_from("<IIQQQQIIQQ", self.data, table + 64 * i) for i in range(count)
        ]
        strings = self.heads[names]
        self.names = [self._string(strings, h[0]) for h in self.heads]
        symtab = next(h for h in self.heads if h[1] == 2)
        self.symbols = [
            struct.unpack_from("<IBBHQQ", self.data, symtab[4] + 24 * i)
            for i in range(symtab[5] // 24)
        ]

    def _string(self, section, at):
        start = section[4] + at
        return self.data[start : self.data.index(b"\0", start)].decode()

    def section(self, index):
        head = self.heads[index]
        return self.data[head[4] : head[4] + head[5]]

    def relocations(self, name):
        """{offset: (section name, bytes of it, offset there)} of PC-relative references from `name`."""
        found = {}
        for i, head in enumerate(self.heads):
            if self.names[i] != ".rela" + name:
                continue
            for k in range(head[5] // 24):
                at, info, addend = struct.unpack_from("<QQq", self.data, head[4] + 24 * k)
                symbol = self.symbols[info >> 32]
                found[at] = (self.names[symbol[3]], self.section(symbol[3]), symbol[4] + addend)
        return found


@dataclasses.dataclass
class Instruction:
    at: int
    code: bytearray
    name: str
    operands: list
    text: str
    size: int = 0  # of the compiler's encoding
    constant: object = None  # what it reads from memory (piece_constants.py)


def functions(path):
    """{name: [Instruction]} of the text section."""
    listing = subprocess.run(
        ["objdump", "-d", "-w", "--insn-width=16", "-j", ".text", path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found, body = {}, []
    for line in listing.split("\n"):
        if m := re.match(r"[0-9a-f]+ <(\w+)>:", line):
            body = found.setdefault(m[1], [])
        elif m := re.match(
            r"\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*\t(?:\{evex\} )?(\S+)\s*([^#]*)", line
        ):
            operands = [o.strip() for o in re.split(r",(?![^(]*\))", m[4])] if m[4].strip() else []
            body.append(
                Instruction(
                    int(m[1], 16), bytearray.fromhex(m[2]), m[3], operands, line.split("\t")[-1]
                )
            )
    return found
