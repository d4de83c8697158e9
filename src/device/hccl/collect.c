/* CPU device, collective communication: the collectives, as lists of steps.
 *
 * Every rank sends to every other one directly; on one machine all links are equally
 * near. A reduction adds the shares of the ranks in the order of the ranks, wherever it
 * is done, so that its result does not depend on timing and is the same everywhere.
 *
 * A long all-reduce goes by blocks of one piece of HCCL_PIECE bytes per rank: rank j
 * reduces piece j and hands it out. Handing out block k and reducing block k + 1 are one
 * list, so that neither waits for the other, and a piece is still in a cache when it is
 * sent on. A short one is sent whole to everybody: one exchange instead of two.
 */
#include "device/hccl/internal.h"

/* SHORT: bytes that a rank sends in all, up to which one exchange takes less time. */
enum { SHORT = 32 << 10, BROADCAST_WHOLE = 64 << 10 };

struct hccl_plan {
    hccl_comm *comm;
    hccl_kind kind;
    size_t unit; /* of the call */
    hccl_reduction r;
    bool wide;      /* the sum stays in float32 */
    uint32_t steps; /* so many in comm->steps */
    void *acc;      /* of the reduction in the list: */
    void *out;
    size_t size;
};

typedef hccl_plan plan;

size_t hccl_plan_size(void) {
    return sizeof(plan);
}

/* Kept with the communicator, so that the list can be resumed. */
static plan *plan_of(hccl_comm *comm, const hccl_call *call, bool reduces) {
    plan *p = comm->plan;
    *p = (plan){comm, call->kind, call->unit, {0}, false, 0, NULL, NULL, 0};
    if (reduces) p->r = hccl_reduction_of(call->dtype, call->op);
    p->wide = p->r.store != NULL && comm->size > 2;
    return p;
}

/* A step at the end of the list; comm->steps has room for all collectives' lists. */
static hccl_step *add(plan *p, hccl_step_what what, uint32_t peer, size_t size) {
    hccl_step *s = &p->comm->steps[p->steps++];
    memset(s, 0, sizeof *s);
    s->what = what;
    s->peer = peer;
    s->size = size;
    return s;
}

/* Nothing to send is no message; both ends know. */
static void send_to(plan *p, uint32_t peer, const void *from, size_t size) {
    if (size > 0) add(p, HCCL_STEP_SEND, peer, size)->from = from;
}

static void receive_from(plan *p, uint32_t peer, void *to, size_t size) {
    if (size > 0) add(p, HCCL_STEP_RECV, peer, size)->to = to;
}

/* out = the shares of all ranks, the own one lying at `own` (which may be out); there is
 * another rank. A share that would be overwritten before its turn makes the sum start in
 * the scratch memory. */
static void reduce_to(plan *p, const void *own, void *out, size_t size) {
    if (size == 0) return;
    hccl_comm *c = p->comm;
    hccl_step *before = NULL;
    p->out = out;
    p->size = size;
    p->acc = p->wide || (own == out && c->rank > 1) ? c->scratch : out;
    /* Of two ranks the own share needs no step of its own: a op b is b op a. */
    bool merged = !p->wide && c->rank < 2;
    for (uint32_t k = 0; k < c->size; k++) {
        if (merged && k == c->rank) continue;
        hccl_step *s = add(p, HCCL_STEP_FOLD, k, size);
        s->to = p->acc;
        s->from = k == c->rank ? own : NULL;
        s->left = before != NULL ? p->acc : merged ? own : NULL;
        s->after = before;
        before = s;
    }
}

/* Runs the list and empties it. */
static HcclResult go(plan *p) {
    HCCL_TRY(hccl_run_steps(p->comm, p->kind, &p->r, p->wide, p->comm->steps, p->steps));
    if (p->size > 0 && p->wide) {
        p->r.narrow(p->out, p->acc, p->size / p->r.size);
    } else if (p->acc != p->out) {
        memcpy(p->out, p->acc, p->size);
    }
    p->steps = 0;
    p->size = 0;
    p->acc = p->out = NULL;
    return HCCL_SUCCESS;
}

/* The own share; operand and result may overlap. */
static void copy(void *to, const void *from, size_t size) {
    if (to != from && size > 0) memmove(to, from, size);
}

/* ---- all-reduce */

