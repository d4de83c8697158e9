/* L2 graph: formats of tensors (see formats.h).
 *
 * A format is a row of a table: its axes in memory, each a letter of the family's
 * canonical order, whole, or the outer or the inner part of one that is cut. So that a
 * conversion from or to any of them is: fill up to whole blocks, look at the axes in
 * parts, exchange them, copy once. All of it is views and copies of the graph, which run
 * as CANN's operators do.
 */
#include "graph/operators/formats.h"

#include <string.h>

#include "acl/acl_base.h"
#include "array/views.h"
#include "graph/ufunc/ufunc.h"

enum { BLOCK_ROWS = 16, BLOCK_BYTES = 32, MOST_PARTS = 6, PREFERS_PLANES = 64 };

/* Of an axis. */
typedef enum { WHOLE, OUTER, INNER } part;

typedef struct {
    int format;
    const char *name;
    const char *canonical;  /* one letter an axis; "MN" has others before */
    const char *axes;       /* in memory, slowest first */
    part parts[MOST_PARTS]; /* of each of them */
} row;

static const row rows[] = {
    {ACL_FORMAT_NCHW, "NCHW", "NCHW", "NCHW", {WHOLE}},
    {ACL_FORMAT_NHWC, "NHWC", "NCHW", "NHWC", {WHOLE}},
    {ACL_FORMAT_HWCN, "HWCN", "NCHW", "HWCN", {WHOLE}},
    {ACL_FORMAT_NC1HWC0, "NC1HWC0", "NCHW", "NCHWC", {WHOLE, OUTER, WHOLE, WHOLE, INNER}},
    {ACL_FORMAT_NCDHW, "NCDHW", "NCDHW", "NCDHW", {WHOLE}},
    {ACL_FORMAT_NDHWC, "NDHWC", "NCDHW", "NDHWC", {WHOLE}},
    {ACL_FORMAT_NDC1HWC0,
     "NDC1HWC0",
     "NCDHW",
     "NDCHWC",
     {WHOLE, WHOLE, OUTER, WHOLE, WHOLE, INNER}},
    {ACL_FORMAT_ND, "ND", "MN", "MN", {WHOLE}},
    {ACL_FORMAT_FRACTAL_NZ, "FRACTAL_NZ", "MN", "NMMN", {OUTER, OUTER, INNER, INNER}},
    {ACL_FORMAT_FRACTAL_NZ, "NZ", "MN", "NMMN", {OUTER, OUTER, INNER, INNER}},
};
enum { NUM_ROWS = sizeof rows / sizeof *rows };

asn_status asn_format_find(const char *name, int *format) {
    for (int i = 0; i < NUM_ROWS; i++)
        if (!strcmp(rows[i].name, name)) {
            *format = rows[i].format;
            return ASN_OK;
        }
    return asn_error_set(
        ASN_ERR_VALUE,
        "format: got '%.40s'; there are NCHW, NHWC, HWCN, NC1HWC0, NCDHW, "
        "NDHWC, NDC1HWC0, ND and FRACTAL_NZ",
        name);
}

static const row *row_of(int format) {
    for (int i = 0; i < NUM_ROWS; i++)
        if (rows[i].format == format) return &rows[i];
    return NULL;
}

static asn_status no_row(int format) {
    return asn_error_set(ASN_ERR_VALUE, "format: %d is none of CANN's that convert",
                         format);
}

const char *asn_format_name(int format) {
    const row *r = row_of(format);
    return r ? r->name : NULL;
}

/* ---- shapes */

/* The inner part's extent of an axis that is cut. */
static int64_t inner_extent(char axis, asn_dtype dtype) {
    return axis == 'M' ? BLOCK_ROWS : BLOCK_BYTES / asn_itemsize(dtype);
}

/* Whether the format cuts the axis. */
static bool is_cut(const row *r, char axis) {
    for (int i = 0; r->axes[i]; i++)
        if (r->axes[i] == axis && r->parts[i] != WHOLE) return true;
    return false;
}

/* The axes before the family's own: stacks of matrices. VALUE: there are too few, or
 * images have more. */
static asn_status leading_axes(const row *r, int ndim, int own, int *leading) {
    *leading = ndim - own;
    if (*leading == 0 || (*leading > 0 && !strcmp(r->canonical, "MN"))) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "format: %d axes; %s has %d%s", ndim, r->name,
                         own, strcmp(r->canonical, "MN") ? "" : " or more");
}

/* Each axis in its parts: those before the family's own are whole. */
static int64_t part_extent(const row *r, int i, asn_dtype dtype, const int64_t *own) {
    const char axis = r->axes[i];
    const int64_t extent = own[strchr(r->canonical, axis) - r->canonical];
    if (r->parts[i] == WHOLE) return extent;
    const int64_t inner = inner_extent(axis, dtype);
    return r->parts[i] == INNER ? inner : extent / inner + (extent % inner > 0);
}

