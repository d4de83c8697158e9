"""Writes the C functions that refuse (src/device/acl/refused.def), each with its documentation.

usage: gen_refused.py OUTPUT.c

Standard library only.
"""

import pathlib
import sys

from gen_headers import FUNCTIONS, ROOT, declarator, write

SOURCE = ROOT / "src" / "device" / "acl" / "refused.def"


def rows():
    """(reason, name) of every refused function."""
    found = []
    exec(
        compile(SOURCE.read_text(), SOURCE, "exec"),
        {"refuse": lambda reason, names: found.extend((reason, n) for n in names.split())},
    )
    return found


def function(reason, name):
    facts = FUNCTIONS[name]
    ret, params = facts["ret"], facts["params"]
    unused = " ".join(
        f"(void){declarator(p).split('[')[0].split()[-1].lstrip('*')};" for p in params
    )
    code = ret in ("aclError", "int32_t")
    value = f'return refuse("{name}", reason);' if code else ""
    if not code and ret != "void":
        nothing = {"aclrtBinary": "NULL", "aclDataType": "ACL_DT_UNDEFINED"}
        value = f"return {'NULL' if ret.endswith('*') else nothing.get(ret, '0')};"
    told = "" if code else f'(void)refuse("{name}", reason);'
    head = declarator(f"ASN_API {ret} {name}") + f"({', '.join(map(declarator, params)) or 'void'})"
    return (
        f"/* Refused: {reason}. */\n{head} {{\n"
        f'    static const char reason[] = "{reason}";\n    {unused} {told} {value}\n}}\n'
    )


HEAD = """/* Functions that a CPU refuses. Generated from refused.def by tools/gen_refused.py. */
#include "acl/acl_tdt.h"
#include "device/acl/internal.h"

static aclError refuse(const char *name, const char *reason) {
    return asnrtFail(ACL_ERROR_FEATURE_UNSUPPORTED, "%s: %s", name, reason);
}

"""

if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]), HEAD + "\n".join(function(*row) for row in rows()))
