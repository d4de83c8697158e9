/* CPU device, operators: activations of rows (contract in activation.h). Blocks that stay
 * in the nearest cache go through the device's own loops of erfc and exp. The form of
 * GELU with erfc keeps its digits far below 0, where 1 + erf has lost them. */
#include "device/opapi/core/activation.h"

#include "device/cpu/kernels.h"

enum { BLOCK = 512 };

/* What the loop of erfc or exp takes. */
static inline float argument(asnd_activation kind, float x) {
    switch (kind) {
    case ASN_GELU: return -0.70710678f * x;
    case ASN_GELU_TANH: return -1.5957691f * (x + 0.044715f * x * x * x);
    case ASN_FAST_GELU: return -1.702f * x;
    default: return -x;
    }
}

void asn_activate(asnd_activation kind, int64_t n, const float *x, float *y) {
    const asnd_ew_fn loop =
        asn_kernels_get()->ew[kind == ASN_GELU ? ASN_OP_ERFC : ASN_OP_EXP][ASN_F32];
    float t[BLOCK];
    if (kind == ASN_RELU) {
        asn_kernels_get()->ew[ASN_OP_RELU][ASN_F32](n, y, x, NULL, NULL);
        return;
    }
    for (int64_t at = 0; at < n; at += BLOCK) {
        const int64_t m = n - at < BLOCK ? n - at : BLOCK;
        for (int64_t i = 0; i < m; i++)
            t[i] = argument(kind, x[at + i]);
        loop(m, t, t, NULL, NULL);
        for (int64_t i = 0; i < m; i++)
            y[at + i] =
                kind == ASN_GELU ? 0.5f * x[at + i] * t[i] : x[at + i] / (1 + t[i]);
    }
}
