/* CPU device: solvers and decompositions of (stacks of) matrices. */
#ifndef ASN_DEVICE_CPU_LINALG_LINALG_H
#define ASN_DEVICE_CPU_LINALG_LINALG_H

#include "device/cpu/nd.h"

/* Operands in order, inputs first; k = min(m, n), p the columns asked for. T is float32,
 * float64, complex64 or complex128, R its real dtype, C its complex one. */
typedef enum {
    ASN_LINALG_SOLVE,    /* T (n, n), T (n, r) -> T (n, r) */
    ASN_LINALG_INV,      /* T (n, n) -> T (n, n) */
    ASN_LINALG_DET,      /* T (n, n) -> T () */
    ASN_LINALG_SLOGDET,  /* T (n, n) -> T (), R () */
    ASN_LINALG_CHOLESKY, /* T (n, n) -> T (n, n) */
    ASN_LINALG_QR,       /* T (m, n) -> T (m, p), T (p, n), p = k or m */
    ASN_LINALG_QR_RAW,   /* T (m, n) -> T (m, n) of LAPACK's geqrf, T (k) */
    ASN_LINALG_QR_R,     /* T (m, n) -> T (k, n) */
    ASN_LINALG_SVD,      /* T (m, n) -> T (m, p), R (k), T (q, n); p, q = k, or m, n */
    ASN_LINALG_SVDVALS,  /* T (m, n) -> R (k) */
    ASN_LINALG_EIG,      /* T (n, n) -> C (n), C (n, n) */
    ASN_LINALG_EIGVALS,  /* T (n, n) -> C (n) */
    ASN_LINALG_EIGH,     /* T (n, n) -> R (n), T (n, n) */
    ASN_LINALG_EIGVALSH, /* T (n, n) -> R (n) */
    ASN_LINALG_LSTSQ,    /* T (m, n), T (m, r) -> T (n, r), R (r), int64 (), R (k) */
    ASN_LINALG_OPS
} asnd_linalg_op;

enum { ASN_LINALG_MAX_OPERANDS = 6 };

typedef struct {
    bool upper;   /* CHOLESKY, EIGH, EIGVALSH: which triangle is read (and, CHOLESKY,
                     written) */
    bool finite;  /* SVD, SVDVALS: one with infinities has no result, else NaN for one */
    double rcond; /* LSTSQ: singular values up to rcond times the largest count as 0 */
} asnd_linalg_options;

/* Operands have numBatch leading dimensions of one shape (inputs may have strides 0
 * there), then the operation's. No output overlaps another operand. *failed: how many
 * matrices have no result (singular, not positive definite, no convergence); theirs are
 * NaN, DET 0, SLOGDET (0, -inf). Errors: ASN_ERR_VALUE, ASN_ERR_TYPE, ASN_ERR_MEMORY,
 * ASN_ERR_RUNTIME without LAPACK. */
ASN_CHECK_RESULT asn_status asn_cpu_linalg(asnd_linalg_op op,
                                           const asnd_linalg_options *options,
                                           int num_batch, int num_operands,
                                           const asnd_nd *operands, int64_t *failed);

#endif