/* Everybody gets everybody's operand and reduces all of it, in the same order. */
static HcclResult all_reduce_short(plan *p, const hccl_call *call, size_t size) {
    hccl_comm *c = p->comm;
    char *own = (char *)c->scratch + HCCL_PIECE; /* is sent while `to` changes */
    memcpy(own, call->from, size);
    for (uint32_t k = 0; k < c->size; k++)
        if (k != c->rank) send_to(p, k, own, size);
    reduce_to(p, own, call->to, size);
    return go(p);
}

/* Bytes of rank k's piece, in a block of `size` bytes: equal ones of whole elements. */
static size_t piece(const plan *p, size_t size, uint32_t k, size_t *at) {
    size_t ranks = p->comm->size, unit = p->unit, count = size / unit;
    size_t each = (count + ranks - 1) / ranks;
    size_t begin = hccl_least(k * each, count), end = hccl_least(begin + each, count);
    *at = begin * unit;
    return (end - begin) * unit;
}

/* The steps by which reduced pieces go from their ranks to all others. */
static void hand_out(plan *p, char *to, size_t size) {
    hccl_comm *c = p->comm;
    size_t at, own = piece(p, size, c->rank, &at);
    for (uint32_t k = 0; k < c->size; k++)
        if (k != c->rank) send_to(p, k, to + at, own);
    for (uint32_t k = 0; k < c->size; k++) {
        if (k == c->rank) continue;
        size_t theirs = piece(p, size, k, &at);
        receive_from(p, k, to + at, theirs);
    }
}

/* The steps by which each rank gets the others' shares of its own piece. */
static void scatter_and_reduce(plan *p, const char *from, char *to, size_t size) {
    hccl_comm *c = p->comm;
    size_t at;
    for (uint32_t k = 0; k < c->size; k++) {
        size_t theirs = piece(p, size, k, &at);
        if (k != c->rank) send_to(p, k, from + at, theirs);
    }
    size_t own = piece(p, size, c->rank, &at);
    reduce_to(p, from + at, to + at, own);
}

/* See the file's head; of one rank it is a copy. */
static HcclResult all_reduce(hccl_comm *c, const hccl_call *call) {
    plan *p = plan_of(c, call, true);
    size_t total = call->count * call->unit, block = (size_t)c->size * HCCL_PIECE;
    if (c->size == 1) {
        copy(call->to, call->from, total);
        return HCCL_SUCCESS;
    }
    if (total * (c->size - 1) <= SHORT) return all_reduce_short(p, call, total);
    const char *from = call->from;
    char *to = call->to;
    size_t before = 0;
    for (size_t at = 0; at < total || before > 0;) {
        size_t size = hccl_least(total - at, block);
        if (before > 0) hand_out(p, to + at - before, before);
        if (size > 0) scatter_and_reduce(p, from + at, to + at, size);
        HCCL_TRY(go(p));
        at += size;
        before = size;
    }
    return HCCL_SUCCESS;
}

/* ---- reductions to one rank each */

/* Rank k's part of the operand begins at send_at[k] and has send_counts[k] elements;
 * without them, count elements one after the other. */
static HcclResult reduce_scatter(hccl_comm *c, const hccl_call *call) {
    plan *p = plan_of(c, call, true);
    size_t unit = call->unit, own = 0, own_at = 0, longest = 0;
    for (uint32_t k = 0; k < c->size; k++) {
        size_t n = (call->send_counts ? call->send_counts[k] : call->count) * unit;
        if (k == c->rank) {
            own = n;
            own_at = (call->send_at ? call->send_at[k] : k * call->count) * unit;
        }
        longest = n > longest ? n : longest;
    }
    const char *from = call->from;
    if (c->size == 1) copy(call->to, from + own_at, own);
    for (size_t at = 0; at < longest && c->size > 1; at += HCCL_PIECE) {
        for (uint32_t k = 0; k < c->size; k++) {
            size_t n = (call->send_counts ? call->send_counts[k] : call->count) * unit;
            size_t begin = (call->send_at ? call->send_at[k] : k * call->count) * unit;
            if (k != c->rank && at < n)
                send_to(p, k, from + begin + at, hccl_least(n - at, HCCL_PIECE));
        }
        if (at < own)
            reduce_to(p, from + own_at + at, (char *)call->to + at,
                      hccl_least(own - at, HCCL_PIECE));
        HCCL_TRY(go(p));
    }
    return HCCL_SUCCESS;
}

