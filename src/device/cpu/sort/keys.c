/* CPU device: order-preserving keys of every dtype (see keys.h).
 *
 * The loops are in keys_codecs.inc, compiled for each instruction set; here are the
 * baseline's table and the entries for callers who encode whole lines. A comparison of
 * keys costs one instruction whatever the dtype, and one sort serves all dtypes of a
 * width; the price is a pass before and one after.
 */
#define CODECS asn_key_codecs
#include "device/cpu/sort/keys_codecs.inc"

int asn_key_bytes(asn_dtype dt) {
    return asn_key_codecs[dt].bytes;
}

void asn_keys_encode(asn_dtype dt, void *keys, const char *src, int64_t stride, int64_t n,
                     int flags) {
    asn_key_codec_of(dt)->encode(keys, src, stride, n, flags);
}

void asn_keys_decode(asn_dtype dt, char *dst, int64_t stride, const void *keys, int64_t n,
                     int flags) {
    asn_key_codec_of(dt)->decode(dst, stride, keys, n, flags);
}
