/* L3 C binding: archives of arrays (io.h): a .npz file is a zip archive of .npy files.
 *
 * Written and read after PKWARE's APPNOTE.TXT: per member a local header, its name and
 * bytes; then a central directory with a record per member; then the record that ends it,
 * which is looked for from the end since a comment may follow. Members are stored or
 * deflated, which zlib does, as it does checksums. The 64-bit extension is not used: an
 * archive and its members are below 4 GiB. (numpy.savez has its extra field in local
 * headers, which are skipped by their length.)
 *
 * What a record says of its size is no reason to take memory: the file must have the
 * bytes, and deflate be able to expand them so far.
 *
 * Times and attributes are constants, so that the same arrays make the same file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "capi/capi.h"
#include "capi/deflate.h"
#include "capi/npy.h"

enum {
    LOCAL = 0x04034b50,
    CENTRAL = 0x02014b50,
    END = 0x06054b50,
    LOCAL_SIZE = 30,
    CENTRAL_SIZE = 46,
    END_SIZE = 22,
    VERSION = 20, /* 2.0 */
    DATE = 0x21,  /* 1 January 1980: archives of the same arrays are the same */
    MOST_NAME = 255,
};
#define MOST_BYTES (UINT32_MAX - 1024u) /* of an archive before its directory */

typedef enum { STORED = 0, DEFLATED = 8 } method; /* as records have it */

/* Writes the low `bytes` bytes of a value, little-endian, as zip has it on every
 * machine. */
static void put(unsigned char *at, int bytes, uint64_t value) {
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

/* Reads a value of up to 4 bytes. */
static uint32_t get(const unsigned char *at, int bytes) {
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint32_t)at[i] << (8 * i);
    return value;
}

static asn_status failed(const char *path, const char *what) {
    return asn_error_set(ASN_ERR_RUNTIME, "%s: cannot be %s: %s", path, what,
                         strerror(errno));
}

/* ---- writing */

/* One array of an archive, as its records describe it. */
typedef struct {
    char name[MOST_NAME + 5];
    method method;
    uint32_t crc, packed, bytes, offset; /* packed: bytes in the file */
} member;

/* What local and central headers have in common, from the version needed on. */
static void put_common(unsigned char *at, const member *m) {
    put(at, 2, VERSION);
    put(at + 4, 2, (uint64_t)m->method);
    put(at + 8, 2, DATE);
    put(at + 10, 4, m->crc);
    put(at + 14, 4, m->packed);
    put(at + 18, 4, m->bytes);
    put(at + 22, 2, strlen(m->name));
}

static asn_status too_long(const member *m) {
    return asn_error_set(ASN_ERR_UNSUPPORTED,
                         "savez: the archive has 4 GiB or more with '%s'", m->name);
}

/* The local header and the name; false: the file cannot be written. */
static bool write_header(FILE *file, const member *m) {
    unsigned char header[LOCAL_SIZE] = {0};
    size_t length = strlen(m->name);
    put(header, 4, LOCAL);
    put_common(header + 4, m);
    return fwrite(header, 1, LOCAL_SIZE, file) == LOCAL_SIZE &&
           fwrite(m->name, 1, length, file) == length;
}

/* The member's bytes behind its header, which is written again when their number is
 * known. */
static asn_status write_deflated(FILE *file, const char *path, const char *data,
                                 member *m) {
    uint64_t packed;
    if (!write_header(file, m)) return failed(path, "written");
    ASN_TRY(asn_deflate(file, path, data, m->bytes, &packed));
    if (m->offset + packed > MOST_BYTES) return too_long(m);
    m->packed = (uint32_t)packed;
    long end = ftell(file);
    bool written = end >= 0 && fseek(file, (long)m->offset, SEEK_SET) == 0 &&
                   write_header(file, m) && fseek(file, end, SEEK_SET) == 0;
    return written ? ASN_OK : failed(path, "written");
}

/* Header and bytes, whose number is known. */
static asn_status write_stored(FILE *file, const char *path, const char *data,
                               member *m) {
    m->packed = m->bytes;
    if ((uint64_t)m->offset + m->bytes > MOST_BYTES) return too_long(m);
    bool written = write_header(file, m) && fwrite(data, 1, m->bytes, file) == m->bytes;
    return written ? ASN_OK : failed(path, "written");
}

