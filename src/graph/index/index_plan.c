/* L2 graph: planning an index (see index_plan.h).
 *
 * NumPy's rules. Items consume axes from the left: an integer or slice one, a mask as
 * many as it has dimensions, newaxis none; an ellipsis stands for what is left. Without
 * arrays the result is a view. With arrays, integers count as arrays too; all of them
 * broadcast together, and the broadcast shape takes the place of the first array's axis
 * if the arrays stand side by side, else it goes to the front. A mask is its nonzero
 * indices; a 0-d mask adds one axis of extent 1 or 0.
 *
 * One walk over the items builds the axes of a view in their order; which of them arrays
 * address is noted, and those are brought to the front at the end, as CANN's operators
 * want them. */
#include "graph/index/index_plan.h"

#include <string.h>

#include "array/broadcast.h"
#include "array/views.h"
#include "graph/operators/families.h"
#include "graph/ufunc/operands.h"
#include "graph/streams.h"
#include "runtime/streams/sync.h"

/* One axis of the view being built; stride in bytes. */
typedef struct {
    int64_t shape, stride;
    int array; /* index of the array that addresses it, or -1 */
} axis;

/* Where the walk is. */
typedef struct {
    axis axes[2 * ASN_MAX_DIMS];
    int num_axes;
    int64_t offset; /* bytes, of the first element relative to the indexed array's */
    int next;       /* next axis of the indexed array */
    int first_array_axis, runs; /* -1: none yet; how many runs of neighbouring arrays */
    bool in_run;
} walk;

static asn_status out_of_bounds(int64_t index, int axis_number, int64_t extent) {
    return asn_error_set(ASN_ERR_INDEX,
                         "index %lld is out of bounds for axis %d with size %lld",
                         (long long)index, axis_number, (long long)extent);
}

/* How many axes of the indexed array an item uses up. */
static int consumes(const asn_index_item *item) {
    switch (item->kind) {
    case ASN_INDEX_INT:
    case ASN_INDEX_SLICE:
    case ASN_INDEX_ARRAY: return 1;
    case ASN_INDEX_MASK: return item->array->layout.ndim;
    default: return 0;
    }
}

static bool is_advanced(const asn_index_item *item) {
    return item->kind == ASN_INDEX_ARRAY || item->kind == ASN_INDEX_MASK;
}

/* Every item is basic: the result is a view. An integer index next to an array counts as
 * an array, as in NumPy. */
static bool are_basic(int n, const asn_index_item *items) {
    for (int i = 0; i < n; i++)
        if (is_advanced(&items[i])) return false;
    return true;
}

/* How many elements a slice takes of an axis, and the first one. Clips as
 * PySlice_AdjustIndices does (CPython's); step is not 0. */
static int64_t slice_length(const asn_index_item *item, int64_t extent, int64_t *start) {
    int64_t first = item->start, stop = item->stop, step = item->step;
    if (first < 0) {
        first += extent;
        if (first < 0) first = step < 0 ? -1 : 0;
    } else if (first >= extent) {
        first = step < 0 ? extent - 1 : extent;
    }
    if (stop < 0) {
        stop += extent;
        if (stop < 0) stop = step < 0 ? -1 : 0;
    } else if (stop >= extent) {
        stop = step < 0 ? extent - 1 : extent;
    }
    *start = first;
    if (step < 0) return stop < first ? (first - stop - 1) / -step + 1 : 0;
    return first < stop ? (stop - first - 1) / step + 1 : 0;
}

/* One more axis of the view. `array`: the index of the array that addresses it, or -1. */
static void push(walk *w, int64_t shape, int64_t stride, int array) {
    if (array >= 0) {
        if (!w->in_run) w->runs++;
        if (w->first_array_axis < 0) w->first_array_axis = w->num_axes;
    }
    w->in_run = array >= 0;
    w->axes[w->num_axes++] = (axis){shape, stride, array};
}

/* An integer without arrays beside it: the axis goes, the offset moves. */
static asn_status take_int(walk *w, const asn_layout *l, int64_t index) {
    int64_t extent = l->shape[w->next];
    if (index < -extent || index >= extent) return out_of_bounds(index, w->next, extent);
    w->offset += (index < 0 ? index + extent : index) * l->strides[w->next];
    w->next++;
    return ASN_OK;
}

/* n > 0: the start of an empty slice may lie outside. */
static void take_slice(walk *w, const asn_layout *l, const asn_index_item *item) {
    int64_t start, n = slice_length(item, l->shape[w->next], &start);
    int64_t stride = l->strides[w->next];
    if (n > 0) w->offset += start * stride;
    push(w, n, stride * item->step, -1);
    w->next++;
}

/* An index array on the next axis, as int64; other dtypes are cast. Its values are
 * checked by the device. */
