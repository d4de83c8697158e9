/* CPU device, runtime: capturing streams' tasks, and running them again.
 *
 * While a stream is captured, what is launched on it is kept in order instead of run:
 * operators, copies, fills, host functions, and waits for and records of events. The
 * graph (aclmdlRI) then runs as one task of any stream, as often as wanted, on the
 * addresses of the capture. An event recorded in a capture is reached when the graph
 * first runs, or is gone without. The modes, which say what other threads may do
 * meanwhile, differ in nothing here: every call is allowed.
 *
 * A stream that waits for an event recorded in a capture joins it. The tasks of all its
 * streams are one list, in the order of their launches: a task depends only on what was
 * launched before it, so that order keeps every dependency. Streams that joined must
 * return, by events, to the one that began: each member knows of every other the last
 * task it comes behind, an event carries that (rt_mark), and a wait takes it over.
 *
 * A graph is counted: by its handle, by the streams that are captured into it, and by
 * each task that runs it. A graph runs once at a time.
 */
#include "device/acl/graph.h"

#include <stdio.h>
#include <string.h>

static asnd_arena graphs = ASN_ARENA_INIT("graph", sizeof(rt_graph), 1 << 16, true);
static _Thread_local aclmdlRICaptureMode thread_mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;

/* Takes the task, of this member. */
void rt_graph_add(rt_graph *graph, uint32_t member, rt_task *task) {
    pthread_mutex_lock(&graph->lock);
    rt_graph *group =
        graph->capture != NULL ? graph->capture->member[member].group : NULL;
    if (group != NULL) {
        rt_graph_add(group, 0, task);
        pthread_mutex_unlock(&graph->lock);
        return;
    }
    if (graph->last != NULL) {
        graph->last->next = task;
    } else {
        graph->first = task;
    }
    graph->last = task;
    graph->count++;
    if (graph->capture != NULL) graph->capture->member[member].tail = graph->count;
    pthread_mutex_unlock(&graph->lock);
}

/* Drops the tasks with their arguments. */
static void drop_tasks(rt_graph *graph) {
    while (graph->first != NULL) {
        rt_task *t = graph->first;
        graph->first = t->next;
        if (t->drop != NULL) t->drop(t->arg);
        asn_free(t);
    }
    graph->last = NULL;
    graph->count = 0;
}

void rt_graph_hold(rt_graph *graph) {
    atomic_fetch_add(&graph->references, 1);
}

void rt_graph_release(rt_graph *graph) {
    if (atomic_fetch_sub(&graph->references, 1) != 1) return;
    drop_tasks(graph);
    if (graph->updates != NULL) rt_task_group_release(graph->updates);
    rt_conditions_free(graph);
    asn_free(graph->capture);
    asn_arena_give(&graphs, graph);
}

rt_graph *rt_graph_new(rt_graph *parent) {
    static _Atomic uint32_t last_id;
    rt_graph *graph = asn_arena_take(&graphs);
    if (graph == NULL) return NULL;
    if (!graph->ready) {
        pthread_mutex_init(&graph->lock, NULL);
        pthread_mutex_init(&graph->running, NULL);
    }
    graph->ready = true;
    pthread_mutex_lock(&graph->lock); /* marks of the slot's last model may be read */
    graph->id = atomic_fetch_add(&last_id, 1) + 1;
    graph->state = RT_GRAPH_EMPTY;
    graph->count = graph->open = 0;
    graph->parent = parent;
    graph->first = graph->last = NULL;
    graph->conditions = NULL;
    graph->capture = NULL;
    graph->updates = NULL;
    pthread_mutex_unlock(&graph->lock);
    atomic_store(&graph->references, 1);
    asn_slot_publish(graph);
    return graph;
}

int32_t rt_graph_run(rt_graph *graph) {
    int32_t code = 0;
    rt_conditions_begin(graph);
    for (rt_task *t = graph->first; t != NULL && code == 0; t = t->next)
        code = t->run(t->arg);
    return code;
}

/* The first failure, with the thread's message; what follows it is not run. */
static int32_t task_graph(void *arg) {
    rt_graph *graph = arg;
    pthread_mutex_lock(&graph->running);
    int32_t code = rt_graph_run(graph);
    pthread_mutex_unlock(&graph->running);
    return code;
}

void rt_graph_drop(void *arg) {
    rt_graph_release(arg);
}

