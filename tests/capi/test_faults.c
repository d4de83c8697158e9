/* The C binding when memory ends: each scenario with the k-th allocation failing, k = 1,
 * 2,
 * ... until none is left to fail: no memory, with a sentence, nothing written, and
 * nothing lost. Linked with the binding's objects, to reach the fault switch.
 */
#include <malloc.h>
#include <stdbool.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "asnumpy/asnumpy.h"
#include "base/alloc.h"
#include "runtime/device.h"

static int failures;

static asnp_array *base;

static asnp_status views(asnp_array **out) {
    asnp_array *t[2] = {NULL, NULL};
    asnp_status status = asnp_flip(base, 0, NULL, &t[0]);
    if (!status) status = asnp_transpose(t[0], NULL, &t[1]);
    if (!status) status = asnp_ravel(t[1], out);
    asnp_release(t[0]);
    asnp_release(t[1]);
    return status;
}

static asnp_status joined(asnp_array **out) {
    asnp_array *both[2] = {base, base};
    return asnp_stack(2, both, 1, out);
}

static asnp_status distinct(asnp_array **out) {
    asnp_array *values = NULL, *first = NULL, *inverse = NULL;
    asnp_status status = asnp_unique(base, &values, &first, &inverse, out);
    asnp_release(values);
    asnp_release(first);
    asnp_release(inverse);
    return status;
}

static asnp_status solved(asnp_array **out) {
    asnp_array *x = NULL, *s = NULL;
    asnp_status status = asnp_lstsq(base, base, -1, &x, out, NULL, &s);
    asnp_release(x);
    asnp_release(s);
    return status;
}

static asnp_status inverted(asnp_array **out) {
    return asnp_pinv(base, 1e-15, out);
}

static asnp_status halves(asnp_array **out) {
    asnp_array *fraction[2] = {NULL, NULL};
    asnp_operand in = asnp_of(base);
    asnp_status status = asnp_ufunc("modf", 1, &in, 2, fraction);
    if (!status) *out = fraction[0];
    asnp_release(fraction[1]);
    return status;
}

static asnp_status drawn(asnp_array **out) {
    asnp_rng *g = NULL;
    asnp_status status = asnp_rng_new("SFC64", 3, &g);
    if (!status) status = asnp_rng_choice(g, 100, 10, 0, out);
    asnp_rng_release(g);
    return status;
}

static asnp_status written(asnp_array **out) {
    char path[64];
    snprintf(path, sizeof path, "faults-%d.npy", (int)getpid());
    asnp_status status = asnp_save(path, base);
    if (!status) status = asnp_load(path, out);
    remove(path);
    return status;
}

static asnp_status packed(asnp_array **out) {
    static const char *const names[2] = {"a", "b"};
    asnp_array *both[2] = {base, base};
    char path[64];
    snprintf(path, sizeof path, "faults-%d.npz", (int)getpid());
    asnp_status status = asnp_savez_compressed(path, 2, names, both);
    if (!status) status = asnp_loadz(path, "b", out);
    remove(path);
    return status;
}

static asnp_status transformed(asnp_array **out) {
    return asnp_fftn(base, 0, NULL, NULL, NULL, out);
}

static asnp_status spread(asnp_array **out) {
    return asnp_std(base, 0, NULL, 1, 0, out);
}

static asnp_status placed(asnp_array **out) {
    asnp_array *order = NULL;
    asnp_status status = asnp_argsort(base, 0, &order);
    if (!status) status = asnp_take_along_axis(base, order, 0, out);
    asnp_release(order);
    return status;
}

/* Events that there is no memory for are lost, and nothing else. */
static asnp_status profiled(asnp_array **out) {
    asnp_profile *p = NULL;
    char *text = NULL;
    asnp_array *made = NULL;
    asnp_status status = asnp_profile_start(1, &p);
    if (!status) status = spread(&made);
    if (p) {
        asnp_status stopped = asnp_profile_stop(p);
        if (!status) status = stopped;
    }
    if (!status) status = asnp_profile_summary(p, 5, &text);
    if (!status)
        *out = made;
    else
        asnp_release(made);
    asnp_free_text(text);
    asnp_profile_release(p);
    return status;
}

static asnp_status twice(int32_t num_in, asnp_array *const *in, int32_t num_out,
                         asnp_array **out, void *context) {
    (void)num_in, (void)num_out, (void)context;
    return asnp_binary_number("multiply", in[0], asnp_int(2), out);
}

