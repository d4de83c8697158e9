/* CPU device, operators: what the faces of attention share: layouts, the rows of tensors
 * with their temporaries, and which keys a query sees.
 *
 * A layout names the dimensions: batch B, sequence S, head N, column D, H = N * D, and T
 * = all sequences in a row. */
#ifndef ASN_DEVICE_OPAPI_NN_ATTENTION_H
#define ASN_DEVICE_OPAPI_NN_ATTENTION_H

#include "device/cpu/nn/attention.h"
#include "device/opapi/core/plan.h"

typedef enum {
    ASN_ATTN_BSH,
    ASN_ATTN_SBH,
    ASN_ATTN_BNSD,
    ASN_ATTN_BSND,
    ASN_ATTN_TND,
    ASN_ATTN_NSD,
    ASN_ATTN_LAYOUTS
} asnd_attn_layout;

/* Extents of a tensor in a layout; of TND: b 1, s all rows. */
typedef struct {
    int64_t b, s, n, d;
} asnd_attn_extents;

/* The layout of a name. The text of those allowed is `allowed`. */
ASN_CHECK_RESULT asn_status asn_attn_layout_of(const asnd_call *c, const char *name,
                                               const char *allowed,
                                               asnd_attn_layout *layout);
/* Parameter i's extents; heads: what H is divided by. Its dtype is real and floating. */
ASN_CHECK_RESULT asn_status asn_attn_extents_of(const asnd_call *c, int i,
                                                asnd_attn_layout layout, int64_t heads,
                                                asnd_attn_extents *x);
/* The shape of a tensor of these extents; returns its dimensions. */
int asn_attn_shape(const asnd_attn_extents *x, asnd_attn_layout layout, int64_t *shape);

/* The rows of a tensor whose last dimension is contiguous; d: columns of a head. */
void asn_attn_rows(asnd_rows *r, const asnd_nd *a, asnd_attn_layout layout, int64_t d);
/* v: the tensor, or a copy of it whose last dimension is contiguous. */
ASN_CHECK_RESULT asn_status asn_attn_input(asnd_tmp *tmp, const asnd_nd *a, asnd_view *v);
/* v: the tensor to write, or a temporary in its place (*moved) where its last dimension
 * is not contiguous, or it meets one of the inputs (n of them, NULL: none). */
ASN_CHECK_RESULT asn_status asn_attn_output(asnd_tmp *tmp, const asnd_nd *a,
                                            const asnd_nd *const *inputs, int n,
                                            asnd_view *v, bool *moved);

/* A mask or bias that broadcasts to (b, n, rows, columns); of three dimensions: without
 * heads. `larger`: rows and columns may be more. */
ASN_CHECK_RESULT asn_status asn_attn_check_scores(const asnd_call *c, int i, int64_t b,
                                                  int64_t n, int64_t rows,
                                                  int64_t columns, bool larger);
ASN_CHECK_RESULT asn_status asn_attn_scores(asnd_tmp *tmp, const asnd_nd *a, int64_t b,
                                            int64_t n, int64_t rows, int64_t columns,
                                            asnd_rows *r);

/* What sparseMode hides of a sequence (number `at` of `count`), once there is a mask;
 * pre, next: tokens before and after that a query sees. */
void asn_attn_band(asnd_sequence *s, int64_t mode, int64_t pre, int64_t next,
                   int64_t prefix, int64_t at, int64_t count);
/* The mode reads the mask's elements, which is no compressed one. */
static inline bool asn_attn_reads_mask(int64_t mode) {
    return mode == 0 || mode == 1 || mode == 5;
}

#endif