static asn_status add_array(asn_index_plan *p, walk *w, const asn_layout *l,
                            const asn_array *index) {
    asn_array *kept = &p->arrays[p->num_arrays];
    if (index->layout.dtype == ASN_I64)
        ASN_TRY(asn_array_share(kept, index));
    else
        ASN_TRY(asn_copy(kept, index, ASN_I64, 'K'));
    p->original_axis[p->num_arrays] = w->next;
    push(w, l->shape[w->next], l->strides[w->next], p->num_arrays++);
    w->next++;
    return ASN_OK;
}

/* An integer beside arrays is one of no dimensions, checked at once. */
static asn_status add_int_as_array(asn_index_plan *p, walk *w, const asn_layout *l,
                                   int64_t index) {
    int64_t extent = l->shape[w->next];
    if (index < -extent || index >= extent) return out_of_bounds(index, w->next, extent);
    asn_array *kept = &p->arrays[p->num_arrays];
    ASN_TRY(asn_array_from_host(kept, ASN_I64, 0, NULL, NULL, &index));
    p->original_axis[p->num_arrays] = w->next;
    push(w, extent, l->strides[w->next], p->num_arrays++);
    w->next++;
    return ASN_OK;
}

/* A 0-d mask: a new axis of extent 1, indexed by [0] or by nothing. Waits for its value.
 */
static asn_status add_scalar_mask(asn_index_plan *p, walk *w, const asn_array *mask) {
    asn_scalar truth;
    int64_t zero = 0;
    ASN_TRY(asn_array_get_item(mask, 0, &truth));
    int64_t count = truth.bytes[0] != 0, stride = 8;
    ASN_TRY(asn_array_from_host(&p->arrays[p->num_arrays], ASN_I64, 1, &count, &stride,
                                &zero));
    p->original_axis[p->num_arrays] = w->next;
    push(w, 1, 0, p->num_arrays++);
    return ASN_OK;
}

/* A mask is replaced by its nonzero positions, which waits for them; each of its axes
 * must be as long as the array's. */
static asn_status add_mask(asn_index_plan *p, walk *w, const asn_layout *l,
                           const asn_array *mask) {
    int dims = mask->layout.ndim;
    for (int d = 0; d < dims; d++)
        /* NumPy lets an empty extent of a mask stand for any */
        if (mask->layout.shape[d] && mask->layout.shape[d] != l->shape[w->next + d])
            return asn_error_set(
                ASN_ERR_INDEX,
                "boolean index did not match indexed array along axis %d; "
                "size of axis is %lld but size of corresponding boolean axis "
                "is %lld",
                w->next + d, (long long)l->shape[w->next + d],
                (long long)mask->layout.shape[d]);
    asn_array where[ASN_MAX_DIMS];
    ASN_TRY(asn_nonzero(where, mask));
    for (int d = 0; d < dims; d++) {
        asn_array_move(&p->arrays[p->num_arrays], &where[d]);
        p->original_axis[p->num_arrays] = w->next;
        push(w, l->shape[w->next], l->strides[w->next], p->num_arrays++);
        w->next++;
    }
    return ASN_OK;
}

/* Index arrays that an item becomes. */
static int arrays_of(const asn_index_item *item, bool advanced) {
    switch (item->kind) {
    case ASN_INDEX_INT: return advanced;
    case ASN_INDEX_SLICE:
    case ASN_INDEX_NEWAXIS:
    case ASN_INDEX_ELLIPSIS: return 0;
    case ASN_INDEX_ARRAY: return 1;
    default: return item->array->layout.ndim ? item->array->layout.ndim : 1;
    }
}

/* One item; left_out: how many axes an ellipsis stands for. Masks without dimensions use
 * no axis up, so that the axes do not bound how many arrays there are. */
static asn_status take_item(asn_index_plan *p, walk *w, const asn_layout *l,
                            const asn_index_item *item, bool advanced, int left_out) {
    static const asn_index_item all = {
        .kind = ASN_INDEX_SLICE, .start = 0, .stop = INT64_MAX, .step = 1};
    if (p->num_arrays + arrays_of(item, advanced) > ASN_MAX_DIMS)
        return asn_error_set(ASN_ERR_INDEX, "too many indices: %d arrays are allowed",
                             ASN_MAX_DIMS);
    switch (item->kind) {
    case ASN_INDEX_INT:
        return advanced ? add_int_as_array(p, w, l, item->start)
                        : take_int(w, l, item->start);
    case ASN_INDEX_SLICE: take_slice(w, l, item); return ASN_OK;
    case ASN_INDEX_NEWAXIS: push(w, 1, 0, -1); return ASN_OK;
    case ASN_INDEX_ELLIPSIS:
        for (int i = 0; i < left_out; i++)
            take_slice(w, l, &all);
        w->in_run = false; /* even an empty ellipsis keeps arrays apart */
        return ASN_OK;
    case ASN_INDEX_ARRAY: return add_array(p, w, l, item->array);
    default:
        return item->array->layout.ndim ? add_mask(p, w, l, item->array)
                                        : add_scalar_mask(p, w, item->array);
    }
}

