/* CPU device, runtime: marks and ranges under the names of the tools' extension (mstx).
 *
 * A mark or range without a stream is a moment or span of the calling thread; with one,
 * it is a second time what the stream reaches: its ends are tasks of the stream. While
 * nobody profiles, nothing is kept. A domain is a name that tools select marks by; its
 * place in the table stays its own, since events that were recorded name it.
 *
 * Registering memory (mstxMemHeapRegister, ...) serves tools that check accesses of an
 * NPU; there is none on a CPU, so that those functions are not here.
 */
#include "device/acl/profile/profile.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = RT_PROFILE_TEXT_MAX, DOMAINS_MAX = 256, OPEN_MAX = 1024 };

struct mstxDomainRegistration_st {
    char name[TEXT_MAX];
    bool alive;
};

/* What a stream does at the two ends of a range; freed by the later of its owners. */
typedef struct {
    _Atomic uint32_t references;
    const char *domain;
    int32_t stream, device;
    int64_t start; /* of a range, once the stream was there */
    char text[TEXT_MAX];
} on_stream;

typedef struct {
    mstxRangeId id; /* 0: free */
    const char *domain;
    int64_t start;
    aclrtStream handle;
    on_stream *device; /* NULL: without a stream */
    char text[TEXT_MAX];
} open_range;

static struct {
    pthread_mutex_t lock;
    struct mstxDomainRegistration_st domains[DOMAINS_MAX];
    uint32_t used;
    open_range ranges[OPEN_MAX];
    mstxRangeId last;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};
ASN_FORK_TAKES(mstx, &table.lock, ASN_FORK_LEAF)

/* ---- on a stream */

/* Gives one reference back. */
static void release(on_stream *t) {
    if (atomic_fetch_sub(&t->references, 1) == 1) asn_free(t);
}

static void drop(void *arg) {
    release(arg);
}

/* The stream is at the mark. */
static int32_t task_mark(void *arg) {
    const on_stream *t = arg;
    int64_t now = rt_profile_now();
    rt_profile_text("mark", t->domain, t->text, t->stream, t->device, now, now);
    return 0;
}

/* The stream is at the beginning of the range, whose end may be launched by then or not.
 */
static int32_t task_start(void *arg) {
    ((on_stream *)arg)->start = rt_profile_now();
    return 0;
}

/* The stream is at its end; the start ran before, in the same order. */
static int32_t task_end(void *arg) {
    const on_stream *t = arg;
    rt_profile_text("range", t->domain, t->text, t->stream, t->device, t->start,
                    rt_profile_now());
    return 0;
}

/* NULL, with the error set: no such stream, or no memory. One reference. */
static on_stream *stream_note(const char *domain, const char *text, aclrtStream stream) {
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    on_stream *t = s ? asn_malloc(sizeof *t) : NULL;
    if (t == NULL) return NULL;
    *t = (on_stream){1, domain, rt_stream_id(s), rt_stream_device(s), 0, ""};
    snprintf(t->text, sizeof t->text, "%s", text);
    return t;
}

/* The task takes a reference of its own. */
static bool stream_push(aclrtStream stream, asnrtTask run, on_stream *t) {
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return false;
    atomic_fetch_add(&t->references, 1);
    return asnrtStreamPush((asnrtStreamState *)s, run, drop, t) == ACL_SUCCESS;
}

/* ---- domains */

/* Lock held: whether `domain` is one that was created and not destroyed. */
static bool domain_alive(mstxDomainHandle_t domain) {
    for (uint32_t i = 0; i < table.used; i++)
        if (domain == &table.domains[i]) return domain->alive;
    return false;
}

/* The name of a domain. false: it is none. */
static bool domain_name(mstxDomainHandle_t domain, const char **name) {
    pthread_mutex_lock(&table.lock);
    bool alive = domain_alive(domain);
    *name = alive ? domain->name : NULL;
    pthread_mutex_unlock(&table.lock);
    return alive;
}

/* A domain of that name (cut to 159 bytes), the same for the same name; NULL when there
 * are 256 others, or `name` is NULL. */
