/* Ascend C on the CPU: TPipe, the queues between copying and computing, and TBuf.
 *
 * A block runs from its first line to its last: EnQue and DeQue order nothing here that
 * is not ordered already. They are checked as the NPU needs them: who allocates more than
 * there are buffers, enqueues more than the queue is deep, or dequeues nothing, would
 * wait there for ever. What an allocated buffer holds is set to ones at InitBuffer (NaN,
 * -1), so that reading what nobody wrote shows. */
#ifndef ASCENDC_QUEUE_H_
#define ASCENDC_QUEUE_H_

#include "ascendc/sync.h"
#include "ascendc/tensor.h"

namespace AscendC {
namespace detail {
/* The vector unit's buffers; those of the matrix unit (A1, ..., CO2) are Matmul's own. */
constexpr bool ForVectors(TPosition p) {
    return p == TPosition::VECIN || p == TPosition::VECOUT || p == TPosition::VECCALC;
}

/* The next part of the unified buffer; bytes: a multiple of 32. pooled: its tensors
 * come from AllocTensor and must come back. */
inline Buffer *TakeBuffer(const void *owner, uint32_t bytes, bool pooled) {
    Block &b = Current("InitBuffer");
    if (b.numBuffers == MOST_BUFFERS)
        Fail("InitBuffer", "there are %u buffers already; a kernel may have no more",
             MOST_BUFFERS);
    if (bytes == 0 || bytes > UNIFIED_BUFFER - b.used)
        Fail("InitBuffer",
             "a buffer of %u bytes; of the unified buffer's %u bytes %u are left", bytes,
             UNIFIED_BUFFER, UNIFIED_BUFFER - b.used);
    Buffer *made = &b.buffers[b.numBuffers++];
    *made = {b.unified + b.used,
             owner,
             bytes,
             made->generation + 1,
             pooled ? State::FREE : State::HELD,
             pooled};
    std::memset(made->data, 0xff, bytes);
    b.used += bytes;
    return made;
}

/* The next multiple of 32, as InitBuffer takes it. */
inline uint32_t RoundUp(uint32_t bytes) {
    return bytes > UNIFIED_BUFFER
               ? bytes
               : (bytes + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE;
}
} // namespace detail

/* `mask` is how an NPU lays data out, and means nothing here.
 *
 * A queue of up to `depth` tensors from one position to another. */
template <TPosition source, TPosition destination, int32_t depth, int32_t mask = 0>
class TQueBind {
    static_assert(depth >= 1 && depth <= static_cast<int32_t>(detail::MOST_BUFFERS),
                  "a queue is 1 to 64 tensors deep");
    static constexpr TPosition where = source == TPosition::GM ? destination : source;
    static_assert(detail::ForVectors(where),
                  "queues lie in the unified buffer: VECIN, VECOUT or VECCALC");

  public:
    TQueBind() = default;
    TQueBind(const TQueBind &) = delete;
    TQueBind &operator=(const TQueBind &) = delete;

    /* A free buffer, as elements of T; the buffers take turns. */
    template <typename T> LocalTensor<T> AllocTensor() {
        for (uint32_t i = 0; i < num_; i++) {
            detail::Buffer *b = first_ + (next_ + i) % num_;
            if (b->owner != this || b->state != detail::State::FREE) continue;
            next_ = (next_ + i + 1) % num_;
            b->state = detail::State::HELD;
            b->generation++;
            return LocalTensor<T>(b, 0, b->bytes, where);
        }
        if (num_ == 0)
            detail::Fail("AllocTensor", "the queue has no buffers (InitBuffer)");
        detail::Fail("AllocTensor",
                     "all %u buffers of the queue are in use; FreeTensor gives one back",
                     num_);
    }

