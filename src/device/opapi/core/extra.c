/* CPU device, operators: the other functions of aclnn/aclnnx.h: scans, indexed updates,
 * sorts, Fourier transforms on plain descriptors.
 *
 * A call is packed into one structure; on an idle stream it runs on the caller, otherwise
 * a copy is enqueued and a failure comes with the next synchronisation.
 *
 * The structure (request) has room for every call's views; shapes, strides and other
 * numbers lie behind each other in an array of the caller's, since their count is known
 * only there. It holds pointers into that array, so a copy must move them (request_copy).
 * Nothing is allocated unless the call has to wait.
 */
#include <stddef.h>
#include <string.h>

#include "aclnn/aclnnx.h"
#include "base/alloc.h"
#include "device/cpu/fft/fft.h"
#include "device/cpu/fpflags.h"
#include "device/cpu/index/index.h"
#include "device/cpu/nn/interp.h"
#include "device/cpu/loops/scan.h"
#include "device/cpu/nn/slide.h"
#include "device/cpu/sort/sort.h"
#include "device/cpu/sparse/sparse.h"
#include "device/opbase/executor.h"

/* An operand as a call describes it. */
typedef struct {
    char *data;
    asn_dtype dtype;
    int ndim;
    int64_t *shape, *strides; /* into the request's numbers */
} view;

enum { MAX_VIEWS = 2 + 64, MAX_KTH = 64 };

typedef struct request {
    asn_status (*run)(const struct request *r);
    const char *name;
    asn_op op;
    int axis, flags, num_views, num_numbers;
    int64_t *numbers;
    int64_t points; /* of a transform */
    double scale;
    uint32_t *fp_flags;    /* NULL, or takes exceptions raised */
    view views[MAX_VIEWS]; /* num_views of them are set: all are 2.6 KB */
} request;

/* The views are left as they are: clearing 2.6 KB would cost more than a short scan. */
static void request_init(request *r, const char *name,
                         asn_status (*run)(const request *r), int64_t *numbers) {
    memset(r, 0, offsetof(request, views));
    r->name = name;
    r->run = run;
    r->numbers = numbers;
}

/* The view as kernels take it; valid as long as the request. */
static asnd_nd nd_of(const view *v) {
    return (asnd_nd){v->data, v->ndim, v->dtype, v->shape, v->strides};
}

/* Adds a view; the request has room for 2 * ndim more numbers. The first operand is the
 * one that must have an address: others may be immediates. */
static asn_status add_view(request *r, const char *name, const aclnnxOperand *o, int ndim,
                           const int64_t *shape) {
    if (o == NULL || (ndim > 0 && shape == NULL))
        return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s or its shape is NULL", r->name,
                             name);
    view *v = &r->views[r->num_views];
    v->dtype = asn_dtype_from_acl(o->dtype);
    if (v->dtype >= ASN_DTYPE_COUNT)
        return asn_error_set(ASN_ERR_TYPE,
                             "%s: %s has dtype %d, which no operator computes with",
                             r->name, name, o->dtype);
    v->ndim = ndim;
    v->shape = r->numbers + r->num_numbers;
    v->strides = v->shape + ndim;
    int64_t stride = asn_itemsize(v->dtype);
    bool empty = false;
    for (int d = ndim - 1; d >= 0; d--) {
        if (shape[d] < 0)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s has extent %lld", r->name, name,
                                 (long long)shape[d]);
        v->shape[d] = shape[d];
        v->strides[d] = o->strides ? o->strides[d] : stride;
        stride *= shape[d];
        empty |= shape[d] == 0;
    }
    v->data = o->data ? o->data : (char *)o->immediate;
    if (o->data == NULL && !empty && r->num_views == 0)
        return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s has no data", r->name, name);
    r->num_views++;
    r->num_numbers += 2 * ndim;
    return ASN_OK;
}

/* For operations that leave their floating-point exceptions in the processor's flags. */
static asn_status watched(const request *r, asn_status (*run)(const request *)) {
    if (r->fp_flags == NULL) return run(r);
    asn_fp_clear();
    asn_status status = run(r);
    asn_fp_collect(r->fp_flags);
    return status;
}

/* `stream`: NULL on a stream's worker. */
static asn_status request_run(const request *r, asnrtStreamState *stream) {
    if (!asnrtHooked()) return r->run(r);
    asnrtScope scope;
    asnrtScopeBegin(&scope, stream);
    asn_status status = r->run(r);
    asnrtScopeEnd(&scope, r->name);
    return status;
}

