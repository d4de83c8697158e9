/* What a C program pays for CANN's two-phase operators and launches: seconds of one call,
 * the mean of `count`, without setting up. Negative: a call failed (its code).
 *
 * Called by groups/aclnn.py. */
#include "acl/acl.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_mm.h"

#include <stddef.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

/* Phase 1 and phase 2 of each call; phase 2 alone of one repeatable executor; phase 2 on
 * a stream whose work is waited for each time. */
enum { BOTH_PHASES, REPEATABLE, WAITED };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static aclTensor *tensor(const int64_t *shape, int ndim, void *data) {
    return aclCreateTensor(shape, (uint64_t)ndim, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND,
                           shape, (uint64_t)ndim, data);
}

typedef struct {
    aclTensor *a, *b, *out;
    aclScalar *alpha;
    int is_product;
} operands;

static int plan(const operands *o, uint64_t *size, aclOpExecutor **e) {
    return o->is_product
               ? aclnnMmGetWorkspaceSize(o->a, o->b, o->out, 0, size, e)
               : aclnnAddGetWorkspaceSize(o->a, o->b, o->alpha, o->out, size, e);
}

static int launch(const operands *o, aclOpExecutor *e) {
    return o->is_product ? aclnnMm(NULL, 0, e, NULL) : aclnnAdd(NULL, 0, e, NULL);
}

static int calls(const operands *o, int how, long count) {
    uint64_t size = 0;
    aclOpExecutor *e = NULL;
    int code = 0;
    if (how == REPEATABLE) {
        code = plan(o, &size, &e);
        if (code == 0) code = aclSetAclOpExecutorRepeatable(e);
    }
    for (long i = 0; i < count && code == 0; i++) {
        if (how != REPEATABLE) code = plan(o, &size, &e);
        if (code == 0) code = launch(o, e);
        if (code == 0 && how == WAITED) code = aclrtSynchronizeStream(NULL);
    }
    if (code == 0) code = aclrtSynchronizeStream(NULL);
    if (how == REPEATABLE && e != NULL) (void)aclDestroyAclOpExecutor(e);
    return code;
}

static double timed(operands *o, int how, long count) {
    float one = 1;
    o->alpha = aclCreateScalar(&one, ACL_FLOAT);
    int code = o->a == NULL || o->b == NULL || o->out == NULL || o->alpha == NULL;
    if (code == 0) code = calls(o, how, 1 + count / 10);
    double start = now();
    if (code == 0) code = calls(o, how, count);
    double seconds = now() - start;
    (void)aclDestroyTensor(o->a);
    (void)aclDestroyTensor(o->b);
    (void)aclDestroyTensor(o->out);
    (void)aclDestroyScalar(o->alpha);
    return code == 0 ? seconds / (double)count : -(double)code;
}

/* out = a + b of n float32 */
EXPORT double add(float *a, float *b, float *out, int64_t n, int how, long count) {
    if (aclrtSetDevice(0) != ACL_SUCCESS) return -1;
    operands o = {tensor(&n, 1, a), tensor(&n, 1, b), tensor(&n, 1, out), NULL, 0};
    return timed(&o, how, count);
}

/* out = a b of n x n float32 */
EXPORT double product(float *a, float *b, float *out, int64_t n, int how, long count) {
    const int64_t shape[] = {n, n};
    if (aclrtSetDevice(0) != ACL_SUCCESS) return -1;
    operands o = {tensor(shape, 2, a), tensor(shape, 2, b), tensor(shape, 2, out), NULL,
                  1};
    return timed(&o, how, count);
}

/* A copy of n float32 on the default stream, launched without waiting; all waited for at
 * the end. */
EXPORT double copy(float *a, float *b, float *out, int64_t n, int how, long count) {
    (void)b;
    size_t bytes = (size_t)n * sizeof *a;
    int code = aclrtSetDevice(0);
    double start = now();
    for (long i = 0; i < count && code == 0; i++) {
        code = aclrtMemcpyAsync(out, bytes, a, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, NULL);
        if (code == 0 && how == WAITED) code = aclrtSynchronizeStream(NULL);
    }
    if (code == 0) code = aclrtSynchronizeStream(NULL);
    double seconds = now() - start;
    return code == 0 ? seconds / (double)count : -(double)code;
}
