/* L2 runtime: segments of device memory (see segment.h). The ranges of a segment are
 * linked in the order of their addresses, and two neighbours are never both idle. Each
 * idle range is also in the list of the largest class that fits into it; a bit per class
 * tells which lists have any.
 */
#include "runtime/memory/segment.h"

#include <stddef.h>

#include "base/alloc.h"

/* What is left of a cut is kept with the block when nothing could use it. */
enum { LEAST_REST = 64 << 10 };

/* Makes r idle: the first of its class. */
static void list_add(asn_segments *s, asn_range *r) {
    int c = asn_class_within(r->bytes);
    r->state = ASN_RANGE_IDLE;
    r->newer = NULL;
    r->older = s->classes[c];
    if (r->older) r->older->newer = r;
    s->classes[c] = r;
    s->filled[c / 64] |= (uint64_t)1 << c % 64;
    s->idle += r->bytes;
}

/* Takes an idle range out of its class; its state is the caller's to set. */
static void list_remove(asn_segments *s, asn_range *r) {
    int c = asn_class_within(r->bytes);
    if (r->newer)
        r->newer->older = r->older;
    else
        s->classes[c] = r->older;
    if (r->older) r->older->newer = r->newer;
    if (!s->classes[c]) s->filled[c / 64] &= ~((uint64_t)1 << c % 64);
    s->idle -= r->bytes;
}

/* The first class from c on with an idle range; ASN_SIZE_CLASSES: none. */
static int next_filled(const asn_segments *s, int c) {
    for (int word = c / 64; word < (ASN_SIZE_CLASSES + 63) / 64; word++) {
        uint64_t bits = s->filled[word];
        if (word == c / 64) bits &= ~(uint64_t)0 << c % 64;
        if (bits) return word * 64 + __builtin_ctzll(bits);
    }
    return ASN_SIZE_CLASSES;
}

/* Whether the range may serve the request: long ranges are kept for long requests. */
static bool may_serve(const asn_segments *s, const asn_range *r, int64_t bytes,
                      int64_t longest) {
    return r->bytes >= bytes && r->bytes <= longest &&
           (s->max_split <= 0 || r->bytes <= s->max_split || bytes > s->max_split);
}

/* The idle range for a request: of its own class, then of the next ones. */
static asn_range *find(const asn_segments *s, int64_t bytes, int64_t longest) {
    /* Ranges of the class below may be long enough too: those of the same size mostly. */
    int c = asn_class_within(bytes);
    for (asn_range *r = s->classes[c]; r; r = r->older)
        if (may_serve(s, r, bytes, longest)) return r;
    for (c = next_filled(s, c + 1); c < ASN_SIZE_CLASSES; c = next_filled(s, c + 1))
        for (asn_range *r = s->classes[c]; r; r = r->older)
            if (may_serve(s, r, bytes, longest)) return r;
    return NULL;
}

/* Cuts what the request does not need off the end of a range. */
static void cut(asn_segments *s, asn_range *r, int64_t bytes) {
    if (r->bytes - bytes < LEAST_REST) return;
    if (s->max_split > 0 && r->bytes > s->max_split && r->bytes - bytes < s->max_split)
        return;
    asn_range *rest = asn_malloc(sizeof *rest);
    if (!rest) {
        asn_error_clear();
        return;
    }
    *rest = (asn_range){.address = r->address + bytes,
                        .bytes = r->bytes - bytes,
                        .segment = r->segment,
                        .before = r,
                        .after = r->after};
    if (r->after) r->after->before = rest;
    r->after = rest;
    r->bytes = bytes;
    list_add(s, rest);
}

asn_range *asn_segments_take(asn_segments *s, int64_t bytes, int64_t longest) {
    asn_range *r = find(s, bytes, longest);
    if (!r) return NULL;
    list_remove(s, r);
    r->state = ASN_RANGE_LIVE;
    r->site = 0;
    cut(s, r, bytes);
    return r;
}

asn_status asn_segments_add(asn_segments *s, void *memory, int64_t bytes) {
    asn_segment *segment = asn_malloc(sizeof *segment);
    asn_range *r = segment ? asn_malloc(sizeof *r) : NULL;
    if (!r) {
        asn_free(segment);
        return ASN_ERR_MEMORY;
    }
    *segment = (asn_segment){s, r, bytes, s->list, NULL, ++s->tick};
    *r = (asn_range){.address = memory, .bytes = bytes, .segment = segment};
    if (s->list) s->list->previous = segment;
    s->list = segment;
    s->num++;
    s->reserved += bytes;
    list_add(s, r);
    return ASN_OK;
}

/* `r` takes in its idle neighbour `next`, which follows it. */
static void join(asn_range *r, asn_range *next) {
    r->bytes += next->bytes;
    r->after = next->after;
    if (next->after) next->after->before = r;
    asn_free(next);
}

void asn_segments_give(asn_range *r) {
    asn_segments *s = r->segment->owner;
    r->segment->idle_since = ++s->tick;
    if (r->after && r->after->state == ASN_RANGE_IDLE) {
        list_remove(s, r->after);
        join(r, r->after);
    }
    if (r->before && r->before->state == ASN_RANGE_IDLE) {
        r = r->before;
        list_remove(s, r);
        join(r, r->after);
    }
    list_add(s, r);
}

asn_segment *asn_segments_idle_segment(const asn_segments *s) {
    asn_segment *oldest = NULL;
    for (asn_segment *at = s->list; at; at = at->next) {
        bool idle = at->first->state == ASN_RANGE_IDLE && !at->first->after;
        if (idle && (!oldest || at->idle_since < oldest->idle_since)) oldest = at;
    }
    return oldest;
}

void *asn_segments_drop(asn_segments *s, asn_segment *segment) {
    void *memory = segment->first->address;
    list_remove(s, segment->first);
    if (segment->next) segment->next->previous = segment->previous;
    if (segment->previous)
        segment->previous->next = segment->next;
    else
        s->list = segment->next;
    s->num--;
    s->reserved -= segment->bytes;
    asn_free(segment->first);
    asn_free(segment);
    return memory;
}
