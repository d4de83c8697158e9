/* CPU device, runtime: captured models, as capture.c and condition.c share them. */
#ifndef ASN_DEVICE_ACL_GRAPH_H
#define ASN_DEVICE_ACL_GRAPH_H

#include "device/acl/internal.h"

enum { RT_MEMBERS_MAX = 64 };

/* A stream of a capture. tail: the number of its last task; known: of each member the
 * last task that this one comes behind, by waits for events. */
typedef struct {
    rt_stream *stream; /* NULL: destroyed meanwhile */
    uint32_t tail, known[RT_MEMBERS_MAX];
    rt_graph *group; /* takes its tasks while a group is captured (task_group.c) */
} rt_member;

/* What lasts while a model is captured; member 0 began. */
typedef struct {
    uint32_t members;
    rt_member member[RT_MEMBERS_MAX];
} rt_capture;

/* What an event stands for that was recorded in a capture; the number of the model tells
 * whether its slot still holds it. */
struct rt_mark {
    _Atomic uint32_t references;
    rt_graph *graph;
    uint32_t id, known[RT_MEMBERS_MAX];
};

/* A value by which a task of the model chooses (condition.c); lives as long as the model.
 */
typedef struct rt_condition {
    asnd_slot slot;
    struct rt_condition *next;
    rt_graph *graph;
    uint64_t value;
    uint32_t initial;
    bool assigns; /* value is initial when a run begins */
} rt_condition;

/* A body of a condition is RT_GRAPH_EMPTY until it is captured; parent: the model it is
 * in. Tasks are counted from 1. open: bodies, and those of theirs, whose capture has
 * begun and not succeeded. running: held by a run of a program's own model, during which
 * only tasks and conditions are read, which a model that has ended keeps as they are;
 * lock: for the rest, briefly. */
enum { RT_GRAPH_EMPTY, RT_GRAPH_OPEN, RT_GRAPH_COMPLETE, RT_GRAPH_UPDATE };
struct rt_graph {
    asnd_slot slot;
    bool ready; /* the locks are set up */
    pthread_mutex_t lock, running;
    _Atomic uint32_t references, state;
    uint32_t id, count, open;
    rt_graph *parent;
    rt_task *first, *last;
    rt_condition *conditions;
    rt_capture *capture;
    struct rt_task_group *updates; /* RT_GRAPH_UPDATE: the group that the tasks are for */
};

/* One more reference to what a program's other thread may destroy; false: the last one is
 * gone. */
static inline bool rt_reference(_Atomic uint32_t *references) {
    uint32_t n = atomic_load(references);
    while (n != 0 && !atomic_compare_exchange_weak(references, &n, n + 1))
        continue;
    return n != 0;
}

/* A model without tasks; NULL: out of memory. One reference, the handle's. */
rt_graph *rt_graph_new(rt_graph *parent);
void rt_graph_drop(void *graph); /* rt_graph_release, of a task's argument */
aclError rt_graph_check(const char *function, aclmdlRI graph); /* 0: it is one */
/* Runs the tasks in their order, up to the first that fails; of one run at a time. */
int32_t rt_graph_run(rt_graph *graph);
/* Makes the stream the first that is captured into the model. */
aclError rt_graph_begin(const char *function, rt_graph *graph, rt_stream *stream);
aclError rt_graph_mode_check(const char *function, aclmdlRICaptureMode mode);
void rt_task_group_release(struct rt_task_group *group);
void rt_conditions_begin(rt_graph *graph); /* a run begins */
void rt_conditions_free(rt_graph *graph);

#endif
