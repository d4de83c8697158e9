/* L3 python: the table of documentation, sorted by name.
 *
 * The texts are data of the library: they cost nothing until somebody reads one. */
#include "python/docs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name, *text;
} entry;

static const entry entries[] = {
#include "python/docs_table.inc"
};

static int by_name(const void *key, const void *item) {
    return strcmp(key, ((const entry *)item)->name);
}

const char *asn_docs_find(const char *owner, const char *name) {
    char key[96];
    int n =
        snprintf(key, sizeof key, "%s%s%s", owner ? owner : "", owner ? "." : "", name);
    if (n < 0 || (size_t)n >= sizeof key) return NULL;
    const entry *found =
        bsearch(key, entries, sizeof entries / sizeof *entries, sizeof *entries, by_name);
    return found ? found->text : NULL;
}
