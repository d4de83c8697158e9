/* CPU device, operators: single loops called without a program (aclnn/aclnnx.h).
 *
 * A ten-element add takes 5 ns; describing it as a program, validating that and entering
 * the stream took 60. Here the caller looks the loop up once and calls it with plain
 * addresses. Folds are those of the fused engine's first block: same order, same result.
 *
 * Loops are entries of static tables, made when they are first looked up, so a handle is
 * a pointer that is never freed. The caller's part of the bargain (graph/small): the
 * stream is idle, memory is row-major and the host's, and no other thread writes it.
 */
#include <string.h>

#include "base/forks.h"
#include "device/cpu/fpflags.h"
#include "device/cpu/fused/fused.h"
#include "device/cpu/gemm/gemm.h"
#include "device/opapi/core/loop_item.h"
#include "device/opbase/executor.h"

/* A loop of any kind: each uses some of the fields. */
struct aclnnxLoop {
    int32_t kind;
    asnd_cpu_loop map; /* a cast too */
    asnd_fold_fn fold;
    asnd_sum_fn sum;     /* of floats: instead of fold */
    asnd_ew_fn from_sum; /* the sum's float64 (or pair) to the element */
    asnd_arg_loops arg;
    /* The fold begins with the identity, else with the first element. */
    bool from_identity;
    uint8_t item;
    _Alignas(16) char identity[16];
    _Atomic int ready; /* 0: not looked at yet, 1: a loop, 2: none */
};

static aclnnxLoop maps[ASN_OP_COUNT][ASN_DTYPE_COUNT];
static aclnnxLoop folds[ASN_OP_COUNT][ASN_DTYPE_COUNT];
static aclnnxLoop casts[ASN_DTYPE_COUNT][ASN_DTYPE_COUNT];
static aclnnxLoop args[2][ASN_DTYPE_COUNT];

/* Sets up a fold; false: there is none. Floats are added up by the engine's own summation
 * (sum), else folded. Halves have none here: the engine widens them first. */
static bool make_fold(aclnnxLoop *l, asn_op op, asn_dtype dtype) {
    const asnd_kernels *k = asn_kernels_get();
    const asn_op_info *info = &asn_op_table[op];
    if (info->num_in != 2 || asn_is_half(dtype)) return false;
    l->fold = k->fold[op][dtype];
    l->sum = op == ASN_OP_ADD ? k->sum[dtype] : NULL;
    if (l->sum) l->from_sum = k->cast[asn_is_complex(dtype) ? ASN_C128 : ASN_F64][dtype];
    l->from_identity = info->has_identity && (info->flags & ASN_OPF_REORDERABLE);
    if (l->from_identity)
        k->cast[ASN_F64][dtype](1, l->identity, &info->identity, NULL, NULL);
    l->map.raises = (asn_op_table[op].flags & ASN_OPF_DIVIDES) ||
                    (asn_is_inexact(dtype) && !k->quiet[op][dtype]);
    return l->fold != NULL;
}

/* Sets up a search for the position of an extreme; false: there is none. With a fold,
 * blocks that do not hold the extreme are passed over. */
static bool make_arg(aclnnxLoop *l, bool smallest, asn_dtype dtype) {
    const asnd_kernels *k = asn_kernels_get();
    l->arg = k->arg[smallest][dtype];
    bool exact = !asn_is_half(dtype) && !asn_is_complex(dtype);
    if (exact) l->fold = k->fold[smallest ? ASN_OP_MINIMUM : ASN_OP_MAXIMUM][dtype];
    return l->arg.line != NULL;
}

/* The table's place for a loop; NULL: no such loop can be. */
static aclnnxLoop *place_of(int32_t kind, int32_t op, asn_dtype dtype) {
    bool row = op >= 0 && op < ASN_OP_CAST;
    switch (kind) {
    case ACLNNX_LOOP_MAP: return row ? &maps[op][dtype] : NULL;
    case ACLNNX_LOOP_FOLD: return row ? &folds[op][dtype] : NULL;
    case ACLNNX_LOOP_CAST: {
        asn_dtype to = asn_dtype_from_acl(op);
        return to == ASN_DTYPE_NONE ? NULL : &casts[dtype][to];
    }
    case ACLNNX_LOOP_ARG:
        return op == ASN_OP_MAXIMUM || op == ASN_OP_MINIMUM
                   ? &args[op == ASN_OP_MINIMUM][dtype]
                   : NULL;
    default: return NULL;
    }
}

