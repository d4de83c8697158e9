/* CPU device, private to keys: the codec of a dtype, and the tables of them. */
#ifndef ASN_DEVICE_CPU_SORT_KEYS_CODECS_H
#define ASN_DEVICE_CPU_SORT_KEYS_CODECS_H

#include "device/cpu/context.h"
#include "device/cpu/sort/keys.h"

/* bytes: of a key. encode, decode: as asn_keys_encode and asn_keys_decode of that
 * dtype. */
typedef struct asnd_key_codec {
    int bytes;
    void (*encode)(void *keys, const char *src, int64_t stride, int64_t n, int flags);
    void (*decode)(char *dst, int64_t stride, const void *keys, int64_t n, int flags);
} asnd_key_codec;

extern const asnd_key_codec asn_key_codecs[ASN_DTYPE_COUNT];
extern const asnd_key_codec asn_key_codecs_avx2[ASN_DTYPE_COUNT];
extern const asnd_key_codec asn_key_codecs_avx512[ASN_DTYPE_COUNT];

/* For whoever encodes a few keys at a time. */
static inline const asnd_key_codec *asn_key_codec_of(asn_dtype dt) {
    return &asn_context_get()->codecs[dt];
}

#endif
