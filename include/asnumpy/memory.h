/* AsNumpy in C: device memory by hand: limits, blocks, tensors by descriptor, copies
 * behind the program, records of what is held. Include asnumpy/asnumpy.h. Statistics and
 * asnp_empty_cache are in runtime.h. Sizes are bytes.
 */
#ifndef ASNUMPY_MEMORY_H_
#define ASNUMPY_MEMORY_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- settings: each call returns what was set before (before may be NULL) */

/* What may be held of one device, in use and cached; 0: no limit. Beyond it caches are
 * emptied, then an allocation is a MEMORY error that names the largest holders. What is
 * in use stays. */
ASNUMPY_API asnp_status asnp_mm_set_limit(uint64_t limit, uint64_t *before);
/* Idle pieces above this size are not cut for smaller requests; 0: any is. */
ASNUMPY_API asnp_status asnp_mm_set_max_split(uint64_t max_split, uint64_t *before);
/* The share of the limit (without one, of the device's memory), in [0, 1), above which
 * idle pieces go back before fresh memory is taken; 0: the largest use so far decides.
 * VALUE: outside. */
ASNUMPY_API asnp_status asnp_mm_set_gc_threshold(double share, double *before);
/* The peaks of asnp_memory_stats begin again. */
ASNUMPY_API asnp_status asnp_mm_reset_peaks(void);

/* ---- blocks of device memory without elements */

typedef struct asnp_mm_block asnp_mm_block;
/* At least nbytes, 64-byte aligned, not initialised. The caller ends it with
 * asnp_mm_free. VALUE: a negative size; MEMORY. */
ASNUMPY_API asnp_status asnp_mm_alloc(int64_t nbytes, asnp_mm_block **out);
/* NULL is fine. Work queued on the library's stream may still use it. */
ASNUMPY_API void asnp_mm_free(asnp_mm_block *block);
/* A device address; the host's too on a CPU. */
ASNUMPY_API void *asnp_mm_address(const asnp_mm_block *block);

/* ---- tensors */

typedef struct {
    asnp_dtype dtype;
    int32_t ndim;
    const int64_t *shape;
    /* The axes from the slowest to the fastest; NULL: row-major. A tensor of shape (N, C,
     * H, W) that lies as NHWC has {0, 2, 3, 1}. */
    const int32_t *order;
    int64_t alignment; /* of the first element: a power of two, 64 to 4096; 0: 64 */
} asnp_mm_descriptor;

/* An array that lies so, its elements not initialised, its memory taken. VALUE: an order
 * that does not name each axis once, another alignment; MEMORY. */
ASNUMPY_API asnp_status asnp_mm_tensor(const asnp_mm_descriptor *descriptor,
                                       asnp_array **out);
/* The same in the memory of an array that nobody needs any more; its handle stays valid,
 * over the same memory. VALUE: other arrays or the host share it, or it is too small. */
ASNUMPY_API asnp_status asnp_mm_reuse(const asnp_mm_descriptor *descriptor,
                                      const asnp_array *dead, asnp_array **out);
/* Host memory of `dtype` with the descriptor's shape and any byte strides (NULL: without
 * gaps, row-major), converted to the descriptor's dtype and layout by the device. The
 * host's memory is not used after the call. */
ASNUMPY_API asnp_status asnp_mm_prepare(const asnp_mm_descriptor *descriptor,
                                        asnp_dtype dtype, const int64_t *strides,
                                        const void *host, asnp_array **out);
/* The elements into host memory that lies as the descriptor says. VALUE: another shape.
 */
ASNUMPY_API asnp_status asnp_mm_copy_back(const asnp_array *a,
                                          const asnp_mm_descriptor *descriptor,
                                          void *host);

/* ---- formats: which axis lies where, and axes cut in blocks */

/* CANN's numbers (aclFormat). Shapes are given in a canonical order: (N, C, H, W) for
 * NCHW to NC1HWC0, (N, C, D, H, W) for NCDHW to NDC1HWC0, (..., M, N) for ND and
 * FRACTAL_NZ. Blocks have rows of 32 bytes, those of FRACTAL_NZ 16 of them: C is cut into
 * parts of C0 = 32 / itemsize channels, a matrix into (N1, M1, 16, C0). What fills the
 * last block is 0. */
typedef enum {
    ASNP_FORMAT_NCHW = 0,
    ASNP_FORMAT_NHWC = 1,
    ASNP_FORMAT_ND = 2,
    ASNP_FORMAT_NC1HWC0 = 3,
    ASNP_FORMAT_HWCN = 16,
    ASNP_FORMAT_NDHWC = 27,
    ASNP_FORMAT_FRACTAL_NZ = 29,
    ASNP_FORMAT_NCDHW = 30,
    ASNP_FORMAT_NDC1HWC0 = 32
} asnp_format;

/* The shape of memory (extents[*num], room for ASNP_MAX_DIMS) in which elements of this
 * canonical shape lie. VALUE: no format, another number of axes, more bytes than
 * addresses. */
ASNUMPY_API asnp_status asnp_mm_format_shape(asnp_format format, asnp_dtype dtype,
                                             int32_t ndim, const int64_t *shape,
                                             int32_t *num, int64_t *extents);
/* A row-major copy of `a`, which lies as `source`, as `target`. shape: the canonical one
 * of what is in a, where blocks were filled up; NULL: all that is there (ndim is not
 * read). VALUE: formats of other axes, a shape that does not lie so in a's. */
ASNUMPY_API asnp_status asnp_mm_convert(const asnp_array *a, asnp_format source,
                                        asnp_format target, int32_t ndim,
                                        const int64_t *shape, asnp_array **out);
