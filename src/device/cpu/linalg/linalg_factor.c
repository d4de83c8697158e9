/* CPU device: QR, singular values, eigenvalues and least squares by LAPACK.
 *
 * Each operation has a prepare function, which asks LAPACK once for the workspace of
 * these sizes (lwork -1) and adds up the scratch of one matrix, and a run function, which
 * takes its pieces of the scratch in the same order, copies the matrix into columns,
 * calls and copies the results back. What is left of the scratch at the call is LAPACK's
 * work array. LAPACK's `info` other than 0 is no convergence: the matrix's results become
 * NaN and it counts as failed. The routines are those that NumPy uses: geqrf and orgqr,
 * gesdd, geev, syevd and heevd, gelsd.
 */
#include <math.h>
#include <string.h>

#include "device/cpu/linalg/linalg_job.h"

/* Fortran passes the length of every character argument behind the others. */
typedef void geqrf_fn(const int *m, const int *n, void *a, const int *lda, void *tau,
                      void *work, const int *lwork, int *info);
typedef void orgqr_fn(const int *m, const int *n, const int *k, void *a, const int *lda,
                      const void *tau, void *work, const int *lwork, int *info);
typedef void gesdd_fn(const char *jobz, const int *m, const int *n, void *a,
                      const int *lda, void *s, void *u, const int *ldu, void *vt,
                      const int *ldvt, void *work, const int *lwork, int *iwork,
                      int *info, size_t);
typedef void gesdd_complex_fn(const char *jobz, const int *m, const int *n, void *a,
                              const int *lda, void *s, void *u, const int *ldu, void *vt,
                              const int *ldvt, void *work, const int *lwork, void *rwork,
                              int *iwork, int *info, size_t);
typedef void geev_fn(const char *jobvl, const char *jobvr, const int *n, void *a,
                     const int *lda, void *wr, void *wi, void *vl, const int *ldvl,
                     void *vr, const int *ldvr, void *work, const int *lwork, int *info,
                     size_t, size_t);
typedef void geev_complex_fn(const char *jobvl, const char *jobvr, const int *n, void *a,
                             const int *lda, void *w, void *vl, const int *ldvl, void *vr,
                             const int *ldvr, void *work, const int *lwork, void *rwork,
                             int *info, size_t, size_t);
typedef void syevd_fn(const char *jobz, const char *uplo, const int *n, void *a,
                      const int *lda, void *w, void *work, const int *lwork, int *iwork,
                      const int *liwork, int *info, size_t, size_t);
typedef void heevd_fn(const char *jobz, const char *uplo, const int *n, void *a,
                      const int *lda, void *w, void *work, const int *lwork, void *rwork,
                      const int *lrwork, int *iwork, const int *liwork, int *info, size_t,
                      size_t);
typedef void gelsd_fn(const int *m, const int *n, const int *nrhs, void *a,
                      const int *lda, void *b, const int *ldb, void *s, const void *rcond,
                      int *rank, void *work, const int *lwork, int *iwork, int *info);
typedef void gelsd_complex_fn(const int *m, const int *n, const int *nrhs, void *a,
                              const int *lda, void *b, const int *ldb, void *s,
                              const void *rcond, int *rank, void *work, const int *lwork,
                              void *rwork, int *iwork, int *info);

/* Bytes of an R of the job (linalg.h). */
static int real_size(const asnd_linalg_job *job) {
    return job->single ? 4 : 8;
}

/* The number that a workspace query leaves. */
static int asked(const asnd_linalg_job *job, const void *work) {
    return job->single ? (int)((const float *)work)[0] : (int)((const double *)work)[0];
}

/* Bytes of `count` elements, rounded up as asn_scratch_piece takes them. */
static size_t room(size_t count, int size) {
    return asn_scratch_room(count * (size_t)size);
}

/* LAPACK's three work arrays: of T, of R (complex only) and of int. */
static size_t work_room(const asnd_linalg_job *job) {
    return room((size_t)job->lwork, job->size) +
           room((size_t)job->lrwork, real_size(job)) +
           room((size_t)job->liwork, sizeof(int));
}

/* Elements of a vector operand, `stride` apart. */
static void store_line(const asnd_nd *a, char *to, const void *from, int n) {
    int64_t step = a->strides[a->ndim - 1];
    size_t size = asn_itemsize(a->dtype);
    for (int i = 0; i < n; i++)
        memcpy(to + i * step, (const char *)from + (size_t)i * size, size);
}

/* ---- QR */

