/* CPU device: a plan's steps as operations on typed lanes, or the finding that some step
 * has no piece.
 *
 * A bool has the width of the operands of the comparison that made it, and is brought to
 * another width only for a reader that wants one: a selection of float64 by a comparison
 * of float64 converts nothing. Casts without a piece of their own go through a type that
 * gives the same value (small integers and floats through int32, halves through float32).
 * Copies, and casts between integers of one width, are other names for the same value.
 * A comparison that is only asked by selections becomes a part of these.
 *
 * What comes out is in order and without registers: values (asnd_jit_value) and
 * operations on them, each with a piece of machine code. The dtype rules are those of the
 * plan's steps; a step without a piece leaves the whole program to the interpreter.
 */
#include "device/cpu/jit/jit_program.h"

/* A value, read as a lane type of its width; complex numbers are two, of float lanes. */
typedef struct {
    uint16_t value;
    uint8_t lane;
    uint16_t imag; /* NONE: real */
} ref;
static const ref NOTHING = {ASN_JIT_NONE, 0, ASN_JIT_NONE};

typedef struct {
    asnd_jit_program *out;
    const asnd_plan *plan;
    bool sums;                              /* may stay in registers */
    ref now[ASN_MAX_VALUES];                /* of the plan's values */
    const asnd_step *asked[ASN_MAX_VALUES]; /* the comparison that its readers make */
} lowering;

/* How a dtype lies in a vector when it is loaded. */
static int lane_of(asn_dtype dt) {
    static const uint8_t lanes[ASN_DTYPE_COUNT] = {
        [ASN_BOOL] = ASN_LANE_B8, [ASN_I8] = ASN_LANE_I8,     [ASN_U8] = ASN_LANE_U8,
        [ASN_I16] = ASN_LANE_I16, [ASN_U16] = ASN_LANE_U16,   [ASN_I32] = ASN_LANE_I32,
        [ASN_U32] = ASN_LANE_U32, [ASN_I64] = ASN_LANE_I64,   [ASN_U64] = ASN_LANE_U64,
        [ASN_F16] = ASN_LANE_F16, [ASN_BF16] = ASN_LANE_BF16, [ASN_F32] = ASN_LANE_F32,
        [ASN_F64] = ASN_LANE_F64, [ASN_C64] = ASN_LANE_C64,   [ASN_C128] = ASN_LANE_C128,
    };
    return lanes[dt];
}

static bool is_bool(int lane) {
    return lane >= ASN_LANE_B8 && lane <= ASN_LANE_B64;
}
static bool is_complex(int lane) {
    return lane >= ASN_LANE_C64;
}
/* The lane of the parts of complex numbers. */
static int part_lane(int lane) {
    return lane == ASN_LANE_C64    ? ASN_LANE_F32
           : lane == ASN_LANE_C128 ? ASN_LANE_F64
                                   : lane;
}
static bool is_half(int lane) {
    return lane == ASN_LANE_F16 || lane == ASN_LANE_BF16;
}
static bool is_integer(int lane) {
    return lane <= ASN_LANE_U64;
}
/* Shorter than int32. */
static bool is_small(int lane) {
    return asn_lane_bytes(lane) < 4;
}
/* A bool of the width of `lane`, and the unsigned integer that it is. */
static int bool_like(int lane) {
    static const uint8_t of[9] = {
        [1] = ASN_LANE_B8, [2] = ASN_LANE_B16, [4] = ASN_LANE_B32, [8] = ASN_LANE_B64};
    return of[asn_lane_bytes(lane)];
}
static int number_like(int lane) {
    static const uint8_t of[4] = {ASN_LANE_U8, ASN_LANE_U16, ASN_LANE_U32, ASN_LANE_U64};
    return is_bool(lane) ? of[lane - ASN_LANE_B8] : lane;
}

/* A new value, read as `lane`; pointer: of the plan's value, where it is in memory.
 * NOTHING: there is no room. */
