/* L2 precision, private: the product in one dtype, and what is known of its operands. */
#ifndef ASN_PRECISION_NARROW_H
#define ASN_PRECISION_NARROW_H

#include "precision/precision.h"

/* float16's largest; products of more terms than MOST_TERMS might wrap in int32. */
#define ASN_FLOAT16_MOST 65504.0
enum { ASN_INT8_MOST_TERMS = 1 << 17 };

/* Extents of a product: stacks of (m, k) by (k, n). */
typedef struct {
    int64_t m, k, n, batch;
} asn_precision_shape;
asn_precision_shape asn_precision_shape_of(const asn_array *a, const asn_array *b);

/* What a look at the elements says. most: the largest magnitude, NaN where there is one.
 * norm: Frobenius', where it is asked for: that takes a second look. */
typedef struct {
    double most, norm;
} asn_precision_look;
ASN_CHECK_RESULT asn_status asn_precision_look_at(const asn_array *x, bool norm,
                                                  asn_precision_look *look);
/* e with ||A' - A|| <= e ||A|| for A rounded to a half; any finite A for bfloat16. */
double asn_precision_rounding(asn_dtype dtype, const asn_precision_look *look,
                              int64_t size);
/* The same of int8, from its scales along an axis of k elements. */
ASN_CHECK_RESULT asn_status asn_precision_steps(const asn_array *scale, int64_t k,
                                                double norm, double *e);
/* That of the product: both operands, k terms in float32, the result's own rounding. */
double asn_precision_combine(asn_dtype dtype, double a, double b, int64_t k);

/* What subnormal results of float16 add, `size` of them. */
double asn_precision_underflow(const asn_precision_look *a, const asn_precision_look *b,
                               double size);
/* Whether a product in float16 stays within its range, by a look at both. */
bool asn_precision_in_range(const asn_precision_look *a, const asn_precision_look *b,
                            int64_t k);

/* What stands in the way of a dtype. */
typedef enum { ASN_NARROW_DONE, ASN_NARROW_RANGE, ASN_NARROW_ERROR } asn_narrow;
/* a @ b (float32, or halves) as float32, computed in `p->dtype`. p->automatic: only
 * within p->error. Where *outcome is not DONE nothing was made. */
ASN_CHECK_RESULT asn_status asn_precision_narrow(const asn_array *a, const asn_array *b,
                                                 const asn_precision *p,
                                                 asn_array *result, asn_narrow *outcome);

/* Gains (gains.c): the measured one of such a product; stored: b is of dtype already. It
 * is measured where that was not done. The library's lock is held. */
ASN_CHECK_RESULT asn_status asn_precision_measure(asn_dtype dtype, bool stored,
                                                  const asn_precision_shape *s,
                                                  double *gain);
/* Below this a dtype has no gain worth its error: the noise of such measurements. */
#define ASN_PRECISION_LEAST_GAIN 1.2

#endif
