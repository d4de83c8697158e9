/* L2 runtime: what the library does around a fork, before anything the device's libraries
 * do and after it.
 *
 * Those libraries install handlers of their own as they load, and of all handlers the one
 * installed last prepares first: so the library's are installed again whenever the device
 * was opened anew. What runs is the first of them to prepare, and the last to go on.
 *
 * The locks of single files (base/forks.h) are taken right behind the library's own, for
 * a thread that ends gives memory back to the device with the pool's lock held.
 */
#ifndef ASN_RUNTIME_FORKS_H
#define ASN_RUNTIME_FORKS_H

/* Set before the first use. */
void asn_forks_handle(void (*before)(void), void (*in_parent)(void),
                      void (*in_child)(void));
/* After the device's libraries were loaded. */
void asn_forks_come_first(void);

#endif
