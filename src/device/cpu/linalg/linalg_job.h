/* CPU device: what the files of linalg share: one call, as its matrices see it. */
#ifndef ASN_DEVICE_CPU_LINALG_LINALG_JOB_H
#define ASN_DEVICE_CPU_LINALG_LINALG_JOB_H

#include "device/cpu/linalg/linalg.h"

enum { ASN_LINALG_SMALL = 32 }; /* largest matrix of the kernels across the batch */

typedef struct {
    asnd_linalg_op op;
    asnd_linalg_options options;
    asn_dtype dtype; /* T */
    int size;        /* bytes of a T */
    bool complex, single;
    int m, n, k, r; /* of the first operand, k = min(m, n); columns of the second */
    int p, q;       /* columns of Q and U, rows of V^H */
    int num_batch, num_operands;
    const asnd_nd *operands;
    /* LAPACK's: functions and the lengths of their workspaces */
    void *call[2];
    int lwork, lrwork, liwork;
    size_t scratch; /* bytes that one matrix needs */
} asnd_linalg_job;

typedef enum { ASN_MATRIX_DONE, ASN_MATRIX_FAILED } asnd_matrix_outcome;

/* One operation. `at`: the operands' addresses for this matrix. prepare fills in the
 * workspace lengths and scratch; run does one matrix, in scratch memory of job->scratch
 * bytes. */
typedef struct {
    int num_operands;
    const char *names[2]; /* LAPACK's, after the letter of the type */
    asn_status (*prepare)(asnd_linalg_job *job);
    asnd_matrix_outcome (*run)(const asnd_linalg_job *job, char *const *at,
                               char *scratch);
} asnd_linalg_entry;

extern const asnd_linalg_entry asn_linalg_solvers[], asn_linalg_decompositions[];

/* ---- matrices between memory with any strides and columns in a row (LAPACK's order)
 * rows x columns elements at `from`, with the strides of a's last two dimensions, to
 * columns `ld` elements apart; store: the way back. */
void asn_matrix_load(void *to, const asnd_nd *a, const char *from, int rows, int columns,
                     int ld);
void asn_matrix_store(const asnd_nd *a, char *to, const void *from, int rows, int columns,
                      int ld);
/* Every element of the operand's matrix. */
void asn_matrix_fill_nan(const asnd_linalg_job *job, int operand, char *to);

/* A pivot that rounding may have made of 0, or 0 of: where the elements above it have
 * this sum of sizes. Which it is depends on the order of the additions, and NumPy's users
 * know LAPACK's answer. Without any above it the pivot is exact. */
static inline double asn_close_to_singular(const asnd_linalg_job *job) {
    return (job->single ? 0x1p-23 : 0x1p-52) * 16 * job->n;
}
/* A pivot below it may have no finite reciprocal: LAPACK divides by those. */
static inline double asn_least_pivot(size_t real_bytes) {
    return real_bytes == 4 ? 0x1p-126 : 0x1p-1022;
}
/* Matrices of one call that LAPACK takes one by one: set up with the first of them, while
 * block is NULL; its user frees block. */
typedef struct {
    asnd_linalg_job job;
    const asnd_linalg_entry *entry;
    char *block;
} asnd_linalg_lapack;
/* *failed is 1 more where the matrix has no result. ASN_ERR_MEMORY, and another error
 * without LAPACK, which leaves the outputs as they are. */
ASN_CHECK_RESULT asn_status asn_linalg_by_lapack(asnd_linalg_lapack *l,
                                                 const asnd_linalg_job *job,
                                                 char *const *at, int64_t *failed);
/* Systems and inverses of small matrices, fewer than a stack: true when they were done,
 * or *status says why not. */
enum { ASN_LINALG_STACK = 4 /* matrices that are worth a group of lanes */ };
bool asn_linalg_few(const asnd_linalg_job *job, int64_t count, int64_t *failed,
                    asn_status *status);
/* The stack's matrices that the kernels across a batch can take: true when they did. */
bool asn_linalg_small(const asnd_linalg_job *job, int64_t count, int64_t *failed,
                      asn_status *status);
/* Operand addresses of matrix `index` of the batch. */
void asn_linalg_addresses(const asnd_linalg_job *job, int64_t index, char **at);

/* Pieces of a matrix's scratch, 64-byte aligned. */
static inline size_t asn_scratch_room(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}
static inline void *asn_scratch_piece(char **scratch, size_t bytes) {
    void *p = *scratch;
    *scratch += asn_scratch_room(bytes);
    return p;
}

static inline int asn_min_int(int a, int b) {
    return a < b ? a : b;
}
static inline int asn_max_int(int a, int b) {
    return a > b ? a : b;
}

#endif
