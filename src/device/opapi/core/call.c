/* CPU device, operators: the front of phase 1 (see call.h) and the checks that planners
 * share.
 *
 * Checks come in a fixed order: NULLs and handles, dtypes that exist, tensors that fit
 * their storage, then the planner's own rules. Parameters are described by the operator's
 * row, so no planner looks at a handle itself, and messages name the operator and the
 * parameter as CANN's documentation does.
 *
 * Every failure before an executor is handed out releases what was captured; afterwards
 * nothing but the body may fail, and its error belongs to the stream.
 */
#include "device/opapi/core/call.h"

#include <stdio.h>
#include <string.h>

#include "base/settings.h"

/* The error of a parameter that is NULL and may not be. */
static asn_status absent(const asnd_call *c, int i) {
    return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s is NULL", c->op->name,
                         c->op->params[i].name);
}

/* Handles other than NULL; the message of asnop_check is the runtime's already. */
static asn_status handle_check(const asnd_call *c, int i, asnd_object_kind kind,
                               const void *p) {
    if (__builtin_expect(asnop_alive(kind, p), 1)) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: %s is no %s, or was destroyed", c->op->name,
                         c->op->params[i].name, asnop_arenas[kind].kind);
}

/* The build of one library serves the array library alone: strictness is for programs
 * that call CANN's interface. */
#ifdef ASN_ONE_LIBRARY
static const bool may_be_strict = false;
#else
static const bool may_be_strict = true;
#endif

/* Read once: the setting is for a whole process. Two threads may both read it, and agree.
 */
static bool is_strict(void) {
    static _Atomic int8_t known; /* 0: not yet */
    int8_t strict = atomic_load_explicit(&known, memory_order_relaxed);
    if (strict == 0) {
        bool wish = asn_setting_choice(ASN_SETTING_CANN_STRICT) == 1;
        strict = may_be_strict && wish ? 1 : -1;
        atomic_store_explicit(&known, strict, memory_order_relaxed);
    }
    return strict > 0;
}

/* With ASNUMPY_CANN_STRICT: the tensor's dtype is one that CANN documents. */
static asn_status strict_check(const asnd_call *c, int i, const aclTensor *t) {
    const asnd_param *p = &c->op->params[i];
    if (p->dtypes == 0 || p->dtypes >> t->dtype & 1 || !is_strict()) return ASN_OK;
    return asn_error_set(ASN_ERR_TYPE, "%s: CANN documents no dtype %s for %s",
                         c->op->name, asn_dtype_name((asn_dtype)t->dtype), p->name);
}

/* complex32 and floats of 8 bits are words of their size to an operator that moves them:
 * *opaque tells that the tensor is of such a dtype. One dtype goes with itself only. */
static asn_status opaque_check(asnd_call *c, int i, const aclTensor *t, bool *opaque) {
    const asnd_param *p = &c->op->params[i];
    *opaque = t->acl_dtype >= ACL_COMPLEX32 && t->acl_dtype <= ACL_FLOAT8_E8M0 &&
              p->opaque >> (t->acl_dtype - ACL_COMPLEX32) & 1;
    if (p->opaque == 0 || p->converts) return ASN_OK;
    bool differs = c->moved >= 0 && c->moved != t->acl_dtype;
    if (differs && (*opaque || c->moved >= ACL_COMPLEX32))
        return asn_error_set(ASN_ERR_TYPE,
                             "%s: tensors of aclDataType %d and %d; this one goes with "
                             "itself only",
                             c->op->name, c->moved, (int)t->acl_dtype);
    c->moved = t->acl_dtype;
    return ASN_OK;
}

/* Makes parameter i, or a member of its list, the next operand. A tensor is captured by
 * value (its view and address); the handle may be destroyed between the phases, as CANN
 * allows. t NULL: an absent member. */
