/* CPU device, operators by type: aclopCompileAndExecute.
 *
 * The call is turned into one of a two-phase operator (type.h): tensors from descriptions
 * and data buffers, packed; scalars and arrays from attributes or from constant inputs.
 * Nothing is compiled, so aclopCompile only looks the type up.
 */
#include <stdlib.h>
#include <string.h>

#include "acl/acl_op_compiler.h"
#include "device/acl/op_attr.h"
#include "base/alloc.h"
#include "base/half.h"
#include "device/opapi/type/type.h"

enum { MAX_LIST = 256 };

/* What the call was given. */
typedef struct {
    const asnd_type *type;
    int count[2]; /* inputs, outputs */
    const aclTensorDesc *const *descs[2];
    const aclDataBuffer *const *buffers[2];
    const aclopAttr *attr;
} type_call;

/* An object made for one parameter, to be destroyed after the call. */
typedef struct {
    char kind;
    const void *object;
} made;

/* ---- looking up */

/* For bsearch. */
static int by_name(const void *name, const void *type) {
    return strcmp(name, ((const asnd_type *)type)->name);
}

/* *type is the row of this name. */
static aclError type_find(const char *function, const char *name,
                          const asnd_type **type) {
    if (name == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: opType is NULL", function);
    /* The rows are sorted by name (tools write them so). */
    *type = bsearch(name, asn_types, (size_t)asn_types_count, sizeof **type, by_name);
    if (*type != NULL) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_OP_NOT_FOUND,
                     "%s: no operator of type %s computes on the CPU device", function,
                     name);
}

/* Every tensor has a description; one without memory may have a buffer of NULL. */
static aclError lists_check(const char *function, const type_call *c) {
    for (int side = 0; side < 2; side++) {
        const char *what = side == 0 ? "input" : "output";
        if (c->count[side] < 0 || c->count[side] > MAX_LIST ||
            (c->count[side] > 0 && (c->descs[side] == NULL || c->buffers[side] == NULL)))
            return asnrtFail(ACL_ERROR_INVALID_PARAM,
                             "%s: %s: %d %ss; lists of 0 to %d are allowed", function,
                             c->type->name, c->count[side], what, MAX_LIST);
        for (int i = 0; i < c->count[side]; i++)
            if (c->descs[side][i] == NULL)
                return asnrtFail(ACL_ERROR_INVALID_PARAM,
                                 "%s: %s: the description of %s %d is NULL", function,
                                 c->type->name, what, i);
    }
    return ACL_SUCCESS;
}

/* ---- parameters */

/* What the row asks for is not in the call: an attribute by its name, else tensor i. */
static aclError missing(const type_call *c, const char *what, const char *name, int i) {
    if (name != NULL)
        return asnrtFail(ACL_ERROR_OP_ATTR_NOT_MATCH,
                         "%s: %s %s is missing, or of "
                         "another kind",
                         c->type->name, what, name);
    return asnrtFail(ACL_ERROR_OP_INPUT_NOT_MATCH, "%s: %s %d is missing", c->type->name,
                     what, i);
}

/* The memory of a tensor: of its buffer, or the constant of its description. */
static void *data_of(const type_call *c, int side, int i) {
    void *data = aclGetDataBufferAddr(c->buffers[side][i]);
    return data ? data : aclGetTensorDescAddress(c->descs[side][i]);
}

/* Whether the attribute is there and true. */
static bool is_set(const type_call *c, const char *name) {
    const asnrtAttr *a = name ? asnrtAttrGet(c->attr, name) : NULL;
    return a != NULL && a->kind == ASNRT_ATTR_BOOL && a->count == 1 &&
           *(const uint8_t *)a->elements != 0;
}

