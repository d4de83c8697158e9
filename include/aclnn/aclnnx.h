/* What our CPU device has beyond CANN's interface: fused programs, and what CANN has no
 * operator for (scans, updates at indices, transforms, solvers) or that costs less
 * without tensors (sorts, small products, single loops). All of it is optional: the array
 * library looks each symbol up, and a device without it is driven through single aclnn
 * operators, or computes on the host.
 *
 * aclnnxFused, the fused elementwise operator, runs a short program of typed operations
 * over virtual registers across one iteration space, with plain descriptors instead of
 * aclTensor, in one call. An output may end in a reduction.
 *
 * Registers. Register r < numIn + numOut is operand r (inputs first, then outputs); the
 * others are temporaries. Every register is written by at most one instruction and read
 * only after it: an SSA program in execution order. An input register is never written.
 * An output that aliases an input (same bytes) sees the input's old values until the
 * program ends for that element. Outputs must not partially overlap inputs or each other.
 *
 * Dtypes. An instruction names its loop dtype (what its operands have been cast to); its
 * result dtype follows from the operation's row. ACLNNX_CAST converts dtype -> outDtype.
 * An operand register already has the dtype that its readers and its writer use: casts
 * are explicit.
 *
 * Reductions. An output whose `reduceOp` is not ACLNNX_NO_REDUCE is accumulated with that
 * operation along each dimension where its stride is 0 and which `reduceMask` names. The
 * output memory is overwritten, or, with ACLNNX_ACCUMULATE, its present value takes part
 * first. An empty reduction writes the operation's identity. The order of accumulation is
 * fixed by the shape alone, never by the number of threads.
 */
#ifndef ACLNN_ACLNNX_H_
#define ACLNN_ACLNNX_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ACLNNX_MAX_OPERANDS = 32,
    ACLNNX_MAX_INSTRS = 128,
    ACLNNX_MAX_REGS = 192, /* operands included; registers are numbered in one byte */
    ACLNNX_MAX_DIMS = 64,
    ACLNNX_NO_REDUCE = 0xffff
};

/* Dtypes are aclDataType values. Opcodes are looked up by name with aclnnxOpcode, so that
 * they are no part of the binary interface. */
typedef struct aclnnxInstr {
    uint16_t op;      /* aclnnxOpcode("add") ... */
    uint8_t dtype;    /* loop dtype, aclDataType value */
    uint8_t outDtype; /* result dtype, aclDataType value (read for "cast" only) */
    uint8_t dst;      /* register written */
    uint8_t src[3];   /* registers read, as many as the operation has inputs */
} aclnnxInstr;

typedef struct aclnnxOperand {
    void *data;             /* device address of element (0, ..., 0); NULL: immediate */
    const int64_t *strides; /* bytes, one per dimension; NULL: contiguous, row-major */
    uint8_t immediate[16];  /* the scalar's bytes, when data is NULL (inputs only) */
    uint8_t dtype;          /* aclDataType value */
    uint8_t flags;          /* ACLNNX_ACCUMULATE ... */
    uint16_t reduceOp;      /* outputs: ACLNNX_NO_REDUCE or an opcode */
} aclnnxOperand;

/* ACLNNX_PART: an output that is a part of a large one, whose other parts follow.
 * ACLNNX_CONJUGATE: a complex row that aclnnxMatmul conjugates. ACLNNX_READ_SOON: an
 * output that the next programs read, which a cache had better keep. */
enum {
    ACLNNX_ACCUMULATE = 1,
    ACLNNX_PART = 2,
    ACLNNX_CONJUGATE = 4,
    ACLNNX_READ_SOON = 8
};

typedef struct aclnnxProgram {
    int32_t numDims;
    int32_t numIn, numOut, numInstrs, numRegs;
    const int64_t *shape; /* the iteration space; an extent of 0 is allowed */
    uint64_t
        reduceMask; /* bit d: dimension d is reduced away (in every reducing output) */
    const aclnnxOperand *operands; /* numIn inputs, then numOut outputs */
    const aclnnxInstr *instrs;
    uint32_t *fpFlags; /* NULL, or has the ACLNNX_FP_* met or-ed in (atomically);
                          on a busy stream that happens later: keep it alive */
} aclnnxProgram;

