/* L2 graph: the device's interface while a capture is open (see replay.h): the table of
 * functions (runtime/acl_api.h) has these in the place of the fused operator and its
 * relatives. Each calls what it stands for and, where that went well, writes a step.
 *
 * A record_... has its function's parameters (include/aclnn/aclnnx.h), copies what they
 * point to into the replay's memory, and notes operands as places: addresses are filled
 * in at each replay. A copy that fails for want of memory makes the capture fail, not the
 * call. */
#include "graph/capture/capture_steps.h"

#include <string.h>

#include "base/dtype.h"
#include "graph/profile_events.h"

#define BELOW asn_acl_below[ASN_LAYER_CAPTURE]

static size_t words(int n) {
    return (size_t)n * sizeof(int64_t);
}

/* An operand, with strides of its own, as a place and as what a replay fills in. */
static void keep_operand(asn_replay_step *s, int i, const aclnnxOperand *from, int ndim,
                         bool written, aclnnxOperand *to) {
    *to = *from;
    if (from->strides) to->strides = asn_capture_copy(from->strides, words(ndim));
    s->places[i] = asn_capture_place(from->data, written);
}

/* Those of a step whose operands have `ndim` dimensions each. */
static aclnnxOperand *keep_operands(asn_replay_step *s, const aclnnxOperand *from,
                                    int num, int num_written, int ndim) {
    aclnnxOperand *to = asn_capture_alloc((size_t)num * sizeof *to);
    for (int i = 0; to && i < num; i++)
        keep_operand(s, i, &from[i], ndim, i >= num - num_written, &to[i]);
    if (to) asn_capture_spread(s);
    return to;
}

/* A program as the step's: *p is a copy with memory of its own; also what it moves and
 * computes, for the profile. False: memory ran out. */
static bool keep_program(asn_replay_step *s, aclnnxProgram *p,
                         const aclnnxProgram *program) {
    int num = program->numIn + program->numOut;
    *p = *program;
    s->elements = asn_elements_of(p->numDims, p->shape);
    for (int i = 0; i < num; i++)
        s->nbytes += asn_operand_bytes(&program->operands[i], p->numDims, p->shape);
    p->shape = asn_capture_copy(program->shape, words(p->numDims));
    p->instrs =
        asn_capture_copy(program->instrs, (size_t)p->numInstrs * sizeof *p->instrs);
    p->operands = keep_operands(s, program->operands, num, program->numOut, p->numDims);
    return p->operands != NULL;
}

static int32_t record_fused(const aclnnxProgram *program, void *stream) {
    int32_t code = BELOW.aclnnxFused(program, stream);
    int num = program->numIn + program->numOut;
    asn_replay_step *s = code ? NULL : asn_capture_step(ASN_STEP_FUSED, num);
    if (!s) return code;
    s->watched = program->fpFlags != NULL;
    if (keep_program(s, &s->fused.program, program))
        /* Shown once to the device, and run by addresses from then on. */
        code = asn_acl.aclnnxPrepare(&s->fused.program, &s->fused.prepared);
    return code;
}

/* (Contract in capture.h.) The host's run collects no exceptions. */
void asn_capture_host_program(const aclnnxProgram *program, const char *what) {
    asn_replay_step *s =
        asn_capture_step(ASN_STEP_HOST, program->numIn + program->numOut);
    aclnnxProgram *p = asn_capture_alloc(sizeof *p);
    if (!s || !p || !keep_program(s, p, program)) return;
    s->name = s->pole = what;
    p->fpFlags = NULL;
    s->host.program = p;
}

static int32_t record_scan(int32_t op, const aclnnxOperand *in, const aclnnxOperand *out,
                           int32_t ndim, const int64_t *shape, int32_t axis,
                           uint32_t *flags, void *stream) {
    int32_t code = BELOW.aclnnxScan(op, in, out, ndim, shape, axis, flags, stream);
    asn_replay_step *s = code ? NULL : asn_capture_step(ASN_STEP_SCAN, 2);
    if (!s) return code;
    aclnnxOperand both[2] = {*in, *out};
    s->name = s->pole = "accumulate";
    s->call.op = op;
    s->call.ndim = ndim;
    s->call.axis = axis;
    s->call.shape = asn_capture_copy(shape, words(ndim));
    s->call.operands = keep_operands(s, both, 2, 1, ndim);
    s->nbytes = asn_operand_bytes(in, ndim, shape) + asn_operand_bytes(out, ndim, shape);
    return code;
}

