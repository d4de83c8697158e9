/* CPU device: linear algebra: checks, the walk over a stack of matrices, threads.
 *
 * A stack of small real matrices goes to kernels that hold one matrix per vector lane
 * (linalg_small.c), a few of them to plain elimination (linalg_one.c), but for those that
 * are close to singular: whether these have a result is LAPACK's word. Every other matrix
 * goes to LAPACK (OpenBLAS, single-threaded), one after the other on each thread: threads
 * take matrices, never parts of one, so results do not depend on their number. A matrix
 * is copied into columns and its results back, since LAPACK overwrites.
 */
#include "device/cpu/linalg/linalg.h"

#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/gemm/gemm.h"
#include "device/cpu/linalg/linalg_job.h"
#include "device/cpu/threads.h"

/* ---- copies */

/* Every element, in blocks of columns: one of the two sides is walked across memory, a
 * block of whose lines stays in the cache. The statement after it has i, j and BLOCK. */
#define COPY()                                                                           \
    for (int j0 = 0; j0 < columns; j0 += BLOCK)                                          \
        for (int i = 0; i < rows; i++)                                                   \
            for (int j = j0; j < columns && j < j0 + BLOCK; j++)

typedef struct {
    double re, im;
} c128;

/* Contiguous columns are copied whole. Elements keep their bits: complex64 moves as a
 * double does. */
void asn_matrix_load(void *to, const asnd_nd *a, const char *from, int rows, int columns,
                     int ld) {
    enum { BLOCK = 8 };
    int64_t rs = a->strides[a->ndim - 2], cs = a->strides[a->ndim - 1];
    int size = (int)asn_itemsize(a->dtype);
    if (rs == size) {
        for (int j = 0; j < columns; j++)
            memcpy((char *)to + (size_t)j * ld * size, from + j * cs,
                   (size_t)rows * size);
    } else if (size == 4) {
        COPY()((float *)to)[i + (size_t)j * ld] =
            *(const float *)(from + i * rs + j * cs);
    } else if (size == 8) {
        COPY()((double *)to)[i + (size_t)j * ld] =
            *(const double *)(from + i * rs + j * cs);
    } else {
        COPY()((c128 *)to)[i + (size_t)j * ld] = *(const c128 *)(from + i * rs + j * cs);
    }
}

void asn_matrix_store(const asnd_nd *a, char *to, const void *from, int rows, int columns,
                      int ld) {
    enum { BLOCK = 8 };
    int64_t rs = a->strides[a->ndim - 2], cs = a->strides[a->ndim - 1];
    int size = (int)asn_itemsize(a->dtype);
    if (size == 4) {
        COPY() * (float *)(to + i * rs + j * cs) =
            ((const float *)from)[i + (size_t)j * ld];
    } else if (size == 8) {
        COPY() * (double *)(to + i * rs + j * cs) =
            ((const double *)from)[i + (size_t)j * ld];
    } else {
        COPY() * (c128 *)(to + i * rs + j * cs) =
            ((const c128 *)from)[i + (size_t)j * ld];
    }
}

void asn_matrix_fill_nan(const asnd_linalg_job *job, int operand, char *to) {
    const asnd_nd *a = &job->operands[operand];
    int core = a->ndim - job->num_batch;
    const int64_t *shape = a->shape + job->num_batch, *step = a->strides + job->num_batch;
    int64_t rows = core > 0 ? shape[0] : 1, columns = core > 1 ? shape[1] : 1;
    int size = (int)asn_itemsize(a->dtype);
    bool f32 = a->dtype == ASN_F32 || a->dtype == ASN_C64;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            char *p = to + (core > 0 ? i * step[0] : 0) + (core > 1 ? j * step[1] : 0);
            for (int part = 0; part < size; part += f32 ? 4 : 8) {
                if (a->dtype == ASN_I64)
                    *(int64_t *)(p + part) = -1;
                else if (f32)
                    *(float *)(p + part) = NAN;
                else
                    *(double *)(p + part) = NAN;
            }
        }
}

/* ---- checks */

/* ASN_ERR_VALUE about operand number `operand`. */
static asn_status bad(const char *what, int operand) {
    return asn_error_set(ASN_ERR_VALUE, "linalg: operand %d has %s", operand, what);
}

