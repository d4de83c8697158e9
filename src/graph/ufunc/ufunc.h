/* L2 graph: calling, reducing, accumulating the operations of the table, with NumPy's
 * semantics.
 *
 * Each function checks, resolves dtypes (NEP 50), broadcasts, and then either runs at
 * once (small, nothing pending) or records into the trace. Shape and dtype errors are
 * raised here, at the call.
 */
#ifndef ASN_GRAPH_UFUNC_UFUNC_H
#define ASN_GRAPH_UFUNC_UFUNC_H

#include "array/promote.h"
#include "graph/array.h"

typedef struct {
    asn_casting casting;    /* default ASN_CASTING_SAME_KIND */
    asn_dtype dtype;        /* loop dtype wished for, or ASN_DTYPE_NONE */
    char order;             /* 'K' by default */
    const asn_array *where; /* NULL: everywhere; bool, broadcasts */
} asn_ufunc_options;
#define ASN_UFUNC_DEFAULTS {ASN_CASTING_SAME_KIND, ASN_DTYPE_NONE, 'K', NULL}

/* result = op(in...). If out is not NULL the result is written there (broadcast up to
 * out's shape, cast by options->casting; overlap with inputs is safe) and *result is not
 * touched; else *result is made. */
ASN_CHECK_RESULT asn_status asn_ufunc_call(asn_op op, const asn_operand *in,
                                           const asn_array *out, asn_array *result,
                                           const asn_ufunc_options *options);
/* The dtype asn_ufunc_call would give. */
ASN_CHECK_RESULT asn_status asn_ufunc_result_dtype(asn_op op, const asn_operand *in,
                                                   const asn_ufunc_options *options,
                                                   asn_dtype *loop, asn_dtype *result);

/* How a reduction is called. */
typedef struct {
    uint64_t axes; /* bit d: axis d is reduced; 0: none (a copy, as axis=()) */
    bool keepdims;
    asn_dtype dtype; /* ASN_DTYPE_NONE: NumPy's default (sum of small ints widens) */
    const asn_array *where;     /* NULL: everywhere */
    const asn_operand *initial; /* NULL: the identity, or the first element */
    bool now; /* the value is read next: better not recorded, which would end the rest */
} asn_reduce_options;

/* ufunc.reduce. out as in asn_ufunc_call. ValueError for an empty reduction without
 * identity ("zero-size array to reduction operation maximum which has no identity") and
 * for several axes of a non-reorderable one. */
ASN_CHECK_RESULT asn_status asn_ufunc_reduce(asn_op op, const asn_array *a,
                                             const asn_array *out, asn_array *result,
                                             const asn_reduce_options *options);
/* The same under where=, slice by slice along the axis, into `target` of its result:
 * options have where, which broadcasts to a, initial, and at most one axis. */
ASN_CHECK_RESULT asn_status asn_ufunc_reduce_slices(asn_op op, const asn_array *a,
                                                    const asn_reduce_options *options,
                                                    const asn_array *target);
/* any (op logical_or) or all (logical_and) of a large array, piece by piece until the
 * answer is known. *done false: not such an array, nothing was done. */
ASN_CHECK_RESULT asn_status asn_truth_reduce(asn_op op, const asn_array *a, bool *truth,
                                             bool *done);
/* Variance of all of a large float32 or float64 array with `ddof`, or its root, by one
 * operator. *done false: not such an array, or the result is not finite, and the
 * composition of single operations will say why. */
ASN_CHECK_RESULT asn_status asn_variance_whole(const asn_array *a, int64_t ddof,
                                               bool root, asn_scalar *value, bool *done);
/* ufunc.accumulate along an axis (normalised). `dtype` and out as in a reduction, and in
 * a call. TypeError for 0-d arrays. */
ASN_CHECK_RESULT asn_status asn_ufunc_accumulate(asn_op op, const asn_array *a, int axis,
                                                 asn_dtype dtype, const asn_array *out,
                                                 asn_array *result);
/* ufunc.reduceat along an axis. indices: int64, 1-d. IndexError for one that is out of
 * range. */
ASN_CHECK_RESULT asn_status asn_ufunc_reduceat(asn_op op, const asn_array *a,
                                               const asn_array *indices, int axis,
                                               asn_dtype dtype, const asn_array *out,
                                               asn_array *result);

/* dst[...] = src with broadcasting and casting; overlap-safe. Also copyto(where=). */
ASN_CHECK_RESULT asn_status asn_assign(const asn_array *dst, const asn_operand *src,
                                       asn_casting casting, const asn_array *where);
/* A copy as dtype in the given order ('K', 'A', 'C', 'F'). */
ASN_CHECK_RESULT asn_status asn_copy(asn_array *result, const asn_array *a,
                                     asn_dtype dtype, char order);

/* A new array, in every element `value`, cast; a Python integer must fit the dtype.
 * order: 'C' or 'F'. */
ASN_CHECK_RESULT asn_status asn_full(asn_array *result, asn_dtype dtype, int ndim,
                                     const int64_t *shape, char order,
                                     const asn_operand *value);
/* where(condition, x, y) with promotion of x and y. */
ASN_CHECK_RESULT asn_status asn_where(asn_array *result, const asn_array *condition,
                                      const asn_operand *x, const asn_operand *y);

/* a to the power of a constant that a few products, quotients and roots make, within 2
 * ULP (float32, float64; 3, 4, -2, 1.5, -1.5). *done false: another one, nothing was
 * done. */
ASN_CHECK_RESULT asn_status asn_power_simple(asn_array *result, const asn_array *a,
                                             double e, bool *done);

/* NumPy refuses integers to negative integer powers: ValueError where the loop's dtype is
 * a signed integer and an exponent (where `where` is true; NULL: any) is negative. In a
 * trace that is required at each replay. */
ASN_CHECK_RESULT asn_status asn_exponents_check(const asn_operand *exponents,
                                                const asn_array *where, asn_dtype loop);
/* ... where the exponents are the elements of a from `from` on along an axis. */
ASN_CHECK_RESULT asn_status asn_exponents_check_line(const asn_array *a, int axis,
                                                     int64_t from, asn_dtype loop);

/* ldexp's exponents (in[1]): whether they may not fit int32, and the same bounded, as
 * int32. *owner is made where *bounded is an array, and is then the caller's. */
bool asn_exponent_is_wide(const asn_operand *in);
ASN_CHECK_RESULT asn_status asn_exponent_bound(const asn_operand *e, asn_operand *bounded,
                                               asn_array *owner);

#endif
