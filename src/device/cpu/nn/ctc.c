/* CPU device: connectionist temporal classification (see ctc.h).
 *
 * Graves' recursions in logarithms: a label is reached from itself, from the one before,
 * and past a blank from the target before that if it is another one. Forwards they give
 * alpha and the loss; backwards beta, two rows of it at a time, and with alpha the
 * gradient of each time. Everything is float64; an impossible alignment is -infinity
 * throughout and gives an infinite loss.
 */
#include "device/cpu/nn/ctc.h"

#include <math.h>
#include <string.h>

/* log(exp(a) + exp(b)) -infinity, the logarithm of 0, on either side leaves the other. */
static double log_add(double a, double b) {
    double high = a > b ? a : b, low = a > b ? b : a;
    return low == -INFINITY ? high : high + log1p(exp(low - high));
}

/* The class of label s: blanks at even places. */
static int64_t label(const asnd_ctc *c, int64_t s) {
    return s % 2 == 0 ? c->blank : c->targets[s / 2];
}

/* Label s may be reached from s - 2: no blank between different targets is needed. */
static int skips(const asnd_ctc *c, int64_t s) {
    return s >= 2 && s % 2 == 1 && label(c, s) != label(c, s - 2);
}

/* The first label is the leading blank or the first target; the last one the trailing
 * blank or the last target. */
double asn_ctc_forward(const asnd_ctc *c, double *alpha, int64_t row) {
    int64_t labels = 2 * c->length + 1;
    if (c->times == 0) return c->length == 0 ? 0 : INFINITY;
    for (int64_t s = 0; s < labels; s++)
        alpha[s] = s < 2 ? c->log_probs[label(c, s)] : -INFINITY;
    for (int64_t t = 1; t < c->times; t++) {
        const double *before = alpha + (t - 1) * row,
                     *p = c->log_probs + t * c->time_stride;
        double *now = alpha + t * row;
        for (int64_t s = 0; s < labels; s++) {
            double sum = before[s];
            if (s > 0) sum = log_add(sum, before[s - 1]);
            if (skips(c, s)) sum = log_add(sum, before[s - 2]);
            now[s] = sum + p[label(c, s)];
        }
    }
    const double *last = alpha + (c->times - 1) * row;
    return -(labels > 1 ? log_add(last[labels - 1], last[labels - 2]) : last[0]);
}

/* grad[c] = (exp(p[c]) - exp(sum of alpha + beta over the labels of c + loss - p[c])) *
 * dy, where beta is that of this time; grad holds the sums on the way. */
static void gradient_row(const asnd_ctc *c, const double *p, const double *alpha,
                         const double *beta, double loss, double dy, double *grad) {
    int64_t labels = 2 * c->length + 1;
    for (int64_t k = 0; k < c->classes; k++)
        grad[k] = -INFINITY;
    for (int64_t s = 0; s < labels; s++)
        grad[label(c, s)] = log_add(grad[label(c, s)], alpha[s] + beta[s]);
    for (int64_t k = 0; k < c->classes; k++)
        grad[k] = (exp(p[k]) - exp(grad[k] + loss - p[k])) * dy;
}

/* The two rows of beta change places at each step. A last label or the one before ends a
 * way: beta is 0 there at the last time, before the label's own probability. */
void asn_ctc_backward(const asnd_ctc *c, const double *alpha, int64_t row, double loss,
                      double dy, double *room, double *grad) {
    int64_t labels = 2 * c->length + 1;
    double *now = room, *after = room + labels;
    for (int64_t t = c->times - 1; t >= 0; t--) {
        const double *p = c->log_probs + t * c->time_stride;
        for (int64_t s = 0; s < labels; s++) {
            double sum = s >= labels - 2 ? 0 : -INFINITY;
            if (t < c->times - 1) {
                sum = after[s];
                if (s + 1 < labels) sum = log_add(sum, after[s + 1]);
                if (s + 2 < labels && skips(c, s + 2)) sum = log_add(sum, after[s + 2]);
            }
            now[s] = sum + p[label(c, s)];
        }
        gradient_row(c, p, alpha + t * row, now, loss, dy, grad + t * c->time_stride);
        double *swap = now;
        now = after;
        after = swap;
    }
}
