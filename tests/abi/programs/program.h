/* Generated programs: what they share, for C and for C++ (programs.py writes the rest).
 *
 * A case builds its tensors with CANN's own functions, hands each to program_* so that it
 * is destroyed in the end, and calls the two phases:
 *
 *     static void aclnnAbs_0(program *prog) {
 *         char *m0 = program_memory(prog, 24, 0, 32, 'f');
 *         const int64_t self_dims[] = {2, 3}, ...;
 *         aclTensor *self = program_tensor(prog, aclCreateTensor(self_dims, ...));
 *         ...
 *         if (!program_ready(prog)) return;
 *         program_plan(prog, aclnnAbsGetWorkspaceSize(self, out, &prog->size,
 * &prog->executor)); program_run(prog, aclnnAbs);
 *     }
 *
 * The driver (program.c) compares code, phase and memory with what was recorded.
 */
#ifndef ASN_TESTS_ABI_PROGRAM_H
#define ASN_TESTS_ABI_PROGRAM_H

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PROGRAM_MEMORIES = 128, PROGRAM_OBJECTS = 256 };

typedef struct {
    char *data; /* device memory: a guard, `size` bytes, a guard */
    size_t size;
    long before, after; /* positions in cases.bin */
    char kind;          /* of the elements: 'e', 'f', 'd': halves, float, double; 'g':
                           bfloat16; '1', '2', '4', '8': others, of so many bytes */
    char *spare;        /* --exchange: other buffers as large */
} program_memory_t;

typedef struct {
    char kind; /* 'T', 'S', 'I', 'F', 'B'; 'L' and 'K': lists of tensors, of scalars */
    void *handle;
} program_object_t;

typedef struct {
    aclTensor *tensor;   /* of a list: its members are its */
    aclTensorList *list; /* NULL: none */
    int member;
} program_operand_t;

typedef struct {
    aclrtStream stream;
    const char
        *roles; /* --exchange: of each operand, 'i'nput, 'o'utput, 'b'oth; else NULL */
    int num_operands;
    program_operand_t operands[PROGRAM_OBJECTS];
    int32_t code;      /* of the call that failed, else 0 */
    int phase;         /* 0: objects, 1 and 2: the operator, 3: the synchronisation */
    char message[256]; /* that came with the code */
    uint64_t size;     /* of the workspace */
    aclOpExecutor *executor;
    int num_memories, num_objects;
    program_memory_t memories[PROGRAM_MEMORIES];
    program_object_t objects[PROGRAM_OBJECTS];
} program;

typedef aclnnStatus (*program_phase2)(void *, uint64_t, aclOpExecutor *, aclrtStream);

/* Device memory with the bytes at `before` in cases.bin; NULL when there is none. */
char *program_memory(program *p, size_t size, long before, long after, char kind);
/* Remember an object. */
aclTensor *program_tensor(program *p, aclTensor *tensor);
aclScalar *program_scalar(program *p, aclScalar *scalar);
aclIntArray *program_ints(program *p, aclIntArray *array);
aclFloatArray *program_floats(program *p, aclFloatArray *array);
aclBoolArray *program_bools(program *p, aclBoolArray *array);
/* A list takes its members: the objects from the first-th on. */
aclTensorList *program_list(program *p, aclTensorList *list, int first);
aclScalarList *program_scalars(program *p, aclScalarList *list, int first);
/* Whether every object was made. */
int program_ready(const program *p);
void program_plan(program *p, aclnnStatus code);
/* What a call said, unless something failed before. */
void program_note(program *p, int32_t code);
/* Phase 2 and the synchronisation, after a phase 1 without an error. */
void program_run(program *p, program_phase2 phase2);

typedef struct {
    void (*body)(program *p);
    int32_t code; /* expected, and from which phase */
    int phase;
    const char *roles; /* of its tensors, those of lists included */
} program_case;

typedef struct {
    const char *name;
    const program_case *cases;
    int count;
} program_operator;

/* What the driver has for exchange.c: the recorded bytes; the first byte at `data` (whose
 * guards lie around it) that is not as wanted, -1: none. */
extern const unsigned char *program_recorded;
long program_difference(const char *data, size_t size, const unsigned char *want);
void program_complain(const char *what, long a, long b);

/* Written by programs.py. */
extern const program_operator *const program_groups[]; /* each ends with a NULL name */
extern const int program_num_groups;

#ifdef __cplusplus
}
#endif

#endif
