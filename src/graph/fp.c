/* L2 graph: floating-point conditions met by programs, kept until the face asks (NumPy's
 * errstate).
 *
 * Programs that run on the calling thread have reported by the time they return; the name
 * kept is that of the program's last operation, which for an operation run on its own is
 * the operation itself.
 */
#include "graph/engine.h"
#include "graph/launch.h"
#include "graph/lock.h"

static uint32_t conditions;
static uint16_t culprit = ASN_OP_NONE;
static bool checks_on;

uint32_t *asn_fp_sink(void) {
    return checks_on ? &conditions : NULL;
}

void asn_fp_note(uint16_t op) {
    if (culprit == ASN_OP_NONE) culprit = op;
}

void asn_fp_meet(uint32_t met, uint16_t op) {
    __atomic_fetch_or(&conditions, met, __ATOMIC_RELAXED);
    asn_fp_note(op);
}

uint32_t asn_fp_take(const char **op_name) {
    if (__builtin_expect(!__atomic_load_n(&conditions, __ATOMIC_RELAXED), 1)) return 0;
    asn_lock();
    uint32_t met = __atomic_exchange_n(&conditions, 0, __ATOMIC_RELAXED);
    if (op_name)
        *op_name = culprit < ASN_OP_COUNT ? asn_op_table[culprit].name : "operation";
    culprit = ASN_OP_NONE;
    asn_unlock();
    return met;
}

bool asn_set_fp_checks(bool on) {
    bool before = checks_on;
    checks_on = on;
    return before;
}
