/* CPU device: order statistics of a line as it lies in memory (see pick.h).
 *
 * SAMPLE elements at even distances are encoded and sorted; the ranks sought, less and
 * more a MARGIN, give the window's ends. Where the window misses the element, which a
 * biased sample may make it do, margins are taken four times as wide; past the sample the
 * caller's way remains.
 */
#include "device/cpu/sort/pick.h"

#include <string.h>

#include "device/cpu/context.h"
#include "device/cpu/sort/keys.h"

enum {
    SAMPLE = 512,
    MARGIN = 32,
    NEAR = 32 /* ranks of the sample: one window for both */
};

/* NULL: the processor or the dtype has none. */
static const asnd_pick_loops *loops_of(asn_dtype dt) {
    const asnd_pick_loops *picks = asn_context_get()->picks;
    return picks && picks[dt].within ? &picks[dt] : NULL;
}

typedef struct {
    asn_dtype dtype;
    int bytes;
    const asnd_pick_loops *loops;
    const char *line;
    int64_t n;
    char *window, *spare; /* keys: `found` of them, `below` are smaller */
    int64_t found, below;
    uint64_t sample[SAMPLE]; /* keys of `bytes`, ascending */
} pick;

/* Key i of 4 or 8 bytes. */
static uint64_t key_at(const pick *p, const void *keys, int64_t i) {
    return p->bytes == 4 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}

/* The element whose key this is; *value has p->bytes bytes. */
static void value_of(const pick *p, uint64_t key, void *value) {
    uint32_t narrow = (uint32_t)key;
    asn_keys_decode(p->dtype, value, p->bytes, p->bytes == 4 ? (void *)&narrow : &key, 1,
                    ASN_KEYS_EXACT);
}

/* To p->sample, ascending. The elements are copied first: they need not be encoded where
 * they lie. */
static void take_sample(pick *p) {
    uint64_t values[SAMPLE];
    const int64_t n = p->n;
    for (int64_t i = 0; i < SAMPLE && p->bytes == 4; i++)
        ((uint32_t *)values)[i] =
            ((const uint32_t *)(const void *)p->line)[i * n / SAMPLE];
    for (int64_t i = 0; i < SAMPLE && p->bytes == 8; i++)
        values[i] = ((const uint64_t *)(const void *)p->line)[i * n / SAMPLE];
    asn_keys_encode(p->dtype, p->sample, (char *)values, p->bytes, SAMPLE,
                    ASN_KEYS_EXACT);
    asn_keys_sort(p->bytes, p->sample, NULL, values, NULL, SAMPLE);
}

/* False: the line is short, or there are no loops. scratch has room for two lines of
 * keys. */
static bool pick_init(pick *p, asn_dtype dt, const void *line, int64_t n, void *scratch) {
    p->loops = n < ASN_PICK_LEAST ? NULL : loops_of(dt);
    if (!p->loops) return false;
    p->dtype = dt;
    p->bytes = asn_key_bytes(dt);
    p->line = line;
    p->n = n;
    p->window = scratch;
    p->spare = p->window + n * p->bytes;
    take_sample(p);
    return true;
}

/* The rank in the sample of the kth element of the line. */
static int64_t rank_of(const pick *p, int64_t kth) {
    return (int64_t)((double)kth / (double)p->n * SAMPLE);
}

/* Keys of what lies between two ranks of the sample; false where the elements at these
 * two positions do not, or there is a NaN. */
static bool open_between(pick *p, int64_t low, int64_t high, int64_t first, int64_t last,
                         bool *nan) {
    bool is_float = p->dtype == ASN_F32 || p->dtype == ASN_F64;
    uint64_t least = 0, most = p->bytes == 4 ? UINT32_MAX : UINT64_MAX;
    if (is_float) { /* the keys outside these are those of NaN */
        const double endless[2] = {-(double)__builtin_inf(), (double)__builtin_inf()};
        const float endless_4[2] = {-__builtin_inff(), __builtin_inff()};
        uint64_t ends[2];
        asn_keys_encode(p->dtype, ends,
                        p->bytes == 4 ? (const char *)endless_4 : (const char *)endless,
                        p->bytes, 2, ASN_KEYS_EXACT);
        least = key_at(p, ends, 0);
        most = key_at(p, ends, 1);
    }
    uint64_t a, b;
    value_of(p, low < 0 ? least : key_at(p, p->sample, low), &a);
    value_of(p, high >= SAMPLE ? most : key_at(p, p->sample, high), &b);
    p->found = p->loops->within(p->line, p->window, p->n, &a, &b, &p->below, nan);
    if (*nan || first < p->below || last >= p->below + p->found) return false;
    asn_keys_encode(p->dtype, p->window, p->window, p->bytes, p->found, ASN_KEYS_EXACT);
    return true;
}

