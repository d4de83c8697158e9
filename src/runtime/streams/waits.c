/* L2 runtime: the graph of waits (see waits.h).
 *
 * Nodes are queues. An edge of a queue is a hold: an event that another queue will
 * record, or another queue as far as it had got. "As far" matters: a queue that is held
 * up later does not hold up what was put on it before, so an edge to a queue remembers
 * how many holds that had. An event that has been recorded is such an edge as well. A
 * queue waits for an unrecorded event if one is found along its edges; adding an edge
 * from q closes a cycle if such an event, along the new edge, is q's to record.
 */
#include "runtime/streams/waits.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/streams/stream_event.h"

typedef struct {
    asn_stream_event *event; /* owns; NULL: a queue */
    asn_queue *of;
    uint64_t as_far; /* holds of that queue, counted from its beginning */
    asn_site line;   /* where the wait was asked for */
} hold;

typedef struct asn_holds {
    uint64_t first; /* number of holds[0] */
    int num, room;
    hold list[];
} holds;

enum { LONGEST = ASN_QUEUES }; /* steps that a message tells */

/* A way along the edges, for messages, and where a search has been: each queue as far as
 * its holds were followed. They lead nowhere if the search comes there again. Without
 * that, 40 streams that wait for each one before them would be followed along all of
 * their 2^39 ways. */
typedef struct {
    int num, num_seen;
    struct {
        const asn_queue *from;
        const hold *by;
    } step[LONGEST];
    struct {
        const asn_queue *queue;
        uint64_t as_far;
    } seen[ASN_QUEUES];
} path;

static uint64_t count_of(const asn_queue *q) {
    return q->holds ? q->holds->first + (uint64_t)q->holds->num : 0;
}

static bool is_open(const asn_stream_event *e) {
    return e->by && !e->recorded;
}

/* Whether the search has followed that many holds of q; from now on it has. */
static bool was_seen(path *p, const asn_queue *q, uint64_t as_far) {
    int i = 0;
    while (i < p->num_seen && p->seen[i].queue != q)
        i++;
    if (i == p->num_seen)
        p->seen[p->num_seen++].queue = q;
    else if (p->seen[i].as_far >= as_far)
        return true;
    p->seen[i].as_far = as_far;
    return false;
}

static bool find_open(const asn_queue *q, uint64_t as_far, const asn_queue *who, path *p);

/* Whether the hold leads to an event that is not recorded yet, which `who` (NULL: anyone)
 * is to record. */
static bool leads_to_open(const asn_queue *from, const hold *h, const asn_queue *who,
                          path *p) {
    const bool told = p->num < LONGEST;
    if (told) {
        p->step[p->num].from = from;
        p->step[p->num++].by = h;
    }
    const asn_stream_event *e = h->event;
    bool found;
    if (!e)
        found = find_open(h->of, h->as_far, who, p);
    else if (e->first)
        found = find_open(e->first, e->first_holds, who, p);
    else if (!e->by)
        found = false; /* abandoned */
    else
        found = !who || e->by == who || find_open(e->by, UINT64_MAX, who, p);
    if (told && !found) p->num--;
    return found;
}

static bool find_open(const asn_queue *q, uint64_t as_far, const asn_queue *who,
                      path *p) {
    const holds *all = q->holds;
    if (!all || was_seen(p, q, as_far)) return false;
    for (int i = 0; i < all->num && all->first + (uint64_t)i < as_far; i++)
        if (leads_to_open(q, &all->list[i], who, p)) return true;
    return false;
}

/* ---- sentences */

static const char *place(asn_site line, char *text, size_t room) {
    const asn_site_info *site = asn_site_get(line);
    text[0] = '\0';
    if (site) snprintf(text, room, " (%s:%d)", site->file, site->line);
    return text;
}

static void tell_step(char *text, size_t room, const asn_queue *from, const hold *h,
                      const char *verb) {
    size_t used = strlen(text);
    char where[160];
    if (used >= room) return;
    place(h->line, where, sizeof where);
    if (!h->event)
        snprintf(text + used, room - used, "%s%s %s %s%s", used ? "; " : "", from->name,
                 verb, h->of->name, where);
    else if (h->event->first)
        snprintf(text + used, room - used, "%s%s %s %s%s, recorded by %s",
                 used ? "; " : "", from->name, verb, h->event->name, where,
                 h->event->first->name);
    else
        snprintf(text + used, room - used, "%s%s %s %s%s, which %s is to record",
                 used ? "; " : "", from->name, verb, h->event->name, where,
                 h->event->by ? h->event->by->name : "nobody");
}

static void tell(char *text, size_t room, const path *p, int from) {
    for (int i = from; i < p->num; i++)
        tell_step(text, room, p->step[i].from, p->step[i].by, "waits for");
}

/* ---- edges */

/* Drops the first holds that lead nowhere any more. */
static void forget_done(asn_queue *q) {
    holds *all = q->holds;
    int gone = 0;
    while (all && gone < all->num &&
           !leads_to_open(q, &all->list[gone], NULL, &(path){0}))
        gone++;
    if (!gone) return;
    for (int i = 0; i < gone; i++)
        asn_stream_event_release(all->list[i].event);
    all->num -= gone;
    all->first += (uint64_t)gone;
    memmove(all->list, all->list + gone, (size_t)all->num * sizeof *all->list);
}

