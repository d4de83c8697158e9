/* CPU device, runtime: reading an operator's attributes (op_attr.c). */
#ifndef ASN_DEVICE_ACL_OP_ATTR_H
#define ASN_DEVICE_ACL_OP_ATTR_H

#include "device/acl/asnrt.h"

typedef enum {
    ASNRT_ATTR_BOOL,   /* uint8_t */
    ASNRT_ATTR_INT,    /* int64_t */
    ASNRT_ATTR_FLOAT,  /* float */
    ASNRT_ATTR_DTYPE,  /* aclDataType */
    ASNRT_ATTR_STRING, /* characters, each text with its final 0 */
    ASNRT_ATTR_INTS,   /* lists of int64_t, end to end */
} asnrtAttrKind;

/* One attribute: `count` elements, texts or lists. */
typedef struct {
    asnrtAttrKind kind;
    bool is_list;
    size_t count;
    const void *elements;
    const int *lengths; /* of each list of ASNRT_ATTR_INTS */
} asnrtAttr;

/* NULL: there is none of this name. It lives until the attribute is set again. */
ASN_API const asnrtAttr *asnrtAttrGet(const aclopAttr *attr, const char *name);

#endif