/* Keys of a window that holds the elements at these two positions. False: a NaN, or
 * margins as wide as the sample. */
static bool open_window(pick *p, int64_t first, int64_t last) {
    bool nan = false, open = false;
    for (int64_t margin = MARGIN; !open && !nan && margin < SAMPLE; margin *= 4)
        open = open_between(p, rank_of(p, first) - margin, rank_of(p, last) + margin,
                            first, last, &nan);
    return open;
}

/* The key of the kth element of the line, which lies in the window. */
static uint64_t find(const pick *p, int64_t kth) {
    return asn_keys_kth(p->bytes, p->window, p->spare, p->found, kth - p->below);
}

/* Positions whose ranks lie near share a window. */
bool asn_pick_values(asn_dtype dt, const void *line, int64_t n, void *scratch,
                     const int64_t *kth, int count, void *to) {
    pick p;
    if (!pick_init(&p, dt, line, n, scratch)) return false;
    for (int i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count; next++)
            if (rank_of(&p, kth[next]) - rank_of(&p, kth[i]) > NEAR) break;
        if (!open_window(&p, kth[i], kth[next - 1])) return false;
        for (int j = i; j < next; j++)
            value_of(&p, find(&p, kth[j]), (char *)to + j * p.bytes);
    }
    return true;
}

/* How many keys of the window are below this one, and equal to it. */
static int64_t count_below(const pick *p, uint64_t key, int64_t *equal) {
    int64_t below = 0, same = 0;
    if (p->bytes == 4) {
        const uint32_t *keys = (const void *)p->window, k = (uint32_t)key;
        for (int64_t i = 0; i < p->found; i++) {
            below += keys[i] < k;
            same += keys[i] == k;
        }
    } else {
        const uint64_t *keys = (const void *)p->window;
        for (int64_t i = 0; i < p->found; i++) {
            below += keys[i] < key;
            same += keys[i] == key;
        }
    }
    *equal = same;
    return below;
}

/* Whether the pivot is a zero of a float and the other zero is there, too: they compare
 * as equal, but -0.0 is to come first. */
static bool both_zeros(const pick *p, const void *pivot) {
    double zeros[2] = {0.0, -0.0}, value = 1;
    float zeros_4[2] = {0.0f, -0.0f}, value_4;
    uint64_t keys[2];
    int64_t there[2];
    if (p->dtype == ASN_F64) {
        memcpy(&value, pivot, sizeof value);
    } else if (p->dtype == ASN_F32) {
        memcpy(&value_4, pivot, sizeof value_4);
        value = (double)value_4;
    }
    if (value != 0) return false;
    asn_keys_encode(p->dtype, keys,
                    p->bytes == 4 ? (const char *)zeros_4 : (const char *)zeros, p->bytes,
                    2, ASN_KEYS_EXACT);
    for (int z = 0; z < 2; z++)
        (void)count_below(p, key_at(p, keys, z), &there[z]);
    return there[0] && there[1];
}

/* The pivot's place follows from the window: keys below it, and below or equal. The
 * second pass then stores each element once. */
bool asn_pick_part(asn_dtype dt, const void *line, int64_t n, void *scratch, int64_t kth,
                   void *to) {
    pick p;
    if (!pick_init(&p, dt, line, n, scratch) || !open_window(&p, kth, kth)) return false;
    uint64_t key = find(&p, kth), pivot;
    int64_t equal, below = p.below + count_below(&p, key, &equal);
    value_of(&p, key, &pivot);
    if (both_zeros(&p, &pivot)) return false;
    p.loops->part(line, to, n, &pivot, below, below + equal);
    return true;
}
