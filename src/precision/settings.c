/* L2 precision: whose products are narrowed, and what became of them (precision.h).
 *
 * Settings are a thread's, or what a binding says: Python's are those of a context, so
 * that threads and asyncio tasks have theirs. The graph asks for nothing until somebody
 * has had settings that narrow; from then on a product costs one call more. */
#include "precision/precision.h"

#include <math.h>

#include "graph/lock.h"
#include "graph/operators/families.h"
#include "precision/product.h"

static _Thread_local asn_precision mine = {.dtype = ASN_F32};
static asn_precision (*binding)(void);

/* Constant from the first call on, so no lock orders it. */
static void begin_asking(void) {
    static const asn_product_precision hook = {asn_precision_asks,
                                               asn_precision_multiply};
    asn_lock();
    asn_product_precision_of = &hook;
    asn_unlock();
}

asn_precision asn_precision_set(asn_precision now) {
    const asn_precision before = mine;
    mine = now;
    if (now.automatic || now.dtype != ASN_F32) begin_asking();
    return before;
}

void asn_precision_source(asn_precision (*source)(void)) {
    binding = source;
    if (source) begin_asking();
}

asn_precision asn_precision_present(void) {
    return binding ? binding() : mine;
}

asn_status asn_precision_check(const asn_precision *p) {
    if (p->automatic && !(p->error > 0 && isfinite(p->error)))
        return asn_error_set(ASN_ERR_VALUE,
                             "autocast: error is %g; it must be positive and finite",
                             p->error);
    if (p->dtype == ASN_F32 || p->dtype == ASN_BF16 || p->dtype == ASN_F16 ||
        p->dtype == ASN_I8)
        return ASN_OK;
    return asn_error_set(ASN_ERR_TYPE,
                         "autocast: dtype is %s; it may be float32, bfloat16, float16, "
                         "int8 or \"auto\"",
                         asn_dtype_name(p->dtype));
}
