/* L3 C binding: compressed bytes in files (see deflate.h).
 *
 * The compressed side passes through a chunk on the stack, so that beside the caller's
 * bytes only zlib's own state takes memory (7 KB and a window of 32 KB to read, 268 KB to
 * write); it comes from asn_calloc, as every block that may be lacking does.
 *
 * Both functions move through the file from where it is and leave it behind their bytes.
 * The stream is bare (windowBits negative): a zip archive keeps sizes and checksum in its
 * own records.
 */
#include "capi/deflate.h"

#include <errno.h>
#include <string.h>
#define ZLIB_CONST /* next_in is of const bytes */
#include <zlib.h>

#include "base/alloc.h"

enum { CHUNK = 16384, MEMORY_LEVEL = 8 /* zlib's own choice */ };

/* zlib's allocator, so that faults of memory are tested here too. */
static void *take(void *context, unsigned count, unsigned size) {
    (void)context;
    return asn_calloc(count, size);
}

static void give(void *context, void *block) {
    (void)context;
    asn_free(block);
}

/* Of what zlib says where no bytes of a file can be wrong. */
static asn_status refused(const char *path, int code) {
    if (code == Z_MEM_ERROR) return ASN_ERR_MEMORY;
    return asn_error_set(ASN_ERR_RUNTIME, "%s: zlib %s cannot be used: %s", path,
                         zlibVersion(), zError(code));
}

asn_status asn_deflate(FILE *file, const char *path, const void *data, uint32_t bytes,
                       uint64_t *packed) {
    unsigned char chunk[CHUNK];
    z_stream z = {.zalloc = take, .zfree = give, .next_in = data, .avail_in = bytes};
    int code = deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS,
                            MEMORY_LEVEL, Z_DEFAULT_STRATEGY);
    if (code != Z_OK) return refused(path, code);
    bool written = true;
    for (*packed = 0; written && code == Z_OK;) {
        z.next_out = chunk;
        z.avail_out = CHUNK;
        code = deflate(&z, Z_FINISH);
        size_t made = CHUNK - z.avail_out;
        /* cppcheck-suppress uninitvar ; zlib has written `made` bytes of it */
        written = fwrite(chunk, 1, made, file) == made;
        *packed += made;
    }
    /* deflateEnd may change errno. */
    int why = errno;
    (void)deflateEnd(&z);
    if (!written)
        return asn_error_set(ASN_ERR_RUNTIME, "%s: cannot be written: %s", path,
                             strerror(why));
    return code == Z_STREAM_END ? ASN_OK : refused(path, code);
}

asn_status asn_inflate(FILE *file, const char *path, uint32_t packed, void *data,
                       uint32_t bytes) {
    unsigned char chunk[CHUNK];
    z_stream z = {.zalloc = take, .zfree = give, .next_out = data, .avail_out = bytes};
    int code = inflateInit2(&z, -MAX_WBITS);
    if (code != Z_OK) return refused(path, code);
    while (code == Z_OK) { /* zlib says Z_BUF_ERROR when either side has ended early */
        if (z.avail_in == 0 && packed > 0) {
            z.next_in = chunk;
            z.avail_in = (uInt)fread(chunk, 1, packed < CHUNK ? packed : CHUNK, file);
            packed = z.avail_in ? packed - z.avail_in : 0;
        }
        code = inflate(&z, Z_NO_FLUSH);
    }
    bool whole =
        code == Z_STREAM_END && z.avail_out == 0 && z.avail_in == 0 && packed == 0;
    (void)inflateEnd(&z);
    if (whole) return ASN_OK;
    if (code == Z_MEM_ERROR) return ASN_ERR_MEMORY;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: is damaged: compressed bytes are not those of %lu", path,
                         (unsigned long)bytes);
}
