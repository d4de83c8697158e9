/* CPU device: systems and inverses of a few small real matrices, one after the other.
 *
 * LAPACK's calls, workspace and checks take five times what a 2 x 2 matrix does (0.3 us),
 * and the vectors of linalg_small.c want a stack. Here a matrix and its right-hand sides
 * lie side by side on the calling thread's stack.
 */
#include <math.h>

#include "base/alloc.h"
#include "device/cpu/linalg/linalg_job.h"

enum { ONE_MOST = 8 /* rows, and columns on the right */ };

/* What elimination says: where it is not ONE_SOLVED, LAPACK decides. */
typedef enum { ONE_SOLVED, ONE_CLOSE, ONE_SINGULAR } one_outcome;

/* The operand's strides of rows and columns. */
static const int64_t *steps_of(const asnd_linalg_job *job, int operand) {
    return job->operands[operand].strides + job->num_batch;
}

/* One instance for each dtype: run_f64, run_f32. */
#define NAME(x) x##_f64
#define REAL    double
#define ABS     fabs
#include "device/cpu/linalg/linalg_one.inc"
#define NAME(x) x##_f32
#define REAL    float
#define ABS     fabsf
#include "device/cpu/linalg/linalg_one.inc"

/* Without LAPACK the result of a matrix that is close to singular stays, one of a
 * singular matrix is NaN and failed. */
bool asn_linalg_few(const asnd_linalg_job *job, int64_t count, int64_t *failed,
                    asn_status *status) {
    const int n = job->n, r = job->op == ASN_LINALG_INV ? n : job->r;
    if (job->complex || count >= ASN_LINALG_STACK || n < 1 || n > ONE_MOST ||
        r > ONE_MOST || (job->op != ASN_LINALG_INV && job->op != ASN_LINALG_SOLVE))
        return false;
    asnd_linalg_lapack lapack;
    lapack.block = NULL;
    for (int64_t k = 0; k < count; k++) {
        char *at[ASN_LINALG_MAX_OPERANDS];
        asn_linalg_addresses(job, k, at);
        one_outcome outcome =
            job->single ? run_f32(job, at, n, r) : run_f64(job, at, n, r);
        if (outcome == ONE_SOLVED) continue;
        *status = asn_linalg_by_lapack(&lapack, job, at, failed);
        if (*status == ASN_ERR_MEMORY) break;
        if (*status == ASN_OK) continue;
        *status = ASN_OK; /* no LAPACK */
        if (outcome == ONE_CLOSE) continue;
        asn_matrix_fill_nan(job, job->num_operands - 1, at[job->num_operands - 1]);
        ++*failed;
    }
    asn_free(lapack.block);
    return true;
}
