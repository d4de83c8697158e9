/* L3 C binding: the header of a .npy file (numpy.lib.format): a magic, a version, and a
 * Python dictionary of dtype, order and shape. */
#ifndef ASN_CAPI_NPY_H
#define ASN_CAPI_NPY_H

#include <stdio.h>

#include "array/layout.h"
#include "asnumpy/types.h"

enum { ASN_NPY_MOST = 4096 }; /* bytes of a header that 64 dimensions may need */

/* What a header says of an array. */
typedef struct {
    asn_dtype dtype;
    bool swapped; /* the other byte order */
    bool fortran;
    int ndim;
    int64_t shape[ASN_MAX_DIMS];
} asn_npy;

/* Reads a header and leaves the file at the first element. VALUE: no .npy file, a
 * dictionary of another form; TYPE: a dtype that is none of ours. */
ASN_CHECK_RESULT asn_status asn_npy_read(asn_npy *h, FILE *file, const char *path);
/* The header of a contiguous array in format 1.0, with magic and padding; its length.
 * UNSUPPORTED: bfloat16. */
ASN_CHECK_RESULT asn_status asn_npy_format(const asn_npy *h, char text[ASN_NPY_MOST],
                                           size_t *length);

/* A whole .npy file in memory (the caller frees it), and the array of one, whose bytes
 * may be swapped in place. (io.c) */
ASN_CHECK_RESULT asn_status asn_npy_bytes(const asnp_array *a, char **data,
                                          size_t *bytes);
ASN_CHECK_RESULT asn_status asn_npy_parse(char *data, size_t bytes, const char *path,
                                          asnp_array **out);

#endif
