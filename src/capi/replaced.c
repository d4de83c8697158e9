/* L3 C binding: functions that programs put in a ufunc's place (asnp_replace).
 *
 * What is replaced is the computing alone: operands are read, promoted and cast as the
 * built-in does it, and results are delivered as its own would be. A call that the
 * built-in refuses is left to it: it has the messages. Python's ufuncs do the same with
 * functions of Python (src/python/ufunc/replaced.c).
 *
 * In its thread a function reaches the built-in under the ufunc's own name, and what is
 * in the places of others: `running` has the ufuncs whose functions run.
 */
#include "capi/replaced.h"

#include <string.h>

#include "array/broadcast.h"

/* The innermost first; each is in the stack of the call that it stands for. */
typedef struct frame {
    const char *ufunc; /* the table's text */
    struct frame *below;
} frame;
static _Thread_local frame *running;

/* Names are compared by address: they are the table's. */
static bool is_running(const char *ufunc) {
    for (const frame *f = running; f; f = f->below)
        if (f->ufunc == ufunc) return true;
    return false;
}

/* (Contract in replaced.h.) */
asnp_status asn_capi_run_beside(const char *ufunc, const asnp_registration *r,
                                int32_t num_in, asnp_array *const *in, int32_t num_out,
                                asnp_array **out) {
    frame here = {ufunc, running};
    running = &here;
    asnp_status status = r->function(num_in, in, num_out, out, r->context);
    running = here.below;
    return status;
}

/* A call that something replaces, ready to run. */
typedef struct {
    const char *ufunc;
    asnp_registration r; /* a copy: the registry may change while it runs */
    asn_dtype result[2];
    int num_in, num_out, ndim;
    int64_t shape[ASN_MAX_DIMS]; /* of the operands, broadcast */
    asnp_array *in[3];           /* owned: operands in the loop's dtypes */
} plan;

/* Whether what is computed may be written into the arrays, as the built-in would. */
static bool can_write(const plan *p, asnp_array *const *into, const asnp_array *where) {
    const asn_layout *mask = where ? &where->array.layout : NULL;
    int64_t shape[ASN_MAX_DIMS], strides[ASN_MAX_DIMS] = {0};
    const asn_layout computed = {.ndim = p->ndim, .shape = shape, .strides = strides};
    memcpy(shape, p->shape, sizeof shape);
    if (mask && mask->dtype != ASN_BOOL) return false;
    for (int k = 0; k < p->num_out; k++) {
        if (!into[k] || !(into[k]->array.layout.flags & ASN_WRITEABLE)) return false;
        const asn_layout *l = &into[k]->array.layout;
        int64_t unused[ASN_MAX_DIMS];
        if (!asn_broadcast_strides(&computed, l->ndim, l->shape, unused) ||
            (mask && !asn_broadcast_strides(mask, l->ndim, l->shape, unused)) ||
            !asn_can_cast(p->result[k], asn_layout_dtype(l), ASN_CASTING_SAME_KIND))
            return false;
    }
    return true;
}

/* Operand i in the dtype that the loop has for it; a number has no dimensions. */
static asnp_status operand(const asn_capi_call *c, int i, const asnp_array *given,
                           asn_dtype loop, asnp_array **out) {
    asn_dtype to = asn_op_operand(c->op[0], i, loop);
    int64_t none = 0;
    asn_array made;
    if (!given)
        return asn_capi_wrap(asn_full(&made, to, 0, &none, 'C', &c->in[i]), &made, out);
    if (asn_capi_type(given) == to) return asnp_share(given, out);
    return asnp_astype(given, (asnp_dtype)asn_dtype_table[to].acl, out);
}

/* Whether a call is one that something replaces; then p is it, all but its operands. The
 * lock is held. */
static bool choose(plan *p, asn_capi_call *c, const char *name, int32_t num_in,
                   const asnp_operand *in, int32_t num_out, asn_dtype *loop) {
    const asn_layout *layouts[3];
    asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
    int n = 0, device = 0;
    if (asn_capi_read_call(c, name, num_in, in, num_out)) return false;
    p->ufunc = asn_capi_ufunc_name(name);
    if (is_running(p->ufunc)) return false;
    if (asn_ufunc_result_dtype(c->op[0], c->in, &options, loop, &p->result[0]))
        return false;
    for (int i = 0; i < num_in; i++) {
        if (!in[i].array) continue;
        if (n == 0) device = in[i].array->array.buffer->device;
        layouts[n++] = &in[i].array->array.layout;
    }
    if (asn_broadcast_shape(n, layouts, &p->ndim, p->shape)) return false;
    p->num_in = num_in;
    p->num_out = c->num_out;
    for (int k = 0; k < p->num_out; k++)
        p->result[k] = asn_op_result(c->op[k], *loop);
    return asn_capi_replacement(p->ufunc, device, *loop, &p->r);
}

/* A result must be what the built-in would make, and nobody else's memory. */
static asnp_status check_result(const plan *p, int k, asnp_array **made) {
    if (!*made)
        return asn_error_set(ASN_ERR_TYPE,
                             "%s: the function that replaces it gave no result %d",
                             p->ufunc, k);
    const asn_layout *l = &(*made)->array.layout;
    if (asn_layout_dtype(l) != p->result[k] || l->ndim != p->ndim ||
        memcmp(l->shape, p->shape, sizeof *p->shape * (size_t)p->ndim)) {
        char want[256], have[256];
        return asn_error_set(
            ASN_ERR_TYPE,
            "%s: the function that replaces it gave an array of %s with shape %s; it "
            "must give %s with shape %s",
            p->ufunc, asn_dtype_name(asn_layout_dtype(l)),
            asn_shape_format(have, sizeof have, l->ndim, l->shape),
            asn_dtype_name(p->result[k]),
            asn_shape_format(want, sizeof want, p->ndim, p->shape));
    }
    for (int i = 0; i < p->num_in; i++) {
        if (p->in[i]->array.buffer != (*made)->array.buffer) continue;
        asnp_array *copy = NULL;
        ASN_TRY((asn_status)asnp_copy(*made, &copy));
        asnp_release(*made);
        *made = copy;
    }
    return ASNP_OK;
}

/* Runs what was planned, without the lock; all results or none. */
static asnp_status run(const plan *p, asnp_array **made) {
    asnp_array *got[2] = {NULL, NULL};
    asnp_status status =
        asn_capi_run_beside(p->ufunc, &p->r, p->num_in, p->in, p->num_out, got);
    for (int k = 0; k < p->num_out && !status; k++)
        status = check_result(p, k, &got[k]);
    if (status)
        asn_capi_release(got, 2);
    else
        memcpy(made, got, sizeof *got * (size_t)p->num_out);
    return status;
}

/* (Contract in replaced.h.) */
asnp_status asn_capi_replaced(const char *name, int32_t num_in, const asnp_operand *in,
                              int32_t num_out, asnp_array *const *into,
                              const asnp_array *where, asnp_array **made, bool *done) {
    plan p = {.in = {NULL}};
    asnp_status status = ASNP_OK;
    if (!name || !in || !made) return ASNP_OK; /* the built-in says so */
    {
        IN_LIBRARY;
        asn_capi_call c;
        asn_dtype loop;
        if (!choose(&p, &c, name, num_in, in, num_out, &loop)) return ASNP_OK;
        if (into && !can_write(&p, into, where)) return ASNP_OK;
        for (int i = 0; i < num_in && !status; i++)
            status = operand(&c, i, in[i].array, loop, &p.in[i]);
    }
    if (!status) {
        *done = true;
        status = run(&p, made);
    }
    asn_capi_release(p.in, 3);
    return status;
}
