/* CPU device: products of int8, uint8 and bfloat16 by dot products of four bytes or two
 * halves (see gemm_dot.h).
 *
 * Integers wrap, so only the lowest byte of a sum matters, and that does not depend on
 * whether a byte counts as signed: the instruction's unsigned times signed serves both
 * dtypes. Sums that are kept whole (int32) are those of a's bytes plus 128, which are
 * unsigned: 128 times the sum of b's column is taken away again. Panels of 64 columns of
 * B are packed into groups of successive elements; each is then used by all rows of A,
 * six at a time, with 24 accumulators in registers. A panel of a long k is cut into
 * pieces that stay in L2, whose sums are added up in a strip.
 */
#include "device/cpu/gemm/gemm_dot.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "base/alloc.h"
#include "base/half.h"
#include "device/cpu/kernels.h"
#include "device/cpu/move/moves.h"
#include "device/cpu/threads.h"

enum {
    ROWS = ASN_DOT_ROWS,
    PANEL_VECTORS = 4,
    PANEL = 16 * PANEL_VECTORS, /* columns */
    GROUP_BYTES = 4,
    MAX_GROUPS = 1024,     /* of a panel: 256 KB */
    MAX_TILE_GROUPS = 8192 /* for the matrix unit's bfloat16, rounded once: 2 MB */
};

/* A piece of a panel: groups of GROUP_BYTES bytes of k, of which the first `whole` lie
 * whole in A. */
typedef struct {
    const char *panel;
    int64_t a_row; /* bytes */
    int64_t groups, whole;
    uint32_t flip; /* 0x80808080: a's bytes plus 128 */
} dot_tile;

typedef void (*dot_fn)(int rows, const dot_tile *t, const char *a, const uint32_t *rest,
                       void *out);

#define NAME         dot_bytes
#define VEC          __m512i
#define ZERO         _mm512_setzero_si512()
#define DOT(s, a, b) _mm512_dpbusd_epi32(s, a, b)
#define TARGET       "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"
#include "device/cpu/gemm/gemm_dot.inc"
#define NAME         dot_halves
#define VEC          __m512
#define ZERO         _mm512_setzero_ps()
#define DOT(s, a, b) _mm512_dpbf16_ps(s, (__m512bh)(a), (__m512bh)(b))
#define BF16_TARGET  "avx512f,avx512bw,avx512vl,avx512dq,avx512bf16"
#define TARGET       BF16_TARGET
#include "device/cpu/gemm/gemm_dot.inc"
#include "device/cpu/gemm/gemm_dot_amx.h"

typedef struct {
    const asnd_nd *a, *b, *t;
    int item, group; /* bytes of an element; elements of a group */
    bool keeps;      /* int32 sums of int8 */
    bool tiles;      /* by the matrix unit, which knows signs */
    int rows;        /* of A that `dot` takes */
    int most_groups; /* of a panel */
    dot_fn dot;
    int64_t m, n, k, panels, row_parts, part_rows;
    int failed;
} dot_run;

/* Rows of contiguous columns, a group's to a word each. */
static void pack_group(int item, const char *const *rows, int64_t n, uint32_t *words) {
    if (item == 1) {
        const uint8_t *r0 = (const uint8_t *)rows[0], *r1 = (const uint8_t *)rows[1],
                      *r2 = (const uint8_t *)rows[2], *r3 = (const uint8_t *)rows[3];
        for (int64_t c = 0; c < n; c++)
            words[c] = r0[c] | (uint32_t)r1[c] << 8 | (uint32_t)r2[c] << 16 |
                       (uint32_t)r3[c] << 24;
    } else {
        const uint16_t *r0 = (const uint16_t *)rows[0], *r1 = (const uint16_t *)rows[1];
        for (int64_t c = 0; c < n; c++)
            words[c] = r0[c] | (uint32_t)r1[c] << 16;
    }
}

/* Columns [j, j + n) and rows [from, from + count) of B; zeros up to a multiple of
 * TILE_GROUPS groups. */