/* Of 20 registrations, since the first of them make the registry's memory. */
static asnp_status registered(asnp_array **out) {
    asnp_status status = 0;
    int32_t made = 0;
    for (; made < 20 && !status; made++) {
        asnp_registration r = {"twice", "cpu", ASNP_FLOAT64, made,     twice,
                               NULL,    NULL,  "tests",      __FILE__, __LINE__};
        status = asnp_register(&r);
        if (status) break;
    }
    if (!status) status = asnp_call("twice", 1, &base, 1, out);
    for (int32_t i = 0; i < made; i++)
        if (asnp_unregister("twice", "cpu", ASNP_FLOAT64, i)) failures++;
    return status;
}

/* In the place of the addition of a number, which becomes an array for it. */
static asnp_status replaced(asnp_array **out) {
    asnp_registration r = {"add", NULL, ASNP_FLOAT64, 1,        twice,
                           NULL,  NULL, "tests",      __FILE__, __LINE__};
    asnp_status status = asnp_register(&r);
    if (status) return status;
    status = asnp_replace("add", NULL, ASNP_FLOAT64, 1, 1);
    if (!status) status = asnp_binary_number("add", base, asnp_float(1), out);
    if (asnp_unregister("add", NULL, ASNP_FLOAT64, 1)) failures++;
    return status;
}

/* A product in bfloat16, then one in int8: operands are rounded, scales found. */
static asnp_status narrowed(asnp_array **out) {
    const int64_t shape[] = {8, 8};
    asnp_array *a = NULL, *half = NULL;
    asnp_status status = asnp_full(ASNP_FLOAT32, 2, shape, asnp_float(1.5), &a);
    for (int i = 0; i < 2 && !status; i++) {
        asnp_autocast narrow = {.dtype = i ? ASNP_INT8 : ASNP_BFLOAT16}, before;
        status = asnp_autocast_set(&narrow, &before);
        if (status) break;
        status = asnp_matmul(a, a, i ? out : &half);
        if (asnp_autocast_set(&before, NULL)) failures++;
    }
    asnp_release(a);
    asnp_release(half);
    return status;
}

/* What one stream makes another reads, after an event that is recorded later. */
static asnp_status streamed(asnp_array **out) {
    asnp_stream_handle *s[2] = {NULL, NULL};
    asnp_event *event = NULL;
    asnp_array *made = NULL;
    asnp_status status = asnp_stream_new(0, NULL, &s[0]);
    if (!status) status = asnp_stream_new(0, NULL, &s[1]);
    if (!status) status = asnp_event_new(1, s[0], 0, NULL, &event);
    if (!status) status = asnp_stream_wait_event(s[1], event);
    if (!status) status = asnp_stream_set_current(s[0]);
    if (!status) status = asnp_cumsum(base, 0, &made);
    if (!status) status = asnp_event_record(event, s[0]);
    if (!status) status = asnp_stream_set_current(s[1]);
    if (!status) status = asnp_multiply(made, base, out);
    if (!status) status = asnp_stream_synchronize(s[1]);
    if (asnp_stream_set_current(NULL)) failures++;
    if (status) {
        asnp_release(*out);
        *out = NULL;
    }
    asnp_release(made);
    asnp_event_release(event);
    /* A stream whose event has gone says so, in place of what was said before. */
    while (asnp_synchronize())
        status = status ? status : ASNP_ERROR_RUNTIME;
    asnp_stream_release(s[0]);
    asnp_stream_release(s[1]);
    return status;
}

/* A capture of a program, an operator, a solver, a copy from the host and random numbers,
 * and a run. */