/* Trailing dimensions that each operand must have: letters n, m, k, r, p, q. */
static const char *const shapes[ASN_LINALG_OPS][ASN_LINALG_MAX_OPERANDS] = {
    [ASN_LINALG_SOLVE] = {"nn", "nr", "nr"},
    [ASN_LINALG_INV] = {"nn", "nn"},
    [ASN_LINALG_DET] = {"nn", ""},
    [ASN_LINALG_SLOGDET] = {"nn", "", ""},
    [ASN_LINALG_CHOLESKY] = {"nn", "nn"},
    [ASN_LINALG_QR] = {"mn", "mp", "pn"},
    [ASN_LINALG_QR_RAW] = {"mn", "mn", "k"},
    [ASN_LINALG_QR_R] = {"mn", "kn"},
    [ASN_LINALG_SVD] = {"mn", "mp", "k", "qn"},
    [ASN_LINALG_SVDVALS] = {"mn", "k"},
    [ASN_LINALG_EIG] = {"nn", "n", "nn"},
    [ASN_LINALG_EIGVALS] = {"nn", "n"},
    [ASN_LINALG_EIGH] = {"nn", "n", "nn"},
    [ASN_LINALG_EIGVALSH] = {"nn", "n"},
    [ASN_LINALG_LSTSQ] = {"mn", "mr", "nr", "r", "", "k"},
};
/* Their dtypes: T, R, C as in linalg.h, i int64. */
static const char *const dtypes[ASN_LINALG_OPS] = {"TTT", "TT",  "TT",  "TTR",  "TT",
                                                   "TTT", "TTT", "TT",  "TTRT", "TR",
                                                   "TCC", "TC",  "TRT", "TR",   "TTTRiR"};

/* ASN_ERR_TYPE: the operand has not the dtype that the table asks for. */
static asn_status check_dtype(const asnd_linalg_job *job, int i) {
    asn_dtype real = job->single ? ASN_F32 : ASN_F64;
    asn_dtype complex = job->single ? ASN_C64 : ASN_C128;
    char letter = dtypes[job->op][i];
    asn_dtype want = letter == 'T'   ? job->dtype
                     : letter == 'R' ? real
                     : letter == 'C' ? complex
                                     : ASN_I64;
    if (job->operands[i].dtype == want) return ASN_OK;
    return asn_error_set(ASN_ERR_TYPE, "linalg: operand %d has dtype %s, not %s", i,
                         asn_dtype_name(job->operands[i].dtype), asn_dtype_name(want));
}

/* Number of dimensions, batch shape, core shape by the letters, dtype. */
static asn_status check_operand(asnd_linalg_job *job, int i) {
    const asnd_nd *a = &job->operands[i];
    const char *core = shapes[job->op][i];
    if (a->ndim != job->num_batch + (int)strlen(core))
        return bad("another number of dimensions", i);
    for (int d = 0; d < job->num_batch; d++)
        if (a->shape[d] != job->operands[0].shape[d])
            return bad("another batch shape", i);
    for (int d = 0; core[d]; d++) {
        int64_t extent = a->shape[job->num_batch + d];
        int want = core[d] == 'n'   ? job->n
                   : core[d] == 'm' ? job->m
                   : core[d] == 'k' ? job->k
                   : core[d] == 'r' ? job->r
                   : core[d] == 'p' ? job->p
                                    : job->q;
        if (extent != want) return bad("a shape that does not fit the operation", i);
    }
    return check_dtype(job, i);
}

/* m, n, k, r, p, q from the shapes; they are checked against each other afterwards.
 * LAPACK counts in int, with products by small factors: at most a quarter of it. p and q
 * are k (reduced) unless an output's shape says that the full matrices are asked for. */
