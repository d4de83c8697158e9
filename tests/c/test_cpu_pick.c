/* Selection among long lines as they lie in memory: the elements that a sort puts at the
 * positions asked for; and a partition's order, which is that of the line below, at and
 * above the pivot, on every instruction set. */
#include <math.h>

#include "check.h"
#include "device/cpu/sort/pick.h"
#include "device/cpu/sort/sort.h"

enum { LONGEST = 3000, ROUNDS = 150, GUARD = 64 };
static const asn_dtype types[] = {ASN_I32, ASN_U32, ASN_F32, ASN_I64, ASN_U64, ASN_F64};
enum { TYPES = sizeof types / sizeof *types };

typedef struct {
    asn_dtype dtype;
    int64_t n, count; /* elements; how many positions are asked for */
    int64_t kth[ASN_MOST_PICKED];
    char in[LONGEST * 8], out[LONGEST * 8 + GUARD];
} line;

/* As unsigned numbers: NaN last, all alike; -0.0 before 0.0. */
static uint64_t order_of(asn_dtype dt, const void *p) {
    const uint64_t top = (uint64_t)1 << 63;
    double x = 0;
    int64_t i;
    switch (dt) {
    case ASN_I32: return (uint64_t)(int64_t)*(const int32_t *)p ^ top;
    case ASN_U32: return *(const uint32_t *)p;
    case ASN_I64: return *(const uint64_t *)p ^ top;
    case ASN_U64: return *(const uint64_t *)p;
    default: break;
    }
    x = dt == ASN_F32 ? (double)*(const float *)p : *(const double *)p;
    if (isnan(x)) return UINT64_MAX;
    memcpy(&i, &x, sizeof i);
    return i < 0 ? ~(uint64_t)i : (uint64_t)i ^ top;
}

static uint64_t at(const line *l, const char *from, int64_t i) {
    return order_of(l->dtype, from + i * asn_itemsize(l->dtype));
}

static void put(line *l, int64_t i, double x) {
    char *to = l->in + i * asn_itemsize(l->dtype);
    switch (l->dtype) {
    case ASN_I32: *(int32_t *)(void *)to = (int32_t)x * 100003; break;
    case ASN_U32: *(uint32_t *)(void *)to = (uint32_t)(int32_t)x * 100003u; break;
    case ASN_I64: *(int64_t *)(void *)to = (int64_t)x * 1000000000039; break;
    case ASN_U64:
        *(uint64_t *)(void *)to = (uint64_t)(int64_t)x * 1000000000000000003u;
        break;
    case ASN_F32: *(float *)(void *)to = (float)x; break;
    default: *(double *)(void *)to = x;
    }
}

/* Few or many values; sometimes ascending, with zeros of both signs or with a NaN. */
static void draw(line *l) {
    const uint64_t span = 1 + random_u64() % (random_u64() % 2 ? 8 : 20000);
    const bool sorted = random_u64() % 6 == 0, zeros = random_u64() % 4 == 0;
    l->dtype = types[random_u64() % TYPES];
    l->n = ASN_PICK_LEAST + (int64_t)(random_u64() % (LONGEST - ASN_PICK_LEAST));
    for (int64_t i = 0; i < l->n; i++)
        put(l, i,
            sorted ? (double)(i / 3) : (double)(random_u64() % span) - (double)span / 2);
    for (int64_t i = 0; i < l->n && zeros; i += 7)
        put(l, i, -0.0);
    if (random_u64() % 8 == 0 && asn_is_floating(l->dtype))
        put(l, (int64_t)(random_u64() % (uint64_t)l->n), NAN);
    memset(l->out, 0x5a, sizeof l->out);
}

static void ask(line *l, int64_t most) {
    l->count = 1 + (int64_t)(random_u64() % (uint64_t)most);
    int64_t from = random_u64() % 4 ? (int64_t)(random_u64() % (uint64_t)(l->n / 2))
                                    : l->n - l->count;
    for (int64_t j = 0; j < l->count; j++)
        l->kth[j] = from + j * (random_u64() % 2 ? 1 : (l->n - from) / l->count);
    for (int64_t j = 1; j < l->count; j++)
        if (l->kth[j] < l->kth[j - 1]) l->kth[j] = l->kth[j - 1];
}

static bool is_guarded(const line *l, int64_t n) {
    const char *end = l->out + n * asn_itemsize(l->dtype);
    for (int i = 0; i < GUARD; i++)
        if (end[i] != 0x5a) return false;
    return true;
}

static void test_elements(line *l, const asnd_nd *in) {
    static char sorted[LONGEST * 8];
    const int64_t item = asn_itemsize(l->dtype);
    ask(l, 5);
    asnd_nd all = {sorted, 1, l->dtype, &l->n, &item},
            few = {l->out, 1, l->dtype, &l->count, &item};
    CHECK(asn_cpu_sort(in, 0, 0, &all, NULL) == ASN_OK);
    CHECK(asn_cpu_pick(in, 0, l->kth, (int)l->count, &few) == ASN_OK);
    for (int64_t j = 0; j < l->count; j++)
        CHECK(at(l, l->out, j) == at(l, sorted, l->kth[j]));
    CHECK(is_guarded(l, l->count));
}

static void test_order(line *l, const asnd_nd *in) {
    const int64_t item = asn_itemsize(l->dtype);
    ask(l, 1);
    memset(l->out, 0x5a, sizeof l->out);
    asnd_nd out = {l->out, 1, l->dtype, &l->n, &item};
    CHECK(asn_cpu_partition(in, 0, l->kth, 1, &out, NULL) == ASN_OK);
    CHECK(is_guarded(l, l->n));
    const uint64_t pivot = at(l, l->out, l->kth[0]);
    int64_t to = 0;
    for (int way = 0; way < 3; way++)
        for (int64_t i = 0; i < l->n; i++) {
            const uint64_t x = at(l, l->in, i);
            if ((way == 0 && x < pivot) || (way == 1 && x == pivot) ||
                (way == 2 && x > pivot))
                CHECK(at(l, l->out, to++) == x);
        }
}

int main(void) {
    static line l;
    for (int round = 0; round < ROUNDS * TYPES; round++) {
        draw(&l);
        const int64_t item = asn_itemsize(l.dtype);
        asnd_nd in = {l.in, 1, l.dtype, &l.n, &item};
        test_elements(&l, &in);
        test_order(&l, &in);
    }
    return check_report("pick");
}
