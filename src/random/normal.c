/* L1 random: normal variates.
 *
 * Generator: the ziggurat of Marsaglia and Tsang (J. Stat. Software 5(8), 2000) with 256
 * layers, after Doornik's and the randmtzig layout: one 64-bit draw gives the layer (8
 * bits), the sign and 52 bits of position. The tables follow from the tail's start R and
 * the layers' area V alone and are built at the first use. RandomState: Marsaglia's polar
 * method, two at a time.
 *
 * The common case (a position inside its layer, in 99 of 100 draws) is a product and a
 * comparison, done for runs of the words that wait; everything else is drawn one by one
 * from the same word on.
 */
#include <math.h>
#include <pthread.h>

#include "random/ziggurat.h"

enum { LAYERS = ASN_LAYERS };
#define NORMAL_R     3.6541528853610087963519472518
#define NORMAL_INV_R (1 / NORMAL_R)
#define NORMAL_V     0.004928673233974652

typedef struct {
    asn_layer layers[LAYERS];
    double f[LAYERS]; /* the density at the layer's edge */
    asn_layer_float single[LAYERS];
    float ff[LAYERS];
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
        table.f[i] = density[i];
        table.ff[i] = (float)density[i];
        table.layers[i].scale = edge[i] / span;
        table.layers[i].inside = (uint64_t)(inner / edge[i] * span);
        table.single[i].scale = (float)(edge[i] / span_float);
        table.single[i].inside = (uint32_t)rint(inner / edge[i] * span_float);
    }
}

const asn_layer *asn_normal_layers(void) {
    pthread_once(&once, build);
    return table.layers;
}

/* A variate by the whole method: inside, the tail (layer 0), or the wedge above the next
 * layer. */
static inline double normal(asn_words *w) {
    for (;;) {
        uint64_t bits = asn_words_next64(w);
        int layer = bits & 0xff;
        double x;
        if (asn_layer_normal(table.layers, bits, &x)) return x;
        if (layer == 0) {
            for (;;) {
                double over = -NORMAL_INV_R * log1p(-asn_words_double(w));
                double height = -log1p(-asn_words_double(w));
                if (height + height > over * over)
                    return bits >> 17 & 1 ? -(NORMAL_R + over) : NORMAL_R + over;
            }
        }
        double f = table.f[layer];
        if ((table.f[layer - 1] - f) * asn_words_double(w) + f < exp(-0.5 * x * x))
            return x;
    }
}

/* asn_layer_normal for half a word: 8 bits of layer, a sign, 23 of position. */
static inline bool inside_float(uint32_t word, float *x) {
    uint32_t position = word >> 9, bits;
    float size = (float)(int32_t)position * table.single[word & 0xff].scale;
    memcpy(&bits, &size, sizeof bits);
    bits ^= (word & 0x100) << 23;
    memcpy(x, &bits, sizeof bits);
    return position < table.single[word & 0xff].inside;
}

/* Comparisons with the density are in double, as NumPy's. */
static inline float normal_float(asn_words *w) {
    for (;;) {
        uint32_t bits = asn_words_next32(w), position = bits >> 9;
        int layer = bits & 0xff;
        float x;
        if (inside_float(bits, &x)) return x;
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

/* From the words that wait, up to the first that is not inside: how many. */
static int64_t run(asn_words *w, int64_t n, double *out) {
    int64_t count, k = 0;
    const uint64_t *words = asn_words_waiting(w, n, &count);
    while (k < count && asn_layer_normal(table.layers, words[k], out + k))
        k++;
    w->at += (int)k;
    return k;
}

static int64_t run_float(asn_words *w, int64_t n, float *out) {
    int64_t count, k = 0;
    const uint32_t *words = asn_halves_waiting(w, n, &count);
    while (k < count && inside_float(words[k], out + k))
        k++;
    asn_halves_used(w, k);
    return k;
}

void asn_fill_normal(asn_bitgen *g, int64_t n, double *out) {
    asn_words w;
    pthread_once(&once, build);
    asn_words_begin(&w, g, n + n / 64);
    for (int64_t i = 0; i < n; i++) {
        i += run(&w, n - i, out + i);
        if (i < n) out[i] = normal(&w);
    }
    asn_words_end(&w);
}

void asn_fill_normal_float(asn_bitgen *g, int64_t n, float *out) {
    asn_words w;
    pthread_once(&once, build);
    asn_words_begin(&w, g, (n + n / 64) / 2);
    for (int64_t i = 0; i < n; i++) {
        i += run_float(&w, n - i, out + i);
        if (i < n) out[i] = normal_float(&w);
    }
    asn_words_end(&w);
}

/* Of a pair the second is given first, as RandomState does; the other waits in the
 * engine. */
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
