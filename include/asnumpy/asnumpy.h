/* AsNumpy's array library in C: NumPy's functions behind the prefix asnp_.
 *
 * Arrays are opaque handles with NumPy's semantics: views share memory, dtypes promote as
 * in NumPy 2, operations are recorded and fused and run when a value is needed.
 *
 * - Every fallible function returns an asnp_status, 0 (ASNP_OK) or what went wrong; after
 *   a failure asnp_message() is a sentence about it, the thread's own.
 * - A function that makes an array writes a new handle to its last argument, on success
 *   only; the caller owns it and ends it with asnp_release. Nothing else is owned.
 * - Functions take handles and leave them alone, except for those that say where they
 *   write. A NULL handle is an ASNP_ERROR_NULL_POINTER, never a crash.
 * - Shapes count elements, strides bytes; axes and indices count from the end when
 *   negative.
 * - Any thread may call, on common handles too: calls take turns. A handle is released
 * when no thread uses it any more.
 *
 *     asnp_array *a = NULL, *b = NULL, *c = NULL;
 *     if (asnp_linspace(0, 1, 1000, &a) || asnp_unary("sqrt", a, &b) ||
 *         asnp_sum(b, 0, NULL, 0, &c))
 *         fprintf(stderr, "%s\n", asnp_message());
 *     asnp_release(a), asnp_release(b), asnp_release(c);
 *
 * cc program.c $(pkg-config --cflags --libs asnumpy); the device's libraries are found
 * beside the library's own. C11, C++11 and later.
 */
#ifndef ASNUMPY_ASNUMPY_H_
#define ASNUMPY_ASNUMPY_H_

#include "asnumpy/array.h"
#include "asnumpy/balance.h"
#include "asnumpy/fft.h"
#include "asnumpy/graph.h"
#include "asnumpy/index.h"
#include "asnumpy/io.h"
#include "asnumpy/kv_cache.h"
#include "asnumpy/linalg.h"
#include "asnumpy/memory.h"
#include "asnumpy/order.h"
#include "asnumpy/precision.h"
#include "asnumpy/profile.h"
#include "asnumpy/random.h"
#include "asnumpy/registry.h"
#include "asnumpy/runtime.h"
#include "asnumpy/sparse.h"
#include "asnumpy/stream.h"
#include "asnumpy/types.h"
#include "asnumpy/ufunc.h"

#endif
