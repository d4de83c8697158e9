/* CPU device: linear systems, inverses, determinants and Cholesky factors by LAPACK.
 *
 * As in linalg_factor.c, an operation is a prepare and a run function. LU with partial
 * pivoting: gesv for systems; getrf and getri for inverses; getrf and the product of the
 * diagonal for determinants, with a change of sign for every exchange of rows; potrf for
 * Cholesky factors. A singular matrix has no solution and no inverse (NaN, and it counts
 * as failed), but a determinant, 0.
 */
#include <math.h>
#include <string.h>

#include "device/cpu/fpflags.h"
#include "device/cpu/linalg/linalg_job.h"

/* Fortran passes the length of every character argument behind the others. */
typedef void gesv_fn(const int *n, const int *nrhs, void *a, const int *lda, int *pivots,
                     void *b, const int *ldb, int *info);
typedef void getrf_fn(const int *m, const int *n, void *a, const int *lda, int *pivots,
                      int *info);
typedef void getri_fn(const int *n, void *a, const int *lda, const int *pivots,
                      void *work, const int *lwork, int *info);
typedef void potrf_fn(const char *uplo, const int *n, void *a, const int *lda, int *info,
                      size_t);

/* The number that a workspace query leaves in work[0]. */
static int asked_length(const asnd_linalg_job *job, const void *work) {
    return job->single ? (int)((const float *)work)[0] : (int)((const double *)work)[0];
}

/* Scratch of an n x n matrix. */
static size_t square(const asnd_linalg_job *job) {
    return asn_scratch_room((size_t)job->n * job->n * job->size);
}

/* The matrix, the right-hand sides, the pivots. */
static asn_status prepare_solve(asnd_linalg_job *job) {
    size_t n = (size_t)job->n;
    job->scratch = square(job) + asn_scratch_room(n * job->r * job->size) +
                   asn_scratch_room(n * sizeof(int));
    return ASN_OK;
}

/* gesv's info above 0: a pivot is exactly 0. */
static asnd_matrix_outcome run_solve(const asnd_linalg_job *job, char *const *at,
                                     char *scratch) {
    int n = job->n, r = job->r, ld = asn_max_int(n, 1), info = 0;
    void *a = asn_scratch_piece(&scratch, (size_t)n * n * job->size);
    void *b = asn_scratch_piece(&scratch, (size_t)n * r * job->size);
    int *pivots = asn_scratch_piece(&scratch, (size_t)n * sizeof *pivots);
    asn_matrix_load(a, &job->operands[0], at[0], n, n, n);
    asn_matrix_load(b, &job->operands[1], at[1], n, r, n);
    ((gesv_fn *)job->call[0])(&n, &r, a, &ld, pivots, b, &ld, &info);
    if (info) {
        asn_matrix_fill_nan(job, 2, at[2]);
        return ASN_MATRIX_FAILED;
    }
    asn_matrix_store(&job->operands[2], at[2], b, n, r, n);
    return ASN_MATRIX_DONE;
}

/* getri's workspace, asked of LAPACK. */
static asn_status prepare_inv(asnd_linalg_job *job) {
    double answer[2] = {1, 0};
    int n = job->n, ld = asn_max_int(n, 1), info = 0, query = -1;
    ((getri_fn *)job->call[1])(&n, NULL, &ld, NULL, answer, &query, &info);
    job->lwork = asn_max_int(asked_length(job, answer), ld);
    job->scratch = square(job) + asn_scratch_room((size_t)n * sizeof(int)) +
                   asn_scratch_room((size_t)job->lwork * job->size);
    return ASN_OK;
}

/* NumPy solves for the unit matrix; getri gives the inverse in place from the same
 * factors. */
static asnd_matrix_outcome run_inv(const asnd_linalg_job *job, char *const *at,
                                   char *scratch) {
    int n = job->n, ld = asn_max_int(n, 1), info = 0;
    void *a = asn_scratch_piece(&scratch, (size_t)n * n * job->size);
    int *pivots = asn_scratch_piece(&scratch, (size_t)n * sizeof *pivots);
    asn_matrix_load(a, &job->operands[0], at[0], n, n, n);
    ((getrf_fn *)job->call[0])(&n, &n, a, &ld, pivots, &info);
    if (info == 0)
        ((getri_fn *)job->call[1])(&n, a, &ld, pivots, scratch, &job->lwork, &info);
    if (info) {
        asn_matrix_fill_nan(job, 1, at[1]);
        return ASN_MATRIX_FAILED;
    }
    asn_matrix_store(&job->operands[1], at[1], a, n, n, n);
    return ASN_MATRIX_DONE;
}

