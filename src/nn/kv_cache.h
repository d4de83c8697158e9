/* L2 nn: keys and values of the tokens that a language model has seen, for every layer
 * and sequence, and attention over them.
 *
 * A step appends the keys and values of its new tokens; what is there is not copied
 * (Pope et al., "Efficiently Scaling Transformer Inference", 2022). All copies are
 * operations on the library's stream: no function here waits for the device.
 *
 * Two ways to store, chosen when a cache is made:
 *
 *   in rows   each layer has arrays (sequences, kv_heads, capacity, head_dim). Where a
 *             sequence outgrows the capacity the layer's arrays are made anew, twice as
 *             long as is needed then, and what they held is copied.
 *   in blocks each layer has a pool (blocks, block_size, kv_heads, head_dim), all of it
 *             taken at the first write; a sequence has a table of the blocks it uses, the
 *             same in all layers (Kwon et al., "Efficient Memory Management for Large
 *             Language Model Serving with PagedAttention", 2023). Growth takes blocks
 *             from a list and copies nothing.
 *
 * Under a window of w tokens a query sees itself and the w - 1 tokens before it; older
 * ones are given up: in rows the last w - 1 move to the front when there is no room, in
 * blocks a block is given back when no layer needs a token of it.
 *
 * dtype int8 keeps x as rint(x / scale) with scale = max |x| / 127 of each token and
 * head, in float32: the error is at most scale / 2, for finite x.
 *
 * Callers hold the library's lock. A cache has no part in a capture: RUNTIME. */
#ifndef ASN_NN_KV_CACHE_H
#define ASN_NN_KV_CACHE_H

#include "graph/array.h"

typedef struct {
    int32_t layers, kv_heads, head_dim;
    int32_t sequences; /* in use from the start: 0 ... sequences - 1 */
    asn_dtype dtype;   /* stored: float16, bfloat16, float32, float64, int8 */
    int64_t window;    /* 0: none */
    int64_t capacity;  /* in rows: tokens that the first arrays have; 0: as needed */
    int64_t block_size, blocks; /* in blocks: both more than 0; else 0 */
    bool composed; /* no operator of CANN's for attention and blocks: compositions */
} asn_kv_options;

typedef struct asn_kv_cache asn_kv_cache;

/* VALUE: an option is out of its range; TYPE: a dtype that cannot be stored. MEMORY. */
ASN_CHECK_RESULT asn_status asn_kv_new(const asn_kv_options *options, asn_kv_cache **out);
/* NULL is nothing. */
void asn_kv_free(asn_kv_cache *c);

/* An empty sequence, the lowest number that is not in use. MEMORY. */
ASN_CHECK_RESULT asn_status asn_kv_add(asn_kv_cache *c, int32_t *sequence);
/* Gives its tokens up. VALUE: it is not in use. */
ASN_CHECK_RESULT asn_status asn_kv_drop(asn_kv_cache *c, int32_t sequence);

/* Appends tokens to a layer of n sequences. k, v: (n, kv_heads, tokens, head_dim), real
 * and floating, cast to what is stored. positions: of the first new token of each, which
 * must be where the layer is. VALUE: it is not (a gap, or tokens once more), shapes,
 * sequences that are not in use or named twice. TYPE. INDEX: no such layer. MEMORY: no
 * memory, or not enough free blocks; the cache is as before then. */
ASN_CHECK_RESULT asn_status asn_kv_update(asn_kv_cache *c, int32_t layer,
                                          const asn_array *k, const asn_array *v,
                                          int32_t n, const int32_t *sequences,
                                          const int64_t *positions);
/* Forgets the tokens from `position` on, in all layers. VALUE: no layer has got so far,
 * or what the window needs before it is given up. */
ASN_CHECK_RESULT asn_status asn_kv_truncate(asn_kv_cache *c, int32_t sequence,
                                            int64_t position);
/* Tokens [*first, *position) of a sequence are there. */
ASN_CHECK_RESULT asn_status asn_kv_tokens(const asn_kv_cache *c, int32_t layer,
                                          int32_t sequence, int64_t *first,
                                          int64_t *position);

/* Those tokens' keys and values, (kv_heads, tokens, head_dim): in rows views, which a
 * later update may leave behind; of blocks and int8 (then float32) copies. */
ASN_CHECK_RESULT asn_status asn_kv_read(asn_kv_cache *c, int32_t layer, int32_t sequence,
                                        asn_array *k, asn_array *v);
/* softmax(scale q k', later tokens and those before the window hidden) v, a new array of
 * q's shape and dtype. q: (n, heads, tokens, head_dim), real and floating, the last
 * tokens of each sequence; kv_heads divides heads, heads next to each other share one
 * (grouped queries; Ainslie et al., "GQA", 2023). scale NULL: 1 / sqrt(head_dim). VALUE:
 * shapes, sequences, more queries than tokens, tokens that were given up. */
ASN_CHECK_RESULT asn_status asn_kv_attention(asn_kv_cache *c, int32_t layer,
                                             const asn_array *q, int32_t n,
                                             const int32_t *sequences,
                                             const double *scale, asn_array *out);

/* The blocks of a sequence in order, borrowed until the next change, and the first
 * token's place in the sequence; none in rows. */
ASN_CHECK_RESULT asn_status asn_kv_table(const asn_kv_cache *c, int32_t sequence,
                                         const int32_t **blocks, int64_t *count,
                                         int64_t *first);

typedef struct {
    int64_t nbytes;      /* of all layers' arrays */
    int64_t capacity;    /* in rows: tokens a sequence has room for, in the first layer;
                            in blocks: of all blocks */
    int64_t free_blocks; /* 0 in rows */
    int32_t sequences;   /* in use */
    int64_t moved;       /* tokens copied by growth and windows, keys and values as one,
                            counted in each layer and sequence */
} asn_kv_stats;
void asn_kv_get_stats(const asn_kv_cache *c, asn_kv_stats *out);

#endif
