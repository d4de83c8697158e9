/* CPU device: compiled programs, found again by what they compute.
 *
 * The key is the plan's steps with their operands' places, in bytes; a table of fixed
 * size holds one program per entry and gives way to the newest. An entry in use lives on
 * until its last run ends. A program that cannot be compiled is remembered as well. When
 * another thread holds the table, a run does without it: the interpreter computes the
 * same.
 */
#include "device/cpu/jit/jit.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/forks.h"
#include "base/hash.h"
#include "base/settings.h"
#include "device/cpu/context.h"
#include "device/cpu/jit/jit_program.h"

enum {
    ENTRIES = 1024, /* a power of two */
    MAX_KEY = 16 * ASN_MAX_STEPS,
    MAX_CODE = 1 << 16
};
/* A program seen for the first time is compiled when its run takes as long as this. */
static const double WORTH_NS = 20e3;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
ASN_FORK_TAKES(code, &lock, ASN_FORK_LEAF)
static asnd_jit_code *entries[ENTRIES]; /* under lock */
static asnd_jit_counts counts;          /* likewise */
static int switched = -1;               /* asnd_jit_mode; -1: not asked yet */

/* The environment is read once; without pieces for this processor the answer is always
 * OFF. */
asnd_jit_mode asn_jit_now(void) {
    int mode = __atomic_load_n(&switched, __ATOMIC_RELAXED);
    if (mode < 0) {
        int wish = asn_setting_choice(ASN_SETTING_JIT); /* in the order of the enum */
        mode = wish < 0 ? ASN_JIT_ON : wish;
        if (!asn_context_get()->pieces) mode = ASN_JIT_OFF;
        __atomic_store_n(&switched, mode, __ATOMIC_RELAXED);
    }
    return (asnd_jit_mode)mode;
}

asnd_jit_mode asn_jit_switch(asnd_jit_mode mode) {
    asnd_jit_mode before = asn_jit_now();
    __atomic_store_n(&switched, asn_context_get()->pieces ? mode : ASN_JIT_OFF,
                     __ATOMIC_RELAXED);
    return before;
}

asnd_jit_counts asn_jit_count(void) {
    pthread_mutex_lock(&lock);
    asnd_jit_counts now = counts;
    pthread_mutex_unlock(&lock);
    return now;
}

/* ---- keys */

/* Everything that the machine code depends on. Slots and addresses are no part of it: the
 * code takes every pointer from ptr. Returns the bytes, whole words, which the hash
 * takes. */
static uint32_t write_key(const asnd_plan *plan, unsigned char *key) {
    uint32_t n = 0;
    key[n++] =
        (unsigned char)(asn_plan_in_place(plan) | (plan->folds && !plan->rows) << 1);
    for (int i = 0; i < plan->num_in; i++) {
        bool moves = !asn_plan_is_splat(plan, i);
        key[n++] = (unsigned char)(plan->dtype[i] | moves << 7);
    }
    for (int i = plan->num_in; i < plan->num_operands; i++)
        if (plan->operands[i].reduceOp == ACLNNX_NO_REDUCE) {
            key[n++] = plan->past_caches >> i & 1;
            memcpy(key + n, &plan->value[i], 2);
            n += 2;
        }
    for (int r = 0; r < plan->num_reductions; r++) {
        key[n++] = plan->reductions[r].sum ? 0xfe : 0xff;
        memcpy(key + n, &plan->reductions[r].value, 2);
        n += 2;
    }
    for (int s = 0; s < plan->num_steps; s++) {
        const asnd_step *step = &plan->steps[s];
        const uint16_t words[6] = {step->op,     (uint16_t)(step->from | step->to << 8),
                                   step->dst,    step->src[0],
                                   step->src[1], step->src[2]};
        memcpy(key + n, words, sizeof words);
        n += sizeof words;
    }
    while (n % 8)
        key[n++] = 0; /* whole words */
    return n;
}

