/* L1 random: one draw of many numbers, described: what a binding's functions of uniform
 * and normal numbers and of integers come down to. */
#ifndef ASN_RANDOM_DRAW_H
#define ASN_RANDOM_DRAW_H

#include "base/dtype.h"
#include "random/bitgen.h"

/* GAUSS: RandomState's normal numbers, by the polar method. */
typedef enum {
    ASN_DRAW_UNIFORM,
    ASN_DRAW_NORMAL,
    ASN_DRAW_GAUSS,
    ASN_DRAW_BOUNDED
} asn_draw_kind;

/* offset, range, masked: of BOUNDED, as in asn_fill_bounded. */
typedef struct {
    asn_draw_kind kind;
    asn_dtype dtype;
    bool masked;
    uint64_t offset, range;
    double start, stretch; /* of asn_draw_fill_scaled: start + stretch * drawn */
} asn_draw;

/* n numbers of d's dtype into out; engine: an asn_bitgen, what: an asn_draw (void, for
 * asn_array_fill). */
ASN_CHECK_RESULT asn_status asn_draw_fill(void *engine, const void *what, int64_t n,
                                          void *out);
/* float64 numbers, stretched and moved. */
ASN_CHECK_RESULT asn_status asn_draw_fill_scaled(void *engine, const void *what,
                                                 int64_t n, void *out);

#endif