static ref add_value(lowering *l, asnd_jit_kind kind, int lane, int pointer) {
    asnd_jit_program *p = l->out;
    if (p->num_values == ASN_JIT_MAX_VALUES) return NOTHING;
    p->values[p->num_values] = (asnd_jit_value){
        (uint8_t)kind, (uint8_t)lane, 0, (uint16_t)pointer, false, -1, -1};
    return (ref){(uint16_t)p->num_values++, (uint8_t)lane, ASN_JIT_NONE};
}

/* Two values as complex numbers; NOTHING when one is. */
static ref complex_of(ref re, ref im) {
    if (re.value == ASN_JIT_NONE || im.value == ASN_JIT_NONE) return NOTHING;
    return (ref){re.value, re.lane, im.value};
}
/* The real or imaginary part as a value by itself. */
static ref part_of(ref a, bool imaginary) {
    return (ref){imaginary ? a.imag : a.value, a.lane, ASN_JIT_NONE};
}

/* The result of a piece; NOTHING when there is no such piece or no room. */
static ref add_op(lowering *l, unsigned piece, const ref *src, int lane) {
    asnd_jit_program *p = l->out;
    if (!piece || p->num_ops == ASN_JIT_MAX_OPS) return NOTHING;
    ref dst = add_value(l, ASN_JIT_COMPUTED, lane, 0);
    if (dst.value == ASN_JIT_NONE) return dst;
    asnd_jit_op *op = &p->ops[p->num_ops++];
    op->piece = &p->table->pieces[piece - 1];
    op->dst = dst.value;
    for (int s = 0; s < op->piece->inputs; s++)
        op->src[s] = src[s].value;
    return dst;
}

static ref cast(lowering *l, ref a, int to);
static bool add_check(lowering *l, unsigned piece, const ref *arguments, int count);

/* By two casts; NOTHING where `via` would be no step ahead. */
static ref cast_through(lowering *l, ref a, int via, int to) {
    if (a.lane == via || to == via) return NOTHING;
    ref between = cast(l, a, via);
    return between.value == ASN_JIT_NONE ? between : cast(l, between, to);
}

/* To complex numbers, or from them: as NumPy casts, the imaginary part is dropped, and
 * either part makes true. */
static ref cast_complex(lowering *l, ref a, int to) {
    ref re = cast(l, part_of(a, false), part_lane(to));
    if (is_complex(to)) {
        ref im = a.imag == ASN_JIT_NONE ? add_value(l, ASN_JIT_ZERO, part_lane(to), 0)
                                        : cast(l, part_of(a, true), part_lane(to));
        return complex_of(re, im);
    }
    if (!is_bool(to)) return re;
    const ref either[2] = {re, cast(l, part_of(a, true), to)};
    if (re.value == ASN_JIT_NONE || either[1].value == ASN_JIT_NONE) return NOTHING;
    unsigned piece = l->out->table->ew[ASN_OP_LOGICAL_OR][to][l->out->count_index];
    return add_op(l, piece, either, to);
}

/* `a` as lanes `to`, by C's rules as NumPy casts: the same value, a piece, or several.
 * NOTHING: there is no way. */
static ref cast(lowering *l, ref a, int to) {
    if (is_complex(to) || a.imag != ASN_JIT_NONE) return cast_complex(l, a, to);
    if (a.lane == to) return a;
    if (is_bool(to) && !is_bool(a.lane)) {
        int flag = bool_like(a.lane);
        ref truth =
            add_op(l, l->out->table->cast[a.lane][flag][l->out->count_index], &a, flag);
        return truth.value == ASN_JIT_NONE ? truth : cast(l, truth, to);
    }
    int from = number_like(a.lane), as = number_like(to);
    if (from == as || (is_integer(from) && is_integer(as) &&
                       asn_lane_bytes(from) == asn_lane_bytes(as)))
        return (ref){a.value, (uint8_t)to, ASN_JIT_NONE};
    unsigned piece = l->out->table->cast[from][as][l->out->count_index];
    unsigned check = l->out->table->cast_fit[from][as][l->out->count_index];
    if (check && !add_check(l, check, &a, 1)) return NOTHING;
    if (piece) return add_op(l, piece, &a, to);
    if (is_half(from) || (is_half(to) && from != ASN_LANE_F64)) /* it would round twice */
        return cast_through(l, a, ASN_LANE_F32, to);
    if (is_small(is_integer(from) ? from : as) && is_integer(from) != is_integer(as))
        return cast_through(l, a, ASN_LANE_I32, to);
    if (from == ASN_LANE_F32 && as == ASN_LANE_I64)
        return cast_through(l, a, ASN_LANE_F64, to);
    return NOTHING;
}