static void pack_panel(const dot_run *r, const char *b, int64_t j, int64_t n,
                       int64_t from, int64_t count, char *panel) {
    static const char nothing[PANEL * 2];
    const int64_t row = r->b->strides[r->b->ndim - 2],
                  col = r->b->strides[r->b->ndim - 1];
    const int64_t groups = (count + r->group - 1) / r->group;
    const int64_t filled = (groups + TILE_GROUPS - 1) / TILE_GROUPS * TILE_GROUPS;
    const bool contiguous = col == r->item;
    const char *src = b + from * row + j * col;
    if (n < PANEL || (count % r->group && !contiguous))
        memset(panel, 0, (size_t)(groups * PANEL * GROUP_BYTES));
    memset(panel + groups * PANEL * GROUP_BYTES, 0,
           (size_t)((filled - groups) * PANEL * GROUP_BYTES));
    const bool aligned = (((uintptr_t)src | (uintptr_t)col) & (GROUP_BYTES - 1)) == 0;
    if (row == r->item && !contiguous && aligned && count % r->group == 0) {
        /* groups as they lie */
        asn_move_loops_get(GROUP_BYTES)
            ->transpose(panel, PANEL * GROUP_BYTES, src, col, n, groups, false);
        return;
    }
    for (int64_t i = 0; i < count && contiguous; i += r->group) {
        const char *rows[GROUP_BYTES];
        for (int64_t g = 0; g < r->group; g++)
            rows[g] = i + g < count ? src + (i + g) * row : nothing;
        pack_group(r->item, rows, n, (uint32_t *)panel + i / r->group * PANEL);
    }
    for (int64_t i = 0; i < count && !contiguous; i++, src += row) {
        char *dst = panel + i / r->group * (PANEL * GROUP_BYTES) + i % r->group * r->item;
        for (int64_t c = 0; c < n; c++)
            memcpy(dst + c * GROUP_BYTES, src + c * col, (size_t)r->item);
    }
}

/* One tile's sums to T, onto what a former piece of k left there. */
static void store_tile(const dot_run *r, char *t, int rows, int64_t n, const void *sums,
                       const uint32_t *extra, bool first) {
    int64_t row = r->t->strides[r->t->ndim - 2];
    for (int i = 0; i < rows; i++) {
        char *dst = t + i * row;
        if (r->keeps) {
            const uint32_t *s = (const uint32_t *)sums + i * PANEL;
            for (int64_t c = 0; c < n; c++) {
                uint32_t before = 0, total;
                if (!first) memcpy(&before, dst + 4 * c, 4);
                total = before + s[c] - extra[c];
                memcpy(dst + 4 * c, &total, 4);
            }
        } else if (r->item == 1) {
            const uint32_t *s = (const uint32_t *)sums + i * PANEL;
            for (int64_t c = 0; c < n; c++)
                dst[c] = (char)((first ? 0 : (unsigned char)dst[c]) + s[c]);
        } else if (r->t->dtype == ASN_BF16) {
            const float *s = (const float *)sums + i * PANEL;
            for (int64_t c = 0; c < n; c++)
                ((uint16_t *)dst)[c] = asn_f32_to_bf16(s[c]);
        } else {
            const float *s = (const float *)sums + i * PANEL;
            for (int64_t c = 0; c < n; c++) {
                float before = 0;
                if (!first) memcpy(&before, dst + 4 * c, 4);
                before += s[c];
                memcpy(dst + 4 * c, &before, 4);
            }
        }
    }
}

/* Rows [rows[0], rows[1]) of A times the panel's piece of k that begins at `from`, to T's
 * n columns at t. */