/* Floating-point conditions met while running, as IEEE 754 flags; integer division by
 * zero counts as ACLNNX_FP_DIVIDE. */
enum {
    ACLNNX_FP_DIVIDE = 1,
    ACLNNX_FP_OVERFLOW = 2,
    ACLNNX_FP_UNDERFLOW = 4,
    ACLNNX_FP_INVALID = 8
};

/* The opcode of a row of the operation table, by its name; -1 when there is none. */
int32_t aclnnxOpcode(const char *name);

/* Validates and runs (or enqueues) the program. On an idle stream a program runs on the
 * calling thread; otherwise it is copied and enqueued. Returns an aclnnStatus.
 * Thread-safe. */
int32_t aclnnxFused(const aclnnxProgram *program, void *stream);

/* A program that runs more than once: what it says is checked and copied here, and
 * planned once. *prepared is to be released. Of its operands, `data` only tells which are
 * immediates. Returns an aclnnStatus. Thread-safe, as what follows. */
typedef struct aclnnxPrepared aclnnxPrepared;
int32_t aclnnxPrepare(const aclnnxProgram *program, aclnnxPrepared **prepared);

/* Runs it as aclnnxFused would on operands at these addresses, in the program's order; of
 * an immediate, the address of its 16 bytes, a multiple of 8, which are read before the
 * call returns. fpFlags as a program's. Any number of runs at once. */
int32_t aclnnxRun(aclnnxPrepared *prepared, void *const *addresses, uint32_t *fpFlags,
                  void *stream);

/* Runs that are queued still end well. NULL: nothing is done. */
void aclnnxRelease(aclnnxPrepared *prepared);

/* Loops of the program's own, in NumPy's form, as operations of fused programs: n
 * elements, each argument's `steps` bytes apart, inputs first. A loop is called by
 * several threads at once, each with elements of its own, and computes every element from
 * its inputs alone: it may be called twice for one. An output may be an input of equal
 * element size. */
typedef void (*aclnnxLoopFunction)(char **args, const int64_t *n, const int64_t *steps,
                                   void *data);
enum { ACLNNX_OWN_INPUTS = 3, ACLNNX_OWN_ARGS = 8 };
typedef struct aclnnxOwnLoop {
    const char *name; /* for messages */
    aclnnxLoopFunction function;
    void *data; /* handed to the function */
    int32_t numIn, numOut;
    uint8_t dtypes[ACLNNX_OWN_ARGS]; /* aclDataType values: inputs, then outputs */
} aclnnxOwnLoop;

/* The opcode of the loop's output 0; output k is opcode + k. In an instruction its dtype
 * is the output's. Instructions of one loop over the same registers are one call. The
 * same loop again gives the same opcode; none is ever removed. -1: it is malformed
 * (aclGetRecentErrMsg says how), or there is no room. Thread-safe. */
int32_t aclnnxRegisterLoop(const aclnnxOwnLoop *loop);

/* From now on the executor's runs or what they meet into *fpFlags (ACLNNX_FP_*,
 * atomically; on a busy stream that happens later: keep it alive); NULL: into nothing.
 * Returns an aclnnStatus. */
struct aclOpExecutor;
int32_t aclnnxConditions(struct aclOpExecutor *executor, uint32_t *fpFlags);

/* Running results along an axis: out[0] = in[0], out[i] = op(out[i - 1], in[i]), strictly
 * in order. Both operands have the operation's loop and result dtype, which must be
 * equal; out may be in itself, not overlap it otherwise. fpFlags: NULL, or has the
 * ACLNNX_FP_* met or-ed in (atomically). Returns an aclnnStatus. */
