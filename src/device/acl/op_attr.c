/* CPU device, runtime: aclopAttr, the named attributes of an operator that is called by
 * the name of its type (acl_op_compiler.h).
 *
 * A value is a list of elements of one kind; a single one is a list of one that says so.
 * Lists of lists of integers are kept end to end, with the length of each. Setting a name
 * again replaces its value.
 */
#include "device/acl/op_attr.h"

#include <string.h>

#include "device/acl/internal.h"

/* Elements lie behind the name. */
typedef struct attr_value {
    struct attr_value *next;
    asnrtAttr value;
    char name[];
} attr_value;

struct aclopAttr {
    asnd_slot slot;
    attr_value *first;
};

static asnd_arena attrs =
    ASN_ARENA_INIT("operator attribute", sizeof(aclopAttr), 1 << 17, true);
ASN_FORK_TAKES(attrs, &attrs.lock, ASN_FORK_LEAF)

/* No attributes yet; NULL when out of memory. */
ASN_API aclopAttr *aclopCreateAttr(void) {
    return rt_object_new(&attrs);
}

/* Destroys the attributes; NULL is fine. */
ASN_API void aclopDestroyAttr(const aclopAttr *attr) {
    if (attr == NULL) return;
    if (rt_object_check(&attrs, "aclopDestroyAttr", "attr", attr) != ACL_SUCCESS) return;
    attr_value *v = attr->first;
    if (rt_object_free(&attrs, "aclopDestroyAttr", "attr", attr) != ACL_SUCCESS) return;
    while (v != NULL) {
        attr_value *next = v->next;
        asn_free(v);
        v = next;
    }
}

static size_t round_up(size_t n) {
    return (n + 15) & ~(size_t)15;
}

static asnrtAttr *attr_find(aclopAttr *attr, const char *name) {
    for (attr_value *v = attr->first; v != NULL; v = v->next)
        if (strcmp(v->name, name) == 0) return &v->value;
    return NULL;
}

