/* CPU device, runtime: copies and fills.
 *
 * The kind of a copy (host to device, ...) is checked for being one of CANN's and
 * otherwise changes nothing: all memory is the CPU's. A count larger than the destination
 * is refused before a byte moves. Asynchronous forms keep stream order; small ones on an
 * idle stream are done at once. The work of a copy is estimated at 8 bytes per
 * nanosecond.
 */
#include "device/acl/internal.h"

#include <string.h>

/* An estimate, by which a copy runs on the caller or on the stream's thread. */
static const double BYTES_PER_NS = 8;

/* A copy of `height` rows of `width` bytes; the pitches are bytes from row to row. */
typedef struct {
    void *dst;
    const void *src;
    size_t dst_pitch, src_pitch, width, height; /* one row for a plain copy */
    rt_stream *stream; /* that does it; NULL: it is done at once */
} copy_task;

typedef struct {
    void *dst;
    int32_t value;
    size_t count;
    rt_stream *stream;
} set_task;

/* memmove: source and destination may overlap. */
static int32_t task_copy(void *arg) {
    const copy_task *t = arg;
    if (t->width == 0) return 0;
    for (size_t row = 0; row < t->height; row++)
        memmove((char *)t->dst + row * t->dst_pitch,
                (const char *)t->src + row * t->src_pitch, t->width);
    return 0;
}

/* A count of 0 may come with any address. */
static int32_t task_set(void *arg) {
    const set_task *t = arg;
    if (t->count != 0) memset(t->dst, t->value, t->count);
    return 0;
}

/* As a span of the profile, when there is one. */
static int32_t run_watched(asnrtTask run, void *arg, rt_stream *stream,
                           const char *name) {
    if (!rt_profiled()) return run(arg);
    asnrtScope scope;
    asnrtScopeBegin(&scope, (asnrtStreamState *)stream);
    int32_t code = run(arg);
    asnrtScopeEnd(&scope, name);
    return code;
}

static int32_t task_copy_watched(void *arg) {
    return run_watched(task_copy, arg, ((copy_task *)arg)->stream, "MEMCPY_ASYNC");
}

static int32_t task_set_watched(void *arg) {
    return run_watched(task_set, arg, ((set_task *)arg)->stream, "MEMSET_ASYNC");
}

static aclError kind_check(const char *function, aclrtMemcpyKind kind) {
    if ((unsigned)kind <= ACL_MEMCPY_INTER_DEVICE_TO_DEVICE) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: kind %d is unknown", function,
                     (int)kind);
}

/* Neither address is NULL, and `count` bytes fit into `room`. */
static aclError copy_check(const char *function, const void *dst, size_t room,
                           const void *src, size_t count, aclrtMemcpyKind kind) {
    if (dst == NULL || src == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", function,
                         dst == NULL ? "dst" : "src");
    if (count > room)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "%s: count %zu is more than the destination's %zu bytes",
                         function, count, room);
    return kind_check(function, kind);
}

/* In stream order. */
static aclError copy_queue(copy_task *t, aclrtStream stream) {
    aclError code;
    t->stream = rt_stream_get(stream, &code);
    if (t->stream == NULL) return code;
    double work = (double)t->width * (double)t->height / BYTES_PER_NS;
    return rt_stream_do(t->stream, task_copy_watched, t, sizeof *t, work);
}

/* Copies `count` bytes; returns when they are there. Does not wait for streams. */
ASN_API aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count,
                             aclrtMemcpyKind kind) {
    aclError code = copy_check("aclrtMemcpy", dst, destMax, src, count, kind);
    if (code == ACL_SUCCESS) memmove(dst, src, count);
    return code;
}

/* Copies `count` bytes in stream order. */
ASN_API aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src,
                                  size_t count, aclrtMemcpyKind kind,
                                  aclrtStream stream) {
    aclError code = copy_check("aclrtMemcpyAsync", dst, destMax, src, count, kind);
    if (code != ACL_SUCCESS) return code;
    copy_task t = {dst, src, 0, 0, count, 1, NULL};
    return copy_queue(&t, stream);
}

