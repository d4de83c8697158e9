/* MSPTI: records of what a device did, for tools inside the program (PyTorch's profiler).
 *
 * A tool gives two functions, which hand out and take buffers, chooses kinds of records,
 * and reads each buffer with msptiActivityGetNextRecord. On the CPU device there are
 * records of kernels, of collectives and of the tool's own numbers; they are given to the
 * tool by msptiActivityFlushAll. Times are nanoseconds since 1970.
 */
#ifndef ASN_MSPTI_H_
#define ASN_MSPTI_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    MSPTI_SUCCESS = 0,
    MSPTI_ERROR_INVALID_PARAMETER = 1,
    MSPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 2,
    MSPTI_ERROR_MAX_LIMIT_REACHED = 3,
    MSPTI_ERROR_DEVICE_OFFLINE = 4,
    MSPTI_ERROR_QUEUE_EMPTY = 5,
    MSPTI_ERROR_WITHOUT_LD_PRELOAD = 6,
    MSPTI_ERROR_INNER = 999
} msptiResult;

typedef enum {
    MSPTI_ACTIVITY_KIND_INVALID = 0,
    MSPTI_ACTIVITY_KIND_MARKER = 1,
    MSPTI_ACTIVITY_KIND_KERNEL = 2,
    MSPTI_ACTIVITY_KIND_API = 3,
    MSPTI_ACTIVITY_KIND_HCCL = 4,
    MSPTI_ACTIVITY_KIND_MEMORY = 5,
    MSPTI_ACTIVITY_KIND_MEMSET = 6,
    MSPTI_ACTIVITY_KIND_MEMCPY = 7,
    MSPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION = 8,
    MSPTI_ACTIVITY_KIND_COMMUNICATION = 9,
    MSPTI_ACTIVITY_KIND_ACL_API = 10,
    MSPTI_ACTIVITY_KIND_NODE_API = 11,
    MSPTI_ACTIVITY_KIND_RUNTIME_API = 12,
    MSPTI_ACTIVITY_KIND_COUNT
} msptiActivityKind;

typedef enum {
    MSPTI_EXTERNAL_CORRELATION_KIND_INVALID = 0,
    MSPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN = 1,
    MSPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 = 2,
    MSPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1 = 3,
    MSPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2 = 4,
    MSPTI_EXTERNAL_CORRELATION_KIND_SIZE
} msptiExternalCorrelationKind;

/* The dtype of a collective that is not recorded. */
typedef enum {
    MSPTI_ACTIVITY_COMMUNICATION_INVALID_TYPE = 0xffff
} msptiCommunicationDataType;

/* Records follow each other in a buffer without gaps but to multiples of 8 bytes. */
#define ASN_MSPTI_RECORD __attribute__((packed, aligned(8)))
typedef struct ASN_MSPTI_RECORD {
    msptiActivityKind kind;
} msptiActivity;

typedef struct ASN_MSPTI_RECORD {
    msptiActivityKind kind;
    uint64_t start, end;
    struct {
        uint32_t deviceId, streamId;
    } ds;
    uint64_t correlationId;
    const char *type, *name;
} msptiActivityKernel;

/* The CPU device knows neither dtype, count, algorithm nor group here: INVALID_TYPE, 0
 * and empty texts. */
typedef struct ASN_MSPTI_RECORD {
    msptiActivityKind kind;
    msptiCommunicationDataType dataType;
    uint64_t count;
    struct {
        uint32_t deviceId, streamId;
    } ds;
    uint64_t start, end;
    const char *algType, *name, *commName;
    uint64_t correlationId;
} msptiActivityCommunication;

/* The tool's number that was the thread's newest when `correlationId` was launched. */
typedef struct ASN_MSPTI_RECORD {
    msptiActivityKind kind;
    msptiExternalCorrelationKind externalKind;
    uint64_t externalId, correlationId;
} msptiActivityExternalCorrelation;

typedef struct msptiSubscriber_st *msptiSubscriberHandle;
typedef enum {
    MSPTI_CB_DOMAIN_INVALID = 0,
    MSPTI_CB_DOMAIN_RUNTIME = 1,
    MSPTI_CB_DOMAIN_HCCL = 2
} msptiCallbackDomain;
typedef uint32_t msptiCallbackId;
typedef void (*msptiCallbackFunc)(void *userdata, msptiCallbackDomain domain,
                                  msptiCallbackId cbid, const void *cbdata);
typedef void (*msptiBuffersCallbackRequestFunc)(uint8_t **buffer, size_t *size,
                                                size_t *maxNumRecords);
typedef void (*msptiBuffersCallbackCompleteFunc)(uint8_t *buffer, size_t size,
                                                 size_t validSize);

/* Becomes the program's tool, of which there is one at a time. Functions of the runtime
 * are not called back: `callback` may be NULL. */
msptiResult msptiSubscribe(msptiSubscriberHandle *subscriber, msptiCallbackFunc callback,
                           void *userdata);
/* Ends it; what was recorded waits for a flush. */
msptiResult msptiUnsubscribe(msptiSubscriberHandle subscriber);
/* Who gives and takes buffers. */
msptiResult msptiActivityRegisterCallbacks(msptiBuffersCallbackRequestFunc request,
                                           msptiBuffersCallbackCompleteFunc complete);
/* Records are made of the kind from here on. Of kinds other than kernels, collectives and
 * the tool's numbers a CPU has none. */
msptiResult msptiActivityEnable(msptiActivityKind kind);
/* No more records of the kind. */
msptiResult msptiActivityDisable(msptiActivityKind kind);
/* Whether records of the kind are made. */
bool msptiActivityIsEnabled(msptiActivityKind kind);
/* Fills buffers with what was recorded and gives them to the tool. flag: ignored. */
msptiResult msptiActivityFlushAll(uint32_t flag);
/* The record behind *record in a buffer of `size` bytes of records; NULL: the first.
 * MSPTI_ERROR_MAX_LIMIT_REACHED behind the last. */
msptiResult msptiActivityGetNextRecord(uint8_t *buffer, size_t size,
                                       msptiActivity **record);
/* A number of the tool's for what the calling thread launches, inside those before. */
msptiResult msptiActivityPushExternalCorrelationId(msptiExternalCorrelationKind kind,
                                                   uint64_t id);
/* Takes the newest number off; lastId (may be NULL) gets it. */
msptiResult msptiActivityPopExternalCorrelationId(msptiExternalCorrelationKind kind,
                                                  uint64_t *lastId);

#ifdef __cplusplus
}
#endif

#endif