/* Strides of a packed tensor whose last two dimensions are exchanged in its shape. */
static void exchange(size_t ndim, int64_t *shape, int64_t *strides) {
    int64_t step = 1;
    for (size_t k = ndim; k-- > 0; step *= shape[k])
        strides[k] = step;
    int64_t extent = shape[ndim - 1], stride = strides[ndim - 1];
    shape[ndim - 1] = shape[ndim - 2];
    strides[ndim - 1] = strides[ndim - 2];
    shape[ndim - 2] = extent;
    strides[ndim - 2] = stride;
}

/* A dimension of extent 1 more, where the attribute says: of a tensor that a reduction
 * made, whose operator wants the dimension kept. A negative number counts from the end,
 * the new dimension included. */
static aclError insert(const type_call *c, const char *name, size_t *ndim,
                       int64_t *shape) {
    const asnrtAttr *a = asnrtAttrGet(c->attr, name);
    if (a == NULL || a->kind != ASNRT_ATTR_INT || a->count != 1)
        return missing(c, "attribute", name, 0);
    /* One dimension more than the tensor has may be named: the new last one. */
    int64_t at = *(const int64_t *)a->elements, n = (int64_t)*ndim;
    if (at < 0) at += n + 1;
    if (at < 0 || at > n || n >= ASN_ND_MAX_DIMS)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "%s: %s is no dimension among %lld, one more included",
                         c->type->name, name, (long long)n + 1);
    memmove(shape + at + 1, shape + at, (size_t)(n - at) * sizeof *shape);
    shape[at] = 1;
    ++*ndim;
    return ACL_SUCCESS;
}

/* A packed tensor; *out is NULL for an optional one that is not there. s: what is done to
 * its dimensions, or NULL. */
static aclError tensor_make(const type_call *c, int side, int i,
                            const asnd_type_source *s, const aclTensor **out) {
    *out = NULL;
    if (i >= c->count[side]) return ACL_SUCCESS;
    const aclTensorDesc *d = c->descs[side][i];
    aclDataType dtype = aclGetTensorDescType(d);
    if (dtype == ACL_DT_UNDEFINED) return ACL_SUCCESS;
    int64_t shape[ASN_ND_MAX_DIMS], stored[ASN_ND_MAX_DIMS], strides[ASN_ND_MAX_DIMS];
    size_t ndim = aclGetTensorDescNumDims(d);
    if (ndim > ASN_ND_MAX_DIMS)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "%s: a tensor of %zu dimensions; %d "
                         "are allowed",
                         c->type->name, ndim, ASN_ND_MAX_DIMS);
    for (size_t k = 0; k < ndim; k++) {
        aclError code = aclGetTensorDescDimV2(d, k, &shape[k]);
        if (code != ACL_SUCCESS) return code;
    }
    if (s != NULL && s->has_value) {
        aclError code = insert(c, s->name, &ndim, shape);
        if (code != ACL_SUCCESS) return code;
    }
    memcpy(stored, shape, ndim * sizeof *stored);
    /* A true attribute (transposeX1 and the like) is a view with exchanged strides:
     * nothing is copied. */
    bool turn = ndim >= 2 && s != NULL && !s->has_value && is_set(c, s->name);
    if (turn) exchange(ndim, shape, strides);
    *out = aclCreateTensor(shape, ndim, dtype, turn ? strides : NULL, 0, ACL_FORMAT_ND,
                           stored, ndim, data_of(c, side, i));
    return *out ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC;
}

/* Whether `element` reads the dtype: a constant of another would count as zeros, which no
 * program means. */
static bool is_read(aclDataType dtype) {
    const uint32_t all = 1u << ACL_INT32 | 1u << ACL_INT64 | 1u << ACL_FLOAT |
                         1u << ACL_DOUBLE | 1u << ACL_FLOAT16 | 1u << ACL_BOOL |
                         1u << ACL_UINT8 | 1u << ACL_INT8;
    return (unsigned)dtype < 32 && (all >> dtype & 1);
}

