/* Arbitrary bytes as a .npy or .npz file: the C binding's readers (io.h) give an array
 * that the bytes hold, or refuse with a status and a sentence.
 *
 * The input's first byte says what the rest is: a file as it is, or the .npy file in an
 * archive that is made around it with the right checksum, stored or deflated, a few of
 * the archive's bytes then replaced. What a header says is no reason to take memory: the
 * linker puts a bound on asn_malloc here, which follows from the file's length. An array
 * that was read is written and read again, and must come back with the same bytes. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "asnumpy/asnumpy.h"
#include "driver.h"
#include "runtime/device.h"

enum {
    HEADER_MOST = 1 << 20, /* of text, which the readers may take at once */
    STRUCTS = 1 << 17,     /* handles, layouts, names */
    LOCAL_SIZE = 30,
    CENTRAL_SIZE = 46,
    END_SIZE = 22,
    EXPANDED = 1032, /* bytes that one deflated byte may hold, at most */
    PLACES = 64,     /* bytes of a member that may be replaced, from its name on */
    ROOM = DRIVER_MOST + 256
};

static void fail(const char *what) {
    fprintf(stderr, "file_bytes: %s (%s)\n", what, asnp_message());
    abort();
}

/* ---- allocations, which the linker sends here */

static size_t most; /* bytes of one block; 0: any */

void *__real_asn_malloc(size_t size);
void *__real_asn_calloc(size_t count, size_t size);
void *__real_asn_realloc(void *p, size_t size);
void *__wrap_asn_malloc(size_t size);
void *__wrap_asn_calloc(size_t count, size_t size);
void *__wrap_asn_realloc(void *p, size_t size);

static size_t bounded(size_t size) {
    if (most != 0 && size > most) fail("takes memory that the file does not fill");
    return size;
}
void *__wrap_asn_malloc(size_t size) {
    return __real_asn_malloc(bounded(size));
}
void *__wrap_asn_calloc(size_t count, size_t size) {
    return __real_asn_calloc(count, bounded(count * size) / (count ? count : 1));
}
void *__wrap_asn_realloc(void *p, size_t size) {
    return __real_asn_realloc(p, bounded(size));
}

/* ---- files in memory: one that is read, one that is written */

typedef struct {
    int fd;
    char path[32];
} file;

static file input, copy;

