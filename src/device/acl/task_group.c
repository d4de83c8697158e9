/* CPU device, runtime: groups of a captured model's tasks that a program replaces.
 *
 * What is launched between aclmdlRICaptureTaskGrpBegin and End is a group: one task of
 * the model, which runs a list of its own. Between aclmdlRICaptureTaskUpdateBegin and End
 * a stream that is not captured keeps what is launched on it, too; that list takes the
 * place of the group's when the stream gets there, so that an event recorded behind it
 * says that it has. A run that has begun the group ends with the list that it began with.
 *
 * A list is a model that no program sees. A group is counted: by its task, and by each
 * update.
 */
#include "device/acl/graph.h"

typedef struct rt_task_group {
    asnd_slot slot;
    bool ready; /* the lock is set up */
    pthread_mutex_t lock;
    _Atomic uint32_t references;
    rt_graph *list;
} rt_task_group;

static asnd_arena groups =
    ASN_ARENA_INIT("task group", sizeof(rt_task_group), 1 << 20, true);

/* A list with one reference; NULL: out of memory. */
static rt_graph *list_new(void) {
    rt_graph *list = rt_graph_new(NULL);
    if (list != NULL) (void)asn_slot_retire(list);
    return list;
}

void rt_task_group_release(rt_task_group *group) {
    if (atomic_fetch_sub(&group->references, 1) != 1) return;
    rt_graph_release(group->list);
    asn_arena_give(&groups, group);
}

/* (asnrtTask) */
static int32_t task_group(void *arg) {
    rt_task_group *group = arg;
    pthread_mutex_lock(&group->lock);
    rt_graph *list = group->list;
    rt_graph_hold(list);
    pthread_mutex_unlock(&group->lock);
    const int32_t code = rt_graph_run(list);
    rt_graph_release(list);
    return code;
}

/* The model's task goes, and the handle with it. */
static void drop_group(void *arg) {
    (void)asn_slot_retire(arg);
    rt_task_group_release(arg);
}

/* (asnrtTask) An update's list is the group's, too, from here on; before it is told to
 * the group, whose next update may come at once. */
static int32_t task_update(void *arg) {
    rt_graph *list = arg, *before;
    rt_task_group *group = list->updates;
    list->updates = NULL;
    rt_graph_hold(list);
    pthread_mutex_lock(&group->lock);
    before = group->list;
    group->list = list;
    pthread_mutex_unlock(&group->lock);
    rt_graph_release(before);
    rt_task_group_release(group);
    return 0;
}

/* ---- of a captured stream */

/* Its tasks go to the list; false: they go to one already, or the capture is over. */
static bool group_begin(rt_graph *graph, uint32_t member, rt_graph *list) {
    pthread_mutex_lock(&graph->lock);
    rt_member *m = graph->capture != NULL ? &graph->capture->member[member] : NULL;
    const bool begins = m != NULL && m->group == NULL;
    if (begins) m->group = list;
    pthread_mutex_unlock(&graph->lock);
    return begins;
}

/* The list that its tasks go to, or NULL; `ends`: they do so no more. */
static rt_graph *group_of(rt_graph *graph, uint32_t member, bool ends) {
    rt_graph *list = NULL;
    pthread_mutex_lock(&graph->lock);
    if (graph->capture != NULL) {
        list = graph->capture->member[member].group;
        if (ends) graph->capture->member[member].group = NULL;
    }
    pthread_mutex_unlock(&graph->lock);
    return list;
}

/* The captured stream and its model, held; an error where it is not captured. */
static aclError captured(const char *function, aclrtStream stream, rt_stream **s,
                         rt_graph **graph, uint32_t *member) {
    aclError code = ACL_SUCCESS;
    *s = rt_stream_get(stream, &code);
    if (*s == NULL) return code;
    *graph = rt_stream_graph(*s, member);
    if (*graph != NULL && (*graph)->state == RT_GRAPH_OPEN) return ACL_SUCCESS;
    if (*graph != NULL) rt_graph_release(*graph);
    return asnrtFail(ACL_ERROR_API_NOT_SUPPORT, "%s: the stream is not captured",
                     function);
}

aclError rt_group_check(const char *function, rt_stream *stream) {
    uint32_t member;
    rt_graph *graph =
        rt_stream_is_captured(stream) ? rt_stream_graph(stream, &member) : NULL;
    if (graph == NULL) return ACL_SUCCESS;
    const bool inside =
        graph->state == RT_GRAPH_UPDATE || group_of(graph, member, false) != NULL;
    rt_graph_release(graph);
    if (!inside) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT,
                     "%s: a group of tasks, or an update of one, takes operators, copies "
                     "and fills; no events",
                     function);
}

