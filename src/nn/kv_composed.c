/* L2 nn: attention over one sequence as a composition of array operations: products, a
 * mask, a softmax, for devices and dtypes that CANN's operator does not take
 * (kv_attention.c).
 *
 * Scores are made in float32 where everything is narrower, else in the wider dtype of
 * queries and keys. Heads of queries that share a head of keys are rows of one product,
 * so that grouped keys are not repeated. A row's greatest score is taken away before
 * exponentials, as everywhere; every query sees its own token at least, so that no sum
 * is 0. */
#include <math.h>

#include "array/promote.h"
#include "array/views.h"
#include "graph/operators/families.h"
#include "nn/kv_state.h"
#include "numpy/elementwise.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"

/* 0 ... n - 1 as a column (n, 1) or a row (n). */
static asn_status counted(asn_array *out, int64_t n, bool column) {
    const asn_scalar start = asn_scalar_int(0), step = asn_scalar_int(1);
    const int64_t shape[] = {n, 1};
    ASN_TEMPORARIES;
    ASN_MAKE(line, asn_arange(line, ASN_I64, &start, &step, n));
    return asn_np_reshape(out, line, column ? 2 : 1, shape);
}

/* Which of `keys` keys each of the last t tokens does not see, bool (t, keys). */
static asn_status hidden(asn_array *out, int64_t t, int64_t keys, int64_t window) {
    ASN_TEMPORARIES;
    ASN_MAKE(i, counted(i, t, true));
    ASN_MAKE(j, counted(j, keys, false));
    /* How far key j lies behind the query: 0 is itself, less than 0 comes later. */
    ASN_MAKE(apart, asn_np_binary(apart, ASN_OP_SUBTRACT, asn_np_of(i), asn_np_of(j)));
    ASN_MAKE(later, asn_np_binary(later, ASN_OP_LESS, asn_np_of(apart),
                                  asn_operand_int(t - keys)));
    if (!window) return asn_array_share(out, later);
    ASN_MAKE(before, asn_np_binary(before, ASN_OP_GREATER_EQUAL, asn_np_of(apart),
                                   asn_operand_int(window + t - keys)));
    return asn_np_binary(out, ASN_OP_LOGICAL_OR, asn_np_of(later), asn_np_of(before));
}

/* softmax over the last of four axes. */
static asn_status softmax(asn_array *out, const asn_array *x) {
    const asn_reduce_options last = {
        .axes = 8, .keepdims = true, .dtype = ASN_DTYPE_NONE};
    ASN_TEMPORARIES;
    ASN_MAKE(most, asn_ufunc_reduce(ASN_OP_MAXIMUM, x, NULL, most, &last));
    ASN_MAKE(less, asn_np_binary(less, ASN_OP_SUBTRACT, asn_np_of(x), asn_np_of(most)));
    ASN_MAKE(e, asn_np_unary(e, ASN_OP_EXP, less));
    ASN_MAKE(sum, asn_ufunc_reduce(ASN_OP_ADD, e, NULL, sum, &last));
    return asn_np_binary(out, ASN_OP_DIVIDE, asn_np_of(e), asn_np_of(sum));
}

/* scale q k', with what is hidden at -infinity: (kv_heads, group, t, keys). q: (kv_heads,
 * group * t, head_dim). */
static asn_status scores(asn_array *out, const asn_kv_cache *c, const asn_kv_query *query,
                         const asn_array *q, const asn_array *k) {
    static const int perm[] = {0, 2, 1};
    const int64_t h = c->o.kv_heads, t = query->tokens, keys = k->layout.shape[1];
    const int64_t shape[] = {h, query->heads / h, t, keys};
    asn_layout turned;
    ASN_TEMPORARIES;
    ASN_MAKE(scaled, asn_np_binary(scaled, ASN_OP_MULTIPLY, asn_np_of(q),
                                   asn_operand_float(query->scale)));
    ASN_TRY(asn_view_transpose(&turned, &k->layout, perm));
    asn_array *const columns = &temporaries_.made[temporaries_.count++];
    asn_array_view(columns, k, &turned);
    ASN_MAKE(products, asn_matmul(scaled, columns, NULL, products));
    ASN_MAKE(x, asn_np_reshape(x, products, 4, shape));
    if (t == 1 && (!c->o.window || keys <= c->o.window)) return asn_array_share(out, x);
    ASN_MAKE(mask, hidden(mask, t, keys, c->o.window));
    const asn_operand nothing = asn_operand_float(-INFINITY), rest = asn_np_of(x);
    return asn_where(out, mask, &nothing, &rest);
}

/* Rows of a head's group are its queries one after the other, token by token. */
asn_status asn_kv_composed(const asn_kv_cache *c, const asn_kv_query *query,
                           const asn_array *q, const asn_array *k, const asn_array *v,
                           const asn_array *out) {
    const int64_t h = c->o.kv_heads, keys = k->layout.shape[1];
    const int64_t rows = query->heads / h * query->tokens;
    const int64_t as_rows[] = {h, rows, c->o.head_dim}, as_keys[] = {h, rows, keys};
    asn_dtype dtype =
        asn_promote(asn_layout_dtype(&q->layout), asn_layout_dtype(&k->layout));
    if (asn_is_half(dtype)) dtype = ASN_F32;
    ASN_TEMPORARIES;
    ASN_MAKE(q_wide, asn_np_astype(q_wide, q, dtype));
    ASN_MAKE(k_wide, asn_np_astype(k_wide, k, dtype));
    ASN_MAKE(v_wide, asn_np_astype(v_wide, v, dtype));
    ASN_MAKE(q_rows, asn_np_reshape(q_rows, q_wide, 3, as_rows));
    ASN_MAKE(x, scores(x, c, query, q_rows, k_wide));
    ASN_MAKE(weights, softmax(weights, x));
    ASN_MAKE(w_rows, asn_np_reshape(w_rows, weights, 3, as_keys));
    ASN_MAKE(sums, asn_matmul(w_rows, v_wide, NULL, sums));
    ASN_MAKE(shaped, asn_np_reshape(shaped, sums, 3, out->layout.shape));
    const asn_operand value = asn_np_of(shaped);
    return asn_assign(out, &value, ASN_CASTING_SAME_KIND, NULL);
}
