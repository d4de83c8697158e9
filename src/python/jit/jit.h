/* L3 python: asnumpy.jit: what its files share (jit.c the type, jit_key.c calls as keys,
 * jit_tree.c results as templates, jit_trace.c the first call).
 *
 * A call is a tree of leaves. Arrays are arguments of a replay (graph/capture/replay.h);
 * of each the key has dtype, shape, strides, flags, and which other argument it shares
 * memory with. Everything else is known at trace time and in the key by its value. So two
 * calls with one key launch the same, with other addresses; what the function does
 * beside, in Python, is done in the first call alone. */
#ifndef ASN_PYTHON_JIT_JIT_H
#define ASN_PYTHON_JIT_JIT_H

#include "python/core.h"

#include "graph/capture/replay.h"

/* Limits of a call, past which it is an error: a key lies on the C stack. */
enum { ASN_JIT_ARRAYS = 256, ASN_JIT_STATICS = 512, ASN_JIT_KEY_BYTES = 16384 };

/* A call as a key. The arrays are owned (a NumPy array's is made for the call), statics
 * are borrowed. */
typedef struct {
    int num_arrays, num_statics; /* how many of arrays, statics */
    size_t length;               /* bytes that are used */
    uint64_t hash;
    bool broken; /* an argument is no leaf: the error is set */
    PyObject *arrays[ASN_JIT_ARRAYS];
    PyObject *statics[ASN_JIT_STATICS];
    uint8_t bytes[ASN_JIT_KEY_BYTES];
} asn_jit_key;

/* What results are made from: codes and constants (see jit_tree.c). Owns its lists. */
typedef struct {
    uint8_t *codes;
    size_t length, room;
    PyObject *constants; /* list */
    PyObject *arrays;    /* list of the arrays of a trace; dropped when it ends */
} asn_jit_tree;

/* One traced call: its key, its replay, its result's template. The key's arrays are not
 * kept. */
typedef struct asn_jit_entry {
    int refs;            /* changed in the critical section of the jit object */
    uint64_t hash, used; /* used: the tick of the last call */
    size_t length;
    uint8_t *key;
    int num_statics, num_arrays, num_results;
    bool constants;     /* it knows arrays from outside */
    bool compiled;      /* its programs were compiled, or cannot be */
    uint32_t replays;   /* until then */
    PyObject **statics; /* owns */
    asn_replay *replay;
    asn_jit_tree tree;
    PyObject *signature; /* the call's arguments, for explain */
} asn_jit_entry;

/* The object; all but `vectorcall` and `function` is changed in its critical section. */
typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *function, *names; /* names: frozenset of static keywords, or NULL */
    uint64_t numbers;           /* static positions */
    asn_jit_entry **entries;    /* owned; one reference each */
    Py_ssize_t count, most;
    uint64_t hits, misses, tick; /* of calls; tick counts uses */
    uint32_t hot; /* after so many replays a trace's programs are compiled; 0: never */
    PyObject *dict, *weakrefs;
} asn_jit;

/* jit_key.c. The key of a call; args as of a vectorcall. false: the error is set, and the
 * key is ended. asn_jit_key_fini releases its arrays. */
bool asn_jit_key_make(asn_jit_key *key, const asn_jit *jit, PyObject *const *args,
                      Py_ssize_t nargs, PyObject *kwnames);
void asn_jit_key_fini(asn_jit_key *key);
/* The call's arguments with other arrays in the places of its own, in the key's order: a
 * tuple and a dict (NULL: no keywords), new references. -1: an error. */
int asn_jit_key_replace(const asn_jit_key *key, const asn_jit *jit, PyObject *const *args,
                        Py_ssize_t nargs, PyObject *kwnames, PyObject *const *arrays,
                        PyObject **tuple, PyObject **dict);

/* jit_tree.c: reads what a function returned into *tree, which holds references to all of
 * it; -1: it holds what cannot be returned, or another error, and *tree is empty. */
int asn_jit_tree_read(asn_jit_tree *tree, PyObject *result);
void asn_jit_tree_fini(asn_jit_tree *tree);
/* The result with `arrays` in the places of the trace's, in their order. A new reference,
 * or NULL. */
PyObject *asn_jit_tree_make(const asn_jit_tree *tree, PyObject *const *arrays);

/* jit_trace.c: the first call: runs the function and writes down what it launches. The
 * result is new, *out an entry with one reference, or NULL where there is nothing to
 * replay (or an error). */
PyObject *asn_jit_trace(const asn_jit *jit, const asn_jit_key *key, PyObject *const *args,
                        Py_ssize_t nargs, PyObject *kwnames, asn_jit_entry **out);
/* The arrays of a replay, or of a trace, as a result; takes `results`, whatever comes of
 * it. Those that are an argument, all of it, are that argument. */
PyObject *asn_jit_results(const asn_jit_entry *e, const asn_jit_key *key,
                          asn_array *results);
/* NULL is allowed. In the jit object's critical section, where others may have it. */
void asn_jit_entry_release(asn_jit_entry *e);

int asn_jit_init_type(PyObject *module);

#endif