/* aclrtMemcpyAsync for any kind of memory. */
ASN_API aclError aclrtMemcpyAsyncWithCondition(void *dst, size_t destMax, const void *src,
                                               size_t count, aclrtMemcpyKind kind,
                                               aclrtStream stream) {
    return aclrtMemcpyAsync(dst, destMax, src, count, kind, stream);
}

/* Rows fit into both pitches. */
static aclError copy2d_check(const char *function, const copy_task *t,
                             aclrtMemcpyKind kind) {
    if (t->dst == NULL || t->src == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", function,
                         t->dst == NULL ? "dst" : "src");
    if (t->width == 0 || t->height == 0)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "%s: width %zu and height %zu must be at least 1", function,
                         t->width, t->height);
    if (t->width > t->dst_pitch || t->width > t->src_pitch)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "%s: width %zu is more than a pitch (dpitch %zu, spitch %zu)",
                         function, t->width, t->dst_pitch, t->src_pitch);
    return kind_check(function, kind);
}

/* Copies `height` rows of `width` bytes, `dpitch` and `spitch` bytes apart. */
ASN_API aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch,
                               size_t width, size_t height, aclrtMemcpyKind kind) {
    copy_task t = {dst, src, dpitch, spitch, width, height, NULL};
    aclError code = copy2d_check("aclrtMemcpy2d", &t, kind);
    return code == ACL_SUCCESS ? task_copy(&t) : code;
}

/* aclrtMemcpy2d in stream order. */
ASN_API aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src,
                                    size_t spitch, size_t width, size_t height,
                                    aclrtMemcpyKind kind, aclrtStream stream) {
    copy_task t = {dst, src, dpitch, spitch, width, height, NULL};
    aclError code = copy2d_check("aclrtMemcpy2dAsync", &t, kind);
    return code == ACL_SUCCESS ? copy_queue(&t, stream) : code;
}

static aclError set_check(const char *function, const void *dst, size_t room,
                          size_t count) {
    if (dst == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: devPtr is NULL", function);
    if (count <= room) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "%s: count %zu is more than maxCount, %zu bytes", function, count,
                     room);
}

/* Sets `count` bytes to `value`. */
ASN_API aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count) {
    aclError code = set_check("aclrtMemset", devPtr, maxCount, count);
    if (code == ACL_SUCCESS) memset(devPtr, value, count);
    return code;
}

/* aclrtMemset in stream order. */
ASN_API aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value,
                                  size_t count, aclrtStream stream) {
    aclError code = set_check("aclrtMemsetAsync", devPtr, maxCount, count);
    if (code != ACL_SUCCESS) return code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    set_task t = {devPtr, value, count, s};
    return rt_stream_do(s, task_set_watched, &t, sizeof t, (double)count / BYTES_PER_NS);
}

/* Memory of a CPU is coherent: nothing to write back. */
ASN_API aclError aclrtMemFlush(void *devPtr, size_t size) {
    (void)size;
    RT_CHECK_NOT_NULL("aclrtMemFlush", devPtr);
    return ACL_SUCCESS;
}

/* Memory of a CPU is coherent: nothing to invalidate. */
ASN_API aclError aclrtMemInvalidate(void *devPtr, size_t size) {
    (void)size;
    RT_CHECK_NOT_NULL("aclrtMemInvalidate", devPtr);
    return ACL_SUCCESS;
}

/* ---- copies described in memory
 *
 * The memory is the program's, which may move a description and set it after the copy was
 * queued. A word of our own and the sum of the rest tell one from other bytes when the
 * copy's turn comes. */

static const uint64_t DESCRIBED = 0x41534e64657363;

typedef struct {
    copy_task copy;
    uint64_t mark;
} description;

