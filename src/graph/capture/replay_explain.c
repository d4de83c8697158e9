/* L2 graph: asn_replay_explain, a capture as a table of its steps.
 *
 *   3 steps: 2 programs, 1 operator; 1 temporary of 8000 bytes
 *   1  program   multiply  5 instructions over (1000,)  argument 0, argument 1 ->
 *     temporary
 *
 * For people; asnumpy.jit shows it. */
#include "array/broadcast.h"
#include "base/alloc.h"
#include "base/text.h"
#include "graph/capture/capture_steps.h"

/* The slots' numbers within their kind: temporary 2 is the third. */
static int number_of(const asn_replay *r, int slot) {
    int n = 0;
    for (int i = 0; i < slot; i++)
        n += r->slots[i].kind == r->slots[slot].kind;
    return n;
}

/* "temporary 2[+64 B]"; offsets of arguments count from the array, not the group. */
static void put_place(asn_text *w, const asn_replay *r, const asn_place *p) {
    static const char *const kinds[] = {"argument", "constant", "temporary", "result"};
    const asn_slot *s = &r->slots[p->slot];
    int number = s->kind == ASN_SLOT_ARG ? s->arg : number_of(r, p->slot);
    asn_text_put(w, "%s %d", kinds[s->kind], number);
    if (p->offset != s->origin)
        asn_text_put(w, "[%+lld B]", (long long)(p->offset - s->origin));
}

/* What a step reads, or writes. */
static void put_places(asn_text *w, const asn_replay *r, const asn_replay_step *s,
                       bool written) {
    bool any = false;
    for (int i = 0; i < s->num_places; i++) {
        const asn_place *p = &s->places[i];
        if (p->slot < 0 || p->written != written) continue;
        asn_text_put(w, any ? ", " : written ? " -> " : "  ");
        put_place(w, r, p);
        any = true;
    }
}

static void put_step(asn_text *w, const asn_replay *r, int number) {
    static const char *const kinds[ASN_STEP_HOST + 1] = {[ASN_STEP_FUSED] = "program",
                                                         [ASN_STEP_UPLOAD] = "copy",
                                                         [ASN_STEP_LINALG] = "solver",
                                                         [ASN_STEP_HOST] = "host"};
    const asn_replay_step *s = &r->steps[number];
    char shape[256];
    asn_text_put(w, "%3d  %-9s%s", number + 1,
                 kinds[s->kind] ? kinds[s->kind] : "operator",
                 s->name ? s->name : "copy");
    if (s->kind == ASN_STEP_FUSED)
        asn_text_put(w, ": %d operation%s over %s", (int)s->fused.program.numInstrs,
                     s->fused.program.numInstrs == 1 ? "" : "s",
                     asn_shape_format(shape, sizeof shape, s->fused.program.numDims,
                                      s->fused.program.shape));
    if (s->native)
        asn_text_put(w, ", compiled%s", s->slower ? " (slower, not used)" : "");
    if (s->nbytes) asn_text_put(w, ", %lld bytes", (long long)s->nbytes);
    if (s->kind == ASN_STEP_OPERATOR && s->op.workspace)
        asn_text_put(w, ", workspace of %llu bytes", (unsigned long long)s->op.workspace);
    put_places(w, r, s, false);
    put_places(w, r, s, true);
    asn_text_put(w, "\n");
}

asn_status asn_replay_explain(const asn_replay *r, char **text) {
    asn_text w = {.status = ASN_OK};
    asn_replay_info info;
    asn_replay_get_info(r, &info);
    asn_text_put(&w, "%d step%s: %d program%s, %d operator%s, %d cop%s from the host\n",
                 info.steps, info.steps == 1 ? "" : "s", info.programs,
                 info.programs == 1 ? "" : "s", info.operators,
                 info.operators == 1 ? "" : "s", info.copies,
                 info.copies == 1 ? "y" : "ies");
    asn_text_put(&w,
                 "%d temporar%s of %lld bytes in a block of %lld; results %lld bytes; %d "
                 "constant%s of %lld bytes\n",
                 info.temporaries, info.temporaries == 1 ? "y" : "ies",
                 (long long)info.temporary_bytes, (long long)info.arena_bytes,
                 (long long)info.result_bytes, info.constants,
                 info.constants == 1 ? "" : "s", (long long)info.constant_bytes);
    for (int i = 0; i < r->num_steps; i++)
        put_step(&w, r, i);
    if (w.status) {
        asn_free(w.text);
        return w.status;
    }
    *text = w.text;
    return ASN_OK;
}