static void run_rows(const dot_run *r, const dot_tile *tile, const char *a, char *t,
                     const int64_t rows[2], int64_t from, int64_t n) {
    _Alignas(64) char sums[TILE_ROWS * PANEL * 4];
    _Alignas(64) uint32_t extra[PANEL] = {0}; /* 128 times the sums of b's columns */
    if (tile->flip) {
        const uint32_t zeros[ROWS] = {0};
        dot_tile columns = {tile->panel, 0, tile->groups, 0, tile->flip};
        r->dot(1, &columns, (const char *)zeros, zeros, extra);
    }
    int64_t left = r->k - from - tile->whole * r->group;
    int64_t t_row = r->t->strides[r->t->ndim - 2];
    for (int64_t i = rows[0]; i < rows[1]; i += r->rows) {
        int count = rows[1] - i < r->rows ? (int)(rows[1] - i) : r->rows;
        const char *first = a + i * tile->a_row + from * r->item;
        uint32_t rest[TILE_ROWS] = {0};
        for (int k = 0; k < count && tile->whole < tile->groups; k++)
            memcpy(&rest[k], first + k * tile->a_row + tile->whole * GROUP_BYTES,
                   (size_t)(left * r->item));
        r->dot(count, tile, first, rest, sums);
        store_tile(r, t + i * t_row, count, n, sums, extra, from == 0);
    }
}

