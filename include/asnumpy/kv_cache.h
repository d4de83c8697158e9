/* AsNumpy in C: keys and values of the tokens that a language model has seen, and
 * attention over them. Include asnumpy/asnumpy.h.
 *
 *     asnp_kv_cache_options o = {32, 8, 128, 1, ASNP_FLOAT16};
 *     asnp_kv_cache *cache = NULL;
 *     int64_t position = 0;
 *     if (asnp_kv_cache_new(&o, &cache)) return 1;
 *     ... for each layer of each step, with k, v (1, 8, tokens, 128), q (1, 32, ...)
 *     asnp_kv_cache_update(cache, layer, k, v, 1, NULL, &position);
 *     asnp_kv_cache_attention(cache, layer, q, 1, NULL, NULL, &out);
 *     ...
 *     asnp_kv_cache_release(cache);
 *
 * Only what is new is copied, on the library's stream; nothing waits. Sequences in rows
 * have arrays that are made anew, twice as long as needed, when they are full; in blocks
 * (block_size and blocks given) a sequence takes blocks from a pool, which is the limit
 * of the cache's memory. Under a window of w tokens a query sees itself and the w - 1
 * tokens before it, and older ones are given up. int8 has one scale a token and head, max
 * |x| / 127, and is off by half a scale at most.
 *
 * sequences NULL stands for 0 ... n - 1 everywhere. A capture (asnp_capture_begin) cannot
 * contain these calls: RUNTIME. Any thread may call. */
#ifndef ASNUMPY_KV_CACHE_H_
#define ASNUMPY_KV_CACHE_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asnp_kv_cache asnp_kv_cache;

typedef struct {
    int32_t layers, kv_heads, head_dim; /* at least 1 each */
    int32_t sequences; /* in use from the start; more by asnp_kv_cache_add */
    asnp_dtype dtype;  /* stored: float16, bfloat16, float32, float64, int8 */
    int32_t composed;  /* not 0: none of CANN's operators for attention and blocks, but
                          compositions of array operations, as where it lacks them */
    int64_t window;    /* tokens that a query sees; 0: all before it */
    int64_t capacity;  /* in rows: tokens of the first arrays; 0: as needed */
    int64_t block_size, blocks; /* both 0: in rows */
} asnp_kv_cache_options;

/* An empty cache, ended by asnp_kv_cache_release. VALUE: an option out of its range;
 * TYPE: another dtype; MEMORY. */
ASNUMPY_API asnp_status asnp_kv_cache_new(const asnp_kv_cache_options *options,
                                          asnp_kv_cache **out);
/* NULL is nothing. Work that is queued may go on. */
ASNUMPY_API void asnp_kv_cache_release(asnp_kv_cache *cache);

/* An empty sequence: the lowest number that is not in use. MEMORY. */
ASNUMPY_API asnp_status asnp_kv_cache_add(asnp_kv_cache *cache, int32_t *sequence);
/* Gives its tokens up; its number may be given out again. VALUE: it is not in use. */
ASNUMPY_API asnp_status asnp_kv_cache_free(asnp_kv_cache *cache, int32_t sequence);

/* Appends tokens to a layer of n sequences. k, v: (n, kv_heads, tokens, head_dim), real
 * and floating, cast to what is stored. positions: n, where the new tokens begin, which
 * must be where the layer ends. VALUE: it is not, a shape, a sequence that is not in use
 * or named twice. TYPE. INDEX: the layer. MEMORY: there is none, or too few free blocks;
 * the cache stays as it was. */
ASNUMPY_API asnp_status asnp_kv_cache_update(asnp_kv_cache *cache, int32_t layer,
                                             const asnp_array *k, const asnp_array *v,
                                             int32_t n, const int32_t *sequences,
                                             const int64_t *positions);
/* softmax(scale q k') v for the last tokens of n sequences, each of which sees itself and
 * those before it, within the window. q: (n, heads, tokens, head_dim), real and floating;
 * heads: a multiple of kv_heads, those next to each other sharing one. *out: of q's shape
 * and dtype. scale NULL: 1 / sqrt(head_dim). VALUE, TYPE, INDEX, MEMORY as above; VALUE,
 * too, where the keys are not there, or no more. */
ASNUMPY_API asnp_status asnp_kv_cache_attention(asnp_kv_cache *cache, int32_t layer,
                                                const asnp_array *q, int32_t n,
                                                const int32_t *sequences,
                                                const double *scale, asnp_array **out);
/* Forgets a sequence's tokens from `position` on, in all layers. VALUE: it has fewer, or
 * the window needs tokens before it that were given up. */
ASNUMPY_API asnp_status asnp_kv_cache_truncate(asnp_kv_cache *cache, int32_t sequence,
                                               int64_t position);

/* Tokens [*first, *position) of a sequence are there. INDEX, VALUE. */
ASNUMPY_API asnp_status asnp_kv_cache_tokens(const asnp_kv_cache *cache, int32_t layer,
                                             int32_t sequence, int64_t *first,
                                             int64_t *position);
/* Their keys and values, (kv_heads, tokens, head_dim): of sequences in rows views, which
 * hold until the cache changes; of blocks copies; of int8 float32 copies. */
ASNUMPY_API asnp_status asnp_kv_cache_read(asnp_kv_cache *cache, int32_t layer,
                                           int32_t sequence, asnp_array **k,
                                           asnp_array **v);
/* A sequence's blocks in order, the same in all layers: *blocks is borrowed until the
 * cache changes; *first: the token at which the first one begins. None in rows. VALUE. */
ASNUMPY_API asnp_status asnp_kv_cache_blocks(const asnp_kv_cache *cache, int32_t sequence,
                                             const int32_t **blocks, int64_t *count,
                                             int64_t *first);

typedef struct {
    int64_t nbytes;      /* of the arrays of all layers */
    int64_t capacity;    /* tokens: in rows of a sequence of layer 0, in blocks of all */
    int64_t free_blocks; /* 0 in rows */
    int64_t moved;     /* tokens copied by growth and windows since the cache was made, in
                          each     layer and sequence */
    int32_t sequences; /* in use */
} asnp_kv_cache_state;
ASNUMPY_API asnp_status asnp_kv_cache_get_state(const asnp_kv_cache *cache,
                                                asnp_kv_cache_state *out);

#ifdef __cplusplus
}
#endif
#endif