static asn_status add(asn_queue *q, hold new) {
    path p = {0};
    new.line = asn_site_here();
    if (leads_to_open(q, &new, q, &p)) {
        char text[1024] = "";
        tell_step(text, sizeof text, q, &new, "would wait for");
        tell(text, sizeof text, &p, 1);
        return asn_error_set(ASN_ERR_RUNTIME, "deadlock: %s", text);
    }
    p = (path){0};
    if (!leads_to_open(q, &new, NULL, &p)) return ASN_OK;
    forget_done(q);
    holds *all = q->holds;
    if (!all || all->num == all->room) {
        int room = all ? 2 * all->room : 4, num = all ? all->num : 0;
        uint64_t first = all ? all->first : 0;
        all = asn_realloc(all, sizeof *all + (size_t)room * sizeof *all->list);
        if (!all) return ASN_ERR_MEMORY;
        *all = (holds){.first = first, .num = num, .room = room};
        q->holds = all;
    }
    if (new.event) asn_stream_event_retain(new.event);
    all->list[all->num++] = new;
    return ASN_OK;
}

static int open_events; /* unrecorded ones that somebody waits for */

void asn_waits_count(int more) {
    open_events += more;
}

asn_status asn_waits_add_event(asn_queue *q, asn_stream_event *event) {
    if (is_open(event)) return add(q, (hold){.event = event});
    if (!open_events) return ASN_OK;
    return add(q, (hold){.of = event->recorded, .as_far = event->num_holds});
}

asn_status asn_waits_add_queue(asn_queue *q, asn_queue *of) {
    if (!open_events) return ASN_OK;
    return add(q, (hold){.of = of, .as_far = count_of(of)});
}

void asn_waits_recorded(asn_stream_event *event, asn_queue *q) {
    event->recorded = q;
    event->num_holds = count_of(q);
    if (event->first) return;
    event->first = q;
    event->first_holds = event->num_holds;
}

void asn_waits_abandoned(const asn_stream_event *event) {
    char where[160];
    for (int i = 0; asn_queue_get(i); i++) {
        asn_queue *q = asn_queue_get(i);
        for (int k = 0; q->holds && k < q->holds->num; k++) {
            const hold *h = &q->holds->list[k];
            if (h->event != event) continue;
            place(h->line, where, sizeof where);
            asn_status status =
                asn_error_set(ASN_ERR_RUNTIME,
                              "%s waited for %s%s, which was never recorded and is gone",
                              q->name, event->name, where);
            asn_queue_keep(q, status);
        }
    }
}

/* What an edge leads to, as leads_to_open follows it. */
static asn_wait wait_of(const asn_queue *q, uint64_t number, const hold *h) {
    const asn_stream_event *e = h->event;
    asn_wait w = {.from = q, .event = e, .number = number, .line = h->line};
    w.to = !e ? h->of : e->first ? e->first : e->by;
    w.as_far = !e ? h->as_far : e->first ? e->first_holds : UINT64_MAX;
    return w;
}

int asn_waits_list(asn_wait *out, int room) {
    int num = 0;
    for (int i = 0; asn_queue_get(i); i++) {
        const holds *all = asn_queue_get(i)->holds;
        for (int k = 0; all && k < all->num; k++) {
            const hold *h = &all->list[k];
            if (!leads_to_open(asn_queue_get(i), h, NULL, &(path){0})) continue;
            if (num < room)
                out[num] = wait_of(asn_queue_get(i), all->first + (uint64_t)k, h);
            num++;
        }
    }
    return num;
}

bool asn_waits_open(void) {
    return open_events != 0;
}

bool asn_waits_held(asn_queue *q) {
    return open_events && find_open(q, UINT64_MAX, NULL, &(path){0});
}

/* ---- the host */

asn_status asn_waits_check_host(asn_queue *q) {
    if (!open_events) return ASN_OK;
    path p = {0};
    char text[1024] = "";
    if (!find_open(q, UINT64_MAX, NULL, &p)) return ASN_OK;
    tell(text, sizeof text, &p, 0);
    return asn_error_set(ASN_ERR_RUNTIME,
                         "deadlock: the host has to wait for %s here, before anybody can "
                         "record what it waits for: %s",
                         q->name, text);
}

asn_status asn_waits_host(asn_queue *q, asn_stream_event *event, bool certain) {
    path p = {0};
    char text[1024] = "", where[160];
    const char *verdict = certain ? "deadlock: " : "";
    const char *nobody = certain ? ", and no other thread is at work that could" : "";
    place(asn_site_here(), where, sizeof where);
    if (event && !event->recorded && event->by) {
        (void)find_open(event->by, UINT64_MAX, NULL, &p);
        tell(text, sizeof text, &p, 0);
        return asn_error_set(ASN_ERR_RUNTIME,
                             "%sthe host waits for %s%s, which %s is to record%s%s%s",
                             verdict, event->name, where, event->by->name, nobody,
                             *text ? "; " : "", text);
    }
    (void)find_open(q, UINT64_MAX, NULL, &p);
    tell(text, sizeof text, &p, 0);
    return asn_error_set(ASN_ERR_RUNTIME, "%sthe host waits for %s%s%s%s; %s", verdict,
                         q->name, where, nobody,
                         certain ? " record what it waits for" : "", text);
}
