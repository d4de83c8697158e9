/* AsNumpy in C: a piece of a program captured once and launched again with other arrays:
 * no recording, no planning. Include asnumpy/asnumpy.h.
 *
 *     asnp_array *args[2] = {x, y}, *in[2], *out = NULL;
 *     asnp_graph *graph = NULL;
 *     if (asnp_capture_begin(2, args, in)) return 1;
 *     asnp_status status = asnp_multiply(in[0], in[1], &out);
 *     if (!status) status = asnp_capture_end(1, &out, &graph);
 *     else asnp_capture_abort();
 *     ...
 *     asnp_graph_run(graph, 2, others, 1, &result); (the same product of other arrays)
 *     asnp_graph_release(graph);
 *
 * Between begin and end everything the thread calls runs as ever and is written down.
 * Numbers and shapes are what they were then; arrays that are no arguments are memory,
 * read (and written) again by each run; random numbers are drawn again, and a generator
 * is used by a run as by a draw. A function that needs an element's value on the
 * host fails with RUNTIME, and so does the end. Until the end other threads' calls of the
 * library wait; begin and end belong to one thread.
 */
#ifndef ASNUMPY_GRAPH_H_
#define ASNUMPY_GRAPH_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was captured. Ended by asnp_graph_release. */
typedef struct asnp_graph asnp_graph;

/* Begins a capture on this thread. views receives num_args new arrays over the arguments'
 * memory: the program uses them in the arguments' place until the end, and releases them
 * after it. VALUE: num_args < 0. RUNTIME: a capture is open. MEMORY. */
ASNUMPY_API asnp_status asnp_capture_begin(int32_t num_args, asnp_array *const *args,
                                           asnp_array **views);
/* Ends it: runs what is recorded. results: what a run makes anew; arrays of the capture,
 * views, or arrays from before. They stay the caller's. RUNTIME: the host asked for a
 * value meanwhile. VALUE: an array that is no argument shares memory with one;
 * num_results < 0. The capture is over in every case. */
ASNUMPY_API asnp_status asnp_capture_end(int32_t num_results, asnp_array *const *results,
                                         asnp_graph **out);
/* Ends it without a graph; without a capture it does nothing. */
ASNUMPY_API void asnp_capture_abort(void);

/* Launches it with other arguments; results receives num_results new arrays. VALUE: an
 * argument differs from the captured one in shape, strides, or in which others it shares
 * memory with; other numbers of arguments or results. TYPE: another dtype. Any thread;
 * runs of one graph come one after the other. */
ASNUMPY_API asnp_status asnp_graph_run(asnp_graph *graph, int32_t num_args,
                                       asnp_array *const *args, int32_t num_results,
                                       asnp_array **results);
/* NULL is nothing. */
ASNUMPY_API void asnp_graph_release(asnp_graph *graph);

/* Launches, of fused programs, of operators, copies from the host; bytes that a run takes
 * for temporaries, and for results. */
typedef struct {
    int32_t launches, programs, operators, copies;
    int64_t temporary_bytes, result_bytes;
} asnp_graph_counts;
ASNUMPY_API asnp_status asnp_graph_count(const asnp_graph *graph, asnp_graph_counts *out);
/* A table of the launches, which the caller frees with asnp_free_text. MEMORY. */
ASNUMPY_API asnp_status asnp_graph_explain(const asnp_graph *graph, char **text);

/* The graph's small fused programs as C text, for just its shapes and strides; the caller
 * frees it with asnp_free_text; NULL: the device has none for any of them. Compiled
 * (cc -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -fPIC
 * -shared ... -lm) and loaded, it makes steps of few elements several times faster, with
 * the same results:
 *
 *     void *library = dlopen("./steps.so", RTLD_NOW);
 *     asnp_graph_attach(graph, dlsym(library, "asnumpy_native"));
 *
 * MEMORY. */
ASNUMPY_API asnp_status asnp_graph_source(const asnp_graph *graph, char **text);
/* From now on runs call the compiled text; `table` is the address of its asnumpy_native,
 * which stays loaded until the graph is released. VALUE: it was made from another graph's
 * text. */
ASNUMPY_API asnp_status asnp_graph_attach(asnp_graph *graph, const void *table);

#ifdef __cplusplus
}
#endif
#endif
