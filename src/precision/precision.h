/* L2 precision: products of float32 computed in bfloat16, float16 or int8, and the rule
 * by which one is chosen.
 *
 * A caller (a thread of C, a context of Python) has settings; while they name a dtype, or
 * leave the choice open, the graph's products of float32 (asn_product_precision) come
 * here. Results stay float32.
 *
 * Errors are relative to the norms: ||C' - C|| <= error * ||A|| ||B|| in Frobenius' norm,
 * always. They come from the rounding of each operand, ||A' - A|| <= e ||A||, of the
 * result to a half, and of sums in float32. A gain is the time of the product in float32
 * over that in the other dtype with all conversions and looks at values, both measured
 * here on such shapes, once a process.
 */
#ifndef ASN_PRECISION_PRECISION_H
#define ASN_PRECISION_PRECISION_H

#include "graph/array.h"

typedef struct {
    asn_dtype dtype; /* float32: nothing is narrowed; bfloat16, float16, int8 */
    bool automatic;  /* whichever gains within `error`; dtype is float32 then */
    bool unchecked;  /* float16's range is not looked at */
    double error;    /* of automatic: the largest, > 0 */
} asn_precision;

/* The calling thread's settings: the former ones are returned. From the first narrowing
 * ones on, products ask. */
asn_precision asn_precision_set(asn_precision now);
/* VALUE: an error that is not positive; TYPE: another dtype. */
ASN_CHECK_RESULT asn_status asn_precision_check(const asn_precision *p);
/* A binding whose callers are not threads tells their settings; NULL: the threads' own.
 * Products ask from then on. */
void asn_precision_source(asn_precision (*source)(void));
/* Those in force for the caller. */
asn_precision asn_precision_present(void);

/* Products that came here and how they were computed, by dtype; and those that float16
 * was refused for, since a value or a sum may lie beyond 65504, or int8, for its error.
 */
typedef struct {
    int64_t float32, bfloat16, float16, int8, beyond_range, beyond_error;
} asn_precision_counts;
/* Since the last call with `clear`. Takes the library's lock. */
asn_precision_counts asn_precision_count(bool clear);

/* ---- the rule */

typedef enum {
    ASN_PRECISION_PRODUCT, /* a sum of products */
    ASN_PRECISION_BOUNDED, /* elementwise, and the result as large as its operands */
    ASN_PRECISION_WIDE     /* sums, exponentials, norms: float32 is needed */
} asn_precision_class;

typedef struct {
    asn_precision_class kind;
    int64_t rows;    /* of a product: rows of the other operand, at least 1 */
    bool transposed; /* the tensor is (n, k), else (k, n) */
    bool for_memory; /* the narrowest dtype is stored, whatever its gain */
    double error;    /* the largest, > 0 */
} asn_precision_question;

typedef struct {
    asn_dtype compute, memory;
    double error, gain; /* of compute */
    const char *reason; /* static */
} asn_precision_decision;

/* What a float32 tensor, finite and of two dimensions or more for a product, is to be
 * computed in and stored as. The other operand is taken to be like it, and is converted
 * at each call; the tensor once. Looks at its values, and measures. VALUE, TYPE. */
ASN_CHECK_RESULT asn_status asn_precision_decide(const asn_array *tensor,
                                                 const asn_precision_question *q,
                                                 asn_precision_decision *out);

/* The gains that were measured. */
typedef struct {
    asn_dtype dtype;
    bool stored;            /* the second operand is of it already */
    int64_t m, k, n, batch; /* that were measured; others of these powers of 2 share it */
    double float32_ns, ns;
} asn_precision_gain;
/* How many there are, and one of them; with the library's lock held. */
int asn_precision_gain_count(void);
asn_precision_gain asn_precision_gain_at(int i);

/* ---- int8 */

/* q = rint(x / scale), scale = max |x| / 127 along `axis` (not negative), which *scale
 * keeps with extent 1, 2**-126 at least. x: float32. A channel that is not finite becomes
 * NaN in products. VALUE: the axis is empty or is none. */
ASN_CHECK_RESULT asn_status asn_precision_quantise(asn_array *q, asn_array *scale,
                                                   const asn_array *x, int axis);
/* q * scale, float32. */
ASN_CHECK_RESULT asn_status asn_precision_dequantise(asn_array *out, const asn_array *q,
                                                     const asn_array *scale);
/* A product whose second operand is int8 (..., k, n) with float32 scales (..., 1, n) of
 * its columns; a, float32 of two dimensions or more, is quantised by rows. TYPE, VALUE.
 */
ASN_CHECK_RESULT asn_status asn_precision_multiply_int8(const asn_array *a,
                                                        const asn_array *q,
                                                        const asn_array *scale,
                                                        asn_array *result);

#endif
