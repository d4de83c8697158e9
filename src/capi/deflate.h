/* L3 C binding: compressed bytes in files, as a zip archive's members have them: a bare
 * deflate stream (RFC 1951), by zlib. */
#ifndef ASN_CAPI_DEFLATE_H
#define ASN_CAPI_DEFLATE_H

#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* A stream has at least two bits, of a length and of a distance, for every 258 bytes that
 * it repeats: it expands by no more than this. */
enum { ASN_DEFLATE_MOST = 1032 };

/* Appends `bytes` of data to the file, compressed; their number there. RUNTIME: the file
 * cannot be written. */
ASN_CHECK_RESULT asn_status asn_deflate(FILE *file, const char *path, const void *data,
                                        uint32_t bytes, uint64_t *packed);
/* Fills `bytes` at `data` from the file's next `packed` bytes. VALUE: these are no
 * stream, or hold fewer or more. */
ASN_CHECK_RESULT asn_status asn_inflate(FILE *file, const char *path, uint32_t packed,
                                        void *data, uint32_t bytes);

#endif