/* Element i as a number. */
static double element(const void *data, aclDataType dtype, size_t i) {
    switch (dtype) {
    case ACL_INT32: return ((const int32_t *)data)[i];
    case ACL_INT64: return (double)((const int64_t *)data)[i];
    case ACL_FLOAT: return ((const float *)data)[i];
    case ACL_DOUBLE: return ((const double *)data)[i];
    case ACL_FLOAT16: return asn_f16_to_f32(((const uint16_t *)data)[i]);
    case ACL_BOOL:
    case ACL_UINT8: return ((const uint8_t *)data)[i];
    case ACL_INT8: return ((const int8_t *)data)[i];
    default: return 0;
    }
}

/* A parameter's value as plain numbers, from whatever source. own: where the value is the
 * row's, a dtype or extents. */
typedef struct {
    size_t count;
    bool is_integer, is_text;
    const void *data;
    aclDataType dtype;
    double own[ASN_ND_MAX_DIMS];
} numbers;

/* n->own is what was asked for. */
static aclError numbers_own(numbers *n, size_t count, bool is_integer) {
    n->count = count;
    n->is_integer = is_integer;
    n->data = n->own;
    n->dtype = ACL_DOUBLE;
    return ACL_SUCCESS;
}

/* The extents of an input, or the dtype of an output. */
static aclError numbers_of_desc(const type_call *c, const asnd_type_source *s,
                                numbers *n) {
    bool shape = s->from == ASN_FROM_SHAPE;
    int side = shape ? 0 : 1;
    if (s->index >= c->count[side])
        return missing(c, shape ? "input" : "output", NULL, s->index);
    const aclTensorDesc *d = c->descs[side][s->index];
    size_t ndim = shape ? aclGetTensorDescNumDims(d) : 1;
    if (ndim > ASN_ND_MAX_DIMS) return missing(c, "the shape of input", NULL, s->index);
    if (!shape) n->own[0] = aclGetTensorDescType(d);
    for (size_t k = 0; shape && k < ndim; k++) {
        int64_t extent;
        aclError code = aclGetTensorDescDimV2(d, k, &extent);
        if (code != ACL_SUCCESS) return code;
        n->own[k] = (double)extent;
    }
    return numbers_own(n, ndim, true);
}

/* A tensor that must be readable now: CANN calls it a constant. */
static aclError numbers_of_input(const type_call *c, const asnd_type_source *s,
                                 numbers *n) {
    if (s->index >= c->count[0]) return missing(c, "input", NULL, s->index);
    const aclTensorDesc *d = c->descs[0][s->index];
    n->count = aclGetTensorDescElementCount(d);
    n->data = data_of(c, 0, s->index);
    n->dtype = aclGetTensorDescType(d);
    n->is_integer =
        n->dtype != ACL_FLOAT && n->dtype != ACL_DOUBLE && n->dtype != ACL_FLOAT16;
    if (n->count > 0 && n->data == NULL)
        return missing(c, "the constant of input", NULL, s->index);
    if (is_read(n->dtype)) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_OP_INPUT_NOT_MATCH,
                     "%s: input %d is a constant of dtype %d; int32, int64, float32, "
                     "float64, float16, bool, uint8 and int8 are read",
                     c->type->name, s->index, (int)n->dtype);
}

/* The numbers of an input by pairs, the last pair first: the type has a start and an end
 * for every dimension from the first on, the operator begins with the last one. */
static aclError numbers_of_pairs(const type_call *c, const asnd_type_source *s,
                                 numbers *n) {
    aclError code = numbers_of_input(c, s, n);
    if (code != ACL_SUCCESS) return code;
    size_t count = n->count;
    if (count % 2 != 0 || count > ASN_ND_MAX_DIMS)
        return missing(c, "pairs of numbers in input", NULL, s->index);
    for (size_t i = 0; i < count; i++)
        n->own[count - 2 - i / 2 * 2 + i % 2] = element(n->data, n->dtype, i);
    return numbers_own(n, count, n->is_integer);
}