/* One work array serves both routines. */
static asn_status prepare_qr(asnd_linalg_job *job) {
    double answer[2] = {0, 0};
    int m = job->m, n = job->n, k = job->k, p = job->p;
    int ld = asn_max_int(m, 1), query = -1, info = 0;
    ((geqrf_fn *)job->call[0])(&m, &n, NULL, &ld, NULL, answer, &query, &info);
    job->lwork = asn_max_int(asked(job, answer), asn_max_int(n, 1));
    if (job->op == ASN_LINALG_QR) {
        ((orgqr_fn *)job->call[1])(&m, &p, &k, NULL, &ld, NULL, answer, &query, &info);
        job->lwork = asn_max_int(job->lwork, asn_max_int(asked(job, answer), p));
    }
    size_t columns = (size_t)asn_max_int(n, p);
    job->scratch = room((size_t)m * columns, job->size) + room((size_t)k, job->size) +
                   work_room(job);
    return ASN_OK;
}

/* The first `rows` rows above and on the diagonal, zeros below. */
static void store_upper(const asnd_linalg_job *job, int operand, char *to, const void *a,
                        int rows) {
    const asnd_nd *o = &job->operands[operand];
    int64_t rs = o->strides[o->ndim - 2], cs = o->strides[o->ndim - 1];
    size_t size = (size_t)job->size, ld = (size_t)job->m;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < job->n; j++) {
            char *p = to + i * rs + j * cs;
            if (i <= j)
                memcpy(p, (const char *)a + ((size_t)i + (size_t)j * ld) * size, size);
            else
                memset(p, 0, size);
        }
}

/* geqrf leaves R above the diagonal and reflectors below; orgqr makes the first p columns
 * of Q of these, over R, which is stored before it. */
static asnd_matrix_outcome run_qr(const asnd_linalg_job *job, char *const *at,
                                  char *scratch) {
    int m = job->m, n = job->n, k = job->k, p = job->p, ld = asn_max_int(m, 1), info = 0;
    void *a = asn_scratch_piece(&scratch, (size_t)m * asn_max_int(n, p) * job->size);
    void *tau = asn_scratch_piece(&scratch, (size_t)k * job->size);
    asn_matrix_load(a, &job->operands[0], at[0], m, n, m);
    ((geqrf_fn *)job->call[0])(&m, &n, a, &ld, tau, scratch, &job->lwork, &info);
    if (job->op == ASN_LINALG_QR_RAW) {
        asn_matrix_store(&job->operands[1], at[1], a, m, n, m);
        store_line(&job->operands[2], at[2], tau, k);
    } else if (job->op == ASN_LINALG_QR_R) {
        store_upper(job, 1, at[1], a, k);
    } else {
        store_upper(job, 2, at[2], a, p);
        ((orgqr_fn *)job->call[1])(&m, &p, &k, a, &ld, tau, scratch, &job->lwork, &info);
        asn_matrix_store(&job->operands[1], at[1], a, m, p, m);
    }
    return ASN_MATRIX_DONE;
}

/* ---- singular values */

/* gesdd's jobz: no vectors, the first k of each, or all. */
static char svd_job(const asnd_linalg_job *job) {
    return job->op == ASN_LINALG_SVDVALS          ? 'N'
           : job->p == job->k && job->q == job->k ? 'S'
                                                  : 'A';
}

/* lwork -1 asks for the length in work[0]; the others may be NULL then. */
static void call_gesdd(const asnd_linalg_job *job, void *a, void *s, void *u, void *vt,
                       void *work, int lwork, void *rwork, int *iwork, int *info) {
    char jobz = svd_job(job);
    int m = job->m, n = job->n, ldu = asn_max_int(m, 1);
    int ldv = asn_max_int(jobz == 'A' ? n : job->k, 1);
    if (job->complex)
        ((gesdd_complex_fn *)job->call[0])(&jobz, &m, &n, a, &ldu, s, u, &ldu, vt, &ldv,
                                           work, &lwork, rwork, iwork, info, 1);
    else
        ((gesdd_fn *)job->call[0])(&jobz, &m, &n, a, &ldu, s, u, &ldu, vt, &ldv, work,
                                   &lwork, iwork, info, 1);
}

/* gesdd says nothing of rwork and iwork in a query: their lengths are those of its
 * documentation. */
