"""Programs in C and in C++ for every operator, from the calls that record.py wrote down.

usage: programs.py CASES FOLDER --home HOME [--cc CC] [--cxx CXX] [--flags FLAGS] [--jobs N] [--ways WAY ...]

FOLDER/aclnnAbs.inc holds the cases of one operator; the same text is compiled as C11 and as C++11, against HOME (CANN's
layout, as `cmake --install` makes it) and with nothing but CANN's headers and libraries. Then each program runs in every way (WAYS). Exits with 1 when one fails, or when
an operator that computes has no case that succeeds.
"""

import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import gen_opapi  # noqa: E402

WAYS = {
    "run": ([], {}),
    "threads": (["--threads", "2"], {}),
    "faults": (["--faults"], {}),  # the k-th allocation fails, for every k
    "queued": (
        ["--faults"],
        {"ASNUMPY_CPU_LAUNCH_DELAY_US": "1"},
    ),  # by the streams' workers, not inline
    "exchange": (["--exchange"], {}),  # one executor, other buffers and values (exchange.h)
    "exchange queued": (["--exchange"], {"ASNUMPY_CPU_LAUNCH_DELAY_US": "1"}),
    # The k-th allocation of a process fails: thousands of processes, one after the other in each half.
    "cold even": (["--cold", "--part", "0", "2"], {}),
    "cold odd": (["--cold", "--part", "1", "2"], {}),
}
GROUP = 37  # operators in one translation unit: 15 units of each language
ACL = {
    0: ("ACL_FLOAT", "float", "float"), 1: ("ACL_FLOAT16", "uint16_t", ""), 2: ("ACL_INT8", "int8_t", ""),
    3: ("ACL_INT32", "int32_t", ""), 4: ("ACL_UINT8", "uint8_t", ""), 6: ("ACL_INT16", "int16_t", ""),
    7: ("ACL_UINT16", "uint16_t", ""), 8: ("ACL_UINT32", "uint32_t", ""), 9: ("ACL_INT64", "int64_t", ""),
    10: ("ACL_UINT64", "uint64_t", ""), 11: ("ACL_DOUBLE", "double", ""), 12: ("ACL_BOOL", "uint8_t", ""),
    16: ("ACL_COMPLEX64", "float", ""), 17: ("ACL_COMPLEX128", "double", ""), 27: ("ACL_BF16", "uint16_t", ""),
    29: ("ACL_INT4", "", ""), 33: ("ACL_COMPLEX32", "", ""), 34: ("ACL_HIFLOAT8", "", ""), 35: ("ACL_FLOAT8_E5M2", "", ""),
    36: ("ACL_FLOAT8_E4M3FN", "", ""), 37: ("ACL_FLOAT8_E8M0", "", ""),
}  # fmt: skip
NAMES = {
    "float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7, "uint32": 8, "int64": 9,
    "uint64": 10, "float64": 11, "bool": 12, "complex64": 16, "complex128": 17, "bfloat16": 27,
}  # fmt: skip
ITEM = {"float": 4, "double": 8, "uint8_t": 1, "int8_t": 1, "int16_t": 2, "uint16_t": 2,
        "int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8}  # fmt: skip


# ---- the text of one case


def integer(x):
    return (
        f"INT64_C({int(x)})"
        if -(2**63) < x < 2**63
        else "INT64_MIN"
        if x < 0
        else f"UINT64_C({int(x)})"
    )


def real(x):
    if math.isnan(x):
        return "NAN"
    return repr(float(x)) if math.isfinite(x) else ("" if x > 0 else "-") + "INFINITY"


def values(numbers, write=integer):
    """The inside of an initialiser; never empty, which C does not have."""
    return "{" + (", ".join(write(x) for x in numbers) or "0") + "}"


def bits(scalar):
    """A scalar's value as an initialiser of its C type, by its bits where it is no number of C's."""
    name, ctype, _ = ACL[scalar["dtype"]]
    raw, size = bytes.fromhex(scalar["bytes"]), ITEM[ctype]
    parts = [raw[i : i + size] for i in range(0, len(raw), size)]
    if ctype in ("float", "double"):
        numbers = memoryview(raw).cast(ctype[0])
        return name, ctype, values(numbers, real)
    signed = not ctype.startswith("u")
    return (
        name,
        ctype,
        values((int.from_bytes(p, "little", signed=signed) for p in parts), integer),
    )


KINDS = {0: "f", 1: "e", 11: "d", 16: "f", 17: "d", 27: "g"}


def tensors(args):
    """Every tensor of the arguments, those of lists included."""
    for a in args:
        for t in a.get("list", [a.get("tensor")]) if a else []:
            if isinstance(t, dict):
                yield t


def kind(case, block):
    """What a block's elements are, for other values of it; of several dtypes: bytes."""
    dtypes = {t["dtype"]: t["item"] for t in tensors(case["args"]) if t["block"] == block}
    kinds = {KINDS.get(d, str(max(1, int(item)))) for d, item in dtypes.items()}
    found = kinds.pop() if len(kinds) == 1 else "1"
    return found if found in "efdg1248" else "1"


class Body:
    """The lines of one case."""

    def __init__(self, case):
        self.case, self.lines = case, []
        for i, block in enumerate(case["blocks"]):
            self.lines.append(
                f"char *m{i} = program_memory(prog, {block['size']}, {block['before']}, {block['after']}, "
                f"'{kind(case, i)}');"
            )

    def tensor(self, name, t):
        ndim, block = len(t["shape"]), t["block"]
        size = 0 if block is None else self.case["blocks"][block]["size"]
        data, offset = "NULL" if block is None else f"m{block}", 0
        if t["at"] % t["item"]:
            data += f" + {t['at']}"
        else:
            offset = int(t["at"] / t["item"])
        self.lines += [
            f"const int64_t {name}_dims[] = {values(t['shape'])};",
            f"const int64_t {name}_strides[] = {values(t['strides'])};",
            f"const int64_t {name}_storage[] = {{{int(size / t['item'])}}};",
            f"aclTensor *{name} = program_tensor(prog, aclCreateTensor({name}_dims, {ndim}, {ACL[t['dtype']][0]}, "
            f"{name}_strides, {offset}, ACL_FORMAT_ND, {name}_storage, 1, {data}));",
        ]
        return name

    def scalar(self, name, scalar):
        dtype, ctype, text = bits(scalar)
        self.lines += [
            f"{ctype} {name}_value[] = {text};",
            f"aclScalar *{name} = program_scalar(prog, aclCreateScalar({name}_value, {dtype}));",
        ]
        return name

    def members(self, name, items, kind):
        """A list and its members."""
        make, handle, keep = (
            (self.tensor, "Tensor", "list") if kind == "L" else (self.scalar, "Scalar", "scalars")
        )
        self.lines.append(f"const int {name}_first = prog->num_objects;")
        names = ["NULL" if m is None else make(f"{name}{i}", m) for i, m in enumerate(items)]
        self.lines += [
            f"const acl{handle} *const {name}_members[] = {{{', '.join(names) or 'NULL'}}};",
            f"acl{handle}List *{name} = program_{keep}(prog, aclCreate{handle}List({name}_members, "
            f"{len(names)}), {name}_first);",
        ]
        return name

    def array(self, name, numbers, kind):
        ctype, handle, keep = {
            "I": ("int64_t", "Int", "ints"),
            "F": ("float", "Float", "floats"),
            "B": ("bool", "Bool", "bools"),
        }[kind]
        text = values(
            numbers, real if kind == "F" else integer if kind == "I" else lambda x: str(int(x))
        )
        self.lines += [
            f"const {ctype} {name}_values[] = {text};",
            f"acl{handle}Array *{name} = program_{keep}(prog, aclCreate{handle}Array({name}_values, {len(numbers)}));",
        ]
        return name

    def argument(self, param, a):
        name, kind = param.name, param.kind
        if a is None:
            return "NULL"
        if kind in "TOR":
            return self.tensor(name, a["tensor"])
        if kind == "S":
            return self.scalar(name, a["scalar"])
        if kind == "K":
            return self.members(name, a["scalars"], "K")
        if kind in "LMU":
            return self.members(name, a["list"], "L")
        if kind in "IFB":
            return self.array(name, a["list"], kind)
        if kind == "s":
            self.lines.append(f'char {name}[] = "{a["text"]}";')
            return name
        if "aclDataType" in param.text:
            return ACL[NAMES[a["text"]]][0]
        if kind == "f":
            return real(a["number"])
        return str(int(a["number"])) if "bool" in param.text else integer(a["number"])


def case_text(op, index, case):
    body = Body(case)
    names = [body.argument(p, a) for p, a in zip(op.params, case["args"], strict=True)]
    body.lines += [
        "if (!program_ready(prog)) return;",
        f"program_plan(prog, {op.name}GetWorkspaceSize({', '.join([*names, '&prog->size', '&prog->executor'])}));",
        f"program_run(prog, {op.name});",
    ]
    lines = "".join(f"    {line}\n" for line in body.lines)
    return f"static void {op.name}_{index}(program *prog) {{\n{lines}}}\n"


def roles(op, case):
    """What the operator does with each tensor. NULL where a list lacks a member: positions in it are not those of its operands."""
    said = ""
    for param, a in zip(op.params, case["args"], strict=True):
        role = {"T": "i", "L": "i", "O": "o", "M": "o", "R": "b", "U": "b"}.get(param.kind)
        if a is None or role is None:
            continue
        if param.kind in "LMU" and None in a["list"]:
            return "NULL"
        said += role * len(list(tensors([a])))
    return f'"{said}"'


def operator_text(op, cases):
    rows = "".join(
        f"    {{{op.name}_{i}, {c['code']}, {c['phase']}, {roles(op, c)}}},\n"
        for i, c in enumerate(cases)
    )
    return (
        f'#include "{op.header}"\n\n'
        + "\n".join(case_text(op, i, c) for i, c in enumerate(cases))
        + f"static const program_case {op.name}_cases[] = {{\n{rows}}};\n"
    )


# ---- the files


def write(cases, folder):
    """The programs; returns how many groups there are."""
    computing = gen_opapi.operators()
    names = sorted(cases)
    groups = [names[i : i + GROUP] for i in range(0, len(names), GROUP)]
    for name in names:
        put(folder / f"{name}.inc", operator_text(computing[name], cases[name]))
    for g, members in enumerate(groups):
        rows = "".join(f'    {{"{n}", {n}_cases, {len(cases[n])}}},\n' for n in members)
        text = (
            '#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n\n#include "program.h"\n'
        )
        text += "".join(f'#include "{n}.inc"\n' for n in members)
        text += (
            f'#ifdef __cplusplus\nextern "C"\n#endif\n    const program_operator group_{g}[] = {{\n'
        )
        put(folder / f"group_{g}.c", text + rows + "    {NULL, NULL, 0}};\n")
        put(folder / f"group_{g}.cpp", f'#include "group_{g}.c"\n')
    text = '#include "program.h"\n\n'
    text += "".join(f"extern const program_operator group_{g}[];\n" for g in range(len(groups)))
    text += "const program_operator *const program_groups[] = {"
    text += ", ".join(f"group_{g}" for g in range(len(groups)))
    put(folder / "groups.c", text + f"}};\nconst int program_num_groups = {len(groups)};\n")
    return len(groups)


def put(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def compile_and_link(groups, options):
    """programs_c, and programs_cxx where there is a C++ compiler."""
    folder, flags = options.folder, shlex.split(options.flags)
    sanitizer = [*flags, "-fno-sanitize=all", "-DFAULTS_SANITIZER"] if flags else []
    include = [f"-I{options.home}/include", f"-I{HERE}/programs", f"-I{folder}"]
    own = {
        "program.o": ["-std=gnu11", HERE / "programs" / "program.c", *flags],
        "exchange.o": ["-std=gnu11", HERE / "programs" / "exchange.c", *flags],
        "faults.o": ["-std=gnu11", HERE / "programs" / "faults.c", *sanitizer],
        "groups.o": ["-std=c11", folder / "groups.c", *flags],
    }
    languages = [("c", options.cc, "-std=c11", ".c")]
    if options.cxx:
        languages.append(("cxx", options.cxx, "-std=c++11", ".cpp"))
    jobs = [(options.cc, target, rest) for target, rest in own.items()]
    for language, compiler, standard, suffix in languages:
        for g in range(groups):
            rest = [standard, folder / f"group_{g}{suffix}", *flags]
            jobs.append((compiler, f"group_{g}_{language}.o", rest))

    def compile_one(job):
        compiler, target, rest = job
        run(
            [
                *shlex.split(compiler),
                "-O0",
                "-Wall",
                "-Wextra",
                *include,
                *rest,
                "-c",
                "-o",
                folder / target,
            ]
        )

    made, stamp = digest(folder, options), folder / "compiled"
    programs = [folder / f"programs_{language}" for language, *_ in languages]
    if stamp.exists() and stamp.read_text() == made and all(p.exists() for p in programs):
        return programs
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(compile_one, jobs))
    for (language, compiler, *_), program in zip(languages, programs, strict=True):
        objects = [folder / target for target in own]
        objects += [folder / f"group_{g}_{language}.o" for g in range(groups)]
        run([*shlex.split(compiler), *flags, *objects, f"-L{options.home}/lib64", "-lopapi",
             "-lascendcl", "-lnnopbase", "-lhccl", "-lpthread", f"-Wl,-rpath,{options.home}/lib64", "-o", program])  # fmt: skip
    stamp.write_text(made)
    return programs


def digest(folder, options):
    """Of all that the compilers read and are told."""
    hashed = hashlib.sha256(repr((options.cc, options.cxx, options.flags, options.home)).encode())
    texts = [*folder.glob("*.inc"), *folder.glob("group*.c*"), *(HERE / "programs").glob("*.[ch]")]
    for path in sorted([*texts, *pathlib.Path(options.home, "include").rglob("*.h")]):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()


def run(command, **more):
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, check=False, **more
    )
    if done.returncode != 0:
        raise SystemExit(
            f"{shlex.join(str(c) for c in command)}: exit status {done.returncode}\n"
            f"{done.stdout[-4000:]}{done.stderr[-12000:]}"
        )
    return done.stdout.strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--home", required=True)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="")
    parser.add_argument("--flags", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    cases = json.loads((options.cases / "cases.json").read_text())
    computing = gen_opapi.operators().keys() & gen_opapi.DATA.keys()
    missing = sorted(n for n in computing if not any(c["code"] == 0 for c in cases.get(n, [])))
    programs = compile_and_link(write(cases, options.folder), options)
    print(f"operators with a program: {len(computing) - len(missing)} of {len(computing)} computing, "
          f"{len(gen_opapi.DATA)} listed")  # fmt: skip
    data = options.cases / "cases.bin"
    library = pathlib.Path(options.home, "lib64", "libscipy_openblas.so")
    blas = (
        {"ASNUMPY_OPENBLAS": str(library)} if library.exists() else {}
    )  # one that fails is not replaced by another
    runs = [
        (program, way)
        for program in programs
        for way in options.ways
        # What these test is not of the language.
        if not way.startswith("cold") or program == programs[0]
    ]

    def run_one(program, way):
        arguments, env = WAYS[way]
        return run([program, data, *arguments], env={**os.environ, **blas, **env})

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (program, way), said in zip(
            runs, pool.map(run_one, *zip(*runs, strict=True)), strict=True
        ):
            print(f"{program.name}, {way}: {said}", flush=True)
    if missing:
        raise SystemExit(f"operators without a case that succeeds: {' '.join(missing)}")


if __name__ == "__main__":
    main()
