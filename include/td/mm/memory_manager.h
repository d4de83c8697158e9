/* td::mm: the device memory of tensors, in C++17, under the names that tutorials for
 * Ascend print. Everything here is inline over the C memory manager (asnumpy/memory.h),
 * so that no C++ of another compiler is linked: -ltd_mm (another name of libasnumpy) is
 * all.
 *
 *     auto &mm = td::mm::MemoryManager::instance();
 *     td::mm::TensorDesc desc{td::mm::DataType::FLOAT16, {1, 3, 224, 224},
 *                             td::mm::MemoryFormat::NCHW, 256};
 *     td::mm::Tensor x = mm.prepare_tensor(pixels, desc, td::mm::LEVEL_1);
 *
 * - A Tensor owns its memory and ends with its scope; a DmaStatus waits for its copy when
 *   it ends. Both are moved, not copied. No destructor throws.
 * - Errors are exceptions: Error, a std::runtime_error, or the one of its kinds that
 * fits, with the C library's sentence (what was got, what is allowed) and its status;
 *   std::bad_alloc where the host has no memory for a descriptor.
 * - Any thread may call the manager. A Tensor or a DmaStatus is used by one thread at a
 *   time, and released when no thread uses it any more.
 * - Shapes count elements, sizes and offsets bytes.
 */
#ifndef TD_MM_MEMORY_MANAGER_H_
#define TD_MM_MEMORY_MANAGER_H_

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "td/mm/memory_manager.h is C++17: compile with -std=c++17 or later"
#endif

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "asnumpy/error.hpp"

namespace td::sparse {
class SparseMatMulOptimizer;
}

namespace td::mm {

using asnumpy::DeviceError;
using asnumpy::Error;
using asnumpy::InvalidArgument;
using asnumpy::OutOfMemory;

namespace detail {
using asnumpy::detail::check;
using asnumpy::detail::raise;
} // namespace detail

/* ---- descriptors */

/* CANN's numbers (aclDataType); the short names are the same values. */
enum class DataType : int32_t {
    FLOAT32 = ASNP_FLOAT32,
    FLOAT16 = ASNP_FLOAT16,
    BFLOAT16 = ASNP_BFLOAT16,
    FLOAT64 = ASNP_FLOAT64,
    INT8 = ASNP_INT8,
    INT16 = ASNP_INT16,
    INT32 = ASNP_INT32,
    INT64 = ASNP_INT64,
    UINT8 = ASNP_UINT8,
    UINT16 = ASNP_UINT16,
    UINT32 = ASNP_UINT32,
    UINT64 = ASNP_UINT64,
    BOOL = ASNP_BOOL,
    COMPLEX64 = ASNP_COMPLEX64,
    COMPLEX128 = ASNP_COMPLEX128,
    FP32 = FLOAT32,
    FP16 = FLOAT16,
    BF16 = BFLOAT16,
    FP64 = FLOAT64,
    FLOAT = FLOAT32,
    DOUBLE = FLOAT64
};

/* How elements lie. The shape is always (N, C, H, W) or (N, C, D, H, W); the format says
 * which axis lies where. ND is row-major, of any rank. */
enum class MemoryFormat : int32_t { ND, NCHW, NHWC, NCDHW, NDHWC };

/* The classes of sizes of the memory pool, of which each tensor's is one:
 *
 *     LEVEL_0   under 1 KiB: blocks of a thread's own stock, without a lock
 *     LEVEL_1   up to 2 MiB: blocks of a class, set aside as they are
 *     LEVEL_2   above: ranges of large pieces, which split and join
 *
 * A level is a statement about the size, which is checked: a size outside its level is an
 * InvalidArgument, LEVEL_AUTO says nothing. Tutorials give LEVEL_1 as 256 KiB to 2 MiB
 * and LEVEL_2 as above 16 MiB; sizes between two levels belong to the larger one here.
 * The size alone decides what serves a tensor: an NPU's caches cannot be chosen from the
 * host. */
enum CacheLevel : int32_t { LEVEL_AUTO = -1, LEVEL_0 = 0, LEVEL_1 = 1, LEVEL_2 = 2 };

struct TensorDesc {
    DataType dtype = DataType::FLOAT32;
    std::vector<int64_t> shape;
    MemoryFormat format = MemoryFormat::ND;
    int64_t alignment = 64; /* of the first element: a power of two, 64 to 4096 */