/* The whole .npy file is made in memory first: its checksum stands before its bytes. */
static asn_status write_member(FILE *file, const char *path, const asnp_array *a,
                               member *m) {
    char *data;
    size_t bytes;
    long at = ftell(file);
    if (at < 0) return failed(path, "written");
    ASN_TRY(asn_npy_bytes(a, &data, &bytes));
    asn_status status = ASN_OK;
    if (bytes > MOST_BYTES || (uint64_t)at > MOST_BYTES) {
        status = too_long(m);
    } else {
        m->offset = (uint32_t)at;
        m->bytes = (uint32_t)bytes;
        m->crc = (uint32_t)crc32_z(0, (const Bytef *)data, bytes);
        status = m->method == DEFLATED ? write_deflated(file, path, data, m)
                                       : write_stored(file, path, data, m);
    }
    asn_free(data);
    return status;
}

/* A central record for each member, then the record that ends the archive. */
static asn_status write_directory(FILE *file, const char *path, int n,
                                  const member *members) {
    unsigned char end[END_SIZE] = {0};
    /* The directory's place, which the end record names. */
    long begin = ftell(file);
    bool written = begin >= 0;
    for (int i = 0; i < n && written; i++) {
        unsigned char header[CENTRAL_SIZE] = {0};
        size_t length = strlen(members[i].name);
        put(header, 4, CENTRAL);
        put(header + 4, 2, VERSION);
        put_common(header + 6, &members[i]);
        put(header + 42, 4, members[i].offset);
        written = fwrite(header, 1, CENTRAL_SIZE, file) == CENTRAL_SIZE &&
                  fwrite(members[i].name, 1, length, file) == length;
    }
    long finish = ftell(file);
    put(end, 4, END);
    put(end + 8, 2, (uint64_t)n);
    put(end + 10, 2, (uint64_t)n);
    put(end + 12, 4, (uint64_t)(finish - begin));
    put(end + 16, 4, (uint64_t)begin);
    return written && finish >= 0 && fwrite(end, 1, END_SIZE, file) == END_SIZE
               ? ASN_OK
               : failed(path, "written");
}

/* Names are checked before the file is opened, so that a wrong call leaves an existing
 * archive alone. */
static asn_status name_members(int32_t n, const char *const *names,
                               asnp_array *const *arrays, member *members) {
    for (int i = 0; i < n; i++) {
        ASN_TRY(asn_capi_need(names[i], "a name"));
        ASN_TRY(asn_capi_need(arrays[i], "an array"));
        if (!*names[i] || strlen(names[i]) > MOST_NAME)
            return asn_error_set(ASN_ERR_VALUE,
                                 "savez: name %d has %zu bytes; it may have 1 to %d", i,
                                 strlen(names[i]), MOST_NAME);
        snprintf(members[i].name, sizeof members[i].name, "%s.npy", names[i]);
        for (int k = 0; k < i; k++)
            if (strcmp(names[k], names[i]) == 0)
                return asn_error_set(ASN_ERR_VALUE, "savez: the name '%s' comes twice",
                                     names[i]);
    }
    return ASN_OK;
}

/* Names first, then members in order, then the directory; a failure leaves what was
 * written so far. */
static asnp_status save(const char *path, int32_t n, const char *const *names,
                        asnp_array *const *arrays, method method) {
    NEED(path);
    NEED(names);
    NEED(arrays);
    if (n < 0 || n > UINT16_MAX)
        return asn_error_set(ASN_ERR_VALUE, "savez: n is %d; it may be 0 to %d", (int)n,
                             UINT16_MAX);
    member *members = asn_calloc((size_t)n, sizeof *members);
    if (!members) return ASN_ERR_MEMORY;
    asn_status status = name_members(n, names, arrays, members);
    FILE *file = status ? NULL : fopen(path, "wb");
    if (!status && !file) status = failed(path, "opened");
    for (int i = 0; i < n && !status; i++) {
        members[i].method = method;
        status = write_member(file, path, arrays[i], &members[i]);
    }
    if (!status) status = write_directory(file, path, n, members);
    if (file && fclose(file) != 0 && !status) status = failed(path, "written");
    asn_free(members);
    return status;
}

