/* L3 python: unique. It reads arguments; numpy/unique.h has the rest.
 *
 * unique_all, unique_counts and their like are Python over this one function. Of an array
 * of one axis, axis=0 is all of it, whose results have the classes of the plain call.
 * sorted= is accepted and changes nothing: the result is sorted always. */
#include "python/functions/function.h"
#include "numpy/unique.h"

/* The results that were made, in order: one, or a tuple of them. Values and first
 * positions in all of an array are of its class, as a sort's. Takes them; NULL: an error.
 */
static PyObject *gathered(asn_array *made, const bool *wanted, PyObject *a, bool whole) {
    PyObject *all[ASN_UNIQUE_RESULTS], *r = NULL;
    int n = 0;
    bool failed = false;
    for (int i = 0; i < ASN_UNIQUE_RESULTS; i++) {
        if (!wanted[i]) continue;
        PyObject *one = asn_ndarray_wrap(&made[i]);
        if (one && i <= ASN_UNIQUE_FIRST && whole) one = asn_subclass_view(one, a);
        failed |= !one;
        all[n++] = one;
    }
    if (!failed) r = n == 1 ? Py_NewRef(all[0]) : asn_tuple_of(all, n);
    while (n)
        Py_XDECREF(all[--n]);
    return r;
}

/* wanted: which of the results (ASN_UNIQUE_...) are asked for. With an axis its
 * sub-arrays are what is compared. */
static PyObject *unique(PyObject *a, const bool *wanted, PyObject *axis_object,
                        bool equal_nan) {
    asn_array made[ASN_UNIQUE_RESULTS], *results[ASN_UNIQUE_RESULTS];
    bool whole = !axis_object || axis_object == Py_None;
    int64_t axis = 0;
    int unused;
    for (int i = 0; i < ASN_UNIQUE_RESULTS; i++)
        results[i] = wanted[i] ? &made[i] : NULL;
    if (!whole && asn_axis_number_from_py(axis_object, &axis) < 0) return NULL;
    if (!whole && asn_of(a)->layout.ndim == 1) { /* an axis is all of it */
        ASN_PY_TRY(asn_axis_normalize(axis, 1, &unused));
        whole = true;
    }
    ASN_PY_TRY(whole ? asn_np_unique(results, asn_of(a), equal_nan)
                     : asn_np_unique_along(results, asn_of(a), axis));
    return gathered(made, wanted, a, whole);
}

/* (ar, return_index, return_inverse, return_counts, axis, *, equal_nan, sorted) */
static PyObject *f_unique(PyObject *const *v) {
    bool wanted[ASN_UNIQUE_RESULTS] = {true}, equal_nan = true;
    for (int i = 1; i < ASN_UNIQUE_RESULTS; i++)
        if (asn_bool_from_py(v[i], &wanted[i]) < 0) return NULL;
    if (asn_bool_from_py(v[5], &equal_nan) < 0) return NULL;
    PyObject *a = asn_asarray(v[0]);
    PyObject *r = a ? unique(a, wanted, v[4], equal_nan) : NULL;
    Py_XDECREF(a);
    return r;
}

asn_function_def asn_set_functions[] = {
    ASN_FUNCTION("unique",
                 "ar, return_index=False, return_inverse=False, return_counts=False, "
                 "axis=None, *, equal_nan=True, sorted=True",
                 f_unique, "The sorted unique elements, or sub-arrays along an axis."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