/* The arrays in the shape that they broadcast to, which becomes the plan's. */
static asn_status broadcast_arrays(asn_index_plan *p) {
    const asn_layout *layouts[ASN_MAX_DIMS];
    char text[512] = "";
    size_t at = 0;
    for (int i = 0; i < p->num_arrays; i++)
        layouts[i] = &p->arrays[i].layout;
    if (asn_broadcast_shape(p->num_arrays, layouts, &p->ndim, p->shape)) {
        for (int i = 0; i < p->num_arrays && at + 40 < sizeof text; i++) {
            asn_shape_format(text + at, sizeof text - at, layouts[i]->ndim,
                             layouts[i]->shape);
            at = strlen(text);
            text[at++] = ' ';
            text[at] = '\0';
        }
        return asn_error_set(
            ASN_ERR_INDEX,
            "shape mismatch: indexing arrays could not be broadcast together "
            "with shapes %s",
            text);
    }
    /* NumPy refuses a result whose size overflows, even if an extent is 0. */
    int64_t size = 1;
    for (int d = 0; d < p->ndim; d++)
        if (__builtin_mul_overflow(size, p->shape[d] ? p->shape[d] : 1, &size) ||
            size > INT64_MAX / 16) /* bytes of the widest elements */
            return asn_layout_too_big();
    for (int i = 0; i < p->num_arrays; i++) {
        asn_layout view;
        asn_array moved;
        ASN_TRY(asn_view_broadcast(&view, layouts[i], p->ndim, p->shape));
        asn_array_view(&moved, &p->arrays[i], &view);
        asn_array_fini(&p->arrays[i]);
        asn_array_move(&p->arrays[i], &moved);
    }
    return ASN_OK;
}

/* The view with array axes in front, in the order of their arrays, then the others. */
static asn_status make_base(asn_index_plan *p, const walk *w, const asn_array *a) {
    asn_layout l;
    ASN_TRY(asn_layout_alloc(&l, w->num_axes));
    int at = 0;
    for (int front = 1; front >= 0; front--)
        for (int i = 0; i < w->num_axes; i++)
            if ((w->axes[i].array >= 0) == front) {
                l.shape[at] = w->axes[i].shape;
                l.strides[at++] = w->axes[i].stride;
            }
    l.offset = a->layout.offset + w->offset;
    l.dtype = a->layout.dtype;
    l.flags = a->layout.flags & ASN_INHERITED;
    asn_layout_update(&l);
    asn_array_view(&p->base, a, &l);
    /* Arrays side by side: their axes belong where the first stood; else in front. */
    p->insert_at = w->runs == 1 ? w->first_array_axis : 0;
    return ASN_OK;
}

/* *consumed: axes that the items name. IndexError: more than there are, or two ellipses.
 */
static asn_status count_items(const asn_array *a, int n, const asn_index_item *items,
                              int *consumed, bool *ellipsis) {
    *consumed = 0;
    *ellipsis = false;
    for (int i = 0; i < n; i++) {
        *consumed += consumes(&items[i]);
        if (items[i].kind != ASN_INDEX_ELLIPSIS) continue;
        if (*ellipsis)
            return asn_error_set(ASN_ERR_INDEX,
                                 "an index can only have a single ellipsis ('...')");
        *ellipsis = true;
    }
    if (*consumed > a->layout.ndim)
        return asn_error_set(
            ASN_ERR_INDEX,
            "too many indices for array: array is %d-dimensional, but %d were "
            "indexed",
            a->layout.ndim, *consumed);
    return ASN_OK;
}

asn_status asn_index_plan_make(asn_index_plan *p, const asn_array *a, int n,
                               const asn_index_item *items) {
    static const asn_index_item rest = {.kind = ASN_INDEX_ELLIPSIS};
    int consumed;
    bool ellipsis, advanced = !are_basic(n, items);
    p->num_arrays = 0;
    p->ndim = 0;
    p->base.buffer = NULL;
    p->base.layout.shape = p->base.layout.dims;
    ASN_TRY(count_items(a, n, items, &consumed, &ellipsis));
    walk w; /* not zeroed: its axes are 3 KB */
    w.num_axes = w.next = w.runs = 0;
    w.offset = 0;
    w.first_array_axis = -1;
    w.in_run = false;
    int left_out = a->layout.ndim - consumed;
    asn_status status = ASN_OK;
    for (int i = 0; i < n && !status; i++) {
        /* In terms of the result: NumPy's limit, and its message. */
        if (w.num_axes > ASN_MAX_DIMS)
            status = asn_error_set(ASN_ERR_INDEX,
                                   "number of dimensions must be within [0, %d], "
                                   "indexing result would have %d",
                                   ASN_MAX_DIMS, w.num_axes);
        if (!status) status = take_item(p, &w, &a->layout, &items[i], advanced, left_out);
    }
    /* What the items leave over is taken whole. */
    if (!status && !ellipsis)
        status = take_item(p, &w, &a->layout, &rest, advanced, left_out);
    if (!status && p->num_arrays) status = broadcast_arrays(p);
    if (!status) status = make_base(p, &w, a);
    if (status) asn_index_plan_fini(p);
    return status;
}