/* What is launched on the captured stream from here on is a group. */
ASN_API aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream) {
    rt_stream *s = NULL;
    rt_graph *graph = NULL;
    uint32_t member = 0;
    aclError code = captured("aclmdlRICaptureTaskGrpBegin", stream, &s, &graph, &member);
    if (code != ACL_SUCCESS) return code;
    rt_graph *list = list_new();
    const bool begins = list != NULL && group_begin(graph, member, list);
    rt_graph_release(graph);
    if (list == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    if (begins) return ACL_SUCCESS;
    rt_graph_release(list);
    return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                     "aclmdlRICaptureTaskGrpBegin: a group has begun on the stream and "
                     "not ended");
}

/* Ends the group, which is *handle as long as the model lives. */
ASN_API aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp *handle) {
    RT_CHECK_NOT_NULL("aclmdlRICaptureTaskGrpEnd", handle);
    rt_stream *s = NULL;
    rt_graph *graph = NULL;
    uint32_t member = 0;
    aclError code = captured("aclmdlRICaptureTaskGrpEnd", stream, &s, &graph, &member);
    if (code != ACL_SUCCESS) return code;
    rt_task_group *group = asn_arena_take(&groups);
    rt_graph *list = group != NULL ? group_of(graph, member, true) : NULL;
    rt_graph_release(graph);
    if (group == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    if (list == NULL) {
        asn_arena_give(&groups, group);
        return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                         "aclmdlRICaptureTaskGrpEnd: no group has begun on the stream");
    }
    if (!group->ready) pthread_mutex_init(&group->lock, NULL);
    group->ready = true;
    group->list = list;
    atomic_store(&group->references, 1);
    asn_slot_publish(group);
    code = asnrtStreamPush((asnrtStreamState *)s, task_group, drop_group, group);
    if (code == ACL_SUCCESS) *handle = group;
    return code;
}

/* What is launched on the stream, which is not captured, is kept to replace the group's
 * tasks. */
ASN_API aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle) {
    RT_CHECK_ALIVE("aclmdlRICaptureTaskUpdateBegin", &groups, handle);
    aclError code = ACL_SUCCESS;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    rt_task_group *group = handle;
    rt_graph *list = list_new();
    if (list == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    if (!rt_reference(&group->references)) {
        rt_graph_release(list);
        return asnrtFail(ACL_ERROR_RT_INVALID_HANDLE,
                         "aclmdlRICaptureTaskUpdateBegin: the group's model was "
                         "destroyed meanwhile");
    }
    list->updates = group;
    list->state = RT_GRAPH_UPDATE;
    if (rt_stream_capture(s, NULL, list, 0)) return ACL_SUCCESS;
    rt_graph_release(list);
    return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                     "aclmdlRICaptureTaskUpdateBegin: the stream is captured, or another "
                     "update has begun on it and not ended");
}

/* Whether an update has as many tasks as the group, and of the same kinds. */
static aclError compare(rt_task_group *group, const rt_graph *list) {
    pthread_mutex_lock(&group->lock);
    const uint32_t count = group->list->count;
    const rt_task *a = group->list->first, *b = list->first;
    while (a != NULL && b != NULL && a->run == b->run) {
        a = a->next;
        b = b->next;
    }
    pthread_mutex_unlock(&group->lock);
    if (a == NULL && b == NULL) return ACL_SUCCESS;
    return asnrtFail(
        ACL_ERROR_INVALID_PARAM,
        "aclmdlRICaptureTaskUpdateEnd: %u tasks were launched, the group has "
        "%u; their number and kinds must be equal",
        list->count, count);
}

/* The group runs what was launched since aclmdlRICaptureTaskUpdateBegin, from where the
 * stream gets here. */
ASN_API aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream) {
    aclError code = ACL_SUCCESS;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    rt_graph *list = rt_stream_graph(s, NULL);
    const bool ends = list != NULL && list->state == RT_GRAPH_UPDATE &&
                      rt_stream_capture(s, list, NULL, 0);
    if (list != NULL) rt_graph_release(list); /* the stream's own is ours where it ends */
    if (!ends)
        return asnrtFail(
            ACL_ERROR_API_NOT_SUPPORT,
            "aclmdlRICaptureTaskUpdateEnd: no update has begun on the stream");
    code = compare(list->updates, list);
    if (code == ACL_SUCCESS)
        return asnrtStreamPush((asnrtStreamState *)s, task_update, rt_graph_drop, list);
    rt_graph_release(list);
    return code;
}

void rt_task_group_fork(int stage) {
    if (stage == RT_FORK_PREPARE) {
        asn_arena_lock(&groups);
        return;
    }
    asn_arena_unlock(&groups);
    if (stage == RT_FORK_PARENT) return;
    for (uint32_t i = 0; i < atomic_load(&groups.used); i++) {
        rt_task_group *g = asn_arena_at(&groups, i);
        if (g != NULL && g->ready) pthread_mutex_init(&g->lock, NULL);
    }
}
