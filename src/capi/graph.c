/* L3 C binding: captures and their runs (graph.h). The core trusts its callers that a
 * run's arguments are like the captured ones; here they are compared.
 *
 * A capture writes down what is launched between its beginning and its end, for arguments
 * that may be others at each run. What was written down holds for arrays of the same
 * dtype, shape, strides and overlap: planning looked at all of them. So a graph keeps the
 * layouts of its arguments and, for each pair, the distance of their first elements, or
 * that they share nothing; a run with other ones is refused, where Python's jit would
 * trace again.
 *
 * All handles of a run are made before anything is launched (room): what ran cannot be
 * taken back, so nothing may fail behind it.
 */
#include "capi/capi.h"

#include <string.h>

#include "array/broadcast.h"
#include "graph/capture/replay.h"

struct asnp_graph {
    asn_replay *replay; /* owns */
    int32_t num_args, num_results;
    asn_layout *like; /* owns: the arguments' */
    int64_t *apart;   /* owns: of argument i to j at i * num_args + j */
};

/* The open capture's arguments, until its end makes a graph of them. */
static asnp_graph *opened;

enum { APART = INT64_MIN }; /* they share no bytes */

/* Bytes from element (0, ..., 0) of b to that of a; two buffers may be two adoptions of
 * one memory. APART: they share no bytes, wherever they lie. */
static int64_t distance(const asn_array *a, const asn_array *b) {
    if (!asn_buffers_alias(a->buffer, b->buffer) || !asn_array_may_share(a, b))
        return APART;
    int64_t bytes = a->layout.offset - b->layout.offset;
    if (a->buffer != b->buffer)
        bytes += (const char *)a->buffer->data - (const char *)b->buffer->data;
    return bytes;
}

/* Of a graph that is half made too: new_graph ends one so. */
void asnp_graph_release(asnp_graph *g) {
    if (!g) return;
    IN_LIBRARY;
    asn_replay_free(g->replay);
    for (int32_t i = 0; g->like && i < g->num_args; i++)
        asn_layout_fini(&g->like[i]);
    asn_free(g->like);
    asn_free(g->apart);
    asn_free(g);
}

/* A calloc of n + 1: of no arguments it may not be NULL. */
static asn_status new_graph(int32_t n, const asn_array *const *args, asnp_graph **out) {
    asnp_graph *g = asn_calloc(1, sizeof *g);
    asn_status status = g ? ASN_OK : ASN_ERR_MEMORY;
    if (g) {
        g->like = asn_calloc((size_t)n + 1, sizeof *g->like);
        g->apart = asn_calloc((size_t)n * (size_t)n + 1, sizeof *g->apart);
        if (!g->like || !g->apart) status = ASN_ERR_MEMORY;
    }
    for (int32_t i = 0; i < n && !status; i++) {
        status = asn_layout_copy(&g->like[i], &args[i]->layout);
        g->num_args += !status;
        for (int32_t j = 0; j < i && !status; j++)
            g->apart[i * n + j] = distance(args[i], args[j]);
    }
    if (status)
        asnp_graph_release(g);
    else
        *out = g;
    return status;
}

/* The handles' arrays; the caller frees them. */
static asn_status arrays_of(int32_t n, asnp_array *const *handles, const char *what,
                            const asn_array ***out) {
    *out = NULL;
    if (n < 0)
        return asn_error_set(ASN_ERR_VALUE, "there are %d %s; 0 or more are allowed",
                             (int)n, what);
    if (n) ASN_TRY(asn_capi_need(handles, what));
    for (int32_t i = 0; i < n; i++)
        ASN_TRY(asn_capi_need(handles[i], what));
    *out = asn_calloc((size_t)n + 1, sizeof **out);
    for (int32_t i = 0; *out && i < n; i++)
        (*out)[i] = &handles[i]->array;
    return *out ? ASN_OK : ASN_ERR_MEMORY;
}

/* Handles for n arrays that a call is to make; written to `out` by hand_out alone. */
typedef struct {
    int32_t n;
    asnp_array **handles;
    asn_array *arrays;
} room;