int32_t aclnnxScan(int32_t op, const aclnnxOperand *in, const aclnnxOperand *out,
                   int32_t numDims, const int64_t *shape, int32_t axis, uint32_t *fpFlags,
                   void *stream);

/* self[index_0, ..., index_{k-1}] = op(self[...], values), one element after the other in
 * row-major order of the indices, so that a repeated index accumulates; op
 * ACLNNX_NO_REDUCE stores (the last one wins). The k = numIndices leading dimensions of
 * self are indexed by int64 operands of shape indexShape (strides 0 where broadcast;
 * negative indices count from the end, out of range is ACLNN_ERR_PARAM_INVALID with the
 * index and axis in the message); values has shape indexShape + self's remaining
 * dimensions, and self's dtype, or with an op another one in which it has a loop: self's
 * elements are converted to that and back. fpFlags: NULL, or has the ACLNNX_FP_* met
 * or-ed in (atomically). */
int32_t aclnnxUpdateAt(int32_t op, const aclnnxOperand *self, int32_t selfDims,
                       const int64_t *selfShape, int32_t numIndices,
                       const aclnnxOperand *indices, int32_t indexDims,
                       const int64_t *indexShape, const aclnnxOperand *values,
                       uint32_t *fpFlags, void *stream);

/* What sorts an axis, stably, NaN last: its values (out may be in itself), or the int64
 * positions (aclnnSort makes both). Of values alone, zeros of both signs and the bits
 * of NaN are in any order, unless ACLNNX_SORT_STABLE says otherwise. numKth
 * > 0: only the elements at the positions kth[0..numKth) need be where sorting puts them,
 * none larger before and none smaller behind (numpy.partition); 64 positions at most.
 * ACLNNX_SORT_PICKED: only the elements at these positions, which ascend; out, apart from
 * in, has the extent numKth there. */
enum { ACLNNX_SORT_VALUES, ACLNNX_SORT_INDICES, ACLNNX_SORT_PICKED, ACLNNX_SORT_STABLE };
int32_t aclnnxSort(const aclnnxOperand *in, const aclnnxOperand *out, int32_t numDims,
                   const int64_t *shape, int32_t axis, int32_t result, int32_t numKth,
                   const int64_t *kth, void *stream);

/* Discrete Fourier transforms of n points along an axis, times scale: out[k] = scale *
 * sum of in[j] exp(-+ 2 pi i j k / n). Lines of `in` are cut or continued with zeros to
 * n elements, for TO_REAL to the n / 2 + 1 that determine a real result (imaginary parts
 * of the first and, n even, of the last are not read). FROM_REAL makes n / 2 + 1
 * elements. fpFlags as for aclnnxScan. One precision: float with complex64, or double
 * with complex128; other extents of in and out agree; out may be in itself (FORWARD and
 * BACKWARD of one shape), not overlap it otherwise. Returns an aclnnStatus. */
enum {
    ACLNNX_FFT_FORWARD = 0,   /* complex to complex, exp(-...) */
    ACLNNX_FFT_BACKWARD = 1,  /* complex to complex, exp(+...) */
    ACLNNX_FFT_FROM_REAL = 2, /* exp(-...) */
    ACLNNX_FFT_TO_REAL = 3    /* exp(+...) */
};
int32_t aclnnxFft(int32_t kind, int64_t n, double scale, const aclnnxOperand *in,
                  const int64_t *inShape, const aclnnxOperand *out,
                  const int64_t *outShape, int32_t numDims, int32_t axis,
                  uint32_t *fpFlags, void *stream);

/* Solvers and decompositions of stacks of matrices, now, on the calling thread and those
 * it shares work with: what a stream holds for the operands must be done. Operands are
 * inputs, then outputs (below, of elements T, real R, complex C of one precision); each
 * has numBatch leading dimensions of one shape, inputs with strides 0 where they
 * broadcast. k is min(m, n); p is k or m, q k or n. No output overlaps another operand.
 * *failed: how many matrices have no result (singular, not positive definite, no
 * convergence); theirs is NaN. Returns an aclnnStatus. */
