/* L0 base: host allocation with fault injection (see alloc.h).
 *
 * Large blocks are aligned to huge pages and asked for as such: memory that is touched
 * for the first time comes at 10.8 GB/s so, and at 1.8 GB/s in pages of 4 KB.
 */
#include "base/alloc.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

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

static void *large_block(size_t size) {
    if (size > SIZE_MAX - HUGE_PAGE) return NULL;
    size = (size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
    void *p = aligned_alloc(HUGE_PAGE, size);
#if defined(MADV_HUGEPAGE)
    if (p)
        (void)madvise(p, size, MADV_HUGEPAGE); /* advice: refused, it changes nothing */
#endif
    return p;
}

void *asn_malloc(size_t size) {
    if (asn_alloc_fault()) return report(NULL, size);
    return report(size >= ASN_LARGE ? large_block(size) : malloc(size ? size : 1), size);
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