/* A value whose elements take so many bytes, copied, in place of one of this name. */
static aclError attr_set(const char *function, aclopAttr *attr, const char *name,
                         asnrtAttr value, const void *elements, size_t bytes) {
    aclError code = rt_object_check(&attrs, function, "attr", attr);
    if (code != ACL_SUCCESS) return code;
    RT_CHECK_NOT_NULL(function, name);
    if (bytes > 0 && elements == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: the list is NULL", function);
    size_t head = round_up(sizeof(attr_value) + strlen(name) + 1);
    attr_value *v = asn_malloc(head + bytes);
    if (v == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    v->value = value;
    v->value.elements = (char *)v + head;
    memcpy(v->name, name, strlen(name) + 1);
    if (bytes > 0) memcpy((char *)v + head, elements, bytes);
    attr_value **at = &attr->first;
    while (*at != NULL && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    attr_value *old = *at;
    v->next = old ? old->next : NULL;
    *at = v;
    asn_free(old);
    return ACL_SUCCESS;
}

static aclError count_check(const char *function, int count) {
    if (count >= 0) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "%s: %d values; the number must not be negative", function, count);
}

/* A list of `count` elements of `size` bytes. */
static aclError list_set(const char *function, aclopAttr *attr, const char *name,
                         asnrtAttrKind kind, int count, const void *elements,
                         size_t size) {
    aclError code = count_check(function, count);
    if (code != ACL_SUCCESS) return code;
    return attr_set(function, attr, name,
                    (asnrtAttr){kind, true, (size_t)count, NULL, NULL}, elements,
                    (size_t)count * size);
}

/* Sets an attribute to a truth value. */
ASN_API aclError aclopSetAttrBool(aclopAttr *attr, const char *attrName,
                                  uint8_t attrValue) {
    return attr_set("aclopSetAttrBool", attr, attrName,
                    (asnrtAttr){ASNRT_ATTR_BOOL, false, 1, NULL, NULL}, &attrValue,
                    sizeof attrValue);
}

/* Sets an attribute to a list of numValues values, which is copied. */
ASN_API aclError aclopSetAttrListBool(aclopAttr *attr, const char *attrName,
                                      int numValues, const uint8_t *values) {
    return list_set("aclopSetAttrListBool", attr, attrName, ASNRT_ATTR_BOOL, numValues,
                    values, sizeof *values);
}

/* Sets an attribute to an integer. */
ASN_API aclError aclopSetAttrInt(aclopAttr *attr, const char *attrName,
                                 int64_t attrValue) {
    return attr_set("aclopSetAttrInt", attr, attrName,
                    (asnrtAttr){ASNRT_ATTR_INT, false, 1, NULL, NULL}, &attrValue,
                    sizeof attrValue);
}

/* Sets an attribute to a list of numValues values, which is copied. */
ASN_API aclError aclopSetAttrListInt(aclopAttr *attr, const char *attrName, int numValues,
                                     const int64_t *values) {
    return list_set("aclopSetAttrListInt", attr, attrName, ASNRT_ATTR_INT, numValues,
                    values, sizeof *values);
}

/* Sets an attribute to a number. */
ASN_API aclError aclopSetAttrFloat(aclopAttr *attr, const char *attrName,
                                   float attrValue) {
    return attr_set("aclopSetAttrFloat", attr, attrName,
                    (asnrtAttr){ASNRT_ATTR_FLOAT, false, 1, NULL, NULL}, &attrValue,
                    sizeof attrValue);
}

/* Sets an attribute to a list of numValues values, which is copied. */
ASN_API aclError aclopSetAttrListFloat(aclopAttr *attr, const char *attrName,
                                       int numValues, const float *values) {
    return list_set("aclopSetAttrListFloat", attr, attrName, ASNRT_ATTR_FLOAT, numValues,
                    values, sizeof *values);
}

/* Sets an attribute to a dtype. */
ASN_API aclError aclopSetAttrDataType(aclopAttr *attr, const char *attrName,
                                      aclDataType attrValue) {
    return attr_set("aclopSetAttrDataType", attr, attrName,
                    (asnrtAttr){ASNRT_ATTR_DTYPE, false, 1, NULL, NULL}, &attrValue,
                    sizeof attrValue);
}

/* Sets an attribute to a list of numValues values, which is copied. */
ASN_API aclError aclopSetAttrListDataType(aclopAttr *attr, const char *attrName,
                                          int numValues, const aclDataType *values) {
    return list_set("aclopSetAttrListDataType", attr, attrName, ASNRT_ATTR_DTYPE,
                    numValues, values, sizeof *values);
}

/* Sets an attribute to a text, which is copied. */
ASN_API aclError aclopSetAttrString(aclopAttr *attr, const char *attrName,
                                    const char *attrValue) {
    RT_CHECK_NOT_NULL("aclopSetAttrString", attrValue);
    return attr_set("aclopSetAttrString", attr, attrName,
                    (asnrtAttr){ASNRT_ATTR_STRING, false, 1, NULL, NULL}, attrValue,
                    strlen(attrValue) + 1);
}

/* Sets an attribute to a list of texts, copied end to end, each with its final 0. */
ASN_API aclError aclopSetAttrListString(aclopAttr *attr, const char *attrName,
                                        int numValues, const char **values) {
    aclError code = count_check("aclopSetAttrListString", numValues);
    if (code != ACL_SUCCESS) return code;
    size_t bytes = 0;
    for (int i = 0; i < numValues; i++) {
        if (values == NULL || values[i] == NULL)
            return asnrtFail(ACL_ERROR_INVALID_PARAM,
                             "aclopSetAttrListString: value %d is NULL", i);
        bytes += strlen(values[i]) + 1;
    }
    char *joined = asn_malloc(bytes ? bytes : 1);
    if (joined == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    char *at = joined;
    for (int i = 0; i < numValues; i++)
        at = stpcpy(at, values[i]) + 1;
    code = attr_set("aclopSetAttrListString", attr, attrName,
                    (asnrtAttr){ASNRT_ATTR_STRING, true, (size_t)numValues, NULL, NULL},
                    joined, bytes);
    asn_free(joined);
    return code;
}

/* Sets an attribute to lists of integers, which are copied. */
ASN_API aclError aclopSetAttrListListInt(aclopAttr *attr, const char *attrName,
                                         int numLists, const int *numValues,
                                         const int64_t *const values[]) {
    aclError code = count_check("aclopSetAttrListListInt", numLists);
    if (code != ACL_SUCCESS) return code;
    size_t total = 0;
    for (int i = 0; i < numLists; i++) {
        if (numValues == NULL || values == NULL || numValues[i] < 0 ||
            (numValues[i] > 0 && values[i] == NULL))
            return asnrtFail(ACL_ERROR_INVALID_PARAM,
                             "aclopSetAttrListListInt: list %d is NULL or of negative "
                             "length",
                             i);
        total += (size_t)numValues[i];
    }
    /* The integers, then the lengths. */
    size_t bytes = total * sizeof(int64_t) + (size_t)numLists * sizeof(int);
    int64_t *all = asn_malloc(bytes ? bytes : 1);
    if (all == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    int64_t *at = all;
    for (int i = 0; i < numLists; i++) {
        size_t n = (size_t)numValues[i];
        if (n > 0) memcpy(at, values[i], n * sizeof *at);
        at += n;
    }
    if (numLists > 0) memcpy(at, numValues, (size_t)numLists * sizeof *numValues);
    code = attr_set("aclopSetAttrListListInt", attr, attrName,
                    (asnrtAttr){ASNRT_ATTR_INTS, true, (size_t)numLists, NULL, NULL}, all,
                    bytes);
    asn_free(all);
    if (code != ACL_SUCCESS) return code;
    asnrtAttr *set = attr_find(attr, attrName);
    set->lengths = (const int *)((const int64_t *)set->elements + total);
    return ACL_SUCCESS;
}

const asnrtAttr *asnrtAttrGet(const aclopAttr *attr, const char *name) {
    return attr != NULL && asn_arena_alive(&attrs, attr)
               ? attr_find((aclopAttr *)attr, name)
               : NULL;
}
