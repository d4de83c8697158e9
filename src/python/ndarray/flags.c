/* L3 python: the object behind ndarray.flags.
 *
 * It refers to the array, so that it shows the array's present state and
 * `a.flags.writeable = False` takes effect, as NumPy's does. `num` and item access use
 * NumPy's names and bits.
 *
 * NumPy computes each of a dozen names from five bits; so does this, by a table of rules
 * (bits that must be set, must not, or of which one must), from which both the attributes
 * and the item names are made. What must agree with NumPy is the table, the repr and the
 * errors of setting. */
#include "python/core.h"

typedef struct {
    PyObject_HEAD asn_ndarray *array; /* owns a reference */
} asn_flags;

/* NumPy's bits: NPY_ARRAY_C_CONTIGUOUS, _F_CONTIGUOUS, _OWNDATA, _ALIGNED, _WRITEABLE. */
enum { NUM_C = 1, NUM_F = 2, NUM_OWN = 4, NUM_ALIGNED = 0x100, NUM_WRITEABLE = 0x400 };

/* The array's state in NumPy's bits. An array owns its data if it has no base. */
static long flags_num(const asn_flags *f) {
    int flags = f->array->array.layout.flags;
    return (flags & ASN_C_CONTIGUOUS ? NUM_C : 0) |
           (flags & ASN_F_CONTIGUOUS ? NUM_F : 0) | (f->array->base ? 0 : NUM_OWN) |
           (flags & ASN_ALIGNED ? NUM_ALIGNED : 0) |
           (flags & ASN_WRITEABLE ? NUM_WRITEABLE : 0);
}

/* One name of NumPy's: what the bits must be for it to be true. */
typedef struct {
    const char *name, *key, *key2; /* attribute; the item names */
    long all, none;                /* bits that must be set, and must not */
    long any;                      /* with 0: no condition */
} flag_rule;

/* NumPy's BEHAVED: aligned and writeable; CARRAY adds row-major. FARRAY is documented as
 * BEHAVED and column-major, but one bit of those is enough for NumPy. */
enum { BEHAVED = NUM_ALIGNED | NUM_WRITEABLE };
static const flag_rule rules[] = {
    {"c_contiguous", "C_CONTIGUOUS", "C", NUM_C, 0, 0},
    {"contiguous", "CONTIGUOUS", "C_CONTIGUOUS", NUM_C, 0, 0},
    {"f_contiguous", "F_CONTIGUOUS", "F", NUM_F, 0, 0},
    {"fortran", "FORTRAN", "F_CONTIGUOUS", NUM_F, 0, 0},
    {"owndata", "OWNDATA", "O", NUM_OWN, 0, 0},
    {"writeable", "WRITEABLE", "W", NUM_WRITEABLE, 0, 0},
    {"aligned", "ALIGNED", "A", NUM_ALIGNED, 0, 0},
    {"behaved", "BEHAVED", "B", BEHAVED, 0, 0},
    {"carray", "CARRAY", "CA", BEHAVED | NUM_C, 0, 0},
    {"farray", "FARRAY", "FA", 0, NUM_C, BEHAVED | NUM_F},
    {"fnc", "FNC", "FNC", NUM_F, NUM_C, 0},
    {"forc", "FORC", "FORC", 0, 0, NUM_C | NUM_F},
};
enum { RULES = sizeof rules / sizeof *rules };

static bool rule_holds(const flag_rule *rule, long num) {
    return (num & rule->all) == rule->all && !(num & rule->none) &&
           (!rule->any || (num & rule->any));
}

static PyObject *get_rule(PyObject *self, void *closure) {
    return PyBool_FromLong(rule_holds(closure, flags_num((asn_flags *)self)));
}

static PyObject *get_num(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(flags_num((asn_flags *)self));
}

/* writebackifcopy is always false: there are no write-back copies. */
static PyObject *get_false(PyObject *self, void *unused) {
    (void)self, (void)unused;
    Py_RETURN_FALSE;
}