static bool open_file(file *f) {
    f->fd = memfd_create("file_bytes", 0);
    snprintf(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
    return f->fd >= 0;
}

static void fill(const file *f, const uint8_t *data, size_t size) {
    if (ftruncate(f->fd, 0) != 0 || pwrite(f->fd, data, size, 0) != (ssize_t)size)
        fail("the file in memory cannot be written");
}

/* ---- an archive around a .npy file (PKWARE's APPNOTE.TXT, as npz.c has it) */

static void put(uint8_t *at, int bytes, size_t value) {
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

/* A bare deflate stream of the bytes, of a level from 0 on; its length. */
static size_t deflated(const uint8_t *data, size_t size, int level, uint8_t *out,
                       size_t room) {
    z_stream z = {.next_in = (Bytef *)data,
                  .avail_in = (uInt)size,
                  .next_out = out,
                  .avail_out = (uInt)room};
    if (deflateInit2(&z, level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&z, Z_FINISH) != Z_STREAM_END)
        fail("bytes cannot be compressed");
    (void)deflateEnd(&z);
    return room - z.avail_out;
}

/* level: of deflate, or -1 for a member that is stored. */
static size_t archive_of(const uint8_t *npy, size_t size, int level, uint8_t out[ROOM]) {
    static const char name[] = "a.npy";
    const size_t length = sizeof name - 1;
    uint8_t *data = out + LOCAL_SIZE + length;
    const size_t room = ROOM - LOCAL_SIZE - CENTRAL_SIZE - END_SIZE - 2 * length;
    size_t packed = size;
    memset(out, 0, ROOM);
    if (level < 0)
        memcpy(data, npy, size);
    else
        packed = deflated(npy, size, level, data, room);
    uint8_t *central = data + packed;
    uint8_t *end = central + CENTRAL_SIZE + length;
    put(out, 4, 0x04034b50);
    put(out + 8, 2, level < 0 ? 0 : 8);
    put(out + 14, 4, crc32(0, npy, (uInt)size));
    put(out + 18, 4, packed);
    put(out + 22, 4, size);
    put(out + 26, 2, length);
    memcpy(out + LOCAL_SIZE, name, length);
    put(central, 4, 0x02014b50);
    memcpy(central + 10, out + 8, 20);
    memcpy(central + CENTRAL_SIZE, name, length);
    put(end, 4, 0x06054b50);
    put(end + 8, 2, 1);
    put(end + 10, 2, 1);
    put(end + 12, 4, CENTRAL_SIZE + length);
    put(end + 16, 4, (size_t)(central - out));
    return (size_t)(end + END_SIZE - out);
}

/* The rest as a .npy file in an archive; before it the count of bytes of the archive's
 * own records and the member's first ones that are replaced, and for each its place and
 * value. */
static size_t wrapped(const uint8_t *at, const uint8_t *stop, int level,
                      uint8_t out[ROOM]) {
    const uint8_t *patches = at + 1;
    int count = at < stop ? *at % 4 : 0;
    at = stop - at > 1 + 2 * count ? at + 1 + 2 * count : stop;
    size_t size = archive_of(at, (size_t)(stop - at), level, out);
    const size_t records = CENTRAL_SIZE + 5 + END_SIZE;
    for (int i = 0; i < count && at < stop; i++) {
        size_t place = patches[2 * i] % (records + LOCAL_SIZE + PLACES);
        out[place < records ? size - records + place : place - records] =
            patches[2 * i + 1];
    }
    return size;
}

/* ---- what the readers say */

static void check_again(const asnp_array *a, const void *data, size_t bytes) {
    asnp_array *again = NULL;
    if (asnp_save(copy.path, a) || asnp_load(copy.path, &again))
        fail("what was read cannot be written and read again");
    void *same = malloc(bytes ? bytes : 1);
    if (same == NULL) return;
    if (asnp_dtype_of(again) != asnp_dtype_of(a) || asnp_ndim(again) != asnp_ndim(a) ||
        memcmp(asnp_shape(again), asnp_shape(a), 8 * (size_t)asnp_ndim(a)) != 0 ||
        asnp_to_host(again, same, bytes) || memcmp(same, data, bytes) != 0)
        fail("what was read is another array when it was written and read again");
    free(same);
    asnp_release(again);
}

static void check(asnp_status status, asnp_array *a, size_t size) {
    if (status != ASNP_OK) {
        if (a != NULL) fail("refused, and gave an array");
        if (*asnp_message() == 0) fail("refused without a message");
        if (*asnp_status_name(status) == 0) fail("refused with what is no status");
        return;
    }
    size_t bytes = asnp_nbytes(a);
    if (bytes > size) fail("has more elements than the file has bytes");
    void *data = malloc(bytes ? bytes : 1);
    if (data != NULL && asnp_to_host(a, data, bytes)) fail("cannot be copied");
    if (data != NULL) check_again(a, data, bytes);
    free(data);
    asnp_release(a);
}

static void check_npy(size_t size) {
    asnp_array *a = NULL;
    most = HEADER_MOST + STRUCTS + 4 * size;
    asnp_status status = asnp_load(input.path, &a);
    check(status, a, size);
}

static void check_npz(size_t size) {
    char *names = NULL, name[DRIVER_MOST];
    asnp_array *a = NULL;
    most = HEADER_MOST + STRUCTS + EXPANDED * size;
    asnp_status status = asnp_loadz(input.path, "a", &a);
    check(status, a, EXPANDED * size);
    status = asnp_npz_names(input.path, &names);
    if (status != ASNP_OK) {
        if (names != NULL || *asnp_message() == 0) fail("refused without a message");
        return;
    }
    if (strlen(names) > size) fail("has more names than the file has bytes");
    for (char *at = names, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        size_t length = (size_t)(end - at) < sizeof name ? (size_t)(end - at) : 0;
        memcpy(name, at, length);
        name[length] = 0;
        a = NULL;
        status = asnp_loadz(input.path, name, &a);
        check(status, a, EXPANDED * size);
    }
    asnp_free_text(names);
}

static void check_elements(uint8_t how, size_t size) {
    static const asnp_dtype dtypes[] = {ASNP_BOOL, ASNP_INT16, ASNP_FLOAT64,
                                        ASNP_COMPLEX128};
    const int64_t counts[] = {-1, how, (int64_t)1 << 60, INT64_MAX};
    const int64_t offsets[] = {0, how, (int64_t)size + 1, INT64_MAX};
    asnp_array *a = NULL;
    most = HEADER_MOST + STRUCTS + 4 * size;
    asnp_status status = asnp_from_file(input.path, dtypes[how % 4], counts[how / 4 % 4],
                                        offsets[how / 16 % 4], &a);
    check(status, a, size);
}

static uint64_t in_use(void) {
    asnp_memory m = {0};
    if (asnp_memory_stats(&m)) fail("no statistics");
    return m.bytes_in_use;
}

static bool start(void) {
    static bool ready;
    if (ready) return true;
    asn_device_set_library_path(LIBRARIES);
    if (!open_file(&input) || !open_file(&copy)) return false;
    asnp_array *a = NULL; /* what the library takes once */
    asnp_status status =
        asnp_arange(asnp_int(0), asnp_int(6), asnp_int(1), ASNP_DTYPE_NONE, &a);
    if (!status) status = asnp_save(input.path, a);
    asnp_release(a);
    if (status) fail("cannot begin");
    check_npy(DRIVER_MOST);
    most = 0;
    return ready = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t archive[ROOM];
    if (!start()) return 1;
    if (size == 0 || size > DRIVER_MOST) return 0;
    uint8_t how = *data++;
    size--;
    if (how % 2) { /* stored, or of level 0 (blocks as they are), 1 or 9 */
        static const int levels[] = {-1, 0, 1, 9};
        size = wrapped(data, data + size, levels[how / 2 % 4], archive);
        data = archive;
    }
    fill(&input, data, size);
    uint64_t before = in_use();
    check_npy(size);
    check_npz(size);
    check_elements(how, size);
    if (in_use() != before) fail("memory was not given back");
    most = 0;
    return 0;
}

#ifndef FUZZER
/* ---- inputs: files that the library wrote, headers by hand, and bytes; then changed */

const long inputs_of_its_own = 20000;

static const char *const dictionaries[] = {
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,), }",
    "{'descr': '|b1', 'fortran_order': True, 'shape': (4294967296, 2147483647), }",
    "{'descr': '>c16', 'fortran_order': True, 'shape': (2, 1), }",
    "{'shape':(0, 9223372036854775807, 0), 'fortran_order':True,'descr':'<i2'}",
    "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3L,), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (), }",
    "{'descr': '<U7', 'fortran_order': False, 'shape': (99999999999999999999,), }",
    "{'shape': (1, 2), 'shape': (), 'descr': '|u1', 'fortran_order': False}",
    "{'descr': '<f8', 'descr': \"|i1\", 'fortran_order': False, 'shape': (1,), }",
};
static const char *const pieces[] = {
    "'shape'",
    "'descr'",
    "True",
    "False",
    "(",
    ")",
    "{",
    "}",
    ",",
    "'",
    "\"",
    "[",
    "\\",
    ":",
    "L",
    "-1",
    "9223372036854775807",
    "18446744073709551616",
    "0",
    ">c16",
    "|O",
    "",
    "\x93NUMPY",
    "PK\1\2",
    "PK\3\4",
    "PK\5\6",
    "\xff\xff\xff\xff",
    "\xff\xff",
    "\x7f",
};
enum {
    DICTIONARIES = sizeof dictionaries / sizeof *dictionaries,
    PIECES = sizeof pieces / sizeof *pieces,
    ELEMENTS = 512 /* bytes of a file's elements */
};

