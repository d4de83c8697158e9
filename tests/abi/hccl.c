/* Collective communication: every collective, dtype and reduction on several sizes
 * between processes and between threads, against values computed here; messages, groups,
 * sub-communicators, two communicators at once, TCP, rank tables, ranks that end, wrong
 * arguments.
 *
 *     hccl                        runs everything
 *     hccl rank FILE R N WHAT     is rank R of N: FILE hands over the root information
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "hccl/hccl.h"

enum { MOST_RANKS = 4, LARGE = 300001, ROOM = LARGE + 64 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- values: small enough that every reduction is exact in every dtype */

static const struct {
    HcclDataType type;
    size_t size;
} dtypes[] = {
    {HCCL_DATA_TYPE_INT8, 1},   {HCCL_DATA_TYPE_INT16, 2}, {HCCL_DATA_TYPE_INT32, 4},
    {HCCL_DATA_TYPE_FP16, 2},   {HCCL_DATA_TYPE_FP32, 4},  {HCCL_DATA_TYPE_INT64, 8},
    {HCCL_DATA_TYPE_UINT64, 8}, {HCCL_DATA_TYPE_UINT8, 1}, {HCCL_DATA_TYPE_UINT16, 2},
    {HCCL_DATA_TYPE_UINT32, 4}, {HCCL_DATA_TYPE_FP64, 8},  {HCCL_DATA_TYPE_BFP16, 2},
    {HCCL_DATA_TYPE_INT128, 16}};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static uint16_t bf16(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return (uint16_t)(u >> 16);
}

static void put(HcclDataType type, void *p, size_t i, int v) {
    switch (type) {
    case HCCL_DATA_TYPE_INT8:
    case HCCL_DATA_TYPE_UINT8: ((uint8_t *)p)[i] = (uint8_t)v; break;
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_UINT16: ((uint16_t *)p)[i] = (uint16_t)v; break;
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_UINT32: ((uint32_t *)p)[i] = (uint32_t)v; break;
    case HCCL_DATA_TYPE_FP16: ((uint16_t *)p)[i] = aclFloatToFloat16((float)v); break;
    case HCCL_DATA_TYPE_BFP16: ((uint16_t *)p)[i] = bf16((float)v); break;
    case HCCL_DATA_TYPE_FP32: ((float *)p)[i] = (float)v; break;
    case HCCL_DATA_TYPE_FP64: ((double *)p)[i] = v; break;
    case HCCL_DATA_TYPE_INT128: ((__int128 *)p)[i] = v; break;
    default: ((uint64_t *)p)[i] = (uint64_t)(int64_t)v; break;
    }
}

/* Of rank r: 0..3, so that products and sums of four ranks stay below 128. */
static int value(uint32_t r, size_t i) {
    return (int)((i * 7 + r * 3 + (i >> 5)) & 3);
}

static int reduced(HcclReduceOp op, uint32_t ranks, size_t i) {
    int v = value(0, i);
    for (uint32_t r = 1; r < ranks; r++) {
        int w = value(r, i);
        if (op == HCCL_REDUCE_SUM) v += w;
        if (op == HCCL_REDUCE_PROD) v *= w;
        if (op == HCCL_REDUCE_MAX) v = v > w ? v : w;
        if (op == HCCL_REDUCE_MIN) v = v < w ? v : w;
    }
    return v;
}

/* ---- one rank's world */

typedef struct {
    uint32_t rank, ranks;
    HcclComm comm;
    aclrtStream stream;
    char *a, *b, *want; /* ROOM * MOST_RANKS * 16 bytes, as much as is asked for */
} world;

static void fill(const world *w, HcclDataType type, void *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        put(type, p, i, value(w->rank, i));
}

#define WAIT(w) CHECK_OK(aclrtSynchronizeStream((w)->stream))

static void same(const char *what, const world *w, const void *got, size_t size) {
    if (size == 0 || memcmp(got, w->want, size) == 0) return;
    size_t i = 0;
    while (((const char *)got)[i] == w->want[i])
        i++;
    fprintf(stderr, "%s: rank %u of %u: byte %zu of %zu differs\n", what, w->rank,
            w->ranks, i, size);
    check_failures++;
}

