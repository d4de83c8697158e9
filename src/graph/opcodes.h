/* L2 graph: what the device calls the operations of the table. */
#ifndef ASN_GRAPH_OPCODES_H
#define ASN_GRAPH_OPCODES_H

#include "ops/ops.h"

/* True when the device has the fused operator and ASNUMPY_FUSE is not 0, which is asked
 * once. The device is open. */
bool asn_fuse_enabled(void);

/* Opcodes of this device for the table's operations, looked up once; ACLNNX_NO_REDUCE: it
 * has no such operation. The device, or the host's in its place, is open. */
uint16_t asn_device_opcode(uint16_t op);
/* The row with such an opcode, of those that were looked up; ASN_OP_NONE: none. */
asn_op asn_op_of_device(int32_t opcode);

#endif