static size_t from_dictionary(uint8_t *out) {
    const char *text = dictionaries[random_below(DICTIONARIES)];
    size_t length = strlen(text), tail = random_below(64);
    memcpy(out, "\x93NUMPY\1", 8);
    out[6] = (uint8_t)(1 + random_below(3));
    size_t prefix = out[6] == 1 ? 10 : 12;
    put(out + 8, out[6] == 1 ? 2 : 4, length);
    memcpy(out + prefix, text, length);
    for (size_t i = 0; i < tail; i++)
        out[prefix + length + i] = random_byte();
    return prefix + length + tail;
}

static asnp_array *any_array(void) {
    static const asnp_dtype dtypes[] = {
        ASNP_BOOL,    ASNP_INT8,    ASNP_UINT16,  ASNP_INT32,     ASNP_UINT64,
        ASNP_FLOAT16, ASNP_FLOAT32, ASNP_FLOAT64, ASNP_COMPLEX64, ASNP_COMPLEX128};
    static uint8_t elements[ELEMENTS];
    int64_t shape[4], size = 1;
    int ndim = (int)random_below(5);
    asnp_array *a = NULL, *turned = NULL;
    for (int i = 0; i < ELEMENTS; i++)
        elements[i] = random_byte() & 1;
    for (int d = 0; d < ndim; d++) {
        shape[d] = (int64_t)random_below(5);
        if (size * shape[d] * 16 > ELEMENTS) shape[d] = 1;
        size *= shape[d];
    }
    if (asnp_from_host(dtypes[random_below(sizeof dtypes / sizeof *dtypes)], ndim, shape,
                       NULL, elements, &a) ||
        asnp_transpose(a, NULL, &turned))
        fail("no array");
    bool rows = random_below(2);
    asnp_release(rows ? turned : a);
    return rows ? a : turned;
}