/* A queued run, on the stream's worker: its failure is the stream's. */
static int32_t task_run(void *arg) {
    const request *r = arg;
    asn_status status = request_run(r, NULL);
    if (status == ASN_OK) return 0;
    return asnrtFail(asn_status_acl(status), "%s: %s", r->name, asn_error_message());
}

/* One block: the request, its numbers, the immediates. */
static request *request_copy(const request *r, const aclnnxOperand *values) {
    size_t numbers = (size_t)r->num_numbers * sizeof *r->numbers;
    request *copy = asn_malloc(sizeof *copy + 16 + numbers);
    if (copy == NULL) return NULL;
    memcpy(copy, r, offsetof(request, views) + (size_t)r->num_views * sizeof *r->views);
    char *immediate = (char *)(copy + 1);
    copy->numbers = (int64_t *)(immediate + 16);
    memcpy(copy->numbers, r->numbers, numbers);
    for (int i = 0; i < r->num_views; i++) {
        view *v = &copy->views[i];
        v->shape = copy->numbers + (v->shape - r->numbers);
        v->strides = copy->numbers + (v->strides - r->numbers);
        if (values == NULL || v->data != (char *)values->immediate) continue;
        memcpy(immediate, values->immediate, 16);
        v->data = immediate;
    }
    return copy;
}

/* Nanoseconds, roughly: scans take 1 ns an element, sorts and transforms 5 to 20. */
static double work_of(const request *r) {
    double most = 0;
    for (int i = 0; i < r->num_views; i++) {
        double elements = 4;
        for (int d = 0; d < r->views[i].ndim; d++)
            elements *= (double)r->views[i].shape[d];
        if (elements > most) most = elements;
    }
    return most;
}

/* `values`: the operand that may be an immediate, which a copy must take along. */
static int32_t request_submit(const request *r, const aclnnxOperand *values,
                              void *stream) {
    asnrtStreamState *s = asnrtStreamGet(stream, NULL);
    if (s == NULL) return ACLNN_ERR_RUNTIME_ERROR;
    if (asnrtStreamInlines(s, work_of(r)) && asnrtStreamEnter(s)) {
        asn_status status = request_run(r, s);
        asnrtStreamLeave(s, 0);
        return status == ASN_OK ? ACLNN_SUCCESS : asnop_fail(status);
    }
    request *copy = request_copy(r, values);
    if (copy == NULL) return asnop_fail(ASN_ERR_MEMORY);
    return asnrtStreamPush(s, task_run, asn_free, copy) ? ACLNN_ERR_RUNTIME_ERROR
                                                        : ACLNN_SUCCESS;
}

/* There is at least one dimension, and the axis is one of them (not negative). */
static asn_status dims_check(const char *name, int32_t ndim, int32_t axis) {
    if (ndim >= 1 && ndim <= ASN_ND_MAX_DIMS && axis >= 0 && axis < ndim) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: axis %d of %d dimensions", name, axis, ndim);
}

/* in -> out of one shape and dtype, along an axis. */
static int32_t along_axis(request *r, const aclnnxOperand *in, const aclnnxOperand *out,
                          int32_t ndim, const int64_t *shape, void *stream) {
    asn_status status = dims_check(r->name, ndim, r->axis);
    if (status == ASN_OK) status = add_view(r, "in", in, ndim, shape);
    if (status == ASN_OK) status = add_view(r, "out", out, ndim, shape);
    if (status == ASN_OK && in->dtype != out->dtype)
        status = asn_error_set(ASN_ERR_TYPE, "%s: in has dtype %s, out %s", r->name,
                               asn_dtype_name(r->views[0].dtype),
                               asn_dtype_name(r->views[1].dtype));
    return status == ASN_OK ? request_submit(r, NULL, stream) : asnop_fail(status);
}

/* The kernel collects floating-point exceptions itself. */
static asn_status run_scan(const request *r) {
    asnd_nd in = nd_of(&r->views[0]), out = nd_of(&r->views[1]);
    return asn_cpu_scan(r->op, r->axis, &in, &out, r->fp_flags);
}

/* An opcode of the table with two inputs. */
static bool is_binary_row(int32_t op) {
    return op >= 0 && op < ASN_OP_CAST && asn_op_table[op].num_in == 2;
}

ASN_API int32_t aclnnxScan(int32_t op, const aclnnxOperand *in, const aclnnxOperand *out,
                           int32_t numDims, const int64_t *shape, int32_t axis,
                           uint32_t *fpFlags, void *stream) {
    if (!is_binary_row(op))
        return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                         "aclnnxScan: opcode %d is no binary operation", op);
    int64_t numbers[4 * ASN_ND_MAX_DIMS];
    request r;
    request_init(&r, "aclnnxScan", run_scan, numbers);
    r.op = (asn_op)op;
    r.axis = axis;
    r.fp_flags = fpFlags;
    return along_axis(&r, in, out, numDims, shape, stream);
}

