/* The memory manager: segments, slabs and patterns against what they promise, on random
 * requests; the pool, buffers' records and copy queues over the CPU device, from several
 * threads and with every allocation failing in turn.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "check.h"
#include "runtime/memory/buffer.h"
#include "runtime/device.h"
#include "runtime/memory/dma.h"
#include "runtime/memory/pattern.h"
#include "runtime/memory/memory_pool.h"
#include "runtime/memory/slab.h"
#include "runtime/memory/watch.h"

static void test_classes(void) {
    for (int c = 0; c < ASN_SIZE_CLASSES - 8; c++) {
        int64_t bytes = asn_class_bytes(c);
        CHECK(asn_class_bytes(asn_size_class(bytes)) >= bytes);
        if (c < 12) continue; /* below 512 bytes not every class is a multiple of 64 */
        CHECK(bytes % 64 == 0);
        CHECK(asn_size_class(bytes) == c && asn_size_class(bytes + 1) == c + 1);
        CHECK(asn_class_within(bytes) == c && asn_class_within(bytes - 64) == c - 1);
    }
    for (int64_t n = 1; n < 1 << 20; n += 1 + random_below(97)) {
        CHECK(asn_class_bytes(asn_size_class(n)) >= n);
        CHECK(asn_class_bytes(asn_size_class(n)) <= (n <= 256 ? 256 : n + n / 4 + 64));
    }
}

/* ---- segments */

enum { LIVE = 200 };

/* Ranges cover their segment without gaps, no two idle ones are neighbours, and the sums
 * are right. */
static void check_segments(const asn_segments *s) {
    int64_t reserved = 0, idle = 0;
    int num = 0;
    for (const asn_segment *at = s->list; at; at = at->next) {
        const char *end = at->first->address;
        num++;
        reserved += at->bytes;
        for (const asn_range *r = at->first; r; r = r->after) {
            CHECK(r->address == end && r->segment == at && r->bytes > 0);
            CHECK(!r->after || r->after->before == r);
            CHECK(r->state != ASN_RANGE_IDLE || !r->after ||
                  r->after->state != ASN_RANGE_IDLE);
            end += r->bytes;
            if (r->state == ASN_RANGE_IDLE) idle += r->bytes;
        }
        CHECK(end == at->first->address + at->bytes);
    }
    CHECK(num == s->num && reserved == s->reserved && idle == s->idle);
}

static void test_segments(int64_t max_split) {
    asn_segments s = {.max_split = max_split};
    asn_range *live[LIVE] = {NULL};
    for (int round = 0; round < 20000; round++) {
        int i = (int)random_below(LIVE);
        if (live[i]) {
            asn_segments_give(live[i]);
            live[i] = NULL;
        } else {
            int64_t bytes = 4096 * (1 + random_below(600));
            live[i] = asn_segments_take(&s, bytes, INT64_MAX);
            if (!live[i]) {
                int64_t segment = bytes + 4096 * random_below(1000);
                if (max_split && bytes <= max_split && segment > max_split)
                    segment = max_split;
                CHECK(asn_segments_add(&s, malloc((size_t)segment), segment) == ASN_OK);
                live[i] = asn_segments_take(&s, bytes, INT64_MAX);
            }
            CHECK(live[i] && live[i]->bytes >= bytes);
            memset(live[i]->address, i, (size_t)bytes);
        }
        if (round % 97 == 0) check_segments(&s);
        if (round % 1009 == 0)
            for (asn_segment *idle; (idle = asn_segments_idle_segment(&s));)
                free(asn_segments_drop(&s, idle));
    }
    for (int i = 0; i < LIVE; i++)
        if (live[i]) asn_segments_give(live[i]);
    check_segments(&s);
    CHECK(s.idle == s.reserved);
    for (asn_segment *idle; (idle = asn_segments_idle_segment(&s));)
        free(asn_segments_drop(&s, idle));
    CHECK(s.num == 0 && s.reserved == 0 && s.idle == 0);
}

/* Long ranges stay whole for long requests. */
static void test_max_split(void) {
    asn_segments s = {.max_split = 1 << 20};
    CHECK_OK(asn_segments_add(&s, malloc(8 << 20), 8 << 20));
    CHECK(!asn_segments_take(&s, 65536, INT64_MAX));
    asn_range *r = asn_segments_take(&s, 6 << 20, INT64_MAX);
    CHECK(r && r->bytes == 6 << 20 && s.idle == 2 << 20);
    asn_segments_give(r);
    r = asn_segments_take(&s, 7 << 20, INT64_MAX);
    CHECK(r && r->bytes == 7 << 20);
    asn_segments_give(r);
    r = asn_segments_take(&s, (7 << 20) + (1 << 19), INT64_MAX);
    CHECK(r && r->bytes == 8 << 20); /* a rest below the setting stays with the block */
    asn_segments_give(r);
    CHECK(!asn_segments_take(&s, 2 << 20, 4 << 20)); /* longest bounds what may be cut */
    free(asn_segments_drop(&s, asn_segments_idle_segment(&s)));
}

