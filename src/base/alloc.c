/* L0 base: host allocation with fault injection (see alloc.h). */
#include "base/alloc.h"

#include <stdlib.h>

static _Thread_local long fail_countdown;

void asn_alloc_fail_after(long k) {
    fail_countdown = k;
}

bool asn_alloc_fault(void) {
    return __builtin_expect(fail_countdown > 0, 0) && --fail_countdown == 0;
}

static void *report(void *p, size_t size) {
    if (!p)
        asn_error_set(ASN_ERR_MEMORY, "out of host memory: %zu bytes asked for", size);
    return p;
}

void *asn_malloc(size_t size) {
    return report(asn_alloc_fault() ? NULL : malloc(size ? size : 1), size);
}

void *asn_calloc(size_t count, size_t size) {
    return report(asn_alloc_fault() ? NULL : calloc(count ? count : 1, size ? size : 1),
                  count * size);
}

void *asn_realloc(void *p, size_t size) {
    return report(asn_alloc_fault() ? NULL : realloc(p, size ? size : 1), size);
}

void asn_free(void *p) {
    free(p);
}
