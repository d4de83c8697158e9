/* L3 python: one argument parser driven by signature text.
 *
 * A function's signature is written once, as the text that inspect.signature shows; the
 * same text, parsed at the first call into interned names and counts, drives the parsing
 * of calls. Defaults stay text: an absent argument is NULL to the implementation, which
 * knows what its default means.
 *
 * Interned keyword names are compared by pointer first; only a caller with a computed
 * name pays for comparisons.
 */
#include "python/args.h"

/* Past a parameter's default: to the comma that ends it, outside brackets and quotes. */
static const char *skip_default(const char *p) {
    int depth = 0;
    char quote = 0;
    for (; *p; p++) {
        if (quote) {
            if (*p == quote) quote = 0;
        } else if (*p == '\'') {
            quote = *p;
        } else if (*p == '(' || *p == '[') {
            depth++;
        } else if (*p == ')' || *p == ']') {
            depth--;
        } else if (*p == ',' && depth == 0) {
            break;
        }
    }
    return p;
}

/* The next parameter; -1: there are too many, or memory ran out. */
static int add_name(asn_signature *sig, const char *start, size_t length, bool required) {
    if (sig->count == ASN_MAX_ARGS) {
        PyErr_Format(PyExc_SystemError, "%s: too many parameters", sig->name);
        return -1;
    }
    PyObject *name = PyUnicode_FromStringAndSize(start, (Py_ssize_t)length);
    if (!name) return -1;
    PyUnicode_InternInPlace(&name);
    sig->names[sig->count] = name;
    if (required) sig->required_mask |= 1u << sig->count;
    sig->count++;
    return 0;
}

/* The whole text into counts and names. "/" ends the positional-only ones, a bare "*"
 * begins the keyword-only ones. -1: an error. */
static int parse_text(asn_signature *sig) {
    bool keyword_only = false;
    const char *p = sig->text;
    while (*p) {
        while (*p == ' ' || *p == ',')
            p++;
        if (!*p) break;
        if (*p == '/') {
            sig->positional_only = sig->count;
            p++;
            continue;
        }
        int stars = 0;
        while (*p == '*')
            p++, stars++;
        const char *start = p;
        while (*p && *p != ',' && *p != '=' && *p != ' ')
            p++;
        size_t length = (size_t)(p - start);
        bool required = *p != '=' && stars == 0;
        p = skip_default(p);
        if (stars && length == 0) {
            keyword_only = true;
            continue;
        }
        if (add_name(sig, start, length, required) < 0) return -1;
        if (stars == 1) {
            sig->var_positional = keyword_only = true;
        } else if (stars == 2) {
            sig->var_keyword = true;
        } else if (!keyword_only) {
            sig->positional++;
            if (required) sig->required = sig->positional;
        } else if (required) {
            sig->keyword_required = true;
        }
    }
    return 0;
}

/* Two threads may both parse it: the first one's is the signature. */
static int signature_parse(asn_signature *sig) {
    static asn_mutex mutex;
    asn_signature parsed = {.name = sig->name, .text = sig->text};
    if (parse_text(&parsed) < 0) return -1;
    asn_mutex_lock(&mutex);
    if (!sig->ready) {
        *sig = parsed;
        __atomic_store_n(&sig->ready, true, __ATOMIC_RELEASE);
    }
    asn_mutex_unlock(&mutex);
    return 0;
}

/* Python's words for it; -1. */
static int too_many(const asn_signature *sig, Py_ssize_t got) {
    if (sig->required == sig->positional)
        PyErr_Format(PyExc_TypeError,
                     "%s() takes %d positional argument%s but %zd %s given", sig->name,
                     sig->positional, sig->positional == 1 ? "" : "s", got,
                     got == 1 ? "was" : "were");
    else
        PyErr_Format(PyExc_TypeError,
                     "%s() takes from %d to %d positional arguments but %zd were given",
                     sig->name, sig->required, sig->positional, got);
    return -1;
}

/* Index of the parameter `name` may set by keyword, -1 if none, -2 on error. */
static int find_name(const asn_signature *sig, PyObject *name) {
    int last = sig->count - sig->var_keyword;
    for (int i = sig->positional_only; i < last; i++)
        if (sig->names[i] == name) return i;
    for (int i = sig->positional_only; i < last; i++) {
        int same = PyObject_RichCompareBool(sig->names[i], name, Py_EQ);
        if (same) return same < 0 ? -2 : i;
    }
    return -1;
}

