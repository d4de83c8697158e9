/* L0 base: the dtypes (see dtype.def) and their plain facts. */
#ifndef ASN_BASE_DTYPE_H
#define ASN_BASE_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

/* Complex numbers are pairs in memory, as in C99, Fortran and NumPy. */
typedef struct {
    float re, im;
} asn_c64;
typedef struct {
    double re, im;
} asn_c128;

typedef enum {
#define ASN_DTYPE_ROW(ID, name, ctype, ch, kind, size, align, acl) ASN_##ID,
#include "base/dtype.def"
#undef ASN_DTYPE_ROW
    ASN_DTYPE_COUNT,
    ASN_DTYPE_NONE = 255
} asn_dtype;

typedef struct {
    const char *name;
    int acl; /* aclDataType value */
    uint8_t itemsize, alignment;
    char character, kind;
} asn_dtype_info;

extern const asn_dtype_info asn_dtype_table[ASN_DTYPE_COUNT];

static inline int asn_itemsize(asn_dtype dt) {
    return asn_dtype_table[dt].itemsize;
}
static inline const char *asn_dtype_name(asn_dtype dt) {
    return (unsigned)dt < ASN_DTYPE_COUNT ? asn_dtype_table[dt].name : "none";
}
static inline bool asn_is_complex(asn_dtype dt) {
    return dt >= ASN_C64;
}
static inline bool asn_is_floating(asn_dtype dt) {
    return dt >= ASN_F16 && dt <= ASN_F64;
}
static inline bool asn_is_half(asn_dtype dt) {
    return dt == ASN_F16 || dt == ASN_BF16;
}
static inline bool asn_is_inexact(asn_dtype dt) {
    return dt >= ASN_F16;
}
static inline bool asn_is_integer(asn_dtype dt) {
    return dt >= ASN_I8 && dt <= ASN_U64;
}
static inline bool asn_is_signed_int(asn_dtype dt) {
    return asn_is_integer(dt) && ((dt - ASN_I8) & 1) == 0;
}
static inline bool asn_is_unsigned_int(asn_dtype dt) {
    return asn_is_integer(dt) && ((dt - ASN_I8) & 1) == 1;
}
/* The real dtype of a complex dtype's parts; itself for any other. */
static inline asn_dtype asn_real_dtype(asn_dtype dt) {
    return dt == ASN_C64 ? ASN_F32 : dt == ASN_C128 ? ASN_F64 : dt;
}

/* Whether a dtype of integers (or bool) has all values in [first, last]. */
bool asn_dtype_holds(asn_dtype dtype, int64_t first, int64_t last);

/* ASN_DTYPE_NONE when there is none. */
asn_dtype asn_dtype_from_acl(int acl);
asn_dtype asn_dtype_from_char(char character);

#endif
