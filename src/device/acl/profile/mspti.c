/* CPU device, runtime: records for a tool inside the program (mspti/mspti.h).
 *
 * Every launch gets a number (`correlation`), and with it the tool's own newest number of
 * the launching thread; when the operator has run, its record follows. Records wait in
 * one list until msptiActivityFlushAll copies them to the tool's buffers, on the thread
 * that calls it: no thread of ours calls the tool. Past RECORDS_MAX the newest are
 * dropped.
 */
#include "device/acl/profile/profile.h"

#include <string.h>

#include "mspti/mspti.h"

enum {
    RECORDS_MAX = 1 << 20,
    DEPTH_MAX = 256,
    KINDS = MSPTI_EXTERNAL_CORRELATION_KIND_SIZE
};

typedef union {
    msptiActivityKind kind;
    msptiActivityKernel kernel;
    msptiActivityCommunication communication;
    msptiActivityExternalCorrelation external;
} record;

struct msptiSubscriber_st {
    int unused;
};

static struct {
    pthread_mutex_t lock;
    struct msptiSubscriber_st one;
    bool subscribed;
    msptiBuffersCallbackRequestFunc request;
    msptiBuffersCallbackCompleteFunc complete;
    _Atomic uint32_t enabled; /* a bit for each kind */
    /* From the profile's clock to the day's, when the first kind was enabled. */
    _Atomic int64_t shift;
    record *records;
    size_t count, capacity;
} tool = {.lock = PTHREAD_MUTEX_INITIALIZER};
ASN_FORK_TAKES(mspti, &tool.lock, ASN_FORK_LEAF)

/* The calling thread's numbers, by kind. */
static _Thread_local struct {
    uint64_t ids[DEPTH_MAX];
    uint32_t depth;
} external[KINDS];

/* Whether records of the kind are wanted; read without the lock, at every launch. */
static bool is_enabled(msptiActivityKind kind) {
    return (atomic_load_explicit(&tool.enabled, memory_order_relaxed) >> kind & 1) != 0;
}

/* ---- recording */

/* Keeps a copy, unless the list is full or memory is short. */
static void add(const record *r) {
    pthread_mutex_lock(&tool.lock);
    if (tool.count == tool.capacity && tool.count < RECORDS_MAX) {
        size_t capacity = tool.capacity ? 2 * tool.capacity : 1024;
        record *more = asn_realloc(tool.records, capacity * sizeof *more);
        if (more != NULL) tool.records = more;
        if (more != NULL) tool.capacity = capacity;
    }
    if (tool.count < tool.capacity) tool.records[tool.count++] = *r;
    pthread_mutex_unlock(&tool.lock);
}

/* On the launching thread, before the task is queued: its number, counted from 1 over all
 * threads. The tool's numbers of that thread, one of each kind, are recorded with it. */
uint64_t rt_activity_launch(void) {
    static _Atomic uint64_t newest;
    uint64_t number = atomic_fetch_add(&newest, 1) + 1;
    if (!is_enabled(MSPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) return number;
    for (int kind = 1; kind < KINDS; kind++) {
        uint32_t depth = external[kind].depth;
        if (depth == 0 || depth > DEPTH_MAX) continue;
        add(&(record){.external = {MSPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                   (msptiExternalCorrelationKind)kind,
                                   external[kind].ids[depth - 1], number}});
    }
    return number;
}

/* On the thread that ran the operator. Copies and fills have records of their own kinds
 * in CANN, which are not made here. */
void rt_activity_operator(const char *name, const asnrtScope *scope, int64_t end) {
    bool is_collective = strncmp(name, "Hccl", 4) == 0;
    bool is_copy = strncmp(name, "MEM", 3) == 0;
    int64_t shift = atomic_load_explicit(&tool.shift, memory_order_relaxed);
    uint64_t from = (uint64_t)(scope->start + shift), to = (uint64_t)(end + shift);
    uint32_t device = scope->device < 0 ? 0 : (uint32_t)scope->device;
    uint32_t stream = (uint32_t)scope->stream;
    const char *type = strncmp(name, "aclnn", 5) == 0 ? name + 5 : name;
    if (is_collective && is_enabled(MSPTI_ACTIVITY_KIND_COMMUNICATION)) {
        record r = {.communication = {.kind = MSPTI_ACTIVITY_KIND_COMMUNICATION}};
        r.communication.dataType = MSPTI_ACTIVITY_COMMUNICATION_INVALID_TYPE;
        r.communication.ds.deviceId = device;
        r.communication.ds.streamId = stream;
        r.communication.start = from;
        r.communication.end = to;
        r.communication.name = name;
        r.communication.algType = r.communication.commName = "";
        r.communication.correlationId = scope->correlation;
        add(&r);
    } else if (!is_collective && !is_copy && is_enabled(MSPTI_ACTIVITY_KIND_KERNEL)) {
        record r = {.kernel = {.kind = MSPTI_ACTIVITY_KIND_KERNEL}};
        r.kernel.start = from;
        r.kernel.end = to;
        r.kernel.ds.deviceId = device;
        r.kernel.ds.streamId = stream;
        r.kernel.correlationId = scope->correlation;
        r.kernel.type = type;
        r.kernel.name = name;
        add(&r);
    }
}

/* ---- the tool */

/* Becomes the program's tool. `callback` would hear of the runtime's functions: it is
 * never called. */
ASN_API msptiResult msptiSubscribe(msptiSubscriberHandle *subscriber,
                                   msptiCallbackFunc callback, void *userdata) {
    (void)callback;
    (void)userdata;
    if (subscriber == NULL) return MSPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&tool.lock);
    bool taken = tool.subscribed;
    tool.subscribed = true;
    pthread_mutex_unlock(&tool.lock);
    if (taken) return MSPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    *subscriber = &tool.one;
    return MSPTI_SUCCESS;
}

