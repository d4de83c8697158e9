/* CPU device, runtime: capturing a stream's tasks, and running them again.
 *
 * While a stream is captured, what is launched on it is kept in order instead of run:
 * operators, copies, fills, host functions, and waits for and records of events. The
 * graph (aclmdlRI) then runs as one task of any stream, as often as wanted, on the
 * addresses of the capture. A capture concerns one stream: a wait for another stream's
 * event waits for the record of the time of the capture, and an event recorded in a
 * capture is reached when the graph first runs. The modes, which say what other threads
 * may do meanwhile, differ in nothing here: every call is allowed.
 *
 * A graph is counted: by its handle, by the stream that is captured into it, and by each
 * task that runs it. A graph runs once at a time.
 */
#include "device/acl/internal.h"

#include <stdio.h>

/* Tasks in their order; complete: the capture has ended, and nothing is added any
 * more. */
struct rt_graph {
    asnd_slot slot;
    bool ready; /* the lock is set up */
    pthread_mutex_t lock;
    _Atomic uint32_t references;
    bool complete;
    uint32_t count;
    rt_task *first, *last;
};

static asnd_arena graphs = ASN_ARENA_INIT("graph", sizeof(rt_graph), 1 << 16, true);
static _Thread_local aclmdlRICaptureMode thread_mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;

/* Takes the task. The stream's lock keeps additions apart. */
void rt_graph_add(rt_graph *graph, rt_task *task) {
    if (graph->last != NULL) {
        graph->last->next = task;
    } else {
        graph->first = task;
    }
    graph->last = task;
    graph->count++;
}

/* The last reference drops the tasks with their arguments. */
static void graph_release(rt_graph *graph) {
    if (atomic_fetch_sub(&graph->references, 1) != 1) return;
    while (graph->first != NULL) {
        rt_task *t = graph->first;
        graph->first = t->next;
        if (t->drop != NULL) t->drop(t->arg);
        asn_free(t);
    }
    asn_arena_give(&graphs, graph);
}

/* The handle's reference goes too: a capture that did not end has no other owner. */
void rt_graph_abandon(rt_graph *graph) {
    if (asn_slot_retire(graph)) graph_release(graph);
    graph_release(graph);
}

/* The first failure, with the thread's message; what follows it is not run. */
static int32_t task_graph(void *arg) {
    rt_graph *graph = arg;
    int32_t code = 0;
    pthread_mutex_lock(&graph->lock);
    for (rt_task *t = graph->first; t != NULL && code == 0; t = t->next)
        code = t->run(t->arg);
    pthread_mutex_unlock(&graph->lock);
    return code;
}

static void drop_graph(void *arg) {
    graph_release(arg);
}

/* 0 when the handle is a live graph. */
static aclError graph_check(const char *function, aclmdlRI graph) {
    if (graph == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: modelRI is NULL", function);
    if (asn_arena_alive(&graphs, graph)) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_RT_INVALID_HANDLE,
                     "%s: %p is no captured model, or was destroyed", function, graph);
}

static aclError mode_check(const char *function, aclmdlRICaptureMode mode) {
    if ((unsigned)mode <= ACL_MODEL_RI_CAPTURE_MODE_RELAXED) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: mode %d is unknown; 0 to 2 are",
                     function, (int)mode);
}

/* Keeps what is launched on the stream from here on, instead of running it. */
ASN_API aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
    aclError code = mode_check("aclmdlRICaptureBegin", mode);
    if (code != ACL_SUCCESS) return code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    rt_graph *graph = asn_arena_take(&graphs);
    if (graph == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    if (!graph->ready) pthread_mutex_init(&graph->lock, NULL);
    graph->ready = true;
    graph->complete = false;
    graph->count = 0;
    graph->first = graph->last = NULL;
    atomic_store(&graph->references, 2); /* the handle's, the stream's */
    asn_slot_publish(graph);
    if (rt_stream_capture(s, NULL, graph)) return ACL_SUCCESS;
    (void)asn_slot_retire(graph);
    graph_release(graph);
    graph_release(graph);
    return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                     "aclmdlRICaptureBegin: the stream is captured already");
}

