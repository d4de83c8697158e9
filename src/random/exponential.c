/* L1 random: the ziggurat of the exponential density exp(-x), 256 layers of equal area.
 *
 * Its edges follow from the tail's start R alone (the layers' area is (R + 1) exp(-R)).
 * A stream equal to NumPy's needs the scales to the last bit: NumPy's are the true values
 * rounded, and the recurrence amplifies rounding on its way in, so that it runs in long
 * double. The limits are a little low: what lies above is looked at again.
 */
#include <math.h>
#include <pthread.h>

#include "random/ziggurat.h"

/* The root of the equation that closes 256 layers. */
#define EXPONENTIAL_R 7.697117470131049714044628048114L

static asn_layer layers[ASN_LAYERS];
static asn_layer_float singles[ASN_LAYERS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Edges from the outermost layer inwards; density: exp(-edge). */
static void build(void) {
    const long double area = (EXPONENTIAL_R + 1) * expl(-EXPONENTIAL_R);
    const double span = 0x1p53, margin = 64, span_float = 0x1p23;
    long double edge[ASN_LAYERS], density = expl(-EXPONENTIAL_R);
    edge[ASN_LAYERS - 1] = EXPONENTIAL_R;
    edge[0] = area / density;
    for (int i = ASN_LAYERS - 2; i > 0; i--) {
        density += area / edge[i + 1];
        edge[i] = -logl(density);
    }
    /* Inside for certain is what lies left of the next edge in. */
    for (int i = 0; i < ASN_LAYERS; i++) {
        long double inner = i == 0 ? EXPONENTIAL_R : i == 1 ? 0 : edge[i - 1];
        double limit = (double)(inner / edge[i]) * span - margin;
        layers[i].scale = (double)edge[i] / span;
        layers[i].inside = limit > 0 ? (uint64_t)limit : 0;
        singles[i].scale = (float)(edge[i] / span_float);
        limit = (double)(inner / edge[i]) * span_float - 2;
        singles[i].inside = limit > 0 ? (uint32_t)limit : 0;
    }
    /* Too near the middle of two doubles for 64 bits of precision. */
    layers[38].scale = 0x1.54a0629786f4dp-54;
    /* NumPy's is the other of two floats about as near. */
    singles[226].scale = 0x1.d87948p-22f;
}

const asn_layer *asn_exponential_layers(void) {
    pthread_once(&once, build);
    return layers;
}

const asn_layer_float *asn_exponential_layers_float(void) {
    pthread_once(&once, build);
    return singles;
}
