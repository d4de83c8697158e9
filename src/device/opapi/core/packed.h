/* CPU device, operators: bodies that are plain loops over packed copies.
 *
 * An operator that is neither a fused program nor a kernel of the array library takes its
 * tensors as row-major arrays of one dtype, computes in a loop of its own, and moves the
 * result to where the program wants it: strides, halves and overlapping operands cost a
 * copy and no code. Such a plan holds every argument by parameter index.
 */
#ifndef ASN_DEVICE_OPAPI_CORE_PACKED_H
#define ASN_DEVICE_OPAPI_CORE_PACKED_H

#include "device/opapi/core/plan.h"

typedef struct {
    asnd_plan_head head;
    int at[ASN_FEW_PARAMS];       /* operands by parameter; -1: absent, no tensor */
    asnd_arg arg[ASN_FEW_PARAMS]; /* integers and doubles; an aclScalar as a double */
    asn_dtype loop;               /* what the planner chose to compute in */
    int kind, axis;
    int64_t n[4]; /* extents, as the body wants them */
} asnd_packed;

/* A plan with the call's arguments; NULL with the error set. */
asnd_packed *asn_packed_plan(asnd_call *c, asnd_body_fn fn, double work_ns);

/* The tensor of parameter i, or any view, row-major in `dtype`: itself where it is so. */
ASN_CHECK_RESULT asn_status asn_packed_in(aclOpExecutor *e, const asnd_packed *p, int i,
                                          asn_dtype dtype, asnd_tmp *tmp, asnd_view *v);
ASN_CHECK_RESULT asn_status asn_packed_of(const asnd_nd *a, asn_dtype dtype,
                                          asnd_tmp *tmp, asnd_view *v);
/* The same: *values, a pointer to elements, gets the address of the first. */
ASN_CHECK_RESULT asn_status asn_packed_data(const asnd_nd *a, asn_dtype dtype,
                                            asnd_tmp *tmp, void *values);
/* The same as asn_packed_of, broadcast to a shape that it fits. */
ASN_CHECK_RESULT asn_status asn_packed_like(const asnd_nd *a, const asnd_nd *shape,
                                            asn_dtype dtype, asnd_tmp *tmp, asnd_view *v);
/* A row-major temporary of the output's shape; asn_packed_done writes it. */
ASN_CHECK_RESULT asn_status asn_packed_out(aclOpExecutor *e, const asnd_packed *p, int i,
                                           asn_dtype dtype, asnd_tmp *tmp, asnd_view *v);
ASN_CHECK_RESULT asn_status asn_packed_done(aclOpExecutor *e, const asnd_packed *p, int i,
                                            const asnd_view *v);

/* Where each group of rows ends, from such numbers (of parameter `name`) or, sizes, from
 * their sizes: they ascend to `all` at most. */
ASN_CHECK_RESULT asn_status asn_packed_ends(const aclOpExecutor *e, const char *name,
                                            const int64_t *given, int64_t groups,
                                            bool sizes, int64_t all, asnd_tmp *tmp,
                                            const int64_t **ends);

/* float64 for float64, else float32: what halves are computed in. */
static inline asn_dtype asn_wide_dtype(asn_dtype t) {
    return t == ASN_F64 ? ASN_F64 : ASN_F32;
}
/* Parameter i is of one of these dtypes: bits by asn_dtype. */
ASN_CHECK_RESULT asn_status asn_call_one_of(const asnd_call *c, int i, uint32_t dtypes);
/* Parameter i, if it is there, is of float32 or a half: what is computed in float32. */
ASN_CHECK_RESULT asn_status asn_call_single(const asnd_call *c, int i);
/* Parameter i has this many dimensions. */
ASN_CHECK_RESULT asn_status asn_call_rank(const asnd_call *c, int i, int least, int most);

#define ASN_BIT(t) (UINT32_C(1) << (t))

#endif