/* A sum over the copy, so that bytes which happen to hold the word alone are refused. */
static uint64_t mark_of(const copy_task *t) {
    return DESCRIBED ^ (uintptr_t)t->dst ^ (uintptr_t)t->src * 3 ^ t->width * 5;
}

/* The description is looked at when its turn comes, as CANN allows a program to change it
 * until then. */
static int32_t task_described(void *arg) {
    const description *d = arg;
    if (d->mark == mark_of(&d->copy)) return task_copy(arg);
    return asnrtFail(
        ACL_ERROR_INVALID_PARAM,
        "aclrtMemcpyAsyncWithDesc: aclrtSetMemcpyDesc described no copy at %p", arg);
}

/* Readable and aligned: what lies there is checked when the copy runs. */
static aclError described_check(const char *function, const void *desc) {
    RT_CHECK_NOT_NULL(function, desc);
    if ((uintptr_t)desc % sizeof(uint64_t) == 0 && rt_readable(desc, sizeof(description)))
        return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "%s: desc %p is no memory, or not aligned to 8 bytes", function,
                     desc);
}

/* The bytes a description of aclrtMemcpyAsyncWithDesc takes. */
ASN_API aclError aclrtGetMemcpyDescSize(aclrtMemcpyKind kind, size_t *descSize) {
    RT_CHECK_NOT_NULL("aclrtGetMemcpyDescSize", descSize);
    *descSize = sizeof(description);
    return kind_check("aclrtGetMemcpyDescSize", kind);
}

/* Describes a copy of `count` bytes at `desc`; config must be NULL. */
ASN_API aclError aclrtSetMemcpyDesc(void *desc, aclrtMemcpyKind kind, void *srcAddr,
                                    void *dstAddr, size_t count, void *config) {
    aclError code = described_check("aclrtSetMemcpyDesc", desc);
    if (code == ACL_SUCCESS)
        code = copy_check("aclrtSetMemcpyDesc", dstAddr, count, srcAddr, count, kind);
    if (code != ACL_SUCCESS) return code;
    if (config != NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtSetMemcpyDesc: config is not NULL");
    description d = {{dstAddr, srcAddr, 0, 0, count, 1, NULL}, 0};
    d.mark = mark_of(&d.copy);
    memcpy(desc, &d, sizeof d);
    return ACL_SUCCESS;
}

/* The copy that `desc` describes by then, in stream order. */
ASN_API aclError aclrtMemcpyAsyncWithDesc(void *desc, aclrtMemcpyKind kind,
                                          aclrtStream stream) {
    aclError code = described_check("aclrtMemcpyAsyncWithDesc", desc);
    if (code == ACL_SUCCESS) code = kind_check("aclrtMemcpyAsyncWithDesc", kind);
    if (code != ACL_SUCCESS) return code;
    rt_stream *s = rt_stream_get(stream, &code);
    return s ? asnrtStreamPush((asnrtStreamState *)s, task_described, NULL, desc) : code;
}

typedef struct {
    char *start;
    size_t size;
} touch_task;

/* A line of a cache at a time. */
static int32_t task_touch(void *arg) {
    const touch_task *t = arg;
    for (size_t i = 0; i < t->size; i += 64)
        __builtin_prefetch(t->start + i);
    return 0;
}

/* Brings memory into the caches, in stream order. Writing back, dropping and flushing
 * them have no meaning on a coherent CPU and are refused. */
ASN_API aclError aclrtCmoAsync(void *src, size_t size, aclrtCmoType cmoType,
                               aclrtStream stream) {
    RT_CHECK_NOT_NULL("aclrtCmoAsync", src);
    if (cmoType != ACL_RT_CMO_TYPE_PREFETCH)
        return asnrtFail(ACL_ERROR_FEATURE_UNSUPPORTED,
                         "aclrtCmoAsync: type %d; a CPU knows 0 (prefetch) only",
                         (int)cmoType);
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    touch_task t = {src, size};
    return rt_stream_do(s, task_touch, &t, sizeof t, (double)size / BYTES_PER_NS);
}
