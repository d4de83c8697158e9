/* L2 graph: one node through CANN's single operators: the path of a device without the
 * fused operator, and of ASNUMPY_FUSE=0.
 *
 * A node becomes casts of its operands where dtypes differ, one operator of the table's
 * `cann` column, and a cast of the result. An immediate becomes a one-element tensor.
 * What no CANN operator computes runs as a one-operation fused program and is counted as
 * a fallback; without that, as a composition of other operations (compose.h), or by the
 * fallback policy.
 *
 * Which dtypes an operator takes is not looked up but asked: its first phase refuses what
 * the device lacks, and the node is tried once more in a wider dtype. */
#include <string.h>

#include "aclnnop/aclnn_all.h"
#include "aclnnop/aclnn_amax.h"
#include "aclnnop/aclnn_amin.h"
#include "aclnnop/aclnn_any.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "array/views.h"
#include "graph/device/cann.h"
#include "graph/plan/compose.h"
#include "graph/device/item_strides.h"
#include "graph/counters.h"
#include "graph/plan/launch.h"
#include "graph/device/operator.h"
#include "graph/profile_events.h"
#include "runtime/device.h"

/* An array seen through a node's reference (broadcast axes have stride 0). */
static asn_status ref_array(const asn_node *node, const asn_ref *ref, asn_array *out) {
    ASN_TRY(asn_layout_init_strided(&out->layout, (asn_dtype)ref->dtype, node->ndim,
                                    node->shape, ref->strides, ref->offset, true));
    out->buffer = asn_buffer_retain(ref->buffer);
    return ASN_OK;
}

/* A 0-d array of the number, made in stream order: a copy from the host would wait. */
static asn_status number_array(asn_array *out, asn_dtype dtype, const void *value) {
    ASN_TRY(asn_array_new(out, dtype, 0, NULL, 'C'));
    aclTensor *t[1] = {NULL};
    aclScalar *scalar =
        asn_operator_scalar(value, (aclDataType)asn_dtype_table[dtype].acl);
    asn_status status = scalar ? ASN_OK : ASN_ERR_MEMORY;
    if (!status) status = asn_operator_tensor(out, ASN_WRITE, &t[0]);
    ASN_OPERATOR(status, InplaceFillScalar, "fill", t[0], scalar);
    asn_operator_drop(1, t);
    asn_operator_drop_scalar(scalar);
    if (status) asn_array_fini(out);
    return status;
}

/* An operand that is a number. Of numbers alone the first takes the output's shape, which
 * an operator would else find too large: add(1, 2, out=a). */
static asn_status immediate_array(const asn_node *node, int k, asn_array *out) {
    const asn_ref *ref = &node->in[k];
    bool alone = k == 0;
    for (int i = 0; i < node->num_in; i++)
        alone = alone && !node->in[i].buffer;
    asn_array number;
    ASN_TRY(number_array(&number, (asn_dtype)ref->dtype, ref->immediate));
    if (!alone) {
        asn_array_move(out, &number);
        return ASN_OK;
    }
    asn_layout spread;
    asn_status status =
        asn_view_broadcast(&spread, &number.layout, node->ndim, node->shape);
    if (!status) asn_array_view(out, &number, &spread);
    asn_array_fini(&number);
    return status;
}

/* A copy or a cast, as CANN has them; spreads `from` over `to`. */
static asn_status convert_direct(const asn_array *from, const asn_array *to) {
    aclTensor *t[2] = {NULL, NULL};
    aclDataType type = (aclDataType)asn_dtype_table[to->layout.dtype].acl;
    const asn_array *all[2] = {from, to};
    asn_status status = asn_operator_tensors(2, all, 1 << 1, t);
    if (from->layout.dtype == to->layout.dtype)
        ASN_OPERATOR(status, InplaceCopy, "copy", t[1], t[0]);
    else
        ASN_OPERATOR(status, Cast, "astype", t[0], type, t[1]);
    asn_operator_drop(2, t);
    return status;
}

