/* L0 base: rows of known costs dealt out to cores (contract in balance.h).
 *
 * Contiguous cuts. Let W[i] be the cost of the rows before i. The smallest bottleneck B
 * for which k blocks suffice is found by the exact bisection of Pinar and Aykanat (Fast
 * optimal load balancing algorithms for 1D partitioning, J. Parallel Distrib. Comput. 64,
 * 2004): a probe fills block after block up to B, each by a binary search in W. One that
 * succeeds lowers the upper bound to its costliest block, one that fails raises the lower
 * bound to the least cost that would have changed it: both are costs of blocks, so that
 * the search ends with the optimum itself and needs no tolerance.
 *
 * Many cuts have that bottleneck, and a probe's own leaves the last block what remains.
 * Cut j is put where W is nearest to j / k of all, within what B allows: not so far that
 * its block costs more than B, and so far that the rest fits into the blocks that are
 * left. All costs of blocks are differences of W, which rounding leaves in order, so that
 * both sides of a bound are judged alike.
 *
 * Adaptive is "longest processing time first" (Graham, Bounds on multiprocessing timing
 * anomalies, SIAM J. Appl. Math. 17, 1969): at most 4/3 - 1/(3 cores) of the best
 * makespan of those blocks; a heap of cores by load finds the next one.
 */
#include "base/balance.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* sums: W, rows + 1 of them; NULL: each row costs 1. */
typedef struct {
    int64_t rows;
    const double *sums;
} costs_before;

/* The cost of rows [from, to). */
static double cost_of(const costs_before *w, int64_t from, int64_t to) {
    return w->sums ? w->sums[to] - w->sums[from] : (double)(to - from);
}

/* The cost of block b. */
static double block_cost(const asn_balance *p, const costs_before *w, int64_t b) {
    return cost_of(w, b > 0 ? p->ends[b - 1] : 0, p->ends[b]);
}