    /* Bytes of the elements. InvalidArgument: a negative extent, no dtype, more bytes
     * than there are addresses. */
    int64_t nbytes() const {
        size_t item = asnp_dtype_size(static_cast<asnp_dtype>(dtype));
        if (item == 0) detail::raise(ASNP_ERROR_TYPE, asnp_message());
        auto bytes = static_cast<int64_t>(item);
        bool fits = true, none = false;
        for (int64_t extent : shape) {
            if (extent < 0)
                detail::raise(ASNP_ERROR_VALUE, "descriptor: an extent is " +
                                                    std::to_string(extent) +
                                                    "; it may be 0 or more");
            if (extent == 0) none = true;
            fits = !__builtin_mul_overflow(bytes, extent ? extent : 1, &bytes) && fits;
        }
        if (!fits)
            detail::raise(
                ASNP_ERROR_VALUE,
                "descriptor: the tensor has more bytes than there are addresses");
        return none ? 0 : bytes;
    }
};

/* The level that a size belongs to. */
inline CacheLevel level_of(int64_t nbytes) noexcept {
    return nbytes < 1024 ? LEVEL_0 : nbytes <= 2 << 20 ? LEVEL_1 : LEVEL_2;
}

namespace detail {
/* The axes from the slowest to the fastest; NULL: as they are. */
inline const int32_t *order_of(const TensorDesc &desc) {
    static const int32_t nhwc[] = {0, 2, 3, 1}, ndhwc[] = {0, 2, 3, 4, 1};
    size_t rank = 0;
    const int32_t *order = nullptr;
    switch (desc.format) {
    case MemoryFormat::ND: return nullptr;
    case MemoryFormat::NCHW: rank = 4; break;
    case MemoryFormat::NHWC: rank = 4, order = nhwc; break;
    case MemoryFormat::NCDHW: rank = 5; break;
    case MemoryFormat::NDHWC: rank = 5, order = ndhwc; break;
    default:
        raise(ASNP_ERROR_VALUE,
              "descriptor: " + std::to_string(static_cast<int32_t>(desc.format)) +
                  " is no format; see MemoryFormat");
    }
    if (desc.shape.size() != rank)
        raise(ASNP_ERROR_VALUE, "descriptor: the shape has " +
                                    std::to_string(desc.shape.size()) +
                                    " extents; its format needs " + std::to_string(rank));
    return order;
}
/* C's descriptor, which borrows the shape; with the format's order or row-major. */
inline asnp_mm_descriptor to_c(const TensorDesc &desc, bool ordered) {
    const int32_t *order = order_of(desc);
    return {static_cast<asnp_dtype>(desc.dtype), static_cast<int32_t>(desc.shape.size()),
            desc.shape.data(), ordered ? order : nullptr, desc.alignment};
}
/* InvalidArgument where the size is not of the level. */
inline void check_level(int64_t nbytes, CacheLevel level) {
    if (level == LEVEL_AUTO || level == level_of(nbytes)) return;
    static const char *const ranges[] = {"sizes under 1 KiB", "1 KiB to 2 MiB",
                                         "sizes above 2 MiB"};
    if (level < LEVEL_0 || level > LEVEL_2)
        raise(ASNP_ERROR_VALUE,
              "level " + std::to_string(static_cast<int32_t>(level)) +
                  "; it may be LEVEL_0, LEVEL_1, LEVEL_2 or LEVEL_AUTO");
    raise(ASNP_ERROR_VALUE, "a tensor of " + std::to_string(nbytes) +
                                " bytes is of LEVEL_" + std::to_string(level_of(nbytes)) +
                                "; LEVEL_" + std::to_string(level) + " is for " +
                                ranges[level] + ", LEVEL_AUTO for any");
}
} // namespace detail

/* ---- tensors */

class IncrementalKVCacheManager;

/* Owns a tensor's memory; empty when it is made without arguments, moved from, or reused.
 */
class Tensor {
  public:
    Tensor() noexcept = default;
    Tensor(Tensor &&from) noexcept { swap(from); }
    Tensor &operator=(Tensor &&from) noexcept {
        Tensor taken(std::move(from));
        swap(taken);
        return *this;
    }
    ~Tensor() { reset(); }

    explicit operator bool() const noexcept { return array_ != nullptr; }
    const TensorDesc &desc() const noexcept { return desc_; }
    int64_t nbytes() const noexcept {
        return array_ ? static_cast<int64_t>(asnp_nbytes(array_)) : 0;
    }
    CacheLevel level() const noexcept { return level_of(nbytes()); }
    bool zero_copy() const noexcept { return zero_copy_; }

