/* CPU device, runtime: tasks of a captured model that choose between other models.
 *
 * A condition is a value of the model, in the device's memory, which its tasks write. A
 * task (aclmdlRIAddCondTask) reads it when it runs, and runs one of the models that were
 * made with it, the bodies: if (value) the first, else the second; while (value) the one;
 * switch: number `value`. A body is captured like a model (aclmdlRICaptureToModelRIBegin)
 * and may have conditions of its own; one that never was does nothing. Bodies live as
 * long as the task, conditions as long as their model.
 */
#include "device/acl/graph.h"

#include <string.h>

/* A task and its bodies, whose references it holds. */
typedef struct {
    const rt_condition *condition;
    aclmdlRICondTaskType type;
    uint32_t size;
    rt_graph *bodies[];
} choice;

static asnd_arena conditions =
    ASN_ARENA_INIT("condition", sizeof(rt_condition), 1 << 16, true);
ASN_FORK_TAKES(conditions, &conditions.lock, ASN_FORK_LEAF)

void rt_conditions_begin(rt_graph *graph) {
    for (rt_condition *c = graph->conditions; c != NULL; c = c->next)
        if (c->assigns) c->value = c->initial;
}

void rt_conditions_free(rt_graph *graph) {
    while (graph->conditions != NULL) {
        rt_condition *c = graph->conditions;
        graph->conditions = c->next;
        if (asn_slot_retire(c)) asn_arena_give(&conditions, c);
    }
}

/* The condition behind a handle; NULL, with *code set, for anything else. */
static rt_condition *condition_get(const char *function, aclmdlRICondHandle handle,
                                   aclError *code) {
    *code = rt_object_check(&conditions, function, "handle", handle);
    return *code == ACL_SUCCESS ? handle : NULL;
}

/* A value of the model, which is being captured. flag:
 * ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT: it is defaultLaunchValue whenever the model
 * begins to run; 0: what was written last. */
ASN_API aclError aclmdlRICondHandleCreate(aclmdlRI modelRI, uint32_t defaultLaunchValue,
                                          aclmdlRICondHandleFlag flag,
                                          aclmdlRICondHandle *handle) {
    RT_CHECK_NOT_NULL("aclmdlRICondHandleCreate", handle);
    aclError code = rt_graph_check("aclmdlRICondHandleCreate", modelRI);
    if (code != ACL_SUCCESS) return code;
    rt_graph *graph = modelRI;
    if ((unsigned)flag > ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclmdlRICondHandleCreate: flag is %d; it must be 0 or 1",
                         (int)flag);
    rt_condition *c = rt_object_new(&conditions);
    if (c == NULL) return ACL_ERROR_BAD_ALLOC;
    c->graph = graph;
    c->value = c->initial = defaultLaunchValue;
    c->assigns = flag == ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT;
    pthread_mutex_lock(&graph->lock);
    bool open = graph->state == RT_GRAPH_OPEN;
    if (open) {
        c->next = graph->conditions;
        graph->conditions = c;
    }
    pthread_mutex_unlock(&graph->lock);
    *handle = c;
    if (open) return ACL_SUCCESS;
    *handle = NULL;
    (void)rt_object_free(&conditions, "aclmdlRICondHandleCreate", "handle", c);
    return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                     "aclmdlRICondHandleCreate: the model is not being captured");
}

/* Where the value lies in the device's memory. */
ASN_API aclError aclmdlRICondHandleGetCondPtr(aclmdlRICondHandle handle, uint64_t **ptr) {
    RT_CHECK_NOT_NULL("aclmdlRICondHandleGetCondPtr", ptr);
    aclError code;
    rt_condition *c = condition_get("aclmdlRICondHandleGetCondPtr", handle, &code);
    if (c != NULL) *ptr = &c->value;
    return code;
}

/* ---- tasks */

/* The value as the tasks before left it. */
static uint64_t value_of(const choice *t) {
    return *(const volatile uint64_t *)&t->condition->value;
}

static int32_t task_choice(void *arg) {
    const choice *t = arg;
    uint64_t value = value_of(t);
    int32_t code = 0;
    switch (t->type) {
    case ACL_MODEL_RI_COND_TYPE_WHILE:
        while (code == 0 && value_of(t) != 0)
            code = rt_graph_run(t->bodies[0]);
        return code;
    case ACL_MODEL_RI_COND_TYPE_IF: value = value != 0 ? 0 : 1; break;
    default: break;
    }
    return value < t->size ? rt_graph_run(t->bodies[value]) : 0;
}

static void drop_choice(void *arg) {
    choice *t = arg;
    for (uint32_t i = 0; i < t->size; i++) {
        t->bodies[i]->parent = NULL; /* one that is still captured tells nobody */
        if (asn_slot_retire(t->bodies[i])) rt_graph_release(t->bodies[i]);
    }
    asn_free(t);
}

/* 0 when type and size go together. */
static aclError params_check(const aclmdlRICondTaskParams *p, uint32_t flags) {
    static const uint32_t most[] = {[ACL_MODEL_RI_COND_TYPE_IF] = 2,
                                    [ACL_MODEL_RI_COND_TYPE_WHILE] = 1,
                                    [ACL_MODEL_RI_COND_TYPE_SWITCH] = 1 << 16};
    bool known = (unsigned)p->type <= ACL_MODEL_RI_COND_TYPE_SWITCH;
    if (known && p->size >= 1 && p->size <= most[p->type] && flags == 0 &&
        p->modelRIArray != NULL)
        return ACL_SUCCESS;
    return asnrtFail(
        ACL_ERROR_INVALID_PARAM,
        "aclmdlRIAddCondTask: type %d, size %u, flags %u, modelRIArray %p: "
        "types 0 (1 or 2 models), 1 (one) and 2 (any number), flags 0 and an "
        "array are allowed",
        (int)p->type, p->size, flags, (void *)p->modelRIArray);
}

/* A task of the stream, which is being captured into the condition's model: it runs one
 * of params.size models that are made here, and written to params.modelRIArray, to be
 * captured by aclmdlRICaptureToModelRIBegin. */
ASN_API aclError aclmdlRIAddCondTask(aclmdlRICondTaskParams params, aclrtStream stream,
                                     uint32_t flags) {
    aclError code = params_check(&params, flags);
    if (code != ACL_SUCCESS) return code;
    rt_condition *c = condition_get("aclmdlRIAddCondTask", params.handle, &code);
    if (c == NULL) return code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    rt_graph *graph = rt_stream_graph(s, NULL);
    if (graph != NULL) rt_graph_release(graph); /* who it is counts, not what it holds */
    if (graph != c->graph)
        return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                         "aclmdlRIAddCondTask: the stream is not captured into the "
                         "condition's model");
    choice *t = asn_malloc(sizeof *t + params.size * sizeof *t->bodies);
    if (t == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    t->condition = c;
    t->type = params.type;
    for (t->size = 0; t->size < params.size; t->size++) {
        t->bodies[t->size] = rt_graph_new(c->graph);
        if (t->bodies[t->size] == NULL) {
            drop_choice(t);
            return rt_fail_status(ASN_ERR_MEMORY);
        }
    }
    memcpy(params.modelRIArray, t->bodies, params.size * sizeof *t->bodies);
    return asnrtStreamPush((asnrtStreamState *)s, task_choice, drop_choice, t);
}
