/* L2 graph: floating-point exceptions that programs raise, kept until the binding asks
 * (NumPy's errstate).
 *
 * Programs that run on the calling thread have reported by the time they return; the name
 * kept is that of the program's last operation, which for an operation run on its own is
 * the operation itself.
 */
#include <math.h>
#include <string.h>

#include "graph/capture/capture.h"
#include "graph/engine.h"
#include "graph/fp.h"
#include "graph/lock.h"

uint32_t asn_fp_exceptions;
/* A bit of it while threads keep some, so that they look for their own. */
static const uint32_t KEPT = 1u << 31;
static int keepers;         /* how many; with the lock held */
static const char *culprit; /* NULL: nobody yet */
static _Thread_local struct {
    uint32_t met;
    const char *culprit;
} own;
static bool checks_on;

uint32_t *asn_fp_sink(void) {
    return checks_on ? &asn_fp_exceptions : NULL;
}

void asn_fp_note(const char *name) {
    if (ASN_CAPTURING) asn_capture_name(name);
    if (asn_fp_exceptions & ~KEPT && !culprit) culprit = name;
}

void asn_fp_rename(const char *from, const char *to) {
    if (culprit == from) culprit = to;
    if (own.culprit == from) own.culprit = to;
}

void asn_fp_raise(uint32_t met, const char *name) {
    __atomic_fetch_or(&asn_fp_exceptions, met, __ATOMIC_RELAXED);
    asn_fp_note(name);
}

uint32_t asn_fp_take_new(const char **op_name) {
    *op_name = culprit;
    culprit = NULL;
    return __atomic_exchange_n(&asn_fp_exceptions, keepers ? KEPT : 0, __ATOMIC_RELAXED) &
           ~KEPT;
}

void asn_fp_keep_own(void) {
    const char *name;
    uint32_t met = asn_fp_take_new(&name);
    if (met && !own.met && keepers++ == 0)
        __atomic_fetch_or(&asn_fp_exceptions, KEPT, __ATOMIC_RELAXED);
    if (met && !own.culprit) own.culprit = name;
    own.met |= met;
}

uint32_t asn_fp_take_raised(const char **op_name) {
    asn_lock();
    asn_fp_keep_own();
    uint32_t met = own.met;
    if (op_name) *op_name = own.culprit ? own.culprit : "operation";
    if (met && --keepers == 0)
        __atomic_fetch_and(&asn_fp_exceptions, ~KEPT, __ATOMIC_RELAXED);
    own.met = 0;
    own.culprit = NULL;
    asn_unlock();
    return met;
}

/* ---- exceptions of conversions made on the host */

static uint32_t rounding_exceptions(double from, double to, double least_normal) {
    if (isfinite(from) && isinf(to)) return ACLNNX_FP_OVERFLOW;
    return from != to && fabs(to) < least_normal ? ACLNNX_FP_UNDERFLOW : 0;
}

/* As the machine's conversion reports it: narrow integers are made by way of int32, and
 * what does not fit that is invalid. */
static bool fits_integer(double v, asn_dtype dtype) {
    const double two_63 = 9223372036854775808.0, two_64 = 2 * two_63;
    if (dtype == ASN_U64) return v >= -two_63 && v < two_64;
    if (dtype == ASN_I64 || dtype == ASN_U32) return v >= -two_63 && v < two_63;
    return v > -2147483649.0 && v < 2147483648.0;
}

/* The exceptions (ACLNNX_FP_*) of a conversion of `from` that gave `to`, by the values
 * before and after; of complex numbers those of both parts. */
static uint32_t exceptions_of(const asn_scalar *from, const asn_scalar *to) {
    asn_dtype dtype = (asn_dtype)to->dtype;
    asn_scalar wide[2];
    double a[2], b[2];
    if (asn_scalar_cast(from, ASN_C128, &wide[0]) != ASN_OK ||
        asn_scalar_cast(to, ASN_C128, &wide[1]) != ASN_OK)
        return 0;
    memcpy(a, wide[0].bytes, sizeof a);
    memcpy(b, wide[1].bytes, sizeof b);
    if (!asn_is_inexact(dtype)) return fits_integer(a[0], dtype) ? 0 : ACLNNX_FP_INVALID;
    double least = dtype == ASN_F16 ? 0x1p-14 : 0x1p-126;
    uint32_t met = rounding_exceptions(a[0], b[0], least);
    return asn_is_complex(dtype) ? met | rounding_exceptions(a[1], b[1], least) : met;
}

asn_status asn_scalar_convert(const asn_scalar *s, asn_dtype dtype, asn_scalar *out) {
    asn_dtype from = (asn_dtype)s->dtype;
    ASN_TRY(asn_scalar_cast(s, dtype, out));
    if (from == ASN_F64 && dtype == ASN_F32) { /* 2.0 beside float32 data */
        double wide;
        float narrow;
        memcpy(&wide, s->bytes, sizeof wide);
        memcpy(&narrow, out->bytes, sizeof narrow);
        if (wide == narrow) return ASN_OK;
    }
    /* bool, float64 and complex128 take every value. */
    if (from == dtype || dtype == ASN_BOOL || dtype == ASN_F64 || dtype == ASN_C128 ||
        !(asn_is_inexact(from) || dtype == ASN_F16))
        return ASN_OK;
    asn_look_begin(); /* whether the caller's are watched, and the caller meets them */
    uint32_t met = checks_on ? exceptions_of(s, out) : 0;
    if (met) asn_fp_raise(met, "copy");
    asn_look_end();
    return ASN_OK;
}

bool asn_set_fp_checks(bool on) {
    bool before = checks_on;
    checks_on = on;
    return before;
}
