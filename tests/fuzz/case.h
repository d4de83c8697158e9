/* A case of the fuzzer of fused programs: a program and its operands as plain data, which
 * a text file holds (case_text.c), a seed makes (case_make.c) and memory is laid out for
 * (case_run.c). Nothing in it is an address: a case means the same in every process. */
#ifndef ASN_FUZZ_CASE_H
#define ASN_FUZZ_CASE_H

#include <stdio.h>

#include "../c/check.h"

#include "device/cpu/fused/fused.h"
#include "device/cpu/kernels.h"

enum { FUZZ_DIMS = 5, FUZZ_ELEMENTS = 1 << 22 /* a case computes at most */ };

/* How a buffer is filled. */
typedef enum {
    FUZZ_PLAIN,    /* numbers of every function's fast path, -1.2 to 2.8 */
    FUZZ_POSITIVE, /* 0.1 to 2.1 */
    FUZZ_CORNERS, /* plain, one in forty a corner: infinity, NaN, subnormal, huge, zero */
    FUZZ_RARE,    /* plain, one in a thousand a corner */
    FUZZ_ONE,     /* positive but for a single corner */
    FUZZ_WIDE,    /* every exponent */
    FUZZ_FILLS
} fuzz_fill;

/* Memory that operands are views of; it begins `shift` bytes after a cache line. */
typedef struct {
    int64_t bytes;
    uint64_t seed;
    int dtype, fill, shift;
} fuzz_buffer;

typedef struct {
    int buffer;
    bool immediate; /* an input: the first element of its buffer, given by value */
    int dtype, flags;
    int reduce; /* an output: an asn_op, or ACLNNX_NO_REDUCE */
    int64_t offset, strides[FUZZ_DIMS];
} fuzz_operand;

typedef struct {
    int ndim;
    int64_t shape[FUZZ_DIMS];
    uint64_t mask; /* dimensions that outputs reduce */
    int num_in, num_out, num_instrs, num_regs, num_buffers;
    fuzz_buffer buffers[ACLNNX_MAX_OPERANDS];
    fuzz_operand operands[ACLNNX_MAX_OPERANDS]; /* inputs, then outputs */
    aclnnxInstr instrs[ACLNNX_MAX_INSTRS];
} fuzz_case;

/* case_make.c */
void fuzz_make(fuzz_case *c, uint64_t seed);

/* case_text.c. Reading says what is wrong on standard output; false then. */
void fuzz_write(FILE *file, const fuzz_case *c);
bool fuzz_read(FILE *file, fuzz_case *c);
asn_dtype fuzz_dtype_of(const aclnnxInstr *in);  /* of its loop */
asn_dtype fuzz_result_of(const aclnnxInstr *in); /* of its result */
int fuzz_arity(const aclnnxInstr *in);
int64_t fuzz_size(const fuzz_case *c);
/* Bytes from the lowest to behind the highest element, from offset 0; low: NULL, or gets
 * the lowest. */
int64_t fuzz_reach(const fuzz_case *c, const fuzz_operand *o, int64_t *low);
/* The numbers are within their bounds: every operand within its buffer. */
bool fuzz_is_sound(const fuzz_case *c);

/* case_run.c: runs the case in every way and compares; false: prints how they differ. */
bool fuzz_check(const fuzz_case *c);

/* case_oracle.c: one element after the other, through loops of one element. `at` are the
 * buffers' addresses. bounds[i] is what a result of output i may be off by, per element
 * of its buffer (reordered floating-point sums and products; negative: anything), or
 * NULL: nothing. The caller frees them. */
void fuzz_oracle(const fuzz_case *c, char *const *at, double **bounds);

/* case_shrink.c: the smallest case found for which fails() is still true. */
void fuzz_shrink(fuzz_case *c, bool (*fails)(const fuzz_case *c));

#endif