/* One panel of one product, for some of the rows. */
static void run_panel(void *ctx, int64_t task) {
    dot_run *r = ctx;
    int64_t part = task % r->row_parts, p = task / r->row_parts % r->panels;
    int64_t item = task / r->row_parts / r->panels;
    const char *a = r->a->data, *b = r->b->data;
    char *t = r->t->data;
    for (int d = r->a->ndim - 3; d >= 0; d--) {
        int64_t at = item % r->t->shape[d];
        item /= r->t->shape[d];
        a += at * r->a->strides[d];
        b += at * r->b->strides[d];
        t += at * r->t->strides[d];
    }
    int64_t j = p * PANEL, n = r->n - j < PANEL ? r->n - j : PANEL;
    int64_t rows[2] = {part * r->part_rows, (part + 1) * r->part_rows};
    if (rows[1] > r->m) rows[1] = r->m;
    const int64_t piece = r->most_groups * r->group;
    size_t bytes = (size_t)((r->k < piece ? r->k : piece) / r->group + 1 + TILE_GROUPS) *
                   PANEL * GROUP_BYTES;
    char *memory = asn_malloc(bytes + 64);
    if (!memory) {
        __atomic_store_n(&r->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    char *panel = memory + (64 - ((uintptr_t)memory & 63)) % 64;
    char *out = t + j * asn_itemsize(r->t->dtype);
    if (r->tiles) begin_tiles();
    for (int64_t from = 0; from < r->k; from += piece) {
        int64_t count = r->k - from < piece ? r->k - from : piece;
        pack_panel(r, b, j, n, from, count, panel);
        dot_tile tile = {panel, r->a->strides[r->a->ndim - 2],
                         (count + r->group - 1) / r->group, count / r->group,
                         r->keeps && !r->tiles ? 0x80808080 : 0};
        run_rows(r, &tile, a, out, rows, from, n);
    }
    if (r->tiles) end_tiles();
    asn_free(memory);
}

/* The kernel for a dtype; NULL where the processor has no such instructions. */
static void choose_dot(dot_run *r, asn_dtype dt) {
    const asnd_context *context = asn_context_get();
    const bool halves = dt == ASN_BF16, bytes = dt == ASN_I8 || dt == ASN_U8;
    r->dot = halves && context->dots_of_bf16   ? dot_halves
             : bytes && context->dots_of_bytes ? dot_bytes
                                               : NULL;
    r->rows = ROWS;
    r->most_groups = MAX_GROUPS;
    r->tiles = r->dot && context->tiles && may_use_tiles();
    if (!r->tiles) return;
    r->dot = halves ? tile_halves : dt == ASN_I8 ? tile_signed : tile_unsigned;
    r->rows = TILE_ROWS;
    if (r->t->dtype == ASN_BF16) r->most_groups = MAX_TILE_GROUPS;
}

/* `rows` of the inner products, a constant at every call. */
static inline __attribute__((always_inline, target(BF16_TARGET))) void
dots_of_rows(int rows, int64_t n, const char *x, int64_t x_row, const uint16_t *v,
             char *out, int64_t out_step) {
    enum { STEP = 32 };
    __m512 sums[4][2];
    int64_t i = 0;
    for (int r = 0; r < rows; r++)
        sums[r][0] = sums[r][1] = _mm512_setzero_ps();
    for (; i + 2 * STEP <= n; i += 2 * STEP)
        for (int h = 0; h < 2; h++) {
            const __m512bh y = (__m512bh)_mm512_loadu_si512(v + i + h * STEP);
            for (int r = 0; r < rows; r++) {
                const char *from = x + r * x_row + (i + h * STEP) * 2;
                sums[r][h] =
                    _mm512_dpbf16_ps(sums[r][h], (__m512bh)_mm512_loadu_si512(from), y);
            }
        }
    for (; i < n; i += STEP) {
        const __mmask32 some = n - i < STEP ? (1u << (n - i)) - 1 : ~0u;
        const __m512bh y = (__m512bh)_mm512_maskz_loadu_epi16(some, v + i);
        for (int r = 0; r < rows; r++) {
            const __m512i from = _mm512_maskz_loadu_epi16(some, x + r * x_row + i * 2);
            sums[r][0] = _mm512_dpbf16_ps(sums[r][0], (__m512bh)from, y);
        }
    }
    for (int r = 0; r < rows; r++)
        *(float *)(out + r * out_step) =
            _mm512_reduce_add_ps(_mm512_add_ps(sums[r][0], sums[r][1]));
}

/* (Contract in gemm_dot.h.) */
__attribute__((target(BF16_TARGET))) void
asn_dots_of_bf16_avx512(int64_t rows, int64_t n, const char *x, int64_t x_row,
                        const uint16_t *v, char *out, int64_t out_step) {
    for (; rows >= 4; rows -= 4, x += 4 * x_row, out += 4 * out_step)
        dots_of_rows(4, n, x, x_row, v, out, out_step);
    for (; rows > 0; rows--, x += x_row, out += out_step)
        dots_of_rows(1, n, x, x_row, v, out, out_step);
}

/* Tasks are panels, and where these are few also parts of the rows: cut by the shape
 * alone, but integers give the same bits anyway. */
asn_status asn_gemm_dot_avx512(const asnd_nd *a, const asnd_nd *b, const asnd_nd *t,
                               bool *done) {
    int nd = a->ndim;
    dot_run r = {.a = a, .b = b, .t = t, .item = asn_itemsize(a->dtype)};
    r.keeps = a->dtype == ASN_I8 && t->dtype == ASN_I32;
    choose_dot(&r, a->dtype);
    r.group = GROUP_BYTES / r.item;
    r.m = a->shape[nd - 2];
    r.k = a->shape[nd - 1];
    r.n = b->shape[nd - 1];
    *done = r.dot && a->strides[nd - 1] == r.item &&
            t->strides[nd - 1] == asn_itemsize(t->dtype) &&
            asn_gemm_dot_pays(r.m, r.k, r.n);
    if (t->dtype == ASN_BF16) *done = *done && r.k <= r.most_groups * r.group;
    if (!*done) return ASN_OK;
    int64_t batch = 1;
    for (int d = 0; d < nd - 2; d++)
        batch *= t->shape[d];
    r.panels = (r.n + PANEL - 1) / PANEL;
    /* enough tasks for any number of threads, each with rows enough to pay its packing */
    r.row_parts = r.panels * batch >= 16 ? 1 : (r.m + 191) / 192;
    r.part_rows = (r.m + r.row_parts - 1) / r.row_parts;
    r.part_rows = (r.part_rows + r.rows - 1) / r.rows * r.rows;
    r.row_parts = (r.m + r.part_rows - 1) / r.part_rows;
    double work = (double)batch * (double)r.m * (double)r.n * (double)r.k;
    asn_pool_run(run_panel, &r, batch * r.panels * r.row_parts,
                 work * (r.item == 1 ? 0.006 : 0.012));
    return r.failed ? asn_error_set(ASN_ERR_MEMORY, "matmul: no memory for a panel")
                    : ASN_OK;
}
#endif
