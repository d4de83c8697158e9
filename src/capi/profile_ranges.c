/* L3 C binding: ranges and marks of a profile (profile.h).
 *
 * A thread's open ranges are a stack of its own. The innermost one is the line of what
 * the thread calls (runtime/site.h), so that operations, copies and memory are told by
 * the range that asked for them, whenever they run. A range's name is the function of its
 * site, which keeps a copy for good.
 */
#include "capi/capi.h"

#include "runtime/profile.h"
#include "runtime/site.h"

/* Ranges that may be open on one thread: a bound for the stack below. */
enum { MOST = 64 };

typedef struct {
    asn_mark mark; /* ticks 0: no session was recording when it began */
    asn_site site;
} range;

static _Thread_local struct {
    int depth;
    range open[MOST];
} ranges;

/* The innermost open range of the thread, 0: none. The core asks it where a call comes
 * from. */
static asn_site range_here(void) {
    return ranges.depth ? ranges.open[ranges.depth - 1].site : 0;
}

/* *site: the number of a name, file and line; the same for the same three. */
static asn_status site_of(const char *name, const char *file, int32_t line,
                          asn_site *site) {
    *site = asn_site_number(file ? file : "", line, name);
    return *site ? ASN_OK : ASN_ERR_MEMORY;
}

/* Records the range that ends here, from its mark on. */
static void tell(asn_mark mark, asn_site site) {
    asn_profile_close(mark, ASN_EVENT_RANGE, asn_site_get(site)->function, site);
    asn_profile_keep(mark);
}

/* While no session records, a range is its place on the stack alone and takes no lock. */
asnp_status asnp_profile_push(const char *name, const char *file, int32_t line) {
    NEED(name);
    if (ranges.depth == MOST)
        return asn_error_set(ASN_ERR_VALUE,
                             "profile: range '%s' would be number %d that is open on "
                             "this thread; %d may be",
                             name, MOST + 1, MOST);
    range r = {.site = range_here()};
    if (ASN_PROFILING) {
        IN_LIBRARY;
        ASN_TRY(site_of(name, file, line, &r.site));
        asn_site_finder = range_here;
        r.mark = asn_profile_begin();
    }
    ranges.open[ranges.depth++] = r;
    return ASNP_OK;
}

/* One that began before the session did is not told: it has no beginning. */
asnp_status asnp_profile_pop(void) {
    if (!ranges.depth)
        return asn_error_set(ASN_ERR_VALUE, "profile: no range is open on this thread");
    range r = ranges.open[--ranges.depth];
    if (r.mark.ticks && ASN_PROFILING) tell(r.mark, r.site);
    return ASNP_OK;
}

/* Nothing is looked up without a session. */
asnp_status asnp_profile_mark(const char *name, const char *file, int32_t line) {
    asn_site site;
    NEED(name);
    if (!ASN_PROFILING) return ASNP_OK;
    IN_LIBRARY;
    ASN_TRY(site_of(name, file, line, &site));
    tell(asn_profile_begin(), site);
    return ASNP_OK;
}
