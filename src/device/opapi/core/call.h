/* CPU device, operators: one call of phase 1, as planners see it.
 *
 * The generated entry point of an operator packs its arguments into an array and calls
 * asn_op_plan with the operator's descriptor. asn_op_plan checks every handle (NULL,
 * freed, of another kind, of a dtype no operator computes with), captures the tensors,
 * and calls the planner, which checks shapes, dtypes and values and sets the executor's
 * `body`. A planner that leaves `body` NULL has found that there is nothing to compute. A
 * body reads its tensors from the executor's operands, never from the call: addresses may
 * be exchanged in between.
 *
 * Without ASNUMPY_CANN_STRICT=1 no operator asks for workspace: bodies take their
 * temporaries from the stream's scratch memory when they run. With it those do whose
 * descriptor says so (workspace.c), so that a program that brings none, or too little, is
 * found without an NPU.
 *
 * ASNUMPY_CANN_STRICT=1 refuses every dtype that CANN does not document for the
 * parameter, so that a call which only a CPU would accept is found without an NPU.
 */
#ifndef ASN_DEVICE_OPAPI_CORE_CALL_H
#define ASN_DEVICE_OPAPI_CORE_CALL_H

#include "device/opapi/core/value.h"
#include "device/opbase/executor.h"

/* Parameters of an operator; those of one whose planner keeps something for each
 * (packed.h, formula.c, gate.c), which tools/gen_opapi.py checks. */
enum { ASN_MAX_PARAMS = 64, ASN_FEW_PARAMS = 16 };

/* One argument of a call, packed: a handle, string or array; an integer, bool or enum; a
 * number. */
typedef union {
    const void *p;
    int64_t i;
    double f;
} asnd_arg;

/* Kinds of parameters. */
enum {
    ASN_IN = 'T',    /* aclTensor read */
    ASN_OUT = 'O',   /* aclTensor written */
    ASN_INOUT = 'R', /* aclTensor changed */
    ASN_SCALAR = 'S',
    ASN_INTS = 'I',
    ASN_FLOATS = 'F',
    ASN_BOOLS = 'B',
    ASN_LIST_IN = 'L',
    ASN_LIST_OUT = 'M',
    ASN_LIST_INOUT = 'U',
    ASN_SCALARS = 'K',
    ASN_INT = 'i', /* any integer, bool, enum */
    ASN_DOUBLE = 'f',
    ASN_STRING = 's',
};

/* A parameter of an operator, from its row (generated). */
typedef struct {
    const char *name;
    char kind;
    bool optional;  /* may be NULL */
    bool int4;      /* may be a tensor of int4 (asnd_operand.is_int4) */
    uint8_t opaque; /* may be of a dtype that is only moved: bits from ACL_COMPLEX32 on */
    bool converts;  /* or converted: other tensors are of other dtypes */
    uint32_t
        dtypes; /* of a tensor, bit by asn_dtype: those that CANN documents; 0: none */
} asnd_param;

typedef struct asnd_call asnd_call;

/* What an operator's workspace is for on an NPU, where it needs one (generated from
 * WORKSPACES in tools/gen_opapi.py). */
typedef enum {
    ASN_NO_WORKSPACE,
    ASN_WORKSPACE_OF_RESULTS, /* parts of the results: reductions */
    ASN_WORKSPACE_OF_TENSORS, /* copies of operands as well */
} asnd_workspace;

/* An operator: what its entry point hands to asn_op_plan with the arguments. */
typedef struct {
    const char *name; /* "aclnnAdd" */
    const asnd_param *params;
    asn_status (*plan)(asnd_call *c);
    const void *detail; /* what the planner needs to know: an asnd_ew, or NULL */
    int num_params;
    int arg; /* likewise, a number */
    asnd_workspace workspace;
} asnd_opdesc;

/* One call, while phase 1 lasts. */
struct asnd_call {
    const asnd_opdesc *op;
    const asnd_arg *args;
    aclOpExecutor *e;
    int moved;      /* aclDataType of the tensors that are only moved; -1: none yet */
    uint64_t place; /* of the lists that is planned now (foreach.c) */
    int16_t first[ASN_MAX_PARAMS]; /* index of a tensor parameter's (first) operand; -1:
                                      absent */
};

