/* L0 base: text that grows (see text.h). */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

void asn_text_append(asn_text *t, const char *bytes, size_t length) {
    if (t->status) return;
    if (t->used + length + 1 > t->capacity) {
        size_t capacity = 2 * t->capacity + length + 256;
        char *grown = asn_realloc(t->text, capacity);
        if (!grown) {
            t->status = ASN_ERR_MEMORY;
            return;
        }
        t->text = grown;
        t->capacity = capacity;
    }
    memcpy(t->text + t->used, bytes, length);
    t->used += length;
    t->text[t->used] = '\0';
}

void asn_text_put(asn_text *t, const char *format, ...) {
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0) return;
    asn_text_append(t, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}
