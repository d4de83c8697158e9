/* CPU device, operator base: aclIntArray, aclFloatArray, aclBoolArray, aclTensorList,
 * aclScalarList. All are one structure: up to 64 bytes of values inline, else on the
 * heap.
 *
 * One structure keeps creating, destroying and measuring to one function each; the public
 * functions give it the kind and their names. A list is an array of pointers that also
 * remembers its members' generations (object.h).
 */
#include <string.h>

#include "base/alloc.h"
#include "device/opbase/object.h"

/* Bytes of a value, by kind. */
static const size_t value_size[ASN_OBJECT_KINDS] = {
    [ASN_OBJECT_INT_ARRAY] = sizeof(int64_t),  [ASN_OBJECT_FLOAT_ARRAY] = sizeof(float),
    [ASN_OBJECT_BOOL_ARRAY] = sizeof(bool),    [ASN_OBJECT_TENSOR_LIST] = sizeof(void *),
    [ASN_OBJECT_SCALAR_LIST] = sizeof(void *),
};

/* Sets the message, gives a half-made array back (NULL: none), returns NULL. */
static asnd_array *fail(asnd_array *a, asnd_object_kind kind, int32_t code,
                        const char *where, const char *what) {
    if (a != NULL) asnop_object_give(kind, a);
    (void)asnrtFail(code, "%s: %s", where, what);
    return NULL;
}

/* An array with copies of `size` values; NULL, with the message set, on failure. It is
 * published last: no other thread can see it half made. */
static void *array_new(asnd_object_kind kind, const char *where, const void *value,
                       uint64_t size) {
    if (size > 0 && value == NULL)
        return fail(NULL, kind, ACLNN_ERR_PARAM_NULLPTR, where, "value is NULL");
    if (size > UINT32_MAX)
        return fail(NULL, kind, ACLNN_ERR_PARAM_INVALID, where, "more than 2^32 values");
    asnd_array *a = asnop_object_take(kind);
    if (a == NULL)
        return fail(NULL, kind, ACLNN_ERR_INNER_CREATE_EXECUTOR, where,
                    asn_error_message());
    size_t bytes = (size_t)size * value_size[kind];
    a->size = size;
    a->generations = NULL;
    a->data = bytes <= sizeof a->values ? (void *)a->values : asn_malloc(bytes);
    if (a->data == NULL)
        return fail(a, kind, ACLNN_ERR_INNER_CREATE_EXECUTOR, where, asn_error_message());
    if (bytes > 0) memcpy(a->data, value, bytes);
    asn_slot_publish(a);
    return a;
}

/* Of two threads that destroy one array, one succeeds. */
static aclnnStatus array_destroy(asnd_object_kind kind, const char *where,
                                 const void *array) {
    aclnnStatus code = asnop_check(kind, array, where, "array");
    if (code != ACLNN_SUCCESS) return code;
    asnd_array *a = (asnd_array *)array;
    if (!asn_slot_retire(a)) return asnop_check(kind, array, where, "array");
    if (a->data != a->values) asn_free(a->data);
    asn_free(a->generations);
    asnop_object_give(kind, a);
    return ACLNN_SUCCESS;
}

/* *size: how many values. */
static aclnnStatus array_size(asnd_object_kind kind, const char *where, const void *array,
                              uint64_t *size) {
    aclnnStatus code = asnop_check(kind, array, where, "array");
    if (code != ACLNN_SUCCESS) return code;
    if (size == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR, "%s: size is NULL", where);
    *size = ((const asnd_array *)array)->size;
    return ACLNN_SUCCESS;
}

/* ---- arrays */

/* An array with copies of the values; NULL, with an error message, on failure. */
ASN_API aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size) {
    return array_new(ASN_OBJECT_INT_ARRAY, "aclCreateIntArray", value, size);
}

/* An array with copies of the values; NULL, with an error message, on failure. */
ASN_API aclFloatArray *aclCreateFloatArray(const float *value, uint64_t size) {
    return array_new(ASN_OBJECT_FLOAT_ARRAY, "aclCreateFloatArray", value, size);
}

/* An array with copies of the values; NULL, with an error message, on failure. */
ASN_API aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size) {
    return array_new(ASN_OBJECT_BOOL_ARRAY, "aclCreateBoolArray", value, size);
}

/* Destroys an array. */
ASN_API aclnnStatus aclDestroyIntArray(const aclIntArray *array) {
    return array_destroy(ASN_OBJECT_INT_ARRAY, "aclDestroyIntArray", array);
}

/* Destroys an array. */
ASN_API aclnnStatus aclDestroyFloatArray(const aclFloatArray *array) {
    return array_destroy(ASN_OBJECT_FLOAT_ARRAY, "aclDestroyFloatArray", array);
}