/* Bytes of workspace that phase 2 of a planned call asks for in a strict run
 * (workspace.c).
 */
uint64_t asn_call_workspace(const asnd_call *c);

/* Phase 1: args has an entry for each parameter. On success *executor is the caller's;
 * any failure is returned as an aclnnStatus, with its message reported, and leaves
 * *executor NULL. */
aclnnStatus asn_op_plan(const asnd_opdesc *op, const asnd_arg *args,
                        uint64_t *workspaceSize, aclOpExecutor **executor);

/* ---- arguments, by parameter index; NULL when absent */

static inline asnd_operand *asn_call_operand(const asnd_call *c, int i) {
    return c->first[i] < 0 ? NULL : &c->e->operands[c->first[i]];
}
static inline const asnd_nd *asn_call_nd(const asnd_call *c, int i) {
    return c->first[i] < 0 ? NULL : &c->e->operands[c->first[i]].nd;
}
static inline const aclScalar *asn_call_scalar(const asnd_call *c, int i) {
    return c->args[i].p;
}
static inline int64_t asn_call_int(const asnd_call *c, int i) {
    return c->args[i].i;
}
static inline double asn_call_double(const asnd_call *c, int i) {
    return c->args[i].f;
}
static inline const asnd_array *asn_call_array(const asnd_call *c, int i) {
    return c->args[i].p;
}

/* The parameter's index; -1: the operator has none of this name. */
int asn_call_param_named(const asnd_call *c, const char *name);
/* Its (first) operand; -1: there is no such parameter, or it is absent. */
int asn_call_operand_named(const asnd_call *c, const char *name);

/* The index of the parameter that is written: the first of kind O or M, else R; -1 when
 * there is none. */
int asn_call_out(const asnd_call *c);

/* "(2, 3)" into a buffer of ASN_SHAPE_TEXT bytes, which it returns. */
enum { ASN_SHAPE_TEXT = 160 };
const char *asn_shape_text(char *buffer, int ndim, const int64_t *shape);

/* Checks that raise the error themselves. `i` are parameter indices. */
ASN_CHECK_RESULT asn_status asn_call_same_shape(const asnd_call *c, int i, int ndim,
                                                const int64_t *shape);
/* Before the checks of an output that holds one value: CANN takes one of shape (1,) as
 * well, which the operator then sees without dimensions. */
void asn_call_one_value(const asnd_call *c, int i);
/* A result of dtype `from` may be written to parameter i: CANN's conversion rules. */
ASN_CHECK_RESULT asn_status asn_call_convertible(const asnd_call *c, asn_dtype from,
                                                 int i);
/* dim in [-ndim, ndim) (0-d tensors take 0 and -1), returned in [0, ndim). */
ASN_CHECK_RESULT asn_status asn_call_axis(const asnd_call *c, int64_t dim, int ndim,
                                          int *axis);
/* A set of dimensions from an aclIntArray: NULL or empty gives every dimension. */
ASN_CHECK_RESULT asn_status asn_call_axes(const asnd_call *c, int i, int ndim,
                                          uint64_t *mask);
/* Dtypes of index tensors, of positions that are written, of two parameters that must
 * agree. */
ASN_CHECK_RESULT asn_status asn_index_dtype(const asnd_call *c, int i,
                                            const asnd_nd *index);
ASN_CHECK_RESULT asn_status asn_call_position_dtype(const asnd_call *c, int i);
ASN_CHECK_RESULT asn_status asn_call_same_dtype(const asnd_call *c, int i, int j);
/* The tensor, if there is one, is of a real floating dtype; of any real dtype. */
ASN_CHECK_RESULT asn_status asn_call_floating(const asnd_call *c, int i);
ASN_CHECK_RESULT asn_status asn_call_real(const asnd_call *c, int i);
/* A scalar parameter (not NULL) as a real number, or as an element of a dtype. */
ASN_CHECK_RESULT asn_status asn_call_number(const asnd_call *c, int i, double *value);
ASN_CHECK_RESULT asn_status asn_call_element(const asnd_call *c, int i, asn_dtype dtype,
                                             void *element);
/* ASN_ERR_MEMORY, with the error set. */
asn_status asn_call_no_memory(void);

#endif
