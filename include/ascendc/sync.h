/* Ascend C on the CPU: order between the units of a core.
 *
 * On an NPU copying in (MTE2), computing (V), copying out (MTE3) and the scalar unit (S)
 * run beside each other; here every operation is done when the next one starts. So
 * PipeBarrier has nothing to do, and SetFlag and WaitFlag are checked for their pairs: a
 * WaitFlag whose flag nobody set would wait for ever, a flag that is set twice loses one,
 * and one that nobody waits for lets the next kernel's wait through. A missing pair where
 * one is needed is not found. */
#ifndef ASCENDC_SYNC_H_
#define ASCENDC_SYNC_H_

#include "ascendc/core.h"

/* The units of a core, and the number of an event. */
enum pipe_t {
    PIPE_S,
    PIPE_V,
    PIPE_M,
    PIPE_MTE1,
    PIPE_MTE2,
    PIPE_MTE3,
    PIPE_ALL,
    PIPE_FIX
};
using event_t = int8_t;

namespace AscendC {
/* FROM_TO: what runs on TO waits for what ran on FROM. */
enum class HardEvent : uint8_t {
    MTE2_MTE1,
    MTE1_MTE2,
    MTE1_M,
    M_MTE1,
    MTE2_V,
    V_MTE2,
    MTE3_V,
    V_MTE3,
    M_V,
    V_M,
    V_V,
    MTE3_MTE1,
    MTE1_MTE3,
    MTE1_V,
    MTE2_M,
    M_MTE2,
    V_MTE1,
    M_FIX,
    FIX_M,
    MTE3_MTE2,
    MTE2_MTE3,
    S_V,
    V_S,
    S_MTE2,
    MTE2_S,
    S_MTE3,
    MTE3_S
};

/* Flags of a block are a table of events and ids (core.h). */
namespace detail {
static_assert(static_cast<int>(HardEvent::MTE3_S) == EVENTS - 1,
              "a row of flags for each");

/* The flag of an event and an id that exists. */
inline bool &FlagOf(const char *operation, HardEvent event, int32_t id) {
    if (id < 0 || id >= EVENT_IDS)
        Fail(operation, "event id %d; ids are 0 to %d", id, EVENT_IDS - 1);
    return Current(operation).flags[static_cast<int>(event)][id];
}

/* The lowest id that is neither set nor given out. */
inline int8_t FindEvent(const char *operation, HardEvent event) {
    Block &b = Current(operation);
    int e = static_cast<int>(event);
    for (int8_t id = 0; id < EVENT_IDS; id++)
        if (!b.flags[e][id] && !(b.taken[e] >> id & 1)) return id;
    Fail(operation, "all %d ids of the event are in use", EVENT_IDS);
}

/* Whether the tensors of queues came back, of buffers from `first` on. */
inline bool AllReturned(const Block &b, uint32_t first) {
    for (uint32_t i = first; i < b.numBuffers; i++)
        if (b.buffers[i].pooled && b.buffers[i].state != State::FREE) return false;
    return true;
}

/* Fails where one did not. */
inline void CheckReturned(const Block &b, uint32_t first) {
    if (AllReturned(b, first)) return;
    while (!b.buffers[first].pooled || b.buffers[first].state == State::FREE)
        first++;
    const Buffer &buffer = b.buffers[first];
    if (buffer.state == State::QUEUED)
        Fail("EnQue",
             "a tensor of %u bytes is still in its queue when the kernel ends; "
             "every EnQue needs a DeQue",
             buffer.bytes);
    Fail("AllocTensor",
         "a tensor of %u bytes is not given back when the kernel ends; "
         "every AllocTensor needs a FreeTensor",
         buffer.bytes);
}

/* Likewise for flags; both when the kernel's function has returned. */
inline void CheckFlags(const Block &b) {
    for (int e = 0; e < EVENTS; e++)
        for (int id = 0; id < EVENT_IDS; id++)
            if (b.flags[e][id])
                Fail("SetFlag",
                     "id %d of event %d is set when the kernel ends; every SetFlag "
                     "needs a WaitFlag",
                     id, e);
}
} // namespace detail

/* The first unit of the event has come here. */
template <HardEvent event> __aicore__ inline void SetFlag(int32_t id) {
    bool &flag = detail::FlagOf("SetFlag", event, id);
    if (flag) detail::Fail("SetFlag", "id %d is set already; WaitFlag comes first", id);
    flag = true;
}

/* The second unit waits until the first has. */
template <HardEvent event> __aicore__ inline void WaitFlag(int32_t id) {
    bool &flag = detail::FlagOf("WaitFlag", event, id);
    if (!flag)
        detail::Fail("WaitFlag", "id %d is not set: an NPU would wait for ever", id);
    flag = false;
}

/* What the unit was given before this is done. */
template <pipe_t pipe> __aicore__ inline void PipeBarrier() {
    (void)detail::Current("PipeBarrier");
}
} // namespace AscendC
#endif
