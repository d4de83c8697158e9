/* CPU device, operators: rows of floats that end as small integers.
 *
 * Operators that compute something a row at a time and quantise it (a normalisation, a
 * gated activation) share the end: a row of float32 becomes integers, by scales and
 * offsets that are given or by a scale that the row itself gives. */
#ifndef ASN_DEVICE_OPAPI_QUANT_ROW_QUANT_H
#define ASN_DEVICE_OPAPI_QUANT_ROW_QUANT_H

#include "device/opapi/quant/quant.h"

/* One quantised output. Its operands, -1: absent; the rest is set for the run. */
typedef struct {
    int y, scale, offset, scale_out;
    bool dynamic; /* scale multiplies the row first, whose own scale is told */
    bool divides; /* given scales divide */
    bool inverse; /* the scale that is told is the one that multiplied */
    int32_t bottom, top;
    bool packs;
    asnd_view out, scales;
    const float *factor, *shift; /* one row, or one for each group of rows */
    int64_t factor_size, shift_size;
    int32_t *q;
} asnd_row_quant;

/* y is of int8, of int4, or of int32 (eight int4 in each), shaped as `ndim` and `shape`
 * with the last extent n; scale_out has the leading ones. */
ASN_CHECK_RESULT asn_status asn_row_quant_check(const asnd_call *c,
                                                const asnd_row_quant *r, int ndim,
                                                const int64_t *shape);
/* A tensor of scales: floats, one or n of them, or `groups` times as many. */
ASN_CHECK_RESULT asn_status asn_row_quant_factor(const asnd_call *c, int operand,
                                                 const char *name, int64_t n,
                                                 int64_t groups);
/* In the body: memory; a row, of the group whose scales it takes; the end. */
ASN_CHECK_RESULT asn_status asn_row_quant_begin(aclOpExecutor *e, asnd_row_quant *r,
                                                int64_t rows, int64_t n, asnd_tmp *tmp);
void asn_row_quant_put(asnd_row_quant *r, int64_t row, int64_t group, float *v,
                       int64_t n);
/* A row alone: to int8; gives its scale. */
float asn_quant_row(const float *v, int64_t n, int8_t *q);
ASN_CHECK_RESULT asn_status asn_row_quant_end(aclOpExecutor *e, asnd_row_quant *r);

#endif
