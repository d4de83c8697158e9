/* L3 C binding: elementwise operations by name (ufunc.h).
 *
 * Names are those of the table's rows, and of three pairs that have two results in NumPy;
 * those are two operations of the table, of which both are computed before any is
 * written, since an output may be an argument. Options are passed on only where one is
 * set: without them the core takes the way for small arrays.
 *
 * A result goes into a new handle, or into arrays of the program's (into), which may be
 * views, may overlap the arguments, and may be masked by `where`.
 */
#include "capi/replaced.h"

#include <string.h>

/* The operations with two results, as the two of the table that make them. */
static const struct {
    const char *name;
    asn_op first, second;
} pairs[] = {
    {"divmod", ASN_OP_FLOOR_DIVIDE, ASN_OP_REMAINDER},
    {"modf", ASN_OP_MODF_FRACTION, ASN_OP_TRUNC},
    {"frexp", ASN_OP_FREXP_MANTISSA, ASN_OP_FREXP_EXPONENT},
};
enum { NUM_PAIRS = sizeof pairs / sizeof *pairs };

/* i counts from 0 over all names; NULL ends the list. */
const char *asnp_ufunc_name(int32_t i, int32_t *num_in, int32_t *num_out) {
    if (i < 0 || i >= ASN_OP_CAST + NUM_PAIRS) return NULL;
    bool pair = i >= ASN_OP_CAST;
    asn_op op = pair ? pairs[i - ASN_OP_CAST].first : (asn_op)i;
    if (num_in) *num_in = asn_op_table[op].num_in;
    if (num_out) *num_out = pair ? 2 : 1;
    return pair ? pairs[i - ASN_OP_CAST].name : asn_op_table[op].name;
}

/* The text is static, whatever becomes of the name that was asked for. */
const char *asn_capi_ufunc_name(const char *name) {
    asn_op op;
    if (asn_capi_find_op(name, &op)) return asn_op_table[op].name;
    for (int i = 0; i < NUM_PAIRS; i++)
        if (strcmp(pairs[i].name, name) == 0) return pairs[i].name;
    return NULL;
}

/* (Contract in replaced.h.) Name, arity and operands. At least one argument is an array:
 * of numbers alone a program has C's own operators. */
asn_status asn_capi_read_call(asn_capi_call *c, const char *name, int32_t num_in,
                              const asnp_operand *in, int32_t num_out) {
    bool array = false;
    ASN_TRY(asn_capi_need(name, "the operation's name"));
    NEED(in);
    c->name = name;
    c->num_out = 1;
    /* The table first, then the pairs, which no row of the table is named like. */
    bool found = asn_capi_find_op(name, &c->op[0]);
    for (int i = 0; i < NUM_PAIRS && !found; i++)
        if (strcmp(pairs[i].name, name) == 0) {
            c->op[0] = pairs[i].first;
            c->op[1] = pairs[i].second;
            c->num_out = 2;
            found = true;
        }
    if (!found) ASN_TRY(asn_capi_op(name, &c->op[0])); /* says so */
    if (asn_op_table[c->op[0]].num_in != num_in)
        return asn_error_set(ASN_ERR_TYPE, "%s takes %d arguments but %d were given",
                             name, asn_op_table[c->op[0]].num_in, (int)num_in);
    if (c->num_out != num_out)
        return asn_error_set(ASN_ERR_TYPE, "%s has %d results; %d were asked for", name,
                             c->num_out, (int)num_out);
    for (int i = 0; i < num_in; i++) {
        array |= in[i].array != NULL;
        ASN_TRY(asn_capi_operand(in[i], &c->in[i]));
    }
    return array ? ASN_OK
                 : asn_error_set(ASN_ERR_TYPE, "%s: no argument is an array", name);
}

/* Result i into a new array. */
static asn_status compute(const asn_capi_call *c, int i, const asn_ufunc_options *options,
                          asn_array *out) {
    if (c->op[i] != ASN_OP_WHERE)
        return asn_ufunc_call(c->op[i], c->in, NULL, out, options);
    if (c->in[0].array && c->in[0].array->layout.dtype == ASN_BOOL)
        return asn_where(out, c->in[0].array, &c->in[1], &c->in[2]);
    return asn_error_set(ASN_ERR_TYPE, "where: the condition must be an array of bool");
}

/* All results, before any is written: an output may be an argument.
 * made has room for c->num_out arrays, all of them or none. */
static asn_status compute_all(const asn_capi_call *c, asn_array *made) {
    asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
    asn_dtype loop, result;
    if (c->num_out == 2) {
        ASN_TRY(asn_ufunc_result_dtype(c->op[0], c->in, &options, &loop, &result));
        /* modf's integer part must not take trunc's integer loop */
        if (asn_op_table[c->op[1]].out_dtype == ASN_OUT_SAME) options.dtype = loop;
    }
    /* without options: the way for small arrays */
    ASN_TRY(compute(c, 0, c->num_out == 2 ? &options : NULL, &made[0]));
    if (c->num_out == 1) return ASN_OK;
    asn_status status = compute(c, 1, &options, &made[1]);
    if (status) asn_array_fini(&made[0]);
    return status;
}

/* All results or none. What a program put in the operation's place runs outside the
 * lock: it may take long, or locks of the program's own. */