static asnp_status captured(asnp_array **out) {
    static const double numbers[3] = {1, 2, 4};
    const int64_t shape[1] = {3};
    asnp_array *view = NULL, *row = NULL, *t[6] = {NULL};
    asnp_graph *graph = NULL;
    asnp_rng *g = NULL;
    char *text = NULL;
    asnp_status status = asnp_rng_new("PCG64", 3, &g);
    if (!status) status = asnp_capture_begin(1, &base, &view);
    bool opened = !status;
    if (!status) status = asnp_from_host(ASNP_FLOAT64, 1, shape, NULL, numbers, &row);
    if (!status) status = asnp_multiply(view, row, &t[0]);
    if (!status) status = asnp_transpose(t[0], NULL, &t[1]);
    if (!status) status = asnp_matmul(t[1], t[0], &t[2]);
    if (!status) status = asnp_inv(t[2], &t[3]);
    if (!status) status = asnp_cumsum(t[3], 0, &t[4]);
    if (!status) status = asnp_rng_random(g, ASNP_FLOAT64, 1, shape, &t[5]);
    if (!status)
        status = asnp_capture_end(1, &t[4], &graph);
    else if (opened)
        asnp_capture_abort();
    asnp_release(view), asnp_release(row);
    for (int i = 0; i < 6; i++)
        asnp_release(t[i]);
    asnp_rng_release(g);
    if (!status) status = asnp_graph_explain(graph, &text);
    asnp_free_text(text);
    text = NULL;
    if (!status) status = asnp_graph_source(graph, &text);
    if (!status) status = asnp_graph_run(graph, 1, &base, 1, out);
    asnp_free_text(text);
    asnp_graph_release(graph);
    return status;
}

/* A run of the graph refuses what it must not count. */
static asnp_status refuses(asnp_graph *graph, int64_t place) {
    const int64_t shape[1] = {4}, places[4] = {3, place, 3, 1};
    asnp_array *indices = NULL, *counts = NULL;
    asnp_status status = asnp_from_host(ASNP_INT64, 1, shape, NULL, places, &indices);
    if (status) return status;
    status = asnp_graph_run(graph, 1, &indices, 1, &counts);
    asnp_release(indices), asnp_release(counts);
    if (status == ASNP_ERROR_VALUE) return 0;
    if (!status) {
        printf("bincount: %lld is counted\n", (long long)place);
        failures++;
    }
    return status;
}

/* A capture that checks what it counts. */
static asnp_status counted(asnp_array **out) {
    static const int64_t places[4] = {3, 0, 3, 1};
    const int64_t shape[1] = {4};
    asnp_array *indices = NULL, *view = NULL, *counts = NULL;
    asnp_graph *graph = NULL;
    asnp_status status = asnp_from_host(ASNP_INT64, 1, shape, NULL, places, &indices);
    if (!status) status = asnp_capture_begin(1, &indices, &view);
    bool opened = !status;
    if (!status) status = asnp_bincount(view, NULL, 5, &counts);
    if (!status)
        status = asnp_capture_end(1, &counts, &graph);
    else if (opened)
        asnp_capture_abort();
    if (!status) status = refuses(graph, -1);
    if (!status) status = refuses(graph, 5);
    if (!status) status = asnp_graph_run(graph, 1, &indices, 1, out);
    asnp_release(indices), asnp_release(view), asnp_release(counts);
    asnp_graph_release(graph);
    return status;
}

/* Each of several functions that src/numpy composes; the last one's result is *out. */
static asnp_status normed(asnp_array **out) {
    static const char *const orders[] = {"fro", "nuc", "2", "1", "-inf"};
    static const double powers[] = {2, 3, 0, INFINITY};
    const int32_t axis = 0;
    asnp_status status = ASNP_OK;
    for (size_t i = 0; i < 5 && !status; i++) {
        asnp_array *made = NULL;
        status = asnp_matrix_norm(base, orders[i], i & 1, &made);
        asnp_release(made);
    }
    for (size_t i = 0; i < 4 && !status; i++) {
        asnp_array *made = NULL;
        status = asnp_vector_norm(base, powers[i], 1, i & 1 ? NULL : &axis, 1, &made);
        asnp_release(made);
    }
    return status ? status : asnp_trace(base, 1, out);
}

static asnp_status decomposed(asnp_array **out) {
    asnp_array *turned = NULL, *square = NULL, *values = NULL, *vectors = NULL;
    asnp_status status = asnp_swapaxes(base, 0, 1, &turned);
    if (!status) status = asnp_matmul(turned, base, &square);
    if (!status) status = asnp_eig(square, &values, &vectors);
    if (!status) status = asnp_fftfreq(9, 0.5, out);
    asnp_release(turned), asnp_release(square);
    asnp_release(values), asnp_release(vectors);
    return status;
}

