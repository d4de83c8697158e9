/* L3 C binding: functions that programs put in a ufunc's place (asnp_replace). */
#ifndef ASN_CAPI_REPLACED_H
#define ASN_CAPI_REPLACED_H

#include <stdatomic.h>

#include "capi/capi.h"

/* A ufunc's call that was checked: one or two operations over the same arguments. */
typedef struct {
    const char *name;
    asn_op op[2];
    int num_out;
    asn_operand in[3];
} asn_capi_call;
/* Reads a call's arguments, with the library's lock held (ufunc.c). TYPE: another number
 * of arguments or results. VALUE: there is no such operation. */
ASN_CHECK_RESULT asn_status asn_capi_read_call(asn_capi_call *c, const char *name,
                                               int32_t num_in, const asnp_operand *in,
                                               int32_t num_out);

/* How many registrations are in a ufunc's place: nothing is looked for while none is. */
extern _Atomic int32_t asn_capi_replacing;

/* The most specific one in the place of a ufunc (the name as asnp_ufunc_name has it, that
 * very text) for a loop's dtype on the device of a number; false: none. The library's
 * lock is held (registry.c). */
bool asn_capi_replacement(const char *ufunc, int number, asn_dtype dtype,
                          asnp_registration *out);

/* Calls what is in the place of the ufunc, if anything is for this call, without the
 * library's lock. *done tells; then made[0 ... num_out) are new arrays, the caller's.
 * into, where: of a call that writes into arrays; NULL else. */
asnp_status asn_capi_replaced(const char *name, int32_t num_in, const asnp_operand *in,
                              int32_t num_out, asnp_array *const *into,
                              const asnp_array *where, asnp_array **made, bool *done);

/* Runs a registration's function, for which the ufunc of that name is the built-in. */
asnp_status asn_capi_run_beside(const char *ufunc, const asnp_registration *r,
                                int32_t num_in, asnp_array *const *in, int32_t num_out,
                                asnp_array **out);

#endif