static asn_status prepare_svd(asnd_linalg_job *job) {
    double answer[2] = {0, 0};
    int info = 0, m = job->m, n = job->n, k = job->k;
    bool values = job->op == ASN_LINALG_SVDVALS;
    call_gesdd(job, NULL, NULL, NULL, NULL, answer, -1, NULL, NULL, &info);
    job->lwork = asn_max_int(asked(job, answer), 1);
    job->liwork = 8 * k;
    if (job->complex) {
        int most = asn_max_int(m, n);
        job->lrwork = values ? 7 * k : k * asn_max_int(5 * k + 7, 2 * most + 2 * k + 1);
    }
    job->scratch = room((size_t)m * n, job->size) + room((size_t)k, real_size(job)) +
                   (values ? 0
                           : room((size_t)m * job->p, job->size) +
                                 room((size_t)n * job->q, job->size)) +
                   work_room(job);
    return ASN_OK;
}

/* Of a matrix without elements: the vectors are any basis. */
static void empty_svd(const asnd_linalg_job *job, char *u, char *vt) {
    size_t size = (size_t)job->size, m = (size_t)job->m, n = (size_t)job->n;
    const float narrow = 1;
    const double wide = 1;
    const void *one = job->single ? (const void *)&narrow : (const void *)&wide;
    memset(u, 0, m * job->p * size);
    memset(vt, 0, n * job->q * size);
    for (size_t i = 0; i < m && i < (size_t)job->p; i++)
        memcpy(u + i * (m + 1) * size, one, (size_t)real_size(job));
    for (size_t i = 0; i < n && i < (size_t)job->q; i++)
        memcpy(vt + i * ((size_t)job->q + 1) * size, one, (size_t)real_size(job));
}

/* Whether the matrix, as asn_matrix_load leaves it, has infinities, and NaN. */
static void look_for_both(const asnd_linalg_job *job, const void *a, bool *inf,
                          bool *nan) {
    size_t count = (size_t)job->m * job->n * (job->complex ? 2 : 1);
    const float *narrow = a;
    const double *wide = a;
    *inf = *nan = false;
    for (size_t i = 0; i < count; i++) {
        double x = job->single ? narrow[i] : wide[i];
        *inf |= isinf(x);
        *nan |= isnan(x);
    }
}

/* NumPy's order: u, s, vh. gesdd is not called for matrices without elements, nor for
 * infinities, with which some of LAPACK's builds never end. */
static asnd_matrix_outcome run_svd(const asnd_linalg_job *job, char *const *at,
                                   char *scratch) {
    int m = job->m, n = job->n, k = job->k, info = 0;
    bool values = job->op == ASN_LINALG_SVDVALS, inf, nan;
    void *a = asn_scratch_piece(&scratch, (size_t)m * n * job->size);
    void *s = asn_scratch_piece(&scratch, (size_t)k * real_size(job));
    void *u = NULL, *vt = NULL;
    if (!values) {
        u = asn_scratch_piece(&scratch, (size_t)m * job->p * job->size);
        vt = asn_scratch_piece(&scratch, (size_t)n * job->q * job->size);
    }
    void *rwork = asn_scratch_piece(&scratch, (size_t)job->lrwork * real_size(job));
    int *iwork = asn_scratch_piece(&scratch, (size_t)job->liwork * sizeof *iwork);
    asn_matrix_load(a, &job->operands[0], at[0], m, n, m);
    look_for_both(job, a, &inf, &nan);
    if (!inf && !nan) {
        if (k > 0)
            call_gesdd(job, a, s, u, vt, scratch, job->lwork, rwork, iwork, &info);
        else if (!values)
            empty_svd(job, u, vt);
    }
    if (info || inf || nan) {
        for (int i = 1; i < job->num_operands; i++)
            asn_matrix_fill_nan(job, i, at[i]);
        return info || nan || job->options.finite ? ASN_MATRIX_FAILED : ASN_MATRIX_DONE;
    }
    store_line(&job->operands[values ? 1 : 2], at[values ? 1 : 2], s, k);
    if (!values) {
        asn_matrix_store(&job->operands[1], at[1], u, m, job->p, m);
        asn_matrix_store(&job->operands[3], at[3], vt, job->q, n, job->q);
    }
    return ASN_MATRIX_DONE;
}

/* ---- eigenvalues of general matrices */

/* Right vectors only. Real matrices have real parts of the eigenvalues in w, imaginary
 * ones in wi, complex ones complex w. */
