/* Convolution from X to Y (conv.h, conv_direct.h) against sums in float64: strides,
 * dilations, paddings, groups and depths at random, with channels and filters that are no
 * multiple of a block and rows below and above a tile; pictures larger than a slab. One
 * thread and three give the same bits, from bfloat16 too, and infinities and NaNs occur
 * where a window has them and not beside it. */
#include "check.h"

#include <math.h>

#include "device/cpu/nn/conv.h"
#include "device/cpu/threads.h"

typedef struct {
    asnd_conv g;
    asn_dtype dt;
    bool halves; /* X and the weight are read as bfloat16 */
    int64_t nx, nw, ny;
    void *x, *w, *bias, *y;
} convolution;

static double at(const convolution *c, const void *p, int64_t i) {
    return c->dt == ASN_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static void put(const convolution *c, void *p, int64_t i, double x) {
    if (c->dt == ASN_F32)
        ((float *)p)[i] = (float)x;
    else
        ((double *)p)[i] = x;
}

/* Memory of just the size: a sanitizer sees what is read beyond. */
static void *numbers(const convolution *c, int64_t n) {
    void *p = malloc((size_t)(n * asn_itemsize(c->dt)));
    for (int64_t i = 0; i < n; i++)
        put(c, p, i, random_unit() - 0.5);
    return p;
}

/* g's extents of Y follow from the others; false: there is no window. */
static bool init(convolution *c, asn_dtype dt, asnd_conv g) {
    for (int d = 0; d < 3; d++) {
        const int64_t room = g.x[d] + 2 * g.pad[d] - (g.k[d] - 1) * g.dilation[d] - 1;
        if (room < 0) return false;
        g.y[d] = room / g.stride[d] + 1;
    }
    *c = (convolution){.g = g, .dt = dt};
    c->nx = g.n * g.groups * g.cx * asn_conv_extent(g.x);
    c->nw = g.groups * g.cy * g.cx * asn_conv_extent(g.k);
    c->ny = g.n * g.groups * g.cy * asn_conv_extent(g.y);
    c->x = numbers(c, c->nx);
    c->w = numbers(c, c->nw);
    c->bias = numbers(c, g.groups * g.cy);
    c->y = malloc((size_t)(c->ny * asn_itemsize(dt)));
    return true;
}

static void fini(convolution *c) {
    free(c->x);
    free(c->w);
    free(c->bias);
    free(c->y);
}

/* Element i of Y; a window's elements outside X are zeros, which count. *size: the sum of
 * magnitudes. */
static double expected(const convolution *c, int64_t i, double *size) {
    const asnd_conv *g = &c->g;
    const int64_t plane = asn_conv_extent(g->y), taps = asn_conv_extent(g->k);
    const int64_t filter = i / plane % (g->groups * g->cy), group = filter / g->cy;
    const int64_t image = i / plane / (g->groups * g->cy) * g->groups + group;
    const int64_t q[3] = {i % plane / (g->y[1] * g->y[2]), i / g->y[2] % g->y[1],
                          i % g->y[2]};
    double sum = 0;
    *size = 0;
    for (int64_t t = 0; t < g->cx * taps; t++) {
        const int64_t k[3] = {t % taps / (g->k[1] * g->k[2]), t / g->k[2] % g->k[1],
                              t % g->k[2]};
        int64_t from = image * g->cx + t / taps;
        bool inside = true;
        for (int d = 0; d < 3; d++) {
            const int64_t p = q[d] * g->stride[d] - g->pad[d] + k[d] * g->dilation[d];
            inside = inside && p >= 0 && p < g->x[d];
            from = from * g->x[d] + p;
        }
        const double term =
            at(c, c->w, filter * g->cx * taps + t) * (inside ? at(c, c->x, from) : 0);
        sum += term;
        *size += fabs(term);
    }
    const double bias = c->bias ? at(c, c->bias, filter) : 0;
    *size += fabs(bias);
    return sum + bias;
}

static int64_t refused;

/* The upper halves of n float32, which is all of those that round_to_halves left. */
static uint16_t *halves_of(const void *x, int64_t n) {
    uint16_t *to = malloc((size_t)n * sizeof *to);
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i, (const char *)x + 4 * i + 2, sizeof *to);
    return to;
}

static asn_status run_halves(const convolution *c) {
    uint16_t *x = halves_of(c->x, c->nx), *w = halves_of(c->w, c->nw);
    const asn_status status = asn_conv_of_halves(&c->g, x, w, c->bias, c->y);
    free(x);
    free(w);
    return status;
}

/* false: it is one of products, and there is no BLAS. */
static bool run(convolution *c) {
    const asn_status status =
        c->halves ? run_halves(c)
                  : asn_conv_to_y(&c->g, c->dt, c->x, c->w, c->bias, c->y);
    refused += status == ASN_ERR_RUNTIME;
    CHECK(status == ASN_OK || (status == ASN_ERR_RUNTIME && !c->halves));
    return status == ASN_OK;
}