aclError rt_graph_check(const char *function, aclmdlRI graph) {
    if (graph == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: modelRI is NULL", function);
    if (asn_arena_alive(&graphs, graph)) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_RT_INVALID_HANDLE,
                     "%s: %p is no captured model, or was destroyed", function, graph);
}

aclError rt_graph_mode_check(const char *function, aclmdlRICaptureMode mode) {
    if ((unsigned)mode <= ACL_MODEL_RI_CAPTURE_MODE_RELAXED) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: mode %d is unknown; 0 to 2 are",
                     function, (int)mode);
}

/* ---- the streams of a capture */

aclError rt_graph_begin(const char *function, rt_graph *graph, rt_stream *stream) {
    rt_capture *capture = asn_calloc(1, sizeof *capture);
    if (capture == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    capture->members = 1;
    capture->member[0].stream = stream;
    pthread_mutex_lock(&graph->lock);
    bool fresh = graph->state == RT_GRAPH_EMPTY;
    if (fresh) {
        graph->state = RT_GRAPH_OPEN;
        graph->capture = capture;
    }
    pthread_mutex_unlock(&graph->lock);
    if (fresh) rt_graph_hold(graph); /* the stream's */
    if (fresh && rt_stream_capture(stream, NULL, graph, 0)) return ACL_SUCCESS;
    if (!fresh) {
        asn_free(capture);
        return asnrtFail(ACL_ERROR_RT_MODEL_CAPTURED, "%s: the model is captured already",
                         function);
    }
    pthread_mutex_lock(&graph->lock);
    graph->state = RT_GRAPH_EMPTY;
    graph->capture = NULL;
    pthread_mutex_unlock(&graph->lock);
    asn_free(capture);
    rt_graph_release(graph);
    return asnrtFail(ACL_ERROR_API_NOT_SUPPORT, "%s: the stream is captured already",
                     function);
}

/* Gives back the groups that have not ended. Returns whether there were any. */
static bool drop_groups(rt_capture *capture) {
    bool any = false;
    for (uint32_t i = 0; i < capture->members; i++)
        if (capture->member[i].group != NULL) {
            rt_graph_release(capture->member[i].group);
            any = true;
        }
    return any;
}

/* The capture is over for all members. 0: every one has returned to the first, or a
 * message. Gives the streams' references back; drops the tasks on failure, or if they are
 * not wanted. ACL_ERROR_API_NOT_SUPPORT: another thread did all that. */
static aclError graph_close(const char *function, rt_graph *graph, bool wanted) {
    pthread_mutex_lock(&graph->lock);
    rt_capture *capture = graph->capture;
    uint32_t alone = 0, open = graph->open;
    if (capture == NULL) {
        pthread_mutex_unlock(&graph->lock);
        return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                         "%s: another thread ended the capture meanwhile", function);
    }
    for (uint32_t i = 1; i < capture->members && alone == 0; i++)
        if (capture->member[i].tail > capture->member[0].known[i]) alone = i;
    graph->capture = NULL;
    graph->state = RT_GRAPH_COMPLETE;
    const bool begun = drop_groups(capture);
    if (alone != 0 || open != 0 || begun || !wanted) drop_tasks(graph);
    pthread_mutex_unlock(&graph->lock);
    for (uint32_t i = 0; i < capture->members; i++) {
        rt_stream *s = capture->member[i].stream;
        if (s != NULL && rt_stream_capture(s, graph, NULL, 0)) rt_graph_release(graph);
    }
    asn_free(capture);
    if (alone != 0)
        return asnrtFail(
            ACL_ERROR_RT_STREAM_UNJOINED,
            "%s: stream %u that joined the capture has tasks that the stream "
            "which began it does not wait for",
            function, alone);
    if (begun)
        return asnrtFail(ACL_ERROR_RT_STREAM_UNJOINED,
                         "%s: a group of tasks has begun and not ended", function);
    if (open != 0)
        return asnrtFail(ACL_ERROR_RT_STREAM_UNJOINED,
                         "%s: %u models of its conditions are still being captured, or "
                         "their captures failed",
                         function, open);
    return ACL_SUCCESS;
}

/* The models that a body is in hear that its capture begins (1), or has succeeded (-1):
 * none of them is complete without it. */