/* from, of the same shape or to be spread over it, to any dtype and strides. */
static asn_status convert(const asn_array *from, const asn_array *to) {
    if (!asn_items_apart(&to->layout)) return convert_direct(from, to);
    asn_array whole;
    ASN_TRY(asn_array_new(&whole, asn_layout_dtype(&to->layout), to->layout.ndim,
                          to->layout.shape, 'C'));
    asn_status status = convert_direct(from, &whole);
    if (!status) status = asn_items_copy(&whole, to);
    asn_array_fini(&whole);
    return status;
}

/* Operand k in the dtype its operation wants, as an array to be ended. */
static asn_status operand(const asn_node *node, int k, asn_dtype want, asn_array *out) {
    asn_array raw;
    if (node->in[k].buffer)
        ASN_TRY(ref_array(node, &node->in[k], &raw));
    else
        ASN_TRY(immediate_array(node, k, &raw));
    if (node->in[k].dtype == want) {
        asn_array_move(out, &raw);
        return ASN_OK;
    }
    asn_status status = asn_array_new(out, want, raw.layout.ndim, raw.layout.shape, 'C');
    if (!status) {
        status = convert(&raw, out);
        if (status) asn_array_fini(out);
    }
    asn_array_fini(&raw);
    return status;
}

/* First phases by their parameters: what the rows of the table take. */
typedef aclnnStatus (*unary_fn)(const aclTensor *, aclTensor *, uint64_t *,
                                aclOpExecutor **);
typedef aclnnStatus (*binary_fn)(const aclTensor *, const aclTensor *, aclTensor *,
                                 uint64_t *, aclOpExecutor **);
typedef aclnnStatus (*alpha_fn)(const aclTensor *, const aclTensor *, const aclScalar *,
                                aclTensor *, uint64_t *, aclOpExecutor **);
typedef aclnnStatus (*ternary_fn)(const aclTensor *, const aclTensor *, const aclTensor *,
                                  aclTensor *, uint64_t *, aclOpExecutor **);

/* out = op(in...) through the operator of the row; every tensor has its final dtype. */
static asn_status call(const asn_acl_operator *op, const asn_node *node, aclTensor **in,
                       aclTensor *out, bool *refused) {
    const asn_op_info *row = &asn_op_table[node->op];
    uint64_t workspace = 0;
    aclOpExecutor *executor = NULL;
    aclScalar *alpha = NULL;
    int64_t one = 1;
    int code;
    /* CANN's add and subtract have a factor for the second operand: 1. */
    if (!strcmp(row->cann, "Add") || !strcmp(row->cann, "Sub")) {
        alpha = asn_operator_scalar(&one, ACL_INT64);
        if (!alpha) return ASN_ERR_MEMORY;
        code = ((alpha_fn)op->get_workspace)(in[0], in[1], alpha, out, &workspace,
                                             &executor);
    } else if (row->num_in == 1) {
        code = ((unary_fn)op->get_workspace)(in[0], out, &workspace, &executor);
    } else if (row->num_in == 2) {
        code = ((binary_fn)op->get_workspace)(in[0], in[1], out, &workspace, &executor);
    } else {
        code = ((ternary_fn)op->get_workspace)(in[0], in[1], in[2], out, &workspace,
                                               &executor);
    }
    if (ASN_CAPTURING && code == 0) { /* in the order of the operator's parameters */
        for (int k = 0; k < row->num_in; k++)
            asn_capture_tensor(in[k]);
        asn_capture_tensor(out);
    }
    *refused = asn_operator_refused(code);
    if (ASN_PROFILING && code == 0) asn_record_work(asn_flops_of_node(node));
    asn_status status = *refused ? ASN_OK
                        : code   ? asn_acl_failed(code, row->name)
                                 : asn_operator_run(op, workspace, executor, row->name);
    asn_operator_drop_scalar(alpha);
    return status;
}

/* What was computed to the output, as the dtype that the operation has: where it was
 * computed in a wider one and the output is of a third, it wraps or rounds between. */
