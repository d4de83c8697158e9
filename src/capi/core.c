/* L3 C binding: messages, dtypes, and the checks that all functions share (see capi.h).
 *
 * Every function of the binding has the same shape: the lock, the pointers, the arguments
 * in the order of the header, one call of the core, a handle around what it made. The
 * helpers here set the message where the wrong value is known, name the argument as the
 * header does and say what is allowed, so that no function words a check again.
 *
 * Public numbers of dtypes are CANN's (aclDataType), of statuses status.def's; both are
 * translated here alone. Operations are found by their names, which a program knows from
 * NumPy, and not by an enumeration, which would change with each row of the table.
 */
#include "capi/capi.h"

#include <string.h>

_Static_assert((int)ASNP_ERROR_LINALG == (int)ASN_ERR_LINALG &&
                   (int)ASNP_ERROR_NULL_POINTER == (int)ASN_ERR_NULL_POINTER &&
                   (int)ASNP_ERROR_CASTING == (int)ASN_ERR_CASTING,
               "the public status codes are status.def's");

/* Of the calling thread; valid until its next failure. */
const char *asnp_message(void) {
    return asn_error_message();
}

/* The exception that Python would raise; "" for success and for numbers that are none. */
const char *asnp_status_name(asnp_status status) {
    return status > 0 && status < ASN_STATUS_COUNT ? asn_status_python((asn_status)status)
                                                   : "";
}

/* `what`: the argument's name in the header. */
asn_status asn_capi_need(const void *pointer, const char *what) {
    return pointer ? ASN_OK : asn_error_set(ASN_ERR_NULL_POINTER, "%s is NULL", what);
}

/* Last in a function, so that *out is written on success alone. Where there is no memory
 * for the handle, the array is ended here: the caller owns nothing more. */
asnp_status asn_capi_wrap(asn_status status, asn_array *made, asnp_array **out) {
    if (status) return (asnp_status)status;
    asnp_array *h = asn_malloc(sizeof *h);
    if (!h) {
        asn_array_fini(made);
        return ASN_ERR_MEMORY;
    }
    asn_array_move(&h->array, made);
    *out = h;
    return ASNP_OK;
}

/* The view shares the buffer of `a`; its layout is taken even on failure. */
asnp_status asn_capi_view(asn_status status, const asnp_array *a, asn_layout *layout,
                          asnp_array **out) {
    asn_array made;
    if (status) return (asnp_status)status;
    asn_array_view(&made, &a->array, layout);
    return asn_capi_wrap(ASN_OK, &made, out);
}

/* Of NULL too, as free's. A view's memory lives as long as one handle on it. */
void asnp_release(asnp_array *a) {
    if (!a) return;
    IN_LIBRARY; /* memory that goes back to the device first waits for the stream */
    asn_array_fini(&a->array);
    asn_free(a);
}

void asn_capi_release(asnp_array **handles, int n) {
    for (int i = 0; i < n; i++)
        asnp_release(handles[i]);
}

/* ---- dtypes */

/* The one place where a number of the header's becomes a dtype. */
asn_status asn_capi_dtype(asnp_dtype dtype, bool optional, asn_dtype *out) {
    if (optional && dtype == ASNP_DTYPE_NONE) {
        *out = ASN_DTYPE_NONE;
        return ASN_OK;
    }
    *out = asn_dtype_from_acl((int)dtype);
    if (*out == ASN_DTYPE_NONE)
        return asn_error_set(ASN_ERR_TYPE, "%d is no dtype; see asnp_dtype", (int)dtype);
    return ASN_OK;
}

/* NumPy's name; NULL, with a message, for no dtype. */
const char *asnp_dtype_name(asnp_dtype dtype) {
    asn_dtype d;
    return asn_capi_dtype(dtype, false, &d) ? NULL : asn_dtype_name(d);
}

/* Bytes of an element; 0, with a message, for no dtype. */
size_t asnp_dtype_size(asnp_dtype dtype) {
    asn_dtype d;
    return asn_capi_dtype(dtype, false, &d) ? 0 : (size_t)asn_itemsize(d);
}

/* By NumPy's name, exactly: no aliases and no codes of letters. */
asnp_status asnp_dtype_from_name(const char *name, asnp_dtype *out) {
    NEED(name);
    NEED(out);
    for (int d = 0; d < ASN_DTYPE_COUNT; d++)
        if (strcmp(asn_dtype_table[d].name, name) == 0) {
            *out = (asnp_dtype)asn_dtype_table[d].acl;
            return ASNP_OK;
        }
    return asn_error_set(
        ASN_ERR_VALUE,
        "there is no dtype '%s'; there are bool, int8 to int64, uint8 to uint64, "
        "float16, bfloat16, float32, float64, complex64 and complex128",
        name);
}

/* Without values: what NumPy does with two arrays (NEP 50). */
asnp_status asnp_promote_types(asnp_dtype a, asnp_dtype b, asnp_dtype *out) {
    asn_dtype left, right;
    NEED(out);
    ASN_TRY(asn_capi_dtype(a, false, &left));
    ASN_TRY(asn_capi_dtype(b, false, &right));
    *out = (asnp_dtype)asn_dtype_table[asn_promote(left, right)].acl;
    return ASNP_OK;
}

/* ---- arguments */

asn_status asn_capi_shape(int32_t ndim, const int64_t *shape) {
    if (ndim < 0 || ndim > ASN_MAX_DIMS)
        return asn_error_set(ASN_ERR_VALUE, "ndim is %d; it may be 0 to %d", (int)ndim,
                             ASN_MAX_DIMS);
    return ndim ? asn_capi_need(shape, "shape") : ASN_OK;
}

