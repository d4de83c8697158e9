/* L3 python: the methods of ndarray, declared once for the method table.
 *
 * A method is a vectorcall function, asn_method_NAME: self, the positional arguments as a
 * C array, the keywords' values after them, their names in kwnames. It returns a new
 * reference, or NULL with an exception. What a method shares with the NumPy function of
 * the same name is an asn_..._run below, which takes objects as they were given: NULL is
 * an argument that was not. */
#ifndef ASN_PYTHON_NDARRAY_METHODS_H
#define ASN_PYTHON_NDARRAY_METHODS_H

#include "python/ufunc/reduce.h"

/* The head of a method's definition, or of its declaration. */
#define ASN_METHOD(name)                                                                 \
    PyObject *asn_method_##name(PyObject *self, PyObject *const *args, Py_ssize_t nargs, \
                                PyObject *kwnames)
/* Reads the arguments of a method or function into v[]; names and defaults in `text_`.
 * (The text is read once: the signature is static.) Absent arguments are NULL; what v
 * holds is borrowed. Returns NULL out of the caller if the arguments do not fit. */
#define ASN_ARGS(name_, text_)                                                           \
    static asn_signature sig = {.name = name_, .text = text_};                           \
    PyObject *v[ASN_MAX_ARGS];                                                           \
    if (asn_args_parse(&sig, args, nargs, kwnames, v) < 0) return NULL

/* After a method failed: where NumPy may answer (asn_host_may_answer), what its method of
 * that name makes of the call on the host; else NULL, with the error as it is. */
PyObject *asn_method_on_host(const char *name, PyObject *self, PyObject *const *args,
                             Py_ssize_t nargs, PyObject *kwnames);
/* Returns the result of `call`, or by the above what the host makes of it. */
#define ASN_HOSTED(name, call)                                                           \
    PyObject *made_ = call;                                                              \
    return ASN_LIKELY(made_ != NULL)                                                     \
               ? made_                                                                   \
               : asn_method_on_host(name, self, args, nargs, kwnames)

/* Every method: X(name, signature as inspect shows it after self). */
#define ASN_METHOD_LIST(X)                                                               \
    X(acl_tensor, "/")                                                                   \
    X(all, "/, axis=None, out=None, keepdims=False, *, where=True")                      \
    X(any, "/, axis=None, out=None, keepdims=False, *, where=True")                      \
    X(argmax, "/, axis=None, out=None, *, keepdims=False")                               \
    X(argmin, "/, axis=None, out=None, *, keepdims=False")                               \
    X(argpartition, "kth, /, axis=-1, kind='introselect', order=None")                   \
    X(argsort, "/, axis=-1, kind=None, order=None, *, stable=None, descending=None")     \
    X(astype, "/, dtype, order='K', casting='unsafe', subok=True, copy=True")            \
    X(byteswap, "/, inplace=False")                                                      \
    X(choose, "/, choices, out=None, mode='raise'")                                      \
    X(clip, "/, min=None, max=None, out=None, **kwargs")                                 \
    X(compress, "/, condition, axis=None, out=None")                                     \
    X(conj, "/")                                                                         \
    X(conjugate, "/")                                                                    \
    X(copy, "/, order='C'")                                                              \
    X(cumprod, "/, axis=None, dtype=None, out=None")                                     \
    X(cumsum, "/, axis=None, dtype=None, out=None")                                      \
    X(diagonal, "/, offset=0, axis1=0, axis2=1")                                         \
    X(dot, "other, /, out=None")                                                         \
    X(dump, "/, file")                                                                   \
    X(dumps, "/")                                                                        \
    X(fill, "/, value")                                                                  \
    X(flatten, "/, order='C'")                                                           \
    X(getfield, "/, dtype, offset=0")                                                    \
    X(item, "/, *args")                                                                  \
    X(max, "/, axis=None, out=None, **kwargs")                                           \
    X(mean, "/, axis=None, dtype=None, out=None, **kwargs")                              \
    X(min, "/, axis=None, out=None, **kwargs")                                           \
    X(nonzero, "/")                                                                      \
    X(partition, "kth, /, axis=-1, kind='introselect', order=None")                      \
    X(prod, "/, axis=None, dtype=None, out=None, **kwargs")                              \
    X(put, "indices, values, /, mode='raise'")                                           \
    X(ravel, "/, order='C'")                                                             \
    X(repeat, "repeats, /, axis=None")                                                   \
    X(reshape, "/, *shape, order='C', copy=None")                                        \
    X(resize, "/, *new_shape, refcheck=True")                                            \
    X(round, "/, decimals=0, out=None")                                                  \
    X(searchsorted, "v, /, side='left', sorter=None")                                    \
    X(setfield, "val, /, dtype, offset=0")                                               \
    X(setflags, "/, *, write=None, align=None, uic=None")                                \
    X(sort, "/, axis=-1, kind=None, order=None, *, stable=None, descending=None")        \
    X(squeeze, "/, axis=None")                                                           \
    X(std, "/, axis=None, dtype=None, out=None, ddof=0, **kwargs")                       \
    X(sum, "/, axis=None, dtype=None, out=None, **kwargs")                               \
    X(swapaxes, "axis1, axis2, /")                                                       \
    X(take, "indices, /, axis=None, out=None, mode='raise'")                             \
    X(to_device, "device, /, *, stream=None")                                            \
    X(to_numpy, "/")                                                                     \
    X(tobytes, "/, order='C'")                                                           \
    X(tofile, "fid, /, sep='', format='%s'")                                             \
    X(tolist, "/")                                                                       \
    X(trace, "/, offset=0, axis1=0, axis2=1, dtype=None, out=None")                      \
    X(transpose, "/, *axes")                                                             \
    X(var, "/, axis=None, dtype=None, out=None, ddof=0, **kwargs")                       \
    X(view, "/, *args, **kwargs")                                                        \
    X(__array__, "dtype=None, /, *, copy=None")                                          \
    X(__array_function__, "/, func, types, args, kwargs")                                \
    X(__array_namespace__, "/, *, api_version=None")                                     \
    X(__array_ufunc__, "ufunc, method, /, *inputs, **kwargs")                            \
    X(__array_wrap__, "array, context=None, return_scalar=True, /")                      \
    X(__array_finalize__, "obj, /")                                                      \
    X(__complex__, "/")                                                                  \
    X(__copy__, "/")                                                                     \
    X(__deepcopy__, "memo, /")                                                           \
    X(__dlpack__, "/, *, stream=None, max_version=None, dl_device=None, copy=None")      \
    X(__dlpack_device__, "/")                                                            \
    X(__format__, "spec, /")                                                             \
    X(__reduce__, "/")                                                                   \
    X(__reduce_ex__, "protocol, /")                                                      \
    X(__setstate__, "state, /")                                                          \
    X(__sizeof__, "/")                                                                   \
    X(_repr_html_, "/")                                                                  \
    X(_repr_mimebundle_, "include=None, exclude=None")

