/* L3 C binding: the distributions of numpy.random.Generator that have a row in
 * random/variates.def. Their algorithms are those of the library that NumPy ships for
 * this use; a library that was built without NumPy says so.
 *
 * One function takes them all by name, with their parameters as numbers: a signature for
 * each would be 29 functions that differ in their names. Parameters are checked by the
 * rows' rules first, one at a time, then together, before anything is drawn, so that a
 * failed call leaves the generator as it was.
 */
#include "capi/capi.h"
#include "capi/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#ifdef ASNUMPY_VARIATES

#include "random/variates.h"

/* A row with its parameters: copied as it is into captures, so it holds no pointers but
 * the row's, which is static. */
typedef struct {
    const asn_variate *row;
    double reals[ASN_VARIATE_PARAMS];
    int64_t wholes[ASN_VARIATE_PARAMS];
} law;

/* The parameter as its row wants it: an int64 ('l') or a double. */
static const void *value_of(const law *l, int k) {
    return l->row->kinds[k] == 'l' ? (const void *)&l->wholes[k] : &l->reals[k];
}

/* Draws n elements into out: a filling for asn_capi_drawn. Each parameter is one number
 * for all elements: steps of 0. */
static asn_status fill_law(void *engine, const void *what, int64_t n, void *out) {
    static const int64_t steps[ASN_VARIATE_PARAMS];
    const law *l = what;
    const void *values[ASN_VARIATE_PARAMS] = {NULL};
    for (int k = 0; k < l->row->nparams; k++)
        values[k] = value_of(l, k);
    l->row->fill(engine, n, values, steps, out);
    return ASN_OK;
}

/* Takes parameter k and checks it by its row's rule. Parameters of whole numbers come as
 * doubles, which hold them up to 2**53. */
static asn_status read_parameter(law *l, int k, double value) {
    const char *name = l->row->params[k];
    l->reals[k] = value;
    if (l->row->kinds[k] == 'l') {
        if (value != floor(value) || fabs(value) >= 0x1p53)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s is %g; it must be a whole number below 2**53",
                                 l->row->name, name, value);
        l->wholes[k] = (int64_t)value;
    }
    const char *format = asn_variate_check(l->row, k, 1, value_of(l, k));
    if (!format) return ASN_OK;
    char text[96]; /* the format has up to three places for the name */
    (void)snprintf(text, sizeof text, format, name, name, name);
    return asn_error_set(ASN_ERR_VALUE, "%s: %s, got %g", l->row->name, text, value);
}

/* What concerns several parameters; NumPy's limits. The last keeps the Poisson draw
 * inside a negative binomial within int64. */
static asn_status check_together(const law *l) {
    const char *name = l->row->name;
    const double *p = l->reals;
    if (!strcmp(name, "triangular") && !(p[0] <= p[1] && p[1] <= p[2] && p[0] < p[2]))
        return asn_error_set(ASN_ERR_VALUE,
                             "triangular: left %g, mode %g, right %g; they must ascend, "
                             "and left and right differ",
                             p[0], p[1], p[2]);
    if (!strcmp(name, "hypergeometric") && (p[0] >= 1e9 || p[1] >= 1e9))
        return asn_error_set(ASN_ERR_VALUE,
                             "hypergeometric: ngood %g, nbad %g; both must be less than "
                             "1000000000",
                             p[0], p[1]);
    if (!strcmp(name, "hypergeometric") && p[0] + p[1] < p[2])
        return asn_error_set(ASN_ERR_VALUE,
                             "hypergeometric: nsample is %g, of %g there are", p[2],
                             p[0] + p[1]);
    if (!strcmp(name, "negative_binomial")) {
        double rate = (1 - p[1]) / p[1] * (p[0] + 10 * sqrt(p[0]));
        if (rate > 0x1p63 - sqrt(0x1p63) * 10)
            return asn_error_set(ASN_ERR_VALUE,
                                 "negative_binomial: n %g is too large or p %g too small",
                                 p[0], p[1]);
    }
    return ASN_OK;
}

/* By NumPy's name and order of parameters; all of them must be given, since C has no
 * defaults. */
asnp_status asnp_rng_distribution(asnp_rng *g, const char *name, int32_t count,
                                  const double *parameters, int32_t ndim,
                                  const int64_t *shape, asnp_array **out) {
    law l = {0};
    NEED(g);
    NEED(name);
    NEED(out);
    l.row = asn_variate_find(name, false);
    if (!l.row)
        return asn_error_set(ASN_ERR_VALUE,
                             "there is no distribution '%s'; there are those of "
                             "numpy.random.Generator with one number a parameter",
                             name);
    if (count != l.row->nparams || (count > 0 && !parameters))
        return asn_error_set(ASN_ERR_VALUE, "%s takes %d parameters, got %d", name,
                             l.row->nparams, count);
    for (int k = 0; k < count; k++)
        ASN_TRY(read_parameter(&l, k, parameters[k]));
    ASN_TRY(check_together(&l));
    return asn_capi_drawn(g, l.row->integer ? ASN_I64 : ASN_F64, ndim, shape, fill_law,
                          &l, sizeof l, out);
}

#else

asnp_status asnp_rng_distribution(asnp_rng *g, const char *name, int32_t count,
                                  const double *parameters, int32_t ndim,
                                  const int64_t *shape, asnp_array **out) {
    (void)count, (void)parameters, (void)ndim, (void)shape;
    NEED(g);
    NEED(name);
    NEED(out);
    return asn_error_set(ASN_ERR_UNSUPPORTED,
                         "%s: this library was built without NumPy, whose distributions "
                         "it would use (ASNUMPY_PYTHON=OFF)",
                         name);
}

#endif