static asn_status capture(asnd_call *c, int i, const aclTensor *t, char kind) {
    if (t != NULL) ASN_TRY(handle_check(c, i, ASN_OBJECT_TENSOR, t));
    bool int4 = t != NULL && t->acl_dtype == ACL_INT4 && c->op->params[i].int4;
    if (int4 && t->offset % 2 != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %s begins at element %lld; tensors of int4 begin at an "
                             "even one, the first of a byte",
                             c->op->name, c->op->params[i].name, (long long)t->offset);
    bool opaque = false;
    if (t != NULL) ASN_TRY(opaque_check(c, i, t, &opaque));
    if (t != NULL && t->dtype >= ASN_DTYPE_COUNT && !int4 && !opaque)
        return asn_error_set(ASN_ERR_TYPE,
                             "%s: %s has dtype %d, which no operator computes with",
                             c->op->name, c->op->params[i].name, (int)t->acl_dtype);
    if (t != NULL && !int4 && !opaque) ASN_TRY(strict_check(c, i, t));
    bool out = kind == ASN_OUT || kind == ASN_INOUT || kind == ASN_LIST_OUT ||
               kind == ASN_LIST_INOUT;
    if (!asnop_executor_capture(c->e, t, kind != ASN_OUT && kind != ASN_LIST_OUT, out))
        return asn_call_no_memory();
    if (t == NULL) return ASN_OK;
    asnd_extent extent;
    if (__builtin_expect(asnop_operand_fits(&c->e->operands[c->e->num_operands - 1],
                                            (aclTensor *)t, &extent),
                         1))
        return ASN_OK;
    return asnop_operand_error(c->op->name, c->op->params[i].name, &extent);
}

/* Members become consecutive operands; c->first[i] is the first of them. */
static asn_status capture_list(asnd_call *c, int i, const asnd_array *list, char kind) {
    ASN_TRY(handle_check(c, i, ASN_OBJECT_TENSOR_LIST, list));
    const aclTensor *const *members = list->data;
    for (uint64_t k = 0; k < list->size; k++)
        ASN_TRY(capture(c, i, members[k], kind));
    return ASN_OK;
}

/* Checks parameter i and captures its tensors; c->first[i] becomes its first operand, or
 * -1. Arguments without a handle need no check here; of a list of scalars or integers
 * only that it lives. */
static asn_status param_check(asnd_call *c, int i) {
    static const uint8_t object_kind[128] = {
        [ASN_SCALAR] = ASN_OBJECT_SCALAR,       [ASN_INTS] = ASN_OBJECT_INT_ARRAY,
        [ASN_FLOATS] = ASN_OBJECT_FLOAT_ARRAY,  [ASN_BOOLS] = ASN_OBJECT_BOOL_ARRAY,
        [ASN_SCALARS] = ASN_OBJECT_SCALAR_LIST,
    };
    const asnd_param *p = &c->op->params[i];
    const void *object = c->args[i].p;
    c->first[i] = -1;
    if (p->kind == ASN_INT || p->kind == ASN_DOUBLE) return ASN_OK;
    if (object == NULL) return p->optional ? ASN_OK : absent(c, i);
    switch (p->kind) {
    case ASN_IN:
    case ASN_OUT:
    case ASN_INOUT:
        c->first[i] = (int16_t)c->e->num_operands;
        return capture(c, i, object, p->kind);
    case ASN_LIST_IN:
    case ASN_LIST_OUT:
    case ASN_LIST_INOUT:
        c->first[i] = (int16_t)c->e->num_operands;
        return capture_list(c, i, object, p->kind);
    case ASN_STRING: return ASN_OK;
    default:
        return handle_check(c, i, (asnd_object_kind)object_kind[(int)p->kind], object);
    }
}

/* How many tensors the arguments hold at most; a list that is no live one counts none,
 * and is refused later. */
static uint32_t count_operands(const asnd_opdesc *op, const asnd_arg *args) {
    uint64_t n = 0;
    for (int i = 0; i < op->num_params; i++) {
        char kind = op->params[i].kind;
        if (kind == ASN_IN || kind == ASN_OUT || kind == ASN_INOUT) n++;
        if ((kind == ASN_LIST_IN || kind == ASN_LIST_OUT || kind == ASN_LIST_INOUT) &&
            asnop_alive(ASN_OBJECT_TENSOR_LIST, args[i].p))
            n += ((const asnd_array *)args[i].p)->size;
    }
    return n < INT16_MAX ? (uint32_t)n : INT16_MAX;
}

/* The body under the runtime's convention. A failure keeps the runtime's code for the
 * stream. */
static int32_t run_body(aclOpExecutor *e) {
    asn_status status = e->body(e);
    if (__builtin_expect(status == ASN_OK, 1)) return 0;
    return asnrtFail(asn_status_acl(status), "%s: %s", e->name, asn_error_message());
}

/* The same in a strict run, with workspace: its ends are written first, so that one that
 * is no writable memory, or somebody else's, shows whatever the body takes of it. */
static int32_t run_guarded(aclOpExecutor *e) {
    enum { GUARD = 64, FILL = 0xa5 };
    if (e->workspace != NULL) {
        memset(e->workspace, FILL, GUARD);
        memset(e->workspace + e->workspace_size - GUARD, FILL, GUARD);
    }
    return run_body(e);
}