/* Notes in sign bits where the arguments of a vector function, or of a cast, are outside
 * its range. The marks are a chain: each check reads those before it and gives new ones.
 * False: no room. */
static bool add_check(lowering *l, unsigned piece, const ref *arguments, int count) {
    asnd_jit_program *p = l->out;
    int wide = asn_lane_bytes(arguments[0].lane) == 8;
    int lane = wide ? ASN_LANE_U64 : ASN_LANE_U32;
    if (p->marks[wide] == ASN_JIT_NONE)
        p->marks[wide] = p->first_marks[wide] = add_value(l, ASN_JIT_ZERO, lane, 0).value;
    if (p->marks[wide] == ASN_JIT_NONE) return false;
    ref src[3];
    for (int s = 0; s < count; s++)
        src[s] = arguments[s];
    src[count] = (ref){p->marks[wide], (uint8_t)lane, ASN_JIT_NONE};
    ref marks = add_op(l, piece, src, lane);
    p->marks[wide] = marks.value;
    return marks.value != ASN_JIT_NONE;
}

/* Each complex operand is two inputs of the pieces, a complex result two pieces. */
static ref lower_complex(lowering *l, const asnd_step *step) {
    asnd_jit_program *p = l->out;
    asn_dtype dt = (asn_dtype)step->from;
    int lane = lane_of(dt), part = part_lane(lane), n = 0;
    ref src[ASN_PIECE_INPUTS];
    if (step->op == ASN_OP_COPY) return l->now[step->src[0]];
    for (int s = 0; s < step->num_src; s++) {
        ref a = l->now[step->src[s]];
        if (a.imag == ASN_JIT_NONE) {
            src[n] = cast(l, a, bool_like(part));
            if (src[n++].value == ASN_JIT_NONE) return NOTHING;
            continue;
        }
        src[n++] = part_of(a, false);
        src[n++] = part_of(a, true);
    }
    asn_dtype result = asn_op_result((asn_op)step->op, dt);
    int to = result == ASN_BOOL ? bool_like(part) : part_lane(lane_of(result));
    ref re = add_op(l, p->table->ew[step->op][lane][p->count_index], src, to);
    if (result != dt) return re;
    ref im = add_op(l, p->table->im[step->op][lane][p->count_index], src, to);
    return complex_of(re, im);
}

/* The piece that compares and selects at once; 0: none. */
static unsigned pick_piece(const lowering *l, const asnd_step *comparison) {
    if (comparison->op >= ASN_OP_COUNT) return 0;
    int lane = lane_of((asn_dtype)comparison->from);
    return l->out->table->pick[comparison->op][lane][l->out->count_index];
}

/* A selection by such a comparison. */
static ref lower_pick(lowering *l, const asnd_step *step, const asnd_step *comparison) {
    int lane = lane_of((asn_dtype)step->from), of = lane_of((asn_dtype)comparison->from);
    ref src[4];
    for (int s = 0; s < 4; s++) {
        uint16_t value = s < 2 ? comparison->src[s] : step->src[s - 1];
        src[s] = cast(l, l->now[value], s < 2 ? of : lane);
        if (src[s].value == ASN_JIT_NONE) return NOTHING;
    }
    return add_op(l, pick_piece(l, comparison), src, lane);
}

/* An operation on real numbers: operands cast to the lanes that its piece reads (nothing
 * where they are so already), its arguments checked where it is a vector function. */
