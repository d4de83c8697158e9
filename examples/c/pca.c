/* Principal components of a table, in C with AsNumpy: a .npy file, views, the singular
 * value decomposition, least squares.
 *
 *     pca table.npy     rows are observations, columns are variables
 *     pca               the same of a sample of its own, which it writes to
 * pca-sample.npy: 1000 points near the plane z = 2 x - y + 3
 *
 *     cc pca.c $(pkg-config --cflags --libs asnumpy) -o pca
 */
#include <asnumpy/asnumpy.h>

#include <stdio.h>
#include <stdlib.h>

static void must(asnp_status status) {
    if (!status) return;
    fprintf(stderr, "pca: %s: %s\n", asnp_status_name(status), asnp_message());
    exit(1);
}

static asnp_array *column(const asnp_array *table, int64_t i) {
    asnp_array *view = NULL;
    must(asnp_pick(table, 1, i, &view));
    return view;
}

/* column -= factor * other, into the view. */
static void subtract_multiple(asnp_array *target, double factor,
                              const asnp_array *other) {
    asnp_array *scaled = NULL;
    asnp_operand in[2];
    must(asnp_binary_number("multiply", other, asnp_float(factor), &scaled));
    in[0] = asnp_of(target);
    in[1] = asnp_of(scaled);
    must(asnp_ufunc_into("subtract", 2, in, 1, &target, NULL));
    asnp_release(scaled);
}

static void write_sample(const char *path) {
    const int64_t shape[2] = {1000, 3};
    asnp_rng *g = NULL;
    asnp_array *table = NULL, *x, *y, *z;
    asnp_operand in[2];
    must(asnp_rng_new("PCG64", 2026, &g));
    must(asnp_rng_normal(g, 0, 1, 2, shape, &table));
    x = column(table, 0);
    y = column(table, 1);
    z = column(table, 2); /* noise, so far of deviation 1 */
    in[0] = asnp_of(z);
    in[1] = asnp_of_number(asnp_float(0.1));
    must(asnp_ufunc_into("multiply", 2, in, 1, &z, NULL));
    subtract_multiple(z, -2, x);
    subtract_multiple(z, 1, y);
    in[1] = asnp_of_number(asnp_int(3));
    must(asnp_ufunc_into("add", 2, in, 1, &z, NULL));
    must(asnp_save(path, table));
    asnp_release(x);
    asnp_release(y);
    asnp_release(z);
    asnp_release(table);
    asnp_rng_release(g);
}

/* Shares of the variance that the components explain. */
static void components(const asnp_array *table) {
    const int32_t rows = 0;
    asnp_array *mean = NULL, *centred = NULL, *s = NULL, *vh = NULL, *power = NULL;
    asnp_array *total = NULL, *share = NULL;
    must(asnp_mean(table, 1, &rows, 0, &mean));
    must(asnp_subtract(table, mean, &centred));
    must(asnp_svd(centred, 0, NULL, &s, &vh));
    must(asnp_multiply(s, s, &power));
    must(asnp_sum(power, 0, NULL, 0, &total));
    must(asnp_divide(power, total, &share));
    for (int64_t i = 0; i < asnp_size(share); i++) {
        double part = 0;
        must(asnp_get_double(share, &i, &part));
        printf("component %d explains %5.2f %%: (", (int)i + 1, 100 * part);
        for (int64_t j = 0; j < asnp_shape(vh)[1]; j++) {
            const int64_t at[2] = {i, j};
            double x = 0;
            must(asnp_get_double(vh, at, &x));
            printf("%s%+.3f", j ? ", " : "", x);
        }
        printf(")\n");
    }
    asnp_release(mean);
    asnp_release(centred);
    asnp_release(s);
    asnp_release(vh);
    asnp_release(power);
    asnp_release(total);
    asnp_release(share);
}

/* The last column as a sum of the others and a constant. */
static void plane(const asnp_array *table) {
    const int64_t n = asnp_shape(table)[1];
    const int64_t ones_shape[2] = {asnp_shape(table)[0], 1};
    asnp_array *parts[2] = {NULL, NULL}, *a = NULL, *b = column(table, n - 1), *x = NULL;
    int64_t rank = 0;
    must(asnp_slice(table, 1, 0, n - 1, 1, &parts[0]));
    must(asnp_ones(ASNP_FLOAT64, 2, ones_shape, &parts[1]));
    must(asnp_concatenate(2, parts, 1, &a));
    must(asnp_lstsq(a, b, -1, &x, NULL, &rank, NULL));
    printf("rank %d, last column =", (int)rank);
    for (int64_t i = 0; i < n; i++) {
        double c = 0;
        must(asnp_get_double(x, &i, &c));
        if (i < n - 1)
            printf(" %+.1f * column %d", c, (int)i);
        else
            printf(" %+.1f\n", c);
    }
    asnp_release(parts[0]);
    asnp_release(parts[1]);
    asnp_release(a);
    asnp_release(b);
    asnp_release(x);
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "pca-sample.npy";
    asnp_array *table = NULL;
    if (argc == 1) write_sample(path);
    must(asnp_load(path, &table));
    if (asnp_ndim(table) != 2 || asnp_shape(table)[1] < 2) {
        fprintf(stderr, "pca: %s has no table of two or more columns\n", path);
        return 1;
    }
    components(table);
    plane(table);
    asnp_release(table);
    return 0;
}