static void call_geev(const asnd_linalg_job *job, void *a, void *w, void *wi, void *v,
                      void *work, int lwork, void *rwork, int *info) {
    const char *jobvr = job->op == ASN_LINALG_EIG ? "V" : "N";
    int n = job->n, ld = asn_max_int(n, 1);
    if (job->complex)
        ((geev_complex_fn *)job->call[0])("N", jobvr, &n, a, &ld, w, NULL, &ld, v, &ld,
                                          work, &lwork, rwork, info, 1, 1);
    else
        ((geev_fn *)job->call[0])("N", jobvr, &n, a, &ld, w, wi, NULL, &ld, v, &ld, work,
                                  &lwork, info, 1, 1);
}

/* Room for the complex results of real matrices, too: values, then vectors. */
static asn_status prepare_eig(asnd_linalg_job *job) {
    double answer[2] = {0, 0}, real[2] = {0, 0};
    int info = 0;
    size_t n = (size_t)job->n;
    call_geev(job, NULL, NULL, NULL, NULL, answer, -1, real, &info);
    job->lwork = asn_max_int(asked(job, answer), 1);
    job->lrwork = 2 * job->n;
    job->scratch = 2 * room(n * n, job->size) + 2 * room(n, job->size) +
                   room(2 * n * (n + 1), real_size(job)) + work_room(job);
    return ASN_OK;
}

/* A pair of conjugate eigenvalues has its vectors' real parts in one column, the
 * imaginary parts in the next. to: complex columns. */
#define UNPACK(T)                                                                        \
    for (int j = 0; j < n; j++) {                                                        \
        const T *im = (const T *)wi;                                                     \
        int pair = im[j] > 0 && j + 1 < n ? 1 : im[j] < 0 && j > 0 ? -1 : 0;             \
        const T *x = (const T *)v + (size_t)(pair < 0 ? j - 1 : j) * n;                  \
        for (int i = 0; i < n; i++) {                                                    \
            ((T *)to)[2 * (i + (size_t)j * n)] = x[i];                                   \
            ((T *)to)[2 * (i + (size_t)j * n) + 1] = pair ? pair * x[i + n] : 0;         \
        }                                                                                \
    }

static void unpack_vectors(const asnd_linalg_job *job, const void *v, const void *wi,
                           void *to) {
    int n = job->n;
    if (job->single) {
        UNPACK(float)
    } else {
        UNPACK(double)
    }
}

/* n pairs (re, im) from two lists. */
static void join_parts(const asnd_linalg_job *job, const void *re, const void *im,
                       void *to) {
    size_t size = (size_t)real_size(job);
    for (int i = 0; i < job->n; i++) {
        memcpy((char *)to + 2 * (size_t)i * size, (const char *)re + (size_t)i * size,
               size);
        memcpy((char *)to + (2 * (size_t)i + 1) * size,
               (const char *)im + (size_t)i * size, size);
    }
}

/* Results are complex always; the caller decides whether real ones do
 * (numpy.linalg.eig). */
static asnd_matrix_outcome run_eig(const asnd_linalg_job *job, char *const *at,
                                   char *scratch) {
    int n = job->n, info = 0;
    size_t square = (size_t)n * n;
    void *a = asn_scratch_piece(&scratch, square * job->size);
    void *v = asn_scratch_piece(&scratch, square * job->size);
    void *w = asn_scratch_piece(&scratch, (size_t)n * job->size);
    void *wi = asn_scratch_piece(&scratch, (size_t)n * job->size);
    char *joined = asn_scratch_piece(&scratch, 2 * (square + n) * real_size(job));
    void *rwork = asn_scratch_piece(&scratch, (size_t)job->lrwork * real_size(job));
    asn_matrix_load(a, &job->operands[0], at[0], n, n, n);
    call_geev(job, a, w, wi, v, scratch, job->lwork, rwork, &info);
    if (info) {
        for (int i = 1; i < job->num_operands; i++)
            asn_matrix_fill_nan(job, i, at[i]);
        return ASN_MATRIX_FAILED;
    }
    /* Real matrices: w and wi are two lists, and become pairs. */
    if (!job->complex) {
        join_parts(job, w, wi, joined);
        w = joined;
    }
    store_line(&job->operands[1], at[1], w, n);
    if (job->op == ASN_LINALG_EIGVALS) return ASN_MATRIX_DONE;
    if (!job->complex) {
        void *vectors = joined + 2 * (size_t)n * real_size(job);
        unpack_vectors(job, v, wi, vectors);
        v = vectors;
    }
    asn_matrix_store(&job->operands[2], at[2], v, n, n, n);
    return ASN_MATRIX_DONE;
}

