/* L3 C binding: joining and repeating arrays (array.h). What may be joined, and into
 * which dtype, is numpy/joins.h's; lists of handles become lists of arrays here.
 *
 * Each function takes the lock once and hands the core everything it needs to refuse a
 * wrong list before it copies anything.
 */
#include "capi/capi.h"
#include "numpy/joins.h"

/* The handles' arrays, to be joined. The caller frees join->arrays. */
static asn_status collect(int32_t n, asnp_array *const *arrays, asn_np_join *join) {
    *join = (asn_np_join){.dtype = ASN_DTYPE_NONE, .casting = ASN_CASTING_SAME_KIND};
    NEED(arrays);
    for (int i = 0; i < n; i++)
        ASN_TRY(asn_capi_need(arrays[i], "an array"));
    if (n < 1) return ASN_OK; /* what joins says so */
    const asn_array **list = asn_malloc((size_t)n * sizeof *list);
    if (!list) return ASN_ERR_MEMORY;
    for (int i = 0; i < n; i++)
        list[i] = &arrays[i]->array;
    join->count = n;
    join->arrays = list;
    return ASN_OK;
}

/* call: one of numpy/joins.h's. */
static asnp_status joined(asn_status (*call)(const asn_np_join *, int64_t, asn_array *),
                          int32_t n, asnp_array *const *arrays, int32_t axis,
                          asnp_array **out) {
    asn_np_join join;
    asn_array made;
    NEED(out);
    ASN_TRY(collect(n, arrays, &join));
    asn_status status = call(&join, axis, &made);
    asn_free((void *)join.arrays);
    return asn_capi_wrap(status, &made, out);
}

asnp_status asnp_concatenate(int32_t n, asnp_array *const *arrays, int32_t axis,
                             asnp_array **out) {
    IN_LIBRARY;
    return joined(asn_np_concatenate, n, arrays, axis, out);
}

asnp_status asnp_stack(int32_t n, asnp_array *const *arrays, int32_t axis,
                       asnp_array **out) {
    IN_LIBRARY;
    return joined(asn_np_stack, n, arrays, axis, out);
}

/* One count for all elements: as an array of one, which stretches. Counts of their own
 * would need an array argument, and NumPy programs that have them are few. */
asnp_status asnp_repeat(const asnp_array *a, int64_t count, int32_t axis,
                        asnp_array **out) {
    IN_LIBRARY;
    asn_array used, counts, made;
    const int64_t one = 1;
    asn_operand number = asn_operand_int(count);
    int at;
    NEED(a);
    NEED(out);
    if (count < 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "repeat: count is %lld; it may not be "
                             "negative",
                             (long long)count);
    ASN_TRY(asn_capi_axis(a, axis, &used, &at));
    asn_status status = asn_full(&counts, ASN_I64, 1, &one, 'C', &number);
    if (!status) {
        status = asn_repeat(&made, &used, &counts, at);
        asn_array_fini(&counts);
    }
    asn_array_fini(&used);
    return asn_capi_wrap(status, &made, out);
}