/* Where images of so many channels are best kept: NCHW from 64 on, NHWC below. VALUE: no
 * channel. */
ASNUMPY_API asnp_status asnp_mm_choose_format(int64_t channels, asnp_format *out);

/* ---- addresses of arrays, for code that computes with them itself */

typedef struct asnp_mm_loan asnp_mm_loan;
/* The address of element (0, ..., 0), after waiting; strides as asnp_strides says. On the
 * device, or with to_host != 0 the host's. Until the loan is taken back, operations on
 * this memory run at once; what the borrower queued has ended by then. TYPE: the host
 * does not reach the device's memory. The caller ends *loan. */
ASNUMPY_API asnp_status asnp_mm_lend(const asnp_array *a, int32_t to_host, void **address,
                                     asnp_mm_loan **loan);
/* NULL is fine. */
ASNUMPY_API void asnp_mm_take_back(asnp_mm_loan *loan);

/* ---- copies behind the program */

/* A thread and a stream of its own, with pinned staging memory in two halves. */
typedef struct asnp_queue asnp_queue;
typedef struct asnp_transfer asnp_transfer;

/* VALUE: less than 128 KiB of staging memory. The caller ends it with
 * asnp_queue_release, which waits. */
ASNUMPY_API asnp_status asnp_queue_new(int64_t staging_bytes, asnp_queue **out);
ASNUMPY_API void asnp_queue_release(asnp_queue *queue);
/* Starts copying host memory that lies as the descriptor says to the device; the larger
 * priority goes first. The host's memory stays, unchanged, until the transfer ends. The
 * caller ends the transfer with asnp_transfer_release, which waits. */
ASNUMPY_API asnp_status asnp_queue_send(asnp_queue *queue,
                                        const asnp_mm_descriptor *descriptor,
                                        const void *host, int32_t priority,
                                        asnp_transfer **out);
/* Starts copying the elements as they are now to host memory, row-major. */
ASNUMPY_API asnp_status asnp_queue_fetch(asnp_queue *queue, const asnp_array *a,
                                         void *host, int32_t priority,
                                         asnp_transfer **out);
/* Starts copying `bytes` of an array's memory, from `offset` after its first element on,
 * from the host (to_device != 0) or to it: as they lie, without another copy. Both ends
 * stay as they are until the transfer ends, or asnp_transfer_array has ordered what comes
 * after it. VALUE: past the array's end, elements with gaps, a read-only array. */
ASNUMPY_API asnp_status asnp_queue_copy(asnp_queue *queue, asnp_array *a, int64_t offset,
                                        void *host, int64_t bytes, int32_t to_device,
                                        int32_t priority, asnp_transfer **out);
/* The array that is sent: the library's work on it comes after the copy, and nothing
 * waits here. VALUE: a transfer to the host. */
ASNUMPY_API asnp_status asnp_transfer_array(asnp_transfer *transfer, asnp_array **out);
/* 1 when the copy has ended. */
ASNUMPY_API asnp_status asnp_transfer_done(const asnp_transfer *transfer, int32_t *out);
ASNUMPY_API asnp_status asnp_transfer_wait(const asnp_transfer *transfer);
ASNUMPY_API void asnp_transfer_release(asnp_transfer *transfer);

/* ---- what is held */

typedef struct {
    int32_t kind;  /* 0 a slab of small blocks, 1 a segment, 2 a range of the last one */
    int32_t state; /* of a range: 0 in use, 1 idle, 2 set aside in a bin */
    int32_t device;
    const void *address;
    int64_t bytes;
} asnp_mm_piece;
/* Calls visit for every piece. It must not call the library. */
ASNUMPY_API asnp_status asnp_mm_walk(void (*visit)(void *context,
                                                   const asnp_mm_piece *piece),
                                     void *context);

/* Workspace that an operator asked for: on an NPU, and with ASNUMPY_CANN_STRICT=1. */
typedef struct {
    const char *name;      /* of the operator, without aclnn: "Matmul" */
    const char *operands;  /* "float32(2,3) float32(3,4) -> float32(2,4)" */
    uint64_t bytes, calls; /* the most that was asked for; how often it was */
} asnp_mm_workspace;
/* on: 1 records what operators ask for from now on, 0 stops. *before (may be NULL): what
 * it was. */
ASNUMPY_API asnp_status asnp_mm_record_workspaces(int32_t on, int32_t *before);
/* Entry i = 0, 1, ... of the table, one for an operator with operands of these dtypes and
 * shapes; its texts stay until the process ends. INDEX: past the last. */
ASNUMPY_API asnp_status asnp_mm_workspace_at(int64_t i, asnp_mm_workspace *out);

typedef struct {
    int32_t kind; /* 0 memory taken, 1 given back, 2 a request that failed */
    uint64_t ns;  /* CLOCK_MONOTONIC */
    const void *address;
    int64_t bytes;
    uint64_t bytes_in_use, bytes_held; /* of the device, after it */
} asnp_mm_event;
typedef void (*asnp_mm_hook)(void *context, const asnp_mm_event *event);
/* Calls hook at each event, in the thread where it happens; what it does with the library
 * is not told to hooks. UNSUPPORTED: there are eight. */
ASNUMPY_API asnp_status asnp_mm_add_hook(asnp_mm_hook hook, void *context);
/* VALUE: there is no such hook. */
ASNUMPY_API asnp_status asnp_mm_remove_hook(asnp_mm_hook hook, void *context);

#ifdef __cplusplus
}
#endif
#endif
