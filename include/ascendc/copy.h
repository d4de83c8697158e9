/* Ascend C on the CPU: DataCopy and DataCopyPad.
 *
 * DataCopy moves blocks of 32 bytes: another length is an error here, where an NPU drops
 * the rest in silence. DataCopyPad moves any number of bytes; in the unified buffer each
 * of its pieces starts at a multiple of 32, and what lies between a piece's end and the
 * next such multiple is filled with ones (NaN, -1) unless padding is asked for. Copies to
 * global memory may add to what lies there (atomic.h). */
#ifndef ASCENDC_COPY_H_
#define ASCENDC_COPY_H_

#include "ascendc/atomic.h"
#include "ascendc/vector.h"

namespace AscendC {
/* blockCount pieces; in blocks of 32 bytes: a piece's length, the gaps between pieces. Of
 * DataCopyPad blockLen and the gaps in global memory are bytes. */
struct DataCopyParams {
    uint16_t blockCount = 1, blockLen = 0, srcStride = 0, dstStride = 0;
    DataCopyParams() = default;
    DataCopyParams(uint16_t count, uint16_t len, uint16_t src, uint16_t dst)
        : blockCount(count), blockLen(len), srcStride(src), dstStride(dst) {}
};
/* The same with wider fields, for DataCopyPad; rsv means nothing. */
struct DataCopyExtParams {
    uint16_t blockCount = 1;
    uint32_t blockLen = 0, srcStride = 0, dstStride = 0, rsv = 0;
    DataCopyExtParams() = default;
    DataCopyExtParams(uint16_t count, uint32_t len, uint32_t src, uint32_t dst,
                      uint32_t reserved)
        : blockCount(count), blockLen(len), srcStride(src), dstStride(dst),
          rsv(reserved) {}
};
/* Elements before and after each piece, at most 32 bytes of either. */
struct DataCopyPadParams {
    bool isPad = false;
    uint8_t leftPadding = 0, rightPadding = 0;
    uint64_t paddingValue = 0;
};
/* Likewise with the value as it is. */
template <typename T> struct DataCopyPadExtParams {
    bool isPad = false;
    uint8_t leftPadding = 0, rightPadding = 0;
    T paddingValue = T(0);
    DataCopyPadExtParams() = default;
    DataCopyPadExtParams(bool pad, uint8_t left, uint8_t right, T value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
};

namespace detail {
/* Limits that the documentation names. Of DataCopyPad, and of DataCopy in pieces. */
constexpr unsigned MOST_PIECES = 4095;
constexpr uint32_t MOST_PIECE_BYTES = 2097151;

/* A length in elements that is whole blocks. */
template <typename T> void CheckWhole(uint64_t count) {
    uint64_t bytes = count * sizeof(T);
    if (count == 0 || bytes % ONE_BLK_SIZE != 0)
        Fail("DataCopy",
             "%llu elements of %u bytes are %llu bytes; the length must be a multiple of "
             "32 "
             "(DataCopyPad takes any)",
             static_cast<unsigned long long>(count), static_cast<unsigned>(sizeof(T)),
             static_cast<unsigned long long>(bytes));
}

/* A side of a copy in global or local memory: the address of `bytes` bytes from byte
 * `first` on. */
template <typename T>
char *Side(const char *operation, const char *, const GlobalTensor<T> &g, uint64_t first,
           uint64_t bytes) {
    uint64_t count = (first % sizeof(T) + bytes + sizeof(T) - 1) / sizeof(T);
    return reinterpret_cast<char *>(g.Access(operation, first / sizeof(T), count)) +
           first % sizeof(T);
}
template <typename T>
char *Side(const char *operation, const char *what, const LocalTensor<T> &l,
           uint64_t first, uint64_t bytes) {
    uint64_t size = l.GetSize() * uint64_t(sizeof(T));
    char *data = reinterpret_cast<char *>(Aligned(operation, what, l));
    if (first > size || bytes > size - first)
        Fail(operation, "bytes %llu to %llu of %s, which has %llu",
             static_cast<unsigned long long>(first),
             static_cast<unsigned long long>(first + bytes), what,
             static_cast<unsigned long long>(size));
    return data + first;
}

/* Bytes to where a copy ends: global memory, or the unified buffer. */
template <typename T>
void Move(const GlobalTensor<T> &, char *to, const char *from, uint64_t bytes) {
    Store<T>("DataCopy", to, from, bytes);
}
template <typename T>
void Move(const LocalTensor<T> &, char *to, const char *from, uint64_t bytes) {
    std::memmove(to, from, bytes);
}

/* A copy of whole blocks one behind the other. */
template <typename D, typename S>
void CopyCount(const D &dst, const S &src, uint64_t count) {
    using T = typename D::PrimType;
    CheckWhole<T>(count);
    uint64_t bytes = count * sizeof(T);
    char *to = Side("DataCopy", "dst", dst, 0, bytes);
    Move(dst, to, Side("DataCopy", "src", src, 0, bytes), bytes);
}

/* How many pieces, of how many bytes. */
inline void CheckPieces(const char *operation, unsigned count, uint64_t length) {
    if (count < 1 || count > MOST_PIECES)
        Fail(operation, "blockCount is %u; it must be 1 to %u", count, MOST_PIECES);
    if (length < 1 || length > MOST_PIECE_BYTES)
        Fail(operation, "blockLen is %llu bytes; it must be 1 to %u",
             static_cast<unsigned long long>(length), MOST_PIECE_BYTES);
}

/* A copy of pieces, in blocks; both ends are checked before anything moves. */
template <typename D, typename S>
void CopyPieces(const D &dst, const S &src, const DataCopyParams &p) {
    uint64_t length = uint64_t(p.blockLen) * ONE_BLK_SIZE,
             last = p.blockCount - uint64_t(1);
    CheckPieces("DataCopy", p.blockCount, length);
    /* From the start of a piece to that of the next. */
    uint64_t from = length + uint64_t(p.srcStride) * ONE_BLK_SIZE;
    uint64_t to = length + uint64_t(p.dstStride) * ONE_BLK_SIZE;
    char *d = Side("DataCopy", "dst", dst, 0, last * to + length);
    const char *s = Side("DataCopy", "src", src, 0, last * from + length);
    for (uint64_t i = 0; i <= last; i++)
        Move(dst, d + i * to, s + i * from, length);
}

/* Global memory -> unified buffer, with padding. A piece with its padding takes whole
 * blocks; both ends of the copy are checked before anything moves. */
template <typename T>
void PadIn(const LocalTensor<T> &dst, const GlobalTensor<T> &src,
           const DataCopyExtParams &p, const DataCopyPadExtParams<T> &pad) {
    CheckPieces("DataCopyPad", p.blockCount, p.blockLen);
    uint64_t left = pad.isPad ? pad.leftPadding * sizeof(T) : 0;
    uint64_t right = pad.isPad ? pad.rightPadding * sizeof(T) : 0;
    if (left > ONE_BLK_SIZE || right > ONE_BLK_SIZE)
        Fail("DataCopyPad",
             "%llu and %llu bytes of padding; there may be 32 on either side",
             static_cast<unsigned long long>(left),
             static_cast<unsigned long long>(right));
    uint64_t whole =
        (left + p.blockLen + right + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE;
    uint64_t to = whole + uint64_t(p.dstStride) * ONE_BLK_SIZE,
             from = uint64_t(p.blockLen) + p.srcStride;
    uint64_t last = p.blockCount - uint64_t(1);
    char *d = Side("DataCopyPad", "dst", dst, 0, last * to + whole);
    const char *s = Side("DataCopyPad", "src", src, 0, last * from + p.blockLen);
    for (uint64_t i = 0; i <= last; i++) {
        char *piece = d + i * to;
        /* What is neither data nor padding stays ones. */
        std::memset(piece, 0xff, whole);
        std::memcpy(piece + left, s + i * from, p.blockLen);
        for (uint64_t at = 0; at < left; at += sizeof(T))
            std::memcpy(piece + at, &pad.paddingValue, sizeof(T));
        for (uint64_t at = 0; at < right; at += sizeof(T))
            std::memcpy(piece + left + p.blockLen + at, &pad.paddingValue, sizeof(T));
    }
}

/* Unified buffer -> global memory: of each piece's blocks the first blockLen bytes. */
template <typename T>
void PadOut(const GlobalTensor<T> &dst, const LocalTensor<T> &src,
            const DataCopyExtParams &p) {
    CheckPieces("DataCopyPad", p.blockCount, p.blockLen);
    uint64_t whole =
        (uint64_t(p.blockLen) + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE;
    uint64_t from = whole + uint64_t(p.srcStride) * ONE_BLK_SIZE,
             to = uint64_t(p.blockLen) + p.dstStride;
    uint64_t last = p.blockCount - uint64_t(1);
    char *d = Side("DataCopyPad", "dst", dst, 0, last * to + p.blockLen);
    const char *s = Side("DataCopyPad", "src", src, 0, last * from + p.blockLen);
    for (uint64_t i = 0; i <= last; i++)
        Store<T>("DataCopyPad", d + i * to, s + i * from, p.blockLen);
}
} // namespace detail

/* Of `count` elements: into the unified buffer, out of it, within it. */
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src,
                                const uint32_t count) {
    detail::CopyCount(dst, src, count);
}
template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src,
                                const uint32_t count) {
    detail::CopyCount(dst, src, count);
}
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                const uint32_t count) {
    detail::CopyCount(dst, src, count);
}
/* Of pieces with gaps, likewise. */
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src,
                                const DataCopyParams &repeatParams) {
    detail::CopyPieces(dst, src, repeatParams);
}
template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src,
                                const DataCopyParams &repeatParams) {
    detail::CopyPieces(dst, src, repeatParams);
}
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                const DataCopyParams &repeatParams) {
    detail::CopyPieces(dst, src, repeatParams);
}

/* Pieces of any number of bytes, in and out. */
template <typename T>
__aicore__ inline void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src,
                                   const DataCopyExtParams &dataCopyParams,
                                   const DataCopyPadExtParams<T> &padParams) {
    detail::PadIn(dst, src, dataCopyParams, padParams);
}
template <typename T>
__aicore__ inline void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src,
                                   const DataCopyExtParams &dataCopyParams) {
    detail::PadOut(dst, src, dataCopyParams);
}

/* The older structs, whose fields are narrower; the value's low bytes are padded with. */
template <typename T>
__aicore__ inline void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src,
                                   const DataCopyParams &p,
                                   const DataCopyPadParams &padParams) {
    T value;
    std::memcpy(&value, &padParams.paddingValue, sizeof value);
    detail::PadIn(
        dst, src, {p.blockCount, p.blockLen, p.srcStride, p.dstStride, 0},
        {padParams.isPad, padParams.leftPadding, padParams.rightPadding, value});
}
template <typename T>
__aicore__ inline void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src,
                                   const DataCopyParams &p) {
    detail::PadOut(dst, src, {p.blockCount, p.blockLen, p.srcStride, p.dstStride, 0});
}
} // namespace AscendC
#endif
