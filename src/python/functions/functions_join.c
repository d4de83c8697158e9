/* L3 python: functions that join arrays: concatenate, stack, vstack, hstack, dstack,
 * column_stack. They read sequences; numpy/joins.h has the rest.
 *
 * The sequence becomes an array_list: arrays to copy from, and their dtypes for
 * promotion. In concatenate a Python number among the arrays is weak, in the stacks it is
 * an array of its dtype: NumPy's difference. The same code stacks a list of arrays for
 * np.array([a, b]). */
#include "python/functions/function.h"
#include "numpy/joins.h"

/* So many arrays need no memory of their own. */
enum { FEW_JOINED = 16 };

/* What a sequence has to be joined. */
typedef struct {
    int count;
    PyObject **objects; /* owned */
    const asn_array **arrays;
    asn_type *types; /* for promotion: Python numbers are weak */
    PyObject *few_objects[FEW_JOINED];
    const asn_array *few_arrays[FEW_JOINED];
    asn_type few_types[FEW_JOINED];
} array_list;

/* After a list_init that failed, too. */
static void list_fini(array_list *list) {
    for (int i = 0; i < list->count; i++)
        Py_DECREF(list->objects[i]);
    if (list->objects == list->few_objects) return;
    PyMem_Free(list->objects);
    PyMem_Free(list->arrays);
    PyMem_Free(list->types);
}

/* Room for n of everything; -1: MemoryError, with what there is left for list_fini. */
static int list_alloc(array_list *list, Py_ssize_t n) {
    list->count = 0;
    list->objects = list->few_objects;
    list->arrays = list->few_arrays;
    list->types = list->few_types;
    if (n <= FEW_JOINED) return 0;
    list->objects = PyMem_Malloc((size_t)n * sizeof *list->objects);
    list->arrays = PyMem_Malloc((size_t)n * sizeof *list->arrays);
    list->types = PyMem_Malloc((size_t)n * sizeof *list->types);
    /* What is NULL is freed as well as the rest. */
    return list->objects && list->arrays && list->types ? 0 : (PyErr_NoMemory(), -1);
}

/* Adds an item as an array. `flatten`: concatenate's axis=None. `weak`: a Python number
 * gives way to other dtypes. -1: it is no array. */
static int list_add(array_list *list, PyObject *item, bool flatten, bool weak) {
    int i = list->count;
    PyObject *a = asn_asarray(item);
    if (a && flatten) Py_SETREF(a, asn_flatten(a, 'C', false));
    if (!a) return -1;
    char kind = !weak || asn_is_ndarray(item) ? 0
                : PyFloat_CheckExact(item)    ? 'f'
                : PyLong_CheckExact(item)     ? 'i'
                : PyComplex_CheckExact(item)  ? 'c'
                                              : 0;
    list->types[i].weak = kind;
    list->types[i].dtype = (uint8_t)(kind ? ASN_DTYPE_NONE : asn_dtype_of(a));
    list->arrays[i] = asn_of(a);
    list->objects[list->count++] = a;
    return 0;
}

/* All items of a sequence; -1: it is none, or an item is no array. list_fini either way.
 */
static int list_init(array_list *list, PyObject *sequence, bool flatten, bool weak) {
    list->count = 0;
    list->objects = list->few_objects;
    PyObject *items =
        asn_items_of(sequence, "The first input argument needs to be a sequence");
    if (!items) return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    int rc = list_alloc(list, n);
    for (Py_ssize_t i = 0; rc == 0 && i < n; i++)
        rc = list_add(list, PySequence_Fast_GET_ITEM(items, i), flatten, weak);
    Py_DECREF(items);
    return rc;
}

/* Joined arrays are of the class of the highest __array_priority__ above ndarray's own;
 * none of them is their parent, so __array_finalize__ gets None. Takes joined; NULL
 * passes. */
static PyObject *joined_as(PyObject *joined, const array_list *list) {
    PyObject *leader = NULL;
    for (int i = 0; i < list->count; i++)
        if (!asn_is_ndarray_exact(list->objects[i]))
            leader = asn_subclass_leader(leader ? leader : joined, list->objects[i]);
    if (!joined || !leader || leader == joined) return joined;
    return asn_subclass_adopt(joined, Py_TYPE(leader), Py_None);
}

