/* L1 random: the layers of the ziggurats (Marsaglia and Tsang, J. Stat. Software 5(8),
 * 2000), as the draws of many numbers read them.
 *
 * One word of 64 bits gives a layer (8 bits) and a position in it. Positions below the
 * layer's limit are inside the density for certain (99 of 100): such a variate is one
 * product. What is not inside is another's work, from the same word on.
 */
#ifndef ASN_RANDOM_ZIGGURAT_H
#define ASN_RANDOM_ZIGGURAT_H

#include <string.h>

#include "random/words.h"

enum { ASN_LAYERS = 256 };

typedef struct {
    double scale;    /* position to abscissa */
    uint64_t inside; /* positions below are inside for certain */
} asn_layer;

/* The same for halves of words. */
typedef struct {
    float scale;
    uint32_t inside;
} asn_layer_float;

/* Built at the first use; ASN_LAYERS of them. */
const asn_layer *asn_normal_layers(void);
const asn_layer *asn_exponential_layers(void);
const asn_layer_float *asn_exponential_layers_float(void);

/* Whether the word's position is inside; *x: the variate. The sign is a bit, as no branch
 * predicts it. */
static inline bool asn_layer_normal(const asn_layer *layers, uint64_t word, double *x) {
    const asn_layer *layer = layers + (word & 0xff);
    uint64_t position = word >> 9 & 0x000fffffffffffff, bits;
    double size = (double)(int64_t)position * layer->scale;
    memcpy(&bits, &size, sizeof bits);
    bits ^= (word & 0x100) << 55;
    memcpy(x, &bits, sizeof bits);
    return position < layer->inside;
}

static inline bool asn_layer_exponential(const asn_layer *layers, uint64_t word,
                                         double *x) {
    const asn_layer *layer = layers + (word >> 3 & 0xff);
    uint64_t position = word >> 11;
    *x = (double)(int64_t)position * layer->scale;
    return position < layer->inside;
}

/* The words that wait in the buffer, up to `most`; 0 of them where the engine is the
 * twister, whose words are halves. */
static inline const uint64_t *asn_words_waiting(const asn_words *w, int64_t most,
                                                int64_t *count) {
    int64_t left = w->g->kind == ASN_MT19937 ? 0 : w->filled - w->at;
    *count = most < left ? most : left;
    return w->wide + w->at;
}

/* The same in halves, none while one of a word before waits. Whoever has used `used` of
 * them says so. */
static inline const uint32_t *asn_halves_waiting(const asn_words *w, int64_t most,
                                                 int64_t *count) {
    asn_words_waiting(w, w->has_half ? 0 : (most + 1) / 2, count);
    *count = 2 * *count < most ? 2 * *count : most;
    return w->narrow + 2 * w->at;
}

static inline void asn_halves_used(asn_words *w, int64_t used) {
    if (used == 0) return;
    w->at += (int)(used + 1) / 2;
    w->has_half = used % 2;
    if (w->has_half) w->half = w->narrow[2 * w->at - 1];
}

#endif
