/* L2 numpy: the order and the direction of axes. Views of `a`, but roll, which copies.
 *
 * Axes are given as callers gave them, negative ones among them; AXIS and VALUE are
 * NumPy's. Each function makes *out (uninitialised before).
 */
#ifndef ASN_NUMPY_AXES_H
#define ASN_NUMPY_AXES_H

#include "graph/array.h"

/* n axes, normalised into axes[]; `name` of the argument for messages, or NULL. AXIS;
 * VALUE: one is listed twice. */
ASN_CHECK_RESULT asn_status asn_np_axes(int n, const int64_t *given, int ndim,
                                        const char *name, int *axes);

/* The order that brings each source axis to its destination: axis i of the result is axis
 * perm[i]. VALUE: not as many of both. */
ASN_CHECK_RESULT asn_status asn_np_moved_order(int ndim, int num_source,
                                               const int64_t *source, int num_destination,
                                               const int64_t *destination, int *perm);
/* `a` with its axes in that order, or with two exchanged; with `axis` moved before the
 * place `start` (AXIS: beyond the last). Views. */
ASN_CHECK_RESULT asn_status asn_np_moveaxis(asn_array *out, const asn_array *a,
                                            int num_source, const int64_t *source,
                                            int num_destination,
                                            const int64_t *destination);
ASN_CHECK_RESULT asn_status asn_np_swapaxes(asn_array *out, const asn_array *a,
                                            int64_t axis1, int64_t axis2);
ASN_CHECK_RESULT asn_status asn_np_rollaxis(asn_array *out, const asn_array *a,
                                            int64_t axis, int64_t start);

/* Reversed along the axes of `mask` (bit d: axis d). */
ASN_CHECK_RESULT asn_status asn_np_flip(asn_array *out, const asn_array *a,
                                        uint64_t mask);
/* By 90 degrees, `turns` times (0 to 3), from the first axis towards the second. VALUE:
 * one axis twice, or none of a's. */
ASN_CHECK_RESULT asn_status asn_np_rot90(asn_array *out, const asn_array *a, int turns,
                                         const int64_t axes[2]);

/* A copy, its elements shifts[d] places further along axis d, those that leave it coming
 * back at its beginning. */
ASN_CHECK_RESULT asn_status asn_np_roll(asn_array *out, const asn_array *a,
                                        const int64_t *shifts);

/* The same by half of each axis, those of n axes (normalised; one may come twice): what
 * brings frequency zero to the middle, or `back`. */
ASN_CHECK_RESULT asn_status asn_np_fftshift(asn_array *out, const asn_array *a, int n,
                                            const int *axes, bool back);

#endif
