/* CPU device, operators: the plan of attention of inference, whose body is
 * infer_attention.c and whose planner infer_plan.c. */
#ifndef ASN_DEVICE_OPAPI_NN_INFER_ATTENTION_H
#define ASN_DEVICE_OPAPI_NN_INFER_ATTENTION_H

#include "device/opapi/nn/attention.h"

/* Operands; -1: absent. lists: how many tensors keys (and values) are. */
typedef struct {
    asnd_plan_head head;
    asnd_attention a;
    asnd_attn_layout layout, out_layout;
    int q[2], k[2], v, pse, mask, table, sink, out, lse, lists;
    bool short_queries, mask_by_batch;
    int64_t batches, longest_q, longest_k, all_keys, block;
    asnd_sequence sequences[];
} asnd_infer;

/* The body of an asnd_infer. */
ASN_CHECK_RESULT asn_status asn_infer_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp);

#endif