static void test_reductions(world *w, size_t n) {
    for (int t = 0; t < DTYPES; t++) {
        HcclDataType type = dtypes[t].type;
        size_t unit = dtypes[t].size;
        for (int o = 0; o < HCCL_REDUCE_RESERVED; o++) {
            HcclReduceOp op = (HcclReduceOp)o;
            if (n > 5000 && o != t % 4 && !(type == HCCL_DATA_TYPE_FP32 && o == 0))
                continue;
            size_t all = n * w->ranks;
            fill(w, type, w->a, all);
            for (size_t i = 0; i < all; i++)
                put(type, w->want, i, reduced(op, w->ranks, i));
            CHECK_OK(HcclAllReduce(w->a, w->b, n, type, op, w->comm, w->stream));
            WAIT(w);
            same("all-reduce", w, w->b, n * unit);
            memset(w->b, 99, n * unit);
            CHECK_OK(
                HcclReduce(w->a, w->b, n, type, op, w->ranks - 1, w->comm, w->stream));
            WAIT(w);
            if (w->rank == w->ranks - 1) same("reduce", w, w->b, n * unit);
            CHECK_OK(HcclReduceScatter(w->a, w->b, n, type, op, w->comm, w->stream));
            WAIT(w);
            memmove(w->want, w->want + w->rank * n * unit, n * unit);
            same("reduce-scatter", w, w->b, n * unit);
            /* In place. */
            for (size_t i = 0; i < n; i++)
                put(type, w->want, i, reduced(op, w->ranks, i));
            CHECK_OK(HcclAllReduce(w->a, w->a, n, type, op, w->comm, w->stream));
            WAIT(w);
            same("all-reduce in place", w, w->a, n * unit);
        }
    }
}

static void test_moves(world *w, size_t n, HcclDataType type, size_t unit) {
    size_t size = n * unit;
    for (size_t i = 0; i < size * w->ranks; i++)
        w->a[i] = (char)(i * 31 + w->rank * 7 + i / 251);
    for (uint32_t r = 0; r < w->ranks; r++)
        for (size_t i = 0; i < size; i++)
            w->want[r * size + i] = (char)(i * 31 + r * 7 + i / 251);
    CHECK_OK(HcclAllGather(w->a, w->b, n, type, w->comm, w->stream));
    WAIT(w);
    same("all-gather", w, w->b, size * w->ranks);
    memcpy(w->b + w->rank * size, w->a, size);
    CHECK_OK(HcclAllGather(w->b + w->rank * size, w->b, n, type, w->comm, w->stream));
    WAIT(w);
    same("all-gather in place", w, w->b, size * w->ranks);
    uint32_t root = w->ranks / 2;
    memcpy(w->b, w->a, size);
    CHECK_OK(HcclBroadcast(w->b, n, type, root, w->comm, w->stream));
    WAIT(w);
    memmove(w->want, w->want + root * size, size);
    same("broadcast", w, w->b, size);
    CHECK_OK(HcclScatter(w->a, w->b, n, type, root, w->comm, w->stream));
    WAIT(w);
    for (size_t i = 0; i < size; i++) {
        size_t j = w->rank * size + i;
        w->want[i] = (char)(j * 31 + root * 7 + j / 251);
    }
    same("scatter", w, w->b, size);
    CHECK_OK(HcclAlltoAll(w->a, n, type, w->b, n, type, w->comm, w->stream));
    WAIT(w);
    for (uint32_t r = 0; r < w->ranks; r++) {
        for (size_t i = 0; i < size; i++) {
            size_t j = w->rank * size + i;
            w->want[r * size + i] = (char)(j * 31 + r * 7 + j / 251);
        }
    }
    same("all-to-all", w, w->b, size * w->ranks);
}

