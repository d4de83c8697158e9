/* CPU device, operators: what the device is and computes with, as text (aclnn/aclnnx.h).
 *
 * A line is "name: value". The BLAS is opened for it, as the first product would.
 */
#include <dlfcn.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "device/cpu/context.h"
#include "device/cpu/gemm/gemm.h"
#include "device/cpu/jit/jit.h"
#include "device/cpu/threads.h"
#include "device/opbase/executor.h"

static void put_set(asn_text *out) {
    const asnd_context *c = asn_context_get();
    asn_text_put(out, "instruction set: %s%s%s%s", c->name,
                 c->dots_of_bytes ? ", VNNI" : "", c->dots_of_bf16 ? ", BF16" : "",
                 c->tiles ? ", AMX" : "");
    if (strcmp(c->name, c->highest) != 0)
        asn_text_put(out, "; the processor has %s (ASNUMPY_ISA)", c->highest);
    asn_text_append(out, "\n", 1);
}

static void put_jit(asn_text *out) {
    static const char *const words[] = {[ASN_JIT_OFF] = "off",
                                        [ASN_JIT_ON] = "on",
                                        [ASN_JIT_ALWAYS] = "for every program"};
    const char *why = asn_context_get()->pieces ? "" : " (none for this instruction set)";
    asn_text_put(out, "JIT: %s%s\n", words[asn_jit_now()], why);
}

/* Others than OpenBLAS tell nothing of themselves. */
static void put_blas(asn_text *out) {
    char *(*config)(void);
    char *(*core)(void);
    void *product;
    Dl_info file;
    if (asn_blas_symbol("cblas_dgemm", &product) != ASN_OK) {
        asn_text_put(out, "BLAS: none: %s\n", asn_error_message());
        return;
    }
    if (asn_blas_symbol("openblas_get_config", (void **)&config) == ASN_OK &&
        asn_blas_symbol("openblas_get_corename", (void **)&core) == ASN_OK)
        asn_text_put(out, "BLAS: %s, kernels %s\n", config(), core());
    else
        asn_text_put(out, "BLAS: no OpenBLAS\n");
    if (dladdr(product, &file) && file.dli_fname)
        asn_text_put(out, "BLAS file: %s\n", file.dli_fname);
}

ASN_API int32_t aclnnxDescribe(char *text, size_t room, size_t *length) {
    if (length == NULL || (text == NULL && room > 0))
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR,
                         "aclnnxDescribe: text or length is NULL");
    asn_text out = {.status = ASN_OK};
    put_set(&out);
    asn_text_put(&out, "threads: %d\n", asn_pool_threads());
    put_jit(&out);
    put_blas(&out);
    *length = out.status == ASN_OK ? out.used : 0;
    if (*length > 0) memcpy(text, out.text, *length < room ? *length : room);
    asn_free(out.text);
    return out.status == ASN_OK ? ACLNN_SUCCESS : asnop_fail(out.status);
}
