/* CPU device, operators: Einsum(tensors, equation, output).
 *
 * One fused program multiplies the operands over the space of all labels and sums over
 * those that the output lacks, as torch.einsum does with an ellipsis too. A label that an
 * operand repeats is its diagonal; spaces mean nothing. Halves are summed in float32.
 *
 * Labels are numbered with the output's first, so the summed dimensions are the last
 * ones; each operand is a view of that space with strides of 0 where it lacks a label.
 *
 * The general way of an einsum contracts operands two by two and finds an order for that;
 * one pass over all labels costs the product of all extents, however many operands there
 * are. It is simple; what should be fast is one of the matrix products (matmul.c).
 *
 * Limits: 8 operands, 32 labels together, and no implicit output (`->` must be there).
 */
#include <ctype.h>
#include <string.h>

#include "device/opapi/core/packed.h"
#include "device/opapi/core/program.h"

enum { LABELS = 32, TENSORS = 8 };

typedef struct {
    asnd_plan_head head;
    /* Operands (`first` is the list's first member); how many labels there are, and how
     * many the output has. */
    int first, count, out, num_labels, num_kept;
    asn_dtype loop;
    int64_t extent[LABELS];                     /* the output's labels come first */
    int8_t label[TENSORS + 1][ASN_ND_MAX_DIMS]; /* of each dimension */
} einsum_plan;

/* Multiplies and sums in one program over num_labels dimensions, then converts to the
 * output. An extent of 0 leaves the sums at 0. */
static asn_status einsum_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const einsum_plan *p = plan;
    const asnd_nd *to = asn_exec_nd(e, p->out);
    asnd_view v[TENSORS], out, result;
    int64_t strides[LABELS];
    uint64_t mask = 0;
    asnd_prog prog;
    ASN_TRY(asn_tmp_view(tmp, p->loop, p->num_kept, p->extent, &out));
    /* The result is seen with the summed dimensions kept, one long, as programs want
     * it. */
    for (int l = p->num_kept; l < p->num_labels; l++) {
        mask |= UINT64_C(1) << l;
        asn_view_insert(&out, l, 1, 0);
    }
    memset(out.nd.data, 0, (size_t)(asn_nd_size(&out.nd) * asn_itemsize(p->loop)));
    bool empty = false;
    for (int l = 0; l < p->num_labels; l++)
        empty = empty || p->extent[l] == 0;
    int product = -1;
    asn_prog_begin(&prog, p->num_labels, p->extent, mask);
    for (int i = 0; i < p->count; i++) {
        const asnd_nd *a = asn_exec_nd(e, p->first + i);
        memset(strides, 0, sizeof strides);
        /* A repeated label adds up its strides, which makes the diagonal; an extent of 1
         * broadcasts by a stride of 0. */
        for (int d = 0; d < a->ndim; d++)
            if (a->shape[d] != 1) strides[p->label[i][d]] += a->strides[d];
        asn_view_plain(&v[i], a->dtype, p->num_labels, p->extent, a->data);
        memcpy(v[i].strides, strides, (size_t)p->num_labels * sizeof *strides);
        int x = asn_prog_as(&prog, asn_prog_in(&prog, &v[i].nd), p->loop);
        product = product < 0 ? x : asn_prog_op2(&prog, ASN_OP_MULTIPLY, product, x);
    }
    if (mask != 0) {
        asn_prog_reduce(&prog, ASN_OP_ADD, product, &out.nd);
    } else {
        asn_prog_out(&prog, product, &out.nd);
    }
    if (!empty) ASN_TRY(asn_prog_run(&prog));
    asn_view_plain(&result, p->loop, p->num_kept, p->extent, out.nd.data);
    return asn_move(to, &result.nd);
}

/* Reads the labels of one operand of `ndim` dimensions into labels[ndim]; *at moves
 * behind them, to a comma, `->` or the end. The dimensions of an ellipsis are labelled 1,
 * 2, ... from the last one on, so that those of operands meet as in broadcasting; letters
 * are above those numbers. */
static asn_status read_labels(const asnd_call *c, const char **at, int ndim,
                              char *labels) {
    int n = 0, dots = -1; /* letters, and how many of them stand before the ellipsis */
    for (; **at != 0 && **at != ',' && **at != '-'; ++*at) {
        if (**at == ' ') continue;
        if (dots < 0 && strncmp(*at, "...", 3) == 0) {
            dots = n;
            *at += 2;
        } else if (isalpha((unsigned char)**at) && n < ndim) {
            labels[n++] = **at;
        } else {
            /* Neither a letter nor room for one: the count is made wrong. */
            n = ndim + 1;
            break;
        }
    }
    if (n == ndim) return ASN_OK;
    /* Dimensions that the ellipsis stands for: at least one here. */
    int rest = ndim - n;
    if (dots >= 0 && rest > 0) {
        memmove(labels + dots + rest, labels + dots, (size_t)(n - dots));
        for (int k = 0; k < rest; k++)
            labels[dots + k] = (char)(rest - k);
        return ASN_OK;
    }
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: equation needs one letter for each of the %d dimensions of "
                         "every tensor, or an ellipsis for some, tensors divided by "
                         "commas, and -> before the output's",
                         c->op->name, ndim);
}