static asn_status deliver(const asn_array *computed, asn_dtype dtype,
                          const asn_array *out) {
    if (asn_layout_dtype(&computed->layout) == dtype ||
        asn_layout_dtype(&out->layout) == dtype)
        return convert(computed, out);
    asn_array exact;
    ASN_TRY(asn_array_new(&exact, dtype, out->layout.ndim, out->layout.shape, 'C'));
    asn_status status = convert(computed, &exact);
    if (!status) status = convert(&exact, out);
    asn_array_fini(&exact);
    return status;
}

/* A node that is an elementwise operation: operands cast, the operator, the result cast
 * where the output is of another dtype than `dtype`, that of the operation's result.
 * *refused: the device has no such dtypes, and nothing was done. */
static asn_status elementwise(const asn_node *node, const asn_acl_operator *op,
                              asn_dtype dtype, bool *refused) {
    asn_dtype result = asn_op_result((asn_op)node->op, (asn_dtype)node->loop);
    asn_array in[3], out, target;
    aclTensor *t[4] = {NULL, NULL, NULL, NULL};
    asn_status status = ref_array(node, &node->out, &out);
    int made = 0;
    for (; made < node->num_in && !status; made++) {
        status = operand(node, made,
                         asn_op_operand((asn_op)node->op, made, (asn_dtype)node->loop),
                         &in[made]);
        if (status) break;
        status = asn_operator_tensor(&in[made], ASN_READ, &t[made]);
    }
    bool direct = !status && (asn_dtype)node->out.dtype == result && result == dtype &&
                  !asn_items_apart(&out.layout);
    if (!status && !direct)
        status = asn_array_new(&target, result, node->ndim, node->shape, 'C');
    if (!status) {
        status = asn_operator_tensor(direct ? &out : &target, ASN_WRITE, &t[3]);
        if (!status) status = call(op, node, t, t[3], refused);
        if (!direct) {
            if (!status && !*refused) status = deliver(&target, dtype, &out);
            asn_array_fini(&target);
        }
    }
    asn_operator_drop(4, t);
    for (int k = 0; k < made; k++)
        asn_array_fini(&in[k]);
    asn_array_fini(&out);
    return status;
}

/* The reductions that CANN has for any set of axes. *handled false: it is another one, or
 * of dtypes for which CANN's result is not NumPy's; nothing was done. */
static asn_status reduce(const asn_node *node, bool *handled) {
    asn_array in, out;
    int64_t axes[ASN_MAX_DIMS];
    int n = 0;
    for (int d = 0; d < node->ndim; d++)
        if (node->reduce_mask >> d & 1) axes[n++] = d;
    asn_op op = (asn_op)node->reduce_op;
    bool boolean = node->out.dtype == ASN_BOOL;
    *handled = !node->accumulate && n > 0 &&
               (op == ASN_OP_ADD ? !boolean
                : op == ASN_OP_MAXIMUM || op == ASN_OP_MINIMUM
                    ? !boolean && !asn_is_complex((asn_dtype)node->out.dtype)
                    : boolean && (op == ASN_OP_LOGICAL_AND || op == ASN_OP_LOGICAL_OR));
    if (!*handled) return ASN_OK;
    asn_status status = operand(node, 0, (asn_dtype)node->out.dtype, &in);
    ASN_TRY(status);
    /* The result keeps the reduced axes with extent 1, so that its strides fit any
     * layout. */
    int64_t shape[ASN_MAX_DIMS];
    for (int d = 0; d < node->ndim; d++)
        shape[d] = node->reduce_mask >> d & 1 ? 1 : node->shape[d];
    status = asn_layout_init_strided(&out.layout, (asn_dtype)node->out.dtype, node->ndim,
                                     shape, node->out.strides, node->out.offset, true);
    if (status) {
        asn_array_fini(&in);
        return status;
    }
    out.buffer = asn_buffer_retain(node->out.buffer);
    aclTensor *t[2] = {NULL, NULL};
    aclIntArray *dims = asn_operator_ints(n, axes);
    if (!dims) status = ASN_ERR_MEMORY;
    const bool apart = asn_items_apart(&out.layout);
    asn_array whole = {.buffer = NULL};
    if (!status && apart)
        status =
            asn_array_new(&whole, (asn_dtype)node->out.dtype, node->ndim, shape, 'C');
    const asn_array *all[2] = {&in, apart ? &whole : &out};
    if (!status) status = asn_operator_tensors(2, all, 1 << 1, t);
    aclDataType dtype = (aclDataType)asn_dtype_table[node->out.dtype].acl;
    if (ASN_PROFILING && !status) asn_record_work(asn_flops_of_node(node));
    if (op == ASN_OP_ADD)
        ASN_OPERATOR(status, ReduceSum, "sum", t[0], dims, true, dtype, t[1]);
    else if (op == ASN_OP_MAXIMUM)
        ASN_OPERATOR(status, Amax, "max", t[0], dims, true, t[1]);
    else if (op == ASN_OP_MINIMUM)
        ASN_OPERATOR(status, Amin, "min", t[0], dims, true, t[1]);
    else if (op == ASN_OP_LOGICAL_AND)
        ASN_OPERATOR(status, All, "all", t[0], dims, true, t[1]);
    else
        ASN_OPERATOR(status, Any, "any", t[0], dims, true, t[1]);
    asn_operator_drop(2, t);
    asn_operator_drop_ints(dims);
    if (!status && apart) status = asn_items_copy(&whole, &out);
    if (whole.buffer) asn_array_fini(&whole);
    asn_array_fini(&in);
    asn_array_fini(&out);
    return status;
}

