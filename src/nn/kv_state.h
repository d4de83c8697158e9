/* L2 nn: what a cache is made of (kv_cache.h says what it does); for the files of this
 * folder alone. */
#ifndef ASN_NN_KV_STATE_H
#define ASN_NN_KV_STATE_H

#include "nn/kv_cache.h"

/* A layer's arrays; the scales are int8's alone. */
enum { ASN_KV_KEYS, ASN_KV_VALUES, ASN_KV_KEY_SCALES, ASN_KV_VALUE_SCALES, ASN_KV_PARTS };

/* Of a sequence in one layer: tokens [base, length) are there, and in rows token base
 * lies at place 0. In blocks base is not used: the table says it. */
typedef struct {
    int64_t length, base;
} asn_kv_extent;

typedef struct {
    asn_array
        part[ASN_KV_PARTS]; /* of `made` layers; in rows (slots, heads, capacity,
                               head_dim or 1), in blocks (blocks, size, heads, ...) */
    bool made;
    int32_t slots;
    int64_t capacity;
    asn_kv_extent *extents; /* one a sequence */
} asn_kv_layer;

/* Its number is its place. blocks[i] holds the tokens from (first + i) * block_size on.
 */
typedef struct {
    bool used;
    int32_t *blocks;
    int64_t first, count, room;
} asn_kv_sequence;

struct asn_kv_cache {
    asn_kv_options o;
    int num_parts;       /* 2, of int8 4 */
    int32_t slots, room; /* sequences that ever were in use, and room for them */
    asn_kv_sequence *sequences;
    asn_kv_layer *layers;
    int32_t *free_blocks; /* a stack */
    int64_t num_free, moved;
    asn_array triangle; /* CANN's compressed mask, once it was needed */
    bool has_triangle;
};

/* In blocks, not in rows. */
static inline bool asn_kv_paged(const asn_kv_cache *c) {
    return c->o.block_size > 0;
}

/* A part's columns: a token and head's elements. */
static inline int64_t asn_kv_columns(const asn_kv_cache *c, int part) {
    return part < ASN_KV_KEY_SCALES ? c->o.head_dim : 1;
}

/* The dtype of a part. */
static inline asn_dtype asn_kv_part_dtype(const asn_kv_cache *c, int part) {
    return part < ASN_KV_KEY_SCALES ? c->o.dtype : ASN_F32;
}

/* The first token that is there. */
static inline int64_t asn_kv_base(const asn_kv_cache *c, int32_t layer, int32_t s) {
    return asn_kv_paged(c) ? c->sequences[s].first * c->o.block_size
                           : c->layers[layer].extents[s].base;
}

/* Checks a layer and n sequences, each in use and named once. INDEX, VALUE. `what`: the
 * function, for the message. */
ASN_CHECK_RESULT asn_status asn_kv_check(const asn_kv_cache *c, int32_t layer, int32_t n,
                                         const int32_t *sequences, const char *what);
/* New arrays of a layer, of which storage is taken. MEMORY. */
ASN_CHECK_RESULT asn_status asn_kv_make_parts(const asn_kv_cache *c, int32_t slots,
                                              int64_t capacity, asn_array *part);
/* The same as the layer's: takes them. */
void asn_kv_set_parts(const asn_kv_cache *c, asn_kv_layer *l, int32_t slots,
                      int64_t capacity, asn_array *part);

/* ---- kv_store.c: integers of the host's in a new array; int8 */

/* Row-major, dtype int32 or int64. Made by the device where they are few runs with equal
 * steps, as the slots of new tokens and the numbers of blocks are: nothing waits then. */
ASN_CHECK_RESULT asn_status asn_kv_integers(asn_array *out, asn_dtype dtype, int ndim,
                                            const int64_t *shape, const int64_t *values);
ASN_CHECK_RESULT asn_status asn_kv_quantise(asn_array *q, asn_array *scale,
                                            const asn_array *x);
/* q * scale, as dtype. */
ASN_CHECK_RESULT asn_status asn_kv_dequantise(asn_array *out, const asn_array *q,
                                              const asn_array *scale, asn_dtype dtype);

/* ---- in rows (kv_rows.c) */

/* Room for t more tokens of the sequences. */
ASN_CHECK_RESULT asn_status asn_kv_rows_reserve(asn_kv_cache *c, int32_t layer, int32_t n,
                                                const int32_t *sequences, int64_t t);
/* Writes new tokens, of each part an array (n, heads, t, columns). */
ASN_CHECK_RESULT asn_status asn_kv_rows_write(asn_kv_cache *c, int32_t layer, int32_t n,
                                              const int32_t *sequences,
                                              const asn_array *const *parts);
/* A view of a part's sequences [s, s + n) and places [from, from + count). */
ASN_CHECK_RESULT asn_status asn_kv_rows_view(asn_array *out, const asn_kv_layer *l,
                                             int part, int32_t s, int32_t n, int64_t from,
                                             int64_t count);

/* ---- in blocks (kv_blocks.c) */

ASN_CHECK_RESULT asn_status asn_kv_blocks_reserve(asn_kv_cache *c, int32_t layer,
                                                  int32_t n, const int32_t *sequences,
                                                  int64_t t);
ASN_CHECK_RESULT asn_status asn_kv_blocks_write(asn_kv_cache *c, int32_t layer, int32_t n,
                                                const int32_t *sequences,
                                                const asn_array *const *parts);
/* Gives back the blocks behind the first `count` tokens of the sequence's. */
void asn_kv_blocks_cut(asn_kv_cache *c, int32_t s, int64_t count);
/* A sequence's tokens of two parts (keys and values, or their scales), copied in a row:
 * (tokens, heads, columns). */
ASN_CHECK_RESULT asn_status asn_kv_blocks_gather(asn_kv_cache *c, int32_t layer,
                                                 int32_t s, int part, asn_array out[2]);

/* ---- attention (kv_composed.c, kv_attention.c) */

/* What a call asks for. */
typedef struct {
    int64_t heads, tokens; /* of queries */
    double scale;
} asn_kv_query;

/* As a composition: q (heads, t, head_dim), k and v (kv_heads, keys, head_dim), into out
 * of q's shape. */
ASN_CHECK_RESULT asn_status asn_kv_composed(const asn_kv_cache *c,
                                            const asn_kv_query *query, const asn_array *q,
                                            const asn_array *k, const asn_array *v,
                                            const asn_array *out);

/* ---- CANN's operators, which have more parameters than ASN_OPERATOR passes on */

#include "graph/device/operator.h"

/* Behind a first phase: *done false where the device refuses what is asked; else the
 * second phase. */
ASN_CHECK_RESULT asn_status asn_kv_launch(const asn_acl_operator *op, int code,
                                          uint64_t workspace, aclOpExecutor *executor,
                                          const char *what, bool *done);

#endif
