"""Writes the public headers of the runtime and the operator base from tools/cann/runtime.json, and those of collective
communication from hccl.json.

usage: gen_headers.py OUTPUT_DIR SOURCE.c...

A function is declared exactly when one of the sources defines it (`ASN_API type name(`), with the
comment that precedes the definition as its documentation: a program that compiles also links.
Types, enums and constants are declared in full. The headers are valid C11 and C++11 and include
each other by relative paths, so that any of `-I include`, `-I include/aclnn` will do.
Standard library only.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = json.loads((ROOT / "tools" / "cann" / "runtime.json").read_text())
ERROR_CODES = json.loads((ROOT / "tools" / "cann" / "error_codes.json").read_text())
HCCL = json.loads((ROOT / "tools" / "cann" / "hccl.json").read_text())

# Documented constants that runtime.json does not list.
EXTRA_CONSTANTS = {
    "ACL_EVENT_SYNC": "0x1u",
    "ACL_EVENT_CAPTURE_STREAM_PROGRESS": "0x2u",
    "ACL_EVENT_TIME_LINE": "0x8u",
    "ACL_EVENT_DEVICE_USE_ONLY": "0x10u",
    "ACL_EVENT_EXTERNAL": "0x20u",
    "ACL_EVENT_IPC": "0x40u",
    "ACL_IPC_EVENT_HANDLE_SIZE": "64u",
    "ACL_STREAM_FAST_LAUNCH": "0x1u",
    "ACL_STREAM_FAST_SYNC": "0x2u",
    "ACL_TENSOR_SHAPE_RANGE_NUM": "2",
    "ACL_TENSOR_VALUE_RANGE_NUM": "2",
    "ACL_UNKNOWN_RANK": "0xFFFFFFFFFFFFFFFE",
}
# What a profile is to hold (aclprofCreateConfig), a bit each.
PROFILE_CONSTANTS = {
    "ACL_PROF_ACL_API": "0x0001ULL",
    "ACL_PROF_TASK_TIME": "0x0002ULL",
    "ACL_PROF_AICORE_METRICS": "0x0004ULL",
    "ACL_PROF_AICPU": "0x0008ULL",
    "ACL_PROF_L2CACHE": "0x0010ULL",
    "ACL_PROF_HCCL_TRACE": "0x0020ULL",
    "ACL_PROF_TRAINING_TRACE": "0x0040ULL",
    "ACL_PROF_MSPROFTX": "0x0080ULL",
    "ACL_PROF_RUNTIME_API": "0x0100ULL",
    "ACL_PROF_TASK_TIME_L0": "0x0800ULL",
    "ACL_PROF_TASK_MEMORY": "0x1000ULL",
    "ACL_PROF_OP_ATTR": "0x4000ULL",
    "ACL_PROF_MAX_OP_NAME_LEN": "257",
    "ACL_PROF_MAX_OP_TYPE_LEN": "65",
}
# Macros of programs: a line of the log, and what marks an old function.
MACROS = """#ifdef __GNUC__
#define ACL_DEPRECATED __attribute__((deprecated))
#define ACL_DEPRECATED_MESSAGE(message) __attribute__((deprecated(message)))
#else
#define ACL_DEPRECATED
#define ACL_DEPRECATED_MESSAGE(message)
#endif
/* A line of the log with its place: the level, a format and what it shows. */
#define ACL_APP_LOG(level, ...) aclAppLog(level, __FUNCTION__, __FILE__, __LINE__, __VA_ARGS__)"""
EXTRA_FUNCTIONS = {
    "aclrtLaunchHostFunc": {
        "header": "acl/acl_rt.h",
        "ret": "aclError",
        "params": ["aclrtStream stream", "aclrtHostFunc fn", "void* args"],
    },
    "aclrtIpcGetEventHandle": {
        "header": "acl/acl_rt.h",
        "ret": "aclError",
        "params": ["aclrtEvent event", "aclrtIpcEventHandle* handle"],
    },
    "aclrtIpcOpenEventHandle": {
        "header": "acl/acl_rt.h",
        "ret": "aclError",
        "params": ["aclrtIpcEventHandle handle", "aclrtEvent* event"],
    },
}
# The tools' extension (mstx), and what torch_npu asks the driver.
for _ret, _name, *_params in (
    ("void", "mstxMarkA", "const char* message", "aclrtStream stream"),
    ("mstxRangeId", "mstxRangeStartA", "const char* message", "aclrtStream stream"),
    ("void", "mstxRangeEnd", "mstxRangeId id"),
    ("mstxDomainHandle_t", "mstxDomainCreateA", "const char* name"),
    ("void", "mstxDomainDestroy", "mstxDomainHandle_t domain"),
    ("void", "mstxDomainMarkA", "mstxDomainHandle_t domain", "const char* message", "aclrtStream stream"),
    ("mstxRangeId", "mstxDomainRangeStartA", "mstxDomainHandle_t domain", "const char* message", "aclrtStream stream"),
    ("void", "mstxDomainRangeEnd", "mstxDomainHandle_t domain", "mstxRangeId id"),
    ("int32_t", "halGetAPIVersion", "int32_t* version"),
    ("int32_t", "halGetDeviceInfo", "uint32_t device", "int32_t module", "int32_t kind", "int64_t* value"),
):  # fmt: skip
    _header = "mstx/ms_tools_ext.h" if _name.startswith("mstx") else "driver/ascend_hal.h"
    EXTRA_FUNCTIONS[_name] = {"header": _header, "ret": _ret, "params": _params}
