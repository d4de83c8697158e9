/* L3 C binding: profiles (profile.h): a session keeps the totals of its beginning, and at
 * its end their difference and the events.
 *
 * The recorder (graph/profile_events.h) counts for the process and never forgets, so
 * sessions may overlap and nothing is reset. A row is a kind, a name and the range that
 * asked for it; bytes and time are sums over its events. The export is the trace-event
 * format that Chrome's and Perfetto's viewers read: times in microseconds from the
 * session's start, one track per thread and kind, and one per stream.
 *
 * A session that is not ended keeps the recorder running for everybody: release ends
 * it.
 */
#include "capi/capi.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "graph/profile_events.h"

struct asnp_profile {
    uint64_t since, began, ended; /* nanoseconds; ended 0: it runs */
    asn_event_total *before;      /* owns */
    size_t num_before, num_events;
    asn_event *events;      /* owns */
    asnp_profile_row *rows; /* owns; longest first */
    int32_t num_rows;
};

/* In the order of the recorder's kinds. */
static const char *const kinds[ASN_EVENT_KINDS] = {
    "program",  "operator", "small",       "to device", "to host",
    "allocate", "release",  "synchronize", "plan",      "range"};

/* All totals so far; the caller frees them. */
static asn_status take_totals(asn_event_total **out, size_t *num) {
    size_t room = asn_profile_totals(0, NULL) + 64;
    *out = asn_malloc(room * sizeof **out);
    if (!*out) return ASN_ERR_MEMORY;
    *num = asn_profile_totals(room, *out);
    return ASN_OK;
}

/* Totals are taken behind everything recorded, which runs first. */
asnp_status asnp_profile_start(int32_t every, asnp_profile **out) {
    NEED(out);
    if (every < 0)
        return asn_error_set(ASN_ERR_VALUE, "profile: every is %d; it may be 0 or more",
                             (int)every);
    asnp_profile *p = asn_calloc(1, sizeof *p);
    if (!p) return ASN_ERR_MEMORY;
    IN_LIBRARY;
    asn_status status = asn_record_start(every, &p->since);
    if (!status) {
        status = take_totals(&p->before, &p->num_before);
        if (status) asn_profile_stop();
    }
    if (status) {
        asn_free(p);
        return status;
    }
    p->began = asn_profile_clock();
    *out = p;
    return ASNP_OK;
}

/* The name of the range that a line of the C binding is; NULL: none. A range itself is
 * told by its name. */
static const char *range_of(uint32_t line, uint32_t kind) {
    const asn_site_info *site = kind == ASN_EVENT_RANGE ? NULL : asn_site_get(line);
    return site ? site->function : NULL;
}

