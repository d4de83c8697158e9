/* Arbitrary bytes as a fused program: aclnnxFused refuses it with a code and a sentence,
 * or runs it.
 *
 * What the engine cannot know is kept right: addresses, and strides that stay inside of
 * the memory an operand has. Everything else comes from the input: a byte below VALID
 * picks something that could be meant, others are taken as they are, so that programs get
 * past the first check. Each operand lies against the end of its block, where a sanitizer
 * sees the first byte too many; and what surrounds the outputs must stay as it was. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "aclnn/aclnnx.h"
#include "driver.h"

enum { VALID = 251, ROOM = 1 << 13, UNIT = 16 };

typedef struct {
    const uint8_t *at, *end;
} bytes;

static uint8_t next(bytes *b) {
    return b->at < b->end ? *b->at++ : 0;
}

static uint64_t raw(bytes *b, int size) {
    uint64_t x = 0;
    for (int i = 0; i < size; i++)
        x = x << 8 | next(b);
    return x;
}

/* Mostly a number below `count`; else whatever `size` bytes say. */
static uint64_t pick(bytes *b, uint64_t count, int size) {
    uint8_t how = next(b);
    return how < VALID && count > 0 ? (how * UINT64_C(89) + next(b)) % count
                                    : raw(b, size);
}

typedef struct {
    aclnnxProgram program;
    int64_t shape[ACLNNX_MAX_DIMS], strides[ACLNNX_MAX_OPERANDS][ACLNNX_MAX_DIMS];
    aclnnxOperand operands[ACLNNX_MAX_OPERANDS];
    aclnnxInstr instrs[ACLNNX_MAX_INSTRS];
    char *blocks[ACLNNX_MAX_OPERANDS];
    size_t used[ACLNNX_MAX_OPERANDS]; /* bytes of the block, at its end */
    uint32_t conditions;
} made;

static const uint8_t known[] = {ACL_DOUBLE, ACL_FLOAT,   ACL_INT64,     ACL_INT32,
                                ACL_BOOL,   ACL_FLOAT16, ACL_INT8,      ACL_UINT8,
                                ACL_UINT64, ACL_BF16,    ACL_COMPLEX64, ACL_UINT16};

/* Operations that many dtypes have, the first four as reductions too; now and then any
 * number. */
static uint16_t pick_op(bytes *b, size_t count) {
    static const char *const names[] = {
        "add",      "multiply",     "maximum",  "minimum",     "subtract",
        "absolute", "copy",         "negative", "square",      "positive",
        "sign",     "sqrt",         "exp",      "sin",         "floor",
        "divide",   "floor_divide", "power",    "bitwise_and", "left_shift"};
    size_t all = sizeof names / sizeof *names;
    if (next(b) % 8 == 0) return (uint16_t)pick(b, 130, 2);
    return (uint16_t)aclnnxOpcode(names[next(b) % (count ? count : all)]);
}

/* Strides of whole units, of either sign or 0, whose span fits the room; what the operand
 * spans is known then. Returns the place of element 0. */
static char *lay_out(made *m, bytes *b, int k) {
    int64_t *strides = m->strides[k], low = 0, high = UNIT;
    for (int d = m->program.numDims - 1; d >= 0; d--) {
        int64_t extent = m->shape[d] > 0 ? m->shape[d] : 1, step = 0;
        int way = next(b) % 5;
        if (way > 0) step = way == 4 ? 2 * UNIT : high - low;
        if (way == 2) step = -step;
        int64_t span = (extent - 1) * step;
        if (high - low + llabs(span) > ROOM) step = span = 0;
        strides[d] = step;
        *(span < 0 ? &low : &high) += span;
    }
    m->used[k] = (size_t)(high - low);
    return m->blocks[k] + ROOM - high;
}

static void make_operand(made *m, bytes *b, int k, uint8_t dtype) {
    aclnnxOperand *o = &m->operands[k];
    bool out = k >= m->program.numIn;
    memset(o, 0, sizeof *o);
    o->dtype =
        next(b) % 4 ? dtype : (uint8_t)known[pick(b, sizeof known, 1) % sizeof known];
    if (next(b) >= VALID) o->dtype = next(b);
    o->reduceOp = out && next(b) % 3 == 0 ? pick_op(b, 4) : ACLNNX_NO_REDUCE;
    o->flags = next(b) >= VALID ? next(b) : (uint8_t)(next(b) % 8 == 0);
    o->strides = m->strides[k];
    o->data = lay_out(m, b, k);
    if (!out && next(b) % 4 == 0) o->data = NULL; /* a number */
    for (int i = 0; i < 16; i++)
        o->immediate[i] = o->data ? 0 : next(b);
}

