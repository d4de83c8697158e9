/* L2 graph: a capture's parts, for the files of this folder alone (see replay.h). The
 * library's lock is held wherever these are used. */
#ifndef ASN_GRAPH_CAPTURE_CAPTURE_STEPS_H
#define ASN_GRAPH_CAPTURE_CAPTURE_STEPS_H

#include "graph/capture/capture.h"
#include "graph/capture/replay.h"
#include "runtime/memory/watch.h"

/* An address: a slot's base and a distance; slot -1: none. */
typedef struct {
    int32_t slot;
    bool written;
    int64_t offset;
} asn_place;

typedef enum {
    ASN_SLOT_ARG,
    ASN_SLOT_CONSTANT, /* a buffer from before, held */
    ASN_SLOT_TEMPORARY,
    ASN_SLOT_RESULT /* a temporary that a result shows */
} asn_slot_kind;

typedef struct {
    asn_slot_kind kind;
    bool live; /* while capturing: addresses may name it */
    bool written;
    bool varies;        /* its values depend on arguments or constants, so on the call */
    int arg;            /* of an argument: the first that shows the buffer */
    asn_buffer *buffer; /* of a constant, held; of an argument, borrowed */
    char *base;         /* while capturing: the buffer's address */
    int64_t nbytes;
    int64_t origin;  /* of an argument: the array's offset in its buffer */
    int first, last; /* of a temporary: its life in steps */
    int64_t at;      /* of a temporary: its place in the arena */
} asn_slot;

/* Runs of a step after which it is known whether the compiled ones were faster. */
enum { ASN_REPLAY_TRIALS = 32 };

typedef enum {
    ASN_STEP_FUSED,
    ASN_STEP_OPERATOR,
    ASN_STEP_UPLOAD,
    ASN_STEP_SCAN,
    ASN_STEP_UPDATE_AT,
    ASN_STEP_SORT,
    ASN_STEP_FFT,
    ASN_STEP_LINALG,
    ASN_STEP_INTERP,
    ASN_STEP_CORRELATE,
    ASN_STEP_SPARSE,
    ASN_STEP_HOST
} asn_replay_kind;

/* An operator's tensor as its executor counts it; list: its list, of which it is member
 * `member` and which begins at `index`. */
typedef struct {
    aclTensor *tensor;
    aclTensorList *list;
    size_t index, member;
    asn_place place;
} asn_replay_tensor;

/* c = a @ b of small matrices, whose places are the step's (aclnnxMatmul). */
typedef struct {
    aclnnxOperand operands[3];
    int64_t m, k, n;
} asn_replay_product;

/* One launch. */
typedef struct {
    asn_replay_kind kind;
    bool watched;             /* floating-point exceptions are wanted */
    bool checked;             /* is waited for, so that its complaint is the call's */
    const char *name, *pole;  /* of exceptions; static */
    int64_t elements, nbytes; /* of the iteration space; moved */
    int num_places;
    asn_place *places;   /* of the operands, in order */
    aclnnxNative native; /* of a program: its compiled text, or NULL */
    uint8_t trials;      /* runs of it timed so far, each other one compiled */
    bool slower;         /* what is compiled was */
    uint64_t best[2];    /* nanoseconds: of the engine's, of the compiled runs */
    union {
        struct {
            aclnnxProgram program;
            aclnnxPrepared *prepared; /* owns */
        } fused;
        struct {
            aclnnStatus (*run)(void *, uint64_t, aclOpExecutor *, aclrtStream);
            aclOpExecutor *executor; /* owns */
            uint64_t workspace;
            int slot; /* of the workspace; -1: none */
            int num_tensors;
            asn_replay_tensor *tensors;
            asn_replay_product *product; /* NULL: it is none, or large */
        } op;
        struct {
            asn_host_run run;
            const void *context;
            int num_in;
            int64_t *bytes; /* of each array */
            /* Instead: a fused program that the device has no operator for; its operands
             * are ours, to fill in. */
            const aclnnxProgram *program;
        } host;
        struct {
            void *bytes; /* a picture of the host's memory */
            size_t size;
        } upload;
        struct {
            int32_t op, ndim, axis, indices, num_kth, kind, options, num_batch;
            int32_t index_ndim, num_indices;
            double left, right, scale;
            int64_t n, m, first; /* of SPARSE: columns, rows, rows of the dense one */
            int64_t *shape, *other_shape, *kth;
            aclnnxOperand *operands;
            aclnnxTensor *tensors; /* of LINALG */
            const char
                *complaint; /* of LINALG: what a failure is called; NULL: nothing */
        } call;
    };
} asn_replay_step;