static ref lower_operation(lowering *l, const asnd_step *step) {
    asnd_jit_program *p = l->out;
    if (step->op == ASN_OP_WHERE && l->asked[step->src[0]])
        return lower_pick(l, step, l->asked[step->src[0]]);
    asn_dtype dt = (asn_dtype)step->from;
    int lane = lane_of(dt);
    ref src[3];
    for (int s = 0; s < step->num_src; s++)
        src[s] = l->now[step->src[s]];
    if (dt == ASN_BOOL) /* as wide as the widest operand already is */
        for (int s = 0; s < step->num_src; s++)
            if (asn_op_operand((asn_op)step->op, s, dt) == ASN_BOOL &&
                asn_lane_bytes(src[s].lane) > asn_lane_bytes(lane))
                lane = src[s].lane;
    if (step->op == ASN_OP_COPY) return src[0];
    for (int s = 0; s < step->num_src; s++) {
        asn_dtype want = asn_op_operand((asn_op)step->op, s, dt);
        src[s] = cast(l, src[s], want == ASN_BOOL ? bool_like(lane) : lane_of(want));
        if (src[s].value == ASN_JIT_NONE) return NOTHING;
    }
    asn_dtype result = asn_op_result((asn_op)step->op, dt);
    unsigned check = p->table->fit[step->op][lane][p->count_index];
    if (check && !add_check(l, check, src, step->num_src)) return NOTHING;
    return add_op(l, p->table->ew[step->op][lane][p->count_index], src,
                  result == ASN_BOOL ? bool_like(lane) : lane_of(result));
}

/* The step's value, or NOTHING. ASN_OP_NONE rounds a float32 through a half. */
static ref lower_step(lowering *l, const asnd_step *step) {
    asnd_jit_program *p = l->out;
    ref a = l->now[step->src[0]];
    if (step->op == ASN_OP_NONE) {
        unsigned piece = p->table->round[lane_of((asn_dtype)step->from)][p->count_index];
        return add_op(l, piece, &a, ASN_LANE_F32);
    }
    if (step->op == ASN_OP_CAST) {
        /* A truth value's bytes may be other than 0 and 1 when it comes from memory, and
         * a cast takes them as they are. */
        return cast(l, a, lane_of((asn_dtype)step->to));
    }
    return asn_is_complex((asn_dtype)step->from) ? lower_complex(l, step)
                                                 : lower_operation(l, step);
}

/* Values for the inputs: moving with the elements, or one element for all; complex
 * numbers are two values that lie in one array. */
static bool lower_inputs(lowering *l) {
    const asnd_plan *plan = l->plan;
    for (int v = 0; v < plan->num_values; v++) {
        l->now[v] = NOTHING;
        l->asked[v] = NULL;
    }
    for (int i = 0; i < plan->num_in; i++) {
        bool moves = !asn_plan_is_splat(plan, i);
        int lane = lane_of((asn_dtype)plan->dtype[i]), v = plan->value[i];
        asnd_jit_kind kind = moves ? ASN_JIT_INPUT : ASN_JIT_CONST;
        l->now[v] = add_value(l, kind, part_lane(lane), v);
        if (is_complex(lane))
            l->now[v] = complex_of(l->now[v], add_value(l, kind, part_lane(lane), v));
        if (l->now[v].value == ASN_JIT_NONE) return false;
        if (!is_complex(lane)) continue;
        l->out->values[l->now[v].value].part = 1;
        l->out->values[l->now[v].imag].part = 2;
    }
    return true;
}

/* A line is to be written at once: by two vectors when these follow one another closely
 * (AVX2, 5e6 float64: a + b 5.2 ms, 4.1 so; exp(a) + b 8.0 and 9.2). */
static bool streams_well(const lowering *l) {
    enum { LIGHT = 1 }; /* ns an element */
    return l->out->vector_bytes == 64 || l->plan->step_ns < LIGHT;
}

/* Stores the plan's value where its readers outside the program expect it. Once for each
 * value. Past the caches only in whole vectors. */