# Queues of data between host and device, and dumps of compiled operators: older torch_npu links them.
for _ret, _name, *_params in (
    ("acltdtChannelHandle*", "acltdtCreateChannelWithCapacity", "uint32_t deviceId", "const char* name", "size_t capacity"),
    ("aclError", "acltdtDestroyChannel", "acltdtChannelHandle* handle"),
    ("acltdtDataset*", "acltdtCreateDataset"),
    ("aclError", "acltdtDestroyDataset", "acltdtDataset* dataset"),
    ("size_t", "acltdtGetDatasetSize", "const acltdtDataset* dataset"),
    ("acltdtDataItem*", "acltdtGetDataItem", "const acltdtDataset* dataset", "size_t index"),
    ("aclDataType", "acltdtGetDataTypeFromItem", "const acltdtDataItem* dataItem"),
    ("void*", "acltdtGetDataAddrFromItem", "const acltdtDataItem* dataItem"),
    ("size_t", "acltdtGetDataSizeFromItem", "const acltdtDataItem* dataItem"),
    ("size_t", "acltdtGetDimNumFromItem", "const acltdtDataItem* dataItem"),
    ("aclError", "acltdtGetDimsFromItem", "const acltdtDataItem* dataItem", "int64_t* dims", "size_t dimNum"),
    ("aclError", "acltdtReceiveTensor", "const acltdtChannelHandle* handle", "acltdtDataset* dataset", "int32_t timeout"),
    ("aclError", "aclopStartDumpArgs", "uint32_t dumpType", "const char* path"),
    ("aclError", "aclopStopDumpArgs", "uint32_t dumpType"),
):  # fmt: skip
    _header = "acl/acl_tdt.h" if _name.startswith("acltdt") else "acl/acl_op.h"
    EXTRA_FUNCTIONS[_name] = {"header": _header, "ret": _ret, "params": _params}
