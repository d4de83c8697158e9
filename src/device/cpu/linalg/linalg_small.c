/* CPU device: stacks of small real matrices, one matrix per vector lane.
 *
 * LAPACK spends more on calls, checks and short loops than on arithmetic when n is below
 * about 30. Here every operation is one of vectors across the stack: LU with partial
 * pivoting (a lane's pivot row is taken with masks), Cholesky, and for eigenvalues
 * Jacobi's method. Lanes never mix and a converged lane is left alone, so a matrix's
 * result depends neither on the instruction set nor on its neighbours. Stacks shorter
 * than a few matrices (but for linalg_one.c's), and larger matrices, are LAPACK's; so is
 * one that elimination finds close to singular, as asn_close_to_singular says, or whose
 * pivot is below asn_least_pivot.
 */
#include <stdatomic.h>

#include "base/alloc.h"
#include "device/cpu/context.h"
#include "device/cpu/linalg/linalg_lanes.h"
#include "device/cpu/threads.h"

/* The largest n of each method that the kernels take. */
enum {
    LARGEST_LU = 32,
    LARGEST_JACOBI = 20,
    MOST_COLUMNS = 64, /* of right-hand sides */
    CHUNK = 64,        /* matrices: whole groups of every instruction set */
};

/* Whether the kernels can: real, a stack, small enough, one of these operations. */
static bool takes(const asnd_linalg_job *job, int64_t count) {
    if (job->complex || count < ASN_LINALG_STACK || job->n < 1) return false;
    switch (job->op) {
    case ASN_LINALG_SOLVE: return job->n <= LARGEST_LU && job->r <= MOST_COLUMNS;
    case ASN_LINALG_INV:
    case ASN_LINALG_DET:
    case ASN_LINALG_SLOGDET:
    case ASN_LINALG_CHOLESKY: return job->n <= LARGEST_LU;
    case ASN_LINALG_EIGH:
    case ASN_LINALG_EIGVALSH: return job->n <= LARGEST_JACOBI;
    default: return false;
    }
}

typedef struct {
    const asnd_linalg_job *job;
    const asnd_linalg_kernels *kernels;
    int64_t count;
    atomic_llong failed;
    atomic_bool again, no_memory;
} walk;

/* False: there is no LAPACK. */
static bool by_lapack(walk *w, asnd_linalg_lapack *lapack, int64_t index) {
    char *at[ASN_LINALG_MAX_OPERANDS];
    int64_t failed = 0;
    asn_linalg_addresses(w->job, index, at);
    asn_status status = asn_linalg_by_lapack(lapack, w->job, at, &failed);
    if (status == ASN_ERR_MEMORY) atomic_store(&w->no_memory, true);
    if (failed) atomic_fetch_add(&w->failed, failed);
    return status == ASN_OK || status == ASN_ERR_MEMORY;
}

/* Up to `lanes` matrices from `first` on. Those close to singular go to LAPACK at once;
 * AGAIN is noted, and the stack is done again by it. */
static void run_group(walk *w, asnd_linalg_lapack *lapack, int64_t first, int count,
                      void *scratch) {
    const asnd_linalg_job *job = w->job;
    char *at[ASN_LINALG_MAX_OPERANDS][ASN_LINALG_LANES];
    uint8_t outcome[ASN_LINALG_LANES] = {0};
    for (int l = 0; l < count; l++) {
        char *one[ASN_LINALG_MAX_OPERANDS];
        asn_linalg_addresses(job, first + l, one);
        for (int i = 0; i < job->num_operands; i++)
            at[i][l] = one[i];
    }
    /* Outcomes of lanes without a matrix stay 0. */
    w->kernels->run(job, count, at, scratch, outcome);
    for (int l = 0; l < count; l++) {
        if (outcome[l] == ASN_LANE_AGAIN) atomic_store(&w->again, true);
        if ((outcome[l] & ASN_LANE_CLOSE) && by_lapack(w, lapack, first + l)) continue;
        if (!(outcome[l] & ASN_LANE_FAILED)) continue;
        atomic_fetch_add(&w->failed, 1);
        int last = job->num_operands - 1;
        asn_matrix_fill_nan(job, last, at[last][l]);
    }
}

/* The group of a chunk's end may be short; its absent lanes repeat the first. */
static void walk_chunk(void *ctx, int64_t chunk) {
    walk *w = ctx;
    size_t bytes = (size_t)asn_linalg_vectors(w->job) * ASN_LINALG_LANES * 8;
    char *block = asn_malloc(bytes + 64);
    if (block == NULL) {
        atomic_store(&w->no_memory, true);
        return;
    }
    char *scratch = block + (64 - (uintptr_t)block % 64);
    int64_t end = (chunk + 1) * CHUNK < w->count ? (chunk + 1) * CHUNK : w->count;
    int lanes = w->kernels->lanes;
    asnd_linalg_lapack lapack;
    lapack.block = NULL;
    for (int64_t i = chunk * CHUNK; i < end; i += lanes)
        run_group(w, &lapack, i, end - i < lanes ? (int)(end - i) : lanes, scratch);
    asn_free(lapack.block);
    asn_free(block);
}

/* False after a lane that asks for it: then all that was written is written once more, by
 * LAPACK. */
bool asn_linalg_small(const asnd_linalg_job *job, int64_t count, int64_t *failed,
                      asn_status *status) {
    if (!takes(job, count)) return false;
    const asnd_context *context = asn_context_get();
    walk w = {.job = job,
              .kernels = job->single ? context->linalg_f32 : context->linalg_f64,
              .count = count};
    double n = job->n;
    asn_pool_run(walk_chunk, &w, (count + CHUNK - 1) / CHUNK,
                 (double)count * (20 + n * n * n / 2));
    *failed = atomic_load(&w.failed);
    *status = atomic_load(&w.no_memory)
                  ? asn_error_set(ASN_ERR_MEMORY, "linalg: out of memory")
                  : ASN_OK;
    return !atomic_load(&w.again);
}
