/* CPU device, operators: fused programs as C text (aclnn/aclnnx.h).
 *
 * The text is made in memory and as much of it copied as there is room for; *length is
 * what there would have been, so a caller asks with no room first. Without a program it
 * is the preamble that all of them include.
 */
#include "device/cpu/jit/source.h"

#include <string.h>

#include "base/alloc.h"
#include "device/opbase/executor.h"

ASN_API int32_t aclnnxSource(const aclnnxProgram *program, const char *name, char *text,
                             size_t room, size_t *length) {
    if (length == NULL || (program != NULL && name == NULL) || (text == NULL && room > 0))
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR,
                         "aclnnxSource: name, text or length is NULL");
    asn_text out = {.status = ASN_OK};
    asn_status status = ASN_OK;
    if (program == NULL)
        asn_source_preamble(&out);
    else
        status = asn_source_put(&out, program, name);
    if (status == ASN_OK) status = out.status;
    *length = status == ASN_OK ? out.used : 0;
    if (*length > 0) memcpy(text, out.text, *length < room ? *length : room);
    asn_free(out.text);
    return status == ASN_OK ? ACLNN_SUCCESS : asnop_fail(status);
}