/* ---- eigenvalues of symmetric and Hermitian matrices */

/* asn_matrix_load has put the matrix in LAPACK's order, so `upper` means what it does for
 * NumPy. */
static void call_syevd(const asnd_linalg_job *job, void *a, void *w, void *work,
                       int lwork, void *rwork, int lrwork, int *iwork, int liwork,
                       int *info) {
    const char *jobz = job->op == ASN_LINALG_EIGH ? "V" : "N";
    const char *uplo = job->options.upper ? "U" : "L";
    int n = job->n, ld = asn_max_int(n, 1);
    if (job->complex)
        ((heevd_fn *)job->call[0])(jobz, uplo, &n, a, &ld, w, work, &lwork, rwork,
                                   &lrwork, iwork, &liwork, info, 1, 1);
    else
        ((syevd_fn *)job->call[0])(jobz, uplo, &n, a, &ld, w, work, &lwork, iwork,
                                   &liwork, info, 1, 1);
}

/* Lengths of all three work arrays are asked of LAPACK. */
static asn_status prepare_eigh(asnd_linalg_job *job) {
    double answer[2] = {0, 0}, real[2] = {0, 0};
    int integers = 0, info = 0;
    size_t n = (size_t)job->n;
    call_syevd(job, NULL, NULL, answer, -1, real, -1, &integers, -1, &info);
    job->lwork = asn_max_int(asked(job, answer), 1);
    job->lrwork = job->complex ? asn_max_int(asked(job, real), 1) : 0;
    job->liwork = asn_max_int(integers, 1);
    job->scratch = room(n * n, job->size) + room(n, real_size(job)) + work_room(job);
    return ASN_OK;
}

/* Values in ascending order, vectors over the matrix. */
static asnd_matrix_outcome run_eigh(const asnd_linalg_job *job, char *const *at,
                                    char *scratch) {
    int n = job->n, info = 0;
    void *a = asn_scratch_piece(&scratch, (size_t)n * n * job->size);
    void *w = asn_scratch_piece(&scratch, (size_t)n * real_size(job));
    void *rwork = asn_scratch_piece(&scratch, (size_t)job->lrwork * real_size(job));
    int *iwork = asn_scratch_piece(&scratch, (size_t)job->liwork * sizeof *iwork);
    asn_matrix_load(a, &job->operands[0], at[0], n, n, n);
    call_syevd(job, a, w, scratch, job->lwork, rwork, job->lrwork, iwork, job->liwork,
               &info);
    if (info) {
        for (int i = 1; i < job->num_operands; i++)
            asn_matrix_fill_nan(job, i, at[i]);
        return ASN_MATRIX_FAILED;
    }
    store_line(&job->operands[1], at[1], w, n);
    if (job->op == ASN_LINALG_EIGH)
        asn_matrix_store(&job->operands[2], at[2], a, n, n, n);
    return ASN_MATRIX_DONE;
}

/* ---- least squares */

/* r is 1 at least, as gelsd wants; rcond in the dtype's own precision. */
static void call_gelsd(const asnd_linalg_job *job, void *a, void *b, void *s, int *rank,
                       void *work, int lwork, void *rwork, int *iwork, int *info) {
    int m = job->m, n = job->n, r = asn_max_int(job->r, 1);
    int lda = asn_max_int(m, 1), ldb = asn_max_int(asn_max_int(m, n), 1);
    float narrow = (float)job->options.rcond;
    double wide = job->options.rcond;
    const void *rcond = job->single ? (const void *)&narrow : (const void *)&wide;
    if (job->complex)
        ((gelsd_complex_fn *)job->call[0])(&m, &n, &r, a, &lda, b, &ldb, s, rcond, rank,
                                           work, &lwork, rwork, iwork, info);
    else
        ((gelsd_fn *)job->call[0])(&m, &n, &r, a, &lda, b, &ldb, s, rcond, rank, work,
                                   &lwork, iwork, info);
}

/* Likewise; rank is an output that a query may write. */
static asn_status prepare_lstsq(asnd_linalg_job *job) {
    double answer[2] = {0, 0}, real[2] = {0, 0};
    int integers = 0, info = 0, rank = 0;
    size_t most = (size_t)asn_max_int(job->m, job->n);
    call_gelsd(job, NULL, NULL, NULL, &rank, answer, -1, real, &integers, &info);
    job->lwork = asn_max_int(asked(job, answer), 1);
    job->lrwork = job->complex ? asn_max_int(asked(job, real), 1) : 0;
    job->liwork = asn_max_int(integers, 1);
    job->scratch = room((size_t)job->m * job->n, job->size) +
                   room(most * asn_max_int(job->r, 1), job->size) +
                   room((size_t)job->k, real_size(job)) + work_room(job);
    return ASN_OK;
}