EXTRA_ENUMS = {"aclrtEngineType": {"ACL_RT_ENGINE_TYPE_AIC": 0, "ACL_RT_ENGINE_TYPE_AIV": 1}}
EXTRA_STRUCTS = {
    "aclrtIpcEventHandle": {
        "kind": "struct",
        "fields": [["char[ACL_IPC_EVENT_HANDLE_SIZE]", "reserved", 0]],
    },
    "aclrtTimeoutUs": {
        "kind": "struct",
        "fields": [["uint32_t", "timeoutLow", 0], ["uint32_t", "timeoutHigh", 4]],
    },
}
EXTRA_TYPEDEFS = {"aclrtHostFunc": {"type": "void (*)(void* args)"}}

FUNCTIONS = {**DATA["functions"], **EXTRA_FUNCTIONS, **HCCL["functions"]}

META_TYPES = ("aclOpExecutor", "aclTensor", "aclScalar", "aclIntArray", "aclFloatArray",
              "aclBoolArray", "aclTensorList", "aclScalarList")  # fmt: skip
INCLUDES = {
    "acl/error_codes/rt_error_codes.h": [],
    "aclnnop/aclnn_util.h": [],
    "acl/acl_base_rt.h": ["error_codes/rt_error_codes.h"],
    "acl/acl_base.h": ["acl_base_rt.h"],
    "acl/acl_rt.h": ["acl_base_rt.h"],
    "acl/acl_rt_allocator.h": ["acl_base_rt.h"],
    "acl/acl_op.h": ["acl_base.h", "acl_rt.h"],
    "acl/acl_prof.h": ["acl_base.h"],
    "acl/acl_tdt.h": ["acl_base.h"],
    "acl/acl_op_compiler.h": ["acl_base.h", "acl_op.h"],
    "toolchain/prof_api.h": ["../acl/acl_base_rt.h"],
    "mstx/ms_tools_ext.h": ["../acl/acl_base_rt.h"],
    "driver/ascend_hal.h": [],
    "runtime/kernel.h": [],
    "acl/acl.h": ["acl_base.h", "acl_rt.h", "acl_rt_allocator.h", "acl_op.h"],
    "aclnn/aclnn_base.h": ["../acl/acl_base.h"],
    "aclnn/acl_meta.h": ["aclnn_base.h"],
    "hccl/hccl_types.h": [],
    "hccl/hccl.h": ["../acl/acl.h", "hccl_types.h"],
}
# Behind a header's own declarations, which what is included needs: programs that include aclnn_base.h alone make tensors.
INCLUDED_LAST = {"aclnn/aclnn_base.h": ["acl_meta.h"]}
TITLES = {
    "acl/error_codes/rt_error_codes.h": "AscendCL: error codes of the runtime.",
    "aclnnop/aclnn_util.h": "Two-phase operators: what marks a function of an operator library.",
    "acl/acl_base_rt.h": "AscendCL: types, constants and conversions of the runtime.",
    "acl/acl_base.h": "AscendCL: tensor descriptions.",
    "acl/acl_rt.h": "AscendCL: devices, contexts, streams, events, memory.",
    "acl/acl_rt_allocator.h": "AscendCL: memory from a program's own allocator.",
    "acl/acl_op.h": "AscendCL: attributes of operators; compiled operators, which a CPU refuses.",
    "acl/acl_op_compiler.h": "AscendCL: operators by the name of their type.",
    "toolchain/prof_api.h": "Reports to CANN's profiling service.",
    "mstx/ms_tools_ext.h": "Marks and ranges for tools (mstx).",
    "driver/ascend_hal.h": "Questions to the driver, which a CPU has none of.",
    "runtime/kernel.h": "Kernels compiled for an NPU, which a CPU refuses.",
    "acl/acl_tdt.h": "AscendCL: queues of data, which a CPU has none of.",
    "acl/acl_prof.h": "AscendCL: profiling.",
    "acl/acl.h": "AscendCL: the whole interface but profiling.",
    "aclnn/aclnn_base.h": "Two-phase operators: status codes, initialisation.",
    "aclnn/acl_meta.h": "Two-phase operators: tensors, scalars, lists, executors.",
    "hccl/hccl_types.h": "Collective communication: types and constants.",
    "hccl/hccl.h": "Collective communication between devices and processes.",
}
# What a program fills in before its own values: the information that says which fields its structure has.
CONFIG_INIT = """/* Sets the defaults of a communicator's configuration, before a program sets its own. */
static inline void HcclCommConfigInit(HcclCommConfig *config) {
    size_t size = sizeof *config;
    uint32_t info[2] = {HCCL_COMM_CONFIG_MAGIC_WORD, HCCL_COMM_CONFIG_VERSION};
    memset(config, 0, sizeof *config);
    memcpy(config->reserved, &size, sizeof size);
    memcpy(config->reserved + sizeof size, info, sizeof info);
    config->hcclBufferSize = 200;
}
"""


