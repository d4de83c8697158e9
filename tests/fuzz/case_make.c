/* Random cases, each from one seed.
 *
 * What the engine decides by is what is random here: the sizes around its constants
 * (thresholds.py), the layout of every operand (rows, gaps, other orders, backwards,
 * broadcast along some dimensions or all, by value, shifted views of one array, memory
 * that begins anywhere), the number of values alive, which outputs are stored, reduced,
 * or lie over an input, and elements off the functions' fast paths in any operand.
 */
#include "case.h"
#include "fuzz_sizes.h"

static const asn_dtype all_dtypes[] = {
    ASN_F64,  ASN_F32, ASN_F64, ASN_F32, ASN_F16, ASN_BF16, ASN_I64,  ASN_I32, ASN_U8,
    ASN_BOOL, ASN_I8,  ASN_U16, ASN_I16, ASN_U32, ASN_U64,  ASN_C128, ASN_C64};
static const asn_op common[] = {
    ASN_OP_ADD,   ASN_OP_SUBTRACT, ASN_OP_MULTIPLY, ASN_OP_DIVIDE, ASN_OP_MAXIMUM,
    ASN_OP_SQRT,  ASN_OP_EXP,      ASN_OP_LOG,      ASN_OP_SIN,    ASN_OP_TANH,
    ASN_OP_WHERE, ASN_OP_LESS,     ASN_OP_EQUAL,    ASN_OP_FLOOR,  ASN_OP_ABSOLUTE,
    ASN_OP_COPY,  ASN_OP_MINIMUM,  ASN_OP_NEGATIVE, ASN_OP_COS,    ASN_OP_LOGICAL_AND};
enum {
    COMMON = sizeof common / sizeof *common,
    SIZES = sizeof fuzz_sizes / sizeof *fuzz_sizes
};

static bool chance(int of) {
    return random_below(of) == 0;
}

/* What a whole case has much or little of. */
typedef struct {
    bool tidy; /* rows where they belong, nothing broadcast: the engine's short ways */
    bool any;  /* every row of the table, not the common ones */
    bool functions; /* mostly elementary functions, which have elements off their path */
    bool in_place, part;
    int fills[2];
} style;

/* ---- the iteration space */

static int64_t some_size(int64_t most) {
    int64_t n = chance(3) ? 1 + random_below(40) : fuzz_sizes[random_below(SIZES)];
    return n <= most ? n : 1 + random_below(most);
}

static void make_shape(fuzz_case *c) {
    static const int64_t budgets[] = {60,   60,   300,  1000,  1000,  1000,  5000, 5000,
                                      5000, 5000, 5000, 20000, 20000, 20000, 90000};
    int64_t left = chance(60) ? 400000 : budgets[random_below(15)];
    c->ndim = (int)random_below(FUZZ_DIMS);
    if (chance(40)) c->ndim = FUZZ_DIMS;
    for (int d = 0; d < c->ndim; d++)
        c->shape[d] = 1;
    for (int k = 0; k < c->ndim; k++) { /* any dimension may be the long one */
        int d = (int)random_below(c->ndim);
        if (c->shape[d] != 1) continue;
        c->shape[d] = some_size(left);
        left /= c->shape[d];
        if (left < 1) left = 1;
    }
    if (c->ndim && chance(100)) c->shape[random_below(c->ndim)] = 0;
}

/* ---- operands */

/* A buffer with a view of it over `shape`, whose extents are 1 where strides become 0. */
static void lay_out(fuzz_case *c, fuzz_operand *o, const int64_t *shape, bool plain,
                    int margin) {
    int order[FUZZ_DIMS];
    int64_t item = asn_itemsize((asn_dtype)o->dtype), step = item, low = 0;
    for (int d = 0; d < c->ndim; d++)
        order[d] = d;
    for (int d = c->ndim - 1; d > 0 && !plain && chance(2); d--) {
        int j = (int)random_below(d + 1), t = order[d];
        order[d] = order[j];
        order[j] = t;
    }
    for (int k = c->ndim - 1; k >= 0; k--) {
        int d = order[k], gap = plain || !chance(4) ? 1 : 2;
        int64_t extent = shape[d] > 0 ? shape[d] : 1;
        bool backwards = !plain && chance(8);
        o->strides[d] = backwards ? -step * gap : step * gap;
        if (backwards) low -= o->strides[d] * (extent - 1);
        step *= (extent + (margin && extent > 1 ? margin : 0)) * gap;
    }
    int64_t bytes = step > item ? step : item;
    o->offset = low;
    o->buffer = c->num_buffers++;
    c->buffers[o->buffer] =
        (fuzz_buffer){.bytes = bytes,
                      .seed = random_u64(),
                      .dtype = o->dtype,
                      .shift = chance(3) ? (int)(random_below(8) * item) : 0};
}

