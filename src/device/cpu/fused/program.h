/* CPU device, private to the fused engine: a validated program, lowered to kernel calls.
 *
 * A *value* is something a kernel reads or writes: the content of a register in its own
 * dtype, or, for a float16 or bfloat16 register, the same numbers held as float32. A
 * *step* is one kernel call on values. Values that are no operands in place live in
 * *slots* of the block buffer; a slot is reused after its value's last reader. Everything
 * is plain data: a head, and lists that lie in a room on the caller's stack, of which
 * only the used parts are ever touched, or in a program that was prepared before
 * (prepared.h). Workers only read them.
 */
#ifndef ASN_DEVICE_CPU_FUSED_PROGRAM_H
#define ASN_DEVICE_CPU_FUSED_PROGRAM_H

#include "device/cpu/fused/fused.h"
#include "device/cpu/kernels.h"
#include "ops/added.h"

enum {
    /* A register's value and that as float32; all outputs of the program's own loops,
     * which a call makes whether they are asked for or not. */
    ASN_MAX_VALUES = 2 * ACLNNX_MAX_REGS + ACLNNX_MAX_INSTRS * ASN_ADDED_ARGS,
    ASN_MAX_STEPS = 8 * ACLNNX_MAX_INSTRS,
    ASN_NO_VALUE = 0xffff,
    ASN_NO_SLOT = -1
};

typedef struct {
    asnd_ew_fn fn;
    uint16_t dst, src[3];
    uint16_t num_src;
    bool quiet; /* flags it raises are not the program's */
    /* what fn is: a row and its loop's dtype; ASN_OP_CAST from a dtype to another;
     * ASN_OP_NONE for float32 rounded through the half `from` */
    uint16_t op;
    uint8_t from, to;
    const asn_added_loop *loop; /* a loop of the program's own, instead of fn; or NULL */
    uint16_t
        results[ASN_ADDED_ARGS]; /* its outputs' values; dst is the first one asked */
    uint8_t taken;               /* bit k: a register holds results[k] */
} asnd_step;

typedef enum {
    ASN_AT_UNUSED,  /* an input nobody reads */
    ASN_AT_DIRECT,  /* used where it lies */
    ASN_AT_CONST,   /* one value everywhere: splatted once */
    ASN_AT_ROW,     /* machine code: one value per block; splatted only for the steps */
    ASN_AT_GATHER,  /* copied into a slot, block by block */
    ASN_AT_SCATTER, /* output: computed in a slot, then copied out */
    ASN_AT_STREAM,  /* output: computed in a slot, then stored past the caches */
    ASN_AT_REDUCED, /* output that the reduction writes itself */
} asnd_access;

/* A reducing output. */
typedef struct {
    int operand;
    uint16_t value; /* what is folded */
    asn_op op;
    asn_dtype dtype;     /* of the accumulator: float32 for halves */
    asn_dtype out_dtype; /* of the output */
    asnd_fold_fn fold;
    asnd_rows_fn rows; /* many short rows by the same; NULL for some */
    asnd_ew_fn combine;
    asnd_sum_fn sum; /* float addition only */
    bool splits;     /* partial results may be combined */
    bool has_identity;
    bool from_identity; /* a result starts from it (a sum of -0.0 is 0.0), not from an
                           element */
    _Alignas(16) char identity[16]; /* of dtype */
    bool quiet;
} asnd_reduction;

/* One dimension of the iteration space; index 0 is the innermost. */
typedef struct {
    int64_t extent;
    bool reduced;
    int64_t stride[ACLNNX_MAX_OPERANDS];
} asnd_dim;

typedef struct {
    const asnd_kernels *kernels;
    const aclnnxOperand *operands;
    int num_in, num_operands;
    bool track_flags;
    bool widens_quietly; /* some conversion's flags are not the program's */
    double step_ns;      /* of one element on one thread */

    uint8_t *dtype;     /* asn_dtype of a register, ASN_DTYPE_NONE: undefined */
    uint16_t *value;    /* its value in its own dtype */
    uint16_t *value32;  /* a half's value as float32; this and the next two: to lower */
    uint8_t *reads_own; /* somebody needs this form */
    uint8_t *reads32;

    int num_steps, num_values;
    asnd_step *steps;
    uint8_t *item; /* of a value, bytes */
    uint8_t *value_dtype;
    int16_t *slot; /* or ASN_NO_SLOT */
    int num_slots, max_item;
    bool rows; /* the last placement was for whole rows */
    /* what the size of a block depends on: slots, those and operands in place, bytes */
    int block_slots, block_streams, block_item;

    bool calls;   /* some step is a loop of the program's own */
    bool folds;   /* blocks or their rows are folded (fused_fold.c) */
    bool settled; /* a plan of equal steps will find the same code, or none */
    struct asnd_jit_code *code; /* of the steps, or NULL (jit.h) */
    uint32_t past_caches;       /* outputs that the code stores so */
    int64_t step_block;         /* elements of a block when the steps run one by one */
    int64_t long_block;         /* and when machine code leaves the slots unused */

    bool prefetch; /* the operands come from memory */
    bool streams;  /* some output is ASN_AT_STREAM */
    int num_reductions;
    asnd_reduction *reductions;

    int num_dims;      /* 1 at least */
    int64_t size;      /* product of the extents */
    int64_t kept_size; /* ... of those not reduced */
    asnd_dim *dims;
    char *packed; /* owns: rows that were strided (iteration_space.c), or NULL */

    uint8_t access[ACLNNX_MAX_OPERANDS];
    /* The element at position 0 of every dimension, where the plan was made; NULL: an
     * immediate. A run has its own (asn_prepared_run_at). */
    char *base[ACLNNX_MAX_OPERANDS];
} asnd_plan;

