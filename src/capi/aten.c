/* L3 C binding: ATen's names of what the library has (see aten.h).
 *
 * Those of elementwise operations follow from the operation table (ops/aten.h); what is
 * no row, products and reductions over all elements, is listed below. A name that ends in
 * an underscore is ATen's for "in place": nothing answers it, since an operator's results
 * are new arrays.
 */
#include "capi/aten.h"

#include <string.h>

#include "capi/capi.h"
#include "ops/aten.h"

static const char PREFIX[] = "aten::";
enum { PREFIX_LENGTH = sizeof PREFIX - 1 };

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
    if (strncmp(name, PREFIX, PREFIX_LENGTH) != 0) return false;
    const char *rest = name + PREFIX_LENGTH;
    size_t n = strcspn(rest, ".");
    if (n == 0 || rest[n - 1] == '_') return false;
    for (size_t i = 0; i < sizeof composed / sizeof *composed; i++)
        if (strlen(composed[i].word) == n && memcmp(composed[i].word, rest, n) == 0) {
            *out = (asn_built_in){NULL, run_composed, (void *)&composed[i]};
            return true;
        }
    int op = asn_op_of_aten(rest, n);
    if (op >= 0) out->ufunc = asn_op_table[op].name;
    return op >= 0;
}
