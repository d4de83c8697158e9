/* CPU device, private to copies: a square of 64-byte rows, transposed.
 *
 * turn_<size>(from, stride, to, pitch) writes the transposition of 64 / size rows of 64
 * bytes, `stride` apart, to 64-byte rows, `pitch` apart. In registers: interleaving row r
 * with row r + n / 2 of n rows, log2(n) times over, is a transposition.
 */
#ifndef ASN_DEVICE_CPU_MOVE_TRANSPOSE_H
#define ASN_DEVICE_CPU_MOVE_TRANSPOSE_H

#if defined(__AVX512F__)
static inline void turn_4(const char *from, int64_t stride, char *to, int64_t pitch) {
    const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1,
                                         16, 0),
                  high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    __m512i a[16], b[16];
    for (int r = 0; r < 16; r++)
        a[r] = _mm512_loadu_si512(from + r * stride);
    for (int stage = 0; stage < 2; stage++) {
        for (int r = 0; r < 8; r++) {
            b[2 * r] = _mm512_permutex2var_epi32(a[r], low, a[r + 8]);
            b[2 * r + 1] = _mm512_permutex2var_epi32(a[r], high, a[r + 8]);
        }
        for (int r = 0; r < 8; r++) {
            a[2 * r] = _mm512_permutex2var_epi32(b[r], low, b[r + 8]);
            a[2 * r + 1] = _mm512_permutex2var_epi32(b[r], high, b[r + 8]);
        }
    }
    for (int r = 0; r < 16; r++)
        _mm512_storeu_si512(to + pitch * r, a[r]);
}

static inline void turn_8(const char *from, int64_t stride, char *to, int64_t pitch) {
    const __m512i low = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0),
                  high = _mm512_add_epi64(low, _mm512_set1_epi64(4));
    __m512i a[8], b[8];
    for (int r = 0; r < 8; r++)
        a[r] = _mm512_loadu_si512(from + r * stride);
    for (int stage = 0; stage < 3; stage++) {
        for (int r = 0; r < 4; r++) {
            b[2 * r] = _mm512_permutex2var_epi64(a[r], low, a[r + 4]);
            b[2 * r + 1] = _mm512_permutex2var_epi64(a[r], high, a[r + 4]);
        }
        memcpy(a, b, sizeof a);
    }
    for (int r = 0; r < 8; r++)
        _mm512_storeu_si512(to + pitch * r, a[r]);
}
#elif defined(__AVX2__)
/* Squares of 32-byte rows. */
static inline void turn_square_4(const char *from, int64_t stride, char *to,
                                 int64_t pitch) {
    __m256i a[8], b[8];
    for (int r = 0; r < 8; r++)
        a[r] = _mm256_loadu_si256((const void *)(from + r * stride));
    for (int r = 0; r < 8; r += 2) {
        b[r] = _mm256_unpacklo_epi32(a[r], a[r + 1]);
        b[r + 1] = _mm256_unpackhi_epi32(a[r], a[r + 1]);
    }
    for (int r = 0; r < 8; r += 4)
        for (int k = 0; k < 2; k++) {
            a[r + 2 * k] = _mm256_unpacklo_epi64(b[r + k], b[r + k + 2]);
            a[r + 2 * k + 1] = _mm256_unpackhi_epi64(b[r + k], b[r + k + 2]);
        }
    for (int r = 0; r < 4; r++) {
        _mm256_storeu_si256((void *)(to + r * pitch),
                            _mm256_permute2x128_si256(a[r], a[r + 4], 0x20));
        _mm256_storeu_si256((void *)(to + (r + 4) * pitch),
                            _mm256_permute2x128_si256(a[r], a[r + 4], 0x31));
    }
}

static inline void turn_square_8(const char *from, int64_t stride, char *to,
                                 int64_t pitch) {
    __m256i a[4], b[4];
    for (int r = 0; r < 4; r++)
        a[r] = _mm256_loadu_si256((const void *)(from + r * stride));
    for (int r = 0; r < 4; r += 2) {
        b[r] = _mm256_unpacklo_epi64(a[r], a[r + 1]);
        b[r + 1] = _mm256_unpackhi_epi64(a[r], a[r + 1]);
    }
    for (int r = 0; r < 2; r++) {
        _mm256_storeu_si256((void *)(to + r * pitch),
                            _mm256_permute2x128_si256(b[r], b[r + 2], 0x20));
        _mm256_storeu_si256((void *)(to + (r + 2) * pitch),
                            _mm256_permute2x128_si256(b[r], b[r + 2], 0x31));
    }
}

