/* Host memory that fails on demand, for every library of the process.
 *
 * The C library's allocation functions are replaced by ones that count. All memory of the
 * CPU device comes from them.
 */
#ifndef ASN_TESTS_ABI_FAULTS_H
#define ASN_TESTS_ABI_FAULTS_H

/* The k-th allocation from now on, of any thread, fails once; 0: none. Returns whether
 * the last one asked for did fail. */
int faults_arm(long k);
/* How many blocks are allocated. */
long faults_live(void);

#endif
