/* CPU device, operators: activations of rows of float32, for bodies that go row by row
 * (between a product and a quantisation, say). The elementwise operators of the same
 * names are expressions over ops.def. */
#ifndef ASN_DEVICE_OPAPI_CORE_ACTIVATION_H
#define ASN_DEVICE_OPAPI_CORE_ACTIVATION_H

#include <stdint.h>

/* relu: max(x, 0). gelu: x/2 erfc(-x / sqrt(2)). The others are x * sigmoid(t): t is x
 * (swish), 1.702 x (fast gelu), sqrt(8 / pi) (x + 0.044715 x^3) (gelu of tanh). */
typedef enum {
    ASN_RELU,
    ASN_GELU,
    ASN_GELU_TANH,
    ASN_FAST_GELU,
    ASN_SWISH
} asnd_activation;

/* y[i] = the activation of x[i], i < n; y may be x. */
void asn_activate(asnd_activation kind, int64_t n, const float *x, float *y);

#endif