asnp_status asnp_ufunc(const char *name, int32_t num_in, const asnp_operand *in,
                       int32_t num_out, asnp_array **out) {
    if (asn_capi_replacing) {
        bool done = false;
        asnp_status status =
            asn_capi_replaced(name, num_in, in, num_out, NULL, NULL, out, &done);
        if (status || done) return status;
    }
    IN_LIBRARY;
    asn_capi_call c;
    /* The core makes the arrays; handles come last, so that a failure before has none to
     * end. */
    asn_array made[2];
    asnp_array *handles[2] = {NULL, NULL};
    NEED(out);
    ASN_TRY(asn_capi_read_call(&c, name, num_in, in, num_out));
    ASN_TRY(compute_all(&c, made));
    asnp_status status = asn_capi_wrap(ASN_OK, &made[0], &handles[0]);
    if (c.num_out == 2) {
        if (status)
            asn_array_fini(&made[1]);
        else
            status = asn_capi_wrap(ASN_OK, &made[1], &handles[1]);
    }
    if (status)
        asn_capi_release(handles, 2);
    else
        memcpy(out, handles, (size_t)c.num_out * sizeof *out);
    return status;
}

/* The results of what a program put in the operation's place, into the outputs. */
static asnp_status replaced_into(const char *name, int32_t num_in, const asnp_operand *in,
                                 int32_t num_out, asnp_array *const *out,
                                 const asnp_array *where, bool *done) {
    asnp_array *made[2] = {NULL, NULL};
    asnp_status status =
        asn_capi_replaced(name, num_in, in, num_out, out, where, made, done);
    IN_LIBRARY;
    for (int i = 0; *done && !status && i < num_out; i++) {
        asn_operand source = {.array = &made[i]->array};
        status = asn_assign(&out[i]->array, &source, ASN_CASTING_SAME_KIND,
                            where ? &where->array : NULL);
    }
    asn_capi_release(made, 2);
    return status;
}

/* Straight into `out` where one operation makes it, which the core does safely when it
 * overlaps an argument; else through arrays of their own. */
asnp_status asnp_ufunc_into(const char *name, int32_t num_in, const asnp_operand *in,
                            int32_t num_out, asnp_array *const *out,
                            const asnp_array *where) {
    if (asn_capi_replacing) {
        bool done = false;
        asnp_status status = replaced_into(name, num_in, in, num_out, out, where, &done);
        if (status || done) return status;
    }
    IN_LIBRARY;
    asn_capi_call c;
    asn_array made[2];
    asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
    NEED(out);
    ASN_TRY(asn_capi_read_call(&c, name, num_in, in, num_out));
    for (int i = 0; i < c.num_out; i++) {
        ASN_TRY(asn_capi_need(out[i], "an output"));
        ASN_TRY(asn_capi_writeable(out[i]));
    }
    ASN_TRY(asn_capi_mask(where, "where"));
    options.where = where ? &where->array : NULL;
    if (c.num_out == 1 && c.op[0] != ASN_OP_WHERE)
        return asn_ufunc_call(c.op[0], c.in, &out[0]->array, NULL,
                              where ? &options : NULL);
    ASN_TRY(compute_all(&c, made));
    asn_status status = ASN_OK;
    for (int i = 0; i < c.num_out; i++) {
        asn_operand source = {.array = &made[i]};
        if (!status)
            status =
                asn_assign(&out[i]->array, &source, ASN_CASTING_SAME_KIND, options.where);
        asn_array_fini(&made[i]);
    }
    return status;
}

/* ---- the usual forms */

/* The forms below fill the general one's arguments, which takes the lock. */
asnp_status asnp_unary(const char *name, const asnp_array *a, asnp_array **out) {
    asnp_operand in = asnp_of(a);
    NEED(a);
    return asnp_ufunc(name, 1, &in, 1, out);
}

/* NULL arguments would count as numbers in the general form: they are refused here. */
asnp_status asnp_binary(const char *name, const asnp_array *a, const asnp_array *b,
                        asnp_array **out) {
    asnp_operand in[2] = {asnp_of(a), asnp_of(b)};
    NEED(a);
    NEED(b);
    return asnp_ufunc(name, 2, in, 1, out);
}

/* The number is weak, as in NumPy: `a` keeps its dtype where it can. */
asnp_status asnp_binary_number(const char *name, const asnp_array *a, asnp_number b,
                               asnp_array **out) {
    asnp_operand in[2] = {asnp_of(a), asnp_of_number(b)};
    NEED(a);
    return asnp_ufunc(name, 2, in, 1, out);
}

asnp_status asnp_number_binary(const char *name, asnp_number a, const asnp_array *b,
                               asnp_array **out) {
    asnp_operand in[2] = {asnp_of_number(a), asnp_of(b)};
    NEED(b);
    return asnp_ufunc(name, 2, in, 1, out);
}

/* By name as any other: the commonest have functions for the reader's sake. */
asnp_status asnp_add(const asnp_array *a, const asnp_array *b, asnp_array **out) {
    return asnp_binary("add", a, b, out);
}

asnp_status asnp_subtract(const asnp_array *a, const asnp_array *b, asnp_array **out) {
    return asnp_binary("subtract", a, b, out);
}

asnp_status asnp_multiply(const asnp_array *a, const asnp_array *b, asnp_array **out) {
    return asnp_binary("multiply", a, b, out);
}

asnp_status asnp_divide(const asnp_array *a, const asnp_array *b, asnp_array **out) {
    return asnp_binary("divide", a, b, out);
}
