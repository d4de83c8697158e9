/* L2 precision: how much faster a product is in another dtype, on this machine
 * (narrow.h).
 *
 * Assumed, a gain would be wrong as often as right: halves are converted to float32 by a
 * processor without instructions for them, and a matrix by a vector is limited by memory.
 * So the product is timed as a program would have it, conversions and looks at values
 * included, once for shapes of the same powers of two (up): the shortest of LEAST to MOST
 * runs each, in turn, since others may be at work on the machine, up to ENOUGH_NS. The
 * first run of each does not count. A product of more than MOST_WORK multiplications is
 * timed on a part, its longest extents halved.
 *
 * What was measured stays for the process, under the library's lock, in a table of which
 * the oldest entry gives way. */
#include <time.h>

#include "graph/capture/capture.h"
#include "graph/operators/families.h"
#include "numpy/elementwise.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"
#include "precision/narrow.h"
#include "runtime/device.h"

enum { ENTRIES = 512, LEAST = 5, MOST = 50 };
#define MOST_WORK 0x1p28
#define ENOUGH_NS 1e8

typedef struct {
    uint8_t m, k, n, batch; /* binary logarithms, up */
    asn_precision_gain what;
} entry;
static entry table[ENTRIES];
static int count, next;

/* ceil(log2(x)), x at least 1. */
static uint8_t power_of(int64_t x) {
    uint8_t p = 0;
    while (p < 62 && (INT64_C(1) << p) < x)
        p++;
    return p;
}

/* NULL: not measured yet. */
static const entry *find(asn_dtype dtype, bool stored, const entry *key) {
    for (int i = 0; i < count; i++) {
        const entry *e = &table[i];
        if (e->what.dtype == dtype && e->what.stored == stored && e->m == key->m &&
            e->k == key->k && e->n == key->n && e->batch == key->batch)
            return e;
    }
    return NULL;
}

/* The longest extents are halved until the work is small enough. */
static asn_precision_shape part_of(asn_precision_shape s) {
    int64_t *all[] = {&s.batch, &s.m, &s.k, &s.n};
    while ((double)s.batch * (double)s.m * (double)s.k * (double)s.n > MOST_WORK) {
        int64_t **longest = &all[0];
        for (int i = 1; i < 4; i++)
            if (*all[i] > **longest) longest = &all[i];
        **longest = (**longest + 1) / 2;
    }
    return s;
}

/* float32 from -1 to 1, (batch, rows, columns). */
static asn_status fill(asn_array *out, int64_t batch, int64_t rows, int64_t columns) {
    const int64_t shape[] = {batch, rows, columns}, size = batch * rows * columns;
    const asn_scalar start = asn_scalar_float(-1),
                     step = asn_scalar_float(2.0 / (double)size);
    ASN_TEMPORARIES;
    ASN_MAKE(line, asn_arange(line, ASN_F32, &start, &step, size));
    ASN_TRY(asn_np_reshape(out, line, batch > 1 ? 3 : 2, batch > 1 ? shape : shape + 1));
    asn_status status = asn_array_sync(out);
    if (status) asn_array_fini(out);
    return status;
}

/* Of the process' threads together where the host is the device: others at work on the
 * machine lengthen that little (between neighbours the same product took 2 to 9 ms by the
 * clock, and 2.3 to 2.4 by this). */
static double now_ns(void) {
    struct timespec t;
    clock_gettime(asn_device_host_access() ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC,
                  &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* One product as the program would have it; b: float32, or stored in dtype, with its
 * scale for int8. dtype float32: the usual one. looks: the errors' are taken, too, though
 * none is too large here. */
static asn_status run(asn_dtype dtype, bool looks, const asn_array *a, const asn_array *b,
                      const asn_array *scale, double *ns) {
    const asn_precision p = {.dtype = dtype, .automatic = looks, .error = 1e300};
    asn_narrow outcome = ASN_NARROW_DONE;
    ASN_TEMPORARIES;
    asn_array *c = &temporaries_.made[0];
    const double start = now_ns();
    if (dtype == ASN_F32)
        ASN_TRY(asn_product_plain(a, b, c));
    else if (scale)
        ASN_TRY(asn_precision_multiply_int8(a, b, scale, c));
    else
        ASN_TRY(asn_precision_narrow(a, b, &p, c, &outcome));
    temporaries_.count = outcome == ASN_NARROW_DONE;
    if (outcome == ASN_NARROW_DONE) ASN_TRY(asn_array_sync(c));
    const double took = now_ns() - start;
    if (took < *ns) *ns = took;
    return ASN_OK;
}

/* Both times into g, whose shape is that to measure. */
static asn_status measure(asn_precision_gain *g) {
    ASN_TEMPORARIES;
    const asn_array *scale = NULL;
    ASN_MAKE(a, fill(a, g->batch, g->m, g->k));
    ASN_MAKE(b, fill(b, g->batch, g->k, g->n));
    asn_array *kept = &temporaries_.made[2];
    const asn_array *use = b;
    if (g->stored && g->dtype == ASN_I8) {
        ASN_TRY(asn_precision_quantise(&kept[0], &kept[1], b, b->layout.ndim - 2));
        temporaries_.count += 2;
        ASN_TRY(asn_array_sync(&kept[0]));
        scale = &kept[1];
        use = &kept[0];
    } else if (g->stored) {
        ASN_TRY(asn_np_astype(&kept[0], b, g->dtype));
        temporaries_.count++;
        ASN_TRY(asn_array_sync(&kept[0]));
        use = &kept[0];
    }
    const double start = now_ns();
    for (int i = 0; i <= LEAST || (i < MOST && now_ns() - start < ENOUGH_NS); i++) {
        if (i < 2) g->float32_ns = g->ns = 1e300;
        ASN_TRY(run(ASN_F32, false, a, b, NULL, &g->float32_ns));
        ASN_TRY(run(g->dtype, !g->stored, a, use, scale, &g->ns));
    }
    return ASN_OK;
}

asn_status asn_precision_measure(asn_dtype dtype, bool stored,
                                 const asn_precision_shape *s, double *gain) {
    const entry key = {power_of(s->m),
                       power_of(s->k),
                       power_of(s->n),
                       power_of(s->batch),
                       {.dtype = dtype}};
    const entry *known = find(dtype, stored, &key);
    if (!known) {
        ASN_TRY(asn_capture_forbid("a gain in precision is measured"));
        const asn_precision_shape part = part_of(*s);
        entry made = key;
        made.what =
            (asn_precision_gain){dtype, stored, part.m, part.k, part.n, part.batch, 0, 0};
        ASN_TRY(measure(&made.what));
        table[next] = made;
        known = &table[next];
        next = (next + 1) % ENTRIES;
        if (count < ENTRIES) count++;
    }
    *gain = known->what.float32_ns / known->what.ns;
    return ASN_OK;
}

int asn_precision_gain_count(void) {
    return count;
}

asn_precision_gain asn_precision_gain_at(int i) {
    return table[i].what;
}