def declarator(text):
    """`int64_t[][2] name` -> `int64_t name[][2]`; pointers bind to the name."""
    text = text.strip()
    match = re.match(r"(.*?)((?:\[\w*\])+) *(\w+)$", text)
    if match:
        text = f"{match[1]} {match[3]}{match[2]}"
    return re.sub(r"\* *(?=\w)", "*", re.sub(r" *\*", " *", text)).replace("* *", "**")


def type_lines(name, text):
    """The typedef of `name`."""
    if "(*)" in text:
        return [f"typedef {declarator(text.replace('(*)', f'(*{name})'))};"]
    return [f"typedef {declarator(text + ' ' + name)};"]


def enum_lines(name, values):
    body = ",\n".join(f"    {k} = {v}" for k, v in values.items())
    return [f"typedef enum {name} {{\n{body}\n}} {name};", ""]


def struct_lines(name, struct):
    """Fields and, in C11, the layout that binaries rely on."""
    fields = "\n".join(f"    {declarator(t + ' ' + n)};" for t, n, _ in struct["fields"])
    return [f"typedef {struct['kind']} {name} {{\n{fields}\n}} {name};", ""]


def definitions(paths):
    """name -> documentation of every exported function the sources define."""
    found = {}
    pattern = re.compile(r"((?:/\*(?:[^*]|\*(?!/))*\*/\n)?)^ASN_API [^(;{]*?\b(\w+)\(", re.M)
    for path in paths:
        for doc, name in pattern.findall(pathlib.Path(path).read_text()):
            found[name] = doc
    return found


def function_lines(name, facts, doc):
    params = ", ".join(declarator(p) for p in facts["params"]) or "void"
    text = f"{declarator(facts['ret'] + ' ' + name)}({params});"
    return [doc + text] if doc else [text]


def sorted_structs(docs):
    """The structures that declared functions mention, each after those it contains."""
    words = {w for n in docs if n in FUNCTIONS
             for p in FUNCTIONS[n]["params"] for w in re.findall(r"\w+", p)}  # fmt: skip
    todo, done, before = {}, {}, -1
    while len(todo) > before:
        before = len(todo)
        todo = {n: s for n, s in {**EXTRA_STRUCTS, **DATA["structs"]}.items() if n in words}
        words |= {
            w for s in todo.values() for t, _, _ in s["fields"] for w in re.findall(r"\w+", t)
        }
    while todo:
        for name in list(todo):
            inner = {re.sub(r"\W.*", "", t) for t, _, _ in todo[name]["fields"]}
            if not inner & (todo.keys() - {name}):
                done[name] = todo.pop(name)
    return done


def base_rt_types(docs):
    lines = ["#define ACL_FUNC_VISIBILITY", *MACROS.split("\n")]
    constants = {**DATA["constants"], **EXTRA_CONSTANTS}
    constants.pop("OK", None)
    lines += [f"#define {k} {v}" for k, v in constants.items()] + [""]
    for name, values in {**EXTRA_ENUMS, **DATA["enums"]}.items():
        lines += enum_lines(name, values)
    typedefs = {**DATA["typedefs"], **EXTRA_TYPEDEFS}
    plain = {n: t["type"] for n, t in typedefs.items() if n not in META_TYPES + ("aclnnStatus",)}
    for name in sorted(plain, key=lambda n: "(*)" in plain[n]):
        lines += type_lines(name, plain[name])
    lines.append("")
    for name, struct in sorted_structs(docs).items():
        lines += struct_lines(name, struct)
    return lines


