/* L2 graph: what an open capture (replay.h) asks of the engine's other files: one flag,
 * tested where something is launched, dropped, or filled from the host.
 *
 * All but asn_capture_open, asn_capturing, asn_capture_forbid and asn_capture_known are
 * for while a capture of the calling thread is open, which holds the library's lock. What
 * fails is also kept for the capture's end. */
#ifndef ASN_GRAPH_CAPTURE_CAPTURE_H
#define ASN_GRAPH_CAPTURE_CAPTURE_H

#include "graph/array.h"
#include "runtime/acl_api.h"

/* The calling thread has a capture open (replay.h). */
bool asn_capture_open(void);
/* A capture is open; the thread that holds the library's lock has it. */
extern bool asn_capturing;
#define ASN_CAPTURING __builtin_expect(asn_capturing, 0)

/* Fails, with what was tried and the way out; the capture's end fails then, too. */
asn_status asn_capture_refuse(const char *what) __attribute__((cold));
/* The same of what no capture can contain, where one is open; else nothing. */
ASN_CHECK_RESULT asn_status asn_capture_forbid(const char *what);

/* Whether operations on the buffer can stay recorded for now: no memory of the capture's
 * is known under two names. */
bool asn_capture_may_record(asn_buffer *b);

/* The names a program's floating-point exceptions are told under: of division, of the
 * others. Both static. */
void asn_capture_names(const char *pole, const char *name);
/* The last step's name. */
void asn_capture_name(const char *name);
/* What a failure of the last step's solver is called; copied. */
void asn_capture_complaint(const char *text);
/* A complaint of the last step's is told when it is waited for: indices. */
void asn_capture_checked(void);

/* The host is about to read the array's elements: fine where they are the same at every
 * replay, numbers of the program's that no argument had a part in; refused otherwise. */
ASN_CHECK_RESULT asn_status asn_capture_look(const asn_array *a, const char *why);
/* Fills an array's memory, which is contiguous, from the host. */
ASN_CHECK_RESULT asn_status asn_capture_upload(const asn_array *a, const void *packed,
                                               size_t bytes);

/* A copy that lives as long as the replay; NULL with the capture failed. */
void *asn_capture_copy(const void *from, size_t bytes);

/* Work of the host's (capture_host.c): memory: that of the arrays, in order, where the
 * host reaches it. */
typedef asn_status (*asn_host_run)(const void *context, void *const *memory);
enum { ASN_HOST_ARRAYS = 4 };
/* Runs it on contiguous arrays, of which the first num_in are read and the others
 * written, and keeps it as a step. name: static; context: asn_capture_copy's. */
ASN_CHECK_RESULT asn_status asn_capture_host(const char *name, asn_host_run run,
                                             const void *context, int num_in, int num,
                                             const asn_array *const *arrays);
/* Fails with that error where the condition, one bool, is false; so does each replay.
 * Takes the library's lock. */
ASN_CHECK_RESULT asn_status asn_capture_require(const asn_array *condition,
                                                asn_status error, const char *message);
/* Whether the array's values are the same at every replay, as they are without a capture:
 * the host may look at them. */
ASN_CHECK_RESULT asn_status asn_capture_known(const asn_array *a, bool *known);
/* Holds an object as long as there is the replay, which enters it each time. */
ASN_CHECK_RESULT asn_status asn_capture_hold(const asn_keeper *keeper);

/* The host has run a fused program in the device's place, and does so at each replay. */
void asn_capture_host_program(const aclnnxProgram *program, const char *what);
/* A transform or a solver was called, on the device or on the host in its place. */
void asn_capture_fft(int32_t kind, int64_t n, double scale, const aclnnxOperand *in,
                     const int64_t *in_shape, const aclnnxOperand *out,
                     const int64_t *out_shape, int32_t ndim, int32_t axis);
void asn_capture_linalg(int32_t op, int32_t options, double rcond, int32_t num_batch,
                        int32_t num, const aclnnxTensor *operands);

/* Operators: a first phase's tensors in the order of its parameters, then its executor
 * before the second phase. Handles that a replay needs are kept, not destroyed, by the
 * layer that a capture puts into the device's interface (capture_operator.c). */
void asn_capture_tensor(const aclTensor *tensor);
void asn_capture_tensors(const aclTensorList *list);
static inline void asn_capture_other(void) {}
ASN_CHECK_RESULT asn_status asn_capture_operator(const asn_acl_operator *op,
                                                 uint64_t workspace,
                                                 aclOpExecutor *executor,
                                                 const char *what);
/* The last step is aclnnMatmul of these: a small product of matrices is kept in its short
 * form, too. */
void asn_capture_product(const asn_array *a, const asn_array *b, const asn_array *c,
                         bool watched);
/* A tensor over `a` was made, which an operator reads or writes. */
void asn_capture_made_tensor(aclTensor *tensor, const asn_array *a, bool written);

#endif
