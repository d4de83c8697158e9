/* L3 C face: joining and repeating arrays (array.h). */
#include "capi/capi.h"

static asn_status collect(int32_t n, asnp_array *const *arrays, const asn_array **out,
                          asn_dtype *dtype) {
    for (int i = 0; i < n; i++) {
        ASN_TRY(asn_capi_need(arrays[i], "an array"));
        out[i] = &arrays[i]->array;
        asn_dtype one = asn_capi_type(arrays[i]);
        *dtype = i ? asn_promote(*dtype, one) : one;
    }
    return ASN_OK;
}

asnp_status asnp_concatenate(int32_t n, asnp_array *const *arrays, int32_t axis,
                             asnp_array **out) {
    IN_LIBRARY;
    asn_dtype dtype = ASN_F64;
    asn_array made;
    int at;
    NEED(arrays);
    NEED(out);
    if (n < 1)
        return asn_error_set(ASN_ERR_VALUE, "need at least one array to concatenate");
    const asn_array **list = asn_malloc((size_t)n * sizeof *list);
    if (!list) return ASN_ERR_MEMORY;
    asn_status status = collect(n, arrays, list, &dtype);
    if (!status) status = asn_join_check(n, list, axis, &at);
    if (!status)
        status = asn_concatenate(n, list, at, dtype, ASN_CASTING_SAME_KIND, NULL, &made);
    asn_free(list);
    return asn_capi_wrap(status, &made, out);
}

asnp_status asnp_stack(int32_t n, asnp_array *const *arrays, int32_t axis,
                       asnp_array **out) {
    IN_LIBRARY;
    NEED(arrays);
    NEED(out);
    if (n < 1) return asn_error_set(ASN_ERR_VALUE, "need at least one array to stack");
    asnp_array **views = asn_calloc((size_t)n, sizeof *views);
    if (!views) return ASN_ERR_MEMORY;
    asnp_status status = ASNP_OK;
    for (int i = 0; i < n && !status; i++)
        status = asn_capi_need(arrays[i], "an array");
    for (int i = 1; i < n && !status; i++)
        if (!asn_layout_same_shape(asn_capi_layout(arrays[0]),
                                   asn_capi_layout(arrays[i])))
            status = asn_error_set(ASN_ERR_VALUE,
                                   "all input arrays must have the same shape; array %d "
                                   "has another than array 0",
                                   i);
    for (int i = 0; i < n && !status; i++)
        status = asnp_expand_dims(arrays[i], axis, &views[i]);
    if (!status) status = asnp_concatenate(n, views, axis, out);
    asn_capi_release(views, n);
    asn_free(views);
    return status;
}

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