/* The row's own numbers: one several times, or a 1 among zeros. */
static aclError numbers_of_row(const asnd_type_source *s, numbers *n) {
    size_t count = s->from == ASN_FROM_ATTR ? 1 : s->index;
    bool unit = s->from == ASN_FROM_UNIT;
    for (size_t k = 0; k < count; k++)
        n->own[k] = unit ? (double)k == s->value : s->value;
    return numbers_own(n, count, s->value == (double)(int64_t)s->value);
}

/* The row's own value, or an attribute as what it is. */
static aclError numbers_of(const type_call *c, const asnd_type_source *s, numbers *n) {
    static const aclDataType of_kind[] = {
        [ASNRT_ATTR_BOOL] = ACL_BOOL,   [ASNRT_ATTR_INT] = ACL_INT64,
        [ASNRT_ATTR_FLOAT] = ACL_FLOAT, [ASNRT_ATTR_DTYPE] = ACL_INT32,
        [ASNRT_ATTR_STRING] = ACL_INT8, [ASNRT_ATTR_INTS] = ACL_INT64,
    };
    if (s->from == ASN_FROM_VALUES) return numbers_of_input(c, s, n);
    if (s->from == ASN_FROM_PAIRS) return numbers_of_pairs(c, s, n);
    if (s->from == ASN_FROM_DTYPE || s->from == ASN_FROM_SHAPE)
        return numbers_of_desc(c, s, n);
    const asnrtAttr *a = s->from == ASN_FROM_ATTR ? asnrtAttrGet(c->attr, s->name) : NULL;
    if (a == NULL && s->from == ASN_FROM_ATTR && !s->has_value)
        return missing(c, "attribute", s->name, 0);
    if (a == NULL) return numbers_of_row(s, n);
    size_t skip = s->from == ASN_FROM_ATTR ? s->index : 0;
    if (skip > 0 && (a->kind != ASNRT_ATTR_INT || a->count < skip))
        return missing(c, "attribute", s->name, 0);
    n->count = a->count - skip;
    n->data = (const int64_t *)a->elements + skip;
    n->dtype = of_kind[a->kind];
    n->is_integer = a->kind != ASNRT_ATTR_FLOAT;
    n->is_text = a->kind == ASNRT_ATTR_STRING;
    return ACL_SUCCESS;
}

/* One number that is needed. */
static aclError number_of(const type_call *c, const asnd_type_source *s, numbers *n) {
    aclError code = numbers_of(c, s, n);
    if (code != ACL_SUCCESS) return code;
    return n->count == 1 && !n->is_text
               ? ACL_SUCCESS
               : missing(c, "one number for", s->name ? s->name : "a parameter", 0);
}

/* Whole numbers become int64, others float64, which operators take for any dtype. */
static aclError scalar_make(const type_call *c, const asnd_type_source *s, made *m) {
    numbers n = {0};
    aclError code = number_of(c, s, &n);
    if (code != ACL_SUCCESS) return code;
    double value = element(n.data, n.dtype, 0);
    /* float64 holds integers up to 2^53, which no attribute of a type exceeds. */
    int64_t whole = (int64_t)value;
    m->object = n.is_integer ? aclCreateScalar(&whole, ACL_INT64)
                             : aclCreateScalar(&value, ACL_DOUBLE);
    return m->object ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC;
}

/* An array of integers, of numbers or of truth values. */
static aclError array_make(const type_call *c, const asnd_type_source *s, made *m) {
    numbers n = {0};
    aclError code = numbers_of(c, s, &n);
    if (code != ACL_SUCCESS) return code;
    if (n.is_text) return missing(c, "attribute", s->name, 0);
    /* Room for the widest of the three kinds; one more, so that an empty list is no
     * allocation of 0 bytes. */
    int64_t *ints = asn_malloc((n.count + 1) * sizeof *ints);
    if (ints == NULL) return ACL_ERROR_BAD_ALLOC;
    float *floats = (float *)ints; /* one of the three */
    bool *bools = (bool *)ints;
    for (size_t i = 0; i < n.count; i++) {
        double value = element(n.data, n.dtype, i);
        if (m->kind == ASN_INTS) ints[i] = (int64_t)value;
        if (m->kind == ASN_FLOATS) floats[i] = (float)value;
        if (m->kind == ASN_BOOLS) bools[i] = value != 0;
    }
    if (m->kind == ASN_INTS) m->object = aclCreateIntArray(ints, n.count);
    if (m->kind == ASN_FLOATS) m->object = aclCreateFloatArray(floats, n.count);
    if (m->kind == ASN_BOOLS) m->object = aclCreateBoolArray(bools, n.count);
    asn_free(ints);
    return m->object ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC;
}

