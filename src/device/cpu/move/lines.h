/* CPU device: walking several views together, line by line.
 *
 * A line is the innermost dimension: the last one of the shape, or `axis` when one is
 * asked for. Lines follow each other in row-major order of the other dimensions;
 * dimensions that are one stretch for every view are merged (never into an axis that was
 * asked for). Views are given by address and strides and share one shape; a view without
 * the axis has stride 0 there.
 */
#ifndef ASN_DEVICE_CPU_MOVE_LINES_H
#define ASN_DEVICE_CPU_MOVE_LINES_H

#include "device/cpu/nd.h"

enum { ASN_LINES_VIEWS = 6, ASN_NO_AXIS = -1 };

/* Of a walk: shared by all threads, and only read. Strides are bytes, by dimension and
 * view. */
typedef struct {
    int num_views, num_dims; /* num_dims >= 1; dimension 0 is the line */
    int64_t count;           /* of lines; 0 when an extent is 0 */
    int64_t length;          /* of a line */
    char *data[ASN_LINES_VIEWS];
    int64_t extent[ASN_ND_MAX_DIMS + 1];
    int64_t stride[ASN_ND_MAX_DIMS + 1][ASN_LINES_VIEWS];
} asnd_lines;

/* One thread's place in it. */
typedef struct {
    char *at[ASN_LINES_VIEWS]; /* the line's first element in each view */
    int64_t index[ASN_ND_MAX_DIMS + 1];
} asnd_line;

/* shape, axis: of all views; axis ASN_NO_AXIS: the line is the last dimension of extent
 * above 1, with those that merge into it. strides[v] has an entry for each dimension, and
 * is borrowed for the call only. */
void asn_lines_init(asnd_lines *l, int ndim, const int64_t *shape, int axis,
                    int num_views, char *const data[], const int64_t *const strides[]);
void asn_lines_seek(const asnd_lines *l, asnd_line *line, int64_t number);
void asn_lines_next(const asnd_lines *l, asnd_line *line);

/* How many consecutive lines make a chunk of about `elements`. */
int64_t asn_lines_per_chunk(const asnd_lines *l, int64_t elements);

#endif
