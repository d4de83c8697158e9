/* A case in every way the engine has, compared.
 *
 * The reference is the block interpreter on one thread. Every other way must give its
 * very bytes, in the gaps between elements too (any NaN is any other), and the same
 * floating-point conditions: machine code for everything, on one thread and on several,
 * and the engine as it is, met once, again (machine code is made) and once more (the plan
 * is kept), and prepared, in two places in turn. The reference itself is compared with
 * the oracle. Memory behind every buffer is watched as well.
 */
#include <float.h>
#include <math.h>

#include "case.h"

#include "device/cpu/fused/prepared.h"
#include "device/cpu/jit/jit.h"
#include "device/cpu/threads.h"

enum { LINE = 64, GUARD = 256 /* bytes behind a buffer, of WATCHED */, WATCHED = 0xa5 };

typedef struct {
    char *block[ACLNNX_MAX_OPERANDS], *at[ACLNNX_MAX_OPERANDS];
} memory;

/* ---- memory */

static double value_of(fuzz_fill fill, int64_t at, int64_t of, uint64_t seed) {
    static const double corners[] = {
        0,      -0.0,      1,   -1,    2,       INFINITY, 1e300, 1e-310,    -800, 1000,
        -1e-40, -INFINITY, NAN, 65504, -3.5e38, 1e-320,   1e6,   0.9999999, 710,  -1e19};
    enum { CORNERS = sizeof corners / sizeof *corners };
    int often = fill == FUZZ_CORNERS ? 40 : fill == FUZZ_RARE ? 1000 : 0;
    bool corner = often && random_below(often) == 0;
    if (fill == FUZZ_ONE) corner = at == (int64_t)(seed % (uint64_t)of);
    if (corner) return corners[random_below(CORNERS)];
    if (fill == FUZZ_WIDE)
        return ldexp(random_unit() - 0.5, (int)random_below(2100) - 1050);
    if (fill == FUZZ_POSITIVE || fill == FUZZ_ONE) return 0.1 + 2 * random_unit();
    return (random_unit() - 0.3) * 4;
}

static void fill(const fuzz_buffer *b, char *to) {
    const asnd_kernels *k = asn_kernels_get();
    asn_dtype dt = (asn_dtype)b->dtype;
    int64_t item = asn_itemsize(dt), n = b->bytes / item;
    check_seed = b->seed | 1;
    for (int64_t i = 0; i < n; i++) {
        double x = value_of((fuzz_fill)b->fill, i, n, b->seed);
        double y = value_of((fuzz_fill)b->fill, i, n, b->seed);
        if (!asn_is_inexact(dt)) {
            uint64_t bits = b->fill == FUZZ_WIDE ? random_u64() : random_u64() % 7;
            if (dt == ASN_BOOL) bits &= 1;
            memcpy(to + i * item, &bits, (size_t)item); /* little-endian */
            continue;
        }
        asn_c128 z = {x, random_below(4) ? y : x};
        k->cast[ASN_C128][dt](1, to + i * item, &z, NULL, NULL);
        const uint16_t signaling = 0x7d01; /* which widening quietens */
        if (dt == ASN_F16 && isnan(x) && random_below(2))
            memcpy(to + i * item, &signaling, sizeof signaling);
    }
}

static void make_memory(memory *m, const fuzz_case *c) {
    memset(m, 0, sizeof *m);
    for (int b = 0; b < c->num_buffers; b++) {
        const fuzz_buffer *is = &c->buffers[b];
        size_t bytes = (size_t)(is->bytes + is->shift + GUARD + LINE) / LINE * LINE;
        m->block[b] = aligned_alloc(LINE, bytes);
        if (!m->block[b]) {
            printf("no memory for a case\n");
            exit(3);
        }
        memset(m->block[b], WATCHED, bytes);
        m->at[b] = m->block[b] + is->shift;
    }
}

static void fill_memory(memory *m, const fuzz_case *c) {
    uint64_t seed = check_seed;
    for (int b = 0; b < c->num_buffers; b++)
        fill(&c->buffers[b], m->at[b]);
    check_seed = seed;
}

static void copy_memory(memory *to, const memory *from, const fuzz_case *c) {
    for (int b = 0; b < c->num_buffers; b++)
        memcpy(to->at[b], from->at[b], (size_t)c->buffers[b].bytes);
}