    /* The device address of the first element, for operators that compute there: what the
     * library has recorded for this memory has run. From then on the library's work on it
     * runs at once, until the tensor ends. InvalidArgument: the tensor is empty. */
    void *data() {
        lend(false);
        return address_;
    }
    /* The host's address; InvalidArgument where the host does not reach the device's
     * memory (on an NPU: use copy_to_host). */
    void *host_data() {
        if (!zero_copy_) { // else it was found out when the tensor was made
            void *address = nullptr;
            asnp_mm_loan *loan = nullptr;
            detail::check(asnp_mm_lend(handle(), 1, &address, &loan));
            asnp_mm_take_back(loan);
        }
        return data();
    }
    /* For the functions of asnumpy/asnumpy.h; borrowed. InvalidArgument: empty. */
    asnp_array *handle() const {
        if (!array_) detail::raise(ASNP_ERROR_VALUE, "the tensor is empty");
        return array_;
    }
    /* Gives the memory back; work queued on the library's stream may still use it. */
    void reset() noexcept {
        asnp_mm_take_back(loan_);
        asnp_release(array_);
        array_ = nullptr;
        loan_ = nullptr;
        address_ = nullptr;
        zero_copy_ = false;
    }

  private:
    friend class MemoryManager;
    friend class IncrementalKVCacheManager;     /* kv_cache.h */
    friend class sparse::SparseMatMulOptimizer; /* td/sparse/sparse_matmul_optimizer.h */
    /* Takes the array. */
    Tensor(asnp_array *array, const TensorDesc &desc, bool zero_copy) : array_(array) {
        try {
            desc_ = desc;
            if (zero_copy) lend(true);
            zero_copy_ = zero_copy;
        } catch (...) { // of a constructor that throws no destructor is called
            reset();
            throw;
        }
    }
    void lend(bool to_host) {
        if (!loan_) detail::check(asnp_mm_lend(handle(), to_host, &address_, &loan_));
    }
    /* The library may record and reuse the memory again: data() is not used any more. */
    void take_back() noexcept {
        asnp_mm_take_back(loan_);
        loan_ = nullptr;
        address_ = nullptr;
    }
    void swap(Tensor &other) noexcept {
        std::swap(array_, other.array_);
        std::swap(desc_, other.desc_);
        std::swap(zero_copy_, other.zero_copy_);
        std::swap(loan_, other.loan_);
        std::swap(address_, other.address_);
    }

    asnp_array *array_ = nullptr; // owns
    TensorDesc desc_;
    bool zero_copy_ = false;
    asnp_mm_loan *loan_ = nullptr; // owns; while data() may be used
    void *address_ = nullptr;
};

/* ---- copies behind the program */

enum DmaPriority : int32_t { PRIORITY_LOW = -1, PRIORITY_NORMAL = 0, PRIORITY_HIGH = 1 };

/* One end of a copy: a tensor, or memory of the host. Borrows either. */
class DmaEnd {
  public:
    DmaEnd(Tensor &tensor) noexcept : tensor_(&tensor) {}
    DmaEnd(void *host) noexcept : host_(host) {}
    DmaEnd(const void *host) noexcept : host_(const_cast<void *>(host)) {}
    Tensor *tensor() const noexcept { return tensor_; }
    void *host() const noexcept { return host_; }

  private:
    Tensor *tensor_ = nullptr;
    void *host_ = nullptr;
};

/* `size` bytes between host memory and a tensor's, there from `offset` on, as they lie.
 */
struct DmaRequest {
    DmaEnd src, dst;
    int64_t offset = 0, size = 0;
};

/* A copy that was scheduled. Both ends stay as they are until it is done; it keeps the
 * tensor's memory. */
class DmaStatus {
  public:
    DmaStatus() noexcept = default;
    DmaStatus(DmaStatus &&from) noexcept
        : transfer_(std::exchange(from.transfer_, nullptr)) {}
    DmaStatus &operator=(DmaStatus &&from) noexcept {
        if (this != &from) {
            asnp_transfer_release(transfer_);
            transfer_ = std::exchange(from.transfer_, nullptr);
        }
        return *this;
    }
    /* Waits. A failure that nobody asked for with wait() is lost. */
    ~DmaStatus() { asnp_transfer_release(transfer_); }