static void tell_parents(rt_graph *body, int by) {
    for (rt_graph *p = body->parent; p != NULL; p = p->parent) {
        pthread_mutex_lock(&p->lock);
        p->open += (uint32_t)by;
        pthread_mutex_unlock(&p->lock);
    }
}

/* Whether the outermost model that the body is in is still being captured: from its end
 * on it may run. */
static bool takes_bodies(const rt_graph *body) {
    rt_graph *top = body->parent;
    while (top->parent != NULL)
        top = top->parent;
    pthread_mutex_lock(&top->lock);
    bool open = top->state == RT_GRAPH_OPEN;
    pthread_mutex_unlock(&top->lock);
    return open;
}

/* A member that goes away: without the first one there is no capture, and no other owner
 * of what it kept. The stream's reference is given back. */
void rt_graph_abandon(rt_graph *graph, uint32_t member) {
    if (member != 0) {
        pthread_mutex_lock(&graph->lock);
        if (graph->capture != NULL) graph->capture->member[member].stream = NULL;
        pthread_mutex_unlock(&graph->lock);
    } else if (graph->state != RT_GRAPH_UPDATE) {
        (void)graph_close("aclrtDestroyStream", graph, false);
        if (graph->parent == NULL && asn_slot_retire(graph)) rt_graph_release(graph);
    }
    rt_graph_release(graph);
}

aclError rt_mark_take(rt_stream *stream, rt_mark **out) {
    uint32_t member;
    rt_graph *graph = rt_stream_graph(stream, &member);
    *out = NULL;
    if (graph == NULL) return ACL_SUCCESS;
    rt_mark *mark = asn_calloc(1, sizeof *mark);
    if (mark == NULL) {
        rt_graph_release(graph);
        return rt_fail_status(ASN_ERR_MEMORY);
    }
    *out = mark;
    atomic_store(&mark->references, 1);
    mark->graph = graph;
    pthread_mutex_lock(&graph->lock);
    mark->id = graph->id;
    if (graph->capture != NULL) {
        const rt_member *m = &graph->capture->member[member];
        memcpy(mark->known, m->known, sizeof mark->known);
        mark->known[member] = m->tail;
    }
    pthread_mutex_unlock(&graph->lock);
    rt_graph_release(graph);
    return ACL_SUCCESS;
}

void rt_mark_release(rt_mark *mark) {
    if (mark != NULL && atomic_fetch_sub(&mark->references, 1) == 1) asn_free(mark);
}

bool rt_mark_is_open(const rt_mark *mark) {
    rt_graph *graph = mark->graph;
    if (!asn_arena_alive(&graphs, graph)) return false;
    pthread_mutex_lock(&graph->lock);
    bool open = graph->id == mark->id && graph->state == RT_GRAPH_OPEN;
    pthread_mutex_unlock(&graph->lock);
    return open;
}

rt_mark *rt_mark_share(rt_mark *mark) {
    if (mark != NULL) atomic_fetch_add(&mark->references, 1);
    return mark;
}

/* The member that waits: the stream's own, or a new one. Lock held; RT_MEMBERS_MAX: there
 * is no room. */
static uint32_t member_of(rt_capture *c, rt_stream *s, bool joined, uint32_t member) {
    if (joined || c->members == RT_MEMBERS_MAX) return joined ? member : RT_MEMBERS_MAX;
    c->member[c->members].stream = s;
    return c->members++;
}

aclError rt_mark_wait(rt_stream *stream, const rt_mark *mark) {
    rt_graph *graph = mark->graph;
    uint32_t member = 0;
    rt_graph *own = rt_stream_graph(stream, &member);
    if (own != NULL) rt_graph_release(own); /* who it is counts, not what it holds */
    if (!asn_arena_alive(&graphs, graph)) return ACL_SUCCESS;
    pthread_mutex_lock(&graph->lock);
    bool open = graph->id == mark->id && graph->state == RT_GRAPH_OPEN;
    bool foreign = own != NULL && own != graph;
    if (open && !foreign) {
        rt_capture *c = graph->capture;
        member = member_of(c, stream, own == graph, member);
        for (uint32_t i = 0; i < RT_MEMBERS_MAX && member < RT_MEMBERS_MAX; i++)
            if (c->member[member].known[i] < mark->known[i])
                c->member[member].known[i] = mark->known[i];
        if (own == NULL && member < RT_MEMBERS_MAX)
            rt_graph_hold(graph); /* the stream's */
    }
    pthread_mutex_unlock(&graph->lock);
    if (!open || (own == graph))
        return ACL_SUCCESS; /* that capture is over, or its own */
    if (foreign)
        return asnrtFail(
            ACL_ERROR_RT_CAPTURE_DEPENDENCY,
            "aclrtStreamWaitEvent: the event was recorded in another capture "
            "than the stream's");
    if (member == RT_MEMBERS_MAX)
        return asnrtFail(ACL_ERROR_RT_NO_STREAM_RESOURCE,
                         "aclrtStreamWaitEvent: a capture has %d streams at most",
                         RT_MEMBERS_MAX);
    bool joined = rt_stream_capture(stream, NULL, graph, member);
    /* A capture that another thread has ended meanwhile did not know of the stream. */
    if (joined && (rt_mark_is_open(mark) || !rt_stream_capture(stream, graph, NULL, 0)))
        return ACL_SUCCESS;
    rt_graph_release(graph);
    return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                     "aclrtStreamWaitEvent: the stream was captured, or the event's "
                     "capture ended, meanwhile");
}

