/* L1 random: draws that bindings describe (see draw.h).
 *
 * A capture keeps the description and draws again at each run, so that it must say
 * everything: nothing is taken from the caller but the engine. */
#include "random/draw.h"

asn_status asn_draw_fill(void *g, const void *what, int64_t n, void *out) {
    const asn_draw *d = what;
    bool single = d->dtype == ASN_F32;
    switch (d->kind) {
    case ASN_DRAW_UNIFORM:
        if (single)
            asn_fill_float(g, n, out);
        else
            asn_fill_double(g, n, out);
        break;
    case ASN_DRAW_NORMAL:
        if (single)
            asn_fill_normal_float(g, n, out);
        else
            asn_fill_normal(g, n, out);
        break;
    case ASN_DRAW_GAUSS: asn_fill_gauss(g, n, out); break;
    case ASN_DRAW_BOUNDED:
        asn_fill_bounded(g, n, d->dtype == ASN_BOOL ? 0 : asn_itemsize(d->dtype),
                         d->masked, d->offset, d->range, out);
    }
    return ASN_OK;
}

/* Piece by piece, which stay in the cache. */
asn_status asn_draw_fill_scaled(void *g, const void *what, int64_t n, void *out) {
    enum { PIECE = 4096 };
    const asn_draw *d = what;
    for (double *p = out; n > 0; n -= PIECE, p += PIECE) {
        int64_t count = n < PIECE ? n : PIECE;
        ASN_TRY(asn_draw_fill(g, d, count, p));
        for (int64_t i = 0; i < count; i++)
            p[i] = d->start + d->stretch * p[i];
    }
    return ASN_OK;
}
