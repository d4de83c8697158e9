/* CPU device, private to gemm_dot_avx512.c: its tile of sixteen rows by a panel of 64
 * columns, by the matrix unit (Intel AMX). The general path is gemm_dot.inc, whose sums
 * of integers are the same and whose sums of halves round elsewhere.
 *
 * The unit multiplies 16 rows of 64 bytes of A by 16 groups of 16 columns of the panel:
 * 0.8 TFLOP/s a core of halves at 1024, where the dot products reach 0.11. Its registers
 * are large: Linux hands them out to processes that ask.
 */
#ifndef ASN_DEVICE_CPU_GEMM_GEMM_DOT_AMX_H
#define ASN_DEVICE_CPU_GEMM_GEMM_DOT_AMX_H

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TILE_ROWS = 16, TILE_GROUPS = 16, TILE_BYTES = 64 /* of a row */ };

static bool tiles_granted;

static void ask_for_tiles(void) {
    enum { REQUEST = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM, <asm/prctl.h> */
    tiles_granted = syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

/* Whether this process may use the tile registers; asks once. */
static bool may_use_tiles(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ask_for_tiles);
    return tiles_granted;
}

/* The compiler is to store first what the unit loads by address; GCC 12's loads do not
 * say so. */
#define STORED() __asm__ volatile("" : : : "memory")

/* All eight tiles are 16 rows of 64 bytes: 0 to 3 the sums, 4 of A, 5 to 7 of the panel.
 */
static __attribute__((noinline, target("amx-tile"))) void begin_tiles(void) {
    _Alignas(64) uint8_t shape[64] = {1}; /* palette 1 */
    for (int i = 0; i < 8; i++) {
        shape[16 + 2 * i] = TILE_BYTES;
        shape[48 + i] = TILE_ROWS;
    }
    STORED();
    _tile_loadconfig(shape);
}

static __attribute__((noinline, target("amx-tile"))) void end_tiles(void) {
    _tile_release();
}

/* 16 rows of A's groups from `g` on, where fewer rows or groups are left: filled up with
 * zeros. */
static void fill_tile(int rows, const dot_tile *t, const char *a, const uint32_t *rest,
                      int64_t g, uint32_t tile[TILE_ROWS][TILE_GROUPS]) {
    int64_t whole = t->whole - g < TILE_GROUPS ? t->whole - g : TILE_GROUPS;
    memset(tile, 0, TILE_ROWS * TILE_BYTES);
    for (int i = 0; i < rows; i++) {
        if (whole > 0)
            memcpy(tile[i], a + i * t->a_row + g * GROUP_BYTES,
                   (size_t)whole * GROUP_BYTES);
        if (t->groups > t->whole && t->whole >= g && t->whole < g + TILE_GROUPS)
            tile[i][t->whole - g] = rest[i];
    }
}

#define NAME    tile_halves
#define PRODUCT _tile_dpbf16ps
#define TARGET  "amx-tile,amx-bf16"
#include "device/cpu/gemm/gemm_dot_amx.inc"
#define NAME    tile_signed
#define PRODUCT _tile_dpbssd
#define TARGET  "amx-tile,amx-int8"
#include "device/cpu/gemm/gemm_dot_amx.inc"
#define NAME    tile_unsigned
#define PRODUCT _tile_dpbuud
#define TARGET  "amx-tile,amx-int8"
#include "device/cpu/gemm/gemm_dot_amx.inc"
#undef STORED

#endif
