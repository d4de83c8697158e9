"""Lists the names of CANN that a client's binaries hold and our libraries lack.

usage: client_names.py LIBRARIES CLIENT...

LIBRARIES is the folder of libascendcl.so, libopapi.so, libhccl.so (build/dev/lib, or lib64 of the home); a CLIENT is a wheel,
a folder or a shared library: torch_npu-2.9.0-...whl, for instance. What a client looks up by name stands in its binaries as
text; what it links, in its symbol table. Names of the two-phase operators are listed by operator, the others one by one.

Operators that are called by the name of their type (aclopCompileAndExecute) cannot be told from other text. But the wheels
of torch_npu hold a list of their functions, each with the ways to compute it that it has: those that have a type alone are
listed, too.

Standard library and nm only.
"""

import pathlib
import re
import subprocess
import sys
import zipfile

NAME = re.compile(
    rb"(?<![A-Za-z0-9_])((?:acl|Hccl|mstx|mspti|Msprof|hal|rt)[A-Z]\w{3,80}|acl[a-z]+[A-Z]\w{3,80})\0"
)
# Texts of torch_npu's own: names of its records and of types of functions.
NO_FUNCTIONS = {
    "HcclAllgather",
    "HcclAllgatherBase",
    "HcclAllgatherTogather",
    "HcclAllreduce",
    "HcclAlltoAll_SendRecv",
    "HcclCommList",
    "HcclGather_SendRecv",
    "HcclReduceScatterBase",
    "HcclScatter_SendRecv",
    "aclProfilingCreateConfig",
    "aclProfilingDestroyConfig",
    "aclProfilingInit",
    "aclProfilingStart",
    "aclProfilingStop",
    "aclQueryEventRecordedStatus",
    "aclQueryEventWaitStatus",
    "aclnnNotFound",
    "aclnnNotFoundV2",
    "mstxDomainExclude",
    "mstxDomainInclude",
    "mstxMemRegionsRe",
    "halGetDeviceInfohalGetAPIVersionlibmsprofiler",
    "aclnnSilentCheckaclnnReselectStalectStaticKernelGet",
    "aclnnUniqueConseaclnnUniqueDim",
}
FAMILIES = {
    "two-phase operators": r"aclnn[A-Z]\w+",
    "runtime, operators by type, profiling": r"acl(?!nn)\w+",
    "HCCL": r"Hccl\w+",
    "tools and driver": r"(?:mstx|mspti|Msprof|hal)\w+",
}


def ours(folder):
    """Every symbol that our libraries define."""
    found = set()
    for library in sorted(folder.glob("*.so")):
        listed = subprocess.run(
            ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
        )
        found |= {line.split()[-1] for line in listed.stdout.splitlines()}
    if "aclInit" not in found:
        raise SystemExit(f"{folder} has no libascendcl.so that defines aclInit")
    return found


def names_in(data):
    """Texts of a binary that look like CANN's names, without those that are C++'s."""
    return {name.decode() for name in NAME.findall(data)}


def files(client, suffix):
    """The bytes of each file of a client whose name ends so."""
    path = pathlib.Path(client)
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            for entry in wheel.namelist():
                if entry.endswith(suffix):
                    yield wheel.read(entry)
    elif path.is_dir():
        for file in path.rglob("*" + suffix):
            yield file.read_bytes()
    elif path.exists() and path.name.endswith(suffix):
        yield path.read_bytes()


def wanted(client):
    """Names of functions: a name with a second phase is an operator's, for which the first stands."""
    found = set().union(*map(names_in, files(client, ".so")))
    if not found:
        raise SystemExit(f"{client} is no wheel, folder or library that names functions of CANN")
    return {n for n in found if not n.endswith(("Func", "Impl", "Face", "_t"))} - NO_FUNCTIONS


def by_type_alone(client):
    """Functions of torch_npu that are computed by operators' types and by nothing else."""
    found = set()
    for data in files(client, "npu_native_functions_by_codegen.yaml"):
        for item in re.split(r"^- ", data.decode(), flags=re.MULTILINE):
            name = re.search(r"func: ([\w.]+)", item)
            if name and re.search(r"impl_ns: acl_op$", item, re.MULTILINE):
                found.add(name[1])
    return found


def report(client, found, have):
    print(f"\n{pathlib.Path(client).name}")
    for family, pattern in FAMILIES.items():
        of_family = {n for n in found if re.fullmatch(pattern, n)}
        if family == "two-phase operators":
            # GetWorkspaceSize is looked up beside each name; a text without it may be anything.
            of_family = {n.removesuffix("GetWorkspaceSize") for n in of_family}
        missing = sorted(of_family - have)
        print(f"  {family}: {len(of_family)} names, {len(missing)} are not here")
        for name in missing:
            print(f"    {name}")
    alone = by_type_alone(client)
    print(f"  functions that call operators by type alone: {len(alone)}")
    for name in sorted(alone):
        print(f"    {name}")


def main(arguments):
    if len(arguments) < 2:
        raise SystemExit(__doc__)
    have = ours(pathlib.Path(arguments[0]))
    for client in arguments[1:]:
        report(client, wanted(client), have)


if __name__ == "__main__":
    main(sys.argv[1:])