static void free_memory(memory *m) {
    for (int b = 0; b < ACLNNX_MAX_OPERANDS; b++)
        free(m->block[b]);
}

static bool is_guard_whole(const memory *m, const fuzz_case *c) {
    for (int b = 0; b < c->num_buffers; b++) {
        const char *end = m->at[b] + c->buffers[b].bytes;
        for (int k = 0; k < GUARD / 2; k++)
            if ((unsigned char)end[k] != WATCHED) {
                printf("  byte %d behind buffer %d was written\n", k, b);
                return false;
            }
        for (const char *p = m->block[b]; p < m->at[b]; p++)
            if ((unsigned char)*p != WATCHED) {
                printf("  a byte before buffer %d was written\n", b);
                return false;
            }
    }
    return true;
}

/* ---- ways */

typedef struct {
    const char *name;
    asnd_jit_mode mode;
    int threads, times;
    bool prepared;
} way;

static const way reference = {"interpreter, 1 thread", ASN_JIT_OFF, 1, 1, false};
static const way ways[] = {{"machine code, 1 thread", ASN_JIT_ALWAYS, 1, 1, false},
                           {"machine code, 7 threads", ASN_JIT_ALWAYS, 7, 1, false},
                           {"interpreter, 2 threads", ASN_JIT_OFF, 2, 1, false},
                           {"as it is, 2 threads", ASN_JIT_ON, 2, 3, false},
                           {"prepared, 2 threads", ASN_JIT_ON, 2, 3, true},
                           {"prepared, machine code", ASN_JIT_ALWAYS, 1, 2, true}};

/* *prepared: the program as it was prepared by an earlier run, or NULL; prepared NULL: it
 * is not to be. */
static asn_status run(const fuzz_case *c, const memory *m, asnd_prepared **prepared,
                      uint32_t *flags) {
    aclnnxOperand operands[ACLNNX_MAX_OPERANDS] = {{0}};
    for (int i = 0; i < c->num_in + c->num_out; i++) {
        const fuzz_operand *o = &c->operands[i];
        operands[i] = (aclnnxOperand){.data = m->at[o->buffer] + o->offset,
                                      .strides = o->strides,
                                      .dtype = (uint8_t)asn_dtype_table[o->dtype].acl,
                                      .flags = (uint8_t)o->flags,
                                      .reduceOp = (uint16_t)o->reduce};
        if (!o->immediate) continue;
        memcpy(operands[i].immediate, m->at[o->buffer],
               (size_t)asn_itemsize((asn_dtype)o->dtype));
        operands[i].data = NULL;
    }
    aclnnxProgram p = {.numDims = c->ndim,
                       .numIn = c->num_in,
                       .numOut = c->num_out,
                       .numInstrs = c->num_instrs,
                       .numRegs = c->num_regs,
                       .shape = c->shape,
                       .operands = operands,
                       .instrs = c->instrs,
                       .reduceMask = c->mask,
                       .fpFlags = flags};
    void *addresses[ACLNNX_MAX_OPERANDS];
    asn_status status = ASN_OK;
    if (!prepared) return asn_cpu_fused(&p);
    if (!*prepared) status = asn_prepared_new(prepared, &p);
    if (status) return status;
    asn_program_addresses(&p, addresses);
    return asn_prepared_run_on(*prepared, addresses, flags);
}

/* ---- comparing */

static bool is_near(double a, double b, double bound) {
    if ((a != a && b != b) || memcmp(&a, &b, sizeof a) == 0) return true;
    return bound < 0 || (bound > 0 && fabs(a - b) <= bound);
}

static int output_of(const fuzz_case *c, int buffer) {
    for (int i = c->num_in; i < c->num_in + c->num_out; i++)
        if (c->operands[i].buffer == buffer) return i;
    return -1;
}

/* Extremes of zeros of both signs are either, and of complex numbers with NaN any of
 * them: the order says which, and NumPy's, too, follows the strides. */
static bool is_extreme(int op) {
    return op == ASN_OP_MAXIMUM || op == ASN_OP_MINIMUM || op == ASN_OP_FMAX ||
           op == ASN_OP_FMIN;
}

static bool has_nan(asn_c128 z) {
    return z.re != z.re || z.im != z.im;
}

