/* L1 ops: which row of the table has a name of ATen's. */
#ifndef ASN_OPS_ATEN_H
#define ASN_OPS_ATEN_H

#include <stddef.h>

/* The row of ATen's operator whose name is the first `n` characters of `name` ("sub",
 * "eq", "bitwise_not", without "aten::"); -1: none. One thread at a time. */
int asn_op_of_aten(const char *name, size_t n);

#endif
