/* CPU device, collective communication: functions that a CPU refuses, each with a
 * sentence.
 */
#include "device/hccl/internal.h"

static HcclResult refuse(const char *function, const char *reason) {
    return hccl_fail(HCCL_E_NOT_SUPPORT, "%s: %s", function, reason);
}

static const char suspend[] = "a fault of an NPU's memory does not stop a CPU; destroy "
                              "the communicator and make another one";

/* Refused: a fault of an NPU's memory does not stop a CPU; destroy the communicator and
 * make another one. */
ASN_API HcclResult HcclCommSuspend(HcclComm comm) {
    (void)comm;
    return refuse("HcclCommSuspend", suspend);
}

/* Refused: a fault of an NPU's memory does not stop a CPU; destroy the communicator and
 * make another one. */
ASN_API HcclResult HcclCommResume(HcclComm comm) {
    (void)comm;
    return refuse("HcclCommResume", suspend);
}

static const char nic[] = "a CPU has no spare network cards of an NPU to switch to";

/* Refused: a CPU has no spare network cards of an NPU to switch to. */
ASN_API HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t *ranks,
                                            bool *useBackup, uint32_t nRanks) {
    (void)comm;
    (void)ranks;
    (void)useBackup;
    (void)nRanks;
    return refuse("HcclCommWorkingDevNicSet", nic);
}

static const char range[] = "ranks of a CPU exchange data through memory of their own, "
                            "so that no addresses are reserved for them";

/* Refused: ranks of a CPU exchange data through memory of their own, so that no addresses
 * are reserved for them. */
ASN_API HcclResult HcclCommSetMemoryRange(HcclComm comm, void *baseVirPtr, size_t size,
                                          size_t alignment, uint64_t flags) {
    (void)comm;
    (void)baseVirPtr;
    (void)size;
    (void)alignment;
    (void)flags;
    return refuse("HcclCommSetMemoryRange", range);
}

/* Refused: ranks of a CPU exchange data through memory of their own, so that no addresses
 * are reserved for them. */
ASN_API HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void *baseVirPtr) {
    (void)comm;
    (void)baseVirPtr;
    return refuse("HcclCommUnsetMemoryRange", range);
}

/* Refused: ranks of a CPU exchange data through memory of their own, so that no addresses
 * are reserved for them. */
ASN_API HcclResult HcclCommActivateCommMemory(HcclComm comm, void *virPtr, size_t size,
                                              size_t offset, aclrtDrvMemHandle handle,
                                              uint64_t flags) {
    (void)comm;
    (void)virPtr;
    (void)size;
    (void)offset;
    (void)handle;
    (void)flags;
    return refuse("HcclCommActivateCommMemory", range);
}

/* Refused: ranks of a CPU exchange data through memory of their own, so that no addresses
 * are reserved for them. */
ASN_API HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void *virPtr) {
    (void)comm;
    (void)virPtr;
    return refuse("HcclCommDeactivateCommMemory", range);
}

static const char window[] =
    "ranks of a CPU do not open their memory to each other; send and receive";

/* Refused: ranks of a CPU do not open their memory to each other; send and receive. */
ASN_API HcclResult HcclCommRegister(HcclComm comm, void *addr, uint64_t size,
                                    void **handle, uint32_t flag) {
    (void)comm;
    (void)addr;
    (void)size;
    (void)handle;
    (void)flag;
    return refuse("HcclCommRegister", window);
}

/* Refused: ranks of a CPU do not open their memory to each other; send and receive. */
ASN_API HcclResult HcclCommDeregister(HcclComm comm, void *handle) {
    (void)comm;
    (void)handle;
    return refuse("HcclCommDeregister", window);
}

/* Refused: ranks of a CPU do not open their memory to each other; send and receive. */
ASN_API HcclResult HcclCommExchangeMem(HcclComm comm, void *windowHandle,
                                       uint32_t *peerRanks, uint32_t peerRankNum) {
    (void)comm;
    (void)windowHandle;
    (void)peerRanks;
    (void)peerRankNum;
    return refuse("HcclCommExchangeMem", window);
}

/* Refused: ranks of a CPU do not open their memory to each other; send and receive. */
ASN_API HcclResult HcclCommSymWinRegister(HcclComm comm, void *addr, uint64_t size,
                                          void **winHandle, uint32_t flag) {
    (void)comm;
    (void)addr;
    (void)size;
    (void)winHandle;
    (void)flag;
    return refuse("HcclCommSymWinRegister", window);
}

/* Refused: ranks of a CPU do not open their memory to each other; send and receive. */
ASN_API HcclResult HcclCommSymWinDeregister(void *winHandle) {
    (void)winHandle;
    return refuse("HcclCommSymWinDeregister", window);
}
