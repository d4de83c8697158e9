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

const char *asn_docs_joined(const char *doc, const char *owner, const char *name) {
    const char *text = asn_docs_find(owner, name);
    const char *end = text && doc ? strstr(doc, "\n--\n\n") : NULL;
    if (!end) return doc;
    size_t head = (size_t)(end - doc) + 5, length = strlen(text) + 1;
    char *joined = malloc(head + length);
    if (!joined) {
        PyErr_NoMemory();
        return NULL;
    }
    memcpy(joined, doc, head);
    memcpy(joined + head, text, length);
    return joined;
}

int asn_docs_put(const char *owner, PyGetSetDef *attributes, PyMethodDef *methods) {
    for (PyGetSetDef *g = attributes; g->name; g++) {
        const char *text = asn_docs_find(owner, g->name);
        if (text) g->doc = text;
    }
    for (PyMethodDef *m = methods; m->ml_name; m++) {
        if (!m->ml_doc) continue;
        const char *joined = asn_docs_joined(m->ml_doc, owner, m->ml_name);
        if (!joined) return -1;
        m->ml_doc = joined;
    }
    return 0;
}