static size_t written(uint8_t *out, bool archive) {
    static const char *const names[] = {"a", "b"};
    asnp_array *both[2] = {any_array(), any_array()};
    asnp_status status = !archive ? asnp_save(copy.path, both[0])
                         : random_below(2)
                             ? asnp_savez(copy.path, 2, names, both)
                             : asnp_savez_compressed(copy.path, 2, names, both);
    if (status) fail("a file of an array cannot be written");
    asnp_release(both[0]);
    asnp_release(both[1]);
    ssize_t size = pread(copy.fd, out, DRIVER_MOST / 2, 0);
    return size > 0 ? (size_t)size : 0;
}

/* Replaces `gone` bytes at a place by others. */
static size_t splice(uint8_t *data, size_t size, size_t at, size_t gone,
                     const void *put_in, size_t length) {
    if (gone > size - at) gone = size - at;
    if (size - gone + length > DRIVER_MOST - 16) return size;
    uint8_t held[DRIVER_MOST];
    memcpy(held, put_in, length);
    memmove(data + at + length, data + at + gone, size - at - gone);
    memcpy(data + at, held, length);
    return size - gone + length;
}

static size_t changed(uint8_t *data, size_t size) {
    if (size == 0) return 0;
    size_t at = random_below(size), span = random_below(16);
    const char *piece = pieces[random_below(PIECES)];
    switch (random_below(6)) {
    case 0: return at;
    case 1: data[at] = random_byte(); return size;
    case 2: data[at] ^= (uint8_t)(1 << random_below(8)); return size;
    case 3:
        return splice(data, size, at, random_below(2) * strlen(piece), piece,
                      strlen(piece));
    case 4: return splice(data, size, at, span, "", 0);
    default:
        if (span > size - at) span = size - at;
        return splice(data, size, random_below(size), 0, data + at, span);
    }
}

size_t make_input(uint8_t data[DRIVER_MOST]) {
    if (!start()) fail("cannot begin");
    size_t size = 0, before = 1, kind = random_below(8);
    data[0] = (uint8_t)(random_byte() & ~1u);
    if (kind < 4 && random_below(2)) { /* in an archive, with bytes replaced */
        int patches = (int)random_below(4);
        data[0] |= 1;
        data[before++] = (uint8_t)patches;
        while (patches-- > 0) {
            data[before++] = random_byte();
            data[before++] = random_below(2) ? 0xff : random_byte();
        }
    }
    uint8_t *file = data + before;
    if (kind < 3) {
        size = written(file, false);
    } else if (kind == 3) {
        size = from_dictionary(file);
    } else if (kind < 7) {
        size = written(file, true);
    } else {
        size = random_below(256);
        for (size_t i = 0; i < size; i++)
            file[i] = random_byte();
    }
    for (size_t k = random_below(5); k > 0; k--)
        size = changed(file, size);
    return before + size;
}
#endif
