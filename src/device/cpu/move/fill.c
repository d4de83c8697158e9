/* CPU device: a large stretch of memory filled with one element.
 *
 * The processor's own fill ("rep stos") does not read the lines that it overwrites, and
 * leaves them in the caches. 8 MB from memory, Zen 5, one thread, us: vectors 198, past
 * the caches 209, this 80. What the last cache does not hold is as fast past the caches.
 */
#include <string.h>

#include "device/cpu/move/fill.h"
#include "device/cpu/threads.h"
#include "device/cpu/move/string_move.h"

enum { CHUNK = 1 << 18, WORD = 8 }; /* bytes */

typedef struct {
    char *data;
    int64_t bytes;
    uint64_t word;
    bool same; /* all bytes of the word */
} fill_run;

/* CHUNK bytes, or what is left; the end may be a part of a word. */
static void fill_chunk(void *ctx, int64_t chunk) {
    const fill_run *r = ctx;
    int64_t from = chunk * CHUNK, n = r->bytes - from < CHUNK ? r->bytes - from : CHUNK;
    char *to = r->data + from;
    if (r->same) {
        asn_string_fill_bytes(to, (uint8_t)r->word, n);
        return;
    }
    asn_string_fill_words(to, r->word, n / WORD);
    memcpy(to + n / WORD * WORD, &r->word, (size_t)(n % WORD));
}

/* Elements of up to 8 bytes repeat in a word of 8; an element of 16 only where its halves
 * are equal. */
bool asn_fill_stretch(void *data, const void *element, int item, int64_t bytes) {
    if (bytes < ASN_FILL_BYTES || bytes > asn_cpu_caches().last ||
        asn_cpu_moves_get() == ASN_MOVES_SLOW)
        return false;
    fill_run r = {data, bytes, 0, false};
    char word[16];
    for (int at = 0; at < 16; at += item)
        memcpy(word + at, element, (size_t)item);
    if (memcmp(word, word + WORD, WORD) != 0) return false; /* a wider element */
    memcpy(&r.word, word, WORD);
    r.same = r.word == (r.word & 0xff) * 0x0101010101010101u;
    asn_pool_run(fill_chunk, &r, (bytes + CHUNK - 1) / CHUNK, (double)bytes * 0.01);
    return true;
}