/* flags: what is wanted; what follows the views' numbers: the positions. */
static asn_status run_sort(const request *r) {
    asnd_nd in = nd_of(&r->views[0]), out = nd_of(&r->views[1]);
    bool by_index = r->flags == ACLNNX_SORT_INDICES;
    int flags = r->flags == ACLNNX_SORT_STABLE ? ASN_SORT_STABLE : 0;
    const asnd_nd *values = by_index ? NULL : &out, *indices = by_index ? &out : NULL;
    const int64_t *kth = r->numbers + 4 * in.ndim;
    int num_kth = r->num_numbers - 4 * in.ndim;
    if (r->flags == ACLNNX_SORT_PICKED)
        return asn_cpu_pick(&in, r->axis, kth, num_kth, &out);
    return num_kth ? asn_cpu_partition(&in, r->axis, kth, num_kth, values, indices)
                   : asn_cpu_sort(&in, r->axis, flags, values, indices);
}

ASN_API int32_t aclnnxSort(const aclnnxOperand *in, const aclnnxOperand *out,
                           int32_t numDims, const int64_t *shape, int32_t axis,
                           int32_t result, int32_t numKth, const int64_t *kth,
                           void *stream) {
    int64_t numbers[4 * ASN_ND_MAX_DIMS + MAX_KTH], kept[ASN_ND_MAX_DIMS];
    request r;
    request_init(&r, "aclnnxSort", run_sort, numbers);
    r.axis = axis;
    r.flags = result;
    asn_status status = dims_check(r.name, numDims, axis);
    if (status == ASN_OK && (numKth < 0 || numKth > MAX_KTH || (numKth && !kth)))
        status = asn_error_set(ASN_ERR_VALUE, "aclnnxSort: %d positions, at most %d",
                               numKth, MAX_KTH);
    if (status == ASN_OK && (result < 0 || result > ACLNNX_SORT_STABLE))
        status = asn_error_set(ASN_ERR_VALUE, "aclnnxSort: result %d, at most %d", result,
                               ACLNNX_SORT_STABLE);
    if (status == ASN_OK) status = add_view(&r, "in", in, numDims, shape);
    if (status == ASN_OK) {
        memcpy(kept, shape, (size_t)numDims * sizeof *kept);
        if (result == ACLNNX_SORT_PICKED) kept[axis] = numKth;
        status = add_view(&r, "out", out, numDims, kept);
    }
    if (status != ASN_OK) return asnop_fail(status);
    if (numKth) memcpy(numbers + r.num_numbers, kth, (size_t)numKth * sizeof *kth);
    r.num_numbers += numKth;
    return request_submit(&r, NULL, stream);
}

/* What follows the views' numbers: left and right. */
static asn_status run_interp(const request *r) {
    asnd_nd x = nd_of(&r->views[0]), xp = nd_of(&r->views[1]), fp = nd_of(&r->views[2]),
            out = nd_of(&r->views[3]);
    double sides[2];
    memcpy(sides, r->numbers + 8, sizeof sides);
    return asn_cpu_interp(&x, &xp, &fp, sides[0], sides[1], &out);
}

ASN_API int32_t aclnnxInterp(const aclnnxOperand *x, const aclnnxOperand *xp,
                             const aclnnxOperand *fp, const aclnnxOperand *out, int64_t n,
                             int64_t points, double left, double right, void *stream) {
    int64_t numbers[10];
    const double sides[2] = {left, right};
    request r;
    request_init(&r, "aclnnxInterp", run_interp, numbers);
    asn_status status = add_view(&r, "x", x, 1, &n);
    if (status == ASN_OK) status = add_view(&r, "xp", xp, 1, &points);
    if (status == ASN_OK) status = add_view(&r, "fp", fp, 1, &points);
    if (status == ASN_OK) status = add_view(&r, "out", out, 1, &n);
    if (status != ASN_OK) return asnop_fail(status);
    memcpy(numbers + r.num_numbers, sides, sizeof sides);
    r.num_numbers += 2;
    return request_submit(&r, NULL, stream);
}

/* What follows the views' numbers: the first position. */
static asn_status run_correlate(const request *r) {
    asnd_nd a = nd_of(&r->views[0]), v = nd_of(&r->views[1]), out = nd_of(&r->views[2]);
    return asn_cpu_slide(&a, &v, r->numbers[6], &out);
}