/* 1 or 0 of a value that a flag is set to; -1: deleting it, or the value has no truth. */
static int truth_of_setting(PyObject *value) {
    if (value) return PyObject_IsTrue(value);
    PyErr_SetString(PyExc_AttributeError, "Cannot delete flags attribute");
    return -1;
}

int asn_ndarray_set_writeback(PyObject *array, bool on) {
    (void)array;
    if (!on) return 0;
    PyErr_SetString(PyExc_ValueError, "cannot set WRITEBACKIFCOPY flag to True");
    return -1;
}

static int set_writeback(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    int on = truth_of_setting(value);
    return on < 0 ? -1
                  : asn_ndarray_set_writeback((PyObject *)((asn_flags *)self)->array, on);
}

/* Whether an array over memory of `base` may be made writeable: the base must be. Objects
 * of no kind that is known here are believed, as long as their buffer does not refuse. */
static bool base_is_writeable(PyObject *base) {
    if (asn_is_ndarray(base)) return asn_of(base)->layout.flags & ASN_WRITEABLE;
    if (PyArray_Check(base)) return PyArray_ISWRITEABLE((PyArrayObject *)base);
    Py_buffer view;
    if (!PyObject_CheckBuffer(base)) return true;
    bool writeable = PyObject_GetBuffer(base, &view, PyBUF_WRITABLE) == 0;
    if (writeable)
        PyBuffer_Release(&view);
    else
        PyErr_Clear();
    return writeable;
}

/* a.flags.writeable = on, and setflags(write=). Clearing always works; setting needs a
 * writeable base (NumPy's rule). The flag is the array's alone: other views keep theirs.
 */
int asn_ndarray_set_writeable(PyObject *array, bool on) {
    asn_ndarray *self = (asn_ndarray *)array;
    PyObject *base = self->base;
    if (on && base) {
        if (!base_is_writeable(base)) {
            PyErr_SetString(PyExc_ValueError,
                            "cannot set WRITEABLE flag to True of this array");
            return -1;
        }
    }
    uint8_t flags = self->array.layout.flags;
    self->array.layout.flags =
        (uint8_t)(on ? flags | ASN_WRITEABLE : flags & ~ASN_WRITEABLE);
    return 0;
}

static int set_writeable(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    int on = truth_of_setting(value);
    return on < 0 ? -1
                  : asn_ndarray_set_writeable((PyObject *)((asn_flags *)self)->array, on);
}

/* NumPy lets the flag be cleared, and set again where it is true. Views of the array find
 * out for themselves. */
int asn_ndarray_set_aligned(PyObject *array, bool on) {
    asn_layout *l = &((asn_ndarray *)array)->array.layout;
    asn_layout_update(l);
    if (!on) {
        l->flags &= (uint8_t)~ASN_ALIGNED;
    } else if (!(l->flags & ASN_ALIGNED)) {
        PyErr_SetString(PyExc_ValueError,
                        "cannot set aligned flag of mis-aligned array to True");
        return -1;
    }
    return 0;
}

static int set_aligned(PyObject *self, PyObject *value, void *unused) {
    (void)unused;
    int on = truth_of_setting(value);
    return on < 0 ? -1
                  : asn_ndarray_set_aligned((PyObject *)((asn_flags *)self)->array, on);
}

static PyGetSetDef flags_getset[RULES + 3] = {
    {"num", get_num, NULL, "The flags as NumPy's integer.", NULL},
    {"writebackifcopy", get_false, set_writeback,
     "Always False: there are no write-back copies.", NULL},
};

/* The rule that an item name asks for, or NULL. */
static const flag_rule *find_rule(PyObject *key) {
    if (!PyUnicode_Check(key)) return NULL;
    for (int i = 0; i < RULES; i++)
        if (PyUnicode_CompareWithASCIIString(key, rules[i].key) == 0 ||
            PyUnicode_CompareWithASCIIString(key, rules[i].key2) == 0)
            return &rules[i];
    return NULL;
}