static void make_instr(made *m, bytes *b, int i, uint8_t dtype) {
    int operands = m->program.numIn + m->program.numOut;
    int outputs_left = m->program.numInstrs - i <= m->program.numOut;
    int next_output = operands - (m->program.numInstrs - i);
    m->instrs[i] = (aclnnxInstr){
        .op = pick_op(b, 0),
        .dtype = next(b) < VALID ? dtype : next(b),
        .outDtype = known[next(b) % sizeof known],
        .dst = (uint8_t)(next(b) >= VALID ? next(b)
                         : outputs_left   ? next_output
                                          : operands + i),
    };
    int earlier = i < m->program.numInstrs - m->program.numOut
                      ? i
                      : m->program.numInstrs - m->program.numOut;
    for (int s = 0; s < 3; s++) {
        uint64_t r = pick(b, (uint64_t)(m->program.numIn + earlier), 1);
        m->instrs[i].src[s] =
            (uint8_t)(r < (uint64_t)m->program.numIn ? r
                                                     : r + (uint64_t)m->program.numOut);
    }
}

static void make(made *m, bytes *b) {
    aclnnxProgram *p = &m->program;
    memset(p, 0, sizeof *p);
    p->numDims = (int32_t)pick(b, 5, 1);
    p->numIn = (int32_t)pick(b, 5, 1);
    p->numOut = (int32_t)pick(b, 3, 1) + (next(b) > 4);
    p->numInstrs = (int32_t)pick(b, 12, 1) + p->numOut;
    int dims = p->numDims < ACLNNX_MAX_DIMS ? p->numDims : ACLNNX_MAX_DIMS, k;
    for (int64_t size = 1, d = 0; d < dims; d++) {
        int64_t extent = (int64_t)pick(b, 24, 1);
        if (size * extent > 1 << 14) extent = 1;
        if (extent > 0) size *= extent;
        m->shape[d] = extent;
    }
    uint8_t dtype = known[next(b) % sizeof known];
    bool fits =
        p->numDims <= ACLNNX_MAX_DIMS && p->numIn + p->numOut <= ACLNNX_MAX_OPERANDS;
    for (k = 0; fits && k < p->numIn + p->numOut; k++)
        make_operand(m, b, k, dtype);
    for (k = 0; fits && k < p->numInstrs && k < ACLNNX_MAX_INSTRS; k++)
        make_instr(m, b, k, dtype);
    p->numRegs =
        next(b) >= VALID ? (int32_t)raw(b, 4) : p->numIn + p->numOut + p->numInstrs;
    if (next(b) >= VALID) p->numInstrs = (int32_t)raw(b, 4);
    if (next(b) >= VALID) p->numDims = (int32_t)(raw(b, 4) | 1u << 31);
    p->reduceMask = next(b) >= VALID ? raw(b, 8) : pick(b, 8, 1);
    p->shape = m->shape;
    p->operands = m->operands;
    p->instrs = m->instrs;
    p->fpFlags = next(b) % 2 ? &m->conditions : NULL;
}

static void fail(const char *what, int k) {
    fprintf(stderr, "program_bytes: %s (operand %d)\n", what, k);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static made m;
    static bool ready;
    if (!ready) {
        if (aclInit(NULL) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) return 1;
        for (int k = 0; k < ACLNNX_MAX_OPERANDS; k++)
            if ((m.blocks[k] = malloc(ROOM)) == NULL) return 1;
        ready = true;
    }
    bytes b = {data, data + size};
    for (int k = 0; k < ACLNNX_MAX_OPERANDS; k++) {
        memset(m.blocks[k], 0x3f, ROOM); /* numbers of every dtype */
        m.used[k] = ROOM;
    }
    make(&m, &b);
    (void)aclGetRecentErrMsg();
    int code = aclnnxFused(&m.program, NULL);
    if (code == 0) code = aclrtSynchronizeStream(NULL); /* a long one was queued */
    if (code != 0 && aclGetRecentErrMsg() == NULL) fail("refused without a message", -1);
    if (code != 0) return 0;
    for (int k = 0; k < m.program.numIn + m.program.numOut; k++) {
        bool input = k < m.program.numIn;
        size_t kept = input ? ROOM : ROOM - m.used[k];
        for (size_t i = 0; i < kept; i++)
            if (m.blocks[k][i] != 0x3f) fail("wrote what is not the output's", k);
    }
    return 0;
}

#ifndef FUZZER
const long inputs_of_its_own = 100000;

size_t make_input(uint8_t data[DRIVER_MOST]) {
    size_t size = 16 + random_byte() + random_byte();
    for (size_t k = 0; k < 16 + 2 * UINT8_MAX; k++)
        data[k] = random_byte();
    uint8_t calm = random_byte(); /* bytes that pick what is meant, more or less */
    for (size_t k = 0; k < size && calm % 4; k++)
        if (random_byte() % (calm % 4 * 8) != 0 && data[k] >= VALID)
            data[k] = (uint8_t)(data[k] - VALID);
    return size;
}
#endif
