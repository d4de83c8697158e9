/* CPU device, collective communication: reading another rank's memory.
 *
 * What is long enough goes without the ring: the sender tells the address, the receiver
 * reads from there, and the sender waits until it has. This spares one of two copies,
 * and reads 64 MB as fast as memcpy does. In one process it is a plain read; else the
 * kernel copies (process_vm_readv), where it allows that: a process may be forbidden to
 * read another one, and a process number may mean another process in another container.
 * Each side therefore shows a word, and reads the other one's before it says that it can.
 */
#include "device/hccl/internal.h"

#include <sys/uio.h>
#include <unistd.h>

#include "base/settings.h"

enum { UNKNOWN, READS, READS_NOT };

/* Bytes that were read, 0 where the kernel forbids it or the process has ended. A
 * call may read less than was asked for, at a page that is not there. */
size_t hccl_direct_read(int32_t pid, uint64_t from, void *to, size_t size) {
    if (pid == (int32_t)getpid()) {
        memcpy(to, (const void *)(uintptr_t)from, size);
        return size;
    }
    struct iovec here = {to, size}, there = {(void *)(uintptr_t)from, size};
    ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);
    return n < 0 ? 0 : (size_t)n;
}

/* The process number comes last: who sees it sees the word and its address, too. */
void hccl_direct_offer(hccl_direct *mine, const uint64_t *word) {
    mine->word = *word;
    mine->address = (uint64_t)(uintptr_t)word;
    atomic_store_explicit(&mine->pid, (int32_t)getpid(), memory_order_release);
}

/* ASNUMPY_HCCL_TRANSPORT=ring keeps to the ring, for tests. */
static bool allowed(void) {
    return asn_setting_choice(ASN_SETTING_HCCL_TRANSPORT) != 1; /* "ring" */
}

/* Once for each link, at the first long message, since the other side may start
 * later. */
void hccl_direct_try(hccl_direct *mine, const hccl_direct *other) {
    uint64_t word = 0;
    if (atomic_load_explicit(&mine->reads, memory_order_relaxed) != UNKNOWN) return;
    int32_t pid = atomic_load_explicit(&other->pid, memory_order_acquire);
    if (pid == 0) return;
    bool reads =
        allowed() &&
        hccl_direct_read(pid, other->address, &word, sizeof word) == sizeof word &&
        word == other->word;
    atomic_store_explicit(&mine->reads, reads ? READS : READS_NOT, memory_order_release);
}

/* What the receiver found out; until it has, messages go through the ring. */
bool hccl_direct_reads(const hccl_direct *side) {
    return atomic_load_explicit(&side->reads, memory_order_acquire) == READS;
}