static bool is_writeback(PyObject *key) {
    return PyUnicode_Check(key) &&
           (PyUnicode_CompareWithASCIIString(key, "WRITEBACKIFCOPY") == 0 ||
            PyUnicode_CompareWithASCIIString(key, "X") == 0);
}

/* flags["NAME"]: by the long and the short names; KeyError as NumPy's. */
static PyObject *flags_subscript(PyObject *self, PyObject *key) {
    const flag_rule *rule = find_rule(key);
    if (rule) return get_rule(self, (void *)rule);
    if (is_writeback(key)) Py_RETURN_FALSE;
    PyErr_SetString(PyExc_KeyError, "Unknown flag");
    return NULL;
}

/* Only WRITEABLE, ALIGNED and WRITEBACKIFCOPY can be set, by either name. */
static int flags_ass_subscript(PyObject *self, PyObject *key, PyObject *value) {
    const flag_rule *rule = find_rule(key);
    if (rule && rule->all == NUM_WRITEABLE) return set_writeable(self, value, NULL);
    if (rule && rule->all == NUM_ALIGNED) return set_aligned(self, value, NULL);
    if (is_writeback(key)) return set_writeback(self, value, NULL);
    PyErr_SetString(PyExc_KeyError, "Unknown flag");
    return -1;
}

static PyObject *flags_repr(PyObject *self) {
    long num = flags_num((asn_flags *)self);
#define WORD(bit) (num & (bit) ? "True" : "False")
    return PyUnicode_FromFormat(
        "  C_CONTIGUOUS : %s\n  F_CONTIGUOUS : %s\n  OWNDATA : %s\n  WRITEABLE : %s\n"
        "  ALIGNED : %s\n  WRITEBACKIFCOPY : False\n",
        WORD(NUM_C), WORD(NUM_F), WORD(NUM_OWN), WORD(NUM_WRITEABLE), WORD(NUM_ALIGNED));
#undef WORD
}

/* Two flags objects are equal where their bits are; they have no order and no hash. */
static PyObject *flags_richcompare(PyObject *self, PyObject *other, int op) {
    if (Py_TYPE(other) != asn_py.flags || (op != Py_EQ && op != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    bool same = flags_num((asn_flags *)self) == flags_num((asn_flags *)other);
    return PyBool_FromLong(same == (op == Py_EQ));
}

static void flags_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((asn_flags *)self)->array);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject *asn_flags_new(PyObject *array) {
    asn_flags *self = (asn_flags *)asn_py.flags->tp_alloc(asn_py.flags, 0);
    if (self) self->array = (asn_ndarray *)Py_NewRef(array);
    return (PyObject *)self;
}

/* The attributes are filled in from the rules; the last entry stays zero and ends the
 * list. */
int asn_flags_init_type(PyObject *module) {
    for (int i = 0; i < RULES; i++)
        flags_getset[2 + i] = (PyGetSetDef){rules[i].name, get_rule,
                                            rules[i].all == NUM_WRITEABLE ? set_writeable
                                            : rules[i].all == NUM_ALIGNED ? set_aligned
                                                                          : NULL,
                                            NULL, (void *)&rules[i]};
    PyType_Slot slots[] = {
        {Py_tp_dealloc, flags_dealloc},
        {Py_tp_getset, flags_getset},
        {Py_tp_repr, flags_repr},
        {Py_tp_richcompare, flags_richcompare},
        {Py_tp_hash, PyObject_HashNotImplemented},
        {Py_mp_subscript, flags_subscript},
        {Py_mp_ass_subscript, flags_ass_subscript},
        {0, NULL},
    };
    PyType_Spec spec = {"asnumpy._core.flagsobj", sizeof(asn_flags), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    asn_py.flags = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return asn_py.flags ? 0 : -1;
}