/* The label's number, a new one where it has none; -1 when there is no room.
 * letters[*count] holds the labels in the order of their numbers. */
static int8_t number_of(char letter, char *letters, int *count) {
    for (int k = 0; k < *count; k++)
        if (letters[k] == letter) return (int8_t)k;
    if (*count == LABELS) return -1;
    letters[*count] = letter;
    return (int8_t)(*count)++;
}

/* Text, then numbers, then extents; an extent of 1 broadcasts. The output is read first,
 * so that its labels get the first numbers. nd: the operands, the output behind them.
 * Fills label, extent, num_labels and num_kept of the plan, which must be 0. */
static asn_status read_equation(const asnd_call *c, einsum_plan *p, const asnd_nd **nd) {
    char text[TENSORS + 1][ASN_ND_MAX_DIMS], letters[LABELS];
    const char *at = c->args[1].p;
    static const char none[] = "";
    for (int i = 0; i < p->count; i++) {
        ASN_TRY(read_labels(c, &at, nd[i]->ndim, text[i]));
        if (i + 1 < p->count) at = *at == ',' ? at + 1 : none;
    }
    /* What is not an arrow becomes text that read_labels refuses. */
    at = at[0] == '-' && at[1] == '>' ? at + 2 : "?";
    ASN_TRY(read_labels(c, &at, nd[p->count]->ndim, text[p->count]));
    bool fits = *at == 0;
    for (int step = 0; step <= p->count && fits; step++) {
        int i = (step + p->count) % (p->count + 1); /* the output, then the operands */
        for (int d = 0; d < nd[i]->ndim && fits; d++) {
            int before = p->num_labels,
                k = number_of(text[i][d], letters, &p->num_labels);
            /* The output names no label twice: each of its letters is new. */
            fits = k >= 0 && (step > 0 || k == before);
            if (!fits) break;
            p->label[i][d] = (int8_t)k;
            /* The output's extents follow from the operands'; they are compared below. */
            if (k == before) p->extent[k] = 1;
            if (step > 0 && nd[i]->shape[d] != 1) {
                fits = p->extent[k] == 1 || p->extent[k] == nd[i]->shape[d];
                p->extent[k] = nd[i]->shape[d];
            }
        }
        if (step == 0) p->num_kept = p->num_labels;
    }
    /* Every label of the output stands in an operand, with its extent. */
    for (int d = 0; d < nd[p->count]->ndim && fits; d++) {
        bool known = false;
        for (int i = 0; i < p->count; i++)
            known = known || memchr(text[i], text[p->count][d], (size_t)nd[i]->ndim);
        fits = known && nd[p->count]->shape[d] == p->extent[d];
    }
    if (fits) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: equation %.80s does not fit the tensors' shapes, or its "
                         "output has an unknown or repeated letter",
                         c->op->name, (const char *)c->args[1].p);
}

/* Einsum(tensors, equation, output). The equation is read in phase 1, since its text is
 * the program's and may be gone when the body runs. */
asn_status asn_planner_einsum(asnd_call *c) {
    const asnd_array *list = asn_call_array(c, 0);
    const asnd_nd *nd[TENSORS + 1], *out = asn_call_nd(c, 2);
    if (list->size < 1 || list->size > TENSORS)
        return asn_error_set(ASN_ERR_VALUE, "%s: %llu tensors; 1 to %d are allowed",
                             c->op->name, (unsigned long long)list->size, TENSORS);
    einsum_plan *p = asn_call_plan(c, einsum_body, sizeof *p, 0);
    if (p == NULL) return ASN_ERR_MEMORY;
    memset((char *)p + sizeof p->head, 0, sizeof *p - sizeof p->head);
    p->first = c->first[0];
    p->count = (int)list->size;
    p->out = c->first[2];
    /* The dtype is the promotion of all operands, one after the other. */
    for (int i = 0; i < p->count; i++) {
        const asnd_operand *o = &c->e->operands[p->first + i];
        if (o->is_absent)
            return asn_error_set(ASN_ERR_NULL_POINTER, "%s: tensor %d is NULL",
                                 c->op->name, i);
        nd[i] = &o->nd;
        p->loop =
            (asn_dtype)asn_promote_tensors[i ? p->loop : nd[0]->dtype][nd[i]->dtype];
    }
    nd[p->count] = out;
    if (p->loop == ASN_BOOL)
        return asn_error_set(ASN_ERR_TYPE, "%s: takes no bool", c->op->name);
    ASN_TRY(asn_call_convertible(c, p->loop, 2));
    ASN_TRY(read_equation(c, p, nd));
    if (asn_is_half(p->loop)) p->loop = ASN_F32;
    /* One nanosecond for each point of the space. */
    double work = 1;
    for (int l = 0; l < p->num_labels; l++)
        work *= (double)p->extent[l];
    c->e->work_ns = 500 + work;
    if (asn_call_operand(c, 2)->is_empty) c->e->body = NULL;
    return ASN_OK;
}
