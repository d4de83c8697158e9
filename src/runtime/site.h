/* L2 runtime: sites, the places in the user's program that something came from.
 *
 * A binding that knows its callers (Python: file, line and function of the nearest frame
 * outside the package) sets asn_site_finder; whoever records events asks asn_site_here()
 * and keeps the number. Numbers are for the process and never given back: a program has
 * few lines that make arrays.
 */
#ifndef ASN_RUNTIME_SITE_H
#define ASN_RUNTIME_SITE_H

#include <stdint.h>

typedef uint32_t asn_site; /* 0: unknown */

typedef struct {
    const char *file, *function; /* own copies, for good */
    int line;
} asn_site_info;

/* The binding's; NULL: it does not tell. */
extern asn_site (*asn_site_finder)(void);

static inline asn_site asn_site_here(void) {
    return asn_site_finder ? asn_site_finder() : 0;
}

/* The number of a place, the same for the same place; 0 without memory for it. Any
 * thread. */
asn_site asn_site_number(const char *file, int line, const char *function);
/* NULL: an unknown number. Valid for the process. */
const asn_site_info *asn_site_get(asn_site site);

#endif