/* Fills a place of a table; false: no such loop. Called once for each place, with the
 * lock held. */
static bool make(aclnnxLoop *l, int32_t kind, int32_t op, asn_dtype dtype) {
    l->kind = kind;
    l->item = (uint8_t)asn_itemsize(dtype);
    switch (kind) {
    case ACLNNX_LOOP_MAP: return asn_cpu_loop_find(&l->map, (asn_op)op, dtype);
    case ACLNNX_LOOP_FOLD: return make_fold(l, (asn_op)op, dtype);
    case ACLNNX_LOOP_CAST:
        return asn_cpu_loop_cast(&l->map, dtype, asn_dtype_from_acl(op));
    default: return make_arg(l, op == ASN_OP_MINIMUM, dtype);
    }
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of loops that are made */
ASN_FORK_TAKES(loops, &lock, ASN_FORK_LEAF)

/* Double-checked: once made, a look costs one load with acquire order. */
ASN_API const aclnnxLoop *aclnnxLoopFind(int32_t kind, int32_t op, int32_t dtype) {
    asn_dtype dt = asn_dtype_from_acl(dtype);
    aclnnxLoop *l = dt == ASN_DTYPE_NONE ? NULL : place_of(kind, op, dt);
    if (l == NULL) return NULL;
    if (atomic_load_explicit(&l->ready, memory_order_acquire) == 0) {
        pthread_mutex_lock(&lock);
        if (l->ready == 0)
            atomic_store_explicit(&l->ready, make(l, kind, op, dt) ? 1 : 2,
                                  memory_order_release);
        pthread_mutex_unlock(&lock);
    }
    return l->ready == 1 ? l : NULL;
}

/* out = the fold of n elements at src. At least one element where the operation has no
 * identity, which the caller has checked. */
static void run_fold(const aclnnxLoop *l, int64_t n, void *out, const char *src) {
    _Alignas(16) char element[32];
    if (l->sum) {
        double sum[2];
        l->sum(n, sum, src);
        sum[0] += 0.0; /* an empty sum is -0.0 */
        sum[1] += 0.0;
        l->from_sum(1, out, sum, NULL, NULL);
        return;
    }
    if (l->from_identity) {
        memcpy(element, l->identity, l->item);
    } else {
        memcpy(element, src, l->item);
        src += l->item;
        n--;
    }
    l->fold(n, element, src);
    memcpy(out, element, l->item);
}

/* *out = the position of the first extreme of n >= 1 elements; a NaN before all. */
static void run_arg(const aclnnxLoop *l, int64_t n, int64_t *out, const char *src) {
    enum { BLOCK = 256 };
    _Alignas(16) char best[16], top[16];
    int64_t found = 0;
    *out = 0;
    l->arg.first(src, best);
    if (!l->fold || n < 64) {
        l->arg.line(src, l->item, 0, n, best, out);
        return;
    }
    /* As cpu/arg.c: only the first block that holds the extreme is searched. */
    for (int64_t x = 0; x < n; x += BLOCK) {
        memcpy(top, src + x * l->item, l->item);
        l->fold(n - x < BLOCK ? n - x : BLOCK, top, src + x * l->item);
        if (!l->arg.beats(top, best)) continue;
        memcpy(best, top, sizeof best);
        found = x;
    }
    int64_t m = n - found < BLOCK ? n - found : BLOCK;
    *out = found + l->arg.find(src + found * l->item, m, best);
}

/* Folds and positions. *fp_flags receives the floating-point exceptions raised, except
 * where the operation raises none of its own: what its kernel raises is then left out. */
static void run_reducing(const aclnnxLoop *l, int64_t n, void *out, const void *src,
                         uint32_t *fp_flags) {
    bool tracks = fp_flags && l->map.raises;
    if (tracks) asn_fp_clear();
    if (l->kind == ACLNNX_LOOP_FOLD)
        run_fold(l, n, out, src);
    else
        run_arg(l, n, out, src);
    if (!tracks) return;
    uint32_t met = asn_fp_exceptions();
    if (met) __atomic_fetch_or(fp_flags, met, __ATOMIC_RELAXED);
}

/* Runs the loop here and now: in: addresses of the inputs; immediates: bit i: input i is
 * one element. */
ASN_API int32_t aclnnxLoopRun(const aclnnxLoop *loop, int64_t n, void *out,
                              const void *const *in, uint32_t immediates,
                              uint32_t *fpFlags) {
    if (loop == NULL || in == NULL || out == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR,
                         "aclnnxLoopRun: loop, in or out is NULL");
    if (loop->kind <= ACLNNX_LOOP_CAST) {
        if (n > 0) asn_cpu_loop_run(&loop->map, n, out, in, immediates, fpFlags);
        return ACLNN_SUCCESS;
    }
    bool needs_one = loop->kind == ACLNNX_LOOP_ARG || !(loop->sum || loop->from_identity);
    int64_t most =
        loop->kind == ACLNNX_LOOP_ARG ? ACLNNX_LOOP_ARG_BYTES : ACLNNX_LOOP_BYTES;
    if (n < needs_one || n > most / loop->item)
        return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                         "aclnnxLoopRun: %lld elements of %d bytes; %d to %d bytes are "
                         "allowed",
                         (long long)n, loop->item, needs_one * loop->item, (int)most);
    run_reducing(loop, n, out, in[0], fpFlags);
    return ACLNN_SUCCESS;
}