void asn_index_plan_fini(asn_index_plan *p) {
    for (int i = 0; i < p->num_arrays; i++)
        asn_array_fini(&p->arrays[i]);
    p->num_arrays = 0;
    asn_array_fini(&p->base);
}

/* (Contract in index_plan.h.) The indices are read on the host, in NumPy's order: array
 * by array. */
asn_status asn_index_plan_check(const asn_index_plan *p) {
    for (int i = 0; i < p->num_arrays; i++) {
        int64_t n = p->arrays[i].layout.size, extent = p->base.layout.shape[i];
        int64_t *values = asn_malloc((size_t)n * sizeof *values);
        if (!values) return ASN_ERR_MEMORY;
        asn_status status = asn_array_to_host(&p->arrays[i], values);
        for (int64_t k = 0; k < n && !status; k++)
            if (values[k] < -extent || values[k] >= extent)
                status = out_of_bounds(values[k], p->original_axis[i], extent);
        asn_free(values);
        ASN_TRY(status);
    }
    return ASN_OK;
}

/* ---- what reading and writing share */

asn_status asn_index_plan_tensors(const asn_index_plan *p, aclTensorList **out) {
    aclTensor *tensors[ASN_MAX_DIMS];
    for (int i = 0; i < p->num_arrays; i++) {
        asn_status status = asn_operator_tensor(&p->arrays[i], ASN_READ, &tensors[i]);
        if (status) {
            asn_operator_drop(i, tensors);
            return status;
        }
    }
    *out = asn_operator_list(p->num_arrays, tensors);
    if (*out) return ASN_OK;
    asn_operator_drop(p->num_arrays, tensors);
    return ASN_ERR_MEMORY;
}

int asn_index_plan_shape(const asn_index_plan *p, int64_t *shape) {
    int n = p->ndim;
    memcpy(shape, p->shape, (size_t)n * sizeof *shape);
    for (int d = p->num_arrays; d < p->base.layout.ndim; d++)
        shape[n++] = p->base.layout.shape[d];
    return n;
}

/* (Contract in index_plan.h.) The device reports bad indices when it has run, so it is
 * waited for, except where a capture does it at its end. */
asn_status asn_index_plan_failure(const asn_index_plan *p, asn_status status) {
    char message[512];
    static const char why[] = "indices are checked";
    asn_mark mark = ASN_NO_MARK;
    if (ASN_CAPTURING)
        asn_capture_checked(); /* replays check, too */
    else if (!status && asn_stream_busy)
        ASN_TRY(asn_sync_begin(why, &mark));
    /* A status from before the launch is known already; the wait finds the device's. */
    if (!status) status = asn_streams_wait_active();
    asn_sync_end(why, mark);
    if (!status || status == ASN_ERR_MEMORY) return status;
    strncpy(message, asn_error_message(), sizeof message - 1);
    message[sizeof message - 1] = '\0';
    /* The message is put aside, as the check may set its own. */
    ASN_TRY(asn_index_plan_check(p));
    return asn_error_set(status, "%s", message);
}

/* The arrays' axes (0 to p->ndim of the whole) go to insert_at, the rest around them. */
void asn_index_plan_placement(const asn_index_plan *p, int ndim, int *perm) {
    int at = 0;
    for (int d = 0; d < p->insert_at; d++)
        perm[at++] = p->ndim + d;
    for (int d = 0; d < p->ndim; d++)
        perm[at++] = d;
    for (int d = p->insert_at; at < ndim; d++)
        perm[at++] = p->ndim + d;
}

asn_status asn_index_count_true(const asn_array *mask, int64_t *n) {
    asn_array total;
    asn_scalar count = {0};
    /* `now`: the number is looked at next, so the sum need not be recorded. */
    asn_reduce_options all = {.axes = ~(uint64_t)0, .dtype = ASN_DTYPE_NONE, .now = true};
    ASN_TRY(asn_ufunc_reduce(ASN_OP_ADD, mask, NULL, &total, &all));
    asn_status status = asn_array_get_item(&total, 0, &count);
    asn_array_fini(&total);
    memcpy(n, count.bytes, sizeof *n);
    return status;
}
