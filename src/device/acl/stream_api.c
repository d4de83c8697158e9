/* CPU device, runtime: AscendCL's functions of streams (see stream.c).
 *
 * Each function checks its handle and arguments and calls stream.c; a NULL stream is the
 * default stream of the thread's context, except where one is created or destroyed. */
#include "device/acl/internal.h"

/* On the thread's device; *stream is NULL on failure. */
static aclError stream_create(const char *function, aclrtStream *stream) {
    if (stream == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: stream is NULL", function);
    aclError code;
    rt_context *c = rt_context_current(&code);
    if (c == NULL) return code;
    *stream = rt_stream_new(c->device);
    return *stream ? ACL_SUCCESS : rt_fail_status(ASN_ERR_MEMORY);
}

/* Creates a stream on the calling thread's device. */
ASN_API aclError aclrtCreateStream(aclrtStream *stream) {
    return stream_create("aclrtCreateStream", stream);
}

/* Creates a stream. ACL_STREAM_FAST_LAUNCH: on an idle stream tasks of any length run on
 * the thread that launches them; ACL_STREAM_FAST_SYNC alone: only those below 0.1 ms do
 * (below 1 ms without flags). Priority has no effect on a CPU. */
ASN_API aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority,
                                             uint32_t flag) {
    (void)priority;
    aclError code = stream_create("aclrtCreateStreamWithConfig", stream);
    if (code == ACL_SUCCESS && flag & (ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC))
        ((asnrtStreamState *)*stream)->inline_ns =
            flag & ACL_STREAM_FAST_LAUNCH ? ASNRT_INLINE_ALL : ASNRT_INLINE_SHORT_NS;
    return code;
}

/* Creates a stream; the configuration has no effect on a CPU. */
ASN_API aclError aclrtCreateStreamV2(aclrtStream *stream,
                                     const aclrtStreamConfigHandle *handle) {
    (void)handle;
    return stream_create("aclrtCreateStreamV2", stream);
}

/* force: tasks that have not started are dropped. */
static aclError stream_destroy(const char *function, aclrtStream stream, bool force) {
    if (stream == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "%s: stream is NULL; the default stream belongs to its context",
                         function);
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    rt_stream_free(s, force);
    return ACL_SUCCESS;
}

/* Destroys a stream after its tasks ended. */
ASN_API aclError aclrtDestroyStream(aclrtStream stream) {
    return stream_destroy("aclrtDestroyStream", stream, false);
}

/* Destroys a stream; tasks that have not started are dropped. */
ASN_API aclError aclrtDestroyStreamForce(aclrtStream stream) {
    return stream_destroy("aclrtDestroyStreamForce", stream, true);
}

/* Waits for the stream's tasks (NULL: the default stream) and returns their first
 * failure. */
ASN_API aclError aclrtSynchronizeStream(aclrtStream stream) {
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    return s ? rt_stream_wait(s, -1) : code;
}

/* CANN allows -1 and positive milliseconds. */
static aclError timeout_check(int32_t timeout) {
    if (timeout == -1 || timeout > 0) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "timeout is %d; it must be -1 (none) or positive milliseconds",
                     timeout);
}

/* aclrtSynchronizeStream with a limit in milliseconds; -1: none. */
ASN_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
    aclError code = timeout_check(timeout);
    if (code != ACL_SUCCESS) return code;
    rt_stream *s = rt_stream_get(stream, &code);
    return s ? rt_stream_wait(s, timeout) : code;
}

/* Waits for all streams of the calling thread's device. */
ASN_API aclError aclrtSynchronizeDevice(void) {
    aclError code;
    rt_context *c = rt_context_current(&code);
    return c ? rt_streams_wait(c->device, -1) : code;
}

/* aclrtSynchronizeDevice with a limit per stream in milliseconds; -1: none. */
ASN_API aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
    aclError code = timeout_check(timeout);
    if (code != ACL_SUCCESS) return code;
    rt_context *c = rt_context_current(&code);
    return c ? rt_streams_wait(c->device, timeout) : code;
}

/* Whether all tasks of the stream have ended. */
ASN_API aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status) {
    RT_CHECK_NOT_NULL("aclrtStreamQuery", status);
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    *status = (atomic_load(&((asnrtStreamState *)s)->state) & (ASNRT_BUSY | ASNRT_QUEUED))
                  ? ACL_STREAM_STATUS_NOT_READY
                  : ACL_STREAM_STATUS_COMPLETE;
    return ACL_SUCCESS;
}

/* Drops the tasks that have not started and waits for the running one. */
ASN_API aclError aclrtStreamAbort(aclrtStream stream) {
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    return s ? rt_stream_abort(s) : code;
}

/* aclrtStreamAbort on every stream of the device. */
ASN_API aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout) {
    (void)timeout;
    aclError code = rt_device_check(deviceId);
    return code == ACL_SUCCESS ? rt_streams_abort(deviceId) : code;
}

/* The stream's number, unique in the process. */
ASN_API aclError aclrtStreamGetId(aclrtStream stream, int32_t *streamId) {
    RT_CHECK_NOT_NULL("aclrtStreamGetId", streamId);
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    *streamId = rt_stream_id(s);
    return ACL_SUCCESS;
}
