/* Partitions of rows (base/balance.h): each row once, measures, the bottleneck against
 * an exhaustive search, arguments that are refused, allocations that fail. */
#include <math.h>

#include "check.h"

#include "base/balance.h"

enum { MOST = 40 };

/* The loads of the cores; also that blocks cover the rows. */
static void loads_of(const asn_balance *p, int64_t rows, const double *costs,
                     int64_t cores, double *loads) {
    int64_t row = 0;
    for (int64_t c = 0; c < cores; c++)
        loads[c] = 0;
    for (int64_t b = 0; b < p->blocks; b++) {
        CHECK(p->ends[b] > row, "an empty block");
        CHECK(p->cores[b] >= 0 && p->cores[b] < cores, "");
        for (; row < p->ends[b]; row++)
            loads[p->cores[b]] += costs ? costs[row] : 1;
    }
    CHECK(row == rows, "");
}

static double imbalance_of(const double *loads, int64_t cores, double *most) {
    double sum = 0, worst = 0;
    *most = 0;
    for (int64_t c = 0; c < cores; c++)
        sum += loads[c];
    for (int64_t c = 0; c < cores; c++) {
        if (loads[c] > *most) *most = loads[c];
        worst = fmax(worst, fabs(loads[c] - sum / (double)cores));
    }
    return sum > 0 ? worst / (sum / (double)cores) : 0;
}

/* The smallest bottleneck of `cores` blocks, by trying all first blocks. */
static double best(const double *costs, int64_t rows, int64_t cores) {
    double sum = 0, least = INFINITY;
    if (rows == 0) return 0;
    if (cores == 1) {
        for (int64_t i = 0; i < rows; i++)
            sum += costs[i];
        return sum;
    }
    for (int64_t i = 0; i < rows; i++) {
        sum += costs[i];
        least = fmin(least, fmax(sum, best(costs + i + 1, rows - i - 1, cores - 1)));
    }
    return least;
}

/* Whole costs, whose sums are exact. */
static int64_t random_costs(double *costs, int64_t most_rows) {
    int64_t rows = random_below(most_rows + 1), largest = 1 + random_below(100);
    for (int64_t i = 0; i < rows; i++)
        costs[i] = random_below(4) ? (double)random_below(largest) : 0;
    return rows;
}

static void test_strategies(void) {
    double costs[MOST], loads[MOST], most, measure[3];
    for (int round = 0; round < 3000; round++) {
        int64_t rows = random_costs(costs, MOST), cores = 1 + random_below(MOST);
        const double *given = round % 5 ? costs : NULL;
        for (int s = 0; s < ASN_BALANCE_STRATEGIES; s++) {
            asn_balance p;
            asn_status status =
                asn_balance_init(&p, rows, given, cores, (asn_balance_strategy)s);
            CHECK(status == ASN_OK, "");
            if (status) return;
            loads_of(&p, rows, given, cores, loads);
            measure[s] = imbalance_of(loads, cores, &most);
            CHECK(fabs(p.imbalance - measure[s]) < 1e-12, "");
            CHECK(p.imbalance <= measure[0] + 1e-12, "worse than regular");
            asn_balance_fini(&p);
            CHECK(p.ends == NULL && p.cores == NULL, "");
        }
    }
}

/* Where the bottleneck decides the measure, sparse is as good as it can be. */
static void test_bottleneck(void) {
    double costs[9], loads[9], most;
    for (int round = 0; round < 400; round++) {
        int64_t rows = random_costs(costs, 9), cores = 1 + random_below(4);
        asn_balance p, regular;
        if (asn_balance_init(&p, rows, costs, cores, ASN_BALANCE_SPARSE) ||
            asn_balance_init(&regular, rows, costs, cores, ASN_BALANCE_REGULAR)) {
            CHECK(false, "");
            return;
        }
        loads_of(&p, rows, costs, cores, loads);
        imbalance_of(loads, cores, &most);
        if (p.imbalance < regular.imbalance) CHECK(most == best(costs, rows, cores), "");
        asn_balance_fini(&p);
        asn_balance_fini(&regular);
    }
}

static void test_refusals(void) {
    const double bad[4][2] = {{1, -1}, {1, NAN}, {INFINITY, 1}, {1e308, 1e308}};
    asn_balance p;
    for (int i = 0; i < 4; i++)
        CHECK(asn_balance_init(&p, 2, bad[i], 2, ASN_BALANCE_SPARSE) == ASN_ERR_VALUE,
              "");
    CHECK(strstr(asn_error_message(), "add up") != NULL, "");
    CHECK(asn_balance_init(&p, -1, NULL, 2, ASN_BALANCE_REGULAR) == ASN_ERR_VALUE, "");
    CHECK(asn_balance_init(&p, 2, NULL, 0, ASN_BALANCE_REGULAR) == ASN_ERR_VALUE, "");
    CHECK(asn_balance_init(&p, 2, NULL, ASN_BALANCE_MOST_CORES + 1,
                           ASN_BALANCE_REGULAR) == ASN_ERR_VALUE,
          "");
    CHECK(asn_balance_init(&p, 2, NULL, 2, (asn_balance_strategy)7) == ASN_ERR_VALUE, "");
}

static void test_faults(void) {
    const double costs[] = {1, 5, 2, 8, 3};
    asn_balance p;
    for (long k = 1; k < 20; k++) {
        asn_alloc_fail_after(k);
        asn_status status = asn_balance_init(&p, 5, costs, 2, ASN_BALANCE_ADAPTIVE);
        asn_alloc_fail_after(0);
        CHECK(status == ASN_OK || status == ASN_ERR_MEMORY, "");
        CHECK((status == ASN_OK) == (k > 8), "");
        if (status == ASN_OK) asn_balance_fini(&p);
    }
}

int main(void) {
    test_strategies();
    test_bottleneck();
    test_refusals();
    test_faults();
    return check_report("test_balance");
}