/* out[i] = sum over j of a[first + i + j] * v[j], for `count` positions; where `a` has no
 * such element the term is left out. */
ASN_API int32_t aclnnxCorrelate(const aclnnxOperand *a, const aclnnxOperand *v,
                                const aclnnxOperand *out, int64_t n, int64_t m,
                                int64_t first, int64_t count, void *stream) {
    int64_t numbers[7];
    request r;
    request_init(&r, "aclnnxCorrelate", run_correlate, numbers);
    asn_status status = add_view(&r, "a", a, 1, &n);
    if (status == ASN_OK) status = add_view(&r, "v", v, 1, &m);
    if (status == ASN_OK) status = add_view(&r, "out", out, 1, &count);
    if (status != ASN_OK) return asnop_fail(status);
    numbers[r.num_numbers++] = first;
    return request_submit(&r, NULL, stream);
}

static asn_status run_sparse(const request *r) {
    asnd_nd v[5];
    for (int i = 0; i < 5; i++)
        v[i] = nd_of(&r->views[i]);
    return asn_cpu_sparse_matmul(&v[0], &v[1], &v[2], &v[3], &v[4]);
}

/* Every row of A, by its stored elements, times b. */
ASN_API int32_t aclnnxSparseMatmul(const aclnnxOperand *indptr,
                                   const aclnnxOperand *indices,
                                   const aclnnxOperand *data, const aclnnxOperand *b,
                                   const aclnnxOperand *out, int64_t m, int64_t k,
                                   int64_t n, int64_t nnz, void *stream) {
    int64_t numbers[14], rows = m + 1, in[2] = {k, n}, to[2] = {m, n};
    request r;
    request_init(&r, "aclnnxSparseMatmul", run_sparse, numbers);
    asn_status status = add_view(&r, "indptr", indptr, 1, &rows);
    if (status == ASN_OK) status = add_view(&r, "indices", indices, 1, &nnz);
    if (status == ASN_OK) status = add_view(&r, "data", data, 1, &nnz);
    if (status == ASN_OK) status = add_view(&r, "b", b, 2, in);
    if (status == ASN_OK) status = add_view(&r, "out", out, 2, to);
    return status == ASN_OK ? request_submit(&r, NULL, stream) : asnop_fail(status);
}

/* views: self, values, then the indices. */
static asn_status run_update(const request *r) {
    asnd_nd self = nd_of(&r->views[0]), values = nd_of(&r->views[1]), indices[MAX_VIEWS];
    const asnd_nd *list[MAX_VIEWS];
    int count = r->num_views - 2;
    for (int i = 0; i < count; i++) {
        indices[i] = nd_of(&r->views[i + 2]);
        list[i] = &indices[i];
    }
    return asn_cpu_index_put(&self, count, list, &values, r->op, r->fp_flags);
}

/* The numbers of aclnnxUpdateAt: at least one index, no more than self has dimensions. */
static asn_status update_check(int32_t op, int32_t self_dims, int32_t count,
                               int32_t index_dims) {
    if (op != ACLNNX_NO_REDUCE && !is_binary_row(op))
        return asn_error_set(ASN_ERR_VALUE,
                             "aclnnxUpdateAt: opcode %d is no binary operation", op);
    if (count < 1 || count > self_dims || self_dims > ASN_ND_MAX_DIMS || index_dims < 0 ||
        index_dims + self_dims - count > ASN_ND_MAX_DIMS)
        return asn_error_set(
            ASN_ERR_VALUE,
            "aclnnxUpdateAt: %d indices of %d dimensions into %d dimensions", count,
            index_dims, self_dims);
    return ASN_OK;
}

/* values broadcast nowhere: they have the shape that indices and the rest of self make.
 */
static asn_status update_views(request *r, const aclnnxOperand *self, int32_t selfDims,
                               const int64_t *selfShape, int32_t numIndices,
                               const aclnnxOperand *indices, int32_t indexDims,
                               const int64_t *indexShape, const aclnnxOperand *values) {
    int64_t shape[2 * ASN_ND_MAX_DIMS];
    ASN_TRY(add_view(r, "self", self, selfDims, selfShape));
    if (indices == NULL || (indexDims > 0 && indexShape == NULL))
        return asn_error_set(ASN_ERR_NULL_POINTER, "aclnnxUpdateAt: indices are NULL");
    for (int d = 0; d < indexDims; d++)
        shape[d] = indexShape[d];
    for (int d = numIndices; d < selfDims; d++)
        shape[indexDims + d - numIndices] = selfShape[d];
    ASN_TRY(add_view(r, "values", values, indexDims + selfDims - numIndices, shape));
    if (r->op == ASN_OP_NONE && r->views[1].dtype != r->views[0].dtype)
        return asn_error_set(
            ASN_ERR_TYPE, "aclnnxUpdateAt: values have dtype %s, self %s",
            asn_dtype_name(r->views[1].dtype), asn_dtype_name(r->views[0].dtype));
    for (int i = 0; i < numIndices; i++) {
        ASN_TRY(add_view(r, "an index", &indices[i], indexDims, indexShape));
        if (r->views[i + 2].dtype != ASN_I64)
            return asn_error_set(ASN_ERR_TYPE, "aclnnxUpdateAt: indices must be int64");
    }
    return ASN_OK;
}