/* The last row end of [from, rows] whose block from `from` on costs at most `most`. */
static int64_t last_end(const costs_before *w, int64_t from, double most) {
    int64_t low = from, high = w->rows;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (w->sums[middle] - w->sums[from] <= most)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The first beginning of a block that ends at `to` and costs at most `most`. */
static int64_t first_begin(const costs_before *w, int64_t to, double most) {
    int64_t low = 0, high = to;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (w->sums[to] - w->sums[middle] <= most)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Whether `blocks` blocks of at most `most` suffice. *next: if so, the costliest of them,
 * else the least bottleneck at which a block would have taken one row more. */
static bool probe(const costs_before *w, int64_t blocks, double most, double *next) {
    double largest = 0, least = INFINITY;
    int64_t at = 0;
    for (int64_t b = 0; b < blocks && at < w->rows; b++) {
        int64_t end = last_end(w, at, most);
        double cost = w->sums[end] - w->sums[at];
        if (cost > largest) largest = cost;
        if (end < w->rows && w->sums[end + 1] - w->sums[at] < least)
            least = w->sums[end + 1] - w->sums[at];
        at = end;
    }
    *next = at == w->rows ? largest : least;
    return at == w->rows;
}

/* The smallest bottleneck. It is among the costs of blocks, between `low` and `high`,
 * which each probe brings nearer. */
static double bottleneck(const costs_before *w, int64_t blocks) {
    double high = w->sums[w->rows], low = high / (double)blocks;
    for (int64_t i = 0; i < w->rows; i++)
        if (w->sums[i + 1] - w->sums[i] > low) low = w->sums[i + 1] - w->sums[i];
    while (low < high) {
        double middle = low + (high - low) / 2, next;
        if (middle >= high) middle = low;
        if (probe(w, blocks, middle, &next))
            high = next;
        else
            low = next;
    }
    return high;
}

/* The row whose W is nearest to `aim`. */
static int64_t nearest(const costs_before *w, double aim) {
    int64_t low = 0, high = w->rows;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (w->sums[middle] < aim)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && aim - w->sums[low - 1] < w->sums[low] - aim ? low - 1 : low;
}

/* ends: of `blocks` blocks, at most as many as there are rows. First the least ends from
 * which the rest fits, from the last block back; then, forwards, the ends themselves. No
 * row costs more than the bottleneck, so that the least end is never beyond the others'
 * last rows. */
static void cut_by_cost(const costs_before *w, int64_t blocks, int64_t *ends) {
    const double most = bottleneck(w, blocks), all = w->sums[w->rows];
    ends[blocks - 1] = w->rows;
    for (int64_t b = blocks - 1; b > 0; b--)
        ends[b - 1] = first_begin(w, ends[b], most);
    for (int64_t b = 0, from = 0; b < blocks - 1; from = ends[b++]) {
        int64_t least = ends[b] > from + 1 ? ends[b] : from + 1;
        int64_t last = last_end(w, from, most), rest = w->rows - (blocks - 1 - b);
        if (last > rest) last = rest;
        int64_t end = nearest(w, all * ((double)(b + 1) / (double)blocks));
        ends[b] = end < least ? least : end > last ? last : end;
    }
}

static void cut_by_rows(int64_t rows, int64_t blocks, int64_t *ends) {
    int64_t each = rows / blocks, more = rows % blocks;
    for (int64_t b = 0; b < blocks; b++)
        ends[b] = each * (b + 1) + (b < more ? b + 1 : more);
}

void asn_balance_cut(int64_t rows, const double *sums, int64_t blocks, int64_t *ends) {
    const costs_before w = {rows, sums};
    if (sums[rows] > 0)
        cut_by_cost(&w, blocks, ends);
    else
        cut_by_rows(rows, blocks, ends);
}

typedef struct {
    double cost;
    int64_t block;
} priced;

static int dearest_first(const void *a, const void *b) {
    const priced *x = a, *y = b;
    if (x->cost != y->cost) return x->cost > y->cost ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

typedef struct {
    double load;
    int32_t core;
} loaded;

static bool is_less(const loaded *a, const loaded *b) {
    return a->load != b->load ? a->load < b->load : a->core < b->core;
}

/* The heap's first core has another load: down to its place. */
static void sink(loaded *heap, int64_t n) {
    loaded moved = heap[0];
    int64_t at = 0;
    for (int64_t child = 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && is_less(&heap[child + 1], &heap[child])) child++;
        if (!is_less(&heap[child], &moved)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static asn_status assign_longest_first(asn_balance *p, const costs_before *w,
                                       int64_t cores) {
    priced *order = asn_malloc((size_t)p->blocks * sizeof *order);
    loaded *heap = order ? asn_malloc((size_t)cores * sizeof *heap) : NULL;
    if (!heap) {
        asn_free(order);
        return ASN_ERR_MEMORY;
    }
    for (int64_t b = 0; b < p->blocks; b++)
        order[b] = (priced){block_cost(p, w, b), b};
    qsort(order, (size_t)p->blocks, sizeof *order, dearest_first);
    for (int64_t c = 0; c < cores; c++)
        heap[c] = (loaded){0, (int32_t)c};
    for (int64_t i = 0; i < p->blocks; i++) {
        p->cores[order[i].block] = heap[0].core;
        heap[0].load += order[i].cost;
        sink(heap, cores);
    }
    asn_free(heap);
    asn_free(order);
    return ASN_OK;
}

/* loads: room for one of each core. */
static double imbalance_of(const asn_balance *p, const costs_before *w, int64_t cores,
                           double *loads) {
    memset(loads, 0, (size_t)cores * sizeof *loads);
    for (int64_t b = 0; b < p->blocks; b++)
        loads[p->cores[b]] += block_cost(p, w, b);
    double mean = cost_of(w, 0, w->rows) / (double)cores, most = 0;
    for (int64_t c = 0; c < cores && mean > 0; c++)
        if (fabs(loads[c] - mean) > most) most = fabs(loads[c] - mean);
    return mean > 0 ? most / mean : 0;
}

/* `blocks` blocks, or as many as there are rows; block b is core b's. */
static asn_status new_blocks(asn_balance *p, int64_t rows, int64_t blocks) {
    *p = (asn_balance){.blocks = blocks < rows ? blocks : rows};
    p->ends = asn_malloc((size_t)p->blocks * sizeof *p->ends);
    p->cores = p->ends ? asn_malloc((size_t)p->blocks * sizeof *p->cores) : NULL;
    if (!p->cores) {
        asn_balance_fini(p);
        return ASN_ERR_MEMORY;
    }
    for (int64_t b = 0; b < p->blocks; b++)
        p->cores[b] = (int32_t)b;
    return ASN_OK;
}

void asn_balance_fini(asn_balance *p) {
    asn_free(p->ends);
    asn_free(p->cores);
    *p = (asn_balance){0};
}

/* loads: scratch, one of each core. */
static asn_status make(asn_balance *out, const costs_before *w, int64_t cores,
                       asn_balance_strategy strategy, double *loads) {
    const bool adaptive = strategy == ASN_BALANCE_ADAPTIVE;
    ASN_TRY(new_blocks(out, w->rows, adaptive ? cores * ASN_BALANCE_PER_CORE : cores));
    if (out->blocks == 0) return ASN_OK;
    if (strategy == ASN_BALANCE_REGULAR || !w->sums)
        cut_by_rows(w->rows, out->blocks, out->ends);
    else
        asn_balance_cut(w->rows, w->sums, out->blocks, out->ends);
    asn_status status = adaptive ? assign_longest_first(out, w, cores) : ASN_OK;
    if (!status)
        out->imbalance = imbalance_of(out, w, cores, loads);
    else
        asn_balance_fini(out);
    return status;
}

/* W, which the caller frees. */
static asn_status sum_costs(int64_t rows, const double *costs, double **out) {
    int64_t bytes;
    *out = NULL;
    if (!costs) return ASN_OK;
    if (!asn_mul_size(rows + 1, sizeof(double), &bytes))
        return asn_error_set(ASN_ERR_VALUE, "partition: %lld rows are too many",
                             (long long)rows);
    double *sums = asn_malloc((size_t)bytes);
    if (!sums) return ASN_ERR_MEMORY;
    sums[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        double cost = costs[i];
        sums[i + 1] = sums[i] + cost;
        if (cost >= 0 && isfinite(sums[i + 1])) continue;
        asn_free(sums);
        if (cost >= 0 && isfinite(cost))
            return asn_error_set(
                ASN_ERR_VALUE,
                "partition: the costs add up to more than a float64 holds");
        return asn_error_set(
            ASN_ERR_VALUE,
            "partition: the cost of row %lld is %g; it may be 0 or more, and finite",
            (long long)i, cost);
    }
    *out = sums;
    return ASN_OK;
}

asn_status asn_balance_init(asn_balance *out, int64_t rows, const double *costs,
                            int64_t cores, asn_balance_strategy strategy) {
    if (rows < 0 || rows == INT64_MAX)
        return asn_error_set(ASN_ERR_VALUE,
                             "partition: work is %lld rows; it may be 0 "
                             "or more",
                             (long long)rows);
    if (cores < 1 || cores > ASN_BALANCE_MOST_CORES)
        return asn_error_set(ASN_ERR_VALUE, "partition: cores is %lld; it may be 1 to %d",
                             (long long)cores, ASN_BALANCE_MOST_CORES);
    if ((unsigned)strategy >= ASN_BALANCE_STRATEGIES)
        return asn_error_set(ASN_ERR_VALUE,
                             "partition: strategy is %d; it may be 0 "
                             "(regular), 1 (sparse) or 2 (adaptive)",
                             (int)strategy);
    double *sums;
    ASN_TRY(sum_costs(rows, costs, &sums));
    costs_before w = {rows, sums};
    double *loads = asn_malloc((size_t)cores * sizeof *loads);
    asn_balance chosen = {0};
    asn_status status =
        loads ? make(&chosen, &w, cores, strategy, loads) : ASN_ERR_MEMORY;
    if (!status && strategy != ASN_BALANCE_REGULAR) {
        asn_balance plain;
        status = make(&plain, &w, cores, ASN_BALANCE_REGULAR, loads);
        asn_balance worse = chosen;
        if (!status && plain.imbalance < chosen.imbalance)
            chosen = plain;
        else if (!status)
            worse = plain;
        asn_balance_fini(&worse);
    }
    asn_free(loads);
    asn_free(sums);
    if (!status) *out = chosen;
    return status;
}