/* NULL equals NULL alone. */
static bool is_same_text(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

/* The row of kind, name and range, a new one if need be: rows has room. A linear search:
 * there are tens of rows. */
static asnp_profile_row *row_of(asnp_profile *p, const char *kind, const char *name,
                                const char *range) {
    for (int32_t i = 0; i < p->num_rows; i++)
        if (p->rows[i].kind == kind && !strcmp(p->rows[i].name, name) &&
            is_same_text(p->rows[i].range, range))
            return &p->rows[i];
    p->rows[p->num_rows] = (asnp_profile_row){.kind = kind, .name = name, .range = range};
    return &p->rows[p->num_rows++];
}

/* sign -1: what had happened before the session. */
static void add(asnp_profile *p, const asn_event_total *t, int sign) {
    asnp_profile_row *row =
        row_of(p, kinds[t->kind], t->name, range_of(t->line, t->kind));
    row->calls += sign * (int64_t)t->calls;
    row->bytes += sign * t->bytes;
    row->seconds += sign * (double)t->length / 1e9;
    if (t->kind <= ASN_EVENT_SMALL) row->flops += sign * t->work;
}

/* Without rows in which nothing happened, longest first. By insertion: few rows. */
static void put_in_order(asnp_profile *p) {
    int32_t n = 0;
    for (int32_t i = 0; i < p->num_rows; i++) {
        asnp_profile_row row = p->rows[i];
        if (row.calls <= 0) continue;
        int32_t at = n++;
        for (; at > 0 && p->rows[at - 1].seconds < row.seconds; at--)
            p->rows[at] = p->rows[at - 1];
        p->rows[at] = row;
    }
    p->num_rows = n;
}

/* Room for events is asked for and filled in two calls; those that come between them are
 * left out. */
static asn_status keep(asnp_profile *p) {
    asn_event_total *after = NULL;
    size_t num_after = 0;
    ASN_TRY(take_totals(&after, &num_after));
    asn_status status = ASN_OK;
    p->rows = asn_malloc((num_after + p->num_before + 1) * sizeof *p->rows);
    uint64_t first;
    size_t n = asn_profile_read(p->since, 0, NULL, &first);
    p->events = asn_malloc((n + 1) * sizeof *p->events);
    if (!p->rows || !p->events) {
        status = ASN_ERR_MEMORY;
    } else {
        p->num_events = asn_profile_read(first, n, p->events, &first);
        for (size_t i = 0; i < num_after; i++)
            add(p, &after[i], 1);
        for (size_t i = 0; i < p->num_before; i++)
            add(p, &p->before[i], -1);
        put_in_order(p);
    }
    asn_free(after);
    return status;
}

/* The recorder's own failure counts first, but the session ends in any case.
 * p->ended is set even where memory lacks for the rows: then only release is left. */
asnp_status asnp_profile_stop(asnp_profile *p) {
    NEED(p);
    IN_LIBRARY;
    if (p->ended) return asn_error_set(ASN_ERR_VALUE, "profile: the session has ended");
    asn_status status = asn_record_stop();
    p->ended = asn_profile_clock();
    asn_status kept = keep(p);
    return status ? status : kept;
}

void asnp_profile_release(asnp_profile *p) {
    if (!p) return;
    if (!p->ended) asn_profile_stop();
    asn_free(p->before);
    asn_free(p->events);
    asn_free(p->rows);
    asn_free(p);
}

/* VALUE: there are no rows yet, or memory lacked for them. */
static asn_status need_end(const asnp_profile *p) {
    if (p->ended && p->rows && p->events) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "profile: the session has not ended");
}

/* Copies as many as there is room for, and tells how many there are. */
asnp_status asnp_profile_rows(const asnp_profile *p, int32_t room, asnp_profile_row *rows,
                              int32_t *count) {
    NEED(p);
    NEED(count);
    if (room > 0) NEED(rows);
    ASN_TRY(need_end(p));
    for (int32_t i = 0; i < room && i < p->num_rows; i++)
        rows[i] = p->rows[i];
    *count = p->num_rows;
    return ASNP_OK;
}

asnp_status asnp_profile_summary(const asnp_profile *p, int32_t top, char **text) {
    /* A line has less, since names are cut. */
    enum { LINE = 200 };
    NEED(p);
    NEED(text);
    ASN_TRY(need_end(p));
    if (top < 1)
        return asn_error_set(ASN_ERR_VALUE, "profile: top is %d; it may be 1 or more",
                             (int)top);
    /* One line for each row, one above and one below. */
    int32_t n = p->num_rows < top ? p->num_rows : top;
    size_t room = (size_t)(n + 3) * LINE;
    char *made = asn_malloc(room), *at = made;
    if (!made) return ASN_ERR_MEMORY;
    at += snprintf(at, LINE, "%-44s %-12s %9s %11s %9s %8s %8s  %s\n", "name", "kind",
                   "calls", "total ms", "mean us", "GB/s", "GFLOP/s", "range");
    for (int32_t i = 0; i < n; i++) {
        const asnp_profile_row *r = &p->rows[i];
        double s = r->seconds > 0 ? r->seconds : 1e-9;
        at += snprintf(at, LINE, "%-44.44s %-12s %9lld %11.3f %9.2f %8.2f %8.2f%s%.40s\n",
                       r->name, r->kind, (long long)r->calls, 1e3 * r->seconds,
                       1e6 * r->seconds / (double)r->calls, (double)r->bytes / s / 1e9,
                       (double)r->flops / s / 1e9, r->range ? "  " : "",
                       r->range ? r->range : "");
    }
    snprintf(at, LINE, "%.3f ms in all\n", (double)(p->ended - p->began) / 1e6);
    *text = made;
    return ASNP_OK;
}

