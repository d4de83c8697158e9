/* L2 runtime: device memory staged on the host, for an operation that the host computes.
 *
 *     asn_stage s = {0};
 *     status = asn_stage_add(&s, data, dtype, ndim, shape, strides, written);
 *     ... the same for each operand ...
 *     if (!status) status = asn_stage_in(&s);
 *     ... compute on asn_stage_host(&s, data) ...
 *     if (!status) status = asn_stage_out(&s);
 *     asn_stage_fini(&s);
 *
 * Operands whose memory meets share one block, so that what aliases on the device aliases
 * on the host. The stream must be idle.
 */
#ifndef ASN_RUNTIME_MEMORY_STAGE_H
#define ASN_RUNTIME_MEMORY_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

enum { ASN_STAGE_SPANS = 80 };

typedef struct {
    char *device, *host; /* host: NULL until asn_stage_in */
    size_t bytes;
    bool written;
} asn_span;

typedef struct {
    int num;
    asn_span spans[ASN_STAGE_SPANS];
} asn_stage;

/* strides in bytes, NULL: contiguous, row-major. An operand without elements is nothing.
 */
ASN_CHECK_RESULT asn_status asn_stage_add(asn_stage *s, const void *data, asn_dtype dtype,
                                          int ndim, const int64_t *shape,
                                          const int64_t *strides, bool written);
/* Copies everything to the host: outputs too, which may have gaps. */
ASN_CHECK_RESULT asn_status asn_stage_in(asn_stage *s);
/* The host's address for a device address that was added; itself when it was not. */
void *asn_stage_host(const asn_stage *s, const void *data);
/* Copies what was written to the device. */
ASN_CHECK_RESULT asn_status asn_stage_out(const asn_stage *s);
void asn_stage_fini(asn_stage *s);

#endif
