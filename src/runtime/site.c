/* L2 runtime: the table of sites (see site.h): entries one by one, found by an
 * open-addressed hash of their contents. */
#include "runtime/site.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/forks.h"

asn_site (*asn_site_finder)(void);

static struct {
    pthread_mutex_t lock;
    asn_site_info **entries; /* number n is entries[n - 1]; they never move */
    uint32_t num, capacity;
    uint32_t *slots; /* numbers; 2 * capacity of them */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};
ASN_FORK_TAKES(table, &table.lock, ASN_FORK_LEAF)

static uint64_t hash(const char *file, int line, const char *function) {
    uint64_t h = 1469598103934665603u ^ (uint64_t)line; /* FNV-1a */
    for (; *file; file++)
        h = (h ^ (uint8_t)*file) * 1099511628211u;
    for (; *function; function++)
        h = (h ^ (uint8_t)*function) * 1099511628211u;
    return h ^ h >> 29;
}

static uint32_t *slot_of(const char *file, int line, const char *function) {
    uint32_t mask = 2 * table.capacity - 1;
    for (uint32_t i = (uint32_t)hash(file, line, function) & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &table.slots[i];
        if (!*slot) return slot;
        const asn_site_info *e = table.entries[*slot - 1];
        if (e->line == line && !strcmp(e->file, file) && !strcmp(e->function, function))
            return slot;
    }
}

static bool grow(void) {
    uint32_t capacity = table.capacity ? 2 * table.capacity : 64;
    uint32_t *slots = asn_calloc(2 * (size_t)capacity, sizeof *slots);
    if (!slots) return false;
    asn_site_info **entries =
        asn_realloc(table.entries, capacity * sizeof(asn_site_info *));
    if (!entries) {
        asn_free(slots);
        return false;
    }
    asn_free(table.slots);
    table.slots = slots;
    table.entries = entries;
    table.capacity = capacity;
    for (uint32_t n = 1; n <= table.num; n++) {
        const asn_site_info *e = entries[n - 1];
        *slot_of(e->file, e->line, e->function) = n;
    }
    return true;
}

static asn_site add(const char *file, int line, const char *function) {
    size_t file_bytes = strlen(file) + 1, function_bytes = strlen(function) + 1;
    asn_site_info *e = asn_malloc(sizeof *e + file_bytes + function_bytes);
    if (!e) return 0;
    char *text = (char *)(e + 1);
    *e = (asn_site_info){text, text + file_bytes, line};
    memcpy(text, file, file_bytes);
    memcpy(text + file_bytes, function, function_bytes);
    *slot_of(file, line, function) = table.num + 1;
    table.entries[table.num++] = e;
    return table.num;
}

asn_site asn_site_number(const char *file, int line, const char *function) {
    asn_site site = 0;
    pthread_mutex_lock(&table.lock);
    bool room = table.num < table.capacity || grow();
    if (room) site = *slot_of(file, line, function);
    if (room && !site) site = add(file, line, function);
    pthread_mutex_unlock(&table.lock);
    if (!site) asn_error_clear();
    return site;
}

const asn_site_info *asn_site_get(asn_site site) {
    pthread_mutex_lock(&table.lock);
    const asn_site_info *e = site && site <= table.num ? table.entries[site - 1] : NULL;
    pthread_mutex_unlock(&table.lock);
    return e;
}