/* One keyword's value into its slot, or into the dict of "**kw". -1: unexpected, or given
 * already. */
static int take_keyword(const asn_signature *sig, PyObject *name, PyObject *value,
                        PyObject **values) {
    int i = find_name(sig, name);
    if (i == -2) return -1;
    if (i == -1 || (sig->var_positional && i == sig->positional)) {
        if (!sig->var_keyword) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%S'",
                         sig->name, name);
            return -1;
        }
        PyObject **extra = &values[sig->count - 1];
        if (!*extra && !(*extra = PyDict_New())) return -1;
        return PyDict_SetItem(*extra, name, value);
    }
    if (values[i]) {
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'",
                     sig->name, sig->names[i]);
        return -1;
    }
    values[i] = value;
    return 0;
}

/* Python's words: "f() missing 2 required positional arguments: 'a' and 'b'". 0: nothing
 * is missing. */
static int missing(const asn_signature *sig, PyObject **values) {
    PyObject *list = NULL;
    int count = 0, left = 0;
    for (int i = 0; i < sig->count; i++)
        left += (sig->required_mask >> i & 1) && !values[i];
    if (!left) return 0;
    for (int i = 0; i < sig->count; i++) {
        if (!(sig->required_mask >> i & 1) || values[i]) continue;
        const char *glue = count == 0   ? ""
                           : left > 1   ? ", "
                           : count == 1 ? " and "
                                        : ", and ";
        PyObject *longer =
            PyUnicode_FromFormat("%V%s'%U'", list, "", glue, sig->names[i]);
        Py_XSETREF(list, longer);
        if (!list) return -1;
        count++, left--;
    }
    PyErr_Format(PyExc_TypeError, "%s() missing %d required positional argument%s: %U",
                 sig->name, count, count == 1 ? "" : "s", list);
    Py_DECREF(list);
    return -1;
}

/* Releases what parsing made itself, after a failure. */
static int fail(const asn_signature *sig, PyObject **values) {
    if (sig->var_positional) Py_CLEAR(values[sig->positional]);
    if (sig->var_keyword) Py_CLEAR(values[sig->count - 1]);
    return -1;
}

/* (Contract in args.h.) The quick way in args.h has done the calls that have no keywords
 * and the right number of arguments. */
int asn_args_parse_slow(asn_signature *sig, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames, PyObject **values) {
    if (ASN_UNLIKELY(!__atomic_load_n(&sig->ready, __ATOMIC_ACQUIRE)) &&
        signature_parse(sig) < 0)
        return -1;
    /* The rest after `direct` arguments is "*args"; without such a parameter it was too
     * many. */
    Py_ssize_t direct = nargs < sig->positional ? nargs : sig->positional;
    if (ASN_UNLIKELY(nargs > sig->positional && !sig->var_positional))
        return too_many(sig, nargs);
    int i = 0;
    for (; i < direct; i++)
        values[i] = args[i];
    for (; i < sig->count; i++)
        values[i] = NULL;
    if (sig->var_positional) {
        PyObject *rest = PyTuple_New(nargs - direct);
        if (!rest) return -1;
        for (Py_ssize_t k = direct; k < nargs; k++)
            PyTuple_SET_ITEM(rest, k - direct, Py_NewRef(args[k]));
        values[sig->positional] = rest;
    }
    if (kwnames)
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); k++)
            if (take_keyword(sig, PyTuple_GET_ITEM(kwnames, k), args[nargs + k], values) <
                0)
                return fail(sig, values);
    if (sig->required_mask && missing(sig, values) < 0) return fail(sig, values);
    return 0;
}

/* (Contract in args.h.) Positions first, keywords out of the dict after them. */
int asn_args_parse_tuple(asn_signature *sig, PyObject *args, PyObject *kwargs,
                         PyObject **values) {
    if (asn_args_parse(sig, ((PyTupleObject *)args)->ob_item, PyTuple_GET_SIZE(args),
                       NULL, values) < 0) {
        /* A required argument may still come by keyword. */
        if (!kwargs || PyTuple_GET_SIZE(args) > sig->positional) return -1;
        PyErr_Clear();
        for (int i = 0; i < sig->count; i++)
            values[i] = i < PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, i) : NULL;
    }
    PyObject *name, *value;
    Py_ssize_t pos = 0;
    while (kwargs && PyDict_Next(kwargs, &pos, &name, &value))
        if (take_keyword(sig, name, value, values) < 0) return fail(sig, values);
    return missing(sig, values) < 0 ? fail(sig, values) : 0;
}
