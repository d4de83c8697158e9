/* CPU device, operators: what layer, batch, group and instance normalisation share.
 *
 * The input's space is cut into slices by `mask`, the dimensions that statistics run
 * over. Whatever has one value per slice, or per parameter, is a "kept" view: the input's
 * dimensions, extent 1 and stride 0 where it has none of its own. Kept views serve as
 * inputs of programs over the whole space as they are.
 */
#ifndef ASN_DEVICE_OPAPI_NN_NORM_H
#define ASN_DEVICE_OPAPI_NN_NORM_H

#include "device/opapi/core/plan.h"
#include "device/opapi/core/program.h"

/* What is normalised is alpha * x + plus[0] + plus[1]: a residual and a bias may stand
 * before the normalisation. They are views of x's shape, or NULL. */
typedef struct {
    const asnd_nd *x;
    asn_dtype t;   /* of the arithmetic: float64 for float64, else float32 */
    uint64_t mask; /* what statistics run over */
    double count;  /* elements in a slice */
    double alpha;
    const asnd_nd *plus[2];
} asnd_norm;

/* Sets n for x, whose dimensions in `mask` (bit d) statistics run over; nothing is added
 * to it. */
void asn_norm_begin(asnd_norm *n, const asnd_nd *x, uint64_t mask);
/* A temporary of dtype t, kept over the dimensions outside `mask`. */
ASN_CHECK_RESULT asn_status asn_norm_kept(asnd_tmp *tmp, const asnd_norm *n,
                                          uint64_t mask, asnd_view *out);
/* The view of a tensor whose dimensions, in order, are those of x outside `mask`. */
void asn_norm_spread(asnd_view *v, const asnd_nd *a, const asnd_norm *n, uint64_t mask);
/* The mean and the biased variance of every slice. */
ASN_CHECK_RESULT asn_status asn_norm_statistics(const asnd_norm *n, const asnd_view *mean,
                                                const asnd_view *variance);
/* The mean square of every slice. */
ASN_CHECK_RESULT asn_status asn_norm_mean_square(const asnd_norm *n,
                                                 const asnd_view *square);
/* to = 1 / sqrt(variance + eps), which may be the same view. */
ASN_CHECK_RESULT asn_status asn_norm_rstd(const asnd_norm *n, const asnd_view *to,
                                          const asnd_view *variance, double eps);

typedef struct {
    /* Kept views, or NULL: no mean (RMS), no weight, no bias. */
    const asnd_nd *mean, *rstd, *weight, *bias;
    const double *swish;  /* y is z * sigmoid(*swish * z), z the normalised; or NULL */
    bool one_more;        /* the weight is this one + 1 */
    const asnd_nd *sum;   /* gets what is normalised, or NULL */
    const asnd_nd *again; /* gets the output, as it was rounded, or NULL */
} asnd_norm_params;

/* out = (x - mean) * rstd * weight + bias, with Swish behind it where the parameters
 * say so. */
ASN_CHECK_RESULT asn_status asn_norm_apply(const asnd_norm *n, const asnd_norm_params *p,
                                           const asnd_nd *out);

typedef struct {
    const asnd_nd *dy, *dx;   /* of x's shape; dx: or NULL */
    const asnd_view *dw, *db; /* kept, or NULL */
    uint64_t param_mask;      /* what the parameters' gradients are summed over */
    bool frozen;              /* mean and rstd do not depend on x */
    const asnd_nd *dplus;     /* the addends' gradient, or NULL */
    const asnd_nd *more;      /* is added to the gradient of the sum, or NULL */
} asnd_norm_grads;

/* Writes the gradients that are wanted (not NULL), dx last: it may be dy or x. mean and
 * rstd are those of the forward pass. */
ASN_CHECK_RESULT asn_status asn_norm_backward(const asnd_norm *n,
                                              const asnd_norm_params *p,
                                              const asnd_norm_grads *g, asnd_tmp *tmp);

/* Parameter i, unless it is NULL, is of a real floating dtype and of this shape. */
ASN_CHECK_RESULT asn_status asn_norm_check(const asnd_call *c, int i, int ndim,
                                           const int64_t *shape);
/* Element k of the aclBoolArray that parameter i is, of `size` elements. */
ASN_CHECK_RESULT asn_status asn_norm_output_mask(const asnd_call *c, int i, int size,
                                                 bool *wanted);

#endif
