/* CPU device, operators: the exported interface of the fused operator (aclnn/aclnnx.h).
 *
 * On an idle stream a program runs here and now, unless it is long and the stream has a
 * thread for such, on the caller's descriptors (its threads share the work), and its
 * status is returned. Otherwise it is prepared and a run of it enqueued; a failure then
 * comes with the next synchronisation.
 *
 * Prepared programs (aclnnxPrepare) are counted by references: the caller's, and one for
 * each run that is queued, so a program may be released while it waits. Immediates of a
 * queued run are copied with it.
 */
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/fused/fused.h"
#include "device/cpu/fused/prepared.h"
#include "device/opbase/executor.h"
#include "ops/added.h"

/* Looked up once per operation by the program's builder: a linear search will do. */
ASN_API int32_t aclnnxOpcode(const char *name) {
    if (name == NULL) return -1;
    for (int op = 0; op < ASN_OP_COUNT; op++)
        if (strcmp(asn_op_table[op].name, name) == 0) return op;
    return -1;
}

/* -1 with the runtime's message; an opcode is for the life of the process. */
ASN_API int32_t aclnnxRegisterLoop(const aclnnxOwnLoop *loop) {
    if (!loop || !loop->name || !loop->function) {
        asnrtFail(ACLNN_ERR_PARAM_NULLPTR,
                  "aclnnxRegisterLoop: loop, its name or its function is NULL");
        return -1;
    }
    int64_t args = (int64_t)loop->numIn + loop->numOut;
    if (loop->numIn < 1 || loop->numIn > ACLNNX_OWN_INPUTS || loop->numOut < 1 ||
        args > ACLNNX_OWN_ARGS) {
        asnrtFail(ACLNN_ERR_PARAM_INVALID,
                  "aclnnxRegisterLoop: %s has %d inputs and %d outputs; it may have 1 to "
                  "%d inputs and %d arguments in all",
                  loop->name, loop->numIn, loop->numOut, ACLNNX_OWN_INPUTS,
                  ACLNNX_OWN_ARGS);
        return -1;
    }
    asn_added_loop own = {.name = loop->name,
                          .fn = loop->function,
                          .data = loop->data,
                          .num_in = loop->numIn,
                          .num_out = loop->numOut};
    for (int k = 0; k < args; k++) {
        asn_dtype dtype = asn_plan_dtype(loop->dtypes[k]);
        if (dtype == ASN_DTYPE_NONE) {
            asnrtFail(ACLNN_ERR_PARAM_INVALID,
                      "aclnnxRegisterLoop: argument %d of %s has unknown dtype %d", k,
                      loop->name, loop->dtypes[k]);
            return -1;
        }
        own.dtypes[k] = (uint8_t)dtype;
    }
    int opcode = asn_op_add(&own);
    if (opcode < 0)
        asnrtFail(ACLNN_ERR_INNER, "aclnnxRegisterLoop: no room for %s", loop->name);
    return opcode;
}

/* `stream`: NULL on a stream's worker. */
static asn_status program_run(const aclnnxProgram *program, asnrtStreamState *stream) {
    if (!asnrtHooked()) return asn_cpu_fused(program);
    asnrtScope scope;
    asnrtScopeBegin(&scope, stream);
    asn_status status = asn_cpu_fused(program);
    asnrtScopeEnd(&scope, "aclnnxFused");
    return status;
}

/* The same for a prepared program with other addresses. */
static asn_status prepared_run(asnd_prepared *known, void *const *addresses,
                               uint32_t *fp_flags, asnrtStreamState *stream) {
    if (!asnrtHooked()) return asn_prepared_run_on(known, addresses, fp_flags);
    asnrtScope scope;
    asnrtScopeBegin(&scope, stream);
    asn_status status = asn_prepared_run_on(known, addresses, fp_flags);
    asnrtScopeEnd(&scope, "aclnnxFused");
    return status;
}

/* ---- on a stream that is busy */

/* A queued run of a prepared program. */
typedef struct {
    asnd_prepared *known; /* held */
    uint32_t *fp_flags;
    void *addresses[ACLNNX_MAX_OPERANDS]; /* of immediates: of `numbers` */
    uint8_t numbers[][16];
} task;

