/* CPU device, operators by type: options of their compilation.
 *
 * Operators of a CPU are compiled already. An option is kept and read back; the value
 * that nobody set is what CANN documents, or what holds here. ACL_OP_JIT_COMPILE
 * ("enable" or "disable") says whether a program shall call operators by the name of
 * their type, for which CANN compiles, or by their own functions: "disable".
 */
#include <string.h>

#include "acl/acl_op_compiler.h"
#include "base/alloc.h"
#include "base/forks.h"
#include "device/acl/asnrt.h"

enum { COUNT = ACL_OP_DEBUG_OPTION + 1, VALUE_MAX = 4096 };

/* What nobody set. */
static const char *const initial[COUNT] = {
    [ACL_PRECISION_MODE] = "must_keep_origin_dtype",
    [ACL_AICORE_NUM] = "",
    [ACL_AUTO_TUNE_MODE] = "",
    [ACL_OP_SELECT_IMPL_MODE] = "high_precision",
    [ACL_OPTYPELIST_FOR_IMPLMODE] = "",
    [ACL_OP_DEBUG_LEVEL] = "0",
    [ACL_DEBUG_DIR] = "",
    [ACL_OP_COMPILER_CACHE_MODE] = "disable",
    [ACL_OP_COMPILER_CACHE_DIR] = "",
    [ACL_OP_PERFORMANCE_MODE] = "normal",
    [ACL_OP_JIT_COMPILE] = "disable",
    [ACL_OP_DETERMINISTIC] = "1",
    [ACL_CUSTOMIZE_DTYPES] = "",
    [ACL_OP_PRECISION_MODE] = "",
    [ACL_ALLOW_HF32] = "0",
    [ACL_PRECISION_MODE_V2] = "origin",
    [ACL_OP_DEBUG_OPTION] = "",
};

/* Of the process: CANN's options are not a context's. */
static struct {
    pthread_mutex_t lock;
    char *values[COUNT]; /* NULL: as at first */
} options = {.lock = PTHREAD_MUTEX_INITIALIZER};
ASN_FORK_TAKES(compile_options, &options.lock, ASN_FORK_LEAF)

/* 0 for an option that is known, and somewhere to read or write its value. */
static aclError option_check(const char *function, aclCompileOpt opt, const void *value) {
    if (value == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: value is NULL", function);
    if ((unsigned)opt < COUNT) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: option %d is unknown; 0 to %d are",
                     function, (int)opt, COUNT - 1);
}

/* The option's value; lock held. */
static const char *value_of(aclCompileOpt opt) {
    return options.values[opt] ? options.values[opt] : initial[opt];
}

/* Keeps a copy of the value. */
ASN_API aclError aclSetCompileopt(aclCompileOpt opt, const char *value) {
    aclError code = option_check("aclSetCompileopt", opt, value);
    if (code != ACL_SUCCESS) return code;
    size_t size = strnlen(value, VALUE_MAX) + 1;
    if (size > VALUE_MAX)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclSetCompileopt: the value has more than %d characters",
                         VALUE_MAX - 1);
    char *copy = asn_malloc(size);
    if (copy == NULL)
        return asnrtFail(ACL_ERROR_BAD_ALLOC, "aclSetCompileopt: no memory");
    memcpy(copy, value, size);
    pthread_mutex_lock(&options.lock);
    char *before = options.values[opt];
    options.values[opt] = copy;
    pthread_mutex_unlock(&options.lock);
    asn_free(before);
    return ACL_SUCCESS;
}

/* The bytes that aclGetCompileopt writes, the final 0 included; 0 for an unknown
 * option. */
ASN_API size_t aclGetCompileoptSize(aclCompileOpt opt) {
    if ((unsigned)opt >= COUNT) return 0;
    pthread_mutex_lock(&options.lock);
    size_t size = strlen(value_of(opt)) + 1;
    pthread_mutex_unlock(&options.lock);
    return size;
}

/* The value, with its final 0, into `length` bytes. */
ASN_API aclError aclGetCompileopt(aclCompileOpt opt, char *value, size_t length) {
    aclError code = option_check("aclGetCompileopt", opt, value);
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&options.lock);
    size_t size = strlen(value_of(opt)) + 1;
    if (size <= length) memcpy(value, value_of(opt), size);
    pthread_mutex_unlock(&options.lock);
    if (size <= length) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "aclGetCompileopt: length is %zu; the value has %zu bytes", length,
                     size);
}

/* How operators of unknown shape are compiled: both ways are one here. */
ASN_API aclError aclopSetCompileFlag(aclOpCompileFlag flag) {
    if (flag == ACL_OP_COMPILE_DEFAULT || flag == ACL_OP_COMPILE_FUZZ) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "aclopSetCompileFlag: flag is %d; it must be 0 or 1", (int)flag);
}
