/* CPU device: inclusive scans.
 *
 * Along contiguous memory a scan is one chain of dependent operations, and strictly so
 * for floats (their sum depends on the order): one addition's latency per element, 0.7
 * ns. Across memory whole rows are added at once with the elementwise kernels, a strip of
 * columns at a time, so that the row above is still in L1.
 */
#include "device/cpu/loops/scan.h"

#include <string.h>

#include "device/cpu/fpflags.h"
#include "device/cpu/move/gather.h"
#include "device/cpu/kernels.h"
#include "device/cpu/move/lines.h"
#include "device/cpu/threads.h"

enum { COLUMNS = 1024, CHUNK = 16384, STREAM_LINE = 4096, IN = 0, OUT = 1 };

typedef struct {
    asnd_lines *lines; /* views: in, out; lines along the axis, or (rows) without it */
    asnd_scan_fn scan;
    asnd_ew_fn row, step; /* step: in place of scan, one element at a time */
    int item;
    int64_t extent, in_stride, out_stride; /* of the axis */
    int64_t lines_per_chunk;
    bool stream; /* results go past the caches */
    bool tracks;
    uint32_t met; /* ACLNNX_FP_*, of all threads */
} scan_run;

/* A chunk between a cleared and a read state of the floating-point flags. */
static void flags_begin(const scan_run *r) {
    if (r->tracks) asn_fp_clear();
}

static void flags_end(scan_run *r) {
    uint32_t met = r->tracks ? asn_fp_exceptions() : 0;
    if (met) __atomic_fetch_or(&r->met, met, __ATOMIC_RELAXED);
}

/* The rest of a contiguous line, by way of L1. */
static void scan_stream(const scan_run *r, char *acc, char *out, const char *in) {
    enum { BLOCK = 4096 };
    _Alignas(64) char block[BLOCK];
    int64_t left = (r->extent - 1) * r->item;
    for (int64_t n = BLOCK; left > 0; left -= n, in += n, out += n) {
        if (n > left) n = left;
        r->scan(n / r->item, acc, in, r->item, block, r->item);
        asn_block_stream(out, block, n);
    }
    asn_block_stream_end();
}

/* What scan does, through the elementwise loop. */
static void scan_steps(const scan_run *r, char *acc, const char *in, char *out) {
    for (int64_t i = 1; i < r->extent; i++) {
        in += r->in_stride;
        out += r->out_stride;
        r->step(1, acc, acc, in, NULL);
        memcpy(out, acc, (size_t)r->item);
    }
}

/* Whole lines along the axis; the first element is copied, not computed. */
static void scan_lines(void *ctx, int64_t chunk) {
    scan_run *r = ctx;
    int64_t first = chunk * r->lines_per_chunk, end = first + r->lines_per_chunk;
    flags_begin(r);
    asnd_line line;
    asn_lines_seek(r->lines, &line, first);
    for (int64_t l = first; l < end && l < r->lines->count; l++) {
        _Alignas(16) char acc[16];
        memcpy(acc, line.at[IN], (size_t)r->item);
        if (line.at[OUT] != line.at[IN]) memcpy(line.at[OUT], acc, (size_t)r->item);
        if (r->step)
            scan_steps(r, acc, line.at[IN], line.at[OUT]);
        else if (r->stream && line.at[OUT] != line.at[IN])
            scan_stream(r, acc, line.at[OUT] + r->item, line.at[IN] + r->item);
        else
            r->scan(r->extent - 1, acc, line.at[IN] + r->in_stride, r->in_stride,
                    line.at[OUT] + r->out_stride, r->out_stride);
        asn_lines_next(r->lines, &line);
    }
    flags_end(r);
}

/* A strip of up to COLUMNS columns, from the first row to the last: out row i = op(out
 * row i - 1, in row i). */
