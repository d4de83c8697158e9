/* CPU device, collective communication: tasks on streams.
 *
 * A call is checked, queued on its stream and returns; the stream's thread communicates.
 * The calls of one communicator run in the order in which they were made, on whichever
 * streams: each has a turn, and begins when it is the first of those that are left. A
 * call that a stream drops gives its turn up. One that a graph captured takes its turn
 * when it runs, each time.
 *
 * A short call on an idle stream is tried by the caller, who spins for PATIENCE_NS: where
 * the other ranks come at the same time, this spares waking the stream's thread and being
 * woken by it (60 us between two busy cores, of which the exchange takes 1 to 2). What is
 * not done by then the stream goes on with, so that no call waits for another rank.
 *
 * After a failure the ranks no longer know where in the streams of bytes they are:
 * every later call fails with the same result, and the links are shut so that the other
 * ranks, who may wait for this one alone, learn of it.
 */
#include "device/hccl/internal.h"

#include <sys/socket.h>

enum { PATIENCE_NS = 20000 };

typedef struct {
    hccl_turn turn;
    hccl_comm *comm;
    bool began; /* by the caller, and is to be resumed */
    uint32_t count;
    hccl_call calls[];
} hccl_task;

/* To the end of the communicator's queue. */
void hccl_turn_take(hccl_comm *c, hccl_turn *t) {
    pthread_mutex_lock(&c->lock);
    t->next = NULL;
    t->queued = true;
    if (c->last != NULL) {
        c->last->next = t;
    } else {
        c->first = t;
    }
    c->last = t;
    pthread_mutex_unlock(&c->lock);
}

/* For a call that the caller tries: only where no other call waits. */
static bool turn_take_if_first(hccl_comm *c, hccl_turn *t) {
    pthread_mutex_lock(&c->lock);
    bool first = c->first == NULL;
    if (first) {
        *t = (hccl_turn){NULL, true};
        c->first = c->last = t;
    }
    pthread_mutex_unlock(&c->lock);
    return first;
}

