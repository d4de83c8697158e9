/* CPU device: connectionist temporal classification (Graves et al., "Connectionist
 * temporal classification: labelling unsegmented sequence data with recurrent neural
 * networks", 2006), in float64 over one sequence.
 *
 * The labels are the targets with a blank before, between and behind them: 2 L + 1 of
 * them. alpha[t][s] is the logarithm of the probability of all ways to the label s at the
 * time t.
 */
#ifndef ASN_DEVICE_CPU_NN_CTC_H
#define ASN_DEVICE_CPU_NN_CTC_H

#include <stdint.h>

typedef struct {
    const double *log_probs; /* of time t and class c: [t * time_stride + c] */
    int64_t time_stride, times, classes;
    const int64_t *targets;
    int64_t length, blank; /* L; the blank's class */
} asnd_ctc;

/* Fills `times` rows of alpha, `row` apart, of 2 L + 1 labels each, and returns the
 * negative logarithm of the targets' probability (infinite when they do not fit). */
double asn_ctc_forward(const asnd_ctc *c, double *alpha, int64_t row);

/* The gradient of dy * loss with respect to log_probs, where loss is what forward
 * returned; `grad` is laid out as log_probs. `room` is 2 (2 L + 1) numbers. */
void asn_ctc_backward(const asnd_ctc *c, const double *alpha, int64_t row, double loss,
                      double dy, double *room, double *grad);

#endif
