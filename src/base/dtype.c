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
