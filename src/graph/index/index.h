/* L2 graph: a[...] and a[...] = v, NumPy's basic and advanced indexing.
 *
 * A key is a list of n items, as read by a binding; it is checked here. Each function
 * takes the library's lock itself. Index arrays are borrowed for the call; they may be
 * recorded, and are then run first. */
#ifndef ASN_GRAPH_INDEX_INDEX_H
#define ASN_GRAPH_INDEX_INDEX_H

#include "graph/array.h"
#include "graph/ufunc/ufunc.h"

typedef enum {
    ASN_INDEX_INT,   /* start is the index (may be negative) */
    ASN_INDEX_SLICE, /* start, stop, step as PySlice_Unpack gives them (not yet clipped)
                      */
    ASN_INDEX_ELLIPSIS, /* at most one */
    ASN_INDEX_NEWAXIS,
    ASN_INDEX_ARRAY, /* integer array of any integer dtype */
    ASN_INDEX_MASK,  /* bool array, matches as many axes as it has dimensions (0-d too) */
} asn_index_kind;

/* One part of a key; what a kind does not use is not looked at. */
typedef struct {
    asn_index_kind kind;
    int64_t start, stop, step;
    const asn_array *array; /* borrows */
} asn_index_item;

/* All-basic items. IndexError as NumPy's ("index 5 is out of bounds for axis 0 with size
 * 3", "too many indices for array: array is 1-dimensional, but 2 were indexed"). */
ASN_CHECK_RESULT asn_status asn_index_view(asn_array *out, const asn_array *a, int n,
                                           const asn_index_item *items);
/* Any items; a view when all are basic, else a new array with NumPy's placement of the
 * result axes, and order in memory. IndexError also for an index array's value out of
 * bounds: that is waited for. */
ASN_CHECK_RESULT asn_status asn_index_get(asn_array *out, const asn_array *a, int n,
                                          const asn_index_item *items);
/* a[items] = value, cast to a's dtype unsafely, broadcast. Of repeated indices any value
 * may stay. ValueError: a is read-only, or the value does not broadcast. */
ASN_CHECK_RESULT asn_status asn_index_set(const asn_array *a, int n,
                                          const asn_index_item *items,
                                          const asn_operand *value);
/* ufunc.at: a[items] = op(a[items], value), unbuffered; value NULL for a unary op. */
ASN_CHECK_RESULT asn_status asn_index_at(asn_op op, const asn_array *a, int n,
                                         const asn_index_item *items,
                                         const asn_operand *value);

/* np.take along an axis (normalised by the caller, below a's dimensions); indices of any
 * integer dtype; mode 0 raise, 1 wrap, 2 clip. */
ASN_CHECK_RESULT asn_status asn_take(asn_array *out, const asn_array *a,
                                     const asn_array *indices, int axis, int mode);
/* Positions of what is true: one int64 array for each dimension in out[]. ValueError of
 * no dimensions. */
ASN_CHECK_RESULT asn_status asn_nonzero(asn_array *out, const asn_array *a);

#endif