static bool add_store(lowering *l, int plan_value, bool past_caches) {
    asnd_jit_program *p = l->out;
    for (int s = 0; s < p->num_stores; s++)
        if (p->stores[s].pointer == plan_value) return true;
    ref a = l->now[plan_value];
    if (a.value == ASN_JIT_NONE) return false;
    a = cast(l, a, lane_of((asn_dtype)l->plan->value_dtype[plan_value]));
    if (a.value == ASN_JIT_NONE) return false;
    past_caches &= p->lanes * asn_lane_bytes(a.lane) == p->vector_bytes &&
                   a.imag == ASN_JIT_NONE && streams_well(l);
    p->stores[p->num_stores++] = (asnd_jit_store){
        a.value, (uint16_t)plan_value, (uint16_t)p->num_ops, a.imag, past_caches, false};
    return true;
}

/* The output that a value is, or -1. */
static int output_of(const asnd_plan *plan, int value) {
    for (int i = plan->num_in; i < plan->num_operands; i++)
        if (plan->operands[i].reduceOp == ACLNNX_NO_REDUCE && plan->value[i] == value)
            return i;
    return -1;
}

/* An input that is folded as it lies. */
static bool is_input(const asnd_plan *plan, int value) {
    for (int i = 0; i < plan->num_in; i++)
        if (plan->value[i] == value) return true;
    return false;
}

/* Sums of whole blocks stay in registers when their lanes are those of the sum kernel: 64
 * bytes, in one register or two. */
static bool sums_fit(const lowering *l) {
    const asnd_plan *plan = l->plan;
    int most = l->out->vector_bytes == 64 ? ASN_JIT_MAX_SUMS : 1;
    bool fit = l->sums && plan->folds && !plan->rows && !l->out->has_complex &&
               plan->num_reductions <= most;
    for (int r = 0; r < plan->num_reductions && fit; r++) {
        const asnd_reduction *red = &plan->reductions[r];
        fit = red->sum && (red->dtype == ASN_F32 || red->dtype == ASN_F64) &&
              l->out->lanes * asn_itemsize(red->dtype) == l->out->vector_bytes &&
              !is_input(plan, red->value) && output_of(plan, red->value) < 0;
        for (int other = 0; other < r; other++)
            fit &= plan->reductions[other].value != red->value;
    }
    return fit;
}

/* Values that are folded are stored for the fold, or summed in registers. */
static bool lower_reductions(lowering *l) {
    const asnd_plan *plan = l->plan;
    asnd_jit_program *p = l->out;
    bool in_registers = sums_fit(l);
    for (int r = 0; r < plan->num_reductions; r++) {
        uint16_t value = plan->reductions[r].value;
        if (in_registers) {
            p->sums[p->num_sums++] =
                (asnd_jit_sum){{l->now[value].value, ASN_JIT_NONE}, value};
            if (l->now[value].value == ASN_JIT_NONE) return false;
        } else if (!is_input(plan, value) && !add_store(l, value, false)) {
            return false;
        }
    }
    return true;
}

/* Whether an answer goes nowhere but to a selection or two of numbers as wide as those
 * compared. Such a comparison makes no value; its readers compare themselves. */
static bool is_only_asked(const lowering *l, const asnd_step *comparison) {
    enum { FEW = 2 }; /* what is compared stays in registers until then */
    const asnd_plan *plan = l->plan;
    int value = comparison->dst, readers = 0;
    if (!pick_piece(l, comparison) || output_of(plan, value) >= 0) return false;
    for (int r = 0; r < plan->num_reductions; r++)
        if (plan->reductions[r].value == value) return false;
    for (const asnd_step *s = comparison + 1; s < plan->steps + plan->num_steps; s++)
        for (int k = 0; k < s->num_src && k < 3; k++) {
            if (s->src[k] != value) continue;
            asn_dtype dt = (asn_dtype)s->from;
            if (s->op != ASN_OP_WHERE || k || dt == ASN_BOOL || asn_is_complex(dt) ||
                asn_itemsize(dt) != asn_itemsize((asn_dtype)comparison->from))
                return false;
            readers++;
        }
    return readers && readers <= FEW;
}