/* ---- AscendCL */

/* Keeps what is launched on the stream from here on, instead of running it. */
ASN_API aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
    aclError code = rt_graph_mode_check("aclmdlRICaptureBegin", mode);
    if (code != ACL_SUCCESS) return code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    rt_graph *graph = rt_graph_new(NULL);
    if (graph == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    code = rt_graph_begin("aclmdlRICaptureBegin", graph, s);
    if (code == ACL_SUCCESS) return code;
    (void)asn_slot_retire(graph);
    rt_graph_release(graph);
    return code;
}

/* As aclmdlRICaptureBegin, into a model that aclmdlRIAddCondTask has made; before the
 * capture ends that the task belongs to. */
ASN_API aclError aclmdlRICaptureToModelRIBegin(aclrtStream stream, aclmdlRI modelRI,
                                               aclmdlRICaptureMode mode) {
    aclError code = rt_graph_mode_check("aclmdlRICaptureToModelRIBegin", mode);
    if (code == ACL_SUCCESS)
        code = rt_graph_check("aclmdlRICaptureToModelRIBegin", modelRI);
    if (code != ACL_SUCCESS) return code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    rt_graph *graph = modelRI;
    tell_parents(graph, 1);
    if (graph->parent != NULL && !takes_bodies(graph))
        code = asnrtFail(ACL_ERROR_RT_MODEL_CAPTURED,
                         "aclmdlRICaptureToModelRIBegin: the capture of the model whose "
                         "condition this one belongs to has ended");
    if (code == ACL_SUCCESS)
        code = rt_graph_begin("aclmdlRICaptureToModelRIBegin", graph, s);
    if (code != ACL_SUCCESS) tell_parents(graph, -1);
    return code;
}

/* 0 where the stream, a member of the graph, may end its capture. */
static aclError end_check(const rt_graph *graph, uint32_t member) {
    if (graph->state == RT_GRAPH_UPDATE)
        return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                         "aclmdlRICaptureEnd: the stream is not captured");
    if (member == 0) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                     "aclmdlRICaptureEnd: the capture began on another stream, where it "
                     "must end");
}

/* Ends the capture: its streams run their tasks again, and `modelRI` holds those kept.
 * An error where another stream that joined it has not returned to this one, which began;
 * the capture ends then, too, and its tasks are dropped. */
ASN_API aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI) {
    RT_CHECK_NOT_NULL("aclmdlRICaptureEnd", modelRI);
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    uint32_t member;
    rt_graph *graph = rt_stream_graph(s, &member);
    if (graph == NULL)
        return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                         "aclmdlRICaptureEnd: the stream is not captured");
    code = end_check(graph, member);
    if (code == ACL_SUCCESS) code = graph_close("aclmdlRICaptureEnd", graph, true);
    if (code == ACL_SUCCESS) tell_parents(graph, -1);
    if (code == ACL_SUCCESS) code = rt_graph_check("aclmdlRICaptureEnd", graph);
    if (code == ACL_SUCCESS) {
        *modelRI = graph;
    } else if (code != ACL_ERROR_API_NOT_SUPPORT && graph->parent == NULL &&
               asn_slot_retire(graph)) { /* not one that another thread's end has given */
        rt_graph_release(graph);
    }
    rt_graph_release(graph);
    return code;
}

