/* L3 C binding: the registry of operators (registry.h).
 *
 * Registrations lie in a hash table by name, under the library's lock; those of one name
 * are in one chain, the most specific first, so that a call takes the first that fits and
 * nothing is cached that a registration would have to invalidate. The table's ufuncs are
 * not copied into it: they are what is found where nothing else fits, since nothing is
 * less specific, or of a lower rank than a priority of 0 unless it is negative. ATen's
 * names (aten.c) answer with what is registered for either name.
 *
 * Names are not bound to the table's: an operator may be of any name, and one of the
 * table's name replaces the ufunc in asnp_call, for the arrays that it is registered for;
 * where asnp_replace said so, in the ufuncs' own functions, too (replaced.c).
 */
#include "capi/aten.h"
#include "capi/replaced.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/device.h"

/* Where arrays are: a kind of device and its number. */
enum { ANYWHERE = 0, ON_CPU = 1, ON_ASCEND = 2, NOWHERE = 3 };
typedef struct {
    int32_t kind, number; /* number -1: any, or not said */
} place;

typedef struct entry {
    asnp_registration r; /* owns its strings */
    uint32_t hash;       /* of the name */
    place at;
    int64_t rank;
    struct entry *next;   /* in its chain, of the same or a lower rank */
    const char *replaces; /* the ufunc whose place it takes (asnp_replace), or NULL */
} entry;

/* Guarded by the library's lock; kept until the process ends. */
static struct {
    entry **order; /* as they were registered */
    int32_t count, capacity;
    entry **chains; /* capacity of them, a power of two: by hash */
    uint64_t version;
} registry;