    /* Whether the copy has ended, without waiting; an empty status is done. */
    bool done() const {
        int32_t ended = 1;
        if (transfer_) detail::check(asnp_transfer_done(transfer_, &ended));
        return ended != 0;
    }
    /* Waits; throws the copy's failure. */
    void wait() const {
        if (transfer_) detail::check(asnp_transfer_wait(transfer_));
    }
    /* What the library does with the tensor from now on comes after the copy, and the
     * host does not wait where the device can. InvalidArgument: a copy to the host. */
    void order() const {
        if (!transfer_) return;
        asnp_array *shared = nullptr;
        detail::check(asnp_transfer_array(transfer_, &shared));
        asnp_release(shared);
    }

  private:
    friend class MemoryManager;
    explicit DmaStatus(asnp_transfer *transfer) noexcept : transfer_(transfer) {}
    asnp_transfer *transfer_ = nullptr; // owns
};

/* ---- the manager */

/* LAZY: in the order of the library's stream, nothing waits. EAGER: waits for everything
 * first, for borrowers of src.data() that queued work on streams of their own. */
enum ReuseMode : int32_t { REUSE_LAZY = 0, REUSE_EAGER = 1 };

class MemoryManager {
  public:
    /* The process' own. */
    static MemoryManager &instance() {
        static MemoryManager manager;
        return manager;
    }
    MemoryManager(const MemoryManager &) = delete;
    MemoryManager &operator=(const MemoryManager &) = delete;

    /* A tensor whose elements are not initialised; its memory is taken now. zero_copy:
     * the host uses the device's memory itself, at host_data(). InvalidArgument: a
     * descriptor or a level that does not fit; zero_copy where the host does not reach
     * the device's memory. OutOfMemory. */
    Tensor allocate_tensor(const TensorDesc &desc, CacheLevel level = LEVEL_AUTO,
                           bool zero_copy = false) {
        asnp_array *array = nullptr;
        detail::check_level(desc.nbytes(), level);
        asnp_mm_descriptor d = detail::to_c(desc, true);
        detail::check(asnp_mm_tensor(&d, &array));
        return Tensor(array, desc, zero_copy);
    }

    /* A tensor of host memory that lies row-major in the order of the shape, of the
     * descriptor's dtype or of `from`; the device converts dtype and format. The host's
     * memory is not used after the call. */
    Tensor prepare_tensor(const void *data, const TensorDesc &desc,
                          CacheLevel level = LEVEL_AUTO) {
        return prepare_tensor(data, desc.dtype, desc, level);
    }
    Tensor prepare_tensor(const void *data, DataType from, const TensorDesc &desc,
                          CacheLevel level = LEVEL_AUTO) {
        asnp_array *array = nullptr;
        detail::check_level(desc.nbytes(), level);
        asnp_mm_descriptor d = detail::to_c(desc, true);
        detail::check(
            asnp_mm_prepare(&d, static_cast<asnp_dtype>(from), nullptr, data, &array));
        return Tensor(array, desc, false);
    }

    /* A tensor (its elements not initialised) in the memory of src, which nobody needs
     * any more and which is empty afterwards. InvalidArgument, src staying as it is: src
     * is empty or too small, other handles or a DmaStatus share its memory. */
    Tensor reuse_memory(Tensor &src, const TensorDesc &dst, ReuseMode mode = REUSE_LAZY) {
        if (mode != REUSE_LAZY && mode != REUSE_EAGER)
            detail::raise(ASNP_ERROR_VALUE, "reuse mode " + std::to_string(mode) +
                                                "; it may be REUSE_LAZY or REUSE_EAGER");
        asnp_array *dead = src.handle(), *array = nullptr;
        asnp_mm_descriptor d = detail::to_c(dst, true);
        if (mode == REUSE_EAGER) detail::check(asnp_synchronize());
        bool zero_copy = src.zero_copy();
        src.take_back();
        detail::check(asnp_mm_reuse(&d, dead, &array));
        Tensor made(array, dst, zero_copy);
        src.reset();
        return made;
    }
    /* dst's own memory goes back, and it lies in src's: elements are not copied. */
    void reuse_memory(Tensor &src, Tensor &dst, ReuseMode mode = REUSE_LAZY) {
        if (&src == &dst)
            detail::raise(ASNP_ERROR_VALUE, "reuse: src and dst are one tensor");
        dst.handle();
        dst = reuse_memory(src, TensorDesc(dst.desc()), mode);
    }