/* In the plan's order. An output is stored after its step: not before, as earlier steps
 * may read an input in the same memory (later ones: save_inputs in jit_operations.c). */
static bool lower_steps(lowering *l) {
    const asnd_plan *plan = l->plan;
    for (int s = 0; s < plan->num_steps; s++) {
        int dst = plan->steps[s].dst;
        if (is_only_asked(l, &plan->steps[s])) {
            l->asked[dst] = &plan->steps[s];
            continue;
        }
        l->now[dst] = lower_step(l, &plan->steps[s]);
        if (l->now[dst].value == ASN_JIT_NONE) return false;
        int out = output_of(plan, dst);
        if (out >= 0 && !add_store(l, dst, plan->past_caches >> out & 1)) return false;
    }
    return lower_reductions(l);
}

/* The value is read at operation `at`. */
static void use(asnd_jit_value *value, int at) {
    if (value->last_use < at) value->last_use = (int16_t)at;
}

/* From the last operation to the first; no later operation: the value's last use.
 * first_use serves as "the next use" while going back, and ends as the first. */
static void find_next_uses(asnd_jit_program *p) {
    for (int v = 0; v < p->num_values; v++)
        p->values[v].first_use = p->values[v].last_use;
    for (int i = p->num_ops - 1; i >= 0; i--) {
        asnd_jit_op *op = &p->ops[i];
        for (int s = 0; s < op->piece->inputs; s++) {
            asnd_jit_value *value = &p->values[op->src[s]];
            use(value, i);
            op->next_use[s] = value->first_use > i ? value->first_use : value->last_use;
        }
        for (int s = 0; s < op->piece->inputs; s++)
            p->values[op->src[s]].first_use = (int16_t)i;
    }
}

void asn_jit_find_uses(asnd_jit_program *p) {
    for (int s = 0; s < p->num_stores; s++) {
        const asnd_jit_store *store = &p->stores[s];
        bool just_made = store->before && p->ops[store->before - 1].dst == store->value;
        if (store->imag != ASN_JIT_NONE) { /* the real part may be made first */
            use(&p->values[store->value], store->before);
            use(&p->values[store->imag], store->before);
        } else {
            use(&p->values[store->value], store->before - just_made);
        }
    }
    for (int s = 0; s < p->num_sums; s++)
        for (int k = 0; k < p->vectors; k++)
            use(&p->values[p->sums[s].value[k]], p->num_ops);
    for (int wide = 0; wide < 2; wide++)
        if (p->marks[wide] != ASN_JIT_NONE) use(&p->values[p->marks[wide]], p->num_ops);
    find_next_uses(p);
}

/* The vector's element count follows from the widest dtype of the program, a complex
 * number's parts counting one by one. */
bool asn_jit_lower(asnd_jit_program *p, const asnd_plan *plan,
                   const asnd_piece_table *table, int vector_bytes, bool sums) {
    int widest = 1;
    p->has_complex = false;
    for (int v = 0; v < plan->num_values; v++) {
        bool pair = asn_is_complex((asn_dtype)plan->value_dtype[v]);
        int item = pair ? plan->item[v] / 2 : plan->item[v];
        p->has_complex |= pair;
        if (item > widest) widest = item;
    }
    if (p->has_complex && vector_bytes != 64) return false; /* jit_registers.c */
    p->table = table;
    p->vectors = 1;
    p->vector_bytes = vector_bytes;
    p->lanes = vector_bytes / widest;
    p->count_index = widest == 8 ? 0 : widest == 4 ? 1 : widest == 2 ? 2 : 3;
    p->num_values = p->num_ops = p->num_stores = p->num_sums = 0;
    p->marks[0] = p->marks[1] = ASN_JIT_NONE;
    p->in_place = asn_plan_in_place(plan);
    lowering l;
    l.out = p;
    l.plan = plan;
    l.sums = sums;
    if (!lower_inputs(&l) || !lower_steps(&l)) return false;
    asn_jit_find_uses(p);
    return true;
}
