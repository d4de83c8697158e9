/* CPU device, operators: the plan of FlashAttention, whose body is flash_attention.c and
 * whose planner flash_plan.c. */
#ifndef ASN_DEVICE_OPAPI_NN_FLASH_ATTENTION_H
#define ASN_DEVICE_OPAPI_NN_FLASH_ATTENTION_H

#include "device/opapi/nn/attention.h"

enum { ASN_FLASH_STATISTICS = 8 /* equal values a row */ };

/* Operands; -1: absent. Sequences are in the executor's memory. */
typedef struct {
    asnd_plan_head head;
    asnd_attention a; /* all but the addresses */
    asnd_attn_layout layout;
    bool backward;
    int q[2], k[2], v, pse, mask, drop, sink, out, max, sum;
    int dout, dq[2], dk[2], dvalue, dpse, dsink;
    int64_t batches, longest_q, longest_k;
    asnd_sequence sequences[];
} asnd_flash;

/* Statistics have the layout BNSD, or TND. */
static inline asnd_attn_layout asn_flash_statistics(const asnd_flash *p) {
    return p->layout == ASN_ATTN_TND ? ASN_ATTN_TND : ASN_ATTN_BNSD;
}

/* Bodies of an asnd_flash. */
ASN_CHECK_RESULT asn_status asn_flash_forward(aclOpExecutor *e, void *plan,
                                              asnd_tmp *tmp);
ASN_CHECK_RESULT asn_status asn_flash_backward(aclOpExecutor *e, void *plan,
                                               asnd_tmp *tmp);

#endif
