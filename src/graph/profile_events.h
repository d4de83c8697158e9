/* L2 graph: what is launched, as events of the recorder (runtime/profile.h): bytes and
 * floating-point operations from rows and shapes, and a description of each fused
 * program.
 *
 * Floating-point operations are counted as the field counts them: one an element for each
 * operation on real floats whatever it costs (a sine is one), two to eleven for complex
 * numbers, none for integers, comparisons, choices and copies; 2 m n k for products,
 * 5 n log2 n for transforms. Bytes are what has to be read and written once: an operand
 * that is stretched counts with the elements it has.
 */
#ifndef ASN_GRAPH_PROFILE_EVENTS_H
#define ASN_GRAPH_PROFILE_EVENTS_H

#include "graph/plan/plan.h"
#include "runtime/profile.h"

/* Floating-point operations of one element of op's loop. */
int64_t asn_flops_of(asn_op op, asn_dtype loop);
/* Of a recorded operation or reduction. */
int64_t asn_flops_of_node(const asn_node *n);
/* Of num_matrices products of (m, k) and (k, n). */
int64_t asn_flops_of_product(asn_dtype dtype, int64_t num_matrices, int64_t m, int64_t k,
                             int64_t n);

/* Bytes that an operand of this shape moves: those of the axes along which it has a
 * stride. */
int64_t asn_operand_bytes(const aclnnxOperand *o, int ndim, const int64_t *shape);
/* The product of the extents. */
int64_t asn_elements_of(int ndim, const int64_t *shape);

/* Ends `mark`: a program over `rows` of the first axis' rows (all: -1), one node, a small
 * operation on n elements. */
void asn_record_program(asn_mark mark, const asn_program *p, const asn_node *nodes,
                        int64_t rows) ASN_RECORDS;
void asn_record_node(asn_mark mark, const asn_node *node) ASN_RECORDS;
/* A plan that was made for `count` operations. */
void asn_record_plan(asn_mark mark, int count) ASN_RECORDS;
void asn_record_small(uint64_t begin, asn_op op, int64_t n, asn_dtype dtype,
                      int arrays) ASN_RECORDS;

/* A small move to (or a count of) what has this layout: read and written. */
void asn_record_move(uint64_t begin, const char *name, const asn_layout *l) ASN_RECORDS;

/* Operators of CANN's: asn_operator_tensor adds its bytes, whoever knows them the
 * operations; asn_record_operator ends the mark with both. */
void asn_record_operand(const asn_layout *l) ASN_RECORDS;
void asn_record_work(int64_t flops) ASN_RECORDS;
void asn_record_operator(asn_mark mark, const char *name) ASN_RECORDS;

/* ---- profile_launch.c: copies, and the fused operator's relatives */

/* Puts the layer that records them into the device's interface while there is a session,
 * takes it out without one. With the library's lock held. */
void asn_record_layer(void);
/* Ends a mark around a transform or a solver that the host's device ran in the place of
 * this one; code: what the call returned. */
void asn_record_fft(asn_mark mark, int32_t code, int64_t n, const aclnnxOperand *in,
                    const int64_t *in_shape, const aclnnxOperand *out,
                    const int64_t *out_shape, int32_t ndim);
void asn_record_linalg(asn_mark mark, int32_t code, int32_t op, int32_t num,
                       const aclnnxTensor *operands);
/* NumPy's name of an ACLNNX_LINALG_*; static. */
const char *asn_linalg_name(int32_t op);
/* Of NumPy's solvers only these report floating-point exceptions. */
static inline bool asn_linalg_reports(int32_t op) {
    return op == ACLNNX_LINALG_DET || op == ACLNNX_LINALG_SLOGDET;
}

/* ---- descriptions of programs */

/* An input of an operation: the operation of the program that made it, or one of these.
 */
enum { ASN_FROM_MEMORY = -1, ASN_FROM_NUMBER = -2 };
typedef struct {
    uint16_t op, reduce_op; /* as in asn_node */
    uint8_t loop, num_in, stored, unused;
    int16_t from[3], unused_too;
    uint32_t line;
} asn_step;

typedef struct {
    uint64_t hash;
    int num_steps, ndim, num_in, num_out;
    int64_t shape[4]; /* the first axes */
    asn_step *steps;  /* owns */
} asn_description;

/* Descriptions are numbered from 1 on, and stay. NULL: there is none of that number. */
const asn_description *asn_record_description(uint32_t number);

/* The line of a session's caller for operations that are recorded now. */
static inline uint32_t asn_record_line(void) {
    return ASN_PROFILING ? asn_profile_line() : 0;
}

/* Begins and ends a session (runtime/profile.h) with everything recorded run before, so
 * that a session's events are those of its own calls. */
ASN_CHECK_RESULT asn_status asn_record_start(int every, uint64_t *since);
ASN_CHECK_RESULT asn_status asn_record_stop(void);

#endif
