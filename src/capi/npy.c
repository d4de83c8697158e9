/* L3 C binding: the header of a .npy file (see npy.h).
 *
 * Written from the description of the format in NumPy's documentation: "\x93NUMPY", two
 * bytes of version, the header's length in 2 (version 1) or 4 bytes (2 and 3), then a
 * literal like {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }, padded with
 * spaces to a multiple of 64 and ended by a newline. Keys may come in any order.
 *
 * The reader takes what NumPy writes and what it may write: any order of keys, quotes of
 * either kind, spaces. It evaluates nothing, so that a file cannot run code, and every
 * length is checked before memory is taken for it.
 */
#include "capi/npy.h"

#include <ctype.h>
#include <string.h>

static const char magic[6] = "\x93NUMPY";
enum { ALIGN = 64, PREFIX = 10 };

static asn_status bad(const char *path, const char *what) {
    return asn_error_set(ASN_ERR_VALUE, "%s: %s", path, what);
}

/* ---- a small reader of the dictionary; `at` moves over what was read */

/* Over spaces. */
static void skip(const char **at) {
    while (isspace((unsigned char)**at))
        ++*at;
}

/* Over spaces and one character; false, with nothing but spaces read, where another
 * stands there. */
static bool take(const char **at, char c) {
    skip(at);
    if (**at != c) return false;
    ++*at;
    return true;
}

/* A quoted text of up to size - 1 characters of ASCII without escapes. */
static bool text(const char **at, char *out, size_t size) {
    size_t n = 0;
    skip(at);
    char quote = **at;
    if (quote != '\'' && quote != '"') return false;
    for (++*at; **at && **at != quote; ++*at) {
        if (**at == '\\' || **at < ' ' || **at > '~' || n + 1 == size) return false;
        out[n++] = **at;
    }
    out[n] = 0;
    return take(at, quote);
}

/* Python's True or False. */
static bool truth(const char **at, bool *out) {
    skip(at);
    *out = strncmp(*at, "True", 4) == 0;
    if (!*out && strncmp(*at, "False", 5) != 0) return false;
    *at += *out ? 4 : 5;
    return true;
}

/* A whole number; Python 2 wrote long ones with an L. */
static bool whole(const char **at, int64_t *out) {
    int64_t n = 0;
    skip(at);
    if (!isdigit((unsigned char)**at)) return false;
    for (; isdigit((unsigned char)**at); ++*at)
        if (!asn_mul_size(n, 10, &n) || !asn_add_size(n, **at - '0', &n)) return false;
    if (**at == 'L') ++*at;
    *out = n;
    return true;
}

/* A tuple of whole numbers into h's shape; (), (3,), (3, 4) and (3, 4,) are tuples, (3)
 * is none. */
static bool tuple(const char **at, asn_npy *h) {
    h->ndim = 0;
    if (!take(at, '(')) return false;
    while (!take(at, ')')) {
        if (h->ndim == ASN_MAX_DIMS || !whole(at, &h->shape[h->ndim++])) return false;
        if (!take(at, ',')) return h->ndim > 1 && take(at, ')');
    }
    return true;
}

/* "<f8" and its like: byte order, kind, bytes. */
static asn_status read_descr(const char *descr, asn_npy *h, const char *path) {
    const char order = descr[0];
    const char *rest = order && strchr("<>=|", order) ? descr + 1 : descr;
    const char kind = rest[0];
    int64_t size = 0;
    const char *digits = rest + (kind != 0);
    bool read = kind && whole(&digits, &size) && !*digits;
    /* bfloat16 shares its kind and size with no dtype of NumPy's: it is left out. */
    for (int d = 0; d < ASN_DTYPE_COUNT && read; d++) {
        const asn_dtype_info *info = &asn_dtype_table[d];
        if (info->kind != kind || info->itemsize != size || d == ASN_BF16) continue;
        h->dtype = (asn_dtype)d;
        h->swapped = order == '>' && size > 1;
        return ASN_OK;
    }
    return asn_error_set(ASN_ERR_TYPE,
                         "%s: elements are of dtype '%s'; there are bool, int8 to int64, "
                         "uint8 to uint64, float16, float32, float64, complex64 and "
                         "complex128",
                         path, descr);
}

/* Reads {'descr': ..., 'fortran_order': ..., 'shape': ...}; a key that is none of these,
 * or is missing, makes the file unreadable. */