/* By pieces, so that the root's scratch memory has a bound. */
static HcclResult reduce(hccl_comm *c, const hccl_call *call) {
    plan *p = plan_of(c, call, true);
    size_t total = call->count * call->unit;
    const char *from = call->from;
    if (c->size == 1) copy(call->to, from, total);
    for (size_t at = 0; at < total && c->size > 1; at += HCCL_PIECE) {
        size_t size = hccl_least(total - at, HCCL_PIECE);
        if (c->rank == call->peer) {
            reduce_to(p, from + at, (char *)call->to + at, size);
        } else {
            send_to(p, call->peer, from + at, size);
        }
        HCCL_TRY(go(p));
    }
    return HCCL_SUCCESS;
}

/* ---- moving data */

/* Each begins with the rank behind its own, so that not all write to one rank at
 * once. */
static HcclResult all_gather(hccl_comm *c, const hccl_call *call) {
    plan *p = plan_of(c, call, false);
    size_t unit = call->unit;
    char *to = call->to;
    for (uint32_t i = 0; i < c->size; i++) {
        uint32_t k = (c->rank + i) % c->size;
        size_t n = (call->recv_counts ? call->recv_counts[k] : call->count) * unit;
        size_t at = (call->recv_at ? call->recv_at[k] : k * call->count) * unit;
        if (k == c->rank) {
            copy(to + at, call->from, n);
        } else {
            send_to(p, k, call->from, call->count * unit);
            receive_from(p, k, to + at, n);
        }
    }
    return go(p);
}

/* A long one: the root deals out pieces, which all ranks then hand out. */
static HcclResult broadcast(hccl_comm *c, const hccl_call *call) {
    plan *p = plan_of(c, call, false);
    size_t total = call->count * call->unit, at;
    char *data = call->to;
    bool root = c->rank == call->peer;
    if (total <= BROADCAST_WHOLE || c->size < 3) {
        for (uint32_t k = 0; k < c->size && root; k++)
            if (k != c->rank) send_to(p, k, data, total);
        if (!root) receive_from(p, call->peer, data, total);
        return go(p);
    }
    for (uint32_t k = 0; k < c->size; k++) {
        size_t n = piece(p, total, k, &at);
        if (root && k != c->rank) send_to(p, k, data + at, n);
        if (!root && k == c->rank) receive_from(p, call->peer, data + at, n);
    }
    HCCL_TRY(go(p));
    for (uint32_t k = 0; k < c->size; k++) {
        if (k == c->rank) continue;
        size_t own_at, own = piece(p, total, c->rank, &own_at);
        size_t theirs = piece(p, total, k, &at);
        if (k != call->peer) send_to(p, k, data + own_at, own);
        if (!root) receive_from(p, k, data + at, theirs);
    }
    return go(p);
}

/* The root keeps its own part and sends the others theirs. */
static HcclResult scatter(hccl_comm *c, const hccl_call *call) {
    plan *p = plan_of(c, call, false);
    size_t size = call->count * call->unit;
    const char *from = call->from;
    if (c->rank != call->peer) {
        receive_from(p, call->peer, call->to, size);
        return go(p);
    }
    copy(call->to, from + c->rank * size, size);
    for (uint32_t k = 0; k < c->size; k++)
        if (k != c->rank) send_to(p, k, from + k * size, size);
    return go(p);
}

/* In round i rank r sends to r + i and receives from r - i: every rank has one
 * partner for each direction. */
static HcclResult all_to_all(hccl_comm *c, const hccl_call *call) {
    plan *p = plan_of(c, call, false);
    const char *from = call->from;
    char *to = call->to;
    for (uint32_t i = 0; i < c->size; i++) {
        uint32_t k = (c->rank + i) % c->size, j = (c->rank + c->size - i) % c->size;
        size_t sent = call->send_counts[k] * call->unit;
        size_t got = call->recv_counts[j] * call->recv_unit;
        const char *out = from + call->send_at[k] * call->unit;
        char *in = to + call->recv_at[j] * call->recv_unit;
        if (i == 0) {
            copy(in, out, hccl_least(sent, got));
        } else {
            send_to(p, k, out, sent);
            receive_from(p, j, in, got);
        }
    }
    return go(p);
}