/* That an array of it can be: no extent is negative, and there are addresses enough. */
static asn_status check_extents(asn_dtype dtype, int ndim, const int64_t *shape) {
    asn_layout l;
    for (int d = 0; d < ndim; d++)
        if (shape[d] < 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "format: extent %d is %lld; it may be 0 or more", d,
                                 (long long)shape[d]);
    ASN_TRY(asn_layout_init(&l, dtype, ndim, shape, 'C'));
    asn_layout_fini(&l);
    return ASN_OK;
}

asn_status asn_format_shape(int format, asn_dtype dtype, int ndim, const int64_t *shape,
                            int *out_ndim, int64_t *out_shape) {
    const row *r = row_of(format);
    int leading, num = 0;
    if (!r) return no_row(format);
    ASN_TRY(leading_axes(r, ndim, (int)strlen(r->canonical), &leading));
    if (leading + MOST_PARTS > ASN_MAX_DIMS)
        return asn_error_set(ASN_ERR_VALUE, "format: %d axes are too many for %s", ndim,
                             r->name);
    ASN_TRY(check_extents(dtype, ndim, shape));
    for (; num < leading; num++)
        out_shape[num] = shape[num];
    for (int i = 0; r->axes[i]; i++)
        out_shape[num++] = part_extent(r, i, dtype, shape + leading);
    *out_ndim = num;
    return check_extents(dtype, num, out_shape);
}

/* ---- conversions */

/* The axes of the canonical order in parts, outer before inner: where each lies in memory
 * as the format has it. Leading axes stay. Returns how many there are. */
static int places(const row *r, int leading, int *place) {
    int num = 0;
    for (; num < leading; num++)
        place[num] = num;
    for (const char *axis = r->canonical; *axis; axis++)
        for (part p = WHOLE; p <= INNER; p++)
            for (int i = 0; r->axes[i]; i++)
                if (r->axes[i] == *axis && r->parts[i] == p) place[num++] = leading + i;
    return num;
}

static asn_status exchanged_view(asn_array *out, const asn_array *a, const int *perm) {
    asn_layout l;
    ASN_TRY(asn_view_transpose(&l, &a->layout, perm));
    asn_array_view(out, a, &l);
    return ASN_OK;
}

/* A copy with its axes exchanged, row-major. */
static asn_status exchanged(asn_array *out, const asn_array *a, const int *perm) {
    asn_array view;
    ASN_TRY(exchanged_view(&view, a, perm));
    asn_status status = asn_copy(out, &view, asn_layout_dtype(&a->layout), 'C');
    asn_array_fini(&view);
    return status;
}

/* A view in another shape: of a row-major array, or axes in parts. Takes `a`. */
static asn_status reshaped(asn_array *out, asn_array *a, int ndim, const int64_t *shape) {
    asn_layout l;
    bool possible;
    asn_status status = asn_view_reshape(&l, &a->layout, ndim, shape, 'C', &possible);
    if (!status) asn_array_view(out, a, &l);
    asn_array_fini(a);
    return status;
}

/* The first elements of each axis, as many as `shape` says. */
static asn_status corner(asn_array *out, const asn_array *a, const int64_t *shape) {
    asn_layout l;
    ASN_TRY(asn_layout_copy(&l, &a->layout));
    memcpy(l.shape, shape, (size_t)l.ndim * sizeof *shape);
    asn_layout_update(&l);
    asn_array_view(out, a, &l);
    return ASN_OK;
}

/* Whether the format cuts no axis. */
static bool is_whole(const row *r) {
    return r->parts[1] == WHOLE && r->parts[2] == WHOLE;
}

/* What lies as `r`, in the canonical order: a view, or where axes were cut a row-major
 * copy, blocks as full as they are. */
static asn_status opened(asn_array *out, const asn_array *a, const row *r, int leading) {
    int perm[ASN_MAX_DIMS], num = 0;
    int64_t shape[ASN_MAX_DIMS];
    asn_array apart;
    (void)places(r, leading, perm);
    if (is_whole(r)) return exchanged_view(out, a, perm);
    ASN_TRY(exchanged(&apart, a, perm));
    const int64_t *extents = apart.layout.shape;
    for (; num < leading; num++)
        shape[num] = extents[num];
    extents += leading;
    for (const char *axis = r->canonical; *axis; axis++) {
        shape[num] = *extents++;
        if (is_cut(r, *axis)) shape[num] *= *extents++;
        num++;
    }
    return reshaped(out, &apart, num, shape);
}

/* In the canonical order, filled up with zeros to whole blocks of `r`: the array itself
 * where it is that. */