static asn_status read_dictionary(const char *at, asn_npy *h, const char *path) {
    char key[16], descr[64];
    /* Bits of the three keys. */
    unsigned seen = 0;
    if (!take(&at, '{')) return bad(path, "the header is no dictionary");
    while (!take(&at, '}')) {
        bool read = text(&at, key, sizeof key) && take(&at, ':');
        skip(&at);
        if (read && strcmp(key, "descr") == 0) {
            if (*at == '[')
                return asn_error_set(ASN_ERR_TYPE, "%s: elements are records", path);
            read = text(&at, descr, sizeof descr);
            seen |= 1;
        } else if (read && strcmp(key, "fortran_order") == 0) {
            read = truth(&at, &h->fortran);
            seen |= 2;
        } else if (read && strcmp(key, "shape") == 0) {
            read = tuple(&at, h);
            seen |= 4;
        } else {
            read = false;
        }
        if (!read) return bad(path, "the header's dictionary cannot be read");
        if (take(&at, ',')) continue;
        if (!take(&at, '}')) return bad(path, "the header's dictionary cannot be read");
        break;
    }
    skip(&at);
    if (*at) return bad(path, "something follows the header's dictionary");
    if (seen != 7)
        return bad(path, "the header lacks one of descr, fortran_order and shape");
    return read_descr(descr, h, path);
}

asn_status asn_npy_read(asn_npy *h, FILE *file, const char *path) {
    unsigned char prefix[PREFIX + 2];
    if (fread(prefix, 1, PREFIX, file) != PREFIX ||
        memcmp(prefix, magic, sizeof magic) != 0)
        return bad(path, "is no .npy file: it does not begin as one");
    int version = prefix[6];
    if (version < 1 || version > 3 || prefix[7] != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: is of .npy version %d.%d; 1.0, 2.0 and 3.0 are read",
                             path, version, prefix[7]);
    /* Little-endian in every version. */
    size_t length = prefix[8] | (size_t)prefix[9] << 8;
    if (version > 1) {
        if (fread(prefix + PREFIX, 1, 2, file) != 2)
            return bad(path, "is cut short in its header");
        length |= (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24;
    }
    if (length > 1 << 20) return bad(path, "has a header of more than a megabyte");
    char *header = asn_malloc(length + 1);
    if (!header) return ASN_ERR_MEMORY;
    asn_status status = fread(header, 1, length, file) == length
                            ? ASN_OK
                            : bad(path, "is cut short in its header");
    header[length] = 0;
    /* A zero byte would end the text early. */
    if (!status && strlen(header) != length)
        status = bad(path, "the header's dictionary cannot be read");
    if (!status) status = read_dictionary(header, h, path);
    asn_free(header);
    return status;
}

/* ---- writing */

asn_status asn_npy_format(const asn_npy *h, char out[ASN_NPY_MOST], size_t *length) {
    const asn_dtype_info *info = &asn_dtype_table[h->dtype];
    if (h->dtype == ASN_BF16)
        return asn_error_set(ASN_ERR_UNSUPPORTED,
                             "the .npy format has no bfloat16; astype makes float32");
    char *at = out + PREFIX, *end = out + ASN_NPY_MOST;
    at += snprintf(at, (size_t)(end - at),
                   "{'descr': '%c%c%d', 'fortran_order': %s, 'shape': (",
                   info->itemsize > 1 ? '<' : '|', info->kind, info->itemsize,
                   h->fortran ? "True" : "False");
    for (int d = 0; d < h->ndim; d++)
        at += snprintf(at, (size_t)(end - at), d ? ", %lld" : "%lld",
                       (long long)h->shape[d]);
    at += snprintf(at, (size_t)(end - at), h->ndim == 1 ? ",), }" : "), }");
    size_t used = (size_t)(at - out) + 1; /* and a newline */
    size_t padded = (used + ALIGN - 1) / ALIGN * ALIGN;
    memset(at, ' ', padded - used);
    out[padded - 1] = '\n';
    memcpy(out, magic, sizeof magic);
    out[6] = 1;
    out[7] = 0;
    out[8] = (char)((padded - PREFIX) & 255);
    out[9] = (char)((padded - PREFIX) >> 8);
    *length = padded;
    return ASN_OK;
}
