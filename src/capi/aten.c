/* L3 C binding: ATen's names of what the library has (see aten.h).
 *
 * The names of elementwise operations follow from the operation table: a row answers to
 * its own name, and to that of its CANN operator, which CANN took from ATen ("Sub",
 * "EqTensor", "BitwiseNot"). Case, underscores and the kinds of operands at a name's end
 * do not count, so that aten::bitwise_not, aten::isinf and aten::eq.Tensor are found
 * without a list. A name that ends in an underscore is ATen's for "in place": nothing
 * answers it, since an operator's results are new arrays.
 *
 * Products and reductions over all elements are no rows; they are listed below.
 */
#include "capi/aten.h"

#include <ctype.h>
#include <string.h>

#include "capi/capi.h"

static const char PREFIX[] = "aten::";
enum { PREFIX_LENGTH = sizeof PREFIX - 1, LONGEST = 24 };

/* ---- words: names without what does not count */

/* The word of the first `n` characters of a text; false: it is too long, or of an
 * operation in place. */
static bool word_of(const char *text, size_t n, char word[LONGEST]) {
    size_t k = 0;
    if (n == 0 || text[n - 1] == '_') return false;
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

/* ---- what is no row */

typedef asnp_status (*product)(const asnp_array *a, const asnp_array *b,
                               asnp_array **out);
typedef asnp_status (*reduction)(const asnp_array *a, int32_t num_axes,
                                 const int32_t *axes, int32_t keepdims, asnp_array **out);

/* Of a product the numbers of dimensions that ATen asks for; 0: any. */
static const struct composed {
    const char *word;
    product multiply;
    reduction fold;
    int32_t ndim[2];
} composed[] = {
    {"mm", asnp_matmul, NULL, {2, 2}}, {"bmm", asnp_matmul, NULL, {3, 3}},
    {"mv", asnp_matmul, NULL, {2, 1}}, {"matmul", asnp_matmul, NULL, {0, 0}},
    {"dot", asnp_dot, NULL, {1, 1}},   {"outer", asnp_outer, NULL, {1, 1}},
    {"sum", NULL, asnp_sum, {0, 0}},   {"prod", NULL, asnp_prod, {0, 0}},
    {"mean", NULL, asnp_mean, {0, 0}}, {"amax", NULL, asnp_max, {0, 0}},
    {"amin", NULL, asnp_min, {0, 0}},
};

/* An operator whose context is a row of `composed`. */
static asnp_status run_composed(int32_t num_in, asnp_array *const *in, int32_t num_out,
                                asnp_array **out, void *context) {
    const struct composed *c = context;
    int32_t takes = c->multiply ? 2 : 1;
    if (num_in != takes || num_out != 1)
        return asn_error_set(ASN_ERR_TYPE,
                             "aten::%s has %d arguments and 1 result; %d and %d were "
                             "given",
                             c->word, (int)takes, (int)num_in, (int)num_out);
    for (int32_t i = 0; i < takes; i++) {
        int32_t ndim = asn_capi_layout(in[i])->ndim;
        if (c->ndim[i] && ndim != c->ndim[i])
            return asn_error_set(ASN_ERR_VALUE,
                                 "aten::%s: argument %d has %d dimensions; it must have "
                                 "%d",
                                 c->word, (int)i + 1, (int)ndim, (int)c->ndim[i]);
    }
    return c->multiply ? c->multiply(in[0], in[1], out) : c->fold(in[0], 0, NULL, 0, out);
}

/* ---- names */

/* ATen writes the kinds of operands, or "out", behind a dot: aten::add.Tensor. */
const char *asn_capi_aten_plain(const char *name, char plain[ASN_ATEN_NAME]) {
    if (strncmp(name, PREFIX, PREFIX_LENGTH) != 0) return NULL;
    size_t n = strcspn(name, ".");
    if (!name[n] || n >= ASN_ATEN_NAME) return NULL;
    memcpy(plain, name, n);
    plain[n] = 0;
    return plain;
}

/* The table's own names are asked first: most calls say those. */
bool asn_capi_built_in(const char *name, asn_built_in *out) {
    *out = (asn_built_in){asn_capi_ufunc_name(name), NULL, NULL};
    if (out->ufunc) return true;
    char word[LONGEST];
    if (strncmp(name, PREFIX, PREFIX_LENGTH) != 0) return false;
    const char *rest = name + PREFIX_LENGTH;
    if (!word_of(rest, strcspn(rest, "."), word)) return false;
    for (size_t i = 0; i < sizeof composed / sizeof *composed; i++)
        if (strcmp(composed[i].word, word) == 0) {
            *out = (asn_built_in){NULL, run_composed, (void *)&composed[i]};
            return true;
        }
    fill_words();
    uint32_t at = place_of(word);
    if (words[at].op) out->ufunc = asn_op_table[words[at].op - 1].name;
    return words[at].op != 0;
}
