/* L1 random: normal variates.
 *
 * Generator: the ziggurat of Marsaglia and Tsang (J. Stat. Software 5(8), 2000) with 256
 * layers, after Doornik's and the randmtzig layout: one 64-bit draw gives the layer (8
 * bits), the sign and 52 bits of position. The tables follow from the tail's start R and
 * the layers' area V alone and are built at the first use. RandomState: Marsaglia's polar
 * method, two at a time.
 */
#include <math.h>
#include <pthread.h>

#include "random/words.h"

enum { LAYERS = 256 };
#define NORMAL_R     3.6541528853610087963519472518
#define NORMAL_INV_R (1 / NORMAL_R)
#define NORMAL_V     0.004928673233974652

typedef struct {
    double w[LAYERS],
        f[LAYERS];      /* position to abscissa; the density at the layer's edge */
    uint64_t k[LAYERS]; /* positions below are inside for certain */
    float wf[LAYERS], ff[LAYERS];
    uint32_t kf[LAYERS];
} ziggurat;

static ziggurat table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Edges x_i with equal areas, from the outermost inwards. The recurrence amplifies
 * rounding on its way in, so that a stream equal to NumPy's needs the very roundings of
 * its table: double arithmetic throughout, and at layer 38 the neighbouring double
 * (checked against NumPy's variates: every layer's scale is pinned down to the last bit).
 */
static void build(void) {
    const double span = 4503599627370496.0, span_float = 8388608.0;
    double edge[LAYERS], density[LAYERS];
    edge[LAYERS - 1] = NORMAL_R;
    density[LAYERS - 1] = exp(-0.5 * NORMAL_R * NORMAL_R);
    for (int i = LAYERS - 2; i > 0; i--) {
        edge[i] = sqrt(-2.0 * log(NORMAL_V / edge[i + 1] + density[i + 1]));
        density[i] = exp(-0.5 * edge[i] * edge[i]);
        if (i == 38) density[i] = nextafter(density[i], 2);
    }
    edge[0] = NORMAL_V / density[LAYERS - 1];
    density[0] = 1;
    for (int i = 0; i < LAYERS; i++) {
        double inner = i == 0 ? NORMAL_R : i == 1 ? 0 : edge[i - 1];
        table.w[i] = edge[i] / span;
        table.wf[i] = (float)(edge[i] / span_float);
        table.f[i] = density[i];
        table.ff[i] = (float)density[i];
        table.k[i] = (uint64_t)(inner / edge[i] * span);
        table.kf[i] = (uint32_t)rint(inner / edge[i] * span_float);
    }
}

static inline double normal(asn_words *w) {
    for (;;) {
        uint64_t bits = asn_words_next64(w);
        int layer = bits & 0xff;
        bits >>= 8;
        uint64_t position = bits >> 1 & 0x000fffffffffffff;
        double x = (double)position * table.w[layer];
        if (bits & 1) x = -x;
        if (position < table.k[layer]) return x;
        if (layer == 0) {
            for (;;) {
                double over = -NORMAL_INV_R * log1p(-asn_words_double(w));
                double height = -log1p(-asn_words_double(w));
                if (height + height > over * over)
                    return position >> 8 & 1 ? -(NORMAL_R + over) : NORMAL_R + over;
            }
        }
        double f = table.f[layer];
        if ((table.f[layer - 1] - f) * asn_words_double(w) + f < exp(-0.5 * x * x))
            return x;
    }
}

static inline float normal_float(asn_words *w) {
    for (;;) {
        uint32_t bits = asn_words_next32(w);
        int layer = bits & 0xff;
        uint32_t position = bits >> 9;
        float x = (float)position * table.wf[layer];
        if (bits >> 8 & 1) x = -x;
        if (position < table.kf[layer]) return x;
        if (layer == 0) {
            for (;;) {
                float over = -(float)NORMAL_INV_R * log1pf(-asn_words_float(w));
                float height = -log1pf(-asn_words_float(w));
                if (height + height > over * over)
                    return position >> 8 & 1 ? -((float)NORMAL_R + over)
                                             : (float)NORMAL_R + over;
            }
        }
        float f = table.ff[layer];
        if ((double)((table.ff[layer - 1] - f) * asn_words_float(w) + f) <
            exp(-0.5 * (double)x * (double)x))
            return x;
    }
}

void asn_fill_normal(asn_bitgen *g, int64_t n, double *out) {
    asn_words w;
    pthread_once(&once, build);
    asn_words_begin(&w, g, n + n / 64);
    for (int64_t i = 0; i < n; i++)
        out[i] = normal(&w);
    asn_words_end(&w);
}

void asn_fill_normal_float(asn_bitgen *g, int64_t n, float *out) {
    asn_words w;
    pthread_once(&once, build);
    asn_words_begin(&w, g, (n + n / 64) / 2);
    for (int64_t i = 0; i < n; i++)
        out[i] = normal_float(&w);
    asn_words_end(&w);
}

double asn_words_gauss(asn_words *w) {
    asn_bitgen *g = w->g;
    if (g->has_gauss) {
        double kept = g->gauss;
        g->has_gauss = false;
        g->gauss = 0;
        return kept;
    }
    double x, y, r2;
    do {
        x = 2.0 * asn_words_double(w) - 1.0;
        y = 2.0 * asn_words_double(w) - 1.0;
        r2 = x * x + y * y;
    } while (r2 >= 1.0 || r2 == 0.0);
    double f = sqrt(-2.0 * log(r2) / r2);
    g->gauss = f * x;
    g->has_gauss = true;
    return f * y;
}

void asn_fill_gauss(asn_bitgen *g, int64_t n, double *out) {
    asn_words w;
    asn_words_begin(&w, g, 3 * n);
    for (int64_t i = 0; i < n; i++)
        out[i] = asn_words_gauss(&w);
    asn_words_end(&w);
}
