/* CPU device, runtime: the thread's error.
 *
 * Every failing function of the three libraries ends here, so that aclGetRecentErrMsg can
 * explain any code. The text lives in fixed thread-local buffers: reporting "out of
 * memory" needs none. One buffer collects, the other is lent to the program until its
 * next call.
 */
#include "device/acl/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_MAX = 1024 };

/* last: the code, until it is asked for; pending: there is a message that nobody has
 * read. */
static _Thread_local struct {
    aclError last;
    bool pending;
    char text[MESSAGE_MAX], lent[MESSAGE_MAX];
} error;

/* Never fails, and never allocates: a message is cut to MESSAGE_MAX. */
int32_t asnrtFail(int32_t code, const char *format, ...) {
    char text[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(error.text, text, sizeof text); /* an argument may be the old text */
    error.pending = true;
    error.last = code;
    return code;
}

/* The calling thread's last error message, which this call clears; NULL when there is
 * none. The text is valid until the thread's next call. */
ASN_API const char *aclGetRecentErrMsg(void) {
    if (!error.pending) return NULL;
    error.pending = false;
    memcpy(error.lent, error.text, sizeof error.lent);
    return error.lent;
}

/* The calling thread's last error code, which stays. */
ASN_API aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
    if (level != ACL_RT_THREAD_LEVEL) return ACL_ERROR_INVALID_PARAM;
    return error.last;
}

/* The calling thread's last error code, which this call clears. */
ASN_API aclError aclrtGetLastError(aclrtLastErrLevel level) {
    aclError last = aclrtPeekAtLastError(level);
    if (level == ACL_RT_THREAD_LEVEL) error.last = ACL_SUCCESS;
    return last;
}