/* ---- slabs */

static void count_release(void *context, void *memory) {
    ++*(int *)context;
    free(memory);
}

static void test_slabs(void) {
    enum { BLOCKS = 400 };
    asn_slabs s = {0};
    void *blocks[BLOCKS] = {NULL};
    int classes[BLOCKS], slabs = 0, released = 0;
    for (int round = 0; round < 30000; round++) {
        int i = (int)random_below(BLOCKS);
        bool reused;
        if (blocks[i]) {
            int64_t bytes = asn_class_bytes(classes[i]);
            char *end = (char *)blocks[i] + bytes;
            CHECK(*(char *)blocks[i] == (char)i && end[-1] == (char)i); /* overlap */
            asn_slabs_give(&s, classes[i], blocks[i]);
            blocks[i] = NULL;
        } else {
            classes[i] = (int)random_below(ASN_SLAB_CLASSES);
            blocks[i] = asn_slabs_take(&s, classes[i], &reused);
            if (!blocks[i]) {
                CHECK_OK(asn_slabs_add(&s, malloc(ASN_SLAB_BYTES)));
                slabs++;
                blocks[i] = asn_slabs_take(&s, classes[i], &reused);
                CHECK(blocks[i] && !reused);
            }
            memset(blocks[i], i, (size_t)asn_class_bytes(classes[i]));
        }
        if (round % 5003 == 0) asn_slabs_release(&s, count_release, &released);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i]) asn_slabs_give(&s, classes[i], blocks[i]);
    asn_slabs_release(&s, count_release, &released);
    CHECK(released == slabs && s.num == 0); /* every slab is idle at the end */
    asn_slabs_fini(&s, count_release, &released);
}

/* ---- patterns */

/* A step of a few sizes that repeat within it too, after a beginning of its own. */
static void test_pattern(void) {
    enum { STEP = 37, TURNS = 6, BEFORE = 11 };
    for (int sizes = 1; sizes < 6; sizes++) {
        asn_pattern p = {0};
        int64_t bytes[STEP], in_use[STEP], most = 0;
        for (int k = 0; k < BEFORE; k++)
            asn_pattern_note(&p, 1000 + k, 1);
        for (int k = 0; k < STEP; k++) {
            bytes[k] = 80 + random_below(sizes);
            in_use[k] = random_below(1 << 30);
            if (in_use[k] > most) most = in_use[k];
        }
        for (int turn = 0; turn < TURNS; turn++)
            for (int k = 0; k < STEP; k++) {
                asn_pattern_note(&p, bytes[k], in_use[k]);
                /* equal sizes are a step of one: its need is what the last one had */
                if (turn >= 2 && sizes > 2) CHECK(asn_pattern_need(&p) == most);
            }
        CHECK(asn_pattern_need(&p) > 0);
        asn_pattern_note(&p, 1, 1);
        CHECK(asn_pattern_need(&p) == 0); /* a new size ends it */
    }
    asn_pattern random = {0};
    int known = 0;
    for (int k = 0; k < 20000; k++) {
        asn_pattern_note(&random, random_below(100), 1);
        known += asn_pattern_need(&random) != 0;
    }
    CHECK(known < 1000); /* random sizes have no pattern to speak of */
}

/* ---- the pool over the device */

static asn_memory_stats stats(void) {
    asn_memory_stats s;
    asn_memory_get_stats(&s);
    return s;
}

static void *churn(void *seed) {
    enum { BLOCKS = 64 };
    uint64_t state = (uint64_t)(uintptr_t)seed * 0x9e3779b97f4a7c15u + 1;
    asn_block blocks[BLOCKS] = {{0}};
    uintptr_t wrong = 0; /* another thread's block, or none: counted by the caller */
    for (int round = 0; round < 4000; round++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        asn_block *b = &blocks[state >> 58];
        if (b->data) {
            wrong += *(char *)b->data != (char)(uintptr_t)seed;
            asn_pool_free(b);
            b->data = NULL;
            continue;
        }
        int64_t bytes = 1 + (int64_t)(state >> 20 & 0xffffff) % (1 << (8 + state % 14));
        if (asn_pool_alloc(bytes, b) || b->capacity < bytes) return (void *)1;
        memset(b->data, (char)(uintptr_t)seed, (size_t)(bytes < 100 ? bytes : 100));
    }
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].data) asn_pool_free(&blocks[i]);
    return (void *)wrong;
}