/* Rank i has i * 3 + 1 elements; rank i sends j + i * 2 to rank j. */
static void test_uneven(world *w) {
    uint64_t counts[MOST_RANKS], at[MOST_RANKS], total = 0;
    int32_t *a = (int32_t *)w->a, *b = (int32_t *)w->b, *want = (int32_t *)w->want;
    for (uint32_t r = 0; r < w->ranks; r++) {
        counts[r] = r * 3 + 1;
        at[r] = total;
        for (uint64_t i = 0; i < counts[r]; i++)
            want[total + i] = (int32_t)(r * 100 + i);
        total += counts[r];
    }
    for (uint64_t i = 0; i < counts[w->rank]; i++)
        a[i] = (int32_t)(w->rank * 100 + i);
    CHECK_OK(HcclAllGatherV(a, counts[w->rank], b, counts, at, HCCL_DATA_TYPE_INT32,
                            w->comm, w->stream));
    WAIT(w);
    same("all-gather-v", w, b, total * 4);
    for (uint64_t i = 0; i < total; i++)
        a[i] = value(w->rank, i);
    CHECK_OK(HcclReduceScatterV(a, counts, at, b, counts[w->rank], HCCL_DATA_TYPE_INT32,
                                HCCL_REDUCE_SUM, w->comm, w->stream));
    WAIT(w);
    for (uint64_t i = 0; i < counts[w->rank]; i++)
        want[i] = reduced(HCCL_REDUCE_SUM, w->ranks, at[w->rank] + i);
    same("reduce-scatter-v", w, b, counts[w->rank] * 4);

    uint64_t matrix[MOST_RANKS * MOST_RANKS], out[MOST_RANKS], in[MOST_RANKS],
        out_at[MOST_RANKS], in_at[MOST_RANKS], sent = 0, got = 0;
    for (uint32_t i = 0; i < w->ranks; i++)
        for (uint32_t j = 0; j < w->ranks; j++)
            matrix[i * w->ranks + j] = j + i * 2;
    for (uint32_t r = 0; r < w->ranks; r++) {
        out[r] = matrix[w->rank * w->ranks + r];
        in[r] = matrix[r * w->ranks + w->rank];
        out_at[r] = sent;
        in_at[r] = got;
        for (uint64_t i = 0; i < out[r]; i++)
            a[sent + i] = (int32_t)(w->rank * 1000 + r * 100 + i);
        for (uint64_t i = 0; i < in[r]; i++)
            want[got + i] = (int32_t)(r * 1000 + w->rank * 100 + i);
        sent += out[r];
        got += in[r];
    }
    CHECK_OK(HcclAlltoAllV(a, out, out_at, HCCL_DATA_TYPE_INT32, b, in, in_at,
                           HCCL_DATA_TYPE_INT32, w->comm, w->stream));
    WAIT(w);
    same("all-to-all-v", w, b, got * 4);
    memset(b, 0, got * 4);
    CHECK_OK(HcclAlltoAllVC(a, matrix, HCCL_DATA_TYPE_INT32, b, HCCL_DATA_TYPE_INT32,
                            w->comm, w->stream));
    WAIT(w);
    same("all-to-all-vc", w, b, got * 4);
}

/* A ring: everyone sends to the next and receives from the previous one. */
static void test_messages(world *w, size_t n) {
    uint32_t next = (w->rank + 1) % w->ranks, last = (w->rank + w->ranks - 1) % w->ranks;
    HcclDataType type = HCCL_DATA_TYPE_INT8;
    memset(w->a, (int)w->rank + 1, n);
    memset(w->want, (int)last + 1, n);
    memset(w->b, 0, n);
    CHECK_OK(HcclGroupStart());
    CHECK_OK(HcclSend(w->a, n, type, next, w->comm, w->stream));
    CHECK_OK(HcclRecv(w->b, n, type, last, w->comm, w->stream));
    CHECK_OK(HcclGroupEnd());
    WAIT(w);
    same("group", w, w->b, n);
    HcclSendRecvItem items[] = {{HCCL_RECV, w->b, n, type, last},
                                {HCCL_SEND, w->a, n, type, next}};
    memset(w->b, 0, n);
    CHECK_OK(HcclBatchSendRecv(items, 2, w->comm, w->stream));
    WAIT(w);
    same("batch", w, w->b, n);
    /* In turn: even ranks send first. */
    memset(w->b, 0, n);
    if (w->ranks > 1 && w->rank % 2 == 0) {
        CHECK_OK(HcclSend(w->a, n, type, next, w->comm, w->stream));
        CHECK_OK(HcclRecv(w->b, n, type, last, w->comm, w->stream));
        WAIT(w);
        same("messages", w, w->b, n);
    } else if (w->ranks > 1) {
        CHECK_OK(HcclRecv(w->b, n, type, last, w->comm, w->stream));
        CHECK_OK(HcclSend(w->a, n, type, next, w->comm, w->stream));
        WAIT(w);
        same("messages", w, w->b, n);
    }
    /* To oneself, and a collective in the same group. */
    int32_t one = 1, sum = 0;
    memset(w->b, 0, n);
    memset(w->want, (int)w->rank + 1, n);
    CHECK_OK(HcclGroupStart());
    CHECK_OK(HcclRecv(w->b, n, type, w->rank, w->comm, w->stream));
    CHECK_OK(HcclAllReduce(&one, &sum, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, w->comm,
                           w->stream));
    CHECK_OK(HcclSend(w->a, n, type, w->rank, w->comm, w->stream));
    CHECK_OK(HcclGroupEnd());
    WAIT(w);
    same("to oneself", w, w->b, n);
    CHECK(sum == (int32_t)w->ranks);
}