/* The tensors from `index` on. The list owns its members. */
static aclError list_make(const type_call *c, const asnd_type_source *s, made *m) {
    int side = s->from == ASN_FROM_OUTPUT, count = c->count[side] - s->index;
    const aclTensor *members[MAX_LIST];
    if (count < 1) return missing(c, side ? "output" : "input", NULL, s->index);
    aclError code = ACL_SUCCESS;
    int ready = 0;
    for (; ready < count && code == ACL_SUCCESS; ready++)
        code = tensor_make(c, side, s->index + ready, NULL, &members[ready]);
    if (code == ACL_SUCCESS) m->object = aclCreateTensorList(members, (uint64_t)count);
    if (m->object != NULL) return ACL_SUCCESS;
    for (int i = 0; i < ready; i++)
        if (members[i] != NULL) (void)aclDestroyTensor(members[i]);
    return code != ACL_SUCCESS ? code : ACL_ERROR_BAD_ALLOC;
}

/* One parameter: m->object is what must be destroyed, if anything. */
static aclError param_make(const type_call *c, int i, asnd_arg *arg, made *m) {
    const asnd_param *p = &c->type->op->params[i];
    const asnd_type_source *s = &c->type->sources[i];
    aclError code = ACL_SUCCESS;
    numbers n = {0};
    *m = (made){p->kind, NULL};
    memset(arg, 0, sizeof *arg);
    if (s->from == ASN_FROM_NOTHING) return ACL_SUCCESS;
    switch (p->kind) {
    case ASN_IN:
    case ASN_OUT:
    case ASN_INOUT: {
        const aclTensor *t = NULL;
        code = tensor_make(c, s->from == ASN_FROM_OUTPUT, s->index, s, &t);
        m->object = t;
        break;
    }
    case ASN_LIST_IN:
    case ASN_LIST_OUT: code = list_make(c, s, m); break;
    case ASN_SCALAR: code = scalar_make(c, s, m); break;
    case ASN_INTS:
    case ASN_FLOATS:
    case ASN_BOOLS: code = array_make(c, s, m); break;
    case ASN_INT:
        code = number_of(c, s, &n);
        if (code == ACL_SUCCESS) arg->i = (int64_t)element(n.data, n.dtype, 0);
        return code;
    case ASN_DOUBLE:
        code = number_of(c, s, &n);
        if (code == ACL_SUCCESS) arg->f = element(n.data, n.dtype, 0);
        return code;
    default: /* a text */
        code = numbers_of(c, s, &n);
        if (code == ACL_SUCCESS && (!n.is_text || n.count != 1))
            code = missing(c, "attribute", s->name, 0);
        if (code == ACL_SUCCESS) arg->p = n.data;
        return code;
    }
    arg->p = m->object;
    return code;
}

/* The executor has what it needs. */
static void made_destroy(const made *m) {
    if (m->object == NULL) return;
    switch (m->kind) {
    case ASN_LIST_IN:
    case ASN_LIST_OUT: (void)aclDestroyTensorList(m->object); break;
    case ASN_SCALAR: (void)aclDestroyScalar(m->object); break;
    case ASN_INTS: (void)aclDestroyIntArray(m->object); break;
    case ASN_FLOATS: (void)aclDestroyFloatArray(m->object); break;
    case ASN_BOOLS: (void)aclDestroyBoolArray(m->object); break;
    default: (void)aclDestroyTensor(m->object); break;
    }
}

