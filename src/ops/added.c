/* L1 ops: rows added while the program runs (see added.h). A row is filled before its
 * opcode is given out, and never changes after that: readers need no lock. */
#include "ops/added.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/forks.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
ASN_FORK_TAKES(added, &lock, ASN_FORK_LEAF)
static asn_added_loop loops[ASN_OP_ADDED];
static uint8_t output_of[ASN_OP_ADDED];
static int count;

const asn_added_loop *asn_op_added(int op, int *output) {
    int at = op - ASN_OP_COUNT;
    if (at < 0 || at >= ASN_OP_ADDED || !loops[at].fn) return NULL;
    *output = output_of[at];
    return &loops[at];
}

static bool is_same(const asn_added_loop *a, const asn_added_loop *b) {
    return a->fn == b->fn && a->data == b->data && a->num_in == b->num_in &&
           a->num_out == b->num_out &&
           !memcmp(a->dtypes, b->dtypes, (size_t)(a->num_in + a->num_out)) &&
           !strcmp(a->name, b->name);
}

static void fill_row(int at, const asn_added_loop *loop, int output) {
    asn_op_info *row = &asn_op_rows[ASN_OP_COUNT + at];
    loops[at] = *loop;
    output_of[at] = (uint8_t)output;
    row->name = loop->name;
    row->doc = "";
    row->num_in = (uint8_t)loop->num_in;
    for (int k = 0; k < 3; k++)
        row->in_dtype[k] = k < loop->num_in ? loop->dtypes[k] : ASN_DTYPE_NONE;
    row->out_dtype = loop->dtypes[loop->num_in + output];
    row->ints_to = ASN_DTYPE_NONE;
    row->dtype_mask = (uint16_t)(1u << row->out_dtype);
    row->flags = ASN_OPF_KERNEL;
}

int asn_op_add(const asn_added_loop *loop) {
    if (loop->num_in < 1 || loop->num_in > ASN_ADDED_INPUTS || loop->num_out < 1 ||
        loop->num_in + loop->num_out > ASN_ADDED_ARGS)
        return -1;
    int found = -1;
    pthread_mutex_lock(&lock);
    for (int at = 0; at < count && found < 0; at++)
        if (output_of[at] == 0 && is_same(&loops[at], loop)) found = at;
    size_t size = strlen(loop->name) + 1;
    char *name = NULL;
    if (found < 0 && count + loop->num_out <= ASN_OP_ADDED) name = asn_malloc(size);
    if (name) {
        asn_added_loop own = *loop;
        own.name = memcpy(name, loop->name, size);
        found = count;
        for (int k = 0; k < loop->num_out; k++)
            fill_row(count++, &own, k);
    }
    pthread_mutex_unlock(&lock);
    return found < 0 ? -1 : ASN_OP_COUNT + found;
}
