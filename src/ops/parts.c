/* L1 ops: compositions of rows (see parts.h). The dtypes of steps are not in the
 * table: they follow from the row's loop dtype, step by step, as those of a program's
 * operations do. */
#include "ops/parts.h"

const asn_op_parts *asn_op_parts_find(asn_op op, asn_dtype loop) {
    for (int i = 0; i < asn_op_num_parts; i++)
        if (asn_op_parts_table[i].op == op &&
            asn_op_parts_table[i].dtype_mask >> loop & 1)
            return &asn_op_parts_table[i];
    return NULL;
}

void asn_op_parts_types(const asn_op_parts *parts, asn_dtype loop,
                        asn_dtype loops[ASN_PARTS_MOST],
                        asn_dtype results[ASN_PARTS_MOST]) {
    for (int s = 0; s < parts->num_steps; s++) {
        const asn_op_step *step = &parts->steps[s];
        const asn_op_info *row = &asn_op_table[step->op];
        asn_dtype found = loop;
        for (int k = row->num_in - 1; k >= 0; k--) { /* the first that is no number */
            const asn_part *from = &step->from[k];
            if (row->in_dtype[k] != ASN_DTYPE_NONE || from->kind == ASN_PART_NUMBER)
                continue;
            found = from->kind == ASN_PART_STEP ? results[from->at] : loop;
        }
        loops[s] = found;
        results[s] = step->becomes != ASN_DTYPE_NONE
                         ? (asn_dtype)step->becomes
                         : asn_op_result((asn_op)step->op, found);
    }
}