ASN_API int32_t aclnnxUpdateAt(int32_t op, const aclnnxOperand *self, int32_t selfDims,
                               const int64_t *selfShape, int32_t numIndices,
                               const aclnnxOperand *indices, int32_t indexDims,
                               const int64_t *indexShape, const aclnnxOperand *values,
                               uint32_t *fpFlags, void *stream) {
    asn_status status = update_check(op, selfDims, numIndices, indexDims);
    if (status != ASN_OK) return asnop_fail(status);
    request r;
    int64_t count =
        2 * ((int64_t)selfDims + ASN_ND_MAX_DIMS + (int64_t)numIndices * indexDims);
    /* Numbers of self, values and all indices; many indices of many dimensions are more
     * than the stack should hold. */
    int64_t few[8 * ASN_ND_MAX_DIMS];
    int64_t *many = NULL;
    if (count > 8 * ASN_ND_MAX_DIMS) {
        many = asn_malloc((size_t)count * sizeof *many);
        if (many == NULL) return asnop_fail(ASN_ERR_MEMORY);
    }
    request_init(&r, "aclnnxUpdateAt", run_update, many ? many : few);
    r.fp_flags = fpFlags;
    r.op = op == ACLNNX_NO_REDUCE ? ASN_OP_NONE : (asn_op)op;
    status = update_views(&r, self, selfDims, selfShape, numIndices, indices, indexDims,
                          indexShape, values);
    int32_t code =
        status == ASN_OK ? request_submit(&r, values, stream) : asnop_fail(status);
    asn_free(many);
    return code;
}

/* Before the second phase, which consumes the executor. */
ASN_API int32_t aclnnxConditions(aclOpExecutor *executor, uint32_t *fpFlags) {
    if (!asn_arena_alive(&asnop_executors, executor))
        return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                         "aclnnxConditions: the executor is none, or was used");
    executor->fp_flags = fpFlags;
    return ACLNN_SUCCESS;
}

/* flags: the kind, doubled, and whether it is an inverse. */
static asn_status transform(const request *r) {
    asnd_nd in = nd_of(&r->views[0]), out = nd_of(&r->views[1]);
    return asn_cpu_fft((asnd_fft_kind)(r->flags >> 1), r->flags & 1, r->points, r->scale,
                       r->axis, &in, &out);
}

static asn_status run_fft(const request *r) {
    return watched(r, transform);
}

ASN_API int32_t aclnnxFft(int32_t kind, int64_t n, double scale, const aclnnxOperand *in,
                          const int64_t *inShape, const aclnnxOperand *out,
                          const int64_t *outShape, int32_t numDims, int32_t axis,
                          uint32_t *fpFlags, void *stream) {
    /* The device's kind and direction for each of the header's, in its order. */
    static const int flags[] = {ASN_FFT_COMPLEX << 1, ASN_FFT_COMPLEX << 1 | 1,
                                ASN_FFT_REAL_FORWARD << 1, ASN_FFT_REAL_INVERSE << 1 | 1};
    int64_t numbers[4 * ASN_ND_MAX_DIMS];
    if (kind < ACLNNX_FFT_FORWARD || kind > ACLNNX_FFT_TO_REAL)
        return asnrtFail(ACLNN_ERR_PARAM_INVALID, "aclnnxFft: %d is no kind", kind);
    request r;
    request_init(&r, "aclnnxFft", run_fft, numbers);
    r.axis = axis;
    r.flags = flags[kind];
    r.fp_flags = fpFlags;
    r.points = n;
    r.scale = scale;
    asn_status status = dims_check(r.name, numDims, axis);
    if (status == ASN_OK) status = add_view(&r, "in", in, numDims, inShape);
    if (status == ASN_OK) status = add_view(&r, "out", out, numDims, outShape);
    return status == ASN_OK ? request_submit(&r, NULL, stream) : asnop_fail(status);
}
