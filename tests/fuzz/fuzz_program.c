/* The fuzzer of fused programs.
 *
 *   fuzz_program [--seconds N] [--cases N] [--seed N] [--out DIR]   random cases
 *   fuzz_program --replay FILE...                                   cases that were kept
 *
 * Cases run in a child process, so that one that crashes or hangs is found as well; a
 * failing one is made small and written to DIR as text, which --replay runs again and
 * cases/ keeps for good. The exit status is 1 when something failed.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "case.h"

#include "base/cpu.h"

enum { BATCH = 200, FAILED = 1, LONGEST = 60 /* seconds of a batch or a case */ };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What the children tell: which case is running, and what has been done. */
typedef struct {
    uint64_t seed;
    int64_t cases, instrs;
} progress;
static progress *told;

static void silence(void) {
    if (!freopen("/dev/null", "w", stdout)) _exit(3);
}

/* 0: it passed; else the exit status, or 128 + the signal. */
static int wait_for(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child) return 3;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int check_apart(const fuzz_case *c, bool quietly) {
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) return 3;
    if (child == 0) {
        alarm(LONGEST);
        if (quietly) silence();
        int failed = !fuzz_check(c) || check_failures;
        fflush(stdout);
        _exit(failed ? FAILED : 0);
    }
    return wait_for(child);
}

static bool fails_apart(const fuzz_case *c) {
    return check_apart(c, true) != 0;
}

static void run_batch(uint64_t first, uint64_t end) {
    static fuzz_case c;
    silence();
    for (uint64_t seed = first; seed < end; seed++) {
        alarm(LONGEST);
        told->seed = seed;
        fuzz_make(&c, seed);
        if (!fuzz_check(&c) || check_failures) _exit(FAILED);
        told->cases++;
        told->instrs += c.num_instrs;
    }
    _exit(0);
}

static void report(uint64_t seed, int status, const char *dir) {
    static fuzz_case c;
    char path[512];
    fuzz_make(&c, seed);
    printf("seed %llu: %s %d; as it was made:\n", (unsigned long long)seed,
           status > 128 ? "signal" : "status", status > 128 ? status - 128 : status);
    (void)check_apart(&c, false);
    if (fails_apart(&c))
        fuzz_shrink(&c, fails_apart);
    else
        printf("  it passes by itself: what ran before it matters\n");
    printf("smallest:\n");
    (void)check_apart(&c, false);
    fuzz_write(stdout, &c);
    snprintf(path, sizeof path, "%s/seed-%llu-%d.case", dir, (unsigned long long)seed,
             (int)asn_cpu_isa());
    FILE *file = fopen(path, "w");
    if (!file) {
        printf("cannot write %s\n", path);
        return;
    }
    fuzz_write(file, &c);
    fclose(file);
    printf("written to %s\n", path);
}

static int search(double seconds, int64_t cases, uint64_t seed, const char *dir) {
    const double start = now();
    int failures = 0;
    uint64_t first = seed;
    while (now() - start < seconds && told->cases < cases && failures < 20) {
        fflush(stdout);
        pid_t child = fork();
        if (child < 0) return 3;
        if (child == 0) run_batch(first, first + BATCH);
        int status = wait_for(child);
        if (status == 0) {
            first += BATCH;
            continue;
        }
        failures++;
        report(told->seed, status, dir);
        first = told->seed + 1;
    }
    printf(
        "fuzz_program: seeds %llu to %llu, %lld programs of %lld instructions, %.0f s\n",
        (unsigned long long)seed, (unsigned long long)told->seed, (long long)told->cases,
        (long long)told->instrs, now() - start);
    printf("%lld passed, %d failed\n", (long long)told->cases, failures);
    return failures != 0;
}

static int replay(int count, char **paths) {
    static fuzz_case c;
    int failures = 0;
    for (int k = 0; k < count; k++) {
        FILE *file = fopen(paths[k], "r");
        bool read = file && fuzz_read(file, &c);
        if (file) fclose(file);
        int status = read ? check_apart(&c, false) : 3;
        if (status) printf("%s: failed, %d\n", paths[k], status);
        failures += status != 0;
    }
    printf("%d passed, %d failed\n", count - failures, failures);
    return failures != 0;
}

int main(int argc, char **argv) {
    double seconds = 60;
    int64_t cases = INT64_MAX;
    uint64_t seed = 1;
    const char *dir = ".";
    setvbuf(stdout, NULL, _IOLBF, 0);
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                -1, 0);
    if (told == MAP_FAILED) return 3;
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--replay")) return replay(argc - i - 1, argv + i + 1);
        if (!strcmp(argv[i], "--seconds") && more)
            seconds = atof(argv[++i]);
        else if (!strcmp(argv[i], "--cases") && more)
            cases = atoll(argv[++i]);
        else if (!strcmp(argv[i], "--seed") && more)
            seed = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--out") && more)
            dir = argv[++i];
        else {
            printf(
                "usage: fuzz_program [--seconds N] [--cases N] [--seed N] [--out DIR]\n"
                "       fuzz_program --replay FILE...\n");
            return 2;
        }
    }
    return search(seconds, cases, seed, dir);
}
