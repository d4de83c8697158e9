/* L2 runtime: watching memory: which buffers live and where they were made, a history of
 * what the manager did, hooks.
 *
 * Off, a buffer costs one test of asn_memory_watched at each end of its life. On, every
 * buffer made from then on has a record (its number, its site), and every taking and
 * giving back of storage is told to the hooks and kept in the history. What lies in a
 * thread's stock counts as given back.
 */
#ifndef ASN_RUNTIME_MEMORY_WATCH_H
#define ASN_RUNTIME_MEMORY_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/memory/buffer.h"
#include "runtime/site.h"

/* Read by buffer.c; set by the functions below. */
extern bool asn_memory_watched;
void asn_watch_made(const asn_buffer *b);  /* a buffer begins */
void asn_watch_taken(asn_buffer *b);       /* it has storage now */
void asn_watch_ended(const asn_buffer *b); /* before its storage goes back */
void asn_watch_failed(int64_t nbytes);     /* there was no memory for a request */
void asn_watch_touched(asn_buffer *b);     /* its storage is about to be used */

/* A capture's (graph/capture/replay.h), told of all threads' buffers: storage is taken,
 * is about to be given back, is about to be used. NULL: there is none. */
typedef struct {
    void (*taken)(const asn_buffer *b), (*ended)(const asn_buffer *b);
    void (*touched)(asn_buffer *b);
} asn_watch_tap;
void asn_watch_set_tap(const asn_watch_tap *tap);

typedef enum { ASN_WATCH_TAKEN, ASN_WATCH_GIVEN, ASN_WATCH_FAILED } asn_watch_kind;

typedef struct {
    uint64_t ns; /* CLOCK_MONOTONIC */
    const void *address;
    int64_t bytes;
    uint64_t in_use, held; /* of the device, after it */
    asn_site site;         /* of the buffer; of the giver for what was made unwatched */
    asn_watch_kind kind;
} asn_watch_event;

/* Records are kept while anyone wants them; calls nest. MemoryError. */
ASN_CHECK_RESULT asn_status asn_watch_start(void);
void asn_watch_stop(void);
/* The number that the next watched buffer gets: buffers made later have larger ones. */
uint64_t asn_watch_next(void);
typedef struct {
    uint64_t number;
    int64_t bytes; /* asked for */
    asn_site site;
} asn_watch_record;
/* Copies the records of live buffers from a number on; returns how many there are, of
 * which at most `room` are written. */
int64_t asn_watch_live(uint64_t from, asn_watch_record *out, int64_t room);

/* The last `entries` events are kept from now on; 0: none, and watching for it stops.
 * Returns the previous number. MemoryError. */
ASN_CHECK_RESULT asn_status asn_watch_history(int64_t entries, int64_t *before);
/* Copies the history, oldest first; returns how many events were written. */
int64_t asn_watch_events(asn_watch_event *out, int64_t room);

/* Called at each event, with no lock of the manager held; it may use the library, and
 * what it does there is not told to hooks. UNSUPPORTED: there are eight. */
typedef void (*asn_watch_hook)(void *context, const asn_watch_event *event);
ASN_CHECK_RESULT asn_status asn_watch_add_hook(asn_watch_hook hook, void *context);
/* false: there is no such hook. */
bool asn_watch_remove_hook(asn_watch_hook hook, void *context);

#endif
