/* A case as text, one line for each thing, so that a failure can be read, kept in cases/
 * and run again:
 *
 *   shape 64 100 3
 *   reduce 2                      the dimensions that are reduced, as bits
 *   buffer 76800 float32 2 0 8813 bytes, dtype, fill, shift, seed
 *   in 0 float32 0 0 1200 12 4    buffer, dtype, by value, offset, strides
 *   out 1 float32 none 0 0 12 0 4 buffer, dtype, reduction, flags, offset, strides
 *   r1 = copy float32 float32 r0 r0 r0
 */
#include "case.h"

asn_dtype fuzz_dtype_of(const aclnnxInstr *in) {
    return asn_dtype_from_acl(in->dtype);
}

asn_dtype fuzz_result_of(const aclnnxInstr *in) {
    if (in->op == ASN_OP_CAST) return asn_dtype_from_acl(in->outDtype);
    return asn_op_result((asn_op)in->op, fuzz_dtype_of(in));
}

int fuzz_arity(const aclnnxInstr *in) {
    return in->op == ASN_OP_CAST ? 1 : asn_op_table[in->op].num_in;
}

int64_t fuzz_size(const fuzz_case *c) {
    int64_t n = 1;
    for (int d = 0; d < c->ndim; d++)
        n *= c->shape[d];
    return n;
}

int64_t fuzz_reach(const fuzz_case *c, const fuzz_operand *o, int64_t *low) {
    int64_t first = o->offset, last = o->offset;
    for (int d = 0; d < c->ndim; d++) {
        int64_t span = o->strides[d] * (c->shape[d] > 0 ? c->shape[d] - 1 : 0);
        if (span < 0)
            first += span;
        else
            last += span;
    }
    if (low) *low = first;
    return last + asn_itemsize((asn_dtype)o->dtype);
}

static bool is_dtype(int dt) {
    return dt >= 0 && dt < ASN_DTYPE_COUNT;
}

bool fuzz_is_sound(const fuzz_case *c) {
    if (c->ndim < 0 || c->ndim > FUZZ_DIMS || c->num_in < 0 || c->num_out < 1 ||
        c->num_in + c->num_out > ACLNNX_MAX_OPERANDS || fuzz_size(c) > FUZZ_ELEMENTS)
        return false;
    for (int i = 0; i < c->num_in + c->num_out; i++) {
        const fuzz_operand *o = &c->operands[i];
        int64_t low;
        if (o->buffer < 0 || o->buffer >= c->num_buffers || !is_dtype(o->dtype))
            return false;
        const fuzz_buffer *b = &c->buffers[o->buffer];
        if (!is_dtype(b->dtype) || fuzz_reach(c, o, &low) > b->bytes || low < 0)
            return false;
    }
    return true;
}

void fuzz_write(FILE *file, const fuzz_case *c) {
    fprintf(file, "shape");
    for (int d = 0; d < c->ndim; d++)
        fprintf(file, " %lld", (long long)c->shape[d]);
    fprintf(file, "\nreduce %llu\n", (unsigned long long)c->mask);
    for (int b = 0; b < c->num_buffers; b++) {
        const fuzz_buffer *m = &c->buffers[b];
        fprintf(file, "buffer %lld %s %d %d %llu\n", (long long)m->bytes,
                asn_dtype_name((asn_dtype)m->dtype), m->fill, m->shift,
                (unsigned long long)m->seed);
    }
    for (int i = 0; i < c->num_in + c->num_out; i++) {
        const fuzz_operand *o = &c->operands[i];
        const char *dtype = asn_dtype_name((asn_dtype)o->dtype);
        if (i < c->num_in)
            fprintf(file, "in %d %s %d", o->buffer, dtype, o->immediate);
        else
            fprintf(file, "out %d %s %s %d", o->buffer, dtype,
                    o->reduce == ACLNNX_NO_REDUCE ? "none" : asn_op_table[o->reduce].name,
                    o->flags);
        fprintf(file, " %lld", (long long)o->offset);
        for (int d = 0; d < c->ndim; d++)
            fprintf(file, " %lld", (long long)o->strides[d]);
        fprintf(file, "\n");
    }
    for (int k = 0; k < c->num_instrs; k++) {
        const aclnnxInstr *in = &c->instrs[k];
        fprintf(file, "r%d = %s %s %s r%d r%d r%d\n", in->dst, asn_op_table[in->op].name,
                asn_dtype_name(fuzz_dtype_of(in)), asn_dtype_name(fuzz_result_of(in)),
                in->src[0], in->src[1], in->src[2]);
    }
}

/* ---- reading */

static int dtype_named(const char *name) {
    for (int dt = 0; dt < ASN_DTYPE_COUNT; dt++)
        if (strcmp(asn_dtype_name((asn_dtype)dt), name) == 0) return dt;
    return -1;
}

