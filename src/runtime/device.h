/* L2 runtime: the device behind the library: opened at first use, described, switched. */
#ifndef ASN_RUNTIME_DEVICE_H
#define ASN_RUNTIME_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Opens CANN's libraries or the CPU device's (ASNUMPY_DEVICE=cpu|ascend|auto) and device
 * 0; idempotent. */
ASN_CHECK_RESULT asn_status asn_device_open(void);
/* Counts the openings and closings: what is looked up in a device holds until it changes.
 */
extern uint32_t asn_device_generation;
/* Flushes, waits and closes; the next use opens again. */
ASN_CHECK_RESULT asn_status asn_device_close(void);
ASN_CHECK_RESULT asn_status asn_device_count(int *out);
ASN_CHECK_RESULT asn_status asn_device_set(int device);
ASN_CHECK_RESULT asn_status asn_device_get(int *device);
ASN_CHECK_RESULT asn_status asn_device_reset(int device);
/* "cpu" or "ascend". */
const char *asn_device_kind(void);
/* Whether the host may dereference device addresses. */
bool asn_device_host_access(void);
/* Folder of the CPU device's libraries, tried first by the loader; set before the first
 * use. */
void asn_device_set_library_path(const char *folder);
const char *asn_device_library_path(void);

#endif
