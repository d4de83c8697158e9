/* Generated programs: the driver. Runs the cases of the operators, and with --faults each
 * operator's first successful case (--all: every one) once more for k = 1, 2, ... with
 * the k-th allocation failing: then the call must fail with a code and a message or give
 * the right bytes, write nothing outside its tensors, leak nothing, and succeed
 * afterwards.
 *
 * usage: programs cases.bin [--faults | --cold | --exchange] [--threads n]
 *        [--part i n] [--operator aclnnAbs]
 *
 * --part: the i-th (from 0) of n shares of the groups of operators. */
#include "program.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange.h"
#include "faults.h"
#include "hccl/hccl.h"

enum { GUARD = 64, GUARD_BYTE = 0xa5, SWEEP_MAX = 5000, NO_OBJECT = -1 };

/* How a process of --cold ends. glibc's loader ends it when there is no memory for the
 * thread-locals of a library (OpenBLAS) that has just been opened. */
enum { NOTHING_FAILED = 2, LOADER_GAVE_UP = 127 };

const unsigned char *program_recorded;
static _Atomic int failures;
static _Atomic long num_operators, num_cases, num_faults, num_loader, num_refused;
static _Thread_local const char *case_name;
static _Thread_local int case_index;

static struct {
    int faults, cold, exchange, threads, part, parts;
    const char *operator_;
} options;

/* ---- what the cases call */

/* The first failure stays. */
void program_note(program *p, int32_t code) {
    if (code == 0 || p->code != 0) return;
    const char *text = aclGetRecentErrMsg();
    p->code = code;
    snprintf(p->message, sizeof p->message, "%s", text != NULL ? text : "");
}

static void *fail(program *p) {
    program_note(p, NO_OBJECT);
    return NULL;
}

static void *keep(program *p, char kind, void *handle) {
    if (handle == NULL || p->num_objects == PROGRAM_OBJECTS) return fail(p);
    p->objects[p->num_objects].kind = kind;
    p->objects[p->num_objects++].handle = handle;
    return handle;
}