/* The lists of the longest plan. */
typedef struct {
    uint8_t dtype[ACLNNX_MAX_REGS], reads_own[ACLNNX_MAX_REGS], reads32[ACLNNX_MAX_REGS];
    uint16_t value[ACLNNX_MAX_REGS], value32[ACLNNX_MAX_REGS];
    asnd_step steps[ASN_MAX_STEPS];
    uint8_t item[ASN_MAX_VALUES], value_dtype[ASN_MAX_VALUES];
    int16_t slot[ASN_MAX_VALUES];
    asnd_reduction reductions[ACLNNX_MAX_OPERANDS];
    asnd_dim dims[ACLNNX_MAX_DIMS];
} asnd_plan_room;

/* Whether the counts are within their bounds and the lists are there: what reading a
 * program relies on. */
ASN_CHECK_RESULT asn_status asn_program_check(const aclnnxProgram *p);

/* Where a program's operands are, and the bytes of its immediates, which inputs alone can
 * be. */
static inline void asn_program_addresses(const aclnnxProgram *p, void **addresses) {
    for (int i = 0; i < p->numIn + p->numOut; i++) {
        const aclnnxOperand *o = &p->operands[i];
        addresses[i] =
            o->data || i >= p->numIn ? o->data : (void *)(uintptr_t)o->immediate;
    }
}

/* Validates a program whose counts were checked and fills in the steps (program.c). The
 * plan's lists lie in `room`, which it borrows. */
ASN_CHECK_RESULT asn_status asn_plan_lower(asnd_plan *plan, asnd_plan_room *room,
                                           const aclnnxProgram *p);

/* Fills in the iteration space: sorted by stride, merged (iteration_space.c). The caller
 * frees plan->packed after the run. */
ASN_CHECK_RESULT asn_status asn_plan_space(asnd_plan *plan, const aclnnxProgram *p);

/* Reorders the dimensions: `inner` becomes the innermost, then those reduced, then those
 * kept (each group in its order); returns the number of reduced ones. */
int asn_plan_group(asnd_plan *plan, int inner);

/* Looks for machine code of the steps, after asn_plan_place, and places the operands for
 * it: it needs other slots, but the blocks stay those of the steps, since the order of a
 * sum depends on them. asn_plan_detach gives the code back after the run. */
void asn_plan_attach(asnd_plan *plan);
void asn_plan_detach(asnd_plan *plan);
/* Whether input i is the same for every element of a block. */
bool asn_plan_is_splat(const asnd_plan *plan, int i);
/* Whether some output lies over an input. */
bool asn_plan_in_place(const asnd_plan *plan);

/* Decides how each operand is accessed when blocks are parts of rows (`rows` false) or
 * several whole rows, and gives out slots. */
void asn_plan_place(asnd_plan *plan, bool rows);

/* Bytes that the program reads and writes, and how many arrays it reads; what is
 * broadcast stays in the caches. */
typedef struct {
    int64_t bytes;
    int read;
} asnd_traffic;
asnd_traffic asn_plan_traffic(const asnd_plan *plan);
/* Whether so many bytes of a program leave the caches anyway. */
bool asn_plan_worth_streaming(asnd_traffic traffic);
/* Whether an output begins where an input does. */
bool asn_plan_shares(const asnd_plan *plan, int out);
/* Whether an output is to be stored past the caches, if its place allows. */
bool asn_plan_streams_to(const asnd_plan *plan, int out, asnd_traffic traffic);

/* Estimated time on one thread, ns. */
double asn_plan_work(const asnd_plan *plan);

asn_dtype asn_plan_dtype(int acl); /* ASN_DTYPE_NONE when unknown */

#endif
