/* L3 C binding: the registry of operators (registry.h).
 *
 * Registrations lie in one growing array under the library's lock; a lookup goes through
 * it, which costs nothing beside the call of an operator. The table's ufuncs are not
 * copied into it: they are what is found where nothing else fits, since nothing is less
 * specific, or of a lower rank than a priority of 0 unless it is negative.
 *
 * Names are not bound to the table's: an operator may be of any name, and one of the
 * table's name replaces the ufunc in asnp_call, for the arrays that it is registered for.
 */
#include "capi/capi.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/device.h"

/* Guarded by the library's lock; kept until the process ends. */
static struct {
    asnp_registration *all; /* owns their strings */
    int32_t count, capacity;
} registry;

/* A copy of a text; NULL for NULL, and where there is no memory. */
static char *copied(const char *text) {
    size_t n = text ? strlen(text) + 1 : 0;
    char *copy = text ? asn_malloc(n) : NULL;
    if (copy) memcpy(copy, text, n);
    return copy;
}

static void drop_strings(asnp_registration *r) {
    asn_free((char *)r->name);
    asn_free((char *)r->device);
    asn_free((char *)r->owner);
    asn_free((char *)r->file);
}

/* NULL equals NULL alone. */
static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* "cpu", "ascend", or one of them with a number. */
static bool is_device(const char *text) {
    size_t n = strcspn(text, ":");
    /* A kind of device, then a colon and digits, or nothing. */
    bool kind =
        (n == 3 && !memcmp(text, "cpu", 3)) || (n == 6 && !memcmp(text, "ascend", 6));
    if (!kind || !text[n]) return kind;
    return text[n + 1] && !text[n + 1 + strspn(text + n + 1, "0123456789")];
}

/* The registration with just this key; NULL: none. A pointer into the array, good until
 * it grows or shrinks. */
static asnp_registration *exact(const char *name, const char *device, asnp_dtype dtype,
                                int32_t priority) {
    for (int32_t i = 0; i < registry.count; i++) {
        asnp_registration *r = &registry.all[i];
        if (!strcmp(r->name, name) && same_text(r->device, device) && r->dtype == dtype &&
            r->priority == priority)
            return r;
    }
    return NULL;
}

/* Whether the name is a ufunc's. */
static bool in_table(const char *name) {
    const char *known;
    for (int32_t i = 0; (known = asnp_ufunc_name(i, NULL, NULL)); i++)
        if (!strcmp(known, name)) return true;
    return false;
}

/* Whether the key is the one that the table's ufuncs have: for everything, priority 0. */
static bool is_tables_key(const char *name, const char *device, asnp_dtype dtype,
                          int32_t priority) {
    return !device && dtype == ASNP_DTYPE_NONE && priority == 0 && in_table(name);
}