static asn_status filled(asn_array *out, const asn_array *a, const row *r, int leading) {
    const asn_dtype dtype = asn_layout_dtype(&a->layout);
    const asn_operand value = {.array = a}, zero = {.scalar = asn_scalar_int(0)};
    int64_t shape[ASN_MAX_DIMS];
    bool full = true;
    memcpy(shape, a->layout.shape, (size_t)a->layout.ndim * sizeof *shape);
    for (int d = leading; d < a->layout.ndim; d++) {
        const char axis = r->canonical[d - leading];
        if (!is_cut(r, axis)) continue;
        const int64_t inner = inner_extent(axis, dtype);
        shape[d] = (shape[d] + inner - 1) / inner * inner;
        full = full && shape[d] == a->layout.shape[d];
    }
    if (full) return asn_array_share(out, a);
    asn_array part;
    ASN_TRY(asn_full(out, dtype, a->layout.ndim, shape, 'C', &zero));
    asn_status status = corner(&part, out, a->layout.shape);
    if (!status) {
        status = asn_assign(&part, &value, ASN_CASTING_NO, NULL);
        asn_array_fini(&part);
    }
    if (status) asn_array_fini(out);
    return status;
}

/* The canonical array as `r`. */
static asn_status closed(asn_array *out, const asn_array *a, const row *r, int leading) {
    int place[ASN_MAX_DIMS], perm[ASN_MAX_DIMS], ndim;
    int64_t memory[ASN_MAX_DIMS], shape[ASN_MAX_DIMS];
    asn_array whole, apart;
    const asn_dtype dtype = asn_layout_dtype(&a->layout);
    ASN_TRY(asn_format_shape(r->format, dtype, a->layout.ndim, a->layout.shape, &ndim,
                             memory));
    ASN_TRY(filled(&whole, a, r, leading));
    (void)places(r, leading, place);
    for (int i = 0; i < ndim; i++) {
        perm[place[i]] = i;
        shape[i] = memory[place[i]];
    }
    ASN_TRY(reshaped(&apart, &whole, ndim, shape));
    asn_status status = exchanged(out, &apart, perm);
    asn_array_fini(&apart);
    return status;
}

/* That elements of the canonical shape lie as `r` in memory of a's shape. */
static asn_status check_shape(const row *r, const asn_array *a, int ndim,
                              const int64_t *shape) {
    int64_t memory[ASN_MAX_DIMS];
    char have[256], want[256];
    int num;
    ASN_TRY(asn_format_shape(r->format, asn_layout_dtype(&a->layout), ndim, shape, &num,
                             memory));
    if (num == a->layout.ndim &&
        !memcmp(memory, a->layout.shape, (size_t)num * sizeof *memory))
        return ASN_OK;
    return asn_error_set(
        ASN_ERR_VALUE, "format: as %s shape %s lies in %s; got %s", r->name,
        asn_shape_format(want, sizeof want, ndim, shape),
        asn_shape_format((char[256]){0}, 256, num, memory),
        asn_shape_format(have, sizeof have, a->layout.ndim, a->layout.shape));
}

/* That the inner parts are as long as the dtype's blocks. */
static asn_status check_blocks(const row *r, const asn_array *a, int leading) {
    const asn_dtype dtype = asn_layout_dtype(&a->layout);
    for (int i = 0; r->axes[i]; i++) {
        const int64_t have = a->layout.shape[leading + i];
        if (r->parts[i] != INNER || have == inner_extent(r->axes[i], dtype)) continue;
        return asn_error_set(ASN_ERR_VALUE,
                             "format: axis %d of %s has %lld elements of %s; it has %lld",
                             leading + i, r->name, (long long)have, asn_dtype_name(dtype),
                             (long long)inner_extent(r->axes[i], dtype));
    }
    return ASN_OK;
}

asn_status asn_format_convert(asn_array *out, const asn_array *a, int source, int target,
                              int ndim, const int64_t *shape) {
    const row *from = row_of(source), *to = row_of(target);
    int leading;
    asn_array open, part;
    if (!from || !to) return no_row(from ? target : source);
    if (strcmp(from->canonical, to->canonical) != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "format: %s does not convert to %s: its axes are "
                             "%s, not %s",
                             from->name, to->name, from->canonical, to->canonical);
    ASN_TRY(leading_axes(from, a->layout.ndim, (int)strlen(from->axes), &leading));
    ASN_TRY(check_blocks(from, a, leading));
    if (shape) ASN_TRY(check_shape(from, a, ndim, shape));
    ASN_TRY(opened(&open, a, from, leading));
    asn_status status = corner(&part, &open, shape ? shape : open.layout.shape);
    bool done = !is_whole(from) && !strcmp(to->axes, to->canonical) && !status &&
                part.layout.flags & ASN_C_CONTIGUOUS;
    if (done)
        asn_array_move(out, &part);
    else if (!status) {
        status = closed(out, &part, to, leading);
        asn_array_fini(&part);
    }
    asn_array_fini(&open);
    return status;
}

asn_status asn_format_choose(int64_t channels, int *format) {
    if (channels < 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "format: %lld channels; there is one at least",
                             (long long)channels);
    *format = channels >= PREFERS_PLANES ? ACL_FORMAT_NCHW : ACL_FORMAT_NHWC;
    return ASN_OK;
}
