/* L3 C binding: products in narrower dtypes (precision.h). A thread's settings are the
 * core's; the public structs have their fields by size, without holes.
 *
 * The core's settings of a thread need no lock; what looks at elements, measures or reads
 * the tables is called with the library's, as everywhere here. Measuring holds it for as
 * long as it takes, up to a tenth of a second a dtype: a product of another thread would
 * spoil the figure. Flags come as int32_t, of which every number but 0 is true; dtypes as
 * ACL's numbers, of which the core knows a few more than it narrows to, and says so. */
#include "capi/capi.h"

#include "precision/precision.h"
#include "numpy/axes.h"
#include "runtime/device.h"

/* The core's settings, checked: a dtype that is none (asn_capi_dtype), or none that is
 * computed in (the core), is TYPE. The caller's stay as they were. */
static asn_status settings_from(const asnp_autocast *from, asn_precision *to) {
    *to = (asn_precision){.dtype = ASN_F32,
                          .automatic = from->automatic != 0,
                          .unchecked = from->unchecked != 0,
                          .error = from->error};
    ASN_TRY(asn_capi_dtype(from->dtype, false, &to->dtype));
    return asn_precision_check(to);
}

/* The former settings are told even where there are no new ones, so that a library may
 * look at them; `before` may be the struct that `now` points to, since what is new was
 * read first. */
asnp_status asnp_autocast_set(const asnp_autocast *now, asnp_autocast *before) {
    IN_LIBRARY;
    asn_precision p = asn_precision_present(), next = p;
    if (now) ASN_TRY(settings_from(now, &next));
    if (before)
        *before = (asnp_autocast){.error = p.error,
                                  .dtype = (asnp_dtype)asn_dtype_table[p.dtype].acl,
                                  .automatic = p.automatic,
                                  .unchecked = p.unchecked};
    if (now) (void)asn_precision_set(next);
    return ASNP_OK;
}

/* Numbers are the core's to check, but for the kind, which becomes an enumerator. The
 * sentence is the core's own and stays as long as the library does. */
asnp_status asnp_precision_decide(const asnp_array *tensor,
                                  const asnp_precision_question *question,
                                  asnp_precision_decision *out) {
    NEED(tensor);
    NEED(question);
    NEED(out);
    IN_LIBRARY;
    asn_precision_decision d;
    if (question->kind < ASNP_PRECISION_PRODUCT || question->kind > ASNP_PRECISION_WIDE)
        return asn_error_set(ASN_ERR_VALUE, "decide: kind is %d; it may be 0, 1 or 2",
                             (int)question->kind);
    const asn_precision_question q = {.kind = (asn_precision_class)question->kind,
                                      .rows = question->rows,
                                      .transposed = question->transposed != 0,
                                      .for_memory = question->for_memory != 0,
                                      .error = question->error};
    ASN_TRY(asn_precision_decide(&tensor->array, &q, &d));
    *out =
        (asnp_precision_decision){.expected_error = d.error,
                                  .gain = d.gain,
                                  .reason = d.reason,
                                  .compute = (asnp_dtype)asn_dtype_table[d.compute].acl,
                                  .memory = (asnp_dtype)asn_dtype_table[d.memory].acl};
    return ASNP_OK;
}

/* A snapshot, of all threads together: the lock makes its fields agree, and a reset
 * loses no product that another thread counts at the same time. */
asnp_status asnp_precision_count(asnp_precision_counts *out, int32_t reset) {
    NEED(out);
    IN_LIBRARY;
    const asn_precision_counts n = asn_precision_count(reset != 0);
    *out = (asnp_precision_counts){.float32 = n.float32,
                                   .bfloat16 = n.bfloat16,
                                   .float16 = n.float16,
                                   .int8 = n.int8,
                                   .beyond_range = n.beyond_range,
                                   .beyond_error = n.beyond_error};
    return ASNP_OK;
}

/* One by one: the two structs differ in their order of fields. Where there are more than
 * the caller has room for, the oldest ones come, and *count says how many there are. */
asnp_status asnp_precision_gains(asnp_precision_gain *out, int64_t most, int64_t *count) {
    NEED(count);
    if (most > 0) NEED(out);
    IN_LIBRARY;
    if (most < 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "precision gains: most is %lld; it must be 0 "
                             "or more",
                             (long long)most);
    *count = asn_precision_gain_count();
    for (int64_t i = 0; i < most && i < *count; i++) {
        const asn_precision_gain g = asn_precision_gain_at((int)i);
        out[i] = (asnp_precision_gain){.float32_ns = g.float32_ns,
                                       .ns = g.ns,
                                       .m = g.m,
                                       .k = g.k,
                                       .n = g.n,
                                       .batch = g.batch,
                                       .dtype = (asnp_dtype)asn_dtype_table[g.dtype].acl,
                                       .stored = g.stored};
    }
    return ASNP_OK;
}

/* Both results or neither: a caller that was refused has nothing to release. The axis is
 * NumPy's, so that -1 is the last; an axis that is none is AXIS. */
asnp_status asnp_quantize_per_channel(const asnp_array *x, int32_t axis, asnp_array **q,
                                      asnp_array **scale) {
    NEED(x);
    NEED(q);
    NEED(scale);
    IN_LIBRARY;
    asn_array made[2];
    int at;
    ASN_TRY(asn_axis_of_shape(axis, x->array.layout.ndim, &at));
    ASN_TRY(asn_precision_quantise(&made[0], &made[1], &x->array, at));
    asnp_array *first = NULL;
    asnp_status status = asn_capi_wrap(ASN_OK, &made[0], &first);
    if (status) {
        asn_array_fini(&made[1]);
        return status;
    }
    status = asn_capi_wrap(ASN_OK, &made[1], scale);
    if (status)
        asnp_release(first);
    else
        *q = first;
    return status;
}

/* The product of the integers, as float32, and their scales, which broadcast: those of
 * asnp_quantize_per_channel have extent 1 where they were found. */
asnp_status asnp_dequantize(const asnp_array *q, const asnp_array *scale,
                            asnp_array **out) {
    NEED(q);
    NEED(scale);
    NEED(out);
    IN_LIBRARY;
    asn_array made;
    return asn_capi_wrap(asn_precision_dequantise(&made, &q->array, &scale->array), &made,
                         out);
}

/* Whatever the thread's settings are: who has quantised weights wants this product, and
 * autocast's own int8 would quantise them at each call. */
asnp_status asnp_matmul_int8(const asnp_array *a, const asnp_array *q,
                             const asnp_array *scale, asnp_array **out) {
    NEED(a);
    NEED(q);
    NEED(scale);
    NEED(out);
    IN_LIBRARY;
    asn_array made;
    return asn_capi_wrap(
        asn_precision_multiply_int8(&a->array, &q->array, &scale->array, &made), &made,
        out);
}
