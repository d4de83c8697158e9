/* CPU device: scratch of kernels, of which a few blocks stay for the next call. */
#ifndef ASN_DEVICE_CPU_SCRATCH_H
#define ASN_DEVICE_CPU_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

/* 64-byte aligned; NULL with the thread's error set. */
void *asn_scratch_take(size_t bytes);
void asn_scratch_give(void *scratch);
/* From `true` to `false` the calling thread keeps what it gives for what it takes. */
void asn_scratch_hold(bool on);

#endif
