/* L2 graph: a capture's programs as compiled C (see replay.h).
 *
 * A small fused program takes the engine a tenth of a microsecond to set out, and as much
 * again for every ten steps, whatever they compute. The device can tell what it would do
 * as C text (aclnnxSource); compiled with the shapes and strides of the capture in it, a
 * stencil on 14 x 14 elements takes 0.1 us. A step's first runs are timed, each other one
 * compiled, and the faster way is taken from then on. The text of all steps is one file,
 * which somebody above compiles: a library with a table of the functions. A replay calls
 * a step's function when nothing is queued, on the calling thread, and launches the
 * program otherwise.
 *
 * Both ways must give the same bits; the text is the device's own. A library is
 * recognised by a hash of the text it was made from, so that one from a cache cannot be
 * another capture's. */
#include "graph/capture/capture_steps.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "graph/lock.h"
#include "runtime/device.h"

/* Longer texts are left uncompiled. */
enum { MOST_TEXT = 1 << 20 };

static const char TABLE[] = "asnumpy_native";

/* FNV-1a: a library is of this text or of another one. */
static uint64_t hash_of(const char *text, size_t length) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
    return hash;
}

/* Appends a program's text, or (p NULL) the preamble of all; *put false: it has none, or
 * the file would become too long. The device tells the length that it needs. */
static asn_status put_source(asn_text *out, const aclnnxProgram *p, const char *name,
                             bool *put) {
    size_t length = 0, room = 8192;
    char *text = NULL;
    int code = 0;
    do {
        asn_free(text);
        room = length > room ? length : room;
        text = asn_malloc(room);
        if (!text)
            return asn_error_set(ASN_ERR_MEMORY, "no memory for %lld bytes",
                                 (long long)room);
        code = asn_acl.aclnnxSource(p, name, text, room, &length);
    } while (!code && length > room);
    *put = !code && length > 0 && out->used + length < MOST_TEXT;
    if (*put) asn_text_append(out, text, length);
    asn_free(text);
    return code ? asn_acl_failed(code, "aclnnxSource") : out->status;
}

/* Programs over no elements have nothing to compile. */
static bool may_have(const asn_replay_step *s) {
    return s->kind == ASN_STEP_FUSED && s->elements > 0;
}

/* The table, with the hash of all text before it. */
static asn_status put_table(asn_text *out, const asn_replay *r, const bool *has) {
    unsigned long long hash = hash_of(out->text, out->used);
    asn_text_put(out,
                 "const struct {\n    uint64_t hash;\n    int64_t count;\n"
                 "    struct {\n        int (*open)(const aclnnx_host *);\n"
                 "        int (*run)(char *const *, uint32_t *);\n    } step[%d];\n"
                 "} %s = {0x%llxu, %d, {\n",
                 r->num_steps, TABLE, hash, r->num_steps);
    for (int i = 0; i < r->num_steps; i++)
        asn_text_put(out, has[i] ? "    {step_%d_open, step_%d},\n" : "    {0, 0},\n", i,
                     i);
    asn_text_put(out, "}};\n");
    return out->status;
}

/* has[i]: step i has a text; *count: how many. */
static asn_status put_steps(asn_text *out, const asn_replay *r, bool *has, int *count) {
    bool preamble = false;
    ASN_TRY(put_source(out, NULL, "", &preamble));
    for (int i = 0; preamble && i < r->num_steps; i++) {
        char name[32];
        if (!may_have(&r->steps[i])) continue;
        snprintf(name, sizeof name, "step_%d", i);
        ASN_TRY(put_source(out, &r->steps[i].fused.program, name, &has[i]));
        *count += has[i];
    }
    return ASN_OK;
}

/* *out is empty where the device has no texts, or none of these programs. */
static asn_status make_source(const asn_replay *r, asn_text *out) {
    int count = 0;
    if (!asn_acl.aclnnxSource || !asn_device_host_access() || !asn_replay_valid(r))
        return ASN_OK;
    bool *has = asn_calloc((size_t)r->num_steps + 1, sizeof *has);
    if (!has) return asn_error_set(ASN_ERR_MEMORY, "no memory for a capture's text");
    asn_status status = put_steps(out, r, has, &count);
    if (!status && count > 0) status = put_table(out, r, has);
    asn_free(has);
    if (status || count > 0) return status;
    asn_free(out->text);
    *out = (asn_text){.status = ASN_OK};
    return ASN_OK;
}

asn_status asn_replay_source(const asn_replay *r, char **text) {
    asn_text out = {.status = ASN_OK};
    asn_lock();
    asn_status status = make_source(r, &out);
    asn_unlock();
    if (status == ASN_ERR_MEMORY && out.status)
        status = asn_error_set(ASN_ERR_MEMORY, "no memory for a capture's text");
    if (status) {
        asn_free(out.text);
        out.text = NULL;
    }
    *text = out.text;
    return status;
}

/* What the text ends with. */
typedef struct {
    uint64_t hash;
    int64_t count;
    struct {
        aclnnxNativeOpen open;
        aclnnxNative run;
    } step[];
} native_table;

/* The text is made once more, to be compared; then each function gets the host's entries,
 * and declines where it cannot run here. */
static asn_status attach(asn_replay *r, const native_table *table) {
    static aclnnxHost host; /* the functions keep its address */
    asn_text out = {.status = ASN_OK};
    asn_status status = make_source(r, &out);
    const char *end =
        out.text ? strstr(out.text, "const struct {\n    uint64_t hash;") : NULL;
    bool same = !status && end && table->count == r->num_steps &&
                table->hash == hash_of(out.text, (size_t)(end - out.text));
    asn_free(out.text);
    if (status) return status;
    if (!same)
        return asn_error_set(ASN_ERR_VALUE,
                             "the library was made from another capture's text");
    host =
        (aclnnxHost){asn_acl.aclnnxOpcode, asn_acl.aclnnxLoopFind, asn_acl.aclnnxLoopRun};
    for (int i = 0; i < r->num_steps; i++) {
        aclnnxNativeOpen open = table->step[i].open;
        if (open && !open(&host)) r->steps[i].native = table->step[i].run;
    }
    return ASN_OK;
}

asn_status asn_replay_attach(asn_replay *r, const void *table) {
    asn_lock();
    asn_status status = attach(r, table);
    asn_unlock();
    return status;
}

/* (Contract in capture_steps.h.) The best run counts: others were disturbed. */
void asn_replay_tried(asn_replay_step *s, bool compiled, uint64_t ns) {
    uint64_t *best = &s->best[compiled];
    if (s->trials < 2 || ns < *best) *best = ns;
    if (++s->trials == ASN_REPLAY_TRIALS) s->slower = s->best[1] > s->best[0];
}

bool asn_replay_run_native(const asn_replay_step *s, void *const *addresses,
                           uint32_t *sink) {
    char *operands[ACLNNX_MAX_OPERANDS];
    for (int i = 0; i < s->num_places; i++)
        operands[i] = addresses[i];
    return s->native(operands, sink) == 0;
}