/* Empty messages: each rank tells every other one that it is here. */
static HcclResult barrier(hccl_comm *c, const hccl_call *call) {
    plan *p = plan_of(c, call, false);
    for (uint32_t k = 0; k < c->size; k++) {
        if (k == c->rank) continue;
        (void)add(p, HCCL_STEP_SEND, k, 0);
        (void)add(p, HCCL_STEP_RECV, k, 0);
    }
    return go(p);
}

/* One send or receive outside of a group. */
static HcclResult message(hccl_comm *c, const hccl_call *call) {
    if (call->peer == c->rank) return hccl_do_messages(c, call, 1);
    plan *p = plan_of(c, call, false);
    size_t size = call->count * call->unit;
    hccl_step *s =
        add(p, call->sends ? HCCL_STEP_SEND : HCCL_STEP_RECV, call->peer, size);
    s->from = call->from;
    s->to = call->to;
    return go(p);
}

/* Runs in the stream's thread, or, of a short call, in the caller's. */
HcclResult hccl_do_call(hccl_comm *comm, const hccl_call *call) {
    switch (call->kind) {
    case HCCL_KIND_ALL_REDUCE: return all_reduce(comm, call);
    case HCCL_KIND_BROADCAST: return broadcast(comm, call);
    case HCCL_KIND_REDUCE_SCATTER: return reduce_scatter(comm, call);
    case HCCL_KIND_ALL_GATHER: return all_gather(comm, call);
    case HCCL_KIND_REDUCE: return reduce(comm, call);
    case HCCL_KIND_SCATTER: return scatter(comm, call);
    case HCCL_KIND_ALL_TO_ALL: return all_to_all(comm, call);
    case HCCL_KIND_BARRIER: return barrier(comm, call);
    default: return message(comm, call);
    }
}

/* What may be longer on one rank than on another, as a gathering of uneven parts, is left
 * out: it does not matter here what the other ranks decide. */
bool hccl_call_is_short(const hccl_comm *c, const hccl_call *call) {
    if (call->kind == HCCL_KIND_BARRIER) return true;
    if (call->kind == HCCL_KIND_P2P && call->peer == c->rank) return false;
    if (call->send_counts != NULL || call->recv_counts != NULL) return false;
    return call->count <= SHORT && call->count * call->unit * c->size <= SHORT;
}

HcclResult hccl_resume_call(hccl_comm *c) {
    return go(c->plan);
}

/* ---- messages */

/* From a rank to itself: the k-th send to it meets the k-th receive. */
static HcclResult to_self(const hccl_comm *c, const hccl_call *calls, uint32_t count) {
    uint32_t r = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (calls[i].peer != c->rank || !calls[i].sends) continue;
        while (r < count && (calls[r].peer != c->rank || calls[r].sends))
            r++;
        size_t sent = calls[i].count * calls[i].unit;
        if (r == count || calls[r].count * calls[r].unit != sent)
            return hccl_fail(
                HCCL_E_PARA,
                "rank %u sends %zu bytes to itself and does not receive them "
                "in the same group",
                c->rank, sent);
        copy(calls[r++].to, calls[i].from, sent);
    }
    while (r < count && (calls[r].peer != c->rank || calls[r].sends))
        r++;
    if (r == count) return HCCL_SUCCESS;
    return hccl_fail(HCCL_E_PARA,
                     "rank %u receives from itself what it does not send in the same "
                     "group",
                     c->rank);
}

/* Sends and receives of a group go on side by side, in any order of the two ranks. */
HcclResult hccl_do_messages(hccl_comm *c, const hccl_call *calls, uint32_t count) {
    hccl_step *steps = asn_calloc(count, sizeof *steps);
    hccl_reduction none = {0};
    uint32_t n = 0;
    if (steps == NULL)
        return hccl_fail(HCCL_E_MEMORY, "no memory for %u messages", count);
    HcclResult code = to_self(c, calls, count);
    for (uint32_t i = 0; i < count; i++) {
        if (calls[i].peer == c->rank) continue;
        steps[n].what = calls[i].sends ? HCCL_STEP_SEND : HCCL_STEP_RECV;
        steps[n].peer = calls[i].peer;
        steps[n].size = calls[i].count * calls[i].unit;
        steps[n].from = calls[i].from;
        steps[n++].to = calls[i].to;
    }
    if (code == HCCL_SUCCESS)
        code = hccl_run_steps(c, HCCL_KIND_P2P, &none, false, steps, n);
    asn_free(steps);
    return code;
}
