/* CPU device, operators: integers of 8 and 4 bits as tensors hold them.
 *
 * Four-bit integers come as tensors of int4, two to a byte, or as int32 that hold eight
 * of the last dimension; the first is in the lowest bits either way. Bodies compute with
 * bytes of the whole shape: asn_quant_ints makes them, asn_quant_done writes them.
 *
 * Strides of a tensor of int4 count elements, not bytes, and an element may be either
 * half of a byte; so such a tensor is walked one element at a time, and written by
 * changing half a byte. No two threads write one tensor of int4.
 */
#include <string.h>

#include "device/opapi/quant/quant.h"

/* Sign-extended from four bits. */
static int8_t nibble(uint32_t bits) {
    int32_t value = (int32_t)(bits & 15);
    return (int8_t)(value >= 8 ? value - 16 : value);
}

/* Values are in range already, so that the low bits are all that is needed. */
void asn_quant_store(const int32_t *q, int64_t n, asn_dtype dtype, bool packed,
                     void *out) {
    if (dtype == ASN_I32 && !packed) {
        memcpy(out, q, (size_t)n * sizeof *q);
    } else if (dtype == ASN_I32) {
        uint32_t *to = out;
        for (int64_t i = 0; i < n / 8; i++) {
            to[i] = 0;
            for (int k = 0; k < 8; k++)
                to[i] |= ((uint32_t)q[8 * i + k] & 15) << (4 * k);
        }
    } else {
        uint8_t *to = out; /* int8, uint8, values of int4: the low byte */
        for (int64_t i = 0; i < n; i++)
            to[i] = (uint8_t)q[i];
    }
}

/* Walks an int4 tensor's elements row-major: `at` counts elements from nd.data. */
typedef struct {
    const asnd_nd *nd;
    int64_t index[ASN_ND_MAX_DIMS], at;
} nibbles;

/* To the next element, row-major. */
static void nibbles_next(nibbles *w) {
    for (int d = w->nd->ndim - 1; d >= 0; d--) {
        w->at += w->nd->strides[d];
        if (++w->index[d] < w->nd->shape[d]) return;
        w->at -= w->nd->strides[d] * w->nd->shape[d];
        w->index[d] = 0;
    }
}

/* The byte that holds the element; its high half if `at` is odd. */
static uint8_t *byte_of(const nibbles *w) {
    int64_t odd = w->at & 1; /* of negative numbers too */
    return (uint8_t *)w->nd->data + (w->at - odd) / 2;
}

asn_status asn_quant_ints(const asnd_operand *o, asnd_tmp *tmp, asnd_view *v) {
    const asnd_nd *a = &o->nd;
    int64_t shape[ASN_ND_MAX_DIMS], n = asn_nd_size(a);
    asnd_view plain;
    if (!o->is_int4 && a->dtype != ASN_I32) return asn_packed_of(a, ASN_I8, tmp, v);
    memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
    if (!o->is_int4) shape[a->ndim - 1] *= 8;
    ASN_TRY(asn_tmp_view(tmp, ASN_I8, a->ndim, shape, v));
    int8_t *to = (int8_t *)v->nd.data;
    /* Unpacked one by one, since strides may be any. */
    if (o->is_int4) {
        nibbles w = {.nd = a};
        for (int64_t i = 0; i < n; i++, nibbles_next(&w))
            to[i] = nibble((uint32_t)*byte_of(&w) >> (w.at & 1 ? 4 : 0));
        return ASN_OK;
    }
    /* Element i of the result is in bits 4 * (i % 8) of word i / 8. */
    ASN_TRY(asn_packed_of(a, ASN_I32, tmp, &plain));
    const uint32_t *from = (const uint32_t *)(void *)plain.nd.data;
    for (int64_t i = 0; i < 8 * n; i++)
        to[i] = nibble(from[i / 8] >> (4 * (i % 8)));
    return ASN_OK;
}

asn_status asn_quant_write(const asnd_operand *o, const asnd_nd *to, const asnd_view *v) {
    if (!o->is_int4) return asn_move(to, &v->nd);
    nibbles w = {.nd = to};
    const uint8_t *from = (const uint8_t *)v->nd.data;
    for (int64_t i = 0; i < asn_nd_size(to); i++, nibbles_next(&w)) {
        uint8_t *byte = byte_of(&w), value = from[i] & 15;
        *byte = w.at & 1 ? (uint8_t)((*byte & 15) | value << 4)
                         : (uint8_t)((*byte & 0xf0) | value);
    }
    return ASN_OK;
}

asn_status asn_quant_done(aclOpExecutor *e, int operand, const asnd_view *v) {
    return asn_quant_write(&e->operands[operand], asn_exec_nd(e, operand), v);
}

/* The layout of TransQuantParamV2: a float32 in the low 32 bits, a signed offset of nine
 * bits at bit 37. */
asn_status asn_quant_words(const asnd_nd *a, asnd_tmp *tmp, float **scale,
                           float **offset) {
    asnd_view v;
    int64_t n = asn_nd_size(a);
    *offset = NULL;
    *scale = asn_tmp_alloc(tmp, (size_t)n * sizeof **scale);
    if (*scale == NULL) return ASN_ERR_MEMORY;
    if (asn_is_floating(a->dtype)) {
        ASN_TRY(asn_packed_of(a, ASN_F32, tmp, &v));
        memcpy(*scale, v.nd.data, (size_t)n * sizeof **scale);
        return ASN_OK;
    }
    ASN_TRY(asn_packed_of(a, a->dtype, tmp, &v));
    *offset = asn_tmp_alloc(tmp, (size_t)n * sizeof **offset);
    if (*offset == NULL) return ASN_ERR_MEMORY;
    /* Words of int64 have the same bits. */
    const uint64_t *words = (const uint64_t *)(void *)v.nd.data;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)words[i];
        int32_t nine = (int32_t)(words[i] >> 37 & 0x1ff);
        memcpy(&(*scale)[i], &bits, sizeof bits);
        (*offset)[i] = (float)(nine >= 256 ? nine - 512 : nine);
    }
    return ASN_OK;
}