static asnp_status sought(asnp_array **out) {
    const int32_t axis = 1;
    const int64_t middle = 6;
    asnp_array *counts = NULL, *flat = NULL, *sorted = NULL, *single = NULL;
    asnp_status status = asnp_count_nonzero(base, 1, &axis, 1, &counts);
    if (!status) status = asnp_ravel(base, &flat);
    if (!status) status = asnp_partition(flat, 0, 1, &middle, &sorted);
    if (!status) status = asnp_astype(base, ASNP_FLOAT32, &single);
    if (!status) status = asnp_searchsorted(sorted, single, 1, out);
    asnp_release(counts), asnp_release(flat);
    asnp_release(sorted), asnp_release(single);
    return status;
}

/* Few elements, which one loop adds at once. */
static asnp_status added(asnp_array **out) {
    const asnp_operand in[2] = {asnp_of(base), asnp_of(base)};
    return asnp_ufunc("add", 2, in, 1, out);
}

/* A product with the columns of three dimensions. */
static asnp_status multiplied(asnp_array **out) {
    const int64_t shape[3] = {2, 3, 2};
    asnp_array *columns = NULL;
    asnp_status status = asnp_reshape(base, 3, shape, &columns);
    if (!status) status = asnp_dot(base, columns, out);
    asnp_release(columns);
    return status;
}

/* A tensor in the device's memory, and a part of it copied there and back. */
static asnp_status moved(asnp_array **out) {
    const int64_t shape[2] = {4, 3};
    static const double row[3] = {7, 8, 9};
    double back[3];
    const asnp_mm_descriptor d = {ASNP_FLOAT64, 2, shape, NULL, 256};
    asnp_array *made = NULL;
    asnp_queue *queue = NULL;
    asnp_transfer *sent = NULL, *fetched = NULL;
    asnp_status status = asnp_mm_tensor(&d, &made);
    if (!status) status = asnp_queue_new(128 << 10, &queue);
    if (!status) status = asnp_queue_copy(queue, made, 24, (void *)row, 24, 1, 0, &sent);
    if (!status) status = asnp_transfer_wait(sent);
    if (!status) status = asnp_queue_copy(queue, made, 24, back, 24, 0, 0, &fetched);
    if (!status) status = asnp_transfer_wait(fetched);
    if (!status && memcmp(row, back, sizeof row) != 0) failures++;
    asnp_transfer_release(sent), asnp_transfer_release(fetched); /* they share it */
    if (!status) status = asnp_mm_reuse(&d, made, out);
    asnp_queue_release(queue);
    asnp_release(made);
    return status;
}

/* A cache that grows, of int8 or in blocks; what failed must have left it in order. */
static asnp_status cached(int blocks, asnp_array **out) {
    const int64_t shape[4] = {2, 1, 3, 2}, at[2][2] = {{0, 0}, {3, 3}};
    const asnp_kv_cache_options o = {.layers = 1,
                                     .kv_heads = 1,
                                     .head_dim = 2,
                                     .sequences = 1,
                                     .dtype = blocks ? ASNP_FLOAT32 : ASNP_INT8,
                                     .window = 2,
                                     .block_size = blocks ? 2 : 0,
                                     .blocks = blocks ? 9 : 0};
    asnp_array *x = NULL, *q = NULL;
    asnp_kv_cache *cache = NULL;
    asnp_kv_cache_state state = {0};
    int32_t second = 0;
    asnp_status status = asnp_kv_cache_new(&o, &cache);
    if (!status) status = asnp_kv_cache_add(cache, &second);
    if (!status) status = asnp_reshape(base, 4, shape, &x);
    if (!status) status = asnp_broadcast_to(x, 4, shape, &q);
    for (int i = 0; i < 2 && !status; i++) {
        status = asnp_kv_cache_update(cache, 0, x, x, 2, NULL, at[i]);
        int64_t from = 0, next = -1;
        if (cache && asnp_kv_cache_tokens(cache, 0, 0, &from, &next)) failures++;
        if (next != (status ? at[i][0] : at[i][0] + 3)) failures++;
    }
    if (!status) status = asnp_kv_cache_truncate(cache, 1, 6);
    if (!status) status = asnp_kv_cache_attention(cache, 0, q, 2, NULL, NULL, out);
    if (cache && asnp_kv_cache_get_state(cache, &state)) failures++;
    asnp_kv_cache_release(cache);
    asnp_release(x), asnp_release(q);
    return status;
}
static asnp_status cached_rows(asnp_array **out) {
    return cached(0, out);
}
static asnp_status cached_blocks(asnp_array **out) {
    return cached(1, out);
}