static asn_status job_dims(asnd_linalg_job *job) {
    const asnd_nd *a = &job->operands[0];
    int nb = job->num_batch;
    if (a->ndim != nb + 2) return bad("another number of dimensions", 0);
    for (int i = 0; i < job->num_operands; i++)
        for (int d = 0; d < job->operands[i].ndim; d++)
            if (d >= nb && job->operands[i].shape[d] > INT_MAX / 4)
                return bad("more rows or columns than LAPACK takes", i);
    job->m = (int)a->shape[nb];
    job->n = (int)a->shape[nb + 1];
    job->k = asn_min_int(job->m, job->n);
    bool second = job->op == ASN_LINALG_SOLVE || job->op == ASN_LINALG_LSTSQ;
    if (second && job->operands[1].ndim == nb + 2)
        job->r = (int)job->operands[1].shape[nb + 1];
    job->p = job->q = job->k;
    if ((job->op == ASN_LINALG_QR || job->op == ASN_LINALG_SVD) &&
        job->operands[1].ndim == nb + 2 && job->operands[1].shape[nb + 1] != job->k) {
        job->p = job->m;
        job->q = job->n;
    }
    if (job->op == ASN_LINALG_SVD && job->operands[3].ndim == nb + 2 &&
        job->operands[3].shape[nb] != job->k) {
        job->p = job->m;
        job->q = job->n;
    }
    return ASN_OK;
}

/* Fills in what the operands tell. ASN_ERR_TYPE, ASN_ERR_VALUE. */
static asn_status job_check(asnd_linalg_job *job) {
    job->dtype = job->operands[0].dtype;
    job->single = job->dtype == ASN_F32 || job->dtype == ASN_C64;
    job->complex = job->dtype == ASN_C64 || job->dtype == ASN_C128;
    job->size = (int)asn_itemsize(job->dtype);
    if (!job->single && !job->complex && job->dtype != ASN_F64)
        return asn_error_set(ASN_ERR_TYPE,
                             "linalg: takes float32, float64, complex64 and complex128, "
                             "not %s",
                             asn_dtype_name(job->dtype));
    ASN_TRY(job_dims(job));
    for (int i = 0; i < job->num_operands; i++)
        ASN_TRY(check_operand(job, i));
    return ASN_OK;
}

/* ---- the walk */

void asn_linalg_addresses(const asnd_linalg_job *job, int64_t index, char **at) {
    for (int i = 0; i < job->num_operands; i++)
        at[i] = job->operands[i].data;
    for (int d = job->num_batch - 1; d >= 0; d--) {
        int64_t extent = job->operands[0].shape[d], k = index % extent;
        index /= extent;
        for (int i = 0; i < job->num_operands; i++)
            at[i] += k * job->operands[i].strides[d];
    }
}

/* A region of the pool over a stack; `chunk` matrices each. failed, no_memory: of all
 * threads. */
typedef struct {
    const asnd_linalg_job *job;
    const asnd_linalg_entry *entry;
    int64_t count, chunk;
    atomic_llong failed;
    atomic_bool no_memory;
} walk;

/* One scratch block for the chunk's matrices. Without memory its outputs stay unwritten,
 * and the call fails. */
static void walk_chunk(void *ctx, int64_t chunk) {
    walk *w = ctx;
    char *at[ASN_LINALG_MAX_OPERANDS];
    char *block = asn_malloc(w->job->scratch + 64);
    if (block == NULL) {
        atomic_store(&w->no_memory, true);
        return;
    }
    char *scratch = block + (64 - (uintptr_t)block % 64);
    int64_t end = (chunk + 1) * w->chunk, failed = 0;
    for (int64_t i = chunk * w->chunk; i < end && i < w->count; i++) {
        asn_linalg_addresses(w->job, i, at);
        failed += w->entry->run(w->job, at, scratch) == ASN_MATRIX_FAILED;
    }
    asn_free(block);
    atomic_fetch_add(&w->failed, failed);
}

static asn_status no_workspace(const asnd_linalg_job *job) {
    return asn_error_set(ASN_ERR_MEMORY, "linalg: %zu bytes of workspace", job->scratch);
}

/* The operations stand in two tables, in the enumeration's order. */
static const asnd_linalg_entry *entry_of(asnd_linalg_op op) {
    return op < ASN_LINALG_QR ? &asn_linalg_solvers[op]
                              : &asn_linalg_decompositions[op - ASN_LINALG_QR];
}