/* ---- executable memory */

/* A copy of the code on pages of its own, made executable after it is written; *mapped:
 * their bytes, for munmap. NULL: there is no memory, or the system forbids it. */
static asnd_jit_fn make_executable(const uint8_t *code, size_t size, size_t *mapped) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *mapped = (size + page - 1) / page * page;
    void *pages =
        mmap(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return NULL;
    memcpy(pages, code, size);
    if (mprotect(pages, *mapped, PROT_READ | PROT_EXEC) != 0) {
        munmap(pages, *mapped);
        return NULL;
    }
    asnd_jit_fn fn;
    memcpy(&fn, &pages, sizeof fn);
    return fn;
}

void asn_jit_hold(asnd_jit_code *code) {
    if (code) __atomic_add_fetch(&code->users, 1, __ATOMIC_RELAXED);
}

/* The last user unmaps the pages, also after the table gave the entry up. */
void asn_jit_release(asnd_jit_code *code) {
    if (!code || __atomic_sub_fetch(&code->users, 1, __ATOMIC_ACQ_REL) > 0) return;
    if (code->fn) {
        void *pages;
        memcpy(&pages, &code->fn, sizeof pages);
        munmap(pages, code->size);
    }
    asn_free(code);
}

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The values of the last n elements are added to the lanes of the sum, as in sum.inc. */
static void add_lanes(const asnd_jit_code *code, char *sum, const char *values,
                      int64_t n) {
    double wide[8], x[8];
    float narrow[16], y[16];
    if (code->sum_item == sizeof *wide) {
        memcpy(wide, sum, sizeof wide);
        memcpy(x, values, sizeof x);
        for (int64_t k = 0; k < n; k++)
            wide[k] += x[k];
        memcpy(sum, wide, sizeof wide);
    } else {
        memcpy(narrow, sum, sizeof narrow);
        memcpy(y, values, sizeof y);
        for (int64_t k = 0; k < n; k++)
            narrow[k] += y[k];
        memcpy(sum, narrow, sizeof narrow);
    }
}

/* Without masks (AVX2, complex numbers) the last elements are taken to a vector's worth
 * of memory, filled up with the first of them, and their results back. Spare lanes repeat
 * the first of these elements, so they raise nothing that it does not. */
static uint32_t run_rest(const asnd_jit_code *code, char *const *ptr, int64_t from,
                         int64_t n) {
    _Alignas(64) char vectors[2 * ACLNNX_MAX_OPERANDS][128];
    char *at[ASN_MAX_VALUES];
    for (int i = 0; i < code->num_arrays; i++) {
        const asnd_jit_array *a = &code->arrays[i];
        at[a->pointer] = a->item ? vectors[i] : ptr[a->pointer];
        if (!a->item || a->stored) continue;
        const char *src = ptr[a->pointer] + from * a->item;
        for (int k = 0; k < code->lanes; k++)
            memcpy(vectors[i] + k * a->item, src + (k < n ? k : 0) * a->item, a->item);
    }
    _Alignas(64) char lanes[64];
    if (code->sums) at[code->sum] = lanes;
    uint32_t outside = code->fn(at, code->lanes);
    for (int i = 0; i < code->num_arrays; i++) {
        const asnd_jit_array *a = &code->arrays[i];
        if (a->stored)
            memcpy(ptr[a->pointer] + from * a->item, vectors[i], (size_t)(n * a->item));
    }
    if (code->sums) add_lanes(code, ptr[code->sum], lanes, n);
    return outside;
}

/* The last whole vector, some of whose elements were computed before. Right where results
 * are no inputs and nothing is summed (code->repeats); n is a vector at least. */
static uint32_t run_last(const asnd_jit_code *code, char *const *ptr, int64_t n) {
    char *at[ASN_MAX_VALUES];
    for (int i = 0; i < code->num_arrays; i++) {
        const asnd_jit_array *a = &code->arrays[i];
        at[a->pointer] = ptr[a->pointer] + (n - code->lanes) * a->item;
    }
    return code->fn(at, code->lanes);
}