    /* A copy of src in another format of the same axes, at the same alignment, made by
     * the device. InvalidArgument: src is empty, the format has other axes. (Formats with
     * axes in blocks, FRACTAL_NZ and NC1HWC0, are shapes of their own: asnp_mm_convert of
     * src.handle().) */
    Tensor convert_format(const Tensor &src, MemoryFormat format) {
        TensorDesc desc(src.desc());
        desc.format = format;
        const asnp_operand value = asnp_of(src.handle());
        Tensor made = allocate_tensor(desc);
        detail::check(asnp_assign(made.handle(), value));
        return made;
    }
    /* In which format images of so many channels are best kept: NCHW from 64 on, NHWC
     * below. InvalidArgument: no channel. */
    static MemoryFormat choose_format(int64_t channels) {
        asnp_format format;
        detail::check(asnp_mm_choose_format(channels, &format));
        return format == ASNP_FORMAT_NCHW ? MemoryFormat::NCHW : MemoryFormat::NHWC;
    }

    /* Starts a copy behind the program; among those that wait the higher priority goes
     * first. InvalidArgument: not one end is a tensor and the other the host's memory;
     * bytes past the tensor's end. */
    DmaStatus schedule_dma(const DmaRequest &request,
                           DmaPriority priority = PRIORITY_NORMAL) {
        bool sends = request.dst.tensor() != nullptr;
        Tensor *tensor = sends ? request.dst.tensor() : request.src.tensor();
        void *host = sends ? request.src.host() : request.dst.host();
        if (!tensor || !host)
            detail::raise(ASNP_ERROR_VALUE,
                          "schedule_dma: one end must be a tensor, the other memory of "
                          "the host that is not NULL");
        asnp_transfer *transfer = nullptr;
        detail::check(asnp_queue_copy(queue(), tensor->handle(), request.offset, host,
                                      request.size, sends, priority, &transfer));
        return DmaStatus(transfer);
    }

    /* All elements, row-major in the order of the shape, after waiting. room: of the
     * host's memory, in bytes; InvalidArgument where it is too small. */
    void copy_to_host(const Tensor &tensor, void *host, int64_t room = INT64_MAX) const {
        asnp_array *array = tensor.handle();
        if (room < tensor.nbytes())
            detail::raise(ASNP_ERROR_VALUE, "copy_to_host: " + std::to_string(room) +
                                                " bytes of room for a tensor of " +
                                                std::to_string(tensor.nbytes()) +
                                                " bytes");
        asnp_mm_descriptor d = detail::to_c(tensor.desc(), false);
        detail::check(asnp_mm_copy_back(array, &d, host));
    }

    /* Waits for everything the library was given. */
    void synchronize() const { detail::check(asnp_synchronize()); }
    /* Counts of allocations and bytes (asnumpy/runtime.h). */
    asnp_memory stats() const {
        asnp_memory found;
        detail::check(asnp_memory_stats(&found));
        return found;
    }

  private:
    /* A queue copies in the process that made it, and on one device. */
    struct Queue {
        pid_t process;
        int32_t device;
        asnp_queue *queue; // owns
        Queue *next;
    };

    MemoryManager() = default;
    ~MemoryManager() { // in a child the library leaves the parent's queues alone
        Queue *next;
        for (Queue *q = queues_.load(); q; q = next) {
            next = q->next;
            asnp_queue_release(q->queue);
            delete q;
        }
    }
    /* The first of the process and the device in use. The list only grows, so that it
     * needs no lock, which a fork could leave taken; of two threads that come first at
     * once each makes one. */
    asnp_queue *queue() {
        int32_t device = 0;
        detail::check(asnp_get_device(&device));
        for (Queue *q = queues_.load(); q; q = q->next)
            if (q->process == getpid() && q->device == device) return q->queue;
        auto made = std::make_unique<Queue>(Queue{getpid(), device, nullptr, nullptr});
        detail::check(asnp_queue_new(STAGING_BYTES, &made->queue));
        made->next = queues_.load();
        while (!queues_.compare_exchange_weak(made->next, made.get())) {
        }
        return made.release()->queue;
    }

    static constexpr int64_t STAGING_BYTES = 8 << 20; // as Python's CopyQueue
    std::atomic<Queue *> queues_{nullptr};
};

} // namespace td::mm

#endif
