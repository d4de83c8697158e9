"""Masks, general registers and flags in a piece (tools/cut_pieces.py): who reads them, and so where the JIT may go
to the same piece of another vector and back.

Vector registers are the JIT's to choose, but masks and general registers stay as the compiler chose them, so
the other vector may come in only where none of those holds something that is still to be read.
"""

import re

STEP = 3  # instructions at least between two turns
FAMILY = {
    **dict.fromkeys(("rax", "eax", "ax", "al"), "a"),
    **dict.fromkeys(("rcx", "ecx", "cx", "cl"), "c"),
    **dict.fromkeys(("rdx", "edx", "dx", "dl"), "d"),
    **dict.fromkeys(("rsi", "esi", "si", "sil"), "s"),
}
SETS = re.compile(r"v|mov|kmov|lea")  # what only writes its last operand
SETS_FLAGS = re.compile(
    r"vu?comis|vp?test|kortest|ktest|test|cmp|add|sub|and|or|xor|sh[lr]|sar|neg|inc|dec"
)
READS_FLAGS = re.compile(r"set|cmov|adc|sbb")


def fixed_registers(text):
    return [FAMILY.get(r, r) for r in re.findall(r"%(\w+)", text) if r in FAMILY or r[0] == "k"]


def uses(ins):
    """Masks, general registers and "flags" that an instruction reads or writes."""
    flags = SETS_FLAGS.match(ins.name) or READS_FLAGS.match(ins.name)
    return fixed_registers(ins.text) + ["flags"] * bool(flags)


def only_writes(ins, register):
    if register == "flags":
        return not READS_FLAGS.match(ins.name)
    target = fixed_registers(re.sub(r"\{.*", "", ins.operands[-1]))
    return SETS.match(ins.name) and target == [register] and uses(ins).count(register) == 1


def busy_until(instructions, at, register):
    """The last instruction that reads what the one at `at` left in a register."""
    last = at
    for k in range(at + 1, len(instructions)):
        if register not in uses(instructions[k]):
            continue
        if only_writes(instructions[k], register):
            break
        last = k
    return last


def is_unread(instructions, at):
    """Loads a number that went to the vectors by another way (piece_constants.load_immediates)."""
    ins = instructions[at]
    numbers = re.fullmatch("mov(l|q|abs)?", ins.name) and ins.operands[0][0] == "$"
    registers = fixed_registers(ins.operands[-1]) if numbers else []
    return bool(registers) and busy_until(instructions, at, registers[0]) == at


def find_turns(instructions):
    """Offsets in the piece's code at which another vector's may come in."""
    turns, at, since, busy = [], 0, 0, -1
    for k, ins in enumerate(instructions):
        at += len(ins.code)
        since += 1
        for register in set(uses(ins)):
            busy = max(busy, busy_until(instructions, k, register))
        if busy <= k and since >= STEP and k + 1 < len(instructions):
            turns.append(at)
            since = 0
    return turns
