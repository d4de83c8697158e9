/* L0 base: the thread's error message and the mapping of status codes to the outer
 * worlds.
 *
 * The message lives in a fixed thread-local buffer, so that reporting "out of memory"
 * needs no memory; a longer text is cut.
 */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

#define MESSAGE_MAX 1024

static _Thread_local char message[MESSAGE_MAX];

asn_status asn_error_set(asn_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return status;
}

const char *asn_error_message(void) {
    return message;
}

void asn_error_clear(void) {
    message[0] = '\0';
}

const char *asn_status_python(asn_status status) {
    static const char *const names[] = {
        "",
#define ASN_STATUS_ROW(name, python, acl, aclnn) python,
#include "base/status.def"
#undef ASN_STATUS_ROW
    };
    return (unsigned)status < ASN_STATUS_COUNT ? names[status] : "RuntimeError";
}

int asn_status_acl(asn_status status) {
    static const int codes[] = {
        0,
#define ASN_STATUS_ROW(name, python, acl, aclnn) acl,
#include "base/status.def"
#undef ASN_STATUS_ROW
    };
    return (unsigned)status < ASN_STATUS_COUNT ? codes[status] : 500000;
}

int asn_status_aclnn(asn_status status) {
    static const int codes[] = {
        0,
#define ASN_STATUS_ROW(name, python, acl, aclnn) aclnn,
#include "base/status.def"
#undef ASN_STATUS_ROW
    };
    return (unsigned)status < ASN_STATUS_COUNT ? codes[status] : 561000;
}
