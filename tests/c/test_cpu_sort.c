/* The table of sorts by vectors (sort_vector.h), every function of it against one that
 * takes one key at a time; an instruction set without a table has nothing to show. Memory
 * beside what a function may write is guarded. */
#include <math.h>

#include "check.h"
#include "device/cpu/context.h"
#include "device/cpu/sort/sort_vector.h"

enum { LONGEST = 1200000, SHORT = 1300, GUARD = 64, FILL = 0x5a };

typedef struct {
    char before[GUARD], at[LONGEST * 8 + GUARD];
} room;
static room from, to, spare;
static uint64_t expected[LONGEST];
static uint32_t index_from[SHORT], index_to[SHORT + GUARD];
static int64_t positions[SHORT + GUARD];

static const asnd_sort_loops *loops;

static uint64_t key_at(const void *keys, int bytes, int64_t i) {
    return bytes == 4 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}
static void put_key(void *keys, int bytes, int64_t i, uint64_t key) {
    if (bytes == 4)
        ((uint32_t *)keys)[i] = (uint32_t)key;
    else
        ((uint64_t *)keys)[i] = key;
}

static void guard(room *r, int64_t used) {
    memset(r->before, FILL, GUARD);
    memset(r->at + used, FILL, GUARD);
}
static bool guarded(const room *r, int64_t used) {
    for (int i = 0; i < GUARD; i++)
        if (r->before[i] != FILL || r->at[used + i] != FILL) return false;
    return true;
}

static int compare(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Keys of every kind of line: all over, few values, in order, in reverse, one value, the
 * largest ones, alternating halves. */
enum { PATTERNS = 8 };
static uint64_t draw(int pattern, int64_t i, int64_t n) {
    const uint64_t step = UINT64_MAX / (uint64_t)(n + 1);
    switch (pattern) {
    case 0: return random_u64();
    case 1: return (random_u64() % 5) << 62 | (random_u64() % 3) << 30;
    case 2: return (uint64_t)i * step;
    case 3: return (uint64_t)(n - i) * step;
    case 4: return 0x123456789abcdef0u;
    case 5: return UINT64_MAX - (random_u64() % 3 ? 0 : random_u64() % 4 << 32);
    case 6: return random_u64() % 3 << 63;
    default: return i % 2 ? (uint64_t)i << 33 : random_u64();
    }
}
static void fill(int bytes, int pattern, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        put_key(from.at, bytes, i, draw(pattern, i, n) >> (64 - 8 * bytes));
    guard(&from, n * bytes);
    guard(&to, n * bytes);
    guard(&spare, n * bytes);
}

/* The key of a number, as keys.h has it. */
static uint64_t key_of(asn_dtype dt, const void *p) {
    const bool wide = asn_itemsize(dt) == 8;
    const uint64_t top = (uint64_t)1 << (wide ? 63 : 31), all = top | (top - 1);
    const uint64_t bits = wide ? *(const uint64_t *)p : *(const uint32_t *)p;
    if (dt == ASN_U32 || dt == ASN_U64) return bits;
    if (dt == ASN_I32 || dt == ASN_I64) return bits ^ top;
    const double x = wide ? *(const double *)p : (double)*(const float *)p;
    if (isnan(x)) return all;
    return bits & top ? bits ^ all : bits | top;
}

static void test_numbers(asn_dtype dt, int pattern, int64_t n, bool apart) {
    const int bytes = (int)asn_itemsize(dt);
    fill(bytes, pattern, n);
    for (int64_t i = 0; i < n; i++)
        expected[i] = key_of(dt, from.at + i * bytes);
    qsort(expected, (size_t)n, 8, compare);
    room *out = apart ? &to : &from;
    CHECK(loops->numbers(dt, out->at, from.at, spare.at, n));
    for (int64_t i = 0; i < n; i++)
        if (key_of(dt, out->at + i * bytes) != expected[i]) {
            CHECK(!"numbers in order");
            break;
        }
    CHECK(guarded(&from, n * bytes) && guarded(&to, n * bytes) &&
          guarded(&spare, n * bytes));
}

static void test_keys(int bytes, int pattern, int64_t n) {
    fill(bytes, pattern, n);
    for (int64_t i = 0; i < n; i++)
        expected[i] = key_at(from.at, bytes, i);
    qsort(expected, (size_t)n, 8, compare);
    if (n >= 512) { /* parted first, at some key of it */
        const uint64_t pivot = expected[random_below(n)];
        int64_t below = 0;
        while (below < n && expected[below] < pivot)
            below++;
        CHECK(loops->part(bytes, from.at, n, pivot) == below);
        for (int64_t i = 0; i < n; i++)
            if ((key_at(from.at, bytes, i) < pivot) != (i < below)) {
                CHECK(!"parted");
                break;
            }
    }
    loops->sort(bytes, from.at, spare.at, n);
    for (int64_t i = 0; i < n; i++)
        if (key_at(from.at, bytes, i) != expected[i]) {
            CHECK(!"keys in order");
            break;
        }
    CHECK(guarded(&from, n * bytes) && guarded(&spare, n * bytes));
}

static void test_columns(int bytes, int64_t rows) {
    const int lanes = 64 / bytes;
    fill(bytes, (int)random_below(PATTERNS), rows * lanes);
    memcpy(to.at, from.at, (size_t)rows * 64);
    loops->columns(bytes, to.at, rows);
    for (int lane = 0; lane < lanes; lane++) {
        for (int64_t r = 0; r < rows; r++)
            expected[r] = key_at(from.at, bytes, r * lanes + lane);
        qsort(expected, (size_t)rows, 8, compare);
        for (int64_t r = 0; r < rows; r++)
            CHECK(key_at(to.at, bytes, r * lanes + lane) == expected[r]);
    }
    CHECK(guarded(&to, rows * 64));
}

static void test_within(int bytes, int64_t n) {
    uint64_t low = key_at(from.at, bytes, random_below(n));
    uint64_t high = key_at(from.at, bytes, random_below(n));
    int64_t below = -1, found = 0, under = 0, got;
    if (low > high) low = high;
    got = bytes == 4 ? loops->within_4((uint32_t *)from.at, (uint32_t *)to.at, n,
                                       (uint32_t)low, (uint32_t)high, &below)
                     : loops->within_8((uint64_t *)from.at, (uint64_t *)to.at, n, low,
                                       high, &below);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t key = key_at(from.at, bytes, i);
        under += key < low;
        if (key >= low && key <= high) CHECK(key_at(to.at, bytes, found++) == key);
    }
    CHECK(got == found && below == under && guarded(&to, n * bytes));
}