static int32_t record_update_at(int32_t op, const aclnnxOperand *self, int32_t ndim,
                                const int64_t *shape, int32_t num,
                                const aclnnxOperand *indices, int32_t index_ndim,
                                const int64_t *index_shape, const aclnnxOperand *values,
                                uint32_t *flags, void *stream) {
    int32_t code = BELOW.aclnnxUpdateAt(op, self, ndim, shape, num, indices, index_ndim,
                                        index_shape, values, flags, stream);
    /* The call is done, and cannot be replayed. */
    if (num + 2 > ACLNNX_MAX_OPERANDS) {
        (void)asn_capture_refuse("an update has more index arrays than a replay keeps");
        return code;
    }
    asn_replay_step *s = code ? NULL : asn_capture_step(ASN_STEP_UPDATE_AT, num + 2);
    if (!s) return code;
    aclnnxOperand *all = asn_capture_alloc((size_t)(num + 2) * sizeof *all);
    if (!all) return code;
    for (int i = 0; i < num; i++)
        keep_operand(s, i, &indices[i], index_ndim, false, &all[i]);
    /* The values' shape: the indices' common one, then the axes that no index addresses.
     */
    keep_operand(s, num, values, index_ndim + ndim - num, false, &all[num]);
    keep_operand(s, num + 1, self, ndim, true, &all[num + 1]);
    asn_capture_spread(s);
    s->name = s->pole = "update at";
    s->call.op = op;
    s->call.ndim = ndim;
    s->call.num_indices = num;
    s->call.index_ndim = index_ndim;
    s->call.shape = asn_capture_copy(shape, words(ndim));
    s->call.other_shape = asn_capture_copy(index_shape, words(index_ndim));
    s->call.operands = all;
    s->nbytes = asn_operand_bytes(self, ndim, shape);
    return code;
}

static int32_t record_sort(const aclnnxOperand *in, const aclnnxOperand *out,
                           int32_t ndim, const int64_t *shape, int32_t axis,
                           int32_t indices, int32_t num_kth, const int64_t *kth,
                           void *stream) {
    int32_t code =
        BELOW.aclnnxSort(in, out, ndim, shape, axis, indices, num_kth, kth, stream);
    asn_replay_step *s = code ? NULL : asn_capture_step(ASN_STEP_SORT, 2);
    if (!s) return code;
    aclnnxOperand both[2] = {*in, *out};
    s->name = s->pole = indices == ACLNNX_SORT_INDICES ? "argsort" : "sort";
    s->call.ndim = ndim;
    s->call.axis = axis;
    s->call.indices = indices;
    s->call.num_kth = num_kth;
    s->call.kth = asn_capture_copy(kth, words(num_kth));
    s->call.shape = asn_capture_copy(shape, words(ndim));
    s->call.operands = keep_operands(s, both, 2, 1, ndim);
    s->nbytes = asn_operand_bytes(in, ndim, shape) + asn_operand_bytes(out, ndim, shape);
    return code;
}

/* (Contracts in capture.h: also called where the host computes in the device's place.) */
void asn_capture_fft(int32_t kind, int64_t n, double scale, const aclnnxOperand *in,
                     const int64_t *in_shape, const aclnnxOperand *out,
                     const int64_t *out_shape, int32_t ndim, int32_t axis) {
    asn_replay_step *s = asn_capture_step(ASN_STEP_FFT, 2);
    if (!s) return;
    aclnnxOperand both[2] = {*in, *out};
    s->name = s->pole = "fft";
    s->call.kind = kind;
    s->call.n = n;
    s->call.scale = scale;
    s->call.ndim = ndim;
    s->call.axis = axis;
    s->call.shape = asn_capture_copy(in_shape, words(ndim));
    s->call.other_shape = asn_capture_copy(out_shape, words(ndim));
    s->call.operands = keep_operands(s, both, 2, 1, ndim);
    s->nbytes =
        asn_operand_bytes(in, ndim, in_shape) + asn_operand_bytes(out, ndim, out_shape);
}

static int32_t record_fft(int32_t kind, int64_t n, double scale, const aclnnxOperand *in,
                          const int64_t *in_shape, const aclnnxOperand *out,
                          const int64_t *out_shape, int32_t ndim, int32_t axis,
                          uint32_t *flags, void *stream) {
    int32_t code = BELOW.aclnnxFft(kind, n, scale, in, in_shape, out, out_shape, ndim,
                                   axis, flags, stream);
    if (!code) asn_capture_fft(kind, n, scale, in, in_shape, out, out_shape, ndim, axis);
    return code;
}

/* Who writes what: the operands behind the inputs, whose number the operation says. */
static int num_inputs_of(int32_t op) {
    return op == ACLNNX_LINALG_SOLVE || op == ACLNNX_LINALG_LSTSQ ? 2 : 1;
}