/* The first two ranks, and the rest; then all of them in reverse order. */
static void test_sub(world *w) {
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    uint32_t half = w->rank < 2 ? 0 : 1, ids[MOST_RANKS], own = 0, n = 0, size = 0;
    for (uint32_t r = 0; r < w->ranks; r++) {
        if ((r < 2 ? 0u : 1u) != half) continue;
        if (r == w->rank) own = n;
        ids[n++] = r;
    }
    HcclComm sub = NULL, back = NULL;
    CHECK_OK(HcclCreateSubCommConfig(&w->comm, n, ids, half, own, &config, &sub));
    CHECK_OK(HcclGetRankSize(sub, &size));
    CHECK(size == n);
    char name[COMM_NAME_MAX_LENGTH], whole[COMM_NAME_MAX_LENGTH];
    CHECK_OK(HcclGetCommName(w->comm, whole));
    CHECK_OK(HcclGetCommName(sub, name));
    CHECK(strncmp(name, whole, strlen(whole)) == 0 && strstr(name, "_sub_") != NULL);
    for (uint32_t r = 0; r < w->ranks; r++)
        ids[r] = w->ranks - 1 - r;
    strcpy(config.hcclCommName, "backwards");
    CHECK_OK(HcclCreateSubCommConfig(&w->comm, w->ranks, ids, 7, w->ranks - 1 - w->rank,
                                     &config, &back));
    CHECK_OK(HcclGetCommName(back, name));
    CHECK(strcmp(name, "backwards") == 0);
    /* Both at once, on two streams. */
    aclrtStream other;
    CHECK_OK(aclrtCreateStream(&other));
    float one = 1, sum = 0, numbers[MOST_RANKS] = {0}, rank = (float)w->rank;
    for (int i = 0; i < 20; i++) {
        CHECK_OK(HcclAllReduce(&one, &sum, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, sub,
                               w->stream));
        CHECK_OK(HcclAllGather(&rank, numbers, 1, HCCL_DATA_TYPE_FP32, back, other));
    }
    CHECK_OK(HcclBarrier(w->comm, other));
    WAIT(w);
    CHECK_OK(aclrtSynchronizeStream(other));
    CHECK(sum == (float)n);
    for (uint32_t r = 0; r < w->ranks; r++)
        CHECK(numbers[r] == (float)(w->ranks - 1 - r));
    /* One communicator on two streams keeps the order of its calls. */
    float order[2] = {(float)w->rank, 0};
    CHECK_OK(HcclAllReduce(order, order + 1, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                           w->comm, other));
    CHECK_OK(HcclAllReduce(order + 1, order, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                           w->comm, w->stream));
    WAIT(w);
    CHECK(order[0] == (float)(w->ranks * w->ranks * (w->ranks - 1) / 2));
    CHECK_OK(aclrtDestroyStream(other));
    CHECK_OK(HcclCommDestroy(sub));
    CHECK_OK(HcclCommDestroy(back));
    CHECK_ERROR(HcclCommDestroy(back), HCCL_E_PARA);
}

/* Sums of halves are rounded once: 2048 + 1 + 1 (+ 1) would stay 2048 otherwise. */
static void test_halves(world *w) {
    if (w->ranks < 3) return;
    uint16_t x[3] = {aclFloatToFloat16(w->rank == 0 ? 2048.0f : 1.0f),
                     w->rank == 0 ? 0x7e00 : aclFloatToFloat16(1.0f),
                     aclFloatToFloat16(0x1p-24f)};
    CHECK_OK(
        HcclAllReduce(x, x, 3, HCCL_DATA_TYPE_FP16, HCCL_REDUCE_SUM, w->comm, w->stream));
    WAIT(w);
    float want = w->ranks == 3 ? 2050.0f : 2052.0f; /* 2051 is a tie */
    CHECK(aclFloat16ToFloat(x[0]) == want);
    CHECK((x[1] & 0x7c00) == 0x7c00 && (x[1] & 0x3ff) != 0); /* NaN */
    CHECK(aclFloat16ToFloat(x[2]) == (float)w->ranks * 0x1p-24f);
}

