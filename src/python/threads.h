/* L3 python: what stands for the interpreter's global lock where there is none.
 *
 * With the global lock only one thread at a time is in the extension, and what is here
 * costs nothing. Without it (CPython's free-threaded builds)
 *   - the core serialises its calls on its own lock (graph/lock.h);
 *   - what an object of ours keeps beside its array is changed inside a critical section
 *     of that object, which the interpreter suspends where a thread waits, as it would
 *     let go of the global lock;
 *   - tables of the process have an asn_mutex, under which no Python code runs;
 *   - a switch or a counter is read and written whole (ASN_READ, ASN_WRITE).
 * A list that another thread may change is read as a tuple (asn_items_of), never in
 * place.
 */
#ifndef ASN_PYTHON_THREADS_H
#define ASN_PYTHON_THREADS_H

#include <Python.h>
#include <stdbool.h>

#ifdef Py_GIL_DISABLED
enum { ASN_FREE_THREADED = true };
typedef PyMutex asn_mutex;
static inline void asn_mutex_lock(asn_mutex *m) {
    PyMutex_Lock(m);
}
static inline void asn_mutex_unlock(asn_mutex *m) {
    PyMutex_Unlock(m);
}
#else
enum { ASN_FREE_THREADED = false };
typedef char asn_mutex;
static inline void asn_mutex_lock(asn_mutex *m) {
    (void)m;
}
static inline void asn_mutex_unlock(asn_mutex *m) {
    (void)m;
}
#endif

/* Before 3.13 there are none, nor interpreters that need them. */
#ifndef Py_BEGIN_CRITICAL_SECTION
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION()         }
#endif

#define ASN_READ(place)         __atomic_load_n(&(place), __ATOMIC_RELAXED)
#define ASN_WRITE(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELAXED)
#define ASN_COUNT(place)        __atomic_fetch_add(&(place), 1, __ATOMIC_RELAXED)

#endif