enum {
    ACLNNX_LINALG_SOLVE = 0,     /* T (n, n), T (n, r) -> T (n, r) */
    ACLNNX_LINALG_INV = 1,       /* T (n, n) -> T (n, n) */
    ACLNNX_LINALG_DET = 2,       /* T (n, n) -> T () */
    ACLNNX_LINALG_SLOGDET = 3,   /* T (n, n) -> T (), R (); singular: 0, -inf */
    ACLNNX_LINALG_CHOLESKY = 4,  /* T (n, n) -> T (n, n) */
    ACLNNX_LINALG_QR = 5,        /* T (m, n) -> T (m, p), T (p, n) */
    ACLNNX_LINALG_QR_RAW = 6,    /* T (m, n) -> Householder vectors T (m, n), T (k) */
    ACLNNX_LINALG_QR_R = 7,      /* T (m, n) -> T (k, n) */
    ACLNNX_LINALG_SVD = 8,       /* T (m, n) -> T (m, p), R (k), T (q, n) */
    ACLNNX_LINALG_SVDVALS = 9,   /* T (m, n) -> R (k) */
    ACLNNX_LINALG_EIG = 10,      /* T (n, n) -> C (n), C (n, n) */
    ACLNNX_LINALG_EIGVALS = 11,  /* T (n, n) -> C (n) */
    ACLNNX_LINALG_EIGH = 12,     /* T (n, n) -> R (n), T (n, n) */
    ACLNNX_LINALG_EIGVALSH = 13, /* T (n, n) -> R (n) */
    ACLNNX_LINALG_LSTSQ = 14, /* T (m, n), T (m, r) -> T (n, r), R (r), int64 (), R (k) */
    ACLNNX_LINALG_MAX_OPERANDS = 6
};

typedef struct aclnnxTensor {
    void *data;
    const int64_t *shape, *strides; /* strides in bytes */
    int32_t numDims;
    int32_t dtype; /* aclDataType value */
} aclnnxTensor;

/* What `options` of aclnnxLinalg holds. */
enum {
    ACLNNX_LINALG_UPPER = 1, /* the triangle that CHOLESKY, EIGH, EIGVALSH read (and
                                CHOLESKY writes); else the lower */
    ACLNNX_LINALG_FINITE =
        2 /* SVD, SVDVALS: of infinities there is no result; else NaN is it */
};

/* rcond: LSTSQ takes singular values up to rcond times the largest as 0. fpFlags: NULL,
 * or has the ACLNNX_FP_* met or-ed in (by whatever way the method takes: asked of DET
 * alone). */
int32_t aclnnxLinalg(int32_t op, int32_t options, double rcond, int32_t numBatch,
                     int32_t numOperands, const aclnnxTensor *operands, int64_t *failed,
                     uint32_t *fpFlags);

/* c = a @ b now, on the calling thread, as a loop below runs: matrices of (m, k), (k, n)
 * and (m, n) elements of one dtype, any strides; c overlaps neither. a may be
 * ACLNNX_CONJUGATE where m = n = 1 and it is complex. fpFlags as above. Returns an
 * aclnnStatus. */
int32_t aclnnxMatmul(const aclnnxOperand *a, const aclnnxOperand *b,
                     const aclnnxOperand *c, int64_t m, int64_t k, int64_t n,
                     uint32_t *fpFlags);

/* Single loops over a few contiguous elements, without a program: the shortest path of a
 * small operation. A loop runs now, on the calling thread, whatever a stream holds; the
 * caller makes sure that no queued task touches its operands. */
typedef struct aclnnxLoop aclnnxLoop;

