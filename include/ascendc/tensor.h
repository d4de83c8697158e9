/* Ascend C on the CPU: LocalTensor and GlobalTensor.
 *
 * A LocalTensor is a part of the unified buffer that a queue or a TBuf gave. It knows the
 * generation of its buffer: used after FreeTensor, or while it lies in a queue, it is
 * refused by every operation. A GlobalTensor knows the size that SetGlobalBuffer was told
 * and the memory around the address, as far as the launch or the runtime knows it. */
#ifndef ASCENDC_TENSOR_H_
#define ASCENDC_TENSOR_H_

#include "ascendc/core.h"

namespace AscendC {
/* Where a tensor lies: the vector unit's are VECIN, VECOUT and VECCALC (or LCM). */
enum class TPosition : uint8_t {
    GM,
    A1,
    A2,
    B1,
    B2,
    C1,
    C2,
    CO1,
    CO2,
    VECIN,
    VECOUT,
    VECCALC,
    LCM = VECCALC,
    TSCM
};
using QuePosition = TPosition;

/* Elements of T in the unified buffer. Copies are the same tensor. */
template <typename T> class LocalTensor {
  public:
    using PrimType = T;

    LocalTensor() = default;
    LocalTensor(detail::Buffer *buffer, uint32_t offset, uint32_t bytes, TPosition where)
        : buffer_(buffer), generation_(buffer->generation), offset_(offset),
          size_(bytes / sizeof(T)), position_(where) {}

    /* Single elements, by the scalar unit. */
    T GetValue(uint32_t index) const { return *Element("GetValue", index); }
    template <typename U> void SetValue(uint32_t index, U value) const {
        *Element("SetValue", index) = static_cast<T>(value);
    }
    T &operator()(uint32_t index) const { return *Element("operator()", index); }

    /* The elements from `offset` on. */
    LocalTensor operator[](uint32_t offset) const {
        Check("operator[]", "the tensor");
        if (offset > size_)
            detail::Fail("operator[]", "offset %u of a LocalTensor of %u elements",
                         offset, size_);
        LocalTensor rest = *this;
        rest.offset_ += offset * static_cast<uint32_t>(sizeof(T));
        rest.size_ -= offset;
        return rest;
    }

    /* The same bytes as elements of another type. */
    template <typename U> LocalTensor<U> ReinterpretCast() const {
        Check("ReinterpretCast", "the tensor");
        LocalTensor<U> other(buffer_, offset_, size_ * static_cast<uint32_t>(sizeof(T)),
                             position_);
        return other;
    }

    /* In elements. SetSize: up to the end of the buffer. */
    uint32_t GetSize() const { return size_; }
    void SetSize(uint32_t size) {
        Check("SetSize", "the tensor");
        if (size > (buffer_->bytes - offset_) / sizeof(T))
            detail::Fail("SetSize", "%u elements; the buffer has room for %u", size,
                         static_cast<uint32_t>((buffer_->bytes - offset_) / sizeof(T)));
        size_ = size;
    }
    TPosition GetPosition() const { return position_; }
    uint64_t GetPhyAddr() const { return reinterpret_cast<uint64_t>(Data("GetPhyAddr")); }

    /* The first element, for an operation; what: the operand's name in its message. */
    T *Data(const char *operation, const char *what = "the tensor") const {
        Check(operation, what);
        return reinterpret_cast<T *>(buffer_->data + offset_);
    }

    /* The operation fails unless the tensor is one that may be used now. */
    void Check(const char *operation, const char *what) const {
        if (buffer_ == nullptr)
            detail::Fail(operation, "%s was never allocated (AllocTensor, DeQue, Get)",
                         what);
        if (buffer_->generation != generation_)
            detail::Fail(operation, "%s is used after FreeTensor, or its TPipe's end",
                         what);
        if (buffer_->state == detail::State::QUEUED)
            detail::Fail(operation, "%s lies in its queue: it may be used after DeQue",
                         what);
    }

    /* For its queue. */
    detail::Buffer *buffer() const { return buffer_; }
    uint32_t generation() const { return generation_; }

    /* dst = a + b over the whole tensor, in arithmetic.h. */
    template <typename Expression, typename = typename Expression::OfTensors>
    LocalTensor &operator=(const Expression &e) {
        e.into(*this);
        return *this;
    }

  private:
    /* One element, which is there. */
    T *Element(const char *operation, uint32_t index) const {
        T *data = Data(operation);
        if (index >= size_)
            detail::Fail(operation, "index %u of a LocalTensor of %u elements", index,
                         size_);
        return data + index;
    }

    detail::Buffer *buffer_ = nullptr; /* NULL: never allocated */
    uint32_t generation_ = 0;          /* of the buffer, when this was made */
    uint32_t offset_ = 0, size_ = 0;   /* bytes from its start; elements */
    TPosition position_ = TPosition::VECCALC;
};

/* Elements of T in the device's memory. */
template <typename T> class GlobalTensor {
  public:
    using PrimType = T;

    /* size: elements; without one only the memory around the address is checked. */
    void SetGlobalBuffer(__gm__ T *address, uint64_t size) {
        SetGlobalBuffer(address);
        size_ = size;
        sized_ = true;
    }
    void SetGlobalBuffer(__gm__ T *address) {
        data_ = address;
        sized_ = false;
        size_ = 0;
        FindMemory();
    }

    /* Single elements, by the scalar unit. */
    T GetValue(uint64_t index) const { return *Access("GetValue", index, 1); }
    void SetValue(uint64_t index, T value) const {
        *Access("SetValue", index, 1) = value;
    }
    T &operator()(uint64_t index) const { return *Access("operator()", index, 1); }

    /* The elements from `offset` on. */
    GlobalTensor operator[](uint64_t offset) const {
        if (sized_ && offset > size_)
            detail::Fail("operator[]", "offset %llu of a GlobalTensor of %llu elements",
                         static_cast<unsigned long long>(offset),
                         static_cast<unsigned long long>(size_));
        GlobalTensor rest = *this;
        rest.data_ += offset;
        rest.size_ -= sized_ ? offset : 0;
        return rest;
    }

    /* Elements; 0 where SetGlobalBuffer was told no size. */
    uint64_t GetSize() const { return size_; }
    const __gm__ T *GetPhyAddr() const { return data_; }
    __gm__ T *GetPhyAddr(uint64_t offset) const { return data_ + offset; }

    /* The address of `count` elements from `first` on, which the operation may touch. */
    __gm__ T *Access(const char *operation, uint64_t first, uint64_t count) const {
        if (data_ == nullptr)
            detail::Fail(operation, "the GlobalTensor has no address (SetGlobalBuffer)");
        /* The size that the kernel told, then the memory that there is. */
        if (sized_ && (first > size_ || count > size_ - first))
            detail::Fail(operation, "elements %llu to %llu of a GlobalTensor of %llu",
                         static_cast<unsigned long long>(first),
                         static_cast<unsigned long long>(first + count),
                         static_cast<unsigned long long>(size_));
        uintptr_t at = reinterpret_cast<uintptr_t>(data_ + first);
        if (at % sizeof(T) != 0)
            detail::Fail(operation,
                         "a global address is no multiple of the element's %u bytes",
                         static_cast<unsigned>(sizeof(T)));
        if (known_ && (at < memory_.begin || at > memory_.end ||
                       count > (memory_.end - at) / sizeof(T)))
            detail::Fail(operation,
                         "%llu bytes at offset %lld of an allocation of %llu bytes",
                         static_cast<unsigned long long>(count * sizeof(T)),
                         static_cast<long long>(at - memory_.begin),
                         static_cast<unsigned long long>(memory_.end - memory_.begin));
        return data_ + first;
    }

  private:
    /* What the address lies in. A call of RawKernel knows its arrays, and nothing else
     * may be touched; otherwise memory that the runtime gave is known, to its size
     * rounded up to 64 bytes, and a program's own memory is not. */
    void FindMemory() {
        const detail::Block &b = detail::Current("SetGlobalBuffer");
        uintptr_t at = reinterpret_cast<uintptr_t>(data_);
        known_ = b.ranges != nullptr;
        memory_ = {at, at};
        for (uint32_t i = 0; i < b.numRanges; i++)
            if (at >= b.ranges[i].begin && at < b.ranges[i].end) {
                memory_ = b.ranges[i];
                return;
            }
        if (!known_ && b.find != nullptr && data_ != nullptr)
            known_ = b.find(data_, &memory_.begin, &memory_.end) != 0;
    }

    __gm__ T *data_ = nullptr;
    uint64_t size_ = 0;
    bool sized_ = false, known_ = false;
    detail::Range memory_ = {0, 0};
};
} // namespace AscendC
#endif
