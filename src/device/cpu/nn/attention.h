/* CPU device: attention over sequences, block by block, and its gradient.
 *
 * out = dropout(softmax(scale * q k' + pse, -infinity where it is hidden)) v, for every
 * sequence and head. The scores of a block of queries and one of keys exist at a time,
 * never all of them: the running maximum and sum of each row rescale what has been summed
 * (online softmax; Dao, "FlashAttention-2", 2023). The gradient makes the probabilities
 * again from the maxima and sums that the forward pass saved.
 *
 * Blocks do not depend on the number of threads, and neither does a result.
 */
#ifndef ASN_DEVICE_CPU_NN_ATTENTION_H
#define ASN_DEVICE_CPU_NN_ATTENTION_H

#include "device/cpu/nd.h"

/* A tensor of rows of contiguous elements, of any real floating dtype; strides in bytes.
 * data NULL: there is none. */
typedef struct {
    char *data;
    int64_t batch, head, row;
    asn_dtype dtype;
} asnd_rows;

/* Queries and keys that see each other: rows [first, first + rows) of both. Query i sees
 * key j where low <= j - i <= high, or j < prefix, counted from the first rows. drop: the
 * bit of dropout's mask that is its first. */
typedef struct {
    int64_t batch, first_q, rows_q, first_k, rows_k;
    int64_t low, high, prefix, drop;
} asnd_sequence;

typedef struct {
    asn_dtype t;                            /* of the arithmetic: float32 or float64 */
    int64_t num_sequences, heads, kv_heads; /* kv_heads divides heads */
    const asnd_sequence *sequences;
    int64_t d[2], dv;        /* columns of q and k, of a second pair of them, of v */
    asnd_rows q[2], k[2], v; /* the pairs' products are added */
    /* Forward, or NULL: keys and values lie in blocks of `block` rows, which are k's and
     * v's batches. Those of sequence s, first to last, are table[s * num_blocks ...];
     * first_k has no meaning then. */
    const int32_t *table;
    int64_t num_blocks, block;
    asnd_rows pse, mask; /* of scores; mask: bytes, not 0: hidden */
    asnd_rows slopes;    /* float32, one a head: -slope * distance is added */
    int64_t shift;       /* of the distance |i + shift - j|; its root: */
    bool root;
    bool pse_first;          /* pse is scaled, too */
    double scale, keep;      /* keep: the probability of a bit of drop; 1: no dropout */
    const uint8_t *drop;     /* bit i % 8 of byte i / 8, (heads, queries, keys) */
    const float *sink;       /* one a head: a score without a value; or NULL */
    asnd_rows out;           /* forward: written; backward: read */
    asnd_rows max, sum, lse; /* statistics: floats, `width` equal columns; lse: one */
    int64_t width;
    asnd_rows dout, dq[2], dk[2], dvalue, dpse; /* backward; dpse: or NULL */
    bool shared_pse; /* dpse is one for several heads or sequences */
    double *dsink;   /* (sequences, heads), or NULL */
} asnd_attention;

/* A row that sees nothing: out is 0, max the least number, sum 0. ASN_ERR_MEMORY. */
ASN_CHECK_RESULT asn_status asn_attention_forward(const asnd_attention *a);
/* Overwrites dq, dk, dvalue; adds to dpse, which is of the arithmetic's dtype. */
ASN_CHECK_RESULT asn_status asn_attention_backward(const asnd_attention *a);

#endif