enum {
    ACLNNX_LOOP_MAP = 0,  /* out[i] = op(in0[i], ...); op an opcode, dtype the loop's */
    ACLNNX_LOOP_CAST = 1, /* out[i] = in0[i]; op the result's aclDataType, dtype in0's */
    ACLNNX_LOOP_FOLD = 2, /* out[0] = in0 reduced, as aclnnxFused would, in `dtype` */
    ACLNNX_LOOP_ARG = 3,  /* out[0] = int64 position of the first extreme element of in0;
                             op is maximum or minimum */
    ACLNNX_LOOP_BYTES = 8192,      /* longest in0 of a FOLD */
    ACLNNX_LOOP_ARG_BYTES = 131072 /* and of an ARG */
};

/* NULL when the device has no such loop. The result is valid as long as the library. */
const aclnnxLoop *aclnnxLoopFind(int32_t kind, int32_t op, int32_t dtype);

/* Bit k of `immediates`: in[k] points to one element for all n (MAP). out may be an input
 * of the same element size exactly, and otherwise may not overlap any. A FOLD of an
 * operation without identity and an ARG need n > 0. fpFlags: NULL, or has the ACLNNX_FP_*
 * met or-ed in. Returns an aclnnStatus. Thread-safe. */
int32_t aclnnxLoopRun(const aclnnxLoop *loop, int64_t n, void *out, const void *const *in,
                      uint32_t immediates, uint32_t *fpFlags);

/* A FOLD of each of `segments` parts of a vector, run now as aclnnxLoopRun's, on all
 * threads, which share them by their lengths: out[i] is the fold of in[bounds[2 i]] up to
 * in[bounds[2 i + 1]], that element left out; one element is its own fold; of none,
 * out[i] is left alone. No segment is longer than ACLNNX_LOOP_BYTES; in and out do not
 * overlap. Returns an aclnnStatus. Thread-safe. */
int32_t aclnnxLoopSegments(const aclnnxLoop *loop, int64_t segments,
                           const int64_t *bounds, void *out, const void *in,
                           uint32_t *fpFlags);

/* Programs as C text, for who compiles what runs again and again. The text of a program
 * is a function that computes what aclnnxFused does with operands at other addresses, on
 * the calling thread, whatever a stream holds: the same bits. Operands that overlapped
 * element on element do so again, others do not. It calls the device's loops through
 * what its open function was given. */
typedef struct aclnnxHost {
    int32_t (*opcode)(const char *name); /* aclnnxOpcode */
    const aclnnxLoop *(*find)(int32_t kind, int32_t op, int32_t dtype);
    int32_t (*run)(const aclnnxLoop *loop, int64_t n, void *out, const void *const *in,
                   uint32_t immediates, uint32_t *fpFlags);
} aclnnxHost;
/* Nonzero: the device has not got a loop that the function calls. */
typedef int32_t (*aclnnxNativeOpen)(const aclnnxHost *host);
/* operands: addresses in the program's order; those of immediates are not read. fpFlags
 * as above; not NULL unless the program's was not. Nonzero: conditions were met that may
 * not be the program's, which is to be run by aclnnxFused to tell; its inputs are as they
 * were. */
typedef int32_t (*aclnnxNative)(char *const *operands, uint32_t *fpFlags);

/* The function's text, "static int NAME(...)" and "static int NAME_open(...)", behind the
 * text of program NULL, which comes once: C11 with GNU's extensions, to be compiled with
 * -ffp-contract=off -fno-math-errno -fno-trapping-math. *length: its bytes, of which up
 * to `room` are written to text (no NUL); 0: the program has none (it is large, or not
 * worth it). Returns an aclnnStatus. Thread-safe. */
int32_t aclnnxSource(const aclnnxProgram *program, const char *name, char *text,
                     size_t room, size_t *length);

/* What the device computes with, as lines "name: value": its instruction set, threads,
 * JIT and BLAS, which is opened for it. text, room and length as of aclnnxSource. Returns
 * an aclnnStatus. Thread-safe. */
int32_t aclnnxDescribe(char *text, size_t room, size_t *length);