/* Ends it; records that were made wait for a flush. */
ASN_API msptiResult msptiUnsubscribe(msptiSubscriberHandle subscriber) {
    pthread_mutex_lock(&tool.lock);
    bool was = tool.subscribed && subscriber == &tool.one;
    if (was) tool.subscribed = false;
    pthread_mutex_unlock(&tool.lock);
    return was ? MSPTI_SUCCESS : MSPTI_ERROR_INVALID_PARAMETER;
}

/* Who hands out buffers and takes them filled; the tool owns them all the time but
 * between. */
ASN_API msptiResult msptiActivityRegisterCallbacks(
    msptiBuffersCallbackRequestFunc request, msptiBuffersCallbackCompleteFunc complete) {
    if (request == NULL || complete == NULL) return MSPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&tool.lock);
    tool.request = request;
    tool.complete = complete;
    pthread_mutex_unlock(&tool.lock);
    return MSPTI_SUCCESS;
}

/* The first kind that is enabled also fixes how times of the profile become the day's: a
 * clock that is set later does not move records against each other. */
static msptiResult kind_switch(msptiActivityKind kind, bool on) {
    if (kind <= MSPTI_ACTIVITY_KIND_INVALID || kind >= MSPTI_ACTIVITY_KIND_COUNT)
        return MSPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&tool.lock);
    uint32_t before = atomic_load(&tool.enabled), bit = (uint32_t)1 << kind;
    uint32_t now = on ? before | bit : before & ~bit;
    if (before == 0 && now != 0) {
        rt_profile_clocks clocks = rt_profile_clocks_now();
        atomic_store(&tool.shift, clocks.day - clocks.raw);
    }
    atomic_store(&tool.enabled, now);
    asnrtHook(ASNRT_HOOK_ACTIVITY, now != 0);
    pthread_mutex_unlock(&tool.lock);
    return MSPTI_SUCCESS;
}

/* Records of the kind are made from here on. */
ASN_API msptiResult msptiActivityEnable(msptiActivityKind kind) {
    return kind_switch(kind, true);
}

/* No more of them; those that were made wait for a flush. */
ASN_API msptiResult msptiActivityDisable(msptiActivityKind kind) {
    return kind_switch(kind, false);
}

/* false for numbers that are no kind, too. */
ASN_API bool msptiActivityIsEnabled(msptiActivityKind kind) {
    return kind > MSPTI_ACTIVITY_KIND_INVALID && kind < MSPTI_ACTIVITY_KIND_COUNT &&
           is_enabled(kind);
}

/* ---- buffers */

/* 0 for a kind that no record of ours has. */
static size_t size_of(msptiActivityKind kind) {
    switch (kind) {
    case MSPTI_ACTIVITY_KIND_KERNEL: return sizeof(msptiActivityKernel);
    case MSPTI_ACTIVITY_KIND_COMMUNICATION: return sizeof(msptiActivityCommunication);
    case MSPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return sizeof(msptiActivityExternalCorrelation);
    default: return 0;
    }
}

