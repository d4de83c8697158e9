/* L2 runtime: a thread's stock of small buffers that keep their storage between two
 * lives, so that the result of a small operation costs a pop and its end a push: no lock
 * and no size arithmetic beyond the class. */
#ifndef ASN_RUNTIME_MEMORY_STOCK_H
#define ASN_RUNTIME_MEMORY_STOCK_H

#include "runtime/memory/buffer.h"

/* Blocks above this are the pool's alone. */
enum { ASN_STOCK_BYTES = 16 << 10 };

/* A buffer whose storage holds nbytes, its other fields unset; NULL when there is none.
 */
asn_buffer *asn_stock_take(int64_t nbytes);
/* Takes b, storage and all; false (b untouched) when the stock of its class is full. */
bool asn_stock_put(asn_buffer *b);
/* Structs without storage. */
asn_buffer *asn_stock_take_struct(void);
bool asn_stock_put_struct(asn_buffer *b);
/* Storage that lies in the stocks of all threads, and what they have served so far:
 * requests and their bytes. */
int64_t asn_stock_bytes(uint64_t *hits, uint64_t *served);
/* Gives all storage back to the pool; no other thread may use its stock meanwhile. */
void asn_stock_clear(void);

#endif
