/* CPU device, collective communication: messages that go on side by side.
 *
 * A collective is a list of steps. Each pass over the list lets every step go as far as
 * its link allows, so that no send waits for a receive or the other way round: a rank
 * never keeps another one waiting for its own order of doing things. Steps in one
 * direction of one link go one after the other, in the order of the list, which must
 * therefore be the same at both ends.
 *
 * A pass without progress is tried again at once for a while, then with the core given
 * to others, then the thread sleeps until a link wakes it.
 */
#include "device/hccl/internal.h"

#include <poll.h>
#include <sched.h>

#include "base/cpu.h"

/* BUSY: most messages of two ranks with a core each come within it; YIELDS: with fewer
 * cores than ranks. */
enum { BUSY_NS = 3000, AWAKE_NS = 30000, SLEEP_MS = 200 };
static const int64_t ENDING_NS = 1000000000;

typedef struct {
    hccl_comm *comm;
    hccl_kind kind;
    const hccl_reduction *r;
    bool wide;
    hccl_step *steps;
    uint32_t count, left;
} run;

/* to[done...] = left op share, of whole elements. */
static void fold(const run *w, hccl_step *s, const void *share, size_t size) {
    size_t n = size / w->r->size, done = s->done / w->r->size;
    if (w->wide) {
        (s->left != NULL ? w->r->add : w->r->store)((float *)s->to + done, share, n);
    } else if (s->left != NULL) {
        w->r->fold((char *)s->to + s->done, (const char *)s->left + s->done, share, n);
    } else {
        memcpy((char *)s->to + s->done, share, size);
    }
    s->done += size;
}

/* The header; true when it is through. */
static bool send_header(const run *w, hccl_link *l, hccl_step *s, bool *moved) {
    if (s->header_done == 0) {
        bool direct = hccl_link_is_direct(l, s->size);
        s->header = (hccl_header){w->kind, direct, s->size, (uintptr_t)s->from, 0};
        if (direct) hccl_link_offered(l);
    }
    if (s->header_done < sizeof s->header) {
        size_t n = hccl_link_push(l, (char *)&s->header + s->header_done,
                                  sizeof s->header - s->header_done);
        s->header_done += n;
        *moved |= n != 0;
    }
    return s->header_done == sizeof s->header;
}

/* A header that does not say what this rank expects is an error: going on would
 * exchange nonsense. */
static HcclResult receive_header(const run *w, hccl_link *l, hccl_step *s, bool *moved) {
    if (s->header_done == sizeof s->header) return HCCL_SUCCESS;
    size_t n = hccl_link_pull(l, (char *)&s->header + s->header_done,
                              sizeof s->header - s->header_done);
    s->header_done += n;
    *moved |= n != 0;
    if (s->header_done < sizeof s->header) return HCCL_SUCCESS;
    if (s->header.kind == w->kind && s->header.size == s->size) {
        hccl_link_begins(l, &s->header);
        return HCCL_SUCCESS;
    }
    if (s->header.kind != w->kind)
        return hccl_fail(HCCL_E_PARA,
                         "rank %u called another collective than rank %u (%x, %x)",
                         s->peer, w->comm->rank, s->header.kind, (unsigned)w->kind);
    return hccl_fail(HCCL_E_PARA, "rank %u sent %llu bytes where rank %u expects %zu",
                     s->peer, (unsigned long long)s->header.size, w->comm->rank, s->size);
}

/* As far as the link allows, CHUNK by chunk, so that steps take turns. */
static HcclResult step_move(const run *w, hccl_link *l, hccl_step *s, bool *moved) {
    size_t n = 0;
    if (s->what == HCCL_STEP_SEND) {
        if (!send_header(w, l, s, moved)) return HCCL_SUCCESS;
        if (s->header.direct)
            n = s->done == 0 && hccl_link_was_read(l) ? s->size : 0;
        else if (s->done < s->size)
            n = hccl_link_push(l, (const char *)s->from + s->done, s->size - s->done);
        s->done += n;
    } else {
        HCCL_TRY(receive_header(w, l, s, moved));
        if (s->header_done < sizeof s->header || s->done == s->size) return HCCL_SUCCESS;
        if (s->what == HCCL_STEP_RECV) {
            n = hccl_link_pull(l, (char *)s->to + s->done, s->size - s->done);
            s->done += n;
        } else {
            const void *share = hccl_link_peek(l, w->r->size, s->size - s->done, &n);
            if (n > 0) {
                fold(w, s, share, n);
                hccl_link_take(l, n);
            }
        }
    }
    *moved |= n != 0;
    return HCCL_SUCCESS;
}

/* One step as far as it goes now. A step owns its direction of the link from its
 * first byte to its last. */
static HcclResult step_do(run *w, hccl_step *s, bool *moved) {
    if (s->after != NULL && !s->after->ended) return HCCL_SUCCESS;
    if (s->peer == w->comm->rank) { /* the own share */
        if (s->size > 0) fold(w, s, s->from, s->size);
        *moved = s->ended = true;
        return HCCL_SUCCESS;
    }
    hccl_link *l = w->comm->links[s->peer];
    hccl_step **owner = hccl_link_owner(l, s->what == HCCL_STEP_SEND);
    if (*owner == NULL) *owner = s;
    if (*owner != s) return HCCL_SUCCESS;
    HCCL_TRY(step_move(w, l, s, moved));
    if (s->done < s->size || s->header_done < sizeof s->header) return HCCL_SUCCESS;
    if (s->what == HCCL_STEP_SEND) {
        hccl_link_sent(l);
    } else {
        hccl_link_received(l);
    }
    *owner = NULL;
    s->ended = *moved = true;
    return HCCL_SUCCESS;
}