/* Room for one more. */
static asn_status make_room(void) {
    if (registry.count < registry.capacity) return ASN_OK;
    int32_t capacity = registry.capacity ? 2 * registry.capacity : 16;
    asnp_registration *grown = asn_malloc((size_t)capacity * sizeof *grown);
    if (!grown) return ASN_ERR_MEMORY;
    if (registry.count)
        memcpy(grown, registry.all, (size_t)registry.count * sizeof *grown);
    asn_free(registry.all);
    registry.all = grown;
    registry.capacity = capacity;
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

/* Everything is checked and copied before the array grows by one: all or nothing. */
asnp_status asnp_register(const asnp_registration *r) {
    NEED(r);
    ASN_TRY(asn_capi_need(r->name, "the operator's name"));
    ASN_TRY(asn_capi_need((const void *)(uintptr_t)r->function, "the function"));
    if (r->device && !is_device(r->device))
        return asn_error_set(ASN_ERR_VALUE,
                             "operator '%s': the device is '%s'; it may be cpu, ascend "
                             "or ascend:1",
                             r->name, r->device);
    asn_dtype checked;
    ASN_TRY(asn_capi_dtype(r->dtype, true, &checked));
    IN_LIBRARY;
    const asnp_registration *before = exact(r->name, r->device, r->dtype, r->priority);
    if (before)
        return asn_error_set(
            ASN_ERR_RUNTIME,
            "operator '%s' is already registered with priority %d by %s at %s:%d",
            r->name, (int)r->priority, before->owner ? before->owner : "?",
            before->file ? before->file : "?", (int)before->line);
    if (is_tables_key(r->name, r->device, r->dtype, r->priority))
        return asn_error_set(ASN_ERR_RUNTIME,
                             "operator '%s' is already registered with priority 0 by "
                             "asnumpy (built in)",
                             r->name);
    ASN_TRY(make_room());
    /* Strings are copied: the caller's may be of a library that is unloaded. */
    asnp_registration own = *r;
    own.name = copied(r->name);
    own.device = copied(r->device);
    own.owner = copied(r->owner);
    own.file = copied(r->file);
    if (!own.name || !own.device != !r->device || !own.owner != !r->owner ||
        !own.file != !r->file) {
        drop_strings(&own);
        return ASN_ERR_MEMORY;
    }
    registry.all[registry.count++] = own;
    return ASN_OK;
}

/* The owner's release is called under the library's lock, which is recursive. */
asnp_status asnp_unregister(const char *name, const char *device, asnp_dtype dtype,
                            int32_t priority) {
    NEED(name);
    IN_LIBRARY;
    asnp_registration *r = exact(name, device, dtype, priority);
    if (!r)
        return asn_error_set(ASN_ERR_VALUE,
                             is_tables_key(name, device, dtype, priority)
                                 ? "operator '%s' of priority %d is built in"
                                 : "operator '%s' is not registered so with priority %d",
                             name, (int)priority);
    asnp_registration gone = *r;
    registry.count--;
    memmove(r, r + 1,
            (size_t)(registry.count - (r - registry.all)) * sizeof *registry.all);
    if (gone.release) gone.release(gone.context);
    drop_strings(&gone);
    return ASN_OK;
}

/* Whether a registration for `wanted` is for `device`, with a number or without. */
static bool device_fits(const char *wanted, const char *device) {
    if (!wanted || !strcmp(wanted, device)) return true;
    size_t n = strcspn(device, ":");
    return strlen(wanted) == n && !memcmp(wanted, device, n);
}

/* The more specific first: a dtype before a device, a numbered device before its kind;
 * the priority, any int32, decides among equals, which the shift keeps below. */
static int64_t rank_of(const asnp_registration *r) {
    int device = !r->device ? 0 : strchr(r->device, ':') ? 2 : 1;
    return (int64_t)((r->dtype != ASNP_DTYPE_NONE) * 3 + device) * ((int64_t)1 << 33) +
           r->priority;
}

/* *out points to the registry's strings: it is good until the registration ends. */
static asn_status find(const char *name, const char *device, asnp_dtype dtype,
                       asnp_registration *out) {
    asnp_registration best = {
        .name = name, .dtype = ASNP_DTYPE_NONE, .owner = "asnumpy", .file = "built in"};
    bool found = in_table(name);
    for (int32_t i = 0; i < registry.count; i++) {
        const asnp_registration *r = &registry.all[i];
        if (strcmp(r->name, name) != 0 || !device_fits(r->device, device) ||
            (r->dtype != ASNP_DTYPE_NONE && r->dtype != dtype))
            continue;
        /* Of equal rank the first one stays: there are no two of one key. */
        if (!found || rank_of(r) > rank_of(&best)) best = *r;
        found = true;
    }
    if (!found)
        return asn_error_set(ASN_ERR_VALUE,
                             "no operator '%s' is registered for such arrays on %s", name,
                             device);
    *out = best;
    return ASN_OK;
}

/* "cpu:0" of a device's number. */
static asn_status device_name(int number, char *text, size_t capacity) {
    ASN_TRY(asn_device_open());
    snprintf(text, capacity, "%s:%d", asn_device_kind(), number);
    return ASN_OK;
}

/* device NULL: the one in use, with its number. */
asnp_status asnp_find(const char *name, const char *device, asnp_dtype dtype,
                      asnp_registration *out) {
    NEED(name);
    NEED(out);
    IN_LIBRARY;
    char here[32];
    int number;
    if (!device) {
        ASN_TRY(asn_device_get(&number));
        ASN_TRY(device_name(number, here, sizeof here));
    }
    return find(name, device ? device : here, dtype, out);
}

/* In the order of registration; the strings are the registry's. */
asnp_status asnp_registered(int32_t i, asnp_registration *out) {
    NEED(out);
    IN_LIBRARY;
    if (i < 0 || i >= registry.count)
        return asn_error_set(ASN_ERR_INDEX, "registration %d of %d", (int)i,
                             (int)registry.count);
    *out = registry.all[i];
    return ASN_OK;
}

/* *out: what a call with these arrays takes: on the first one's device, for the promotion
 * of all their dtypes. */
static asn_status find_for(const char *name, int32_t num_in, asnp_array *const *in,
                           asnp_registration *out) {
    IN_LIBRARY;
    char device[32];
    int number;
    asn_dtype dtype = ASN_DTYPE_NONE;
    ASN_TRY(asn_device_get(&number));
    for (int32_t i = 0; i < num_in; i++) {
        ASN_TRY(asn_capi_need(in[i], "an argument"));
        if (i == 0) number = in[0]->array.buffer->device;
        dtype = i == 0 ? asn_capi_type(in[i]) : asn_promote(dtype, asn_capi_type(in[i]));
    }
    ASN_TRY(device_name(number, device, sizeof device));
    return find(name, device,
                num_in ? (asnp_dtype)asn_dtype_table[dtype].acl : ASNP_DTYPE_NONE, out);
}

/* The function runs outside the lock: it is a program's own and may take long. More
 * arguments than any ufunc has are passed on as a number that none takes, for its
 * message. */
asnp_status asnp_call(const char *name, int32_t num_in, asnp_array *const *in,
                      int32_t num_out, asnp_array **out) {
    /* A copy: another thread may change the registry while the function runs. */
    asnp_registration r;
    NEED(name);
    NEED(in);
    NEED(out);
    ASN_TRY(find_for(name, num_in, in, &r));
    if (r.function) return r.function(num_in, in, num_out, out, r.context);
    /* No ufunc has more than three arguments. */
    asnp_operand operands[3];
    for (int32_t i = 0; i < num_in && i < 3; i++)
        operands[i] = (asnp_operand){.array = in[i]};
    return asnp_ufunc(name, num_in > 3 ? 4 : num_in, operands, num_out, out);
}