/* On the stream's worker: a failure is the stream's. */
static int32_t task_run(void *arg) {
    task *t = arg;
    asn_status status = prepared_run(t->known, t->addresses, t->fp_flags, NULL);
    if (status == ASN_OK) return 0;
    return asnrtFail(asn_status_acl(status), "aclnnxFused: %s", asn_error_message());
}

/* After the run, or when the stream drops it unrun. */
static void task_drop(void *arg) {
    asn_prepared_release(((task *)arg)->known);
    asn_free(arg);
}

/* Takes a reference of its own, which the task drops when it has run or the stream ends.
 */
static int32_t enqueue(asnd_prepared *known, void *const *addresses, uint32_t *fp_flags,
                       asnrtStreamState *stream) {
    const aclnnxProgram *p = asn_prepared_program(known);
    int num = p->numIn + p->numOut, numbers = 0;
    for (int i = 0; i < num; i++)
        numbers += !p->operands[i].data;
    task *t = asn_malloc(sizeof *t + (size_t)numbers * sizeof *t->numbers);
    if (t == NULL) return asnop_fail(ASN_ERR_MEMORY);
    asn_prepared_hold(known);
    t->known = known;
    t->fp_flags = fp_flags;
    for (int i = 0, n = 0; i < num; i++) {
        t->addresses[i] = addresses[i];
        if (p->operands[i].data || !addresses[i]) continue;
        t->addresses[i] = t->numbers[n];
        memcpy(t->numbers[n++], addresses[i], sizeof *t->numbers);
    }
    return asnrtStreamPush(stream, task_run, task_drop, t) ? ACLNN_ERR_RUNTIME_ERROR
                                                           : ACLNN_SUCCESS;
}

/* Nanoseconds, roughly, on one thread: a step takes 0.1 to 1.5 ns an element. */
static double work_of(const aclnnxProgram *p) {
    double elements = 1;
    for (int d = 0; d < p->numDims; d++)
        elements *= (double)p->shape[d];
    return elements * 0.4 * (1 + p->numInstrs);
}

ASN_API int32_t aclnnxFused(const aclnnxProgram *program, void *stream) {
    if (program == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR, "aclnnxFused: program is NULL");
    asn_status status = asn_program_check(program);
    if (status != ASN_OK) return asnop_fail(status);
    asnrtStreamState *s = asnrtStreamGet(stream, NULL);
    if (s == NULL) return ACLNN_ERR_RUNTIME_ERROR;
    if (asnrtStreamInlines(s, work_of(program)) && asnrtStreamEnter(s)) {
        status = program_run(program, s);
        asnrtStreamLeave(s, 0);
        return status == ASN_OK ? ACLNN_SUCCESS : asnop_fail(status);
    }
    asnd_prepared *known;
    void *addresses[ACLNNX_MAX_OPERANDS];
    status = asn_prepared_new(&known, program);
    if (status != ASN_OK) return asnop_fail(status);
    asn_program_addresses(program, addresses);
    int32_t code = enqueue(known, addresses, program->fpFlags, s);
    asn_prepared_release(known);
    return code;
}

/* ---- programs that run again and again */

ASN_API int32_t aclnnxPrepare(const aclnnxProgram *program, aclnnxPrepared **prepared) {
    if (program == NULL || prepared == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR,
                         "aclnnxPrepare: program or prepared is NULL");
    asn_status status = asn_prepared_new(prepared, program);
    return status == ASN_OK ? ACLNN_SUCCESS : asnop_fail(status);
}

ASN_API int32_t aclnnxRun(aclnnxPrepared *prepared, void *const *addresses,
                          uint32_t *fpFlags, void *stream) {
    if (prepared == NULL || addresses == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR,
                         "aclnnxRun: prepared or addresses is NULL");
    asnrtStreamState *s = asnrtStreamGet(stream, NULL);
    if (s == NULL) return ACLNN_ERR_RUNTIME_ERROR;
    if (!asnrtStreamInlines(s, work_of(asn_prepared_program(prepared))) ||
        !asnrtStreamEnter(s))
        return enqueue(prepared, addresses, fpFlags, s);
    asn_status status = prepared_run(prepared, addresses, fpFlags, s);
    asnrtStreamLeave(s, 0);
    return status == ASN_OK ? ACLNN_SUCCESS : asnop_fail(status);
}

ASN_API void aclnnxRelease(aclnnxPrepared *prepared) {
    asn_prepared_release(prepared);
}