/* Every pair of halves' product with 1 is the half itself: conversions are exact. */
static void test_conversions(world *w) {
    uint16_t *a = (uint16_t *)w->a, *want = (uint16_t *)w->want;
    for (uint32_t i = 0; i < 65536; i++) {
        want[i] = (uint16_t)i;
        bool nan = (i & 0x7c00) == 0x7c00 && (i & 0x3ff) != 0;
        if (nan) want[i] |= 0x200;
        a[i] = w->rank == 0 ? want[i] : aclFloatToFloat16(1.0f);
    }
    CHECK_OK(HcclAllReduce(a, a, 65536, HCCL_DATA_TYPE_FP16, HCCL_REDUCE_PROD, w->comm,
                           w->stream));
    WAIT(w);
    same("float16", w, a, 65536 * 2);
}

static void test_arguments(world *w) {
    HcclComm c = w->comm;
    aclrtStream s = w->stream;
    int32_t x = 0, y = 0;
    uint32_t n = 0;
    HcclResult error = HCCL_E_INTERNAL;
    HcclComm none = NULL;
    CHECK_ERROR(HcclAllReduce(&x, &y, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, NULL, s),
                HCCL_E_PTR);
    CHECK_ERROR(HcclAllReduce(&x, &y, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, &x, s),
                HCCL_E_PARA);
    CHECK_ERROR(HcclAllReduce(NULL, &y, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, c, s),
                HCCL_E_PTR);
    CHECK_ERROR(HcclAllReduce(&x, &y, 1, (HcclDataType)13, HCCL_REDUCE_SUM, c, s),
                HCCL_E_PARA);
    CHECK_ERROR(
        HcclAllReduce(&x, &y, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_RESERVED, c, s),
        HCCL_E_PARA);
    CHECK_ERROR(HcclAllReduce(&x, &y, 1, HCCL_DATA_TYPE_HIF8, HCCL_REDUCE_SUM, c, s),
                HCCL_E_NOT_SUPPORT);
    CHECK_ERROR(
        HcclAllReduce(&x, &y, UINT64_MAX, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, c, s),
        HCCL_E_PARA);
    CHECK_ERROR(HcclAllReduce(&x, &y, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, c, &x),
                HCCL_E_PARA);
    CHECK_ERROR(HcclBroadcast(&x, 1, HCCL_DATA_TYPE_INT32, w->ranks, c, s), HCCL_E_PARA);
    CHECK_ERROR(HcclSend(&x, 1, HCCL_DATA_TYPE_INT32, w->ranks, c, s), HCCL_E_PARA);
    CHECK_ERROR(HcclBatchSendRecv(NULL, 1, c, s), HCCL_E_PTR);
    CHECK_ERROR(
        HcclAlltoAll(&x, 1, HCCL_DATA_TYPE_INT32, &y, 1, HCCL_DATA_TYPE_INT8, c, s),
        HCCL_E_PARA);
    CHECK_ERROR(HcclGroupEnd(), HCCL_E_PARA);
    CHECK_OK(HcclGroupStart());
    CHECK_OK(HcclBarrier(c, s));
    CHECK_ERROR(HcclSend(&x, 1, HCCL_DATA_TYPE_INT32, 99, c, s), HCCL_E_PARA);
    CHECK_ERROR(HcclGroupEnd(), HCCL_E_PARA);
    CHECK_ERROR(HcclGetRankSize(c, NULL), HCCL_E_PTR);
    CHECK_OK(HcclGetRankSize(c, &n));
    CHECK(n == w->ranks);
    CHECK_OK(HcclGetRankId(c, &n));
    CHECK(n == w->rank);
    CHECK_OK(HcclGetCommAsyncError(c, &error));
    CHECK(error == HCCL_SUCCESS);
    CHECK_ERROR(HcclCommSuspend(c), HCCL_E_NOT_SUPPORT);
    CHECK_ERROR(HcclCommWorkingDevNicSet(c, &n, NULL, 1), HCCL_E_NOT_SUPPORT);
    HcclRootInfo nothing;
    memset(&nothing, 0, sizeof nothing);
    CHECK_ERROR(HcclCommInitRootInfo(2, &nothing, 0, &none), HCCL_E_PARA);
    CHECK_ERROR(HcclCommInitRootInfo(2, &nothing, 2, &none), HCCL_E_PARA);
    CHECK_ERROR(HcclCommInitRootInfo(2, NULL, 0, &none), HCCL_E_PTR);
    HcclCommConfig config;
    memset(&config, 0, sizeof config);
    CHECK_ERROR(HcclCommInitRootInfoConfig(2, &nothing, 0, &config, &none), HCCL_E_PARA);
    CHECK_ERROR(HcclCommInitRootInfoScalable(2, 3, &nothing, 0, 0, &config, &none),
                HCCL_E_PARA);
    CHECK_ERROR(HcclCommInitRootInfoScalable(2, 1, &nothing, 0, 1, &config, &none),
                HCCL_E_PARA);
    CHECK_ERROR(HcclCommInitRootInfoScalable(2, 1, &nothing, 0, 0, &config, &none),
                HCCL_E_PARA);
    CHECK_ERROR(HcclCommInitClusterInfo("/no/such/file", 0, &none),
                HCCL_E_OPEN_FILE_FAILURE);
    HcclConfigValue option = {1};
    CHECK_OK(HcclSetConfig(HCCL_DETERMINISTIC, option));
    option.value = 0;
    CHECK_OK(HcclGetConfig(HCCL_DETERMINISTIC, &option));
    CHECK(option.value == 1);
    CHECK(HcclGetCommConfigCapability() > HCCL_COMM_CONFIG_COMM_NAME);
    CHECK(strcmp(HcclGetErrorString(HCCL_E_TIMEOUT), "timeout") == 0);
}