/* Destroys an array. */
ASN_API aclnnStatus aclDestroyBoolArray(const aclBoolArray *array) {
    return array_destroy(ASN_OBJECT_BOOL_ARRAY, "aclDestroyBoolArray", array);
}

/* The number of values. */
ASN_API aclnnStatus aclGetIntArraySize(const aclIntArray *array, uint64_t *size) {
    return array_size(ASN_OBJECT_INT_ARRAY, "aclGetIntArraySize", array, size);
}

/* The number of values. */
ASN_API aclnnStatus aclGetFloatArraySize(const aclFloatArray *array, uint64_t *size) {
    return array_size(ASN_OBJECT_FLOAT_ARRAY, "aclGetFloatArraySize", array, size);
}

/* The number of values. */
ASN_API aclnnStatus aclGetBoolArraySize(const aclBoolArray *array, uint64_t *size) {
    return array_size(ASN_OBJECT_BOOL_ARRAY, "aclGetBoolArraySize", array, size);
}

/* ---- lists */

/* A list of `size` members, objects of kind `of`; NULL ones are allowed. */
static void *list_new(asnd_object_kind kind, asnd_object_kind of, const char *where,
                      const void *value, uint64_t size) {
    asnd_member *const *members = value;
    for (uint64_t i = 0; i < size && members != NULL; i++)
        if (members[i] != NULL && !asnop_alive(of, members[i]))
            return fail(NULL, kind, ACLNN_ERR_PARAM_INVALID, where,
                        "a member is no live object of its kind");
    asnd_array *a = array_new(kind, where, value, size);
    if (a == NULL || size == 0) return a;
    a->generations = asn_malloc(size * sizeof *a->generations);
    if (a->generations == NULL) {
        (void)array_destroy(kind, where, a);
        return fail(NULL, kind, ACLNN_ERR_INNER_CREATE_EXECUTOR, where,
                    asn_error_message());
    }
    for (uint64_t i = 0; i < size; i++)
        a->generations[i] = members[i] ? members[i]->generation : 0;
    return a;
}

/* Whether member i is still the object that the list was made with. */
static bool member_is_ours(const asnd_array *a, asnd_object_kind of, uint64_t i) {
    asnd_member *m = ((asnd_member **)a->data)[i];
    return m != NULL && asnop_alive(of, m) && m->generation == a->generations[i];
}

/* A list that takes the tensors: destroying it destroys them. NULL members stand for
 * absent ones. */
ASN_API aclTensorList *aclCreateTensorList(const aclTensor *const *value, uint64_t size) {
    return list_new(ASN_OBJECT_TENSOR_LIST, ASN_OBJECT_TENSOR, "aclCreateTensorList",
                    value, size);
}

/* A list that takes the scalars: destroying it destroys them. */
ASN_API aclScalarList *aclCreateScalarList(const aclScalar *const *value, uint64_t size) {
    return list_new(ASN_OBJECT_SCALAR_LIST, ASN_OBJECT_SCALAR, "aclCreateScalarList",
                    value, size);
}

/* Destroys a list and its tensors. */
ASN_API aclnnStatus aclDestroyTensorList(const aclTensorList *array) {
    aclnnStatus code =
        asnop_check(ASN_OBJECT_TENSOR_LIST, array, "aclDestroyTensorList", "array");
    if (code != ACLNN_SUCCESS) return code;
    const asnd_array *a = &array->array;
    for (uint64_t i = 0; i < a->size; i++)
        if (member_is_ours(a, ASN_OBJECT_TENSOR, i))
            asnop_tensor_release(((aclTensor **)a->data)[i], true);
    return array_destroy(ASN_OBJECT_TENSOR_LIST, "aclDestroyTensorList", array);
}

/* Destroys a list and its scalars. */
ASN_API aclnnStatus aclDestroyScalarList(const aclScalarList *array) {
    aclnnStatus code =
        asnop_check(ASN_OBJECT_SCALAR_LIST, array, "aclDestroyScalarList", "array");
    if (code != ACLNN_SUCCESS) return code;
    const asnd_array *a = &array->array;
    for (uint64_t i = 0; i < a->size; i++)
        if (member_is_ours(a, ASN_OBJECT_SCALAR, i))
            asnop_scalar_release(((aclScalar **)a->data)[i], true);
    return array_destroy(ASN_OBJECT_SCALAR_LIST, "aclDestroyScalarList", array);
}

/* The number of members. */
ASN_API aclnnStatus aclGetTensorListSize(const aclTensorList *tensorList,
                                         uint64_t *size) {
    return array_size(ASN_OBJECT_TENSOR_LIST, "aclGetTensorListSize", tensorList, size);
}

/* The number of members. */
ASN_API aclnnStatus aclGetScalarListSize(const aclScalarList *scalarList,
                                         uint64_t *size) {
    return array_size(ASN_OBJECT_SCALAR_LIST, "aclGetScalarListSize", scalarList, size);
}
