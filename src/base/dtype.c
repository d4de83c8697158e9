/* L0 base: the dtype table, from dtype.def. */
#include "base/dtype.h"

const asn_dtype_info asn_dtype_table[ASN_DTYPE_COUNT] = {
#define ASN_DTYPE_ROW(ID, name, ctype, ch, kind, size, align, acl)                       \
    [ASN_##ID] = {name, acl, size, align, ch, kind},
#include "base/dtype.def"
#undef ASN_DTYPE_ROW
};

asn_dtype asn_dtype_from_acl(int acl) {
    for (int i = 0; i < ASN_DTYPE_COUNT; i++)
        if (asn_dtype_table[i].acl == acl) return (asn_dtype)i;
    return ASN_DTYPE_NONE;
}

asn_dtype asn_dtype_from_char(char character) {
    for (int i = 0; i < ASN_DTYPE_COUNT; i++)
        if (asn_dtype_table[i].character == character) return (asn_dtype)i;
    return ASN_DTYPE_NONE;
}

bool asn_dtype_holds(asn_dtype dtype, int64_t first, int64_t last) {
    int bits = 8 * asn_itemsize(dtype);
    if (dtype == ASN_BOOL) return first >= 0 && last <= 1;
    if (!asn_is_integer(dtype)) return false;
    if (asn_is_signed_int(dtype))
        return bits == 64 ||
               (first >= -((int64_t)1 << (bits - 1)) && last < (int64_t)1 << (bits - 1));
    return first >= 0 && (bits == 64 || last < (int64_t)1 << bits);
}