int asnop_loop_item(const aclnnxLoop *loop) {
    return loop->kind == ACLNNX_LOOP_FOLD ? loop->item : 0;
}

bool asnop_loop_raises(const aclnnxLoop *loop) {
    return loop->map.raises;
}

/* A whole product on the caller's thread; the caller keeps it small. A conjugate is known
 * for the inner product alone, which is what vdot needs. */
ASN_API int32_t aclnnxMatmul(const aclnnxOperand *a, const aclnnxOperand *b,
                             const aclnnxOperand *c, int64_t m, int64_t k, int64_t n,
                             uint32_t *fpFlags) {
    if (a == NULL || b == NULL || c == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR, "aclnnxMatmul: an operand is NULL");
    const aclnnxOperand *operands[3] = {a, b, c};
    const int64_t shape[3][2] = {{m, k}, {k, n}, {m, n}};
    int64_t strides[3][2];
    asnd_nd nd[3];
    for (int i = 0; i < 3; i++) {
        const aclnnxOperand *o = operands[i];
        asn_dtype dtype = asn_dtype_from_acl(o->dtype);
        if (dtype == ASN_DTYPE_NONE || o->data == NULL || o->dtype != a->dtype ||
            shape[i][0] < 0 || shape[i][1] < 0)
            return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                             "aclnnxMatmul: operand %d has dtype %d and shape (%lld, "
                             "%lld)",
                             i, o->dtype, (long long)shape[i][0], (long long)shape[i][1]);
        strides[i][1] = o->strides ? o->strides[1] : asn_itemsize(dtype);
        strides[i][0] = o->strides ? o->strides[0] : shape[i][1] * asn_itemsize(dtype);
        nd[i] = (asnd_nd){o->data, 2, dtype, shape[i], strides[i]};
    }
    const bool conjugate = a->flags & ACLNNX_CONJUGATE;
    if (conjugate && (m != 1 || n != 1 || !asn_is_complex(nd[0].dtype)))
        return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                         "aclnnxMatmul: the conjugate of %lld rows of %s times %lld "
                         "columns; a complex row times a column is allowed",
                         (long long)m, asn_dtype_name(nd[0].dtype), (long long)n);
    if (fpFlags) asn_fp_clear();
    asn_status status = ASN_OK;
    if (conjugate)
        asn_cpu_vdot(&nd[0], &nd[1], &nd[2]);
    else
        status = asn_cpu_matmul(&nd[0], &nd[1], &nd[2]);
    if (fpFlags) asn_fp_collect(fpFlags);
    return status == ASN_OK ? ACLNN_SUCCESS : asnop_fail(status);
}