static void make_input(fuzz_case *c, int i, const style *s) {
    fuzz_operand *o = &c->operands[i];
    int64_t shape[FUZZ_DIMS];
    int margin = !s->tidy && chance(4) ? 2 : 0;
    memcpy(shape, c->shape, sizeof shape);
    o->reduce = ACLNNX_NO_REDUCE;
    for (int k = 0; k < i && !s->tidy && chance(2);
         k++) { /* another view of the same array */
        const fuzz_operand *twin = &c->operands[random_below(i)];
        if (twin->dtype != o->dtype || twin->immediate) continue;
        *o = *twin;
        for (int d = 0; d < c->ndim && chance(2); d++) {
            fuzz_operand moved = *o;
            int64_t low;
            moved.offset += moved.strides[d];
            int64_t reach = fuzz_reach(c, &moved, &low);
            if (low >= 0 && reach <= c->buffers[o->buffer].bytes) *o = moved;
        }
        return;
    }
    bool one = chance(s->tidy ? 30 : 7), part = !one && !s->tidy && chance(5);
    for (int d = 0; d < c->ndim; d++)
        if (one || (part && chance(2))) shape[d] = 1;
    lay_out(c, o, shape, s->tidy || chance(2), margin);
    for (int d = 0; d < c->ndim; d++)
        if (shape[d] == 1 && c->shape[d] != 1) o->strides[d] = 0;
    o->immediate = one && chance(2);
    c->buffers[o->buffer].fill = s->fills[random_below(2)];
}

static bool lies_over(const fuzz_case *c, const fuzz_operand *o) {
    for (int d = 0; d < c->ndim; d++)
        if (c->shape[d] > 1 && o->strides[d] == 0) return false;
    return true;
}

/* An input that output `out` may lie over: what else is in its buffer is the same view.
 */
static int find_place(const fuzz_case *c, int out) {
    for (int tries = 0; tries < 4; tries++) {
        int i = (int)random_below(c->num_in);
        const fuzz_operand *o = &c->operands[i];
        bool fits =
            o->dtype == c->operands[out].dtype && !o->immediate && lies_over(c, o);
        for (int k = 0; k < out && fits; k++) {
            const fuzz_operand *other = &c->operands[k];
            if (k == i || other->buffer != o->buffer) continue;
            fits = k < c->num_in && other->offset == o->offset && !other->immediate &&
                   memcmp(other->strides, o->strides, sizeof o->strides) == 0;
        }
        if (fits) return i;
    }
    return -1;
}

static void make_output(fuzz_case *c, int i, const style *s) {
    fuzz_operand *o = &c->operands[i];
    int64_t shape[FUZZ_DIMS];
    memcpy(shape, c->shape, sizeof shape);
    int over = s->in_place && o->reduce == ACLNNX_NO_REDUCE ? find_place(c, i) : -1;
    if (over >= 0) {
        const fuzz_operand *in = &c->operands[over];
        o->buffer = in->buffer;
        o->offset = in->offset;
        memcpy(o->strides, in->strides, sizeof o->strides);
        return;
    }
    for (int d = 0; d < c->ndim && o->reduce != ACLNNX_NO_REDUCE; d++)
        if (c->mask >> d & 1) shape[d] = 1;
    lay_out(c, o, shape, s->tidy || chance(2), 0);
    c->buffers[o->buffer].fill = FUZZ_POSITIVE;
    for (int d = 0; d < c->ndim && o->reduce != ACLNNX_NO_REDUCE; d++)
        if (c->mask >> d & 1) o->strides[d] = 0;
    if (o->reduce == ACLNNX_NO_REDUCE && s->part) o->flags |= ACLNNX_PART;
    if (o->reduce == ACLNNX_NO_REDUCE && chance(10)) o->flags |= ACLNNX_READ_SOON;
    if (o->reduce != ACLNNX_NO_REDUCE && chance(6)) o->flags |= ACLNNX_ACCUMULATE;
}

/* ---- the program */

typedef struct {
    int dtype[ACLNNX_MAX_REGS];
    int written[ACLNNX_MAX_REGS], count;
    int inputs; /* registers below it are operands */
} registers;

static bool is_slow(asn_op op) { /* loops of many steps on odd arguments */
    return op == ASN_OP_POWER || op == ASN_OP_GCD || op == ASN_OP_LCM ||
           op == ASN_OP_FLOAT_POWER || op == ASN_OP_LDEXP;
}

