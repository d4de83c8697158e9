/* Masks of contiguous lines against one element at a time: counts, positions, selection,
 * placing and filling, of every size of element, and checks of indices. All memory ends
 * at a page that may not be touched, so that a vector that reads or writes beyond its
 * elements is seen; elements that a mask leaves out stay as they were. */
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "device/cpu/fused/reduce.h"
#include "device/cpu/index/bounds.h"
#include "device/cpu/index/index.h"
#include "device/cpu/fused/reduce.h"

enum { ROUNDS = 4000, LONGEST = 700, LONG = 40000, ITEM = 16 };
static const asn_dtype types[] = {ASN_I8,  ASN_I16, ASN_I32, ASN_F32,
                                  ASN_I64, ASN_C64, ASN_C128};
enum { TYPES = sizeof types / sizeof *types };

/* Memory of so many bytes that ends where none is. */
typedef struct {
    char *pages;
    size_t size;
} fenced;

static fenced fenced_new(size_t most) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    fenced f = {NULL, (most + page - 1) / page * page};
    f.pages = mmap(NULL, f.size + page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f.pages == MAP_FAILED) exit(1);
    mprotect(f.pages + f.size, page, PROT_NONE);
    return f;
}

/* The last `bytes` of it, filled. */
static char *last(const fenced *f, int64_t bytes) {
    char *p = f->pages + f->size - bytes;
    memset(p, 0x5a, (size_t)bytes);
    return p;
}

static fenced masks, sources, targets, lists;

/* Runs of trues and falses, or each drawn alone; trues are any number but 0 where the
 * mask's consumer may see such. Returns how many are true. */
static int64_t draw_mask(uint8_t *mask, int64_t n, bool any_number) {
    const int64_t of = 1 + random_below(64), run = random_below(2) ? 1 : 200;
    const int64_t trues = random_below(8) ? random_below(of + 1) : of;
    int64_t count = 0;
    for (int64_t i = 0; i < n;) {
        const bool is = random_below(of) < trues;
        for (int64_t end = i + 1 + random_below(run); i < n && i < end; i++) {
            mask[i] =
                is ? any_number && random_below(2) ? (uint8_t)(1 + random_below(255)) : 1
                   : 0;
            count += is;
        }
    }
    return count;
}

static void test_positions(int64_t n) {
    static const int64_t one = 1, eight = 8;
    uint8_t *mask = (uint8_t *)last(&masks, n);
    int64_t count = draw_mask(mask, n, true), found, shape[2] = {1, count},
            strides[2] = {count * 8, 8};
    const asnd_nd in = {(char *)mask, 1, ASN_BOOL, &n, &one};
    int64_t *out = (int64_t *)(void *)last(&targets, count * eight);
    const asnd_nd to = {(char *)out, 2, ASN_I64, shape, strides};
    CHECK(asn_cpu_count_nonzero(&in, &found) == ASN_OK && found == count);
    CHECK(asn_cpu_nonzero(&in, &to, &found) == ASN_OK && found == count);
    for (int64_t i = 0, at = 0; i < n; i++)
        if (mask[i]) CHECK(out[at++] == i);
}

/* Words count as they are; a float's -0.0 is none. */
static void test_words(int64_t n) {
    static const asn_dtype of[] = {ASN_I32, ASN_U64, ASN_F32, ASN_F64};
    const asn_dtype dt = of[random_below(4)];
    const int64_t item = asn_itemsize(dt);
    char *words = last(&sources, n * item);
    int64_t count = 0, found;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bit = (uint64_t)random_below(3) << (item * 8 - 1);
        const uint64_t x = random_below(2) ? bit : random_u64() >> (64 - item * 8);
        const uint64_t sign = (uint64_t)1 << (item * 8 - 1);
        memcpy(words + i * item, &x, (size_t)item);
        count += (asn_is_floating(dt) ? x & (sign - 1) : x & (sign | (sign - 1))) != 0;
    }
    const asnd_nd in = {words, 1, dt, &n, &item};
    CHECK(asn_cpu_count_nonzero(&in, &found) == ASN_OK && found == count);
}

static void fill_randomly(char *p, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i++)
        p[i] = (char)random_u64();
}

static void test_moves(int64_t n) {
    static const int64_t one = 1;
    const asn_dtype dt = types[random_below(TYPES)];
    const int64_t item = asn_itemsize(dt);
    uint8_t *mask = (uint8_t *)last(&masks, n);
    int64_t count = draw_mask(mask, n, false), found;
    char *self = last(&sources, n * item), *list = last(&lists, count * item);
    char *was = last(&targets, n * item), element[ITEM];
    const asnd_nd which = {(char *)mask, 1, ASN_BOOL, &n, &one},
                  all = {self, 1, dt, &n, &item}, few = {list, 1, dt, &count, &item};
    fill_randomly(self, n * item);
    CHECK(asn_cpu_masked_select(&all, &which, &few, &found) == ASN_OK && found == count);
    for (int64_t i = 0, at = 0; i < n; i++)
        if (mask[i]) CHECK(!memcmp(list + item * at++, self + item * i, (size_t)item));
    fill_randomly(list, count * item);
    memcpy(was, self, (size_t)(n * item));
    CHECK(asn_cpu_masked_scatter(&all, &which, &few) == ASN_OK);
    for (int64_t i = 0, at = 0; i < n; i++) {
        const char *now = mask[i] ? list + item * at++ : was + item * i;
        CHECK(!memcmp(self + item * i, now, (size_t)item));
    }
    fill_randomly(element, item);
    memcpy(was, self, (size_t)(n * item));
    CHECK(asn_cpu_masked_fill(&all, &which, element) == ASN_OK);
    for (int64_t i = 0; i < n; i++)
        CHECK(!memcmp(self + item * i, mask[i] ? element : was + item * i, (size_t)item));
}

static void test_bounds(int64_t n) {
    const int64_t size = 1 + random_below(1000);
    int64_t *index = (int64_t *)(void *)last(&sources, n * 8);
    for (int64_t i = 0; i < n; i++)
        index[i] = random_below(2 * size) - size;
    CHECK(!(asn_bounds_misses((char *)index, 8, n, (uint64_t)size) >> 63));
    static const int64_t beyond[] = {0, 1, INT64_MAX / 2};
    if (n == 0) return;
    const int64_t by = beyond[random_below(3)];
    index[random_below(n)] = random_below(2) ? size + by : -size - 1 - by;
    CHECK(asn_bounds_misses((char *)index, 8, n, (uint64_t)size) >> 63);
}

int main(void) {
    masks = fenced_new(LONG);
    sources = fenced_new(LONG * ITEM);
    targets = fenced_new(LONG * ITEM);
    lists = fenced_new(LONG * ITEM);
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t n = random_below(LONGEST);
        test_positions(n);
        test_words(n);
        test_moves(n);
        test_bounds(n);
    }
    for (int round = 0; round < 4; round++) { /* several pieces */
        test_positions(LONG - random_below(200));
        test_moves(LONG - random_below(200));
    }
    return check_report("mask");
}