static inline void turn_4(const char *from, int64_t stride, char *to, int64_t pitch) {
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 2; x++)
            turn_square_4(from + 8 * y * stride + 32 * x, stride,
                          to + 8 * x * pitch + 32 * y, pitch);
}

static inline void turn_8(const char *from, int64_t stride, char *to, int64_t pitch) {
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 2; x++)
            turn_square_8(from + 4 * y * stride + 32 * x, stride,
                          to + 4 * x * pitch + 32 * y, pitch);
}
#else
static inline void turn_4(const char *from, int64_t stride, char *to, int64_t pitch) {
    for (int y = 0; y < 16; y++)
        for (int x = 0; x < 16; x++)
            ((uint32_t *)(to + x * pitch))[y] =
                ((const uint32_t *)(from + y * stride))[x];
}

static inline void turn_8(const char *from, int64_t stride, char *to, int64_t pitch) {
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++)
            ((asn_eight *)(to + x * pitch))[y] =
                ((const asn_eight *)(from + y * stride))[x];
}
#endif

#if defined(__x86_64__)
/* Blocks of 16 x 16 bytes, and of 8 x 8 pairs of bytes: SSE2. */
static inline void turn_1(const char *from, int64_t stride, char *to, int64_t pitch) {
    for (int block = 0; block < 16; block++) {
        const char *p = from + block / 4 * 16 * stride + block % 4 * 16;
        char *q = to + block % 4 * 16 * pitch + block / 4 * 16;
        __m128i a[16], b[16];
        for (int r = 0; r < 16; r++)
            a[r] = _mm_loadu_si128((const __m128i *)(p + r * stride));
        for (int stage = 0; stage < 4; stage++) {
            for (int r = 0; r < 8; r++) {
                b[2 * r] = _mm_unpacklo_epi8(a[r], a[r + 8]);
                b[2 * r + 1] = _mm_unpackhi_epi8(a[r], a[r + 8]);
            }
            memcpy(a, b, sizeof a);
        }
        for (int r = 0; r < 16; r++)
            _mm_storeu_si128((__m128i *)(q + r * pitch), a[r]);
    }
}

static inline void turn_2(const char *from, int64_t stride, char *to, int64_t pitch) {
    for (int block = 0; block < 16; block++) {
        const char *p = from + block / 4 * 8 * stride + block % 4 * 16;
        char *q = to + block % 4 * 8 * pitch + block / 4 * 16;
        __m128i a[8], b[8];
        for (int r = 0; r < 8; r++)
            a[r] = _mm_loadu_si128((const __m128i *)(p + r * stride));
        for (int stage = 0; stage < 3; stage++) {
            for (int r = 0; r < 4; r++) {
                b[2 * r] = _mm_unpacklo_epi16(a[r], a[r + 4]);
                b[2 * r + 1] = _mm_unpackhi_epi16(a[r], a[r + 4]);
            }
            memcpy(a, b, sizeof a);
        }
        for (int r = 0; r < 8; r++)
            _mm_storeu_si128((__m128i *)(q + r * pitch), a[r]);
    }
}
#else
static inline void turn_1(const char *from, int64_t stride, char *to, int64_t pitch) {
    for (int y = 0; y < 64; y++)
        for (int x = 0; x < 64; x++)
            ((uint8_t *)(to + x * pitch))[y] = ((const uint8_t *)(from + y * stride))[x];
}

static inline void turn_2(const char *from, int64_t stride, char *to, int64_t pitch) {
    for (int y = 0; y < 32; y++)
        for (int x = 0; x < 32; x++)
            ((uint16_t *)(to + x * pitch))[y] =
                ((const uint16_t *)(from + y * stride))[x];
}
#endif

/* Four rows of 16-byte elements. */
static inline void turn_16(const char *from, int64_t stride, char *to, int64_t pitch) {
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++)
            ((asnd_sixteen *)(to + x * pitch))[y] =
                ((const asnd_sixteen *)(from + y * stride))[x];
}

#endif
