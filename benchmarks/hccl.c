/* What collectives cost between processes: the time of a 4-byte all-reduce, and the rate
 * of long collectives beside that of memcpy by all processes at once.
 *
 *     cc -O2 -I include hccl.c -lhccl -lascendcl && ./a.out [ranks]
 *
 * Prints microseconds; GB/s of the bytes that each rank's buffer has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl.h"
#include "hccl/hccl.h"

enum { LONG = 16 << 20, ROUNDS = 10, SHORT_ROUNDS = 5000, MOST_RANKS = 64 };

/* Shared by the processes before there is a communicator. */
typedef struct {
    HcclRootInfo info;
    _Atomic int ready;
} start;

typedef struct {
    HcclComm comm;
    aclrtStream stream;
    float *a, *b;
    uint32_t rank, ranks;
} world;

typedef HcclResult (*collective)(const world *w);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static HcclResult all_reduce(const world *w) {
    return HcclAllReduce(w->a, w->b, LONG, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, w->comm,
                         w->stream);
}

static HcclResult all_reduce_half(const world *w) {
    return HcclAllReduce(w->a, w->b, LONG * 2, HCCL_DATA_TYPE_FP16, HCCL_REDUCE_SUM,
                         w->comm, w->stream);
}

static HcclResult reduce_scatter(const world *w) {
    return HcclReduceScatter(w->a, w->b, LONG / w->ranks, HCCL_DATA_TYPE_FP32,
                             HCCL_REDUCE_SUM, w->comm, w->stream);
}

static HcclResult all_gather(const world *w) {
    return HcclAllGather(w->a, w->b, LONG / w->ranks, HCCL_DATA_TYPE_FP32, w->comm,
                         w->stream);
}

static HcclResult broadcast(const world *w) {
    return HcclBroadcast(w->a, LONG, HCCL_DATA_TYPE_FP32, 0, w->comm, w->stream);
}

static HcclResult all_to_all(const world *w) {
    return HcclAlltoAll(w->a, LONG / w->ranks, HCCL_DATA_TYPE_FP32, w->b, LONG / w->ranks,
                        HCCL_DATA_TYPE_FP32, w->comm, w->stream);
}

static HcclResult copies(const world *w) {
    memcpy(w->b, w->a, (size_t)LONG * 4);
    return HCCL_SUCCESS;
}

static void line(const world *w, const char *name, collective call) {
    double best = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        (void)HcclBarrier(w->comm, w->stream);
        (void)aclrtSynchronizeStream(w->stream);
        double begin = now();
        if (call(w) != HCCL_SUCCESS || aclrtSynchronizeStream(w->stream) != 0) exit(1);
        double took = now() - begin;
        if (took < best) best = took;
    }
    if (w->rank == 0)
        printf("%-24s %8.2f ms %8.2f GB/s\n", name, best * 1e3, LONG * 4 / best * 1e-9);
}

/* Each synchronised, and one after the other on the stream. */
static void latency(const world *w) {
    double begin = now();
    float x = 1;
    for (int i = 0; i < SHORT_ROUNDS; i++) {
        (void)HcclAllReduce(&x, &x, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, w->comm,
                            w->stream);
        if (aclrtSynchronizeStream(w->stream) != 0) exit(1);
    }
    double waited = (now() - begin) / SHORT_ROUNDS;
    begin = now();
    for (int i = 0; i < SHORT_ROUNDS; i++)
        (void)HcclAllReduce(&x, &x, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, w->comm,
                            w->stream);
    if (aclrtSynchronizeStream(w->stream) != 0) exit(1);
    double queued = (now() - begin) / SHORT_ROUNDS;
    if (w->rank == 0)
        printf("4-byte all-reduce: %.2f us waited for, %.2f us in a row\n", waited * 1e6,
               queued * 1e6);
}

static int as_rank(start *s, uint32_t rank, uint32_t ranks) {
    world w = {NULL, NULL, NULL, NULL, rank, ranks};
    if (aclInit(NULL) != 0 || aclrtSetDevice(0) != 0) return 1;
    if (rank == 0) {
        if (HcclGetRootInfo(&s->info) != HCCL_SUCCESS) return 1;
        s->ready = 1;
    }
    while (!s->ready)
        usleep(100);
    if (HcclCommInitRootInfo(ranks, &s->info, rank, &w.comm) != HCCL_SUCCESS ||
        aclrtCreateStream(&w.stream) != 0 ||
        aclrtMalloc((void **)&w.a, (size_t)LONG * 4, ACL_MEM_MALLOC_HUGE_FIRST) != 0 ||
        aclrtMalloc((void **)&w.b, (size_t)LONG * 4, ACL_MEM_MALLOC_HUGE_FIRST) != 0)
        return 1;
    memset(w.a, 0, (size_t)LONG * 4);
    memset(w.b, 0, (size_t)LONG * 4);
    latency(&w);
    line(&w, "memcpy", copies);
    line(&w, "all-reduce float32", all_reduce);
    line(&w, "all-reduce float16", all_reduce_half);
    line(&w, "reduce-scatter float32", reduce_scatter);
    line(&w, "all-gather", all_gather);
    line(&w, "broadcast", broadcast);
    line(&w, "all-to-all", all_to_all);
    return HcclCommDestroy(w.comm) != HCCL_SUCCESS;
}

int main(int argc, char **argv) {
    uint32_t ranks = argc > 1 ? (uint32_t)atoi(argv[1]) : 2;
    start *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED || ranks < 1 || ranks > MOST_RANKS) return 1;
    for (uint32_t r = 1; r < ranks; r++)
        if (fork() == 0) return as_rank(s, r, ranks);
    int code = as_rank(s, 0, ranks), status;
    while (wait(&status) > 0)
        code |= status != 0;
    return code;
}
