/* L2 nn: what is stored of keys and values in int8, and reading a cache (kv_cache.h).
 *
 * Quantisation is symmetric, with one scale a token and head: tokens come one by one, so
 * that a scale of more tokens would have to change when the next one comes. It is a
 * composition of array operations, recorded and fused as any program's. */
#include <float.h>

#include "array/views.h"
#include "graph/operators/families.h"
#include "nn/kv_state.h"
#include "numpy/elementwise.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"

/* How many of n integers have the step of the first two. */
static int64_t run_of(const int64_t *values, int64_t n) {
    int64_t m = n < 2 ? n : 2;
    while (m < n && values[m] - values[m - 1] == values[1] - values[0])
        m++;
    return m;
}

/* One run into its places of an array of one axis. */
static asn_status put_run(const asn_array *line, int64_t at, const int64_t *values,
                          int64_t n) {
    const int64_t by = n < 2 ? 0 : values[1] - values[0];
    const asn_scalar start = asn_scalar_int(values[0]), step = asn_scalar_int(by);
    asn_operand value = asn_operand_int(values[0]);
    ASN_TEMPORARIES;
    ASN_MAKE(part, asn_array_range(part, line, 0, at, n));
    if (by == 0) return asn_assign(part, &value, ASN_CASTING_SAME_KIND, NULL);
    ASN_MAKE(counted,
             asn_arange(counted, asn_layout_dtype(&line->layout), &start, &step, n));
    value = asn_np_of(counted);
    return asn_assign(part, &value, ASN_CASTING_NO, NULL);
}

/* More runs than this are copied from the host, which may wait for the device: memory for
 * them may be in use by what is queued. */
enum { MOST_RUNS = 64 };

asn_status asn_kv_integers(asn_array *out, asn_dtype dtype, int ndim,
                           const int64_t *shape, const int64_t *values) {
    int64_t size = 1, runs = 0;
    const int64_t all = -1, stride = sizeof *values;
    for (int d = 0; d < ndim; d++)
        size *= shape[d];
    for (int64_t i = 0; i < size; i += run_of(values + i, size - i))
        runs++;
    ASN_TEMPORARIES;
    if (runs > MOST_RUNS) {
        ASN_MAKE(wide, asn_array_from_host(wide, ASN_I64, 1, &size, &stride, values));
        ASN_MAKE(line, asn_np_astype(line, wide, dtype));
        return asn_np_reshape(out, line, ndim, shape);
    }
    ASN_MAKE(made, asn_array_new(made, dtype, ndim, shape, 'C'));
    ASN_MAKE(line, asn_np_reshape(line, made, 1, &all));
    for (int64_t i = 0, n; i < size; i += n) {
        n = run_of(values + i, size - i);
        ASN_TRY(put_run(line, i, values + i, n));
    }
    return asn_array_share(out, made);
}

asn_status asn_kv_quantise(asn_array *q, asn_array *scale, const asn_array *x) {
    ASN_TEMPORARIES;
    const asn_reduce_options last = {.axes = UINT64_C(1) << (x->layout.ndim - 1),
                                     .keepdims = true,
                                     .dtype = ASN_DTYPE_NONE};
    ASN_MAKE(single, asn_np_astype(single, x, ASN_F32));
    ASN_MAKE(size, asn_np_unary(size, ASN_OP_ABSOLUTE, single));
    ASN_MAKE(most, asn_ufunc_reduce(ASN_OP_MAXIMUM, size, NULL, most, &last));
    ASN_MAKE(step,
             asn_np_binary(step, ASN_OP_DIVIDE, asn_np_of(most), asn_operand_float(127)));
    /* Of a token of zeros the step is 0: any divisor leaves zeros. */
    ASN_MAKE(divisor, asn_np_binary(divisor, ASN_OP_MAXIMUM, asn_np_of(step),
                                    asn_operand_float(FLT_MIN)));
    ASN_MAKE(exact,
             asn_np_binary(exact, ASN_OP_DIVIDE, asn_np_of(single), asn_np_of(divisor)));
    ASN_MAKE(whole, asn_np_unary(whole, ASN_OP_RINT, exact));
    ASN_TRY(asn_np_astype(q, whole, ASN_I8));
    asn_status status = asn_array_share(scale, step);
    if (status) asn_array_fini(q);
    return status;
}

