/* L2 runtime: buffers (see buffer.h). Freed structs are kept on a short list, since every
 * result array needs one. */
#include "runtime/buffer.h"

#include <pthread.h>

#include "base/alloc.h"
#include "runtime/device.h"
#include "runtime/pool.h"

enum { FREE_MAX = 64 };
/* Per thread, so that it needs no lock; a buffer may be freed by another thread than made
 * it. */
static _Thread_local asn_buffer *free_list[FREE_MAX];
static _Thread_local int free_count;

static asn_buffer *take_struct(void) {
#ifndef ASN_SANITIZE
    if (free_count) return free_list[--free_count];
#endif
    return asn_malloc(sizeof(asn_buffer));
}

asn_status asn_buffer_new(asn_buffer **out, int64_t nbytes) {
    asn_buffer *b = take_struct();
    if (!b) return ASN_ERR_MEMORY;
    atomic_init(&b->refs, 1);
    b->trace_refs = b->trace_writes = 0;
    b->trace_id = 0;
    b->shared = false;
    b->data = NULL;
    b->nbytes = nbytes;
    b->capacity = 0;
    b->release = NULL;
    b->context = NULL;
    *out = b;
    return ASN_OK;
}

asn_status asn_buffer_adopt(asn_buffer **out, void *data, int64_t nbytes,
                            void (*release)(void *), void *context) {
    ASN_TRY(asn_buffer_new(out, nbytes));
    (*out)->data = data;
    (*out)->shared = true;
    (*out)->release = release;
    (*out)->context = context;
    return ASN_OK;
}

void asn_buffer_destroy(asn_buffer *b) {
    if (b->release)
        b->release(b->context);
    else if (b->data)
        asn_pool_free(b->data, b->capacity);
#ifndef ASN_SANITIZE
    if (free_count < FREE_MAX) {
        free_list[free_count++] = b;
        return;
    }
#endif
    asn_free(b);
}

asn_status asn_buffer_ensure(asn_buffer *b) {
    if (b->data) return ASN_OK;
    ASN_TRY(asn_device_open());
    return asn_pool_alloc(b->nbytes, &b->data, &b->capacity);
}