/* A pattern and products with it, by one way. */
static asnp_status sparse(int32_t strategy, asnp_array **out) {
    const asnp_sparse_thresholds t = {0, 1, 0.5};
    asnp_sparse_pattern *pattern = NULL;
    asnp_sparse_analysis found;
    asnp_array *indptr = NULL, *indices = NULL, *y = NULL;
    asnp_status status = asnp_sparse_pattern_causal(4, 3, &pattern);
    if (!status) status = asnp_sparse_pattern_analyze(pattern, &t, 0, NULL, &found);
    if (!status) status = asnp_sparse_pattern_parts(pattern, NULL, &indptr, &indices);
    if (!status) status = asnp_transpose(base, NULL, &y);
    if (!status) status = asnp_sparse_multiply(pattern, base, y, strategy, &t, out);
    asnp_sparse_pattern_release(pattern);
    asnp_release(indptr), asnp_release(indices), asnp_release(y);
    return status;
}
static asnp_status sparse_direct(asnp_array **out) {
    return sparse(ASNP_SPARSE_DIRECT, out);
}
static asnp_status sparse_blocked(asnp_array **out) {
    return sparse(ASNP_SPARSE_BLOCKED, out);
}
static asnp_status sparse_dense(asnp_array **out) {
    return sparse(ASNP_SPARSE_DENSE, out);
}

typedef struct {
    const char *name;
    asnp_status (*run)(asnp_array **out);
} scenario;

static const scenario scenarios[] = {
    {"views", views},
    {"stack", joined},
    {"unique", distinct},
    {"lstsq", solved},
    {"pinv", inverted},
    {"modf", halves},
    {"choice", drawn},
    {"file", written},
    {"fftn", transformed},
    {"std", spread},
    {"along", placed},
    {"profile", profiled},
    {"registry", registered},
    {"replaced", replaced},
    {"narrowed", narrowed},
    {"streams", streamed},
    {"capture", captured},
    {"bincount", counted},
    {"archive", packed},
    {"norms", normed},
    {"eig", decomposed},
    {"search", sought},
    {"tensor", moved},
    {"dot", multiplied},
    {"add", added},
    {"cache", cached_rows},
    {"blocks", cached_blocks},
    {"sparse", sparse_direct},
    {"sparse blocks", sparse_blocked},
    {"sparse dense", sparse_dense},
};

/* The k-th allocation fails, k = 1, 2, ... until none does. */
static void run(const scenario *s) {
    asnp_status status = 1;
    for (long k = 1; status && k < 500; k++) {
        asnp_array *out = NULL;
        asnp_empty_cache(); /* small arrays are made anew, too */
        asn_alloc_fail_after(k);
        status = s->run(&out);
        asn_alloc_fail_after(0);
        bool told = status == ASNP_ERROR_MEMORY && *asnp_message();
        if (status && (out || !told)) {
            printf("%s, allocation %ld: %s\n", s->name, k,
                   out ? "failed and wrote" : asnp_message());
            failures++;
        }
        asnp_release(out);
    }
    if (status) {
        printf("%s never succeeds: %s\n", s->name, asnp_message());
        failures++;
    }
}

/* What the C library has given out; 0 where it does not say (before glibc 2.33). */
static long long in_use(void) {
    asnp_empty_cache();
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 now = mallinfo2();
    return (long long)(now.uordblks + now.hblkhd);
#else
    return 0;
#endif
}

/* Tables fill at first; a scenario that loses memory does so every time. */
static void check_nothing_is_lost(const scenario *s) {
    long long grown = 1;
    for (int pass = 0; pass < 12 && grown > 0; pass++) {
        long long before = in_use();
        run(s);
        grown = in_use() - before;
    }
    if (grown <= 0) return;
    printf("%s loses memory: %lld bytes each time\n", s->name, grown);
    failures++;
}

int main(int argc, char **argv) {
    static const double data[12] = {1, 5, 2, 8, 3, 9, 4, 4, 6, 0, 7, 2.5};
    const int64_t shape[2] = {4, 3};
    if (argc > 1) asn_device_set_library_path(argv[1]);
    if (asnp_from_host(ASNP_FLOAT64, 2, shape, NULL, data, &base)) {
        printf("%s\n", asnp_message());
        return 1;
    }
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        run(&scenarios[i]);
        check_nothing_is_lost(&scenarios[i]);
    }
    asnp_release(base);
    printf("faults: %s\n", failures ? "FAILED" : "ok");
    return failures != 0;
}