/* FNV-1a, 32 bits. */
static uint32_t hash_of(const char *name) {
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

/* A copy of a text; NULL for NULL, and where there is no memory. */
static char *copied(const char *text) {
    size_t n = text ? strlen(text) + 1 : 0;
    char *copy = text ? asn_malloc(n) : NULL;
    if (copy) memcpy(copy, text, n);
    return copy;
}

/* Of an entry that is in no chain, or no longer. */
static void entry_free(entry *e) {
    asn_free((char *)e->r.name);
    asn_free((char *)e->r.device);
    asn_free((char *)e->r.owner);
    asn_free((char *)e->r.file);
    asn_free(e);
}

/* "cpu", "ascend", or one of them with a number; NULL: anywhere. NOWHERE: another text.
 */
static place place_of(const char *text) {
    place p = {ANYWHERE, -1};
    if (!text) return p;
    size_t n = strcspn(text, ":");
    p.kind = n == 3 && !memcmp(text, "cpu", 3)      ? ON_CPU
             : n == 6 && !memcmp(text, "ascend", 6) ? ON_ASCEND
                                                    : NOWHERE;
    if (p.kind == NOWHERE || !text[n]) return p;
    size_t digits = strspn(text + n + 1, "0123456789");
    if (digits == 0 || digits > 9 || text[n + 1 + digits])
        p.kind = NOWHERE;
    else
        p.number = atoi(text + n + 1);
    return p;
}

/* The more specific first: a dtype before a device, a numbered device before its kind;
 * the priority, any int32, decides among equals, which the shift keeps below. */
static int64_t rank_of(place at, asnp_dtype dtype, int32_t priority) {
    int device = at.kind == ANYWHERE ? 0 : at.number >= 0 ? 2 : 1;
    return (int64_t)((dtype != ASNP_DTYPE_NONE) * 3 + device) * ((int64_t)1 << 33) +
           priority;
}

_Atomic int32_t asn_capi_replacing;

/* Puts an entry into a ufunc's place (NULL: takes it out of the one it has). */
static void set_replaces(entry *e, const char *ufunc) {
    asn_capi_replacing += (ufunc != NULL) - (e->replaces != NULL);
    e->replaces = ufunc;
}

/* Before the first registration there are no chains. */
static entry *chain_of(uint32_t hash) {
    return registry.count ? registry.chains[hash & (uint32_t)(registry.capacity - 1)]
                          : NULL;
}

/* The registration with just this key; NULL: none. */
static entry *exact(const char *name, place at, asnp_dtype dtype, int32_t priority) {
    uint32_t hash = hash_of(name);
    for (entry *e = chain_of(hash); e; e = e->next)
        if (e->hash == hash && e->at.kind == at.kind && e->at.number == at.number &&
            e->r.dtype == dtype && e->r.priority == priority && !strcmp(e->r.name, name))
            return e;
    return NULL;
}

/* Whether the key is the one that what is built in has: for everything, priority 0. */
static bool is_built_ins_key(const char *name, place at, asnp_dtype dtype,
                             int32_t priority) {
    asn_built_in found;
    return at.kind == ANYWHERE && dtype == ASNP_DTYPE_NONE && priority == 0 &&
           asn_capi_built_in(name, &found);
}

/* Into its chain, behind those of a higher rank. */
static void link_entry(entry *e) {
    entry **at = &registry.chains[e->hash & (uint32_t)(registry.capacity - 1)];
    while (*at && (*at)->rank >= e->rank)
        at = &(*at)->next;
    e->next = *at;
    *at = e;
}

/* Room for one more, and as many chains as there is room. */
static asn_status make_room(void) {
    if (registry.count < registry.capacity) return ASN_OK;
    int32_t capacity = registry.capacity ? 2 * registry.capacity : 16;
    entry **order = asn_malloc((size_t)capacity * sizeof *order);
    entry **chains = asn_calloc((size_t)capacity, sizeof *chains);
    if (!order || !chains) {
        asn_free(order);
        asn_free(chains);
        return ASN_ERR_MEMORY;
    }
    if (registry.count)
        memcpy(order, registry.order, (size_t)registry.count * sizeof *order);
    asn_free(registry.order);
    asn_free(registry.chains);
    registry.order = order;
    registry.chains = chains;
    registry.capacity = capacity;
    for (int32_t i = 0; i < registry.count; i++)
        link_entry(order[i]);
    return ASN_OK;
}

/* For operators: sets this thread's message. */
asnp_status asnp_fail(asnp_status status, const char *sentence) {
    NEED(sentence);
    if (status <= ASNP_OK || status > ASNP_ERROR_LINALG)
        return asn_error_set(ASN_ERR_VALUE, "asnp_fail: status %d of '%s' is no failure",
                             (int)status, sentence);
    return asn_error_set((asn_status)status, "%s", sentence);
}

/* Refuses a key that is taken, and says by whom. */
static asn_status check_free(const asnp_registration *r, place at) {
    const entry *before = exact(r->name, at, r->dtype, r->priority);
    if (before)
        return asn_error_set(
            ASN_ERR_RUNTIME,
            "operator '%s' is already registered with priority %d by %s at %s:%d",
            r->name, (int)r->priority, before->r.owner ? before->r.owner : "?",
            before->r.file ? before->r.file : "?", (int)before->r.line);
    if (is_built_ins_key(r->name, at, r->dtype, r->priority))
        return asn_error_set(ASN_ERR_RUNTIME,
                             "operator '%s' is already registered with priority 0 by "
                             "asnumpy (built in)",
                             r->name);
    return ASN_OK;
}

/* Everything is checked and copied before the table grows by one: all or nothing. */
asnp_status asnp_register(const asnp_registration *r) {
    NEED(r);
    ASN_TRY(asn_capi_need(r->name, "the operator's name"));
    ASN_TRY(asn_capi_need((const void *)(uintptr_t)r->function, "the function"));
    place at = place_of(r->device);
    if (at.kind == NOWHERE)
        return asn_error_set(ASN_ERR_VALUE,
                             "operator '%s': the device is '%s'; it may be cpu, ascend "
                             "or ascend:1",
                             r->name, r->device);
    asn_dtype checked;
    ASN_TRY(asn_capi_dtype(r->dtype, true, &checked));
    IN_LIBRARY;
    ASN_TRY(check_free(r, at));
    ASN_TRY(make_room());
    entry *own = asn_malloc(sizeof *own);
    if (!own) return ASN_ERR_MEMORY;
    /* Strings are copied: the caller's may be of a library that is unloaded. */
    *own = (entry){.r = *r, .hash = hash_of(r->name), .at = at};
    own->rank = rank_of(at, r->dtype, r->priority);
    own->r.name = copied(r->name);
    own->r.device = copied(r->device);
    own->r.owner = copied(r->owner);
    own->r.file = copied(r->file);
    if (!own->r.name || !own->r.device != !r->device || !own->r.owner != !r->owner ||
        !own->r.file != !r->file) {
        entry_free(own);
        return ASN_ERR_MEMORY;
    }
    link_entry(own);
    registry.order[registry.count++] = own;
    registry.version++;
    return ASN_OK;
}

/* A name without a namespace is one of ATen's. */
asnp_status asnp_register_aten_op(const char *name, asnp_operator function, void *context,
                                  int32_t priority) {
    char full[128];
    NEED(name);
    int n = snprintf(full, sizeof full, "%s%s", strstr(name, "::") ? "" : "aten::", name);
    if (n >= (int)sizeof full)
        return asn_error_set(ASN_ERR_VALUE,
                             "the operator's name has %d characters; at most %d", n,
                             (int)sizeof full - 1);
    return asnp_register(&(asnp_registration){.name = full,
                                              .dtype = ASNP_DTYPE_NONE,
                                              .priority = priority,
                                              .function = function,
                                              .context = context});
}

/* The owner's release is called under the library's lock, which is recursive, when the
 * registry is in order again. */
asnp_status asnp_unregister(const char *name, const char *device, asnp_dtype dtype,
                            int32_t priority) {
    NEED(name);
    IN_LIBRARY;
    place at = place_of(device);
    entry *e = exact(name, at, dtype, priority);
    if (!e)
        return asn_error_set(ASN_ERR_VALUE,
                             is_built_ins_key(name, at, dtype, priority)
                                 ? "operator '%s' of priority %d is built in"
                                 : "operator '%s' is not registered so with priority %d",
                             name, (int)priority);
    entry **link = &registry.chains[e->hash & (uint32_t)(registry.capacity - 1)];
    while (*link != e)
        link = &(*link)->next;
    *link = e->next;
    int32_t i = 0;
    while (registry.order[i] != e)
        i++;
    registry.count--;
    memmove(&registry.order[i], &registry.order[i + 1],
            (size_t)(registry.count - i) * sizeof *registry.order);
    registry.version++;
    set_replaces(e, NULL);
    if (e->r.release) e->r.release(e->r.context);
    entry_free(e);
    return ASN_OK;
}

/* What is for everything must come before the built-in in asnp_call, too, or the two
 * would disagree. */
asnp_status asnp_replace(const char *name, const char *device, asnp_dtype dtype,
                         int32_t priority, int32_t on) {
    NEED(name);
    IN_LIBRARY;
    place at = place_of(device);
    entry *e = exact(name, at, dtype, priority);
    asn_built_in own;
    if (!e)
        return asn_error_set(ASN_ERR_VALUE,
                             "operator '%s' is not registered so with priority %d", name,
                             (int)priority);
    if (!on) {
        set_replaces(e, NULL);
        return ASN_OK;
    }
    if (!asn_capi_built_in(name, &own) || !own.ufunc || !strcmp(own.ufunc, "where"))
        return asn_error_set(ASN_ERR_VALUE,
                             "operator '%s' replaces nothing: names of elementwise "
                             "operations do ('add', 'aten::add')",
                             name);
    if (at.kind == ANYWHERE && dtype == ASNP_DTYPE_NONE && priority <= 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "operator '%s' replaces nothing: what is built in has "
                             "priority 0, and comes before priority %d for everything",
                             name, (int)priority);
    set_replaces(e, own.ufunc);
    return ASN_OK;
}

/* Compared, not asked for its value: it changes with each registration and removal. */
uint64_t asnp_registry_version(void) {
    IN_LIBRARY;
    return registry.version;
}

/* Whether a registration is for arrays of a dtype in a place. */
static bool fits(const entry *e, place at, asnp_dtype dtype) {
    bool here =
        e->at.kind == ANYWHERE ||
        (e->at.kind == at.kind && (e->at.number < 0 || e->at.number == at.number));
    return here && (e->r.dtype == ASNP_DTYPE_NONE || e->r.dtype == dtype);
}

/* The first of a name's chain that fits arrays of a dtype in a place; NULL: none. */
static const entry *first_fit(const char *name, place at, asnp_dtype dtype) {
    uint32_t hash = hash_of(name);
    for (const entry *e = chain_of(hash); e; e = e->next)
        if (e->hash == hash && fits(e, at, dtype) && !strcmp(e->r.name, name)) return e;
    return NULL;
}

/* device: as it was asked for, or NULL: the place has a number. *out points to the
 * registry's strings: it is good until the registration ends; *replaces is the ufunc
 * whose place it takes, or NULL. An ATen name has what is registered for it, without the
 * kinds of operands at its end, and for the ufunc that it stands for; of equal ranks the
 * name itself is first. */
static asn_status find(const char *name, const char *device, place at, asnp_dtype dtype,
                       asnp_registration *out, const char **replaces) {
    char plain[ASN_ATEN_NAME];
    asn_built_in own;
    bool has_own = asn_capi_built_in(name, &own);
    bool other = has_own && own.ufunc && strcmp(own.ufunc, name) != 0;
    const char *names[] = {name, asn_capi_aten_plain(name, plain),
                           other ? own.ufunc : NULL};
    const entry *best = NULL;
    for (int i = 0; i < 3; i++) {
        const entry *e = names[i] ? first_fit(names[i], at, dtype) : NULL;
        if (e && (!best || e->rank > best->rank)) best = e;
    }
    *replaces = NULL;
    /* What is built in has rank 0. */
    if (best && (!has_own || best->rank > 0)) {
        *out = best->r;
        *replaces = best->replaces;
        return ASN_OK;
    }
    if (!has_own) {
        char here[32];
        snprintf(here, sizeof here, "%s:%d", at.kind == ON_CPU ? "cpu" : "ascend",
                 (int)at.number);
        return asn_error_set(ASN_ERR_VALUE,
                             "no operator '%s' is registered for such arrays on %s", name,
                             device ? device : here);
    }
    *out = (asnp_registration){.name = own.ufunc ? own.ufunc : name,
                               .dtype = ASNP_DTYPE_NONE,
                               .function = own.function,
                               .context = own.context,
                               .owner = "asnumpy",
                               .file = "built in"};
    return ASN_OK;
}

/* The place of a device's number. */
static asn_status place_here(int number, place *at) {
    ASN_TRY(asn_device_open());
    *at = (place){strcmp(asn_device_kind(), "cpu") == 0 ? ON_CPU : ON_ASCEND, number};
    return ASN_OK;
}

/* device NULL: the one in use, with its number. */
asnp_status asnp_find(const char *name, const char *device, asnp_dtype dtype,
                      asnp_registration *out) {
    NEED(name);
    NEED(out);
    IN_LIBRARY;
    int number;
    place at = place_of(device);
    if (!device) {
        ASN_TRY(asn_device_get(&number));
        ASN_TRY(place_here(number, &at));
    }
    const char *replaces;
    return find(name, device, at, dtype, out, &replaces);
}

/* In the order of registration; the strings are the registry's. */
asnp_status asnp_registered(int32_t i, asnp_registration *out) {
    NEED(out);
    IN_LIBRARY;
    if (i < 0 || i >= registry.count)
        return asn_error_set(ASN_ERR_INDEX, "registration %d of %d", (int)i,
                             (int)registry.count);
    *out = registry.order[i]->r;
    return ASN_OK;
}

/* *out: what a call with these arrays takes: on the first one's device, for the promotion
 * of all their dtypes, unless the caller names a device or a dtype. */
static asn_status find_for(const char *name, const char *device, asnp_dtype wanted,
                           int32_t num_in, asnp_array *const *in, asnp_registration *out,
                           const char **replaces) {
    IN_LIBRARY;
    int number;
    place at = place_of(device);
    asn_dtype dtype = ASN_DTYPE_NONE;
    ASN_TRY(asn_device_get(&number));
    for (int32_t i = 0; i < num_in; i++) {
        ASN_TRY(asn_capi_need(in[i], "an argument"));
        if (i == 0) number = in[0]->array.buffer->device;
        dtype = i == 0 ? asn_capi_type(in[i]) : asn_promote(dtype, asn_capi_type(in[i]));
    }
    if (!device) ASN_TRY(place_here(number, &at));
    if (wanted == ASNP_DTYPE_NONE && num_in)
        wanted = (asnp_dtype)asn_dtype_table[dtype].acl;
    return find(name, device, at, wanted, out, replaces);
}

/* (Contract in replaced.h.) */
bool asn_capi_replacement(const char *ufunc, int number, asn_dtype dtype,
                          asnp_registration *out) {
    place at;
    const entry *best = NULL;
    if (place_here(number, &at) != ASN_OK) return false;
    for (int32_t i = 0; i < registry.count; i++) {
        const entry *e = registry.order[i];
        if (e->replaces == ufunc && fits(e, at, (asnp_dtype)asn_dtype_table[dtype].acl) &&
            (!best || e->rank > best->rank))
            best = e;
    }
    if (best) *out = best->r;
    return best != NULL;
}

/* The function runs outside the lock: it is a program's own and may take long. More
 * arguments than any ufunc has are passed on as a number that none takes, for its
 * message. A registration for everything may be called without arrays. */
asnp_status asnp_call_as(const char *name, const char *device, asnp_dtype dtype,
                         int32_t num_in, asnp_array *const *in, int32_t num_out,
                         asnp_array **out) {
    /* A copy: another thread may change the registry while the function runs. */
    asnp_registration r;
    const char *replaces;
    NEED(name);
    NEED(in);
    NEED(out);
    ASN_TRY(find_for(name, device, dtype, num_in, in, &r, &replaces));
    if (r.function && replaces)
        return asn_capi_run_beside(replaces, &r, num_in, in, num_out, out);
    if (r.function) return r.function(num_in, in, num_out, out, r.context);
    /* No ufunc has more than three arguments. */
    asnp_operand operands[3];
    for (int32_t i = 0; i < num_in && i < 3; i++)
        operands[i] = (asnp_operand){.array = in[i]};
    return asnp_ufunc(r.name, num_in > 3 ? 4 : num_in, operands, num_out, out);
}

/* The device and the dtype are the arrays' own. */
asnp_status asnp_call(const char *name, int32_t num_in, asnp_array *const *in,
                      int32_t num_out, asnp_array **out) {
    return asnp_call_as(name, NULL, ASNP_DTYPE_NONE, num_in, in, num_out, out);
}