/* Code of AVX-512 takes any n itself (lanes 1). Else the whole vectors, then the rest by
 * either way; sums need a call even of 0 elements, which clears their lanes. */
uint32_t asn_jit_run(const asnd_jit_code *code, char *const *ptr, int64_t n) {
    if (code->lanes == 1) return code->fn(ptr, n);
    int64_t whole = n & -(int64_t)code->lanes;
    uint32_t outside = whole || code->sums ? code->fn(ptr, whole) : 0;
    if (whole == n) return outside;
    return outside | (whole && code->repeats ? run_last(code, ptr, n)
                                             : run_rest(code, ptr, whole, n - whole));
}

/* Rows whose last vector overlaps the one before. As run_last, with the last vector's
 * pointers moved along from row to row. */
static uint32_t run_overlapping(const asnd_jit_code *code, char **ptr, int64_t n,
                                int64_t rows, int moving, const uint16_t *place,
                                const int64_t *step) {
    char *last[ASN_MAX_VALUES];
    uint32_t outside = 0;
    const int64_t whole = n & -(int64_t)code->lanes;
    for (int m = 0; m < moving; m++)
        last[place[m]] = ptr[place[m]];
    for (int i = 0; i < code->num_arrays; i++) {
        const asnd_jit_array *a = &code->arrays[i];
        last[a->pointer] = ptr[a->pointer] + (n - code->lanes) * a->item;
    }
    while (rows--) {
        outside |= code->fn(ptr, whole);
        outside |= code->fn(last, code->lanes);
        for (int m = 0; m < moving; m++) {
            ptr[place[m]] += step[m];
            last[place[m]] += step[m];
        }
    }
    return outside;
}

uint32_t asn_jit_run_rows(const asnd_jit_code *code, char **ptr, int64_t n, int64_t rows,
                          int moving, const uint16_t *place, const int64_t *step) {
    const bool whole = code->lanes == 1 || n % code->lanes == 0;
    if (!whole && n > code->lanes && code->repeats)
        return run_overlapping(code, ptr, n, rows, moving, place, step);
    uint32_t outside = 0;
    while (rows--) {
        outside |= whole ? code->fn(ptr, n) : asn_jit_run(code, ptr, n);
        for (int m = 0; m < moving; m++)
            ptr[place[m]] += step[m];
    }
    return outside;
}

/* What asn_jit_run needs of the program: which pointers are arrays, of which item size,
 * and how many elements a call must be a multiple of. */
static void list_arrays(asnd_jit_code *code, const asnd_jit_program *p) {
    code->lanes = p->vector_bytes == 64 && !p->has_complex ? 1 : p->lanes;
    if (p->num_sums && code->lanes > 1) { /* steps of 64 bytes */
        code->lanes *= 64 / p->vector_bytes;
        code->sum = p->sums[0].pointer;
        code->sum_item = (uint8_t)asn_lane_bytes(p->values[p->sums[0].value[0]].lane);
    }
    for (int v = 0; v < p->num_values; v++) {
        const asnd_jit_value *value = &p->values[v];
        bool in_memory = value->kind == ASN_JIT_INPUT || value->kind == ASN_JIT_CONST;
        if (!in_memory || value->last_use < 0) continue;
        int item = value->kind == ASN_JIT_INPUT ? asn_lane_bytes(value->lane) : 0;
        if (value->part) item *= 2;
        code->arrays[code->num_arrays++] =
            (asnd_jit_array){value->pointer, (uint8_t)item, false};
    }
    code->repeats = !p->in_place && !p->num_sums;
    for (int s = 0; s < p->num_stores; s++) {
        code->repeats &= !p->stores[s].past_caches; /* those are aligned */
        int item = asn_lane_bytes(p->values[p->stores[s].value].lane);
        if (p->stores[s].imag != ASN_JIT_NONE) item *= 2;
        code->arrays[code->num_arrays++] =
            (asnd_jit_array){p->stores[s].pointer, (uint8_t)item, true};
    }
}

