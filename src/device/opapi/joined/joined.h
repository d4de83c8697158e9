/* CPU device, operators: products joined with communication, what they share.
 *
 * A group of ranks is known by its name (HcclGetCommName). It is looked up when the
 * operator is planned; the executor keeps it and takes its place among the group's calls
 * when it is launched (asnrtGroups in acl/asnrt.h). */
#ifndef ASN_DEVICE_OPAPI_JOINED_JOINED_H
#define ASN_DEVICE_OPAPI_JOINED_JOINED_H

#include "device/opapi/core/inner.h"
#include "device/opapi/core/packed.h"

/* Looks up the group that parameter `name` names; the executor holds it from here on. */
ASN_CHECK_RESULT asn_status asn_join_group(asnd_call *c, const char *name,
                                           uint32_t *ranks, uint32_t *rank);
/* In the body: a call of the group, by elements of `dtype`. */
ASN_CHECK_RESULT asn_status asn_join_call(aclOpExecutor *e, asnrtGroupKind kind,
                                          asn_dtype dtype, const void *from, void *to,
                                          int64_t count);
/* All to all: sends[r] elements to rank r, one after the other, and receives[r] back. */
ASN_CHECK_RESULT asn_status asn_join_exchange(aclOpExecutor *e, asn_dtype dtype,
                                              const void *from, const int64_t *sends,
                                              void *to, const int64_t *receives,
                                              uint32_t ranks, asnd_tmp *tmp);
/* Rows by expert and rank from rows by rank and expert, or (back) the other way round.
 * counts: of rank r and expert j, [r * experts + j]; bytes: of a row. */
ASN_CHECK_RESULT asn_status asn_join_permute(const int64_t *counts, uint32_t ranks,
                                             int64_t experts, bool back, int64_t bytes,
                                             const char *from, char *to, asnd_tmp *tmp);
/* Sends rows of `width` elements to where their counts (as above) say. */
ASN_CHECK_RESULT asn_status asn_join_rows(aclOpExecutor *e, asn_dtype dtype,
                                          int64_t width, const int64_t *sends,
                                          const int64_t *receives, uint32_t ranks,
                                          int64_t experts, const void *from, void *to,
                                          asnd_tmp *tmp);
/* Parameters that CANN reserves: each, where the operator has it, is what CANN's pages
 * allow (commTurn 0, streamMode 1, reduceOp "sum", ...). */
ASN_CHECK_RESULT asn_status asn_join_reserved(const asnd_call *c);

#endif
