/* L0 base: host memory for the library's own structures, with checked sizes and fault
 * injection.
 *
 * Array data does not come from here: it is device memory (aclrtMalloc behind the pool).
 * asn_alloc_fail_after(k) makes the k-th allocation from now on this thread fail once
 * (k = 1 is the next one; 0 disarms); the C tests run every scenario for k = 1, 2, ...
 */
#ifndef ASN_BASE_ALLOC_H
#define ASN_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Blocks of so many bytes and more are aligned to huge pages. */
enum { ASN_LARGE = 4 << 20 };

/* NULL on failure, with the thread's error set. size 0 gives a valid pointer. */
void *asn_malloc(size_t size) __attribute__((malloc, warn_unused_result));
void *asn_calloc(size_t count, size_t size) __attribute__((malloc, warn_unused_result));
void *asn_realloc(void *p, size_t size) ASN_CHECK_RESULT;
void asn_free(void *p); /* NULL is fine */

void asn_alloc_fail_after(long k);
bool asn_alloc_fault(
    void); /* true when this allocation must fail: for other allocators */

/* false on overflow, *out is then unspecified */
static inline bool asn_mul_size(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool asn_add_size(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

#endif