/* The sign of a NaN that was computed is nobody's: a compiler exchanges factors. The C
 * library's complex functions take signs of zeros and infinities from it: tanh of inf and
 * NaN is 1 and 0, or -0. */
static bool reads_sign(asn_op op, asn_dtype dt, int s) {
    const asn_op_info *info = &asn_op_table[op];
    return op == ASN_OP_SIGNBIT || (op == ASN_OP_COPYSIGN && s == 1) ||
           (asn_is_complex(dt) && info->num_in == 1 && info->ulp[dt] > 0);
}

static int pick(const registers *r, asn_dtype dt) {
    for (int tries = 0; tries < 40; tries++) { /* often an old one: long lifetimes */
        int at = chance(3) ? r->count - 1 - (int)random_below(r->count < 4 ? r->count : 4)
                           : (int)random_below(r->count);
        if (r->dtype[r->written[at]] == (int)dt) return r->written[at];
    }
    return -1;
}

static asn_op some_op(const style *s) {
    static const asn_op functions[] = {
        ASN_OP_EXP,   ASN_OP_LOG,   ASN_OP_SIN,    ASN_OP_COS,  ASN_OP_TANH, ASN_OP_SQRT,
        ASN_OP_LOG1P, ASN_OP_EXPM1, ASN_OP_ARCSIN, ASN_OP_CBRT, ASN_OP_TAN,  ASN_OP_EXP2};
    if (s->functions && chance(2))
        return functions[random_below(sizeof functions / sizeof *functions)];
    return s->any ? (asn_op)random_below(ASN_OP_CAST) : common[random_below(COMMON)];
}

static bool make_instr(aclnnxInstr *in, const style *style, const registers *r,
                       const asn_dtype *casts, int num_casts) {
    asn_op op = some_op(style);
    int first = r->written[random_below(r->count)], src[3] = {first, 0, 0};
    asn_dtype dt = (asn_dtype)r->dtype[first], to;
    if (chance(8)) {
        op = ASN_OP_CAST;
        to = casts[random_below(num_casts)];
        /* what a complex number beyond an integer's range raises is the compiler's affair
         */
        if (asn_is_complex(dt) && asn_is_integer(to)) return false;
    } else {
        if (!asn_op_has_loop(op, dt) || is_slow(op)) return false;
        for (int s = 0; s < asn_op_table[op].num_in; s++) {
            if ((src[s] = pick(r, asn_op_operand(op, s, dt))) < 0) return false;
            if (reads_sign(op, dt, s) && src[s] >= r->inputs) return false;
        }
        to = asn_op_result(op, dt);
    }
    *in = (aclnnxInstr){(uint16_t)op,
                        (uint8_t)asn_dtype_table[dt].acl,
                        (uint8_t)asn_dtype_table[to].acl,
                        0,
                        {(uint8_t)src[0], (uint8_t)src[1], (uint8_t)src[2]}};
    return true;
}

/* An operation that folds values of a dtype; ACLNNX_NO_REDUCE: none was found. */
static int some_reduction(asn_dtype dt) {
    static const asn_op usual[] = {ASN_OP_ADD, ASN_OP_MINIMUM, ASN_OP_MAXIMUM,
                                   ASN_OP_MULTIPLY};
    const asnd_kernels *k = asn_kernels_get();
    const asn_dtype acc = asn_is_half(dt) ? ASN_F32 : dt;
    for (int tries = 0; tries < 8; tries++) {
        asn_op op =
            chance(6) ? (asn_op)random_below(ASN_OP_CAST) : usual[random_below(4)];
        if (asn_op_table[op].num_in == 2 && !is_slow(op) && k->fold[op][acc] &&
            k->ew[op][acc])
            return (int)op;
    }
    return ACLNNX_NO_REDUCE;
}