ASN_API mstxDomainHandle_t mstxDomainCreateA(const char *name) {
    if (name == NULL) return NULL;
    char text[TEXT_MAX];
    snprintf(text, sizeof text, "%s", name);
    pthread_mutex_lock(&table.lock);
    uint32_t i = 0;
    while (i < table.used && strcmp(table.domains[i].name, text) != 0)
        i++;
    mstxDomainHandle_t domain = i < DOMAINS_MAX ? &table.domains[i] : NULL;
    if (domain != NULL) {
        if (i == table.used) table.used++;
        memcpy(domain->name, text, sizeof text);
        domain->alive = true;
    }
    pthread_mutex_unlock(&table.lock);
    return domain;
}

/* Marks and ranges of the domain are ignored from here on. */
ASN_API void mstxDomainDestroy(mstxDomainHandle_t domain) {
    pthread_mutex_lock(&table.lock);
    if (domain_alive(domain)) domain->alive = false;
    pthread_mutex_unlock(&table.lock);
}

/* ---- marks and ranges */

/* The moment of the call, and with a stream that of the stream. */
static void mark(const char *domain, const char *message, aclrtStream stream) {
    if (message == NULL || !rt_profiled()) return;
    char text[TEXT_MAX];
    snprintf(text, sizeof text, "%s", message);
    int64_t now = rt_profile_now();
    rt_profile_text("mark", domain, text, -1, -1, now, now);
    on_stream *t = stream ? stream_note(domain, message, stream) : NULL;
    if (t == NULL) return;
    (void)stream_push(stream, task_mark, t);
    release(t);
}

/* 0 when nobody profiles. The start is the stream's first task of the range. */
static mstxRangeId range_start(const char *domain, const char *message,
                               aclrtStream stream) {
    if (message == NULL || !rt_profiled()) return 0;
    on_stream *t = stream ? stream_note(domain, message, stream) : NULL;
    if (stream != NULL && t == NULL) return 0;
    if (t != NULL) (void)stream_push(stream, task_start, t);
    mstxRangeId id = 0;
    pthread_mutex_lock(&table.lock);
    for (int i = 0; i < OPEN_MAX && id == 0; i++) {
        open_range *r = &table.ranges[i];
        if (r->id != 0) continue;
        *r = (open_range){++table.last, domain, rt_profile_now(), stream, t, ""};
        snprintf(r->text, sizeof r->text, "%s", message);
        id = r->id;
    }
    pthread_mutex_unlock(&table.lock);
    if (id == 0 && t != NULL) release(t);
    return id;
}

/* An unknown number is ignored, as one of a range that nobody profiled. */
static void range_end(mstxRangeId id) {
    open_range closed = {0};
    pthread_mutex_lock(&table.lock);
    for (int i = 0; i < OPEN_MAX && id != 0 && closed.id == 0; i++) {
        if (table.ranges[i].id != id) continue;
        closed = table.ranges[i];
        table.ranges[i].id = 0;
    }
    pthread_mutex_unlock(&table.lock);
    if (closed.id == 0) return;
    rt_profile_text("range", closed.domain, closed.text, -1, -1, closed.start,
                    rt_profile_now());
    if (closed.device == NULL) return;
    (void)stream_push(closed.handle, task_end, closed.device);
    release(closed.device);
}

/* Marks a moment: of the calling thread, and (stream not NULL) when the stream is there.
 */
ASN_API void mstxMarkA(const char *message, aclrtStream stream) {
    mark(NULL, message, stream);
}

/* Opens a range, which any thread may end; 0 when nothing is profiled, or `message` is
 * NULL, or 1024 are open. */
ASN_API mstxRangeId mstxRangeStartA(const char *message, aclrtStream stream) {
    return range_start(NULL, message, stream);
}

/* Ends a range. */
ASN_API void mstxRangeEnd(mstxRangeId id) {
    range_end(id);
}

/* mstxMarkA in a domain. */
ASN_API void mstxDomainMarkA(mstxDomainHandle_t domain, const char *message,
                             aclrtStream stream) {
    const char *name;
    if (domain_name(domain, &name)) mark(name, message, stream);
}

/* mstxRangeStartA in a domain; 0 for one that was destroyed. */
ASN_API mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char *message,
                                          aclrtStream stream) {
    const char *name;
    return domain_name(domain, &name) ? range_start(name, message, stream) : 0;
}

/* Ends a range of a domain. */
ASN_API void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id) {
    const char *name;
    if (domain_name(domain, &name)) range_end(id);
}