/* Each step once, in the order of the list. */
static HcclResult pass(run *w, bool *moved) {
    *moved = false;
    for (uint32_t i = 0; i < w->count; i++) {
        hccl_step *s = &w->steps[i];
        if (s->ended) continue;
        HCCL_TRY(step_do(w, s, moved));
        w->left -= s->ended;
    }
    return HCCL_SUCCESS;
}

/* A step waits for a peer that is gone, and nothing of it is left to read. */
static HcclResult check_peers(const run *w) {
    for (uint32_t p = 0; p < w->comm->size; p++) {
        hccl_link *l = w->comm->links[p];
        if (l == NULL || !hccl_link_dead(l)) continue;
        if (*hccl_link_owner(l, true) != NULL || *hccl_link_owner(l, false) != NULL)
            return hccl_fail(HCCL_E_REMOTE, "rank %u has ended, or has failed", p);
    }
    return HCCL_SUCCESS;
}

/* idle: nanoseconds without progress of any step. */
static HcclResult check_time(const run *w, int64_t idle) {
    if (w->comm->exec_ns != 0 && idle > w->comm->exec_ns)
        return hccl_fail(HCCL_E_TIMEOUT,
                         "another rank did not come within %lld s (HCCL_EXEC_TIMEOUT)",
                         (long long)(w->comm->exec_ns / 1000000000));
    if (atomic_load(&w->comm->ending) && idle > ENDING_NS)
        return hccl_fail(HCCL_E_UNAVAIL, "the communicator was destroyed meanwhile");
    return HCCL_SUCCESS;
}

/* What to sleep on: the links of steps that have begun. */
static uint32_t polls_of(const run *w, struct pollfd *polls) {
    uint32_t n = 0;
    for (uint32_t p = 0; p < w->comm->size; p++) {
        hccl_link *l = w->comm->links[p];
        polls[p] = (struct pollfd){-1, 0, 0};
        if (l == NULL) continue;
        bool sends = *hccl_link_owner(l, true) != NULL;
        bool receives = *hccl_link_owner(l, false) != NULL;
        if (!sends && !receives) continue;
        polls[p].fd = hccl_link_socket(l);
        if (hccl_link_local(l) || receives) polls[p].events |= POLLIN;
        if (sends && hccl_link_blocked(l)) polls[p].events |= POLLOUT;
        n++;
    }
    return n;
}

/* Until a link wakes the thread. One more pass comes between saying so and sleeping;
 * without progress the steps that have begun stay the same. */
static HcclResult doze(run *w, bool *moved) {
    enum { AT_ONCE = 64 };
    struct pollfd some[AT_ONCE], *polls = some;
    uint32_t size = w->comm->size;
    if (size > AT_ONCE && (polls = asn_malloc(size * sizeof *polls)) == NULL)
        return hccl_fail(HCCL_E_MEMORY, "no memory to wait for %u ranks", size);
    uint32_t n = polls_of(w, polls);
    for (uint32_t p = 0; p < size; p++)
        if (polls[p].fd >= 0) hccl_link_doze(w->comm->links[p]);
    HcclResult code = pass(w, moved);
    if (code == HCCL_SUCCESS && !*moved && n > 0) (void)poll(polls, size, SLEEP_MS);
    for (uint32_t p = 0; p < size; p++)
        if (polls[p].fd >= 0) hccl_link_wake(w->comm->links[p], polls[p].revents);
    if (polls != some) asn_free(polls);
    return code;
}

/* Spins, yields, then sleeps; a message that comes within BUSY_NS costs no system
 * call. */
HcclResult hccl_run_steps(hccl_comm *comm, hccl_kind kind, const hccl_reduction *r,
                          bool wide, hccl_step *steps, uint32_t count) {
    run w = {comm, kind, r, wide, steps, count, 0};
    for (uint32_t i = 0; i < count; i++)
        w.left += !steps[i].ended;
    int64_t since = 0; /* without progress */
    while (w.left > 0) {
        bool moved = false;
        HCCL_TRY(pass(&w, &moved));
        if (moved) {
            since = 0;
            continue;
        }
        int64_t now = hccl_now();
        if (since == 0) since = now;
        if (comm->patience != 0 && now > comm->patience) return HCCL_E_AGAIN;
        if (now - since < AWAKE_NS) {
            if (now - since < BUSY_NS) {
                asn_cpu_relax();
            } else {
                (void)sched_yield();
            }
            continue;
        }
        HCCL_TRY(doze(&w, &moved));
        if (moved) {
            since = 0;
            continue;
        }
        HCCL_TRY(pass(&w, &moved)); /* what a peer wrote before it ended */
        if (moved) {
            since = 0;
            continue;
        }
        HCCL_TRY(check_peers(&w));
        HCCL_TRY(check_time(&w, hccl_now() - since));
    }
    return HCCL_SUCCESS;
}