static void test_all(world *w) {
    static const size_t sizes[] = {0, 1, 37, 4097, LARGE};
    size_t room = (size_t)ROOM * 16 * w->ranks;
    w->a = malloc(room);
    w->b = malloc(room);
    w->want = malloc(room);
    CHECK_OK(aclrtCreateStream(&w->stream));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i] < LARGE || w->ranks < 3) test_reductions(w, sizes[i]);
        test_moves(w, sizes[i], HCCL_DATA_TYPE_FP32, 4);
        test_messages(w, sizes[i]);
    }
    if (w->ranks >= 3) test_reductions(w, LARGE / 3);
    test_moves(w, LARGE, HCCL_DATA_TYPE_INT8, 1);
    test_uneven(w);
    test_halves(w);
    test_conversions(w);
    test_sub(w);
    test_arguments(w);
    CHECK_OK(HcclCommDestroy(w->comm));
    CHECK_OK(aclrtDestroyStream(w->stream));
    free(w->a);
    free(w->b);
    free(w->want);
}

/* ---- ranks that do not do as they should */

/* The last rank ends after a first collective; the others are told soon. */
static void test_end(world *w) {
    float x = 1;
    HcclResult error = HCCL_SUCCESS;
    CHECK_OK(aclrtCreateStream(&w->stream));
    CHECK_OK(HcclAllReduce(&x, &x, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w->comm,
                           w->stream));
    WAIT(w);
    if (w->rank == w->ranks - 1) _exit(check_failures != 0);
    double start = now();
    CHECK_OK(HcclAllReduce(&x, &x, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w->comm,
                           w->stream));
    CHECK_ERROR(aclrtSynchronizeStream(w->stream), ACL_ERROR_RT_FAILURE);
    CHECK_OK(HcclGetCommAsyncError(w->comm, &error));
    CHECK(error == HCCL_E_REMOTE);
    CHECK_OK(HcclBarrier(w->comm, w->stream));
    CHECK_ERROR(aclrtSynchronizeStream(w->stream), ACL_ERROR_RT_FAILURE);
    CHECK_OK(HcclCommDestroy(w->comm));
    CHECK(now() - start < 2);
}

/* Rank 0 does not come: HCCL_EXEC_TIMEOUT is 1. */
static void test_timeout(world *w) {
    float x = 1;
    HcclResult error = HCCL_SUCCESS;
    CHECK_OK(aclrtCreateStream(&w->stream));
    double start = now();
    if (w->rank == 0) {
        usleep(1700000);
    } else {
        CHECK_OK(HcclAllReduce(&x, &x, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w->comm,
                               w->stream));
        CHECK_ERROR(aclrtSynchronizeStream(w->stream), ACL_ERROR_RT_FAILURE);
        CHECK_OK(HcclGetCommAsyncError(w->comm, &error));
        CHECK(error == HCCL_E_TIMEOUT || (w->ranks > 2 && error == HCCL_E_REMOTE));
    }
    CHECK(now() - start < 3);
    CHECK_OK(HcclCommDestroy(w->comm));
}