/* Which function of numpy/joins.h; concatenate and stack have an axis, the others fix it.
 */
typedef asn_status (*join_function)(const asn_np_join *join, asn_array *result);
typedef asn_status (*axis_function)(const asn_np_join *join, int64_t axis,
                                    asn_array *result);
typedef struct {
    join_function call;
    axis_function along; /* or NULL */
    int64_t axis;
} join_kind;

/* result NULL: into join->out. */
static asn_status join(const join_kind *kind, const asn_np_join *join, asn_array *r) {
    return kind->along ? kind->along(join, kind->axis, r) : kind->call(join, r);
}

/* The join into out=, which is returned, or into a new array. */
static PyObject *join_list(const join_kind *kind, const array_list *list, PyObject *out,
                           asn_dtype dtype, asn_casting casting) {
    asn_array *target = NULL;
    PyObject *owner = NULL;
    if (out && out != Py_None && asn_out_from_py(out, &target, &owner) < 0) return NULL;
    const asn_np_join j = {list->count, list->arrays, list->types,
                           dtype,       casting,      target};
    if (!target) {
        asn_ndarray *r = asn_ndarray_alloc();
        return r ? joined_as(asn_ndarray_finish(r, join(kind, &j, &r->array)), list)
                 : NULL;
    }
    asn_status status = join(kind, &j, NULL);
    /* out is a NumPy array: written before the caller looks. */
    if (status == ASN_OK) status = asn_out_written(out, target, owner);
    Py_XDECREF(owner);
    return status == ASN_OK ? Py_NewRef(out) : asn_raise(status);
}

/* dtype=, casting= and out=, of which the first and the last do not go together. v: dtype
 * and casting; -1: an error. */
static int read_options(PyObject *out, PyObject *const *v, asn_dtype *dtype,
                        asn_casting *casting) {
    *dtype = ASN_DTYPE_NONE;
    *casting = ASN_CASTING_SAME_KIND;
    if (asn_dtype_from_py(v[0], dtype) < 0 || asn_casting_from_py(v[1], casting) < 0)
        return -1;
    if (!out || out == Py_None || *dtype == ASN_DTYPE_NONE) return 0;
    PyErr_SetString(PyExc_TypeError, "concatenate() only takes `out` or `dtype` as an "
                                     "argument, but both were provided.");
    return -1;
}

/* (arrays, /, axis=0, out, *, dtype, casting); axis None: the flattened arrays, in their
 * order. Promotion is of all at once. */
static PyObject *f_concatenate(PyObject *const *v) {
    asn_dtype dtype;
    asn_casting casting;
    bool flatten = v[1] == Py_None;
    join_kind kind = {.along = asn_np_concatenate};
    if (read_options(v[2], v + 3, &dtype, &casting) < 0) return NULL;
    array_list list;
    PyObject *r = NULL;
    if (list_init(&list, v[0], flatten, true) == 0 &&
        (flatten || !v[1] || asn_axis_value_from_py(v[1], &kind.axis) == 0))
        r = join_list(&kind, &list, v[2], dtype, casting);
    list_fini(&list);
    return r;
}

/* The arrays of a sequence, which an iterator is not (NumPy refuses it). -1: an error. */
static int list_of(array_list *list, PyObject *sequence) {
    if (PyTuple_Check(sequence) || PyList_Check(sequence) || asn_is_ndarray(sequence) ||
        PyObject_HasAttrString(sequence, "__getitem__"))
        return list_init(list, sequence, false, false);
    list->count = 0;
    list->objects = list->few_objects;
    PyErr_SetString(PyExc_TypeError, "arrays to stack must be passed as a \"sequence\" "
                                     "type such as list or tuple.");
    return -1;
}

/* The axis of a stack, which may be one more than the arrays have; what is no number is
 * looked at after the arrays, as in NumPy. -1: an error. */
static int stack_axis(const array_list *list, PyObject *axis, int64_t *out) {
    const asn_np_join j = {.count = list->count, .arrays = list->arrays};
    /* NumPy compares the shapes before it looks at the axis. */
    if (axis && !PyLong_CheckExact(axis)) ASN_PY_TRY_INT(asn_np_stack_check(&j));
    return asn_int64_from_py(axis, out);
}