/* A handle of the device's that lives as long as the steps that use it. */
typedef enum {
    ASN_HANDLE_TENSOR,
    ASN_HANDLE_LIST,
    ASN_HANDLE_SCALAR,
    ASN_HANDLE_INTS
} asn_handle;
typedef struct {
    asn_handle kind;
    void *handle;
} asn_kept;

typedef struct {
    int slot;        /* -1: an array without elements */
    int64_t offset;  /* from the slot's base to element (0, ..., 0) */
    asn_layout like; /* its layout; offset unused */
} asn_replay_result;

struct asn_replay {
    uint32_t generation; /* of the device's opening */
    int device;
    int num_args, num_slots, num_steps, num_results, num_kept;
    int slots_room, steps_room, kept_room;
    asn_slot *slots;
    asn_replay_step *steps;
    asn_kept *kept;
    int num_keepers, keepers_room;
    asn_keeper *keepers; /* by address */
    asn_replay_result *results;
    int64_t arena_bytes;
    struct asn_capture_chunk *chunks; /* everything the steps point to */
    char **bases;                     /* while replaying: of the slots */
};

/* Runs a program's compiled text; false: it is to be launched, exceptions were
 * raised that may not be its own. Nothing may be queued. */
bool asn_replay_run_native(const asn_replay_step *s, void *const *addresses,
                           uint32_t *sink);
/* While a step is tried: what a run took. */
static inline bool asn_replay_trying(const asn_replay_step *s) {
    return s->native && s->trials < ASN_REPLAY_TRIALS;
}
void asn_replay_tried(asn_replay_step *s, bool compiled, uint64_t ns);

/* The open capture. */
extern asn_replay *asn_captured;

/* The capture's end reports the first failure, with the message of now. */
void asn_capture_fail(asn_status status);
/* Memory that lives as long as the replay; NULL with the capture failed. */
void *asn_capture_alloc(size_t bytes);
/* Room for one more in an array that doubles; false with the capture failed. */
bool asn_capture_grow(void **items, int used, int *room, size_t size);
/* The next step, cleared, with room for so many places; NULL with the capture failed. */
asn_replay_step *asn_capture_step(asn_replay_kind kind, int num_places);
/* Where an address lies; the capture fails when nobody knows it. */
asn_place asn_capture_place(const void *address, bool written);
/* A step's places are filled in: what it writes varies with what it reads. */
void asn_capture_spread(const asn_replay_step *s);
/* Whether a buffer's values depend on the call, or its memory is nobody's. */
bool asn_capture_varies(const asn_buffer *b);
/* A temporary of the next step alone; its slot, or -1. */
int asn_capture_workspace(int64_t nbytes);
/* capture_launch.c: the layer that records what goes through the interface. */
void asn_capture_install(asn_acl_api *table);
/* capture_operator.c: those that make lists and destroy handles of operators; what a
 * replay kept of these ends. */
void asn_capture_install_handles(asn_acl_api *table);
void asn_capture_drop_kept(const asn_replay *r);
/* capture_operator.c: forgets what a failed call left behind. */
void asn_capture_operators_end(void);

/* capture_host.c: a step of the host's; what a replay holds, which it enters and leaves
 * (the first `entered` of them) around its steps, and lets go of at its end. */
ASN_CHECK_RESULT asn_status asn_capture_host_run(const asn_replay_step *s,
                                                 char *const *bases);
ASN_CHECK_RESULT asn_status asn_replay_enter(const asn_replay *r);
void asn_replay_leave(const asn_replay *r, int entered);
void asn_replay_let_go(asn_replay *r);

/* replay.c */
void asn_replay_lay_out(asn_replay *r);
void asn_replay_release_step(asn_replay_step *s);

/* ---- capture_memory.c, for capture.c */

extern const asn_watch_tap asn_capture_tap;
void asn_capture_memory_begin(void);
/* The slots of the arguments, and the arrays over them (asn_capture_begin). */
ASN_CHECK_RESULT asn_status asn_capture_add_args(int n, const asn_array *const *args,
                                                 asn_array *views);
ASN_CHECK_RESULT asn_status asn_capture_add_result(asn_replay_result *out,
                                                   const asn_array *a);
/* An argument's memory was used under another name: the next call's may be apart. */
bool asn_capture_happens_once(void);

#endif