/* ---- the call */

/* Both phases. Objects that were made before a failure go, too. */
static aclError call_run(const type_call *c, aclrtStream stream) {
    const asnd_opdesc *op = c->type->op;
    asnd_arg args[ASN_MAX_PARAMS] = {{0}};
    made objects[ASN_MAX_PARAMS];
    int ready = 0;
    aclError code = ACL_SUCCESS;
    for (; ready < op->num_params && code == ACL_SUCCESS; ready++)
        code = param_make(c, ready, &args[ready], &objects[ready]);
    uint64_t workspace = 0;
    aclOpExecutor *executor = NULL;
    if (code == ACL_SUCCESS) code = asn_op_plan(op, args, &workspace, &executor);
    /* An operator that is called by its type has no workspace: the runtime's own is used.
     */
    if (code == ACL_SUCCESS) executor->workspace_size = 0;
    if (code == ACL_SUCCESS) code = asnop_run(op->name, NULL, 0, executor, stream);
    for (int i = 0; i < ready; i++)
        made_destroy(&objects[i]);
    return code;
}

/* Fills in the type. */
static aclError call_check(const char *function, const char *name, type_call *c) {
    aclError code = type_find(function, name, &c->type);
    return code == ACL_SUCCESS ? lists_check(function, c) : code;
}

/* Looks the type up: operators are compiled already. opPath is not read. */
ASN_API aclError aclopCompile(const char *opType, int numInputs,
                              const aclTensorDesc *const inputDesc[], int numOutputs,
                              const aclTensorDesc *const outputDesc[],
                              const aclopAttr *attr, aclopEngineType engineType,
                              aclopCompileType compileFlag, const char *opPath) {
    (void)numInputs, (void)inputDesc, (void)numOutputs, (void)outputDesc, (void)attr;
    (void)engineType, (void)compileFlag, (void)opPath;
    const asnd_type *type;
    return type_find("aclopCompile", opType, &type);
}

/* Calls the operator of this type in stream order. An optional input that is not there
 * has a description of dtype ACL_DT_UNDEFINED; outputs have their final shapes; tensors
 * are packed. engineType, compileFlag and opPath have no effect. */
ASN_API aclError aclopCompileAndExecute(
    const char *opType, int numInputs, const aclTensorDesc *const inputDesc[],
    const aclDataBuffer *const inputs[], int numOutputs,
    const aclTensorDesc *const outputDesc[], aclDataBuffer *const outputs[],
    const aclopAttr *attr, aclopEngineType engineType, aclopCompileType compileFlag,
    const char *opPath, aclrtStream stream) {
    (void)engineType, (void)compileFlag, (void)opPath;
    type_call c = {NULL,
                   {numInputs, numOutputs},
                   {inputDesc, outputDesc},
                   {inputs, (const aclDataBuffer *const *)outputs},
                   attr};
    aclError code = call_check("aclopCompileAndExecute", opType, &c);
    return code == ACL_SUCCESS ? call_run(&c, stream) : code;
}

/* aclopCompileAndExecute, for operators whose outputs' shapes depend on their data: the
 * final shapes are written back. None of the types here is one of them. */
ASN_API aclError aclopCompileAndExecuteV2(
    const char *opType, int numInputs, aclTensorDesc *inputDesc[],
    aclDataBuffer *inputs[], int numOutputs, aclTensorDesc *outputDesc[],
    aclDataBuffer *outputs[], aclopAttr *attr, aclopEngineType engineType,
    aclopCompileType compileFlag, const char *opPath, aclrtStream stream) {
    return aclopCompileAndExecute(opType, numInputs,
                                  (const aclTensorDesc *const *)inputDesc,
                                  (const aclDataBuffer *const *)inputs, numOutputs,
                                  (const aclTensorDesc *const *)outputDesc, outputs, attr,
                                  engineType, compileFlag, opPath, stream);
}
