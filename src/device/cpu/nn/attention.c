/* CPU device: attention, for float32 and float64 (attention.inc has the algorithm). */
#include "device/cpu/nn/attention.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/gemm/gemm.h"
#include "device/cpu/kernels.h"
#include "device/cpu/scratch.h"
#include "device/cpu/threads.h"

/* Rows of queries and of keys of a block: 256 KiB of scores in float32. */
enum { QUERIES = 128, KEYS = 512 };
/* Chunks that are left, at least, where heads share keys and values, and nanoseconds of
 * work below which that does not matter. */
enum { CHUNKS = 8, SMALL = 50000 };
/* Rows of queries that read keys and values where they lie, at most, and columns. */
enum { FEW = 8, WIDEST = 512 };

/* One region of the pool: what all chunks share. blocks: of queries, of the longest
 * sequence; shared: heads of a chunk (forward). */
typedef struct {
    const asnd_attention *a;
    int64_t blocks, shared;
    atomic_bool failed; /* all errors are lack of memory */
} job;

/* A matrix of the arithmetic's dtype; strides in bytes. */
typedef struct {
    char *data;
    int64_t row, col;
} matrix;

static char *at(const asnd_rows *x, int64_t batch, int64_t head, int64_t row) {
    return x->data + batch * x->batch + head * x->head + row * x->row;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The keys [*from, *to) that queries [i, i + m) may see by the band. */
static void seen(const asnd_sequence *s, int64_t i, int64_t m, int64_t *from,
                 int64_t *to) {
    int64_t low = i + s->low, high = i + m + s->high;
    *from = s->prefix > 0 || low < 0 ? 0 : least(low, s->rows_k);
    *to = least(high > s->prefix ? high : s->prefix, s->rows_k);
}

static bool kept(const uint8_t *drop, int64_t bit) {
    return drop[bit / 8] >> (bit % 8) & 1;
}

/* Nanoseconds on one thread, roughly: 4 flops a score and column, ten backwards. */
static double work_of(const asnd_attention *a, double flops) {
    double scores = 0;
    for (int64_t s = 0; s < a->num_sequences; s++)
        scores += (double)a->sequences[s].rows_q * (double)a->sequences[s].rows_k;
    return scores * (double)a->heads *
           (1 + flops / 100 * (double)(a->d[0] + a->d[1] + a->dv) / 2);
}

static int64_t longest(const asnd_attention *a) {
    int64_t most = 0;
    for (int64_t s = 0; s < a->num_sequences; s++)
        if (a->sequences[s].rows_q > most) most = a->sequences[s].rows_q;
    return most;
}

#define T        float
#define T_DTYPE  ASN_F32
#define T_LEAST  FLT_MAX
#define T_EXP(x) expf(x)
#define NAME(x)  x##_f32
#include "device/cpu/nn/attention.inc"
#undef T
#undef T_DTYPE
#undef T_LEAST
#undef T_EXP
#undef NAME

#define T        double
#define T_DTYPE  ASN_F64
#define T_LEAST  DBL_MAX
#define T_EXP(x) exp(x)
#define NAME(x)  x##_f64
#include "device/cpu/nn/attention.inc"

/* How many heads read the same keys and values together: those of a head of keys where
 * queries are one block (a model that writes word after word has one query), unless few
 * chunks are left for threads. It does not depend on their number. */
static int64_t shared_heads(const asnd_attention *a, int64_t rows, double ns) {
    const int64_t group = a->heads / a->kv_heads;
    const int64_t wanted = ns < SMALL ? 1 : CHUNKS;
    int64_t most = rows > 0 && rows <= QUERIES ? least(group, QUERIES / rows) : 1;
    while (most > 1 && (group % most || a->num_sequences * a->heads / most < wanted))
        most--;
    return most;
}

/* Runs the chunks; `serial`: one after the other, each shared out from within. */
static asn_status run(const asnd_attention *a, asnd_pool_fn fn, int64_t blocks,
                      int64_t shared, int64_t chunks, double ns, bool serial) {
    job j = {.a = a, .blocks = blocks, .shared = shared};
    atomic_init(&j.failed, false);
    if (serial)
        for (int64_t c = 0; c < chunks; c++)
            fn(&j, c);
    else
        asn_pool_run(fn, &j, chunks, ns);
    if (!atomic_load(&j.failed)) return ASN_OK;
    return asn_error_set(ASN_ERR_MEMORY, "attention: out of memory");
}

asn_status asn_attention_forward(const asnd_attention *a) {
    const double ns = work_of(a, 4);
    const int64_t rows = longest(a), blocks = (rows + QUERIES - 1) / QUERIES;
    const int64_t shared = shared_heads(a, rows, ns);
    return run(a, a->t == ASN_F64 ? forward_chunk_f64 : forward_chunk_f32, blocks, shared,
               a->num_sequences * a->heads / shared * blocks, ns, false);
}

/* A chunk is a sequence and a head of keys, whose gradients it sums up. */
asn_status asn_attention_backward(const asnd_attention *a) {
    return run(a, a->t == ASN_F64 ? backward_chunk_f64 : backward_chunk_f32, 0, 0,
               a->num_sequences * a->kv_heads, work_of(a, 10),
               a->dpse.data != NULL && a->shared_pse);
}