/* Different calls are told, not mixed up. */
static void test_mismatch(world *w) {
    float x[2] = {1, 1};
    CHECK_OK(aclrtCreateStream(&w->stream));
    CHECK_OK(HcclAllReduce(x, x, w->rank == 0 ? 2 : 1, HCCL_DATA_TYPE_FP32,
                           HCCL_REDUCE_SUM, w->comm, w->stream));
    CHECK_ERROR(aclrtSynchronizeStream(w->stream), ACL_ERROR_RT_FAILURE);
    CHECK_OK(HcclCommDestroy(w->comm));
}

/* ---- processes */

static int as_rank(char **argv) {
    const char *path = argv[2], *what = argv[5];
    world w = {
        (uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]), NULL, NULL, NULL, NULL, NULL};
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    if (strncmp(what, "table", 5) == 0) {
        CHECK_OK(HcclCommInitClusterInfo(path, w.rank, &w.comm));
    } else if (strcmp(what, "missing") == 0) {
        HcclRootInfo info;
        CHECK_OK(HcclGetRootInfo(&info));
        double start = now();
        CHECK_ERROR(HcclCommInitRootInfo(2, &info, 0, &w.comm), HCCL_E_TIMEOUT);
        CHECK(now() - start < 4);
        return check_done();
    } else {
        HcclRootInfo info;
        FILE *file = NULL;
        if (w.rank == 0) {
            char whole[256];
            snprintf(whole, sizeof whole, "%s.whole", path);
            CHECK_OK(HcclGetRootInfoScalable(&info));
            file = fopen(whole, "wb");
            CHECK(file != NULL && fwrite(&info, sizeof info, 1, file) == 1);
            if (file != NULL) fclose(file);
            CHECK(rename(whole, path) == 0);
        } else {
            for (int i = 0; i < 10000 && (file = fopen(path, "rb")) == NULL; i++)
                usleep(1000);
            CHECK(file != NULL && fread(&info, sizeof info, 1, file) == 1);
            if (file != NULL) fclose(file);
        }
        HcclCommConfig config;
        HcclCommConfigInit(&config);
        if (w.ranks % 2 == 0) { /* the two functions differ in names alone */
            CHECK_OK(HcclCommInitRootInfoScalable(w.ranks, 1, &info, w.rank, 0, &config,
                                                  &w.comm));
        } else {
            CHECK_OK(
                HcclCommInitRootInfoConfig(w.ranks, &info, w.rank, &config, &w.comm));
        }
    }
    if (w.comm == NULL) return 1;
    if (strcmp(what, "end") == 0) {
        test_end(&w);
    } else if (strcmp(what, "timeout") == 0) {
        test_timeout(&w);
    } else if (strcmp(what, "mismatch") == 0) {
        test_mismatch(&w);
    } else {
        test_all(&w);
    }
    CHECK_OK(aclrtResetDevice(0));
    return check_done();
}

/* All ranks on one server, or each on its own, all of which are this machine. */
static void write_table(const char *path, uint32_t ranks, bool servers) {
    FILE *file = fopen(path, "w");
    if (file == NULL) return;
    fprintf(file,
            "{\"status\": \"completed\", \"version\": \"1.0\", \"job\": %d,\n"
            "\"server_list\": [",
            (int)getpid());
    for (uint32_t r = 0; r < ranks; r++) {
        if (r == 0 || servers)
            fprintf(file,
                    "%s{\"server_id\": \"node_%u\", \"host_ip\": \"127.0.0.1\", "
                    "\"device\": [",
                    r ? "]}, " : "", r);
        fprintf(file,
                "%s{\"device_id\": \"%u\", \"device_ip\": \"192.168.1.%u\", "
                "\"rank_id\": \"%u\"}",
                r && !servers ? ", " : "", r, r + 8, r);
    }
    fprintf(file, "]}], \"server_count\": \"%u\"}\n", servers ? ranks : 1);
    fclose(file);
}