enum { FIRST_STREAM = 1000000 }; /* the tracks of streams but the default one */

/* As JSON's text; a range's name and file are the program's. */
static void write_text(FILE *file, const char *text) {
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 32)
            fprintf(file, "\\u%04x", *c);
        else
            fputc(*c, file);
    fputc('"', file);
}

/* The range and the program's line that asked for the event, if they are known. */
static void write_place(FILE *file, const asn_event *e) {
    const asn_site_info *site = asn_site_get(e->line);
    if (!site) return;
    if (e->kind != ASN_EVENT_RANGE) {
        fprintf(file, ",\"range\":");
        write_text(file, site->function);
    }
    if (!*site->file) return;
    fprintf(file, ",\"file\":");
    write_text(file, site->file);
    fprintf(file, ",\"line\":%d", site->line);
}

/* Memory is a counter (ph C), everything else a span (ph X). Ranges stay on their
 * thread's track, wherever what they asked for ran. */
static void write_event(FILE *file, const asnp_profile *p, const asn_event *e) {
    double at = e->begin > p->began ? (double)(e->begin - p->began) / 1e3 : 0;
    if (e->kind == ASN_EVENT_ALLOCATE || e->kind == ASN_EVENT_RELEASE) {
        fprintf(file,
                ",\n{\"ph\":\"C\",\"name\":\"bytes in use\",\"pid\":1,\"ts\":%.3f,"
                "\"args\":{\"bytes\":%lld}}",
                at, (long long)e->work);
        return;
    }
    /* Tracks of a thread: waits, plans, work, copies, ranges. */
    int track = e->kind == ASN_EVENT_SYNCHRONIZE ? 0 : e->kind == ASN_EVENT_PLAN ? 1 : 2;
    if (e->kind == ASN_EVENT_TO_DEVICE || e->kind == ASN_EVENT_TO_HOST) track = 3;
    if (e->kind == ASN_EVENT_RANGE) track = 4;
    unsigned lane = e->stream && e->kind != ASN_EVENT_RANGE
                        ? FIRST_STREAM + e->stream
                        : e->thread * 10 + (unsigned)track;
    fprintf(file, ",\n{\"ph\":\"X\",\"name\":");
    write_text(file, e->name);
    fprintf(file,
            ",\"cat\":\"%s\",\"pid\":1,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,"
            "\"args\":{\"bytes\":%lld,\"calls\":%u",
            kinds[e->kind], lane, at, (double)e->length / 1e3, (long long)e->bytes,
            e->calls);
    write_place(file, e);
    fprintf(file, "}}");
}

/* One event after the other: no text of the whole is made in memory. */
asnp_status asnp_profile_export(const asnp_profile *p, const char *path) {
    NEED(p);
    NEED(path);
    ASN_TRY(need_end(p));
    FILE *file = fopen(path, "w");
    if (!file)
        return asn_error_set(ASN_ERR_RUNTIME, "profile: '%s' cannot be written: %s", path,
                             strerror(errno));
    fprintf(file, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
                  "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,"
                  "\"args\":{\"name\":\"asnumpy\"}}");
    for (size_t i = 0; i < p->num_events; i++)
        write_event(file, p, &p->events[i]);
    fprintf(file, "\n]}\n");
    bool bad = ferror(file) != 0;
    if (fclose(file) != 0 || bad)
        return asn_error_set(ASN_ERR_RUNTIME, "profile: '%s' cannot be written", path);
    return ASNP_OK;
}