/* How many of the records the buffer took; *used: bytes of it. */
static size_t buffer_fill(uint8_t *buffer, size_t size, size_t most,
                          const record *records, size_t count, size_t *used) {
    size_t done = 0;
    *used = 0;
    while (done < count && (most == 0 || done < most)) {
        size_t n = size_of(records[done].kind);
        if (*used + n > size) break;
        memcpy(buffer + *used, &records[done++], n);
        *used += n;
    }
    return done;
}

/* Takes the list first, so that records which are made meanwhile wait for the next flush
 * and the tool may launch operators in its functions. A buffer that is refused, or too
 * small for one record, ends the flush: what is left is dropped. */
ASN_API msptiResult msptiActivityFlushAll(uint32_t flag) {
    (void)flag;
    pthread_mutex_lock(&tool.lock);
    msptiBuffersCallbackRequestFunc request = tool.request;
    msptiBuffersCallbackCompleteFunc complete = tool.complete;
    record *records = tool.records;
    size_t count = tool.count, done = 0;
    if (request != NULL) {
        tool.records = NULL;
        tool.count = tool.capacity = 0;
    }
    pthread_mutex_unlock(&tool.lock);
    if (request == NULL) return MSPTI_ERROR_INVALID_PARAMETER;
    while (done < count) {
        uint8_t *buffer = NULL;
        size_t size = 0, most = 0, used = 0;
        request(&buffer, &size, &most);
        if (buffer == NULL) break; /* the tool declines: the rest is dropped */
        size_t n = buffer_fill(buffer, size, most, records + done, count - done, &used);
        complete(buffer, size, used);
        if (n == 0) break; /* too small for a record */
        done += n;
    }
    asn_free(records);
    return MSPTI_SUCCESS;
}

/* Reads what buffer_fill wrote; a place that holds no record of ours is refused. */
ASN_API msptiResult msptiActivityGetNextRecord(uint8_t *buffer, size_t size,
                                               msptiActivity **next) {
    if (buffer == NULL || next == NULL) return MSPTI_ERROR_INVALID_PARAMETER;
    size_t at = 0;
    if (*next != NULL) {
        uintptr_t offset = (uintptr_t)*next - (uintptr_t)buffer;
        if (offset >= size) return MSPTI_ERROR_INVALID_PARAMETER;
        size_t n = size_of((*next)->kind);
        if (n == 0) return MSPTI_ERROR_INVALID_PARAMETER;
        at = offset + n;
    }
    if (at + sizeof(msptiActivity) > size) return MSPTI_ERROR_MAX_LIMIT_REACHED;
    msptiActivity *found = (msptiActivity *)(void *)(buffer + at);
    size_t n = size_of(found->kind);
    if (n == 0 || at + n > size) return MSPTI_ERROR_INVALID_PARAMETER;
    *next = found;
    return MSPTI_SUCCESS;
}

/* ---- the tool's numbers */

/* Deeper than DEPTH_MAX they are counted, and launches get none. */
ASN_API msptiResult
msptiActivityPushExternalCorrelationId(msptiExternalCorrelationKind kind, uint64_t id) {
    if (kind <= MSPTI_EXTERNAL_CORRELATION_KIND_INVALID || (int)kind >= KINDS)
        return MSPTI_ERROR_INVALID_PARAMETER;
    uint32_t depth = external[kind].depth++;
    if (depth < DEPTH_MAX) external[kind].ids[depth] = id;
    return MSPTI_SUCCESS;
}

/* *lastId: the number that was taken off; 0 when it was too deep to be kept. */
ASN_API msptiResult msptiActivityPopExternalCorrelationId(
    msptiExternalCorrelationKind kind, uint64_t *lastId) {
    if (kind <= MSPTI_EXTERNAL_CORRELATION_KIND_INVALID || (int)kind >= KINDS)
        return MSPTI_ERROR_INVALID_PARAMETER;
    if (external[kind].depth == 0) return MSPTI_ERROR_QUEUE_EMPTY;
    uint32_t depth = --external[kind].depth;
    if (lastId != NULL) *lastId = depth < DEPTH_MAX ? external[kind].ids[depth] : 0;
    return MSPTI_SUCCESS;
}
