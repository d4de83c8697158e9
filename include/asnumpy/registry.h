/* AsNumpy in C: the registry of operators. Include asnumpy/asnumpy.h.
 *
 * An operator has implementations: for everything, for a device, for a dtype, or for a
 * dtype on a device. A call takes the most specific one that fits its arrays, and among
 * those the one of the highest priority. The ufuncs of asnp_ufunc_name are registered for
 * everything with priority 0. An implementation is removed when no thread calls it.
 *
 * Names may have a namespace: "npu::custom_matmul_v2". ATen's names are answered: one of
 * an elementwise operation ("aten::sub", "aten::eq.Tensor") by what is registered for it
 * and for the ufunc that it stands for, and aten::mm, bmm, mv, matmul, dot, outer, sum,
 * prod, mean, amax and amin (of all elements). No name that ends in "_" is (in place).
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
    asnp_operator function;         /* of a found one NULL: its name is a ufunc */
    void *context;                  /* handed to the function */
    void (*release)(void *context); /* NULL, or called when it is removed */
    const char *owner, *file;       /* who registers it, and where: __FILE__ */
    int32_t line;                   /* __LINE__ */
} asnp_registration;

/* Copies what it is given. RUNTIME: name, device, dtype and priority are taken; the
 * message says by whom. VALUE: another device. On failure release is not called. */
ASNUMPY_API asnp_status asnp_register(const asnp_registration *r);
/* The same for everything, under a name of ATen's: without a namespace "aten::" comes
 * before it. RUNTIME: the name is taken with that priority; 0 is what is built in. */
ASNUMPY_API asnp_status asnp_register_aten_op(const char *name, asnp_operator function,
                                              void *context, int32_t priority);
/* VALUE: there is none, or it is built in. device may be NULL. */
ASNUMPY_API asnp_status asnp_unregister(const char *name, const char *device,
                                        asnp_dtype dtype, int32_t priority);
/* Whether a registration also takes the place of the ufunc of its name (or of its ATen
 * name): in asnp_ufunc, asnp_ufunc_into, asnp_unary, asnp_binary, asnp_add and their
 * like, for arrays for which it is registered. Only the computing is replaced: the
 * function is called with arrays of the dtypes of the ufunc's loop, each of its own shape
 * (a number is an array of no dimensions), and makes arrays of the loop's result dtype
 * and of the shape to which those broadcast; TYPE where it does not. Calls that the ufunc
 * refuses are left to it. While it runs, its thread reaches the built-in under the
 * ufunc's name. Nothing is paid while nothing is replaced. on: 1, or 0 to leave the
 * place, as asnp_unregister does. VALUE: no such registration; the name is no ufunc's
 * ("where" is none here); one for everything whose priority is not above the built-in's,
 * 0. */
ASNUMPY_API asnp_status asnp_replace(const char *name, const char *device,
                                     asnp_dtype dtype, int32_t priority, int32_t on);
/* What a call with arrays of a dtype (NONE: no arrays) on a device (NULL: the one in use)
 * would take; its strings stay until it is removed. VALUE: nothing fits. */
ASNUMPY_API asnp_status asnp_find(const char *name, const char *device, asnp_dtype dtype,
                                  asnp_registration *out);
/* Registered implementation i, i = 0, 1, ..., without the table's. INDEX: past the last.
 */
ASNUMPY_API asnp_status asnp_registered(int32_t i, asnp_registration *out);
/* Another number after each registration and removal. */
ASNUMPY_API uint64_t asnp_registry_version(void);
/* Calls an operator. VALUE: nothing fits; and what the operator says. */
ASNUMPY_API asnp_status asnp_call(const char *name, int32_t num_in, asnp_array *const *in,
                                  int32_t num_out, asnp_array **out);

/* The same with the implementation that asnp_find finds for a device and a dtype, of
 * which either may be left to the arrays (NULL, NONE). */
ASNUMPY_API asnp_status asnp_call_as(const char *name, const char *device,
                                     asnp_dtype dtype, int32_t num_in,
                                     asnp_array *const *in, int32_t num_out,
                                     asnp_array **out);

#ifdef __cplusplus
}
#endif
#endif
