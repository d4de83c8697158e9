/* AsNumpy in C: operators of one's own. A shared library that is compiled against this
 * header and exports a table of operators is loaded by asnumpy.load_library(path), which
 * makes ufuncs of them: NumPy's broadcasting, casting, out=, where=, dtype= and methods
 * around the loops, which are recorded and fused with other operations.
 *
 *     static void relu(char **args, const int64_t *n, const int64_t *steps, void *data) {
 *         for (int64_t i = 0; i < *n; i++) {
 *             float x = *(const float *)(args[0] + i * steps[0]);
 *             *(float *)(args[1] + i * steps[1]) = x > 0 ? x : 0;
 *         }
 *     }
 *     static const asnp_op_loop loops[] = {{relu, {ASNP_FLOAT32, ASNP_FLOAT32}, NULL}};
 *     static const asnp_op ops[] = {{"relu", "max(x, 0)", 1, 1, NULL, 1, loops}};
 *     ASNP_OPS(ops)
 *
 * cc -O3 -march=native -shared -fPIC relu.c -o librelu.so; nothing is linked. C11, C++11.
 */
#ifndef ASNUMPY_OP_H_
#define ASNUMPY_OP_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ASNP_OP_VERSION = 1, ASNP_OP_MAX_ARGS = 8 };

/* n elements. args: of each argument, inputs first, the first element; steps: bytes to
 * the next one. Arguments are aligned for their dtypes. A step may be 0 or negative; an
 * output is an input of equal size (of a reduction: with step 0), or shares nothing with
 * any. Several threads call at once, with other elements each. In a fused program the
 * elements are a block, one behind the other (a loop with a branch for steps that are the
 * sizes of its elements is compiled to vectors); an element may be computed twice, and
 * equal calls once: results are made of the inputs alone. */
typedef void (*asnp_op_function)(char **args, const int64_t *n, const int64_t *steps,
                                 void *data);

typedef struct {
    asnp_op_function function;
    asnp_dtype dtypes[ASNP_OP_MAX_ARGS]; /* of the inputs, then the outputs */
    void *data;                          /* handed to the function; may be NULL */
} asnp_op_loop;

typedef struct {
    const char *name; /* a C identifier */
    const char *doc;  /* a sentence, or NULL */
    int32_t num_in, num_out;
    /* Of a binary operator: what reducing nothing gives; NULL: it has none. */
    const asnp_number *identity;
    /* A call takes the first loop to whose dtypes all inputs cast safely. */
    int32_t num_loops;
    const asnp_op_loop *loops;
} asnp_op;

typedef struct {
    int32_t version, num_ops;
    const asnp_op *ops;
} asnp_op_table;

/* The library's one table, of an array of asnp_op. */
#ifdef __cplusplus
#define ASNP_OPS(ops)                                                                    \
    extern "C" ASNUMPY_API const asnp_op_table asnumpy_ops;                              \
    extern "C" const asnp_op_table asnumpy_ops = {ASNP_OP_VERSION,                       \
                                                  sizeof(ops) / sizeof *(ops), ops};
#else
#define ASNP_OPS(ops)                                                                    \
    ASNUMPY_API extern const asnp_op_table asnumpy_ops;                                  \
    const asnp_op_table asnumpy_ops = {ASNP_OP_VERSION, sizeof(ops) / sizeof *(ops), ops};
#endif

/* ---- two-phase operators, as CANN's: asnumpy.ops.NAME(inputs, attributes), queued
 *
 * The first phase checks its arguments, says how much workspace it wants and makes an
 * executor; the second puts the work on the stream. They are called as CANN's functions
 * are and may call them (such a library includes CANN's headers and links its
 * libraries). The executor is the operator's own to make and free, or CANN's. */
struct aclOpExecutor;
enum { ASNP_TWO_PHASE_VERSION = 1, ASNP_OP_MAX_PARAMETERS = 16, ASNP_OP_MAX_DIMS = 64 };

typedef struct {
    asnp_dtype dtype;
    int32_t num_dims;
    int64_t shape[ASNP_OP_MAX_DIMS];
} asnp_op_array;

/* What the outputs are, by the inputs and attributes: NULL, or a sentence about what is
 * wrong with them. */
typedef const char *(*asnp_op_infer)(const asnp_op_array *in,
                                     const asnp_number *attributes, asnp_op_array *out);
/* aclnnXxxGetWorkspaceSize, whose type is its own; cast to this. */
typedef int32_t (*asnp_op_first_phase)(void);
typedef int32_t (*asnp_op_second_phase)(void *workspace, uint64_t size,
                                        struct aclOpExecutor *executor, void *stream);

typedef struct {
    const char *name; /* a C identifier */
    const char *doc;  /* a sentence, or NULL */
    /* The first phase's parameters before the workspace's size, in order: inputs,
     * attributes with their types (int: int64_t, float: double, bool, scalar: aclScalar *
     * of input 0's dtype) and perhaps defaults, "->", outputs. Inputs and outputs are
     * aclTensor *. "x, slope: float = 0.1, times: int -> y" */
    const char *parameters;
    asnp_op_first_phase first;
    asnp_op_second_phase second;
    asnp_op_infer infer; /* NULL: every output is like input 0 */
} asnp_two_phase;

typedef struct {
    int32_t version, num_ops;
    const asnp_two_phase *ops;
} asnp_two_phase_table;

/* The library's one table of them, beside ASNP_OPS or without it. */
#ifdef __cplusplus
#define ASNP_TWO_PHASE(ops)                                                              \
    extern "C" ASNUMPY_API const asnp_two_phase_table asnumpy_two_phase;                 \
    extern "C" const asnp_two_phase_table asnumpy_two_phase = {                          \
        ASNP_TWO_PHASE_VERSION, sizeof(ops) / sizeof *(ops), ops};
#else
#define ASNP_TWO_PHASE(ops)                                                              \
    ASNUMPY_API extern const asnp_two_phase_table asnumpy_two_phase;                     \
    const asnp_two_phase_table asnumpy_two_phase = {ASNP_TWO_PHASE_VERSION,              \
                                                    sizeof(ops) / sizeof *(ops), ops};
#endif

#ifdef __cplusplus
}
#endif
#endif
