/* ABI tests: the checks. A failing check prints where and what, and the program ends
 * with 1. */
#ifndef ASN_TESTS_ABI_CHECK_H
#define ASN_TESTS_ABI_CHECK_H

#include <stdio.h>
#include <string.h>

#include "acl/acl.h"

static int check_failures;

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);              \
            check_failures++;                                                            \
        }                                                                                \
    } while (0)

static inline void check_code(const char *file, int line, const char *text, int got,
                              int want) {
    const char *message = aclGetRecentErrMsg();
    if (got != want) {
        fprintf(stderr, "%s:%d: %s returned %d, not %d: %s\n", file, line, text, got,
                want, message ? message : "(no message)");
        check_failures++;
    } else if (want != 0 && (message == NULL || strlen(message) < 8)) {
        fprintf(stderr, "%s:%d: %s failed as it should, but without a message\n", file,
                line, text);
        check_failures++;
    }
}

#define CHECK_OK(call) check_code(__FILE__, __LINE__, #call, (int)(call), 0)
/* Fails with this code and a message. */
#define CHECK_ERROR(call, code) check_code(__FILE__, __LINE__, #call, (int)(call), (code))

static inline int check_done(void) {
    if (check_failures != 0) fprintf(stderr, "%d checks failed\n", check_failures);
    return check_failures != 0;
}

#endif
