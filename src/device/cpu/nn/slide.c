/* CPU device: sliding products (see slide.h), over the pool: outputs in chunks whose
 * bounds do not depend on the number of threads.
 */
#include "device/cpu/nn/slide.h"

#include "device/cpu/kernels.h"
#include "device/cpu/threads.h"

enum { CHUNK = 1024 /* outputs; a multiple of every block */ };

typedef struct {
    asnd_slide slide;
    asnd_slide_fn run;
    int64_t count;
} slide_run;

/* Outputs [from, to) of one chunk. */
static void slide_chunk(void *ctx, int64_t number) {
    const slide_run *r = ctx;
    int64_t from = number * CHUNK, to = from + CHUNK;
    r->run(&r->slide, from, to < r->count ? to : r->count);
}

/* ns: a product and sum takes 0.02 ns a byte of the element. */
asn_status asn_cpu_slide(const asnd_nd *a, const asnd_nd *v, int64_t first,
                         const asnd_nd *out) {
    slide_run r = {.run = asn_kernels_get()->slide[a->dtype], .count = out->shape[0]};
    if (!r.run || v->dtype != a->dtype || out->dtype != a->dtype)
        return asn_error_set(ASN_ERR_NO_LOOP, "correlate: no loop for dtype %s",
                             asn_dtype_name(a->dtype));
    if (!asn_nd_is_contiguous(a) || !asn_nd_is_contiguous(v) ||
        !asn_nd_is_contiguous(out))
        return asn_error_set(ASN_ERR_VALUE,
                             "correlate: contiguous a, v and out are needed");
    r.slide = (asnd_slide){.a = a->data,
                           .v = v->data,
                           .out = out->data,
                           .n = a->shape[0],
                           .m = v->shape[0],
                           .first = first};
    int64_t shorter = r.slide.n < r.slide.m ? r.slide.n : r.slide.m;
    double ns = (double)r.count * (double)shorter * 0.02 * asn_itemsize(a->dtype);
    asn_pool_run(slide_chunk, &r, (r.count + CHUNK - 1) / CHUNK, ns);
    return ASN_OK;
}