/* How evenly the threads share their work, counted while anybody watches: watchers are
 * counted, too, and the sums only grow (callers take differences). Of the regions of work
 * that several threads share: how many, in how many chunks, their time, that time times
 * their threads, and the sums of the mean time that their threads computed and of the
 * largest |busy - mean|, in nanoseconds. busyNs: the time that each thread computed,
 * first that of all callers, then the workers', `room` of them at most; *threads receives
 * how many there are. Returns an aclnnStatus. */
typedef struct aclnnxPoolTimes {
    int64_t regions, chunks, spanNs, roomNs, meanNs, lostNs;
} aclnnxPoolTimes;
int32_t aclnnxPoolWatch(int32_t on);
int32_t aclnnxPoolWatched(aclnnxPoolTimes *times, int64_t *busyNs, size_t room,
                          size_t *threads);

/* Kernels of a program's own, in blocks: Ascend C's (kernel_operator.h,
 * ascendc/launch.h), or any function. It is called once for each block, on several
 * threads at once. Nonzero: the block failed, and has written a sentence to message (of
 * `room` bytes); the first such block's becomes the stream's error, when all have run.
 * find: 1 if the runtime gave the memory that p lies in, which is [*begin, *end). */
typedef struct aclnnxBlock {
    uint32_t index, count;
    char *message;
    size_t room;
    int32_t (*find)(const void *p, uintptr_t *begin, uintptr_t *end);
} aclnnxBlock;
typedef int32_t (*aclnnxKernel)(void *args, const aclnnxBlock *block);
enum { ACLNNX_MAX_BLOCKS = 65535 };

/* Queues `blocks` blocks, 1 to ACLNNX_MAX_BLOCKS, in the stream's order (NULL: the
 * default stream). It takes args, and calls drop(args) when it needs them no more, in a
 * failure, too. name is for messages and profiles, and stays as long as the process.
 * Returns an aclnnStatus; args NULL: there was no memory for them. Thread-safe. */
int32_t aclnnxLaunch(const char *name, aclnnxKernel kernel, void *args,
                     void (*drop)(void *args), uint32_t blocks, void *stream);

/* Piecewise linear interpolation (numpy.interp): out[i] is the value at x[i], of n, of
 * the line through (xp[k], fp[k]), of `points`, xp ascending; left and right outside. All
 * float64 and contiguous; out may be x. */
int32_t aclnnxInterp(const aclnnxOperand *x, const aclnnxOperand *xp,
                     const aclnnxOperand *fp, const aclnnxOperand *out, int64_t n,
                     int64_t points, double left, double right, void *stream);
/* Sliding products (numpy.correlate): out[i] = sum_j a[first + i + j] v[j], i of count,
 * over the j of m for which a, of n, has that element. One dtype, an integer's, float32
 * or float64, all contiguous; out overlaps neither. */
int32_t aclnnxCorrelate(const aclnnxOperand *a, const aclnnxOperand *v,
                        const aclnnxOperand *out, int64_t n, int64_t m, int64_t first,
                        int64_t count, void *stream);

/* out = A b, A sparse, (m, k) in CSR: row i has the elements data[indptr[i]] to
 * data[indptr[i + 1] - 1] in the columns `indices`, of which some may be equal, in any
 * order. indptr (m + 1) and indices (nnz) are of one dtype, int32 or int64; data (nnz), b
 * (k, n) and out (m, n) of another one: bool (or of ands), an integer's, float32, float64
 * or complex. All are contiguous; out overlaps nothing. What lies in b where A stores
 * nothing is not read. ACLNN_ERR_PARAM_INVALID: indptr does not ascend from 0 to nnz, an
 * index is not in [0, k), or k is 2^31 or more. */
int32_t aclnnxSparseMatmul(const aclnnxOperand *indptr, const aclnnxOperand *indices,
                           const aclnnxOperand *data, const aclnnxOperand *b,
                           const aclnnxOperand *out, int64_t m, int64_t k, int64_t n,
                           int64_t nnz, void *stream);

#ifdef __cplusplus
}
#endif
#endif
