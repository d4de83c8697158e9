/* CPU device, operators: the exported face of the fused operator (aclnn/aclnnx.h).
 *
 * On an idle stream a program runs here and now, unless it is long and the stream has a
 * thread for such, on the caller's descriptors (its threads
 * share the work), and its status is returned. Otherwise it is copied whole, one block of
 * memory, and enqueued; a failure then comes with the next synchronisation.
 */
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/fused/fused.h"
#include "device/cpu/fused/program.h"
#include "device/opbase/executor.h"
#include "ops/added.h"

/* Looked up once per operation by the program's builder: a linear search will do. */
ASN_API int32_t aclnnxOpcode(const char *name) {
    if (name == NULL) return -1;
    for (int op = 0; op < ASN_OP_COUNT; op++)
        if (strcmp(asn_op_table[op].name, name) == 0) return op;
    return -1;
}

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

/* What the copy relies on; the engine checks the rest. */
static asn_status counts_check(const aclnnxProgram *p) {
    if (p->numDims < 0 || p->numDims > ACLNNX_MAX_DIMS || p->numIn < 0 || p->numOut < 0 ||
        p->numIn > ACLNNX_MAX_OPERANDS || p->numOut > ACLNNX_MAX_OPERANDS - p->numIn ||
        p->numInstrs < 0 || p->numInstrs > ACLNNX_MAX_INSTRS)
        return asn_error_set(
            ASN_ERR_VALUE,
            "aclnnxFused: %d dimensions, %d inputs, %d outputs, %d instructions: "
            "more than a program may have",
            p->numDims, p->numIn, p->numOut, p->numInstrs);
    if ((p->numDims > 0 && p->shape == NULL) ||
        (p->numIn + p->numOut > 0 && p->operands == NULL) ||
        (p->numInstrs > 0 && p->instrs == NULL))
        return asn_error_set(ASN_ERR_NULL_POINTER,
                             "aclnnxFused: shape, operands or instrs is NULL");
    return ASN_OK;
}

static aclnnxProgram *program_copy(const aclnnxProgram *p) {
    size_t dims = (size_t)p->numDims * sizeof(int64_t);
    size_t count = (size_t)(p->numIn + p->numOut);
    size_t instrs = (size_t)p->numInstrs * sizeof *p->instrs;
    size_t fixed = sizeof *p + count * sizeof *p->operands;
    char *block = asn_malloc(fixed + dims * (1 + count) + instrs);
    if (block == NULL) return NULL;
    aclnnxProgram *copy = (aclnnxProgram *)block;
    aclnnxOperand *operands = (aclnnxOperand *)(block + sizeof *p);
    int64_t *numbers = (int64_t *)(block + fixed);
    *copy = *p;
    copy->shape = numbers;
    copy->operands = operands;
    if (dims > 0) memcpy(numbers, p->shape, dims);
    for (size_t i = 0; i < count; i++) {
        operands[i] = p->operands[i];
        if (operands[i].strides == NULL || dims == 0) continue;
        numbers += p->numDims;
        memcpy(numbers, p->operands[i].strides, dims);
        operands[i].strides = numbers;
    }
    copy->instrs = (aclnnxInstr *)(block + fixed + dims * (1 + count));
    if (instrs > 0) memcpy((void *)copy->instrs, p->instrs, instrs);
    return copy;
}

/* `stream`: NULL on a stream's worker. */
static asn_status fused_run(const aclnnxProgram *program, asnrtStreamState *stream) {
    if (!asnrtHooked()) return asn_cpu_fused(program);
    asnrtScope scope;
    asnrtScopeBegin(&scope, stream);
    asn_status status = asn_cpu_fused(program);
    asnrtScopeEnd(&scope, "aclnnxFused");
    return status;
}

static int32_t task_fused(void *arg) {
    asn_status status = fused_run(arg, NULL);
    if (status == ASN_OK) return 0;
    return asnrtFail(asn_status_acl(status), "aclnnxFused: %s", asn_error_message());
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
    asn_status status = counts_check(program);
    if (status != ASN_OK) return asnop_fail(status);
    asnrtStreamState *s = asnrtStreamGet(stream, NULL);
    if (s == NULL) return ACLNN_ERR_RUNTIME_ERROR;
    if (asnrtStreamInlines(s, work_of(program)) && asnrtStreamEnter(s)) {
        status = fused_run(program, s);
        asnrtStreamLeave(s, 0);
        return status == ASN_OK ? ACLNN_SUCCESS : asnop_fail(status);
    }
    aclnnxProgram *copy = program_copy(program);
    if (copy == NULL) return asnop_fail(ASN_ERR_MEMORY);
    return asnrtStreamPush(s, task_fused, asn_free, copy) ? ACLNN_ERR_RUNTIME_ERROR
                                                          : ACLNN_SUCCESS;
}