/* As numpy.savez: members are stored. */
asnp_status asnp_savez(const char *path, int32_t n, const char *const *names,
                       asnp_array *const *arrays) {
    return save(path, n, names, arrays, STORED);
}

/* As numpy.savez_compressed: members are deflated by zlib's default level. */
asnp_status asnp_savez_compressed(const char *path, int32_t n, const char *const *names,
                                  asnp_array *const *arrays) {
    return save(path, n, names, arrays, DEFLATED);
}

/* ---- reading: the whole directory in memory, `at` its next record */

typedef struct {
    FILE *file;
    const char *path;
    long size;                /* of the file */
    unsigned char *directory; /* owns */
    size_t bytes, at;
    int left;
} archive;

/* The error of a file that is no archive. */
static asn_status damaged(const char *path) {
    return asn_error_set(ASN_ERR_VALUE, "%s: is no .npz file, or is damaged", path);
}

/* `bytes` from an offset on, in memory that the caller frees: none is taken for what the
 * file does not have. */
static asn_status read_at(const archive *z, long offset, size_t bytes,
                          unsigned char **out) {
    if (offset > z->size || bytes > (size_t)(z->size - offset)) return damaged(z->path);
    *out = asn_malloc(bytes + 1);
    if (!*out) return ASN_ERR_MEMORY;
    if (fseek(z->file, offset, SEEK_SET) == 0 && fread(*out, 1, bytes, z->file) == bytes)
        return ASN_OK;
    asn_free(*out);
    *out = NULL;
    return damaged(z->path);
}

/* The directory alone; members are read when they are asked for. */
static asn_status open_archive(archive *z, const char *path) {
    enum { COMMENT = 65535 };
    *z = (archive){.path = path, .file = fopen(path, "rb")};
    if (!z->file) return failed(path, "opened");
    unsigned char *tail = NULL;
    long size = fseek(z->file, 0, SEEK_END) ? -1 : ftell(z->file);
    z->size = size;
    /* The end record is in the last END_SIZE + COMMENT bytes; its number is looked for
     * from behind. */
    long look = size < END_SIZE + COMMENT ? size : END_SIZE + COMMENT,
         at = look - END_SIZE;
    asn_status status =
        at < 0 ? damaged(path) : read_at(z, size - look, (size_t)look, &tail);
    while (!status && at >= 0 && get(tail + at, 4) != END)
        at--;
    if (!status && at < 0) status = damaged(path);
    if (!status) {
        uint32_t bytes = get(tail + at + 12, 4), offset = get(tail + at + 16, 4);
        z->left = (int)get(tail + at + 10, 2);
        z->bytes = bytes;
        status = read_at(z, (long)offset, bytes, &z->directory);
    }
    asn_free(tail);
    if (status) fclose(z->file);
    return status;
}

static void close_archive(archive *z) {
    fclose(z->file);
    asn_free(z->directory);
}

/* The next record and its name, without .npy (*length). */
static asn_status next_member(archive *z, const unsigned char **record, const char **name,
                              size_t *length) {
    /* Every length is checked against the directory before it is used. */
    const unsigned char *r = z->directory + z->at;
    size_t left = z->bytes - z->at;
    if (left < CENTRAL_SIZE || get(r, 4) != CENTRAL) return damaged(z->path);
    size_t total =
        CENTRAL_SIZE + (size_t)get(r + 28, 2) + get(r + 30, 2) + get(r + 32, 2);
    if (left < total) return damaged(z->path);
    *record = r;
    *name = (const char *)r + CENTRAL_SIZE;
    *length = get(r + 28, 2);
    if (*length > 4 && memcmp(*name + *length - 4, ".npy", 4) == 0) *length -= 4;
    z->at += total;
    z->left--;
    return ASN_OK;
}

/* Where a member's bytes begin: behind its local header, whose name and extra field have
 * lengths of their own. */
static asn_status find_bytes(const archive *z, const member *m, long *begin) {
    unsigned char *header;
    ASN_TRY(read_at(z, (long)m->offset, LOCAL_SIZE, &header));
    *begin = (long)m->offset + LOCAL_SIZE + (long)get(header + 26, 2) +
             (long)get(header + 28, 2);
    bool local = get(header, 4) == LOCAL;
    asn_free(header);
    return local && *begin <= z->size && m->packed <= z->size - *begin ? ASN_OK
                                                                       : damaged(z->path);
}