static asn_status prepare_det(asnd_linalg_job *job) {
    job->scratch = square(job) + asn_scratch_room((size_t)job->n * sizeof(int));
    return ASN_OK;
}

/* Element i of a matrix of T as a complex number in float64. */
static void element(const asnd_linalg_job *job, const void *a, int i, double *re,
                    double *im) {
    int parts = job->complex ? 2 : 1;
    *re = job->single ? ((const float *)a)[parts * i] : ((const double *)a)[parts * i];
    *im = 0;
    if (job->complex)
        *im =
            job->single ? ((const float *)a)[2 * i + 1] : ((const double *)a)[2 * i + 1];
}

/* To one element of the operand's dtype; im is dropped where that is real. */
static void put_number(const asnd_nd *a, char *to, double re, double im) {
    if (a->dtype == ASN_F32 || a->dtype == ASN_C64) {
        ((float *)to)[0] = (float)re;
        if (a->dtype == ASN_C64) ((float *)to)[1] = (float)im;
    } else {
        ((double *)to)[0] = re;
        if (a->dtype == ASN_C128) ((double *)to)[1] = im;
    }
}

/* The product of the diagonal as (re, im) * 2^exponent, within range whatever n is. */
static void determinant(const asnd_linalg_job *job, const void *lu, const int *pivots,
                        double *re, double *im, int64_t *exponent) {
    *re = 1, *im = 0, *exponent = 0;
    for (int i = 0; i < job->n; i++) {
        double x, y, t;
        element(job, lu, i * (job->n + 1), &x, &y);
        if (pivots[i] != i + 1) x = -x, y = -y;
        t = *re * x - *im * y;
        *im = *re * y + *im * x;
        *re = t;
        /* Scaled by a power of two, exactly, so that neither part leaves the range; 0,
         * infinity and NaN stay as they are. */
        double most = fmax(fabs(*re), fabs(*im));
        if (!(most > 0) || isinf(most)) continue;
        int e = ilogb(most);
        *re = ldexp(*re, -e), *im = ldexp(*im, -e);
        *exponent += e;
    }
}

/* Real determinants have no imaginary part that a 0 * inf could spoil. *negative: of how
 * many numbers on the diagonal and exchanges of rows, whether that is odd; NaN counts as
 * positive, in NumPy's slogdet. */
static void real_determinant(const asnd_linalg_job *job, const void *lu,
                             const int *pivots, double *re, int64_t *exponent,
                             bool *negative) {
    *re = 1, *exponent = 0, *negative = false;
    for (int i = 0; i < job->n; i++) {
        double x, y;
        element(job, lu, i * (job->n + 1), &x, &y);
        int e = 0;
        *re = frexp(*re * (pivots[i] != i + 1 ? -x : x), &e);
        *exponent += e;
        *negative ^= (x < 0) ^ (pivots[i] != i + 1);
    }
}

/* x 2^exponent; beyond 4000 it is 0 or infinite anyway. */
static double scaled(double x, int64_t exponent) {
    int e = exponent > 4000 ? 4000 : exponent < -4000 ? -4000 : (int)exponent;
    return ldexp(x, e);
}

/* SLOGDET of complex numbers that are not all finite, as NumPy has it: the product of the
 * signs of the diagonal's numbers and the sum of their logarithms, invalid. */
static void put_signs(const asnd_linalg_job *job, const void *lu, const int *pivots,
                      char *const *at) {
    double re = 1, im = 0, sum = 0;
    for (int i = 0; i < job->n; i++) {
        double x, y;
        element(job, lu, i * (job->n + 1), &x, &y);
        if (pivots[i] != i + 1) x = -x, y = -y;
        double size = hypot(x, y), t;
        x /= size, y /= size;
        t = re * x - im * y;
        im = re * y + im * x;
        re = t;
        sum += log(size);
    }
    asn_fp_raise(FE_INVALID);
    put_number(&job->operands[1], at[1], re, im);
    put_number(&job->operands[2], at[2], sum, 0);
}

/* DET: one number. SLOGDET: the sign (of magnitude 1, or 0, or NaN if complex) and the
 * logarithm of the magnitude, -inf for 0; invalid where the determinant is NaN. */
