/* L1 ops: ATen's names of the table's rows (see aten.h).
 *
 * A row answers to its own name, and to that of its CANN operator, which CANN took from
 * ATen ("Sub", "EqTensor", "BitwiseNot"). Case, underscores and the kinds of operands at
 * the end of CANN's name do not count, so that bitwise_not, isinf and eq are found
 * without a list.
 */
#include "ops/aten.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "ops/ops.h"

enum { LONGEST = 24 }; /* characters of a word, with its end */

/* The word of the first `n` characters of a text: without what does not count. False: it
 * is empty, or longer than any. */
static bool word_of(const char *text, size_t n, char word[LONGEST]) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '_') continue;
        if (k == LONGEST - 1) return false;
        word[k++] = (char)tolower((unsigned char)text[i]);
    }
    word[k] = 0;
    return k > 0;
}

/* The length of a CANN operator's name without the kinds of its operands. */
static size_t stem_of(const char *cann) {
    static const char *const ends[] = {"TensorTensor", "TensorScalar", "Tensor"};
    size_t n = strlen(cann);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        if (n > end && strcmp(cann + n - end, ends[i]) == 0) return n - end;
    }
    return n;
}

/* Open addressing over the words, filled at the first look. */
enum { PLACES = 512 };
_Static_assert(2 * ASN_OP_CAST <= PLACES / 2, "the table of words is at most half full");
static struct {
    char word[LONGEST];
    int16_t op; /* + 1; 0: free */
} words[PLACES];

/* Where a word is, or would be. */
static uint32_t place_of(const char *word) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *c = word; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    uint32_t at = hash % PLACES;
    while (words[at].op && strcmp(words[at].word, word) != 0)
        at = (at + 1) % PLACES;
    return at;
}

/* A word that two rows have stays the first one's. */
static void add_word(const char *text, size_t n, int op) {
    char word[LONGEST];
    if (!word_of(text, n, word)) return;
    uint32_t at = place_of(word);
    if (words[at].op) return;
    memcpy(words[at].word, word, sizeof word);
    words[at].op = (int16_t)(op + 1);
}

/* Every row's own name comes before the names of operators. */
static void fill_words(void) {
    static bool filled;
    if (filled) return;
    filled = true;
    for (int op = 0; op < ASN_OP_CAST; op++)
        add_word(asn_op_table[op].name, strlen(asn_op_table[op].name), op);
    for (int op = 0; op < ASN_OP_CAST; op++) {
        const char *cann = asn_op_table[op].cann;
        if (cann) add_word(cann, stem_of(cann), op);
    }
}

int asn_op_of_aten(const char *name, size_t n) {
    char word[LONGEST];
    if (!word_of(name, n, word)) return -1;
    fill_words();
    return words[place_of(word)].op - 1;
}
