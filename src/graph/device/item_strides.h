/* L2 graph: arrays whose strides are no multiple of their items.
 *
 * a[:, :2].view("c8") of float32 rows of three has items of 8 bytes every 12. NumPy has
 * such arrays and so have fused programs, whose strides are bytes; an aclTensor counts
 * its strides in items. Operators therefore read a copy (asn_operator_tensor), and what
 * they write goes to an array of its own first.
 */
#ifndef ASN_GRAPH_DEVICE_ITEM_STRIDES_H
#define ASN_GRAPH_DEVICE_ITEM_STRIDES_H

#include "graph/array.h"

/* Whether a stride is no multiple of the item, of an axis with more than one element. */
bool asn_items_apart(const asn_layout *l);
/* from -> to, of one dtype and shape and any strides, by CANN's copy of smaller items. */
ASN_CHECK_RESULT asn_status asn_items_copy(const asn_array *from, const asn_array *to);

#endif