/* A captured call takes its turn only now, when its graph runs. */
void hccl_turn_wait(hccl_comm *c, hccl_turn *t) {
    if (!t->queued) hccl_turn_take(c, t);
    pthread_mutex_lock(&c->lock);
    while (c->first != t)
        pthread_cond_wait(&c->turned, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

/* Also of one that never began. */
void hccl_turn_end(hccl_comm *c, hccl_turn *t) {
    if (!t->queued) return;
    pthread_mutex_lock(&c->lock);
    hccl_turn *before = NULL;
    for (hccl_turn **at = &c->first; *at != NULL; before = *at, at = &(*at)->next) {
        if (*at != t) continue;
        *at = t->next;
        if (c->last == t) c->last = before;
        break;
    }
    t->queued = false;
    pthread_cond_broadcast(&c->turned);
    pthread_mutex_unlock(&c->lock);
}

/* Until no call of the communicator has a turn. */
void hccl_turns_wait(hccl_comm *c) {
    pthread_mutex_lock(&c->lock);
    while (c->first != NULL)
        pthread_cond_wait(&c->turned, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

/* ---- running */

/* The four arrays of an all-to-all; other calls have NULLs. */
void hccl_call_fini(hccl_call *call) {
    asn_free(call->send_counts);
    asn_free(call->send_at);
    asn_free(call->recv_counts);
    asn_free(call->recv_at);
}

/* Once; the shut sockets wake whoever waits for this rank. */
void hccl_comm_break(hccl_comm *c, HcclResult code) {
    int32_t none = HCCL_SUCCESS;
    if (!atomic_compare_exchange_strong(&c->error, &none, (int32_t)code)) return;
    for (uint32_t k = 0; k < c->size; k++)
        if (c->links[k] != NULL) (void)shutdown(hccl_link_socket(c->links[k]), SHUT_RDWR);
}

/* Messages of a group go side by side; then its collectives, one after the other. */
static HcclResult task_calls(hccl_task *t, const char **function) {
    hccl_call *calls = t->calls;
    uint32_t messages = 0;
    *function = calls[0].function;
    if (t->began) return hccl_resume_call(t->comm);
    if (t->count == 1) return hccl_do_call(t->comm, calls);
    while (messages < t->count && calls[messages].kind == HCCL_KIND_P2P)
        messages++;
    if (messages > 0) HCCL_TRY(hccl_do_messages(t->comm, calls, messages));
    for (uint32_t i = messages; i < t->count; i++) {
        *function = calls[i].function;
        HCCL_TRY(hccl_do_call(t->comm, &calls[i]));
    }
    return HCCL_SUCCESS;
}

/* The task's turn has come. What the stream shall return; *again: HCCL_E_AGAIN. */
static int32_t task_do(hccl_task *t, asnrtStreamState *stream, bool *again) {
    hccl_comm *c = t->comm;
    const char *function = t->calls[0].function;
    asnrtScope scope;
    HcclResult code = (HcclResult)atomic_load(&c->error);
    if (code != HCCL_SUCCESS)
        return asnrtFail(ACL_ERROR_RT_FAILURE,
                         "%s: communicator %s failed before (%s); make another one",
                         function, c->name, HcclGetErrorString(code));
    bool hooked = asnrtHooked();
    if (hooked) asnrtScopeBegin(&scope, stream);
    code = task_calls(t, &function);
    if (hooked) asnrtScopeEnd(&scope, function);
    *again = code == HCCL_E_AGAIN;
    if (code == HCCL_SUCCESS || *again) return 0;
    const char *text = aclGetRecentErrMsg();
    int32_t result = asnrtFail(ACL_ERROR_RT_FAILURE, "%s: %s (%s)", function,
                               text ? text : "failed", HcclGetErrorString(code));
    hccl_comm_break(c, code);
    return result;
}

/* By the stream's thread, which may sleep. */
static int32_t task_run(void *arg) {
    hccl_task *t = arg;
    bool again = false;
    hccl_turn_wait(t->comm, &t->turn);
    t->comm->patience = 0;
    int32_t result = task_do(t, NULL, &again);
    t->began = false;
    hccl_turn_end(t->comm, &t->turn);
    return result;
}

/* Also of a task that ran: its end is the same. */
static void task_drop(void *arg) {
    hccl_task *t = arg;
    if (t->began) hccl_comm_break(t->comm, HCCL_E_UNAVAIL); /* dropped in the middle */
    hccl_turn_end(t->comm, &t->turn);
    for (uint32_t i = 0; i < t->count; i++)
        hccl_call_fini(&t->calls[i]);
    hccl_comm_release(t->comm);
    asn_free(t);
}

/* true: the task is done, and its failure, if any, is kept with the stream. */
static bool task_try(hccl_task *t, asnrtStreamState *stream) {
    hccl_comm *c = t->comm;
    bool again = false;
    if (t->count != 1 || !hccl_call_is_short(c, t->calls)) return false;
    if (!asnrtStreamInlines(stream, PATIENCE_NS) || !asnrtStreamEnter(stream))
        return false;
    if (!turn_take_if_first(c, &t->turn)) {
        asnrtStreamLeave(stream, 0);
        return false;
    }
    c->patience = hccl_now() + PATIENCE_NS;
    int32_t result = task_do(t, stream, &again);
    t->began = again;
    if (!again) hccl_turn_end(c, &t->turn);
    asnrtStreamLeave(stream, result);
    return !again;
}

HcclResult hccl_task_launch(hccl_comm *comm, aclrtStream stream, const hccl_call *calls,
                            uint32_t count) {
    aclError code = ACL_SUCCESS;
    asnrtStreamState *s = asnrtStreamGet(stream, &code);
    hccl_task *t = s ? asn_malloc(sizeof *t + count * sizeof *calls) : NULL;
    if (t == NULL) {
        for (uint32_t i = 0; i < count; i++) {
            hccl_call copy = calls[i];
            hccl_call_fini(&copy);
        }
        hccl_comm_release(comm);
        if (s == NULL) return HCCL_E_PARA; /* with asnrtStreamGet's message */
        return hccl_fail(HCCL_E_MEMORY, "%s: no memory for a task", calls[0].function);
    }
    *t = (hccl_task){{NULL, false}, comm, false, count};
    memcpy(t->calls, calls, count * sizeof *calls);
    if (task_try(t, s)) {
        task_drop(t);
        return HCCL_SUCCESS;
    }
    if (!t->began && !(atomic_load(&s->state) & ASNRT_CAPTURED))
        hccl_turn_take(comm, &t->turn);
    code = asnrtStreamPush(s, task_run, task_drop, t);
    return code == ACL_SUCCESS ? HCCL_SUCCESS : HCCL_E_RUNTIME;
}