/* By name once: looking a name up takes as long as a small matrix. job->call receives
 * LAPACK's functions for the dtype: s, d, c, z and the name; complex ones of two have
 * other names. ASN_ERR_RUNTIME: there is no LAPACK, or no such function. */
static asn_status find_functions(asnd_linalg_job *job, const asnd_linalg_entry *entry) {
    static void *found[ASN_LINALG_OPS][4][2];
    const char *letter = job->complex ? job->single ? "c" : "z" : job->single ? "s" : "d";
    void **known = found[job->op][job->complex * 2 + job->single];
    for (int i = 0; i < 2 && entry->names[i]; i++) {
        job->call[i] = __atomic_load_n(&known[i], __ATOMIC_RELAXED);
        if (job->call[i]) continue;
        char name[32];
        const char *tail = entry->names[i];
        if (job->complex && strcmp(tail, "orgqr_") == 0) tail = "ungqr_";
        if (job->complex && strcmp(tail, "syevd_") == 0) tail = "heevd_";
        snprintf(name, sizeof name, "%s%s", letter, tail);
        ASN_TRY(asn_blas_symbol(name, &job->call[i]));
        __atomic_store_n(&known[i], job->call[i], __ATOMIC_RELAXED);
    }
    return ASN_OK;
}

/* A LAPACK for single matrices: its own copy of the job, and scratch. On an error block
 * stays NULL. */
static asn_status lapack_begin(asnd_linalg_lapack *l, const asnd_linalg_job *job) {
    l->job = *job;
    l->entry = entry_of(job->op);
    ASN_TRY(find_functions(&l->job, l->entry));
    ASN_TRY(l->entry->prepare(&l->job));
    l->block = asn_malloc(l->job.scratch + 64);
    return l->block ? ASN_OK : no_workspace(&l->job);
}

asn_status asn_linalg_by_lapack(asnd_linalg_lapack *l, const asnd_linalg_job *job,
                                char *const *at, int64_t *failed) {
    if (!l->block) ASN_TRY(lapack_begin(l, job));
    char *scratch = l->block + (64 - (uintptr_t)l->block % 64);
    *failed += l->entry->run(&l->job, at, scratch) == ASN_MATRIX_FAILED;
    return ASN_OK;
}

/* The whole stack, shared out by the pool. */
static asn_status run_lapack(asnd_linalg_job *job, int64_t count, int64_t *failed) {
    const asnd_linalg_entry *entry = entry_of(job->op);
    ASN_TRY(find_functions(job, entry));
    ASN_TRY(entry->prepare(job));
    double size = (double)asn_max_int(job->m, job->n), flops = 4 * size * size * size;
    double ns = (double)count * (500 + flops);
    walk w = {.job = job, .entry = entry, .count = count};
    /* About 50 us of work a chunk. */
    w.chunk = 1 + (int64_t)(50000 / (500 + flops));
    asn_pool_run(walk_chunk, &w, (count + w.chunk - 1) / w.chunk, ns);
    *failed = atomic_load(&w.failed);
    return atomic_load(&w.no_memory) ? no_workspace(job) : ASN_OK;
}

/* The first way that takes the job: a few small matrices, a stack of small ones,
 * LAPACK. */
asn_status asn_cpu_linalg(asnd_linalg_op op, const asnd_linalg_options *options,
                          int num_batch, int num_operands, const asnd_nd *operands,
                          int64_t *failed) {
    asnd_linalg_job job = {.op = op,
                           .num_batch = num_batch,
                           .operands = operands,
                           .num_operands = num_operands};
    *failed = 0;
    if (options) job.options = *options;
    if (op >= ASN_LINALG_OPS || entry_of(op)->num_operands != num_operands)
        return asn_error_set(ASN_ERR_VALUE, "linalg: operation %d of %d operands", op,
                             num_operands);
    ASN_TRY(job_check(&job));
    int64_t count = 1;
    for (int d = 0; d < num_batch; d++)
        count *= operands[0].shape[d];
    if (count == 0) return ASN_OK;
    asn_status status = ASN_OK;
    /* Each says false when the job is not its own. */
    if (asn_linalg_few(&job, count, failed, &status)) return status;
    if (asn_linalg_small(&job, count, failed, &status)) return status;
    return run_lapack(&job, count, failed);
}