#define ASN_DECLARE(name, text) ASN_METHOD(name);
ASN_METHOD_LIST(ASN_DECLARE)
#undef ASN_DECLARE

/* r after the call that made it: itself, or NULL with the failure raised. Unlike
 * asn_ndarray_finish, 0-d stays. */
PyObject *asn_ndarray_made(asn_ndarray *r, asn_status status);
/* A copy of exactly ndarray; order 'C', 'F', 'A', 'K'. New reference, or NULL. */
PyObject *asn_copy_cast(PyObject *self, asn_dtype dtype, char order);
/* Shared with the functions of the same names; `self` is an ndarray. copy: as
 * asn_copy_mode_from_py gives it; shape: an int or a sequence of ints, with one -1 at
 * most. A view where the layout allows it. */
PyObject *asn_reshape_run(PyObject *self, PyObject *shape, char order, int copy);
/* self as 1-d without gaps: a view where it is contiguous in that order. */
PyObject *asn_ravel_run(PyObject *self, char order);
/* axes: None or NULL for the reversed order, or a sequence of axes. */
PyObject *asn_transpose_run(PyObject *self, PyObject *axes);
/* functions_axes.c: one axis number, bools among them, that fits C's int */
int asn_axis_number_from_py(PyObject *obj, int64_t *out);
PyObject *asn_swapaxes_run(PyObject *self, PyObject *axis1, PyObject *axis2);
/* mode: NumPy's text, NULL for "raise". */
PyObject *asn_take_run(PyObject *self, PyObject *indices, PyObject *axis, PyObject *out,
                       PyObject *mode);
/* A sorted copy, or with `arg` the positions that sort; axis NULL: the last, None:
 * flattened. kind, order and stable are checked, and change nothing; descending may be
 * NULL, None or numpy._NoValue, too. */
PyObject *asn_sorted_run(PyObject *self, PyObject *axis, PyObject *kind, PyObject *order,
                         PyObject *stable, PyObject *descending, bool arg);
/* kth: ascending positions of the last axis. */
PyObject *asn_order_statistics_run(PyObject *self, PyObject *kth);
/* The same, partitioned: the elements at the positions kth are where a sort would have
 * them, smaller ones before. kth: an int or ints. */
PyObject *asn_partitioned_run(PyObject *self, PyObject *kth, PyObject *axis,
                              PyObject *kind, PyObject *order, bool arg);
PyObject *asn_squeeze_run(PyObject *self, PyObject *axis);
/* acl_tensor.c: (capsule, address, strides, offset, storage, its elements) of a new
 * aclTensor, which ends with the capsule. ValueError: CANN has none of the layout. */
PyObject *asn_acl_tensor_parts(PyObject *self);
/* kwargs: a dict of the ufunc's keywords, or NULL. */
PyObject *asn_clip_run(PyObject *self, PyObject *low, PyObject *high, PyObject *out,
                       PyObject *kwargs);
PyObject *asn_round_run(PyObject *self, PyObject *decimals, PyObject *out);
/* repeats: an int, or integers that broadcast to the axis; axis None or NULL: flattened.
 */
PyObject *asn_repeat_run(PyObject *self, PyObject *repeats, PyObject *axis);
/* Positions that keep self sorted, of int64; side: "left" (NULL) or "right"; sorter:
 * positions that sort self, or None. */
PyObject *asn_searchsorted_run(PyObject *self, PyObject *v, PyObject *side,
                               PyObject *sorter);
/* A tuple of int64 arrays, one for each axis. ValueError of no dimensions. */
PyObject *asn_nonzero_run(PyObject *self);
/* Both are ndarrays. out: of exactly the result's dtype and shape, row-major; None: new.
 */
PyObject *asn_dot_run(PyObject *a, PyObject *b, PyObject *out);
/* A helper of asnumpy._support, which is imported at the first call:
 * support.name(args...). New reference, or NULL with its exception. */
PyObject *asn_support_call(const char *name, PyObject *const *args, size_t nargs);

#endif