/* What was handed out is no longer in it. */
static void close_room(room *r) {
    for (int32_t i = 0; r->handles && i < r->n; i++)
        asn_free(r->handles[i]);
    asn_free(r->handles);
    asn_free(r->arrays);
}

/* All handles, without arrays; none on failure. */
static asn_status make_room(int32_t n, room *r) {
    *r = (room){.n = n,
                .handles = asn_calloc((size_t)n + 1, sizeof *r->handles),
                .arrays = asn_calloc((size_t)n + 1, sizeof *r->arrays)};
    bool enough = r->handles && r->arrays;
    for (int32_t i = 0; enough && i < n; i++)
        enough = (r->handles[i] = asn_malloc(sizeof **r->handles)) != NULL;
    if (enough) return ASN_OK;
    close_room(r);
    return ASN_ERR_MEMORY;
}

/* Cannot fail. */
static void hand_out(room *r, asnp_array **out) {
    for (int32_t i = 0; i < r->n; i++) {
        asn_array_move(&r->handles[i]->array, &r->arrays[i]);
        out[i] = r->handles[i];
        r->handles[i] = NULL;
    }
}

/* The views stand for the arguments while the capture is open. */
static asn_status begin(int32_t n, const asn_array *const *args, asnp_array **views) {
    room made;
    ASN_TRY(make_room(n, &made));
    asnp_graph *g = NULL;
    asn_status status = new_graph(n, args, &g);
    if (!status) status = asn_capture_begin(n, args, made.arrays);
    if (status) {
        asnp_graph_release(g);
    } else {
        hand_out(&made, views);
        opened = g;
    }
    close_room(&made);
    return status;
}

/* The core holds the library's lock until the capture ends: `opened` belongs to the
 * thread that began it. */
asnp_status asnp_capture_begin(int32_t num_args, asnp_array *const *args,
                               asnp_array **views) {
    NEED(views);
    IN_LIBRARY;
    if (asn_capture_open())
        return asn_error_set(ASN_ERR_RUNTIME, "a capture is open on this thread");
    const asn_array **given;
    ASN_TRY(arrays_of(num_args, args, "args", &given));
    asn_status status = begin(num_args, given, views);
    asn_free(given);
    return (asnp_status)status;
}

/* The capture is over whatever comes of it; where the results are refused it is given up.
 */
asnp_status asnp_capture_end(int32_t num_results, asnp_array *const *results,
                             asnp_graph **out) {
    NEED(out);
    IN_LIBRARY;
    if (!asn_capture_open())
        return asn_error_set(ASN_ERR_RUNTIME, "no capture is open on this thread");
    asnp_graph *g = opened;
    const asn_array **given;
    asn_status status = arrays_of(num_results, results, "results", &given);
    opened = NULL;
    if (status)
        asn_capture_abort();
    else
        status = asn_capture_end(num_results, given, &g->replay);
    if (!status && !g->replay)
        status = asn_error_set(ASN_ERR_VALUE, "an array that is no argument of the "
                                              "capture shares memory with one");
    asn_free(given);
    g->num_results = num_results;
    if (status)
        asnp_graph_release(g);
    else
        *out = g;
    return (asnp_status)status;
}

/* What was recorded so far runs as it does without a capture. */
void asnp_capture_abort(void) {
    if (!asn_capture_open()) return;
    asn_capture_abort();
    asnp_graph_release(opened);
    opened = NULL;
}

/* ---- runs */

/* Argument i is like the captured one: dtype, shape, strides, flags, and its distance
 * from those before it. */
