/* What the C tests share: a failed check prints where and why, and the program's exit
 * status says so. */
#ifndef ASN_TESTS_CHECK_H
#define ASN_TESTS_CHECK_H

#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

static int failures, checks;

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        checks++;                                                                        \
        if (!(condition) && failures++ < 20)                                             \
            printf("%s:%d: %s is false\n", __FILE__, __LINE__, #condition);              \
    } while (0)

/* The call succeeds; its message is shown otherwise. */
#define CHECK_OK(call)                                                                   \
    do {                                                                                 \
        asn_status got_ = (call);                                                        \
        checks++;                                                                        \
        if (got_ && failures++ < 20)                                                     \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, asn_error_message());   \
    } while (0)

/* The call fails with this status and a sentence. */
#define CHECK_STATUS(call, want)                                                         \
    do {                                                                                 \
        asn_error_clear();                                                               \
        asn_status got_ = (call);                                                        \
        checks++;                                                                        \
        if ((got_ != (want) || !*asn_error_message()) && failures++ < 20)                \
            printf("%s:%d: %s gave %d (%s), not %d\n", __FILE__, __LINE__, #call, got_,  \
                   asn_error_message(), (want));                                         \
    } while (0)

/* A small deterministic generator (xorshift64*), so that a failure can be repeated. */
static uint64_t random_state = 0x9e3779b97f4a7c15u;
static inline uint64_t random_next(void) {
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1du;
}
static inline int64_t random_below(int64_t n) {
    return (int64_t)(random_next() % (uint64_t)n);
}

static inline int finish(void) {
    printf("%d checks, %d failed\n", checks, failures);
    return failures != 0;
}

#endif
