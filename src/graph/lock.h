/* L2 graph: the library's one lock, recursive, and the hooks of a face with a global lock
 * of its own.
 *
 * Order: a thread that must wait for this lock first lets go of the face's lock
 * (hooks.enter), so that the holder, which may be waiting for the face's lock, can go on.
 */
#ifndef ASN_GRAPH_LOCK_H
#define ASN_GRAPH_LOCK_H

void asn_lock(void);
void asn_unlock(void);

/* Around long work, with asn_lock held: other threads of the face may run meanwhile. */
void *asn_blocking_enter(void);
void asn_blocking_leave(void *state);

#endif