static void scan_columns(void *ctx, int64_t chunk) {
    scan_run *r = ctx;
    flags_begin(r);
    int64_t strips = (r->lines->length + COLUMNS - 1) / COLUMNS;
    int64_t x = chunk % strips * COLUMNS, n = r->lines->length - x;
    if (n > COLUMNS) n = COLUMNS;
    asnd_line line;
    asn_lines_seek(r->lines, &line, chunk / strips);
    const char *in = line.at[IN] + x * r->item;
    char *out = line.at[OUT] + x * r->item;
    if (in != out) memcpy(out, in, (size_t)(n * r->item));
    for (int64_t i = 1; i < r->extent; i++)
        r->row(n, out + i * r->out_stride, out + (i - 1) * r->out_stride,
               in + i * r->in_stride, NULL);
    flags_end(r);
}

/* Columns where the axis lies across memory and rows are contiguous; else line by line.
 * Either order of the lines gives the same: a line's elements go strictly left to
 * right. */
asn_status asn_cpu_scan(asn_op op, int axis, const asnd_nd *in, const asnd_nd *out,
                        uint32_t *fp_flags) {
    if (axis < 0 || axis >= in->ndim || out->ndim != in->ndim || out->dtype != in->dtype)
        return asn_error_set(
            ASN_ERR_VALUE, "accumulate: axis %d of a %d-d %s into a %d-d %s", axis,
            in->ndim, asn_dtype_name(in->dtype), out->ndim, asn_dtype_name(out->dtype));
    const asnd_kernels *k = asn_kernels_get();
    asnd_lines lines;
    scan_run r = {.lines = &lines,
                  .scan = (unsigned)op < ASN_OP_COUNT ? k->scan[op][in->dtype] : NULL,
                  .item = asn_itemsize(in->dtype),
                  .extent = in->shape[axis],
                  .in_stride = in->strides[axis],
                  .out_stride = out->strides[axis]};
    if (!r.scan && asn_kernels_steps(op, in->dtype)) r.step = k->ew[op][in->dtype];
    if (!r.scan && !r.step)
        return asn_error_set(ASN_ERR_NO_LOOP, "accumulate: no loop of %s for dtype %s",
                             (unsigned)op < ASN_OP_COUNT ? asn_op_table[op].name
                                                         : "opcode",
                             asn_dtype_name(in->dtype));
    if (asn_nd_size(in) == 0) return ASN_OK;
    r.row = k->ew[op][in->dtype];
    r.tracks = fp_flags && ((asn_op_table[op].flags & ASN_OPF_DIVIDES) ||
                            (asn_is_inexact(in->dtype) && !k->quiet[op][in->dtype]));
    int64_t shape[ASN_ND_MAX_DIMS];
    memcpy(shape, in->shape, (size_t)in->ndim * sizeof *shape);
    shape[axis] = 1;
    char *data[] = {in->data, out->data};
    const int64_t *strides[] = {in->strides, out->strides};
    asn_lines_init(r.lines, in->ndim, shape, ASN_NO_AXIS, 2, data, strides);
    double n = (double)r.lines->count * (double)r.lines->length * (double)r.extent;
    bool rows = r.row && r.lines->length >= 8 && r.lines->stride[0][IN] == r.item &&
                r.lines->stride[0][OUT] == r.item;
    if (rows) {
        int64_t strips = (r.lines->length + COLUMNS - 1) / COLUMNS;
        asn_pool_run(scan_columns, &r, r.lines->count * strips, n * 0.3);
        if (r.met) __atomic_fetch_or(fp_flags, r.met, __ATOMIC_RELAXED);
        return ASN_OK;
    }
    asn_lines_init(r.lines, in->ndim, shape, axis, 2, data, strides);
    r.stream = asn_worth_streaming(2 * asn_nd_size(in) * r.item) &&
               r.extent * r.item >= STREAM_LINE && r.in_stride == r.item &&
               r.out_stride == r.item;
    r.lines_per_chunk = CHUNK / r.extent + 1;
    int64_t chunks = (r.lines->count + r.lines_per_chunk - 1) / r.lines_per_chunk;
    asn_pool_run(scan_lines, &r, chunks, n * 1.2);
    if (r.met) __atomic_fetch_or(fp_flags, r.met, __ATOMIC_RELAXED);
    return ASN_OK;
}