static void test_threads(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, churn, (void *)(uintptr_t)(i + 1)) == 0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        CHECK(pthread_join(threads[i], &wrong) == 0 && wrong == NULL);
    }
    CHECK(stats().bytes_in_use == 0);
    asn_memory_empty_cache();
    CHECK(stats().bytes_cached == 0 && stats().segments == 0);
}

static void test_limit(void) {
    asn_memory_settings before, s;
    asn_memory_get_settings(&before);
    s = before;
    s.limit = 64 << 20;
    CHECK_OK(asn_memory_set_settings(&s));
    asn_block a, b;
    CHECK_OK(asn_pool_alloc(40 << 20, &a));
    CHECK(asn_pool_alloc(40 << 20, &b) == ASN_ERR_MEMORY);
    CHECK(strstr(asn_error_message(), "the limit is 67108864") != NULL);
    CHECK(strstr(asn_error_message(), "the largest blocks: 41943040") != NULL);
    asn_pool_free(&a);
    CHECK_OK(asn_pool_alloc(60 << 20, &b)); /* the idle segment goes first */
    CHECK(stats().bytes_in_use + stats().bytes_cached <= 64 << 20);
    asn_pool_free(&b);
    s.gc_threshold = 1.5;
    CHECK(asn_memory_set_settings(&s) == ASN_ERR_VALUE);
    CHECK_OK(asn_memory_set_settings(&before));
    asn_error_clear();
}

#ifndef ASN_SANITIZE
/* Idle segments go before the threshold is passed, the oldest first. */
static void test_collection(void) {
    asn_memory_settings before, s;
    asn_memory_get_settings(&before);
    s = before;
    s.limit = 256 << 20;
    s.gc_threshold = 0.5;
    asn_memory_empty_cache();
    CHECK_OK(asn_memory_set_settings(&s));
    asn_block blocks[4];
    for (int i = 0; i < 4; i++)
        CHECK_OK(asn_pool_alloc((20 + i) << 20, &blocks[i]));
    for (int i = 0; i < 4; i++)
        asn_pool_free(&blocks[i]);
    CHECK_OK(asn_pool_alloc(60 << 20, &blocks[0]));
    CHECK(stats().bytes_in_use + stats().bytes_cached <= 128 << 20);
    asn_pool_free(&blocks[0]);
    CHECK_OK(asn_memory_set_settings(&before));
}

/* After its second pass a step's memory comes in one piece. */
static void test_prepared(void) {
    enum { NUM = 12 };
    asn_block blocks[NUM];
    uint64_t calls = 0;
    for (int turn = 0; turn < 4; turn++) {
        asn_memory_empty_cache();
        uint64_t first = stats().device_allocations;
        for (int i = 0; i < NUM; i++)
            CHECK_OK(asn_pool_alloc((3 << 20) + i * 100000, &blocks[i]));
        calls = stats().device_allocations - first;
        for (int i = 0; i < NUM; i++)
            asn_pool_free(&blocks[i]);
    }
    CHECK(calls == 1); /* one call of the device for the whole step */
    CHECK(stats().prepared > 0);
    asn_memory_empty_cache();
}
#endif

static void test_faults(void) {
    for (long k = 1; k < 40; k++) {
        asn_memory_empty_cache();
        asn_alloc_fail_after(k);
        asn_block small, middle, large;
        asn_status status = asn_pool_alloc(100, &small);
        if (!status) {
            status = asn_pool_alloc(1 << 20, &middle);
            if (!status) {
                status = asn_pool_alloc(5 << 20, &large);
                if (!status) asn_pool_free(&large);
                asn_pool_free(&middle);
            }
            asn_pool_free(&small);
        }
        asn_alloc_fail_after(0);
        CHECK(!status || status == ASN_ERR_MEMORY);
        CHECK(stats().bytes_in_use == 0);
        asn_error_clear();
    }
}

/* ---- watching */

static int told[3];
static void count_hook(void *context, const asn_watch_event *e) {
    (void)context;
    told[e->kind]++;
}

