/* CPU device: linear algebra on as many small real matrices as a vector has lanes. */
#ifndef ASN_DEVICE_CPU_LINALG_LINALG_LANES_H
#define ASN_DEVICE_CPU_LINALG_LINALG_LANES_H

#include "device/cpu/fpflags.h"
#include "device/cpu/linalg/linalg_job.h"

enum {
    ASN_LINALG_LANES = 16, /* of the widest instruction set */
    /* What may become of a matrix. */
    ASN_LANE_FAILED = 1, /* no result: it is NaN */
    ASN_LANE_AGAIN = 2,  /* left to LAPACK: not finite, or no convergence */
    ASN_LANE_CLOSE = 4,  /* LAPACK's word counts, where there is LAPACK */
};

typedef struct asnd_linalg_kernels {
    int lanes;
    /* `count` <= lanes matrices; at[operand][lane] are their addresses. outcome: one
     * ASN_LANE_* or 0 per lane (CLOSE and FAILED go together). scratch has room for
     * `vectors` of asn_linalg_vectors. */
    void (*run)(const asnd_linalg_job *job, int count,
                char *const (*at)[ASN_LINALG_LANES], void *scratch, uint8_t *outcome);
} asnd_linalg_kernels;

/* Vectors that a group needs. */
static inline int asn_linalg_vectors(const asnd_linalg_job *job) {
    return 2 * job->n * job->n + job->n * (job->r + 2) + ASN_LINALG_LANES;
}

extern const asnd_linalg_kernels asn_linalg_f32_baseline, asn_linalg_f64_baseline;
extern const asnd_linalg_kernels asn_linalg_f32_avx2, asn_linalg_f64_avx2;
extern const asnd_linalg_kernels asn_linalg_f32_avx512, asn_linalg_f64_avx512;

#endif