/* Whether the stream is captured, and into what (modelRI may be NULL). */
ASN_API aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus *status,
                                        aclmdlRI *modelRI) {
    RT_CHECK_NOT_NULL("aclmdlRICaptureGetInfo", status);
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    rt_graph *graph = rt_stream_graph(s, NULL);
    const bool active = graph != NULL && graph->state != RT_GRAPH_UPDATE;
    if (graph != NULL) rt_graph_release(graph);
    *status =
        active ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE : ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    if (modelRI != NULL) *modelRI = active ? graph : NULL;
    return ACL_SUCCESS;
}

/* The number of the model, which no other model of the process has. */
ASN_API aclError aclmdlRIGetId(aclmdlRI modelRI, uint32_t *modelRIId) {
    RT_CHECK_NOT_NULL("aclmdlRIGetId", modelRIId);
    aclError code = rt_graph_check("aclmdlRIGetId", modelRI);
    if (code == ACL_SUCCESS) *modelRIId = ((const rt_graph *)modelRI)->id;
    return code;
}

/* Exchanges the calling thread's mode with *mode; every mode allows every call here. */
ASN_API aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode) {
    RT_CHECK_NOT_NULL("aclmdlRICaptureThreadExchangeMode", mode);
    aclError code = rt_graph_mode_check("aclmdlRICaptureThreadExchangeMode", *mode);
    if (code != ACL_SUCCESS) return code;
    aclmdlRICaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return ACL_SUCCESS;
}

/* 0 when the model is a program's own, and its capture has ended. */
static aclError whole_check(const char *function, aclmdlRI modelRI) {
    aclError code = rt_graph_check(function, modelRI);
    if (code != ACL_SUCCESS) return code;
    const rt_graph *graph = modelRI;
    if (graph->parent != NULL)
        return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                         "%s: the model belongs to a condition of another", function);
    if (graph->state == RT_GRAPH_COMPLETE) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_API_NOT_SUPPORT, "%s: the capture has not ended",
                     function);
}

/* Runs the captured tasks once, in stream order. */
ASN_API aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream) {
    aclError code = whole_check("aclmdlRIExecuteAsync", modelRI);
    if (code != ACL_SUCCESS) return code;
    rt_graph *graph = modelRI;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    if (!rt_reference(&graph->references))
        return asnrtFail(ACL_ERROR_RT_INVALID_HANDLE,
                         "aclmdlRIExecuteAsync: the model was destroyed meanwhile");
    return asnrtStreamPush((asnrtStreamState *)s, task_graph, rt_graph_drop, graph);
}

/* Destroys the captured tasks, after those runs that were launched. */
ASN_API aclError aclmdlRIDestroy(aclmdlRI modelRI) {
    aclError code = whole_check("aclmdlRIDestroy", modelRI);
    if (code != ACL_SUCCESS) return code;
    rt_graph *graph = modelRI;
    if (!asn_slot_retire(graph)) return rt_graph_check("aclmdlRIDestroy", modelRI);
    rt_graph_release(graph);
    return ACL_SUCCESS;
}

/* Prints the number of captured tasks to standard output. */
ASN_API aclError aclmdlRIDebugPrint(aclmdlRI modelRI) {
    aclError code = rt_graph_check("aclmdlRIDebugPrint", modelRI);
    if (code != ACL_SUCCESS) return code;
    const rt_graph *graph = modelRI;
    printf("captured model %p: %u tasks%s\n", modelRI, graph->count,
           graph->state == RT_GRAPH_COMPLETE ? "" : ", capture not ended");
    return ACL_SUCCESS;
}

/* Writes the captured tasks to a file as JSON: the number of each, in their order. */
ASN_API aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char *path) {
    RT_CHECK_NOT_NULL("aclmdlRIDebugJsonPrint", path);
    aclError code = rt_graph_check("aclmdlRIDebugJsonPrint", modelRI);
    if (code != ACL_SUCCESS) return code;
    const rt_graph *graph = modelRI;
    FILE *f = fopen(path, "we");
    if (f != NULL) {
        fprintf(f, "{\"complete\": %s, \"tasks\": [",
                graph->state == RT_GRAPH_COMPLETE ? "true" : "false");
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
        if (g == NULL || !g->ready) continue;
        pthread_mutex_init(&g->lock, NULL);
        pthread_mutex_init(&g->running, NULL); /* none runs */
    }
}