/* Numbers are weak, as Python's are: `a * 2` keeps a's dtype. One of kind 'u' that int64
 * holds is the same as one of kind 'i'. */
asn_status asn_capi_number(asnp_number number, asn_operand *out) {
    memset(out, 0, sizeof *out);
    /* The scalar is of the widest dtype of its kind; `weak` is what takes part in
     * promotion. */
    asn_c128 c = {number.real, number.imag};
    switch (number.kind) {
    case 'b':
        out->scalar = asn_scalar_bool(number.integer != 0);
        out->weak = 'b';
        return ASN_OK;
    case 'i': *out = asn_operand_int(number.integer); return ASN_OK;
    case 'u': /* of uint64 only what int64 does not have */
        *out = asn_operand_int(number.integer);
        if (number.integer < 0) out->scalar.dtype = ASN_U64;
        return ASN_OK;
    case 'f': *out = asn_operand_float(number.real); return ASN_OK;
    case 'c':
        out->scalar.dtype = ASN_C128;
        memcpy(out->scalar.bytes, &c, sizeof c);
        out->weak = 'c';
        return ASN_OK;
    default:
        return asn_error_set(ASN_ERR_VALUE,
                             "a number's kind is %d; it may be 'b', 'i', 'u', 'f' or 'c'",
                             (int)number.kind);
    }
}

/* Of both, the array counts if there is one. */
asn_status asn_capi_operand(asnp_operand given, asn_operand *out) {
    if (!given.array) return asn_capi_number(given.number, out);
    *out = (asn_operand){.array = &given.array->array};
    return ASN_OK;
}

/* NULL is every axis; an array of no axes none of them, as axis=() in NumPy. */
asn_status asn_capi_axes(int32_t num_axes, const int32_t *axes, int ndim,
                         uint64_t *mask) {
    *mask = ndim == 64 ? ~(uint64_t)0 : ((uint64_t)1 << ndim) - 1;
    if (!axes) return ASN_OK;
    if (num_axes < 0)
        return asn_error_set(ASN_ERR_VALUE, "num_axes is %d; it may not be negative",
                             (int)num_axes);
    *mask = 0;
    for (int i = 0; i < num_axes; i++) {
        int at;
        ASN_TRY(asn_axis_normalize(axes[i], ndim, &at));
        if (*mask >> at & 1)
            return asn_error_set(ASN_ERR_VALUE, "axis %d is listed twice", (int)axes[i]);
        *mask |= (uint64_t)1 << at;
    }
    return ASN_OK;
}

asn_status asn_capi_writeable(const asnp_array *a) {
    return asn_capi_layout(a)->flags & ASN_WRITEABLE
               ? ASN_OK
               : asn_error_set(ASN_ERR_VALUE, "the array to write is read-only");
}

/* A share costs a reference, so that the caller ends *used either way. */
asn_status asn_capi_axis(const asnp_array *a, int32_t axis, asn_array *used, int *at) {
    *at = 0;
    if (axis == ASNP_FLATTENED) return asn_np_ravel(used, &a->array);
    ASN_TRY(asn_axis_normalize(axis, asn_capi_layout(a)->ndim, at));
    return asn_array_share(used, &a->array);
}

asn_status asn_capi_mask(const asnp_array *mask, const char *what) {
    if (!mask || asn_capi_type(mask) == ASN_BOOL) return ASN_OK;
    return asn_error_set(ASN_ERR_TYPE, "%s is an array of %s; it must be of bool", what,
                         asn_dtype_name(asn_capi_type(mask)));
}

/* ---- operations by name */

/* Open addressing over FNV-1a, filled at the first look, under the library's lock. */
enum { PLACES = 512 };
_Static_assert(ASN_OP_CAST < PLACES / 2, "the table of names is at most half full");
static int16_t places[PLACES]; /* operation + 1; 0: free */

/* FNV-1a, 32 bits: short keys, no seed, the same places in every process. */
static uint32_t place_of(const char *name) {
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash % PLACES;
}

/* A call by name costs one hash and mostly one comparison, which is what makes names
 * affordable for arrays of ten elements. */
bool asn_capi_find_op(const char *name, asn_op *op) {
    static bool filled;
    for (int i = 0; i < ASN_OP_CAST && !filled; i++) {
        uint32_t at = place_of(asn_op_table[i].name);
        while (places[at])
            at = (at + 1) % PLACES;
        places[at] = (int16_t)(i + 1);
    }
    filled = true;
    for (uint32_t at = place_of(name); places[at]; at = (at + 1) % PLACES) {
        *op = (asn_op)(places[at] - 1);
        if (strcmp(asn_op_table[*op].name, name) == 0) return true;
    }
    return false;
}

asn_status asn_capi_op(const char *name, asn_op *op) {
    ASN_TRY(asn_capi_need(name, "the operation's name"));
    if (asn_capi_find_op(name, op)) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "there is no operation '%s'; asnp_ufunc_name lists them", name);
}

asn_status asn_capi_binary_op(const char *name, asn_op *op) {
    ASN_TRY(asn_capi_op(name, op));
    if (asn_op_table[*op].num_in == 2) return ASN_OK;
    return asn_error_set(ASN_ERR_TYPE, "%s takes %d arguments; this needs one of two",
                         name, asn_op_table[*op].num_in);
}