static void run(const char *program, uint32_t ranks, const char *what,
                const char *variable, const char *setting) {
    static int number;
    char path[128], rank[8], size[8];
    pid_t pids[MOST_RANKS];
    double start = now();
    snprintf(path, sizeof path, "/tmp/asnumpy-hccl-%d-%d", (int)getpid(), number++);
    if (strncmp(what, "table", 5) == 0) write_table(path, ranks, what[5] != 0);
    snprintf(size, sizeof size, "%u", ranks);
    for (uint32_t r = 0; r < ranks; r++) {
        snprintf(rank, sizeof rank, "%u", r);
        pids[r] = fork();
        if (pids[r] == 0) {
            if (variable != NULL) setenv(variable, setting, 1);
            execl(program, program, "rank", path, rank, size, what, (char *)NULL);
            _exit(127);
        }
    }
    for (uint32_t r = 0; r < ranks; r++) {
        int status = -1;
        CHECK(pids[r] > 0 && waitpid(pids[r], &status, 0) == pids[r] && status == 0);
        if (status != 0)
            fprintf(stderr, "rank %u of %u, %s: status %x\n", r, ranks, what, status);
    }
    unlink(path);
    if (getenv("HCCL_TEST_TIMES") != NULL)
        fprintf(stderr, "%u %s %s: %.2f s\n", ranks, what, setting ? setting : "",
                now() - start);
}

/* ---- threads */

static void *thread_main(void *arg) {
    world *w = arg;
    CHECK_OK(aclrtSetDevice((int32_t)w->rank % 2));
    test_all(w);
    return NULL;
}

static void run_threads(uint32_t ranks) {
    int32_t devices[MOST_RANKS] = {0, 1, 2, 3};
    HcclComm comms[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    world worlds[MOST_RANKS];
    CHECK_OK(HcclCommInitAll(ranks, devices, comms));
    for (uint32_t r = 0; r < ranks; r++) {
        worlds[r] = (world){r, ranks, comms[r], NULL, NULL, NULL, NULL};
        CHECK(pthread_create(&threads[r], NULL, thread_main, &worlds[r]) == 0);
    }
    for (uint32_t r = 0; r < ranks; r++)
        pthread_join(threads[r], NULL);
    devices[1] = 0;
    CHECK_ERROR(HcclCommInitAll(2, devices, comms), HCCL_E_PARA);
}

/* All ranks by one thread: nothing waits in a call. */
static void test_one_thread(void) {
    int32_t devices[] = {0, 1};
    HcclComm comms[2];
    aclrtStream streams[2];
    float x[2] = {1, 2}, y[2] = {0, 0};
    CHECK_OK(HcclCommInitAll(2, devices, comms));
    for (int r = 0; r < 2; r++)
        CHECK_OK(aclrtCreateStream(&streams[r]));
    for (int r = 0; r < 2; r++)
        CHECK_OK(HcclAllReduce(&x[r], &y[r], 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                               comms[r], streams[r]));
    for (int r = 0; r < 2; r++) {
        CHECK_OK(aclrtSynchronizeStream(streams[r]));
        CHECK(y[r] == 3);
        CHECK_OK(aclrtDestroyStream(streams[r]));
    }
    /* A queued call keeps its communicator; the peer's end tells the other one. */
    for (int r = 0; r < 2; r++)
        CHECK_OK(HcclCommDestroy(comms[r]));
}

static void test_alone(void) {
    HcclRootInfo info;
    world w = {0, 1, NULL, NULL, NULL, NULL, NULL};
    CHECK_OK(HcclGetRootInfo(&info));
    CHECK_OK(HcclCommInitRootInfo(1, &info, 0, &w.comm));
    test_all(&w);
}

int main(int argc, char **argv) {
    if (argc == 6) return as_rank(argv);
    setenv("ASNUMPY_CPU_DEVICES", "4", 1);
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    run(argv[0], 2, "all", NULL, NULL);
    run(argv[0], 4, "all", NULL, NULL);
    run(argv[0], 3, "all", "ASNUMPY_HCCL_TRANSPORT", "tcp");
    run(argv[0], 2, "all", "ASNUMPY_HCCL_TRANSPORT", "ring");
    run(argv[0], 2, "table", NULL, NULL);
    char port[8];
    snprintf(port, sizeof port, "%d", 20000 + (int)(getpid() % 10000));
    run(argv[0], 3, "table of servers", "HCCL_IF_BASE_PORT", port);
    run(argv[0], 2, "end", NULL, NULL);
    run(argv[0], 4, "end", "ASNUMPY_HCCL_TRANSPORT", "tcp");
    run(argv[0], 2, "timeout", "HCCL_EXEC_TIMEOUT", "1");
    run(argv[0], 2, "mismatch", NULL, NULL);
    run(argv[0], 1, "missing", "HCCL_CONNECT_TIMEOUT", "1");
    run_threads(3);
    test_one_thread();
    test_alone();
    CHECK_OK(aclrtResetDevice(0));
    return check_done();
}
