/* L2 graph: tensors: arrays made from descriptors, which say how the elements lie, and
 * host memory brought into them and back, converted on the way. */
#ifndef ASN_GRAPH_OPERATORS_TENSOR_H
#define ASN_GRAPH_OPERATORS_TENSOR_H

#include "graph/array.h"
#include "runtime/memory/dma.h"

/* How the elements of a tensor lie. */
typedef struct {
    asn_dtype dtype;
    int32_t ndim;
    int64_t shape[ASN_MAX_DIMS];
    /* The axes from the slowest to the fastest: 0, 1, 2 is row-major, 2, 1, 0
     * column-major; a tensor of shape (N, C, H, W) that lies as NHWC has 0, 2, 3, 1. */
    int32_t order[ASN_MAX_DIMS];
    int64_t alignment; /* of the first element, bytes: a power of two, 64 to 4096 */
} asn_descriptor;

/* Bytes of the elements. ValueError: an order that is no permutation, an alignment that
 * is none, a size past the address space. */
ASN_CHECK_RESULT asn_status asn_descriptor_check(const asn_descriptor *d,
                                                 int64_t *nbytes);
/* Uninitialised elements. */
ASN_CHECK_RESULT asn_status asn_tensor_new(asn_array *out, const asn_descriptor *d);
/* Uninitialised elements in the memory of an array that nobody needs any more; `dead`
 * stays valid and lies in the same memory. ValueError: other arrays share it, it is the
 * host's, or it is too small. */
ASN_CHECK_RESULT asn_status asn_tensor_reuse(asn_array *out, const asn_descriptor *d,
                                             const asn_array *dead);
/* The elements of host memory with any byte strides, converted to the descriptor's dtype
 * (as astype does) and order by the device. */
ASN_CHECK_RESULT asn_status asn_tensor_prepare(asn_array *out, const asn_descriptor *d,
                                               asn_dtype dtype, const int64_t *strides,
                                               const void *host);
/* The array's elements into host memory as the descriptor says. ValueError: another
 * shape. */
ASN_CHECK_RESULT asn_status asn_tensor_copy_back(const asn_array *a,
                                                 const asn_descriptor *d, void *host);

/* The same through a copy queue, without gaps and conversions: `out` may be used after
 * asn_tensor_order. The host memory stays until the transfer ends; so does *kept, which
 * the caller ends then. */
ASN_CHECK_RESULT asn_status asn_tensor_send(asn_dma *q, const asn_descriptor *d,
                                            void *host, int priority, asn_array *out,
                                            asn_transfer **transfer);
/* Bytes of the array's own memory, from `offset` after its first element on, to the
 * device or to the host; both places stay until the transfer ends. ValueError: past the
 * array's end, elements with gaps. */
ASN_CHECK_RESULT asn_status asn_tensor_copy_bytes(asn_dma *q, const asn_array *a,
                                                  int64_t offset, void *host,
                                                  int64_t bytes, bool to_device,
                                                  int priority, asn_transfer **transfer);
/* What uses the array from now on, on any stream, comes after the transfer. */
ASN_CHECK_RESULT asn_status asn_tensor_order(asn_transfer *transfer, const asn_array *a);
/* `kept` is a copy of the elements as they are now, row-major. */
ASN_CHECK_RESULT asn_status asn_tensor_fetch(asn_dma *q, const asn_array *a, void *host,
                                             int priority, asn_array *kept,
                                             asn_transfer **transfer);

#endif
