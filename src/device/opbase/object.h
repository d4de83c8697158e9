/* CPU device, operator base: the objects behind aclTensor, aclScalar, arrays and lists.
 *
 * Their layout is shared by libnnopbase and libopapi and by nobody else. All live in
 * arenas (acl/handle.h), so that a check of a handle costs a few instructions and never
 * faults.
 *
 * Ownership: a tensor borrows its data. A list takes its members: destroying the list
 * destroys them. Since some programs destroy the members too, before or after, a list
 * remembers each member's generation and skips those that are gone, and a member that its
 * list has destroyed may be destroyed once more without an error.
 */
#ifndef ASN_DEVICE_OPBASE_OBJECT_H
#define ASN_DEVICE_OPBASE_OBJECT_H

#include "aclnn/acl_meta.h"
#include "base/dtype.h"
#include "base/status.h"
#include "device/acl/asnrt.h"

enum { ASN_TENSOR_MAX_DIMS = 64, ASN_TENSOR_INLINE_DIMS = 8, ASN_ARRAY_INLINE = 8 };

/* The common start of tensors and scalars, which lists may own. */
typedef struct {
    asnd_slot slot;
    uint32_t generation; /* counts the objects that lived in this slot */
    bool freed_by_list;
} asnd_member;

struct aclTensor {
    asnd_member member;
    uint8_t dtype; /* asn_dtype; ASN_DTYPE_NONE for those no operator computes with */
    aclDataType acl_dtype;
    aclFormat format;
    uint32_t ndim, storage_ndim;
    int64_t offset; /* elements */
    char *data;     /* borrows; storage begins here */
    _Atomic uint64_t
        fits; /* asnrtBlockChanges when its elements were seen to lie in their block */
    int64_t *shape, *strides,
        *storage; /* strides in elements; `dims` or one heap block */
    int64_t dims[3 * ASN_TENSOR_INLINE_DIMS];
};

struct aclScalar {
    asnd_member member;
    uint8_t dtype;
    aclDataType acl_dtype;
    _Alignas(16) uint8_t value[16];
};

/* aclIntArray, aclFloatArray, aclBoolArray and both lists: `size` values. */
typedef struct asnd_array {
    asnd_slot slot;
    uint64_t size;
    void *data; /* `values` or a heap block */
    int64_t values[ASN_ARRAY_INLINE];
    uint32_t *generations; /* lists: of the members */
} asnd_array;

struct aclIntArray {
    asnd_array array;
};
struct aclFloatArray {
    asnd_array array;
};
struct aclBoolArray {
    asnd_array array;
};
struct aclTensorList {
    asnd_array array;
};
struct aclScalarList {
    asnd_array array;
};

/* Kinds of objects, each with an arena; the order is that of asnop_arenas. */
typedef enum {
    ASN_OBJECT_TENSOR,
    ASN_OBJECT_SCALAR,
    ASN_OBJECT_INT_ARRAY,
    ASN_OBJECT_FLOAT_ARRAY,
    ASN_OBJECT_BOOL_ARRAY,
    ASN_OBJECT_TENSOR_LIST,
    ASN_OBJECT_SCALAR_LIST,
    ASN_OBJECT_KINDS
} asnd_object_kind;

/* One arena per kind; exported so that checks are inline in both libraries. */
extern ASN_API asnd_arena asnop_arenas[ASN_OBJECT_KINDS];

static inline bool asnop_alive(asnd_object_kind kind, const void *object) {
    return asn_arena_alive(&asnop_arenas[kind], object);
}

/* 0 when `object` is a live one of its kind; else sets the error: ACLNN_ERR_PARAM_NULLPTR
 * for NULL, ACLNN_ERR_PARAM_INVALID for anything else. `where` and `name` say which
 * argument. */
ASN_API aclnnStatus asnop_check(asnd_object_kind kind, const void *object,
                                const char *where, const char *name);

/* Memory for one object (its magic not yet set) and back; a thread keeps some of its own.
 */
void *asnop_object_take(asnd_object_kind kind);
void asnop_object_give(asnd_object_kind kind, void *object);
void asnop_tensor_release(aclTensor *tensor, bool by_list);
void asnop_scalar_release(aclScalar *scalar, bool by_list);

#endif
