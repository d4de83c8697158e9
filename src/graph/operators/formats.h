/* L2 graph: the formats of tensors that CANN names (aclFormat): which axis lies where,
 * and axes cut in blocks as an NPU's matrix unit reads them.
 *
 * Each family has a canonical order of axes, in which shapes are given:
 *
 *     NCHW     NCHW, NHWC, HWCN, NC1HWC0     (N, C, H, W)
 *     NCDHW    NCDHW, NDHWC, NDC1HWC0        (N, C, D, H, W)
 *     ND       ND, FRACTAL_NZ                (..., M, N)
 *
 * A block has 16 rows; C0, its columns, is 32 bytes: 16 halves, 8 float32, 32 int8. C is
 * cut into C1 parts of C0 channels, in FRACTAL_NZ a matrix into (N1, M1, 16, C0). What
 * fills the last block is 0. (CANN's documentation: Format; aclnnNpuFormatCast.)
 */
#ifndef ASN_GRAPH_OPERATORS_FORMATS_H
#define ASN_GRAPH_OPERATORS_FORMATS_H

#include "graph/array.h"

/* The aclFormat of a name ("NHWC"; "NZ" is FRACTAL_NZ). VALUE: none of the above. */
ASN_CHECK_RESULT asn_status asn_format_find(const char *name, int *format);

/* ... and its name. NULL: none of the above. */
const char *asn_format_name(int format);

/* The shape of memory in which elements of this canonical shape lie as `format`. VALUE:
 * another number of axes, no format, a negative extent, more bytes than addresses. */
ASN_CHECK_RESULT asn_status asn_format_shape(int format, asn_dtype dtype, int ndim,
                                             const int64_t *shape, int *out_ndim,
                                             int64_t *out_shape);

/* A row-major copy of `a`, which lies as `source`, as `target`. `shape` (ndim extents) is
 * the canonical shape of what is in a: needed where blocks were filled up; NULL: all that
 * is there. VALUE: formats of two families, a shape that is not a's. */
ASN_CHECK_RESULT asn_status asn_format_convert(asn_array *out, const asn_array *a,
                                               int source, int target, int ndim,
                                               const int64_t *shape);

/* The format in which images of so many channels are best kept: NCHW from 64 on, NHWC
 * below. VALUE: no channel. */
ASN_CHECK_RESULT asn_status asn_format_choose(int64_t channels, int *format);

#endif
