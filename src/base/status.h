/* L0 base: status codes and the thread's error message.
 *
 * Every fallible function returns asn_status. A function that fails sets the calling
 * thread's error (asn_error_set) exactly once, where it knows what was got and what is
 * allowed; callers pass the status up with ASN_TRY and do not reword it. The message
 * stays until the next failure on that thread or asn_error_clear().
 */
#ifndef ASN_BASE_STATUS_H
#define ASN_BASE_STATUS_H

typedef enum {
    ASN_OK = 0,
#define ASN_STATUS_ROW(name, python, acl, aclnn) ASN_ERR_##name,
#include "base/status.def"
#undef ASN_STATUS_ROW
    ASN_STATUS_COUNT
} asn_status_code;

#define ASN_CHECK_RESULT __attribute__((warn_unused_result))

/* An enum type carries no warn_unused_result; functions are declared `ASN_CHECK_RESULT
 * asn_status f(...)`. */
typedef asn_status_code asn_status;

/* Return early with a callee's failure. */
#define ASN_TRY(expr)                                                                    \
    do {                                                                                 \
        asn_status try_status_ = (expr);                                                 \
        if (__builtin_expect(try_status_ != ASN_OK, 0)) return try_status_;              \
    } while (0)

/* Set the thread's message (printf format) and return `status`: `return
 * asn_error_set(...)`. */
asn_status asn_error_set(asn_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

/* The thread's last message, "" when there is none; borrows until the next failure. */
const char *asn_error_message(void);
void asn_error_clear(void);

const char *asn_status_python(asn_status status); /* Python exception class name */
int asn_status_acl(asn_status status);            /* code of an AscendCL function */
int asn_status_aclnn(asn_status status);          /* code of an aclnn operator */

#endif