def hccl_types():
    lines = [f"#define {k} {v}" for k, v in HCCL["constants"].items()] + [""]
    for name, values in HCCL["enums"].items():
        lines += enum_lines(name, values)
    lines += [type_lines(n, t["type"])[0] for n, t in HCCL["typedefs"].items()] + [""]
    for name, struct in HCCL["structs"].items():
        lines += struct_lines(name, struct)
    return [*lines, CONFIG_INIT]


def base_types(header, docs):
    if header == "acl/error_codes/rt_error_codes.h":
        return [f"#define {k} {v}" for k, v in ERROR_CODES.items()]
    if header == "acl/acl_prof.h":
        return [*(f"#define {k} {v}" for k, v in PROFILE_CONSTANTS.items()), ""]
    if header == "acl/acl_tdt.h":
        names = ("acltdtChannelHandle", "acltdtDataset", "acltdtDataItem")
        return [*(f"typedef struct {n} {n};" for n in names), ""]
    if header == "aclnnop/aclnn_util.h":
        return ['#define ACLNN_API __attribute__((visibility("default")))']
    if header == "hccl/hccl_types.h":
        return hccl_types()
    if header == "mstx/ms_tools_ext.h":
        return [
            "typedef uint64_t mstxRangeId;",
            "typedef struct mstxDomainRegistration_st *mstxDomainHandle_t;",
            "",
        ]
    if header == "acl/acl_base_rt.h":
        return base_rt_types(docs)
    if header == "aclnn/aclnn_base.h":
        codes = [f"#define {k} {v}" for k, v in DATA["aclnn_return_codes"].items()]
        opaque = [type_lines(n, DATA["typedefs"][n]["type"])[0] for n in META_TYPES]
        return ["typedef int32_t aclnnStatus;", "enum { OK = 0 };", *codes, "", *opaque, ""]
    return []


def header_text(header, docs):
    guard = "ASN_" + re.sub(r"\W", "_", header).upper() + "_"
    source = "hccl.json" if header.startswith("hccl/") else "runtime.json"
    lines = [f"/* {TITLES[header]} Generated from tools/cann/{source}. */"]
    lines += [f"#ifndef {guard}", f"#define {guard}", "", "#include <stdbool.h>"]
    lines += ["#include <stddef.h>", "#include <stdint.h>"]
    lines += ["#include <string.h>"] * (header == "hccl/hccl_types.h") + [""]
    lines += [f'#include "{path}"' for path in INCLUDES[header]]
    lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif", "", *base_types(header, docs)]
    for name, facts in sorted(FUNCTIONS.items()):
        if facts["header"] == header and name in docs:
            lines += function_lines(name, facts, docs[name])
    lines += ["", "#ifdef __cplusplus", "}", "#endif", ""]
    lines += [f'#include "{path}"' for path in INCLUDED_LAST.get(header, [])] + ["#endif"]
    return "\n".join(lines) + "\n"


def write(path, text):
    """Keeps the time stamp of an unchanged file, so that nothing is rebuilt for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    out, docs = pathlib.Path(sys.argv[1]), definitions(sys.argv[2:])
    unknown = [
        n for n in docs if n not in FUNCTIONS and not n.startswith(("asnrt", "asnop", "mspti"))
    ]
    if unknown:
        raise SystemExit(f"exported but not in runtime.json or hccl.json: {' '.join(unknown)}")
    for header in INCLUDES:
        write(out / header, header_text(header, docs))


if __name__ == "__main__":
    main()