asn_status asn_kv_dequantise(asn_array *out, const asn_array *q, const asn_array *scale,
                             asn_dtype dtype) {
    ASN_TEMPORARIES;
    ASN_MAKE(single, asn_np_astype(single, q, ASN_F32));
    ASN_MAKE(x, asn_np_binary(x, ASN_OP_MULTIPLY, asn_np_of(single), asn_np_of(scale)));
    return asn_np_astype(out, x, dtype);
}

/* Part `part` (keys or values) of a sequence in rows, (heads, tokens, columns). */
static asn_status row_of(asn_array *out, const asn_kv_layer *l, int part, int32_t s,
                         int64_t count) {
    ASN_TEMPORARIES;
    asn_layout view;
    ASN_MAKE(one, asn_kv_rows_view(one, l, part, s, 1, 0, count));
    ASN_TRY(asn_view_squeeze(&view, &one->layout, 1));
    asn_array_view(out, one, &view);
    return ASN_OK;
}

/* The tokens gathered from blocks, (tokens, heads, columns), with the heads first. */
static asn_status heads_first(asn_array *out, const asn_array *a) {
    static const int perm[] = {1, 0, 2};
    asn_layout view;
    ASN_TRY(asn_view_transpose(&view, &a->layout, perm));
    asn_array_view(out, a, &view);
    return ASN_OK;
}

/* All parts of a sequence, (heads, tokens, columns); the caller ends those made. */
static asn_status read_parts(asn_kv_cache *c, int32_t layer, int32_t s, asn_array *parts,
                             int *made) {
    const asn_kv_layer *l = &c->layers[layer];
    for (; *made < c->num_parts && !asn_kv_paged(c); ++*made)
        ASN_TRY(row_of(&parts[*made], l, *made, s,
                       l->extents[s].length - l->extents[s].base));
    for (; *made < c->num_parts; *made += 2) {
        asn_array rows[2];
        ASN_TRY(asn_kv_blocks_gather(c, layer, s, *made, rows));
        asn_status status = heads_first(&parts[*made], &rows[0]);
        if (!status) {
            status = heads_first(&parts[*made + 1], &rows[1]);
            if (status) asn_array_fini(&parts[*made]);
        }
        asn_array_fini(&rows[0]);
        asn_array_fini(&rows[1]);
        ASN_TRY(status);
    }
    return ASN_OK;
}

/* What is made on the way ends with the call; views keep the arrays they look into. */
asn_status asn_kv_read(asn_kv_cache *c, int32_t layer, int32_t sequence, asn_array *k,
                       asn_array *v) {
    ASN_TRY(asn_capture_forbid("a KV cache is read"));
    ASN_TRY(asn_kv_check(c, layer, 1, &sequence, "read"));
    ASN_TEMPORARIES;
    if (!c->layers[layer].made) { /* nothing was written: nothing is there */
        const int64_t none[] = {c->o.kv_heads, 0, c->o.head_dim};
        const asn_dtype dtype = c->num_parts == 4 ? ASN_F32 : c->o.dtype;
        ASN_TRY(asn_array_new(k, dtype, 3, none, 'C'));
        asn_status status = asn_array_new(v, dtype, 3, none, 'C');
        if (status) asn_array_fini(k);
        return status;
    }
    asn_array *parts = temporaries_.made;
    ASN_TRY(read_parts(c, layer, sequence, parts, &temporaries_.count));
    const bool whole = c->num_parts == 4;
    ASN_TRY(whole ? asn_kv_dequantise(k, &parts[0], &parts[2], ASN_F32)
                  : asn_array_share(k, &parts[0]));
    asn_status status = whole ? asn_kv_dequantise(v, &parts[1], &parts[3], ASN_F32)
                              : asn_array_share(v, &parts[1]);
    if (status) asn_array_fini(k);
    return status;
}