char *program_memory(program *p, size_t size, long before, long after, char kind) {
    if (p->num_memories == PROGRAM_MEMORIES) return fail(p);
    program_memory_t *m = &p->memories[p->num_memories];
    void *data = NULL;
    if (aclrtMalloc(&data, size + 2 * GUARD, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS)
        return fail(p);
    *m = (program_memory_t){data, size, before, after, kind, NULL};
    p->num_memories++;
    (void)aclrtMemset(data, size + 2 * GUARD, GUARD_BYTE, size + 2 * GUARD);
    if (size > 0 && aclrtMemcpy(m->data + GUARD, size, program_recorded + before, size,
                                ACL_MEMCPY_HOST_TO_DEVICE) != ACL_SUCCESS)
        return fail(p);
    if (p->roles != NULL && !exchange_prepare(m, program_recorded + before, GUARD))
        return fail(p);
    return m->data + GUARD;
}

aclTensor *program_tensor(program *p, aclTensor *tensor) {
    if (p->num_operands < PROGRAM_OBJECTS)
        p->operands[p->num_operands++] = (program_operand_t){tensor, NULL, 0};
    return keep(p, 'T', tensor);
}
aclScalar *program_scalar(program *p, aclScalar *scalar) {
    return keep(p, 'S', scalar);
}
aclIntArray *program_ints(program *p, aclIntArray *array) {
    return keep(p, 'I', array);
}
aclFloatArray *program_floats(program *p, aclFloatArray *array) {
    return keep(p, 'F', array);
}
aclBoolArray *program_bools(program *p, aclBoolArray *array) {
    return keep(p, 'B', array);
}
aclTensorList *program_list(program *p, aclTensorList *list, int first) {
    int members = p->num_objects - first;
    if (list != NULL) p->num_objects = first;
    for (int i = 0; i < members; i++) {
        program_operand_t *o = &p->operands[p->num_operands - members + i];
        o->list = list;
        o->member = i;
    }
    return keep(p, 'L', list);
}
aclScalarList *program_scalars(program *p, aclScalarList *list, int first) {
    if (list != NULL) p->num_objects = first;
    return keep(p, 'K', list);
}

int program_ready(const program *p) {
    return p->code == 0;
}

void program_plan(program *p, aclnnStatus code) {
    p->phase = 1;
    program_note(p, code);
}

void program_run(program *p, program_phase2 phase2) {
    if (p->code != 0) return;
    void *workspace = NULL;
    if (p->size > 0 &&
        aclrtMalloc(&workspace, p->size, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS)
        (void)fail(p);
    if (p->code == 0 && p->roles != NULL) {
        p->phase = 3;
        if (!exchange_run(p, phase2, workspace)) atomic_fetch_add(&num_refused, 1);
        (void)aclDestroyAclOpExecutor(p->executor);
        if (workspace != NULL) (void)aclrtFree(workspace);
        return;
    }
    if (p->code == 0) {
        p->phase = 2;
        program_note(p, phase2(workspace, p->size, p->executor, p->stream));
    }
    if (p->code != 0) {
        (void)aclDestroyAclOpExecutor(p->executor);
    } else {
        p->phase = 3;
        program_note(p, aclrtSynchronizeStream(p->stream));
    }
    if (workspace != NULL) (void)aclrtFree(workspace);
}

/* ---- one case */

static void complain(const char *name, int index, const char *what, long a, long b) {
    fprintf(stderr, "%s, case %d: %s (%ld, %ld)\n", name, index, what, a, b);
    atomic_fetch_add(&failures, 1);
}

void program_complain(const char *what, long a, long b) {
    complain(case_name, case_index, what, a, b);
}

static void destroy(program *p) {
    for (int i = p->num_objects - 1; i >= 0; i--) {
        void *h = p->objects[i].handle;
        switch (p->objects[i].kind) {
        case 'T': (void)aclDestroyTensor(h); break;
        case 'S': (void)aclDestroyScalar(h); break;
        case 'I': (void)aclDestroyIntArray(h); break;
        case 'F': (void)aclDestroyFloatArray(h); break;
        case 'B': (void)aclDestroyBoolArray(h); break;
        case 'L': (void)aclDestroyTensorList(h); break;
        default: (void)aclDestroyScalarList(h);
        }
    }
    for (int i = 0; i < p->num_memories; i++) {
        (void)aclrtFree(p->memories[i].data);
        if (p->memories[i].spare != NULL) (void)aclrtFree(p->memories[i].spare);
    }
}

/* `want` NULL: only the guards count. */
long program_difference(const char *data, size_t size, const unsigned char *want) {
    unsigned char *host = malloc(size + 2 * GUARD);
    if (host == NULL) return 0;
    (void)aclrtMemcpy(host, size + 2 * GUARD, data - GUARD, size + 2 * GUARD,
                      ACL_MEMCPY_DEVICE_TO_HOST);
    long at = -1;
    for (size_t i = 0; i < size + 2 * GUARD && at < 0; i++) {
        int guard = i < GUARD || i >= size + GUARD;
        if (!guard && want == NULL) continue;
        if (host[i] != (guard ? GUARD_BYTE : want[i - GUARD])) at = (long)i;
    }
    free(host);
    return at;
}

/* The first byte of a memory that is not as recorded, -1: none. A failed call may have
 * written its outputs in part, but nothing around them. */
static long first_difference(const program_memory_t *m, int contents) {
    return program_difference(m->data + GUARD, m->size,
                              contents ? program_recorded + m->after : NULL);
}

/* Runs the case with the k-th allocation failing (0: none); returns whether one did, and
 * the code, phase and message in *p, whose objects are gone. */
static int attempt(program *p, const program_operator *o, int index, aclrtStream stream,
                   long k) {
    const program_case *c = &o->cases[index];
    memset(p, 0, sizeof *p);
    p->stream = stream;
    p->roles = options.exchange && c->code == 0 ? c->roles : NULL;
    case_name = o->name;
    case_index = index;
    (void)aclGetRecentErrMsg();
    if (k > 0) (void)faults_arm(k);
    c->body(p);
    int fired = k > 0 && faults_arm(0);
    for (int i = 0; i < p->num_memories; i++) {
        long at = first_difference(&p->memories[i], p->code == 0 || c->code != 0);
        if (at >= 0)
            complain(o->name, index, "memory differs at (memory, byte)", i, at - GUARD);
    }
    destroy(p);
    if (p->code != 0 && strlen(p->message) < 12)
        complain(o->name, index, "a failure without a message (code, k)", p->code, k);
    return fired;
}

static void check(const program_operator *o, int index, aclrtStream stream) {
    const program_case *c = &o->cases[index];
    program p;
    (void)attempt(&p, o, index, stream, 0);
    if (p.code == c->code && p.phase == c->phase) return;
    complain(o->name, index, "code and phase are not as recorded", p.code, p.phase);
    fprintf(stderr, "    %s\n", p.message);
}

/* The group of one rank that operators which communicate are recorded with. */
static HcclComm group;

static int group_make(void) {
    HcclRootInfo root;
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    strcpy(config.hcclCommName, "alone");
    return HcclGetRootInfo(&root) == HCCL_SUCCESS &&
           HcclCommInitRootInfoConfig(1, &root, 0, &config, &group) == HCCL_SUCCESS;
}

/* ---- failing allocations */

/* Phase 2 passes the runtime's refusal of a task on as such. */
static int is_memory_code(int32_t code, int phase) {
    if (phase == 2 && code == ACLNN_ERR_RUNTIME_ERROR) return 1;
    return code == (phase == 0   ? NO_OBJECT
                    : phase == 3 ? ACL_ERROR_BAD_ALLOC
                                 : ACLNN_ERR_INNER_CREATE_EXECUTOR);
}

/* Returns how many allocations there were to fail. */
static long sweep(const program_operator *o, int index, aclrtStream stream) {
    program p;
    for (int i = 0; i < 2; i++) /* what is set up once, and caches */
        (void)attempt(&p, o, index, stream, 0);
    long k = 0;
    for (int fired = 1; fired && k < SWEEP_MAX;) {
        long live = faults_live();
        fired = attempt(&p, o, index, stream, ++k);
        if (p.code != 0 && !fired)
            complain(o->name, index, "fails, though no allocation did", p.code, k);
        if (p.code != 0 && fired && !is_memory_code(p.code, p.phase)) {
            complain(o->name, index, "no code for memory (code, phase)", p.code, p.phase);
            fprintf(stderr, "    %s\n", p.message);
        }
        long left = faults_live() - live;
        if (left !=
            0) { /* the device may keep a program met again: once, unlike a leak */
            (void)attempt(&p, o, index, stream, k);
            left = faults_live() - live - left;
        }
        if (left != 0) complain(o->name, index, "blocks are left (how many, k)", left, k);
    }
    check(o, index, stream);
    return k - 1;
}

/* One try in a process that has run nothing yet: what is set up once fails too. Returns
 * whether there was an allocation to fail. */
static int cold_try(const program_operator *o, int index, aclrtStream stream, long k) {
    fflush(stderr);
    pid_t child = fork();
    if (child == 0) {
        program p;
        failures = 0;
        if (strstr(o->name, "All") != NULL || strstr(o->name, "Scatter") != NULL ||
            strstr(o->name, "Distribute") != NULL)
            (void)group_make(); /* a child has no part in its parent's */
        int fired = attempt(&p, o, index, stream, k);
        check(o, index, stream);
        _exit(failures != 0 ? 1 : fired ? 0 : NOTHING_FAILED);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    int code = child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == LOADER_GAVE_UP) {
        atomic_fetch_add(&num_loader, 1);
    } else if (code != 0 && code != NOTHING_FAILED) {
        complain(o->name, index, "in a fresh process, allocation k failed (k, status)", k,
                 status);
    }
    return code != NOTHING_FAILED;
}

static long cold_sweep(const program_operator *o, int index, aclrtStream stream) {
    long k = 1;
    while (cold_try(o, index, stream, k) && k < SWEEP_MAX)
        k++;
    return k - 1;
}

/* ---- the driver */

static void run_operator(const program_operator *o, int thread, aclrtStream stream) {
    if (options.operator_ != NULL && strcmp(o->name, options.operator_) != 0) return;
    int swept = 0;
    for (int i = 0; i < o->count; i++) {
        if (!options.faults) {
            check(o, i, i % 2 || options.threads > 1 ? stream : NULL);
        } else if (o->cases[i].code == 0 && !(options.cold && swept)) {
            atomic_fetch_add(&num_faults, options.cold ? cold_sweep(o, i, stream)
                                                       : sweep(o, i, stream));
            swept = 1;
        }
        if (thread == 0) atomic_fetch_add(&num_cases, 1);
    }
    if (thread == 0) atomic_fetch_add(&num_operators, 1);
}

/* Every thread runs everything on a stream of its own, from another operator on. */
static void *run_thread(void *arg) {
    int thread = *(int *)arg;
    aclrtStream stream = NULL;
    if (aclrtSetDevice(0) != ACL_SUCCESS || aclrtCreateStream(&stream) != ACL_SUCCESS) {
        complain("aclrtCreateStream", thread, "no stream", 0, 0);
        return NULL;
    }
    for (int g = 0; g < program_num_groups; g++) {
        int place = (g + thread * 5) % program_num_groups;
        if (place % options.parts != options.part) continue;
        for (const program_operator *o = program_groups[place]; o->name != NULL; o++)
            run_operator(o, thread, stream);
    }
    (void)aclrtDestroyStream(stream);
    return NULL;
}

static const unsigned char *file_read(const char *path) {
    FILE *f = fopen(path, "rb");
    if (f == NULL) return NULL;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    unsigned char *data = malloc((size_t)size + 1);
    rewind(f);
    if (data != NULL && fread(data, 1, (size_t)size, f) != (size_t)size) data = NULL;
    fclose(f);
    return data;
}

int main(int argc, char **argv) {
    options.threads = options.parts = 1;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--faults") == 0) options.faults = 1;
        if (strcmp(argv[i], "--exchange") == 0) options.exchange = 1;
        if (strcmp(argv[i], "--cold") == 0) options.faults = options.cold = 1;
        if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            options.threads = atoi(argv[++i]);
        if (strcmp(argv[i], "--part") == 0 && i + 2 < argc) {
            options.part = atoi(argv[++i]);
            options.parts = atoi(argv[++i]);
        }
        if (strcmp(argv[i], "--operator") == 0 && i + 1 < argc)
            options.operator_ = argv[++i];
    }
    program_recorded = argc > 1 ? file_read(argv[1]) : NULL;
    if (program_recorded == NULL || options.threads < 1 || options.threads > 8 ||
        options.parts < 1 || options.part < 0 || options.part >= options.parts) {
        fprintf(stderr,
                "usage: %s cases.bin [--faults | --cold | --exchange] [--threads 1..8] "
                "[--part i n] [--operator aclnnAbs]\n",
                argv[0]);
        return 2;
    }
    if (aclInit(NULL) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS || !group_make())
        return 2;
    pthread_t threads[8];
    int numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = 1; i < options.threads; i++)
        if (pthread_create(&threads[i], NULL, run_thread, &numbers[i]) != 0) return 2;
    (void)run_thread(&numbers[0]);
    for (int i = 1; i < options.threads; i++)
        pthread_join(threads[i], NULL);
    (void)HcclCommDestroy(group);
    (void)aclrtResetDevice(0);
    (void)aclFinalize();
    free((void *)program_recorded);
    printf("%ld operators, %ld cases%s", num_operators, num_cases,
           options.threads > 1 ? " on each thread" : "");
    if (options.faults) printf(", %ld failed allocations", num_faults);
    if (options.exchange) printf(", other values refused in %ld", num_refused);
    if (num_loader > 0)
        printf(", %ld times the loader gave up (see program.c)", num_loader);
    printf(": %d failures\n", failures);
    return failures != 0;
}