static void test_watch(void) {
    CHECK_OK(asn_watch_start());
    CHECK_OK(asn_watch_add_hook(count_hook, NULL));
    int64_t before;
    CHECK_OK(asn_watch_history(16, &before));
    uint64_t first = asn_watch_next();
    enum { NUM = 3000 };
    static asn_buffer *buffers[NUM];
    for (int i = 0; i < NUM; i++) {
        CHECK_OK(asn_buffer_new(&buffers[i], 100 + i));
        if (i % 3 == 0) CHECK_OK(asn_buffer_ensure(buffers[i]));
    }
    CHECK(asn_watch_live(first, NULL, 0) == NUM);
    for (int i = 0; i < NUM; i++)
        if (i % 2) asn_buffer_release(buffers[i]);
    static asn_watch_record records[NUM];
    CHECK(asn_watch_live(first, records, NUM) == NUM / 2);
    int64_t sum = 0, want = 0;
    for (int i = 0; i < NUM / 2; i++)
        sum += records[i].bytes;
    for (int i = 0; i < NUM; i += 2)
        want += 100 + i;
    CHECK(sum == want);
    for (int i = 0; i < NUM; i += 2)
        asn_buffer_release(buffers[i]);
    CHECK(asn_watch_live(0, NULL, 0) == 0);
    CHECK(told[ASN_WATCH_TAKEN] == told[ASN_WATCH_GIVEN] &&
          told[ASN_WATCH_TAKEN] >= NUM / 3);
    asn_watch_event events[20];
    CHECK(asn_watch_events(events, 20) == 16);
    for (int i = 1; i < 16; i++)
        CHECK(events[i].ns >= events[i - 1].ns);
    CHECK(asn_watch_remove_hook(count_hook, NULL));
    CHECK(!asn_watch_remove_hook(count_hook, NULL));
    CHECK_OK(asn_watch_history(0, &before));
    CHECK(before == 16);
    asn_watch_stop();
    CHECK(!asn_memory_watched);
    for (int i = 0; i < 8; i++)
        CHECK_OK(asn_watch_add_hook(count_hook, &told[i % 3]));
    CHECK(asn_watch_add_hook(count_hook, NULL) == ASN_ERR_UNSUPPORTED);
    for (int i = 0; i < 8; i++)
        CHECK(asn_watch_remove_hook(count_hook, &told[i % 3]));
    asn_error_clear();
}

/* ---- copy queues */

static void test_queue(void) {
    enum { NUM = 24 };
    asn_dma *q;
    CHECK(asn_dma_new(&q, 1000) == ASN_ERR_VALUE);
    CHECK_OK(asn_dma_new(&q, 256 << 10));
    char *host[NUM], *back[NUM];
    asn_block blocks[NUM];
    asn_transfer *there[NUM], *here[NUM];
    int64_t bytes[NUM];
    for (int i = 0; i < NUM; i++) {
        bytes[i] = i ? 1 + random_below(1 << 20) : 0;
        host[i] = malloc((size_t)bytes[i] + 1);
        back[i] = calloc((size_t)bytes[i] + 1, 1);
        for (int64_t k = 0; k < bytes[i]; k++)
            host[i][k] = (char)random_next();
        CHECK_OK(asn_pool_alloc(bytes[i] + 1, &blocks[i]));
        CHECK_OK(
            asn_dma_submit(q, true, host[i], blocks[i].data, bytes[i], i % 3, &there[i]));
    }
    for (int i = 0; i < NUM; i++) {
        CHECK_OK(asn_transfer_order(there[i]));
        CHECK_OK(asn_transfer_wait(there[i]));
        CHECK(asn_transfer_done(there[i]));
        CHECK_OK(
            asn_dma_submit(q, false, back[i], blocks[i].data, bytes[i], -i, &here[i]));
    }
    asn_dma_stats s;
    asn_transfer_release(here[0]);
    for (int i = 1; i < NUM; i++)
        CHECK_OK(asn_transfer_wait(here[i]));
    asn_dma_get_stats(q, &s);
    CHECK(s.waiting == 0 && s.transfers == 2 * (NUM - 1)); /* empty ones are none */
    asn_dma_free(q);
    for (int i = 0; i < NUM; i++) {
        CHECK(!memcmp(host[i], back[i], (size_t)bytes[i]));
        asn_transfer_release(there[i]);
        if (i) asn_transfer_release(here[i]);
        asn_pool_free(&blocks[i]);
        free(host[i]);
        free(back[i]);
    }
    asn_error_clear();
}

int main(int argc, char **argv) {
    test_classes();
    test_segments(0);
    test_segments(1 << 20);
    test_max_split();
    test_slabs();
    test_pattern();
    asn_device_set_library_path(argc > 1 ? argv[1] : "");
    CHECK_OK(asn_device_open());
    test_threads();
    test_limit();
#ifndef ASN_SANITIZE
    test_collection();
    test_prepared();
#endif
    test_faults();
    test_watch();
    test_queue();
    CHECK_OK(asn_device_close());
    return finish();
}