static asnd_matrix_outcome run_det(const asnd_linalg_job *job, char *const *at,
                                   char *scratch) {
    int n = job->n, ld = asn_max_int(n, 1), info = 0;
    void *a = asn_scratch_piece(&scratch, (size_t)n * n * job->size);
    int *pivots = (int *)scratch;
    asn_matrix_load(a, &job->operands[0], at[0], n, n, n);
    ((getrf_fn *)job->call[0])(&n, &n, a, &ld, pivots, &info);
    double re, im = 0;
    int64_t exponent;
    bool negative = false;
    if (job->complex)
        determinant(job, a, pivots, &re, &im, &exponent);
    else
        real_determinant(job, a, pivots, &re, &exponent, &negative);
    if (info > 0) re = im = 0;
    if (job->op == ASN_LINALG_DET) {
        put_number(&job->operands[1], at[1], scaled(re, exponent), scaled(im, exponent));
        return ASN_MATRIX_DONE;
    }
    double size = hypot(re, im);
    if (job->complex && !isfinite(size)) {
        put_signs(job, a, pivots, at);
        return ASN_MATRIX_DONE;
    }
    if (isnan(size)) asn_fp_raise(FE_INVALID);
    if (job->complex)
        put_number(&job->operands[1], at[1], size != 0 ? re / size : 0,
                   size > 0 ? im / size : 0);
    else
        put_number(&job->operands[1], at[1], size == 0 ? 0 : negative ? -1 : 1, 0);
    put_number(&job->operands[2], at[2],
               size == 0 ? -INFINITY : log(size) + (double)exponent * M_LN2, 0);
    return ASN_MATRIX_DONE;
}

/* In place: no more than the matrix. */
static asn_status prepare_cholesky(asnd_linalg_job *job) {
    job->scratch = square(job);
    return ASN_OK;
}

/* Rows in a row are columns of the transpose: its other triangle, and the factor comes
 * back the same way round. */
static void load_rows(const asnd_linalg_job *job, void *to, const char *from) {
    asnd_nd turned = job->operands[0];
    int64_t strides[2] = {turned.strides[turned.ndim - 1],
                          turned.strides[turned.ndim - 2]};
    turned.strides = strides;
    turned.ndim = 2;
    asn_matrix_load(to, &turned, from, job->n, job->n, job->n);
}

/* potrf leaves the other triangle as it was; NumPy's factor has zeros there. */
static void clear_triangle(const asnd_linalg_job *job, char *a, bool below) {
    size_t n = (size_t)job->n, size = (size_t)job->size;
    for (size_t j = 0; j < n; j++) /* column j, above or below its diagonal */
        if (below)
            memset(a + (j * n + j + 1) * size, 0, (n - j - 1) * size);
        else
            memset(a + j * n * size, 0, j * size);
}

/* By rows as columns: no transposing copy of a row-major matrix. */
static asnd_matrix_outcome run_cholesky(const asnd_linalg_job *job, char *const *at,
                                        char *a) {
    int n = job->n, ld = asn_max_int(n, 1), info = 0;
    bool upper = !job->options.upper;
    load_rows(job, a, at[0]);
    ((potrf_fn *)job->call[0])(upper ? "U" : "L", &n, a, &ld, &info, 1);
    if (info) {
        asn_matrix_fill_nan(job, 1, at[1]);
        return ASN_MATRIX_FAILED;
    }
    clear_triangle(job, a, upper);
    asnd_nd turned = job->operands[1];
    int64_t strides[2] = {turned.strides[turned.ndim - 1],
                          turned.strides[turned.ndim - 2]};
    turned.strides = strides;
    turned.ndim = 2;
    asn_matrix_store(&turned, at[1], a, n, n, n);
    return ASN_MATRIX_DONE;
}

const asnd_linalg_entry asn_linalg_solvers[] = {
    [ASN_LINALG_SOLVE] = {3, {"gesv_", NULL}, prepare_solve, run_solve},
    [ASN_LINALG_INV] = {2, {"getrf_", "getri_"}, prepare_inv, run_inv},
    [ASN_LINALG_DET] = {2, {"getrf_", NULL}, prepare_det, run_det},
    [ASN_LINALG_SLOGDET] = {3, {"getrf_", NULL}, prepare_det, run_det},
    [ASN_LINALG_CHOLESKY] = {2, {"potrf_", NULL}, prepare_cholesky, run_cholesky},
};
