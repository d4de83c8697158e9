/* L2 precision: a product of float32 comes here, from the graph (product.h).
 *
 * With a dtype in the settings it is computed in it, except in float16 where a value or a
 * sum may be infinite there: then float32, and counted. Left open, each dtype that is
 * known to gain on such shapes is tried, the fastest first: bfloat16's error is known
 * beforehand, of float16 and int8 it takes a look at the values, which the gain has paid
 * for. Most products of a machine without fast halves are thus asked about once a shape,
 * and then are as they were. */
#include "precision/product.h"

#include "graph/capture/capture.h"
#include "graph/lock.h"
#include "graph/operators/families.h"
#include "precision/narrow.h"

static asn_precision_counts counts;

bool asn_precision_asks(void) {
    const asn_precision p = asn_precision_present();
    return p.automatic || p.dtype != ASN_F32;
}

asn_precision_counts asn_precision_count(bool clear) {
    asn_lock();
    const asn_precision_counts now = counts;
    if (clear) counts = (asn_precision_counts){0};
    asn_unlock();
    return now;
}

/* One product, by what became of it. */
static void count(asn_dtype dtype, asn_narrow outcome) {
    if (outcome == ASN_NARROW_RANGE) counts.beyond_range++;
    if (outcome == ASN_NARROW_ERROR) counts.beyond_error++;
    if (outcome != ASN_NARROW_DONE) return;
    if (dtype == ASN_BF16) counts.bfloat16++;
    if (dtype == ASN_F16) counts.float16++;
    if (dtype == ASN_I8) counts.int8++;
}

/* The dtypes that gain on these shapes, the fastest first; how many. One whose rounding
 * is beyond the error whatever the values are is not measured: u for a half, and half a
 * scale for int8 where every element is as large as the largest. */
static asn_status order_by_gain(const asn_precision *p, const asn_precision_shape *s,
                                asn_dtype order[3], int *n) {
    static const asn_dtype all[3] = {ASN_BF16, ASN_F16, ASN_I8};
    static const double least[3] = {0x1p-9, 0x1p-11, 1.0 / 254};
    double gains[3];
    *n = 0;
    for (int i = 0; i < 3; i++) {
        double gain;
        if (asn_precision_combine(all[i], least[i], least[i], s->k) > p->error) continue;
        ASN_TRY(asn_precision_measure(all[i], false, s, &gain));
        if (gain < ASN_PRECISION_LEAST_GAIN) continue;
        int at = (*n)++;
        for (; at > 0 && gains[at - 1] < gain; at--) {
            gains[at] = gains[at - 1];
            order[at] = order[at - 1];
        }
        gains[at] = gain;
        order[at] = all[i];
    }
    return ASN_OK;
}

/* (Contract in families.h.) Empty products are the graph's. */
asn_status asn_precision_multiply(const asn_array *a, const asn_array *b,
                                  asn_array *result, bool *done) {
    asn_precision p = asn_precision_present();
    asn_dtype order[3] = {p.dtype};
    int n = 1;
    *done = false;
    if (a->layout.size == 0 || b->layout.size == 0) return ASN_OK;
    if (p.automatic) {
        const asn_precision_shape s = asn_precision_shape_of(a, b);
        ASN_TRY(order_by_gain(&p, &s, order, &n));
    }
    for (int i = 0; i < n && !*done; i++) {
        asn_narrow outcome;
        p.dtype = order[i];
        ASN_TRY(asn_precision_narrow(a, b, &p, result, &outcome));
        count(p.dtype, outcome);
        *done = outcome == ASN_NARROW_DONE;
    }
    counts.float32 += !*done;
    return ASN_OK;
}
