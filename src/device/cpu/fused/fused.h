/* CPU device: the fused elementwise engine. See aclnn/aclnnx.h for what a program is.
 *
 * asn_cpu_fused validates and runs a program on the calling thread and the pool; opcodes
 * are asn_op values (ASN_OP_CAST included) and reduceOp likewise. It owns nothing after
 * it returns. Errors: ASN_ERR_VALUE for a malformed program, ASN_ERR_NO_LOOP for a dtype
 * without a loop, ASN_ERR_MEMORY.
 */
#ifndef ASN_DEVICE_CPU_FUSED_FUSED_H
#define ASN_DEVICE_CPU_FUSED_FUSED_H

#include "aclnn/aclnnx.h"
#include "base/status.h"
#include "device/cpu/kernels.h"
#include "device/cpu/nd.h"
#include "ops/ops.h"

/* Runs a program and returns when its outputs are written. p->fpFlags: NULL, or has the
 * floating-point exceptions raised or-ed in (ACLNNX_FP_*). Thread-safe, as all functions
 * here. */
ASN_CHECK_RESULT asn_status asn_cpu_fused(const aclnnxProgram *p);

/* One compiled loop over contiguous operands, called without a program. */
typedef struct {
    asnd_ew_fn fn;
    uint8_t num_in, item[3], out_item; /* element sizes in bytes */
    bool raises;                       /* exceptions it raises are the operation's */
} asnd_cpu_loop;
/* false: no loop of `op` for `dtype`. */
bool asn_cpu_loop_find(asnd_cpu_loop *l, asn_op op, asn_dtype dtype);
/* Likewise, the conversion's loop. */
bool asn_cpu_loop_cast(asnd_cpu_loop *l, asn_dtype from, asn_dtype to);
/* Bit k of `immediates`: src[k] is one element. Entries of src past the inputs are not
 * read. */
void asn_cpu_loop_run(const asnd_cpu_loop *l, int64_t n, void *dst,
                      const void *const src[3], unsigned immediates, uint32_t *fp_flags);

/* Estimated time on one thread in ns: what decides between running inline and a hand-off.
 */
double asn_cpu_fused_work(const aclnnxProgram *p);

/* One operation over views that already have one shape (broadcast by 0 strides) and the
 * dtypes of `op`'s loop for `dtype`; `in` has as many entries as the row has inputs. out
 * may be an input exactly. fp_flags: NULL, or receives ACLNNX_FP_*. */
ASN_CHECK_RESULT asn_status asn_cpu_elementwise(asn_op op, asn_dtype dtype,
                                                const asnd_nd *const in[],
                                                const asnd_nd *out, uint32_t *fp_flags);

/* Conversion of dtype between views of one shape, with NumPy's C casts. */
ASN_CHECK_RESULT asn_status asn_cpu_cast(const asnd_nd *in, const asnd_nd *out,
                                         uint32_t *fp_flags);

/* Fills `out` with one element of its dtype. */
ASN_CHECK_RESULT asn_status asn_cpu_fill(const asnd_nd *out, const void *element);

#endif