static void make_program(fuzz_case *c, const style *style, registers *r,
                         const asn_dtype *casts, int num_casts) {
    static const int lengths[] = {3, 3, 8, 8, 20, 40, 40, 110};
    int total = c->num_out + (int)random_below(lengths[random_below(8)]), out = 0;
    bool reduces = chance(2);
    c->num_regs = c->num_in + c->num_out;
    for (int tries = 0; c->num_instrs < total && tries < 4000; tries++) {
        aclnnxInstr *in = &c->instrs[c->num_instrs];
        if (!make_instr(in, style, r, casts, num_casts)) continue;
        int left = total - c->num_instrs, due = c->num_out - out;
        bool stores = due && (left <= due || chance(left / due + 1));
        bool spare = c->num_regs < ACLNNX_MAX_REGS;
        if (!stores && !spare) continue;
        int dst = stores ? c->num_in + out : c->num_regs++;
        bool folds = stores && reduces && chance(2);
        if (folds &&
            chance(2)) { /* an array as it is, while functions of it are computed */
            int raw = (int)random_below(c->num_in);
            uint8_t dt = (uint8_t)asn_dtype_table[r->dtype[raw]].acl;
            *in = (aclnnxInstr){ASN_OP_COPY, dt, dt, 0, {(uint8_t)raw, 0, 0}};
        }
        in->dst = (uint8_t)dst;
        c->num_instrs++;
        r->dtype[dst] = fuzz_result_of(in);
        if (stores) {
            c->operands[dst].dtype = r->dtype[dst];
            c->operands[dst].reduce = ACLNNX_NO_REDUCE;
            if (folds) c->operands[dst].reduce = some_reduction((asn_dtype)r->dtype[dst]);
            out++;
        }
        r->written[r->count++] = dst;
    }
    c->num_out = out;
}

static void make_dtypes(fuzz_case *c, registers *r, asn_dtype *casts, int *num_casts) {
    const int all = sizeof all_dtypes / sizeof *all_dtypes;
    int theme = (int)random_below(5);
    *num_casts = theme < 3 ? 2 : all;
    for (int k = 0; k < *num_casts; k++)
        casts[k] = theme == 2 ? all_dtypes[random_below(all)] : all_dtypes[k];
    for (int i = 0; i < c->num_in; i++) {
        r->dtype[i] = theme == 0   ? (int)casts[chance(5)]
                      : theme == 4 ? (int)all_dtypes[random_below(all)]
                                   : (int)casts[random_below(*num_casts)];
        if (i && chance(2)) r->dtype[i] = r->dtype[i - 1];
        c->operands[i].dtype = r->dtype[i];
        r->written[r->count++] = i;
    }
}

/* Strictly ordered operations fold along one dimension only. */
static void choose_mask(fuzz_case *c) {
    bool one = false;
    for (int i = c->num_in; i < c->num_in + c->num_out; i++)
        if (c->operands[i].reduce != ACLNNX_NO_REDUCE)
            one |= !(asn_op_table[c->operands[i].reduce].flags & ASN_OPF_REORDERABLE);
    for (int d = 0; d < c->ndim; d++)
        if (chance(2)) c->mask |= (uint64_t)1 << d;
    if (c->ndim && (one || chance(3))) c->mask = (uint64_t)1 << random_below(c->ndim);
    for (int d = 0; d < c->ndim; d++) /* nothing to begin an ordered fold with */
        if (one && c->shape[d] == 0) c->shape[d] = 1;
}

void fuzz_make(fuzz_case *c, uint64_t seed) {
    registers r;
    style s;
    asn_dtype casts[sizeof all_dtypes / sizeof *all_dtypes];
    int num_casts;
    do { /* until a program stores something */
        check_seed = seed++ * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
        for (int k = 0; k < 8; k++)
            (void)random_u64();
        memset(c, 0, sizeof *c);
        for (int i = 0; i < ACLNNX_MAX_OPERANDS; i++)
            c->operands[i].dtype = -1;
        s = (style){
            .tidy = chance(3),
            .any = chance(3),
            .functions = chance(3),
            .in_place = chance(3),
            .part = chance(3),
            .fills = {(int)random_below(FUZZ_FILLS), (int)random_below(FUZZ_FILLS)}};
        r.count = 0;
        c->num_in = 1 + (int)random_below(chance(8) ? 20 : 6);
        r.inputs = c->num_in;
        c->num_out = 1 + (int)random_below(chance(8) ? 10 : 3);
        make_shape(c);
        make_dtypes(c, &r, casts, &num_casts);
        for (int i = 0; i < c->num_in; i++)
            make_input(c, i, &s);
        make_program(c, &s, &r, casts, num_casts);
    } while (c->num_out == 0);
    choose_mask(c);
    for (int i = c->num_in; i < c->num_in + c->num_out; i++)
        make_output(c, i, &s);
    const int64_t most = chance(10) ? FUZZ_ELEMENTS : FUZZ_ELEMENTS / 16;
    while (c->num_instrs && fuzz_size(c) * c->num_instrs > most) { /* oracles take time */
        int longest = 0;
        for (int d = 1; d < c->ndim; d++)
            if (c->shape[d] > c->shape[longest]) longest = d;
        c->shape[longest] = (c->shape[longest] + 1) / 2;
    }
}
