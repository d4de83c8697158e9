/* L0 base: text that grows, for reports.
 *
 *   asn_text t = {.status = ASN_OK};
 *   asn_text_put(&t, "%d steps\n", n);
 *   if (t.status) asn_free(t.text); else hand t.text over
 */
#ifndef ASN_BASE_TEXT_H
#define ASN_BASE_TEXT_H

#include <stddef.h>

#include "base/status.h"

typedef struct {
    char *text; /* owns, ends in NUL; NULL: nothing was put */
    size_t used, capacity;
    asn_status status; /* the first failure: nothing is put after it */
} asn_text;

/* Appends; what is longer than 511 bytes at once is cut. */
void asn_text_put(asn_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Appends bytes as they are. */
void asn_text_append(asn_text *t, const char *bytes, size_t length);

#endif