/* ASN_OP_COPY: a copy, a cast, or a fill with a number. */
static asn_status move(const asn_node *node) {
    asn_array in, out;
    ASN_TRY(ref_array(node, &node->out, &out));
    asn_status status = operand(node, 0, (asn_dtype)node->in[0].dtype, &in);
    if (!status) {
        if (node->in[0].dtype == node->out.dtype || node->in[0].buffer)
            status = convert(&in, &out);
        asn_array_fini(&in);
    }
    asn_array_fini(&out);
    return status;
}

/* The operator of the row's `cann` column, looked up once; false: the device has none. */
static bool find_row_operator(uint16_t op, asn_acl_operator *out) {
    if (op >= ASN_OP_COUNT) return false;
    static asn_acl_operator known[ASN_OP_COUNT];
    static bool looked[ASN_OP_COUNT];
    if (!looked[op]) {
        looked[op] = true;
        if (!asn_op_table[op].cann || !asn_acl_find(asn_op_table[op].cann, &known[op]))
            known[op].run = NULL;
    }
    *out = known[op];
    return out->run != NULL;
}

/* (Contract in launch.h.) In order: the reduction, copy or operator of CANN's, then in a
 * wider dtype; the fused operator; a composition; the host. Tensors are made of a
 * buffer's flushed state; the node being lowered is no longer part of it. */
asn_status asn_lower_node(const asn_node *node) {
    bool handled = false;
    asn_acl_operator op;
    ASN_TRY(asn_device_open());
    ASN_TRY(asn_buffer_ensure(node->out.buffer));
    if (node->reduce_op != ASN_OP_NONE) {
        ASN_TRY(reduce(node, &handled));
        if (handled) return ASN_OK;
    } else if (node->op == ASN_OP_COPY) {
        return move(node);
    } else if (find_row_operator(node->op, &op)) {
        bool refused = false;
        asn_dtype loop, dtype = asn_op_result((asn_op)node->op, (asn_dtype)node->loop);
        ASN_TRY(elementwise(node, &op, dtype, &refused));
        asn_node wide = *node;
        if (refused && asn_cann_wider((asn_dtype)node->loop, &loop)) {
            wide.loop = (uint8_t)loop;
            ASN_TRY(elementwise(&wide, &op, dtype, &refused));
        }
        if (!refused) return ASN_OK;
    }
    if (asn_acl.aclnnxFused) {
        asn_counters.fallbacks++;
        return asn_fuse_node(node);
    }
    if (node->reduce_op == ASN_OP_NONE) {
        ASN_TRY(asn_compose_node(node, &handled));
        if (handled) return ASN_OK;
    }
    ASN_TRY(asn_fallback_ready());
    return asn_fuse_node(node);
}