/* Every `step`th element. */
static bool compare(convolution *c, int64_t step) {
    const double eps = c->dt == ASN_F32 ? 0x1p-24 : 0x1p-53;
    if (!run(c)) return false;
    for (int64_t i = 0; i < c->ny; i += step) {
        double size;
        const double want = expected(c, i, &size), got = at(c, c->y, i);
        if (isfinite(want))
            CHECK(fabs(got - want) <= 16 * eps * size);
        else
            CHECK(isnan(want) ? isnan(got) : got == want);
    }
    return true;
}

/* One thread, and three. */
static void compare_threads(convolution *c) {
    const size_t bytes = (size_t)(c->ny * asn_itemsize(c->dt));
    void *once = malloc(bytes);
    memcpy(once, c->y, bytes);
    memset(c->y, -1, bytes);
    const int before = asn_pool_set_threads(1);
    CHECK(run(c) && !memcmp(once, c->y, bytes));
    asn_pool_set_threads(before);
    free(once);
}

static asnd_conv random_geometry(void) {
    asnd_conv g = {.n = 1 + random_below(3), .groups = 1 + random_below(3)};
    const int first = (int)random_below(3); /* dimensions before it have extent 1 */
    g.cx = 1 + random_below(random_below(4) ? 9 : 50);
    g.cy = 1 + random_below(20);
    const bool deep = random_below(4) == 0; /* a filter or two for a channel of its own */
    if (deep) {
        g.groups = 1 + random_below(9);
        g.cx = 1;
        g.cy = 1 + random_below(2);
    }
    for (int d = 0; d < 3; d++) {
        const bool there = d >= first;
        g.x[d] = there ? 1 + random_below(d < 2 ? 9 : deep ? 90 : 40) : 1;
        g.k[d] = there ? 1 + random_below(4) : 1;
        g.stride[d] = there ? 1 + random_below(random_below(4) ? 2 : 3) : 1;
        g.dilation[d] = there && random_below(3) == 0 ? 2 : 1;
        g.pad[d] = there ? random_below(4) : 0;
    }
    return g;
}

static void test_random(void) {
    for (int k = 0; k < 300; k++) {
        convolution c;
        if (!init(&c, k % 2 ? ASN_F64 : ASN_F32, random_geometry())) continue;
        if (k % 3 == 0) {
            free(c.bias);
            c.bias = NULL;
        }
        if (k % 5 == 0) { /* also of weights, which then meet the padding's zeros */
            const double special[] = {NAN, INFINITY, -INFINITY};
            put(&c, c.x, random_below(c.nx), special[random_below(3)]);
            if (k % 10 == 0) put(&c, c.w, random_below(c.nw), special[random_below(3)]);
        }
        if (compare(&c, 1) && k % 4 == 0) compare_threads(&c);
        fini(&c);
    }
}

static void round_to_halves(void *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        memset((char *)x + 4 * i, 0, 2);
}

/* By the processor's dot products of bfloat16, where it has them. */
static void test_halves(void) {
    int tested = 0;
    for (int k = 0; k < 120 && tested < 20; k++) {
        convolution c;
        asnd_conv g = random_geometry();
        g.groups = 1 + random_below(2);
        g.cx = 16 + random_below(50);
        g.cy = 120 + random_below(30);
        if (!init(&c, ASN_F32, g)) continue;
        c.halves = asn_conv_takes_halves(&c.g);
        tested += c.halves;
        round_to_halves(c.x, c.nx);
        round_to_halves(c.w, c.nw);
        if (k % 5 == 0) {
            put(&c, c.x, random_below(c.nx), k % 2 ? INFINITY : -INFINITY);
            put(&c, c.w, random_below(c.nw), INFINITY);
        }
        if (c.halves && compare(&c, 1) && k % 4 == 0) compare_threads(&c);
        fini(&c);
    }
    printf("%d convolutions by dot products of bfloat16\n", tested);
}

/* Bands and parts of filters; slabs of pictures, of rows of one, of columns of a row. */
static void test_large(void) {
    static const asnd_conv cases[] = {
        {1, 1, 64, 40, {1, 30, 56}, {0}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
        {1, 1, 3, 13, {1, 90, 90}, {0}, {1, 7, 7}, {1, 2, 2}, {0, 3, 3}, {1, 1, 1}},
        {1, 1, 300, 23, {1, 7, 7}, {0}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
        {5, 1, 20, 5, {1, 170, 171}, {0}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
        {2, 1, 9, 5, {1, 500, 501}, {0}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
        {1, 1, 9, 4, {1, 601, 700}, {0}, {1, 3, 2}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}},
        {1, 2, 16, 4, {1, 1, 150001}, {0}, {1, 1, 5}, {1, 1, 1}, {0, 0, 2}, {1, 1, 1}},
        {1, 1, 12, 4, {3, 300, 300}, {0}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    };
    for (int k = 0; k < (int)(sizeof cases / sizeof *cases); k++) {
        convolution c;
        CHECK(init(&c, k % 3 == 1 ? ASN_F64 : ASN_F32, cases[k]));
        if (compare(&c, k < 3 ? 19 : 997)) compare_threads(&c);
        fini(&c);
    }
}

int main(void) {
    asn_pool_set_threads(3);
    test_random();
    test_halves();
    test_large();
    if (refused)
        printf("no BLAS here: %lld convolutions are not tested\n", (long long)refused);
    return check_report("test_cpu_conv");
}
