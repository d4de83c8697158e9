/* AsNumpy in C: the registry of operators. Include asnumpy/asnumpy.h.
 *
 * An operator has implementations: for everything, for a device, for a dtype, or for a
 * dtype on a device. A call takes the most specific one that fits its arrays, and among
 * those the one of the highest priority. The ufuncs of asnp_ufunc_name are registered for
 * everything with priority 0. An implementation is removed when no thread calls it.
 */
#ifndef ASNUMPY_REGISTRY_H_
#define ASNUMPY_REGISTRY_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes num_out arrays of num_in ones: new handles, on success only. */
typedef asnp_status (*asnp_operator)(int32_t num_in, asnp_array *const *in,
                                     int32_t num_out, asnp_array **out, void *context);

/* What an operator that fails returns: sets asnp_message to the sentence. VALUE: a status
 * that is no failure. */
ASNUMPY_API asnp_status asnp_fail(asnp_status status, const char *sentence);

typedef struct {
    const char *name;
    const char *device; /* "cpu", "ascend", perhaps with a number: "ascend:1"; NULL:
                           any */
    asnp_dtype dtype;   /* of all arrays, promoted; ASNP_DTYPE_NONE: any */
    int32_t priority;
    asnp_operator function;         /* of a found one NULL: a ufunc of the table */
    void *context;                  /* handed to the function */
    void (*release)(void *context); /* NULL, or called when it is removed */
    const char *owner, *file;       /* who registers it, and where: __FILE__ */
    int32_t line;                   /* __LINE__ */
} asnp_registration;

/* Copies what it is given. RUNTIME: name, device, dtype and priority are taken; the
 * message says by whom. VALUE: another device. On failure release is not called. */
ASNUMPY_API asnp_status asnp_register(const asnp_registration *r);
/* VALUE: there is none, or it is a ufunc of the table. device may be NULL. */
ASNUMPY_API asnp_status asnp_unregister(const char *name, const char *device,
                                        asnp_dtype dtype, int32_t priority);
/* What a call with arrays of a dtype (NONE: no arrays) on a device (NULL: the one in use)
 * would take; its strings stay until it is removed. VALUE: nothing fits. */
ASNUMPY_API asnp_status asnp_find(const char *name, const char *device, asnp_dtype dtype,
                                  asnp_registration *out);
/* Registered implementation i, i = 0, 1, ..., without the table's. INDEX: past the last.
 */
ASNUMPY_API asnp_status asnp_registered(int32_t i, asnp_registration *out);
/* Calls an operator. VALUE: nothing fits; and what the operator says. */
ASNUMPY_API asnp_status asnp_call(const char *name, int32_t num_in, asnp_array *const *in,
                                  int32_t num_out, asnp_array **out);

#ifdef __cplusplus
}
#endif
#endif