static asn_status check_argument(const asnp_graph *g, int32_t i,
                                 const asn_array *const *args) {
    const asn_layout *want = &g->like[i], *have = &args[i]->layout;
    char got[128], wanted[128];
    if (have->dtype != want->dtype)
        return asn_error_set(ASN_ERR_TYPE,
                             "graph: argument %d has dtype %s, the captured one %s",
                             (int)i, asn_dtype_name(asn_layout_dtype(have)),
                             asn_dtype_name(asn_layout_dtype(want)));
    if (!asn_layout_same_shape(have, want))
        return asn_error_set(
            ASN_ERR_VALUE, "graph: argument %d has shape %s, the captured one %s", (int)i,
            asn_shape_format(got, sizeof got, have->ndim, have->shape),
            asn_shape_format(wanted, sizeof wanted, want->ndim, want->shape));
    if (have->flags != want->flags ||
        memcmp(have->strides, want->strides, (size_t)want->ndim * sizeof *want->strides))
        return asn_error_set(
            ASN_ERR_VALUE,
            "graph: argument %d has strides %s, the captured one %s, or "
            "one of them cannot be written",
            (int)i, asn_shape_format(got, sizeof got, have->ndim, have->strides),
            asn_shape_format(wanted, sizeof wanted, want->ndim, want->strides));
    for (int32_t j = 0; j < i; j++)
        if (distance(args[i], args[j]) != g->apart[i * g->num_args + j])
            return asn_error_set(ASN_ERR_VALUE,
                                 "graph: arguments %d and %d do not share memory as the "
                                 "captured ones did",
                                 (int)j, (int)i);
    return ASN_OK;
}

/* The last check is of arrays that the capture read without naming them: an argument that
 * overlaps one would change it in a way that nobody planned for. */
static asn_status run(asnp_graph *g, const asn_array *const *args, asnp_array **results) {
    for (int32_t i = 0; i < g->num_args; i++)
        ASN_TRY(check_argument(g, i, args));
    if (asn_replay_collides(g->replay, args))
        return asn_error_set(ASN_ERR_VALUE, "graph: an argument shares memory with an "
                                            "array that was none in the capture");
    room made;
    ASN_TRY(make_room(g->num_results, &made));
    asn_status status = asn_replay_run(g->replay, args, made.arrays);
    if (!status) hand_out(&made, results);
    close_room(&made);
    return status;
}

/* Results are new arrays at each run; out gets all or none. */
asnp_status asnp_graph_run(asnp_graph *graph, int32_t num_args, asnp_array *const *args,
                           int32_t num_results, asnp_array **results) {
    NEED(graph);
    if (num_args != graph->num_args || num_results != graph->num_results)
        return asn_error_set(ASN_ERR_VALUE,
                             "graph: %d arguments and %d results; it was captured with "
                             "%d and %d",
                             (int)num_args, (int)num_results, (int)graph->num_args,
                             (int)graph->num_results);
    if (num_results) NEED(results);
    IN_LIBRARY;
    const asn_array **given;
    ASN_TRY(arrays_of(num_args, args, "args", &given));
    asn_status status = run(graph, given, results);
    asn_free(given);
    return (asnp_status)status;
}

/* Facts of the capture, which do not change; no lock is needed. */
asnp_status asnp_graph_count(const asnp_graph *graph, asnp_graph_counts *out) {
    asn_replay_info info;
    NEED(graph);
    NEED(out);
    asn_replay_get_info(graph->replay, &info);
    *out = (asnp_graph_counts){.launches = info.steps,
                               .programs = info.programs,
                               .operators = info.operators,
                               .copies = info.copies,
                               .temporary_bytes = info.arena_bytes,
                               .result_bytes = info.result_bytes};
    return ASNP_OK;
}

/* A table of the launches; the caller frees the text. */
asnp_status asnp_graph_explain(const asnp_graph *graph, char **text) {
    NEED(graph);
    NEED(text);
    return (asnp_status)asn_replay_explain(graph->replay, text);
}

asnp_status asnp_graph_source(const asnp_graph *graph, char **text) {
    NEED(graph);
    NEED(text);
    IN_LIBRARY;
    return (asnp_status)asn_replay_source(graph->replay, text);
}

/* `table` must stay loaded as long as the graph: it holds machine code that runs call. */
asnp_status asnp_graph_attach(asnp_graph *graph, const void *table) {
    NEED(graph);
    NEED(table);
    IN_LIBRARY;
    return (asnp_status)asn_replay_attach(graph->replay, table);
}