void asn_capture_linalg(int32_t op, int32_t options, double rcond, int32_t num_batch,
                        int32_t num, const aclnnxTensor *operands) {
    asn_replay_step *s = asn_capture_step(ASN_STEP_LINALG, num);
    if (!s) return;
    aclnnxTensor *t = asn_capture_copy(operands, (size_t)num * sizeof *t);
    for (int i = 0; t && i < num; i++) {
        t[i].shape = asn_capture_copy(operands[i].shape, words(t[i].numDims));
        t[i].strides = asn_capture_copy(operands[i].strides, words(t[i].numDims));
        s->places[i] = asn_capture_place(operands[i].data, i >= num_inputs_of(op));
        s->nbytes += asn_elements_of(t[i].numDims, operands[i].shape) *
                     asn_itemsize(asn_dtype_from_acl(t[i].dtype));
    }
    s->name = s->pole = asn_linalg_name(op);
    s->call.op = op;
    s->call.options = options;
    s->call.scale = rcond;
    s->call.num_batch = num_batch;
    s->call.tensors = t;
    asn_capture_spread(s);
}

static int32_t record_linalg(int32_t op, int32_t options, double rcond, int32_t num_batch,
                             int32_t num, const aclnnxTensor *operands, int64_t *failed,
                             uint32_t *flags) {
    int32_t code =
        BELOW.aclnnxLinalg(op, options, rcond, num_batch, num, operands, failed, flags);
    if (!code) asn_capture_linalg(op, options, rcond, num_batch, num, operands);
    return code;
}

static int32_t record_interp(const aclnnxOperand *x, const aclnnxOperand *xp,
                             const aclnnxOperand *fp, const aclnnxOperand *out, int64_t n,
                             int64_t points, double left, double right, void *stream) {
    int32_t code = BELOW.aclnnxInterp(x, xp, fp, out, n, points, left, right, stream);
    asn_replay_step *s = code ? NULL : asn_capture_step(ASN_STEP_INTERP, 4);
    if (!s) return code;
    aclnnxOperand all[4] = {*x, *xp, *fp, *out};
    s->name = s->pole = "interp";
    s->call.n = n;
    s->call.m = points;
    s->call.left = left;
    s->call.right = right;
    s->call.operands = keep_operands(s, all, 4, 1, 1);
    return code;
}

static int32_t record_correlate(const aclnnxOperand *a, const aclnnxOperand *v,
                                const aclnnxOperand *out, int64_t n, int64_t m,
                                int64_t first, int64_t count, void *stream) {
    int32_t code = BELOW.aclnnxCorrelate(a, v, out, n, m, first, count, stream);
    asn_replay_step *s = code ? NULL : asn_capture_step(ASN_STEP_CORRELATE, 3);
    if (!s) return code;
    aclnnxOperand all[3] = {*a, *v, *out};
    s->name = s->pole = "correlate";
    s->call.n = n;
    s->call.m = m;
    s->call.first = first;
    s->elements = count;
    s->call.operands = keep_operands(s, all, 3, 1, 1);
    return code;
}

static int32_t record_sparse(const aclnnxOperand *indptr, const aclnnxOperand *indices,
                             const aclnnxOperand *data, const aclnnxOperand *b,
                             const aclnnxOperand *out, int64_t m, int64_t k, int64_t n,
                             int64_t nnz, void *stream) {
    int32_t code =
        BELOW.aclnnxSparseMatmul(indptr, indices, data, b, out, m, k, n, nnz, stream);
    asn_replay_step *s = code ? NULL : asn_capture_step(ASN_STEP_SPARSE, 5);
    if (!s) return code;
    aclnnxOperand all[5] = {*indptr, *indices, *data, *b, *out};
    s->name = s->pole = "sparse_matmul";
    s->call.n = n;
    s->call.m = m;
    s->call.first = k;
    s->elements = nnz;
    s->call.operands = keep_operands(s, all, 5, 1, 1);
    return code;
}

/* Functions that the device lacks stay NULL. */
void asn_capture_install(asn_acl_api *table) {
    asn_capture_install_handles(table);
    if (table->aclnnxFused) table->aclnnxFused = record_fused;
    if (table->aclnnxScan) table->aclnnxScan = record_scan;
    if (table->aclnnxUpdateAt) table->aclnnxUpdateAt = record_update_at;
    if (table->aclnnxSort) table->aclnnxSort = record_sort;
    if (table->aclnnxFft) table->aclnnxFft = record_fft;
    if (table->aclnnxLinalg) table->aclnnxLinalg = record_linalg;
    if (table->aclnnxInterp) table->aclnnxInterp = record_interp;
    if (table->aclnnxCorrelate) table->aclnnxCorrelate = record_correlate;
    if (table->aclnnxSparseMatmul) table->aclnnxSparseMatmul = record_sparse;
}