static bool are_equal(const fuzz_case *c, const memory *got, const memory *expected,
                      double *const *bounds, const char *name) {
    for (int b = 0; b < c->num_buffers; b++) {
        const int64_t bytes = c->buffers[b].bytes;
        if (memcmp(got->at[b], expected->at[b], (size_t)bytes) == 0) continue;
        int out = output_of(c, b);
        asn_dtype dt = (asn_dtype)c->buffers[b].dtype;
        bool extreme = bounds && out >= 0 && is_extreme(c->operands[out].reduce);
        int64_t item = asn_itemsize(dt);
        for (int64_t k = 0; k < bytes / item; k++) {
            const char *x = got->at[b] + k * item, *y = expected->at[b] + k * item;
            if (memcmp(x, y, (size_t)item) == 0) continue;
            double bound = bounds && out >= 0 && bounds[out] ? bounds[out][k] : 0;
            asn_c128 u, v;
            asn_kernels_get()->cast[dt][ASN_C128](1, &u, x, NULL, NULL);
            asn_kernels_get()->cast[dt][ASN_C128](1, &v, y, NULL, NULL);
            if (is_near(u.re, v.re, bound) && is_near(u.im, v.im, bound)) continue;
            if (extreme && u.re == v.re && u.im == v.im) continue;
            if (extreme && has_nan(u) && has_nan(v)) continue;
            printf("  %s: element %lld of buffer %d (output %d, %s): %.17g %+.17gi, not "
                   "%.17g %+.17gi\n",
                   name, (long long)k, b, out < 0 ? -1 : out - c->num_in,
                   asn_dtype_name(dt), u.re, u.im, v.re, v.im);
            return false;
        }
    }
    return true;
}

/* In two places in turn: a plan holds for other addresses. */
static bool check_way(const fuzz_case *c, const way *w, const memory *pristine,
                      memory places[2], const memory *expected, uint32_t conditions,
                      asn_status wanted) {
    asnd_prepared *prepared = NULL;
    asnd_jit_mode before = asn_jit_switch(w->mode);
    int threads = asn_pool_set_threads(w->threads);
    bool good = true;
    for (int turn = 0; turn < w->times && good; turn++) {
        uint32_t flags = 0;
        memory *work = &places[turn & 1];
        copy_memory(work, pristine, c);
        asn_status status = run(c, work, w->prepared ? &prepared : NULL, &flags);
        if (status != wanted)
            printf("  %s: status %d, not %d\n", w->name, status, wanted);
        else if (!status && flags != conditions)
            printf("  %s: conditions %x, not %x\n", w->name, flags, conditions);
        good = status == wanted && (status || flags == conditions) &&
               (status || are_equal(c, work, expected, NULL, w->name)) &&
               is_guard_whole(work, c);
    }
    asn_prepared_release(prepared);
    asn_jit_switch(before);
    asn_pool_set_threads(threads);
    asn_error_clear();
    return good;
}

bool fuzz_check(const fuzz_case *c) {
    memory pristine, expected, work[2];
    double *bounds[ACLNNX_MAX_OPERANDS] = {NULL};
    uint32_t conditions = 0;
    make_memory(&pristine, c);
    make_memory(&expected, c);
    make_memory(&work[0], c);
    make_memory(&work[1], c);
    fill_memory(&pristine, c);
    copy_memory(&expected, &pristine, c);
    asnd_jit_mode before = asn_jit_switch(reference.mode);
    int threads = asn_pool_set_threads(reference.threads);
    asn_status status = run(c, &expected, NULL, &conditions);
    asn_jit_switch(before);
    asn_pool_set_threads(threads);
    bool good = is_guard_whole(&expected, c);
    for (size_t w = 0; w < sizeof ways / sizeof *ways && good; w++)
        good = check_way(c, &ways[w], &pristine, work, &expected, conditions, status);
    if (good && !status) {
        copy_memory(&work[0], &pristine, c);
        fuzz_oracle(c, work[0].at, bounds);
        good =
            are_equal(c, &expected, &work[0], bounds, "interpreter against the oracle");
    }
    for (int i = 0; i < ACLNNX_MAX_OPERANDS; i++)
        free(bounds[i]);
    free_memory(&pristine);
    free_memory(&expected);
    free_memory(&work[0]);
    free_memory(&work[1]);
    return good;
}