/* The three ways as they ought to be: keys to `expected`, their positions. */
static int64_t ways_of(int bytes, int64_t n, uint64_t pivot, int64_t *order) {
    int64_t at = 0, upto = 0;
    for (int way = 0; way < 3; way++) {
        for (int64_t i = 0; i < n; i++) {
            const uint64_t key = key_at(from.at, bytes, i);
            if ((key >= pivot) + (key > pivot) != way) continue;
            order[at] = i;
            expected[at++] = key;
        }
        if (way == 1) upto = at;
    }
    return upto;
}

static void test_ways(int bytes, int64_t n, bool indexed) {
    static int64_t order[SHORT];
    const uint64_t pivot = key_at(from.at, bytes, random_below(n));
    const int64_t upto = ways_of(bytes, n, pivot, order);
    uint32_t *of = indexed ? index_from : NULL, *into = indexed ? index_to : NULL;
    memset(index_to, FILL, sizeof index_to);
    memset(positions, FILL, sizeof positions);
    for (int64_t i = 0; i < n; i++)
        index_from[i] = (uint32_t)i;
    if (bytes == 4) {
        CHECK(loops->three_ways_4((uint32_t *)from.at, of, (uint32_t *)to.at, into, n,
                                  (uint32_t)pivot) == upto);
        if (loops->order_4)
            loops->order_4((uint32_t *)from.at, positions, n, (uint32_t)pivot);
    } else {
        CHECK(loops->three_ways_8((uint64_t *)from.at, of, (uint64_t *)to.at, into, n,
                                  pivot) == upto);
        if (loops->order_8) loops->order_8((uint64_t *)from.at, positions, n, pivot);
    }
    for (int64_t i = 0; i < n; i++) {
        CHECK(key_at(to.at, bytes, i) == expected[i]);
        if (indexed) CHECK(index_to[i] == (uint32_t)order[i]);
        if (loops->order_4) CHECK(positions[i] == order[i]);
    }
    CHECK(guarded(&to, n * bytes) && index_to[n] == 0x5a5a5a5a &&
          positions[n] == 0x5a5a5a5a5a5a5a5a);
    CHECK((bytes == 4 ? loops->alone_4((uint32_t *)from.at, (uint32_t *)spare.at, n,
                                       (uint32_t)pivot)
                      : loops->alone_8((uint64_t *)from.at, (uint64_t *)spare.at, n,
                                       pivot)) == upto);
    for (int64_t i = 0; i < n; i++)
        CHECK(key_at(from.at, bytes, i) == expected[i]);
    CHECK(guarded(&from, n * bytes) && guarded(&spare, n * bytes));
}

static const asn_dtype types[] = {ASN_I32, ASN_U32, ASN_F32, ASN_I64, ASN_U64, ASN_F64};
enum { TYPES = sizeof types / sizeof *types };

/* Every length up to some, where networks and rests are; then those of partitions in near
 * caches, between two places, and far away. */
static void test_sorts(void) {
    static const int64_t longer[] = {1000, 2047, 4096, 5000, 9001, 40000, LONGEST};
    for (int64_t n = 1; n < 600; n += n < 140 ? 1 : 7)
        for (int pattern = 0; pattern < PATTERNS; pattern++) {
            const asn_dtype dt = types[random_below(TYPES)];
            test_numbers(dt, pattern, n, n % 2);
            test_numbers(dt, pattern, n, n % 2 == 0);
            test_keys(4, pattern, n);
            test_keys(8, pattern, n);
        }
    for (size_t l = 0; l < sizeof longer / sizeof *longer; l++) {
        const bool few = longer[l] == LONGEST; /* of these, one of every type */
        for (int pattern = 0; pattern < (few ? 1 : PATTERNS); pattern++) {
            for (int t = 0; t < TYPES; t++)
                test_numbers(types[t], pattern, longer[l] - few * t, (t + pattern) % 2);
            test_keys(4, pattern, longer[l]);
            test_keys(8, pattern, longer[l]);
        }
    }
}

int main(void) {
    loops = asn_context_get()->sorts;
    if (!loops) {
        printf("sort: %s has no sorts by vectors\n", asn_context_get()->name);
        return 0;
    }
    test_sorts();
    for (int bytes = 4; bytes <= 8; bytes += 4) {
        for (int64_t rows = 1; rows <= 128; rows++)
            test_columns(bytes, rows);
        for (int64_t n = 1; n < SHORT; n += n < 80 ? 1 : 37)
            for (int pattern = 0; pattern < PATTERNS; pattern++) {
                fill(bytes, pattern, n);
                test_within(bytes, n);
                test_ways(bytes, n, pattern % 2);
            }
    }
    return check_report("sort");
}
