/* L2 runtime: a copy queue: host memory to the device and back, behind the caller and
 * beside the library's stream.
 *
 * One thread and one stream of its own per queue. A transfer goes in pieces through two
 * halves of pinned staging memory, so that the host fills one while the device empties
 * the other; between two pieces the transfer of the highest priority goes on, the oldest
 * among equals. Where the host reaches the device's memory the thread copies at once,
 * without staging.
 *
 * The pool hands out memory in the order of the library's stream: a transfer begins when
 * what was queued there at its submission is done. Whoever uses what it copied to the
 * device calls asn_transfer_order first.
 *
 * In the child of a fork a queue of the parent's copies nothing: RuntimeError.
 */
#ifndef ASN_RUNTIME_MEMORY_DMA_H
#define ASN_RUNTIME_MEMORY_DMA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct asn_dma asn_dma;
typedef struct asn_transfer asn_transfer;

/* With two halves of staging_bytes / 2 each. ValueError below 128 KiB; MemoryError. On
 * the current device. */
ASN_CHECK_RESULT asn_status asn_dma_new(asn_dma **out, int64_t staging_bytes);
/* Waits for all transfers, then ends; transfers may be released later. */
void asn_dma_free(asn_dma *q);

typedef struct {
    uint64_t transfers, pieces, bytes; /* ended, of all time */
    uint64_t waiting;                  /* not ended yet */
} asn_dma_stats;
void asn_dma_get_stats(asn_dma *q, asn_dma_stats *out);

/* Copies bytes between two places that both stay until the transfer ends. The larger
 * priority goes first. The caller owns *out. */
ASN_CHECK_RESULT asn_status asn_dma_submit(asn_dma *q, bool to_device, void *host,
                                           void *device, int64_t bytes, int priority,
                                           asn_transfer **out);
bool asn_transfer_done(asn_transfer *t);
/* Waits until the bytes are there; the transfer's failure. */
ASN_CHECK_RESULT asn_status asn_transfer_wait(asn_transfer *t);
/* What is put on the library's stream from now on comes after the transfer. */
ASN_CHECK_RESULT asn_status asn_transfer_order(asn_transfer *t);
/* Waits for it if it has not ended. */
void asn_transfer_release(asn_transfer *t);

#endif