/* Results are written on success alone. */
aclnnStatus asn_op_plan(const asnd_opdesc *op, const asnd_arg *args,
                        uint64_t *workspaceSize, aclOpExecutor **executor) {
    if (workspaceSize == NULL || executor == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR, "%sGetWorkspaceSize: %s is NULL",
                         op->name, executor ? "workspaceSize" : "executor");
    *executor = NULL;
    *workspaceSize = 0;
    asnd_call c;
    c.op = op;
    c.moved = -1;
    c.place = 0;
    c.args = args;
    c.e = asnop_executor_new(op->name, count_operands(op, args));
    if (c.e == NULL) return asnop_fail(asn_call_no_memory());
    asn_status status = ASN_OK;
    for (int i = 0; i < op->num_params && status == ASN_OK; i++)
        status = param_check(&c, i);
    if (status == ASN_OK) status = op->plan(&c);
    if (status != ASN_OK) {
        asnop_executor_release(c.e);
        return asnop_fail(status);
    }
    /* No body: nothing to compute, and phase 2 does nothing. */
    if (c.e->body != NULL) {
        c.e->run = run_body;
        if (op->workspace != ASN_NO_WORKSPACE && is_strict()) {
            *workspaceSize = c.e->workspace_size = asn_call_workspace(&c);
            c.e->run = run_guarded;
        }
    }
    *executor = c.e;
    return ACLNN_SUCCESS;
}

/* ---- what planners share */

asn_status asn_call_no_memory(void) {
    return asn_error_set(ASN_ERR_MEMORY, "no memory for another operator call");
}

int asn_call_param_named(const asnd_call *c, const char *name) {
    for (int i = 0; i < c->op->num_params; i++) {
        const char *known = c->op->params[i].name; /* most differ in the first letter */
        if (known[0] == name[0] && strcmp(known, name) == 0) return i;
    }
    return -1;
}

int asn_call_operand_named(const asnd_call *c, const char *name) {
    int i = asn_call_param_named(c, name);
    return i < 0 ? -1 : c->first[i];
}

/* An operator with several outputs has its planner say which; this is the one whose shape
 * the elementwise operators follow. */
int asn_call_out(const asnd_call *c) {
    for (int i = 0; i < c->op->num_params; i++)
        if (c->op->params[i].kind == ASN_OUT || c->op->params[i].kind == ASN_LIST_OUT)
            return i;
    for (int i = 0; i < c->op->num_params; i++)
        if (c->op->params[i].kind == ASN_INOUT) return i;
    return -1;
}

const char *asn_shape_text(char *buffer, int ndim, const int64_t *shape) {
    /* Long shapes are cut: 24 characters are kept for one number. */
    int n = snprintf(buffer, ASN_SHAPE_TEXT, "(");
    for (int d = 0; d < ndim && n < ASN_SHAPE_TEXT - 24; d++)
        n += snprintf(buffer + n, (size_t)(ASN_SHAPE_TEXT - n), "%s%lld", d ? ", " : "",
                      (long long)shape[d]);
    snprintf(buffer + n, (size_t)(ASN_SHAPE_TEXT - n), "%s", ndim == 1 ? ",)" : ")");
    return buffer;
}

asn_status asn_call_same_shape(const asnd_call *c, int i, int ndim,
                               const int64_t *shape) {
    const asnd_nd *a = asn_call_nd(c, i);
    bool same = a->ndim == ndim;
    for (int d = 0; d < ndim && same; d++)
        same = a->shape[d] == shape[d];
    if (same) return ASN_OK;
    char got[ASN_SHAPE_TEXT], want[ASN_SHAPE_TEXT];
    return asn_error_set(ASN_ERR_VALUE, "%s: %s has shape %s; it must be %s", c->op->name,
                         c->op->params[i].name, asn_shape_text(got, a->ndim, a->shape),
                         asn_shape_text(want, ndim, shape));
}

void asn_call_one_value(const asnd_call *c, int i) {
    asnd_operand *o = asn_call_operand(c, i);
    if (o != NULL && o->nd.ndim == 1 && o->nd.shape[0] == 1) o->nd.ndim = 0;
}

asn_status asn_call_convertible(const asnd_call *c, asn_dtype from, int i) {
    asn_dtype to = asn_call_nd(c, i)->dtype;
    bool refused = (to == ASN_BOOL && from != ASN_BOOL) ||
                   (asn_is_complex(from) && !asn_is_inexact(to));
    if (!refused) return ASN_OK;
    return asn_error_set(
        ASN_ERR_TYPE, "%s: a result of dtype %s cannot be written to %s, dtype %s",
        c->op->name, asn_dtype_name(from), c->op->params[i].name, asn_dtype_name(to));
}