/* The .npy file that a deflated member holds; the caller frees it. */
static asn_status read_deflated(const archive *z, const member *m, long begin,
                                unsigned char **out) {
    if (m->bytes > (uint64_t)m->packed * ASN_DEFLATE_MOST)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: is damaged: %lu compressed bytes cannot hold %lu",
                             z->path, (unsigned long)m->packed, (unsigned long)m->bytes);
    unsigned char *data = asn_malloc(m->bytes);
    if (!data) return ASN_ERR_MEMORY;
    asn_status status = fseek(z->file, begin, SEEK_SET) == 0
                            ? asn_inflate(z->file, z->path, m->packed, data, m->bytes)
                            : damaged(z->path);
    if (status)
        asn_free(data);
    else
        *out = data;
    return status;
}

/* r: the member's central record, of CENTRAL_SIZE bytes at least. Its sizes count; those
 * of the local header may be 0. */
static asn_status load_member(const archive *z, const unsigned char *r,
                              asnp_array **out) {
    /* Offsets in the record, as APPNOTE.TXT has them. */
    const member m = {.method = (method)get(r + 10, 2),
                      .crc = get(r + 16, 4),
                      .packed = get(r + 20, 4),
                      .bytes = get(r + 24, 4),
                      .offset = get(r + 42, 4)};
    unsigned char *data = NULL;
    long begin;
    if (m.method != STORED && m.method != DEFLATED)
        return asn_error_set(ASN_ERR_UNSUPPORTED,
                             "%s: is compressed by zip's method %d; members that are "
                             "stored (0) or deflated (8) are read",
                             z->path, (int)m.method);
    if (m.packed == UINT32_MAX || m.bytes == UINT32_MAX || m.offset == UINT32_MAX)
        return asn_error_set(ASN_ERR_UNSUPPORTED,
                             "%s: has 4 GiB or more in a member or before it", z->path);
    if (m.bytes == 0 || (m.method == STORED && m.packed != m.bytes))
        return damaged(z->path);
    ASN_TRY(find_bytes(z, &m, &begin));
    ASN_TRY(m.method == DEFLATED ? read_deflated(z, &m, begin, &data)
                                 : read_at(z, begin, m.bytes, &data));
    asn_status status = crc32_z(0, data, m.bytes) == m.crc
                            ? asn_npy_parse((char *)data, m.bytes, z->path, out)
                            : damaged(z->path);
    asn_free(data);
    return status;
}

/* A linear search: an archive has few members. */
asnp_status asnp_loadz(const char *path, const char *name, asnp_array **out) {
    archive z;
    NEED(path);
    NEED(name);
    NEED(out);
    ASN_TRY(open_archive(&z, path));
    asn_status status = ASN_OK;
    bool found = false;
    while (!status && !found && z.left > 0) {
        const unsigned char *record;
        const char *one;
        size_t length;
        status = next_member(&z, &record, &one, &length);
        found = !status && length == strlen(name) && memcmp(one, name, length) == 0;
        if (found) status = load_member(&z, record, out);
    }
    if (!status && !found)
        status =
            asn_error_set(ASN_ERR_VALUE,
                          "%s: has no array '%s'; asnp_npz_names lists them", path, name);
    close_archive(&z);
    return status;
}

/* Lines, each ended by a newline; the caller frees the text with asnp_free_text. */
asnp_status asnp_npz_names(const char *path, char **text) {
    archive z;
    NEED(path);
    NEED(text);
    ASN_TRY(open_archive(&z, path));
    /* Names are shorter than the directory that holds them. */
    char *made = asn_malloc(z.bytes + (size_t)z.left + 1), *at = made;
    asn_status status = made ? ASN_OK : ASN_ERR_MEMORY;
    while (!status && z.left > 0) {
        const unsigned char *record;
        const char *one;
        size_t length;
        status = next_member(&z, &record, &one, &length);
        if (status) break;
        memcpy(at, one, length);
        at += length;
        *at++ = '\n';
    }
    close_archive(&z);
    if (status) {
        asn_free(made);
        return status;
    }
    *at = 0;
    *text = made;
    return ASNP_OK;
}