    /* Hands the tensor on: who has it may use it no more. Always true. */
    template <typename T> bool EnQue(const LocalTensor<T> &tensor) {
        detail::Buffer *b = Own("EnQue", tensor);
        if (count_ == depth)
            detail::Fail("EnQue", "the queue holds %d tensors, which is its depth",
                         depth);
        b->state = detail::State::QUEUED;
        waiting_[(head_ + count_++) % depth] = b;
        return true;
    }

    /* The oldest tensor of the queue. */
    template <typename T> LocalTensor<T> DeQue() {
        if (count_ == 0) detail::Fail("DeQue", "the queue is empty; EnQue comes first");
        detail::Buffer *b = waiting_[head_];
        head_ = (head_ + 1) % depth;
        count_--;
        b->state = detail::State::HELD;
        return LocalTensor<T>(b, 0, b->bytes, where);
    }

    /* Gives the buffer back: every LocalTensor of it is void. */
    template <typename T> void FreeTensor(LocalTensor<T> &tensor) {
        detail::Buffer *b = Own("FreeTensor", tensor);
        b->state = detail::State::FREE;
        b->generation++;
    }

    /* What there is, and what there is room for. */
    bool HasTensorInQue() const { return count_ > 0; }
    bool VacantInQue() const { return count_ < depth; }
    int32_t GetTensorCountInQue() const { return count_; }
    bool HasIdleBuffer() const {
        for (uint32_t i = 0; i < num_; i++)
            if (first_[i].state == detail::State::FREE) return true;
        return false;
    }

    /* InitBuffer's part: `num` buffers of `bytes` bytes. */
    void Init(uint32_t num, uint32_t bytes) {
        if (num_ != 0 && first_->owner == this)
            detail::Fail("InitBuffer", "the queue has its buffers already");
        if (num == 0) detail::Fail("InitBuffer", "a queue of 0 buffers");
        for (uint32_t i = 0; i < num; i++) {
            detail::Buffer *b = detail::TakeBuffer(this, bytes, true);
            if (i == 0) first_ = b;
        }
        num_ = num;
        /* After a Reset it begins anew. */
        next_ = 0;
        count_ = head_ = 0;
    }

  private:
    /* The buffer of a tensor that this queue gave, and that is not in it. */
    template <typename T>
    detail::Buffer *Own(const char *operation, const LocalTensor<T> &tensor) const {
        tensor.Check(operation, "the tensor");
        if (tensor.buffer()->owner != this)
            detail::Fail(operation, "the tensor is another queue's");
        return tensor.buffer();
    }

    /* Buffers first_ ... first_ + num_ - 1, next_ to be tried first; the queue is a ring.
     */
    detail::Buffer *first_ = nullptr, *waiting_[depth] = {};
    uint32_t num_ = 0, next_ = 0;
    int32_t count_ = 0, head_ = 0;
};

/* Between global memory and a position of the vector unit. */
template <TPosition where, int32_t depth, int32_t mask = 0>
class TQue
    : public TQueBind<where == TPosition::VECIN ? TPosition::GM : where,
                      where == TPosition::VECIN ? where : TPosition::GM, depth, mask> {};

/* One buffer without a queue. */
template <TPosition where = TPosition::LCM> class TBuf {
    static_assert(detail::ForVectors(where),
                  "a TBuf lies in the unified buffer: VECIN, VECOUT or VECCALC");

  public:
    /* All of it, or its first elements; every call gives the same memory. */
    template <typename T> LocalTensor<T> Get() {
        return LocalTensor<T>(Made(), 0, bytes_, where);
    }
    template <typename T> LocalTensor<T> Get(uint32_t count) {
        return GetWithOffset<T>(count, 0);
    }
    /* count elements from a byte on. */
    template <typename T> LocalTensor<T> GetWithOffset(uint32_t count, uint32_t offset) {
        detail::Buffer *b = Made();
        if (offset > bytes_ || count > (bytes_ - offset) / sizeof(T))
            detail::Fail("Get",
                         "%u elements of %u bytes from byte %u on of a TBuf of %u bytes",
                         count, static_cast<unsigned>(sizeof(T)), offset, bytes_);
        return LocalTensor<T>(b, offset, count * static_cast<uint32_t>(sizeof(T)), where);
    }
    /* InitBuffer's part. */
    void Init(uint32_t bytes) {
        if (buffer_ != nullptr && buffer_->owner == this)
            detail::Fail("InitBuffer", "the TBuf has its buffer already");
        buffer_ = detail::TakeBuffer(this, bytes, false);
        bytes_ = bytes;
    }

  private:
    detail::Buffer *Made() const {
        if (buffer_ == nullptr || buffer_->owner != this)
            detail::Fail("Get", "the TBuf has no buffer (InitBuffer)");
        return buffer_;
    }
    detail::Buffer *buffer_ = nullptr;
    uint32_t bytes_ = 0;
};

/* Gives out the unified buffer and the event ids. A kernel has one at a time; what it
 * gave out is free again when it ends. */
class TPipe {
  public:
    TPipe()
        : used_(detail::Current("TPipe").used), first_(detail::block->numBuffers),
          before_(detail::block->pipe) {
        detail::block->pipe = this;
    }
    TPipe(const TPipe &) = delete;
    TPipe &operator=(const TPipe &) = delete;
    /* Tensors that did not come back are told of when the kernel ends. */
    ~TPipe() {
        if (detail::block == nullptr) return;
        detail::block->pipe = before_;
        if (detail::AllReturned(*detail::block, first_)) Free();
    }