/* (arrays, axis, out, *, dtype, casting) */
static PyObject *f_stack(PyObject *const *v) {
    asn_dtype dtype;
    asn_casting casting;
    array_list list;
    join_kind kind = {.along = asn_np_stack};
    PyObject *r = NULL;
    if (list_of(&list, v[0]) == 0 && stack_axis(&list, v[1], &kind.axis) == 0 &&
        read_options(v[2], v + 3, &dtype, &casting) == 0)
        r = join_list(&kind, &list, v[2], dtype, casting);
    list_fini(&list);
    return r;
}

/* The stacks without an axis. `options`: dtype= and casting=, NULL where absent. */
static PyObject *stacked(join_function call, PyObject *tup, PyObject *const *options) {
    asn_dtype dtype;
    asn_casting casting;
    array_list list;
    const join_kind kind = {.call = call};
    PyObject *r = NULL;
    if (list_of(&list, tup) == 0 && read_options(NULL, options, &dtype, &casting) == 0)
        r = join_list(&kind, &list, NULL, dtype, casting);
    list_fini(&list);
    return r;
}

/* dstack and column_stack have no options. */
static PyObject *const no_options[2] = {NULL, NULL};

/* (tup, *, dtype, casting) of the first two; (tup) of the others. */
static PyObject *f_vstack(PyObject *const *v) {
    return stacked(asn_np_vstack, v[0], v + 1);
}
static PyObject *f_hstack(PyObject *const *v) {
    return stacked(asn_np_hstack, v[0], v + 1);
}
static PyObject *f_dstack(PyObject *const *v) {
    return stacked(asn_np_dstack, v[0], no_options);
}
static PyObject *f_column_stack(PyObject *const *v) {
    return stacked(asn_np_column_stack, v[0], no_options);
}

/* The stack that np.array would make of the items of a list or tuple that nobody changes;
 * NULL without an error: they are not all arrays of one dtype and shape, row-major, and
 * the general way is to read them. */
static PyObject *stacked_items(PyObject *o) {
    enum { MOST = 1 << 16 }; /* more of them go the general way */
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(o);
    PyObject *const *items = PySequence_Fast_ITEMS(o);
    if (count == 0 || count > MOST || !asn_is_ndarray_exact(*items)) return NULL;
    const asn_layout *first = &asn_of(*items)->layout;
    if (first->size == 0) return NULL; /* NumPy's strides of nothing are its own */
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!asn_is_ndarray_exact(items[i])) return NULL;
        const asn_layout *l = &asn_of(items[i])->layout;
        if (l->dtype != first->dtype || !asn_layout_same_shape(l, first) ||
            !asn_layout_contiguous(l) || l->ndim >= ASN_MAX_DIMS)
            return NULL;
    }
    array_list list;
    const join_kind kind = {.along = asn_np_stack};
    PyObject *r = NULL;
    if (list_init(&list, o, false, false) == 0)
        r = join_list(&kind, &list, NULL, ASN_DTYPE_NONE, ASN_CASTING_NO);
    list_fini(&list);
    return r;
}

/* (Contract in convert.h.) Exact lists and tuples alone: others may have rules of their
 * own. */
PyObject *asn_stacked_items(PyObject *o) {
    if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return NULL;
    PyObject *items = asn_steady_items(o);
    PyObject *r = items ? stacked_items(items) : NULL;
    Py_XDECREF(items);
    return r;
}

#define OPTIONS "dtype=None, casting='same_kind'"

asn_function_def asn_join_functions[] = {
    ASN_FUNCTION("concatenate", "arrays, /, axis=0, out=None, *, " OPTIONS, f_concatenate,
                 "Arrays joined along an axis."),
    ASN_FUNCTION("stack", "arrays, axis=0, out=None, *, " OPTIONS, f_stack,
                 "Arrays of one shape joined along a new axis."),
    ASN_FUNCTION("vstack", "tup, *, " OPTIONS, f_vstack,
                 "Arrays joined along the first axis, 1-d arrays as rows."),
    ASN_FUNCTION("hstack", "tup, *, " OPTIONS, f_hstack,
                 "Arrays joined along the second axis, 1-d arrays along the first."),
    ASN_FUNCTION("dstack", "tup", f_dstack, "Arrays joined along the third axis."),
    ASN_FUNCTION("column_stack", "tup", f_column_stack,
                 "1-d arrays as columns, joined with 2-d arrays."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