/* Fills code->fn; leaves it NULL when some step has no piece. Under the lock, which
 * guards the work space too. First with sums in registers, then, when they do not fit,
 * without; each for two vectors interleaved where that fits, else for one. */
static void compile(asnd_jit_code *code, const asnd_plan *plan) {
    static asnd_jit_program program, two;
    static uint8_t buffer[MAX_CODE];
    double start = now_ns();
    const asnd_context *context = asn_context_get();
    size_t size = 0;
    bool lowered = true, in_turns = false;
    program.num_sums = 1;
    for (int without = 0; without < 2 && !size && lowered && program.num_sums;
         without++) {
        lowered = asn_jit_lower(&program, plan, context->pieces, context->vector_bytes,
                                !without);
        if (!lowered) continue;
        if (asn_jit_in_turns(&two, &program))
            size = asn_jit_compile(&program, &two, buffer, sizeof buffer);
        in_turns = size > 0;
        if (!size) size = asn_jit_compile(&program, NULL, buffer, sizeof buffer);
    }
    if (size) {
        code->fn = make_executable(buffer, size, &code->size);
        if (!code->fn)
            __atomic_store_n(&switched, ASN_JIT_OFF, __ATOMIC_RELAXED); /* forbidden */
        list_arrays(code, &program);
        code->sums = program.num_sums > 0;
        code->checks =
            program.marks[0] != ASN_JIT_NONE || program.marks[1] != ASN_JIT_NONE;
    }
    counts.compiled += code->fn != NULL;
    counts.in_turns += code->fn && in_turns;
    counts.refused += code->fn == NULL;
    counts.compile_ns += now_ns() - start;
}

/* A new entry, not compiled yet, in the place of the one that was there; the table holds
 * it. NULL: there is no memory. */
static asnd_jit_code *add_entry(asnd_jit_code **entry, const unsigned char *key,
                                uint32_t size, uint64_t hash) {
    asnd_jit_code *code = asn_malloc(sizeof *code + size);
    if (!code) {
        asn_error_clear(); /* the interpreter needs no memory */
        return NULL;
    }
    *code = (asnd_jit_code){.users = 1, .hash = hash, .key_size = size};
    memcpy(code->key, key, size);
    asn_jit_release(*entry);
    return *entry = code;
}

/* The second sight of a program, or a first run that is long enough, compiles it; the
 * compilation runs under the lock, which others do not wait for. */
asnd_jit_code *asn_jit_find(const asnd_plan *plan, double work_ns, bool *settled) {
    unsigned char key[MAX_KEY];
    asnd_jit_mode mode = asn_jit_now();
    *settled = mode == ASN_JIT_OFF;
    if (*settled) return NULL;
    uint32_t size = write_key(plan, key);
    uint64_t hash = asn_hash_words(key, size / 8);
    if (pthread_mutex_trylock(&lock) != 0) return NULL;
    asnd_jit_code **entry = &entries[hash % ENTRIES], *code = *entry;
    if (!code || code->hash != hash || code->key_size != size ||
        memcmp(code->key, key, size) != 0) {
        code = add_entry(entry, key, size, hash);
        if (code && (work_ns >= WORTH_NS || mode == ASN_JIT_ALWAYS)) {
            code->tried = true;
            compile(code, plan);
        }
    } else if (!code->tried) {
        code->tried = true;
        compile(code, plan);
    } else {
        counts.found++;
    }
    *settled = code && code->tried;
    if (code && !code->fn) code = NULL;
    asn_jit_hold(code);
    pthread_mutex_unlock(&lock);
    return code;
}