static int op_named(const char *name) {
    for (int op = 0; op <= ASN_OP_CAST; op++)
        if (strcmp(asn_op_table[op].name, name) == 0) return op;
    return -1;
}

/* Numbers to the end of the line; their count. */
static int read_numbers(const char *text, int64_t *out, int most) {
    int n = 0, used;
    long long x;
    while (n < most && sscanf(text, "%lld%n", &x, &used) == 1) {
        out[n++] = x;
        text += used;
    }
    return n;
}

static bool read_operand(fuzz_case *c, const char *line, bool input) {
    char dtype[32], reduce[32] = "none";
    int by_value = 0, flags = 0, used = 0, at = c->num_in + c->num_out;
    if (at >= ACLNNX_MAX_OPERANDS || (input && c->num_out)) return false;
    fuzz_operand *o = &c->operands[at];
    int got = input ? sscanf(line, "in %d %31s %d%n", &o->buffer, dtype, &by_value, &used)
                    : sscanf(line, "out %d %31s %31s %d%n", &o->buffer, dtype, reduce,
                             &flags, &used);
    int64_t numbers[1 + FUZZ_DIMS] = {0};
    if (got != (input ? 3 : 4) ||
        read_numbers(line + used, numbers, 1 + FUZZ_DIMS) < 1 + c->ndim)
        return false;
    o->dtype = dtype_named(dtype);
    o->immediate = by_value;
    o->flags = flags;
    o->reduce = strcmp(reduce, "none") ? op_named(reduce) : ACLNNX_NO_REDUCE;
    o->offset = numbers[0];
    memcpy(o->strides, numbers + 1, sizeof o->strides);
    *(input ? &c->num_in : &c->num_out) += 1;
    return o->dtype >= 0 && o->reduce >= 0;
}

static bool read_instr(fuzz_case *c, const char *line) {
    char op[48], from[32], to[32];
    int dst, a, b, d;
    if (c->num_instrs >= ACLNNX_MAX_INSTRS ||
        sscanf(line, "r%d = %47s %31s %31s r%d r%d r%d", &dst, op, from, to, &a, &b,
               &d) != 7)
        return false;
    int code = op_named(op), dt = dtype_named(from), out = dtype_named(to);
    if (code < 0 || dt < 0 || out < 0 || (dst | a | b | d) < 0 || dst >= ACLNNX_MAX_REGS)
        return false;
    c->instrs[c->num_instrs++] = (aclnnxInstr){(uint16_t)code,
                                               (uint8_t)asn_dtype_table[dt].acl,
                                               (uint8_t)asn_dtype_table[out].acl,
                                               (uint8_t)dst,
                                               {(uint8_t)a, (uint8_t)b, (uint8_t)d}};
    if (dst >= c->num_regs) c->num_regs = dst + 1;
    return true;
}

static bool read_buffer(fuzz_case *c, const char *line) {
    char dtype[32];
    long long bytes;
    unsigned long long seed;
    if (c->num_buffers >= ACLNNX_MAX_OPERANDS) return false;
    fuzz_buffer *b = &c->buffers[c->num_buffers++];
    if (sscanf(line, "buffer %lld %31s %d %d %llu", &bytes, dtype, &b->fill, &b->shift,
               &seed) != 5)
        return false;
    b->bytes = bytes;
    b->seed = seed;
    b->dtype = dtype_named(dtype);
    return b->dtype >= 0 && bytes > 0 && b->shift >= 0 && b->shift < 4096;
}

static bool read_line(fuzz_case *c, const char *line) {
    unsigned long long mask;
    if (line[0] == '#' || line[0] == '\n') return true;
    if (!strncmp(line, "shape", 5)) {
        c->ndim = read_numbers(line + 5, c->shape, FUZZ_DIMS);
        return true;
    }
    if (sscanf(line, "reduce %llu", &mask) == 1) {
        c->mask = mask;
        return true;
    }
    if (!strncmp(line, "buffer", 6)) return read_buffer(c, line);
    if (!strncmp(line, "in ", 3)) return read_operand(c, line, true);
    if (!strncmp(line, "out ", 4)) return read_operand(c, line, false);
    return read_instr(c, line);
}

bool fuzz_read(FILE *file, fuzz_case *c) {
    char line[512];
    memset(c, 0, sizeof *c);
    while (fgets(line, sizeof line, file))
        if (!read_line(c, line)) {
            printf("not a line of a case: %s", line);
            return false;
        }
    if (c->num_regs < c->num_in + c->num_out) c->num_regs = c->num_in + c->num_out;
    if (!fuzz_is_sound(c))
        printf("an operand reaches beyond its buffer, or a count is wrong\n");
    return fuzz_is_sound(c);
}