/* Ends the capture: the stream runs its tasks again, and `modelRI` holds those kept. */
ASN_API aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI) {
    RT_CHECK_NOT_NULL("aclmdlRICaptureEnd", modelRI);
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    rt_graph *graph = rt_stream_graph(s);
    if (graph == NULL || !rt_stream_capture(s, graph, NULL))
        return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                         "aclmdlRICaptureEnd: the stream is not captured");
    graph->complete = true;
    *modelRI = graph;
    graph_release(graph); /* the stream's */
    return ACL_SUCCESS;
}

/* Whether the stream is captured, and into what (modelRI may be NULL). */
ASN_API aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus *status,
                                        aclmdlRI *modelRI) {
    RT_CHECK_NOT_NULL("aclmdlRICaptureGetInfo", status);
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    rt_graph *graph = rt_stream_graph(s);
    *status =
        graph ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE : ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    if (modelRI != NULL) *modelRI = graph;
    return ACL_SUCCESS;
}

/* Exchanges the calling thread's mode with *mode; every mode allows every call here. */
ASN_API aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode) {
    RT_CHECK_NOT_NULL("aclmdlRICaptureThreadExchangeMode", mode);
    aclError code = mode_check("aclmdlRICaptureThreadExchangeMode", *mode);
    if (code != ACL_SUCCESS) return code;
    aclmdlRICaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return ACL_SUCCESS;
}

/* Runs the captured tasks once, in stream order. */
ASN_API aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream) {
    aclError code = graph_check("aclmdlRIExecuteAsync", modelRI);
    if (code != ACL_SUCCESS) return code;
    rt_graph *graph = modelRI;
    if (!graph->complete)
        return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                         "aclmdlRIExecuteAsync: the capture has not ended");
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    atomic_fetch_add(&graph->references, 1);
    return asnrtStreamPush((asnrtStreamState *)s, task_graph, drop_graph, graph);
}

/* Destroys the captured tasks, after those runs that were launched. */
ASN_API aclError aclmdlRIDestroy(aclmdlRI modelRI) {
    aclError code = graph_check("aclmdlRIDestroy", modelRI);
    if (code != ACL_SUCCESS) return code;
    rt_graph *graph = modelRI;
    if (!graph->complete)
        return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                         "aclmdlRIDestroy: the capture has not ended");
    if (!asn_slot_retire(graph)) return graph_check("aclmdlRIDestroy", modelRI);
    graph_release(graph);
    return ACL_SUCCESS;
}

/* Prints the number of captured tasks to standard output. */
ASN_API aclError aclmdlRIDebugPrint(aclmdlRI modelRI) {
    aclError code = graph_check("aclmdlRIDebugPrint", modelRI);
    if (code != ACL_SUCCESS) return code;
    const rt_graph *graph = modelRI;
    printf("captured model %p: %u tasks%s\n", modelRI, graph->count,
           graph->complete ? "" : ", capture not ended");
    return ACL_SUCCESS;
}

/* Writes the captured tasks to a file as JSON: the number of each, in their order. */
ASN_API aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char *path) {
    RT_CHECK_NOT_NULL("aclmdlRIDebugJsonPrint", path);
    aclError code = graph_check("aclmdlRIDebugJsonPrint", modelRI);
    if (code != ACL_SUCCESS) return code;
    const rt_graph *graph = modelRI;
    FILE *f = fopen(path, "we");
    if (f != NULL) {
        fprintf(f, "{\"complete\": %s, \"tasks\": [", graph->complete ? "true" : "false");
        for (const rt_task *t = graph->first; t != NULL; t = t->next)
            fprintf(f, "%s{\"id\": %u}", t == graph->first ? "" : ", ", t->id);
        fprintf(f, "]}\n");
    }
    if (f != NULL && fclose(f) == 0) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_WRITE_FILE, "aclmdlRIDebugJsonPrint: %s cannot be written",
                     path);
}

void rt_capture_fork(int stage) {
    if (stage == RT_FORK_PREPARE) {
        asn_arena_lock(&graphs);
        return;
    }
    asn_arena_unlock(&graphs);
    if (stage == RT_FORK_PARENT) return;
    for (uint32_t i = 0; i < atomic_load(&graphs.used); i++) {
        rt_graph *g = asn_arena_at(&graphs, i);
        if (g != NULL && g->ready) pthread_mutex_init(&g->lock, NULL); /* none runs */
    }
}
