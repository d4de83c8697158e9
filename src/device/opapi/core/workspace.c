/* CPU device, operators: how much workspace a call asks for in a strict run.
 *
 * On an NPU products, convolutions, attention, reductions and orders ask for workspace,
 * and a program that brings none fails there and nowhere else. With ASNUMPY_CANN_STRICT=1
 * the same operators (WORKSPACES of tools/gen_opapi.py) ask here, phase 2 refuses less
 * (opbase/executor.c), and bodies take their temporaries from it while it has room
 * (view.c). The sizes are this device's, not an NPU's: programs may rely on none.
 *
 * A body copies each tensor at most once, in a dtype of up to 8 bytes for its elements or
 * of their own size; a reduction, its results. What it needs beyond comes from scratch
 * memory as ever.
 */
#include "device/opapi/core/call.h"

#include "base/alloc.h"

/* Bytes of any call, and those before and behind a temporary in view.c. */
enum { WORKSPACE_LEAST = 4096, BLOCK_HEAD = 192 };

/* Bytes of a copy of the operand. A dimension with stride 0 is one element in memory: a
 * body that writes it out takes scratch for that. */
static uint64_t copy_size(const asnd_operand *o) {
    if (o->is_absent || o->is_empty || o->nd.dtype >= ASN_DTYPE_COUNT) return 0;
    int64_t item = asn_itemsize(o->nd.dtype), size = item < 8 ? 8 : item;
    for (int d = 0; d < o->nd.ndim; d++)
        if (o->nd.strides[d] != 0 && !asn_mul_size(size, o->nd.shape[d], &size)) return 0;
    return (uint64_t)size;
}

uint64_t asn_call_workspace(const asnd_call *c) {
    uint64_t size = WORKSPACE_LEAST;
    for (uint32_t i = 0; i < c->e->num_operands; i++) {
        const asnd_operand *o = &c->e->operands[i];
        if (o->is_out || c->op->workspace == ASN_WORKSPACE_OF_TENSORS)
            size += copy_size(o) + BLOCK_HEAD;
    }
    return (size + 63) & ~UINT64_C(63);
}