    /* num buffers of len bytes, rounded up to 32. */
    template <TPosition from, TPosition to, int32_t depth, int32_t mask>
    bool InitBuffer(TQueBind<from, to, depth, mask> &queue, uint32_t num, uint32_t len) {
        queue.Init(num, detail::RoundUp(len));
        return true;
    }
    /* One buffer of len bytes, likewise. */
    template <TPosition where> bool InitBuffer(TBuf<where> &buffer, uint32_t len) {
        buffer.Init(detail::RoundUp(len));
        return true;
    }

    /* Every buffer goes back: its tensors are not to be used any more. */
    void Reset() {
        detail::CheckReturned(detail::Current("Reset"), first_);
        Free();
    }
    void Destroy() { Reset(); }

    /* An event id that is set nowhere. */
    int8_t FetchEventID(HardEvent event) {
        return detail::FindEvent("FetchEventID", event);
    }
    /* One that nobody else is given until ReleaseEventID. */
    template <HardEvent event> int8_t AllocEventID() {
        int8_t id = detail::FindEvent("AllocEventID", event);
        detail::block->taken[static_cast<int>(event)] |= static_cast<uint8_t>(1 << id);
        return id;
    }
    template <HardEvent event> void ReleaseEventID(int8_t id) {
        uint8_t &taken = detail::Current("ReleaseEventID").taken[static_cast<int>(event)];
        if (id < 0 || id >= detail::EVENT_IDS || !(taken >> id & 1))
            detail::Fail("ReleaseEventID", "id %d, which AllocEventID did not give", id);
        taken = static_cast<uint8_t>(taken & ~(1 << id));
    }

  private:
    /* The buffers since this one began, and their memory. */
    void Free() {
        detail::Block &b = *detail::block;
        for (uint32_t i = first_; i < b.numBuffers; i++) {
            b.buffers[i].generation++;
            b.buffers[i].owner = nullptr;
        }
        b.numBuffers = first_;
        b.used = used_;
    }

    uint32_t used_, first_; /* of the unified buffer, of the buffers, before this */
    void *before_;          /* the pipe outside of this one */
};

/* The kernel's pipe. */
__aicore__ inline TPipe *GetTPipePtr() {
    void *pipe = detail::Current("GetTPipePtr").pipe;
    if (pipe == nullptr) detail::Fail("GetTPipePtr", "the kernel has no TPipe");
    return static_cast<TPipe *>(pipe);
}
} // namespace AscendC
#endif