/* Sums of squares of what is left below row n, column by column. */
static void store_residuals(const asnd_linalg_job *job, char *to, const void *b) {
    const asnd_nd *o = &job->operands[3];
    int64_t step = o->strides[o->ndim - 1];
    int parts = job->complex ? 2 : 1, ld = asn_max_int(job->m, job->n);
    for (int j = 0; j < job->r; j++) {
        double sum = 0;
        for (int i = job->n * parts; i < job->m * parts; i++) {
            size_t k = (size_t)i + (size_t)j * ld * parts;
            double x =
                job->single ? (double)((const float *)b)[k] : ((const double *)b)[k];
            sum += x * x;
        }
        if (job->single)
            *(float *)(to + j * step) = (float)sum;
        else
            *(double *)(to + j * step) = sum;
    }
}

/* b has max(m, n) rows: right-hand sides come in the first m, solutions leave in the
 * first n, residuals below. Residuals are stored whatever the rank: whether they mean
 * anything is the caller's question, by rank and shape. */
static asnd_matrix_outcome run_lstsq(const asnd_linalg_job *job, char *const *at,
                                     char *scratch) {
    int m = job->m, n = job->n, r = job->r, most = asn_max_int(m, n), info = 0, rank = 0;
    size_t columns = (size_t)most * asn_max_int(r, 1); /* gelsd wants one at least */
    void *a = asn_scratch_piece(&scratch, (size_t)m * n * job->size);
    void *b = asn_scratch_piece(&scratch, columns * job->size);
    void *s = asn_scratch_piece(&scratch, (size_t)job->k * real_size(job));
    void *rwork = asn_scratch_piece(&scratch, (size_t)job->lrwork * real_size(job));
    int *iwork = asn_scratch_piece(&scratch, (size_t)job->liwork * sizeof *iwork);
    asn_matrix_load(a, &job->operands[0], at[0], m, n, m);
    memset(b, 0, columns * job->size);
    asn_matrix_load(b, &job->operands[1], at[1], m, r, most);
    call_gelsd(job, a, b, s, &rank, scratch, job->lwork, rwork, iwork, &info);
    if (info) {
        for (int i = 2; i < job->num_operands; i++)
            asn_matrix_fill_nan(job, i, at[i]);
        return ASN_MATRIX_FAILED;
    }
    asn_matrix_store(&job->operands[2], at[2], b, n, r, most);
    store_residuals(job, at[3], b);
    *(int64_t *)at[4] = rank;
    store_line(&job->operands[5], at[5], s, job->k);
    return ASN_MATRIX_DONE;
}

/* From ASN_LINALG_QR on. */
const asnd_linalg_entry asn_linalg_decompositions[] = {
    [ASN_LINALG_QR - ASN_LINALG_QR] = {3, {"geqrf_", "orgqr_"}, prepare_qr, run_qr},
    [ASN_LINALG_QR_RAW - ASN_LINALG_QR] = {3, {"geqrf_", NULL}, prepare_qr, run_qr},
    [ASN_LINALG_QR_R - ASN_LINALG_QR] = {2, {"geqrf_", NULL}, prepare_qr, run_qr},
    [ASN_LINALG_SVD - ASN_LINALG_QR] = {4, {"gesdd_", NULL}, prepare_svd, run_svd},
    [ASN_LINALG_SVDVALS - ASN_LINALG_QR] = {2, {"gesdd_", NULL}, prepare_svd, run_svd},
    [ASN_LINALG_EIG - ASN_LINALG_QR] = {3, {"geev_", NULL}, prepare_eig, run_eig},
    [ASN_LINALG_EIGVALS - ASN_LINALG_QR] = {2, {"geev_", NULL}, prepare_eig, run_eig},
    [ASN_LINALG_EIGH - ASN_LINALG_QR] = {3, {"syevd_", NULL}, prepare_eigh, run_eigh},
    [ASN_LINALG_EIGVALSH - ASN_LINALG_QR] = {2, {"syevd_", NULL}, prepare_eigh, run_eigh},
    [ASN_LINALG_LSTSQ - ASN_LINALG_QR] = {6, {"gelsd_", NULL}, prepare_lstsq, run_lstsq},
};