asn_status asn_call_axis(const asnd_call *c, int64_t dim, int ndim, int *axis) {
    int range = ndim > 0 ? ndim : 1;
    if (dim < -range || dim >= range)
        return asn_error_set(ASN_ERR_AXIS, "%s: dim is %lld; it must be in [%d, %d)",
                             c->op->name, (long long)dim, -range, range);
    *axis = (int)(dim < 0 ? dim + range : dim);
    return ASN_OK;
}

asn_status asn_call_axes(const asnd_call *c, int i, int ndim, uint64_t *mask) {
    const asnd_array *dims = asn_call_array(c, i);
    *mask = 0;
    if (dims == NULL || dims->size == 0) {
        *mask = ndim == 64 ? ~UINT64_C(0) : (UINT64_C(1) << ndim) - 1;
        return ASN_OK;
    }
    for (uint64_t k = 0; k < dims->size; k++) {
        int axis = 0;
        ASN_TRY(asn_call_axis(c, ((const int64_t *)dims->data)[k], ndim, &axis));
        if (*mask >> axis & 1)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s names dimension %d twice",
                                 c->op->name, c->op->params[i].name, axis);
        *mask |= UINT64_C(1) << axis;
    }
    if (ndim == 0) *mask = 0;
    return ASN_OK;
}

asn_status asn_index_dtype(const asnd_call *c, int i, const asnd_nd *index) {
    if (asn_is_integer(index->dtype)) return ASN_OK;
    return asn_error_set(ASN_ERR_TYPE, "%s: %s has dtype %s; indices are integers",
                         c->op->name, c->op->params[i].name,
                         asn_dtype_name(index->dtype));
}

asn_status asn_call_same_dtype(const asnd_call *c, int i, int j) {
    const asnd_nd *a = asn_call_nd(c, i), *b = asn_call_nd(c, j);
    if (a->dtype == b->dtype) return ASN_OK;
    return asn_error_set(ASN_ERR_TYPE, "%s: %s has dtype %s, but %s has %s", c->op->name,
                         c->op->params[i].name, asn_dtype_name(a->dtype),
                         c->op->params[j].name, asn_dtype_name(b->dtype));
}

/* Narrower than index tensors' rule (any integer): these are written. */
asn_status asn_call_position_dtype(const asnd_call *c, int i) {
    asn_dtype t = asn_call_nd(c, i)->dtype;
    if (t == ASN_I64 || t == ASN_I32) return ASN_OK;
    return asn_error_set(ASN_ERR_TYPE,
                         "%s: %s has dtype %s; positions are int64 or int32", c->op->name,
                         c->op->params[i].name, asn_dtype_name(t));
}

/* The error of a dtype; what: " floating" or "". */
static asn_status dtype_wanted(const asnd_call *c, int i, const char *what) {
    return asn_error_set(ASN_ERR_TYPE, "%s: %s has dtype %s; it must be a real%s dtype",
                         c->op->name, c->op->params[i].name,
                         asn_dtype_name(asn_call_nd(c, i)->dtype), what);
}

asn_status asn_call_floating(const asnd_call *c, int i) {
    const asnd_nd *a = asn_call_nd(c, i);
    return a == NULL || asn_is_floating(a->dtype) ? ASN_OK
                                                  : dtype_wanted(c, i, " floating");
}

asn_status asn_call_real(const asnd_call *c, int i) {
    const asnd_nd *a = asn_call_nd(c, i);
    return a == NULL || !asn_is_complex(a->dtype) ? ASN_OK : dtype_wanted(c, i, "");
}

asn_status asn_call_number(const asnd_call *c, int i, double *value) {
    const aclScalar *s = asn_call_scalar(c, i);
    if (s->dtype >= ASN_DTYPE_COUNT || asn_is_complex((asn_dtype)s->dtype))
        return asn_error_set(ASN_ERR_TYPE, "%s: %s must be a real number", c->op->name,
                             c->op->params[i].name);
    *value = asn_value_to_double((asn_dtype)s->dtype, s->value);
    return ASN_OK;
}

asn_status asn_call_element(const asnd_call *c, int i, asn_dtype dtype, void *element) {
    const aclScalar *s = asn_call_scalar(c, i);
    if (s->dtype >= ASN_DTYPE_COUNT)
        return asn_error_set(ASN_ERR_TYPE,
                             "%s: %s has dtype %d, which no operator computes with",
                             c->op->name, c->op->params[i].name, (int)s->acl_dtype);
    asn_value_cast(dtype, element, (asn_dtype)s->dtype, s->value);
    return ASN_OK;
}
